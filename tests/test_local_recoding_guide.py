"""The guide to local recoding is run: its specification, then every statement with its result."""

from __future__ import annotations

import duckdb
import pytest
from guide import DOCS, blocks, shown

import dbdeid

PAGE = DOCS / "local_recoding.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)


@pytest.mark.full
def test_every_statement_gives_what_the_guide_shows() -> None:
    (spec,) = (text for _, language, text in BLOCKS if language == "yaml")
    results = 0
    with duckdb.connect() as con:
        for _, language, text in BLOCKS:
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
        con.execute(next(text for *_, text in BLOCKS if text.startswith("CREATE TABLE visits ")))
        (found,) = con.execute("SELECT count(*) FROM visits WHERE age < 50").fetchall()
    assert found == (10,)
    assert "\nThere are ten." in GUIDE
