"""The rewritten query is the expectation over all leaves, computed here by enumeration."""

from __future__ import annotations

import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import ErrorLevel

from dbdeid.engine.failure import EngineError
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.query import rewrite as rewrite_module
from dbdeid.query.question import Answerable
from dbdeid.query.rewrite import rewrite

# -- the worked example -----------------------------------------------------------------------


def rows(session: Session, text: str, target: Answerable) -> list[tuple[Any, ...]]:
    return session.rows(rewrite(text, target))


def test_the_worked_example(session: Session, people: Answerable) -> None:
    # Ages 20-24 are half of [20, 30) and a twentieth of *; F is half of *.
    # Both F and young: 1 * .5 + .5 * .5 + 0 + 0 = .75
    text = "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND age BETWEEN 20 AND 24"
    assert rows(session, text, people) == [(0.75,)]
    # F or young, by record: 1, 1 - .5 * .5, .5, .05 (M), 0 (NULL)
    text = "SELECT COUNT(*) FROM people WHERE sex = 'F' OR age BETWEEN 20 AND 24"
    assert rows(session, text, people)[0][0] == pytest.approx(1 + 0.75 + 0.5 + 0.05)
    text = "SELECT sex, COUNT(*) FROM people WHERE job = 'Sales' GROUP BY sex ORDER BY sex"
    assert rows(session, text, people) == [("F", 2.0), ("M", 1.0)]
    text = "SELECT COUNT(*) FROM people WHERE job = 'Sales' GROUP BY sex ORDER BY sex"
    assert rows(session, text, people) == [(2.0,), (1.0,)]
    text = "SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY age NULLS FIRST LIMIT 2"
    assert rows(session, text, people) == [(None, 1.0), (0, 0.01)]


def test_intervals_of_floats_count_by_length(session: Session, people: Answerable) -> None:
    text = "SELECT COUNT(*) FROM people WHERE bmi < 22.5"
    assert rows(session, text, people)[0][0] == pytest.approx(0.5 + 0.5 + 0 + 12.5 / 50)
    text = "SELECT bmi >= 25, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY 1"
    found = [(key, pytest.approx(n)) for key, n in rows(session, text, people)]
    assert found == [(False, 2 + 0.3), (True, 1 + 0.7), (None, 1.0)]


def test_columns_of_the_answer(session: Session, people: Answerable) -> None:
    text = 'SELECT COUNT(*), Age, age // 10, sex AS "s x" FROM people GROUP BY ALL'
    found = session.describe(rewrite(text, people))
    assert [(c.name, c.type) for c in found] == [
        ("count_star()", "DOUBLE"),
        ("age", "INTEGER"),
        ("age // 10", "INTEGER"),
        ("s x", "VARCHAR"),
    ]


