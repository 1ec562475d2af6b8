"""What the command line says of synthetic records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbdeid.release.result import RunResult


def synthesized(result: RunResult, made: Mapping[str, Any]) -> str:
    """A finished run whose records are nobody's, in a few lines."""
    response = f", to explain {made['response']}" if made["response"] else ""
    apart = "kept apart, small combinations joined" if made["merged"] else "kept apart"
    strata = f"; {', '.join(made['strata'])} {apart}" if made["strata"] else ""
    lines = [
        f"{result.release}: {result.released_rows:,} synthetic records in place of "
        f"{result.source_rows:,} (no formal guarantee)",
        f"  clusters      {made['clusters']:,} by {result.search['name']}, of "
        f"{made['smallest']:,} to {made['largest']:,} records{response}{strata}",
        *_kept(made),
        *_tried(made),
        f"  verified      {'yes' if result.verified else 'no'}",
        f"  written       {result.table}",
        f"  seconds       {result.seconds['total']:.2f}",
    ]
    return "\n".join([*lines, *(f"  note          {text}" for text in result.warnings)])


def _kept(made: Mapping[str, Any]) -> Iterator[str]:
    if made["calibrated"]:
        yield (
            f"  calibrated    {made['calibrated']:,} statistics of the declared models, now "
            f"{made['gap']:.2g} of sampling's noise from the source's"
        )


def _tried(made: Mapping[str, Any]) -> Iterator[str]:
    """What was found when records were synthesized from a random half."""
    trial = made["trial"]
    if trial is not None:
        yield (
            f"  membership    AUC {trial['auc']:.3f} (.5: nobody can tell who was in the data); "
            f"hit exactly: {trial['hit_members']:,} of {trial['unique_members']:,} unique members, "
            f"{trial['hit_others']:,} of {trial['unique_others']:,} unique others"
        )
