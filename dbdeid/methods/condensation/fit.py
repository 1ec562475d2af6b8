"""Fit linear, logistic and Cox models: coefficients and their covariance, for arrays.

Written for the inside of a loop, where the usual libraries are too slow. What is told to people is
fitted by those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints

# Newton's method needs some five steps. Where it needs more than these, the likelihood has no
# maximum: a covariate separates the outcomes.
_STEPS = 30
# Of the greatest change of a linear predictor in one step.
_STILL = 1e-8
# Of singular values of columns of length 1: below it they depend on each other.
_DEPENDENT = 1e-9
# Of a sum of squares: what a linear model leaves of it, if less, is rounding.
_EXACT = 1e-24
# A linear predictor farther than this from 0 is on its way to infinity.
FAR = 100.0

# Of the linear predictor: the logarithm of the likelihood, its gradient and minus its Hessian.
Derivatives = Callable[[Floats], tuple[float, Floats, Floats]]


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model.

    Attributes:
        coefficients: (p,) of the columns; of columns that depend on each other those of least
            length, where each column is scaled to length 1. An empty column has 0.
        covariance: (p, p) of the coefficients.
        rank: how many of the columns are independent.
        converged: whether the likelihood has a maximum and it was found; if not, the figures are
            those of the last step.
    """

    coefficients: Floats
    covariance: Floats
    rank: int
    converged: bool

    @property
    def errors(self) -> Floats:
        """(p,) standard errors of the coefficients."""
        found: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found


@dataclass(frozen=True, slots=True)
class Hazard:
    """The baseline hazard of a Cox model, at the mean of the covariates (Breslow 1974).

    Attributes:
        times: (u,) distinct times, ascending.
        cumulative: (u,) hazard up to and with each time.
        means: (u, p) mean of the covariates of those still at risk at each time, weighted by risk.
        drift: (u, p) these means, summed over the hazard up to and with each time.
        centre: (p,) mean of the covariates.
    """

    times: Floats
    cumulative: Floats
    means: Floats
    drift: Floats
    centre: Floats

    def at(self, times: Floats) -> Floats:
        """(n,) cumulative hazard at any times: a step function, 0 before the first event."""
        return _until(self.times, self.cumulative, times)

    def drift_at(self, times: Floats) -> Floats:
        """(n, p) `drift` at any times."""
        return _until(self.times, self.drift, times)

    def means_at(self, times: Floats) -> Floats:
        """(n, p) `means` of those at risk at any times; after the last time, the last."""
        place = np.searchsorted(self.times, times, side="left")
        found: Floats = self.means[np.minimum(place, len(self.times) - 1)]
        return found


def _until(steps: Floats, values: Floats, times: Floats) -> Floats:
    """The value of a step function at times, which is 0 before its first step."""
    padded = np.concatenate([np.zeros_like(values[:1]), values])
    found: Floats = padded[np.searchsorted(steps, times, side="right")]
    return found


def linear(design: Floats, response: Floats) -> Fit:
    """Ordinary least squares.

    Args:
        design: (n, p), with a column of ones where an intercept is wanted.
        response: (n,). Where it is a sum of columns, the errors are 0.
    """
    basis = _basis(design)
    reduced = design @ basis
    found = reduced.T @ response
    spread = response - reduced @ found
    freedom = len(response) - basis.shape[1]
    left, whole = float(spread @ spread), float(response @ response)
    noise = left / freedom if freedom > 0 and left > _EXACT * whole else 0.0
    return Fit(basis @ found, noise * basis @ basis.T, basis.shape[1], freedom > 0)


def logistic(design: Floats, response: Floats) -> Fit:
    """Logistic regression by Newton's method.

    Args:
        design: (n, p), with a column of ones where an intercept is wanted.
        response: (n,) of 0 and 1.
    """
    basis = _basis(design)
    reduced = design @ basis

    def derivatives(score: Floats) -> tuple[float, Floats, Floats]:
        chance = expit(score)
        weight = chance * (1 - chance)
        height = float(response @ score - np.logaddexp(0.0, score).sum())
        return height, reduced.T @ (response - chance), (reduced.T * weight) @ reduced

    return _newton(reduced, basis, derivatives)


def cox(covariates: Floats, times: Floats, events: Bools) -> tuple[Fit, Hazard]:
    """Proportional hazards (Cox 1972) with Efron's (1977) likelihood for ties, by Newton's method.

    A sum over those at risk at an event is a difference of running sums over the records by time,
    and its second moments need no matrix per event: a record enters them with the hazard that it
    has lived through.

    Args:
        covariates: (n, p), without an intercept.
        times: (n,).
        events: (n,) whether the time is that of the event, or of the end of observation.
    """
    order = np.argsort(times, kind="stable")
    centre = covariates.sum(axis=0) / max(len(times), 1)
    centred = covariates[order] - centre
    # Rounding would leave a trace of a constant.
    centred[:, (covariates == covariates[:1]).all(axis=0)] = 0.0
    basis = _basis(centred)
    reduced = centred @ basis
    clock = _Clock.of(times[order], events[order])

    def derivatives(score: Floats) -> tuple[float, Floats, Floats]:
        return clock.derivatives(reduced, score)

    fit = _newton(reduced, basis, derivatives)
    return fit, clock.hazard(centred, centred @ fit.coefficients, centre)


