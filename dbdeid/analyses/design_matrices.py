"""The recipient's models as numbers: of the original, and of a release of it.

A category enters as an indicator for each of its values but the most frequent one of the original;
which values there are and which is left out stays as it is in the original. A column that the
release generalizes enters by its expected value: every value that a label stands for is as likely,
in each column by itself, and a variable is averaged over them; an indicator so becomes the share of
its category. Records that lack a variable are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.analyses import labelled, renamed
from dbdeid.bind.bound import BoundAnalysis, Place, Variable
from dbdeid.engine.expressions import Expr, Query, Select, select
from dbdeid.engine.session import Session
from dbdeid.utility.model_fit import Design, Floats, Records, Unfitted

Ints = NDArray[np.int64]

# Categories of a covariate that a model takes.
MOST_LEVELS = 200
# Values of several generalized columns together that are averaged over.
MOST_COMBINED = 20_000_000


@dataclass(frozen=True, slots=True)
class Entered:
    """A variable on the records of a table.

    Attributes:
        values: (n,) numbers, NaN where they are missing; of a category the row of `shares`, or -1.
        shares: (m, levels) of a category how much of it each level has; None for numbers.
    """

    values: NDArray[Any]
    shares: Floats | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which records have it."""
        if self.shares is None:
            return np.asarray(np.isfinite(self.values))
        some = np.append(self.shares.sum(axis=1) > 0, False)
        return np.asarray(some[self.values])


@dataclass(frozen=True, slots=True)
class Frozen:
    """The categories of a covariate, the most frequent one of the original first."""

    levels: tuple[str, ...]

    def names(self, variable: Variable) -> tuple[str, ...]:
        """The coefficients of the others; values of a sensitive column are numbered."""
        shown = [self.shown(variable, i) for i in range(1, len(self.levels))]
        return tuple(f"{variable.text}: {level}" for level in shown)

    def shown(self, variable: Variable, number: int) -> str:
        """The label of a level, or `value 1`, `value 2`, … where the variable hides its values."""
        return f"value {number + 1}" if variable.hidden else self.levels[number]


# Of each variable that is a category, by its place in the spec.
Levels = Mapping[Place, Frozen]


def of_source(
    session: Session, analysis: BoundAnalysis, source: Query
) -> tuple[Design, Records, Levels]:
    """A model on the rows of the original, and the categories that are frozen there.

    Raises:
        Unfitted: a covariate has too many categories.
        EngineError: an expression cannot be computed on some record.
    """
    rows = session.arrays(picked(analysis.variables, source.subquery("source"), "source"))
    levels, found = frozen(analysis, rows)
    for variable in analysis.covariates:
        known = levels.get(variable.place)
        if known is not None and len(known.levels) == 1:
            raise Unfitted(f"{variable.text} has one value", hint="leave the covariate out")
    return *designed(analysis, found, levels, None), levels


def frozen(
    analysis: BoundAnalysis, rows: Mapping[str, NDArray[Any]]
) -> tuple[Levels, dict[Place, Entered]]:
    """The categories of the original, and the variables of its records.

    Args:
        analysis: the model.
        rows: of the original, as `picked`.

    Raises:
        Unfitted: a covariate has too many categories.
    """
    texts: dict[Place, list[str]] = {}
    found: dict[Place, Entered] = {}
    for i, variable in enumerate(analysis.variables):
        if variable.scale == "category":
            codes, known = _factorized(rows[f"v{i}"])
            _require_few(variable, len(known))
            texts[variable.place] = known
            found[variable.place] = Entered(codes, np.eye(len(known)))
        else:
            found[variable.place] = Entered(numbers_of(rows[f"v{i}"]))
    own, _ = used(analysis, found)
    levels = {}
    for place, known in texts.items():
        counts = np.bincount(found[place].values[own], minlength=len(known))
        order = sorted((i for i in range(len(known)) if counts[i]), key=lambda i: -counts[i])
        levels[place] = Frozen(tuple(known[i] for i in order))
        found[place] = Entered(found[place].values, np.eye(len(known))[:, order])
    return levels, found


