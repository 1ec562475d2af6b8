"""The recipient's models, fitted on the original and on the release, and held side by side.

Linear and logistic models are fitted by statsmodels, proportional hazards with Efron's ties by
lifelines. What is compared (Gal et al. 2014, section 4, and beyond):

- a coefficient changed significance when p crosses .05, changed direction when it was significant
  and its sign turned, and left the interval when the new estimate lies outside of the original 95 %
  interval; one that cannot be fitted on the release counts as all three
- rmsz is the root mean square of (new - original) / original standard error; the records drawn
  anew with replacement give about 1
- near are coefficients whose |z| lies within .3 of 1.96: their significance is a lottery

The intercept is shown and not counted: nobody asks whether it differs from 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.json import JsonObject, plain
from dbdeid.errors import DbdeidError

Floats = NDArray[np.float64]
Kind = Literal["cox", "linear", "logistic"]

INTERCEPT = "(intercept)"
ALPHA = 0.05
_NEAR, _TWO_SIDED = 0.3, 1.96
# Of Newton's method, the first tried first: a covariate of a few very large values lets long steps
# go astray, to coefficients that are no maximum, of which the library only warns in these words.
_STEPS: tuple[dict[str, float] | None, ...] = (None, {"step_size": 0.5}, {"step_size": 0.1})
_STUCK = ".*failed to converge sufficiently"
# A standard error this large, for a step of one standard deviation of its covariate, is what is
# left of an estimate that grows without end.
_SEPARATED = 30.0
# What is left of a column beside those before it, as a share of it: the rest is rounding.
_ALIASED = 1e-8
# A residual below this share of the response's variation is rounding.
_EXACT = 1e-18
# Sums of products of larger numbers are no doubles any more.
_LARGEST = 1e100


class Unfitted(DbdeidError):
    """A model has no fit on these records; the message says why."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)


_COMPLETELY = ("the covariates tell the response completely", "leave out what decides it alone")


@dataclass(frozen=True, slots=True)
class Design:
    """A model as numbers, one row a record.

    Attributes:
        kind: of model.
        names: of the columns of `x`.
        x: (n, p) the covariates, without an intercept.
        y: (n,) the response; of cox the times.
        event: (n,) of cox, whether it came, or how probably.
        weights: (n,) how probably a record counts; None: all do.
    """

    kind: Kind
    names: tuple[str, ...]
    x: Floats
    y: Floats
    event: Floats | None = None
    weights: Floats | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One fitted coefficient: its standard error, two-sided p and 95 % interval."""

    estimate: float
    error: float
    p: float
    lower: float
    upper: float

    @property
    def z(self) -> float:
        """The estimate in standard errors."""
        return self.estimate / self.error

    @property
    def significant(self) -> bool:
        """Whether it differs from 0 at the level .05."""
        return self.p < ALPHA


# The coefficients of a fit by name; None for those that cannot be told.
Fit = dict[str, Estimate | None]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient on both sides; see the module for what the changes are.

    `released` is None where it cannot be fitted.
    """

    name: str
    original: Estimate
    released: Estimate | None
    changed_significance: bool
    changed_direction: bool
    outside: bool
    near: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """What changed over some coefficients, the intercepts apart, as shares of them.

    Attributes:
        coefficients: how many there are.
        significant: how many of them were significant.
        unfitted: how many have no estimate on the release.
        near: how many are near the limit of significance.
        changed_significance: share that changed it.
        changed_near: share that changed it and is near.
        changed_direction: share of the significant ones; None without any.
        outside: share that left the original interval.
        outside_significant: the same of the significant ones; None without any.
        rmsz: over those that are fitted; None without any.
        error_ratio: mean ratio of the new standard errors to the original ones; None without any.
    """

    coefficients: int
    significant: int
    unfitted: int
    near: int
    changed_significance: float
    changed_near: float
    changed_direction: float | None
    outside: float
    outside_significant: float | None
    rmsz: float | None
    error_ratio: float | None


