"""Policies of intervals in words, and what changes from one to another.

A policy has for each column the released labels of its intervals, in the order of the domain. What
a label means is never read out of it: which ones are single values is told from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

Policy = Mapping[str, Sequence[str]]
Singles = Mapping[str, Collection[str]]  # by column, the labels that are single values

WHOLE = "*"
RUN = 8  # single values in a row from which only the first and the last are told
BRIEF = 4  # pieces that are told without leaving any out
_LONG = 48  # letters of a piece in a brief text


class Hunk(NamedTuple):
    """Neighbours in one sequence that stand where others stand in another; `at` is in the first."""

    at: int
    gone: Sequence[str]
    come: Sequence[str]


def single_values(frontier: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The labels of each column that are single values.

    They are known from a policy that keeps all values of the column apart, as the one without loss
    does; of a column that no policy leaves as it is, none are known.

    Args:
        frontier: with `columns` and `points`, as `dbdeid frontier` tells it.
    """
    found = {}
    for column in frontier["columns"]:
        labels = (point["policy"][column["name"]] for point in reversed(frontier["points"]))
        apart = next((own for own in labels if len(own) == column["values"]), ())
        found[column["name"]] = frozenset(apart)
    return found


def pieces(labels: Sequence[str], singles: Collection[str] = ()) -> list[str]:
    """The intervals of a column in words: long runs of single values are one piece.

    >>> pieces(["0", "1", "2", "3", "4", "5", "6", "7", "8 to 120"], list("01234567"))
    ['each value from 0 to 7', '8 to 120']
    >>> pieces(["*"])
    ['all values as one']
    """
    if list(labels) == [WHOLE]:
        return ["all values as one"]
    found = []
    for single, group in groupby(labels, lambda label: label in singles):
        run = list(group)
        long = single and len(run) >= RUN
        found.extend([f"each value from {run[0]} to {run[-1]}"] if long else run)
    return found


def briefly(found: Sequence[str]) -> str:
    """Pieces in a few words: where they are many, the first two and the last.

    >>> briefly(["0 to 4", "5 to 9", "10 to 14", "15 to 19", "20 to 120"])
    '0 to 4, 5 to 9, …, 20 to 120'
    """
    shown = found if len(found) <= BRIEF else [*found[:2], "…", found[-1]]
    return ", ".join(p if len(p) <= _LONG else f"{p[: _LONG - 1].rstrip()}…" for p in shown)


def of_column(labels: Sequence[str], singles: Collection[str] = ()) -> str:
    """The intervals of one column in a few words, with their number where not all are listed.

    >>> of_column(["0", "1", "2 to 4", "5 to 9", "10 to 120"])
    '0, 1, …, 10 to 120 (5 intervals)'
    """
    return counted(pieces(labels, singles), len(labels))


def counted(found: Sequence[str], intervals: int) -> str:
    """Pieces in a few words, with the number of intervals where not all are listed."""
    number = f" ({intervals:,} intervals)" if len(found) > BRIEF else ""
    return briefly(found) + number


def in_words(policy: Policy, singles: Singles) -> str:
    """A whole policy in a few words.

    >>> in_words({"age": ["0 to 64", "65 to 120"], "sex": ["*"]}, {})
    'age 0 to 64, 65 to 120; sex all values as one'
    """
    return "; ".join(
        f"{name} {of_column(labels, singles.get(name, ()))}" for name, labels in policy.items()
    )


def hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[Hunk]:
    """Where two sequences of different texts differ, in order.

    >>> [h.come for h in hunks(["0", "1", "2 to 9"], ["0 to 1", "2 to 9"])]
    [['0 to 1']]
    """
    if before == after:
        return
    skipped = _alike(before, after)
    before, after = before[skipped:], after[skipped:]
    last = _alike(before[::-1], after[::-1])
    before, after = before[: len(before) - last], after[: len(after) - last]
    both = set(before) & set(after)
    kept = [text for text in before if text in both]
    if kept != [text for text in after if text in both]:
        kept = []  # texts that stand for two things: nothing is known to be the same
    at = there = 0
    for text in (*kept, None):
        end = len(before) if text is None else before.index(text, at)
        other = len(after) if text is None else after.index(text, there)
        if end > at or other > there:
            yield Hunk(skipped + at, before[at:end], after[there:other])
        at, there = end + 1, other + 1


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many texts two sequences have in common at their start."""
    differs = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differs, min(len(one), len(other)))


def changes(before: Policy, after: Policy, singles: Singles) -> list[str]:
    """List the merges, splits and new cuts from one policy to another, a sentence each.

    >>> changes({"sex": ["F", "M"]}, {"sex": ["*"]}, {})
    ['sex: F, M merged into all values as one']
    """
    return [
        f"{name}: {_change(hunk, singles.get(name, ()))}"
        for name, labels in before.items()
        for hunk in hunks(labels, after[name])
    ]


def _change(hunk: Hunk, singles: Collection[str]) -> str:
    gone, come = (briefly(pieces(part, singles)) for part in (hunk.gone, hunk.come))
    if len(hunk.come) == 1:
        return f"{gone} merged into {come}"
    return f"{gone} {'split' if len(hunk.gone) == 1 else 'cut anew'} into {come}"
