"""Pseudonyms of identifiers: keyed hashes in place of the values, the same for the same value.

HMAC-SHA256 under $DBDEID_PSEUDONYM_KEY, separated by release and column, so that two releases
cannot be joined by them. The values are hashed once each and the pseudonyms joined to the source.
"""

from __future__ import annotations

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    column,
    count_distinct,
    count_where,
    every_column,
    is_null,
    not_null,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.udfs.keyed import pseudonyms


def replaced(bound: Bound, session: Session) -> Query:
    """The source with pseudonyms in place of the identifiers that are released as such.

    The pseudonyms are staged in temporary tables of the session.

    Raises:
        SpecError: a column holds NULL, or does not have one value for each subject.
        DataError: the key is missing or short.
    """
    if not bound.pseudonyms:
        return bound.source
    mistakes = [m for c in bound.pseudonyms for m in _unfit(bound, c, session)]
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    for i, c in enumerate(bound.pseudonyms):
        _stage(bound, c, session, i)
    return joined(bound)


def joined(bound: Bound) -> Query:
    """The source joined with the pseudonyms that are staged: `deid_pseudonyms_0`, …."""
    if not bound.pseudonyms:
        return bound.source
    replacements = []
    query = select().from_(bound.source.subquery("source"))
    for i, c in enumerate(bound.pseudonyms):
        table = Relation(f"deid_pseudonyms_{i}", schema="main", catalog="temp").table
        same = _text(c).eq(column("value", f"p{i}"))
        query = query.join(aliased(table, f"p{i}"), on=same, join_type="left")
        replacements.append(aliased(column("pseudonym", f"p{i}"), c.name))
    star = every_column("source", replace=replacements)
    return query.select(star)


def _text(c: BoundColumn) -> Expr:
    return cast(column(c.name, "source"), "VARCHAR")


def _unfit(bound: Bound, c: BoundColumn, session: Session) -> list[Mistake]:
    """Why the values of a column cannot be pseudonyms of a subject's rows."""
    assert bound.subject is not None
    subject, place = column(bound.subject.name, "source"), ("columns", c.name)
    by_value = _per(bound, _text(c), subject)
    shared = count_where(all_of(column("others") > 1, _given("one")))
    missing = count_where(is_null(column("one")))
    several, blank = session.row(select(shared, missing).from_(by_value.subquery("found")))
    by_subject = _per(bound, subject, _text(c)).subquery("found")
    split = session.row(select(count_where(column("others") > 1)).from_(by_subject))[0]
    found = []
    if blank:
        found.append(
            bound.file.mistake(
                f"{c.name!r} is NULL in some rows, which then have no pseudonym",
                *place,
                hint="leave these rows out, or number them in `source: {sql: …}`",
            )
        )
    if several:
        found.append(
            bound.file.mistake(
                f"{several} values of {c.name!r} belong to several values of "
                f"{bound.subject.name!r}, and their pseudonyms would link these",
                *place,
                hint="drop the column, or release the subject's own pseudonym",
            )
        )
    if split:
        same = c.name.lower() == bound.subject.name.lower()
        found.append(
            bound.file.mistake(
                f"{split} subjects have several texts of {c.name!r}, so that a pseudonym of each "
                "would not stand for one person",
                *place,
                hint="cast the column to text in `source: {sql: …}`, one text for equal values"
                if same
                else "drop the column, or release the subject's own pseudonym",
            )
        )
    return found


def _per(bound: Bound, one: Expr, other: Expr) -> Select:
    """For each distinct value of one expression, how many distinct ones of another it has."""
    others = count_distinct(other.copy())
    return (
        select(aliased(one, "one"), aliased(others, "others"))
        .from_(bound.source.subquery("source"))
        .group_by(one.copy())
    )


def _given(name: str) -> Expr:
    return not_null(column(name))


def _stage(bound: Bound, c: BoundColumn, session: Session, number: int) -> None:
    rows = session.rows(select(_text(c)).distinct().from_(bound.source.subquery("source")))
    values = [str(value) for (value,) in rows]
    domain = f"{bound.spec.release}.{c.name}"
    made = pseudonyms(values, [domain] * len(values))
    if len(set(made)) < len(values):
        raise DataError(f"two values of {c.name!r} have one pseudonym", hint="use another key")
    session.upload(f"deid_pseudonyms_{number}", {"value": values, "pseudonym": made})
