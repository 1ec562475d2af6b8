"""Verification of a release in a warehouse: every promise, from the table that was written there.

What models, levels and the dictionary are about is counted there, from the table and from its
source, and judged here like any written table. Of whole records the warehouse finds by itself
whether each is one of the source. Nothing is shared with what planned or wrote the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdeid.engine.expressions import (
    Query,
    aliased,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    function,
    greatest_of,
    literal,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.warehouse import Warehouse
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.declaration import Check, Declared, Promise, Verification
from dbdeid.verify.base.generalization import labels_of, names_of, renamed
from dbdeid.verify.records.truthfulness import truthfulness
from dbdeid.verify.release import verify_table

_RECORDS = "deid_records_there"
_WRITTEN, _SOURCE, _LISTED, _RAW = (
    "verify_written_there",
    "verify_source_there",
    "verify_listed_there",
    "verify_raw_there",
)
# Of what is counted here: the others are of the table there, and are looked at there.
_COUNTED_HERE = ("dictionary", "bounds")


@dataclass(frozen=True, slots=True)
class There:
    """A release in a warehouse, and what it was made of.

    Attributes:
        released: the written table.
        dictionary: its dictionary.
        source: the table that it was made of.
    """

    released: Relation
    dictionary: Relation
    source: Relation


def verify_there(
    warehouse: Warehouse,
    session: Session,
    there: There,
    declared: Declared,
    counted: Declared,
    hierarchies: Relation,
    expected: Relation,
) -> Verification:
    """Verify a release in a warehouse.

    Args:
        warehouse: where it is.
        session: where counts are judged.
        there: the tables.
        declared: shape and promises of the release.
        counted: the same with those columns alone that models, levels and bounds are about.
        hierarchies: the hierarchies in long form, in the session.
        expected: the counted columns of the records that are expected, in the session.
    """
    table, listed = (warehouse.described(t) for t in (there.released, there.dictionary))
    checks = hygiene.shape(table, declared)
    if any(table.find(c.name) is None for c in declared.columns):
        return Verification((), tuple(checks))
    promises: list[Promise] = []
    try:
        here = _dictionary(warehouse, session, listed)
        names = [c.name for c in counted.columns]
        rows = _written(warehouse, session, table, names)
        values = [c.name for c in counted.columns if c.name not in counted.bounds]
        source = _source(warehouse, session, there.source, values)
        found = verify_table(
            session,
            rows,
            counted,
            dictionary=here,
            source=select("*").from_(source.table),
            hierarchies=hierarchies,
        )
        promises += [p for p in found.promises if p.model != "truthfulness"]
        checks += [c for c in found.hygiene if c.check in _COUNTED_HERE]
        checks.append(_as_expected(session, rows, expected, names))
        labels = _labels(session, source, table, declared, hierarchies)
        lent = {
            name: warehouse.lend(f"verify_labels_{i}", session.table(found))
            for i, (name, found) in enumerate(labels.items())
        }
        promises.append(truthfulness(warehouse, table, declared, there.source, lent))
    finally:
        for name in (_WRITTEN, _SOURCE, _LISTED, _RAW):
            session.drop_temp(name)
    checks += [_order(warehouse, (table, listed)), _notes(warehouse, (table, listed))]
    return Verification(tuple(promises), tuple(checks))


def _histogram(
    warehouse: Warehouse, session: Session, table: Relation, names: Sequence[str], place: str
) -> Query:
    """The records of a table in some of its columns, as often as the warehouse counts them."""
    cells = [column(name) for name in names]
    query = select(*cells, aliased(count_rows(), _RECORDS)).from_(table.table)
    found = warehouse.arrow(query.group_by(*(c.copy() for c in cells)))
    counts = session.stage(_temporary(place), found.to_reader(), {})
    copies = function("unnest", function("range", cast(column(_RECORDS), "BIGINT")))
    each = select("*", aliased(copies, "deid_copy")).from_(counts.table)
    return select(*names).from_(each.subquery("counted"))


def _written(
    warehouse: Warehouse, session: Session, table: Relation, names: Sequence[str]
) -> Relation:
    rows = _histogram(warehouse, session, table, names, _WRITTEN)
    order = [ascending(column(name)) for name in names]
    found = session.run(Step("verify_rows_there", rows.order_by(*order)))
    return replace(found, schema="main", catalog="temp")


def _source(
    warehouse: Warehouse, session: Session, table: Relation, names: Sequence[str]
) -> Relation:
    return session.run(
        Step("verify_origin_there", _histogram(warehouse, session, table, names, _SOURCE))
    )


def _dictionary(warehouse: Warehouse, session: Session, listed: Relation) -> Relation:
    names = [c.name for c in listed.columns]
    rows = warehouse.arrow(select(*names).from_(listed.table))
    read = session.stage(_temporary(_LISTED), rows.to_reader(), {})
    order = [ascending(column(name)) for name in names]
    found = select("*").from_(read.table).order_by(*order)
    return replace(
        session.run(Step("verify_dictionary_there", found)), schema="main", catalog="temp"
    )


def _temporary(name: str) -> Relation:
    return Relation(name, schema="main", catalog="temp")


def _as_expected(
    session: Session, rows: Relation, expected: Relation, names: Sequence[str]
) -> Check:
    """Whether the warehouse wrote, in the counted columns, just the records that are expected."""
    columns = [c for name in names if (c := rows.find(name))]
    keys = names_of(columns)
    sides = []
    for table, sign in ((rows, 1), (expected, -1)):
        side = renamed(table, columns).subquery("side")
        sides.append(select(*keys, aliased(literal(sign), "sign")).from_(side))
    surplus = aliased(sum_of(column("sign")), "surplus")
    unlike = select(surplus).from_(union_all(*sides).subquery("both")).group_by(*keys)
    totals = (
        coalesce(sum_of(one), literal(0))
        for one in (
            greatest_of(literal(0), column("surplus")),
            greatest_of(literal(0), literal(0) - column("surplus")),
        )
    )
    more, less = session.row(select(*totals).from_(unlike.subquery("unlike")))
    detail = f"{more} records that are not expected, and {less} missing" if more or less else ""
    return Check("records", not detail, detail)


def _labels(
    session: Session,
    source: Relation,
    table: Relation,
    declared: Declared,
    hierarchies: Relation,
) -> Mapping[str, Relation]:
    """What each value of the source reads in the release, of columns that do not leave as they are.

    The texts of values are made here, for engines write some of them differently.
    """
    columns = [c for n in declared.quasi_identifiers if (c := table.find(n)) is not None]
    raw = session.run(Step(_RAW, renamed(source, columns)))
    found: dict[str, Relation] = {}
    for i, (written, name) in enumerate(zip(columns, names_of(columns), strict=True)):
        level, top = declared.level(written.name), declared.tops[written.name]
        value = raw.find(name)
        if level >= top > 0 or value is None or (level == 0 and value.type == written.type):
            continue
        labels = labels_of(raw, name, written.name, level, declared, hierarchies)
        found[written.name] = session.run(Step(f"verify_labels_{i}", labels))
    return found


def _order(warehouse: Warehouse, tables: Sequence[Relation]) -> Check:
    wrong = [
        f"{table.name!r}: {count} of its rows are not in order"
        for table in tables
        if (count := warehouse.unsorted(table))
    ]
    return Check("order", not wrong, "; ".join(wrong))


def _notes(warehouse: Warehouse, tables: Sequence[Relation]) -> Check:
    told = {table.name: ", ".join(warehouse.notes(table)) for table in tables}
    wrong = [f"{name!r}: {notes}" for name, notes in told.items() if notes]
    return Check("comments", not wrong, "; ".join(wrong))
