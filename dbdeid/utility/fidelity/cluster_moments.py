"""Moments of clusters: how far the means and covariances of synthetic records are from those of the
records that they were drawn from, cluster by cluster.

Numbers, dates and timestamps are taken in standard deviations of the source, a missing one as its
mean.
`means` is the root mean square, over clusters and columns, of the difference of the two means,
`covariances` that of the difference of the two covariances of two columns (or of one with itself),
clusters counting by their records. Draws alone bring about 1/√n of what a cluster of n spreads. The
audit of condensation's step that draws (Gal et al. 2014, algorithm 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    case,
    coalesce,
    column,
    function,
    greatest_of,
    is_null,
    literal,
    null_if,
    paren,
    select,
    sum_of,
)
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.utility.common.metric import Metric, Words
from dbdeid.utility.fidelity.conditional_privacy import number_of

METRIC = Metric(
    "cluster_moments",
    Words(
        "Moments of clusters",
        "How far the means, or the covariances, of the synthetic records of a cluster are from "
        "those of its original ones, as a root mean square over clusters and columns, in standard "
        "deviations of the source. Drawing alone brings about 1/√k of what a cluster spreads.",
        "0 (kept exactly) upward",
        "lower",
    ),
    families=("synthetic",),
)


MOMENTS = "deid_cluster_moments"


@dataclass(frozen=True, slots=True)
class ClusterMoments:
    """How far the synthetic records of clusters are from the original ones.

    Attributes:
        means: in standard deviations of the source.
        covariances: in products of two.
    """

    means: float
    covariances: float


def cluster_moments(
    session: Session, clusters: Relation, columns: Sequence[Column]
) -> ClusterMoments | None:
    """Compare both sides of every cluster; None where no column is measured.

    Args:
        session: sees the table.
        clusters: `cluster`; `side`, source or released; `record`, its cells as text; `records`,
            how many of them the cluster has.
        columns: of the cells, in their order.
    """
    measured = [i for i, c in enumerate(columns) if c.family in MEASURED]
    if not measured:
        return None
    table = session.run(moments_step(clusters, columns))
    rows = session.arrays(select("*").from_(table.table).order_by("side", "cluster"))
    session.drop_temp(table.name)
    half = len(rows["cluster"]) // 2
    weights = rows["records"][half:].astype(np.float64)  # of the source, which sorts last
    pairs = _pairs(len(measured))
    means = [_halves(rows[f"m{i}"], half) for i in range(len(measured))]
    products = {pair: _halves(rows[f"q{pair[0]}_{pair[1]}"], half) for pair in pairs}
    of_means = [drawn - own for drawn, own in means]
    of_covariances = [
        (products[i, j][0] - means[i][0] * means[j][0])
        - (products[i, j][1] - means[i][1] * means[j][1])
        for i, j in pairs
    ]
    return ClusterMoments(_root(of_means, weights), _root(of_covariances, weights))


def moments_step(clusters: Relation, columns: Sequence[Column]) -> Step:
    """Size, means (m0, …) and mean products (q0_0, …) of each side of each cluster."""
    measured = [(i, c) for i, c in enumerate(columns) if c.family in MEASURED]
    cells = select("cluster", "side", "records").from_(clusters.table)
    for n, (place, c) in enumerate(measured):
        text = function("list_extract", column("record"), literal(place + 1))
        cells = cells.select(aliased(number_of(text, c), f"x{n}"))
    # centred on the source, whose mean and deviation are no constants of a statement that is logged
    known = select(
        *(aliased(_average(f"x{n}"), f"a{n}") for n in range(len(measured))),
        *(aliased(_average(f"x{n}", f"x{n}"), f"b{n}") for n in range(len(measured))),
    )
    known = known.from_("cells").where(column("side").eq(literal("source")))
    scaled = select("cluster", "side", "records").from_("cells").join("known", join_type="cross")
    for n in range(len(measured)):
        mean, square = column(f"a{n}"), column(f"b{n}")
        variance = greatest_of(square - mean * mean, literal(0))
        spread = function("sqrt", variance)
        value = paren(column(f"x{n}") - mean.copy()) / null_if(spread, literal(0))
        whole = coalesce(value, literal(0))
        scaled = scaled.select(aliased(whole, f"z{n}"))
    query = select("cluster", "side", aliased(sum_of(column("records")), "records"))
    query = query.select(
        *(aliased(_average(f"z{n}"), f"m{n}") for n in range(len(measured))),
        *(aliased(_average(f"z{i}", f"z{j}"), f"q{i}_{j}") for i, j in _pairs(len(measured))),
    )
    query = query.from_("scaled").group_by("cluster", "side")
    for name, part in (("cells", cells), ("known", known), ("scaled", scaled)):
        query = query.with_(name, as_=part)
    return Step(MOMENTS, query)


def _average(*names: str) -> Expr:
    """The mean of a product over the records that have it; a row stands for several."""
    product: Expr = column("records")
    for name in names:
        product = product * column(name)
    missing = is_null(column(names[0]))
    known = case((missing, literal(0)), otherwise=column("records"))
    some = null_if(sum_of(known), literal(0))
    return sum_of(product) / some


def _pairs(number: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(number) for j in range(i, number)]


def _halves(values: NDArray[np.float64], half: int) -> tuple[NDArray[np.float64], ...]:
    """Those of the release, and those of the source."""
    return values[:half], values[half:]


def _root(differences: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]) -> float:
    squares = np.mean([difference**2 for difference in differences], axis=0)
    return float(np.sqrt(np.average(squares, weights=weights)))
