"""Print three sentences under the headline of a run: promised, not promised, use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbdeid.report.content.remains import briefly, sentences

if TYPE_CHECKING:
    from dbdeid.release.result import RunResult


def remains(result: RunResult) -> Iterator[str]:
    """Format the promises of a release, its limits and its use, a clause in each line."""
    told = sentences(result.record)
    yield from _lines("promised", told.promised)
    yield from _lines("not promised", told.not_promised)
    yield from _lines("use", told.use)


def earlier(result: RunResult) -> Iterator[str]:
    """Format what the release reveals together with earlier ones."""
    yield from _lines("warning", _of_earlier(result))


def notes(result: RunResult) -> Iterator[str]:
    """The warnings that were not said further up."""
    said = (*result.useless, *_of_earlier(result))
    told = (text for text in dict.fromkeys(result.warnings) if text not in said)
    yield from (f"  note          {text}" for text in told)


def _of_earlier(result: RunResult) -> tuple[str, ...]:
    found = result.record.rerelease
    return () if found is None else found.words


def promises(result: RunResult) -> str:
    """Whether the promises were verified, beside who is unique all the same."""
    if not result.verified:
        return "  promises      not verified: internal preview"
    beside = briefly(result.record)
    return f"  promises      verified{f', with {beside}' if beside else ''}"


def _lines(name: str, clauses: tuple[str, ...]) -> Iterator[str]:
    for place, clause in enumerate(clauses):
        yield f"  {'' if place else name:<13} {clause}"
