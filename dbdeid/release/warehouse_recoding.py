"""The records of a locally recoded release as a warehouse makes them.

What each value is coded as, how many records of each unit go to which block, and what blocks read
are lent to it. It numbers the records of each unit, in an order that only the secret of the draws
tells, and joins them to their blocks. Columns have names of our own on the way, so that no name of
the source can meet one: c0, c1, … are the released columns as the source has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdeid.bind.source import plain_value
from dbdeid.data.classes import sensitive_relation, values_relation
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    ascending,
    cast,
    column,
    digest_of,
    literal,
    over,
    row_number,
    same_value,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.warehouse import Warehouse
from dbdeid.methods.common.method import Dealt
from dbdeid.prepare.prepare import Prepared
from dbdeid.verify.warehouse import Recoded


@dataclass(frozen=True, slots=True)
class Lent:
    """What says where each record goes, as views in the warehouse.

    Attributes:
        codes: of each quasi-identifier: raw, code.
        values: of each sensitive attribute its columns, and the value's code: raw0, raw1, …, code.
        sensitive: the columns of these.
        dealt: units, blocks and the secret.
    """

    codes: tuple[Relation, ...]
    values: tuple[Relation, ...]
    sensitive: tuple[tuple[str, ...], ...]
    dealt: Dealt

    @property
    def unit(self) -> list[str]:
        """The codes that make a unit."""
        quasi = [f"q{i}" for i in range(len(self.codes))]
        return quasi + [f"v{i}" for i in range(len(self.values))]


def lend(
    prepared: Prepared, dealt: Dealt, session: Session, warehouse: Warehouse, counts: Relation
) -> Lent:
    """Lend to the warehouse what says where each record goes.

    Args:
        prepared: the counted source.
        dealt: what the method says of it, in the session.
        session: where.
        warehouse: that gets it.
        counts: the combinations of values as the warehouse counted them.
    """
    codes, values = [], []
    for i, q in enumerate(prepared.quasi_identifiers):
        raw = select(aliased(column(q.name), "raw")).distinct().from_(counts.table)
        same = same_value(cast(column("raw", "r"), q.column.type), column("value", "v"))
        code = aliased(cast(column("code", "v"), "BIGINT"), "code")
        query = select(column("raw", "r"), code).from_(raw.subquery("r"))
        query = query.join(values_relation(i).aliased("v"), on=same)
        codes.append(_lent(f"codes_{i}", query, session, warehouse))
    targets = tuple(s.columns for s in prepared.parameters.sensitive)
    for i, target in enumerate(targets):
        cells = [aliased(column(f"value{j}"), f"raw{j}") for j in range(len(target))]
        code = aliased(cast(column("code"), "BIGINT"), "code")
        query = select(*cells, code).from_(sensitive_relation(i).table)
        values.append(_lent(f"values_{i}", query, session, warehouse))
    there = (
        warehouse.lend(name, session.table(own))
        for name, own in (("units", dealt.units), ("blocks", dealt.blocks), ("key", dealt.secret))
    )
    return Lent(tuple(codes), tuple(values), targets, Dealt(*there))


def _lent(name: str, query: Select, session: Session, warehouse: Warehouse) -> Relation:
    found = session.run(Step(f"deid_lent_{name}", query))
    return warehouse.lend(name, session.table(found))


def recoded_there(
    prepared: Prepared, source: Relation, lent: Lent, warehouse: Warehouse
) -> Recoded:
    """A view of all released records with the quasi-identifiers that each of them had.

    Args:
        prepared: with the whole specification.
        source: the table there.
        lent: where its records go.
        warehouse: where they are.
    """
    released = prepared.released
    place = {c.name: i for i, c in enumerate(released)}
    number = {q.name: i for i, q in enumerate(prepared.quasi_identifiers)}
    query = select().from_(_numbered(released, number, source, lent).subquery("n"))
    parts = [column(name, "u").eq(column(name, "n")) for name in lent.unit]
    first, last = (column(name, "u") for name in ("first", "last"))
    query = query.join(
        lent.dealt.units.aliased("u"),
        on=all_of(*parts, column("place", "n") >= first, column("place", "n") <= last),
    )
    same = column("block", "b").eq(column("block", "u"))
    query = query.join(lent.dealt.blocks.aliased("b"), on=same)
    for c in released:
        i = number.get(c.name)
        if i is None:
            query = query.select(aliased(column(f"c{place[c.name]}", "n"), c.name))
            continue
        query = query.select(aliased(column(f"k{i}", "b"), c.name))
        for end in ("lower", "upper") if prepared.quasi_identifiers[i].bounds else ():
            query = query.select(aliased(column(f"{end}{i}", "b"), f"{c.name}_{end}"))
    taken = {name.lower() for name in query.named_selects}
    had = {name: _free(f"deid_had_{i}", taken) for name, i in number.items()}
    for name, own in had.items():
        query = query.select(aliased(column(f"c{place[name]}", "n"), own))
    return Recoded(warehouse.run(Step("recoded", query)), had)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _numbered(
    released: Sequence[Column], number: dict[str, int], source: Relation, lent: Lent
) -> Select:
    """The source's records with their codes, and the place of each among those of its unit."""
    cells = [
        aliased(column(c.name, "s") if c.name in number else _as_it_is(c), f"c{i}")
        for i, c in enumerate(released)
    ]
    rows = select(*cells, column("key", "d")).from_(source.aliased("s"))
    for name, i in number.items():
        of = f"q{i}"
        same = same_value(column(name, "s"), column("raw", of))
        rows = rows.join(lent.codes[i].aliased(of), on=same)
        rows = rows.select(aliased(column("code", of), of))
    for i, target in enumerate(lent.sensitive):
        of = f"v{i}"
        known = {c.name: c for c in released}
        pairs = (
            same_value(_as_it_is(known[name]), column(f"raw{j}", of))
            for j, name in enumerate(target)
        )
        rows = rows.join(lent.values[i].aliased(of), on=all_of(*pairs))
        rows = rows.select(aliased(column("code", of), of))
    rows = rows.join(lent.dealt.secret.aliased("d"), join_type="cross")
    others = [column(f"c{i}") for i, c in enumerate(released) if c.name not in number]
    place = over(
        row_number(),
        by=[column(name) for name in lent.unit],
        order=[ascending(one) for one in _drawn(others)],
    )
    kept = [column(f"c{i}") for i in range(len(released))]
    keys = [column(name) for name in lent.unit]
    return select(*kept, *keys, aliased(place, "place")).from_(rows.subquery("r"))


def _drawn(others: Sequence[Expr]) -> Iterator[Expr]:
    """An order of records that are alike: theirs would be told by how each is generalized."""
    texts = [cast(one.copy(), "VARCHAR") for one in others]
    yield digest_of(column("key"), literal("place"), *texts)
    yield from others


def _as_it_is(found: Column) -> Expr:
    return plain_value(found, "s") if found.family == "float" else column(found.name, "s")
