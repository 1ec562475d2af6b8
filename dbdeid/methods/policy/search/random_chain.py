"""Random maximal chains: the opponent that a search for the frontier has to beat (Xia et al. 2013).

A maximal chain leads from the bottom to the top, one merge at a time. No policy of it dominates
another, unless a merge costs nothing or gains nothing: that of values that nobody has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dbdeid.methods.policy.search.frontier import Log
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Ints


class Merge(NamedTuple):
    """One step of a chain: the bit that it cleared, and the risk and the loss after it."""

    attribute: int
    cut: int
    risk: float
    loss: float


def merges(walk: Walk, order: Ints) -> Iterator[Merge]:
    """Move a walk along a chain, one merge for each that the caller takes.

    Args:
        walk: at the most specific policy of the chain.
        order: the bits to clear, numbered over all attributes.
    """
    slices = walk.gauge.space.slices
    attributes = np.searchsorted([own.stop for own in slices], order, side="right")
    for attribute, bit in zip(attributes.tolist(), order.tolist(), strict=True):
        cut = bit - slices[attribute].start
        yield Merge(attribute, cut, *walk.merge(attribute, cut))


def chain(log: Log, walk: Walk, order: Ints) -> None:
    """Evaluate the policies of a chain, all but the first, by merging one from another.

    Args:
        log: where they are entered.
        walk: at the most specific policy of the chain; it is moved.
        order: the bits to clear.

    Raises:
        Spent: the budget ends within the chain.
    """
    for _, _, risk, loss in merges(walk, order):
        log.note(walk.bits, risk, loss)


def maximal_chain(log: Log, bottom: Walk, rng: np.random.Generator) -> None:
    """Evaluate all policies of a random maximal chain, the bottom and the top too."""
    space = log.gauge.space
    log.note(bottom.bits, bottom.risk, bottom.loss)
    chain(log, bottom.copy(), rng.permutation(space.length))


def random_chain(log: Log, rng: np.random.Generator) -> None:
    """Random maximal chains until the budget is spent."""
    bottom = Walk(log.gauge, log.gauge.space.bottom)
    while True:
        maximal_chain(log, bottom, rng)
