"""Which records of the source a release shows in one class: what later releases are held against.

A class is what a recipient cannot tell apart by the quasi-identifiers. Of synthetic records, which
are nobody's, all records of a stratum are one. Private: who has this table and the source knows who
is in which class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.data.classes import labels_relation, values_relation
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Relation, cast, column, free_name, identifier
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
    counted = exp.Count(this=exp.Distinct(expressions=[_digest(_texts(names))]))
    query = exp.select(exp.Count(this=exp.Star()), counted)
    rows, found = session.row(query.from_(original(bound, session).subquery("source")))
    if found < rows:
        quasi = bound.names("quasi_identifier", "synthesize")
        names = (*names, *(n for n in quasi if n not in names))
    return Known(names, person)


def original(bound: Bound, session: Session) -> exp.Query:
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
        `value1`, … of the sensitive columns as text, by their meaning; NULL where there is none.
        None where the method does not tell which record became which.
    """
    rows = placed(prepared, written, session)
    if rows is None:
        return None
    record = _digest(_texts(known.record, "source"))
    person = record if known.person is None else _digest(_texts([known.person], "source"))
    called = {f"value{i}": name for i, name in enumerate(sensitive)}
    values = [exp.alias_(_value(prepared.bound, name), own) for own, name in called.items()]
    found = session.run(
        Step(
            SHOWN,
            rows.select(exp.alias_(record, "record"), exp.alias_(person.copy(), "person"), *values),
        )
    )
    if called:
        found = session.run(Step(MEANT, by_meaning(prepared.bound, session, found, called)))
    return _each_once(found, known, session)


def placed(prepared: Prepared, written: Written, session: Session) -> exp.Select | None:
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


def of_classes(written: Written, names: Sequence[str]) -> exp.Select:
    """The rows of a release (`released`), each with the `class` that `placed` has for it.

    Args:
        written: the release, whose records were placed just before.
        names: the quasi-identifiers.
    """
    place = exp.column("tuple", "classes").eq(_same(_texts(names, "released")))
    released = exp.alias_(written.released.table, "released", table=True)
    return exp.select(exp.column("class", "classes")).from_(released).join(_classes(), on=place)


def _value(bound: Bound, name: str) -> exp.Expr:
    """A sensitive value as text; NULL as written is a text of its own, so that it counts."""
    text = _text(name, "source")
    if nullable(bound, name):
        return text
    absent = cast(exp.paren(exp.Is(this=text.copy(), expression=exp.null())), "VARCHAR")
    return exp.DPipe(this=exp.Coalesce(this=text, expressions=[exp.convert("")]), expression=absent)


def _each_once(found: Relation, known: Known, session: Session) -> Relation:
    """The same where records that read alike are numbered, so that each has a digest of its own.

    Where each record is one person's, people who read alike are as many.
    """
    record = exp.column("record")
    counts = exp.select(
        exp.Count(this=exp.Star()), exp.Count(this=exp.Distinct(expressions=[record.copy()]))
    )
    rows, distinct = session.row(counts.from_(found.table))
    if rows == distinct:
        return found
    order = exp.Order(expressions=[exp.Ordered(this=exp.column("class"))])
    number = exp.Window(this=exp.RowNumber(), partition_by=[record.copy()], order=order)
    numbered = exp.select("*", exp.alias_(number, "copy")).from_(found.table).subquery("rows")
    copy = exp.column("copy", "rows")
    another = _digest([cast(exp.column("record", "rows"), "VARCHAR"), cast(copy, "VARCHAR")])
    own = exp.Case(ifs=[exp.If(this=copy.eq(1), true=record.copy())], default=another)
    told = {"record"} if known.person is not None else {"record", "person"}
    names = [c.name for c in found.columns if c.name not in told]
    each = [exp.alias_(own.copy(), name) for name in sorted(told, reverse=True)]
    query = exp.select(*each, *names).from_(numbered)
    return session.run(Step(NUMBERED, query))


# -- classes -------------------------------------------------------------------------------------


def _of_strata(prepared: Prepared, session: Session, strata: Sequence[str]) -> exp.Select:
    source = original(prepared.bound, session).subquery("source")
    tuples = _same(_texts(strata, "rows"))
    rows = original(prepared.bound, session).subquery("rows")
    _number(session, exp.select(exp.alias_(tuples, "tuple")).from_(rows))
    place = exp.column("tuple", "classes").eq(_same(_texts(strata, "source")))
    return exp.select(exp.column("class", "classes")).from_(source).join(_classes(), on=place)


