"""Print what a check found: uniqueness, costs, and advice on what to change first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdeid.cli.text.layout import grid

RUNS_SHOWN = 3


def questions(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a check that ask: undecided columns first, then all else that a run needs."""
    some = found.get("undecided") or ()
    if some:
        count = f"{len(some)} columns are" if len(some) > 1 else "1 column is"
        yield f"  {count} undecided, and withheld until you give each a role"
        head = ("column", "type", "values", "unique", "most", "alone", "found")
        yield grid(head, [_row(one) for one in some])
        now = found["unique_now"]
        of_these = "" if now is None else f" ({now:.1%} are without it)"
        yield (
            "  shares of the records. unique: on the quasi-identifiers at their min_level, if it "
            f"is one of them{of_these};"
        )
        yield (
            "  most: have its most frequent value, if it is sensitive: l_diversity costs much from "
            "80% on;"
        )
        yield "  alone: are singled out by it, if it is released as it is (insensitive)"
    asked = found.get("questions") or ()
    if asked:
        yield "  to answer before a run"
        for number, text in enumerate(asked, 1):
            first, *rest = text.splitlines()
            yield f"    {number}. {first}"
            yield from (f"       {line.strip()}" for line in rest)


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    unique = "" if one["unique"] is None else f"{one['unique']:.1%}"
    proposed = f"; a draft proposes {one['proposed']}" if one["proposed"] else ""
    shares = (unique, f"{one['most']:.1%}", f"{one['alone']:.1%}")
    return one["name"], one["type"], f"{one['values']:,}", *shares, one["found"] + proposed


def conversation(found: Mapping[str, Any]) -> Iterator[str]:
    """Format the columns that make records unique, and the cost of keeping them."""
    unique = found.get("uniqueness")
    if unique:
        yield from _uniqueness(unique, found.get("cost"))
    yield from _models(found.get("cost"))
    yield from methods(
        found.get("methods") or (), found.get("methods_left_out"), found["source_rows"]
    )
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
    one = total == 1
    are, their = ("is", "its") if one else ("are", "their")
    yield (
        f"  {total:,} of {unique['records']:,} records ({total / unique['records']:.1%}) {are} "
        f"unique on {their} unchanged quasi-identifiers (NULL as a value)"
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


def _models(cost: Mapping[str, Any] | None) -> Iterator[str]:
    """What each model costs, where one costs anything."""
    models = (cost or {}).get("models") or ()
    if any(model["costs"] > 0 for model in models):
        head = ("model", "loss with it", "without it", "costs")
        keys = ("loss_with", "loss_without", "costs")
        yield grid(head, [[m["model"], *(f"{m[key]:.3f}" for key in keys)] for m in models])


def methods(
    found: Sequence[Mapping[str, Any]], left_out: str | None, source_rows: int
) -> Iterator[str]:
    """What each method would give, the declared one first; also of a draft."""
    if left_out is not None:
        yield f"  not compared with other methods: {left_out}"
    if not found:
        return
    rows = [
        [
            one["method"] + (" (declared)" if one["declared"] else ""),
            one["why"] or f"{one['loss']:.3f}",
            "" if one["query_error"] is None else f"{one['query_error']:.1%}",
        ]
        for one in found
    ]
    sample = found[0]["sample_rows"]
    where = f"all {sample:,} records"
    if sample < source_rows:
        where = f"a sample of {sample:,} records (on all, both lose less)"
    yield f"  what each method would give, on {where}"
    yield grid(("method", "loss", "query error"), rows)
    if asked := found[0]["questions"]:
        yield f"  query error: mean over {asked} random counts, as a share of the true count"


def _earlier(runs: Sequence[Mapping[str, Any]]) -> str:
    last = ", ".join(f"{run['release']} ({run['created'][:10]})" for run in runs[:RUNS_SHOWN])
    many = f", and {len(runs) - RUNS_SHOWN:,} before" if len(runs) > RUNS_SHOWN else ""
    return (
        f"  released before from the same source: {last}{many}; someone who has two releases "
        "can compare them, see `rerelease:`"
    )
