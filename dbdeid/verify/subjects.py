"""The promises of a release whose subjects are counted, which its own columns do not tell.

The source is generalized once more and says whose records each released class holds. Where no
pseudonym is released, a class must be released with all its records or not at all: then its
subjects are those of the source's class. Where one is, it tells the subject of each record.

- every declared privacy model, over distinct subjects;
- `linked_classes`: the whole set of classes of each subject is that of k subjects, for whoever
  knows all records of a person would find them again by it;
- `suppression_limit`: no more subjects lose a record than was declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, column
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy import KAnonymity
from dbdeid.privacy.counting import Counting
from dbdeid.verify.declared import Declared, Promise
from dbdeid.verify.generalized import all_starred, generalized, names_of, renamed
from dbdeid.verify.promises import allowed

SOURCE, PEOPLE, RELEASED = "verify_subject_source", "verify_people", "verify_released"


def promises(
    session: Session,
    table: Relation,
    declared: Declared,
    source: exp.Query | Relation,
    hierarchies: Relation,
) -> list[Promise]:
    """Each promise that counts subjects, measured on the written table and its source.

    Args:
        session: sees all three tables.
        table: the written table, described.
        declared: its shape and promises, with a subject.
        source: the records as released at level 0 (pseudonyms already in their columns), with
            the column of the subject.
        hierarchies: `deid.hierarchies`, or its rows for this release.
    """
    assert declared.subject is not None
    names = [*declared.quasi_identifiers, *declared.pseudonyms[:1]]
    columns = [c for name in names if (c := table.find(name))]
    subject = exp.alias_(column(declared.subject), "subject")
    try:
        raw = session.run(Step(SOURCE, renamed(source, columns).select(subject)))
        known = generalized(raw, columns, declared, hierarchies).select(column("subject", "s"))
        keys = names_of(columns)
        people = session.run(Step(PEOPLE, _counted(known, [*keys, "subject"])))
        written = _counted(renamed(table, columns), keys)
        released = session.run(Step(RELEASED, written))
        total = exp.Count(this=exp.Distinct(expressions=[exp.column("subject")]))
        subjects = int(session.row(exp.select(total).from_(raw.table))[0])
        if declared.pseudonyms:
            found = _linked(session, people, released, columns, declared)
        else:
            found = _by_class(session, people, released, columns, declared)
        rows = [_rows_in(session, table, declared, m) for m in declared.models]
    finally:
        for name in (SOURCE, PEOPLE, RELEASED):
            session.drop_temp(name)
    return list(_judged(found, rows, declared, subjects))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found: fewest subjects of a class and of a set, lost subjects, and what is odd."""

    smallest: int | None
    shared: int | None
    suppressed: int
    odd: str


def _counted(rows: exp.Select, keys: Sequence[str]) -> exp.Select:
    columns = [column(key) for key in keys]
    return (
        exp.select(*columns, exp.alias_(exp.Count(this=exp.Star()), "records"))
        .from_(rows.subquery("counted"))
        .group_by(*(c.copy() for c in columns))
    )


def _stars(columns: Sequence[Column], declared: Declared) -> exp.Expr:
    """Whether a released class is that of the suppressed records that are kept."""
    return all_starred(columns, declared) if declared.stars_suppressed else exp.false()


def _by_class(
    session: Session,
    people: Relation,
    released: Relation,
    columns: Sequence[Column],
    declared: Declared,
) -> _Found:
    stars = _stars(columns, declared)
    classes = exp.select("*").from_(released.table).where(exp.not_(stars))
    query = step(
        "verify_subjects", {"people": people, "released": classes}, {"key": names_of(columns)}
    )
    smallest, suppressed, partial = session.row(query)
    kept = session.row(exp.select(exp.Count(this=exp.Star())).from_(released.table).where(stars))
    if kept[0]:  # the suppressed are one more class
        smallest = min(suppressed, smallest if smallest is not None else suppressed)
    odd = f"{partial} classes without some of their records" if partial else ""
    return _Found(smallest, None, suppressed, odd)


def _linked(
    session: Session,
    people: Relation,
    released: Relation,
    columns: Sequence[Column],
    declared: Declared,
) -> _Found:
    *keys, pseudonym = names_of(columns)
    marked = exp.select("*", exp.alias_(_stars(columns, declared), "suppressed"))
    query = step(
        "verify_linked",
        {"people": people, "released": marked.from_(released.table)},
        {"key": keys, "pseudonym": [pseudonym]},
    )
    smallest, shared, suppressed, unowned = session.row(query)
    odd = ""
    if unowned:
        odd = f"{unowned} records of no or of several subjects, or pseudonyms under another key"
    return _Found(smallest, shared, suppressed, odd)


def _rows_in(
    session: Session, table: Relation, declared: Declared, model: KAnonymity
) -> int | None:
    """The smallest class in records: it has no more subjects, and none where NULL is excluded."""
    counting = Counting(declared.null_policy)
    query = model.measure(table, declared.quasi_identifiers, counting)
    found = session.row(query)[0]
    return None if found is None else int(found)


def _judged(
    found: _Found, rows: Sequence[int | None], declared: Declared, subjects: int
) -> Iterator[Promise]:
    k = 0
    for model, records in zip(declared.models, rows, strict=True):
        known = [n for n in (found.smallest, records) if n is not None]
        smallest = min(known, default=None)
        shown = found.odd or smallest
        wanted = {**model.declared, "of": "subjects"}
        yield Promise(model.model, wanted, shown, not found.odd and model.holds(smallest))
        k = max(k, model.smallest_class)
    if declared.pseudonyms:
        holds = not found.odd and (found.shared is None or found.shared >= k)
        wanted = {"k": k, "of": "subjects with the same set of classes"}
        yield Promise("linked_classes", wanted, found.odd or found.shared, holds)
    limit = allowed(declared.suppression_limit, subjects)
    share = found.suppressed / subjects if subjects else 0.0
    yield Promise(
        "suppression_limit",
        {"share": declared.suppression_limit, "subjects": limit},
        {"share": share, "subjects": found.suppressed},
        found.suppressed <= limit,
    )
