"""The records of a locally recoded release as SQL on the staged tables, in named steps.

Columns have names of our own on the way, so that no name in the source can meet a name in a step:
q0, q1, … are the codes of the quasi-identifiers, v0, v1, … those of the sensitive attributes,
subject the number of a record's subject, o0, o1, … the other released columns, k0, k1, … what the
quasi-identifiers read and b0, b1, … their bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dbdeid.data.classes import CODED, sensitive_relation, values_relation
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    ascending,
    cast,
    column,
    count_rows,
    list_of,
    max_of,
    min_of,
    same_value,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.common.generalized import COUNTED, STAGED, released_names
from dbdeid.methods.common.method import Dealt
from dbdeid.methods.common.mixed_levels import Mixed
from dbdeid.methods.common.secret import SECRET
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy.common.sensitive import Target

RECORDS = Relation("deid_recoding_records", schema="main", catalog="temp")
UNIT_ROWS = Relation("deid_recoding_units", schema="main", catalog="temp")
PLACES = Relation("deid_recoding_places", schema="main", catalog="temp")
BLOCKS = Relation("deid_recoding_blocks", schema="main", catalog="temp")
CLASSES = Relation("deid_recoding_classes", schema="main", catalog="temp")
RECODED = Relation("deid_recoded", schema="main", catalog="temp")
CROSSWALK = Relation("deid_crosswalk", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Names:
    """Which column is which on the way.

    Attributes:
        quasi_identifiers: in the order of the search.
        sensitive: the columns of each sensitive attribute, in the order they are staged.
        others: the released columns that are no quasi-identifiers.
        subject: the column of the staged tables with the number of each record's subject.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[Target, ...]
    others: tuple[str, ...]
    subject: str | None

    @property
    def codes(self) -> list[str]:
        """What makes a unit."""
        return [
            *(f"q{i}" for i in range(len(self.quasi_identifiers))),
            *(["subject"] if self.subject is not None else []),
            *(f"v{i}" for i in range(len(self.sensitive))),
        ]

    @property
    def rest(self) -> list[str]:
        """The other released columns on the way."""
        return [f"o{i}" for i in range(len(self.others))]

    @property
    def bounds(self) -> list[str]:
        """The names of the bounds, as released."""
        return [
            f"{q.name}_{end}"
            for q in self.quasi_identifiers
            if q.bounds
            for end in ("lower", "upper")
        ]

    @property
    def own(self) -> dict[str, str]:
        """Each released column by its name on the way."""
        found = {f"k{i}": q.name for i, q in enumerate(self.quasi_identifiers)}
        found |= {f"b{i}": name for i, name in enumerate(self.bounds)}
        return found | {f"o{i}": name for i, name in enumerate(self.others)}


def records_step(names: Names) -> Step:
    """All records: the codes of what makes a unit, and the other released columns."""
    query = select(
        *(aliased(column(q.name, "coded"), f"q{i}") for i, q in enumerate(names.quasi_identifiers))
    ).from_(CODED.aliased("coded"))
    if names.subject is not None:
        query = query.select(aliased(column(names.subject, "coded"), "subject"))
    for i, target in enumerate(names.sensitive):
        alias = f"s{i}"
        same = all_of(
            *(
                same_value(column(name, "coded"), column(f"value{j}", alias))
                for j, name in enumerate(target)
            )
        )
        values = sensitive_relation(i).aliased(alias)
        query = query.select(aliased(column("code", alias), f"v{i}")).join(values, on=same)
    others = (aliased(column(name, "coded"), f"o{i}") for i, name in enumerate(names.others))
    return Step(RECORDS.name, query.select(*others))


def units_step(names: Names) -> Step:
    """The same with the number of each record's unit."""
    query = step(
        "methods/local_recoding/recoding_units", {"records": RECORDS}, {"key": names.codes}
    )
    return Step(UNIT_ROWS.name, query)


