"""Check one transformation: group the tuples by their generalized values and count.

A check of many tuples starts from the classes of a finer transformation where one is at hand
(roll-up).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.check import Check, Lost
from dbdeid.search.columns import Column, Digit, Lookup, Pack, packing
from dbdeid.search.counter import Classes, Counter, Table
from dbdeid.search.lattice import Lattice, Node
from dbdeid.search.suppression import Rule, Seen, Suppression
from dbdeid.search.tally import Tally, tallied
from dbdeid.search.tuples import Tuples, Values
from dbdeid.search.valued import counted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

ROLLED_UP = 20_000  # rows from which on a finer class table is worth having
TABLES = 100  # class tables kept, while they take up at most the bytes below
TABLE_BYTES = 128 << 20


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
            Column(attribute, share, codes, tally.cells[i] if tally else ())
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
        self._table_bytes = 0
        self._base = self._rows = Table(
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

    def _source(self, node: Node) -> Table:
        """The smallest table at hand whose rows do not straddle classes of the node."""
        usable = [n for n in self._tables if all(a <= b for a, b in zip(n, node, strict=True))]
        if not usable:
            return self._base
        best = min(usable, key=lambda n: self._tables[n].rows)
        self._tables.move_to_end(best)
        return self._tables[best]

    def _keep(self, node: Node, table: Table) -> None:
        self._tables[node] = table
        self._table_bytes += table.nbytes
        while self._table_bytes > TABLE_BYTES or len(self._tables) > TABLES:
            self._table_bytes -= self._tables.popitem(last=False)[1].nbytes

    def _table(self, rows: Table, classes: Classes, lookups: Sequence[Lookup]) -> Table:
        """Classes as rows, each super-column by one of the codes that fell together."""
        members = (
            lookup.member[codes].astype(column.dtype)
            for lookup, codes, column in zip(
                lookups, classes.codes(classes.keys), self._base.columns, strict=True
            )
        )
        if not self._valued:
            return Table(tuple(members), classes.counts, tuple)
        values = partial(_rolled_up, rows, classes)
        return Table(tuple(members), classes.counts, values, held=rows.weights.nbytes)

    def _summary(
        self, node: Node, rows: Table, classes: Classes, lookups: Sequence[Lookup]
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


def _lost(classes: Classes, lookups: Sequence[Lookup], kept: Ints) -> tuple[int, float]:
    """The records that are not kept, and the loss of their cells."""
    lossy = np.flatnonzero(classes.counts != kept)
    dropped = classes.counts[lossy] - kept[lossy]
    loss = 0.0
    for lookup, codes in zip(lookups, classes.codes(classes.keys[lossy]), strict=True):
        records = np.bincount(codes, weights=dropped, minlength=len(lookup.loss))
        loss += float((records * lookup.loss).sum())
    return int(dropped.sum()), loss


def _rolled_up(rows: Table, classes: Classes) -> tuple[Values, ...]:
    """The sensitive values of classes, from those of the rows that are in them."""
    row_class = classes.spread(np.arange(len(classes.counts)))
    found = [counted(of_rows, row_class, len(classes.counts)) for of_rows in rows.values]
    return tuple(
        Values(f.of_class, f.value, f.count, of_rows.cardinality)
        for f, of_rows in zip(found, rows.values, strict=True)
    )


def _seen(node: Node, rows: Table, classes: Classes, lookups: Sequence[Lookup]) -> Seen:
    return Seen(
        node,
        classes.counts,
        classes.spread,
        rows.values,
        lambda: _by_attribute(classes, lookups),
        lambda: _by_attribute(classes, lookups, lambda digit, group: group == digit.null),
        lambda: _by_attribute(classes, lookups, lambda digit, group: digit.value[group]),
    )


def _cells(classes: Classes, lookups: Sequence[Lookup]) -> Floats:
    """The sum of the tally's numbers for the cells of each class."""
    codes = zip(lookups, classes.codes(classes.keys), strict=True)
    return np.asarray(sum(lookup.cells[group] for lookup, group in codes))


def _by_attribute(
    classes: Classes,
    lookups: Sequence[Lookup],
    shown: Callable[[Digit, Ints], NDArray[Any]] = lambda digit, group: group,
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