def entered(
    analysis: BoundAnalysis, rows: Mapping[str, NDArray[Any]], levels: Levels
) -> dict[Place, Entered]:
    """The variables of records that have values as the original has them, as `picked`."""
    return {
        variable.place: as_it_is(rows[f"v{i}"], levels.get(variable.place))
        for i, variable in enumerate(analysis.variables)
    }


def as_it_is(values: NDArray[Any], known: Frozen | None) -> Entered:
    """The values of a variable as they stand: numbers, or indicators of its known levels."""
    if known is None:
        return Entered(numbers_of(values))
    places = {text: i for i, text in enumerate(known.levels)}
    codes = np.array([places.get(text, -1) for text in _texts(values)], np.int64)
    return Entered(codes, np.eye(len(places)))


def _require_few(variable: Variable, number: int) -> None:
    if number > MOST_LEVELS:
        raise Unfitted(
            f"{variable.text} has {number:,} values, and a covariate may have {MOST_LEVELS}",
            hint="join them in an expression, as in `left(zip, 1)`",
        )


def _factorized(texts: NDArray[Any]) -> tuple[Ints, list[str]]:
    """The place of each text among the sorted ones; -1 where there is none."""
    import pandas as pd

    codes, found = pd.factorize(_texts(texts), sort=True, use_na_sentinel=True)
    return codes.astype(np.int64), [str(text) for text in found]


def picked(variables: Sequence[Variable], table: Expr, name: str) -> Select:
    """The values v0, v1, … of variables on the rows of a table, which the query calls `name`."""
    values = [labelled(renamed(v.value, name, {}), f"v{i}") for i, v in enumerate(variables)]
    return select(*values).from_(table)


def numbers_of(values: NDArray[Any]) -> Floats:
    """Numbers as the engine gives them, NaN for NULL."""
    masked: Any = np.ma  # which older versions do not type
    numbers: Floats = masked.filled(masked.asarray(values, np.float64), np.nan)
    return numbers


def _texts(values: NDArray[Any]) -> NDArray[np.object_]:
    """Texts as the engine gives them, None for NULL."""
    masked: Any = np.ma
    texts: NDArray[np.object_] = masked.filled(masked.asarray(values, np.object_), None)
    return texts


def used(
    analysis: BoundAnalysis, found: Mapping[Place, Entered]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which records a model uses, and which it leaves out for a missing value."""
    length = len(found[analysis.response.place].values)
    asked = np.ones(length, np.bool_)
    if analysis.where is not None:
        asked = np.nan_to_num(found[analysis.where.place].values) > 0
    others = [v for v in analysis.variables if v is not analysis.where]
    whole = reduce(np.logical_and, [found[v.place].known for v in others])
    return asked & whole, asked & ~whole


def designed(
    analysis: BoundAnalysis,
    found: Mapping[Place, Entered],
    levels: Levels,
    weights: Floats | None,
) -> tuple[Design, Records]:
    """The model on the records that have all its variables.

    Args:
        analysis: the model.
        found: its variables by their place.
        levels: of those that are categories.
        weights: (n,) how probably each record counts; None: all do.
    """
    within, missing = used(analysis, found)
    own = np.ones(len(within)) if weights is None else weights
    if analysis.where is not None:
        own = own * np.nan_to_num(found[analysis.where.place].values)
    columns, names = [np.zeros((int(within.sum()), 0))], []
    for variable in analysis.covariates:
        value = found[variable.place]
        if value.shares is None:
            columns.append(value.values[within, None])
            names.append(variable.text)
        else:
            columns.append(value.shares[value.values[within]][:, 1:])
            names.extend(levels[variable.place].names(variable))
    event = analysis.event
    design = Design(
        analysis.kind,
        tuple(names),
        np.hstack(columns),
        found[analysis.response.place].values[within],
        None if event is None else found[event.place].values[within],
        None if (own[within] == 1).all() else own[within],
    )
    return design, Records(float(own[within].sum()), float(own[missing].sum()))


# -- the release ------------------------------------------------------------------------------