def _by_labels(prepared: Prepared, session: Session, written: Written) -> exp.Select:
    """Each record in the class of its generalized values, if that is released."""
    names = [q.name for q in prepared.quasi_identifiers]
    released = _same(_texts(names))
    _number(session, exp.select(exp.alias_(released, "tuple")).from_(written.released.table))
    query, number = _numbered_source(prepared, session)
    labels: list[exp.Expr] = []
    for i, q in enumerate(prepared.quasi_identifiers):
        value = cast(column(q.name, "source"), q.column.type)
        same = exp.NullSafeEQ(this=value, expression=exp.column("value", f"v{i}"))
        query = query.join(exp.alias_(values_relation(i).table, f"v{i}", table=True), on=same)
        coded = exp.column("code", f"v{i}").eq(exp.column("code", f"l{i}"))
        query = query.join(exp.alias_(labels_relation(i).table, f"l{i}", table=True), on=coded)
        labels.append(exp.column("label", f"l{i}"))
    if prepared.parameters.rule.linked:  # a person's records stay or go together
        stays = exp.select(column(str(prepared.parameters.subject))).from_(written.counted.table)
        query = query.where(exp.In(this=number, query=stays.subquery()))
    place = exp.column("tuple", "classes").eq(_same(labels))
    if not prepared.parameters.keep:
        return query.select(exp.column("class", "classes")).join(_classes(), on=place)
    blank = _same([exp.convert(TOP)] * len(names))
    of_blank = exp.select("class").from_(CLASSES.table).where(exp.column("tuple").eq(blank))
    query = query.join(_classes(), on=place, join_type="left")
    found = exp.Coalesce(this=exp.column("class", "classes"), expressions=[of_blank.subquery()])
    return query.select(exp.alias_(found, "class"))


