from __future__ import annotations

import numpy as np
import pytest
from random_problems import random_problem

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.methods.full_domain.search import region as regions
from dbdeid.methods.full_domain.search.region import Packing, Region

IDENTITY = np.arange(3, dtype=np.uint32)
HALVES = np.array([0, 0, 1], dtype=np.uint32)
ONE = np.zeros(3, dtype=np.uint32)
LOSS = (np.zeros(3), np.array([0.5, 0.5, 0.0]), np.ones(3))


def attribute(**changes) -> Attribute:
    given = {"name": "zip", "groups": (IDENTITY, HALVES, ONE), "loss": LOSS}
    return Attribute(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ()}, "one loss array per level"),
        ({"groups": (IDENTITY, HALVES)}, "one loss array per level"),
        ({"groups": (HALVES, HALVES, ONE)}, "level 0 is not the identity"),
        ({"groups": (IDENTITY, ONE, HALVES)}, "splits a group"),
        ({"loss": LOSS[::-1]}, "below"),
        ({"loss": (LOSS[0], np.array([0.1, 0.2, 0.0]), LOSS[2])}, "differs within a group"),
        ({"weight": -1.0}, "weight"),
        ({"weight": float("nan")}, "weight"),
        ({"min_level": 2, "max_level": 1}, "levels 2..1"),
        ({"max_level": 3}, "levels 0..3"),
    ],
)
def test_what_is_no_hierarchy_is_refused(changes, message):
    with pytest.raises(ValueError, match=f"'zip'.*{message}"):
        attribute(**changes)


def test_a_lattice_needs_attributes_and_weight():
    with pytest.raises(ValueError, match="at least one attribute"):
        Lattice(())
    with pytest.raises(ValueError, match="weight 0"):
        Lattice((attribute(weight=0.0),))


def test_numbers_follow_the_vectors():
    lattice = Lattice((attribute(min_level=1), attribute(max_level=1), attribute()))
    nodes = [*lattice.nodes()]
    assert (lattice.bottom, lattice.top, lattice.size) == ((1, 0, 0), (2, 1, 2), 12)
    assert nodes == sorted(nodes)
    assert [lattice.index(node) for node in nodes] == [*range(12)]
    assert [*lattice.successors((1, 1, 0))] == [(2, 1, 0), (1, 1, 1)]
    assert [*lattice.predecessors((1, 1, 1))] == [(1, 0, 1), (1, 1, 0)]
    with pytest.raises(ValueError, match="outside"):
        lattice.index((0, 0, 0))


def test_packed_nodes_compare_as_their_vectors_do():
    lattice = Lattice((attribute(min_level=1), attribute(max_level=1), *(attribute(),) * 3))
    packing, nodes = Packing(lattice), [*lattice.nodes()]
    packed = np.array([packing.pack(node) for node in nodes])
    assert [packing.node(p) for p in packed] == nodes
    assert np.all(packed[1:] > packed[:-1])
    assert np.array_equal(packing.at([*packing.offsets(packed)]), packed)
    expected = [[all(a <= b for a, b in zip(u, v, strict=True)) for u in nodes] for v in nodes]
    assert np.array_equal(packing.at_most(packed, packed[:, None]), expected)


@pytest.mark.parametrize("block", [1, 7, 100, 10**6])
def test_blocks_hold_every_node_once(block, monkeypatch):
    monkeypatch.setattr(regions, "BLOCK", block)
    lattice, _ = random_problem(seed=4, width=4, rows=10)
    packing = Packing(lattice)
    terms = [np.arange(count) * 10.0**i for i, count in enumerate(lattice.shape)]
    region = Region(packing, packing.blocks(terms))
    assert [packing.node(p) for p in region.packed] == [*lattice.nodes()]
    expected = [sum(x * 10**i for i, x in enumerate(node)) for node in lattice.nodes()]
    assert region.known.tolist() == expected


def test_any_lattice_that_can_be_searched_packs_into_64_bits():
    two = attribute(max_level=1)
    assert Packing(Lattice((two,) * 25)).guard < 2**64
    assert Packing(Lattice((attribute(),) * 16)).guard < 2**64


def test_attributes_of_one_level_take_no_room():
    fixed = attribute(min_level=1, max_level=1)
    lattice = Lattice((fixed,) * 30 + (attribute(max_level=1),) * 20 + (fixed,) * 10)
    packing = Packing(lattice)
    for node in (lattice.bottom, lattice.top):
        assert packing.node(packing.pack(node)) == node
    assert packing.at_most(packing.pack(lattice.bottom), packing.pack(lattice.top))
    assert not packing.at_most(packing.pack(lattice.top), packing.pack(lattice.bottom))
