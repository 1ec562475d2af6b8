"""Print a run of synthetic records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbdeid.cli.text.release.remains import earlier, notes, promises, remains

if TYPE_CHECKING:
    from dbdeid.record.making import Synthetic
    from dbdeid.release.result import RunResult


def synthesized(result: RunResult, made: Synthetic) -> str:
    """Format a finished run of synthetic records in a few lines."""
    response = f", to explain {made.response}" if made.response else ""
    apart = "kept apart, small combinations joined" if made.merged else "kept apart"
    strata = f"; {', '.join(made.strata)} {apart}" if made.strata else ""
    lines = [
        f"{result.release}: {result.released_rows:,} synthetic records in place of "
        f"{result.source_rows:,} (no formal guarantee)",
        *remains(result),
        *earlier(result),
        f"  clusters      {made.clusters:,} by {result.search['name']}, of "
        f"{made.smallest:,} to {made.largest:,} records{response}{strata}",
        *_kept(made),
        *_tried(made),
        promises(result),
        f"  written       {result.table}",
        f"  seconds       {result.seconds['total']:.2f}",
    ]
    return "\n".join([*lines, *notes(result)])


def _kept(made: Synthetic) -> Iterator[str]:
    if made.calibrated:
        yield (
            f"  calibrated    {made.calibrated:,} statistics of the declared models, now "
            f"{made.gap:.2g} of sampling's noise from the source's"
        )


def _tried(made: Synthetic) -> Iterator[str]:
    """What was found when records were synthesized from a random half."""
    trial = made.trial
    if trial is not None:
        yield (
            f"  membership    AUC {trial.auc:.3f} by distance (.5: nobody can tell who was in "
            f"the data); hit exactly: {trial.hit_members:,} of {trial.unique_members:,} "
            f"unique members, {trial.hit_others:,} of {trial.unique_others:,} unique others"
        )
    found = made.shadows
    if found is not None:
        everyone, outliers = found.everyone, found.outliers
        yield (
            f"  shadow attack AUC {everyone.auc:.3f}, of outliers {outliers.auc:.3f}; "
            f"members recognized at 1% false alarms: {everyone.true_positives:.1%}, of outliers "
            f"{outliers.true_positives:.1%}; people at risk: {found.people_at_risk:,}, of "
            f"{found.outlying:,} outliers {found.outliers_at_risk:,}"
        )
