"""A padded release counted: its classes by sensitive value, and what its catalog says of them.

All are temporary tables with names of our own. A class is known by its number: the rank of its
quasi-identifiers, which `class_id` must be. A value is text, NULL for NULL and where no column is
sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    column,
    count_rows,
    literal,
    null,
    same_value,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import CLASS_ID, Declared, Padding
from dbdeid.verify.base.places import CONTAINS, contains
from dbdeid.verify.base.sensitive import keys_of

CATALOG = (
    Column("class_ids", "BIGINT[]"),
    Column("sensitive_value", "VARCHAR"),
    Column("counterfeits", "BIGINT"),
)

CLASSES, COUNTS, LISTED, SUSPECTS, MEMBERS, TOLD = (
    "verify_padded_classes",
    "verify_counts",
    "verify_listed",
    "verify_suspects",
    "verify_members",
    "verify_told",
)


@dataclass(frozen=True, slots=True)
class PaddedCounts:
    """A padded release in numbers.

    Attributes:
        classes: one row for each class: k0, k1, … as released, class, size, misnumbered.
        counts: one row for each class and value: class, value, records.
        groups: the catalog beside them; None where there is none that can be read.
        risk: the largest prosecutor risk of a candidate, where counterfeits copy whole records.
    """

    classes: Relation
    counts: Relation
    groups: Groups | None
    risk: float = 0.0


@dataclass(frozen=True, slots=True)
class Groups:
    """A catalog beside the classes.

    Attributes:
        listed: its rows: grp, class_ids, value, counterfeits.
        members: grp, class, and whether that is a candidate: it could have been padded.
        told: one row for each class and value of a group: records, counterfeits in the group and
            how many records of it, in all and in candidates, have the value.
    """

    listed: Relation
    members: Relation
    told: Relation


def unreadable(table: Relation, declared: Declared, catalog: Relation | None) -> str:
    """Why the promises of a padded release cannot be measured."""
    assert declared.padding is not None
    needed = [CLASS_ID, *declared.quasi_identifiers, declared.padding.sensitive]
    missing = [n for n in needed if n is not None and table.find(n) is None]
    if missing:
        return f"not measurable without {', '.join(map(repr, missing))}"
    if (own := table.find(CLASS_ID)) and own.type != "BIGINT":
        return f"not measurable: {CLASS_ID!r} is not BIGINT"
    if declared.padding.catalog == "none":
        return "" if catalog is None else "a catalog that is not declared"
    if catalog is None:
        return "not measurable without the catalog"
    return "" if listable(catalog) else "not measurable: the catalog has another shape"


def listable(catalog: Relation) -> bool:
    """Whether a table has the shape of a catalog."""
    return catalog.columns == CATALOG


@contextmanager
def padded_counts(
    session: Session,
    table: Relation,
    declared: Declared,
    catalog: Relation | None,
    leaves: Query | None = None,
) -> Iterator[PaddedCounts]:
    """The numbers of a release that is not `unreadable`.

    Args:
        session: sees all tables.
        table: the written table, described.
        declared: its shape.
        catalog: its catalog; None where none is published.
        leaves: `name`, `shown`, `value`: the leaves of the released values where levels differ, so
            that it can be seen which class lies inside which other.
    """
    assert declared.padding is not None
    try:
        keys = [f"k{i}" for i in range(len(declared.quasi_identifiers))]
        rows = select(*keys_of(declared.quasi_identifiers), column(CLASS_ID)).from_(table.table)
        numbered = step("verify/padded_classes", {"rows": rows}, {"key": keys})
        classes = session.run(Step(CLASSES, numbered))
        counts = session.run(Step(COUNTS, _counts(table, declared.padding)))
        groups, risk = None, 0.0
        if catalog is not None:
            suspects = _suspects(session, classes, keys, declared, leaves)
            groups = _groups(session, counts, catalog, suspects)
            risk = _risk_of_copies(session, table, declared, groups)
        yield PaddedCounts(classes, counts, groups, risk)
    finally:
        for name in (CLASSES, COUNTS, LISTED, SUSPECTS, MEMBERS, TOLD, CONTAINS):
            session.drop_temp(name)


def _risk_of_copies(session: Session, table: Relation, declared: Declared, groups: Groups) -> float:
    """The risk from the other columns: a counterfeit copies them all from a candidate's record."""
    assert declared.padding is not None
    known = {CLASS_ID, declared.padding.sensitive, *declared.quasi_identifiers, *declared.bounds}
    others = [c.name for c in declared.columns if c.name not in known and table.find(c.name)]
    if not others:
        return 0.0
    names = [f"o{i}" for i in range(len(others))]
    records = select(
        aliased(column(CLASS_ID), "class"),
        aliased(value_of(declared.padding), "value"),
        *(aliased(column(other), name) for other, name in zip(others, names, strict=True)),
    ).from_(table.table)
    tables: dict[str, Relation | Query] = {
        "records": records,
        "members": groups.members,
        "told": groups.told,
    }
    return float(session.row(step("verify/copies", tables, {"other": names}))[0])


