from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.search.policies import Bits

Sublattice = tuple[Bits, Bits]


@st.composite
def sublattices(draw: st.DrawFn) -> tuple[int, list[Sublattice]]:
    """A length, and pairs of top and bottom, often wide enough to cover all policies together."""
    length = draw(st.integers(0, 6))
    literals = st.lists(st.sampled_from("01***"), min_size=length, max_size=length)
    found = draw(st.lists(literals, max_size=9))
    return length, [
        (np.array([c == "1" for c in own], bool), np.array([c != "0" for c in own], bool))
        for own in found
    ]


def contains(sublattice: Sublattice, policy: Bits) -> bool:
    top, bottom = sublattice
    return bool((top <= policy).all() and (policy <= bottom).all())


def policies(length: int) -> list[Bits]:
    return [np.array(bits, bool) for bits in product((False, True), repeat=length)]


@given(sublattices(), st.integers(0, 99))
@settings(deadline=None, max_examples=examples(400))
def test_outside_is_what_brute_force_says(problem: tuple[int, list[Sublattice]], seed: int) -> None:
    length, found = problem
    pruned = Pruned(length)
    for top, bottom in found:
        pruned.add(top, bottom)
    free = [p for p in policies(length) if not any(contains(one, p) for one in found)]
    assert [p.tolist() for p in policies(length) if not pruned.covers(p)] == [
        p.tolist() for p in free
    ]
    literals = pruned.outside(np.random.default_rng(seed))
    assert (literals is None) == (not free)
    if literals is not None:
        # whatever the other bits are
        for policy in policies(length):
            policy[list(literals)] = list(literals.values())
            assert not pruned.covers(policy)


def test_nothing_pruned_asks_for_nothing() -> None:
    assert Pruned(4).outside(np.random.default_rng(0)) == {}


def test_nothing_is_outside_of_everything() -> None:
    pruned = Pruned(4)
    pruned.add(np.zeros(4, bool), np.ones(4, bool))
    assert pruned.outside(np.random.default_rng(0)) is None


def test_asking_changes_nothing() -> None:
    pruned = Pruned(6)
    rng = np.random.default_rng(3)
    for _ in range(5):
        bottom = rng.random(6) < 0.7
        pruned.add(bottom & (rng.random(6) < 0.4), bottom)
    asked = [pruned.outside(np.random.default_rng(seed)) for seed in (1, 1, 2, 1)]
    assert asked[0] == asked[1] == asked[3]


@pytest.mark.parametrize("pruned_count", [1, 20, 200])
def test_few_bits_are_fixed(pruned_count: int) -> None:
    """A literal satisfies about half of the clauses that are left."""
    length, rng = 700, np.random.default_rng(pruned_count)
    pruned = Pruned(length)
    for _ in range(pruned_count):
        order, (low, high) = rng.permutation(length), sorted(rng.integers(0, length + 1, 2))
        top, bottom = np.zeros(length, bool), np.zeros(length, bool)
        top[order[:low]], bottom[order[:high]] = True, True
        pruned.add(top, bottom)
    literals = pruned.outside(rng)
    assert literals is not None
    assert 1 <= len(literals) <= 2 * np.log2(pruned_count) + 4
