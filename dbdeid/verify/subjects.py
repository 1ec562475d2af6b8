"""The promises of a release whose subjects are counted, which its own columns do not show.

The source is generalized once more and says whose records each released class holds. Where no
pseudonym is released, a class must be released with all its records or not at all: then its
subjects are those of the source's class. Where one is, it tells the subject of each record.

- every declared privacy model, over distinct subjects;
- `linked_classes`: the whole set of classes of each subject is that of k subjects, for whoever
  knows all records of a person would find them again by it;
- `suppression_limit`: no more subjects lose a record than was declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    coalesce,
    column,
    count_distinct,
    count_rows,
    literal,
    not_,
    over,
    row_number,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy import KAnonymity, MaxRisk, OfSensitive
from dbdeid.privacy.common.counting import Counting
from dbdeid.privacy.common.shares import class_sizes, value_names
from dbdeid.verify.base import populations, sensitive
from dbdeid.verify.base.classes import STAR
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import all_starred, generalized, names_of, renamed
from dbdeid.verify.base.populations import Populations
from dbdeid.verify.base.promises import allowed
from dbdeid.verify.records.crosswalk import recoded

SOURCE, PEOPLE, RELEASED = "verify_subject_source", "verify_people", "verify_released"
GENERALIZED = "verify_generalized"
TEMPORARY = (PEOPLE, RELEASED, sensitive.RECORDS, sensitive.CLASSES, sensitive.MEMBERS)


def promises(
    session: Session,
    table: Relation,
    declared: Declared,
    source: Query | Relation,
    hierarchies: Relation,
    around: Populations | None = None,
    *,
    crosswalk: Relation | None = None,
) -> list[Promise]:
    """Each promise that counts subjects, measured on the written table and its source.

    Args:
        session: sees all three tables.
        table: the written table, described.
        declared: its shape and promises, with a subject.
        source: the records as released at level 0 (pseudonyms already in their columns), with
            the column of the subject.
        hierarchies: `deid.hierarchies`, or its rows for this release.
        around: the populations that models compare with.
        crosswalk: where levels differ, which was found to be true: it tells whose records a class
            holds, and the source is not generalized.
    """
    assert declared.subject is not None
    every = [*_keys(table, declared), *sensitive.attributes(table, declared.models)]
    subject = aliased(column(declared.subject), "subject")
    try:
        raw = session.run(Step(SOURCE, renamed(source, every).select(subject)))
        if crosswalk is not None:
            query = recoded(crosswalk, declared, every)
        else:
            query = generalized(raw, every, declared, hierarchies).select(column("subject", "s"))
        known = session.run(Step(GENERALIZED, query))
        return _promises(session, table, declared, _Source(raw, known), hierarchies, around)
    finally:
        session.drop_temp(SOURCE)
        session.drop_temp(GENERALIZED)


def promises_of(
    session: Session,
    table: Relation,
    declared: Declared,
    known: Relation,
    records: str,
    hierarchies: Relation,
    around: Populations | None = None,
) -> list[Promise]:
    """The same of a source that a warehouse has generalized once more.

    Args:
        session: sees the tables.
        table: the written table, described; no column of it is a pseudonym.
        declared: its shape and promises, with a subject.
        known: what its records become, for each subject once: c0, c1, … (the quasi-identifiers and
            the columns of models), subject.
        records: its column that says how many such records the subject has.
        hierarchies: as above.
        around: as above.
    """
    return _promises(session, table, declared, _Source(known, known, records), hierarchies, around)


def _keys(table: Relation, declared: Declared) -> list[Column]:
    """What tells the class of a written record, and whose it is where a pseudonym does."""
    names = [*declared.quasi_identifiers, *declared.pseudonyms[:1]]
    return [c for name in names if (c := table.find(name))]


@dataclass(frozen=True, slots=True)
class _Source:
    """The records of the source, with their subject.

    Attributes:
        raw: as they are.
        known: as they are released.
        records: the column of `known` that says how many records a row stands for; None: one.
    """

    raw: Relation
    known: Relation
    records: str | None = None


def _promises(
    session: Session,
    table: Relation,
    declared: Declared,
    source: _Source,
    hierarchies: Relation,
    around: Populations | None,
) -> list[Promise]:
    columns, values = _keys(table, declared), sensitive.attributes(table, declared.models)
    raw, known, stored = source.raw, source.known, names_of([*columns, *values])
    keys = names_of(columns)
    try:
        cells = [*keys, "subject", *([source.records] if source.records else [])]
        records = select(*map(column, cells)).from_(known.table)
        counted_people = _counted(records, [*keys, "subject"], source.records)
        people = session.run(Step(PEOPLE, counted_people))
        written = _counted(renamed(table, columns), keys)
        released = session.run(Step(RELEASED, written))
        total = count_distinct(column("subject"))
        subjects = int(session.row(select(total).from_(raw.table))[0])
        if declared.pseudonyms:
            found = _linked(session, people, released, columns, declared)
        else:
            found = _by_class(session, people, released, columns, declared)
        own = stored[len(columns) :]
        if declared.pseudonyms:
            members = _members_linked(session, table, people, columns, values, declared)
        else:
            named = dict(zip(own, value_names(values), strict=True))
            members = _members_by_class(
                session, known, released, columns, named, declared, kept=found.kept
            )
        origin = sensitive.of_source(raw, values, own, "subject")
        counted = sensitive.CountedValues(
            session.run(Step(sensitive.MEMBERS, members)),
            session.run(Step(sensitive.RECORDS, origin)),
            by_subject=True,
        )
        sizes = None if declared.pseudonyms else _sizes(counted.members, columns, found)
        compared = populations.population_promises(
            session, table, declared, declared.models, around, hierarchies, sizes
        )
        models = list(_models(session, table, declared, counted, found, hierarchies, compared))
    finally:
        for name in TEMPORARY:
            session.drop_temp(name)
    return [*models, *_judged(found, declared, subjects)]


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found.

    Attributes:
        smallest: fewest subjects of a class.
        shared: fewest of a set of classes.
        suppressed: subjects who lost a record.
        odd: why the release cannot be that of these subjects.
        kept: whether suppressed records are one more class.
    """

    smallest: int | None
    shared: int | None
    suppressed: int
    odd: str
    kept: bool = False


