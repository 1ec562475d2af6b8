"""The ordered domain of each quasi-identifier of method policy, as it was declared.

How far a domain reaches is never read off the data: it would tell of them where intervals end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.data.ordered_domain import OrderedDomain, is_code
from dbdeid.engine.expressions import Query, cast, column, count_where, is_null, not_null, select
from dbdeid.engine.relation import MEASURED, Column
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.prepare.hierarchies import leaf_rows, rank, written
from dbdeid.prepare.populations import PopulationTable
from dbdeid.spec.column.column_spec import FROM_POPULATION

MOST_VALUES = 5_000  # of a domain: twice as many take minutes
EXAMPLES = (
    "declare `domain: [0, 120]` for whole numbers or dates, `domain: from_population`, or "
    "`order: [a, b, c]`"
)


def with_domains(bound: Bound, session: Session, populations: Sequence[PopulationTable]) -> Bound:
    """The same with the domain of each quasi-identifier; nothing changes for other methods.

    Raises:
        SpecError: a domain is not declared, or does not fit its column.
        DataError: a quasi-identifier is NULL somewhere.
    """
    method = bound.spec.method
    if not method.can.ordered:
        return bound
    population = next((p for p in populations if p.name == method.people), None)
    mistakes: list[Mistake] = []
    given: dict[str, OrderedDomain] = {}
    for number, c in enumerate(bound.quasi_identifiers):
        try:
            given[c.name] = _Reader(bound, session, c, number, population).domain()
        except _Wrong as wrong:
            place = ("columns", c.name)
            mistakes.append(bound.file.mistake(wrong.message, *place, hint=wrong.hint))
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    _require_values(bound, session, bound.source, [c.name for c in bound.quasi_identifiers], "")
    if population is not None:
        names = [f"c{i}" for i in range(len(bound.quasi_identifiers))]
        _require_values(bound, session, population.query, names, population.name)
    columns = tuple(replace(c, domain=given.get(c.name)) for c in bound.columns)
    return replace(bound, columns=columns)


class _Wrong(Exception):
    """What is wrong with the domain of one column."""

    def __init__(self, message: str, hint: str = EXAMPLES) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class _Reader:
    """Reads the domain of one quasi-identifier."""

    def __init__(
        self,
        bound: Bound,
        session: Session,
        quasi_identifier: BoundColumn,
        number: int,
        population: PopulationTable | None,
    ) -> None:
        self._bound, self._session, self._column = bound, session, quasi_identifier
        self._number, self._population = number, population
        self._spec = quasi_identifier.spec
        plain = quasi_identifier.spec.type is None
        self._family = quasi_identifier.column.family if plain else "text"

    def domain(self) -> OrderedDomain:
        """The values in their order.

        Raises:
            _Wrong: none is declared, or it does not fit.
        """
        values, kind, listed = self._declared()
        if not values:
            raise _Wrong("its domain is empty")
        if len(values) > MOST_VALUES:
            raise _Wrong(
                f"its domain has {len(values):,} values, and method policy takes {MOST_VALUES:,}",
                "round its values in `source: {sql: …}`",
            )
        if self._family in MEASURED:
            return OrderedDomain(self._measured(values, listed=listed), "range", kind)
        if len(set(values)) < len(values):
            raise _Wrong(f"{len(values) - len(set(values))} values of its domain are repeated")
        # numbers that are codes would sort as texts, 10 before 2, which says nothing of either
        texts = self._column.column.family in ("text", "enum", "other")
        coded = texts and all(map(is_code, values))
        if listed and not (coded and sorted(values) == list(values)):
            return OrderedDomain(tuple(values), "listed", kind)
        ordered = sorted(values, key=str.encode)
        if coded:
            return OrderedDomain(tuple(ordered), "code", kind)
        if len(ordered) > 2 and self._family != "boolean":
            raise _Wrong(
                "its values have no order of their own, and a policy merges neighbours",
                "list them so that neighbours may be merged: `order: [a, b, c]`",
            )
        return OrderedDomain(tuple(ordered), "listed", kind)

    def _declared(self) -> tuple[Sequence[str], str, bool]:
        """The values, where they come from, and whether they are listed in an order."""
        spec, domain = self._spec, self._spec.domain
        if spec.order is not None:
            if self._family in MEASURED:
                raise _Wrong(f"it is {self._column.column.shown_type} and has its own order")
            return spec.order, "a declared order", True
        if spec.hierarchy is not None:
            rows, kind, _ = leaf_rows(self._bound, self._session, self._column, spec.hierarchy, [])
            return [row[0] for row in rows], kind, True
        if isinstance(domain, tuple):
            return self._range(domain), "a declared domain", False
        if self._population is not None:
            return (
                self._of_population(self._population),
                f"population {self._population.name}",
                False,
            )
        if domain == FROM_POPULATION:
            raise _Wrong(
                "domain: from_population, and the method names no population",
                "add `population: census.parquet` to `method`",
            )
        if self._family == "boolean":
            return ["false", "true"], "both values", False
        raise _Wrong("method policy needs to know its values, and they are not read off the data")

    def _range(self, domain: tuple[str, ...]) -> Sequence[str]:
        """A declared domain; of whole numbers and dates two values are its ends."""
        if self._family not in ("integer", "date") or len(domain) != 2:
            if self._family in MEASURED and len(domain) == 2:
                raise _Wrong(
                    f"it is {self._column.column.shown_type}: a range counts whole numbers or days",
                    "list its values, or cast it to INTEGER or DATE in `source: {sql: …}`",
                )
            return domain
        low, high = self._typed(domain)
        if self._family == "integer":
            first, last = int(low), int(high)
            self._check_range(last - first)
            return [str(n) for n in range(first, last + 1)]
        try:
            start, end = date.fromisoformat(low), date.fromisoformat(high)
        except ValueError:
            raise _Wrong("an end of its domain is no day of the calendar") from None
        self._check_range((end - start).days)
        return [str(start + timedelta(days=n)) for n in range((end - start).days + 1)]

    def _check_range(self, steps: int) -> None:
        hint = "as in `domain: [0, 120]`: the least value, then the greatest"
        if steps < 0:
            raise _Wrong("its domain ends before it begins", hint)
        if steps >= MOST_VALUES:
            raise _Wrong(
                f"its domain has {steps + 1:,} values, and method policy takes {MOST_VALUES:,}",
                hint,
            )

    def _typed(self, values: Sequence[str]) -> list[str]:
        """The values as the column writes them."""
        kind = Column(self._column.name, self._column.released_type or "VARCHAR")
        texts = written(self._session, kind, values)
        unfit = sum(text is None for text in texts)
        if unfit:
            raise _Wrong(
                f"{unfit} values of its domain are none of type {self._column.column.shown_type}"
            )
        return [text for text in texts if text is not None]

    def _measured(self, values: Sequence[str], *, listed: bool) -> tuple[str, ...]:
        """Numbers or dates in their order."""
        if not listed and not isinstance(self._spec.domain, tuple):
            return tuple(values)  # the database has put them in order
        texts = self._typed(values)
        ranks = [rank(text) for text in texts]
        known = sorted((r, text) for r, text in zip(ranks, texts, strict=True) if r is not None)
        if len({r for r, _ in known}) < len(texts):
            raise _Wrong("values of its domain are repeated, or are no numbers or dates")
        return tuple(text for _, text in known)

    def _of_population(self, population: PopulationTable) -> list[str]:
        name = f"c{self._number}"
        distinct = select(column(name)).distinct().from_(population.query.subquery("people"))
        values = (
            select(cast(column(name), "VARCHAR"))
            .from_(distinct.subquery("found"))
            .where(not_null(column(name)))
            .order_by(column(name))
        )
        return [row[0] for row in self._session.rows(values)]


def _require_values(
    bound: Bound, session: Session, rows: Query, names: Sequence[str], population: str
) -> None:
    """Refuse NULL, which has no place in an order."""
    counts = [count_where(is_null(column(name))) for name in names]
    found = session.row(select(*counts).from_(rows.subquery("found")))
    where = f"population {population!r}: " if population else ""
    for c, nulls in zip(bound.quasi_identifiers, found, strict=True):
        if nulls:
            raise DataError(
                f"{where}column {c.name!r} is NULL in {nulls} rows, and NULL has no place in an "
                "order",
                hint="leave these rows out, or give them a value of its own: "
                "`coalesce(race, 'unknown')` in `source: {sql: …}`, and 'unknown' in `order`",
            )
