from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_problems import CounterChecker, problems, ruled_problems
from realdata import load
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.objectives import (
    COUNTING_CLASSES,
    OBJECTIVES,
    loss_of,
    metrics,
    score,
    sum_of_terms,
    under,
)
from dbdeid.lattice.rule import Rule

ARX_METRICS = {
    "createAECSMetric()": lambda check, values: values["average_class_size"],
    "createDiscernabilityMetric(false)": lambda check, values: values["discernibility"],
    "createDiscernabilityMetric(true)": lambda check, values: check.squares_all,
    "createHeightMetric()": lambda check, values: values["height"],
    # where nothing is suppressed: with suppression it is the other
    "createPrecisionMetric(true)": lambda check, values: (
        sum(level / height for level, height in zip(check.node, HEIGHTS, strict=True))
        / len(HEIGHTS)
    ),
}
HEIGHTS = (1, 4, 1, 2, 3, 2, 2, 1)


@pytest.mark.full
def test_the_node_values_are_those_of_arx(shared):
    entries = json.loads((shared / "oracle" / "arx_adult_k5_nodes.json").read_text())
    entries = [entry for entry in entries if entry["match"]]
    assert len(entries) == 99
    lattice, tuples = load(shared, "adult.csv", tuple(entries[0]["qis"]))
    checker = NumpyChecker(lattice, tuples, Rule(5))
    for entry in entries:
        check = checker.check(tuple(entry["node"]))
        value = ARX_METRICS[entry["metric"]](check, metrics(lattice, tuples, check))
        assert value == pytest.approx(entry["expected"], rel=1e-12), entry
        assert check.all_classes == entry["classes"]
        assert check.suppressed == entry["records_in_small_classes"]


def test_precision_is_that_of_arx_with_suppression(shared):
    entries = json.loads((shared / "oracle" / "arx_adult_k5_nodes.json").read_text())
    entries = [e for e in entries if e["metric"] == "createPrecisionMetric(false)"]
    lattice, tuples = load(shared, "adult.csv", tuple(entries[0]["qis"]))
    checker = NumpyChecker(lattice, tuples, Rule(5))
    assert len(entries) == 20
    for entry in entries:
        found = metrics(lattice, tuples, checker.check(tuple(entry["node"])))["precision"]
        assert found == pytest.approx(entry["expected"], rel=1e-12), entry


@given(problems(most_rows=15), st.integers(1, 6))
@settings(max_examples=examples(40), deadline=None)
def test_loss_is_the_mean_over_all_cells(problem, k):
    lattice, tuples = problem
    checker = CounterChecker(lattice, tuples, Rule(k))
    for node in list(lattice.nodes())[:20]:
        check = checker.check(node)
        assert loss_of(lattice, tuples, check) == pytest.approx(
            cell_by_cell(lattice, tuples, node, k), abs=1e-12
        )
        assert score(lattice, tuples, checker, node) == metrics(lattice, tuples, check)


def cell_by_cell(lattice, tuples, node, k):
    rows = np.repeat(np.array(tuples.codes).T, tuples.weights, axis=0)
    levels = [*zip(lattice.attributes, node, strict=True)]
    keys = [tuple(a.groups[n][v] for v, (a, n) in zip(r, levels, strict=True)) for r in rows]
    cells = [
        share * (a.loss[level][value] if keys.count(key) >= k else 1.0)
        for row, key in zip(rows, keys, strict=True)
        for value, (a, level), share in zip(row, levels, lattice.shares, strict=True)
    ]
    return sum(cells) / max(len(rows), 1)


@pytest.mark.parametrize("name", OBJECTIVES)
@given(ruled_problems())
@settings(max_examples=examples(40), deadline=None)
def test_no_node_scores_less_than_its_bounds(name, problem):
    lattice, tuples, rule = problem
    assume(not (rule.linked and OBJECTIVES[name] in COUNTING_CLASSES))
    objective, marginals = under(rule, OBJECTIVES[name]), tuples.marginals(lattice)
    terms = objective.terms(lattice, marginals)
    tally = objective.tally and objective.tally(lattice, tuples)
    checker = NumpyChecker(lattice, tuples, rule, tally)
    seen = []
    for node in list(lattice.nodes())[:: max(lattice.size // 40, 1)]:
        check, total = checker.check(node), sum_of_terms(lattice, terms, node)
        known = objective.known(np.array([total]), tuples.records)
        seen.append((check, known, objective.score(total, check, tuples.records)))
    slack = 1 - 1e-12  # of the sums
    for u, known, value in seen:
        assert value >= known[0] * slack
        for v, known_v, value_v in seen:
            if objective.below and all(b <= a for a, b in zip(u.node, v.node, strict=True)):
                charged = objective.charged(u.below, tuples.records)
                bound = objective.below(known_v, u.below.records, charged, tuples.records)
                assert value_v >= bound[0] * slack
            if objective.above and all(b >= a for a, b in zip(u.node, v.node, strict=True)):
                assert value_v >= objective.above(u, tuples.records) * slack
