"""The best transformation for padding under an h-ceiling.

The *degree* of a node is the largest D of a record, the weighted mean loss of its cells; under the
ceiling h lie the nodes of degree ≤ h (Lee et al. 2017). The degree grows upwards while the
counterfeits become fewer: the nodes under h close downwards, and those that need too many too.
Conditions on sensitive values are not like that: whether a node holds them says nothing of others.

The degrees of all nodes are known before any check, and so are their losses and the reconstruction
error that they have without counterfeits. From the open node of which the least is known a search
goes up a path and bisects it for the place from which on the counterfeits are affordable: what is
right below closes all that is below it. A node that can be no better than the best is not looked
at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, prod
from time import monotonic
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.exploration import OutOfTime, Progress
from dbdeid.lattice.lattice import Node
from dbdeid.methods.counterfeit.search.degrees import degrees
from dbdeid.methods.counterfeit.search.padding import Deficits, Need, Padding

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SAME = 1e-12  # difference below which two degrees are the same
DIGITS = 12  # to which scores and losses are compared

Objective = Literal["reconstruction_error", "counterfeits", "loss"]


@dataclass(frozen=True)
class Ceiled:
    """What a search under a ceiling found.

    A node is acceptable if it is under h, needs no more counterfeits than the limit, all its
    classes of k or more records hold, and it is not excluded.

    Attributes:
        best: the best acceptable node; None when none was found.
        h: the ceiling; where it was to be found the least degree of a node that is acceptable but
            for h, None if there is none.
        lattice_size: nodes in the lattice.
        within: nodes under h; all of them where there is no h.
        checked: distinct nodes of which the counterfeits were counted, those counted by earlier
            searches of the same `Ceiling` among them.
        proven_optimal: whether no node can be better; without a node, whether none is acceptable.
        lower_bound: no acceptable node scores less; infinite if there is none.
        smallest_h: the least degree of a node that is acceptable but for h. Like `fewest` only
            told where it is proven that no node is acceptable; None if there is no such node.
        fewest: the fewest counterfeits of a node that is acceptable but for the limit.
    """

    best: Need | None
    h: float | None
    lattice_size: int
    within: int
    checked: int
    proven_optimal: bool
    lower_bound: float
    smallest_h: float | None = None
    fewest: int | None = None


class Ceiling:
    """Searches the nodes under a ceiling; what was counted serves later searches too.

    Args:
        padding: looks at one node.

    Attributes:
        degrees: of all nodes, by node number.

    Raises:
        TooManyNodes: as `degrees`.
    """

    def __init__(self, padding: Padding) -> None:
        self.padding = padding
        self.lattice = padding.lattice
        self.degrees = degrees(padding.lattice, padding.tuples)
        self.counted: dict[int, int] = {}
        self._needs: dict[int, Need] = {}
        self._last: tuple[int, Deficits] | None = None
        shape = self.lattice.shape
        self._strides = [prod(shape[i + 1 :]) for i in range(len(shape))]

    def search(
        self,
        objective: Objective,
        *,
        h: float | None,
        limit: int,
        excluded: frozenset[Node] = frozenset(),
        time_limit: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Ceiled:
        """The acceptable node of least score.

        Ties go to the lower loss, then to the lower total level, then to the lexicographically
        first. Scores and losses are compared to twelve digits.

        Args:
            objective: the expected reconstruction error, the counterfeits, or the loss.
            h: the ceiling; None: the least degree of a node that is acceptable but for it.
            limit: most counterfeits.
            excluded: nodes that are not acceptable.
            time_limit: seconds; None: as long as it takes. One node is always looked at.
            progress: called after every count. Scores and bounds are of the part of the search
                that runs: degrees while h is looked for, counterfeits where the fewest are.
        """
        allowed = np.ones(self.lattice.size, np.bool_)
        allowed[[self.lattice.index(node) for node in excluded]] = False
        deadline = inf if time_limit is None else monotonic() + time_limit
        return _Search(self, allowed, limit, deadline, progress).run(objective, h)

    def under(self, h: float) -> list[Node]:
        """The nodes of a degree of at most h."""
        return [self.lattice.node(int(i)) for i in np.flatnonzero(self.degrees <= h + SAME)]

    def counterfeits(self, index: int) -> int:
        """The counterfeits of a node by its number."""
        if index not in self.counted:
            found = self.padding.count(self.lattice.node(index))
            self._last = index, found
            self.counted[index] = found.counterfeits
        return self.counted[index]

    def need(self, index: int) -> Need:
        """All that a node needs, by its number."""
        if index not in self._needs:
            if self._last is None or self._last[0] != index:
                self._last = index, self.padding.count(self.lattice.node(index))
            self._needs[index] = self.padding.need(self._last[1])
        return self._needs[index]

    def path(self, index: int, known: Floats) -> list[int]:
        """Single steps from a node to the top, each to the least that is known, then of loss."""
        losses, found = self.padding.losses, [index]
        rests = [
            int(count - 1 - offset)
            for count, offset in zip(self.lattice.shape, self._offsets(index), strict=True)
        ]
        while any(rests):
            up = [(i, index + stride) for i, stride in enumerate(self._strides) if rests[i]]
            _, _, i = min((known[at], losses[at], i) for i, at in up)
            rests[i] -= 1
            index += self._strides[i]
            found.append(index)
        return found

    def below(self, index: int) -> tuple[slice, ...]:
        """All nodes up to a node, in an array of the lattice's shape."""
        return tuple(slice(None, offset + 1) for offset in self._offsets(index))

    def above(self, index: int) -> tuple[slice, ...]:
        """All nodes from a node on, in an array of the lattice's shape."""
        return tuple(slice(offset, None) for offset in self._offsets(index))

    def _offsets(self, index: int) -> list[int]:
        return [
            index // stride % count
            for stride, count in zip(self._strides, self.lattice.shape, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Found:
    """The best of one score, its node's number, and whether nothing is better; else a bound."""

    best: Need | None
    index: int
    score: float
    done: bool
    bound: float


class _Search:
    """One search under one limit."""

    def __init__(
        self,
        ceiling: Ceiling,
        allowed: Mask,
        limit: int,
        deadline: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.ceiling = ceiling
        self.allowed = allowed
        self.limit = limit
        self._deadline = deadline
        self._progress = progress
        self._looked = False

    def run(self, objective: Objective, h: float | None) -> Ceiled:
        """The search."""
        degrees, size = self.ceiling.degrees, self.ceiling.lattice.size
        everywhere = np.ones(size, np.bool_)
        least = None if h is not None else self._least_degree(everywhere)
        if least is not None and least.best is not None:
            h = least.score
        within = everywhere if h is None else degrees <= h + SAME
        if least is not None and (least.best is None or not least.done):
            found = _Found(least.best, least.index, inf, least.done, inf if least.done else 0.0)
        else:
            found = self._by(objective, within)
            if least is not None and found.best is None:  # out of time before it was met again
                found = replace(found, best=least.best)
        smallest = fewest = None
        if found.best is None and found.done:
            if least is None and (lowest := self._least_degree(everywhere)).done:
                smallest = lowest.score if lowest.best else None
            if (few := _Fewest(self, within).run()).done:
                fewest = few.best.counterfeits if few.best else None
        return Ceiled(
            best=found.best,
            h=h,
            lattice_size=size,
            within=int(np.count_nonzero(within)),
            checked=len(self.ceiling.counted),
            proven_optimal=found.done,
            lower_bound=min(found.bound, found.score),
            smallest_h=smallest,
            fewest=fewest,
        )

    def look(self, index: int, open_: Mask, best: float, bound: float) -> int:
        """The counterfeits of a node.

        Raises:
            OutOfTime: the time is up, and there was a look.
        """
        if index not in self.ceiling.counted:
            if self._looked and monotonic() >= self._deadline:
                raise OutOfTime
            self._looked = True
            self.ceiling.counterfeits(index)
            if self._progress is not None:
                left = int(np.count_nonzero(open_))
                self._progress(Progress(len(self.ceiling.counted), left, best, min(best, bound)))
        return self.ceiling.counted[index]

    def _by(self, objective: Objective, within: Mask) -> _Found:
        padding = self.ceiling.padding
        if objective == "loss":
            return self._least_loss(within, self.limit)
        if objective == "reconstruction_error":
            errors = padding.errors
            return _Least(self, within, self.limit, errors, lambda _, need: need.error).run()
        few = _Fewest(self, within).run()
        if few.best is None or few.best.counterfeits > self.limit:
            return _Found(None, -1, inf, few.done, inf if few.done else few.bound)
        if not few.done:
            return few
        tied = self._least_loss(within, few.best.counterfeits)
        return _Found(tied.best or few.best, tied.index, few.score, tied.done, few.score)

    def _least_loss(self, within: Mask, limit: int) -> _Found:
        losses = self.ceiling.padding.losses
        return _Least(self, within, limit, losses, lambda _, need: need.loss).run()

    def _least_degree(self, everywhere: Mask) -> _Found:
        degrees = self.ceiling.degrees
        return _Least(
            self, everywhere, self.limit, degrees, lambda at, _: float(degrees[at]), ties=False
        ).run()


class _Least:
    """The acceptable node of least score.

    Args:
        search: what is acceptable, and the looks.
        within: nodes under the ceiling; all below one of them are too.
        limit: most counterfeits.
        known: no score is less than what is known of its node; it grows upwards.
        score: of a node's number and need.
        ties: whether nodes of the same score are told apart.
    """

    def __init__(
        self,
        search: _Search,
        within: Mask,
        limit: int,
        known: Floats,
        score: Callable[[int, Need], float],
        ties: bool = True,
    ) -> None:
        self._search = search
        self._ceiling = search.ceiling
        self._within = within
        self._limit = limit
        self._known = known
        self._score = score
        self._ties = ties
        shape = search.ceiling.lattice.shape
        self._open = within & search.allowed
        self._open_grid = self._open.reshape(shape)  # the same nodes by their levels
        self._fits = np.zeros(len(within), np.bool_)  # known to need no more than the limit
        self._fits_grid = self._fits.reshape(shape)
        self._best: tuple[tuple[float, float, int, Node], int, Need] | None = None
        self._bound = inf

    def run(self) -> _Found:
        """Look until no open node can be better."""
        order = np.argsort(self._known, kind="stable")
        try:
            for index in order[self._open[order]].tolist():
                self._bound = float(self._known[index])
                if self._bound > self._cutoff:
                    break
                if self._open[index]:
                    self._close(index)
        except OutOfTime:
            return self._found(done=False)
        return self._found(done=True)

    def _found(self, done: bool) -> _Found:
        bound = inf if done else self._bound
        if self._best is None:
            return _Found(None, -1, inf, done, bound)
        _, index, need = self._best
        return _Found(need, index, self._score(index, need), done, bound)

    @property
    def _cutoff(self) -> float:
        """Nodes of which more is known cannot be better than the best."""
        if self._best is None:
            return inf
        _, index, need = self._best
        return self._score(index, need) + (2 * 10.0**-DIGITS if self._ties else -SAME)

    def _close(self, index: int) -> None:
        """Look at an open node, or find one above it that closes it."""
        if self._fits[index]:
            self._look(index)
            return
        path = self._ceiling.path(index, self._known)
        last = sum(bool(self._within[at]) for at in path) - 1
        if self._look(path[last]):
            low, high = last, len(path)  # the first is too low, the second is not or is no node
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._look(path[middle]) else (low, middle)
            return
        low, high = 0, last
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._look(path[middle]) else (low, middle)

    def _look(self, index: int) -> bool:
        """Whether nothing below a node is acceptable; all that its look says is noted."""
        best = self._score(*self._best[1:]) if self._best else inf
        limit, grid = self._limit, self._ceiling
        hopeless = self._search.look(index, self._open, best, self._bound) > limit
        if not hopeless:
            self._fits_grid[grid.above(index)] = True
            if self._open[index] and self._known[index] <= self._cutoff:
                need = self._ceiling.need(index)
                hopeless = need.below > limit
                self._take(index, need)
        if hopeless:
            self._open_grid[grid.below(index)] = False
        return hopeless

    def _take(self, index: int, need: Need) -> None:
        if need.holds:
            loss, node = round(need.loss, DIGITS), need.node
            key = (round(self._score(index, need), DIGITS), loss, sum(node), node)
            if self._best is None or key < self._best[0]:
                self._best = key, index, need
        self._open[index] = False


class _Fewest:
    """A node of the fewest counterfeits, whatever the limit.

    Only the most general of the open nodes need a look: no node needs fewer than one above it.
    """

    def __init__(self, search: _Search, within: Mask) -> None:
        self._search = search
        self._ceiling = search.ceiling
        self._open = within & search.allowed
        self._grid = self._open.reshape(search.ceiling.lattice.shape)
        self._best: tuple[int, Need] | None = None

    def run(self) -> _Found:
        """Look until no open node can need fewer."""
        # of two comparable nodes the more general comes first: it has more loss, or a higher number
        order = np.argsort(self._ceiling.padding.losses, kind="stable")[::-1]
        try:
            for index in order[self._open[order]].tolist():
                if self._open[index]:
                    self._close(index)
        except OutOfTime:
            return self._found(done=False)
        return self._found(done=True)

    def _found(self, done: bool) -> _Found:
        if self._best is None:
            return _Found(None, -1, inf, done, inf if done else 0.0)
        index, need = self._best
        return _Found(need, index, need.counterfeits, done, need.counterfeits if done else 0.0)

    @property
    def _fewest(self) -> float:
        return self._best[1].counterfeits if self._best else inf

    def _close(self, index: int) -> None:
        """Close a node, and all below it unless they may need fewer than the best."""
        if self._count(index) >= self._fewest:
            path = self._ceiling.path(index, self._ceiling.padding.losses)
            low, high = 0, len(path)  # the first needs too many, the second does not or is no node
            while high - low > 1:
                middle = (low + high) // 2
                enough = self._count(path[middle]) >= self._fewest
                low, high = (middle, high) if enough else (low, middle)
            self._grid[self._ceiling.below(path[low])] = False
            return
        need = self._ceiling.need(index)
        if need.holds:
            self._best = index, need
        if need.holds or need.below >= self._fewest:
            self._grid[self._ceiling.below(index)] = False
        self._open[index] = False

    def _count(self, index: int) -> int:
        return self._search.look(index, self._open, self._fewest, 0.0)
