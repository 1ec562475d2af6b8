"""Means and covariances of clusters, against the same with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column
from dbdeid.utility.fidelity.cluster_moments import cluster_moments

COLUMNS = (Column("age", "DOUBLE"), Column("sex", "VARCHAR"), Column("seen", "DATE"))


def rows(cluster: int, side: str, ages: Any, days: Any) -> list[tuple[Any, ...]]:
    dates = np.datetime64("2020-01-01") + np.asarray(days)
    return [
        (cluster, side, [str(age), "f", str(date)], 1)
        for age, date in zip(ages, dates, strict=True)
    ]


def test_both_sides_are_compared_as_numpy_does() -> None:
    rng = np.random.default_rng(3)
    sides = {
        (c, side): (rng.normal(50 + 9 * c, 7, 30).round(3), rng.integers(0, 400, 30))
        for c in range(3)
        for side in ("source", "released")
    }
    told = [row for (c, side), cells in sides.items() for row in rows(c, side, *cells)]
    with Session.open(None, read_only=False) as session:
        columns = zip(*told, strict=True)
        from dbdeid.engine import arrow

        names = ("cluster", "side", "record", "records")
        own = dict(zip(names, map(list, columns), strict=True))
        own["record"] = arrow.lists(own["record"])
        own |= {n: np.array(own[n]) for n in ("cluster", "records")}
        found = cluster_moments(session, session.upload("clusters", own), COLUMNS)
    source = np.hstack([np.stack(sides[c, "source"]) for c in range(3)])
    centre, spread = source.mean(axis=1), source.std(axis=1)

    def of(c: int, side: str) -> tuple[Any, Any]:
        z = (np.stack(sides[c, side]) - centre[:, None]) / spread[:, None]
        return z.mean(axis=1), np.cov(z, bias=True)[np.triu_indices(2)]

    pairs = [(of(c, "released"), of(c, "source")) for c in range(3)]
    means = np.sqrt(np.mean([(a[0] - b[0]) ** 2 for a, b in pairs]))
    covariances = np.sqrt(np.mean([(a[1] - b[1]) ** 2 for a, b in pairs]))
    assert found is not None
    assert found.means == pytest.approx(means, rel=1e-9)
    assert found.covariances == pytest.approx(covariances, rel=1e-9)


def test_nothing_is_measured_of_names() -> None:
    with Session.open(None, read_only=False) as session:
        table = session.upload("clusters", {"cluster": np.array([0])})
        assert cluster_moments(session, table, COLUMNS[1:2]) is None
