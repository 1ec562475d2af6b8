"""The guide to counterfeit records is run: every statement, in order, with its result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from guide import DOCS, blocks, shown

from dbdeid.data.weights import truthful, weighted
from dbdeid.engine.duckdb import macros
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql

PAGE = DOCS / "counterfeit.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)
NAMES = ["class_id", "age", "sex", "diagnosis", "days"]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        macros.install(connection)
        yield connection


def written(folder: Path, con: duckdb.DuckDBPyConnection) -> None:
    """The two tables as files, as an export writes them."""
    for table in ("visits_public", "visits_public_catalog"):
        for ending, form in ((".parquet", "FORMAT parquet"), (".csv", "FORMAT csv, HEADER true")):
            con.execute(f"COPY {table} TO '{folder / (table + ending)}' ({form})")


def test_every_statement_gives_what_the_guide_shows(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    con.execute(f"SET file_search_path = '{tmp_path}'")
    results = 0
    for _, language, text in BLOCKS:
        if language == "text":
            assert shown(con.fetchall()) == text
            results += 1
            continue
        assert language == "sql"
        if ".parquet'" in text:
            written(tmp_path, con)
        con.execute(text)
    assert results == 6


def test_files_are_read_as_they_were(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Also values that CSV confuses: numbers as text, no value and an empty one."""
    con.execute(f"SET file_search_path = '{tmp_path}'")
    con.execute(BLOCKS[0].text)
    con.execute("INSERT INTO visits_public VALUES (0, '*', NULL, '01', 1), (1, '*', '', NULL, 1)")
    con.execute("INSERT INTO visits_public VALUES (2, '*', '', '', 1), (2, '*', '', '1', 1)")
    con.execute(
        "INSERT INTO visits_public_catalog SELECT [0, 1, 2], unnest(['01', '', '1', NULL]), 1"
    )
    tables = ("visits_public", "visits_public_catalog")
    kept = [Counter(map(str, con.execute(f"FROM {table}").fetchall())) for table in tables]
    written(tmp_path, con)
    for ending in (".parquet'", ".csv'"):
        (reading,) = (text for *_, text in BLOCKS if ending in text)
        con.execute("CREATE OR REPLACE TABLE visits_public AS SELECT 1 AS none")
        con.execute(reading)
        read = [Counter(map(str, con.execute(f"FROM {table}").fetchall())) for table in tables]
        assert read == kept


def test_its_views_are_those_that_are_shipped(con: duckdb.DuckDBPyConnection) -> None:
    statements = [text for _, language, text in BLOCKS if language == "sql"]
    for text in statements:
        if text.startswith(("CREATE TABLE", "CREATE OR REPLACE VIEW")):
            con.execute(text)
    con.execute("INSERT INTO visits_public SELECT i % 5, NULL, NULL, NULL, 1 FROM range(9) AS r(i)")
    con.execute("INSERT INTO visits_public_catalog VALUES ([0, 1, 2, 3], NULL, 2)")
    release, catalog = Relation("visits_public"), Relation("visits_public_catalog")
    for name, query in (
        ("visits_public_weighted", weighted(release, catalog, "diagnosis")),
        ("visits_public_truthful", truthful(release, catalog, "diagnosis", NAMES)),
    ):
        ours = con.execute(sql(query)).fetchall()
        assert Counter(con.execute(f"FROM {name}").fetchall()) == Counter(ours)


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", GUIDE):
        file, _, heading = target.partition("#")
        page = (Path(__file__).parents[1] / "docs" / file).read_text() if file else GUIDE
        headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        assert not heading or heading in {h.lower().replace(" ", "-") for h in headings}, target
