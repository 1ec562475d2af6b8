"""Every macro file is valid SQL, says what it reads and gives, and keeps the house rules."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files

import duckdb
import pytest
import sqlglot

from dbdeid.engine.duckdb.macros import MACROS, Macro, install, script

FOLDER = files("dbdeid.sql").joinpath("macros")
FILES = sorted(p.name for p in FOLDER.iterdir() if ".sql" in p.name)
PARTS = sorted(f"parts/{p.name}" for p in FOLDER.joinpath("parts").iterdir())
NAMES = {
    "annotate",
    "average_class_size",
    "bin",
    "check",
    "classes",
    "discernibility",
    "disclosure",
    "emd",
    "entropy_l",
    "generalize",
    "histogram",
    "interval_label",
    "k",
    "keep_prefix",
    "kl",
    "l_diversity",
    "label_loss",
    "lca",
    "loss",
    "overlap",
    "query_error",
    "rce",
    "read_hierarchy",
    "risk",
    "suppress",
    "t_closeness",
    "t_closeness_ordered",
    "topcode",
}


def content(name: str) -> str:
    return FOLDER.joinpath(name).read_text(encoding="utf-8")


def code(text: str) -> str:
    return re.sub(r"--.*", "", text)


def test_all_macros_are_there() -> None:
    assert {macro.name for macro in MACROS} >= NAMES
    assert [f.removesuffix(".sql") for f in FILES] == sorted({macro.name for macro in MACROS})


@pytest.mark.parametrize("name", [*FILES, *PARTS])
def test_a_file_has_a_header_of_its_name(name: str) -> None:
    lines = content(name).splitlines()
    stem = name.removeprefix("parts/").removesuffix(".sql")
    assert re.fullmatch(rf"-- {stem}: .{{20,}}", lines[0])
    assert any(line.startswith("-- reads   ") for line in lines)
    assert any(line.startswith("-- gives   ") for line in lines)
    assert all(len(line) <= 100 for line in lines)
    assert not re.search(r"[ \t]$", content(name), re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_a_file_parses_with_duckdb(name: str) -> None:
    statements = duckdb.extract_statements(content(name))
    heads = re.findall(r"^CREATE OR REPLACE MACRO", content(name), re.MULTILINE)
    assert len(statements) == len(heads) >= 1


def test_a_part_is_one_of_several_macros_and_stands_whole_in_each() -> None:
    parts = "|".join(name.removeprefix("parts/").removesuffix(".sql") for name in PARTS)
    asked = rf"^ *(?:[A-Z ]+ )?__({parts})__"
    places = re.findall(asked, "".join(map(content, [*FILES, *PARTS])), re.MULTILINE)
    assert min(Counter(places).values()) > 1
    assert len({*places}) == len(PARTS)
    assert not re.search(rf"__({parts})__", script())


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_a_query_or_an_expression(name: str) -> None:
    text = content(name)
    body = code(text)
    query = text if body.lstrip().startswith("SELECT") else f"SELECT {body}"
    (statement,) = duckdb.extract_statements(query)
    assert statement.type == duckdb.StatementType.SELECT


def test_a_table_is_read_only_after_its_arguments_are_checked() -> None:
    for macro in (macro for macro in MACROS if "query_table" in macro.definition):
        read = re.findall(r"query_table\((.*)\n", code(macro.definition))
        assert set(read) <= {"coalesce(", ""}, macro.name
        assert f"error('deid.{macro.name}: " in macro.definition


@pytest.mark.parametrize("name", [*FILES, *PARTS])
def test_a_macro_calls_no_macro_and_pastes_no_sql(name: str) -> None:
    body = re.sub(r"'[^']*'", "''", code(content(name)))
    calls = re.findall(r"deid\.(\w+)", re.sub(r"CREATE OR REPLACE MACRO deid\.\w+", "", body))
    assert set(calls) <= {"hierarchies"}
    assert not re.search(r"\bquery\s*\(", body, re.IGNORECASE)


@pytest.mark.parametrize("name", [*FILES, *PARTS])
def test_a_list_of_columns_is_always_cast_and_keywords_are_upper_case(name: str) -> None:
    body = code(content(name))
    assert "COLUMNS(qis" not in body
    keywords = r"\b(select|from|where|group by|case|when|then|else|end)\b"
    assert not re.search(keywords, re.sub(r"'[^']*'", "''", body))


def test_the_table_of_hierarchies_parses_with_sqlglot_too() -> None:
    text = files("dbdeid.sql").joinpath("catalog/hierarchies.sql").read_text(encoding="utf-8")
    table = sqlglot.parse_one(text, dialect="duckdb")
    assert [column.name for column in table.find_all(sqlglot.exp.ColumnDef)] == [
        "release",
        "hierarchy",
        "level",
        "value",
        "label",
        "loss",
        "lower",
        "upper",
    ]


def test_a_macro_tells_its_signature_kind_and_need() -> None:
    by_name: dict[str, Macro] = {macro.name: macro for macro in MACROS}
    assert by_name["risk"].signature == (
        "deid.risk(tbl, qis, k := 5, subject := '', null_policy := 'own_category')"
    )
    assert (by_name["risk"].kind, by_name["risk"].private) == ("table", False)
    assert by_name["generalize"].signature == "deid.generalize(value, hierarchy, level)"
    assert (by_name["generalize"].kind, by_name["generalize"].private) == ("scalar", True)
    assert {m.kind for m in MACROS if m.name == "check"} == {"table", "scalar"}
    private = {macro.name for macro in MACROS if macro.private}
    assert private == {"generalize", "label_loss", "lca", "loss"}


def test_the_script_makes_all_that_it_needs() -> None:
    for private in (True, False):
        with duckdb.connect() as con:
            con.execute(script(private))
            con.execute(script(private))
            tables = con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            assert tables == ([("hierarchies",)] if private else [])
            made = con.execute(
                "SELECT DISTINCT function_name FROM duckdb_functions() WHERE schema_name = 'deid'"
            ).fetchall()
            assert {name for (name,) in made} == {
                macro.name for macro in MACROS if private or not macro.private
            }


def test_every_parameter_is_explained() -> None:
    for macro in MACROS:
        names = re.findall(r'(?:^|, )"?(\w+)', macro.parameters)
        read = ", ".join(re.findall(r"^(\S.*?)  +\S", macro.reads, re.MULTILINE))
        assert read.replace('"', "").split(", ") == names, macro.name


def comments(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], str | None]:
    found = con.execute(
        "SELECT function_name, function_type, comment FROM duckdb_functions() "
        "WHERE schema_name = 'deid'"
    ).fetchall()
    return {(name, kind): comment for name, kind, comment in found}


def test_the_catalog_tells_what_each_macro_is_for() -> None:
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS \"it's other\"")
        install(con, "it's other")
        told = comments(con)
        con.execute('DETACH "it\'s other"')
        con.execute(script())
        assert comments(con) == told
    assert len(told) == len(MACROS)
    for macro in MACROS:
        comment = told[macro.name, "table_macro" if macro.kind == "table" else "macro"]
        assert comment is not None
        assert comment.lower().startswith(macro.description.lower())
        assert all(text in comment for text in (macro.reads, macro.gives, macro.example))


def test_an_export_has_no_comments() -> None:
    with duckdb.connect() as con:
        install(con, private=False)
        assert set(comments(con).values()) == {None}
        con.execute(script(private=False))
        assert set(comments(con).values()) == {None}
