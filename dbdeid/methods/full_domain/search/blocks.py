"""A bound on the loss of all transformations, from optima of some attributes at a time.

The loss of a transformation v is the sum over blocks B of attributes of what their cells lose,

    loss_B(v) = 1/N · Σ over records and a in B: share_a · (loss of the cell, 1 if suppressed).

Let u be v with all other attributes at the top. v is less general than u, so that it suppresses
what every transformation below u suppresses (`Check.below`), and its cells in B are those of u. So
loss_B(v) is at least what B loses at u where only these records are suppressed; and where v is
feasible they are no more than the limit allows. The least such loss over the levels of B is found
by a proven search of a small lattice, or bounded by one that ends early, and the sum over blocks
that share no attribute is a bound on all v. It needs no list of nodes: it holds of any lattice.

A union of two blocks is bounded by no less than the sum of theirs, so blocks grow while there is
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from dbdeid.lattice.check import Check, Checker, Lost
from dbdeid.lattice.exploration import Exploration, Problem, Search, explore
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.objectives import LOSS, Floats, Objective
from dbdeid.lattice.tuples import Marginals
from dbdeid.methods.full_domain.search.regression import Features

Block = frozenset[int]
SIZES = tuple(1 << bits for bits in range(12, 26, 2))  # most levels of a block, one by one
ROUNDING = 1e-9  # more than rounding moves a sum of bounds


class Blocks:
    """Bounds a search by ever larger blocks.

    Blocks are filled with attributes in the order of their entropies, from either end: low ones
    make blocks of many attributes, which together tell records apart as the few high ones do.

    Args:
        exploration: of which `bound` is raised.
        search: what finds the optimum of a block.
    """

    def __init__(self, exploration: Exploration, search: Search) -> None:
        self._exploration = exploration
        self._search = search
        self._found: dict[Block, float] = {}
        self._most = SIZES[0]
        self._steps = self._work() if self._applies else iter(())

    @property
    def _applies(self) -> bool:
        """Whether the loss is searched for, and something is to be proven."""
        loss = self._exploration.problem.objective.name == LOSS.name
        return loss and not self._exploration.is_short

    def step(self) -> bool:
        """Search one more block; False: there is none."""
        return next(self._steps, None) is not None

    def begin(self) -> None:
        """Search all small blocks, which takes little and gives a first bound."""
        while self._most == SIZES[0] and self.step():
            pass

    def _work(self) -> Iterator[Block]:
        problem = self._exploration.problem
        entropies = Features(problem.lattice, problem.marginals).least_general
        order = [int(i) for i in np.argsort(entropies, kind="stable")]
        for most in SIZES:
            self._most = most
            for attributes in (order, order[::-1]):
                blocks = _filled(problem.lattice, attributes, most)
                if len(blocks) == 1:
                    return  # that is the search itself
                for block in blocks:
                    if block not in self._found:
                        self._look(block)
                        yield block
                self._raise(sum(self._found[block] for block in blocks))

    def _look(self, block: Block) -> None:
        left = self._exploration.time_left
        part = of_block(self._exploration.problem, block)
        found = explore(self._search, part, time_limit=left)
        self._found[block] = found.lower_bound if found.node is not None else 0.0
        taken: set[int] = set()
        total = 0.0
        for one in sorted(self._found, key=lambda b: (-self._found[b], sorted(b))):
            if not taken & one:
                taken |= one
                total += self._found[one]
        self._raise(total)

    def _raise(self, bound: float) -> None:
        self._exploration.bound = max(self._exploration.bound, bound - ROUNDING)


def _filled(lattice: Lattice, order: list[int], most: int) -> list[Block]:
    """Put each attribute into the first block that has room for its levels."""
    blocks: list[list[int]] = []
    for i in order:
        for block in blocks:
            if lattice.shape[i] * prod(lattice.shape[j] for j in block) <= most:
                block.append(i)
                break
        else:
            blocks.append([i])
    return [frozenset(block) for block in blocks]


class _Least:
    """Looks at what every transformation below a node suppresses, in place of what it does."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def check(self, node: Node) -> Check:
        """Count the classes under a node."""
        found = self._checker.check(node)
        below = found.below
        return replace(
            found,
            suppressed=below.records,
            suppressed_subjects=below.subjects,
            suppressed_loss=below.loss,
            tally=below.tally,
        )


def of_block(problem: Problem, block: Block) -> Problem:
    """The search for the least loss of some attributes, all others at the top."""
    attributes = tuple(
        a if i in block else replace(a, min_level=a.most_general, max_level=a.most_general)
        for i, a in enumerate(problem.lattice.attributes)
    )
    lattice = Lattice(attributes)
    return Problem(
        lattice,
        problem.marginals,
        _Least(problem.checker),
        problem.limit,
        _loss_of(lattice, block),
    )


def _loss_of(lattice: Lattice, block: Block) -> Objective:
    """What the cells of a block lose.

    A check adds up the loss of all cells of a suppressed record. Of the other attributes these
    are at the top, and lose at least what the least value there does.
    """
    members = zip(lattice.shares, lattice.attributes, strict=True)
    share = sum(lattice.shares[i] for i in block)
    others = sum(
        s * float(a.loss[a.most_general].min(initial=1.0))
        for i, (s, a) in enumerate(members)
        if i not in block
    )

    def terms(of: Lattice, marginals: Marginals) -> list[Floats]:
        found = LOSS.terms(of, marginals)
        return [t if i in block else np.zeros(len(t)) for i, t in enumerate(found)]

    def charged(lost: Lost, records: int) -> float:
        return lost.loss - lost.records * others

    def below(
        known: Floats, suppressed: Floats | int, loss: Floats | float, records: int
    ) -> Floats:
        return np.asarray(known + (suppressed * share - loss) / max(records, 1))

    def score(total: float, check: Check, records: int) -> float:
        lost = Lost(check.suppressed, check.suppressed_subjects, check.suppressed_loss)
        return total + (lost.records * share - charged(lost, records)) / max(records, 1)

    return replace(
        LOSS,
        name="loss of some attributes",
        terms=terms,
        score=score,
        estimate=lambda known, lost: known + lost * np.maximum(share - known, 0),
        below=below,
        charged=charged,
    )