def _by_crosswalk(
    prepared: Prepared, session: Session, written: Written, crosswalk: Relation
) -> exp.Select:
    """Each record in the class of what it became; of equal ones each takes one."""
    names = {q.name for q in prepared.quasi_identifiers}
    at = {c.name: i for i, c in enumerate(written.released.columns, start=1)}
    others = [c for c in prepared.released if c.name not in names]
    subject = prepared.parameters.subject is not None
    became = _same([_member("record", at[q.name]) for q in prepared.quasi_identifiers])
    own = [exp.column("source"), *(_member("record", at[c.name]) for c in others)]
    if subject:
        own.append(cast(exp.column("subject"), "BIGINT"))
    copies = exp.Unnest(expressions=[_call("range", exp.column("records"))])
    told = exp.select(
        exp.alias_(_call("hash", *own), "own"), exp.alias_(became, "tuple"), copies
    ).from_(crosswalk.table)
    listed = exp.select("own", "tuple").from_(told.subquery("told"))
    _number(session, exp.select("tuple").from_(listed.copy().subquery("listed")))
    place = exp.column("tuple", "classes").eq(exp.column("tuple", "rows"))
    joined = (
        exp.select(
            exp.column("own", "rows"),
            exp.column("class", "classes"),
            exp.alias_(_nth("own", exp.column("class", "classes"), "rows"), "nth"),
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
    mine: list[exp.Expr] = [exp.Array(expressions=texts)]
    mine += [cast(cast(column(c.name, "source"), c.type), "VARCHAR") for c in others]
    if subject:
        mine.append(cast(number, "BIGINT"))
    keyed = query.select("source.*", exp.alias_(_call("hash", *mine), _free(prepared, "deid_own")))
    name = _free(prepared, "deid_own")
    order = exp.Order(expressions=[exp.Ordered(this=_call("hash", exp.column("rows")))])
    nth = exp.Window(this=exp.RowNumber(), partition_by=[column(name, "rows")], order=order)
    counted = exp.select("*", exp.alias_(nth, _free(prepared, "deid_nth"))).from_(
        keyed.subquery("rows")
    )
    same = exp.and_(
        column(name, "source").eq(exp.column("own", "moved")),
        column(_free(prepared, "deid_nth"), "source").eq(exp.column("nth", "moved")),
    )
    moved = exp.alias_(MOVED.table, "moved", table=True)
    return (
        exp.select(exp.column("class", "moved"))
        .from_(counted.subquery("source"))
        .join(moved, on=same)
    )


def _numbered_source(prepared: Prepared, session: Session) -> tuple[exp.Select, exp.Column]:
    """The rows of the source, and the number of each one's subject as it was staged."""
    source, bound = original(prepared.bound, session), prepared.bound
    name = _free(prepared, "deid_subject")
    if bound.subject is None:
        return exp.select().from_(source.subquery("source")), column(name, "source")
    order = exp.Order(expressions=[exp.Ordered(this=column(bound.subject.name, "rows"))])
    rank = exp.Window(this=exp.DenseRank(), order=order)
    numbered = exp.select("*", exp.alias_(exp.paren(rank) - 1, identifier(name)))
    whole = numbered.from_(source.subquery("rows")).subquery("source")
    return exp.select().from_(whole), column(name, "source")


def _free(prepared: Prepared, name: str) -> str:
    """A name that no column of the source has."""
    return free_name(name, (c.name for c in prepared.bound.columns))


def _number(session: Session, tuples: exp.Query) -> None:
    """Give each of these tuples a number, by no order that means anything."""
    order = exp.Order(expressions=[exp.Ordered(this=exp.column("tuple"))])
    number = exp.Window(this=exp.RowNumber(), order=order)
    each = exp.select("tuple").distinct().from_(tuples.subquery("rows")).subquery("each")
    query = exp.select("tuple", exp.alias_(cast(exp.paren(number) - 1, "INTEGER"), "class"))
    session.run(Step(CLASSES.name, query.from_(each)))


def _classes() -> exp.Expr:
    return exp.alias_(CLASSES.table, "classes", table=True)


def _nth(key: str, order: exp.Expr, table: str) -> exp.Expr:
    ordered = exp.Order(expressions=[exp.Ordered(this=order)])
    return exp.Window(this=exp.RowNumber(), partition_by=[exp.column(key, table)], order=ordered)


# -- rows of releases with counterfeit records ----------------------------------------------------


def published_rows(written: Written, session: Session) -> Relation | None:
    """The distinct rows of a release with counterfeit records: `row`, `records`, `counterfeits`.

    None of other releases. Numbers of classes are no part of a row: a run gives others.
    """
    if written.flagged is None:
        return None
    names = [c.name for c in written.released.columns if c.name != CLASS_ID]
    real = exp.select(exp.alias_(_digest(_texts(names)), "row"), exp.alias_(exp.convert(1), "real"))
    every = exp.select(
        exp.alias_(_digest(_texts(names)), "row"), exp.alias_(exp.convert(0), "real")
    )
    both = exp.union(
        every.from_(written.released.table), real.from_(written.real.table), distinct=False
    )
    real_ones = exp.Sum(this=exp.column("real"))
    rows = exp.Count(this=exp.Star()) - real_ones  # each real one stands in both
    counterfeits = rows.copy() - real_ones.copy()
    query = (
        exp.select(
            "row",
            exp.alias_(cast(exp.paren(rows), "BIGINT"), "records"),
            exp.alias_(cast(exp.paren(counterfeits), "BIGINT"), "counterfeits"),
        )
        .from_(both.subquery("rows"))
        .group_by("row")
    )
    return session.run(Step(ROWS, query))


# -- digests -------------------------------------------------------------------------------------


def _text(name: str, table: str | None = None) -> exp.Expr:
    return cast(column(name, table), "VARCHAR")


def _texts(names: Sequence[str], table: str | None = None) -> list[exp.Expr]:
    return [_text(name, table) for name in names]


def _digest(texts: Sequence[exp.Expr]) -> exp.Expr:
    """A number of these texts that is the same in every run and every version of the engine."""
    whole = _call("to_json", exp.Array(expressions=[text.copy() for text in texts]))
    return _call("md5_number_lower", cast(whole, "VARCHAR"))


def digest_of(names: Sequence[str], table: str) -> exp.Expr:
    """A number of the values of these columns, as records and people are told apart by it."""
    return _digest(_texts(names, table))


def _same(texts: Sequence[exp.Expr]) -> exp.Expr:
    """A number of these texts within one run; quicker to find than a digest."""
    return _call("hash", exp.Array(expressions=[text.copy() for text in texts]))


def _member(name: str, place: int) -> exp.Expr:
    return _call("list_extract", exp.column(name), exp.convert(place))


def _call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(given))
