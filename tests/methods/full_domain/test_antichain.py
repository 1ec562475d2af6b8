from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.methods.full_domain.search.antichain import Antichain


def at_most(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True))


def covered(side, node, members):
    if side == "above":
        return any(at_most(member, node) for member in members)
    return any(at_most(node, member) for member in members)


def extreme(side, nodes):
    """The nodes that no other one covers."""
    return {n for n in nodes if not covered(side, n, nodes - {n})}


def prefixes(nodes):
    return {n[:length] for n in nodes for length in range(1, len(n) + 1)}


@st.composite
def insertions(draw):
    width = draw(st.integers(1, 4))
    node = st.tuples(*[st.integers(0, draw(st.integers(0, 4)))] * width)
    return draw(st.lists(node, max_size=30)), draw(st.lists(node, min_size=1, max_size=20))


@pytest.mark.parametrize("side", ["above", "below"])
@given(insertions())
@settings(deadline=None)
def test_it_is_the_extremes_of_what_was_inserted(side, problem):
    inserted, asked = problem
    antichain = Antichain(side)
    seen = set()
    for node in inserted:
        assert antichain.add(node) == (not covered(side, node, seen))
        seen.add(node)
        members = extreme(side, seen)
        assert sorted(antichain) == sorted(members)
        assert len(antichain) == len(members)
        assert antichain.size == len(prefixes(members))
        for other in [*asked, *inserted]:
            assert antichain.covers(other) == covered(side, other, seen)
            assert (other in antichain) == (other in members)


@pytest.mark.parametrize("side", ["above", "below"])
def test_an_empty_one_covers_nothing(side):
    antichain = Antichain(side)
    assert not antichain.covers((0, 0))
    assert (len(antichain), antichain.size, [*antichain]) == (0, 0, [])


def test_it_is_what_it_was_made_of():
    nodes = [(2, 0), (0, 2), (1, 1), (2, 2)]
    assert sorted(Antichain("above", nodes)) == [(0, 2), (1, 1), (2, 0)]
    assert [*Antichain("below", nodes)] == [(2, 2)]
