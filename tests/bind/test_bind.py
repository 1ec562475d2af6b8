"""Binding: sources of every kind, columns of every name and type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from ruamel.yaml import YAML

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import read
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError, SpecError
from dbdeid.prepare.prepare import prepare

QI = {"role": "quasi_identifier", "hierarchy": "suppress"}


def spec(**given: Any) -> dict[str, Any]:
    return {
        "release": "r",
        "source": "t",
        "columns": {"a": QI},
        "privacy": [{"model": "k_anonymity", "k": 1}],
        "method": "full_domain",
        **given,
    }


@pytest.fixture
def con():
    with duckdb.connect() as opened:
        opened.execute("CREATE TABLE t AS SELECT i % 2 AS a FROM range(10) t(i)")
        yield opened


def bound(con: Any, **given: Any) -> Bound:
    with Session.over(con, None, read_only=True) as session:
        found = bind(read(spec(**given)), session)
        prepare(found, session)
        return found


def mistakes(con: Any, **given: Any) -> list[str]:
    with pytest.raises(SpecError) as refused:
        bound(con, **given)
    return [f"{m.place}: {m.message} {m.hint}" for m in refused.value.mistakes]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "source",
    ["t", "T", "v", "dim.t", "DIM.T", '"dim"."t"', "a.b", '"a.b"', '"S x"."T;y"', "S x.T;y"],
)
def test_tables_and_views_by_any_spelling(con, source: str) -> None:
    con.execute(
        'CREATE SCHEMA dim; CREATE TABLE dim.t AS FROM t; CREATE TABLE "a.b" AS FROM t; '
        'CREATE VIEW v AS FROM t; CREATE SCHEMA "S x"; CREATE TABLE "S x"."T;y" AS FROM t'
    )
    assert bound(con, source=source).names("quasi_identifier") == ("a",)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "source",
    [
        "tt",
        "t AS x",
        "t TABLESAMPLE 10%",
        "t; DROP TABLE t",
        "range(10)",
        "(FROM t)",
    ],
)
def test_what_is_no_table(con, source: str) -> None:
    con.execute("ATTACH ':memory:' AS other; CREATE TABLE other.t AS FROM t")
    with pytest.raises(DataError, match="no table or view") as refused:
        bound(con, source=source)
    assert "Known: t." in refused.value.hint
    if source == "tt":
        assert "did you mean 't'?" in refused.value.hint


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "query",
    [
        "FROM t",
        "SELECT a FROM t;",
        "WITH x AS (FROM t) FROM x",
        "(SELECT a FROM t)",
        "FROM t UNION FROM t",
    ],
)
def test_queries_of_the_owner(con, query: str) -> None:
    assert bound(con, source={"sql": query, "name": "n"}).names("quasi_identifier") == ("a",)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE t",
        "CREATE TABLE z AS SELECT 1",
        "INSERT INTO t VALUES (1)",
        "COPY t TO 'z.csv'",
        "SELECT a FROM t; DROP TABLE t",
        "ATTACH 'x'",
        "SET threads = 1",
        "DESCRIBE t",
        "SELEC",
    ],
)
def test_what_is_no_single_select(con, query: str) -> None:
    assert mistakes(con, source={"sql": query, "name": "n"})[0].startswith(
        "source.sql: must be one SELECT statement"
    )
    assert con.sql("SELECT count(*) FROM t").fetchall() == [(10,)]


def test_errors_of_the_source_quote_no_cell(con, tmp_path: Path) -> None:
    con.execute("CREATE TABLE s AS SELECT 'secret' AS a")
    with pytest.raises(DataError, match="the source cannot be read") as refused:
        bound(con, source={"sql": "SELECT CAST(a AS INTEGER) AS a FROM s", "name": "n"})
    assert "secret" not in str(refused.value)
    ragged, broken = tmp_path / "ragged.csv", tmp_path / "broken.parquet"
    ragged.write_text("a,b\n" + "1,2\n" * 50_000 + "1,2,secret\n")
    broken.write_bytes(b"PAR1secret")
    for path in (ragged, broken):
        with pytest.raises(DataError, match=r"line 50002: it has 3|is no Parquet") as refused:
            bound(con, source=str(path))
        assert "secret" not in str(refused.value)


def test_types_of_a_csv_file_fit_every_row(con, tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("flag,code\n" + "No,1\n" * 50_000 + "Steady,V27\n")
    hidden = {"role": "quasi_identifier", "hierarchy": "suppress"}
    found = bound(con, source=str(path), columns={"flag": hidden, "code": hidden})
    assert [column.column.type for column in found.columns] == ["VARCHAR", "VARCHAR"]


@pytest.mark.parametrize(("kind", "read_again"), [("table", False), ("view", True)])
def test_a_text_file_is_parsed_once_and_a_view_follows_it(
    con, tmp_path: Path, kind: str, read_again: bool
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n", encoding="utf-8")
    given = spec(source=str(path), output={"as": kind}, database=str(tmp_path / "owner.duckdb"))
    con.execute(f"ATTACH '{tmp_path}/owner.duckdb' AS owner; DETACH owner")
    with Session.over(con, None, read_only=True) as session:
        source = bind(read(given), session).source
        path.write_text("a\n1\n2\n3\n", encoding="utf-8")
        assert len(session.rows(source)) == 2 + read_again


def test_every_line_of_a_csv_file_is_a_record(con, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},F\n" for i in range(40)) + "#12,F\n" * 5)
    with Session.over(con, None, read_only=True) as session:
        given = spec(source=str(path), columns={"a": QI, "b": QI})
        assert prepare(bind(read(given), session), session).rows == 45


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["x.csv", "q'x.csv", "x[1].csv", "b x.CSV", "x.parquet"])
def test_files(con, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    con.execute(f"COPY t TO '{tmp_path}/plain' (FORMAT {path.suffix[1:]})")
    (tmp_path / "plain").rename(path)
    assert bound(con, source=str(path)).names("quasi_identifier") == ("a",)
    with pytest.raises(DataError, match=r"none.csv does not exist"):
        bound(con, source=str(tmp_path / "none.csv"))


def test_columns_missing_extra_and_listed(con) -> None:
    con.execute('CREATE OR REPLACE TABLE t AS SELECT 1 AS Age, 2 AS b, 3 AS "b, c", 4 AS c')
    found = bound(con, columns={"AGE": QI, "b, c": "drop", "c,b": "identifier"})
    assert [(c.name, c.spec.role) for c in found.columns] == [
        ("Age", "quasi_identifier"),
        ("b", "identifier"),
        ("b, c", "drop"),
        ("c", "identifier"),
    ]
    told = mistakes(
        con, columns={"Agee": QI, "b": "drop", "B": "drop", "c, b": "drop", "x,": "drop"}
    )
    assert any("no column 'Agee' did you mean 'Age'?" in m for m in told)
    assert sum("column 'b' is given twice" in m for m in told) == 2
    assert any("no column ''" in m for m in told)
    (roleless,) = (m for m in told if "no role" in m)
    assert "2 columns of the source have no role: 'Age' (INTEGER), 'b, c' (INTEGER)" in roleless
    assert 'add `"Age": drop` and `"b, c": drop`' in roleless


def test_columns_without_a_role_are_one_mistake_with_a_line_to_paste(con) -> None:
    con.execute('CREATE TABLE w AS SELECT 1 AS a, 2 AS b, 3 AS "say ""hi""", 4 AS "d,"')
    (told,) = mistakes(con, source="w", columns={"a": QI})
    assert "3 columns of the source have no role" in told
    pasted = "".join(f"{line}\n" for line in re.findall(r"`([^`]*)`", told))
    assert pasted == '"b, say \\"hi\\"": drop\n"d,": drop\n'
    given = {"a": QI, **YAML(typ="safe").load(pasted)}
    assert bound(con, source="w", columns=given).names("drop") == ("b", 'say "hi"', "d,")
    (one,) = mistakes(con, source="w", columns={"a": QI, 'b, say "hi"': "drop"})
    assert "column 'd,' (INTEGER) of the source has no role" in one