def _counted(rows: Select, keys: Sequence[str], weight: str | None = None) -> Select:
    columns = [column(key) for key in keys]
    number = count_rows() if weight is None else cast(sum_of(column(weight)), "BIGINT")
    return (
        select(*columns, aliased(number, "records"))
        .from_(rows.subquery("counted"))
        .group_by(*(c.copy() for c in columns))
    )


def _stars(columns: Sequence[Column], declared: Declared) -> Expr:
    """Whether a released class is that of the suppressed records that are kept."""
    return all_starred(columns, declared) if declared.stars_suppressed else literal(False)


def _by_class(
    session: Session,
    people: Relation,
    released: Relation,
    columns: Sequence[Column],
    declared: Declared,
) -> _Found:
    stars = _stars(columns, declared)
    classes = select("*").from_(released.table).where(not_(stars))
    query = step(
        "verify/subjects", {"people": people, "released": classes}, {"key": names_of(columns)}
    )
    smallest, suppressed, partial = session.row(query)
    kept = session.row(select(count_rows()).from_(released.table).where(stars))
    if kept[0]:  # the suppressed are one more class
        smallest = min(suppressed, smallest if smallest is not None else suppressed)
    odd = f"{partial} classes without some of their records" if partial else ""
    return _Found(smallest, None, suppressed, odd, bool(kept[0]))


def _linked(
    session: Session,
    people: Relation,
    released: Relation,
    columns: Sequence[Column],
    declared: Declared,
) -> _Found:
    *keys, pseudonym = names_of(columns)
    marked = select("*", aliased(_stars(columns, declared), "suppressed"))
    query = step(
        "verify/linked",
        {"people": people, "released": marked.from_(released.table)},
        {"key": keys, "pseudonym": [pseudonym]},
    )
    smallest, shared, suppressed, unowned = session.row(query)
    odd = ""
    if unowned:
        odd = f"{unowned} records of no or of several subjects, or pseudonyms under another key"
    return _Found(smallest, shared, suppressed, odd)


