"""The search under models over sensitive values, beside looking everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_problem, random_values, row_values
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Problem, exhaustive, explore
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.objectives import OBJECTIVES, under
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.full_domain.search.optimal import optimal
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MODELS, SensitiveModel
from dbdeid.privacy.common.histogram import Whole

DECLARED: list[dict[str, object]] = [
    {"model": "t_closeness", "t": 0.3},
    {"model": "t_closeness", "t": 0.2, "distance": "ordered"},
    {"model": "t_closeness", "t": 0.3, "distance": "hierarchical"},
    {"model": "basic_beta", "beta": 0.7},
    {"model": "enhanced_beta", "beta": 2},
    {"model": "alpha_k", "k": 2, "alpha": 0.5},
    {"model": "l_diversity", "l": 2, "kind": "entropy"},
    {"model": "l_diversity", "l": 2, "kind": "recursive", "c": 1.5},
    {"model": "delta_disclosure", "delta": 1.2},
    {"model": "em_anonymity", "epsilon": 1, "m": 2},
    {"model": "km_anonymity", "k": 3, "m": 1},
    {"model": "km_anonymity", "k": 2, "m": 2},
]
MADE: list[SensitiveModel] = [MODELS[str(d["model"])](column="illness", **d) for d in DECLARED]
NAMED = [f"{m.model} {getattr(m, 'distance', getattr(m, 'kind', ''))}".strip() for m in MADE]


class Unbounded(Sensitive):
    """The same without a bound on the parts of a class."""

    __slots__ = ()

    def most(self, sizes, entries):
        return sizes


def whole_of(values: Values, models) -> Whole:
    counts = np.bincount(values.value, values.count, values.cardinality).astype(np.int64)
    counts, size = np.maximum(counts, 1), len(counts)
    levels = (np.arange(size) // 2, np.zeros(size, np.int64))
    labels = map(str, range(size))
    if any(m.model == "km_anonymity" for m in models):  # some of three items, and the last of none
        labels = (";".join(f"i{b}" for b in range(3) if (~i >> b) & 1) for i in range(size))
    return Whole(counts, int(counts.sum()), tuple(labels), levels)


def searched(lattice, tuples, models, k, share, kind=Sensitive, objective="loss", **options):
    condition = kind(("illness",), tuple(models), whole_of(tuples.values[0], models))
    rule = Rule(max(k, *(m.smallest_class for m in models)), conditions=(condition,))
    parameters = Parameters(rule, tuple(models), None, None)
    limit = int(share * tuples.records)
    tally = OBJECTIVES[objective].tally
    checker = NumpyChecker(lattice, tuples, rule, tally and tally(lattice, tuples))
    aim = under(rule, OBJECTIVES[objective])
    problem = Problem(lattice, tuples, checker, limit, aim, convex=parameters.convex)
    return explore(options.get("search", optimal), problem)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MADE, ids=NAMED)
@given(st.data(), problems(), st.integers(1, 4), st.sampled_from([0, 0, 0.1, 0.3, 0.6]))
@settings(max_examples=examples(40), deadline=None)
def test_the_optimum_is_that_of_all_nodes(model, data, problem, k, share):
    lattice, tuples = problem
    tuples = replace(tuples, values=(data.draw(row_values(tuples.weights.tolist())),))
    others = data.draw(st.lists(st.sampled_from(MADE), max_size=1))
    objective = data.draw(st.sampled_from(["loss", "loss", "nonuniform_entropy", "ambiguity"]))
    asked = lattice, tuples, (model, *others), k, share
    everywhere = searched(*asked, Unbounded, objective, search=exhaustive)
    for kind in (Sensitive, Unbounded):
        found = searched(*asked, kind, objective)
        assert found.proven_optimal
        assert (found.node, found.score) == (everywhere.node, everywhere.score)


@pytest.mark.full
@pytest.mark.parametrize("model", MADE, ids=NAMED)
def test_bounds_change_nothing_but_the_checks(model):
    lattice, bare = random_problem(seed=4, width=4, rows=500)
    tuples = replace(bare, values=(random_values(bare, 6),))
    for share in (0.02, 0.2):
        bounded, unbounded = (
            searched(lattice, tuples, (model,), 3, share, kind) for kind in (Sensitive, Unbounded)
        )
        assert bounded.proven_optimal
        assert unbounded.proven_optimal
        assert bounded.node == unbounded.node


def test_fewer_checks_by_what_can_hold_of_a_class():
    lattice, bare = random_problem(seed=4, width=5, rows=1200)
    tuples = replace(bare, values=(random_values(bare, 6),))
    (model,) = (m for m in MADE if m.model == "enhanced_beta")
    bounded, unbounded = (
        searched(lattice, tuples, (model,), 3, 0.1, kind) for kind in (Sensitive, Unbounded)
    )
    assert bounded.node == unbounded.node
    assert 2 * bounded.checked < unbounded.checked


@pytest.mark.parametrize("name", ["optimal", "best_first", "flash", "lbs"])
def test_what_holds_apart_and_not_together_is_found(name):
    # 0 and 2 are not near each other, nor are 1 and 9; of all four, three are near 1
    (model,) = (m for m in MADE if m.model == "em_anonymity")
    groups = (np.arange(2, dtype=np.uint32), np.zeros(2, np.uint32))
    lattice = Lattice((Attribute("ward", groups, (np.zeros(2), np.ones(2))),))
    values = Values(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 9]), np.ones(4, np.int64), 10)
    tuples = Tuples((np.arange(2, dtype=np.uint16),), np.array([2, 2]), None, (values,))
    found = searched(lattice, tuples, (model,), 2, 0, search=SEARCHES[name])
    assert found.node == (0,)
    assert found.proven_optimal