def test_an_empty_release_counts_zero(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    target = make_release({"age": ("INTEGER", "VARCHAR")}, [], [], quasi_identifiers=["age"])
    assert rows(session, "SELECT COUNT(*) FROM people", target) == [(0.0,)]
    assert rows(session, "SELECT COUNT(*) FROM people WHERE age < 3", target) == [(0.0,)]
    assert rows(session, "SELECT age, COUNT(*) FROM people GROUP BY age", target) == []


def test_a_value_of_unknown_meaning_fails_closed(session: Session, people: Answerable) -> None:
    for text in (
        "SELECT COUNT(*) FROM people WHERE zip LIKE '12%'",
        "SELECT bmi, COUNT(*) FROM people GROUP BY bmi",
        "SELECT COUNT(*) FROM people WHERE round(bmi) = 3",
    ):
        with pytest.raises(EngineError) as failure:
            rows(session, text, people)
        assert failure.value.kind == "InvalidInputException"


def test_a_value_that_the_dictionary_lacks_or_doubles_fails_closed(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    for dictionary in (
        [],
        [("age", "x", 1, "0", "9", None), ("age", "x", 2, "0", "19", None)],
        [("age", "x", 1, None, None, [])],
        [("age", "x", 1, "9", "0", None)],
    ):
        target = make_release(
            {"age": ("INTEGER", "VARCHAR")}, [("x",)], dictionary, quasi_identifiers=["age"]
        )
        for text in (
            "SELECT COUNT(*) FROM people WHERE age < 5",
            "SELECT age, COUNT(*) FROM people GROUP BY age",
        ):
            with pytest.raises(EngineError):
                rows(session, text, target)
        assert rows(session, "SELECT COUNT(*) FROM people", target) == [(1.0,)]


def test_many_filters_weigh_the_records(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    columns = dict.fromkeys("abc", ("INTEGER", "VARCHAR"))
    dictionary = [(name, "low", 1, "0", "3", None) for name in "abc"]
    target = make_release(columns, [("low", "low", "low"), ("low", "low", None)], dictionary)
    text = "SELECT COUNT(*) FROM people WHERE a < 1 AND b < 2 AND (c < 3 OR c IS NULL)"
    assert rows(session, text, target) == [(0.25 * 0.5 * 0.75 + 0.25 * 0.5,)]
    assert "SUM(COALESCE" in sql(rewrite(text, target))
    torn = make_release(columns, [("low", "low", "high")], dictionary)
    with pytest.raises(EngineError):
        rows(session, text, torn)


# -- names ------------------------------------------------------------------------------------

HOSTILE = [
    *("n", "share", "leaf", "released_value", "value", "records", "select", "column", "level"),
    *(
        "share_1",
        "value_1",
        "part_0",
        "released",
        "source",
        "a b",
        'q"uote',
        "it's",
        "count_star()",
    ),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_columns_may_have_any_name(
    name: str, session: Session, make_release: Callable[..., Answerable]
) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    target = make_release(
        {
            name: ("INTEGER", "VARCHAR"),
            "b": ("VARCHAR", "VARCHAR"),
            "part_1": ("INTEGER", "INTEGER"),
        },
        [("low", "x", 1), ("low", "y", 1), ("high", "x", 2)],
        [(name, "low", 1, "0", "1", None), (name, "high", 1, "2", "3", None)],
    )
    text = (
        f"SELECT {quoted}, b, COUNT(*) AS n FROM people WHERE {quoted} < 3 OR b = 'y' GROUP BY ALL"
    )
    assert sorted(rows(session, text, target)) == [
        *((0, "x", 0.5), (0, "y", 0.5), (1, "x", 0.5), (1, "y", 0.5), (2, "x", 0.5))
    ]
    text = f"SELECT b AS {quoted}, COUNT(*) AS part_1 FROM people WHERE {quoted} > 0 GROUP BY b"
    assert sorted(rows(session, text, target)) == [("x", 1.5), ("y", 0.5)]


@pytest.mark.parametrize("name", ["released", "share_1", "values_1", "source", "spread", "cells"])
def test_the_release_may_have_any_name(
    name: str, session: Session, make_release: Callable[..., Answerable]
) -> None:
    target = make_release(
        {"age": ("INTEGER", "VARCHAR")}, [("low",)], [("age", "low", 1, "0", "1", None)], name=name
    )
    text = "SELECT COUNT(*) FROM people WHERE age < 1"
    assert rows(session, text, target) == [(0.5,)]


def test_keys_have_the_type_of_the_source(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    target = make_release(
        {
            "small": ("UTINYINT", "VARCHAR"),
            "day": ("DATE", "VARCHAR"),
            "price": ("DECIMAL(5,2)", "VARCHAR"),
            "yes": ("BOOLEAN", "VARCHAR"),
            "size": ("ENUM('S', 'L')", "VARCHAR"),
            "seen": ("TIMESTAMP", "TIMESTAMP"),
            "raw": ("INTEGER", "BIGINT"),
        },
        [("1-2", "May", "1.50", "*", "S", "2020-01-01", 7)],
        [
            ("small", "1-2", 1, "1", "2", None),
            ("day", "May", 1, "2024-05-01", "2024-05-02", None),
            ("price", "1.50", 0, None, None, None),
            ("yes", "*", 1, None, None, ["true", "false"]),
        ],
    )
    text = (
        "SELECT small, day, price, yes, size, seen, raw, COUNT(*) AS n FROM people "
        "GROUP BY ALL ORDER BY ALL"
    )
    query = rewrite(text, target)
    types = [c.type for c in session.describe(query)]
    assert types == [
        *(
            "UTINYINT",
            "DATE",
            "DECIMAL(5,2)",
            "BOOLEAN",
            "VARCHAR",
            "TIMESTAMP",
            "INTEGER",
            "DOUBLE",
        )
    ]
    found = session.rows(query)
    assert len(found) == 8
    assert {row[-1] for row in found} == {0.125}
    assert found[0][:2] == (1, date(2024, 5, 1))


# -- against enumeration ----------------------------------------------------------------------

DAY = date(2024, 2, 27)
JOBS = ["Sales", "Tech", None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """A condition as SQL and as a function of a row, in three-valued logic."""

    text: str
    holds: Callable[[Row], bool | None]


def constant(value: Any) -> str:
    if isinstance(value, date):
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def compared(name: str, sign: str, value: Any) -> Condition:
    test = OPERATORS[sign]
    return Condition(
        f"{name} {sign} {constant(value)}",
        lambda r: None if r[name] is None else test(r[name], value),
    )


def between(name: str, low: Any, high: Any) -> Condition:
    return Condition(
        f"{name} BETWEEN {constant(low)} AND {constant(high)}",
        lambda r: None if r[name] is None else low <= r[name] <= high,
    )


def among(name: str, values: list[Any]) -> Condition:
    return Condition(
        f"{name} IN ({', '.join(map(constant, values))})",
        lambda r: None if r[name] is None else r[name] in values,
    )


def missing(name: str) -> Condition:
    return Condition(f"{name} IS NULL", lambda r: r[name] is None)


def like(name: str, pattern: str) -> Condition:
    regex = re.compile(pattern.replace("%", ".*").replace("_", "."))
    return Condition(
        f"{name} LIKE '{pattern}'",
        lambda r: None if r[name] is None else regex.fullmatch(r[name]) is not None,
    )


def odd(name: str) -> Condition:
    return Condition(f"{name} % 2 = 1", lambda r: None if r[name] is None else r[name] % 2 == 1)


def less(left: str, right: str) -> Condition:
    return Condition(
        f"{left} < {right}",
        lambda r: None if r[left] is None or r[right] is None else r[left] < r[right],
    )


def both(a: Condition, b: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        found = (a.holds(row), b.holds(row))
        return False if False in found else None if None in found else True

    return Condition(f"({a.text} AND {b.text})", holds)


def negated(a: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        found = a.holds(row)
        return None if found is None else not found

    return Condition(f"(NOT {a.text})", holds)


def either(a: Condition, b: Condition) -> Condition:
    return Condition(f"({a.text} OR {b.text})", negated(both(negated(a), negated(b))).holds)


def constants(name: str) -> st.SearchStrategy[Any]:
    return {
        "age": st.integers(-1, 12),
        "hours": st.integers(0, 4),
        "bmi": st.integers(-1, 17).map(lambda i: i / 2),
        "day": st.integers(-1, 8).map(lambda i: DAY + timedelta(days=i)),
        "sex": st.sampled_from(["F", "M", "MX", "Z"]),
        "job": st.sampled_from(["Sales", "Tech", "T"]),
    }[name]


@st.composite
def atoms(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(["age", "hours", "bmi", "day", "sex", "job"]))
    kinds = ["compared", "between", "among", "missing"]
    kinds += ["like"] if name in ("sex", "job") else []
    kinds += ["odd", "less"] if name == "age" else []
    kind = draw(st.sampled_from(kinds))
    value = constants(name)
    if kind == "compared":
        return compared(name, draw(st.sampled_from(sorted(OPERATORS))), draw(value))
    if kind == "between":
        return between(name, draw(value), draw(value))
    if kind == "among":
        return among(name, draw(st.lists(value, min_size=1, max_size=3)))
    if kind == "like":
        return like(name, draw(st.sampled_from(["M%", "%e%", "_", "Sales", "%X"])))
    return {"missing": missing, "odd": odd}[kind](name) if kind != "less" else less("age", "hours")


CONDITIONS = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(negated, inner)
    ),
    max_leaves=5,
)

KEYS: dict[str, Callable[[Row], Any]] = {
    **{name: operator.itemgetter(name) for name in ("age", "sex", "day", "job", "hours")},
    "age // 4": lambda r: None if r["age"] is None else r["age"] // 4,
    "sex = 'F'": lambda r: None if r["sex"] is None else r["sex"] == "F",
    "age + hours": lambda r: None if None in (r["age"], r["hours"]) else r["age"] + r["hours"],
    "day < DATE '2024-03-01'": lambda r: None if r["day"] is None else r["day"] < date(2024, 3, 1),
}


@dataclass(frozen=True)
class World:
    """A release, its dictionary, and for each released value its leaves."""

    rows: list[tuple[Any, ...]]
    dictionary: list[tuple[Any, ...]]
    leaves: dict[str, dict[str | None, list[Any]]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    width = draw(st.sampled_from([2, 3, 4, 6]))
    listed = draw(st.booleans())
    dictionary: list[tuple[Any, ...]] = [(n, None, 1, None, None, None) for n in ("age", "sex")]
    leaves: dict[str, dict[str | None, list[Any]]] = {
        name: {None: [None]} for name in ("age", "sex", "day", "bmi")
    }

    def released(name: str, label: str, level: int, found: list[Any], bounds: bool) -> None:
        low, high = (None, None) if name == "sex" else (str(found[0]), str(found[-1]))
        if name == "bmi" and level:  # closed bounds; the leaves are middles of quarters
            low, high = str(found[0] - 0.125), str(found[-1] + 0.125)
        texts = None if bounds or level == 0 else [str(leaf) for leaf in found]
        dictionary.append((name, label, level, low, high, texts))
        leaves[name][label] = found

    ages = list(range(12))
    released("age", "*", 2, ages, not listed)
    for start in range(0, 12, width):
        released("age", f"[{start}, {start + width})", 1, ages[start : start + width], not listed)
    released("age", "5", 0, [5], False)
    released("sex", "*", 2, ["F", "M", "MX"], False)
    released("sex", "M?", 1, ["M", "MX"], False)
    released("sex", "F", 0, ["F"], False)
    days = [DAY + timedelta(days=i) for i in range(8)]
    released("day", "week 1", 1, days[:4], True)
    released("day", "week 2", 1, days[4:], True)
    released("day", "*", 2, days, True)
    quarters = [i / 4 + 0.125 for i in range(32)]
    released("bmi", "low", 1, quarters[: 4 * width], True)
    released("bmi", "*", 2, quarters, True)
    released("bmi", "3.5", 0, [3.5], False)
    columns = [st.sampled_from(list(leaves[name])) for name in ("age", "sex", "day", "bmi")]
    exact = [st.sampled_from(JOBS), st.sampled_from([None, 1, 2, 3])]
    return World(draw(st.lists(st.tuples(*columns, *exact), max_size=6)), dictionary, leaves)


def expected(
    world: World, keys: list[str], where: Condition | None, weights: Sequence[float] | None = None
) -> dict[tuple[Any, ...], float]:
    """The expectation by enumeration of every combination of leaves of every row."""
    used = [
        n
        for n in ("age", "sex", "day", "bmi")
        if n in " ".join(keys) + (where.text if where else "")
    ]
    names = ("age", "sex", "day", "bmi", "job", "hours")
    counts: dict[tuple[Any, ...], float] = defaultdict(float)
    for record, weight in zip(world.rows, weights or [1] * len(world.rows), strict=True):
        row: Row = dict(zip(names, record, strict=True))
        choices = [world.leaves[name][row[name]] for name in used]
        size = 1
        for choice in choices:
            size *= len(choice)
        for combination in itertools.product(*choices):
            leaf = row | dict(zip(used, combination, strict=True))
            if where is None or where.holds(leaf):
                counts[tuple(KEYS[key](leaf) for key in keys)] += weight / size
    return dict(counts)


COLUMNS = {
    "age": ("INTEGER", "VARCHAR"),
    "sex": ("VARCHAR", "VARCHAR"),
    "day": ("DATE", "VARCHAR"),
    "bmi": ("DOUBLE", "VARCHAR"),
    "job": ("VARCHAR", "VARCHAR"),
    "hours": ("INTEGER", "INTEGER"),
}

RANDOM = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@RANDOM
@given(
    world=worlds(),
    keys=st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True),
    where=st.none() | CONDITIONS,
    few=st.sampled_from([0, rewrite_module.FEW]),
)
def test_the_answer_is_the_expectation_over_the_leaves(
    session: Session,
    make_release: Callable[..., Answerable],
    world: World,
    keys: list[str],
    where: Condition | None,
    few: int,
) -> None:
    target = make_release(COLUMNS, world.rows, world.dictionary)
    text = f"SELECT {', '.join([*keys, 'COUNT(*)'])} FROM people"
    text += f" WHERE {where.text}" if where else ""
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite_module, "FEW", few)
        found = {row[:-1]: row[-1] for row in rows(session, text, target)}
    truth = expected(world, keys, where) or ({} if keys else {(): 0.0})
    assert found.keys() == truth.keys()
    assert found == pytest.approx(truth, abs=1e-9)
    if where is None:
        assert sum(found.values()) == pytest.approx(len(world.rows), abs=1e-9)


@RANDOM
@given(
    world=worlds(),
    keys=st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True),
    where=st.none() | CONDITIONS,
    few=st.sampled_from([0, rewrite_module.FEW]),
    data=st.data(),
)
def test_a_record_counts_as_probably_as_it_is_real(
    session: Session,
    make_release: Callable[..., Answerable],
    world: World,
    keys: list[str],
    where: Condition | None,
    few: int,
    data: st.DataObject,
) -> None:
    chances = st.sampled_from([0.0, 0.25, 2 / 3, 1.0])
    count = len(world.rows)
    weights = data.draw(st.lists(chances, min_size=count, max_size=count))
    weighed = [(*row, weight) for row, weight in zip(world.rows, weights, strict=True)]
    made = make_release({**COLUMNS, "part_0": ("DOUBLE", "DOUBLE")}, weighed, world.dictionary)
    target = replace(made, columns=made.columns[:-1], weight="part_0")
    text = f"SELECT {', '.join([*keys, 'COUNT(*)'])} FROM people"
    text += f" WHERE {where.text}" if where else ""
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite_module, "FEW", few)
        query = rewrite(text, target)
        found = {row[:-1]: row[-1] for row in session.rows(query)}
    truth = expected(world, keys, where, weights) or ({} if keys else {(): 0.0})
    assert found.keys() == truth.keys()
    assert found == pytest.approx(truth, abs=1e-9)
    assert [c.type for c in session.describe(query)][-1] == "DOUBLE"


def test_values_of_several_levels_in_one_column(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    """Labels that mean something else on another level carry their level; leaves tell which."""
    target = make_release(
        {"age": ("INTEGER", "VARCHAR"), "sex": ("VARCHAR", "VARCHAR")},
        [("5", "M@0"), ("6@0", "M@1"), ("6@1", "M@1"), ("[4, 8)", "F"), ("*", "*"), (None, None)],
        [
            *(("age", "5", 0, None, None, None), ("age", "6@0", 0, None, None, ["6"])),
            *(("age", "6@1", 1, "6", "7", None), ("age", "[4, 8)", 2, "4", "7", None)),
            *(("age", "*", 3, "0", "9", None), ("sex", "M@0", 0, None, None, ["M"])),
            *(("sex", "M@1", 1, None, None, ["M", "MX"]), ("sex", "F", 0, None, None, None)),
            ("sex", "*", 2, None, None, ["F", "M", "MX"]),
        ],
    )
    text = "SELECT COUNT(*) FROM people WHERE age <= 6"
    assert rows(session, text, target)[0][0] == pytest.approx(1 + 1 + 0.5 + 0.75 + 0.7)
    text = "SELECT age, COUNT(*) FROM people WHERE age IN (5, 6) GROUP BY age ORDER BY age"
    found = [(age, pytest.approx(count)) for age, count in rows(session, text, target)]
    assert found == [(5, 1 + 0.25 + 0.1), (6, 1 + 0.5 + 0.25 + 0.1)]
    text = "SELECT sex, COUNT(*) FROM people WHERE age = 6 GROUP BY sex ORDER BY sex"
    found = [(sex, pytest.approx(count)) for sex, count in rows(session, text, target)]
    assert found == [
        ("F", 0.25 + 0.1 / 3),
        ("M", 0.5 + 0.25 + 0.1 / 3),
        ("MX", 0.5 + 0.25 + 0.1 / 3),
    ]


@RANDOM
@given(
    people=st.lists(
        st.tuples(
            st.none() | constants("age"),
            st.none() | constants("sex"),
            st.none() | constants("day"),
            st.none() | constants("bmi"),
            st.sampled_from(JOBS),
            st.none() | st.integers(0, 3),
        ),
        max_size=8,
    ),
    keys=st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True),
    where=st.none() | CONDITIONS,
)
def test_raw_columns_answer_like_the_source(
    session: Session,
    make_release: Callable[..., Answerable],
    people: list[tuple[Any, ...]],
    keys: list[str],
    where: Condition | None,
) -> None:
    raw = {name: (source, source) for name, (source, _) in COLUMNS.items()}
    source = make_release(raw, people, [], name="people", quasi_identifiers=["age"])
    texts = {name: (source, "VARCHAR") for name, (source, _) in COLUMNS.items()}
    texts["hours"] = ("INTEGER", "INTEGER")
    words = [tuple(None if v is None else str(v) for v in row[:5]) + row[5:] for row in people]
    dictionary = [
        (name, value, 0, None, None, None)
        for place, name in enumerate(("age", "sex", "day", "bmi"))
        for value in {row[place] for row in words}
    ]
    target = make_release(
        texts, words, dictionary, name="raw", quasi_identifiers=["age", "sex", "day", "bmi"]
    )
    text = f"SELECT {', '.join([*keys, 'COUNT(*) AS n'])} FROM people"
    text += f" WHERE {where.text}" if where else ""
    text += f" GROUP BY {', '.join(keys)} ORDER BY n DESC, {', '.join(keys)}" if keys else ""
    truth = session.rows(text)
    assert rows(session, text, target) == truth
    assert rows(session, text, source) == truth


# -- emitted SQL ------------------------------------------------------------------------------


SNAPSHOTS = Path(__file__).parent / "snapshots"

QUERIES = {
    "exact": "SELECT job, COUNT(*) AS n FROM people WHERE job LIKE 'S%' GROUP BY job ORDER BY n",
    "generalized": "SELECT sex, COUNT(*) AS n FROM people WHERE age < 25 GROUP BY sex",
}


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_emitted_sql(name: str, people: Answerable) -> None:
    emitted = sql(rewrite(QUERIES[name], people), pretty=True)
    assert emitted + "\n" == (SNAPSHOTS / f"{name}.sql").read_text()


@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_emitted_sql_is_written_for_other_engines(dialect: str, people: Answerable) -> None:
    for text in QUERIES.values():
        query = rewrite(text, people)
        assert query.sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)