def _members_by_class(
    session: Session,
    known: Relation,
    released: Relation,
    columns: Sequence[Column],
    values: Mapping[str, str],
    declared: Declared,
    *,
    kept: bool,
) -> Select:
    """The records of the source in their released class; the suppressed, if kept, in one more."""
    number = aliased(over(row_number()), "class")
    written = select("*", number).from_(released.table)
    classes = session.run(Step(sensitive.CLASSES, written.where(not_(_stars(columns, declared)))))
    same = (same_value(column(key, "record"), column(key, "written")) for key in names_of(columns))
    class_ = coalesce(column("class", "written"), literal(0))
    return (
        select(aliased(class_, "class"), column("subject", "record"))
        .select(*(aliased(column(c, "record"), name) for c, name in values.items()))
        .from_(known.aliased("record"))
        .join(
            classes.aliased("written"),
            on=all_of(*same),
            join_type="left" if kept else "inner",
        )
    )


def _sizes(members: Relation, columns: Sequence[Column], found: _Found) -> Query:
    """The released classes in subjects, for `verify.base.populations`."""
    keys = names_of(columns)
    classes = Relation(sensitive.CLASSES, schema="main", catalog="temp").aliased("written")
    sizes = class_sizes(members, by_subject=True).subquery("sizes")
    same = column("class", "written").eq(column("class", "sizes"))
    known = select(*(column(key, "written") for key in keys), column("class_size", "sizes"))
    query = known.from_(classes).join(sizes, on=same)
    if not found.kept:
        return query
    stars = [aliased(literal(STAR), key) for key in keys]
    suppressed = aliased(literal(found.suppressed), "class_size")
    return union_all(query, select(*stars, suppressed))


def _members_linked(
    session: Session,
    table: Relation,
    people: Relation,
    columns: Sequence[Column],
    values: Sequence[Column],
    declared: Declared,
) -> Query:
    """The written records, each in its class among those who share its subject's set of classes."""
    rows = select(*sensitive.keys_of(declared.quasi_identifiers), *sensitive.as_values(values))
    rows = rows.select(aliased(column(columns[-1].name), "pseudonym")).from_(table.table)
    query = step(
        "verify/linked_members",
        {"rows": sensitive.numbered(session, rows, declared), "people": people},
        {"pseudonym": names_of(columns)[-1:], "value": value_names(values)},
    )
    return query


def _models(
    session: Session,
    table: Relation,
    declared: Declared,
    counted: sensitive.CountedValues,
    found: _Found,
    hierarchies: Relation,
    compared: populations.Found,
) -> Iterator[Promise]:
    """Each privacy model, over distinct subjects."""
    of_values = sensitive.sensitive_promises(
        session, table, declared, declared.models, counted, hierarchies
    )
    for model in declared.models:
        if isinstance(model, OfSensitive):
            kept = of_values[model]
        elif isinstance(model, KAnonymity):
            rows = _rows_in(session, table, declared, model)
            known = [n for n in (found.smallest, rows) if n is not None]
            smallest = min(known, default=None)
            kept = [Promise(model.model, model.declared, smallest, model.holds(smallest))]
        elif model in compared:
            kept = [compared[model]]
        else:
            assert isinstance(model, MaxRisk)
            kept = [_risk(session, table, declared, model, counted)]
        for promise in kept:
            wanted = {**promise.declared, "of": "subjects"}
            shown, holds = found.odd or promise.found, not found.odd and promise.holds
            yield Promise(promise.model, wanted, shown, holds)


def _rows_in(
    session: Session, table: Relation, declared: Declared, model: KAnonymity
) -> int | None:
    """The smallest class in records: it has no more subjects, and none where NULL is excluded."""
    counting = Counting(declared.null_policy)
    query = model.measure(table, declared.quasi_identifiers, counting)
    found = session.row(query)[0]
    return None if found is None else int(found)


def _risk(
    session: Session,
    table: Relation,
    declared: Declared,
    model: MaxRisk,
    counted: sensitive.CountedValues,
) -> Promise:
    if declared.null_policy == "exclude" and (
        alone := sensitive.classless(session, table, declared)
    ):
        return Promise(model.model, model.declared, f"{alone} records without a class", False)
    sizes = class_sizes(counted.members, by_subject=True)
    risk = session.row(model.measure(sizes))[0]
    return Promise(model.model, model.declared, model.shown(risk), model.holds(risk))


def _judged(found: _Found, declared: Declared, subjects: int) -> Iterator[Promise]:
    if declared.pseudonyms:
        k = max(model.smallest_class for model in declared.models)
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