@dataclass(frozen=True, slots=True)
class Term:
    """A variable of a model as it entered on the release.

    Attributes:
        text: as declared.
        entered: `value`, or `expected`: the mean over what the released values stand for.
        told: of expected ones, whether the published dictionary tells what they stand for.
        reference: of a category, the value that the others are compared with.
    """

    text: str
    entered: Literal["value", "expected"]
    told: bool = True
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """How many records a model used, and how many it left out for a missing value."""

    used: float
    missing: float


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """One model on the original and on the release. Private: it reveals facts about the original.

    Attributes:
        kind: of model.
        response: what is explained, as declared; of cox the duration.
        event: of cox.
        where: which records; None: all.
        terms: the variables as they entered on the release.
        source: records of the original.
        release: records of the release; probable ones where records have weights.
        coefficients: on both sides, the intercept first where there is one.
        reason: why the release has no fit; None: it has.
    """

    kind: Kind
    response: str
    event: str | None
    where: str | None
    terms: tuple[Term, ...]
    source: Records
    release: Records | None
    coefficients: tuple[Coefficient, ...]
    reason: str | None = None

    @property
    def counted(self) -> tuple[Coefficient, ...]:
        """The coefficients that count."""
        return tuple(c for c in self.coefficients if c.name != INTERCEPT)

    @property
    def summary(self) -> Summary:
        """What changed."""
        return summary(self.counted)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All declared models, in their order, and what changed over all of them."""

    models: tuple[ModelComparison, ...]

    @property
    def overall(self) -> Summary:
        """What changed over the coefficients of all models."""
        return summary([c for model in self.models for c in model.counted])

    def to_dict(self) -> JsonObject:
        """The comparison as JSON shows it."""
        return {
            "models": [{**plain(model), "summary": plain(model.summary)} for model in self.models],
            "overall": plain(self.overall),
        }


def compare(original: Fit, released: Fit | None) -> tuple[Coefficient, ...]:
    """The coefficients of the original beside those of the release; None: it has no fit."""
    found = []
    for name, before in original.items():
        assert before is not None  # an original with such a coefficient is refused
        after = (released or {}).get(name)
        near = abs(abs(before.z) - _TWO_SIDED) < _NEAR
        changed = (True, before.significant, True)
        if after is not None:
            changed = (
                before.significant != after.significant,
                before.significant and (before.estimate > 0) != (after.estimate > 0),
                not before.lower <= after.estimate <= before.upper,
            )
        found.append(Coefficient(name, before, after, *changed, near))
    return tuple(found)


def summary(coefficients: Sequence[Coefficient]) -> Summary:
    """What changed over some coefficients."""
    significant = [c for c in coefficients if c.original.significant]
    fitted = [(c.original, c.released) for c in coefficients if c.released is not None]
    squares = [((new.estimate - old.estimate) / old.error) ** 2 for old, new in fitted]
    return Summary(
        coefficients=len(coefficients),
        significant=len(significant),
        unfitted=len(coefficients) - len(fitted),
        near=sum(c.near for c in coefficients),
        changed_significance=_mean([c.changed_significance for c in coefficients]) or 0.0,
        changed_near=_mean([c.changed_significance and c.near for c in coefficients]) or 0.0,
        changed_direction=_mean([c.changed_direction for c in significant]),
        outside=_mean([c.outside for c in coefficients]) or 0.0,
        outside_significant=_mean([c.outside for c in significant]),
        rmsz=float(np.sqrt(np.mean(squares))) if squares else None,
        error_ratio=_mean([new.error / old.error for old, new in fitted]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def fit_original(design: Design) -> Fit:
    """The coefficients on the original, every one of them.

    Raises:
        Unfitted: there is none, or a coefficient cannot be told from others.
    """
    for values, what in ((design.event, "event"), (design.y, "response")):
        binary = what == "event" or design.kind == "logistic"
        if binary and values is not None and not np.isin(values, (0.0, 1.0)).all():
            raise Unfitted(
                f"the {what} has other values than true and false, or 1 and 0",
                hint="write it as a condition, as in `event: \"status = 'dead'\"`",
            )
    found = fit(design)
    lost = [name for name, estimate in found.items() if estimate is None]
    if lost:
        raise Unfitted(
            f"{lost[0]} cannot be estimated: the records do not vary in it, or the covariates "
            "before it, or the response, tell it already",
            hint="leave the covariate out, or join its rare values in an expression",
        )
    return found


def fit(design: Design) -> Fit:
    """The coefficients that the records determine, the intercept first; None for the others.

    A coefficient is not told when its column is a combination of those before it, or when the
    likelihood grows without end as it does (separation).

    Raises:
        Unfitted: the model has no fit at all.
    """
    design = _counting(design)
    _require_records(design)
    own = design.kind != "cox"
    x = np.column_stack([np.ones(len(design.y)), design.x]) if own else design.x
    names = (INTERCEPT, *design.names) if own else design.names
    kept = _told(design.x, design.weights)
    places = [0, *(i + 1 for i in kept)] if own else kept
    if not kept:
        raise Unfitted("no covariate varies", hint="choose others")
    if len(design.y) <= len(places):
        raise Unfitted(
            f"{len(design.y)} records for {len(places)} coefficients",
            hint="declare fewer covariates, or join rare values in an expression",
        )
    table = _FITTERS[design.kind](replace(design, x=x[:, places]))
    found: Fit = dict.fromkeys(names)
    for place, row, spread in zip(places, table, x[:, places].std(axis=0), strict=True):
        estimate = Estimate(*(float(value) for value in row))
        certain = np.isfinite(row).all() and estimate.error > 0
        if certain and (spread == 0 or design.kind == "linear" or _bounded(estimate, spread)):
            found[names[place]] = estimate
    if not any(found[name] for name in design.names):
        raise Unfitted(*_COMPLETELY)
    return found


def _bounded(estimate: Estimate, spread: float) -> bool:
    return estimate.error * spread < _SEPARATED


def _counting(design: Design) -> Design:
    """The design without records that count for nothing; of cox each may be event and none."""
    weights = np.ones(len(design.y)) if design.weights is None else design.weights
    x, y, event = design.x, design.y, design.event
    if event is not None and not np.isin(event, (0.0, 1.0)).all():
        weights = np.concatenate([weights * event, weights * (1 - event)])
        x, y = np.vstack([x, x]), np.concatenate([y, y])
        event = np.repeat([1.0, 0.0], len(event))
    some = weights > 0
    weights = weights[some]
    return replace(
        design,
        x=x[some],
        y=y[some],
        event=None if event is None else event[some],
        weights=None if (weights == 1).all() else weights,
    )


def _require_records(design: Design) -> None:
    """What no fitter can work on."""
    if not len(design.y):
        raise Unfitted("no record is left", hint="look at `where`, and at missing values")
    if max(np.abs(design.y).max(), np.abs(design.x).max(initial=0.0)) > _LARGEST:
        raise Unfitted(
            f"it has numbers beyond {_LARGEST:g}, whose squares cannot be added up",
            hint="divide them in an expression, or leave the records out with `where`",
        )
    if design.event is not None:
        if (design.y < 0).any():
            raise Unfitted(
                f"{int((design.y < 0).sum())} times are negative",
                hint="count them from where each record starts, or leave the records out",
            )
        if not design.event.any():
            raise Unfitted("the event never comes", hint="look at `event`")
    elif np.ptp(design.y) == 0:
        raise Unfitted("the response has one value", hint="look at the response, and at `where`")


def _told(x: Floats, weights: Floats | None) -> list[int]:
    """The columns that are no combination of a constant and those before them."""
    scale = np.ones(len(x)) if weights is None else np.sqrt(weights)
    basis = [scale / np.linalg.norm(scale)]
    kept = []
    for i, own in enumerate(x.T):
        left = own * scale
        whole = np.linalg.norm(left)
        for _ in range(2):  # once more, for what rounding left
            for direction in basis:
                left = left - direction * (direction @ left)
        if whole > 0 and np.linalg.norm(left) > _ALIASED * whole:
            basis.append(left / np.linalg.norm(left))
            kept.append(i)
    return kept


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings; what the libraries warn of is looked for in what they find.

    They are imported before, for that sets filters of their own.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _linear(design: Design) -> Floats:
    import statsmodels.api as sm

    if design.weights is None:
        model = sm.OLS(design.y, design.x)
    else:
        model = sm.WLS(design.y, design.x, weights=design.weights)
        # weights count records, so that there are as many as they add up to
        model.df_resid = design.weights.sum() - design.x.shape[1]
        if model.df_resid <= 0:
            raise Unfitted("fewer records than coefficients, by their weights", "declare fewer")
    with _quiet():
        result = model.fit()
    if result.ssr <= _EXACT * result.centered_tss:
        raise Unfitted(*_COMPLETELY)
    return _table(result)


def _logistic(design: Design) -> Floats:
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    try:
        with _quiet():
            if design.weights is None:
                return _table(sm.Logit(design.y, design.x).fit(disp=0, maxiter=100))
            family = sm.families.Binomial()
            model = sm.GLM(design.y, design.x, family=family, freq_weights=design.weights)
            return _table(model.fit(maxiter=100, tol=1e-12))
    except (np.linalg.LinAlgError, PerfectSeparationError):
        raise Unfitted(*_COMPLETELY) from None


def _table(result: Any) -> Floats:
    """Estimate, standard error, p and interval, a row each."""
    return np.column_stack([result.params, result.bse, result.pvalues, result.conf_int(ALPHA)])


def _cox(design: Design) -> Floats:
    import pandas as pd
    from lifelines import CoxPHFitter
    from lifelines.exceptions import ConvergenceError, ConvergenceWarning

    frame = pd.DataFrame(design.x, columns=[f"x{i}" for i in range(design.x.shape[1])])
    frame["time"], frame["event"] = design.y, design.event
    weighing = {} if design.weights is None else {"weights_col": "weight"}
    if design.weights is not None:
        frame["weight"] = design.weights
    for options in _STEPS:
        fitter = CoxPHFitter(alpha=ALPHA)
        with suppress(ConvergenceError, ConvergenceWarning, np.linalg.LinAlgError), _quiet():
            warnings.filterwarnings("error", _STUCK, ConvergenceWarning)
            fitted = fitter.fit(frame, "time", "event", fit_options=options, **weighing)
            shown = fitted.summary
            bounds = fitted.confidence_intervals_.to_numpy()
            return np.column_stack([shown["coef"], shown["se(coef)"], shown["p"], bounds])
    raise Unfitted(
        "the estimates do not converge: a covariate tells who has the event first",
        hint="leave out what decides it alone, or join rare values in an expression",
    )


_FITTERS = {"linear": _linear, "logistic": _logistic, "cox": _cox}
