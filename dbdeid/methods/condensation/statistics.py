"""The sums over records that declared models are fitted from, and how far they are off.

Every statistic is a sum over records of a product of at most two columns, in units of its sampling
noise, or the part of records in the gradient of a likelihood, in standard errors of the coefficient
that it moves. Equal sums give equal models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.errors import DataError
from dbdeid.methods.condensation.fit import FAR, cox, expit, linear, logistic

# Records whose statistics are held at a time, for the sake of memory.
_CHUNK = 16384
# The column of ones, and the attribute that owns it: none.
_ONES = 0
_NONE = -1


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of each record that depends on one attribute only.

    Attributes:
        attribute: which.
        source: (n,) of the original records.
        synthetic: (n,) of the synthetic ones, of the value that each has before any swap.
    """

    attribute: int
    source: Floats
    synthetic: Floats


@dataclass(frozen=True, slots=True)
class Model:
    """A model that the recipient fits.

    Attributes:
        kind: proportional hazards, least squares or logistic regression.
        response: the time, the number, or the 0 and 1.
        event: of a Cox model 1 where the time is that of the event; None: everywhere.
        covariates: its columns, without an intercept.
        rows: (n,) which original records it is fitted to, and (n,) which synthetic ones; they
            depend on attributes only that are not swapped.
    """

    kind: Literal["cox", "linear", "logistic"]
    response: Cell
    event: Cell | None
    covariates: tuple[Cell, ...]
    rows: tuple[Bools, Bools]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of all models, each once; row 0 is 1.

    Attributes:
        owners: (c,) the attribute of each.
        source: (c, n) of the original records.
        synthetic: (c, n) of the synthetic ones, before any swap.
    """

    owners: Ints
    source: Floats
    synthetic: Floats


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows that are computed from the columns of a record, for one model.

    Attributes:
        columns: that they depend on.
        rows: which set of records.
        number: of rows.
        of: from (c, r) columns to (number, r).
    """

    columns: tuple[int, ...]
    rows: int
    number: int
    of: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of synthetic records, and what they are to be.

    Attributes:
        columns: of all models.
        risks: columns that depend on several others, after those in the place of their numbers.
        means: of each column, and of each risk, the mean over the original records, which is
            subtracted before products are made: a sum that swaps cannot mend, as that of a calendar
            year, would come into all its products, times the means of the others.
        left: (s,) one column of each product.
        right: (s,) the other.
        scores: the parts of records in gradients, after the products.
        rows: (s + scores,) over which set of records each is a sum.
        noise: (s + scores,) its standard deviation in fresh samples.
        sets: (m, n) 1 where a synthetic record is of that set.
        targets: (s + scores,) what they are of the original records, in units of noise.
        free: attributes that may be swapped.
    """

    columns: _Columns
    risks: tuple[_Part, ...]
    means: Floats
    left: Ints
    right: Ints
    scores: tuple[_Part, ...]
    rows: Ints
    noise: Floats
    sets: Floats
    targets: Floats
    free: frozenset[int]

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.targets)

    def fewest(self) -> tuple[int, int]:
        """Of the set of records with the fewest for each of its statistics, both numbers."""
        needs = np.bincount(self.rows, minlength=len(self.sets))
        found = [(int(rows.sum()), int(need)) for rows, need in zip(self.sets, needs, strict=True)]
        found.append((self.sets.shape[1], self.number))
        return min(found, key=lambda both: both[0] / max(both[1], 1))

    def codes(self) -> Ints:
        """(attributes, n) equal where two records' values are, for all that the columns show."""
        owners = self.columns.owners
        found = np.zeros((owners.max(initial=0) + 1, self.sets.shape[1]), dtype=np.int64)
        for owner, column in zip(owners[1:], self.columns.synthetic[1:], strict=True):
            codes = np.unique(column, return_inverse=True)[1]
            both = found[owner] * (codes.max(initial=0) + 1) + codes
            found[owner] = np.unique(both, return_inverse=True)[1]
        return found

    def gap(self, values: Floats) -> Floats:
        """(s + scores,) how far they are off, in units of noise.

        Args:
            values: (n, c) columns of the synthetic records.
        """
        found = -self.targets
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            sums = self._of(values[part].T) * self.sets[:, part][self.rows]
            found = found + sums.sum(axis=1) / self.noise
        return found

    def moves(self, values: Floats, attributes: Ints, one: Ints, other: Ints) -> Floats:
        """(s + scores, r) by how much they change where two records swap an attribute each."""
        records = np.concatenate([one, other])
        before = np.ascontiguousarray(values[records].T)
        partner = np.concatenate([before[:, len(one) :], before[:, : len(one)]], axis=1)
        mine = self.columns.owners[:, None] == np.concatenate([attributes, attributes])
        changes = self._of(np.where(mine, partner, before))
        changes -= self._of(before)
        changes *= self.sets[:, records][self.rows]
        found: Floats = changes[:, : len(one)] + changes[:, len(one) :]
        found /= self.noise[:, None]
        return found

    def swap(self, values: Floats, attributes: Ints, one: Ints, other: Ints) -> None:
        """Swap them in the columns; no record may be in two pairs."""
        mine = attributes[:, None] == self.columns.owners
        first, second = values[one], values[other]
        values[one] = np.where(mine, second, first)
        values[other] = np.where(mine, first, second)

    def _of(self, values: Floats) -> Floats:
        """(s + scores, r) what (c, r) columns of records add to each, if they are of its set."""
        full = np.concatenate([values, *(risk.of(values) for risk in self.risks)])
        full -= self.means[:, None]
        found = np.empty((self.number, values.shape[1]))
        products = found[: len(self.left)]
        np.multiply(full[self.left], full[self.right], out=products)
        start = len(products)
        for score in self.scores:
            found[start : start + score.number] = score.of(values)
            start += score.number
        return found


