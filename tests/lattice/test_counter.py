"""Counting leaves nothing behind: not even when Ctrl-C meets it half way."""

from __future__ import annotations

import numpy as np
import pytest
from interrupting import interrupted

from dbdeid.lattice import counter, grouping
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples


@pytest.mark.parametrize("by_subject", [False, True], ids=["records", "subjects"])
@pytest.mark.parametrize("scanned", [6, 0], ids=["scanned", "addressed"])
def test_a_count_that_is_interrupted_anywhere_spoils_none_after_it(
    scanned: int, by_subject: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "SCANNED", scanned)
    monkeypatch.setattr(grouping, "ROLLED_UP", 1)
    draw = np.random.default_rng(5)
    attribute = Attribute(
        "a",
        (np.arange(40, dtype=np.uint32), np.arange(40, dtype=np.uint32) // 8, np.zeros(40, "u4")),
        (np.zeros(40), np.full(40, 0.2), np.ones(40)),
    )
    lattice = Lattice((attribute, attribute))
    codes = tuple(draw.integers(0, 40, 600).astype(np.uint32) for _ in range(2))
    subjects = draw.integers(0, 200, 600) if by_subject else None
    tuples = Tuples(codes, np.ones(600, np.int64), subjects)
    nodes = [*lattice.nodes()][::-1]
    expected = [NumpyChecker(lattice, tuples, Rule(3)).check(node) for node in nodes]
    tried = NumpyChecker(lattice, tuples, Rule(3))
    for number, node in enumerate(nodes):
        line = 1
        while interrupted(lambda node=node: tried.check(node), counter, line):  # type: ignore[misc]
            line += 1
            assert tried.check(node) == expected[number]
        assert line > 10
    assert [tried.check(node) for node in nodes] == expected
