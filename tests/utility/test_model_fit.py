"""The recipient's models: fits by hand of the libraries, and what counts as a change."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dbdeid.utility.model_fit import (
    INTERCEPT,
    Comparison,
    Design,
    Estimate,
    Fit,
    Kind,
    ModelComparison,
    Records,
    Unfitted,
    compare,
    fit,
    fit_original,
    summary,
)


def table(fit_: Fit) -> np.ndarray:
    rows = [(e.estimate, e.error, e.p, e.lower, e.upper) for e in fit_.values() if e]
    return np.array(rows)


@pytest.fixture(scope="module")
def lung(shared: Path) -> Design:
    path = shared / "data" / "survival" / "r_survival_lung.parquet"
    rows = duckdb.sql(
        "SELECT age, sex, ph_ecog, time, status = 2 AS died "
        f"FROM '{path}' WHERE ph_ecog IS NOT NULL"
    ).fetchnumpy()
    x = np.column_stack([np.asarray(rows[c], float) for c in ("age", "sex", "ph_ecog")])
    y, died = np.asarray(rows["time"], float), np.asarray(rows["died"], float)
    return Design("cox", ("age", "sex", "ph_ecog"), x, y, died)


def as_kind(design: Design, kind: Kind) -> Design:
    if kind == "cox":
        return design
    y = design.y if kind == "linear" else (design.y > 300).astype(float)
    return replace(design, kind=kind, y=y, event=None)


def test_cox_is_that_of_lifelines_and_of_r(lung: Design) -> None:
    import pandas as pd
    from lifelines import CoxPHFitter

    frame = pd.DataFrame(lung.x, columns=list(lung.names)).assign(t=lung.y, e=lung.event)
    own = CoxPHFitter().fit(frame, "t", "e").summary
    columns = ["coef", "se(coef)", "p", "coef lower 95%", "coef upper 95%"]
    found = fit(lung)
    assert list(found) == ["age", "sex", "ph_ecog"]
    assert table(found) == pytest.approx(own[columns].to_numpy(), rel=1e-6)
    # survival::coxph(Surv(time, status) ~ age + sex + ph.ecog, lung)
    assert table(found)[:, 0] == pytest.approx([0.011067, -0.552612, 0.463728], abs=2e-6)


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_linear_and_logistic_are_those_of_statsmodels(lung: Design, kind: Kind) -> None:
    import statsmodels.api as sm

    design = as_kind(lung, kind)
    model = {"linear": sm.OLS, "logistic": sm.Logit}[kind](design.y, sm.add_constant(design.x))
    own = model.fit(**({} if kind == "linear" else {"disp": 0}))
    found = fit(design)
    assert list(found) == [INTERCEPT, "age", "sex", "ph_ecog"]
    expected = np.column_stack([own.params, own.bse, own.pvalues, own.conf_int()])
    assert table(found) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("kind", ["cox", "linear", "logistic"])
def test_a_copy_changes_nothing(lung: Design, kind: Kind) -> None:
    design = as_kind(lung, kind)
    found = summary(compare(fit_original(design), fit(design)))
    assert found.changed_significance == found.outside == found.rmsz == 0
    assert found.error_ratio == 1
    assert found.unfitted == 0


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_weights_count_records(lung: Design, kind: Kind) -> None:
    """A weight of 2 is a record twice; whole weights, so that both are the same."""
    design = as_kind(lung, kind)
    times = np.arange(len(design.y)) % 3
    repeated = replace(design, x=np.repeat(design.x, times, 0), y=np.repeat(design.y, times))
    weighted = replace(design, weights=times.astype(float))
    assert table(fit(weighted)) == pytest.approx(table(fit(repeated)), rel=1e-6, abs=1e-9)


def test_an_event_that_came_perhaps_is_a_record_with_it_and_one_without(lung: Design) -> None:
    assert lung.event is not None
    perhaps = replace(lung, event=np.where(lung.event == 1, 0.75, 0.25))
    sides = [np.full(len(lung.y), side) for side in (1.0, 0.0)]
    both = replace(
        lung,
        x=np.vstack([lung.x, lung.x]),
        y=np.concatenate([lung.y, lung.y]),
        event=np.concatenate(sides),
        weights=np.concatenate([perhaps.event, 1 - perhaps.event]),
    )
    assert table(fit(perhaps)) == pytest.approx(table(fit(both)), rel=1e-9)


@pytest.mark.parametrize("kind", ["cox", "linear", "logistic"])
def test_what_others_tell_already_is_not_fitted_and_the_others_are(
    lung: Design, kind: Kind
) -> None:
    design = as_kind(lung, kind)
    x = np.column_stack([design.x[:, 0], np.full(len(design.y), 7.0), 3 * design.x[:, 0] + 2])
    odd = replace(
        design,
        x=np.column_stack([x, design.x[:, 1:]]),
        names=("age", "seven", "more", "sex", "ph_ecog"),
    )
    found = fit(odd)
    assert [name for name, estimate in found.items() if estimate is None] == ["seven", "more"]
    assert table(found) == pytest.approx(table(fit(design)), rel=1e-6)
    with pytest.raises(Unfitted, match="seven cannot be estimated"):
        fit_original(odd)


@pytest.mark.parametrize("kind", ["cox", "logistic"])
def test_a_covariate_that_separates_is_found(lung: Design, kind: Kind) -> None:
    """Nobody with it has the event: the likelihood grows without end."""
    design = as_kind(lung, kind)
    decides = design.event if design.event is not None else design.y
    mark = (decides == 0) & (np.arange(len(design.y)) % 2 == 0)
    odd = replace(design, x=np.column_stack([design.x, mark]), names=(*design.names, "mark"))
    found = fit(odd)
    assert found["mark"] is None
    assert found["age"] is not None
    with pytest.raises(Unfitted, match="mark cannot be estimated"):
        fit_original(odd)


def small(kind: Kind, **given: object) -> Design:
    x = np.arange(20.0)[:, None] % 7
    y = np.arange(20.0) % 2 if kind == "logistic" else np.arange(20.0) % 5
    event = np.arange(20) % 3 > 0 if kind == "cox" else None
    design = Design(kind, ("x",), x, y, None if event is None else event.astype(float))
    return replace(design, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        (small("cox", y=np.arange(20.0) - 3), "3 times are negative"),
        (small("cox", event=np.zeros(20)), "the event never comes"),
        (small("cox", event=np.full(20, 2.0)), "event has other values"),
        (small("linear", y=np.ones(20)), "the response has one value"),
        (small("logistic", y=np.ones(20)), "the response has one value"),
        (small("logistic", y=np.arange(20.0)), "response has other values"),
        (small("linear", weights=np.zeros(20)), "no record is left"),
        (small("linear", x=np.ones((20, 1))), "no covariate varies"),
        (small("linear", y=2 * np.arange(20.0) % 7, x=2 * np.arange(20.0)[:, None] % 7),
         "tell the response completely"),
        (small("logistic", x=np.arange(20.0)[:, None] % 2), "tell the response completely"),
        (small("linear", x=np.eye(20), names=tuple("abcdefghijklmnopqrst")), "20 records for"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)  # fmt: skip
def test_what_has_no_fit_says_why(design: Design, reason: str) -> None:
    with pytest.raises(Unfitted, match=reason):
        fit_original(design)


def estimate(value: float, error: float, p: float) -> Estimate:
    return Estimate(value, error, p, value - 1.96 * error, value + 1.96 * error)


def test_changes_are_counted_by_hand() -> None:
    before: Fit = {
        INTERCEPT: estimate(9, 1, 0.0),
        "turns": estimate(2, 0.5, 0.001),
        "fades": estimate(1, 0.5, 0.0455),
        "stays": estimate(0.1, 0.2, 0.6),
        "gone": estimate(-3, 1, 0.003),
    }
    after: Fit = {
        INTERCEPT: estimate(-9, 1, 0.0),
        "turns": estimate(-2, 0.5, 0.001),
        "fades": estimate(0.9, 0.5, 0.07),
        "stays": estimate(-0.1, 0.4, 0.8),
        "gone": None,
    }
    found = compare(before, after)
    rows = {c.name: (c.changed_significance, c.changed_direction, c.outside, c.near) for c in found}
    assert rows["turns"] == (False, True, True, False)
    assert rows["fades"] == (True, False, False, True)
    assert rows["stays"] == (False, False, False, False)
    assert rows["gone"] == (True, True, True, False)
    model = ModelComparison(
        "linear", "y", None, None, (), Records(9, 0), Records(8, 0), found, None
    )
    told = model.summary
    assert (told.coefficients, told.significant, told.unfitted, told.near) == (4, 3, 1, 1)
    assert told.changed_significance == 2 / 4
    assert told.changed_near == 1 / 4
    assert told.changed_direction == 2 / 3
    assert told.outside == 2 / 4
    assert told.outside_significant == 2 / 3
    assert told.rmsz == pytest.approx(sqrt((8**2 + 0.2**2 + 1) / 3))
    assert told.error_ratio == pytest.approx((1 + 1 + 2) / 3)
    twice = Comparison((model, model))
    assert twice.overall.coefficients == 8
    assert twice.overall.rmsz == pytest.approx(told.rmsz)
    assert twice.to_dict()["models"][0]["summary"]["unfitted"] == 1


def test_without_a_fit_all_has_changed() -> None:
    before: Fit = {"a": estimate(2, 0.5, 0.001), "b": estimate(0.1, 0.5, 0.9)}
    told = summary(compare(before, None))
    assert told.changed_significance == told.changed_direction == told.outside == 1
    assert told.rmsz is told.error_ratio is None
    assert told.unfitted == 2


@pytest.mark.parametrize("seed", [7, 8])
def test_long_steps_that_go_astray_are_tried_again_shorter(seed: int) -> None:
    """With its usual steps the library fails on the first, and is far from the maximum on the
    second, of which it only warns."""
    from dbdeid.methods.condensation.fit import cox  # which halves each step that loses

    draw = np.random.default_rng(seed)
    number = 4000
    age = draw.normal(64, 10, number)
    kappa = np.exp(draw.normal(0, 0.7, number))
    lambda_ = np.exp(draw.standard_t(3, number) * 0.5) * 1.2
    kappa *= np.where(draw.random(number) < 0.001, 20, 1)
    risk = 0.09 * (age - 64) + 0.05 * np.minimum(kappa, 5) + 0.2 * np.minimum(lambda_, 5)
    until = draw.exponential(20 / np.exp(risk))
    end = draw.uniform(5, 12, number)
    x, y, event = np.column_stack([age, kappa, lambda_]), np.minimum(until, end), until <= end
    found = fit(Design("cox", ("age", "kappa", "lambda"), x, y, event.astype(float)))
    other, _ = cox(x, y, event)
    np.testing.assert_allclose(table(found)[:, 0], other.coefficients, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(table(found)[:, 1], other.errors, rtol=1e-3)