def statistics(models: Sequence[Model], clusters: Ints, frozen: frozenset[int]) -> Statistics:
    """The statistics of declared models that swaps inside clusters can change.

    An attribute with a missing cell is not swapped, and records that miss one of a model's cells
    are left out of it: so are they when it is fitted.

    Raises:
        DataError: a model has no records.
    """
    still = frozen | frozenset(_missing(models))
    builder = _Builder()
    for model in models:
        builder.add(model)
    return builder.build(clusters, still)


def cells_of(model: Model) -> Iterator[Cell]:
    """The numbers that a model is fitted from: response, event where it has one, covariates."""
    yield model.response
    if model.event is not None:
        yield model.event
    yield from model.covariates


def _missing(models: Sequence[Model]) -> Iterator[int]:
    for model in models:
        for cell in cells_of(model):
            if not (np.isfinite(cell.source).all() and np.isfinite(cell.synthetic).all()):
                yield cell.attribute


class _Builder:
    """Collects columns, sets of records and products, each once."""

    def __init__(self) -> None:
        self._columns: dict[tuple[int, bytes, bytes], int] = {}
        self._cells: list[Cell] = []
        self._sets: dict[tuple[bytes, bytes], int] = {}
        self._rows: list[tuple[Bools, Bools]] = []
        # A risk is told by minus its place, less one, until the number of columns is known.
        self._products: dict[tuple[int, int, int], None] = {}
        self._risks: list[_Part] = []
        self._scores: list[_Part] = []

    def add(self, model: Model) -> None:
        """The statistics of one more model."""
        source, synthetic = (rows.copy() for rows in model.rows)
        for cell in cells_of(model):
            source &= np.isfinite(cell.source)
            synthetic &= np.isfinite(cell.synthetic)
        if not source.any() or not synthetic.any():
            raise DataError(
                f"a declared {model.kind} model has no records without missing values",
                hint="mend its condition or its covariates, or set calibrate: false",
            )
        rows = self._set(source, synthetic)
        covariates = [self._column(cell) for cell in model.covariates]
        for place, one in enumerate(covariates):
            self._product(_ONES, one, rows)
            for other in covariates[place:]:
                self._product(one, other, rows)
        if model.kind == "cox":
            self._cox(model, covariates, rows, source)
            return
        response = self._column(model.response)
        self._product(_ONES, response, rows)
        for one in covariates:
            self._product(one, response, rows)
        self._regression(model, (_ONES, *covariates), response, rows, source)

    def _regression(
        self, model: Model, columns: tuple[int, ...], response: int, rows: int, source: Bools
    ) -> None:
        design = np.array([self._source(column)[source] for column in columns]).T
        outcome = self._source(response)[source]
        fit = (linear if model.kind == "linear" else logistic)(design, outcome)
        known = np.flatnonzero(fit.errors > 0)
        if not fit.converged or not len(known):
            return
        slopes = fit.covariance[known] / fit.errors[known, None]
        mean: Callable[[Floats], Floats] = expit
        if model.kind == "linear":
            spread = outcome - design @ fit.coefficients
            slopes = slopes / (float(spread @ spread) / (len(outcome) - fit.rank))
            mean = np.positive
        picked = list(columns)

        def score(values: Floats) -> Floats:
            chosen = values[picked]
            rest = values[response] - mean(fit.coefficients @ chosen)
            found: Floats = slopes @ (chosen * rest)
            return found

        self._scores.append(_Part((*columns, response), rows, len(known), score))

    def _cox(self, model: Model, covariates: list[int], rows: int, source: Bools) -> None:
        time = model.response
        event = _ONES if model.event is None else self._column(model.event)
        design = np.array([cell.source[source] for cell in model.covariates]).T
        fit, hazard = cox(design, time.source[source], self._source(event)[source] > 0)

        def several(of: Callable[[Floats], Floats]) -> list[int]:
            both = zip(of(time.source).T, of(time.synthetic).T, strict=True)
            return [self._column(Cell(time.attribute, *columns)) for columns in both]

        (lived,) = several(lambda times: hazard.at(times)[:, None])
        for one in covariates:
            self._product(one, event, rows)
            self._product(one, lived, rows)
        known = np.flatnonzero(fit.errors > 0)
        if not fit.converged or not len(known):
            return
        means = several(hazard.means_at)
        drift = several(hazard.drift_at)
        slopes = fit.covariance[known] / fit.errors[known, None]

        def risk(values: Floats) -> Floats:
            score = fit.coefficients @ (values[covariates] - hazard.centre[:, None])
            found: Floats = np.exp(np.clip(score, -FAR, FAR))
            return found

        def expected(values: Floats) -> Floats:
            found: Floats = (risk(values) * values[lived])[None]
            return found

        # The influence of a record (Reid & Crepeau 1985): what it adds to the partial likelihood's
        # gradient, and what it changes of the others' by being at risk.
        def score(values: Floats) -> Floats:
            chosen = values[covariates]
            came = values[event] * (chosen - values[means])
            found: Floats = slopes @ (
                came - risk(values) * (chosen * values[lived] - values[drift])
            )
            return found

        self._risks.append(_Part((*covariates, lived), rows, 1, expected))
        place = -len(self._risks)
        for one in (_ONES, *covariates):
            self._product(one, place, rows)
        used = (*covariates, event, lived, *means, *drift)
        self._scores.append(_Part(used, rows, len(known), score))

    def _column(self, cell: Cell) -> int:
        source = np.where(np.isfinite(cell.source), cell.source, 0.0)
        synthetic = np.where(np.isfinite(cell.synthetic), cell.synthetic, 0.0)
        key = (cell.attribute, _digest(source), _digest(synthetic))
        if key not in self._columns:
            self._cells.append(Cell(cell.attribute, source, synthetic))
            self._columns[key] = len(self._cells)
        return self._columns[key]

    def _source(self, column: int) -> Floats:
        if column == _ONES:
            return np.ones(len(self._rows[0][0]))
        return self._cells[column - 1].source

    def _set(self, source: Bools, synthetic: Bools) -> int:
        key = (_digest(source), _digest(synthetic))
        if key not in self._sets:
            self._rows.append((source, synthetic))
            self._sets[key] = len(self._rows) - 1
        return self._sets[key]

    def _product(self, one: int, other: int, rows: int) -> None:
        self._products[min(one, other), max(one, other), rows] = None

    def build(self, clusters: Ints, frozen: frozenset[int]) -> Statistics:
        """What was collected, as far as swaps can change it."""
        columns = _Columns(
            np.array([_NONE, *(cell.attribute for cell in self._cells)]),
            np.array([np.ones_like(self._cells[0].source), *(c.source for c in self._cells)]),
            np.array([np.ones_like(self._cells[0].synthetic), *(c.synthetic for c in self._cells)]),
        )
        still = _Still(columns, self._risks, self._rows, clusters, frozen | {_NONE})
        risks = [risk.of(columns.source) for risk in self._risks]
        full = np.concatenate([columns.source, *risks])
        means = full.mean(axis=1)
        means[_ONES] = 0.0
        full = full - means[:, None]
        kept = sorted(still.movable(self._products))
        aims = [
            _aim(full[left], full[right], left == _ONES, *self._rows[k]) for left, right, k in kept
        ]
        scores = [score for score in self._scores if still.owners(score.columns) - still.frozen]
        gradient = [self._gradient(score, columns.source) for score in scores]
        left, right, rows = np.array(kept, dtype=np.int64).reshape(-1, 3).T
        targets, noise = np.array(aims).reshape(-1, 2).T
        return Statistics(
            columns,
            tuple(self._risks),
            means,
            left,
            right,
            tuple(scores),
            np.concatenate([rows, *(np.full(score.number, score.rows) for score in scores)]),
            np.concatenate([noise, *(np.ones(score.number) for score in scores)]),
            np.array([synthetic for _, synthetic in self._rows], dtype=np.float64),
            np.concatenate([targets / noise, *gradient]),
            frozenset(columns.owners.tolist()) - still.frozen,
        )

    def _gradient(self, score: _Part, values: Floats) -> Floats:
        """The sum of a model's scores over the original records."""
        source, synthetic = self._rows[score.rows]
        found: Floats = score.of(values[:, source]).mean(axis=1) * synthetic.sum()
        return found


