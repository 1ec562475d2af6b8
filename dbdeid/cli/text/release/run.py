"""Print a finished run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbdeid.cli.text.layout import flat
from dbdeid.cli.text.project import expected
from dbdeid.cli.text.release.models import compared
from dbdeid.cli.text.release.releases import of_trial
from dbdeid.cli.text.release.remains import earlier, notes, promises, remains
from dbdeid.cli.text.release.synthetic import synthesized
from dbdeid.cli.text.release.usefulness import first
from dbdeid.cli.text.search import how
from dbdeid.report.content.padding import counted
from dbdeid.report.content.policies import briefly, pieces

if TYPE_CHECKING:
    from dbdeid.release.result import RunResult


def released(result: RunResult) -> str:
    """A finished run in a few lines, and what became of the recipient's models."""
    made = result.record.synthetic
    text = first(result.useless, _released(result) if made is None else synthesized(result, made))
    text = f"{of_trial(result)}\n{text}" if result.trial else text
    if result.expectations:
        text += f"\n  expected      {expected(result.expectations)}"
    if result.models_overall is None:
        return text
    return f"{text}\n\n{compared(result.models, result.models_overall)}"


def _released(result: RunResult) -> str:
    by_subject = result.source_subjects < result.source_rows
    share = result.suppressed_rows / result.source_rows
    levels = ", ".join(f"{name} {level}" for name, level in result.transformation.items() if level)
    raw = ", ".join(name for name, level in result.transformation.items() if not level)
    what = "nothing" if result.transformation else "class by class"
    made = result.counterfeit_rows
    added = f", and {made:,} counterfeit ones" if made else ""
    of_source = result.released_rows - result.counterfeit_rows
    lines = [
        f"{result.release}: {of_source:,} of {result.source_rows:,} records released, "
        f"{result.suppressed_rows:,} suppressed ({share:.1%}){added}",
        *remains(result),
        *earlier(result),
        f"  classes       {result.classes:,}, the smallest of {result.smallest_class} "
        f"{'subjects' if by_subject else 'records'} (NULL: {result.null_policy})",
        *_padded(result),
        *_lost(result),
        *_intervals(result),
        f"  generalized   {levels or what}" + (" (levels of its hierarchy)" if levels else ""),
        f"  unchanged     {raw}",
        f"  {_made(result)}",
        *_promised(result),
        promises(result),
        f"  written       {result.table}",
        f"  seconds       {result.seconds['total']:.2f}",
    ]
    if result.policy is not None or result.masked is not None:
        lines = [line for line in lines if not line.startswith("  generalized ")]
    if not raw:
        lines = [line for line in lines if not line.startswith("  unchanged ")]
    if by_subject:
        lines.insert(
            1,
            f"  subjects      {result.source_subjects:,}, {result.suppressed_subjects:,} of them "
            f"lose{'s' * (result.suppressed_subjects == 1)} a record",
        )
    return "\n".join([*lines, *notes(result)])


def _lost(result: RunResult) -> Iterator[str]:
    """What generalization took from a cell, or means from the numbers that they replace."""
    if result.loss is not None:
        yield f"  loss          {result.loss:.4f} of a cell's detail on average (0 none, 1 all)"
    elif "information_loss" in result.metrics:
        lost = result.metrics["information_loss"]
        yield f"  loss          {lost:.2f} % of the numbers' variance (SSE/SST)"


def _intervals(result: RunResult) -> Iterator[str]:
    """The intervals of a policy."""
    for name, labels in (result.policy or {}).items():
        if result.transformation[name]:
            yield f"  intervals     {name}: {briefly(pieces(labels))}"


def _made(result: RunResult) -> str:
    """How the levels were found."""
    search = result.search
    if "bits" in search:
        return (
            f"policy        point {search['point']:,} of the frontier, with risk "
            f"{search['risk']:.4g} and frontier loss {search['loss']:.4f}; "
            f"{search['checked']:,} evaluated by {search['name']}, of {search['bits']:,} bits"
        )
    if result.record.masked is not None:
        groups = result.record.masked
        return (
            f"means         of {groups.groups:,} groups by {groups.algorithm}, of "
            f"{groups.smallest:,} to {groups.largest:,} records"
        )
    if "blocks" not in search:
        return f"search        {how(search)}"
    after = search["placed_afterwards"]
    placed = "1 record" if after == 1 else f"{after:,} records"
    rest = f", {placed} placed in them afterwards" if after else ""
    return f"blocks        {search['blocks']:,} by {search['name']}{rest}"


def _padded(result: RunResult) -> Iterator[str]:
    """What was added or moved, and what k means then."""
    padding = result.record.padding
    if padding is not None:
        yield (
            f"  counterfeits  {result.counterfeit_rows:,} of at most {padding.limit:,}; no "
            f"record is generalized beyond h = {padding.h:.4g}"
        )
        yield f"  protection    {counted(padding)}"
    if result.method == "relocation":
        moved = result.relocated_rows
        have = "record has" if moved == 1 else "records have"
        yield f"  UNTRUTHFUL    {moved:,} {have} quasi-identifiers of others"


def _promised(result: RunResult) -> Iterator[str]:
    """What was found of each model, where there are more than the classes above tell of."""
    if any(promise["model"] != "k_anonymity" for promise in result.promises):
        for promise in result.promises:
            declared, found = flat(promise["declared"]), flat(promise["found"])
            yield f"  promise       {promise['model']}: declared {declared}; found {found}"
