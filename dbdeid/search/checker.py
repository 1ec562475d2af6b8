"""Check one transformation: group the tuples by their generalized values and count.

Attributes are packed into a few *super-columns*, so that the key of a row costs two or three
gathers: what a node makes of a super-column is an outer sum of per-attribute lookups. Keys in a
small space are counted by direct addressing, others by sorting. A check of many tuples starts
from the classes of a finer transformation where one is at hand (roll-up).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.check import Check, Lost
from dbdeid.search.lattice import Attribute, Lattice, Node, outer_sum
from dbdeid.search.suppression import Rule, Seen, Suppression
from dbdeid.search.tally import Tally, tallied
from dbdeid.search.tuples import Tuples, Values
from dbdeid.search.valued import counted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

BLOCK = 1 << 16  # rows looked up at a time
PACKED = 65_536  # most combinations of values in one super-column, so that they fit uint16
SCANNED = 6  # key space per row up to which all counts are scanned
ADDRESSED = 1 << 22  # key space up to which counts are addressed directly
ROLLED_UP = 20_000  # rows from which on a finer class table is worth having
TABLES = 100  # class tables kept, while they take up at most the bytes below
TABLE_BYTES = 128 << 20
LOOKUP_BYTES = 64 << 20  # lookups kept


class NumpyChecker:
    """Checks privacy models with suppression on arrays.

    Args:
        lattice: the coded quasi-identifiers.
        tuples: the data; value codes are below the attributes' cardinalities.
        rule: what a class needs to be kept.
        tally: sums that every check makes for an objective.
    """

    def __init__(
        self, lattice: Lattice, tuples: Tuples, rule: Rule, tally: Tally | None = None
    ) -> None:
        self.lattice = lattice
        self._tally = tally
        self.records = tuples.records
        self._suppression = Suppression(rule, tuples)
        # Subjects are counted row by row of the tuples, so these are never rolled up.
        self._by_subject = tuples.subjects is not None
        self._valued = bool(tuples.values)
        columns = [
            _Column(attribute, share, codes, tally.cells[i] if tally else ())
            for i, (attribute, share, codes) in enumerate(
                zip(lattice.attributes, lattice.shares, tuples.codes, strict=True)
            )
        ]
        self._packs = [
            _Pack(members, [columns[i] for i in members])
            for members in _packing([c.size for c in columns])
        ]
        self._counter = _Counter()
        self._tables: OrderedDict[Node, _Table] = OrderedDict()
        self._table_bytes = 0
        self._base = self._rows = _Table(
            tuple(pack.codes(tuples) for pack in self._packs),
            tuples.weights.astype(np.int64),
            lambda: tuples.values,
        )
        if any(lattice.bottom) and not self._by_subject:
            lookups = [pack.lookup(lattice.bottom) for pack in self._packs]
            classes = self._counter.count(self._base, lookups)
            self._base = self._table(self._base, classes, lookups)

    def check(self, node: Node) -> Check:
        """Count the classes under a node.

        Raises:
            ValueError: the node is not in the lattice.
        """
        if node not in self.lattice:
            raise ValueError(f"{node} is outside {self.lattice.bottom}..{self.lattice.top}")
        table = self._source(node)
        lookups = [pack.lookup(node) for pack in self._packs]
        classes = self._counter.count(table, lookups)
        if (
            not self._by_subject
            and node not in self._tables
            and table.rows >= ROLLED_UP
            and 2 * len(classes.counts) <= table.rows
        ):
            self._keep(node, self._table(table, classes, lookups))
        return self._summary(node, table, classes, lookups)

    def kept(self, node: Node) -> NDArray[np.bool_]:
        """Which rows of the tuples stay."""
        lookups = [pack.lookup(node) for pack in self._packs]
        classes = self._counter.count(self._rows, lookups)
        seen = _seen(node, self._rows, classes, lookups)
        return self._suppression.rows(seen)

    def _source(self, node: Node) -> _Table:
        """The smallest table at hand whose rows do not straddle classes of the node."""
        usable = [n for n in self._tables if all(a <= b for a, b in zip(n, node, strict=True))]
        if not usable:
            return self._base
        best = min(usable, key=lambda n: self._tables[n].rows)
        self._tables.move_to_end(best)
        return self._tables[best]

    def _keep(self, node: Node, table: _Table) -> None:
        self._tables[node] = table
        self._table_bytes += table.nbytes
        while self._table_bytes > TABLE_BYTES or len(self._tables) > TABLES:
            self._table_bytes -= self._tables.popitem(last=False)[1].nbytes

    def _table(self, rows: _Table, classes: _Classes, lookups: Sequence[_Lookup]) -> _Table:
        """Classes as rows, each super-column by one of the codes that fell together."""
        members = (
            lookup.member[codes].astype(column.dtype)
            for lookup, codes, column in zip(
                lookups, classes.codes(classes.keys), self._base.columns, strict=True
            )
        )
        if not self._valued:
            return _Table(tuple(members), classes.counts, tuple)
        values = partial(_rolled_up, rows, classes)
        return _Table(tuple(members), classes.counts, values, held=rows.weights.nbytes)

    def _summary(
        self, node: Node, rows: _Table, classes: _Classes, lookups: Sequence[_Lookup]
    ) -> Check:
        counts = classes.counts
        kept = self._suppression(_seen(node, rows, classes, lookups))
        suppressed, loss = _lost(classes, lookups, kept.records)
        cells = partial(_cells, classes, lookups)
        tally = tallied(self._tally, counts, kept.records, cells)
        below = Lost(suppressed, kept.impossible_subjects, loss, tally)
        if kept.possible is not kept.records:
            lost, may = _lost(classes, lookups, kept.possible), kept.possible
            tally_below = tallied(self._tally, counts, may, cells)
            below = Lost(lost[0], kept.impossible_subjects, lost[1], tally_below)
        return Check(
            node=node,
            suppressed=suppressed,
            suppressed_subjects=kept.suppressed_subjects,
            classes=int(np.count_nonzero(kept.records)),
            all_classes=len(counts),
            smallest=kept.smallest,
            squares_kept=_sum_of_squares(kept.records, self.records),
            squares_all=_sum_of_squares(counts, self.records),
            suppressed_loss=loss,
            chance=kept.chance,
            rest_holds=kept.rest_holds,
            below=below,
            tally=tally,
        )


def _lost(classes: _Classes, lookups: Sequence[_Lookup], kept: Ints) -> tuple[int, float]:
    """The records that are not kept, and the loss of their cells."""
    lossy = np.flatnonzero(classes.counts != kept)
    dropped = classes.counts[lossy] - kept[lossy]
    loss = 0.0
    for lookup, codes in zip(lookups, classes.codes(classes.keys[lossy]), strict=True):
        records = np.bincount(codes, weights=dropped, minlength=len(lookup.loss))
        loss += float((records * lookup.loss).sum())
    return int(dropped.sum()), loss


def _rolled_up(rows: _Table, classes: _Classes) -> tuple[Values, ...]:
    """The sensitive values of classes, from those of the rows that are in them."""
    row_class = classes.spread(np.arange(len(classes.counts)))
    found = [counted(of_rows, row_class, len(classes.counts)) for of_rows in rows.values]
    return tuple(
        Values(f.of_class, f.value, f.count, of_rows.cardinality)
        for f, of_rows in zip(found, rows.values, strict=True)
    )


def _seen(node: Node, rows: _Table, classes: _Classes, lookups: Sequence[_Lookup]) -> Seen:
    return Seen(
        node,
        classes.counts,
        classes.spread,
        rows.values,
        lambda: _by_attribute(classes, lookups),
        lambda: _by_attribute(classes, lookups, lambda digit, group: group == digit.null),
        lambda: _by_attribute(classes, lookups, lambda digit, group: digit.value[group]),
    )


def _cells(classes: _Classes, lookups: Sequence[_Lookup]) -> Floats:
    """The sum of the tally's numbers for the cells of each class."""
    codes = zip(lookups, classes.codes(classes.keys), strict=True)
    return np.asarray(sum(lookup.cells[group] for lookup, group in codes))


