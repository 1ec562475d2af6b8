"""The classes of a release by record of the source, which later releases are compared with.

A class is what a recipient cannot tell apart by the quasi-identifiers. Of synthetic records, which
are nobody's, all records of a stratum are one. Private: who has this table and the source knows who
is in which class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.data.classes import labels_relation, values_relation
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    ascending,
    case,
    cast,
    coalesce,
    column,
    concatenated,
    count_distinct,
    count_rows,
    dense_rank,
    function,
    is_null,
    list_of,
    literal,
    one_of,
    over,
    paren,
    row_number,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Relation, free_name
from dbdeid.engine.session import Session, Step
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.condensation.details import synthetic_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.spellings import by_meaning, nullable
from dbdeid.verify.base.declaration import CLASS_ID

SHOWN, MEANT, NUMBERED = "deid_shown", "deid_shown_meant", "deid_shown_numbered"
CLASSES = Relation("deid_shown_classes", schema="main", catalog="temp")
MOVED = Relation("deid_shown_moved", schema="main", catalog="temp")
ROWS = "deid_shown_rows"


@dataclass(frozen=True, slots=True)
class Known:
    """How records and people are told apart.

    Attributes:
        record: the columns of the source whose values together are a record's own.
        person: the column that tells whose it is; None: each record is one person's.
    """

    record: tuple[str, ...]
    person: str | None


def named_here(names: Sequence[str], bound: Bound) -> tuple[str, ...] | None:
    """Columns as the source spells them now; None where it has not all of them."""
    spelled = {c.name.lower(): c.name for c in bound.columns}
    found = [spelled.get(name.lower()) for name in names]
    return None if None in found else tuple(name for name in found if name is not None)


def same_column(one: str | None, other: str | None) -> bool:
    """Whether two columns are one, whatever the case of their names; of none and none, too."""
    return one == other or (one is not None and other is not None and one.lower() == other.lower())


def known_by(bound: Bound, session: Session) -> Known:
    """How to find the records of a source again: by subject or identifiers, else by all they hold.

    Where these repeat, the quasi-identifiers tell the records of a person apart.
    """
    person = bound.subject.name if bound.subject else None
    names = (person,) if person else bound.names("identifier")
    if not names:
        return Known(tuple(c.name for c in bound.columns), None)
    counted = count_distinct(function("row", *_texts(names)))  # a digest takes six times as long
    query = select(count_rows(), counted)
    rows, found = session.row(query.from_(original(bound, session).subquery("source")))
    if found < rows:
        quasi = bound.names("quasi_identifier", "synthesize")
        names = (*names, *(n for n in quasi if n not in names))
    return Known(names, person)


def original(bound: Bound, session: Session) -> Query:
    """The source before identifiers became pseudonyms, which differ between releases."""
    return bind(bound.file, session).source if bound.pseudonyms else bound.source


def shown(
    prepared: Prepared,
    written: Written,
    session: Session,
    known: Known,
    sensitive: Sequence[str] = (),
) -> Relation | None:
    """The records that a release shows, as a temporary table.

    Args:
        prepared: what the release was made of.
        written: the release, still staged.
        session: where both are.
        known: how records and people are told apart.
        sensitive: columns whose values are wanted too.

    Returns:
        `record` and `person`, digests that are the same in every run; `class`, a number; `value0`,
        `value1`, … of the sensitive columns as text, by their meaning; NULL where there is none;
        and `key`, a number of what tells the record apart within one run, which is quicker to find.
        None where the method does not tell which record became which.
    """
    rows = placed(prepared, written, session)
    if rows is None:
        return None
    record = _digest(_texts(known.record, "source"))
    person = record if known.person is None else _digest(_texts([known.person], "source"))
    called = {f"value{i}": name for i, name in enumerate(sensitive)}
    values = [aliased(_value(prepared.bound, name), own) for own, name in called.items()]
    values.append(aliased(key_of(known, "source"), "key"))
    found = session.run(
        Step(
            SHOWN,
            rows.select(aliased(record, "record"), aliased(person, "person"), *values),
        )
    )
    if called:
        found = session.run(Step(MEANT, by_meaning(prepared.bound, session, found, called)))
    return _each_once(found, known, session)


def placed(prepared: Prepared, written: Written, session: Session) -> Select | None:
    """The records of the source (`source`) that a release shows, each with its `class`.

    None where the method does not tell which record became which.
    """
    if (synthetic := synthetic_of(written.outcome)) is not None:
        return _of_strata(prepared, session, synthetic.strata)
    if written.crosswalk is not None:
        return _by_crosswalk(prepared, session, written, written.crosswalk)
    if written.outcome.node is not None:
        return _by_labels(prepared, session, written)
    return None


def of_classes(written: Written, names: Sequence[str]) -> Select:
    """The rows of a release (`released`), each with the `class` that `placed` has for it.

    Args:
        written: the release, whose records were placed just before.
        names: the quasi-identifiers.
    """
    place = column("tuple", "classes").eq(_same(_texts(names, "released")))
    released = written.released.aliased("released")
    return select(column("class", "classes")).from_(released).join(_classes(), on=place)


def _value(bound: Bound, name: str) -> Expr:
    """A sensitive value as text; NULL as written is a text of its own, so that it counts."""
    text = _text(name, "source")
    if nullable(bound, name):
        return text
    absent = cast(paren(is_null(text)), "VARCHAR")
    return concatenated(coalesce(text, literal("")), absent)


def _each_once(found: Relation, known: Known, session: Session) -> Relation:
    """The same where records that read alike are numbered, so that each has a digest of its own.

    Where each record is one person's, people who read alike are as many.
    """
    record = column("record")
    counts = select(count_rows(), count_distinct(record.copy()))
    rows, distinct = session.row(counts.from_(found.table))
    if rows == distinct:
        return found
    order = [ascending(column("class"))]
    number = over(row_number(), by=[record.copy()], order=order)
    numbered = select("*", aliased(number, "copy")).from_(found.table).subquery("rows")
    copy = column("copy", "rows")
    another = _digest([cast(column("record", "rows"), "VARCHAR"), cast(copy, "VARCHAR")])
    own = case((copy.eq(1), record.copy()), otherwise=another)
    told = {"record"} if known.person is not None else {"record", "person"}
    names = [c.name for c in found.columns if c.name not in told]
    each = [aliased(own, name) for name in sorted(told, reverse=True)]
    query = select(*each, *names).from_(numbered)
    return session.run(Step(NUMBERED, query))


# -- classes -------------------------------------------------------------------------------------


def _of_strata(prepared: Prepared, session: Session, strata: Sequence[str]) -> Select:
    source = original(prepared.bound, session).subquery("source")
    tuples = _same(_texts(strata, "rows"))
    rows = original(prepared.bound, session).subquery("rows")
    _number(session, select(aliased(tuples, "tuple")).from_(rows))
    place = column("tuple", "classes").eq(_same(_texts(strata, "source")))
    return select(column("class", "classes")).from_(source).join(_classes(), on=place)


def _by_labels(prepared: Prepared, session: Session, written: Written) -> Select:
    """Each record in the class of its generalized values, if that is released."""
    names = [q.name for q in prepared.quasi_identifiers]
    released = _same(_texts(names))
    _number(session, select(aliased(released, "tuple")).from_(written.released.table))
    query, number = _numbered_source(prepared, session)
    labels: list[Expr] = []
    for i, q in enumerate(prepared.quasi_identifiers):
        value = cast(column(q.name, "source"), q.column.type)
        same = same_value(value, column("value", f"v{i}"))
        query = query.join(values_relation(i).aliased(f"v{i}"), on=same)
        coded = column("code", f"v{i}").eq(column("code", f"l{i}"))
        query = query.join(labels_relation(i).aliased(f"l{i}"), on=coded)
        labels.append(column("label", f"l{i}"))
    if prepared.parameters.rule.linked:  # a person's records stay or go together
        stays = select(column(str(prepared.parameters.subject))).from_(written.counted.table)
        query = query.where(one_of(number, stays))
    place = column("tuple", "classes").eq(_same(labels))
    if not prepared.parameters.keep:
        return query.select(column("class", "classes")).join(_classes(), on=place)
    blank = _same([literal(TOP)] * len(names))
    of_blank = select("class").from_(CLASSES.table).where(column("tuple").eq(blank))
    query = query.join(_classes(), on=place, join_type="left")
    found = coalesce(column("class", "classes"), of_blank.subquery())
    return query.select(aliased(found, "class"))


def _by_crosswalk(
    prepared: Prepared, session: Session, written: Written, crosswalk: Relation
) -> Select:
    """Each record in the class of what it became; of equal ones each takes one."""
    names = {q.name for q in prepared.quasi_identifiers}
    at = {c.name: i for i, c in enumerate(written.released.columns, start=1)}
    others = [c for c in prepared.released if c.name not in names]
    subject = prepared.parameters.subject is not None
    became = _same([_member("record", at[q.name]) for q in prepared.quasi_identifiers])
    own = [column("source"), *(_member("record", at[c.name]) for c in others)]
    if subject:
        own.append(cast(column("subject"), "BIGINT"))
    copies = function("unnest", function("range", column("records")))
    told = select(aliased(function("hash", *own), "own"), aliased(became, "tuple"), copies).from_(
        crosswalk.table
    )
    listed = select("own", "tuple").from_(told.subquery("told"))
    _number(session, select("tuple").from_(listed.copy().subquery("listed")))
    place = column("tuple", "classes").eq(column("tuple", "rows"))
    joined = (
        select(
            column("own", "rows"),
            column("class", "classes"),
            aliased(_nth("own", column("class", "classes"), "rows"), "nth"),
        )
        .from_(listed.subquery("rows"))
        .join(_classes(), on=place)
    )
    session.run(Step(MOVED.name, joined))
    query, number = _numbered_source(prepared, session)
    texts = [
        cast(cast(column(q.name, "source"), q.column.type), "VARCHAR")
        for q in prepared.quasi_identifiers
    ]
    mine: list[Expr] = [list_of(*texts)]
    mine += [cast(cast(column(c.name, "source"), c.type), "VARCHAR") for c in others]
    if subject:
        mine.append(cast(number, "BIGINT"))
    keyed = query.select("source.*", aliased(function("hash", *mine), _free(prepared, "deid_own")))
    name = _free(prepared, "deid_own")
    order = [ascending(function("hash", column("rows")))]
    nth = over(row_number(), by=[column(name, "rows")], order=order)
    counted = select("*", aliased(nth, _free(prepared, "deid_nth"))).from_(keyed.subquery("rows"))
    same = all_of(
        column(name, "source").eq(column("own", "moved")),
        column(_free(prepared, "deid_nth"), "source").eq(column("nth", "moved")),
    )
    moved = MOVED.aliased("moved")
    return select(column("class", "moved")).from_(counted.subquery("source")).join(moved, on=same)


def _numbered_source(prepared: Prepared, session: Session) -> tuple[Select, Expr]:
    """The rows of the source, and the number of each one's subject as it was staged."""
    source, bound = original(prepared.bound, session), prepared.bound
    name = _free(prepared, "deid_subject")
    if bound.subject is None:
        return select().from_(source.subquery("source")), column(name, "source")
    order = [ascending(column(bound.subject.name, "rows"))]
    rank = over(dense_rank(), order=order)
    numbered = select("*", aliased(paren(rank) - 1, name))
    whole = numbered.from_(source.subquery("rows")).subquery("source")
    return select().from_(whole), column(name, "source")


