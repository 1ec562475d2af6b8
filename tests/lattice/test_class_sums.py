"""Non-uniform entropy, ambiguity and divergence: record by record, by hand, and as ARX has them."""

from __future__ import annotations

from collections import Counter
from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from random_problems import RecordChecker, ruled_problems
from realdata import load
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.class_sums import bits_at_the_top, bits_lost
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.objectives import OBJECTIVES, score_of
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples

NAMES = ("nonuniform_entropy", "ambiguity", "kl_divergence")


def found(name, lattice, tuples, rule, node):
    objective = OBJECTIVES[name]
    checker = NumpyChecker(lattice, tuples, rule, objective.tally(lattice, tuples))
    return score_of(objective, lattice, tuples, checker.check(node))


def judged(lattice, tuples, rule, node):
    """The three numbers from their definitions, a record at a time."""
    released = RecordChecker(lattice, tuples, rule).released(node)
    rows = [tuple(row) for row in np.repeat(np.array(tuples.codes).T, tuples.weights, axis=0)]
    total = len(rows)
    lost = bits = ambiguity = divergence = 0.0
    own, classes = Counter(rows), Counter(key for key, stays in released if stays)
    counts = [Counter(row[i] for row in rows) for i in range(len(node))]
    for row, (key, stays) in zip(rows, released, strict=True):
        tuples_meant = 1.0
        levels = zip(lattice.attributes, node, lattice.shares, strict=True)
        for i, (a, level, share) in enumerate(levels):
            group = a.groups[level]
            inside = sum(n for value, n in counts[i].items() if group[value] == group[row[i]])
            lost += share * log2((inside if stays else total) / counts[i][row[i]])
            bits += share * log2(total / counts[i][row[i]])
            tuples_meant *= a.size(level)[row[i]] if stays else a.domain
        ambiguity += tuples_meant / total
        alike = classes[key] if stays else total - classes.total()
        divergence += log((own[row] / total) / (alike / total / tuples_meant)) / total
    return {
        "nonuniform_entropy": lost / (bits or 1),
        "ambiguity": ambiguity if total else 1.0,
        "kl_divergence": divergence,
    }


