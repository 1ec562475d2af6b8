"""Condensation: clusters of records, and synthetic records in their place (Gal et al. 2014)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from numpy.random import Generator

from dbdeid.data.records import Condensed, Floats, Ints, Recipe, Records
from dbdeid.methods.condensation.bisection import bisect
from dbdeid.methods.condensation.encoding import Block, Encoded, encode, weigh
from dbdeid.methods.condensation.nearest_clusters import fill, kmeans, nearest_groups
from dbdeid.methods.condensation.pca_synthesis import synthesize
from dbdeid.methods.condensation.permissible import (
    Ends,
    Rare,
    by_counts,
    by_rank,
    largest,
    most_likely,
    rounded,
)
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import points_of

CELLS = 1 << 21  # numbers drawn at once


@dataclass(frozen=True, slots=True)
class Clock:
    """The seconds of each phase, by a clock."""

    now: Callable[[], float] = perf_counter
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(
            ("clustering", "balancing", "synthesis", "mapping"), 0.0
        )
    )

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Add what the body takes to a phase."""
        start = self.now()
        yield
        self.seconds[phase] += self.now() - start


def condense(
    records: Records,
    recipe: Recipe,
    rng: Generator,
    progress: Callable[[int], None] | None = None,
    now: Callable[[], float] = perf_counter,
) -> Condensed:
    """Put synthetic records in the place of clusters of k records or more.

    Strata are condensed apart. Variant recipient halves them along principal axes; improved takes
    k-means and fills what is too small; original takes the records nearest to random ones, and
    microhybrid those nearest to the farthest ones, both without regard to the response. All draw
    normal numbers with the mean and covariance of each cluster and map them to permissible values.
    There is no formal guarantee: clusters depend on the data.

    Args:
        records: at least k of each stratum.
        recipe: how.
        rng: of all draws; the same state and records give the same result.
        progress: is told how many records have been replaced.
        now: the clock, in seconds, that the phases are timed by.

    Raises:
        ValueError: a stratum has fewer than k records.
    """
    sizes = np.bincount(records.strata)
    if len(sizes) and sizes.min() < recipe.k:
        raise ValueError(f"a stratum has fewer than {recipe.k} records")
    # Not needed by who only imports, and slow to load.
    from threadpoolctl import threadpool_limits

    clock = Clock(now)
    n = records.number
    ends = tuple(Ends.of(attribute.values, recipe.k) for attribute in records.attributes)
    rare = tuple(Rare.of(attribute.values, recipe.k) for attribute in records.attributes)
    columns = tuple(np.empty(n) for _ in records.attributes)
    members, clusters = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    written = known = 0
    with threadpool_limits(1, user_api="blas"):
        for stratum in range(len(sizes)):
            rows = np.flatnonzero(records.strata == stratum)
            with clock.during("clustering"):
                encoded = encode(records, rows)
            own = _clusters(records, rows, encoded, recipe, rng, clock)
            members[rows] = known + own
            order = np.argsort(own, kind="stable")
            clusters[written : written + len(rows)] = known + own[order]
            filled = Stratum(records, recipe, encoded, rows[order], ends, rare, clock)
            counts = np.bincount(own)
            starts = np.cumsum(counts) - counts
            for size in np.unique(counts).tolist():
                step = max(1, CELLS // (size * max(size, encoded.points.shape[1])))
                firsts = starts[counts == size]
                for first in range(0, len(firsts), step):
                    places = firsts[first : first + step, None] + np.arange(size)
                    drawn = filled.draw(encoded.points[order[places]], places, rng)
                    for column, values in zip(columns, drawn, strict=True):
                        column[written + places] = values
                    if progress is not None:
                        progress(places.size)
            written += len(rows)
            known += len(counts)
    return Condensed(columns, np.sort(records.strata), clusters, members, clock.seconds)


def _clusters(
    records: Records, rows: Ints, encoded: Encoded, recipe: Recipe, rng: Generator, clock: Clock
) -> Ints:
    """The cluster of each record of a stratum, from 0."""
    with clock.during("clustering"):
        if recipe.variant == "microhybrid":
            return _farthest_groups(records, rows, recipe.k)
        points = weigh(
            encoded,
            records,
            recipe.response_weight,
            recipe.time_scale,
            records.response if recipe.knows_response else None,
        )
        if recipe.variant == "original":
            return nearest_groups(points, recipe.k, rng)
        if recipe.variant == "recipient":
            return bisect(points, recipe.k)
        labels, centres = kmeans(points, recipe.k, rng)
    with clock.during("balancing"):
        return fill(points, centres, labels, recipe.k)


def _farthest_groups(records: Records, rows: Ints, k: int) -> Ints:
    """The groups of a microaggregation (Domingo-Ferrer & González-Nicolás 2010: of MDAV)."""
    own = [replace(attribute, values=attribute.values[rows]) for attribute in records.attributes]
    groups = mdav(points_of(own, np.ones(len(rows), np.int64)), k)
    found = np.empty(len(rows), np.int64)
    found[groups.point] = groups.group
    return found


@dataclass(frozen=True, slots=True)
class Stratum:
    """What is needed to replace the clusters of a stratum.

    Attributes:
        records, recipe: as given.
        encoded: the records of the stratum.
        rows: (n,) which records these are, those of a cluster side by side.
        ends: of each attribute.
        rare: of each attribute the numbers that few have.
        clock: is told how long it takes.
    """

    records: Records
    recipe: Recipe
    encoded: Encoded
    rows: Ints
    ends: tuple[Ends, ...]
    rare: tuple[Rare, ...]
    clock: Clock

    def draw(self, points: Floats, places: Ints, rng: Generator) -> list[Floats]:
        """The (c, s) values of each attribute for c clusters of s records.

        Args:
            points: (c, s, m) the encoded records.
            places: (c, s) where they stand in `rows`.
            rng: of the draws.
        """
        with self.clock.during("synthesis"):
            scores = synthesize(points, rng, exact_moments=self.recipe.exact_moments)
            scores *= self.encoded.deviation
            scores += self.encoded.mean
        with self.clock.during("mapping"):
            members = self.rows[places]
            return [
                self._categories(at, block, scores, attribute.values[members])
                if block.codes is not None
                else self._numbers(at, block, scores, attribute.values[members], rng)
                for at, (attribute, block) in enumerate(
                    zip(self.records.attributes, self.encoded.blocks, strict=True)
                )
            ]

    def _response(self, at: int) -> bool:
        """Whether it is the response, which not every variant knows."""
        return at == self.records.response and self.recipe.knows_response

    def _categories(self, at: int, block: Block, scores: Floats, source: Floats) -> Floats:
        assert block.codes is not None
        if not block.columns:
            return source
        own = scores[..., list(block.columns)]
        exact = self._response(at) and self.recipe.time == "exact"
        if self.recipe.keeps_counts or exact:
            return by_counts(own, block.codes, source)
        return most_likely(own, block.codes)

    def _numbers(
        self, at: int, block: Block, scores: Floats, source: Floats, rng: Generator
    ) -> Floats:
        recipe = self.recipe
        own = scores[..., block.columns[0]] if block.columns else None
        missing = None if block.missing is None else scores[..., block.missing]
        grid = self.records.attributes[at].grid
        response = self._response(at)
        if response or recipe.keeps_counts:
            if response and recipe.time == "exact":
                return by_rank(own, missing, source, grid, None)
            drawn = by_rank(own, missing, source, grid, rng)
            return self.rare[at].hidden(drawn, source, grid, rng)
        # What is the same in a cluster would change in the last bits, scaled there and back.
        low = np.fmin.reduce(source, axis=1, keepdims=True)
        same = low == np.fmax.reduce(source, axis=1, keepdims=True)
        own = np.broadcast_to(low, source.shape) if own is None else np.where(same, low, own)
        lost = None
        if missing is not None and recipe.variant == "recipient":
            lost = largest(missing, np.isnan(source).sum(axis=1))
        elif missing is not None:
            lost = missing > 0.5
        drawn = rounded(own, grid, self.ends[at], lost)
        return self.rare[at].hidden(drawn, source, grid, rng)
