"""Four ways to keep what a search predicts from (Prasser, Kohlmayer & Kuhn 2016, Table 1)."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import le
from typing import Any
from unittest import mock

from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search import predictions
from dbdeid.methods.full_domain.search.antichain import Antichain, Side
from dbdeid.papers.common.outcome import Row


class Listed:
    """Table 1's first option: all that was ever said, in a list."""

    def __init__(self, side: Side) -> None:
        self._below = side == "below"
        self._members: list[Node] = []

    def covers(self, node: Node) -> bool:
        """Whether what is kept answers for a node."""
        if self._below:
            return any(all(map(le, node, member)) for member in self._members)
        return any(all(map(le, member, node)) for member in self._members)

    def add(self, node: Node) -> bool:
        """Keep what was found of a node; whether that is new."""
        self._members.append(node)
        return True

    def __len__(self) -> int:
        return len(self._members)


class ListedAntichain(Listed):
    """Table 1's second option: a list of the extremes."""

    def add(self, node: Node) -> bool:
        """Keep a node instead of those that it answers for; whether that is new."""
        if self.covers(node):
            return False
        self._members = [m for m in self._members if not self._covered(m, node)]
        self._members.append(node)
        return True

    def _covered(self, member: Node, node: Node) -> bool:
        return all(map(le, member, node) if self._below else map(le, node, member))


class Unranked(Antichain):
    """Table 1's third option: the prefix tree without ranks."""

    def _covers(self, node: Node) -> bool:
        last = len(node) - 1
        stack = [(self._root, 0)]
        while stack:
            branch, depth = stack.pop()
            most = node[depth]
            for level, child in branch.children.items():
                if level <= most:
                    if depth == last:
                        return True
                    stack.append((child, depth + 1))
        return False


STORES: dict[str, Callable[[Side], Any]] = {
    "list": Listed,
    "list, antichain": ListedAntichain,
    "prefix tree": Unranked,
    "prefix tree, ranks": Antichain,
}
Step = tuple[Side, str, Node]


@contextmanager
def recorded() -> Iterator[list[Step]]:
    """What a search asks of its antichains, in order."""
    steps: list[Step] = []

    class Recording(Antichain):
        def __init__(self, side: Side) -> None:
            super().__init__(side)
            self.side = side

        def covers(self, node: Node) -> bool:
            steps.append((self.side, "covers", node))
            return super().covers(node)

        def add(self, node: Node) -> bool:
            steps.append((self.side, "add", node))
            return super().add(node)

    with mock.patch.object(predictions, "Antichain", Recording):
        yield steps


def replay(store: Callable[[Side], Any], steps: list[Step]) -> Row:
    """Ask a store the same, and time it."""
    stores = {"above": store("above"), "below": store("below")}
    seconds = {"add": 0.0, "covers": 0.0}
    times = {"add": 0, "covers": 0}
    for side, name, node in steps:
        ask = getattr(stores[side], name)
        start = time.thread_time_ns()
        ask(node)
        seconds[name] += (time.thread_time_ns() - start) / 1000
        times[name] += 1
    return {
        "insertions": times["add"],
        "queries": times["covers"],
        "members": sum(map(len, stores.values())),
        "µs an insertion": round(seconds["add"] / max(times["add"], 1), 1),
        "µs a query": round(seconds["covers"] / max(times["covers"], 1), 1),
        "KB": sum(map(size_of, stores.values())) // 1024,
    }


def size_of(store: object) -> int:
    """The bytes that a store takes up, its nodes included, each object once."""
    seen, todo, size = set(), [store], 0
    while todo:
        thing = todo.pop()
        if id(thing) not in seen and not isinstance(thing, type | int | bool):
            seen.add(id(thing))
            size += sys.getsizeof(thing)
            todo += gc.get_referents(thing)
    return size


@contextmanager
def kept() -> Iterator[list[Antichain]]:
    """The antichains that a search makes."""
    found: list[Antichain] = []

    class Kept(Antichain):
        def __init__(self, side: Side) -> None:
            super().__init__(side)
            found.append(self)

    with mock.patch.object(predictions, "Antichain", Kept):
        yield found
