"""The three tables, their recipients' models, and what records in their place do to the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from dbdeid.data.records import Attribute, Bools, Condensed, Floats, Ints, Records
from dbdeid.methods.condensation import fit
from dbdeid.methods.condensation.calibration import Swapped, calibrate
from dbdeid.methods.condensation.statistics import Cell, Model
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.made_registries import registry
from dbdeid.utility import model_fit
from dbdeid.utility.model_fit import Coefficient, Design, Estimate, Unfitted, compare

TABLES = ("SUPPORT2", "colon", "lung")
SUPPORT2 = "survival/recipient_support2.parquet"
AGES, TIMES, STAGES = ("Age", "DiagAge"), ("SurvTime", "SurvInterval"), ("DzClass", "Stage")
STATUS = "VitalStat"  # 0: deceased
OLD = 65.0  # where interactions with age are centred

# Hierarchies of the covariates; those of two values are only suppressed.
COARSE = {
    "Race": [{"white": ["white"], "other": ["black", "other"]}],
    "DzClass": [
        {"acute": ["ARF/MOSF", "Coma"], "chronic": ["COPD/CHF/Cirrhosis"], "cancer": ["Cancer"]}
    ],
    "Ca": [{"no": ["no"], "cancer": ["yes", "metastatic"]}],
    "Income": [
        {
            "low": ["under $11k", "$11-$25k"],
            "high": ["$25-$50k", ">$50k"],
            "unknown": ["unknown"],
        }
    ],
    "Stage": [{"early": ["Localized", "Regional"], "late": ["Distant"], "unknown": ["Unknown"]}],
    "PrimaryPayor": [{"insured": ["Federal", "Private"], "none": ["Uninsured"]}],
}
AGED = {"intervals": [5, 10, 20, 40], "origin": 0, "lower": 0, "upper": 120}
TIMED = {
    "SurvTime": {"intervals": [30, 90, 360, 1080], "origin": 0, "lower": 0, "upper": 2160},
    "SurvInterval": {"intervals": [3, 6, 12, 24, 48], "origin": 0, "lower": 0, "upper": 96},
}
REGISTRY_RACE = [{"White": ["White"], "other": ["Black", "Other"]}]

Values = Sequence[Floats]  # of each column, in its order
Kind = Literal["cox", "linear", "logistic"]


@dataclass(frozen=True, eq=False)
class Table:
    """Records of a register.

    Attributes:
        names: of the columns.
        values: of each the numbers, or the codes of its categories, the most frequent first.
        levels: of each how many categories it has; None: it holds numbers.
    """

    names: tuple[str, ...]
    values: tuple[Floats, ...]
    levels: tuple[int | None, ...]

    @property
    def number(self) -> int:
        """How many records."""
        return len(self.values[0])

    @property
    def status(self) -> int:
        """The place of the vital status."""
        return self.names.index(STATUS)

    @property
    def time(self) -> int:
        """The place of the survival time."""
        return self.place(TIMES)

    @property
    def age(self) -> int:
        """The place of the age."""
        return self.place(AGES)

    def place(self, names: Sequence[str]) -> int:
        """The place of the column that has one of these names."""
        return next(i for i, name in enumerate(self.names) if name in names)

    def records(self, strata: bool) -> Records:
        """As they are condensed: by vital status with time as the response, or all alike."""
        kept = [i for i in range(len(self.names)) if not (strata and i == self.status)]
        attributes = tuple(
            Attribute(self.names[i], self.values[i], self.levels[i], 0.0 if self.levels[i] else 1.0)
            for i in kept
        )
        status = self.values[self.status].astype(np.int64)
        rows = np.unique(status, return_inverse=True)[1] if strata else np.zeros_like(status)
        return Records(attributes, rows, kept.index(self.time) if strata else None)

    def released(self, condensed: Condensed, strata: bool) -> Values:
        """Synthetic records as columns of this table."""
        values = list(condensed.columns)
        if strata:
            known = np.unique(self.values[self.status])
            values.insert(self.status, known[condensed.strata])
        return values


def tables(data: Data) -> list[str]:
    """Those that can be had: SUPPORT2 is in the user's folder, the registries are made."""
    return [name for name in TABLES if name != "SUPPORT2" or data.has(SUPPORT2)]


