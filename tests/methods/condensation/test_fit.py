"""Our fitters against statsmodels and lifelines."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from lifelines import CoxPHFitter
from recipients import TABLES, Table, recipient

from dbdeid.data.records import Bools, Floats
from dbdeid.methods.condensation.fit import Fit, cox, expit, linear, logistic


def close(fit: Fit, coefficients: object, errors: object) -> None:
    assert fit.converged
    np.testing.assert_allclose(fit.coefficients, np.asarray(coefficients), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fit.errors, np.asarray(errors), rtol=1e-6, atol=1e-6)


def lifelines_cox(x: Floats, times: Floats, events: Bools) -> CoxPHFitter:
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    frame["time"], frame["event"] = times, events
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CoxPHFitter().fit(
            frame, "time", "event", fit_options={"precision": 1e-12, "r_precision": 1e-14}
        )


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, shared: Path) -> Table:
    return recipient(shared, request.param)


def test_linear_as_statsmodels(table: Table) -> None:
    design = sm.add_constant(table.x[table.dead][:, 1:])
    judge = sm.OLS(table.time[table.dead], design).fit()
    close(linear(design, table.time[table.dead]), judge.params, judge.bse)


def test_logistic_as_statsmodels(table: Table) -> None:
    design = sm.add_constant(table.x[table.dead][:, 1:])
    late = (table.time[table.dead] > np.median(table.time[table.dead])).astype(float)
    judge = sm.Logit(late, design).fit(disp=0, tol=1e-12)
    close(logistic(design, late), judge.params, judge.bse)


@pytest.mark.full
def test_cox_as_lifelines(table: Table) -> None:
    judge = lifelines_cox(table.x, table.time, table.dead)
    fit, hazard = cox(table.x, table.time, table.dead)
    close(fit, judge.params_, judge.standard_errors_)
    base = judge.baseline_cumulative_hazard_
    np.testing.assert_allclose(hazard.at(base.index.to_numpy(float)), base.iloc[:, 0], rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_cox_with_heavy_ties_as_lifelines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 4)) * [1, 10, 0.1, 1] + [0, 50, 3, -2]
    times = np.ceil(rng.exponential(np.exp(-x[:, 0] / 2)) * 4)
    events = rng.random(300) < 0.7
    fit = cox(x, times, events)[0]
    judge = lifelines_cox(x, times, events)
    close(fit, judge.params_, judge.standard_errors_)
    other = sm.PHReg(times, x, status=events.astype(int), ties="efron").fit(disp=0)
    close(fit, other.params, other.bse)


@pytest.mark.parametrize("seed", range(3))
def test_linear_and_logistic_on_random_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = sm.add_constant(rng.normal(size=(200, 5)) * [1, 100, 0.01, 1, 1])
    score = design @ [0.3, 1, 0.01, -20, 0, 0.5]
    exact = linear(design, score)
    close(exact, [0.3, 1, 0.01, -20, 0, 0.5], np.zeros(6))
    assert not exact.errors.any()
    spread = score + rng.normal(size=200)
    judge = sm.OLS(spread, design).fit()
    close(linear(design, spread), judge.params, judge.bse)
    chosen = (rng.random(200) < expit(score)).astype(float)
    judge = sm.Logit(chosen, design).fit(disp=0, tol=1e-12)
    close(logistic(design, chosen), judge.params, judge.bse)


def test_hazard_without_covariates_is_that_of_nelson_and_aalen() -> None:
    times = np.array([3.0, 1, 1, 2, 5, 5, 7, 8])
    events = np.array([1, 1, 1, 0, 1, 1, 0, 0], dtype=bool)
    hazard = cox(np.zeros((8, 1)), times, events)[1]
    steps = [0, 2 / 8, 2 / 8, 2 / 8 + 1 / 5, 2 / 8 + 1 / 5 + 2 / 4, 2 / 8 + 1 / 5 + 2 / 4]
    np.testing.assert_allclose(hazard.at(np.array([0.5, 1, 2.9, 3, 5, 100])), steps)


def test_hazard_means_are_weighted_by_risk() -> None:
    x = np.array([[0.0], [1.0], [2.0], [1.0]])
    times, events = np.array([1.0, 2, 3, 4]), np.array([1, 1, 1, 1], dtype=bool)
    fit, hazard = cox(x, times, events)
    risk = np.exp(x[:, 0] * fit.coefficients[0])
    at_second = float((risk[1:] * x[1:, 0]).sum() / risk[1:].sum())
    np.testing.assert_allclose(hazard.means_at(np.array([1.5, 2.0]))[:, 0], at_second)
    np.testing.assert_allclose(hazard.means_at(np.array([9.0]))[0, 0], 1.0)
    steps = np.diff(hazard.cumulative, prepend=0.0)
    np.testing.assert_allclose(
        hazard.drift_at(np.array([2.5]))[0], (steps[:2, None] * hazard.means[:2]).sum(0)
    )
    np.testing.assert_allclose(hazard.drift_at(np.array([0.5]))[0], 0)


@pytest.mark.parametrize("kind", ["linear", "logistic", "cox"])
def test_dependent_and_empty_columns_share_their_coefficient(kind: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    more = np.column_stack([x, x[:, 0], np.zeros(400)])
    y = x[:, 0] + rng.normal(size=400)

    def fitted(columns: Floats) -> Fit:
        if kind == "linear":
            return linear(columns, y)
        if kind == "logistic":
            return logistic(columns, (y > 0).astype(float))
        return cox(columns, np.exp(-y), np.ones(400, dtype=bool))[0]

    short, long = fitted(x), fitted(more)
    assert (short.rank, long.rank) == (2, 2)
    assert short.converged
    assert long.converged
    half = short.coefficients[0] / 2
    np.testing.assert_allclose(long.coefficients, [half, short.coefficients[1], half, 0], atol=1e-7)
    np.testing.assert_allclose(
        long.errors[1:], [short.errors[1], short.errors[0] / 2, 0], atol=1e-7
    )


def test_separation_does_not_converge() -> None:
    x = np.linspace(-1, 1, 50)
    design = np.column_stack([np.ones(50), x])
    assert not logistic(design, (x > 0).astype(float)).converged
    # One covariate tells a third of the outcomes.
    some = np.column_stack([np.ones(50), np.arange(50) % 3 == 0, x]).astype(float)
    outcome = np.where(np.arange(50) % 3 == 0, 1.0, np.arange(50) % 2)
    assert not logistic(some, outcome).converged
    assert not logistic(design, np.ones(50)).converged
    assert not cox(x[:, None], -x, np.ones(50, dtype=bool))[0].converged
    # Nobody with the covariate ever has the event.
    spared = (np.arange(50) % 5 == 0).astype(float)
    assert not cox(spared[:, None], np.arange(50.0), spared == 0)[0].converged


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_too_few_rows_do_not_crash(rows: int) -> None:
    x = np.arange(rows * 3.0).reshape(rows, 3)
    y = np.arange(rows) * 1.0
    assert linear(x, y).coefficients.shape == (3,)
    assert not linear(x, y).converged
    assert logistic(x, y).coefficients.shape == (3,)
    assert cox(x, y, y > 0)[0].errors.shape == (3,)


def test_without_events_there_is_no_hazard() -> None:
    fit, hazard = cox(np.eye(4), np.arange(4.0), np.zeros(4, dtype=bool))
    assert not fit.converged
    assert not hazard.at(np.array([0.0, 9.0])).any()


def test_expit_never_overflows() -> None:
    np.testing.assert_allclose(expit(np.array([-1e4, 0, 1e4])), [0, 0.5, 1])
