"""The domains of the columns that queries of any release of a spec can use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.data import classes, interval_label
from dbdeid.data.hierarchy import Hierarchy
from dbdeid.data.ordered_domain import is_code
from dbdeid.data.source_files import reading_source
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    column,
    filtered,
    function,
    max_of,
    min_of,
    not_null,
    select,
)
from dbdeid.engine.relation import MEASURED, NUMBERS
from dbdeid.engine.session import Session
from dbdeid.prepare import domains, populations
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.query.workload.ranges import Domain, ListedDomain, Period, Span, Value

# Lists of categories and codes that are longer would be no queries that a person asks.
MOST_CATEGORIES = 1_000
MOST_CODES = 100_000


class _LeftOut(Exception):
    """A column is left out of the random queries, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def askable(bound: Bound, session: Session) -> tuple[list[Domain], dict[str, str]]:
    """The domains of the columns to draw from, in order, and why others are left out.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit its data.
    """
    bound = domains.with_domains(bound, session, populations.population_tables(bound, session))
    generalized = [c for c in bound.quasi_identifiers if c.spec.hierarchy or c.domain]
    staged = tuple(classes.Staged(c.column, c.released_type or "VARCHAR") for c in generalized)
    found: list[Domain] = []
    left_out: dict[str, str] = {}
    with reading_source():
        if generalized:
            session.run(classes.source_step(bound.source, staged, None))
        for c in bound.released:
            try:
                if c.spec.pseudonym:
                    raise _LeftOut("its values are pseudonyms")
                if c in generalized:
                    found.append(_declared(bound, session, c))
                else:
                    found.append(_observed(bound, session, c))
            except _LeftOut as left:
                left_out[c.name] = left.reason
        session.drop_temp(classes.SOURCE.name)
    return found, left_out


def _ordered(c: BoundColumn) -> bool:
    return c.spec.type is None and c.column.family in MEASURED


# -- generalized columns -----------------------------------------------------------------------


def _declared(bound: Bound, session: Session, c: BoundColumn) -> Domain:
    """What `*` of the column stands for."""
    spec = c.spec.hierarchy
    if spec is not None and spec.labels is not None:
        ends = interval_label.of_limits(spec.lower, spec.upper, c.column)
        if ends is None or ends[0] is None or ends[1] is None:
            raise _LeftOut("its domain is not declared (`lower` and `upper` of its labels)")
        return _between(c, _value(c, ends[0]), _value(c, ends[1]))
    step = classes.values_step(0, c.name)
    session.run(step)
    hierarchy = coding_of(bound, session, c, classes.values_of(session, 0)).hierarchy
    session.drop_temp(step.name)
    if hierarchy.declared:
        return _listed(c, hierarchy.leaves)
    top = hierarchy.levels[-1]
    lower, upper = top.lower[0], top.upper[0]
    if lower is None or upper is None:
        raise _LeftOut(_why_undeclared(hierarchy, c))
    return _between(c, _value(c, lower), _value(c, upper))


def _why_undeclared(hierarchy: Hierarchy, c: BoundColumn) -> str:
    spec = c.spec.hierarchy
    if spec is not None and spec.lower is not None and spec.upper is not None:
        return "it has values outside of its `lower` and `upper`"
    return f"its domain is not declared ({hierarchy.kind})"


def _listed(c: BoundColumn, leaves: Sequence[str]) -> Domain:
    """The domain of these values, ascending where they have an order."""
    values = sorted({_value(c, leaf) for leaf in leaves})
    if len(values) < 2:
        raise _LeftOut("it has one value")
    codes = c.column.family == "text" and all(map(is_code, leaves))
    ordered = _ordered(c) or codes
    if not ordered and len(values) > MOST_CATEGORIES:
        raise _LeftOut(f"it has more than {MOST_CATEGORIES:,} values without an order")
    return ListedDomain(c.name, values, ordered)


# -- columns released as their own values ------------------------------------------------------


def _observed(bound: Bound, session: Session, c: BoundColumn) -> Domain:
    """The values that the source holds."""
    rows = bound.source.subquery("source")
    value = column(c.name, "source")
    if _ordered(c):
        finite = function("isfinite", value.copy())
        ends: list[Expr] = [min_of(value.copy()), max_of(value.copy())]
        if c.column.family not in ("integer", "decimal"):
            ends = [filtered(end, finite.copy()) for end in ends]
        low, high = session.row(select(*(cast(end, "VARCHAR") for end in ends)).from_(rows))
        if low is None:
            raise _LeftOut("it has no values")
        return _between(c, _value(c, low), _value(c, high))
    text = aliased(cast(value, "VARCHAR"), "value")
    known = select(text).distinct().from_(rows).where(not_null(value))
    found = [row[0] for row in session.rows(known.limit(MOST_CODES + 1))]
    if len(found) > MOST_CODES:
        raise _LeftOut(f"it has more than {MOST_CODES:,} values")
    return _listed(c, found)


# -- values ------------------------------------------------------------------------------------


def _between(c: BoundColumn, low: Value, high: Value) -> Domain:
    """The domain between two values: whole numbers and days with both, others up to the last."""
    if low == high:
        raise _LeftOut("it has one value")
    if isinstance(low, datetime) and isinstance(high, datetime):
        return Period(c.name, low, high)
    if isinstance(low, date) and isinstance(high, date):
        days = [low + timedelta(days=n) for n in range((high - low).days + 1)]
        return ListedDomain(c.name, days, ordered=True)
    if isinstance(low, int) and isinstance(high, int):
        return ListedDomain(c.name, range(low, high + 1), ordered=True)
    assert isinstance(low, Decimal)
    assert isinstance(high, Decimal)
    return Span(c.name, low, high)


def _value(c: BoundColumn, text: str) -> Value:
    """The value that a column's text stands for."""
    family = c.column.family
    if family in ("text", "enum"):
        return text
    try:
        if family == "integer":
            return int(text)
        if family in NUMBERS:
            return Decimal(text)
        if family == "date":
            return date.fromisoformat(text)
        if family == "timestamp":
            return datetime.fromisoformat(text).replace(tzinfo=None)
        if family == "boolean":
            return {"false": False, "true": True}[text.lower()]
    except (ValueError, InvalidOperation, KeyError):
        raise _LeftOut(f"a value of its domain is no {c.column.shown_type}") from None
    raise _LeftOut(f"its type is {c.column.shown_type}")
