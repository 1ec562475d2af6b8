"""Antichains of nodes in a prefix tree: what is known of a node's whole up-set or down-set.

That a node is not good enough is inherited by all above it, that it suppresses too much by all
below. It is enough to keep the least (greatest) nodes of which it was found: no two of them are
comparable. They are kept in a tree of their levels, attribute by attribute, in which branches that
cannot hold an answer are skipped (Prasser, Kohlmayer & Kuhn 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Literal

from dbdeid.lattice.lattice import Node

Side = Literal["above", "below"]


class _Branch:
    """The members with one prefix: by the next level, and the totals of what follows."""

    __slots__ = ("children", "least", "most")

    def __init__(self) -> None:
        self.children: dict[int, _Branch] = {}
        self.least = self.most = 0


LEAF = _Branch()  # the end of every member


class Antichain:
    """Nodes none of which is comparable with another, and all nodes on one side of them.

    As in the paper, an inner node of the tree knows the least (greatest) rank below it, for which
    branches are skipped. Here it knows both, and they are the total level of the attributes that
    are still to come, which skips at least as much as the total of all.

    Args:
        side: `above`: the least nodes are kept, and those above them are covered; `below`: the
            greatest, and those below.
        nodes: to begin with.

    Attributes:
        size: inner nodes and leaves of the tree.

    >>> known = Antichain("above", [(1, 2), (0, 3), (1, 3)])
    >>> sorted(known), known.covers((2, 2)), known.covers((0, 2))
    ([(0, 3), (1, 2)], True, False)
    """

    def __init__(self, side: Side, nodes: Iterable[Node] = ()) -> None:
        self._below = side == "below"
        self._root = _Branch()
        self._members = 0
        self.size = 0
        for node in nodes:
            self.add(node)

    def __len__(self) -> int:
        return self._members

    def __iter__(self) -> Iterator[Node]:
        return map(self._turned, _paths(self._root))

    def covers(self, node: Node) -> bool:
        """Whether the node is a member, or on the side that they cover."""
        return bool(self._members) and self._covers(self._turned(node))

    def add(self, node: Node) -> bool:
        """Cover a node and all on its side; members that this covers are dropped.

        Returns:
            Whether it was not covered before.
        """
        turned = self._turned(node)
        if self._members:
            if self._covers(turned):
                return False
            self._drop(self._root, turned, _rests(turned), 0)
        self._insert(turned)
        return True

    def _turned(self, node: Node) -> Node:
        """The same tree serves both sides: x ≤ y where -x ≥ -y."""
        return tuple(-level for level in node) if self._below else node

    def _covers(self, node: Node) -> bool:
        rests = _rests(node)
        last = len(node) - 1
        stack = [(self._root, 0)]
        while stack:
            branch, depth = stack.pop()
            most, rest = node[depth], rests[depth + 1]
            for level, child in branch.children.items():
                if level <= most and child.least <= rest:
                    if depth == last:
                        return True
                    stack.append((child, depth + 1))
        return False

    def _insert(self, node: Node) -> None:
        rests = _rests(node)
        branch, last = self._root, len(node) - 1
        for depth, level in enumerate(node):
            rest = rests[depth]
            branch.least = min(branch.least, rest) if branch.children else rest
            branch.most = max(branch.most, rest) if branch.children else rest
            child = branch.children.get(level)
            if child is None:
                child = branch.children[level] = LEAF if depth == last else _Branch()
                self.size += 1
            branch = child
        self._members += 1

    def _drop(self, branch: _Branch, node: Node, rests: list[int], depth: int) -> bool:
        """Drop the members of a branch that are at least the node in what follows, if any are."""
        least, rest = node[depth], rests[depth + 1]
        last = depth == len(node) - 1
        dropped, emptied = False, []
        for level, child in branch.children.items():
            if level < least or child.most < rest:
                continue
            if last:
                self._members -= 1
                dropped = True
            elif self._drop(child, node, rests, depth + 1):
                dropped = True
            if not child.children:
                emptied.append(level)
        for level in emptied:
            del branch.children[level]
        self.size -= len(emptied)
        if dropped and branch.children:
            totals = [(level + c.least, level + c.most) for level, c in branch.children.items()]
            branch.least, branch.most = min(t[0] for t in totals), max(t[1] for t in totals)
        return dropped


def _rests(node: Node) -> list[int]:
    """Totals of the levels from each place on; the last is 0."""
    return [*accumulate(reversed(node), initial=0)][::-1]


def _paths(branch: _Branch) -> Iterator[Node]:
    for level, child in branch.children.items():
        if child.children:
            yield from ((level, *rest) for rest in _paths(child))
        else:
            yield (level,)