def _by_attribute(
    classes: _Classes,
    lookups: Sequence[_Lookup],
    shown: Callable[[_Digit, Ints], NDArray[Any]] = lambda digit, group: group,
) -> NDArray[Any]:
    """Of each class on each attribute its group, or what is shown of it (attributes, classes)."""
    found: dict[int, NDArray[Any]] = {}
    for lookup, codes in zip(lookups, classes.codes(classes.keys), strict=True):
        for digit in lookup.digits:
            found[digit.attribute] = shown(digit, digit.of(codes))
    return np.stack([found[i] for i in sorted(found)])


def _sum_of_squares(counts: Ints, records: int) -> int:
    if records < 3_000_000_000:  # the square fits int64
        return int((counts * counts).sum())
    return sum(count * count for count in counts.tolist())


class _Table:
    """Rows of super-column codes with the records behind each: tuples, or classes of a node.

    Few class tables are ever looked at again, so that their values are made on demand.
    """

    def __init__(
        self,
        columns: tuple[NDArray[np.uint16 | np.uint32], ...],
        weights: Ints,
        values: Callable[[], tuple[Values, ...]],
        held: int = 0,
    ) -> None:
        self.columns = columns
        self.weights = weights
        self._make_values = values
        self._held = held  # bytes that the values are made from

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """The sensitive attributes of the rows."""
        made = self._make_values()
        self._make_values = lambda: made  # what they were made from is not needed any more
        return made

    @property
    def rows(self) -> int:
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        return self._held + self.weights.nbytes + sum(column.nbytes for column in self.columns)