def units_of(session: Session, names: Names, cardinalities: Sequence[int]) -> Tuples:
    """The units with the records of each, in the order of their codes.

    Args:
        session: where they are staged.
        names: of their columns.
        cardinalities: how many values each sensitive attribute has.
    """
    keys = names.codes
    counted = aliased(count_rows(), "records")
    query = select(*keys, counted).from_(UNIT_ROWS.table).group_by("unit", *keys)
    found = session.arrays(query.order_by("unit"))
    weights = np.asarray(found["records"], np.int64)
    rows = np.arange(len(weights))
    codes = tuple(
        np.asarray(found[f"q{i}"], np.uint32) for i in range(len(names.quasi_identifiers))
    )
    values = tuple(
        Values(rows, np.asarray(found[f"v{i}"], np.int64), weights, cardinality)
        for i, cardinality in enumerate(cardinalities)
    )
    return Tuples(codes, weights, found.get("subject"), values)


def stage(session: Session, names: Names, blocks: Blocks, columns: Sequence[Mixed]) -> None:
    """Where the records of a unit go, and what each block reads on each quasi-identifier.

    Args:
        session: where the records are.
        names: of their columns.
        blocks: all records of all units.
        columns: of each quasi-identifier, by block.
    """
    place(session, blocks)
    marks = {f"m{i}": own.mark for i, own in enumerate(columns)}
    session.upload(CLASSES.name, {"block": np.arange(blocks.number), **marks})
    for i, (q, own) in enumerate(zip(names.quasi_identifiers, columns, strict=True)):
        shown: dict[str, object] = {"mark": np.arange(len(own.labels)), "label": own.labels}
        if q.bounds:
            shown["lower"] = [cell.lower for cell in own.cells]
            shown["upper"] = [cell.upper for cell in own.cells]
        session.upload(marks_relation(i).name, shown)


def place(session: Session, blocks: Blocks) -> None:
    """Where the records of each unit go.

    Args:
        session: where the records are.
        blocks: all records of all units.
    """
    order = np.lexsort((blocks.block, blocks.row))
    records = blocks.records[order]
    row = np.repeat(blocks.row[order], records)
    first = np.searchsorted(row, row)  # place of the first record of the same unit
    place = np.arange(len(row)) - first + 1
    block = np.repeat(blocks.block[order], records)
    session.upload(PLACES.name, {"unit": row, "place": place, "block": block})


def marks_relation(number: int) -> Relation:
    """What one quasi-identifier reads: mark, label, perhaps lower and upper."""
    return Relation(f"deid_marks_{number}", schema="main", catalog="temp")


def blocks_step(names: Names) -> Step:
    """The records with their blocks."""
    tables = {"members": UNIT_ROWS, "places": PLACES, "secret": SECRET}
    # where all columns make the unit its records do not differ, and any of them will do
    other = names.rest or ["unit"]
    return Step(
        BLOCKS.name, step("methods/local_recoding/recoding_blocks", tables, {"other": other})
    )


def recoded_step(names: Names, unchanged: Collection[str]) -> Step:
    """The records with what they read.

    Args:
        names: of the columns.
        unchanged: quasi-identifiers that no block generalizes: they keep their type.
    """
    query = select(*(column(name, "rows") for name in (*names.codes, *names.rest)))
    query = query.from_(BLOCKS.aliased("rows"))
    classes = CLASSES.aliased("classes")
    same = column("block", "classes").eq(column("block", "rows"))
    query, bounds = query.join(classes, on=same), 0
    for i, q in enumerate(names.quasi_identifiers):
        alias = f"m{i}"
        table = marks_relation(i).aliased(alias)
        query = query.join(table, on=column("mark", alias).eq(column(f"m{i}", "classes")))
        query = query.select(aliased(_label(q, alias, unchanged), f"k{i}"))
        for end in ("lower", "upper") if q.bounds else ():
            query = query.select(aliased(_bound(q, alias, end), f"b{bounds}"))
            bounds += 1
    return Step(RECODED.name, query)


