"""Print the releases of a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dbdeid.record.findings import Remains
from dbdeid.report.content.remains import alone


def line(result: Mapping[str, Any]) -> str:
    """Format the outcome of one release in a line, and each of its notes in another."""
    what = _of_run(result) if "released_rows" in result else _of_test(result)
    what = f"trial, not for publication: {what}" if result.get("trial") else what
    if result["status"] != "success":
        what = _first(result["message"])
    seconds = f"{result['seconds']:.2f} s" if result["seconds"] else ""
    told = "  ".join(filter(None, (f"{result['status']:<8}", result["release"], what, seconds)))
    return "\n".join([told, *(f"{'':<10}note: {text}" for text in result.get("warnings") or ())])


def _of_run(result: Mapping[str, Any]) -> str:
    loss = f", loss {result['loss']:.4f}" if result["loss"] is not None else ""
    counterfeits = result["counterfeit_rows"]
    real = result["released_rows"] - counterfeits
    added = f" and {counterfeits:,} counterfeits" if counterfeits else ""
    return (
        f"{real:,} of {result['source_rows']:,} records{added}, smallest class of "
        f"{result['smallest_class']}{loss}, {_verified(result)}"
    )


def _verified(result: Mapping[str, Any]) -> str:
    """Whether promises were verified, beside who is unique all the same."""
    if not result["verified"]:
        return "a preview"
    left = result.get("remains")
    if not left:
        return "promises verified"
    beside = alone(Remains.told_by(left), synthetic=bool(result.get("synthetic")))
    return f"promises verified, {beside}"


def _of_test(result: Mapping[str, Any]) -> str:
    expectations: Sequence[Mapping[str, Any]] = result.get("expectations") or ()
    return "promises verified" + (f"; {expected(expectations)}" if expectations else "")


def expected(expectations: Sequence[Mapping[str, Any]]) -> str:
    """What was found of each expectation that holds, and the threshold."""
    told = []
    for e in expectations:
        told.append(f"{e['name']} {_number(e['found'])} ({e['expected'].strip()})")
    return ", ".join(told)


def _number(found: float | None) -> str:
    if found is None:
        return "beyond all numbers"
    whole = float(found).is_integer() and abs(found) >= 1
    return f"{int(found):,}" if whole else f"{found:.4g}"


def _first(message: str | None) -> str:
    """The first line of a message, which says what; the others are told as they come."""
    return (message or "").split("\n")[0]


def summary(document: Mapping[str, Any], kept: str | None) -> str:
    """How a run or test of several releases ended.

    Args:
        document: its results.
        kept: where they were written.
    """
    counts = Counter(result["status"] for result in document["results"])
    if not counts:
        return "nothing to do: no release was selected"
    told = ", ".join(f"{counts[status]} {word}" for status, word in _ENDED if counts[status])
    where = f"; results in {kept}" if kept else ""
    return f"{told} in {document['seconds']:.2f} s{where}"


_ENDED = (
    ("success", "succeeded"),
    ("failed", "failed"),
    ("interrupted", "interrupted"),
    ("skipped", "skipped"),
)
