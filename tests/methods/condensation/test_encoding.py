from __future__ import annotations

import numpy as np
import pytest

from dbdeid.data.records import Attribute, Records
from dbdeid.methods.condensation.encoding import encode, weigh

NONE = np.nan


def of(*attributes: Attribute, response: int | None = None) -> Records:
    return Records(attributes, np.zeros(len(attributes[0].values), np.int64), response)


def test_dummies_indicators_and_medians() -> None:
    records = of(
        Attribute("number", np.array([1.0, 2.0, 9.0, 4.0])),
        Attribute("two", np.array([0.0, 3.0, 3.0, 0.0]), 4),
        Attribute("three", np.array([0.0, 1.0, 2.0, 1.0]), 3),
        Attribute("gaps", np.array([NONE, 1.0, 3.0, 8.0])),
        Attribute("constant", np.full(4, 7.0)),
        Attribute("one", np.full(4, 2.0), 5),
        Attribute("none", np.full(4, NONE)),
        Attribute("same or none", np.array([5.0, 5.0, NONE, NONE])),
    )
    encoded = encode(records, np.arange(4))
    plain = encoded.points * encoded.deviation + encoded.mean
    expected = [
        [1, 2, 9, 4],
        [0, 1, 1, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 1],
        [0, 0, 1, 0],
        [3, 1, 3, 8],
        [1, 0, 0, 0],
        [0, 0, 1, 1],
    ]
    assert np.allclose(plain.T, expected)
    assert np.allclose(encoded.points.mean(axis=0), 0)
    assert np.allclose(encoded.points.std(axis=0), 1)
    assert [block.columns for block in encoded.blocks] == [
        (0,), (1,), (2, 3, 4), (5,), (), (), (), ()
    ]  # fmt: skip
    assert [block.missing for block in encoded.blocks] == [None] * 3 + [6] + [None] * 3 + [7]


def test_scaling_is_that_of_the_stratum() -> None:
    values = np.array([1.0, 3.0, 100.0, 300.0])
    encoded = encode(of(Attribute("x", values)), np.array([2, 3]))
    assert encoded.points.tolist() == [[-1.0], [1.0]]
    assert (encoded.mean, encoded.deviation) == ([200.0], [100.0])


def test_the_response_weighs_w_and_all_others_together_the_rest() -> None:
    rng = np.random.default_rng(0)
    records = of(
        Attribute("other", rng.normal(size=500)),
        Attribute("time", rng.lognormal(sigma=2, size=500)),
        Attribute("four", rng.integers(0, 4, 500).astype(float), 4),
        response=1,
    )
    encoded = encode(records, np.arange(500))
    for scale in ("rank", "z"):
        points = weigh(encoded, records, 0.3, scale, 1)  # type: ignore[arg-type]
        assert points.var(axis=0) == pytest.approx([0.7 / 5, 0.3, *[0.7 / 5] * 4])
    ranks = weigh(encoded, records, 0.3, "rank", 1)[:, 1]
    assert np.array_equal(np.argsort(ranks), np.argsort(records.attributes[1].values))
    assert np.ptp(np.diff(np.sort(ranks))) < 1e-12
    assert weigh(encoded, records, 0.3, "rank", None).var(axis=0) == pytest.approx([1.0] * 6)


def test_equal_times_share_their_rank() -> None:
    records = of(Attribute("time", np.array([5.0, 1.0, 5.0, 70.0])), response=0)
    points = weigh(encode(records, np.arange(4)), records, 0.3, "rank", 0)
    ranks = np.array([2.5, 1, 2.5, 4])
    assert points[:, 0] == pytest.approx((ranks - 2.5) / ranks.std())


def test_declared_weights_multiply_all_columns_of_an_attribute() -> None:
    values = np.array([0.0, 1.0, 2.0, NONE, 5.0])
    plain, heavy = (of(Attribute("x", values, weight=w), Attribute("y", values)) for w in (1, 3))
    one, other = (
        weigh(encode(records, np.arange(5)), records, 0.5, "z", 0) for records in (plain, heavy)
    )
    assert np.allclose(other, one * [3, 3, 1, 1])
