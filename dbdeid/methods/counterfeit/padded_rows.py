"""The records of a padded release as SQL on the staged tables, in named steps.

Released columns have names of our own on the way, so that no name in the source can meet a name in
a step: k0, k1, … and b0, b1, … are the generalized quasi-identifiers and their bounds, s the
sensitive value and `code` its number, o0, o1, … the other columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import CODED, TUPLES, sensitive_relation
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    column,
    count_rows,
    list_of,
    literal,
    not_null,
    null,
    same_value,
    select,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.rule import Rule
from dbdeid.methods.common.generalized import generalized, released_names
from dbdeid.methods.common.kept_rows import KeptRows
from dbdeid.methods.common.secret import SECRET
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

Ints = NDArray[np.int64]

CLASS_ID = "class_id"
REAL = Relation("deid_real", schema="main", catalog="temp")
MEMBERS = Relation("deid_members", schema="main", catalog="temp")
GROUPS = Relation("deid_padding_groups", schema="main", catalog="temp")
DEFICITS = Relation("deid_deficits", schema="main", catalog="temp")
QUOTAS = Relation("deid_quotas", schema="main", catalog="temp")
SLOTS = Relation("deid_slots", schema="main", catalog="temp")
PLACED = Relation("deid_placed", schema="main", catalog="temp")
DONORS = Relation("deid_donors", schema="main", catalog="temp")
COUNTERFEITS = Relation("deid_counterfeits", schema="main", catalog="temp")
CATALOG_GROUPS = Relation("deid_catalog_groups", schema="main", catalog="temp")
PIECES = Relation("deid_pieces", schema="main", catalog="temp")
PARTS = Relation("deid_parts", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Names:
    """Which released column is which on the way.

    Attributes:
        quasi_identifiers: as released, in the order of the search.
        sensitive: the column whose values counterfeit records draw; None: there is none.
        others: all further columns.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: str | None
    others: tuple[str, ...]

    @property
    def own(self) -> dict[str, str]:
        """Each released column by its name on the way."""
        keys = {f"k{i}": q.name for i, q in enumerate(self.quasi_identifiers)}
        bounds = [
            f"{q.name}_{end}"
            for q in self.quasi_identifiers
            if q.bounds
            for end in ("lower", "upper")
        ]
        found = keys | {f"b{i}": name for i, name in enumerate(bounds)}
        if self.sensitive is not None:
            found["s"] = self.sensitive
        return found | {f"o{i}": name for i, name in enumerate(self.others)}

    def starting(self, *letters: str) -> list[str]:
        """The names on the way of one kind."""
        return [name for name in self.own if name[0] in letters]


def real_step(names: Names, node: Node, rule: Rule) -> Step:
    """All records under one transformation, with the number of their sensitive value."""
    columns = [Column(q.name, q.column.type) for q in names.quasi_identifiers]
    columns += [Column(name, "") for name in (names.sensitive, *names.others) if name is not None]
    rows = KeptRows(rule, tuple(q.name for q in names.quasi_identifiers), None, valued=False)
    query = generalized(names.quasi_identifiers, columns, node, rows)
    picked = [aliased(column(name, "shown"), own) for own, name in names.own.items()]
    picked.append(aliased(literal(0), "part"))
    shown = select(*picked).from_(query.subquery("shown"))
    return Step(REAL.name, _numbered(shown, names, "shown"))


def _numbered(query: Select, names: Names, table: str) -> Select:
    """The query with the number of each sensitive value as `code`."""
    if names.sensitive is None:
        return query.select(aliased(literal(0), "code"))
    value = column(names.sensitive, table)
    same = same_value(value, column("value0", "drawn"))
    values = sensitive_relation(0).aliased("drawn")
    return query.select(aliased(column("code", "drawn"), "code")).join(values, on=same)


def pieces_step(names: Names, unchanged: Collection[str]) -> Step:
    """The records of classes that were made one by one: each in the class that its piece names.

    `deid_pieces` says how many records of a tuple and a sensitive value go to which class, as
    numbers from `first` to `last`; which record has which number only the key tells.

    Args:
        names: of the released columns.
        unchanged: quasi-identifiers that no class generalizes: they keep their type.
    """
    rest = names.starting("s", "o")
    same = all_of(
        *(
            column(q.name, "coded").eq(column(f"q{i}", "t"))
            for i, q in enumerate(names.quasi_identifiers)
        )
    )
    rows = (
        select(aliased(column("rowid", "t"), "tuple"))
        .select(*(aliased(column(names.own[own], "coded"), own) for own in rest))
        .from_(CODED.aliased("coded"))
        .join(TUPLES.aliased("t"), on=same)
    )
    query = step(
        "methods/counterfeit/pieces",
        {
            "rows": _numbered(rows, names, "coded"),
            "pieces": PIECES,
            "parts": _parts(names, unchanged),
            "secret": SECRET,
        },
        {"other": names.starting("o"), "rest": rest, "key": names.starting("k", "b")},
    )
    return Step(REAL.name, query)