def expit(score: Floats) -> Floats:
    """1 / (1 + exp(-score)), for any score."""
    half = np.exp(-np.abs(score))
    found: Floats = np.where(score >= 0, 1.0, half) / (1 + half)
    return found


@dataclass(frozen=True, slots=True)
class _Clock:
    """Records in the order of time, and their events.

    Attributes:
        times: (u,) distinct times.
        first: (u,) the first record of each.
        group: (n,) the place of the time of each record.
        dead: (e,) records with an event, in the order of time.
        died: (e,) the place of their time.
        share: (e,) Efron's l/d: how many of the d events of that time came before, of d.
    """

    times: Floats
    first: Ints
    group: Ints
    dead: Ints
    died: Ints
    share: Floats

    @staticmethod
    def of(times: Floats, events: Bools) -> _Clock:
        distinct, first, group = np.unique(times, return_index=True, return_inverse=True)
        dead = np.flatnonzero(events)
        died = group[dead]
        number = np.bincount(died, minlength=len(distinct))
        before = np.arange(len(dead)) - (np.cumsum(number) - number)[died]
        return _Clock(distinct, first, group, dead, died, before / number[died])

    def derivatives(self, covariates: Floats, score: Floats) -> tuple[float, Floats, Floats]:
        """The logarithm of the partial likelihood, its gradient and minus its Hessian."""
        # Risks count only as ratios; the greatest is 1, so that none overflows.
        top = score.max(initial=0.0)
        risk = np.exp(score - top)
        weighted = covariates * risk[:, None]
        total = self._at_risk(risk)[self.died] - self.share * self._of_dead(risk)[self.died]
        moment = self._at_risk(weighted)[self.died]
        moment -= self.share[:, None] * self._of_dead(weighted)[self.died]
        mean = moment / total[:, None]
        number = len(self.times)
        hazard = np.bincount(self.died, 1 / total, minlength=number)
        spared = np.bincount(self.died, self.share / total, minlength=number)
        lived = np.cumsum(hazard)[self.group]
        lived[self.dead] -= spared[self.died]
        height = float(score[self.dead].sum() - np.log(total).sum() - top * len(self.dead))
        slope = covariates[self.dead].sum(axis=0) - mean.sum(axis=0)
        curvature = (weighted.T * lived) @ covariates - mean.T @ mean
        return height, slope, curvature

    def hazard(self, covariates: Floats, score: Floats, centre: Floats) -> Hazard:
        """Breslow's estimate, for centred covariates."""
        risk = np.exp(np.clip(score, -FAR, FAR))
        total = self._at_risk(risk)
        means = self._at_risk(covariates * risk[:, None]) / total[:, None] + centre
        steps = np.bincount(self.died, minlength=len(self.times)) / total
        drift = np.cumsum(steps[:, None] * means, axis=0)
        return Hazard(self.times, np.cumsum(steps), means, drift, centre)

    def _at_risk(self, values: Floats) -> Floats:
        """Of each time the sum over the records of that time and later ones."""
        found: Floats = np.cumsum(values[::-1], axis=0)[::-1][self.first]
        return found

    def _of_dead(self, values: Floats) -> Floats:
        """Of each time the sum over its events."""
        found = np.zeros((len(self.times), *values.shape[1:]))
        np.add.at(found, self.died, values[self.dead])
        return found


def _basis(design: Floats) -> Floats:
    """(p, rank) that makes of the columns orthonormal ones, as many as are independent."""
    length = np.sqrt((design * design).sum(axis=0))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    _, size, turns = np.linalg.svd(np.linalg.qr(design * scale, mode="r"), full_matrices=False)
    kept = size > _DEPENDENT * size.max(initial=0.0)
    found: Floats = scale[:, None] * turns[kept].T / size[kept]
    return found


def _newton(reduced: Floats, basis: Floats, derivatives: Derivatives) -> Fit:
    """Maximize a concave likelihood on orthonormal columns; the fit is of the original columns."""
    found = np.zeros(basis.shape[1])
    score = reduced @ found
    height, slope, curvature = derivatives(score)
    converged = False
    for _ in range(_STEPS):
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        move = reduced @ step
        # The likelihood is concave: a step that loses, or leads to no number, was too long, but
        # for rounding.
        for _ in range(_STEPS):
            with np.errstate(all="ignore"):
                tried = derivatives(score + move)
            if tried[0] >= height - 1e-10 * abs(height):
                break
            step, move = step / 2, move / 2
        if np.abs(score + move).max(initial=0.0) > FAR:
            break
        found, score = found + step, score + move
        height, slope, curvature = tried
        if np.abs(move).max(initial=0.0) < _STILL:
            # of nothing to fit older versions of numpy find no rank
            rank = np.linalg.matrix_rank(curvature, hermitian=True) if len(found) else 0
            converged = bool(rank == len(found))
            break
    covariance = basis @ np.linalg.pinv(curvature, hermitian=True) @ basis.T
    return Fit(basis @ found, covariance, basis.shape[1], converged)
