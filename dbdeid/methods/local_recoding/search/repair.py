"""Settling Q-blocks: none that fails, none that reads like another and fails with it, none left.

Records without a block are put, one after the other, into the block whose cost rises least and in
which everything still holds; the cheapest of all goes first, for the next records then find a block
that is already as general as they need. Of very many records some, drawn at random, are placed
first: after each that is placed, the costs of all others in its block are worked out anew. Where no
block holds with a record, blocks are merged, nearest first, until one does. Blocks that read alike
and fail together are merged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Regions, Taxonomy, nlogn

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Objective = Literal["balanced", "loss", "node_entropy", "block_entropy"]

NEAREST = 64  # blocks that are known for a record before others are looked at
WIDER = 16  # times as many are, where none of them holds with it
CELLS = 1 << 22  # costs that are worked out at a time
AT_ONCE = 2048  # pieces without a block; of more, a random quarter of so many is placed first
KEPT = 1 << 25  # costs of changed blocks that are remembered before all are worked out anew
HASTE = 8  # of so many blocks merged in vain, one more is merged at a time


def settle(
    taxonomy: Taxonomy,
    demands: Demands,
    blocks: Blocks,
    *,
    objective: Objective = "balanced",
    diversity_weight: float = 0.0,
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks with a place for every record; all hold, and so do those that read alike together.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block must hold.
        blocks: what there is so far; those that fail, or exceed a `max_level`, are dissolved.
        objective: what rises least: what the values of a block cost (`Taxonomy.cost`), or
            `block_entropy`, that of the values inside.
        diversity_weight: what a bit of entropy of the sensitive values inside is worth.
        settled: is told how many records have a block.

    Raises:
        ValueError: records that are alike on the most general levels do not hold as one block.
    """
    tidied = blocks.tidied()
    placed = tidied.block >= 0
    row, block = tidied.row[placed], tidied.block[placed]
    regions = taxonomy.regions(demands.units, row, block, tidied.number)
    stay = np.append(demands.hold(tidied) & taxonomy.allowed(regions), False)
    block = np.where(stay[tidied.block], tidied.block, LEFT)
    cost = taxonomy.cost("node_entropy" if objective == "block_entropy" else objective)
    ground = _ChangingBlocks(taxonomy, demands, Blocks(tidied.row, block, tidied.records), cost)
    _place(ground, objective, diversity_weight, settled)
    while (failing := ground.failing()) is not None:
        ground.grow(failing)
    return ground.blocks()


