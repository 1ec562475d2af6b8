"""The guide to microaggregation is run: its specification, then every statement with its result."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from guide import DOCS, blocks, shown

import dbdeid

PAGE = DOCS / "microaggregation.md"
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
                    assert dbdeid.run(spec, con).verified
            elif language == "text":
                assert shown(con.fetchall()) == text
                results += 1
    assert results == 2


@pytest.mark.full
def test_its_table_of_losses_is_that_of_the_benchmark(shared: Path) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))
    import microaggregation

    for row in microaggregation.losses():
        name, algorithm, *found = row.values()
        first, _, phase = algorithm.partition(", ")
        words = f"| {name} | `{first}`{', ' + phase if phase else ''} | "
        assert words + " | ".join(found).rstrip() + " |" in GUIDE
