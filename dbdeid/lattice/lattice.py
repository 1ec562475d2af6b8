"""The lattice of full-domain generalizations: quasi-identifiers coded as small integers.

A *node* holds one level per quasi-identifier. `x ≤ y` componentwise means that y is more general.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Node = tuple[int, ...]


@dataclass(frozen=True)
class Attribute:
    """One quasi-identifier with its generalization hierarchy, coded.

    Args:
        name: the column.
        groups: `groups[level][value code]` is the group code at that level, dense from 0;
            level 0 is the identity. Each level coarsens the one before.
        loss: `loss[level][value code]` is the information loss of the cell, in [0, 1]: one value
            per group, nondecreasing in level (Iyengar: (leaves of the group - 1)/(leaves - 1)).
        weight: share of this attribute in the loss, relative to the others; not negative.
        min_level: least general level that a transformation may use.
        max_level: most general one; None for the top.
        null: the value code of NULL, which stays NULL below the top; None: there is none.
        sizes: `sizes[level][value code]` is how many values of the domain its group holds, at the
            top all of them; None: the domain is the value codes.

    Raises:
        ValueError: the levels are not a hierarchy in this sense; a defect of the caller.
    """

    name: str
    groups: tuple[NDArray[np.uint32], ...]
    loss: tuple[NDArray[np.float64], ...]
    weight: float = 1.0
    min_level: int = 0
    max_level: int | None = None
    null: int | None = None
    sizes: tuple[NDArray[np.int64], ...] | None = None

    def __post_init__(self) -> None:
        if not self.groups or len(self.groups) != len(self.loss):
            raise ValueError(f"{self.name!r}: needs one loss array per level, and a level")
        if not np.array_equal(self.groups[0], np.arange(self.cardinality)):
            raise ValueError(f"{self.name!r}: level 0 is not the identity")
        if not 0 <= self.min_level <= self.most_general <= self.height:
            raise ValueError(
                f"{self.name!r}: levels {self.min_level}..{self.max_level} of {self.height}"
            )
        if not 0 <= self.weight < float("inf"):
            raise ValueError(f"{self.name!r}: weight {self.weight}")
        for level in range(1, len(self.groups)):
            if not _is_function(self.groups[level - 1], self.groups[level]):
                raise ValueError(
                    f"{self.name!r}: level {level} splits a group of level {level - 1}"
                )
            if np.any(self.loss[level] < self.loss[level - 1]):
                raise ValueError(
                    f"{self.name!r}: the loss of level {level} is below its children's"
                )
        if not all(map(_is_function, self.groups, self.loss)):
            raise ValueError(f"{self.name!r}: the loss differs within a group")
        if self.sizes is not None and self.groups[-1].any():
            raise ValueError(f"{self.name!r}: sizes need a top level of one group")

    @property
    def cardinality(self) -> int:
        """How many value codes there are."""
        return len(self.groups[0])

    @property
    def height(self) -> int:
        """The top level of the hierarchy, whatever `max_level` says."""
        return len(self.groups) - 1

    @property
    def most_general(self) -> int:
        """The most general level that a transformation may use."""
        return self.height if self.max_level is None else self.max_level

    def size(self, level: int) -> NDArray[np.int64]:
        """How many values of the domain the group of each value code holds on a level."""
        if self.sizes is not None:
            return self.sizes[level]
        return np.bincount(self.groups[level])[self.groups[level]]

    @property
    def domain(self) -> int:
        """How many values `*` stands for."""
        if self.sizes is None:
            return max(self.cardinality, 1)
        return int(self.sizes[-1].max(initial=1))


def _is_function(keys: NDArray[np.uint32], values: NDArray[np.generic]) -> bool:
    """Whether equal keys always come with equal values."""
    if len(keys) != len(values):
        return False
    if not len(keys):
        return True
    first = np.zeros(int(keys.max()) + 1, dtype=np.intp)
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    return bool(np.all(values[first[keys]] == values))


@dataclass(frozen=True)
class Lattice:
    """All vectors of admissible levels of the attributes, ordered componentwise.

    Nodes are numbered in mixed radix, the last attribute fastest, so that the order of the
    numbers is the lexicographic order of the vectors.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise ValueError("a lattice needs at least one attribute")
        if not sum(attribute.weight for attribute in self.attributes) > 0:
            raise ValueError("all attributes have weight 0")

    @cached_property
    def bottom(self) -> Node:
        """The least general node."""
        return tuple(attribute.min_level for attribute in self.attributes)

    @cached_property
    def top(self) -> Node:
        """The most general node."""
        return tuple(attribute.most_general for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many levels each attribute may take."""
        return tuple(high - low + 1 for low, high in zip(self.bottom, self.top, strict=True))

    @cached_property
    def size(self) -> int:
        """How many nodes there are."""
        return prod(self.shape)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The weight of each attribute divided by the sum of the weights."""
        total = sum(attribute.weight for attribute in self.attributes)
        return tuple(attribute.weight / total for attribute in self.attributes)

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple)
            and len(node) == len(self.attributes)
            and all(a <= b <= c for a, b, c in zip(self.bottom, node, self.top, strict=True))
        )

    def index(self, node: Node) -> int:
        """The number of a node.

        Raises:
            ValueError: the node is not in the lattice.
        """
        if node not in self:
            raise ValueError(f"{node} is outside {self.bottom}..{self.top}")
        number = 0
        for level, low, count in zip(node, self.bottom, self.shape, strict=True):
            number = number * count + level - low
        return number

    def node(self, index: int) -> Node:
        """The node of a number."""
        offsets = np.unravel_index(index, self.shape)
        return tuple(low + int(offset) for low, offset in zip(self.bottom, offsets, strict=True))

    def nodes(self) -> Iterator[Node]:
        """All nodes in lexicographic order."""
        return map(self.node, range(self.size))

    def successors(self, node: Node) -> Iterator[Node]:
        """The nodes one level more general in one attribute."""
        for i, (level, high) in enumerate(zip(node, self.top, strict=True)):
            if level < high:
                yield (*node[:i], level + 1, *node[i + 1 :])

    def predecessors(self, node: Node) -> Iterator[Node]:
        """The nodes one level less general in one attribute."""
        for i, (level, low) in enumerate(zip(node, self.bottom, strict=True)):
            if level > low:
                yield (*node[:i], level - 1, *node[i + 1 :])


def outer_sum(terms: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Sums over one element of each term, for all combinations, the last term fastest.

    With one term per attribute, indexed by level - min_level, this is an additive function of the
    nodes, by node number.

    >>> outer_sum([np.array([0, 10]), np.array([1, 2, 3])])
    array([ 1,  2,  3, 11, 12, 13])
    """
    total = terms[-1]
    for term in reversed(terms[:-1]):  # from the last, so that the inner loops are long
        total = np.add.outer(term, total).ravel()
    return total
