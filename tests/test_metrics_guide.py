"""docs/metrics.md: every metric is defined, and the releases that it names have it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from dbdeid.spec.method_spec import Family, Objective
from dbdeid.spec.metric_spec import METRICS, metrics_of

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "metrics.md").read_text(encoding="utf-8")
# The columns of the table, in its order.
FAMILIES: tuple[Family, ...] = ("generalized", "local", "padded", "masked", "synthetic")


def told() -> dict[str, tuple[bool, ...]]:
    """Of each metric of the table, which releases have it."""
    _, _, table = PAGE.partition("## Which release has which")
    rows = [line.strip("|").split("|") for line in table.split("\n## ")[0].splitlines()]
    return {
        name: tuple("●" in cell for cell in cells)
        for first, *cells in rows
        for name in re.findall(r"\[`(\w+)`\]", first)
    }


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_defined_and_of_the_releases_that_have_it(name: str) -> None:
    assert told()[name] == tuple(name in metrics_of(family) for family in FAMILIES)
    (anchor,) = re.findall(rf"\[`{name}`\]\(#([\w-]+)\)", PAGE)
    headings = re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", h).strip().replace(" ", "-") for h in headings}
    assert f"`{name}`" in (DOCS / "specification" / "evaluation.md").read_text(encoding="utf-8")


def test_no_other_metric_is_told() -> None:
    assert {*told()} == {*METRICS}


def test_methods_and_metrics_name_the_same() -> None:
    assert METRICS[: len(get_args(Objective))] == get_args(Objective)
    assert len({*METRICS}) == len(METRICS)