@given(ruled_problems(most_rows=15))
@settings(max_examples=examples(80), deadline=None)
def test_a_score_is_what_its_definition_says(problem):
    lattice, tuples, rule = problem
    for node in [*lattice.nodes()][:: max(lattice.size // 6, 1)]:
        expected = judged(lattice, tuples, rule, node)
        for name in NAMES:
            assert found(name, lattice, tuples, rule, node) == pytest.approx(
                expected[name], rel=1e-9, abs=2e-12
            )
            assert expected[name] >= -1e-12


# Eight people: (sex, decade) with sex -> *, and decades 20, 30 -> "young", 40, 50 -> "old" -> *.
# 20f 20f 20m 30m 40f 40f 40m 50m; at (*, half) every half holds four.
SEX = (np.array([0, 1]), np.array([0, 0]))
AGE = (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4))
PEOPLE = [(0, 0, 2), (1, 0, 1), (1, 1, 1), (0, 2, 2), (1, 2, 1), (1, 3, 1)]


def people():
    def attribute(name, levels):
        groups = tuple(np.asarray(level, np.uint32) for level in levels)
        size = len(groups[0])
        return Attribute(name, groups, tuple((np.bincount(g)[g] - 1) / (size - 1) for g in groups))

    sex, age, weights = (np.array(column, np.int64) for column in zip(*PEOPLE, strict=True))
    tuples = Tuples((sex.astype(np.uint16), age.astype(np.uint16)), weights)
    return Lattice((attribute("sex", SEX), attribute("age", AGE))), tuples


def test_the_metrics_by_hand():
    """Sex holds 1 bit a record, age 6/8·log2(8/3) + 2/8·log2(8/1) = 1.811278 bits.

    At (*, half) the sex is gone, 8 bits, and of the age .811278 bits a record, 6.490225 in all:
    14.490225 of 8 + 14.490225 = 22.490225 bits.
    A record stands for 2 · 2 of the 8 tuples.
    Divergence: (4 ln 2 - 2 · 4 ln 4 + 8 ln 4) / 8 = ln 2 / 2.
    """
    lattice, tuples = people()
    assert bits_at_the_top(lattice, tuples.marginals(lattice)) * 2 == pytest.approx(22.490225)
    expected = {"nonuniform_entropy": 0.644290, "ambiguity": 4, "kl_divergence": log(2) / 2}
    for name, value in expected.items():
        assert found(name, lattice, tuples, Rule(4), (1, 1)) == pytest.approx(value, abs=1e-6)


def test_suppression_by_hand():
    """At (0, 1) the classes are young f 2, young m 2, old f 2, old m 2; k = 3 suppresses all.

    At (0, 0) with k = 2 the four records alone in their class are suppressed: their sexes lose
    1 bit each, the two of age 20 and 40 log2(8/3) and those of 30 and 50 log2(8) bits, 12.830075
    of 22.490225. Four records stand for one tuple, four for 8: 36/8.
    Divergence: the pool has 4 records over 8 tuples: (4 · ln(1/8 / (4/8 / 8))) / 8 = ln 2 / 2.
    """
    lattice, tuples = people()
    for name, all_lost in (("nonuniform_entropy", 1), ("ambiguity", 8)):
        assert found(name, lattice, tuples, Rule(3), (0, 1)) == pytest.approx(all_lost)
    # ln 8 less the entropy of the source: 2 · 1/4 · ln 4 + 4 · 1/8 · ln 8
    assert found("kl_divergence", lattice, tuples, Rule(3), (0, 1)) == pytest.approx(log(2) / 2)
    expected = {"nonuniform_entropy": 0.570473, "ambiguity": 4.5, "kl_divergence": log(2) / 2}
    for name, value in expected.items():
        assert found(name, lattice, tuples, Rule(2), (0, 0)) == pytest.approx(value, abs=1e-6)


def test_nothing_is_lost_at_the_bottom():
    lattice, tuples = people()
    values = [found(name, lattice, tuples, Rule(1), lattice.bottom) for name in NAMES]
    assert values == [0, 1, 0]


ADULT = (
    *("sex", "age", "race", "marital-status"),
    *("education", "native-country", "workclass", "salary-class"),
)
ARX = {  # its test of non-uniform entropy on Adult, 8 attributes, k = 5, in bits
    (0, 0, 0, 0, 0, 0, 0, 0): 268778.22471939825,
    (0, 1, 0, 1, 0, 2, 1, 1): 199996.96695661292,
    (0, 2, 0, 2, 3, 2, 2, 1): 331905.60100801825,
    (0, 4, 1, 2, 3, 2, 0, 1): 385895.4270913376,
    (1, 4, 1, 1, 2, 2, 2, 1): 392857.38858687796,
    (1, 4, 1, 2, 3, 2, 2, 1): 455884.9365769584,
}


def test_the_bits_are_those_of_arx(shared):
    """ARX adds to the bits of generalization the entropy of the suppressed groups among the
    suppressed; we add what they are away from `*`. Both follow from the same groups.
    """
    lattice, tuples = load(shared, "adult.csv", ADULT)
    marginals = tuples.marginals(lattice)
    whole = bits_at_the_top(lattice, marginals)
    terms = bits_lost(lattice, marginals)
    bits = len(ADULT) * whole  # the shares are an eighth each
    assert bits == pytest.approx(ARX[lattice.top], rel=1e-12)
    for node, expected in ARX.items():
        generalized = bits * sum(t[level] for t, level in zip(terms, node, strict=True))
        kept = NumpyChecker(lattice, tuples, Rule(5)).kept(node)
        lost = tuples.weights * ~kept
        pool = 0.0
        for attribute, codes, level in zip(lattice.attributes, tuples.codes, node, strict=True):
            inside = np.bincount(attribute.groups[level][codes], lost)
            inside = inside[inside > 0]
            pool += float((inside * np.log2(inside.sum() / inside)).sum()) if len(inside) else 0
        assert generalized + pool == pytest.approx(expected, rel=1e-12)