def _parts(names: Names, unchanged: Collection[str]) -> Select:
    """What classes show, which was staged as text, in the types of the release."""
    query = select("part").from_(PARTS.table)
    ends: list[Expr] = []
    for i, q in enumerate(names.quasi_identifiers):
        label: Expr = column(f"k{i}")
        label = cast(label, q.column.type) if q.name in unchanged else label
        query = query.select(aliased(label, f"k{i}"))
        kind = q.column.type
        for _ in range(2 * q.bounds):
            # the end of an interval may lie outside the type
            name = f"b{len(ends)}"
            end = try_cast(column(name), kind)
            ends.append(aliased(end, name))
    return query.select(*ends)


def upload_groups(session: Session, part: Ints, group: Ints) -> Relation:
    """Of which parts a class could be padded, and what belongs together then."""
    return session.upload(GROUPS.name, {"part": part, "grp": group})


def member_steps(names: Names, k: int, size: int) -> tuple[Step, ...]:
    """From records to the number of each class and what it lacks."""
    members = step("methods/counterfeit/members", {"real": REAL}, {"key": names.starting("k")})
    deficits = step(
        "methods/counterfeit/deficits",
        {"members": MEMBERS, "groups": GROUPS},
        values={"k": k, "size": size},
    )
    return Step(MEMBERS.name, members), Step(DEFICITS.name, deficits)


def drawing_steps(*, uniform: bool) -> tuple[Step, ...]:
    """The steps from what classes lack to the value drawn for each place."""
    tables = {"deficits": DEFICITS, "secret": SECRET}
    if uniform:
        return (
            Step(SLOTS.name, step("methods/counterfeit/uniform", {**tables, "members": MEMBERS})),
        )
    quotas = step("methods/counterfeit/quotas", {"members": MEMBERS, "deficits": DEFICITS})
    slots = step("methods/counterfeit/slots", {**tables, "quotas": QUOTAS})
    return Step(QUOTAS.name, quotas), Step(SLOTS.name, slots)


def donors_step(names: Names, *, uniform: bool) -> Step:
    """The records that counterfeit ones copy, numbered: those of candidates, or all."""
    pool = select("class_id").from_(DEFICITS.table)
    if not uniform:
        pool = pool.where(not_null(column("grp")))
    tables: dict[str, Relation | Query] = {"members": MEMBERS, "pool": pool}
    query = step("methods/counterfeit/donors", tables, {"value": names.starting("s", "o")})
    return Step(DONORS.name, query)


def counterfeits_step(names: Names) -> Step:
    """The counterfeit records: the other columns of one are those of the record that it copies."""
    query = step(
        "methods/counterfeit/counterfeits",
        {"placed": PLACED, "members": MEMBERS, "donors": DONORS},
        {"key": names.starting("k", "b"), "value": names.starting("s", "o")},
    )
    return Step(COUNTERFEITS.name, query)


def risk_query(names: Names, made: Relation, groups: Relation) -> Query:
    """The greatest prosecutor risk of a class, from all columns that counterfeit records copy."""
    tables = {"members": MEMBERS, "made": made, "groups": groups}
    return step("methods/counterfeit/risk", tables, {"value": names.starting("s", "o")})


def catalog_step(name: str, groups: Relation | Query, sensitive: str | None) -> Step:
    """The catalog, from what was placed and the groups of its classes."""
    values: Relation | Query
    if sensitive is None:
        nothing = cast(null(), "VARCHAR")
        values = select(aliased(literal(0), "code"), aliased(nothing, "value"))
    else:
        value = aliased(column("value0"), "value")
        values = select("code", value).from_(sensitive_relation(0).table)
    return Step(
        name, step("publish/catalog", {"placed": PLACED, "groups": groups, "values": values})
    )


def released_query(
    rows: Sequence[Relation], names: Names, released: Sequence[Column]
) -> tuple[Select, list[str]]:
    """The records as they are released, class first, and the names of their columns."""
    own = {name: key for key, name in names.own.items()}
    wanted = released_names(names.quasi_identifiers, released)
    picked = [aliased(column(CLASS_ID), CLASS_ID)]
    picked += [aliased(column(own[name]), name) for name in wanted]
    parts = [select(*(p.copy() for p in picked)).from_(table.table) for table in rows]
    whole: Query = parts[0]
    for part in parts[1:]:
        whole = union_all(whole, part)
    columns = [column(name) for name in (CLASS_ID, *wanted)]
    query = select(*columns).from_(whole.subquery("release"))
    return query, [CLASS_ID, *wanted]


def flagged_query(counterfeits: Select, names: Sequence[str]) -> Select:
    """The counterfeit records, all their columns as text, and how many are alike."""
    texts: list[Expr] = [cast(column(name), "VARCHAR") for name in names]
    record = aliased(list_of(*texts), "record")
    rows = select(record).from_(counterfeits.subquery("made"))
    count = aliased(count_rows(), "counterfeits")
    return select("record", count).from_(rows.subquery("rows")).group_by("record")