def frame(data: Data, name: str) -> pd.DataFrame:
    """The records of one of the three."""
    if name == "SUPPORT2":
        return pd.read_parquet(data.file(SUPPORT2))
    return registry("colon" if name == "colon" else "lung")


@cache
def table(data: Data, name: str) -> Table:
    """One of the three."""
    return table_of(frame(data, name))


@cache
def simulated(records: int) -> Table:
    """A registry of lung cancer of any size."""
    return table_of(registry("lung", records, 1))


def table_of(frame: pd.DataFrame) -> Table:
    """Records sorted by all columns, as the product takes them."""
    frame = frame.sort_values(list(frame.columns), ignore_index=True)
    values, levels = [], []
    for name in frame.columns:
        numbers = name in (*AGES, *TIMES)
        names = list(frame[name].value_counts().index)
        codes = {n: i for i, n in enumerate(sorted(names) if name == STATUS else names)}
        own = frame[name] if numbers else frame[name].map(codes)
        values.append(own.to_numpy(np.float64))
        levels.append(None if numbers else len(names))
    return Table(tuple(frame.columns), tuple(values), tuple(levels))


@dataclass(frozen=True)
class Variable:
    """A number of a record: its name, the columns it depends on, and how."""

    name: str
    columns: tuple[int, ...]
    of: Callable[[Values], Floats]


@dataclass(frozen=True)
class Analysis:
    """A model of the recipient; `deceased`: of those only."""

    name: str
    kind: Kind
    response: Variable
    event: Variable | None
    covariates: tuple[Variable, ...]
    deceased: bool

    def rows(self, source: Table, values: Values) -> Bools:
        """The records that it is fitted to."""
        dead = values[source.status] == 0
        return dead if self.deceased else np.ones_like(dead)


def _column(place: int, name: str) -> Variable:
    return Variable(name, (place,), lambda values: values[place])


def _is(place: int, level: int, name: str) -> Variable:
    return Variable(
        f"{name} {level}", (place,), lambda values: (values[place] == level).astype(np.float64)
    )


def _product(one: Variable, other: Variable) -> Variable:
    return Variable(
        f"{one.name} × {other.name}",
        (*one.columns, *other.columns),
        lambda values: one.of(values) * other.of(values),
    )


def _categories(source: Table) -> list[Variable]:
    """Indicators of all categories but the most frequent, the vital status apart."""
    return [
        _is(place, level, name)
        for place, (name, levels) in enumerate(zip(source.names, source.levels, strict=True))
        if levels and place != source.status
        for level in range(1, levels)
    ]


@cache
def declared(source: Table) -> tuple[Analysis, ...]:
    """The models that the recipient tells of."""
    time, age = _column(source.time, "time"), _column(source.age, "age")
    dead = _is(source.status, 0, "dead")
    limit = float(np.median(source.values[source.time][source.values[source.status] == 0]))
    late = Variable("late", time.columns, lambda v: (v[source.time] > limit).astype(np.float64))
    known = tuple(_categories(source))
    return (
        Analysis("OLS", "linear", time, None, known, True),
        Analysis("logistic", "logistic", late, None, known, True),
        Analysis("Cox", "cox", time, dead, (age, *known), False),
    )


@cache
def undeclared(source: Table) -> tuple[Analysis, ...]:
    """Models that the recipient did not tell of."""
    time, age = _column(source.time, "time"), _column(source.age, "age")
    dead = _is(source.status, 0, "dead")
    limit = float(np.median(source.values[source.time]))
    log = Variable("log time", time.columns, lambda v: np.log1p(v[source.time]))
    early = Variable(
        "dead by then",
        (source.status, source.time),
        lambda v: ((v[source.status] == 0) & (v[source.time] <= limit)).astype(np.float64),
    )
    known = tuple(_categories(source))
    stage, sex = source.place(STAGES), source.place(("Sex", "Gender"))
    stages = [one for one in known if one.columns == (stage,)]
    old = Variable("age", age.columns, lambda v: v[source.age] - OLD)
    male = next(one for one in known if one.columns == (sex,))
    both = [_product(one, other) for one in stages for other in (old, male)]
    return (
        Analysis("log time", "linear", log, None, (age, *known), True),
        Analysis("death by the median", "logistic", early, None, (age, *known), False),
        Analysis("interactions of stage", "cox", time, dead, (old, *known, *both), False),
    )


