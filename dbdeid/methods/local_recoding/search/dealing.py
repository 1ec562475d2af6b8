"""Progressive dealing: Q-blocks from the classes of ever more general transformations.

The transformations are gone through in ascending order of what they cost on average. At each, the
records without a block are taken by class, and every class gives as many blocks as what is demanded
allows: its records are laid out by sensitive value and dealt to the blocks in turn, so that no
block gets a value more often than its share. What is dealt is recoded to its own lowest common
ancestors, which are often below the transformation that found it.

How blocks may be made up follows from the conditions (`Condition.portions`). That only proposes:
every block that is made has been judged by all demands, and what fails waits for a more general
transformation. Values so rare that only large blocks may have them are dealt first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.packed_columns import LOOKUP_BYTES, Column, Pack, packing
from dbdeid.lattice.rule import Portions
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search.ascending import affordable
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.stages import Layout, Stage
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Taxonomy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

BUCKETS = 20  # bits at most of what classes are told apart by before any is sorted


def deal(
    taxonomy: Taxonomy,
    demands: Demands,
    *,
    objective: Cost = "balanced",
    tail: Literal["append", "eligible"] = "append",
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks that all hold, and the records that found none as `LEFT`.

    Yoo et al. 2012 form one block at a time around a record. Here all classes of a transformation
    are dealt at once, which takes less time and guarantees what is demanded.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block must hold.
        objective: what transformations cost, in whose order they are dealt.
        tail: `append` deals all that a class allows; `eligible` deals blocks of the least size, and
            only as long as no value becomes more frequent among the records that are left than a
            block may have it, so that these can be dealt too.
        settled: is told how many records have a block.
    """
    dealer = _Table(taxonomy, demands, exact=tail == "eligible")
    return dealt(dealer, taxonomy, objective, settled)


@dataclass(frozen=True)
class Pool:
    """Records without a block, by unit, ascending."""

    row: Ints
    count: Ints

    @property
    def records(self) -> int:
        """How many they are."""
        return int(self.count.sum())

    def without(self, taken: Blocks) -> Pool:
        """Return the pool without the records that have a block."""
        count = self.count.copy()
        np.subtract.at(count, np.searchsorted(self.row, taken.row), taken.records)
        left = count > 0
        return Pool(self.row[left], count[left])


class Dealer(Protocol):
    """Deals classes to blocks.

    Attributes:
        pool: what has no block yet.
        stages: how blocks are made up, one after the other.
    """

    pool: Pool
    stages: Sequence[Stage]

    def promising(self, nodes: Sequence[Node], stage: Stage) -> Sequence[Node]:
        """Those of some transformations that may give blocks; to be dealt in this order."""
        ...

    def dealt(self, node: Node, stage: Stage) -> Blocks | None:
        """The blocks that the classes of a transformation give; None: they give none."""
        ...


def dealt(
    dealer: Dealer,
    taxonomy: Taxonomy,
    objective: Cost,
    settled: Callable[[int], None] | None,
) -> Blocks:
    """What a dealer deals as it is led through the transformations, as `deal` does.

    Args:
        dealer: has all records in its pool.
        taxonomy: of the hierarchies.
        objective: what transformations cost.
        settled: is told how many records have a block.
    """
    done: list[Blocks] = []
    number, records = 0, dealer.pool.records
    for stage in dealer.stages:
        for node in _tried(dealer, taxonomy, objective, stage):
            found = dealer.dealt(node, stage)
            if found is None:
                continue
            done.append(Blocks(found.row, found.block + number, found.records))
            number += found.number
            if settled is not None:
                settled(records - dealer.pool.records)
    left = dealer.pool
    done.append(Blocks(left.row, np.full(len(left.row), LEFT), left.count))
    return Blocks(
        np.concatenate([b.row for b in done]),
        np.concatenate([b.block for b in done]),
        np.concatenate([b.records for b in done]),
    ).tidied()


def _tried(dealer: Dealer, taxonomy: Taxonomy, objective: Cost, stage: Stage) -> Iterator[Node]:
    """The transformations to be dealt, as long as there are records for a block."""
    for run in affordable(taxonomy, lambda: len(dealer.pool.row), objective):
        if dealer.pool.records < stage.least:
            return
        for node in dealer.promising(run, stage):
            if dealer.pool.records < stage.least:
                return
            yield node


