"""The classes of a transformation: the tuples grouped by their generalized values.

The classes of many tuples are made from those of a finer transformation where some are at hand
(roll-up).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import le
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.counter import Classes, Counter, Table
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.packed_columns import Column, Digit, Lookup, Pack, packing
from dbdeid.lattice.sensitive_counts import counted
from dbdeid.lattice.tuples import Tuples, Values

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROLLED_UP = 8_000  # rows from which on a finer class table is worth having
TABLES = 100  # class tables kept, while they take up at most the bytes below
TABLE_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class Grouped:
    """The classes of one transformation.

    Attributes:
        node: the transformation.
        rows: what they were made of: the tuples, or the classes of a finer transformation.
        classes: their keys and sizes.
        lookups: of each super-column.
    """

    node: Node
    rows: Table
    classes: Classes
    lookups: Sequence[Lookup]

    @property
    def counts(self) -> Ints:
        """Records of each class."""
        return self.classes.counts

    @property
    def of_rows(self) -> Ints:
        """The class of each row."""
        return self.classes.spread(np.arange(len(self.counts)))

    def cells(self) -> Floats:
        """The sum of the numbers for the cells of each class."""
        codes = zip(self.lookups, self.classes.codes(self.classes.keys), strict=True)
        return np.asarray(sum(lookup.cells[group] for lookup, group in codes))

    def losses(self) -> Floats:
        """The weighted mean loss of the cells of each class."""
        codes = zip(self.lookups, self.classes.codes(self.classes.keys), strict=True)
        return np.asarray(sum(lookup.loss[group] for lookup, group in codes))

    def by_attribute(
        self, shown: Callable[[Digit, Ints], NDArray[Any]] = lambda digit, group: group
    ) -> NDArray[Any]:
        """Of each class on each attribute its group, or what is shown of it.

        The shape is (attributes, classes).
        """
        found: dict[int, NDArray[Any]] = {}
        for lookup, codes in zip(self.lookups, self.classes.codes(self.classes.keys), strict=True):
            for digit in lookup.digits:
                found[digit.attribute] = shown(digit, digit.of(codes))
        return np.stack([found[i] for i in sorted(found)])


class Grouper:
    """Groups the tuples of one table under any node of a lattice.

    Args:
        lattice: the coded quasi-identifiers.
        tuples: the data; value codes are below the attributes' cardinalities.
        cells: `cells[attribute][level][value code]`, numbers to add up for each class; none by
            default.
    """

    def __init__(
        self, lattice: Lattice, tuples: Tuples, cells: Sequence[Sequence[Floats]] = ()
    ) -> None:
        self.lattice = lattice
        # Subjects are counted row by row of the tuples, so these are never rolled up.
        self._by_subject = tuples.subjects is not None
        self._valued = bool(tuples.values)
        columns = [
            Column(attribute, share, codes, cells[i] if cells else ())
            for i, (attribute, share, codes) in enumerate(
                zip(lattice.attributes, lattice.shares, tuples.codes, strict=True)
            )
        ]
        self._packs = [
            Pack(members, [columns[i] for i in members])
            for members in packing([c.size for c in columns])
        ]
        self._counter = Counter()
        self._tables: OrderedDict[Node, Table] = OrderedDict()
        self._base = self._rows = Table(
            tuple(pack.codes(tuples) for pack in self._packs),
            tuples.weights.astype(np.int64, copy=False),
            lambda: tuples.values,
        )
        if any(lattice.bottom) and not self._by_subject:
            self._base = self._table(self._group(lattice.bottom, self._base))

    def group(self, node: Node) -> Grouped:
        """The classes of a node.

        Raises:
            ValueError: the node is not in the lattice.
        """
        if node not in self.lattice:
            raise ValueError(f"{node} is outside {self.lattice.bottom}..{self.lattice.top}")
        table = self._source(node)
        grouped = self._group(node, table)
        if (
            not self._by_subject
            and node not in self._tables
            and table.rows >= ROLLED_UP
            and 2 * len(grouped.counts) <= table.rows
        ):
            self._keep(node, self._table(grouped))
        return grouped

    def of_tuples(self, node: Node) -> Grouped:
        """The same, made of the tuples themselves."""
        return self._group(node, self._rows)

    def _group(self, node: Node, table: Table) -> Grouped:
        lookups = [pack.lookup(node) for pack in self._packs]
        return Grouped(node, table, self._counter.count(table, lookups), lookups)

    def _source(self, node: Node) -> Table:
        """The smallest table at hand whose rows do not straddle classes of the node."""
        usable = [n for n in self._tables if all(map(le, n, node))]
        if not usable:
            return self._base
        best = min(usable, key=lambda n: self._tables[n].rows)
        self._tables.move_to_end(best)
        return self._tables[best]

    def _keep(self, node: Node, table: Table) -> None:
        self._tables[node] = table
        # values of tables may have been made since
        bytes_ = sum(kept.nbytes for kept in self._tables.values())
        while bytes_ > TABLE_BYTES or len(self._tables) > TABLES:
            bytes_ -= self._tables.popitem(last=False)[1].nbytes

    def _table(self, grouped: Grouped) -> Table:
        """Classes as rows, each super-column by one of the codes that fell together."""
        rows, classes = grouped.rows, grouped.classes
        members = (
            lookup.member[codes].astype(column.dtype)
            for lookup, codes, column in zip(
                grouped.lookups, classes.codes(classes.keys), self._base.columns, strict=True
            )
        )
        if not self._valued:
            return Table(tuple(members), classes.counts, tuple)
        values = partial(_rolled_up, rows, classes)
        return Table(tuple(members), classes.counts, values, held=rows.weights.nbytes)


def _rolled_up(rows: Table, classes: Classes) -> tuple[Values, ...]:
    """The sensitive values of classes, from those of the rows that are in them."""
    row_class = classes.spread(np.arange(len(classes.counts)))
    found = [counted(of_rows, row_class, len(classes.counts)) for of_rows in rows.values]
    return tuple(
        Values(f.of_class, f.value, f.count, of_rows.cardinality)
        for f, of_rows in zip(found, rows.values, strict=True)
    )
