"""The sensitive values of written classes, counted in SQL: what models are measured on.

This shares nothing with `dbdeid.privacy.common.histogram`, which a search counts by: one checks
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    any_of,
    ascending,
    case,
    cast,
    coalesce,
    column,
    count_distinct,
    count_rows,
    filtered,
    function,
    greatest_of,
    is_null,
    literal,
    max_of,
    not_,
    null,
    over,
    row_number,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step

CLOSE = 1e-9  # how much a measured number may exceed its limit by rounding

Rows = Relation | Query


@dataclass(frozen=True, slots=True)
class Shares:
    """One sensitive attribute of a written table, counted; tables or queries.

    Attributes:
        held: class, size, value, count, missing (whether it is no value), known (how many of the
            class have a value, at the least); one row for each class and value.
        whole: value, place, known, people; one row for each value of the whole source, numbered in
            their order. None where the source is not at hand.
        nodes: place, level, node; the hierarchy above each value of the source, where a model needs
            it and there is one.
    """

    held: Rows
    whole: Rows | None = None
    nodes: Rows | None = None

    @property
    def compared(self) -> Query:
        """The query of the counts of each class beside those of the source: `sensitive_shares`."""
        return step("privacy/sensitive_shares", {"held": self.held, "whole": self.of_source})

    @property
    def of_source(self) -> Rows:
        """The values of the whole source.

        Raises:
            ValueError: the source is not at hand.
        """
        if self.whole is None:
            raise ValueError("a model that compares with the source is measured without it")
        return self.whole


def value_names(columns: Sequence[object]) -> list[str]:
    """The names of sensitive columns here, where no name of a table can meet them."""
    return [f"s{i}" for i in range(len(columns))]


def members(
    table: Rows, quasi_identifiers: Sequence[str], columns: Sequence[str], subject: str | None
) -> Select:
    """A query of who is in which class: class, the sensitive columns and subject.

    Args:
        table: one row for each record.
        quasi_identifiers: what makes a class.
        columns: the sensitive columns.
        subject: the column that tells whose record it is, where subjects count.
    """
    keys = [column(name) for name in quasi_identifiers]
    class_ = function("row", *keys)
    named = zip(columns, value_names(columns), strict=True)
    query = select(aliased(class_, "class") if keys else aliased(null(), "class"))
    query = query.select(*(aliased(column(c), name) for c, name in named))
    if subject is not None:
        query = query.select(aliased(column(subject), "subject"))
    return query.from_(_from(table, "records"))


def class_sizes(members: Rows, *, by_subject: bool) -> Select:
    """A query of the classes: class, records and class_size.

    Args:
        members: one row for each record: class, and whose it is (`subject`) where they count.
        by_subject: the size is a number of distinct subjects.
    """
    records = aliased(count_rows(), "records")
    size = aliased(_number(by_subject), "class_size")
    return select("class", records, size).from_(_from(members, "members")).group_by("class")


def class_values(
    members: Rows, value: Sequence[str], *, by_subject: bool, nullable: Sequence[str] = ()
) -> Select:
    """A query of the values of each class as `Shares.held`.

    Args:
        members: as above, with the sensitive columns.
        value: these columns; several are one value together.
        by_subject: distinct subjects count.
        nullable: those of them in which NULL is no value, but says that there is none; several
            together are none where one of these is.
    """
    missing: Expr = literal(False)
    if nullable:
        missing = is_null(column(nullable[0]))
    counted = (
        select("class", as_value(value), aliased(missing, "missing"))
        .select(aliased(_number(by_subject), "count"))
        .from_(_entire(members, value, ["class"], nullable, by_subject=by_subject))
        .group_by("class", *map(column, value))
    )
    return (
        select(
            column("class", "counted"),
            aliased(column("class_size", "sizes"), "size"),
            column("value", "counted"),
            column("count", "counted"),
        )
        .select("counted.missing", aliased(_known() if nullable else _size(), "known"))
        .from_(counted.subquery("counted"))
        .join(
            class_sizes(members, by_subject=by_subject).subquery("sizes"),
            on=column("class", "sizes").eq(column("class", "counted")),
        )
    )


def source_values(
    records: Rows, value: Sequence[str], *, by_subject: bool, nullable: Sequence[str] = ()
) -> Select:
    """A query of the values of the whole source: value, place, known and people.

    Args:
        records: one row for each record: the sensitive columns as they are released, and whose
            it is (`subject`) where they count.
        value: these columns; the order of the values is that of their types.
        by_subject: distinct subjects count.
        nullable: as above.
    """
    order = [ascending(column(name)) for name in value]
    people = select(_number(by_subject)).from_(_from(records, "everyone"))
    place = over(row_number(), order=order)
    return (
        select(
            as_value(value),
            aliased(place, "place"),
            aliased(_number(by_subject), "known"),
            aliased(people.subquery(), "people"),
        )
        .from_(_entire(records, value, [], nullable, by_subject=by_subject))
        .group_by(*map(column, value))
    )


def hierarchy_nodes(whole: Rows, hierarchies: Relation, name: str, release: str) -> Query:
    """A query of the hierarchy above each value of the source: place, level and node.

    Args:
        whole: the values of the source.
        hierarchies: `deid.hierarchies`, or its rows of this release: hierarchy (the name of the
            column), level (0 are the values), value and label as text, perhaps release.
        name: the name of the column.
        release: the name of the release.
    """
    rows = select("level", "value", "label").from_(hierarchies.table)
    rows = rows.where(column("hierarchy").eq(literal(name)), column("level") > 0)
    if hierarchies.find("release"):
        rows = rows.where(column("release").eq(literal(release)))
    return step("privacy/hierarchy_nodes", {"whole": whole, "hierarchy": rows})


def as_value(columns: Sequence[str]) -> Expr:
    """The value of sensitive columns: that of the one, or of several together."""
    one: Expr = column(columns[0])
    if len(columns) > 1:
        one = function("row", *(column(name) for name in columns))
    return aliased(one, "value")


def as_label(value: str) -> Expr:
    """A single value as text."""
    return cast(column(value), "VARCHAR")


def finite(found: Any) -> Any:
    """What was found as JSON can hold it: an infinite number in words."""
    if isinstance(found, dict):
        return {key: finite(value) for key, value in found.items()}
    return "infinite" if isinstance(found, float) and isinf(found) else found


def within(found: float | None, limit: float) -> bool:
    """Whether a measured number is at most a limit; an empty table is within all."""
    return found is None or found <= limit + CLOSE * max(1.0, limit)


def _number(by_subject: bool) -> Expr:
    if not by_subject:
        return count_rows()
    return count_distinct(column("subject"))


def _size() -> Expr:
    return column("class_size", "sizes")


def _known() -> Expr:
    """How many of a class have a value, at least: who has one may also have a record without."""

    def of_class(value: Expr, chosen: Expr) -> Expr:
        counted = filtered(value, chosen)
        return over(counted, by=[column("class", "counted")])

    missing, count = column("missing", "counted"), column("count", "counted")
    absent = of_class(sum_of(count.copy()), missing.copy())
    most = of_class(max_of(count.copy()), not_(missing.copy()))
    others = _size() - coalesce(absent, literal(0))
    return cast(greatest_of(others, most), "BIGINT")


def _entire(
    rows: Rows,
    value: Sequence[str],
    kept: Sequence[str],
    nullable: Sequence[str],
    *,
    by_subject: bool,
) -> Expr:
    """The rows, where all parts of a value are NULL as soon as one says that there is none.

    Else those without one would be told apart by the parts that they have, and look diverse.
    """
    if not nullable or len(value) == 1:
        return _from(rows, "rows")
    absent = any_of(*(is_null(column(name, "rows")) for name in nullable))
    parts = (
        aliased(case((absent.copy(), null()), otherwise=column(name, "rows")), name)
        for name in value
    )
    others = [*kept, *(["subject"] if by_subject else [])]
    query = select(*(column(name, "rows") for name in others), *parts)
    return query.from_(_from(rows, "rows")).subquery("entire")


def _from(rows: Rows, alias: str) -> Expr:
    if isinstance(rows, Relation):
        return rows.aliased(alias)
    return rows.copy().subquery(alias)