@dataclass(frozen=True)
class _Items:
    """What is dealt as one: the records of a unit singly, or all those of a subject in a class.

    By class, value in its layout, and place.

    Attributes:
        of_class: of each item.
        value: its sensitive value.
        count: how many there are of it.
        first: its first place in the pieces.
        length: how many pieces it has.
        pieces: the units and, where an item has all of them, the records.
    """

    of_class: Ints
    value: Ints
    count: Ints
    first: Ints
    length: Ints
    row: Ints
    records: Ints

    @property
    def classes(self) -> int:
        return int(self.of_class[-1]) + 1


class _Table:
    """The dealer that has all records in arrays."""

    pool: Pool
    stages: Sequence[Stage]

    def __init__(self, taxonomy: Taxonomy, demands: Demands, *, exact: bool) -> None:
        units, lattice = demands.units, taxonomy.lattice
        self._demands = demands
        self._units = units
        self._exact = exact
        columns = _columns(lattice, units)
        members = packing([column.size for column in columns])
        self._packs = [
            _Bucketed(i, own, Pack(own, [columns[j] for j in own])) for i, own in enumerate(members)
        ]
        self._codes = [pack.pack.codes(units) for pack in self._packs]
        self._place = _places(taxonomy, demands)
        self._top = lattice.top
        layout = Layout.of(demands)
        self._counts, self.stages = layout.counts, layout.stages
        none = np.zeros(len(units.weights), np.int64)
        self._value = none if layout.attribute is None else demands.of_units(layout.attribute)
        self._fill(Pool(np.arange(len(units.weights)), units.weights))

    def _fill(self, pool: Pool) -> None:
        """Let these records be in the pool, with what every transformation asks of them at hand."""
        self.pool = pool
        # numbers of places are looked up in half the time
        self._codes_of_pool = [own[pool.row].astype(np.intp) for own in self._codes]
        self._counts_of_pool = pool.count.astype(np.float64)

    def promising(self, nodes: Sequence[Node], stage: Stage) -> Sequence[Node]:
        """All: asking costs as much as dealing."""
        return nodes

    def dealt(self, node: Node, stage: Stage) -> Blocks | None:
        """The blocks of a transformation, judged by everything that is demanded."""
        pool = self.pool
        kept, of_class = self._classes(node, pool, stage.least)
        if not len(kept):
            return None
        items = self._items(pool.row[kept], pool.count[kept], of_class, stage)
        first = np.flatnonzero(_changes(items.of_class, items.value))
        entries = _Entries(
            items.of_class[first], items.value[first], np.add.reduceat(items.count, first)
        )
        blocks, taken = self._chosen(entries, items.classes, stage)
        if not blocks.any():
            return None
        dealt = _laid(items, first, taken, blocks, stage)
        held = self._demands.hold(dealt)
        if self._exact and node != self._top:
            held = self._eligible(dealt, held)
        if not held.any():
            return None
        stay = held[dealt.block]
        found = Blocks(dealt.row[stay], dealt.block[stay], dealt.records[stay]).tidied()
        self._fill(pool.without(found))
        return found

    def _classes(self, node: Node, pool: Pool, least: int) -> tuple[Ints, Ints]:
        """The units of the pool in classes that are large enough, and their classes."""
        codes = self._codes_of_pool
        # two classes may fall into a bucket: then it is only larger
        bucket = np.zeros(len(pool.row), np.uint32)
        for pack, own in zip(self._packs, codes, strict=True):
            bucket += pack.mixed(node)[own]
        bucket >>= np.uint32(32 - min(len(bucket).bit_length() + 1, BUCKETS))
        sizes = np.bincount(bucket, self._counts_of_pool)
        if sizes.max(initial=0) < least:  # as of most transformations
            none = np.zeros(0, np.int64)
            return none, none
        kept = np.flatnonzero((sizes >= least)[bucket])
        key, space = np.zeros(len(kept), np.int64), 1
        for pack, own in zip(self._packs, codes, strict=True):
            lookup = pack.pack.lookup(node)
            if space * lookup.size >= 1 << 62:
                distinct, key = np.unique(key, return_inverse=True)
                space = len(distinct)
            key = key * lookup.size + lookup.group[own[kept]]
            space *= lookup.size
        _, of_class = np.unique(key, return_inverse=True)
        size = np.bincount(of_class, pool.count[kept])
        inside = size[of_class] >= least
        renumbered = np.cumsum(size >= least) - 1
        return kept[inside], renumbered[of_class[inside]]

    def _items(self, row: Ints, count: Ints, of_class: Ints, stage: Stage) -> _Items:
        value = self._value[row]
        if self._units.subjects is None:
            order = np.lexsort((self._place[row], stage.order[value], of_class))
            row, count = row[order], count[order]
            ones = np.ones(len(row), np.int64)
            return _Items(
                of_class[order], value[order], count, np.arange(len(row)), ones, row, ones
            )
        subject = self._units.subjects[row].astype(np.int64)
        # by the rarest value of the subject in the class
        order = np.lexsort((self._place[row], self._counts[value], subject, of_class))
        row, count, of_class, subject, value = (
            own[order] for own in (row, count, of_class, subject, value)
        )
        first = np.flatnonzero(_changes(of_class, subject))
        order = np.lexsort((self._place[row[first]], stage.order[value[first]], of_class[first]))
        length = np.diff(np.append(first, len(row)))[order]
        chosen = first[order]
        ones = np.ones(len(chosen), np.int64)
        return _Items(of_class[chosen], value[chosen], ones, chosen, length, row, count)

    def _chosen(self, entries: _Entries, classes: int, stage: Stage) -> tuple[Ints, Ints]:
        """How many blocks each class gives, and how many of each entry they take."""
        blocks, best = np.zeros(classes, np.int64), np.zeros(classes)
        taken = np.zeros(len(entries.count), np.int64)
        for portions in stage.portions:
            number, keep = entries.most(portions, classes, stage.rare)
            if self._exact or stage.rare is not None:
                keep = entries.cut(
                    keep, number * portions.size, -self._counts if self._exact else self._counts
                )
            covered = np.bincount(entries.of_class, keep, classes)
            worth = covered * stage.worth(portions)
            better = worth > best
            blocks[better], best[better] = number[better], worth[better]
            taken = np.where(better[entries.of_class], keep, taken)
        return blocks, taken

    def _eligible(self, dealt: Blocks, held: Mask) -> Mask:
        """Those of some blocks without which no value is more frequent in the pool than in a block.

        Of a value that is too frequent already no block is refused.
        """
        usual = self.stages[-1].portions[0]
        share = np.minimum(usual.most / usual.size, 1 / usual.different)
        value = self._value[self.pool.row]
        spare = share * self.pool.records - np.bincount(value, self.pool.count, len(share))
        stay, value = held, self._value[dealt.row]
        for one in np.flatnonzero((spare >= 0) & (share < 1)):
            own = value == one
            inside = np.bincount(dealt.block[own], dealt.records[own], dealt.number)
            uses = share[one] * dealt.sizes - inside
            used = np.cumsum(np.maximum(uses, 0) * stay)
            stay = stay & ((uses <= 0) | (used <= spare[one]))
        return stay


