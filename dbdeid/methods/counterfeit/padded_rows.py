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
from sqlglot import exp

from dbdeid.data.classes import CODED, TUPLES, sensitive_relation
from dbdeid.engine.relation import Column, Relation, cast, column, identifier
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
    picked = [exp.alias_(column(name, "shown"), own) for own, name in names.own.items()]
    picked.append(exp.alias_(exp.convert(0), "part"))
    shown = exp.select(*picked).from_(query.subquery("shown"))
    return Step(REAL.name, _numbered(shown, names, "shown"))


def _numbered(query: exp.Select, names: Names, table: str) -> exp.Select:
    """The query with the number of each sensitive value as `code`."""
    if names.sensitive is None:
        return query.select(exp.alias_(exp.convert(0), "code"))
    value = column(names.sensitive, table)
    same = exp.NullSafeEQ(this=value, expression=exp.column("value0", "drawn"))
    values = exp.alias_(sensitive_relation(0).table, "drawn", table=True)
    return query.select(exp.alias_(exp.column("code", "drawn"), "code")).join(values, on=same)


def pieces_step(names: Names, unchanged: Collection[str]) -> Step:
    """The records of classes that were made one by one: each in the class that its piece names.

    `deid_pieces` says how many records of a tuple and a sensitive value go to which class, as
    numbers from `first` to `last`; which record has which number only the key tells.

    Args:
        names: of the released columns.
        unchanged: quasi-identifiers that no class generalizes: they keep their type.
    """
    rest = names.starting("s", "o")
    same = exp.and_(
        *(
            column(q.name, "coded").eq(exp.column(f"q{i}", "t"))
            for i, q in enumerate(names.quasi_identifiers)
        )
    )
    rows = (
        exp.select(exp.alias_(exp.column("rowid", "t"), "tuple"))
        .select(*(exp.alias_(column(names.own[own], "coded"), own) for own in rest))
        .from_(exp.alias_(CODED.table, "coded", table=True))
        .join(exp.alias_(TUPLES.table, "t", table=True), on=same)
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


def _parts(names: Names, unchanged: Collection[str]) -> exp.Select:
    """What classes show, which was staged as text, in the types of the release."""
    query = exp.select("part").from_(PARTS.table)
    ends: list[exp.Expr] = []
    for i, q in enumerate(names.quasi_identifiers):
        label: exp.Expr = exp.column(f"k{i}")
        label = cast(label, q.column.type) if q.name in unchanged else label
        query = query.select(exp.alias_(label, f"k{i}"))
        kind = exp.DataType.build(q.column.type, dialect="duckdb")
        for _ in range(2 * q.bounds):
            # the end of an interval may lie outside the type
            name = f"b{len(ends)}"
            end = exp.TryCast(this=exp.column(name), to=kind.copy())
            ends.append(exp.alias_(end, name))
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
    """From what classes lack to the value drawn for each place."""
    tables = {"deficits": DEFICITS, "secret": SECRET}
    if uniform:
        return (
            Step(SLOTS.name, step("methods/counterfeit/uniform", {**tables, "members": MEMBERS})),
        )
    quotas = step("methods/counterfeit/quotas", {"members": MEMBERS, "deficits": DEFICITS})
    slots = step("methods/counterfeit/slots", {**tables, "quotas": QUOTAS})
    return Step(QUOTAS.name, quotas), Step(SLOTS.name, slots)


def counterfeits_step(names: Names, *, uniform: bool) -> Step:
    """The counterfeit records: the other columns of one are those of a record that has its value.

    Where values were drawn from candidates, so are these records.
    """
    pool = exp.select("class_id").from_(DEFICITS.table)
    if not uniform:
        pool = pool.where(exp.not_(exp.column("grp").is_(exp.null())))
    query = step(
        "methods/counterfeit/counterfeits",
        {"placed": PLACED, "members": MEMBERS, "pool": pool, "secret": SECRET},
        {"key": names.starting("k", "b"), "value": names.starting("s", "o")},
    )
    return Step(COUNTERFEITS.name, query)


def risk_query(names: Names, made: Relation, groups: Relation) -> exp.Expr:
    """The greatest prosecutor risk of a class, from all columns that counterfeit records copy."""
    tables = {"members": MEMBERS, "made": made, "groups": groups}
    return step("methods/counterfeit/risk", tables, {"value": names.starting("s", "o")})


def catalog_step(name: str, groups: Relation | exp.Query, sensitive: str | None) -> Step:
    """The catalog, from what was placed and the groups of its classes."""
    values: Relation | exp.Query
    if sensitive is None:
        nothing = cast(exp.null(), "VARCHAR")
        values = exp.select(exp.alias_(exp.convert(0), "code"), exp.alias_(nothing, "value"))
    else:
        value = exp.alias_(exp.column("value0"), "value")
        values = exp.select("code", value).from_(sensitive_relation(0).table)
    return Step(
        name, step("publish/catalog", {"placed": PLACED, "groups": groups, "values": values})
    )


def released_query(
    rows: Sequence[Relation], names: Names, released: Sequence[Column]
) -> tuple[exp.Select, list[str]]:
    """The records as they are released, class first, and the names of their columns."""
    own = {name: key for key, name in names.own.items()}
    wanted = released_names(names.quasi_identifiers, released)
    picked = [exp.alias_(exp.column(CLASS_ID), CLASS_ID)]
    picked += [exp.alias_(exp.column(own[name]), identifier(name)) for name in wanted]
    parts = [exp.select(*(p.copy() for p in picked)).from_(table.table) for table in rows]
    whole: exp.Query = parts[0]
    for part in parts[1:]:
        whole = exp.union(whole, part, distinct=False)
    columns = [exp.column(identifier(name)) for name in (CLASS_ID, *wanted)]
    query = exp.select(*columns).from_(whole.subquery("release"))
    return query, [CLASS_ID, *wanted]


def flagged_query(counterfeits: exp.Select, names: Sequence[str]) -> exp.Select:
    """The counterfeit records, all their columns as text, and how many are alike."""
    texts: list[exp.Expr] = [cast(exp.column(identifier(name)), "VARCHAR") for name in names]
    record = exp.alias_(exp.Array(expressions=texts), "record")
    rows = exp.select(record).from_(counterfeits.subquery("made"))
    count = exp.alias_(exp.Count(this=exp.Star()), "counterfeits")
    return exp.select("record", count).from_(rows.subquery("rows")).group_by("record")
