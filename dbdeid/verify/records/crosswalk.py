"""Truthfulness of local recoding, from the owner's list of which record became which.

Where levels differ, a released record could be that of many people. The crosswalk claims whose it
is: so many records of these quasi-identifiers became so many of that released one. It is believed
only as far as it is proven here:

- counted over the released records it is the source, quasi-identifiers and other columns;
- counted over the source it is the release;
- each released value of a quasi-identifier is what the hierarchy shows of the source's value, at
  the level at which the dictionary lists it; or it is an interval or a set that has the value.

Then there is a one-to-one assignment of released records to those of the source. All three are
linear in the records.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    any_of,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    dense_rank,
    function,
    is_null,
    literal,
    not_same_value,
    over,
    paren,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.chosen_cells import held
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import as_written, names_of, renamed
from dbdeid.verify.base.places import known_places

CHOSEN = "verify_chosen"
SOURCE, RECORD, RECORDS, SUBJECT = "source", "record", "records", "subject"


def traced(
    session: Session,
    table: Relation,
    declared: Declared,
    crosswalk: Relation | None,
    source: Query | Relation,
    hierarchies: Relation,
    dictionary: Relation | None,
) -> Promise:
    """Whether the released records are those of the source, each recoded by its hierarchies.

    Args:
        session: sees all tables.
        table: the written table, described, with all its columns.
        declared: its shape.
        crosswalk: `source`, the quasi-identifiers of a record as text; `record`, all its released
            columns as text; where subjects count `subject`, the number of whose records they are:
            its place among the subjects in their order, from 0; `records`, how many there are.
        source: the records as released at level 0, with their subject where one is declared.
        hierarchies: `deid.hierarchies`, or its rows for this release.
        dictionary: tells at which level a released value stands; None: at any.
    """
    wanted = {
        "source_rows": declared.source_rows,
        "missing_records": 0,
        "unmapped_records": 0,
        "invented_records": 0,
    }
    told = accounted(session, table, declared, crosswalk, source)
    if crosswalk is None or isinstance(told, str):
        return Promise("truthfulness", wanted, told, False)
    unmapped = _unmapped(session, declared, crosswalk, hierarchies, dictionary)
    found = told | {"unmapped_records": unmapped}
    return Promise("truthfulness", wanted, found, found == wanted)


def accounted(
    session: Session,
    table: Relation,
    declared: Declared,
    crosswalk: Relation | None,
    source: Query | Relation,
) -> dict[str, int] | str:
    """Whether the crosswalk is the source on one side and the release on the other.

    Returns:
        `source_rows`; `missing_records`, which it does not list of either; `invented_records`,
        which it lists and neither has. A text where it cannot be read: why.
    """
    if reason := _unreadable(session, declared, crosswalk):
        return reason
    assert crosswalk is not None
    rows, missing, foreign = _balance(
        session, source_rows(session, declared, source), _told_of_source(declared, crosswalk)
    )
    _, invented, unreleased = _balance(
        session, released_rows(table, declared), _told_of_release(declared, crosswalk)
    )
    return {
        "source_rows": rows,
        "missing_records": max(missing, unreleased),
        "invented_records": max(invented, foreign),
    }


def recoded(crosswalk: Relation, declared: Declared, columns: Sequence[Column]) -> Select:
    """Each record of the source as it is released, c0, c1, … in the order of `columns`, subject.

    Args:
        crosswalk: one that was found to be true, of a release whose subjects count.
        declared: the shape of the release.
        columns: those that are wanted.
    """
    places = {c.name: i for i, c in enumerate(declared.columns)}
    cells = [
        aliased(cast(cell(RECORD, places[c.name]), c.type), name)
        for c, name in zip(columns, names_of(columns), strict=True)
    ]
    each = function("unnest", function("range", column(RECORDS, "s")))
    whole = crosswalk.aliased("s")
    return select(*cells, column(SUBJECT)).from_(whole).join(each, join_type="cross")


# -- parts ---------------------------------------------------------------------------------


def _unreadable(session: Session, declared: Declared, crosswalk: Relation | None) -> str:
    """Why nothing can be measured."""
    if crosswalk is None:
        return "not measurable without the list of recodings"
    kinds = {SOURCE: "VARCHAR[]", RECORD: "VARCHAR[]", RECORDS: "BIGINT"}
    shaped = all((c := crosswalk.find(name)) and c.type == kinds[name] for name in kinds)
    counted = crosswalk.find(SUBJECT) if declared.subject is not None else None
    if not shaped or (
        declared.subject is not None and not (counted and counted.family == "integer")
    ):
        return "not measurable: the list of recodings has another shape"
    odd = [column(RECORDS) < literal(1), is_null(column(RECORDS))]
    for name, cells in ((SOURCE, declared.quasi_identifiers), (RECORD, declared.columns)):
        length = function("len", column(name))
        odd.append(not_same_value(length, literal(len(cells))))
    query = select(count_rows()).from_(crosswalk.table).where(any_of(*odd))
    malformed = int(session.row(query)[0])
    return f"not measurable: {malformed} malformed recodings" if malformed else ""


def cell(of: str, place: int) -> Expr:
    """One of the texts of `source` or `record`, by its place from 0."""
    return function("list_extract", column(of), literal(place + 1))


def _keyed(cells: Sequence[Expr]) -> list[Expr]:
    return [aliased(cell, f"t{i}") for i, cell in enumerate(cells)]


def _balance(session: Session, rows: Select, counted: Select) -> tuple[int, int, int]:
    keys = [s.alias_or_name for s in rows.selects]
    query = step("verify/balance", {"rows": rows, "counted": counted}, {"key": keys})
    there, uncounted, absent = (int(number) for number in session.row(query))
    return there, uncounted, absent


def source_rows(session: Session, declared: Declared, source: Query | Relation) -> Select:
    """The source's records as text: quasi-identifiers, other released columns, subject's number."""
    named = declared.quasi_identifiers
    others = list(_others(declared).values())
    picked = [Column(name, "") for name in named] + others
    if declared.subject is not None:
        picked.append(Column(declared.subject, ""))
    query, names = renamed(source, picked), names_of(picked)
    origin = Relation("origin", session.describe(query))
    cells = [as_text(column(name)) for name in names[: len(named)]]
    for name, written in zip(names[len(named) :], others, strict=False):
        cells.append(as_text(as_written(column(name), column(name), origin, written)))
    if declared.subject is not None:
        order = [ascending(column(names[-1]))]
        number = over(dense_rank(), order=order)
        cells.append(paren(number) - literal(1))
    return select(*_keyed(cells)).from_(query.subquery("origin"))


def released_rows(table: Relation, declared: Declared) -> Select:
    """The released records as text."""
    return select(*_keyed([as_text(column(c.name)) for c in declared.columns])).from_(table.table)


def _others(declared: Declared) -> dict[int, Column]:
    """The released columns that are neither quasi-identifiers nor their bounds, by place."""
    known = (*declared.quasi_identifiers, *declared.bounds)
    return {i: c for i, c in enumerate(declared.columns) if c.name not in known}


def _told_of_source(declared: Declared, crosswalk: Relation) -> Select:
    """The crosswalk's records of the source."""
    told = [cell(SOURCE, i) for i in range(len(declared.quasi_identifiers))]
    told += [cell(RECORD, i) for i in _others(declared)]
    if declared.subject is not None:
        told.append(column(SUBJECT))
    return select(*_keyed(told), column(RECORDS)).from_(crosswalk.table)


