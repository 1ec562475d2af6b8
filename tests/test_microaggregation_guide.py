"""The guide to microaggregation is run: its specification, then every statement with its result."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import dbdeid

GUIDE = (Path(__file__).parents[1] / "docs" / "microaggregation.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.DOTALL)


def test_every_statement_gives_what_the_guide_shows() -> None:
    (spec,) = (text for language, text in BLOCKS if language == "yaml")
    results = 0
    with duckdb.connect() as con:
        for language, text in BLOCKS:
            if language == "sql":
                con.execute(text)
                if text.startswith("CREATE TABLE visits "):
                    assert dbdeid.run(spec, con).verified
            elif language == "text":
                rows = (" | ".join(map(str, row)) for row in con.fetchall())
                assert "".join(f"{row}\n" for row in rows) == text
                results += 1
    assert results == 2


def test_its_table_of_losses_is_that_of_the_benchmark(shared: Path) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))
    import microaggregation

    for row in microaggregation.losses():
        name, algorithm, *found = row.values()
        first, _, phase = algorithm.partition(", ")
        words = f"| {name} | `{first}`{', ' + phase if phase else ''} | "
        assert words + " | ".join(found).rstrip() + " |" in GUIDE
