"""Measures on counts and shares; the twins of the macros `deid.entropy_l` and `deid.emd`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import exp, isfinite, log

from dbdeid.errors import DataError

Amounts = Sequence[float | None]


def entropy_l(counts: Amounts | None) -> float | None:
    """The exponential of the entropy of some counts, from 1 to the number of those above 0.

    None for None and where no count is above 0.

    Raises:
        DataError: a count is negative, None or not finite.

    >>> entropy_l([4, 4, 0]), entropy_l([])
    (2.0, None)
    """
    if counts is None:
        return None
    present = [count for count in _checked(counts, "deid_entropy_l: counts") if count > 0]
    if not present:
        return None
    if min(present) == max(present):
        return float(len(present))  # exact, which exp(log(3)) is not
    total = sum(present)
    return exp(log(total) - sum(count * log(count) for count in present) / total)


def emd(p: Amounts | None, q: Amounts | None, kind: str | None) -> float | None:
    """The earth mover's distance between two distributions over the same values, in [0, 1].

    Both are divided by their sums. None where one is None, empty or all 0.

    Args:
        p: a share or count for each value.
        q: the same for the other distribution, the values in the same order.
        kind: `equal`: all values are as far apart; `ordered`: as far as their places.

    Raises:
        DataError: another kind, different lengths, or a share is negative, None or not finite.

    >>> emd([3, 1], [1, 3], "equal"), emd([1, 0, 0], [0, 1, 0], "ordered")
    (0.5, 0.5)
    """
    if kind not in ("equal", "ordered"):
        raise DataError("deid_emd: kind must be equal or ordered")
    ours, theirs = (_checked(shares or (), "deid_emd: shares") for shares in (p, q))
    if p is None or q is None:
        return None
    if len(ours) != len(theirs):
        raise DataError("deid_emd: p and q must have a share for each of the same values")
    if not sum(ours) or not sum(theirs):
        return None
    p_sum, q_sum = sum(ours), sum(theirs)
    apart = [a / p_sum - b / q_sum for a, b in zip(ours, theirs, strict=True)]
    if kind == "equal":
        return sum(map(abs, apart)) / 2
    return sum(map(abs, accumulate(apart))) / max(len(apart) - 1, 1)


def _checked(amounts: Amounts, what: str) -> list[float]:
    found = [one for one in amounts if one is not None and isfinite(one) and one >= 0]
    if len(found) < len(amounts):
        raise DataError(f"{what} must be finite, 0 or more, and none of them NULL")
    return found
