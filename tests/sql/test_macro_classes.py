"""Classes and what is computed from them: facts, brute force, and failing closed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb import macros

from .conftest import ADULT

Con = duckdb.DuckDBPyConnection


def rows(con: Con, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def installed(name: str) -> str:
    """What is installed of a file, with its parts."""
    return "".join(macro.definition for macro in macros.MACROS if macro.name == name)


def record(con: Con, query: str) -> dict[str, Any]:
    found = con.execute(query)
    names = [column[0] for column in found.description or ()]
    (row,) = found.fetchall()
    return dict(zip(names, row, strict=True))


# -- facts -------------------------------------------------------------------------------------


@pytest.mark.full
def test_adult_has_the_risk_that_arx_reports(adult: Con) -> None:
    risk = record(adult, f"FROM deid.risk('adult', {list(ADULT)})")
    assert risk["records"] == 30162
    assert risk["classes"] == 19502
    assert risk["k"] == 1
    assert risk["highest_risk"] == 1
    assert risk["average_risk"] == 19502 / 30162
    assert risk["unique_records"] / risk["records"] == 0.5142895033485844
    assert rows(adult, f"SELECT deid.k('adult', {list(ADULT)})") == [(1,)]


def test_the_seven_rows_of_the_example(con: Con) -> None:
    con.execute(
        """CREATE TABLE seven AS
        SELECT CASE WHEN age < 50 THEN '<50' ELSE '>=50' END AS age, '*' AS gender,
          deid.keep_prefix(zip, 3) AS zip
        FROM (VALUES (34, '81667'), (45, '81675'), (66, '81925'), (70, '81931'), (34, '81931'),
          (70, '81931'), (45, '81931')) AS v(age, zip)"""
    )
    qis = "['age', 'gender', 'zip']"
    assert sorted(rows(con, f"FROM deid.classes('seven', {qis})")) == [
        ("<50", "*", "816**", 2),
        ("<50", "*", "819**", 2),
        (">=50", "*", "819**", 3),
    ]
    assert record(con, f"FROM deid.risk('seven', {qis}, k := 3)") == {
        "records": 7,
        "subjects": 7,
        "classes": 3,
        "k": 2,
        "highest_risk": 1 / 2,
        "average_risk": 3 / 7,
        "unique_records": 0,
        "records_at_risk": 4,
    }
    assert rows(con, f"FROM deid.histogram('seven', {qis})") == [(2, 2, 4), (3, 1, 3)]
    assert rows(con, f"FROM deid.discernibility('seven', {qis})") == [(4 + 4 + 9,)]
    assert rows(con, f"FROM deid.discernibility('seven', {qis}, k := 3)") == [(9 + 4 * 7,)]
    assert rows(con, f"FROM deid.average_class_size('seven', {qis})") == [(7 / 3,)]
    assert len(rows(con, f"FROM deid.suppress('seven', {qis}, k := 3)")) == 3
    assert rows(con, f"""FROM deid."check"('seven', {qis}, 2)""") == [(7, 3, 2)]


def test_null_is_a_category_of_its_own(con: Con) -> None:
    con.execute(
        """CREATE TABLE nulls AS
        SELECT * FROM (VALUES (2, 3, 1), (3, 3, 3), (2, 3, NULL), (2, 3, 2), (3, 3, 1), (3, 3, 1),
          (1, 4, NULL), (2, 3, 1)) AS v(a, b, c)"""
    )
    annotated = rows(con, "SELECT class_size FROM deid.annotate('nulls', ['a', 'b', 'c'])")
    assert sorted(annotated) == [(1,)] * 4 + [(2,)] * 4


# -- brute force -------------------------------------------------------------------------------

cells = st.one_of(st.none(), st.integers(0, 2))
tables = st.lists(st.tuples(cells, cells, st.integers(0, 1)), max_size=25)


@pytest.fixture(scope="module")
def shelf() -> Any:
    with duckdb.connect() as connection:
        macros.install(connection)
        connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, k INTEGER)")
        yield connection


@settings(max_examples=examples(60), deadline=None)
@given(records=tables, k=st.integers(1, 6), names=st.sampled_from([["a"], ["b", "a"], ["k", "b"]]))
def test_macros_agree_with_a_counter(
    shelf: Con, records: list[tuple[Any, ...]], k: int, names: list[str]
) -> None:
    shelf.execute("DELETE FROM t")
    if records:
        shelf.executemany("INSERT INTO t VALUES (?, ?, ?)", records)
    table = [(a, None if b is None else str(b), c) for a, b, c in records]
    places = sorted("abk".index(name) for name in names)

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row[place] for place in places)

    sizes = Counter(map(key, table))
    n = len(table)
    call = f"('t', {names}"

    assert Counter({row[:-1]: row[-1] for row in rows(shelf, f"FROM deid.classes{call})")}) == sizes
    assert rows(shelf, f"SELECT deid.k{call})") == [(min(sizes.values(), default=0),)]
    histogram = Counter(sizes.values())
    assert rows(shelf, f"FROM deid.histogram{call})") == [
        (size, histogram[size], size * histogram[size]) for size in sorted(histogram)
    ]
    assert record(shelf, f"FROM deid.risk{call}, k := {k})") == {
        "records": n,
        "subjects": n,
        "classes": len(sizes),
        "k": min(sizes.values(), default=None),
        "highest_risk": max((1 / size for size in sizes.values()), default=None),
        "average_risk": len(sizes) / n if n else None,
        "unique_records": histogram[1],
        "records_at_risk": sum(size for size in sizes.values() if size < k),
    }
    assert rows(shelf, f"FROM deid.discernibility{call}, k := {k})") == [
        (sum(size * size if size >= k else size * n for size in sizes.values()),)
    ]
    mean = rows(shelf, f"FROM deid.average_class_size{call})")[0][0]
    assert mean == (pytest.approx(n / len(sizes)) if n else None)
    kept = [row for row in table if sizes[key(row)] >= k]
    assert Counter(rows(shelf, f"FROM deid.suppress{call}, k := {k})")) == Counter(kept)
    annotated = [(*row, sizes[key(row)]) for row in table]
    assert Counter(rows(shelf, f"FROM deid.annotate{call})")) == Counter(annotated)
    holds = bool(sizes) and min(sizes.values()) >= k
    for query in (f'FROM deid."check"{call}, {k})', f"SELECT deid.check{call}, {k})"):
        if holds:
            assert len(rows(shelf, query)) == 1
        else:
            with pytest.raises(duckdb.Error, match=r"deid\.check: (not \d-anonymous|the table is)"):
                rows(shelf, query)


# -- failing closed ----------------------------------------------------------------------------

CALLS = [
    "FROM deid.classes({})",
    "FROM deid.histogram({})",
    "FROM deid.risk({})",
    "FROM deid.discernibility({})",
    "FROM deid.average_class_size({})",
    "FROM deid.annotate({})",
    "FROM deid.suppress({})",
    'FROM deid."check"({}, 1)',
    "SELECT deid.check({}, 1)",
    "SELECT deid.k({})",
    "FROM deid.loss({})",
]


@pytest.fixture(scope="module")
def small() -> Any:
    with duckdb.connect() as connection:
        macros.install(connection)
        connection.execute("CREATE TABLE t AS SELECT 1 AS age, 2 AS stage, 3 AS dosage")
        connection.execute("CREATE TABLE nobody AS FROM t WHERE false")
        connection.execute("INSERT INTO deid.hierarchies VALUES ('', 'age', 0, 1, 1, 0, '', '')")
        connection.execute("INSERT INTO deid.hierarchies VALUES ('', 'stage', 0, 2, 2, 0, '', '')")
        yield connection


@pytest.mark.sampled(5)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("qis", "message"),
    [
        ("'age'", "qis must be a list of column names, such as"),
        ("age", "qis must be a list of column names, such as"),
        ("5", "qis must be a list of column names, such as"),
        ("[]", "qis must be a list of column names, such as"),
        ("NULL", "qis must be a list of column names, such as"),
        ("['age', NULL]", "qis must be a list of column names, such as"),
        ("[NULL]", "qis must be a list of column names, such as"),
        ("['age', 'nope']", 'Column "nope" was selected but was not found'),
        ("['a.*']", 'Column "a.\\*" was selected but was not found'),
        ("[['age']]", 'Column "\\[age\\]" was selected'),
    ],
)
def test_a_wrong_list_of_columns_is_an_error(small: Con, call: str, qis: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        rows(small, call.format(f"'t', {qis}"))


@pytest.mark.parametrize("call", CALLS)
def test_a_table_that_is_not_there_is_an_error(small: Con, call: str) -> None:
    for name in ("nope", "(SELECT 1 AS age)", "t; DROP TABLE t"):
        with pytest.raises(duckdb.CatalogException, match="does not exist"):
            rows(small, call.format(f"'{name}', ['age']"))
    assert rows(small, "SELECT count(*) FROM t") == [(1,)]


@pytest.mark.parametrize("call", CALLS)
def test_names_match_in_any_case_and_repeats_do_no_harm(small: Con, call: str) -> None:
    plain = rows(small, call.format("'t', ['age', 'stage']"))
    assert rows(small, call.format("'t', ['STAGE', 'Age', 'age', 'stage']")) == plain


@pytest.mark.parametrize("call", CALLS)
def test_a_table_of_no_name_is_an_error(small: Con, call: str) -> None:
    with pytest.raises(duckdb.Error, match=r"deid\.\w+: tbl must be the name of a table"):
        rows(small, call.format("NULL, ['age']"))


NO_K = ["NULL", "0", "-1", "0.5", "1.5", "-1e308", "'nan'::DOUBLE", "'inf'::DOUBLE", "'x'", "true"]
TAKE_K = [
    'FROM deid."check"({}, {})',
    'SELECT count(*) FROM deid."check"({}, {})',
    "SELECT deid.check({}, {})",
    "FROM deid.risk({}, {})",
    "SELECT count(*) FROM deid.suppress({}, {})",
    "FROM deid.discernibility({}, {})",
]


@pytest.mark.parametrize("k", NO_K)
@pytest.mark.parametrize("call", TAKE_K)
def test_a_k_that_is_none_is_an_error(small: Con, call: str, k: str) -> None:
    for table in ("'t'", "'nobody'"):
        with pytest.raises(duckdb.Error, match=r"deid\.\w+: k must be a whole number, 1 or more"):
            rows(small, call.format(f"{table}, ['age']", k))


def test_a_column_is_no_k_of_suppress(small: Con) -> None:
    with pytest.raises(duckdb.Error, match="k must be a whole number"):
        rows(small, "FROM deid.suppress('t', ['age'], k := age)")


def test_the_k_of_a_check_may_come_from_a_column_and_from_the_caller(small: Con) -> None:
    query = "SELECT deid.check('t', ['age'], least) FROM (VALUES (1), (NULL)) AS v(least)"
    with pytest.raises(duckdb.Error, match="k must be a whole number"):
        rows(small, query)
    assert rows(small, query.replace(", (NULL)", "")) == [(True,)]
    asked = "SELECT deid.check(?, ?, ?)"
    assert small.execute(asked, ["t", ["age"], 1]).fetchall() == [(True,)]
    with pytest.raises(duckdb.Error, match="k must be a whole number"):
        small.execute(asked, ["t", ["age"], 0])


@pytest.mark.parametrize(
    "query",
    [
        """SELECT count(*) FROM deid."check"('t', ['age'], 2)""",
        """SELECT 1 WHERE EXISTS (FROM deid."check"('t', ['age'], 2))""",
        """SELECT records FROM deid."check"('t', ['age'], 2)""",
        "CREATE TABLE public AS SELECT * FROM t WHERE deid.check('t', ['age'], 2)",
    ],
)
def test_a_check_is_not_optimized_away(small: Con, query: str) -> None:
    with pytest.raises(duckdb.Error, match="not 2-anonymous, the smallest class has 1 of 2"):
        rows(small, query)


@pytest.mark.parametrize("k", [1, 5])
def test_an_empty_table(con: Con, k: int) -> None:
    con.execute("CREATE TABLE e (a INTEGER, b VARCHAR)")
    assert rows(con, "SELECT deid.k('e', ['a'])") == [(0,)]
    for macro in ("classes", "histogram", "annotate", "suppress"):
        assert rows(con, f"FROM deid.{macro}('e', ['a'])") == []
    assert rows(con, "FROM deid.discernibility('e', ['a'])") == [(0,)]
    assert rows(con, "FROM deid.average_class_size('e', ['a'])") == [(None,)]
    assert rows(con, f"FROM deid.risk('e', ['a'], {k})") == [(0, 0, 0, None, None, None, 0, 0)]
    with pytest.raises(duckdb.Error, match="the table is empty"):
        rows(con, f"""FROM deid."check"('e', ['a'], {k})""")
    with pytest.raises(duckdb.Error, match="the table is empty"):
        rows(con, f"SELECT deid.check('e', ['a'], {k})")


def test_one_row_and_all_null(con: Con) -> None:
    con.execute("CREATE TABLE one AS SELECT 1 AS a")
    con.execute("CREATE TABLE nulls AS SELECT CAST(NULL AS VARCHAR) AS a FROM range(4)")
    assert rows(con, "SELECT deid.k('one', ['a']), deid.k('nulls', ['a'])") == [(1, 4)]
    assert rows(con, "FROM deid.classes('nulls', ['a'])") == [(None, 4)]
    assert rows(con, "FROM deid.suppress('nulls', ['a'], 4)") == [(None,)] * 4


# -- names that could be taken for those of the macros -------------------------------------------

HOSTILE = [
    "__n",
    "__n_1",
    "k",
    "qis",
    "tbl",
    "class_size",
    "class_size_1",
    "classes",
    "records",
    "stage",
    "__records",
    "__classes",
    "__smallest",
    "__small_classes",
    "__small_records",
    "__column",
    "__cell",
    "__names",
    "__cells",
    "__label",
    "__hierarchy",
    "__least",
    "__most",
    "__loss",
    "__released",
    "release",
    "levels",
    "source_rows",
    "birth year",
    'quo"te',
    "hy-phen",
    "semi;colon",
    "it's",
    "select",
    "ä",
]


@pytest.fixture(scope="module")
def hostile() -> Any:
    """Two classes by age of 3 and 2 rows; the other columns would give other answers."""
    with duckdb.connect() as connection:
        macros.install(connection)
        quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
        columns = ", ".join(f"CASE WHEN i = 0 THEN 1000 ELSE -i END AS {name}" for name in quoted)
        connection.execute(
            f"CREATE TABLE h AS SELECT {columns}, CASE WHEN i < 3 THEN 20 ELSE 30 END AS age "
            "FROM range(5) AS r(i)"
        )
        yield connection


def as_list(names: list[str]) -> str:
    return "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in names) + "]"


def check_all(con: Con, table: str, qis: list[str], sizes: list[int]) -> None:
    """All macros on a table whose classes have the given sizes."""
    call = f"({table!r}, {as_list(qis)}"
    n = sum(sizes)
    assert sorted(rows(con, f"SELECT class_size FROM deid.classes{call})")) == [(s,) for s in sizes]
    assert sorted(row[-1] for row in rows(con, f"FROM deid.classes{call})")) == sizes
    assert rows(con, f"SELECT deid.k{call})") == [(min(sizes),)]
    risk = record(con, f"FROM deid.risk{call}, k := 3)")
    assert risk["records"] == n
    assert risk["k"] == min(sizes)
    assert risk["classes"] == len(sizes)
    assert risk["records_at_risk"] == sum(size for size in sizes if size < 3)
    histogram = Counter(sizes)
    assert rows(con, f"FROM deid.histogram{call})") == [
        (s, histogram[s], s * histogram[s]) for s in sorted(histogram)
    ]
    squares = sum(size * size if size >= 3 else size * n for size in sizes)
    assert rows(con, f"FROM deid.discernibility{call}, k := 3)") == [(squares,)]
    annotated = rows(con, f"SELECT class_size FROM deid.annotate{call})")
    assert Counter(annotated) == Counter((s,) for s in sizes for _ in range(s))
    con.execute(f"CREATE OR REPLACE TABLE kept AS FROM deid.suppress{call}, k := 3)")
    assert rows(con, "SELECT count(*) FROM kept") == [(sum(s for s in sizes if s >= 3),)]
    kept = [row[0] for row in rows(con, "DESCRIBE kept")]
    assert kept == [row[0] for row in rows(con, f"DESCRIBE FROM query_table({table!r})")]
    assert rows(con, f"""SELECT k FROM deid."check"{call}, {min(sizes)})""") == [(min(sizes),)]
    assert rows(con, f"SELECT deid.check{call}, {min(sizes)})") == [(True,)]
    with pytest.raises(duckdb.Error, match="not 4-anonymous"):
        rows(con, f"SELECT deid.check{call}, 4)")
    with pytest.raises(duckdb.Error, match="not 4-anonymous"):
        rows(con, f"""FROM deid."check"{call}, 4)""")


def test_columns_named_like_aliases_and_parameters_do_not_interfere(hostile: Con) -> None:
    check_all(hostile, "h", ["age"], [2, 3])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", HOSTILE)
def test_such_a_column_can_be_a_quasi_identifier(hostile: Con, name: str) -> None:
    check_all(hostile, "h", [name], [1, 1, 1, 1, 1])
    check_all(hostile, "h", [name, "age"], [1, 1, 1, 1, 1])


def test_all_of_them_at_once(hostile: Con) -> None:
    check_all(hostile, "h", HOSTILE, [1, 1, 1, 1, 1])


def test_a_table_named_like_a_parameter_or_alias(con: Con) -> None:
    for name in ("tbl", "qis", "k", "classes", "steps", "lines", "leaves", "deid"):
        con.execute(f"CREATE TABLE {name} AS SELECT i // 3 AS age FROM range(5) AS r(i)")
        check_all(con, name, ["age"], [2, 3])


def test_all_kinds_of_sources(con: Con, tmp_path: Path) -> None:
    con.execute("CREATE SCHEMA ehr")
    con.execute("CREATE TABLE ehr.visits AS SELECT i // 3 AS age FROM range(5) AS r(i)")
    con.execute("CREATE VIEW seen AS FROM ehr.visits")
    con.execute("CREATE TEMP TABLE staged AS FROM ehr.visits")
    con.execute('CREATE TABLE "my visits" AS FROM ehr.visits')
    file = tmp_path / "visits.parquet"
    con.execute(f"COPY ehr.visits TO '{file}'")
    for name in ("ehr.visits", "seen", "staged", '"my visits"', "memory.ehr.visits", str(file)):
        check_all(con, name, ["age"], [2, 3])
    query = "WITH w AS (SELECT * FROM ehr.visits WHERE age = 0) SELECT deid.k('w', ['age'])"
    assert rows(con, query) == [(3,)]
