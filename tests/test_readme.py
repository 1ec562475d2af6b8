"""The README is run: every block, in order, in one folder."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from guide import ROOT, blocks, python, shell

from dbdeid.engine.duckdb.macros import MACROS

BLOCKS = blocks(ROOT / "README.md")
DEMO, SQL = blocks(ROOT / "docs" / "demo.md"), blocks(ROOT / "docs" / "sql.md")
MACROS_PAGE = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
COMMANDS = ("pip install . && dbdeid demo", "pip install -e '.[dev]' && pytest")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the demo was run, and what that printed."""
    folder = tmp_path_factory.mktemp("readme")
    return folder, shell("dbdeid demo", folder)


def test_the_demo_prints_what_is_shown(printed: tuple[Path, str]) -> None:
    (shown,) = (masked(block.text) for block in DEMO if block.language == "text")
    (first,) = (masked(block.text) for block in BLOCKS if block.language == "text")
    assert shown == masked(printed[1])
    assert first == shown[: len(first)]


@pytest.mark.full
def test_every_block_runs(printed: tuple[Path, str]) -> None:
    """Both installation commands are run by the continuous integration, here only their job."""
    folder, _ = printed
    for block in (*BLOCKS, *SQL):
        if block.language == "sh":
            for line in block.text.strip().splitlines():
                if line == "cd dbdeid-demo":
                    folder = folder / "dbdeid-demo"
                elif line not in COMMANDS:
                    shell(line, folder)
        elif block.file is not None:
            (folder / Path(block.file).name).write_text(block.text)
        elif block.language == "sql":
            with duckdb.connect(str(folder / "adult.duckdb")) as con:
                con.execute(f"SET file_search_path = '{folder}'")
                con.execute(block.text)
                assert con.fetchall() == [(True,)]
        elif block.language == "python":
            python(block.text, folder)
        else:
            assert block.language == "text", f"a block nobody runs: {block}"


def masked(text: str) -> list[str]:
    """The lines without what differs: seconds, the folder, how many checks the search took."""
    lines = [
        re.sub(r"(seconds +|search +)[\d.]+", r"\1…", line.rstrip()) for line in text.splitlines()
    ]
    return [re.sub(r"written +(\S+/)?(?=dbdeid-demo)", "written ", line) for line in lines]


def test_the_home_page_shows_five_records_as_the_demo_releases_them(
    printed: tuple[Path, str],
) -> None:
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    tables = [
        [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()]
        for table in re.findall(r"^\| age .+\n\|---.+\n((?:\|.+\n)+)", home, re.MULTILINE)
    ]
    names = re.findall(r"\w+", re.findall(r"^\| age .+$", home, re.MULTILINE)[0])
    before, after = tables
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{printed[0]}/dbdeid-demo/adult.duckdb' AS owner (READ_ONLY)")
        con.execute(f"ATTACH '{printed[0]}/dbdeid-demo/adult_public.duckdb' AS public (READ_ONLY)")

        def count(table: str, cells: tuple[str, ...]) -> int:
            equal = " AND ".join(f"CAST({name} AS VARCHAR) = ?" for name in names)
            query = f"SELECT count(*) FROM {table} WHERE {equal}"
            ((found,),) = con.execute(query, list(cells)).fetchall()
            return int(found)

        def reads(name: str, value: str) -> set[str]:
            query = """
                SELECT released_value FROM public.adult_public_dictionary WHERE "column" = ? AND (
                  list_contains(leaves, ?) OR released_value = ? OR leaves IS NULL
                  AND TRY_CAST(? AS INTEGER) BETWEEN TRY_CAST(lower AS INTEGER)
                    AND TRY_CAST(upper AS INTEGER))
            """
            return {row[0] for row in con.execute(query, [name, value, value, value]).fetchall()}

        assert len(before) == len(after) == 5
        for one, other in zip(before, after, strict=True):
            assert count("owner.adult", one)
            assert count("public.adult_public", other) >= 5
            for name, value, label in zip(names, one, other, strict=True):
                assert label in (reads(name, value) or {value})


def test_it_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_the_two_commands_are_there() -> None:
    shells = [block.text.strip() for block in BLOCKS if block.language == "sh"]
    assert all(command in shells for command in COMMANDS)


def test_every_macro_is_listed_with_its_file() -> None:
    for macro in MACROS:
        row = f"| [`{macro.signature}`](../sql/macros/{macro.name}.sql) |"
        assert row in MACROS_PAGE, row


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target
