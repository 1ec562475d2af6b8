"""The order of transformations against sorting all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_problems import problems, random_problem

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search import ascending
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Taxonomy


def transformations(
    taxonomy: Taxonomy, pending: Callable[[], int], objective: Cost = "balanced"
) -> list[Node]:
    return [node for run in ascending.affordable(taxonomy, pending, objective) for node in run]


def cost(lattice: Lattice, tuples: Tuples, node: Node, objective: Cost) -> float:
    """By definition, record by record."""
    attributes, shares = lattice.attributes, lattice.shares
    whole = bits = loss = 0.0
    for i, (attribute, own) in enumerate(zip(attributes, tuples.codes, strict=True)):
        weight = shares[i] * len(attributes)
        counts = np.bincount(own, tuples.weights, attribute.cardinality)
        inside = entropies(attribute.groups[node[i]], counts)
        bits += weight * float(inside[own] @ tuples.weights)
        loss += shares[i] * float(attribute.loss[node[i]][own] @ tuples.weights)
        whole += weight * float(entropies(attribute.groups[-1], counts).max(initial=0))
    if objective == "node_entropy":
        return bits / tuples.records
    if objective == "loss":
        return loss / tuples.records
    return (bits / (whole or 1) + 2 * loss) / 3 / tuples.records


def entropies(groups: NDArray[np.integer[Any]], counts: NDArray[np.floating[Any]]) -> Any:
    """The entropy of the values of each code's group."""
    found = np.zeros(len(groups))
    for group in set(groups.tolist()):
        share = counts[groups == group]
        share = share[share > 0] / max(share.sum(), 1)
        found[groups == group] = -(share * np.log2(share)).sum()
    return found


@settings(deadline=None)
@given(problem=problems(), objective=st.sampled_from(["balanced", "loss", "node_entropy"]))
def test_all_transformations_come_once_in_ascending_order(
    problem: tuple[Lattice, Tuples], objective: Cost
) -> None:
    lattice, tuples = problem
    found = transformations(Taxonomy(lattice, tuples), lambda: 1, objective)
    assert sorted(found) == sorted(lattice.nodes())
    assert found[-1] == lattice.top
    if not tuples.records:
        return
    costs = [cost(lattice, tuples, node, objective) for node in found[:-1]]
    assert (np.diff(costs) >= -1e-9).all()


@pytest.mark.parametrize("work", [1, 1000, 20_000])
def test_work_is_bounded_and_spread(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lattice, tuples = random_problem(1, 5, 50)
    monkeypatch.setattr(ascending, "WORK", work)
    found = transformations(Taxonomy(lattice, tuples), lambda: 100)
    assert len(found) <= work // 100 + 2
    assert len(found) >= min(lattice.size, work // 100) // 2
    assert found[-1] == lattice.top
    assert len(set(found)) == len(found)


def test_levels_are_left_out_of_wide_lattices(monkeypatch: pytest.MonkeyPatch) -> None:
    lattice, tuples = random_problem(2, 6, 50)
    monkeypatch.setattr(ascending, "NODES", 100)
    found = transformations(Taxonomy(lattice, tuples), lambda: 1)
    assert 50 < len(found) <= 100
    assert found[0] == lattice.bottom
    assert found[-1] == lattice.top


@pytest.mark.parametrize("work", [1, 1000, 20_000, 100_000])
def test_runs_do_not_depend_on_what_becomes_of_the_units(
    work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lattice, tuples = random_problem(1, 5, 50)
    monkeypatch.setattr(ascending, "WORK", work)
    found = []
    for length in (1, 16):
        monkeypatch.setattr(ascending, "RUN", length)
        units = [100]
        nodes: list[Node] = []
        for run in ascending.affordable(Taxonomy(lattice, tuples), lambda units=units: units[0]):
            units[0] = max(units[0] - len(run), 1)
            nodes += run
        found.append(nodes)
    assert found[0] == found[1]
