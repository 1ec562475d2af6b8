"""Values of combinations declared impossible that no record has: a slip would rule nothing out."""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.data.classes import CODED
from dbdeid.engine.expressions import cast, column, literal, one_of, select
from dbdeid.engine.session import Session
from dbdeid.methods.counterfeit.options import Padding
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.quasi_identifier import QuasiIdentifier


def unknown_values(prepared: Prepared, session: Session, padding: Padding) -> Iterator[str]:
    """A warning for each column of a combination that names values which the column never has.

    Values are named by their numbers: one of a sensitive column is not repeated.

    Args:
        prepared: the source, staged in the session.
        session: where.
        padding: what is declared impossible.
    """
    keys = {q.name: q for q in prepared.quasi_identifiers}
    for number, combination in enumerate(padding.impossible, 1):
        for name, values in combination.items():
            known = _labels(keys[name]) if name in keys else _held(session, name, values)
            absent = [str(i) for i, value in enumerate(values, 1) if value not in known]
            if absent:
                yield (
                    f"impossible, combination {number}: of {len(values)} values not in {name}: "
                    f"number {', '.join(absent)}; they rule nothing out: write them as the source "
                    "does, unless they are to hold for later records"
                )


def _labels(q: QuasiIdentifier) -> set[str | None]:
    """The values of a quasi-identifier, and what they are released as on any level."""
    return {label for level in range(q.height + 1) for label in q.coding.labels(level)}


def _held(session: Session, name: str, values: tuple[str, ...]) -> set[str]:
    """Those of some values that a column has."""
    text = cast(column(name), "VARCHAR")
    query = select(text).distinct().from_(CODED.table)
    return {row[0] for row in session.rows(query.where(one_of(text, [*map(literal, values)])))}