def test_a_source_with_two_columns_of_one_name_is_refused(con) -> None:
    told = mistakes(con, source={"sql": 'SELECT a, a AS "A" FROM t', "name": "n"})
    assert "source: the source has several columns 'a'" in told[0]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name",
    ["birth year", 'quo"te', "sélect ü", "select", "x" * 500, '"; DROP TABLE t; --', "source",
     "value", "code", "records", "q0", "coded", "deid_source", "__rel__", "__qi__", "a.b", "*"],
)  # fmt: skip
def test_column_names_never_become_sql(con, name: str) -> None:
    quoted = name.replace('"', '""')
    con.execute(f'CREATE TABLE n AS SELECT a AS "{quoted}", a AS other, a AS who FROM t')
    found = bound(con, source="n", columns={name: QI, "other": QI, "who": "identifier"})
    assert found.names("quasi_identifier") == (name, "other")
    assert con.sql("SELECT count(*) FROM t").fetchall() == [(10,)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("value", "released"),
    [
        ("uuid()", "VARCHAR"),
        ("TIME '10:00'", "VARCHAR"),
        ("'{}'::JSON", "VARCHAR"),
        ("'x'::ENUM('x', 'y')", "VARCHAR"),
        ("INTERVAL 1 DAY", "VARCHAR"),
        ("true", "BOOLEAN"),
        ("1::UHUGEINT", "UHUGEINT"),
        ("1::HUGEINT", "HUGEINT"),
        ("1::DECIMAL(38, 5)", "DECIMAL(38,5)"),
        ("1::FLOAT", "FLOAT"),
        ("DATE '2019-01-01'", "DATE"),
        ("TIMESTAMPTZ '2019-01-01 10:00+00'", "TIMESTAMP"),
        ("'2019-01-01'::TIMESTAMP_NS", "TIMESTAMP"),
        ("'2019-01-01'::TIMESTAMP_S", "TIMESTAMP"),
        ("[1]", None),
        ("[1.5]::DECIMAL(3,1)[]", None),
        ("['x']::ENUM('x', 'y')[]", None),
        ("{'a': 1}", None),
        ("MAP {1: 2}", None),
        ("'ab'::BLOB", None),
        ("'101'::BIT", None),
    ],
)
@pytest.mark.parametrize("role", [QI, {"role": "insensitive", "reason": "x"}])
def test_types(con, value: str, released: str | None, role: dict[str, str]) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS v, 1 AS a")
    if released is None:
        assert "cannot be released" in mistakes(con, columns={"v": role, "a": QI})[0]
        assert bound(con, columns={"v": "drop", "a": QI}).names("drop") == ("v",)
        return
    assert bound(con, columns={"v": role, "a": QI}).columns[0].released_type == released