class _ChangingBlocks:
    """The blocks as they change: the pieces of each, its region and size.

    Attributes:
        left: the units of records without a block, ascending.
        records: how many of each.
        sizes: records of each block; 0 for one that was merged into another.
        regions: of each block.
        cost: of each block, a record.
    """

    def __init__(
        self, taxonomy: Taxonomy, demands: Demands, blocks: Blocks, cost: list[Floats]
    ) -> None:
        self.taxonomy = taxonomy
        self._tables = cost
        self.demands = demands
        self.units = demands.units
        blocks = blocks.tidied()
        start = int(np.searchsorted(blocks.block, 0))
        self.left, self.records = blocks.row[:start], blocks.records[:start].copy()
        row, block = blocks.row[start:], blocks.block[start:]
        number = blocks.number
        cuts = np.searchsorted(block, np.arange(1, number))
        self._rows = np.split(row, cuts) if number else []
        self._counts = np.split(blocks.records[start:], cuts) if number else []
        self.sizes = blocks.sizes
        self.regions = taxonomy.regions(self.units, row, block, number)
        self.cost = self._costs(self.regions)

    def _costs(self, regions: Regions) -> Floats:
        """What records of some regions cost."""
        found = np.zeros(regions.levels.shape[1])
        for table, levels, codes in zip(self._tables, regions.levels, regions.codes, strict=True):
            found += table[levels, codes]
        return found

    @property
    def number(self) -> int:
        """How many blocks there are, with those that were merged into others."""
        return len(self._rows)

    def blocks(self) -> Blocks:
        """What there is now."""
        waiting = np.flatnonzero(self.records)
        lengths = [len(rows) for rows in self._rows]
        none, own = np.full(len(waiting), LEFT), np.repeat(np.arange(self.number), lengths)
        return Blocks(
            np.concatenate([self.left[waiting], *self._rows]),
            np.concatenate([none, own]),
            np.concatenate([self.records[waiting], *self._counts]),
        ).tidied()

    def pieces(self, some: Ints) -> tuple[Ints, Ints, Ints]:
        """The units, places in `some` and records of the pieces of some blocks."""
        if not len(some):
            return (np.zeros(0, np.int64),) * 3
        chosen = some.tolist()
        rows = [self._rows[b] for b in chosen]
        place = np.repeat(np.arange(len(chosen)), [len(own) for own in rows])
        return np.concatenate(rows), place, np.concatenate([self._counts[b] for b in chosen])

    def put(self, piece: int, amount: int, block: int) -> None:
        """Give records of a left piece a block."""
        row = self.left[piece : piece + 1]
        self.records[piece] -= amount
        self._join(row, np.array([amount]), block)

    def _join(self, row: Ints, records: Ints, block: int) -> None:
        self._rows[block] = np.concatenate([self._rows[block], row])
        self._counts[block] = np.concatenate([self._counts[block], records])
        self.sizes[block] += records.sum()
        own = self.taxonomy.regions(
            self.units, self._rows[block], np.zeros(len(self._rows[block]), np.int64), 1
        )
        self.regions.levels[:, block] = own.levels[:, 0]
        self.regions.codes[:, block] = own.codes[:, 0]
        self.cost[block] = self._costs(own)[0]

    def after(self, codes: Ints, levels: Ints | None, some: Ints | slice) -> Floats:
        """The cost of blocks once they also hold others; infinite beyond `max_level`.

        Args:
            codes: of the others (attributes, others).
            levels: of the others; the least where they are single records.
            some: the blocks.
        """
        own_levels, own_codes = self.regions.levels[:, some], self.regions.codes[:, some]
        found = np.zeros((codes.shape[1], own_codes.shape[1]))
        for i, high in enumerate(self.taxonomy.lattice.top):
            level = np.maximum(
                own_levels[i], self.taxonomy.meet(i, own_codes[i][None, :], codes[i][:, None])
            )
            if levels is not None:
                level = np.maximum(level, levels[i][:, None])
            found += self._tables[i][level, own_codes[i][None, :]]
            found[level > high] = np.inf
        return found

    def codes(self, rows: Ints) -> Ints:
        """The codes of units (attributes, units)."""
        return np.stack([own[rows].astype(np.int64) for own in self.units.codes])

    def failing(self) -> Ints | None:
        """The blocks of the first class that does not hold: those that read alike."""
        alive = np.flatnonzero(self.sizes)
        regions = Regions(self.regions.levels[:, alive], self.regions.codes[:, alive])
        of_class = self.taxonomy.classes(regions)
        row, place, records = self.pieces(alive)
        held = self.demands.held(row, of_class[place], records, int(of_class.max(initial=-1)) + 1)
        fails = np.flatnonzero(~held[of_class])
        return alive[of_class == of_class[fails[0]]] if len(fails) else None

    def grow(self, some: Ints) -> None:
        """Merge blocks into the first of them, and with the nearest ones until that holds."""
        first = int(some[0])
        merged = 0
        while True:
            row, _, records = self.pieces(some[1:])
            if len(row):
                self._join(row, records, first)
            for other in some[1:].tolist():
                self._rows[other] = self._rows[other][:0]
                self._counts[other] = self._counts[other][:0]
                self.sizes[other] = 0
            own = self.pieces(np.array([first]))
            if self.demands.held(*own, 1)[0]:
                return
            merged += len(some)
            after = self.after(
                self.regions.codes[:, [first]], self.regions.levels[:, [first]], slice(None)
            )[0]
            cost = (self.sizes + self.sizes[first]) * after - self.sizes * self.cost
            cost[self.sizes == 0] = np.inf
            cost[first] = np.inf
            near = np.argsort(cost, kind="stable")[: 1 + merged // HASTE]
            near = near[np.isfinite(cost[near])]
            if not len(near):
                self.fill(first)
                return
            some = np.concatenate([[first], near])

    def fill(self, block: int) -> None:
        """Put into a block, which no other can join, all left records that can."""
        codes = self.codes(self.left)
        after = self.after(codes, None, np.array([block]))[:, 0]
        joining = np.isfinite(after) & (self.records > 0)
        self._join(self.left[joining], self.records[joining], block)
        self.records[joining] = 0
        if not self.demands.held(*self.pieces(np.array([block])), 1)[0]:
            raise ValueError("the records do not hold as one block")

    def begin(self, piece: int, amount: int) -> None:
        """Make a block of records of a left piece, and merge others with it until it holds."""
        row = self.left[piece : piece + 1]
        region = self.taxonomy.regions(self.units, row, np.zeros(1, np.int64), 1)
        self.regions = Regions(
            np.concatenate([self.regions.levels, region.levels], axis=1),
            np.concatenate([self.regions.codes, region.codes], axis=1),
        )
        self.cost = np.append(self.cost, self._costs(region))
        self.sizes = np.append(self.sizes, amount)
        self._rows.append(row)
        self._counts.append(np.array([amount]))
        self.records[piece] -= amount
        self.grow(np.array([self.number - 1]))


def _place(
    ground: _ChangingBlocks,
    objective: Objective,
    diversity_weight: float,
    settled: Callable[[int], None] | None,
) -> None:
    """Give every left record a block."""
    whole = ground.units.subjects is not None
    nearest = NEAREST
    draw = np.random.default_rng(0)
    while (waiting := np.flatnonzero(ground.records)).size:
        if np.count_nonzero(ground.sizes) == 1:
            # there is no choice: it takes all that may join it
            ground.fill(int(np.argmax(ground.sizes)))
            waiting = np.flatnonzero(ground.records)
            if not len(waiting):
                return
        if len(waiting) > AT_ONCE:
            waiting = np.sort(draw.choice(waiting, AT_ONCE // 4, replace=False))
        amounts = ground.records[waiting] if whole else np.ones(len(waiting), np.int64)
        queue = _Queue(ground, waiting, amounts, nearest, objective, diversity_weight)
        before = int(ground.records.sum())
        while not queue.full and (best := queue.best()) is not None:
            i, block = best
            ground.put(int(waiting[i]), int(amounts[i]), block)
            queue.changed(block)
        if settled is not None:
            settled(int(ground.sizes.sum()))
        if int(ground.records.sum()) < before:
            nearest = NEAREST
        elif nearest < ground.number:
            nearest *= WIDER
        else:
            ground.begin(int(waiting[0]), int(amounts[0]))
            nearest = NEAREST


class _Queue:
    """What each waiting piece would cost in the blocks near to it."""

    def __init__(
        self,
        ground: _ChangingBlocks,
        pieces: Ints,
        amounts: Ints,
        nearest: int,
        objective: Objective,
        diversity_weight: float,
    ) -> None:
        self._ground = ground
        self._pieces = pieces
        self._rows = ground.left[pieces]
        self._amounts = amounts
        self._by_block = objective == "block_entropy"
        self._diversity_weight = diversity_weight
        self._plain = not self._by_block and not diversity_weight
        self._codes = ground.codes(self._rows)
        self._hot: dict[int, int] = {}  # places of the blocks changed: their costs for all pieces
        self._hot_costs = np.full((0, len(pieces)), np.inf)
        self._near = np.zeros((len(pieces), 0), np.int64)
        self._costs = np.zeros((len(pieces), 0))
        self._find(np.arange(len(pieces)), nearest)
        self._best = self._costs.min(axis=1, initial=np.inf)

    @property
    def full(self) -> bool:
        """Whether so many blocks have changed that costs are better looked up anew."""
        return self._hot_costs.size > KEPT

    def _find(self, which: Ints, nearest: int) -> None:
        ground = self._ground
        nearest = min(nearest, ground.number)
        near = np.zeros((len(which), nearest), np.int64)
        cost = np.full((len(which), nearest), np.inf)
        step = max(CELLS // max(ground.number, 1), 1)
        for start in range(0, len(which), step):
            some = slice(start, start + step)
            after = ground.after(self._codes[:, which[some]], None, slice(None))
            found = (
                ground.sizes + self._amounts[which[some]][:, None]
            ) * after - ground.sizes * ground.cost
            found[:, ground.sizes == 0] = np.inf
            if nearest < ground.number:
                order = np.argpartition(found, nearest - 1, axis=1)[:, :nearest]
            else:
                order = np.broadcast_to(np.arange(ground.number), found.shape)
            near[some] = order
            cost[some] = np.take_along_axis(found, order, axis=1)
        pairs = np.repeat(which, nearest), near.ravel()
        held = self._judged(*pairs, np.isfinite(cost.ravel()))
        cost[~held.reshape(cost.shape)] = np.inf
        if not self._plain:
            cost = self._priced(*pairs, cost.ravel()).reshape(cost.shape)
        self._near, self._costs = near, cost

    def _judged(self, which: Ints, block: Ints, asked: Mask) -> Mask:
        """Whether blocks hold with a piece more."""
        held = np.zeros(len(block), np.bool_)
        if not len(block):
            return held
        if self._ground.units.subjects is None:
            values = np.zeros(len(which), np.int64)
            for own in self._ground.units.values:
                values = values * own.cardinality + own.value[self._rows[which]]
            key = values * self._ground.number + block
        else:
            key = which * self._ground.number + block
        places = np.flatnonzero(asked)
        _, one, back = np.unique(key[places], return_index=True, return_inverse=True)
        one = places[one]
        row, place, records = self._ground.pieces(block[one])
        held[places] = self._ground.demands.held(
            np.concatenate([row, self._rows[which[one]]]),
            np.concatenate([place, np.arange(len(one))]),
            np.concatenate([records, self._amounts[which[one]]]),
            len(one),
        )[back.ravel()]
        return held

    def _priced(self, which: Ints, block: Ints, cost: Floats) -> Floats:
        """The costs by what is inside the blocks; what is infinite stays so."""
        ground, units = self._ground, self._ground.units
        found = np.zeros(len(cost)) if self._by_block else cost.copy()
        distinct, place = np.unique(block, return_inverse=True)
        pieces = ground.pieces(distinct)
        size, amount = ground.sizes[block], self._amounts[which]
        whole = nlogn(size + amount) - nlogn(size)
        columns: list[tuple[NDArray[np.integer[Any]], float]] = []
        if self._by_block:
            columns = [*zip(units.codes, ground.taxonomy.weights.tolist(), strict=True)]
        columns += [(own.value, -self._diversity_weight) for own in units.values]
        for values, weight in columns:
            own = values[self._rows[which]].astype(np.int64)
            inside = _inside(pieces, values, place.ravel(), own)
            found += weight * (whole - nlogn(inside + amount) + nlogn(inside))
        found[~np.isfinite(cost)] = np.inf
        return found

    def best(self) -> tuple[int, int] | None:
        """The piece and the block that cost least."""
        if not len(self._best):
            return None
        i = int(np.argmin(self._best))
        if not np.isfinite(self._best[i]):
            return None
        j = int(np.argmin(self._costs[i])) if self._costs.shape[1] else -1
        if j >= 0 and self._costs[i, j] == self._best[i]:
            return i, int(self._near[i, j])
        hot = list(self._hot)
        return i, hot[int(np.argmin(self._hot_costs[: len(hot), i]))]

    def changed(self, block: int) -> None:
        """A block has changed, and pieces may be gone."""
        ground = self._ground
        waiting = np.flatnonzero(ground.records[self._pieces])
        after = ground.after(self._codes[:, waiting], None, np.array([block]))[:, 0]
        own = ground.sizes[block]
        cost = (own + self._amounts[waiting]) * after - own * ground.cost[block]
        held = self._judged(waiting, np.full(len(waiting), block), np.isfinite(cost))
        cost[~held] = np.inf
        if not self._plain:
            cost = self._priced(waiting, np.full(len(waiting), block), cost)
        place = self._place_of(block)
        before = self._hot_costs[place, waiting]
        self._hot_costs[place, waiting] = cost
        best = np.minimum(self._best[waiting], cost)
        # only where the block was the best can another one be now
        lost = np.flatnonzero((before == self._best[waiting]) & (cost > before))
        again = waiting[lost]
        best[lost] = np.minimum(
            self._costs[again].min(axis=1, initial=np.inf),
            self._hot_costs[: len(self._hot), again].min(axis=0, initial=np.inf),
        )
        self._best = np.full(len(self._pieces), np.inf)
        self._best[waiting] = best

    def _place_of(self, block: int) -> int:
        """Where the costs of a block are that has changed; it is no longer among the near ones."""
        if block in self._hot:
            return self._hot[block]
        place = len(self._hot)
        if place == len(self._hot_costs):
            more = np.full((place // 4 + NEAREST, len(self._pieces)), np.inf)
            self._hot_costs = np.concatenate([self._hot_costs, more])
        self._hot[block] = place
        i, j = np.nonzero(self._near == block)
        self._hot_costs[place, i] = self._costs[i, j]
        self._costs[i, j] = np.inf
        return place


def _inside(
    pieces: tuple[Ints, Ints, Ints], values: NDArray[np.integer[Any]], place: Ints, value: Ints
) -> Ints:
    """How many records of blocks have a value: the blocks at some places, a value for each."""
    row, at, records = pieces
    space = int(values.max(initial=0)) + 1
    keys, back = np.unique(at * space + values[row], return_inverse=True)
    counts = np.bincount(back.ravel(), records, len(keys)).astype(np.int64)
    wanted = place * space + value
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, counts[found], 0)
