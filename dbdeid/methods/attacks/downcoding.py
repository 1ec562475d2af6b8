"""The downcoding attack: which generalized values an attacker who knows the method narrows.

A method that generalizes no more than it must tells by a label that the label below would not have
done (Cohen 2022, "Attacks on Deidentification's Defenses", USENIX Security, section 3). The
attacker has the release, knows the method, the specification and which values there are, and knows
nothing of any person.

- Local recoding labels a block with the lowest common ancestors of its records. Below a label, two
  children at least are therefore among the records of a class.
- Full-domain generalization, where nothing may be suppressed and the levels are proven best by a
  score that each level adds to: one level lower fails, so some class falls apart there. Where only
  one class can, two children at least are among its records.

Where the label has just two children, each is the value of one record at least: two cells of the
class are replaced by their children. Nothing else follows: each child of a label of three or more
may be absent, and all records but one may have the same. That is said column by column: which
records of the class they are is not told, nor which child goes with which of another column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.methods.local_recoding.search.taxonomy import Regions, Taxonomy

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Objectives to which every level adds, whatever classes become.
ADDED_UP = ("loss", "precision")


@dataclass(frozen=True, slots=True)
class Downcoded:
    """What the attack finds on a release.

    Attributes:
        cells: generalized ones: of a quasi-identifier of a released record, standing for more than
            one value.
        attempted: cells that the attacker replaces by a child of their label.
        right: of these, how many the classes hold of the source.
    """

    cells: int
    attempted: int
    right: int

    @property
    def share(self) -> float:
        """The share of the generalized cells that are rightly replaced; 0 where there are none."""
        return self.right / self.cells if self.cells else 0.0


def of_blocks(
    taxonomy: Taxonomy,
    units: Tuples,
    blocks: Blocks,
    regions: Regions,
    *,
    classes: Ints | None = None,
    attributes: Sequence[int] | None = None,
) -> Downcoded:
    """The attack on a local recoding, whatever made its blocks.

    Args:
        taxonomy: of the hierarchies.
        units: the records.
        blocks: all records of all units.
        regions: of the blocks.
        classes: the class of each piece, where more than the regions is read; None: they tell it.
        attributes: those that are looked at; None: all.
    """
    class_of = taxonomy.classes(regions)[blocks.block] if classes is None else classes
    cells = attempted = right = 0
    for i in range(len(taxonomy.lattice.attributes)) if attributes is None else attributes:
        attribute = taxonomy.lattice.attributes[i]
        codes = units.codes[i][blocks.row].astype(np.int64)
        level = regions.levels[i][blocks.block]
        two, child, wide = _children(attribute, taxonomy.lattice.bottom[i], level, codes)
        cells += int(blocks.records[wide].sum())
        attempted += 2 * len(np.unique(class_of[two]))
        right += _distinct(class_of[two], child[two])
    return Downcoded(cells, attempted, right)


def of_levels(
    lattice: Lattice, tuples: Tuples, kept: Mask, node: Node, *, minimal: bool, starred: bool
) -> Downcoded:
    """The attack on a full-domain generalization.

    Args:
        lattice: of the hierarchies.
        tuples: the records.
        kept: which rows of the tuples are released with these levels.
        node: the levels.
        minimal: whether nothing may be suppressed and every less general transformation of less
            loss is known to fail.
        starred: whether the other rows are released, too, with each value on the top level.
    """
    attributes = lattice.attributes
    weights = tuples.weights
    class_of = np.zeros(0, np.int64)
    if minimal:  # else nobody asks which records are together
        found = zip(attributes, node, tuples.codes, strict=True)
        columns = np.stack([a.groups[v][c[kept]] for a, v, c in found])
        class_of = np.unique(columns, axis=1, return_inverse=True)[1].ravel()
    cells = attempted = right = 0
    kept_weights = weights[kept]
    others = int(weights.sum() - kept_weights.sum())
    for i, attribute in enumerate(attributes):
        own = tuples.codes[i][kept]
        # of each value, as all records of one read alike
        values = np.arange(attribute.cardinality)
        level = np.full(len(values), node[i])
        two, child, wide = _children(attribute, lattice.bottom[i], level, values)
        cells += int(kept_weights[wide[own]].sum())
        if starred and attribute.domain > 1:
            cells += others
        if not minimal or not attribute.weight or not two[own].any():
            continue
        falls = np.unique(class_of[(_number(attribute, lattice.bottom[i], level, values) > 1)[own]])
        if len(falls) == 1:
            attempted += 2
            right += _distinct(class_of[two[own]], child[own[two[own]]])
    return Downcoded(cells, attempted, right)


def _children(
    attribute: Attribute, least: int, level: Ints, codes: Ints
) -> tuple[Mask, Ints, Mask]:
    """What is below the labels of records.

    Args:
        attribute: with its hierarchy.
        least: the lowest level that was allowed.
        level: of each label.
        codes: of each record.

    Returns:
        Whether the label has two children and may have been the child; the child of the record;
        whether the label stands for more than one value.
    """
    groups = np.stack(attribute.groups).astype(np.int64)
    sizes = np.stack([attribute.size(v) for v in range(attribute.height + 1)])
    child = groups[np.maximum(level - 1, 0), codes]
    two = _number(attribute, least, level, codes) == 2
    return two, child, sizes[level, codes] > 1


def _number(attribute: Attribute, least: int, level: Ints, codes: Ints) -> Ints:
    """How many children a label has, 1 where it is as low as it may be.

    Children without a value that occurs are counted as one more.
    """
    found = np.ones((attribute.height + 1, attribute.cardinality), np.int64)
    for above in range(least + 1, attribute.height + 1):
        lower, upper = attribute.groups[above - 1], attribute.groups[above]
        _, first = np.unique(lower, return_index=True)
        parents = upper[first]
        number = np.bincount(parents)
        held = np.bincount(parents, attribute.size(above - 1)[first])
        found[above] = number[upper] + (held[upper] < attribute.size(above))
    return found[level, codes]


def _distinct(classes: Ints, children: Ints) -> int:
    """How many pairs of a class and a child there are."""
    return len(np.unique(np.stack([classes, children]), axis=1).T)