def test_hierarchies_that_do_not_fit_the_type(con) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 'x' AS a, 1 AS b, 1 AS c")
    by = lambda h, **more: {"role": "quasi_identifier", "hierarchy": h, **more}  # noqa: E731
    told = mistakes(
        con,
        columns={
            "a": by({"intervals": [5]}),
            "b": by({"dates": ["month"]}),
            "c": by({"intervals": [5]}, type="categorical"),
        },
    )
    assert len(told) == 3
    assert told[0].startswith("columns.a.hierarchy: intervals need a numeric column")


def test_companions_that_would_meet_a_column(con) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 2 AS A_lower")
    columns = {"a": QI, "A_lower": {"role": "insensitive", "reason": "x"}}
    assert "companion 'a_lower'" in mistakes(con, columns=columns, output={"bounds": True})[0]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_equal_floats_have_one_text_whatever_the_order_of_rows(tmp_path: Path, kind: str) -> None:
    texts = ["0.0", "-0.0", "nan", "-nan"]
    with Session.open(None, read_only=False) as session:
        rows = ", ".join(f"('{t}'::{kind})" for t in ("0.0", "-0.0", "nan"))
        session.execute(
            f"CREATE TABLE t AS SELECT a FROM (VALUES {rows}, (-('nan'::{kind}))) AS v(a)"
        )
        assert sorted(session.rows("SELECT a::VARCHAR FROM t")) == sorted((t,) for t in texts)
        spec = {
            "release": "r",
            "source": "t",
            "columns": {"a": {"role": "quasi_identifier", "hierarchy": "suppress"}},
            "privacy": [{"model": "k_anonymity", "k": 2}],
            "method": "full_domain",
        }
        source = bind(read(spec), session).source
        found = session.rows(f"SELECT a::VARCHAR FROM ({source.sql('duckdb')})")
    assert sorted(found) == [("0.0",), ("0.0",), ("nan",), ("nan",)]


def test_a_column_that_compares_by_a_collation_is_named() -> None:
    with Session.open(None, read_only=False) as session:
        session.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE)")
        spec = {
            "release": "r",
            "source": "t",
            "columns": {"a": {"role": "quasi_identifier", "hierarchy": "suppress"}},
            "privacy": [{"model": "k_anonymity", "k": 2}],
            "method": "full_domain",
        }
        with pytest.raises(SpecError, match=r"columns\.a: column 'a' compares text by a collation"):
            prepare(bind(read(spec), session), session)
        spec["source"] = {"sql": "SELECT decode(encode(a)) AS a FROM t", "name": "t"}
        assert bind(read(spec), session).columns[0].name == "a"
