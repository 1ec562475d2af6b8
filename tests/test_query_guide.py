"""The guide to questions is run: its tables and specification, then every question and command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import dbdeid
from dbdeid.errors import DataError
from dbdeid.words.query import answered

GUIDE = (Path(__file__).parents[1] / "docs" / "query.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.DOTALL)
(SPEC,) = (text for language, text in BLOCKS if language == "yaml")
TABLES = next(text for language, text in BLOCKS if language == "sql")
IN_DUCKDB = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("guide")
    with duckdb.connect(str(made / "hospital.duckdb")) as con:
        con.execute(TABLES)
    (made / "visits.yml").write_text(SPEC)
    (made / "by_sex_in_duckdb.sql").write_text(IN_DUCKDB)
    return made


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(sql: str, folder: Path) -> str:
    try:
        return answered(dbdeid.query(folder / "visits.yml", sql)) + "\n"
    except DataError as error:
        return f"error: {error}\n"


def test_every_question_is_answered_as_the_guide_shows(folder: Path) -> None:
    printed, compared = "", 0
    for language, text in BLOCKS:
        if language == "sql" and text is not TABLES:
            printed = shown(text, folder)
        elif language == "sh":
            for line in text.splitlines():
                printed = shell(line, folder)
        elif language == "python":
            shell(f"python - <<'END'\n{text}\nEND", folder)
        elif language == "text":
            assert printed == text
            compared += 1
    assert compared == GUIDE.count("```text") == 8
    assert (folder / "by_sex.sql").read_text().startswith("WITH")
    assert '"n_upper"' in (folder / "answer.json").read_text()


def test_the_true_answers_are_those_that_the_guide_tells(folder: Path) -> None:
    with duckdb.connect(str(folder / "hospital.duckdb"), read_only=True) as con:
        truth = con.execute("SELECT COUNT(*) FROM visits WHERE age < 35 AND ward = 'A1'").fetchall()
    assert truth == [(17,)]
    assert "The original\n  has 17." in GUIDE
