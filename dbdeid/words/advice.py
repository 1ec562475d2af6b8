"""What a check says of uniqueness, of costs, and of what to change first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdeid.words.layout import grid

RUNS_SHOWN = 3


def conversation(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a check that tell what makes records unique, and what that costs."""
    unique = found.get("uniqueness")
    if unique:
        yield from _uniqueness(unique, found.get("cost"))
    if found.get("advice"):
        yield "  what to change first"
        yield from (f"    {number}. {text}" for number, text in enumerate(found["advice"], 1))
    elif unique and not unique["unique_records"]:
        yield "  no record is unique in its quasi-identifiers"
    if unique and not found.get("cost"):
        yield "  not weighed: what each quasi-identifier costs in loss; `check --deep` may tell"
    if found.get("earlier"):
        yield _earlier(found["earlier"])


def _uniqueness(unique: Mapping[str, Any], cost: Mapping[str, Any] | None) -> Iterator[str]:
    total = unique["unique_records"]
    yield (
        f"  {total:,} of {unique['records']:,} records ({total / unique['records']:.1%}) are "
        "unique in their quasi-identifiers as they are (NULL as a value)"
    )
    head = ["quasi-identifier", "unique by it alone", "unique without it"]
    rows = [[c["name"], f"{c['alone']:,}", f"{c['without']:,}"] for c in unique["columns"] if total]
    if cost and rows:
        head += ["loss", "of the others", "and without it"]
        for row, c in zip(rows, cost["columns"], strict=True):
            row += [f"{c[key]:.3f}" for key in ("loss", "others_with", "others_without")]
    if rows:
        yield grid(head, rows)
        if cost:
            how = "proven optimal" if cost["proven_optimal"] else "the best that was found"
            yield f"  loss: under a transformation that is {how}; without it: that or less"
    for some in unique["sets"]:
        if some["unique_records"]:
            more = "" if some["exhaustive"] else " (not all sets were looked at)"
            names = ", ".join(some["columns"])
            yield f"  unique by {names}: {some['unique_records']:,}{more}"


def _earlier(runs: Sequence[Mapping[str, Any]]) -> str:
    last = ", ".join(f"{run['release']} ({run['created'][:10]})" for run in runs[:RUNS_SHOWN])
    many = f", and {len(runs) - RUNS_SHOWN:,} before" if len(runs) > RUNS_SHOWN else ""
    return (
        f"  released before from the same source: {last}{many}; who has two releases compares "
        "them, see `rerelease:`"
    )