def fitted(source: Table, analysis: Analysis, values: Values) -> dict[str, Estimate | None] | None:
    """The coefficients on some records without the intercept; None: it has no fit.

    The fast fitters do it where all coefficients can be told, the product's own where not.
    """
    rows = analysis.rows(source, values)
    own = [column[rows] for column in values]
    names = tuple(v.name for v in analysis.covariates)
    x = np.column_stack([v.of(own) for v in analysis.covariates])
    y = analysis.response.of(own)
    event = analysis.event.of(own) if analysis.event else None
    found = _fast(analysis.kind, x, y, event)
    if found is not None:
        return dict(zip(names, found, strict=True))
    try:
        told = model_fit.fit(Design(analysis.kind, names, x, y, event))
    except Unfitted:
        return None
    return {name: told[name] for name in names}


def _fast(kind: Kind, x: Floats, y: Floats, event: Floats | None) -> list[Estimate] | None:
    if len(y) <= x.shape[1] + 1 or (np.ptp(x, axis=0) == 0).any():
        return None
    design = x if kind == "cox" else np.column_stack([np.ones(len(y)), x])
    if kind == "cox":
        assert event is not None
        result = fit.cox(x, y, event > 0)[0]
    else:
        result = (fit.linear if kind == "linear" else fit.logistic)(design, y)
    if not result.converged or result.rank < design.shape[1]:
        return None
    spread = design.std(axis=0)
    if kind != "linear" and (result.errors * spread >= model_fit._SEPARATED).any():
        return None
    law = t(len(y) - design.shape[1]) if kind == "linear" else norm
    first = 0 if kind == "cox" else 1
    b, e = result.coefficients[first:], result.errors[first:]
    half = e * law.ppf(1 - model_fit.ALPHA / 2)
    rows = zip(b, e, 2 * law.sf(np.abs(b / e)), b - half, b + half, strict=True)
    return [Estimate(*map(float, row)) for row in rows]


@cache
def original(source: Table, analysis: Analysis) -> dict[str, Estimate | None]:
    """The coefficients on the table itself."""
    found = fitted(source, analysis, source.values)
    assert found is not None
    return found


def changes(source: Table, analysis: Analysis, values: Values) -> tuple[Coefficient, ...]:
    """What records that stand for the table do to a model."""
    return compare(original(source, analysis), fitted(source, analysis, values))


def calibrated(
    source: Table, values: Values, clusters: Ints, rng: np.random.Generator
) -> tuple[Values, Swapped]:
    """The synthetic records of strata, with values swapped for the declared models."""

    def cell(variable: Variable) -> Cell:
        (owner,) = variable.columns
        return Cell(owner, variable.of(source.values), variable.of(values))

    models = tuple(
        Model(
            one.kind,
            cell(one.response),
            cell(one.event) if one.event else None,
            tuple(map(cell, one.covariates)),
            (one.rows(source, source.values), one.rows(source, values)),
        )
        for one in declared(source)
    )
    frozen = frozenset({source.status})
    swapped = calibrate(models, clusters, frozen, len(source.names), rng)
    moved = [own[place] for own, place in zip(values, swapped.places, strict=True)]
    return moved, swapped


def widened(source: Table, columns: int, rng: np.random.Generator) -> Table:
    """The first columns of a table after its vital status, and more of them, shuffled."""
    order = [i for i in range(len(source.names)) if i not in (source.status, source.time)]
    taken = [source.status, source.time]
    places = [*taken, *(order * 2)[: columns - 1]]
    values = [
        source.values[place] if at <= len(order) + 1 else rng.permutation(source.values[place])
        for at, place in enumerate(places)
    ]
    names = [
        source.names[place] + ("" if at <= len(order) + 1 else " shuffled")
        for at, place in enumerate(places)
    ]
    return replace(
        source,
        names=tuple(names),
        values=tuple(values),
        levels=tuple(source.levels[place] for place in places),
    )


def summed(coefficients: Sequence[Coefficient]) -> dict[str, Any]:
    """Shares in percent, and rmsz."""
    found = model_fit.summary(coefficients)
    return {
        "significance": 100 * found.changed_significance,
        "not near": 100 * (found.changed_significance - found.changed_near),
        "direction": 100 * (found.changed_direction or 0.0),
        "outside": 100 * found.outside,
        "rmsz": found.rmsz,
        "errors": found.error_ratio,
        "unfitted": 100 * found.unfitted / found.coefficients,
    }