def _digest(values: Floats | Bools) -> bytes:
    """A digest by which equal columns are recognized, without keeping them twice."""
    return blake2b(values.tobytes()).digest()


def _aim(
    left: Floats, right: Floats, alone: bool, source: Bools, synthetic: Bools
) -> tuple[float, float]:
    """What the sum of a product is to be of the synthetic records, and its sampling noise.

    That is of the product of both columns less their means. To it comes the most that one record
    may change, so that what is nearly constant is not held closer than by one record.
    """
    one, other = left[source], right[source]
    away = other - other.mean()
    product = away if alone else (one - one.mean()) * away
    most = np.abs(away).max() * (1.0 if alone else np.abs(one - one.mean()).max())
    number = float(synthetic.sum())
    noise = float(np.sqrt(number * product.var() + most * most))
    return float((one * other).mean()) * number, noise or 1.0


class _Still:
    """Finds the products that no swap inside a cluster changes."""

    def __init__(
        self,
        columns: _Columns,
        risks: Sequence[_Part],
        rows: Sequence[tuple[Bools, Bools]],
        clusters: Ints,
        frozen: frozenset[int],
    ) -> None:
        self.frozen = frozen
        self._columns = columns
        self._risks = risks
        self._order = np.argsort(clusters, kind="stable")
        self._starts = np.unique(clusters[self._order], return_index=True)[1]
        self._pure = [self._even(synthetic.astype(np.float64)) for _, synthetic in rows]
        self._constant = [
            owner in frozen and self._even(column)
            for owner, column in zip(columns.owners.tolist(), columns.synthetic, strict=True)
        ]

    def owners(self, columns: Sequence[int]) -> frozenset[int]:
        """The attributes of some columns."""
        return frozenset(self._columns.owners[list(columns)].tolist())

    def movable(self, products: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        """The other ones, each risk by its place after the columns."""
        number = len(self._columns.owners)
        for one, other, rows in products:
            risks = [place for place in (one, other) if place < 0]
            plain = [place for place in (one, other) if place >= 0]
            used = [*plain, *(c for place in risks for c in self._risks[-place - 1].columns)]
            free = self.owners(used) - self.frozen
            # Of one attribute a cluster holds what it held, whoever has it.
            whole = all(self._constant[c] or int(self._columns.owners[c]) in free for c in used)
            if not free or (len(free) == 1 and whole and self._pure[rows]):
                continue
            if one == other and self._binary(one):
                continue
            left, right = sorted(p if p >= 0 else number - p - 1 for p in (one, other))
            yield left, right, rows

    def _binary(self, column: int) -> bool:
        """Whether it is 0 or 1, so that its square is itself."""
        values = self._columns.source[column]
        return bool((values * values == values).all())

    def _even(self, values: Floats) -> bool:
        """Whether it is one value in each cluster."""
        ordered = values[self._order]
        low = np.minimum.reduceat(ordered, self._starts)
        return bool((low == np.maximum.reduceat(ordered, self._starts)).all())
