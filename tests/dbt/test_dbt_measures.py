"""What the tests for dbt measure, against the macros `deid.*`, on random tables.

dbt compiles the tests once; the SQL that it made is then run on every table.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hospital import Project
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    project.run("compile", "--select", "records")
    relation = '"hospital"."main"."records"'
    found = {
        name: project.compiled("models", "measures.yml", f"{name}.sql") for name, _ in declared()
    }
    assert all(relation in text for text in found.values())
    return Queries((name, text.replace(relation, "records")) for name, text in found.items())


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
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    con.execute(f"CREATE OR REPLACE TABLE records ({columns})")
    if records:
        con.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", records)
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