@dataclass(frozen=True)
class _Entries:
    """The items of classes by value."""

    of_class: Ints
    value: Ints
    count: Ints

    def most(self, portions: Portions, classes: int, rare: Mask | None) -> tuple[Ints, Ints]:
        """How many blocks classes give at most, and how many of each entry these can take."""
        number = self._summed(self.count, classes) // portions.size
        if rare is not None:
            number = np.minimum(number, self._summed(self.count * rare[self.value], classes))
        least = portions.least[self.value]
        if portions.least.any():
            has = self._summed((least > 0) & (self.count >= least), classes)
            number[has < np.count_nonzero(portions.least)] = 0
            np.minimum.at(
                number,
                self.of_class,
                np.where(least > 0, self.count // np.maximum(least, 1), self.count.sum()),
            )
        most = portions.most[self.value]
        while True:
            room = number[self.of_class]
            keep = np.minimum(self.count, most * room)
            fewer = np.minimum(number, self._summed(keep, classes) // portions.size)
            if portions.different > 1:
                once = self._summed(np.minimum(keep, room), classes)
                fewer = np.minimum(fewer, once // portions.different)
            if np.array_equal(fewer, number):
                return number, keep
            number = fewer

    def cut(self, keep: Ints, size: Ints, counts: Ints) -> Ints:
        """What is kept, cut to the sizes of the classes; values of low counts stay."""
        order = np.lexsort((counts[self.value], self.of_class))
        own = keep[order]
        before = np.cumsum(own) - own
        first = np.searchsorted(self.of_class[order], np.arange(len(size)))
        inside = before - before[first][self.of_class[order]]
        found = np.empty_like(keep)
        found[order] = np.clip(size[self.of_class[order]] - inside, 0, own)
        return found

    def _summed(self, amounts: Ints | Mask, classes: int) -> Ints:
        return np.bincount(self.of_class, amounts, classes).astype(np.int64)


def _laid(items: _Items, first: Ints, taken: Ints, blocks: Ints, stage: Stage) -> Blocks:
    """Deal the items that are taken to the blocks of their classes.

    Args:
        items: of the classes.
        first: the first item of each value of a class.
        taken: how many items of each of these.
        blocks: of each class.
        stage: whether similar items stay together.
    """
    entry = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(items.count))))
    before = np.cumsum(items.count) - items.count
    before -= before[first][entry]
    own = np.clip(taken[entry] - before, 0, items.count)
    one = np.repeat(np.arange(len(own)), own)
    of_class = items.of_class[one]
    of_value = np.arange(len(one)) - np.repeat(np.cumsum(own) - own - before, own)
    # as many of each value as there are blocks come first, so that each block has different ones
    order = np.lexsort((of_value >= blocks[of_class], of_class))
    one, of_class = one[order], of_class[order]
    sizes = np.bincount(of_class, minlength=len(blocks))
    place = np.arange(len(one)) - (np.cumsum(sizes) - sizes)[of_class]
    if stage.free:
        inside = place * blocks[of_class] // sizes[of_class]
    else:
        inside = place % np.maximum(blocks[of_class], 1)
    block = (np.cumsum(blocks) - blocks)[of_class] + inside
    length = items.length[one]
    piece = np.arange(int(length.sum())) + np.repeat(
        items.first[one] - np.cumsum(length) + length, length
    )
    return Blocks(items.row[piece], np.repeat(block, length), items.records[piece]).tidied()


