"""Macros of the sensitive column: facts, brute force over subjects, and failing closed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples, some

from dbdeid.engine.duckdb import macros

from .test_macro_classes import HOSTILE, as_list, installed, record, rows

Con = duckdb.DuckDBPyConnection
MODELS = ("l_diversity", "t_closeness", "t_closeness_ordered", "disclosure")
STUDENTS = "['Teacher', 'Gender', 'Ethnic', 'Freeredu', 'wesson']"


@pytest.fixture(scope="module")
def shelf() -> Any:
    with duckdb.connect() as connection:
        macros.install(connection)
        yield connection


def fill(con: Con, types: str, records: list[tuple[Any, ...]]) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t ({types})")
    if records:
        con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(records[0]))})", records)


# -- facts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "diversity", "t"),
    [
        ("students_math_score", (46, 1, 1, 1, None), 0.4165919952210274),
        ("students_math_score_k5", (25, 5, 4, 12**0.5, 3), 0.31023287057769827),
    ],
)
def test_students_have_the_numbers_that_pycanon_reports(
    shelf: Con, shared: Path, file: str, diversity: tuple[float | None, ...], t: float
) -> None:
    shelf.execute(f"CREATE OR REPLACE TABLE t AS FROM '{shared}/data/sdc/{file}.csv'")
    call = f"('t', {STUDENTS}, 'Score')"
    found = rows(shelf, f"FROM deid.l_diversity{call}")[0]
    wanted = [one for one in diversity if one is not None]
    assert found[: len(wanted)] == pytest.approx(wanted, rel=1e-12)
    ((_, distance),) = rows(shelf, f"FROM deid.t_closeness_ordered{call}")
    assert distance == pytest.approx(t, rel=1e-12)


def test_salaries_are_as_far_apart_as_in_the_paper(shelf: Con) -> None:
    """Li et al. 2007, section 4.2: {3k, 4k, 5k} and {6k, 8k, 11k} of {3k, …, 11k}."""
    fill(shelf, "q INTEGER, pay INTEGER", [(1, 3), (1, 4), (1, 5), (2, 6), (2, 8), (2, 11)])
    shelf.execute("INSERT INTO t VALUES (3, 7), (3, 9), (3, 10)")
    for q, distance in ((1, 0.375), (2, 1 / 6)):
        shelf.execute(
            f"CREATE OR REPLACE VIEW one AS SELECT CASE WHEN q = {q} THEN q END AS q, pay FROM t"
        )
        call = "('one', ['q'], 'pay', null_policy := 'exclude')"
        assert rows(shelf, f"FROM deid.t_closeness_ordered{call}") == [(1, pytest.approx(distance))]
        assert rows(shelf, f"FROM deid.t_closeness{call}") == [(1, pytest.approx(2 / 3))]


def test_a_value_that_everybody_has_is_known_however_many_others_there_are(shelf: Con) -> None:
    visits = [("a", p, dx) for p in (1, 2, 3) for dx in ("flu", f"own {p}")]
    fill(shelf, "q VARCHAR, p INTEGER, dx VARCHAR", visits)
    by_rows = record(shelf, "FROM deid.l_diversity('t', ['q'], 'dx')")
    assert (by_rows["distinct_l"], by_rows["smallest_class"]) == (4, 6)
    by_people = record(shelf, "FROM deid.l_diversity('t', ['q'], 'dx', subject := 'p')")
    assert by_people == {
        "classes": 1,
        "smallest_class": 3,
        "distinct_l": 1,
        "entropy_l": 1,
        "recursive_c": 3 / 6,
    }
    told = record(shelf, "FROM deid.disclosure('t', ['q'], 'dx', subject := 'p')")
    assert (told["homogeneous_records"], told["largest_confidence"]) == (6, 1)
    shelf.execute("DELETE FROM t WHERE p = 3 AND dx = 'flu'")
    by_people = record(shelf, "FROM deid.l_diversity('t', ['q'], 'dx', subject := 'p')")
    assert (by_people["distinct_l"], by_people["entropy_l"]) == (3, 3)
    told = record(shelf, "FROM deid.disclosure('t', ['q'], 'dx', subject := 'p')")
    assert (told["diverse_records"], told["largest_confidence"]) == (5, 2 / 3)


def test_a_value_that_nobody_has_makes_no_class_more_diverse(shelf: Con) -> None:
    fill(shelf, "s VARCHAR, p INTEGER", [("flu", 1), ("flu", 2), ("cold", 3), ("gout", None)])
    call = "('one', ['q'], 's', subject := 'p')"
    shelf.execute("CREATE OR REPLACE VIEW one AS SELECT 1 AS q, * FROM t")
    assert record(shelf, f"FROM deid.l_diversity{call}")["distinct_l"] == 2
    assert record(shelf, f"FROM deid.disclosure{call}")["background_records"] == 4


def test_disclosure_sorts_the_classes_into_blocks(shelf: Con) -> None:
    classes = {"one": "aaa", "two": "aab", "three": "abc", "null": [None, None]}
    fill(shelf, "q VARCHAR, s VARCHAR", [(q, s) for q, values in classes.items() for s in values])
    assert record(shelf, "FROM deid.disclosure('t', ['q'], 's')") == {
        "classes": 4,
        "homogeneous_classes": 2,
        "homogeneous_records": 5,
        "background_classes": 1,
        "background_records": 3,
        "diverse_classes": 1,
        "diverse_records": 3,
        "homogeneous_share": 5 / 11,
        "largest_confidence": 1,
    }


def test_equal_counts_have_a_whole_number_of_values(shelf: Con) -> None:
    for values in range(1, 40):
        shelf.execute(
            f"CREATE OR REPLACE TABLE t AS SELECT 1 AS q, i % {values} AS s "
            f"FROM range({values * 7}) AS r(i)"
        )
        query = "SELECT entropy_l FROM deid.l_diversity('t', ['q'], 's')"
        assert rows(shelf, query) == [(values,)]


# -- brute force -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """The values of some rows, counted by records or by subjects."""

    records: int
    size: int
    counts: Counter[Any]

    @cached_property
    def total(self) -> int:
        return self.counts.total()

    @property
    def distinct(self) -> int:
        if self.size in self.counts.values():
            return 1
        return min(len(self.counts), self.size)

    @property
    def entropy(self) -> float:
        if self.distinct <= 1:
            return self.distinct
        shares = [count / self.total for count in self.counts.values()]
        return min(exp(-sum(p * log(p) for p in shares)), self.size)

    def ratio(self, l: int) -> float:  # noqa: E741
        found = sorted(self.counts.values(), reverse=True)
        return found[0] / sum(found[max(l, 1) - 1 :]) if found else inf

    def share(self, value: Any) -> float:
        return self.counts[value] / self.total

    def equal(self, whole: Group) -> float:
        if not self.counts:
            return 1
        return sum(abs(self.share(v) - whole.share(v)) for v in whole.counts) / 2

    def ordered(self, whole: Group) -> float:
        if not self.counts:
            return 1
        moved = running = 0.0
        for value in sorted(whole.counts, key=lambda v: (v is None, v)):
            running += self.share(value) - whole.share(value)
            moved += abs(running)
        return moved / max(len(whole.counts) - 1, 1)

    @property
    def confidence(self) -> float:
        return max(self.counts.values()) / self.size if self.size else 1


def group(members: list[tuple[Any, Any]], people: bool) -> Group:
    """The rows (value, subject) of a class or of all."""
    if not people:
        return Group(len(members), len(members), Counter(value for value, _ in members))
    pairs = {(value, who) for value, who in members if who is not None}
    return Group(len(members), len({who for _, who in pairs}), Counter(value for value, _ in pairs))


def near(pick: Callable[..., Any], found: Iterator[float]) -> Any:
    """About the one picked, None where there is none."""
    one = pick(found, default=None)
    return None if one is None else pytest.approx(one, rel=1e-12, abs=1e-12)


cells = st.one_of(st.none(), st.integers(0, 1))
values = st.one_of(st.none(), st.integers(0, 4))
tables = st.lists(
    st.tuples(cells, cells, values, st.one_of(st.none(), st.integers(0, 5))), max_size=24
)


@settings(max_examples=examples(80), deadline=None)
@given(records=tables, policy=st.sampled_from(["own_category", "exclude"]), people=st.booleans())
def test_macros_agree_with_the_definitions(
    shelf: Con, records: list[tuple[Any, ...]], policy: str, people: bool
) -> None:
    fill(shelf, "a INTEGER, b VARCHAR, s DECIMAL(4, 1), p INTEGER", records)
    members: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for a, b, s, p in records:
        if policy == "own_category" or None not in (a, b):
            members.setdefault((a, b), []).append((s, p))
    classes = [group(rows_, people) for rows_ in members.values()]
    whole = group([(s, p) for _, _, s, p in records], people)
    how = f"null_policy := '{policy}'" + (", subject := 'p'" if people else "")
    call = f"('t', ['a', 'b'], 's', {how})"

    distinct = min((c.distinct for c in classes), default=None)
    assert record(shelf, f"FROM deid.l_diversity{call}") == {
        "classes": len(classes),
        "smallest_class": min((c.size for c in classes), default=None),
        "distinct_l": distinct,
        "entropy_l": near(min, (c.entropy for c in classes)),
        "recursive_c": near(max, (c.ratio(distinct or 0) for c in classes)),
    }
    for name, distance in (("t_closeness", Group.equal), ("t_closeness_ordered", Group.ordered)):
        assert record(shelf, f"FROM deid.{name}{call}") == {
            "classes": len(classes),
            "t": near(max, (distance(c, whole) for c in classes)),
        }
    blocks = {"homogeneous": (0, 1), "background": (2,), "diverse": range(3, 99)}
    expected: dict[str, Any] = {"classes": len(classes)}
    for name, levels in blocks.items():
        inside = [c for c in classes if c.distinct in levels]
        expected[f"{name}_classes"] = len(inside)
        expected[f"{name}_records"] = sum(c.records for c in inside)
    known = sum(c.records for c in classes)
    expected["homogeneous_share"] = expected["homogeneous_records"] / known if known else None
    expected["largest_confidence"] = max((c.confidence for c in classes), default=None)
    assert record(shelf, f"FROM deid.disclosure{call}") == expected


def test_ten_thousand_numbers_agree_with_a_dense_sum(shelf: Con) -> None:
    shelf.execute(
        "CREATE OR REPLACE TABLE t AS SELECT i % 7 AS q, hash(i) % 10000 / 8 AS s "
        "FROM range(30000) AS r(i)"
    )
    table: list[tuple[int, float]] = shelf.execute("SELECT q, s FROM t").fetchall()
    whole = group([(s, None) for _, s in table], people=False)
    worst = max(
        group([(s, None) for one, s in table if one == q], people=False).ordered(whole)
        for q in range(7)
    )
    ((_, t),) = rows(shelf, "FROM deid.t_closeness_ordered('t', ['q'], 's')")
    assert t == pytest.approx(worst, abs=1e-11)


# -- failing closed ----------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [0, 9])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("['a'], 'nope'", 'Column "nope" was selected but was not found'),
        ("['a'], 's.*'", r'Column "s\.\*" was selected but was not found'),
        ("['a'], ''", "sensitive must be the name of a column"),
        ("['a'], NULL", "sensitive must be the name of a column"),
        ("['a'], ['s']", "sensitive must be the name of a column"),
        ("'a', 's'", "qis must be a list of column names"),
        ("[], 's'", "qis must be a list of column names"),
        ("NULL, 's'", "qis must be a list of column names"),
        ("['a', NULL], 's'", "qis must be a list of column names"),
        ("['a', 'nope'], 's'", 'Column "nope" was selected but was not found'),
        ("['a.*'], 's'", r'Column "a\.\*" was selected but was not found'),
        ("['a'], 's', subject := 'nope'", 'Column "nope" was selected but was not found'),
        ("['a'], 's', subject := NULL", "subject must be the name of a column"),
        ("['a'], 's', subject := ['a']", "subject must be the name of a column"),
        ("['a'], 's', null_policy := 'wildcard'", "null_policy must be own_category or exclude"),
        ("['a'], 's', null_policy := 'Exclude'", "null_policy must be own_category or exclude"),
        ("['a'], 's', null_policy := NULL", "null_policy must be own_category or exclude"),
    ],
)
def test_what_cannot_be_asked_is_an_error(
    shelf: Con, model: str, size: int, arguments: str, message: str
) -> None:
    shelf.execute(f"CREATE OR REPLACE TABLE t AS SELECT 1 AS a, i AS s FROM range({size}) AS r(i)")
    with pytest.raises(duckdb.Error, match=message):
        rows(shelf, f"FROM deid.{model}('t', {arguments})")


@pytest.mark.parametrize("model", MODELS)
def test_a_table_that_is_not_there_is_an_error(shelf: Con, model: str) -> None:
    for name in ("nope", "(SELECT 1 AS a)", "t; DROP TABLE t"):
        with pytest.raises(duckdb.CatalogException, match="does not exist"):
            rows(shelf, f"FROM deid.{model}('{name}', ['a'], 's')")


def test_without_a_class_there_is_no_number(shelf: Con) -> None:
    fill(shelf, "a INTEGER, s INTEGER, p INTEGER", [])
    for _ in range(2):
        for how in ("null_policy := 'exclude'", "null_policy := 'exclude', subject := 'p'"):
            call = f"('t', ['a'], 's', {how})"
            assert rows(shelf, f"FROM deid.l_diversity{call}") == [(0, None, None, None, None)]
            assert rows(shelf, f"FROM deid.t_closeness{call}") == [(0, None)]
            assert rows(shelf, f"FROM deid.t_closeness_ordered{call}") == [(0, None)]
            assert rows(shelf, f"FROM deid.disclosure{call}") == [(0, 0, 0, 0, 0, 0, 0, None, None)]
        shelf.execute("INSERT INTO t VALUES (NULL, 1, 1), (NULL, 2, 2)")


def test_a_class_of_nobody_passes_nothing(shelf: Con) -> None:
    fill(shelf, "a INTEGER, s INTEGER, p INTEGER", [(1, i, None) for i in range(5)])
    call = "('t', ['a'], 's', subject := 'p')"
    for _ in range(2):
        found = record(shelf, f"FROM deid.l_diversity{call}")
        assert (found["distinct_l"], found["entropy_l"], found["recursive_c"]) == (0, 0, inf)
        assert record(shelf, f"FROM deid.t_closeness{call}")["t"] == 1
        assert record(shelf, f"FROM deid.t_closeness_ordered{call}")["t"] == 1
        told = record(shelf, f"FROM deid.disclosure{call}")
        assert (told["homogeneous_records"], told["largest_confidence"]) == (5, 1)
        shelf.execute("INSERT INTO t SELECT 2, i, i FROM range(9) AS r(i)")


def test_the_values_of_a_class_are_the_same_text_in_every_macro() -> None:
    shared = set()
    for name in MODELS:
        content = installed(name).replace(f"deid.{name}: ", "")
        parts = re.findall(r"-- the values of each class.*?GROUP BY ALL\n", content, re.DOTALL)
        assert len(parts) == 1
        shared |= {re.sub(r"\s+", " ", part) for part in parts}
    assert len(shared) == 1
    ordered = installed("t_closeness_ordered")
    twice = re.findall(r"SELECT\s+__place,.*?UNBOUNDED PRECEDING\n *\)\n", ordered, re.DOTALL)
    assert len(twice) == 2
    assert len({re.sub(r"\s+", " ", part) for part in twice}) == 1


@pytest.mark.parametrize("name", [*MODELS, "kl", "entropy_l", "emd", "rce"])
def test_no_with_for_older_duckdb_loses_it_from_a_published_file(name: str) -> None:
    content = installed(name)
    assert not re.search(r"\bWITH\b", re.sub(r"--.*", "", content))
    assert not re.search(r"EXCLUDE \([^)]*,", content)


# -- names that could be taken for those of the macros -------------------------------------------

ALIASES = sorted(
    {found for name in (*MODELS, "kl") for found in re.findall(r"\b__\w+", installed(name))}
)
OTHERS = ["pair", "whole", "class", "name", "one", "by_value", "in_class", "t", "sensitive"]
OTHERS += ["subject", "null_policy", "truth", "estimate", "cols", "distinct_l", "entropy_l"]
NAMES = list(dict.fromkeys([*HOSTILE, *ALIASES, *(f"{a}_1" for a in ALIASES), *OTHERS]))


@pytest.fixture(scope="module")
def hostile() -> Any:
    """Two classes by age, of values 0 0 1 and 2 2; every other column numbers the rows."""
    with duckdb.connect() as connection:
        macros.install(connection)
        columns = ", ".join('i AS "' + name.replace('"', '""') + '"' for name in NAMES)
        connection.execute(
            f"CREATE TABLE h AS SELECT {columns}, [0, 0, 1, 2, 2][i + 1] AS dx, "
            "CASE WHEN i < 3 THEN 20 ELSE 30 END AS age FROM range(5) AS r(i)"
        )
        yield connection


def everything(con: Con, qis: list[str], sensitive: str, how: str = "") -> list[Any]:
    escaped = sensitive.replace("'", "''")
    call = f"('h', {as_list(qis)}, '{escaped}'{how})"
    return [value for model in MODELS for value in rows(con, f"FROM deid.{model}{call}")[0]]


BY_AGE = [2, 2, 1, 1, 1, 2, 0.6, 2, 0.5, 2, 1, 2, 1, 3, 0, 0, 0.4, 1]
SINGLE = [5, 1, 1, 1, 1, 5, 0.8, 5, 0.5, 5, 5, 5, 0, 0, 0, 0, 1, 1]
NUMBERED = [2, 2, 2, 2, 1, 2, 0.6, 2, 0.375, 2, 0, 0, 1, 2, 1, 3, 0, 0.5]


def test_columns_named_like_ours_do_not_interfere(hostile: Con) -> None:
    for how in ("", ", null_policy := 'exclude'", ", subject := 'k'"):
        assert everything(hostile, ["age"], "dx", how) == pytest.approx(BY_AGE)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [*ALIASES, *OTHERS])
def test_such_a_column_can_be_anything(hostile: Con, name: str) -> None:
    assert everything(hostile, ["age"], "dx", f", subject := '{name}'") == pytest.approx(BY_AGE)
    singled = everything(hostile, ["dx", name], name, f", subject := '{name}'")
    assert singled == pytest.approx(SINGLE)
    assert everything(hostile, ["age"], name) == pytest.approx(NUMBERED)
    assert rows(hostile, f"FROM deid.kl('h', 'h', ['{name}', 'age'])") == [(0, 5, 0)]


def test_all_of_them_at_once_and_tables_named_like_ours(hostile: Con) -> None:
    assert everything(hostile, NAMES, "dx")[:5] == [5, 1, 1, 1, 1]
    some_of_them = list(some(NAMES, 3))
    assert everything(hostile, some_of_them, "dx", ", subject := 'k'")[:5] == [5, 1, 1, 1, 1]
    names = ("pair", "whole", "class", "tbl", "sensitive", "deid", "truth", "estimate")
    for name in some(names, 4):
        hostile.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT age, dx FROM h')
        for model in MODELS:
            found = rows(hostile, f"FROM deid.{model}('{name}', ['age'], 'dx')")
            assert found == rows(hostile, f"FROM deid.{model}('h', ['age'], 'dx')")
        assert rows(hostile, f"FROM deid.kl('{name}', 'h', ['age', 'dx'])") == [(0, 3, 0)]


def test_a_quasi_identifier_can_be_the_sensitive_column(shelf: Con) -> None:
    fill(shelf, "a INTEGER, s VARCHAR", [(1, "x"), (1, "y"), (1, "x")])
    assert rows(shelf, "SELECT distinct_l FROM deid.l_diversity('t', ['a', 'S'], 's')") == [(1,)]
    assert rows(shelf, "SELECT classes FROM deid.l_diversity('t', ['A', 'a'], 's')") == [(1,)]


@pytest.mark.parametrize(
    "type_", ["VARCHAR COLLATE NOCASE", "VARCHAR", "VARCHAR[]", "STRUCT(x VARCHAR)"]
)
def test_values_of_any_type_are_those_that_group_by_all_keeps_apart(shelf: Con, type_: str) -> None:
    shelf.execute(f"CREATE OR REPLACE TABLE t (q INTEGER, s {type_})")
    wrapped = {"VARCHAR[]": "[s]", "STRUCT(x VARCHAR)": "{'x': s}"}.get(type_, "s")
    shelf.execute(
        f"INSERT INTO t SELECT q, {wrapped} FROM (VALUES (1, 'a'), (1, 'A'), (2, 'b'), (2, 'B'), "
        "(2, 'a'), (2, 'c'), (1, 'D')) AS v(q, s)"
    )
    merged = "COLLATE" in type_  # DuckDB takes 'a' and 'A' for one value, and so do the macros
    assert len(rows(shelf, "SELECT q, s FROM t GROUP BY ALL")) == (5 if merged else 7)
    distinct = 2 if merged else 3
    t = 2 / 3 - 3 / 7 + 1 / 3 - 1 / 7 if merged else 1 / 3 - 2 / 7 + 2 * (1 / 3 - 1 / 7)
    assert rows(shelf, "SELECT distinct_l FROM deid.l_diversity('t', ['q'], 's')") == [(distinct,)]
    assert rows(shelf, "SELECT t FROM deid.t_closeness('t', ['q'], 's')") == [(pytest.approx(t),)]


def test_numbers_that_are_equal_are_one_value(shelf: Con) -> None:
    shelf.execute(
        "CREATE OR REPLACE TABLE t AS SELECT q, CAST(s AS DOUBLE) AS s FROM (VALUES (1, '0'), "
        "(1, '-0'), (2, 'nan'), (2, '-nan')) AS v(q, s)"
    )
    assert rows(shelf, "FROM deid.t_closeness('t', ['q'], 's')") == [(2, 0.5)]
    assert rows(shelf, "FROM deid.t_closeness_ordered('t', ['q'], 's')") == [(2, 0.5)]


# -- divergence ----------------------------------------------------------------------------------


@settings(max_examples=examples(30), deadline=None)
@given(
    truth=st.lists(st.tuples(cells, cells), min_size=1, max_size=20),
    estimate=st.lists(st.tuples(cells, cells), min_size=1, max_size=20),
)
def test_kl_is_the_relative_entropy_of_scipy(
    shelf: Con, truth: list[tuple[Any, Any]], estimate: list[tuple[Any, Any]]
) -> None:
    from scipy.stats import entropy

    for name, table in (("truth", truth), ("estimate", estimate)):
        shelf.execute(f"CREATE OR REPLACE TABLE {name} (a INTEGER, b VARCHAR)")
        shelf.executemany(f"INSERT INTO {name} VALUES (?, ?)", table)
    combinations = sorted({*truth, *estimate}, key=repr)
    p, q = Counter(truth), Counter(estimate)
    expected = entropy([p[c] for c in combinations], [q[c] for c in combinations])
    ((kl, found, missing),) = rows(shelf, "FROM deid.kl('truth', 'estimate', ['b', 'a'])")
    assert kl == pytest.approx(expected, abs=1e-12)
    assert (found, missing) == (len(p), len(p.keys() - q.keys()))
    assert (kl == inf) == (missing > 0)


def test_kl_compares_columns_by_name_in_a_type_that_holds_both(shelf: Con) -> None:
    shelf.execute("CREATE OR REPLACE TABLE t AS FROM (VALUES (1, 'x'), (2, 'y')) v(a, b)")
    shelf.execute("CREATE OR REPLACE TABLE u AS FROM (VALUES ('x', 1), ('y', 2)) v(B, a)")
    assert rows(shelf, "FROM deid.kl('t', 'u', ['a', 'b'])") == [(0, 2, 0)]
    shelf.execute("CREATE OR REPLACE TABLE u AS FROM (VALUES ('x', '1'), ('y', '*')) v(b, a)")
    assert rows(shelf, "FROM deid.kl('t', 'u', ['a', 'b'])") == [(inf, 2, 1)]
    assert rows(shelf, "FROM deid.kl('t', 'u', ['b'])") == [(0, 2, 0)]
    empty = "WITH e AS (FROM u LIMIT 0) FROM deid.kl({}, {}, ['b'])"
    assert rows(shelf, empty.format("'t'", "'e'")) == [(inf, 2, 2)]
    assert rows(shelf, empty.format("'e'", "'t'")) == [(None, 0, 0)]
    assert rows(shelf, empty.format("'e'", "'e'")) == [(None, 0, 0)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', 'u', ['a']", 'Column "a" was selected but was not found'),
        ("'u', 't', ['a']", 'Column "a" was selected but was not found'),
        ("'t', 'u', 'b'", "cols must be a list of column names"),
        ("'t', 'u', []", "cols must be a list of column names"),
        ("'t', 'u', NULL", "cols must be a list of column names"),
        ("'t', 'u', ['b', NULL]", "cols must be a list of column names"),
        ("NULL, 'u', ['b']", "truth must be the name of a table"),
        ("'t', NULL, ['b']", "estimate must be the name of a table"),
        ("'t', 'nope', ['b']", "does not exist"),
    ],
)
def test_what_cannot_be_compared_is_an_error(shelf: Con, call: str, message: str) -> None:
    shelf.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 'x' AS b")
    shelf.execute("CREATE OR REPLACE TABLE u AS SELECT 'x' AS b")
    with pytest.raises(duckdb.Error, match=message):
        rows(shelf, f"FROM deid.kl({call})")


# -- counts and shares in lists ------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("given", "summed", "found", "one", "pair", "before", "next", "p", "q", "kind", "counts"),
        *("leaves", "told", "is_real", "real"),
    ],
)
def test_columns_of_the_caller_are_not_captured(shelf: Con, name: str) -> None:
    query = f"""SELECT deid.entropy_l("{name}"), deid.emd("{name}", x."{name}"),
      deid.emd("{name}", [0, 0, 1], kind := 'ordered'),
      deid.rce(list_filter("{name}", lambda x: x > 0), 0.5, true)
      FROM (SELECT [1, 1, 0] AS "{name}", [9, 9, 9] AS other) AS x"""
    expected = [(2, 0, pytest.approx(0.75), 0.25)]
    assert rows(shelf, query) == expected
    again = query.replace("x.", f'"{name}".').replace("AS x", f'AS "{name}"')
    assert rows(shelf, again) == expected
