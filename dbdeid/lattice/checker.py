"""Check one transformation: count its classes, and which of them stay under a rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.check import Check, Lost
from dbdeid.lattice.class_sums import Tally, tallied
from dbdeid.lattice.grouping import Grouped, Grouper
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.rule import Rule, Seen, Suppression
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]


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
        self._grouper = Grouper(lattice, tuples, tally.cells if tally else ())

    def check(self, node: Node) -> Check:
        """Count the classes under a node.

        Raises:
            ValueError: the node is not in the lattice.
        """
        return self._summary(self._grouper.group(node))

    def kept(self, node: Node) -> NDArray[np.bool_]:
        """Which rows of the tuples stay."""
        return self._suppression.rows(seen(self._grouper.of_tuples(node)))

    def kept_classes(self, node: Node) -> Ints:
        """A value code of each attribute in each class that stays, where no rows are linked.

        The shape is (attributes, classes).
        """
        grouped = self._grouper.of_tuples(node)
        stays = self._suppression(seen(grouped)).records > 0
        values = grouped.by_attribute(lambda digit, group: digit.value[group])
        return np.asarray(values[:, stays], np.int64)

    def _summary(self, grouped: Grouped) -> Check:
        counts = grouped.counts
        kept = self._suppression(seen(grouped))
        suppressed, loss = _lost(grouped, kept.records)
        tally = tallied(self._tally, counts, kept.records, grouped.cells)
        below = Lost(suppressed, kept.impossible_subjects, loss, tally)
        if kept.possible is not kept.records:
            lost, may = _lost(grouped, kept.possible), kept.possible
            tally_below = tallied(self._tally, counts, may, grouped.cells)
            below = Lost(lost[0], kept.impossible_subjects, lost[1], tally_below)
        return Check(
            node=grouped.node,
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
            covers=kept.covers,
        )


def seen(grouped: Grouped) -> Seen:
    """Classes as a rule looks at them."""
    return Seen(
        grouped.node,
        grouped.counts,
        grouped.classes.spread,
        grouped.rows.values,
        grouped.by_attribute,
        lambda: grouped.by_attribute(lambda digit, group: group == digit.null),
        lambda: grouped.by_attribute(lambda digit, group: digit.value[group]),
    )


def _lost(grouped: Grouped, kept: Ints) -> tuple[int, float]:
    """The records that are not kept, and the loss of their cells."""
    classes = grouped.classes
    lossy = np.flatnonzero(classes.counts != kept)
    dropped = classes.counts[lossy] - kept[lossy]
    loss = 0.0
    for lookup, codes in zip(grouped.lookups, classes.codes(classes.keys[lossy]), strict=True):
        records = np.bincount(codes, weights=dropped, minlength=len(lookup.loss))
        loss += float((records * lookup.loss).sum())
    return int(dropped.sum()), loss


def _sum_of_squares(counts: Ints, records: int) -> int:
    if records < 3_000_000_000:  # the square fits int64
        return int((counts * counts).sum())
    return sum(count * count for count in counts.tolist())
