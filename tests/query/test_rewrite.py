"""The rewritten query: worked examples, the names and types it meets, its text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from asking import bounded, rewrite, rows
from sqlglot import exp

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.engine.sqltext import sql
from dbdeid.query.parse.answerable import Answerable


@pytest.mark.full
def test_the_worked_example(session: Session, people: Answerable) -> None:
    # Ages 20-24 are half of [20, 30) and a twentieth of *; F is half of *.
    # Both F and young: 1 * .5 + .5 * .5 + 0 + 0 = .75; nobody surely, the first two perhaps
    text = "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND age BETWEEN 20 AND 24"
    assert bounded(session, text, people) == [(0.75, 0, 2)]
    # F or young, by record: 1, 1 - .5 * .5, .5, .05 (M), 0 (NULL); the first surely
    text = "SELECT COUNT(*) FROM people WHERE sex = 'F' OR age BETWEEN 20 AND 24"
    assert bounded(session, text, people) == [(pytest.approx(1 + 0.75 + 0.5 + 0.05), 1, 4)]
    text = "SELECT sex, COUNT(*) FROM people WHERE job = 'Sales' GROUP BY sex ORDER BY sex"
    assert bounded(session, text, people) == [("F", 2.0, 1, 3), ("M", 1.0, 0, 2)]
    text = "SELECT COUNT(*) FROM people WHERE job = 'Sales' GROUP BY sex ORDER BY sex"
    assert rows(session, text, people) == [(2.0,), (1.0,)]
    # the last record's age is NULL; that of * may be, but nothing is expected of it
    text = "SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY age NULLS FIRST LIMIT 2"
    assert bounded(session, text, people) == [(None, 1.0, 1, 2), (0, 0.01, 0, 1)]


@pytest.mark.full
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
        ("count_star()_lower", "BIGINT"),
        ("count_star()_upper", "BIGINT"),
        ("age", "INTEGER"),
        ("(age // 10)", "INTEGER"),
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


@pytest.mark.full
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


@pytest.mark.full
def test_many_filters_weigh_the_records(
    session: Session, make_release: Callable[..., Answerable]
) -> None:
    columns = dict.fromkeys("abc", ("INTEGER", "VARCHAR"))
    dictionary = [(name, "low", 1, "0", "3", None) for name in "abc"]
    target = make_release(columns, [("low", "low", "low"), ("low", "low", None)], dictionary)
    text = "SELECT COUNT(*) FROM people WHERE a < 1 AND b < 2 AND (c < 3 OR c IS NULL)"
    assert bounded(session, text, target) == [(0.25 * 0.5 * 0.75 + 0.25 * 0.5, 0, 2)]
    joined = rewrite(text, target).ctes[-4].find_all(exp.Join)
    assert [join.alias_or_name for join in joined] == ["share_1", "share_2", "share_3"]
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


@pytest.mark.sampled(3)
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
    asked = f"SELECT {quoted}, b, COUNT(*) AS m FROM people"
    text = f"{asked} WHERE {quoted} < 3 OR b = 'y' GROUP BY ALL"
    assert sorted(rows(session, text, target)) == [
        *((0, "x", 0.5), (0, "y", 0.5), (1, "x", 0.5), (1, "y", 0.5), (2, "x", 0.5))
    ]
    text = f"SELECT b AS {quoted}, COUNT(*) AS part_1 FROM people WHERE {quoted} > 0 GROUP BY b"
    assert sorted(rows(session, text, target)) == [("x", 1.5), ("y", 0.5)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["released", "share_1", "values_1", "source", "spread", "cells"])
def test_the_release_may_have_any_name(
    name: str, session: Session, make_release: Callable[..., Answerable]
) -> None:
    target = make_release(
        {"age": ("INTEGER", "VARCHAR")}, [("low",)], [("age", "low", 1, "0", "1", None)], name=name
    )
    text = "SELECT COUNT(*) FROM people WHERE age < 1"
    assert rows(session, text, target) == [(0.5,)]


@pytest.mark.full
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
            "BIGINT",
            "BIGINT",
        )
    ]
    found = session.rows(query)
    assert len(found) == 8
    assert {row[-3:] for row in found} == {(0.125, 0, 1)}
    assert found[0][:2] == (1, date(2024, 5, 1))


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize(
    "one", ["job <> '{}'", "age <> {} + 100", "(age <> {} + 100 OR sex = 'Q')"]
)
def test_a_condition_may_be_long(one: str, session: Session, people: Answerable) -> None:
    parts = " AND ".join(one.format(number) for number in range(240))
    text = f"SELECT COUNT(*) FROM people WHERE {parts}"
    assert rows(session, text, people)[0][0] == pytest.approx(4)