class _Column:
    """One attribute reduced to the values that occur, told apart as far as its least level does."""

    def __init__(
        self, attribute: Attribute, share: float, codes: Codes, cells: Sequence[Floats]
    ) -> None:
        self.least = attribute.min_level
        used = np.flatnonzero(np.bincount(codes, minlength=attribute.cardinality))
        group = np.unique(attribute.groups[self.least][used], return_inverse=True)[1]
        self.size = int(group.max(initial=-1)) + 1
        member = np.zeros(self.size, dtype=np.int64)
        member[group] = used
        self.renumbered = np.zeros(attribute.cardinality, dtype=np.int64)  # value code -> code
        self.renumbered[used] = group
        self.groups: list[Ints] = []  # level - least -> code -> group
        self.members: list[Ints] = []  # level - least -> group -> a code in it
        self.values: list[Ints] = []  # level - least -> group -> a value code in it
        self.loss: list[Floats] = []  # level - least -> group -> weighted loss of the cell
        self.cells: list[Floats] = []  # as loss, the numbers of the tally if there is one
        self.nulls: list[int] = []  # level - least -> group of NULL, -1 where there is none
        null = attribute.null if attribute.null is not None and attribute.null in used else None
        for level in range(self.least, attribute.most_general + 1):
            _, first, groups = np.unique(
                attribute.groups[level][member], return_index=True, return_inverse=True
            )
            self.groups.append(groups)
            self.members.append(first)
            self.values.append(member[first])
            self.loss.append(share * attribute.loss[level][member[first]])
            if cells:
                self.cells.append(cells[level][member[first]])
            blank = null is not None and level < attribute.height
            self.nulls.append(int(groups[self.renumbered[null]]) if blank else -1)


@dataclass(frozen=True)
class _Digit:
    """Where the group of one attribute stands in the group of its super-column."""

    attribute: int
    radix: int
    size: int
    null: int  # the group of NULL, -1 where there is none
    value: Ints  # group -> a value code in it

    def of(self, groups: Ints) -> Ints:
        """The attribute's group in each group of the super-column."""
        return groups // self.radix % self.size


@dataclass(frozen=True)
class _Lookup:
    """What the levels of a node make of the codes of one super-column."""

    group: Ints  # code -> group
    member: Ints  # group -> a code in it
    loss: Floats  # group -> weighted loss of its cells
    digits: tuple[_Digit, ...]
    cells: Floats  # group -> sum of the tally's numbers for its cells; empty without one

    @property
    def size(self) -> int:
        return len(self.member)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.group, self.member, self.loss, self.cells))


class _Pack:
    """A super-column: some attributes in one mixed-radix code."""

    def __init__(self, members: list[int], columns: list[_Column]) -> None:
        self._members = members
        self._columns = columns
        self._lookups: OrderedDict[Node, _Lookup] = OrderedDict()
        self._bytes = 0

    def codes(self, tuples: Tuples) -> NDArray[np.uint16 | np.uint32]:
        """The code in each tuple."""
        size = prod(column.size for column in self._columns)
        code = np.zeros(len(tuples.weights), dtype=np.int64)
        for i, column in zip(self._members, self._columns, strict=True):
            code = code * column.size + column.renumbered[tuples.codes[i]]
        return code.astype(np.uint16 if size <= PACKED else np.uint32)

    def lookup(self, node: Node) -> _Lookup:
        """The lookup of a node, kept for the next node with the same levels here."""
        levels = tuple(node[i] for i in self._members)
        if levels in self._lookups:
            self._lookups.move_to_end(levels)
            return self._lookups[levels]
        self._lookups[levels] = made = self._make(levels)
        self._bytes += made.nbytes
        while self._bytes > LOOKUP_BYTES and len(self._lookups) > 1:
            self._bytes -= self._lookups.popitem(last=False)[1].nbytes
        return made

    def _make(self, levels: Node) -> _Lookup:
        columns = [
            (i, column, level - column.least)
            for i, column, level in zip(self._members, self._columns, levels, strict=True)
        ]
        groups, members, losses, digits = [], [], [], []
        cells: list[Floats] = []
        radix, size = 1, 1
        for i, column, at in reversed(columns):
            digits.append(
                _Digit(i, radix, len(column.members[at]), column.nulls[at], column.values[at])
            )
            groups.append(column.groups[at] * radix)
            members.append(column.members[at] * size)
            losses.append(column.loss[at])
            cells += column.cells[at : at + 1]
            radix *= len(column.members[at])
            size *= column.size
        group, member, loss = (outer_sum(terms[::-1]) for terms in (groups, members, losses))
        tally = outer_sum(cells[::-1]) if cells else np.zeros(0)
        return _Lookup(group, member, loss, tuple(digits), tally)


