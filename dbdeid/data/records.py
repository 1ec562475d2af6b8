"""Records as arrays: what clustering and synthesis work on, and what they give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of n records that is synthesized: numbers, or categories.

    Attributes:
        name: of the column, for messages.
        values: (n,) numbers, NaN where they are missing; of categories their codes from 0, a
            missing value being a category of its own.
        levels: how many categories there are; None: they are numbers.
        grid: the step between permissible numbers, as 1 for integers and days; 0: all are.
        weight: relative to the other attributes, while clustering.
    """

    name: str
    values: Floats
    levels: int | None = None
    grid: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Records:
    """The records to condense.

    Attributes:
        attributes: the columns that are synthesized, in order.
        strata: (n,) the stratum of each record, numbered from 0 without gaps; records of different
            strata are never in one cluster, and each stratum keeps its number of records.
        response: which attribute is the response, by place; None: there is none.
    """

    attributes: tuple[Attribute, ...]
    strata: Ints
    response: int | None

    @property
    def number(self) -> int:
        """How many records there are."""
        return len(self.strata)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How records are condensed (Gal et al. 2014, and beyond).

    Attributes:
        variant: recipient, improved (Gal 2014), original (Aggarwal & Yu 2004) or microhybrid
            (Domingo-Ferrer & González-Nicolás 2010).
        k: least records of a cluster.
        response_weight: w of the response in (0, 1) against all other attributes together.
        exact_moments: whether the drawn values have exactly the mean and covariance of a cluster.
        time: stratified, or exact: each cluster keeps the multiset of its responses.
        time_scale: rank or z: how the response is scaled for clustering.
        counts: whether each cluster keeps how many records have which category, and the quantiles
            of its numbers; otherwise all but the response takes the paper's permissible values,
            which tell less of a small cluster. None: variant recipient does. How many numbers are
            missing recipient always keeps.
    """

    variant: Literal["recipient", "improved", "original", "microhybrid"]
    k: int
    response_weight: float
    exact_moments: bool = False
    time: Literal["exact", "stratified"] = "stratified"
    time_scale: Literal["rank", "z"] = "rank"
    counts: bool | None = None

    @property
    def knows_response(self) -> bool:
        """Whether the response is not an attribute like others."""
        return self.variant not in ("original", "microhybrid")

    @property
    def keeps_counts(self) -> bool:
        """Whether each cluster keeps its counts and quantiles."""
        return self.variant == "recipient" if self.counts is None else self.counts


@dataclass(frozen=True, slots=True)
class Condensed:
    """Synthetic records, as many as there were, those of a cluster side by side.

    Attributes:
        columns: of each attribute the (n,) values of the synthetic records, coded as in `Records`.
        strata: (n,) the stratum of each synthetic record.
        clusters: (n,) the cluster of each synthetic record, numbered from 0 without gaps.
        members: (n,) the cluster of each original record.
        seconds: how long clustering, balancing, synthesis and mapping (to permissible values) took.
    """

    columns: tuple[Floats, ...]
    strata: Ints
    clusters: Ints
    members: Ints
    seconds: Mapping[str, float]