def value_of(padding: Padding) -> Expr:
    """The sensitive value of a record as the catalog writes it."""
    if padding.sensitive is None:
        return cast(null(), "VARCHAR")
    return as_text(column(padding.sensitive))


def _counts(table: Relation, padding: Padding) -> Select:
    held = (
        select(aliased(column(CLASS_ID), "class"), aliased(value_of(padding), "value"))
        .from_(table.table)
        .subquery("held")
    )
    names = [column("class"), column("value")]
    total = aliased(count_rows(), "records")
    return select(*names, total).from_(held).group_by(*(n.copy() for n in names))


def _suspects(
    session: Session,
    classes: Relation,
    keys: Sequence[str],
    declared: Declared,
    leaves: Query | None,
) -> Relation:
    """The classes that may have been padded, as far as someone who knows the method can tell.

    They have exactly the size that is padded to. Where levels differ, no class of more than k
    records lies inside them: its surplus would have been borrowed. One of that very size may be
    padded itself, and have none.
    """
    assert declared.padding is not None
    sized = column("size", "t").eq(declared.padding.size)
    query = select(column("class", "t")).from_(classes.aliased("t"))
    query = query.where(sized)
    if declared.local and leaves is not None:
        inside = contains(session, leaves)
        surplus = _with_surplus(classes, keys, declared, inside).subquery("surplus")
        same = column("class", "surplus").eq(column("class", "t"))
        query = query.join(surplus, on=same, join_type="anti")
    return session.run(Step(SUSPECTS, query))


def _with_surplus(
    classes: Relation, keys: Sequence[str], declared: Declared, inside: Relation
) -> Select:
    """The classes of that size with a class inside them that is known to have a surplus."""
    assert declared.padding is not None
    query = select(column("class", "t")).distinct()
    query = query.from_(classes.aliased("t"))
    smaller = all_of(
        column("size", "u") > declared.padding.k,
        column("size", "u").neq(literal(declared.padding.size)),
        column("class", "u").neq(column("class", "t")),
    )
    parts: list[Expr] = []
    for key, name in zip(keys, declared.quasi_identifiers, strict=True):
        pairs = f"in_{key}"
        of_column = (
            select(column("whole"), column("part"))
            .from_(inside.table)
            .where(column("name").eq(literal(name)))
            .subquery(pairs)
        )
        whole = same_value(as_text(column(key, "t")), column("whole", pairs))
        query = query.join(of_column, on=whole)
        parts.append(same_value(as_text(column(key, "u")), column("part", pairs)))
    query = query.join(classes.aliased("u"), on=all_of(smaller, *parts))
    return query.where(column("size", "t").eq(declared.padding.size))


def _groups(session: Session, counts: Relation, catalog: Relation, suspects: Relation) -> Groups:
    listed = session.run(Step(LISTED, step("verify/listed", {"catalog": catalog})))
    tables: dict[str, Relation | Query] = {"listed": listed, "suspects": suspects}
    members = session.run(Step(MEMBERS, step("verify/members", tables)))
    tables = {"counts": counts, "listed": listed, "members": members}
    told = session.run(Step(TOLD, step("verify/told", tables)))
    return Groups(listed, members, told)


def shape(catalog: Relation) -> list[str]:
    """How a catalog's columns differ from those of one."""
    found = hygiene.columns(catalog, CATALOG, ()).detail
    wrong = [found] if found else []
    for c in CATALOG:
        written = catalog.find(c.name)
        if written and written.type != c.type:
            wrong.append(f"{c.name!r} is not {c.type}")
    return wrong
