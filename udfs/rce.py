"""The reconstruction error of one record; the twin of the macro `deid.rce`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from dbdeid.errors import DataError


def rce(leaves: Sequence[float | None] | None, p: float | None, real: bool | None) -> float | None:
    """How far a guess of the original cells of a record is off, in [0, 1].

    The mean over the columns of 1 - 2p/v + p²/v for a real record, of p²/v for a counterfeit one
    (after Lee, Kim & Chung 2017). None where an argument is None or there is no column.

    Args:
        leaves: for each column v, the number of values that the released one stands for.
        p: how probably the record is real, as its reader knows.
        real: whether it is.

    Raises:
        DataError: leaves are below 1, None or not finite, or p is no probability.

    >>> rce([4, 1], 1.0, True), rce([1], 0.5, False)
    (0.375, 0.25)
    """
    known = [v for v in leaves or () if v is not None and isfinite(v) and v >= 1]
    if leaves is not None and len(known) < len(leaves):
        raise DataError("deid_rce: leaves must be finite, 1 or more, and none of them NULL")
    if p is not None and not 0 <= p <= 1:
        raise DataError("deid_rce: p must be from 0 to 1")
    if not known or p is None or real is None:
        return None
    told = sum(1 / v for v in known) / len(known)
    return 1 - (2 - p) * p * told if real else p * p * told
