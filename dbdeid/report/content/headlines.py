"""What each chart of a report's first page says, in one sentence that follows the promise."""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.data.figures import count, share
from dbdeid.record.findings import RiskChange
from dbdeid.record.public_record import Shown
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Share, Workload
from dbdeid.report.content.commands import k_of
from dbdeid.report.content.model_terms import by_class
from dbdeid.report.content.remains import listed

# Columns that are named in a sentence; of more only the number.
_NAMED = 3
ROUNDING = 1e-9  # of a share: less is how its sum was rounded


def headlines(record: Shown, losses: Sequence[tuple[str, float]]) -> dict[str, str]:
    """The sentence of each chart that the record has figures for.

    Args:
        record: of the release.
        losses: of each column, greatest first, as far as the reader may know them.
    """
    found = {"classes": _classes(record), "loss": _loss(losses), "risk": _risk(record)}
    if isinstance(record, ReleaseRecord):
        found |= {"distributions": _changed(record), "queries": _queries(record.queries)}
    return {name: text for name, text in found.items() if text is not None}


def _classes(record: Shown) -> str | None:
    k, sizes = k_of(record), [row.class_size for row in record.histogram]
    if not sizes:
        return None
    low, who = min(sizes), "subject" if record.by_subject else "record"
    least = f"{count(low)} {who}{'' if low == 1 else 's'}"
    if k is None or not by_class(record):
        return f"No class size is promised: the smallest class has {least}"
    if low < k:
        return f"Promise broken: the smallest class has {least}, k = {count(k)} was promised"
    return f"No class is smaller than the promised k = {count(k)}"


def _loss(losses: Sequence[tuple[str, float]]) -> str | None:
    if not losses:
        return None
    gone = [name for name, loss in losses if loss >= 1]
    if gone:
        return f"Nothing is left of {_some(gone)}"
    name, loss = losses[0]
    return f"{listed([name])} loses most" if loss > 0 else "No column lost any detail"


def _risk(record: Shown) -> str | None:
    if record.risk is None or record.risk.after is None or record.risk.after.highest_risk is None:
        return None
    highest = share(record.risk.after.highest_risk)
    if not by_class(record):
        return f"The highest risk is {highest}: no declared model limits it"
    before = record.risk.before if isinstance(record.risk, RiskChange) else None
    if before is None or before.highest_risk is None:
        return f"The highest risk is {highest}"
    if before.highest_risk == record.risk.after.highest_risk:
        return f"The highest risk stays {highest}"
    return f"The highest risk falls from {share(before.highest_risk)} to {highest}"


def _changed(record: ReleaseRecord) -> str | None:
    found = {d.column: shift(d.rows) for d in record.distributions if d.rows}
    if not found:
        return None
    name = max(sorted(found), key=lambda n: found[n])
    if not found[name]:
        return "The shares are those of the source"
    return f"The shares of {listed([name])} shift most: by {share(found[name])} of the records"


def shift(rows: Sequence[Share]) -> float:
    """How many records would have to move between the rows, as a share: half of what differs."""
    found = sum(abs(row.source - row.released) for row in rows) / 2
    return found if found > ROUNDING else 0.0  # shares that are equal but for their last digits


def _queries(workload: Workload | None) -> str | None:
    if workload is None or not workload.queries:
        return None
    asked = len(workload.queries)
    known = sum(q.relative_error is not None for q in workload.queries)
    of = "the one question" if asked == 1 else f"{known} of {asked} questions"
    if workload.mean_relative_error is None:
        return f"No error is known for {'the one question' if asked == 1 else f'{asked} questions'}"
    return f"Answers to {of} are {share(workload.mean_relative_error)} off on average"


def _some(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{count(len(names))} columns"
    *first, last = names
    return f"{listed(first)} and {listed([last])}" if first else listed([last])
