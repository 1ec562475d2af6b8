"""Pseudonyms of identifiers: keyed hashes in place of the values, the same for the same value.

HMAC-SHA256 under $DBDEID_PSEUDONYM_KEY, separated by release and column, so that two releases
cannot be joined by them. The values are hashed once each and the pseudonyms joined to the source.
"""

from __future__ import annotations

from sqlglot import exp

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.engine.relation import Relation, cast, column, count_where, identifier
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.udfs.keyed import pseudonyms


def replaced(bound: Bound, session: Session) -> exp.Query:
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


def joined(bound: Bound) -> exp.Query:
    """The source joined with the pseudonyms that are staged: `deid_pseudonyms_0`, …."""
    if not bound.pseudonyms:
        return bound.source
    replacements = []
    query = exp.select().from_(bound.source.subquery("source"))
    for i, c in enumerate(bound.pseudonyms):
        table = Relation(f"deid_pseudonyms_{i}", schema="main", catalog="temp").table
        same = _text(c).eq(exp.column("value", f"p{i}"))
        query = query.join(exp.alias_(table, f"p{i}", table=True), on=same, join_type="left")
        replacements.append(exp.alias_(exp.column("pseudonym", f"p{i}"), identifier(c.name)))
    star = exp.Column(this=exp.Star(replace=replacements), table=exp.to_identifier("source"))
    return query.select(star)


def _text(c: BoundColumn) -> exp.Expr:
    return cast(column(c.name, "source"), "VARCHAR")


def _unfit(bound: Bound, c: BoundColumn, session: Session) -> list[Mistake]:
    """Why the values of a column cannot be pseudonyms of a subject's rows."""
    assert bound.subject is not None
    subject, place = column(bound.subject.name, "source"), ("columns", c.name)
    by_value = _per(bound, _text(c), subject)
    shared = count_where(exp.and_(exp.column("others") > 1, _given("one")))
    missing = count_where(exp.column("one").is_(exp.null()))
    several, blank = session.row(exp.select(shared, missing).from_(by_value.subquery("found")))
    by_subject = _per(bound, subject, _text(c)).subquery("found")
    split = session.row(exp.select(count_where(exp.column("others") > 1)).from_(by_subject))[0]
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


def _per(bound: Bound, one: exp.Expr, other: exp.Expr) -> exp.Select:
    """For each distinct value of one expression, how many distinct ones of another it has."""
    others = exp.Count(this=exp.Distinct(expressions=[other.copy()]))
    return (
        exp.select(exp.alias_(one.copy(), "one"), exp.alias_(others, "others"))
        .from_(bound.source.subquery("source"))
        .group_by(one.copy())
    )


def _given(name: str) -> exp.Expr:
    return exp.not_(exp.column(name).is_(exp.null()))


def _stage(bound: Bound, c: BoundColumn, session: Session, number: int) -> None:
    rows = session.rows(exp.select(_text(c)).distinct().from_(bound.source.subquery("source")))
    values = [str(value) for (value,) in rows]
    domain = f"{bound.spec.release}.{c.name}"
    made = pseudonyms(values, [domain] * len(values))
    if len(set(made)) < len(values):
        raise DataError(f"two values of {c.name!r} have one pseudonym", hint="use another key")
    session.upload(f"deid_pseudonyms_{number}", {"value": values, "pseudonym": made})
