"""What one look at a transformation finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dbdeid.lattice.lattice import Node


@dataclass(frozen=True, slots=True)
class Lost:
    """What some nodes suppress at least: records, subjects who lose one, and the records' loss.

    `tally` are the sums that the objective asked for, were only these suppressed.
    """

    records: int
    subjects: int
    loss: float
    tally: tuple[float, ...] = ()


@dataclass(frozen=True)
class Check:
    """What one look at a transformation finds; counts are of records.

    Args:
        node: the transformation.
        suppressed: records that do not stay.
        suppressed_subjects: subjects who lose a record, which is what a limit counts; every
            record is a subject where none are declared.
        classes: classes of which records stay.
        all_classes: kept and suppressed ones.
        smallest: what k is compared with in the smallest kept class, 0 when none is kept.
        squares_kept: Σ|E|² over the kept records of each class.
        squares_all: Σ|E|² over all classes.
        suppressed_loss: Σ over the suppressed records of the weighted mean of their cells'
            generalization loss at this node.
        chance: Σ over the kept records of one over the subjects that they hide among.
        rest_holds: whether the suppressed records hold as a class of their own, if they must.
        below: of what this node suppresses, that which every node below it suppresses too.
        tally: the sums that the objective asked for; none by default.
        covers: whether all people of a population fit the released classes, if they must.
    """

    node: Node
    suppressed: int
    suppressed_subjects: int
    classes: int
    all_classes: int
    smallest: int
    squares_kept: int
    squares_all: int
    suppressed_loss: float
    chance: float
    rest_holds: bool
    below: Lost
    tally: tuple[float, ...] = ()
    covers: bool = True


class Checker(Protocol):
    """Anything that can look at a transformation."""

    def check(self, node: Node) -> Check:
        """Count the classes under a node."""
        ...
