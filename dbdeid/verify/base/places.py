"""Where released values stand in the hierarchies: their leaves, levels and losses.

Everything is counted from the rows of the hierarchies, never taken from the method that chose the
levels: loss is (leaves - 1)/(all leaves - 1), that of an interval its width over the range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    any_of,
    column,
    count_where,
    is_null,
    literal,
    max_of,
    one_of,
    paren,
    plus,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared

PLACES, SHOWN, CONTAINS = "verify_places", "verify_shown", "verify_contains"


def placed(session: Session, declared: Declared, hierarchies: Relation) -> Relation:
    """Stage the label of each value on each level; the caller drops the temporary table.

    Its columns are `name`, `level`, `value`, `shown` and `loss`; where levels mix, a label that
    names other leaves on another level reads `label@level`.
    """
    names = [literal(n) for n in declared.quasi_identifiers]
    listed = [literal(n) for n in declared.domains]
    of_domain = one_of(column("hierarchy"), listed) if listed else literal(False)
    query = (
        select(aliased(column("hierarchy"), "name"))
        .select(*(column(c) for c in ("level", "value", "label", "loss", "lower", "upper")))
        .select(aliased(of_domain, "listed"))
        .from_(of_release(hierarchies, declared).subquery("of_release"))
        .where(one_of(column("hierarchy"), names))
    )
    mixing = {"local": declared.local}
    return session.run(Step(PLACES, step("verify/places", {"labels": query}, values=mixing)))


@contextmanager
def known_places(
    session: Session, declared: Declared, hierarchies: Relation | None
) -> Iterator[Relation | None]:
    """The table of `placed`, until the context ends; None without hierarchies."""
    try:
        yield None if hierarchies is None else placed(session, declared, hierarchies)
    finally:
        session.drop_temp(PLACES)


def of_release(hierarchies: Relation, declared: Declared) -> Select:
    """The rows of this release."""
    query = select("*").from_(hierarchies.table)
    if hierarchies.find("release"):
        query = query.where(column("release").eq(literal(declared.release)))
    return query


@contextmanager
def as_released(
    session: Session, declared: Declared, hierarchies: Relation | None
) -> Iterator[Relation | None]:
    """The hierarchies with their labels as the release shows them: `label@level` where mixed.

    A table with the columns of `deid.hierarchies`, for as long as it is needed.
    """
    if hierarchies is None or not declared.local:
        yield hierarchies
        return
    with known_places(session, declared, hierarchies) as places:
        assert places is not None
        try:
            yield session.run(Step(SHOWN, _shown(declared, hierarchies, places)))
        finally:
            session.drop_temp(SHOWN)


def _shown(declared: Declared, hierarchies: Relation, places: Relation) -> Select:
    same = all_of(
        column("name", "p").eq(column("hierarchy", "h")),
        column("level", "p").eq(column("level", "h")),
        same_value(column("value", "p"), column("value", "h")),
    )
    label = aliased(column("shown", "p"), "label")
    kept = ("hierarchy", "level", "value", "loss", "lower", "upper")
    return (
        select(*(column(c, "h") for c in kept), label)
        .from_(of_release(hierarchies, declared).subquery("h"))
        .join(places.aliased("p"), on=same)
    )


def degree(
    session: Session, classes: Relation, keys: Sequence[str], declared: Declared, places: Relation
) -> tuple[float | None, int]:
    """The largest degree of a class, and how many classes hold a value without a place.

    Args:
        session: sees all tables.
        classes: one row for each class.
        keys: its columns of the quasi-identifiers, in order.
        declared: levels and weights.
        places: from `placed`.
    """
    assert declared.padding is not None
    weights = declared.padding.weights
    query = select().from_(classes.aliased("c"))
    terms: list[Expr] = []
    for key, name in zip(keys, declared.quasi_identifiers, strict=True):
        losses = select(column("shown"), aliased(max_of(column("loss")), "loss"))
        losses = losses.from_(places.table).where(column("name").eq(literal(name)))
        if not declared.local:
            losses = losses.where(column("level").eq(declared.level(name)))
        alias = f"l_{key}"
        same = same_value(as_text(column(key, "c")), column("shown", alias))
        query = query.join(
            losses.group_by(column("shown")).subquery(alias), on=same, join_type="left"
        )
        weight = literal(float(weights.get(name, 1.0)))
        terms.append(column("loss", alias) * weight)
    total = literal(float(sum(weights.get(n, 1.0) for n in declared.quasi_identifiers)))
    mean = paren(_sum(terms)) / total
    degrees = query.select(aliased(mean, "degree")).subquery("degrees")
    unknown = count_where(is_null(column("degree")))
    largest, lost = session.row(select(max_of(column("degree")), unknown).from_(degrees))
    return (None if largest is None else float(largest)), int(lost)


def _sum(terms: Sequence[Expr]) -> Expr:
    whole, *others = terms
    for term in others:
        whole = plus(whole, term)
    return whole


def leaves_of_places(declared: Declared, places: Relation) -> Select:
    """The leaves of each value that can be released: `name`, `shown`, `value`."""
    query = select(*map(column, ("name", "shown", "value"))).from_(places.table)
    if declared.local:
        return query
    at = (
        all_of(column("name").eq(literal(name)), column("level").eq(declared.level(name)))
        for name in declared.quasi_identifiers
    )
    return query.where(any_of(*at))


def contains(session: Session, leaves: Query) -> Relation:
    """A temporary table of which values lie inside which others: `name`, `whole`, `part`."""
    return session.run(Step(CONTAINS, step("verify/contains", {"leaves": leaves})))
