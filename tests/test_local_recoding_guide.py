"""The guide to local recoding is run: its specification, then every statement with its result."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

import dbdeid

GUIDE = (Path(__file__).parents[1] / "docs" / "local_recoding.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.DOTALL)


def shown(rows: list[tuple[Any, ...]]) -> str:
    return "".join(" | ".join("NULL" if v is None else str(v) for v in r) + "\n" for r in rows)


def test_every_statement_gives_what_the_guide_shows() -> None:
    (spec,) = (text for language, text in BLOCKS if language == "yaml")
    results = 0
    with duckdb.connect() as con:
        for language, text in BLOCKS:
            if language == "sql":
                con.execute(text)
                if text.startswith("CREATE TABLE visits "):
                    result = dbdeid.run(spec, con)
                    assert result.verified
            elif language == "text":
                assert shown(con.fetchall()) == text
                results += 1
    assert results == 3


def test_the_expected_count_of_the_guide_is_right() -> None:
    """The count that it estimates, from the table that it starts with."""
    with duckdb.connect() as con:
        con.execute(next(text for _, text in BLOCKS if text.startswith("CREATE TABLE visits ")))
        (found,) = con.execute("SELECT count(*) FROM visits WHERE age < 50").fetchall()
    assert found == (10,)
    assert "\nThere are ten." in GUIDE