def dealt(session: Session, names: Names, unchanged: Collection[str]) -> Dealt:
    """Where the records of each unit go, and what blocks read, once these are staged.

    Args:
        session: where they are.
        names: of the columns.
        unchanged: as `recoded_step` takes them.
    """
    codes = [aliased(cast(column(name, "u"), "BIGINT"), name) for name in names.codes]
    ends = (aliased(min_of(column("place")), "first"), aliased(max_of(column("place")), "last"))
    runs = select("unit", *ends, "block").from_(PLACES.table).group_by("unit", "block")
    units = select("unit", *names.codes).distinct().from_(UNIT_ROWS.table)
    same = column("unit", "u").eq(column("unit", "r"))
    spans = (column(name, "r") for name in ("first", "last", "block"))
    query = select(*codes, *spans).from_(units.subquery("u")).join(runs.subquery("r"), on=same)
    return Dealt(
        session.run(Step("deid_dealt_units", query)),
        session.run(_blocks_read(names, unchanged)),
        SECRET,
    )


def _blocks_read(names: Names, unchanged: Collection[str]) -> Step:
    """What each block reads."""
    query = select(column("block", "classes")).from_(CLASSES.aliased("classes"))
    for i, q in enumerate(names.quasi_identifiers):
        alias = f"m{i}"
        same = column("mark", alias).eq(column(alias, "classes"))
        query = query.join(marks_relation(i).aliased(alias), on=same)
        query = query.select(aliased(_label(q, alias, unchanged), f"k{i}"))
        for end in ("lower", "upper") if q.bounds else ():
            query = query.select(aliased(_bound(q, alias, end), f"{end}{i}"))
    return Step("deid_dealt_blocks", query)


def _label(q: QuasiIdentifier, alias: str, unchanged: Collection[str]) -> Expr:
    label = column("label", alias)
    return cast(label, q.column.type) if q.name in unchanged else label


def _bound(q: QuasiIdentifier, alias: str, end: str) -> Expr:
    """The end of an interval, which may lie outside the type."""
    return try_cast(column(end, alias), q.column.type)


def release_steps(names: Names, released: Sequence[Column]) -> tuple[Step, ...]:
    """The release, the same with subjects where they count, and the crosswalk."""
    own = {name: key for key, name in names.own.items()}
    wanted = released_names(names.quasi_identifiers, released)
    picked = [aliased(column(own[name]), name) for name in wanted]
    rows = select(*picked).from_(RECODED.table)
    order = [ascending(column(name)) for name in wanted]
    whole = select(*(column(name) for name in wanted)).from_(rows.subquery("release"))
    steps = [Step(STAGED, whole.order_by(*order))]
    if names.subject is not None:
        subject = aliased(column("subject"), names.subject)
        steps.append(Step(COUNTED, rows.select(subject)))
    return (*steps, _crosswalk_step(names, [own[name] for name in wanted]))


def _crosswalk_step(names: Names, released: Sequence[str]) -> Step:
    """Which record of the source is which of the release, as texts: private."""
    query = select().from_(RECODED.aliased("rows"))
    values: list[Expr] = []
    for i in range(len(names.quasi_identifiers)):
        alias = f"v{i}"
        table = values_relation(i).aliased(alias)
        query = query.join(table, on=column("code", alias).eq(column(f"q{i}", "rows")))
        values.append(cast(column("value", alias), "VARCHAR"))
    texts: list[Expr] = [cast(column(name, "rows"), "VARCHAR") for name in released]
    keys = ["source", "record"]
    query = query.select(
        aliased(list_of(*values), "source"),
        aliased(list_of(*texts), "record"),
    )
    if names.subject is not None:
        query, keys = query.select(column("subject", "rows")), [*keys, "subject"]
    counted = aliased(count_rows(), "records")
    grouped = select(*keys, counted).from_(query.subquery("pairs")).group_by(*keys)
    return Step(CROSSWALK.name, grouped)
