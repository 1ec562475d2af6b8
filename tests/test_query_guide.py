"""The guide to questions is run: its tables and specification, then every question and command."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from guide import DOCS, blocks, lay_out, python, shell

import dbdeid
from dbdeid.cli.text.query import answered
from dbdeid.errors import DataError

PAGE = DOCS / "query.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)
TABLES = next(text for _, language, text in BLOCKS if language == "sql")
IN_DUCKDB = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("guide")
    lay_out(BLOCKS, made)
    (made / "by_sex_in_duckdb.sql").write_text(IN_DUCKDB)
    return made


def shown(sql: str, folder: Path) -> str:
    try:
        return answered(dbdeid.query(folder / "visits.yml", sql)) + "\n"
    except DataError as error:
        return f"error: {error}\n"


@pytest.mark.full
def test_every_question_is_answered_as_the_guide_shows(folder: Path) -> None:
    printed, compared = "", 0
    for _, language, text in BLOCKS:
        if language == "sql" and text is not TABLES:
            printed = shown(text, folder)
        elif language == "sh":
            for line in text.splitlines():
                printed = shell(line, folder)
        elif language == "python":
            python(text, folder)
        elif language == "text":
            assert printed == text
            compared += 1
    assert compared == GUIDE.count("```text") == 12
    assert (folder / "by_sex.sql").read_text().startswith("WITH")
    assert '"n_upper"' in (folder / "answer.json").read_text()


def test_the_true_answers_are_those_that_the_guide_tells(folder: Path) -> None:
    with duckdb.connect(str(folder / "hospital.duckdb"), read_only=True) as con:
        truth = con.execute("SELECT COUNT(*) FROM visits WHERE age < 35 AND ward = 'A1'").fetchall()
    assert truth == [(17,)]
    assert "The original\n  has 17." in GUIDE
