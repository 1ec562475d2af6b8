"""Where released values stand in the hierarchies: their leaves, levels and losses.

Everything is counted from the rows of the hierarchies, never taken from the method that chose the
levels: loss is (leaves - 1)/(all leaves - 1), that of an interval its width over the range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from dbdeid.engine.relation import Relation, column, count_where
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared

PLACES, SHOWN, CONTAINS = "verify_places", "verify_shown", "verify_contains"


def placed(session: Session, declared: Declared, hierarchies: Relation) -> Relation:
    """A temporary table of what each value reads on each level, to be dropped by the caller.

    Its columns are `name`, `level`, `value`, `shown` and `loss`; where levels mix, a label that
    names other leaves on another level reads `label@level`.
    """
    names = [exp.Literal.string(n) for n in declared.quasi_identifiers]
    listed = [exp.Literal.string(n) for n in declared.domains]
    of_domain = exp.In(this=column("hierarchy"), expressions=listed) if listed else exp.false()
    query = (
        exp.select(exp.alias_(column("hierarchy"), "name"))
        .select(*(column(c) for c in ("level", "value", "label", "loss", "lower", "upper")))
        .select(exp.alias_(of_domain, "listed"))
        .from_(of_release(hierarchies, declared).subquery("of_release"))
        .where(exp.In(this=column("hierarchy"), expressions=names))
    )
    mixing = {"local": declared.local}
    return session.run(Step(PLACES, step("verify/places", {"labels": query}, values=mixing)))


@contextmanager
def known_places(
    session: Session, declared: Declared, hierarchies: Relation | None
) -> Iterator[Relation | None]:
    """What `placed` tells, for as long as it is needed; None without hierarchies."""
    try:
        yield None if hierarchies is None else placed(session, declared, hierarchies)
    finally:
        session.drop_temp(PLACES)


def of_release(hierarchies: Relation, declared: Declared) -> exp.Select:
    """The rows of this release."""
    query = exp.select("*").from_(hierarchies.table)
    if hierarchies.find("release"):
        query = query.where(column("release").eq(exp.Literal.string(declared.release)))
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


def _shown(declared: Declared, hierarchies: Relation, places: Relation) -> exp.Select:
    same = exp.and_(
        column("name", "p").eq(column("hierarchy", "h")),
        column("level", "p").eq(column("level", "h")),
        exp.NullSafeEQ(this=column("value", "p"), expression=column("value", "h")),
    )
    label = exp.alias_(column("shown", "p"), "label")
    kept = ("hierarchy", "level", "value", "loss", "lower", "upper")
    return (
        exp.select(*(column(c, "h") for c in kept), label)
        .from_(of_release(hierarchies, declared).subquery("h"))
        .join(exp.alias_(places.table, "p", table=True), on=same)
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
    query = exp.select().from_(exp.alias_(classes.table, "c", table=True))
    terms: list[exp.Expr] = []
    for key, name in zip(keys, declared.quasi_identifiers, strict=True):
        losses = exp.select(column("shown"), exp.alias_(exp.Max(this=column("loss")), "loss"))
        losses = losses.from_(places.table).where(column("name").eq(exp.Literal.string(name)))
        if not declared.local:
            losses = losses.where(column("level").eq(declared.level(name)))
        alias = f"l_{key}"
        same = exp.NullSafeEQ(this=as_text(column(key, "c")), expression=column("shown", alias))
        query = query.join(
            losses.group_by(column("shown")).subquery(alias), on=same, join_type="left"
        )
        weight = exp.convert(float(weights.get(name, 1.0)))
        terms.append(exp.Mul(this=column("loss", alias), expression=weight))
    total = exp.convert(float(sum(weights.get(n, 1.0) for n in declared.quasi_identifiers)))
    mean = exp.Div(this=exp.paren(_sum(terms)), expression=total)
    degrees = query.select(exp.alias_(mean, "degree")).subquery("degrees")
    unknown = count_where(exp.Is(this=column("degree"), expression=exp.null()))
    largest, lost = session.row(exp.select(exp.Max(this=column("degree")), unknown).from_(degrees))
    return (None if largest is None else float(largest)), int(lost)


def _sum(terms: Sequence[exp.Expr]) -> exp.Expr:
    whole, *others = terms
    for term in others:
        whole = exp.Add(this=whole, expression=term)
    return whole


def leaves_of_places(declared: Declared, places: Relation) -> exp.Select:
    """The leaves of each value that can be released: `name`, `shown`, `value`."""
    query = exp.select(*map(column, ("name", "shown", "value"))).from_(places.table)
    if declared.local:
        return query
    at = (
        exp.and_(
            column("name").eq(exp.Literal.string(name)), column("level").eq(declared.level(name))
        )
        for name in declared.quasi_identifiers
    )
    return query.where(exp.or_(*at))


def contains(session: Session, leaves: exp.Query) -> Relation:
    """A temporary table of which values lie inside which others: `name`, `whole`, `part`."""
    return session.run(Step(CONTAINS, step("verify/contains", {"leaves": leaves})))
