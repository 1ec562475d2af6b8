"""Macros that count subjects, and that know other NULLs than those of GROUP BY."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import judge
from tiers import examples, some

from dbdeid.engine.duckdb import macros
from dbdeid.privacy import Counting, NullPolicy

from .test_macro_classes import HOSTILE, as_list, installed, record, rows

Con = duckdb.DuckDBPyConnection
W = ("wildcard", "p")
POLICIES: tuple[NullPolicy, ...] = get_args(NullPolicy)
# subjects under wildcard are for `dbdeid risk`: the macros refuse them
COUNTINGS = [(policy, who) for policy in POLICIES for who in ("", "p") if (policy, who) != W]
SHARING = ("annotate", "check", "classes", "histogram", "k", "risk")


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
    ("c", "policy", "expected"),
    [
        ((1, 3, 1, 2, 1, 1, 1, 1), "own_category", [3, 1, 3, 1, 2, 2, 1, 3]),
        ((1, 3, 1, 2, 1, 1, 1, 1), "wildcard", [3, 1, 3, 1, 2, 2, 1, 3]),
        ((1, 3, None, 2, 1, 1, None, 1), "own_category", [2, 1, 1, 1, 2, 2, 1, 2]),
        ((1, 3, None, 2, 1, 1, None, 1), "wildcard", [3, 1, 4, 2, 2, 2, 1, 3]),
        ((1, 3, None, 2, 1, 1, None, 1), "exclude", [2, 1, 0, 1, 2, 2, 0, 2]),
    ],
)
def test_frequencies_of_sdcmicro(
    shelf: Con, c: tuple[int | None, ...], policy: str, expected: list[int]
) -> None:
    a, b = (2, 3, 2, 2, 3, 3, 1, 2), (3, 3, 3, 3, 3, 3, 4, 3)
    weights = (18, 45.5, 39, 17, 92, 8, 123.5, 51)
    records = list(zip(range(8), a, b, c, weights, strict=True))
    fill(shelf, "i INTEGER, a INTEGER, b INTEGER, c INTEGER, w DOUBLE", records)
    query = f"FROM deid.annotate('t', ['a', 'b', 'c'], null_policy := '{policy}') ORDER BY i"
    assert [row[-1] for row in rows(shelf, query)] == expected


@pytest.mark.full
def test_diabetes_counted_by_encounters_hides_patients_in_classes_of_too_few(shared: Path) -> None:
    """101,766 encounters of 71,518 patients: 82 classes of five rows are fewer people."""
    qis = "['race', 'gender', 'age', 'medical_specialty', 'admission_type_id']"
    with duckdb.connect() as con:
        macros.install(con)
        con.execute(f"CREATE TABLE visits AS FROM '{shared}/data/ehr/diabetes130.parquet'")
        con.execute(f"CREATE TABLE by_rows AS FROM deid.suppress('visits', {qis}, k := 5)")
        con.execute(
            f"CREATE TABLE by_people AS "
            f"FROM deid.suppress('visits', {qis}, k := 5, subject := 'patient_nbr')"
        )
        assert rows(con, f"SELECT deid.check('by_rows', {qis}, 5)") == [(True,)]
        small = rows(
            con,
            f"SELECT sum(classes) FROM deid.histogram('by_rows', {qis}, subject := 'patient_nbr') "
            "WHERE class_size < 5",
        )
        assert small == [(82,)]
        with pytest.raises(
            duckdb.Error, match=r"of 5 subjects; \d+ of \d+ records are in 82 class"
        ):
            rows(con, f"SELECT deid.check('by_rows', {qis}, 5, subject := 'patient_nbr')")
        assert rows(con, f"SELECT deid.k('by_people', {qis}, subject := 'patient_nbr')") == [(5,)]
        risk = record(con, f"FROM deid.risk('visits', {qis}, subject := 'patient_nbr')")
        assert (risk["records"], risk["subjects"]) == (101766, 71518)


# -- brute force -------------------------------------------------------------------------------

cells = st.one_of(st.none(), st.integers(0, 2))
tables = st.lists(
    st.tuples(cells, cells, cells, st.one_of(st.none(), st.integers(0, 5))), max_size=14
)


@settings(max_examples=examples(40), deadline=None)
@given(records=tables, counted=st.sampled_from(COUNTINGS), k=st.integers(1, 4))
def test_macros_agree_with_the_definitions(
    shelf: Con, records: list[tuple[Any, ...]], counted: tuple[NullPolicy, str], k: int
) -> None:
    policy, people = counted[0], bool(counted[1])
    table = [(a, None if b is None else str(b), c, p) for a, b, c, p in records]
    fill(shelf, "a INTEGER, b VARCHAR, c DOUBLE, p INTEGER", table)
    counting = Counting(policy, "p" if people else None)
    judged = judge(table if people else [row[:3] for row in table], 3 if people else None, counting)
    sizes = {one: size or 0 for one, (_, size) in judged.sizes.items()}
    how = f"null_policy := '{policy}'" + (", subject := 'p'" if people else "")
    call = f"('t', ['a', 'b', 'c'], {how}"

    assert {row[:-1]: row[-1] for row in rows(shelf, f"FROM deid.classes{call})")} == sizes
    assert rows(shelf, f"SELECT deid.k{call})") == [(judged.smallest or 0,)]
    assert rows(shelf, f"FROM deid.histogram{call})") == judged.histogram()
    expected = judged.risk(k)
    del expected["null_policy"]
    assert record(shelf, f"FROM deid.risk{call}, k := {k})") == pytest.approx(expected)
    annotated = Counter((*row, sizes[row[:3]]) for row in table)
    assert Counter(rows(shelf, f"FROM deid.annotate{call})")) == annotated
    if policy != "wildcard":
        kept = Counter(row for row in table if sizes[row[:3]] >= k)
        assert Counter(rows(shelf, f"FROM deid.suppress{call}, k := {k})")) == kept
    for query in (f'FROM deid."check"{call}, k := {k})', f"SELECT deid.check{call}, k := {k})"):
        if judged.smallest is not None and judged.smallest >= k:
            assert len(rows(shelf, query)) == 1
        else:
            with pytest.raises(duckdb.Error, match=r"deid\.check: (not \d-anonymous|the table is)"):
                rows(shelf, query)


# -- failing closed ----------------------------------------------------------------------------

CALLS = [
    "FROM deid.classes('t', ['a'], {})",
    "FROM deid.histogram('t', ['a'], {})",
    "FROM deid.risk('t', ['a'], {})",
    "FROM deid.annotate('t', ['a'], {})",
    "FROM deid.suppress('t', ['a'], k := 1, {})",
    "FROM deid.\"check\"('t', ['a'], 1, {})",
    "SELECT deid.check('t', ['a'], 1, {})",
    "SELECT deid.k('t', ['a'], {})",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("size", [0, 9])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("subject := 'patient'", 'Column "patient" was selected but was not found'),
        ("subject := 'p.*'", r'Column "p\.\*" was selected but was not found'),
        ("subject := NULL", "subject must be the name of a column, or left out"),
        ("subject := ['p']", "subject must be the name of a column, or left out"),
        ("subject := 1", "subject must be the name of a column, or left out"),
        ("null_policy := 'ignore'", "null_policy must be own_category"),
        ("null_policy := 'Exclude'", "null_policy must be own_category"),
        ("null_policy := NULL", "null_policy must be own_category"),
        ("null_policy := 'nope', subject := 'p'", "null_policy must be own_category"),
        ("null_policy := 'wildcard', subject := 'p'", "null_policy must be own_category"),
    ],
)
def test_what_was_asked_for_and_cannot_be_is_an_error(
    shelf: Con, call: str, size: int, how: str, message: str
) -> None:
    shelf.execute(f"CREATE OR REPLACE TABLE t AS SELECT 1 AS a, i AS p FROM range({size}) AS r(i)")
    with pytest.raises(duckdb.Error, match=message):
        rows(shelf, call.format(how))


def test_suppress_knows_no_wildcard_for_what_goes_would_be_missing(shelf: Con) -> None:
    shelf.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a")
    with pytest.raises(duckdb.Error, match="null_policy must be own_category or exclude"):
        rows(shelf, "FROM deid.suppress('t', ['a'], null_policy := 'wildcard')")


@pytest.mark.parametrize("policy", ["own_category", "exclude"])
def test_subjects_that_are_null_are_nobody(shelf: Con, policy: str) -> None:
    shelf.execute(
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS a, CAST(NULL AS INT) AS p FROM range(9)"
    )
    how = f"subject := 'p', null_policy := '{policy}'"
    assert rows(shelf, f"SELECT deid.k('t', ['a'], {how})") == [(0,)]
    assert rows(shelf, f"SELECT DISTINCT class_size FROM deid.annotate('t', ['a'], {how})") == [
        (0,)
    ]
    with pytest.raises(duckdb.Error, match="has 0 of 1 subjects"):
        rows(shelf, f"SELECT deid.check('t', ['a'], 1, {how})")
    risk = record(shelf, f"FROM deid.risk('t', ['a'], 1, {how})")
    assert (risk["highest_risk"], risk["average_risk"], risk["records_at_risk"]) == (1, None, 9)


def test_an_empty_table_under_every_counting(shelf: Con) -> None:
    shelf.execute("CREATE OR REPLACE TABLE t (a INTEGER, p INTEGER)")
    for policy, subject in COUNTINGS:
        how = f"subject := '{subject}', null_policy := '{policy}'"
        assert rows(shelf, f"SELECT deid.k('t', ['a'], {how})") == [(0,)]
        assert rows(shelf, f"FROM deid.classes('t', ['a'], {how})") == []
        empty = [(0, 0, 0, None, None, None, 0, 0)]
        assert rows(shelf, f"FROM deid.risk('t', ['a'], {how})") == empty
        with pytest.raises(duckdb.Error, match="the table is empty"):
            rows(shelf, f"SELECT deid.check('t', ['a'], 1, {how})")


# -- names that could be taken for those of the macros -------------------------------------------

NAMES = [
    "__n",
    "k",
    "qis",
    "class_size",
    "subject",
    "null_policy",
    "subjects",
    "__rows",
    "__rows_1",
    "__who",
    "__key",
    "__key_1",
    "__cells",
    "__mask",
    "__other",
    "__seen",
    "__met",
    "__partial",
    "__masks",
    "__least",
    "__first",
    "__unique",
    "__exposed",
    "cell",
    "i",
    "name",
    "mask",
    "alike",
    "record",
    "class",
]
OURS = list(dict.fromkeys([*HOSTILE, *NAMES]))


@pytest.fixture(scope="module")
def hostile() -> Any:
    """Ages of 3 and 2 rows and a NULL; every other column numbers the rows, `who` has 4 people."""
    with duckdb.connect() as connection:
        macros.install(connection)
        columns = ", ".join('i AS "' + name.replace('"', '""') + '"' for name in OURS)
        connection.execute(
            f"CREATE TABLE h AS SELECT {columns}, least(i, 3) AS who, "
            "CASE WHEN i < 3 THEN 20 WHEN i < 5 THEN 30 END AS age FROM range(6) AS r(i)"
        )
        yield connection


def sized(con: Con, qis: list[str], how: str) -> Counter[int]:
    """Class sizes by record, which all macros must agree on."""
    call = f"('h', {as_list(qis)}, {how})"
    names = [row[0] for row in rows(con, "DESCRIBE h")]
    found = Counter(row[-1] for row in rows(con, f"FROM deid.annotate{call}"))
    sizes = [row[-1] for row in rows(con, f"FROM deid.classes{call}")]
    assert set(sizes) == set(found)
    assert rows(con, f"SELECT deid.k{call}") == [(min(sizes),)]
    counted = {size: n for size, _, n in rows(con, f"FROM deid.histogram{call}")}
    assert counted == {size: n for size, n in found.items() if size}
    assert record(con, f"FROM deid.risk{call}")["records"] == 6
    if "wildcard" not in how:
        query = f"FROM deid.suppress('h', {as_list(qis)}, k := 2, {how})"
        assert [row[0] for row in rows(con, f"DESCRIBE {query}")] == names
        assert len(rows(con, query)) == sum(n for size, n in found.items() if size >= 2)
    return found


BY_AGE = {
    ("own_category", "who"): Counter({3: 3, 1: 3}),
    ("own_category", ""): Counter({3: 3, 2: 2, 1: 1}),
    ("wildcard", ""): Counter({6: 1, 4: 3, 3: 2}),
    ("exclude", "who"): Counter({3: 3, 1: 2, 0: 1}),
    ("exclude", ""): Counter({3: 3, 2: 2, 0: 1}),
}


@pytest.mark.parametrize(("policy", "subject"), BY_AGE)
def test_columns_named_like_ours_do_not_interfere(hostile: Con, policy: str, subject: str) -> None:
    how = f"subject := '{subject}', null_policy := '{policy}'"
    assert sized(hostile, ["age"], how) == BY_AGE[policy, subject]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", NAMES)
def test_such_a_column_can_be_the_subject_and_a_quasi_identifier(hostile: Con, name: str) -> None:
    literal = name.replace("'", "''")
    for policy in ("own_category", "exclude"):
        by_rows = BY_AGE[policy, ""]
        assert (
            sized(hostile, ["age"], f"subject := '{literal}', null_policy := '{policy}'") == by_rows
        )
    assert sized(hostile, [name], f"subject := '{literal}'") == Counter({1: 6})
    assert sized(hostile, [name, "age"], "null_policy := 'wildcard'") == {1: 6}


def test_all_of_them_at_once_and_tables_named_like_ours(hostile: Con) -> None:
    for how in ("subject := 'who'", "null_policy := 'wildcard'", "null_policy := 'exclude'"):
        assert sized(hostile, OURS, how) == Counter({1: 6})
    tables = (
        *("__groups", "__marked", "__shadows", "__sizes"),
        *("name", "mask", "alike", "class", "record"),
    )
    for name in some(tables, 2):
        hostile.execute(f'CREATE TABLE "{name}" AS SELECT i // 3 AS age FROM range(6) AS r(i)')
        call = f"""('"{name}"', ['age']"""
        for policy in POLICIES:
            assert rows(hostile, f"SELECT deid.k{call}, null_policy := '{policy}')") == [(3,)]
            query = f"FROM deid.annotate{call}, null_policy := '{policy}')"
            assert {row[-1] for row in rows(hostile, query)} == {3}
        assert rows(hostile, f"SELECT deid.k{call}, subject := 'age')") == [(1,)]


# -- macros cannot call macros: what they share is a part of each ---------------------------------


def test_the_classes_of_a_counting_are_the_same_text_in_every_macro() -> None:
    shared = set()
    for name in SHARING:
        content = installed(name).replace(f"deid.{name}: ", "")
        parts = re.findall(r"-- subjects, or NULLs.*?\n *GROUP BY __key\n", content, re.DOTALL)
        assert len(parts) == (2 if name == "check" else 1)
        shared |= {re.sub(r"\s+", " ", part) for part in parts}
    assert len(shared) == 1


@pytest.mark.parametrize("name", [*SHARING, "suppress"])
def test_no_with_for_older_duckdb_loses_it_from_a_published_file(name: str) -> None:
    content = installed(name)
    assert not re.search(r"\bWITH\b", re.sub(r"--.*", "", content))
    # nor several names in EXCLUDE, which a stored macro shuffles, so that texts would differ
    assert not re.search(r"EXCLUDE \([^)]*,", content)
