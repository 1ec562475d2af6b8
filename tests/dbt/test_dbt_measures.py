"""What the tests for dbt measure, against the macros `deid.*`, on random tables.

dbt compiles the tests once; the SQL that it made is then run on every table.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import psycopg
import pytest
from hospital import Project
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import programs, running
from warehouses import NO_SERVER

from dbdeid.engine.duckdb import macros

TYPES = {"a": "VARCHAR", "b": "INTEGER", "s": "VARCHAR", "n": "INTEGER", "who": "VARCHAR"}
MOST = 1_000_000


def declared() -> Iterator[tuple[str, str]]:
    """Tests that every class fails, so that they give the measure of each; by name."""
    for qis in (["a"], ["b", "a"]):
        for subject in ("", ", subject: who"):
            mark = f"{len(qis)}{'_who' if subject else ''}"
            of = f"quasi_identifiers: {qis}{subject}".replace("'", "")
            yield f"k_{mark}", f"k_anonymity: {{arguments: {{{of}, k: {MOST}}}"
            for kind in ("distinct", "entropy"):
                l_ = f"{of}, sensitive_column: s, l: {MOST}, kind: {kind}"
                yield f"{kind}_{mark}", f"l_diversity: {{arguments: {{{l_}}}"
            for column in ("s", "n"):
                t = f"{of}, sensitive_column: {column}, t: 0"
                yield f"equal_{column}_{mark}", f"t_closeness: {{arguments: {{{t}}}"
                ordered = f"t_closeness: {{arguments: {{{t}, ordered: true}}"
                yield f"ordered_{column}_{mark}", ordered


COLUMNS = list(TYPES)


def suppressed() -> Iterator[tuple[str, str, tuple[list[str], str | None, list[dict[str, Any]]]]]:
    """Models that leave records out, by name: the text, and what they are called with."""
    distinct = {"column": "s", "l": 2, "kind": "distinct"}
    entropy = {"column": "n", "l": 1.5, "kind": "entropy"}
    for qis in (["a"], ["b", "a"]):
        for subject in (None, "who"):
            for number, models in enumerate(([], [distinct], [distinct, entropy])):
                mark = f"{len(qis)}{'_who' if subject else ''}_{number}"
                whose = f", subject='{subject}'" if subject else ""
                call = f"'records', {COLUMNS}, {qis}, 2{whose}, l_diversity={models}"
                yield (
                    f"kept_{mark}",
                    f"{{{{ deid.large_classes({call}) }}}}",
                    (qis, subject, models),
                )


class Queries(dict[str, str]):
    """By name; hypothesis would print all of them."""

    def __repr__(self) -> str:
        return "queries"


@pytest.fixture(scope="module")
def measures(dbt: Path, tmp_path_factory: pytest.TempPathFactory) -> Queries:
    """The SQL of each test, of a table called records, in a project that is not built."""
    folder = tmp_path_factory.mktemp("measures") / "hospital"
    shutil.copytree(Path(__file__).with_name("project"), folder, ignore=Project.MADE)
    project = Project(folder, dbt)
    project.link()
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in TYPES.items())
    project.write("models/records.sql", f"SELECT {columns}")
    lines = "".join(f"      - deid.{text}, name: {name}}}\n" for name, text in declared())
    project.write(
        "models/measures.yml",
        f"version: 2\nmodels:\n  - name: records\n    data_tests:\n{lines}",
    )
    with duckdb.connect(str(project.database)) as con:
        con.execute(f"CREATE TABLE records AS SELECT {columns}")
    for name, text, _ in suppressed():
        project.write(f"models/{name}.sql", text)
    names = [name for name, *_ in suppressed()]
    project.run("compile", "--select", "records", *names)
    relation = '"hospital"."main"."records"'
    found = {
        name: project.compiled("models", "measures.yml", f"{name}.sql") for name, _ in declared()
    }
    assert all(relation in text for text in found.values())
    kept = {name: project.compiled("models", f"{name}.sql") for name in names}
    return Queries(
        (name, text.replace(relation, "records")) for name, text in (found | kept).items()
    )


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        macros.install(con)
        yield con


def measured(con: duckdb.DuckDBPyConnection, query: str, column: str) -> list[Any]:
    return [row[0] for row in con.execute(f"SELECT {column} FROM ({query})").fetchall()]


RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(["p", "q", "r", None]),
        st.sampled_from([1, 5, 7, 20, None]),
        st.sampled_from(["i", "j", "k", "l", None]),
    ),
    max_size=14,
)


def fill(con: duckdb.DuckDBPyConnection, records: list[tuple[Any, ...]]) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    con.execute(f"CREATE OR REPLACE TABLE records ({columns})")
    if records:
        con.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", records)


def expected(
    records: list[tuple[Any, ...]],
    qis: list[str],
    subject: str | None,
    models: list[dict[str, Any]],
) -> list[tuple[Any, ...]]:
    """The records of large and diverse classes, counted one by one."""
    place = {name: number for number, name in enumerate(TYPES)}
    classes: dict[Any, list[tuple[Any, ...]]] = {}
    for record in records:
        classes.setdefault(tuple(record[place[q]] for q in qis), []).append(record)
    kept = []
    for of in classes.values():
        who = [record[place[subject]] if subject else i for i, record in enumerate(of)]
        size = len({w for w in who if w is not None})
        held = True
        for model in models:
            pairs: dict[Any, set[Any]] = {}
            for record, w in zip(of, who, strict=True):
                pairs.setdefault(record[place[model["column"]]], set()).add(w)
            counts = [len(ws - {None}) for ws in pairs.values() if ws - {None}]
            if size == 0 or max(counts) == size:
                found = min(size, 1.0)
            elif model["kind"] == "distinct":
                found = min(len(counts), size)
            else:
                shares = [n / sum(counts) for n in counts]
                found = min(exp(-sum(share * log(share) for share in shares)), size)
            held = held and found >= model["l"] - 1e-9
        if size >= 2 and held:
            kept += of
    return kept


def as_sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.full
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(records=RECORDS)
def test_classes_that_stay_are_those_counted_one_by_one(
    records: list[tuple[Any, ...]], measures: Queries, con: duckdb.DuckDBPyConnection
) -> None:
    fill(con, records)
    for name, _, (qis, subject, models) in suppressed():
        found = con.execute(measures[name]).fetchall()
        assert as_sorted(found) == as_sorted(expected(records, qis, subject, models)), name


@pytest.mark.full
@pytest.mark.skipif(programs() is None, reason=NO_SERVER)
def test_postgresql_measures_alike(measures: Queries, con: duckdb.DuckDBPyConnection) -> None:
    found = programs()
    assert found is not None
    draw = Random(7)
    values = (["x", "y", None], [1, 2, None], ["p", "q", None], [1, 5, 7, None], ["i", "j", None])
    with (
        running(found) as server,
        psycopg.connect(f"host={server.folder} user=owner dbname=postgres") as other,
    ):
        for size in (0, 1, 3, 8, 14, 40):
            records = [tuple(draw.choice(of) for of in values) for _ in range(size)]
            fill(con, records)
            columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
            other.execute(f"DROP TABLE IF EXISTS records; CREATE TABLE records ({columns})")
            for record in records:
                other.execute("INSERT INTO records VALUES (%s, %s, %s, %s, %s)", record)
            for name, query in measures.items():
                here, there = con.execute(query).fetchall(), other.execute(query).fetchall()
                assert rounded(there) == rounded(here), (name, records)


def rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    numbers = (int, float, Decimal)
    return as_sorted(
        [tuple(round(float(v), 8) if isinstance(v, numbers) else v for v in row) for row in rows]
    )


@pytest.mark.full
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(records=RECORDS)
def test_they_measure_what_the_macros_do(
    records: list[tuple[Any, ...]], measures: Queries, con: duckdb.DuckDBPyConnection
) -> None:
    fill(con, records)
    for mark, qis, subject in (
        ("1", "['a']", ""),
        ("1_who", "['a']", ", subject := 'who'"),
        ("2", "['b', 'a']", ""),
        ("2_who", "['b', 'a']", ", subject := 'who'"),
    ):
        ((k,),) = con.execute(f"SELECT deid.k('records', {qis}{subject})").fetchall()
        assert min(measured(con, measures[f"k_{mark}"], "class_size")) == k
        ((distinct, entropy, classes),) = con.execute(
            "SELECT distinct_l, entropy_l, classes "
            f"FROM deid.l_diversity('records', {qis}, 's'{subject})"
        ).fetchall()
        for kind, expected in (("distinct", distinct), ("entropy", entropy)):
            found = measured(con, measures[f"{kind}_{mark}"], "l")
            assert len(found) == max(classes, 1)
            least = None if found == [None] else min(found)
            assert least == (None if expected is None else pytest.approx(expected))
        for column in ("s", "n"):
            for kind, macro in (("equal", "t_closeness"), ("ordered", "t_closeness_ordered")):
                ((t,),) = con.execute(
                    f"SELECT t FROM deid.{macro}('records', {qis}, '{column}'{subject})"
                ).fetchall()
                found = measured(con, measures[f"{kind}_{column}_{mark}"], "t")
                if t is None:  # an empty table, which fails
                    assert found == [None]
                else:
                    assert max(found, default=0) == pytest.approx(t, abs=1e-8)