def _packing(sizes: list[int]) -> list[list[int]]:
    """Put attributes together, largest first, while the product of their sizes allows uint16."""
    packs: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        for pack in packs:
            if sizes[i] * prod(sizes[j] for j in pack) <= PACKED:
                pack.append(i)
                break
        else:
            packs.append([i])
    return packs


@dataclass(frozen=True)
class _Classes:
    """Keys of the classes with their sizes.

    A key is a mixed-radix number of super-column groups; where it would have overflowed, its
    leading digits were renumbered, and `renumbered` holds what they were.
    """

    keys: Ints
    counts: Ints
    sizes: tuple[int, ...]
    renumbered: dict[int, Ints]
    spread: Callable[[Ints], Ints]  # from something of each class to that of each row

    def codes(self, keys: Ints) -> list[Ints]:
        """The groups of each super-column in the given keys."""
        codes: list[Ints] = []
        for place in range(len(self.sizes) - 1, 0, -1):
            rest = keys // self.sizes[place]
            codes.append(keys - rest * self.sizes[place])
            keys = self.renumbered[place][rest] if place in self.renumbered else rest
        return [keys, *reversed(codes)]


class _Counter:
    """Counts the records behind equal keys; holds memory that is reused from check to check."""

    def __init__(self) -> None:
        self._scratch = np.zeros(0, dtype=np.int64)

    def count(self, table: _Table, lookups: Sequence[_Lookup]) -> _Classes:
        """The classes that the lookups make of a table."""
        shift = int(table.weights.max(initial=1)).bit_length()
        key, space, renumbered = _keys(table, lookups, most=1 << (62 - shift))
        if space <= max(SCANNED * table.rows, 1024):
            keys, counts = self._scan(key, table.weights, space)
        elif space <= ADDRESSED:
            keys, counts = self._address(key, table.weights, space)
        else:
            keys, counts = _sort(key, table.weights, shift)
        sizes = tuple(lookup.size for lookup in lookups)
        spread = partial(self._spread, key=key, keys=keys, space=space)
        return _Classes(keys, counts, sizes, renumbered, spread)

    def _spread(self, of_class: Ints, key: Ints, keys: Ints, space: int) -> Ints:
        """What each row's class is given, from what is given to each of the distinct keys."""
        if space > ADDRESSED:  # then they are sorted
            return of_class[np.searchsorted(keys, key)]
        cells = self._zeros(space)
        cells[keys] = of_class
        found = cells[key]
        cells[keys] = 0
        return found

    def _scan(self, key: Ints, weights: Ints, space: int) -> tuple[Ints, Ints]:
        counts = self._zeros(space)
        np.add.at(counts, key, weights)
        keys = np.flatnonzero(counts)
        found = counts[keys]
        counts[keys] = 0
        return keys, found

    def _address(self, key: Ints, weights: Ints, space: int) -> tuple[Ints, Ints]:
        """As `_scan` where the space is much larger than the rows: look only where keys are."""
        cells = self._zeros(space)
        np.add.at(cells, key, weights)
        sums = cells[key]
        rows = np.arange(len(key))
        cells[key] = rows
        chosen = np.flatnonzero(cells[key] == rows)
        keys = key[chosen]
        cells[keys] = 0
        return keys, sums[chosen]

    def _zeros(self, space: int) -> Ints:
        if len(self._scratch) < space:
            self._scratch = np.zeros(space, dtype=np.int64)
        return self._scratch[:space]


def _keys(
    table: _Table, lookups: Sequence[_Lookup], most: int
) -> tuple[Ints, int, dict[int, Ints]]:
    """The class key of every row, the size of the key space, and renumbered leading digits."""
    renumbered: dict[int, Ints] = {}
    key, space = np.zeros(table.rows, dtype=np.int64), 1
    for place, (lookup, column) in enumerate(zip(lookups, table.columns, strict=True)):
        if space * lookup.size > most:
            renumbered[place], key = np.unique(key, return_inverse=True)
            space = len(renumbered[place])
        for start in range(0, table.rows, BLOCK):  # so that temporaries stay in the cache
            part = key[start : start + BLOCK]
            part *= lookup.size
            part += lookup.group.take(column[start : start + BLOCK])
        space *= lookup.size
    return key, space, renumbered


def _sort(key: Ints, weights: Ints, shift: int) -> tuple[Ints, Ints]:
    """Sort keys with their weights in the low bits, then add up runs of equal keys."""
    packed = (key << shift) | weights
    packed.sort()
    key = packed >> shift
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return key[starts], np.add.reduceat(packed & ((1 << shift) - 1), starts)