def _told_of_release(declared: Declared, crosswalk: Relation) -> Select:
    """The crosswalk's records of the release."""
    told = [cell(RECORD, i) for i in range(len(declared.columns))]
    return select(*_keyed(told), column(RECORDS)).from_(crosswalk.table)


def _unmapped(
    session: Session,
    declared: Declared,
    crosswalk: Relation,
    hierarchies: Relation,
    dictionary: Relation | None,
) -> int:
    """Records with a value that the hierarchy does not show of the source's."""
    places = {c.name: i for i, c in enumerate(declared.columns)}
    query = select(coalesce(sum_of(column("records", "s")), literal(0)))
    query = query.from_(crosswalk.aliased("s"))
    lost: list[Expr] = []
    with known_places(session, declared, hierarchies) as known:
        assert known is not None
        for i, name in enumerate(declared.quasi_identifiers):
            alias = f"p{i}"
            own = _places(session, known, declared, crosswalk, name, i, places[name])
            shown = _shown(own, name, dictionary)
            same = all_of(
                same_value(cell(SOURCE, i), column("value", alias)),
                same_value(cell(RECORD, places[name]), column("shown", alias)),
            )
            query = query.join(shown.subquery(alias), on=same, join_type="left")
            lost.append(is_null(column("known", alias)))
        try:
            return int(session.row(query.where(any_of(*lost)))[0]) if lost else 0
        finally:
            for i, name in enumerate(declared.quasi_identifiers):
                if name in declared.free:
                    session.drop_temp(f"{CHOSEN}_{i}")


def _places(
    session: Session,
    known: Relation,
    declared: Declared,
    crosswalk: Relation,
    name: str,
    number: int,
    place: int,
) -> Select:
    """What a hierarchy, or an interval or a set of the records' own choice, shows of values."""
    told = select(*map(column, ("value", "shown", "level"))).from_(known.table)
    told = told.where(column("name").eq(literal(name)))
    if name not in declared.free:
        return told
    pairs = select(aliased(cell(SOURCE, number), "value"), aliased(cell(RECORD, place), "shown"))
    pairs = pairs.distinct().from_(crosswalk.table)
    chosen = held(session, f"{CHOSEN}_{number}", pairs, declared.free[name])
    return select("*").from_(union_all(told, chosen).subquery("told"))


def _shown(places: Select, name: str, dictionary: Relation | None) -> Select:
    """What may be shown of each value of a quasi-identifier."""
    query = select(column("value", "p"), column("shown", "p"), aliased(literal(True), "known"))
    query = query.distinct().from_(places.subquery("p"))
    if dictionary is None or not hygiene.readable(dictionary):
        return query
    listed = all_of(
        column("column", "d").eq(literal(name)),
        column("level", "d").eq(column("level", "p")),
        same_value(column("released_value", "d"), column("shown", "p")),
    )
    return query.join(dictionary.aliased("d"), on=listed)