def _free(prepared: Prepared, name: str) -> str:
    """A name that no column of the source has."""
    return free_name(name, (c.name for c in prepared.bound.columns))


def _number(session: Session, tuples: Query) -> None:
    """Give each of these tuples a number, by no order that means anything."""
    order = [ascending(column("tuple"))]
    number = over(row_number(), order=order)
    each = select("tuple").distinct().from_(tuples.subquery("rows")).subquery("each")
    query = select("tuple", aliased(cast(paren(number) - 1, "INTEGER"), "class"))
    session.run(Step(CLASSES.name, query.from_(each)))


def _classes() -> Expr:
    return CLASSES.aliased("classes")


def _nth(key: str, order: Expr, table: str) -> Expr:
    ordered = [ascending(order)]
    return over(row_number(), by=[column(key, table)], order=ordered)


# -- rows of releases with counterfeit records ----------------------------------------------------


def published_rows(written: Written, session: Session) -> Relation | None:
    """The distinct rows of a release with counterfeit records: `row`, `records`, `counterfeits`.

    None of other releases. Numbers of classes are no part of a row: a run gives others.
    """
    if written.flagged is None:
        return None
    names = [c.name for c in written.released.columns if c.name != CLASS_ID]
    real = select(aliased(_digest(_texts(names)), "row"), aliased(literal(1), "real"))
    every = select(aliased(_digest(_texts(names)), "row"), aliased(literal(0), "real"))
    both = union_all(every.from_(written.released.table), real.from_(written.real.table))
    real_ones = sum_of(column("real"))
    rows = count_rows() - real_ones  # each real one stands in both
    counterfeits = rows.copy() - real_ones.copy()
    query = (
        select(
            "row",
            aliased(cast(paren(rows), "BIGINT"), "records"),
            aliased(cast(paren(counterfeits), "BIGINT"), "counterfeits"),
        )
        .from_(both.subquery("rows"))
        .group_by("row")
    )
    return session.run(Step(ROWS, query))


# -- digests -------------------------------------------------------------------------------------


def _text(name: str, table: str | None = None) -> Expr:
    return cast(column(name, table), "VARCHAR")


def _texts(names: Sequence[str], table: str | None = None) -> list[Expr]:
    return [_text(name, table) for name in names]


def _digest(texts: Sequence[Expr]) -> Expr:
    """A number of these texts that is the same in every run and every version of the engine."""
    whole = function("to_json", list_of(*(text.copy() for text in texts)))
    return function("md5_number_lower", cast(whole, "VARCHAR"))


def digest_of(names: Sequence[str], table: str) -> Expr:
    """A number of the values of these columns, as records and people are told apart by it."""
    return _digest(_texts(names, table))


def _same(texts: Sequence[Expr]) -> Expr:
    """A number of these texts within one run; quicker to find than a digest."""
    return function("hash", list_of(*(text.copy() for text in texts)))


def key_of(known: Known, table: str) -> Expr:
    """A number for the values that distinguish a record, within one run."""
    return _same(_texts(known.record, table))


def _member(name: str, place: int) -> Expr:
    return function("list_extract", column(name), literal(place))
