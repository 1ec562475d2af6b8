"""The guide to condensation is run: its table and specification, then every statement."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from guide import DOCS, blocks, shown

import dbdeid

PAGE = DOCS / "condensation.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)
(SPEC,) = (text for _, language, text in BLOCKS if language == "yaml")
TABLE = next(text for _, language, text in BLOCKS if language == "sql")


@pytest.fixture(scope="module")
def con() -> Any:
    with duckdb.connect() as opened:
        opened.execute(TABLE)
        yield opened


@pytest.fixture(scope="module")
def result(con: Any) -> Any:
    return dbdeid.run(SPEC, con)


@pytest.mark.full
def test_every_statement_gives_what_the_guide_shows(con: Any, result: Any) -> None:
    assert result.verified
    results = 0
    for _, language, text in BLOCKS:
        if language == "sql" and text is not TABLE:
            con.execute(text)
        elif language == "text":
            assert shown(con.fetchall()) == text
            results += 1
    assert results == 3


def test_the_models_come_out_as_the_guide_says(con: Any, result: Any) -> None:
    found = dbdeid.evaluate(SPEC, con)["models"]
    coefficients = [c for model in found for c in model["coefficients"]]
    assert len(coefficients) == 9  # the logistic model has an intercept
    assert not any(c["changed_direction"] or c["outside"] for c in coefficients)


def test_the_run_tells_what_the_guide_tells_of(result: Any) -> None:
    told = result.to_dict()["synthetic"]
    assert (told["strata"], told["response"], told["counts"]) == (["died"], "months", True)
    assert told["calibrated"] > 0
    assert 0.4 < told["trial"]["auc"] < 0.65
    assert any("no formal guarantee" in text for text in result.warnings)
