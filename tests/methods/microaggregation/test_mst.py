"""Minimum spanning trees: the cuts by brute force, groups of the promised size, and clumps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds import as_points, cloud, columns, few_values, members, plain_mdav, plain_mst, sse
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.data.records import Attribute
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import Points, points_of
from dbdeid.methods.microaggregation.mst import mst, trees


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_trees_and_groups_are_those_of_brute_force(k: int, seed: int) -> None:
    points = cloud(seed, 45)
    rows = columns(points)
    expected = plain_mst(rows, k)
    assert sorted(tuple(ids) for ids in trees(points, k)) == sorted(map(tuple, expected))
    groups = []
    for tree in expected:
        parts = plain_mdav(rows[tree], k) if len(tree) >= 2 * k else [range(len(tree))]
        groups += [[tree[i] for i in part] for part in parts]
    assert members(points, mst(points, k)) == as_points(points, groups)


@given(points=few_values(), k=st.integers(1, 8))
def test_every_record_is_in_one_group_of_k_to_twice_as_many(points: Points, k: int) -> None:
    k = min(k, int(points.records.sum()))
    done: list[int] = []
    found = mst(points, k, done.append)
    assert np.bincount(found.point, found.records).tolist() == list(points.records)
    assert found.sizes.min() >= k
    assert found.sizes.max() < 2 * k
    assert sorted(set(found.group)) == list(range(found.number))
    assert done[-1] == points.records.sum()


def test_it_finds_clumps_that_groups_of_one_size_cut() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(3, 6, 60)
    at = rng.uniform(0, 1000, (60, 2)).repeat(sizes, axis=0)
    at += rng.normal(0, 0.05, at.shape)
    points = points_of([Attribute(f"x{i}", at[:, i]) for i in range(2)], np.ones(len(at), np.int64))
    rows = columns(points)
    found = members(points, mst(points, 3))
    assert sorted(len(group) for group in found) == sorted(sizes)
    by_tree, by_mean = (
        sse(rows, [list(group) for group in members(points, make(points, 3))])
        for make in (mst, mdav)
    )
    assert by_tree < 0.001 * by_mean


def test_the_loss_on_the_tables_of_the_literature_is_as_it_was(shared: Path) -> None:
    import duckdb

    path = shared / "data/sdc/sdc_tarragona.parquet"
    found = duckdb.sql(f"FROM '{path}'").fetchnumpy()
    attributes = [Attribute(n, np.asarray(v, np.float64)) for n, v in found.items()]
    points = points_of(attributes, np.ones(834, np.int64))
    rows = columns(points)
    for k, expected in ((3, 16.69), (5, 24.50), (10, 38.42)):
        groups = [list(group) for group in members(points, mst(points, k))]
        assert 100 * sse(rows, groups) / float((rows**2).sum()) == pytest.approx(
            expected, abs=0.005
        )
