"""Promises and order against brute force in Python, on random tables with hostile names."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from handmade import failed, handmade
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import Counting, KAnonymity
from dbdeid.verify import Declared, verify_bare, verify_table
from dbdeid.verify.base.declaration import Unique
from dbdeid.verify.base.promises import allowed

NAMES = ["__n", "k", "qis", "class_size", "count", 'a "quoted" name', "smallest", "rowid", "größe"]
NAMES += ["select", "group", "value_0", "suppressed", "records", "c0", "c1", "level", "column", "s"]
NAMES += ["this_row", "released_value", "it's", "a.b", "$k", "__rel__", " ", "🏥"]

cells = st.sampled_from([None, "", "*", "a", "A", "b", "NULL", '"', ",", "ä", "\n", " a"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[str | None, ...]]]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=str.lower))
    row = st.tuples(*[cells for _ in names])
    return names, draw(st.lists(row, max_size=14))


def load(
    con: duckdb.DuckDBPyConnection, names: list[str], rows: list[tuple[str | None, ...]]
) -> None:
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))]
    con.register("given", pa.table(columns, names=names))
    con.execute("CREATE OR REPLACE TABLE t AS FROM given")


def in_order(rows: list[tuple[str | None, ...]]) -> bool:
    keys = [[(cell is None, (cell or "").encode()) for cell in row] for row in rows]
    return keys == sorted(keys)


@given(table=tables(), data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_k_and_order_are_those_of_a_counter(
    table: tuple[list[str], list[tuple[str | None, ...]]], data: st.DataObject
) -> None:
    names, rows = table
    at = data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, unique=True))
    classes = Counter(tuple(row[i] for i in at) for row in rows)
    k = min(classes.values(), default=None)
    with duckdb.connect() as con:
        load(con, names, rows)
        with Session.over(con, None, read_only=False) as session:
            quasi_identifiers = tuple(names[i] for i in at)
            found = verify_bare((session, Relation("t")), quasi_identifiers, 2)
    assert found.promises[0].found == k
    assert found.promises[0].holds == (k is None or k >= 2)
    assert (found.hygiene[2].detail == "") == in_order(rows)


@pytest.mark.full
@given(table=tables())
@settings(max_examples=examples(15), deadline=None)
def test_a_file_makes_no_class_larger(
    table: tuple[list[str], list[tuple[str | None, ...]]],
) -> None:
    names, rows = table
    k = min(Counter(rows).values(), default=None)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        load(con, names, rows)
        for ending in (".csv", ".parquet"):
            path = Path(folder) / f"t{ending}"
            con.execute(f"COPY t TO '{path}'")
            declared = raw(names, rows)
            found = verify_file_of(path, declared)
            assert found == k, ending


def verify_file_of(path: Path, declared: Declared) -> int | None:
    from dbdeid.verify import verify_file

    found = verify_file(path, declared, dictionary=None)
    assert failed(found) <= {"k_anonymity", "order"}, found.failures
    value: int | None = found.promises[0].found
    return value


def raw(names: list[str], rows: list[tuple[str | None, ...]]) -> Declared:
    """The table released as it is, all columns quasi-identifiers at level 0."""
    return Declared(
        release="t",
        columns=tuple(Column(name, "VARCHAR") for name in names),
        quasi_identifiers=tuple(names),
        bounds=(),
        withheld=(),
        models=(KAnonymity(model="k_anonymity", k=1),),
        transformation=dict.fromkeys(names, 0),
        tops=dict.fromkeys(names, 2),
        source_rows=len(rows),
        suppression_limit=1.0,
        keeps_suppressed=False,
    )


@given(table=tables(), data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_truthfulness_is_multiset_containment(
    table: tuple[list[str], list[tuple[str | None, ...]]], data: st.DataObject
) -> None:
    """The first column is generalized to level 1, or to the top; a release is drawn at random."""
    names, rows = table
    level = data.draw(st.sampled_from([1, 2]))
    label = {"a": "A or a", "A": "A or a", "b": "b or ä", "ä": "b or ä"}

    def shown(row: tuple[str | None, ...]) -> tuple[str | None, ...]:
        first = row[0] if row[0] is None or level == 2 else label.get(row[0], "other")
        return ("*" if level == 2 else first, *row[1:])

    generalized = [shown(row) for row in rows]
    released = data.draw(st.lists(st.sampled_from(generalized), max_size=len(rows))) if rows else []
    invented = (Counter(released) - Counter(generalized)).total()
    hierarchy = [
        (
            names[0],
            at,
            value,
            "*" if at == 2 else value if at == 0 or value is None else label.get(value, "other"),
        )
        for value in {row[0] for row in rows}
        for at in range(3)
    ]
    declared = raw(names, rows)
    declared.transformation[names[0]] = level
    with duckdb.connect() as con:
        load(con, names, rows)
        con.execute("ALTER TABLE t RENAME TO source")
        load(con, names, released)
        con.execute(
            "CREATE TABLE h (hierarchy VARCHAR, level INTEGER, value VARCHAR, label VARCHAR)"
        )
        if hierarchy:
            con.executemany("INSERT INTO h VALUES (?, ?, ?, ?)", hierarchy)
        with Session.over(con, None, read_only=False) as session:
            found = verify_table(
                session,
                Relation("t"),
                declared,
                dictionary=None,
                source=Relation("source"),
                hierarchies=Relation("h"),
            )
    promise = found.promises[-1]
    assert promise.model == "truthfulness"
    assert promise.found == {
        "source_rows": len(rows),
        "unmapped_records": 0,
        "invented_records": invented,
    }
    assert promise.holds == (invented == 0)


@pytest.mark.full
def test_nulls_everywhere_are_one_class() -> None:
    release = handmade()
    release.sql(
        """CREATE OR REPLACE TABLE patients AS SELECT 'p' AS name, CAST(NULL AS INTEGER) AS age,
        CAST(NULL AS VARCHAR) AS zip, CAST(NULL AS VARCHAR) AS sex, CAST(NULL AS VARCHAR) AS dx
        FROM range(21)""",
        "DELETE FROM hierarchies",
        """INSERT INTO hierarchies SELECT 'ward', unnest(['age', 'zip', 'sex', 'age', 'zip']),
        unnest([0, 0, 0, 1, 1]), NULL, NULL, 0, NULL, NULL""",
        """CREATE OR REPLACE TABLE ward AS SELECT CAST(NULL AS VARCHAR) AS age,
        CAST(NULL AS INTEGER) AS age_lower, CAST(NULL AS INTEGER) AS age_upper,
        CAST(NULL AS VARCHAR) AS zip, CAST(NULL AS VARCHAR) AS sex, CAST(NULL AS VARCHAR) AS dx
        FROM range(21)""",
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT unnest(['age', 'sex', 'zip']) AS
        "column", CAST(NULL AS VARCHAR) AS released_value, CAST(unnest([1, 0, 1]) AS INTEGER) AS
        level, CAST(NULL AS VARCHAR) AS lower, CAST(NULL AS VARCHAR) AS upper,
        CAST(NULL AS VARCHAR[]) AS leaves""",
    )
    found = release.verify()
    assert found.verified, found.failures
    assert found.promises[0].found == 21


