"""The largest part of a class that can hold, by trying all parts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MODELS, SensitiveModel
from dbdeid.privacy.common import largest
from dbdeid.privacy.common.histogram import Histogram, Whole

DECLARED: dict[str, list[dict[str, object]]] = {
    "t_closeness": [
        {"t": t, "distance": distance}
        for t in (0, 0.1, 0.25, 0.5, 1)
        for distance in ("equal", "ordered", "hierarchical")
    ],
    "basic_beta": [{"beta": 0.2}, {"beta": 0.5}, {"beta": 2}],
    "enhanced_beta": [{"beta": 0.2}, {"beta": 1}, {"beta": 4}],
    "alpha_k": [
        {"k": 1, "alpha": 0.3},
        {"k": 2, "alpha": 0.5},
        {"k": 3, "alpha": 2 / 3, "values": ["0", "2"]},
    ],
    "l_diversity": [
        {"l": 2, "kind": "entropy"},
        {"l": 2.5, "kind": "entropy"},
        {"l": 2, "kind": "recursive", "c": 1},
        {"l": 2, "kind": "recursive", "c": 2.5},
        {"l": 3, "kind": "recursive", "c": 0.7},
        {"l": 3},
    ],
    "delta_disclosure": [{"delta": 0.5}, {"delta": 1}, {"delta": 3}],
    "km_anonymity": [
        {"k": k, "m": m, "separator": s} for k in (2, 3, 5) for m in (1, 2) for s in ";|"
    ],
    "em_anonymity": [{"epsilon": 0, "m": 2}, {"epsilon": 1, "m": 2}, {"epsilon": 1, "m": 3}],
}


def entries_of(table: np.ndarray) -> tuple[np.ndarray, Entries]:
    """Classes given by their counts of each value, one a row, none empty."""
    of_class, value = np.nonzero(table)
    return table.sum(axis=1), Entries(of_class, value, table[of_class, value])


@st.composite
def classes(draw: st.DrawFn) -> tuple[Whole, np.ndarray]:
    """A source and two classes of it."""
    values = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 4), min_size=values, max_size=values).filter(any)
    table = np.array([draw(row), draw(row)], np.int64)
    counts = np.maximum(table.sum(axis=0), 1) + np.array(
        draw(st.lists(st.integers(0, 6), min_size=values, max_size=values)), np.int64
    )
    groups = np.array(draw(st.lists(st.integers(0, 1), min_size=values, max_size=values)))
    groups = np.unique(groups, return_inverse=True)[1]
    missing = None
    if values > 1 and draw(st.booleans()):
        missing = np.arange(values) == values - 1
    # numbers, and items with | between them
    texts = ("0", "0|1", "1|2", "2")
    labels = (*texts[: values - 1], None if missing is not None else "9|0")
    if draw(st.booleans()):
        labels = (*map(str, range(values - 1)), None if missing is not None else "9")
    levels = (groups, np.zeros(values, np.int64))
    return Whole(counts, int(counts.sum()), labels, levels, missing), table


def models(name: str) -> list[SensitiveModel]:
    return [MODELS[name](model=name, column="illness", **d) for d in DECLARED[name]]


@pytest.mark.parametrize("name", DECLARED)
@given(classes())
@settings(max_examples=examples(120), deadline=None)
def test_no_part_of_a_class_that_holds_is_larger(name, made):
    whole, table = made
    asked = [Sensitive(("illness",), (model,), whole) for model in models(name)]
    for model, condition in zip(models(name), asked, strict=True):
        bounds = condition.most(*entries_of(table))
        for row, bound in zip(table, bounds, strict=True):
            parts = np.array([*product(*(range(n + 1) for n in row))], np.int64)
            parts = parts[parts.any(axis=1)]
            sizes, entries = entries_of(parts)
            holds, could = condition(sizes, entries)
            assert sizes[holds].max(initial=0) <= bound, model.declared
            # what is necessary stays, and what holds as a whole is all of it
            assert could[-1] or not could.any()
            assert bound == row.sum() or not holds[-1]


@pytest.mark.parametrize("name", [name for name in DECLARED if name != "em_anonymity"])
@given(classes())
@settings(max_examples=examples(60), deadline=None)
def test_classes_that_hold_make_a_class_that_holds(name, made):
    whole, table = made
    both = np.concatenate([table, table.sum(axis=0, keepdims=True)])
    for model in models(name):
        holds = Sensitive(("illness",), (model,), whole)(*entries_of(both))[0]
        assert holds[2] or not holds[:2].all(), model.declared


def test_proximity_is_not_so():
    # 0 and 2 are not near each other, and both are near to 1
    whole = Whole(np.array([1, 1, 1, 1]), 4, ("0", "1", "2", "9"))
    (model,) = (m for m in models("em_anonymity") if m.declared["m"] == 2 and m.declared["epsilon"])
    table = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])
    assert Sensitive(("illness",), (model,), whole)(*entries_of(table))[0].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("name", "declared", "counts", "most"),
    [
        # 3 others allow 3 of one value
        ("alpha_k", {"k": 1, "alpha": 0.5}, [9, 2, 1, 0], 6),
        # (1 - 0.25) n ≤ 2 + n / 4
        ("t_closeness", {"t": 0.25}, [9, 2, 0, 0], 0),
        ("t_closeness", {"t": 0.5}, [9, 2, 0, 0], 8),
        # of 4 subjects, 3 first and 1 last: 1/2 + 1/4 + 0 of a place
        ("t_closeness", {"t": 0.25, "distance": "ordered"}, [9, 0, 0, 1], 4),
        ("basic_beta", {"beta": 1}, [9, 2, 1, 0], 6),
        # 4 of one value are 2 · 2, which is one too many: that the comparison is strict is not used
        ("l_diversity", {"l": 2, "kind": "recursive", "c": 2}, [9, 1, 1, 0], 6),
        ("l_diversity", {"l": 3, "kind": "entropy"}, [9, 1, 1, 0], 3),
        ("delta_disclosure", {"delta": 1}, [9, 1, 1, 1], 6),
        ("em_anonymity", {"epsilon": 1, "m": 2}, [4, 5, 1, 1], 4),
        ("km_anonymity", {"k": 2, "m": 1}, [4, 5, 1, 2], 11),
        ("km_anonymity", {"k": 5, "m": 1}, [4, 1, 1, 2], 0),
    ],
)
def test_by_hand(name, declared, counts, most):
    whole = Whole(np.array([10, 10, 10, 10]), 40, ("0", "1", "2", "3"))
    model = MODELS[name](model=name, column="illness", **declared)
    condition = Sensitive(("illness",), (model,), whole)
    assert condition.most(*entries_of(np.array([counts]))).tolist() == [most]


@pytest.mark.parametrize("values", [9, 70])
def test_values_in_order_are_counted_in_a_table_or_not(values, monkeypatch):
    rng = np.random.default_rng(values)
    table = rng.integers(0, 3, (20, values)) * (rng.random((20, values)) < 0.2)
    table[:, 0] += 1
    counts = table.sum(axis=0) + 5
    whole = Whole(counts, int(counts.sum()), tuple(map(str, range(values))))
    model = MODELS["t_closeness"](model="t_closeness", column="illness", t=0.1, distance="ordered")
    condition = Sensitive(("illness",), (model,), whole)
    found = condition.most(*entries_of(table))
    assert found.min() < table.sum(axis=1).max()
    monkeypatch.setattr(largest, "TABLE", 0)
    assert condition.most(*entries_of(table)).tolist() == found.tolist()


def test_classes_are_bounded_each_alone():
    whole = Whole(np.array([10, 20, 30]), 60, ("0", "1", "2"))
    table = np.array([[5, 1, 0], [1, 2, 3], [0, 0, 7], [4, 4, 1]])
    for name in DECLARED:
        for model in models(name):
            if getattr(model, "distance", "") == "hierarchical":
                continue  # there is no hierarchy
            condition = Sensitive(("illness",), (model,), whole)
            alone = [int(condition.most(*entries_of(row[None]))[0]) for row in table]
            assert condition.most(*entries_of(table)).tolist() == alone
            sizes, entries = entries_of(table)
            some = np.array([0, 3])
            part = entries.of_classes(some)
            assert Histogram(sizes[some], part.of_class, part.value, part.count, whole).classes == 2
            assert condition.most(sizes[some], part).tolist() == [alone[0], alone[3]]
