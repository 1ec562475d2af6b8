from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cells import cells, random_cells
from tiers import examples

from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain, Floats, Ints, Measure
from dbdeid.methods.policy.search.monotone import violations
from dbdeid.methods.policy.search.policies import Cells, Gauge


@pytest.mark.full
@given(
    cells(),
    st.sampled_from([*RISKS.values()]),
    st.sampled_from([*LOSSES.values()]),
    st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=examples(150))
def test_our_own_measures_are_monotone(
    found: Cells, risk: Measure, loss: Measure, seed: int
) -> None:
    assert not [*violations(Gauge(found, risk, loss), np.random.default_rng(seed), 2)]


def mean_people(records: Ints, people: Ints) -> Floats:
    return -people.astype(np.float64) * records


def odd_width(records: Ints, width: Ints, domain: Domain) -> Floats:
    return records * (width % 2)


# what it says of the bottom and the top is in order, so that only the merges tell
WAVERING = Measure("wavering", of_cells=LOSSES["discernibility"].of_cells, of_intervals=odd_width)


@pytest.mark.parametrize(
    ("risk", "loss", "names"),
    [
        (RISKS["population"], Measure("falling", of_cells=mean_people), {"falling"}),
        (LOSSES["discernibility"], LOSSES["kl"], {"discernibility"}),
        (RISKS["uniques"], replace(RISKS["uniques"], name="uniques as a loss"), None),
        (RISKS["population"], Measure("odd", of_intervals=odd_width), {"odd"}),
        (RISKS["population"], WAVERING, {"wavering"}),
    ],
    ids=["a loss falls", "a risk rises", "a risk for a loss", "both ways", "now and then"],
)
def test_others_are_caught(risk: Measure, loss: Measure, names: set[str] | None) -> None:
    sizes = (7, 5, 3)
    gauge = Gauge(random_cells(np.random.default_rng(1), sizes, 60), risk, loss)
    found = [*violations(gauge, np.random.default_rng(2))]
    assert {violation.measure for violation in found} == (names or {"uniques as a loss"})
    for violation in found:
        size = dict(zip(("a0", "a1", "a2"), sizes, strict=True))[violation.attribute]
        assert 0 <= violation.cut < size - 1
        rises = violation.after > violation.before
        assert rises == (violation.measure == risk.name)


def test_the_first_is_told_where_it_is() -> None:
    gauge = Gauge(
        random_cells(np.random.default_rng(3), (1, 2), 30),
        loss=Measure("odd", of_intervals=odd_width),
    )
    first = next(violations(gauge, np.random.default_rng(4)))
    # a0 has one value: its interval stays odd
    assert (first.attribute, first.cut, first.before, first.after) == ("a1", 0, 60.0, 30.0)
