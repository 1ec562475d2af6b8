"""Swaps inside clusters bring models to the originals', and change nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recipients import TABLES, Table, leaves, recipient, shuffled
from tiers import examples

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.errors import DataError
from dbdeid.methods.condensation.calibration import Cell, Model, Swapped, calibrate
from dbdeid.methods.condensation.fit import Fit, cox, linear, logistic
from dbdeid.methods.condensation.refitted import Refitted
from dbdeid.methods.condensation.statistics import statistics

DEAD = 9  # the attribute of the status, of all tables


def intercept(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


@dataclass(frozen=True)
class Study:
    """A table, synthetic values in random order inside clusters, and three models."""

    table: Table
    synthetic: Floats
    clusters: Ints
    models: tuple[Model, ...]
    late: float

    @staticmethod
    def of(table: Table, k: int, rng: np.random.Generator) -> Study:
        clusters = leaves(table, k, rng)
        synthetic = np.array([values[shuffled(clusters, rng)] for values in table.values])
        dead = table.dead
        late = float(np.median(table.time[dead]))
        covariates = tuple(
            Cell(owner, own, other)
            for owner, own, other in zip(
                table.owners, table.x.T, columns(table, synthetic).T, strict=True
            )
        )
        time = Cell(0, table.time, synthetic[0])
        after = Cell(0, (table.time > late).astype(float), (synthetic[0] > late).astype(float))
        died = Cell(DEAD, dead.astype(float), dead.astype(float))
        all_rows = np.ones(len(dead), dtype=bool)
        models = (
            Model("linear", time, None, covariates[1:], (dead, dead)),
            Model("logistic", after, None, covariates[1:], (dead, dead)),
            Model("cox", time, died, covariates, (all_rows, all_rows)),
        )
        return Study(table, synthetic, clusters, models, late)

    def swapped(self, rng: np.random.Generator) -> tuple[Swapped, Floats]:
        swapped = calibrate(self.models, self.clusters, frozenset({DEAD}), DEAD + 1, rng)
        pairs = zip(self.synthetic, swapped.places, strict=False)
        return swapped, np.array([values[places] for values, places in pairs])

    def fits(self, values: Floats) -> dict[str, Fit]:
        x, time, dead = columns(self.table, values), values[0], self.table.dead
        return {
            "linear": linear(intercept(x[dead, 1:]), time[dead]),
            "logistic": logistic(intercept(x[dead, 1:]), (time[dead] > self.late).astype(float)),
            "cox": cox(x, time, dead)[0],
        }


def columns(table: Table, values: Floats) -> Floats:
    """The covariates that values have."""
    found = [values[1]]
    for attribute in range(2, len(values)):
        levels = int(table.values[attribute].max()) + 1
        found += [(values[attribute] == level).astype(float) for level in range(1, levels)]
    return np.column_stack(found)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", TABLES)
def test_models_are_those_of_the_originals(shared: Path, name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    study = Study.of(recipient(shared, name), 100, rng)
    swapped, values = study.swapped(rng)
    assert swapped.after < swapped.before / 5
    before, after = study.fits(study.synthetic), study.fits(values)
    for kind, original in study.fits(study.table.values).items():
        known = original.errors > 0

        def away(fit: Fit, original: Fit = original, known: Bools = known) -> Floats:
            apart = (fit.coefficients - original.coefficients)[known]
            return np.abs(apart / original.errors[known])

        root = float(np.sqrt(np.mean(away(after[kind]) ** 2)))
        assert root <= 0.25
        assert root < float(np.sqrt(np.mean(away(before[kind]) ** 2)))
        assert (away(after[kind]) < 1.96).all()
        sure = known & (np.abs(original.coefficients) > 1.96 * original.errors)
        assert (after[kind].coefficients[sure] * original.coefficients[sure] > 0).all()


@dataclass(frozen=True)
class Small:
    """Random records of two strata: a number, two categories, a time and a status."""

    models: tuple[Model, ...]
    clusters: Ints
    synthetic: Floats


def small(seed: int, n: int, cluster: int, kinds: tuple[str, ...] = ()) -> Small:
    rng = np.random.default_rng(seed)
    dead = np.arange(n) % 3 > 0
    source = np.array(
        [rng.normal(50, 10, n), rng.integers(0, 2, n), rng.integers(0, 3, n), rng.exponential(9, n)]
    )
    source[3] = np.ceil(source[3] * np.exp(-source[1]))
    order = np.argsort(dead, kind="stable")
    clusters = np.empty(n, dtype=np.int64)
    clusters[order] = np.arange(n) // cluster + 100 * dead[order]
    clusters = np.unique(clusters, return_inverse=True)[1]
    synthetic = np.array([values[shuffled(clusters, rng)] for values in source])

    def cell(attribute: int, level: int | None = None) -> Cell:
        if level is None:
            return Cell(attribute, source[attribute], synthetic[attribute])
        both = (source[attribute] == level, synthetic[attribute] == level)
        return Cell(attribute, both[0].astype(float), both[1].astype(float))

    x = (cell(0), cell(1), cell(2, 1), cell(2, 2))
    rows, died = (dead, dead), Cell(4, dead.astype(float), dead.astype(float))
    late = Cell(3, (source[3] > 4).astype(float), (synthetic[3] > 4).astype(float))
    every = (np.ones(n, dtype=bool), np.ones(n, dtype=bool))
    models = (
        Model("linear", cell(3), None, x, rows),
        Model("logistic", late, None, x, rows),
        Model("cox", cell(3), died, x, every),
    )
    kept = tuple(model for model in models if not kinds or model.kind in kinds)
    return Small(kept, clusters, synthetic)


@pytest.mark.full
@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(450, 700),
    cluster=st.integers(1, 60),
    frozen=st.frozensets(st.integers(0, 3)),
    kinds=st.sampled_from([("linear",), ("logistic",), ("cox",), ("linear", "logistic", "cox")]),
)
def test_swaps_permute_inside_clusters(
    seed: int, n: int, cluster: int, frozen: frozenset[int], kinds: tuple[str, ...]
) -> None:
    case = small(seed, n, cluster, kinds)
    frozen |= {4}

    def run() -> Swapped:
        rng = np.random.default_rng(seed)
        return calibrate(case.models, case.clusters, frozen, 6, rng, rounds=8, pairs=32)

    swapped = run()
    assert len(swapped.places) == 6
    for attribute, places in enumerate(swapped.places):
        assert (case.clusters[places] == case.clusters).all()
        assert (np.sort(places) == np.arange(n)).all()
        if attribute in frozen or attribute == 5:
            assert (places == np.arange(n)).all()
    assert swapped.after <= swapped.before
    refitted = Refitted(case.models)
    assert refitted.rmsz(np.array(swapped.places)) == min(swapped.rmsz)
    assert refitted.rmsz(np.tile(np.arange(n), (6, 1))) == swapped.rmsz[0]
    assert swapped.better == (swapped.rmsz[1] <= swapped.rmsz[0])
    again = run()
    assert again.before == swapped.before
    assert again.after == swapped.after
    assert all((a == b).all() for a, b in zip(swapped.places, again.places, strict=True))


def moved(models: tuple[Model, ...], places: tuple[Ints, ...]) -> tuple[Model, ...]:
    """The models of the swapped records, as if they were so from the start."""

    def cell(one: Cell) -> Cell:
        return Cell(one.attribute, one.source, one.synthetic[places[one.attribute]])

    return tuple(
        Model(
            model.kind,
            cell(model.response),
            None if model.event is None else cell(model.event),
            tuple(cell(one) for one in model.covariates),
            model.rows,
        )
        for model in models
    )


@pytest.mark.full
def test_the_deviation_is_that_of_the_swapped_records() -> None:
    case = small(3, 600, 40)
    frozen = frozenset({4})
    swapped = calibrate(case.models, case.clusters, frozen, 5, np.random.default_rng(1))
    after = statistics(moved(case.models, swapped.places), case.clusters, frozen)
    gap = after.gap(after.columns.synthetic.T.copy())
    assert swapped.after == pytest.approx(float(np.sqrt(np.mean(gap**2))))
    assert swapped.after < swapped.before / 3
    assert swapped.statistics == len(gap)


def test_sums_of_products_are_in_units_of_their_noise() -> None:
    case = small(5, 600, 40, ("linear",))
    kept = statistics(case.models, case.clusters, frozenset({4}))
    model = case.models[0]
    x, y = model.covariates[0], model.response
    rows = model.rows[0]
    apart = float((x.synthetic * y.synthetic)[rows].sum() - (x.source * y.source)[rows].sum())
    one, other = (v.source[rows] - v.source[rows].mean() for v in (x, y))
    noise = np.hypot(np.sqrt(rows.sum()) * (one * other).std(), abs(one).max() * abs(other).max())
    gap = kept.gap(kept.columns.synthetic.T.copy())
    assert np.isclose(gap, apart / noise, rtol=1e-9).any()
    # Of four covariates, two of one attribute: 5 products, 4 with the response, 5 scores.
    assert kept.number == 5 + 4 + 5


def test_the_scores_of_a_linear_model_are_its_coefficients_in_standard_errors() -> None:
    case = small(6, 600, 40, ("linear",))
    swapped = calibrate(case.models, case.clusters, frozenset(), 5, np.random.default_rng(0))
    (model,) = moved(case.models, swapped.places)
    rows = model.rows[0]
    fits = [
        linear(intercept(np.column_stack(x)[rows]), y[rows])
        for x, y in (
            ([c.source for c in model.covariates], model.response.source),
            ([c.synthetic for c in model.covariates], model.response.synthetic),
        )
    ]
    away = (fits[1].coefficients - fits[0].coefficients) / fits[0].errors
    assert np.abs(away).max() < 0.1


def test_records_that_miss_a_cell_are_left_out_and_keep_their_place() -> None:
    case = small(7, 600, 40)
    hole = np.where(np.arange(600) % 7 == 0, np.nan, case.models[0].covariates[0].source)
    models = tuple(
        Model(
            model.kind,
            model.response,
            model.event,
            (Cell(0, hole, hole), *model.covariates[1:]),
            model.rows,
        )
        for model in case.models
    )
    swapped = calibrate(models, case.clusters, frozenset({4}), 5, np.random.default_rng(0))
    assert (swapped.places[0] == np.arange(600)).all()
    assert swapped.after < swapped.before
    assert np.isfinite(swapped.after)


def test_swaps_between_records_of_a_model_and_others() -> None:
    case = small(8, 600, 600)
    clusters = np.zeros(600, dtype=np.int64)
    swapped = calibrate(case.models, clusters, frozenset({4}), 5, np.random.default_rng(0))
    assert swapped.after < swapped.before / 3
    # Now also sums of single columns change: who has a value is no longer of no matter.
    pure = calibrate(case.models, case.clusters, frozenset({4}), 5, np.random.default_rng(0))
    assert swapped.statistics > pure.statistics


def test_few_records_are_refused() -> None:
    case = small(9, 90, 30)
    with pytest.raises(DataError, match="41 statistics of 90 records") as caught:
        calibrate(case.models, case.clusters, frozenset({4}), 5, np.random.default_rng(0))
    assert "calibrate: false" in caught.value.hint


def test_a_model_of_no_rows_is_refused() -> None:
    case = small(9, 900, 30, ("linear", "cox"))
    none = np.zeros(900, dtype=bool)
    for model in case.models:
        empty = Model(model.kind, model.response, model.event, model.covariates, (none, none))
        with pytest.raises(DataError, match=f"{model.kind} model has no records"):
            calibrate((empty,), case.clusters, frozenset({4}), 5, np.random.default_rng(0))


def test_a_model_that_has_no_fit_still_keeps_its_products() -> None:
    case = small(10, 600, 40, ("logistic",))
    (model,) = case.models
    parted = Cell(3, model.covariates[1].source, model.covariates[1].synthetic)
    separated = Model("logistic", parted, None, model.covariates, model.rows)
    swapped = calibrate((separated,), case.clusters, frozenset({4}), 5, np.random.default_rng(0))
    assert swapped.statistics == 5 + 4
    assert swapped.after < swapped.before


def test_nothing_to_swap() -> None:
    case = small(11, 600, 40)
    everything = frozenset(range(5))
    swapped = calibrate(case.models, case.clusters, everything, 5, np.random.default_rng(0))
    assert swapped.statistics == 0
    assert swapped.after == swapped.before == 0
    none = calibrate((), case.clusters, frozenset(), 5, np.random.default_rng(0))
    assert none.statistics == 0
    assert all((places == np.arange(600)).all() for places in none.places)


def test_progress_is_told_after_each_round() -> None:
    case = small(12, 600, 40)
    told: list[int] = []
    calibrate(
        case.models,
        case.clusters,
        frozenset({4}),
        5,
        np.random.default_rng(0),
        rounds=5,
        progress=told.append,
    )
    assert told == [1, 2, 3, 4, 5]


def calendar(number: int, rng: np.random.Generator) -> tuple[Model, Ints]:
    """A Cox model of an age and of the year in which patients came, who are seen until 1995.

    The synthetic records have moved by a little, as those that are drawn anew have.
    """
    year, age = rng.uniform(1975, 1994, number), rng.normal(65, 10, number)
    until = rng.exponential(9 / np.exp(0.03 * (age - 65) - 0.04 * (year - 1985)))
    time, died = np.minimum(until, 1995 - year), (until <= 1995 - year).astype(float)
    order = np.lexsort([year, died])
    clusters = np.empty(number, dtype=np.int64)
    clusters[order] = np.arange(number) // 100
    drawn = [values[shuffled(clusters, rng)] for values in (year, age, time)]
    drawn = [values + rng.normal(0, values.std() / 50, number) for values in drawn]
    source = (year, age, time, died)
    cells = [Cell(i, *both) for i, both in enumerate(zip(source, [*drawn, died], strict=True))]
    rows = np.ones(number, dtype=bool)
    return Model("cox", cells[2], cells[3], (cells[0], cells[1]), (rows, rows)), clusters


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_a_calendar_year_is_a_covariate_like_others(seed: int) -> None:
    """Its sum, which swaps do not change, is large beside what it varies by."""
    model, clusters = calendar(1500, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    swapped = calibrate([model], clusters, frozenset({3}), 4, rng)
    assert swapped.better
    assert swapped.rmsz[1] < swapped.rmsz[0] / 2


@pytest.mark.full
def test_models_are_refitted_as_they_are_told(shared: Path) -> None:
    """By the libraries that what is told to people is fitted with."""
    from dbdeid.utility import model_fit

    rng = np.random.default_rng(0)
    study = Study.of(recipient(shared, TABLES[0]), 100, rng)
    places = np.tile(np.arange(len(study.clusters)), (DEAD + 1, 1))
    for model in study.models:
        both = []
        for side, rows in enumerate(model.rows):
            cells = [(c.source, c.synthetic)[side] for c in (model.response, *model.covariates)]
            event = model.event and (model.event.source, model.event.synthetic)[side][rows]
            x = np.column_stack([cell[rows] for cell in cells[1:]])
            names = tuple(f"x{i}" for i in range(x.shape[1]))
            both.append(
                model_fit.fit(model_fit.Design(model.kind, names, x, cells[0][rows], event))
            )
        told = model_fit.summary([c for c in model_fit.compare(*both) if c.name in names])
        assert told.unfitted == 0
        assert Refitted([model]).rmsz(places) == pytest.approx(told.rmsz, rel=1e-3)


def test_a_model_that_synthetic_records_do_not_tell_counts_as_far_off() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), rng.normal(size=40)
    rows = np.ones(40, dtype=bool)
    told = Model("linear", Cell(1, y, y), None, (Cell(0, x, x),), (rows, rows))
    lost = Model("linear", Cell(1, y, y), None, (Cell(0, x, np.ones(40)),), (rows, rows))
    nowhere = Model("linear", Cell(1, y, y), None, (Cell(0, x * np.nan, x),), (rows, rows))
    own = np.tile(np.arange(40), (2, 1))
    assert Refitted([told]).rmsz(own) == 0
    assert Refitted([lost]).rmsz(own) == 10
    assert Refitted([nowhere]).rmsz(own) == 0