def _changes(*keys: Ints) -> Mask:
    """Where any of some keys differs from the one before."""
    found = np.zeros(len(keys[0]), np.bool_)
    found[:1] = True
    for key in keys:
        found[1:] |= key[1:] != key[:-1]
    return found


class _Bucketed:
    """A pack whose groups fall into buckets; what a node makes of its codes is kept for the next.

    Args:
        number: of the pack.
        members: its attributes.
        pack: the pack.
    """

    def __init__(self, number: int, members: list[int], pack: Pack) -> None:
        self.pack = pack
        self._number = number
        self._members = members
        self._mixed: OrderedDict[Node, NDArray[np.uint32]] = OrderedDict()
        self._bytes = 0

    def mixed(self, node: Node) -> NDArray[np.uint32]:
        """A number as good as random for the group of each code."""
        levels = tuple(node[i] for i in self._members)
        if levels in self._mixed:
            self._mixed.move_to_end(levels)
            return self._mixed[levels]
        self._mixed[levels] = made = _mixed(self.pack.lookup(node).group, self._number)
        self._bytes += made.nbytes
        while self._bytes > LOOKUP_BYTES and len(self._mixed) > 1:
            self._bytes -= self._mixed.popitem(last=False)[1].nbytes
        return made


def _mixed(group: Ints, pack: int) -> NDArray[np.uint32]:
    """A number of 32 bits for each group, as good as random."""
    mixed = (group.astype(np.uint64) + np.uint64(1 + (pack << 40))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(32)).astype(np.uint32)


def _places(taxonomy: Taxonomy, demands: Demands) -> Ints:
    """The place of each unit in an order in which those near each other are alike."""
    units, attributes = demands.units, taxonomy.lattice.attributes
    keys: list[NDArray[np.integer[Any]]] = [own.value for own in units.values]
    for i in reversed(telling(taxonomy)):
        inner = np.lexsort(attributes[i].groups)
        place = np.empty(len(inner), np.int64)
        place[inner] = np.arange(len(inner))
        keys.append(place[units.codes[i]])
    order = np.lexsort(keys)
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


def telling(taxonomy: Taxonomy) -> list[int]:
    """The attributes, first those whose values are lost for most bits."""
    attributes = range(len(taxonomy.lattice.attributes))
    return sorted(attributes, key=lambda i: (-float(taxonomy.mean_entropy(i)[-1]), i))


def numbering(lattice: Lattice, units: Tuples) -> list[int]:
    """The attributes by whose groups classes are numbered, the first one first."""
    return [i for pack in packing([c.size for c in _columns(lattice, units)]) for i in pack]


def _columns(lattice: Lattice, units: Tuples) -> list[Column]:
    pairs = zip(lattice.attributes, units.codes, strict=True)
    return [Column(attribute, 0.0, codes, ()) for attribute, codes in pairs]