def test_nobody_is_unique_over_the_subject_alone() -> None:
    with Session.open(None, read_only=False) as session:
        session.execute("CREATE TABLE t AS SELECT unnest(['Ann', 'Ann', 'Bea']) AS who")
        bare = verify_bare((session, Relation("t")), ("who",), 1, counting=Counting(subject="who"))
    assert bare.unique == Unique(0, 3, 0)


@pytest.mark.full
def test_one_row() -> None:
    release = handmade().replace("SELECT * FROM (FROM ward LIMIT 1)").promise(suppression_limit=1.0)
    assert failed(release.verify()) == {"k_anonymity", "dictionary"}
    one = release.promise(models=(KAnonymity(model="k_anonymity", k=1),))
    assert failed(one.verify()) == {"dictionary"}


@pytest.mark.parametrize(
    ("share", "rows", "records"),
    [(0.05, 30162, 1508), (0.29, 100, 29), (1 / 3, 3, 1), (0.0, 5, 0), (1.0, 5, 5), (0.07, 100, 7)],
)
def test_the_limit_counts_exactly(share: float, rows: int, records: int) -> None:
    assert allowed(share, rows) == records


def test_numbers_and_dates_at_level_0_stay_what_they_are() -> None:
    """Typed quasi-identifiers are compared by value, NaN and NULL included."""
    con = duckdb.connect()
    con.execute(
        """CREATE TABLE s AS SELECT * FROM (VALUES (1.5::DOUBLE, DATE '2020-02-02', true),
        ('nan'::DOUBLE, NULL, NULL), (NULL, NULL, false), ('-inf'::DOUBLE, DATE '1999-01-01', true))
        AS v(x, d, b)"""
    )
    con.execute("CREATE TABLE t AS FROM s ORDER BY ALL")
    con.execute(
        """CREATE TABLE h (hierarchy VARCHAR, level INTEGER, value VARCHAR, label VARCHAR,
        lower VARCHAR, upper VARCHAR)"""
    )
    con.execute(
        """CREATE TABLE d AS SELECT "column", released_value, 0 AS level,
        CAST(NULL AS VARCHAR) AS lower, CAST(NULL AS VARCHAR) AS upper,
        CAST(NULL AS VARCHAR[]) AS leaves FROM (
        SELECT DISTINCT 'x' AS "column", CAST(x AS VARCHAR) AS released_value FROM s
        UNION SELECT 'd', CAST(d AS VARCHAR) FROM s) ORDER BY ALL"""
    )
    declared = Declared(
        release="t",
        columns=(Column("x", "DOUBLE"), Column("d", "DATE"), Column("b", "BOOLEAN")),
        quasi_identifiers=("x", "d"),
        bounds=(),
        withheld=(),
        models=(KAnonymity(model="k_anonymity", k=1),),
        transformation={"x": 0, "d": 0},
        tops={"x": 1, "d": 1},
        source_rows=4,
        suppression_limit=0.0,
        keeps_suppressed=False,
    )
    with Session.over(con, None, read_only=False) as session:
        found = verify_table(
            session,
            Relation("t"),
            declared,
            dictionary=Relation("d"),
            source=Relation("s"),
            hierarchies=Relation("h"),
        )
    # this hierarchy lists nothing, so the dictionary is none of it
    assert failed(found) == {"dictionary"}
    assert found.promises[-1].holds
