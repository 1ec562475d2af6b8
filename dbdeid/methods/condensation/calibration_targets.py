"""The recipient's models as numbers that depend on one column each: what calibration works on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dbdeid.analyses.design_matrices import Entered, Levels, entered, frozen, picked, used
from dbdeid.bind.bound import Bound, BoundAnalysis, Place, Variable
from dbdeid.data.records import Bools, Floats
from dbdeid.engine.expressions import Expr, aliased, cast, column, select
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.query.parse.meaning import source_type


@dataclass(frozen=True, slots=True)
class Measured:
    """A number of each record that depends on one column, before any swap.

    Attributes:
        column: its name.
        source: (n,) of the records of the source.
        synthetic: (n,) of the synthetic records.
    """

    column: str
    source: Floats
    synthetic: Floats


@dataclass(frozen=True, slots=True)
class Analysed:
    """One of the recipient's models on the records, as calibration takes it.

    Attributes:
        kind: cox, linear or logistic.
        response: what is explained; of a Cox model the duration.
        event: of a Cox model whether the event came.
        covariates: what explains it.
        rows: which records of the source and which synthetic ones it is about.
        frozen: columns that decide which records it is about.
    """

    kind: Literal["cox", "linear", "logistic"]
    response: Measured
    event: Measured | None
    covariates: tuple[Measured, ...]
    rows: tuple[Bools, Bools]
    frozen: tuple[str, ...]


def cells(
    bound: Bound, session: Session, source: Relation, synthetic: Relation, number: str
) -> tuple[Analysed, ...]:
    """The declared models that can be calibrated, on the original and on synthetic records.

    Args:
        bound: the spec.
        session: where both tables are.
        source: the original records, in the columns of the release.
        synthetic: the synthetic records, with the same columns.
        number: the column of both tables that their records are sorted by.
    """
    kept = [analysis for analysis in bound.analyses if analysis.several is None]
    before, after = (_in_types(bound, session, t, number) for t in (source, synthetic))
    return tuple(_model(session, analysis, before, after, number) for analysis in kept)


def _in_types(bound: Bound, session: Session, table: Relation, number: str) -> Expr:
    """The records in the types of the source, for which the models were written."""
    types = {c.name: c.type for c in session.describe(table.table)}
    columns = [aliased(_typed(c.column, types[c.name]), c.name) for c in bound.released]
    return select(column(number), *columns).from_(table.table).subquery("source")


def _typed(source: Column, written: str) -> Expr:
    value = column(source.name)
    return value if source.type == written else cast(value, source_type(source))


def _model(
    session: Session, analysis: BoundAnalysis, source: Expr, synthetic: Expr, number: str
) -> Analysed:
    own = {
        side: session.arrays(
            picked(analysis.variables, table, "source").order_by(column(number, "source"))
        )
        for side, table in (("source", source), ("synthetic", synthetic))
    }
    levels, before = frozen(analysis, own["source"])
    after = entered(analysis, own["synthetic"], levels)
    decide = {name for v in analysis.measured for name in v.columns if _gaps(v, before, after)}
    if analysis.where is not None:
        decide |= {*analysis.where.columns}

    def cells_of(variable: Variable) -> tuple[Measured, ...]:
        pairs = zip(
            _columns(variable, before, levels), _columns(variable, after, levels), strict=True
        )
        return tuple(Measured(variable.columns[0], *pair) for pair in pairs)

    (response,) = cells_of(analysis.response)
    return Analysed(
        analysis.kind,
        response,
        None if analysis.event is None else cells_of(analysis.event)[0],
        tuple(cell for v in analysis.covariates for cell in cells_of(v)),
        (used(analysis, before)[0], used(analysis, after)[0]),
        tuple(sorted(decide)),
    )


def _gaps(
    variable: Variable, before: Mapping[Place, Entered], after: Mapping[Place, Entered]
) -> bool:
    return not all(side[variable.place].known.all() for side in (before, after))


def _columns(
    variable: Variable, found: Mapping[Place, Entered], levels: Levels
) -> Iterator[Floats]:
    """The numbers of a variable: itself, or the indicators of its categories."""
    own = found[variable.place]
    if own.shares is None:
        yield own.values
        return
    for i in range(1, len(levels[variable.place].levels)):
        yield np.where(own.known, np.append(own.shares[:, i], np.nan)[own.values], np.nan)
