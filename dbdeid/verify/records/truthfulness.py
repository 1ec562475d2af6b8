"""Truthfulness: every released record is a record of the source, generalized as declared.

The source is generalized once more, by a join with the hierarchies that shares nothing with the
method that wrote the release; both sides are then counted and the counts subtracted, which is
multiset containment (EXCEPT ALL) without sorting wide rows. Where nothing else is asked, what
generalized values read is a number, the same for the same text of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    case,
    coalesce,
    column,
    count_rows,
    greatest_of,
    literal,
    not_,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Step, Steps
from dbdeid.verify.base.classes import Numbers, numbers, packed
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import all_starred, generalized, names_of, renamed
from dbdeid.verify.base.promises import allowed

SOURCE, BALANCE = "verify_source", "verify_balance"


def truthfulness(
    session: Steps,
    table: Relation,
    declared: Declared,
    source: Query | Relation,
    hierarchies: Relation | Mapping[str, Relation],
) -> Promise:
    """How many released records no record of the source accounts for.

    Suppressed records that are kept must agree with the source in all other columns, record by
    record.

    Args:
        session: sees all three tables.
        table: the written table, described.
        declared: its shape and promises.
        source: the records as released at level 0 (pseudonyms already in their columns).
        hierarchies: `deid.hierarchies`, or its rows for this release; or labels, as
            `generalized` takes them.
    """
    wanted_names = [c.name for c in declared.columns if c.name not in declared.bounds]
    columns = [c for name in wanted_names if (c := table.find(name))]
    asked_twice = declared.stars_suppressed or declared.relocated is not None
    try:
        raw = session.run(Step(SOURCE, renamed(source, columns)))
        if isinstance(hierarchies, Relation) and not asked_twice:
            rows = int(session.row(_count(raw))[0])
            return _contained(session, raw, table, columns, declared, hierarchies, rows)
        query = _balance(raw, table, columns, declared, hierarchies)
        # written down only where that saves to count it again
        balance = session.run(Step(BALANCE, query)) if asked_twice else query
        rows = int(session.row(_count(raw))[0])
        generalized, released, invented = (
            int(n) for n in session.row(_invented(balance, columns, declared))
        )
        unlike = int(session.row(_unlike(balance, columns, declared))[0]) if asked_twice else 0
    finally:
        session.drop_temp(SOURCE)
        session.drop_temp(BALANCE)
    if declared.relocated is not None:
        return _relocation(declared, rows, rows - generalized, invented, unlike)
    return _truthful(declared, rows, generalized, released, invented + unlike)


def _truthful(
    declared: Declared, rows: int, generalized: int, released: int, invented: int
) -> Promise:
    wanted = {"source_rows": declared.source_rows, "unmapped_records": 0, "invented_records": 0}
    found = {
        "source_rows": rows,
        "unmapped_records": rows - generalized,
        "invented_records": invented,
    }
    return Promise("truthfulness", wanted, found, found == wanted and released <= rows)


def _contained(
    session: Steps,
    raw: Relation,
    table: Relation,
    columns: list[Column],
    declared: Declared,
    hierarchies: Relation,
    rows: int,
) -> Promise:
    """The same in one number for each combination: how much oftener it is released than there."""
    named = dict(zip(names_of(columns), columns, strict=True))
    some = {n: c for n, c in named.items() if c.name in declared.quasi_identifiers}
    with numbers(session, table, some) as of:
        expected = generalized(raw, columns, declared, hierarchies, of)
        written = select(*(column(name, "w") for name in named if name not in of))
        written = written.from_(renamed(table, columns).subquery("w"))
        for name, own in of.items():
            same = same_value(column(name, "w"), column("value", f"n{name}"))
            written = written.join(own.relation.aliased(f"n{name}"), on=same, join_type="left")
            written = written.select(aliased(own.of(f"n{name}"), name))
        both = union_all(_packed(expected, named, of, -1), _packed(written, named, of, 1))
        keys = [column(e.alias_or_name) for e in both.selects if e.alias_or_name != "side"]
        oftener = aliased(sum_of(column("side")), "oftener")
        balance = select(oftener).from_(both.subquery("both"))
        balance = balance.group_by(*keys)
        more = greatest_of(literal(0), column("oftener"))
        sums = (coalesce(sum_of(e), literal(0)) for e in (column("oftener"), more))
        oftener_in_all, invented = session.row(select(*sums).from_(balance.subquery("balance")))
    released = int(session.row(_count(table))[0])
    return _truthful(declared, rows, released - int(oftener_in_all), released, int(invented))


def _packed(query: Select, named: Iterable[str], of: Mapping[str, Numbers], side: int) -> Select:
    """The records of a side, their numbers as few keys, each counting for it."""
    keys = packed([(column(name), own.size) for name, own in of.items()])
    own_keys = (aliased(key, f"key_{i}") for i, key in enumerate(keys))
    others = (column(name) for name in named if name not in of)
    counted = aliased(literal(side), "side")
    return select(*own_keys, *others, counted).from_(query.subquery("side"))


def _relocation(declared: Declared, rows: int, unmapped: int, moved: int, others: int) -> Promise:
    """Records were given other quasi-identifiers on purpose: no more than was declared.

    `others` have other columns than any record of the source.
    """
    assert declared.relocated is not None
    limit = allowed(declared.relocated, declared.source_rows)
    wanted = {"source_rows": declared.source_rows, "relocated_records": f"at most {limit:,}"}
    found = {"source_rows": rows, "relocated_records": moved}
    holds = rows == declared.source_rows and unmapped == others == 0 and moved <= limit
    return Promise("relocation", wanted, found, holds)


def _count(table: Relation) -> Select:
    return select(count_rows()).from_(table.table)


def _balance(
    raw: Relation,
    table: Relation,
    columns: list[Column],
    declared: Declared,
    hierarchies: Relation | Mapping[str, Relation],
) -> Select:
    """For each released combination, how often the generalized source and the release have it."""
    names = names_of(columns)
    grouped = [column(name) for name in names]
    expected = _of_side(generalized(raw, columns, declared, hierarchies), names, 1, 0)
    written = _of_side(renamed(table, columns), names, 0, 1)
    both = union_all(expected, written)
    total = [aliased(sum_of(column(side)), side) for side in ("generalized", "released")]
    return (
        select(*grouped, *total).from_(both.subquery("both")).group_by(*(c.copy() for c in grouped))
    )


def _of_side(query: Select, names: list[str], generalized: int, released: int) -> Select:
    """The records of a side, each counting once for it."""
    sides = {"generalized": generalized, "released": released}
    counted = [aliased(literal(n), side) for side, n in sides.items()]
    return select(*(column(name) for name in names), *counted).from_(query.subquery("counted"))


def _invented(balance: Query | Relation, columns: list[Column], declared: Declared) -> Select:
    excess: Expr = _excess()
    if declared.stars_suppressed:
        excess = case((not_(all_starred(columns, declared)), excess), otherwise=literal(0))
    sums = (sum_of(e) for e in (column("generalized"), column("released"), excess))
    zero = literal(0)
    return select(*(coalesce(s, zero.copy()) for s in sums)).from_(_from(balance))


def _from(balance: Query | Relation) -> Expr:
    return balance.table if isinstance(balance, Relation) else balance.subquery("balance")


def _excess() -> Expr:
    difference = column("released") - column("generalized")
    return greatest_of(literal(0), difference)


def _unlike(balance: Query | Relation, columns: list[Column], declared: Declared) -> Select:
    """Records whose other columns occur more often in the release than in the source."""
    names = zip(columns, names_of(columns), strict=True)
    others = [column(n) for c, n in names if c.name not in declared.quasi_identifiers]
    sums = [aliased(sum_of(column(s)), s) for s in ("generalized", "released")]
    query = select(*sums).from_(_from(balance))
    if others:
        query = query.group_by(*others)
    zero = literal(0)
    total = coalesce(sum_of(_excess()), zero)
    return select(total).from_(query.subquery("by_others"))
