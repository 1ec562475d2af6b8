"""The guide to policies is run: its tables and specification, then every statement."""

from __future__ import annotations

import re

import duckdb
import pytest
from guide import DOCS, blocks, shown

import dbdeid

PAGE = DOCS / "policy.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)
(SPEC,) = (text for _, language, text in BLOCKS if language == "yaml")
TABLES = next(text for _, language, text in BLOCKS if language == "sql")


@pytest.mark.full
def test_every_statement_gives_what_the_guide_shows() -> None:
    results = 0
    with duckdb.connect() as con:
        for _, language, text in BLOCKS:
            if language == "sql":
                con.execute(text)
                if text is TABLES:
                    assert dbdeid.run(SPEC, con).verified
            elif language == "text":
                assert shown(con.fetchall()) == text
                results += 1
    assert results == 3


def test_the_point_is_chosen_for_the_reason_that_is_given() -> None:
    with duckdb.connect() as con:
        con.execute(TABLES)
        found = dbdeid.frontier(SPEC, con)
        alone = SPEC.replace("k: 10", "k: 1")
        assert (found["chosen"], dbdeid.frontier(alone, con)["chosen"]) == (10, 18)
    assert "point\n18; but some of the classes of points 11 to 18" in GUIDE
    assert "so that it is point 10:" in GUIDE


def test_all_ways_to_choose_are_told() -> None:
    told = set(re.findall(r"^\| `\{(\w+): ", GUIDE, re.MULTILINE))
    assert told == {"max_risk", "max_loss", "dominates", "point"}
