"""Which records of the source are in which class of a written table.

Where a transformation is of all records, that follows from their values. Where levels differ
between classes only the private *crosswalk* tells: `source`, the quasi-identifiers of a record as
text, `record`, all released columns of what it is released as, and `records`, how many are so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    coalesce,
    column,
    function,
    literal,
    over,
    row_number,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.utility.common.counted import Rows, number_of, relation_of

MEMBERS = "deid_measured_members"


@dataclass(frozen=True, slots=True)
class Members:
    """The records of the source by class.

    Attributes:
        query: `class_0`, `class_1`, …, what the quasi-identifiers of the class read, as text or as
            its `place`; `value_0`, `value_1`, …, what tells the values of a record apart;
            `records` of both.
        quasi_identifiers: their names, in that order.
        places: of each of them the `place`, a number, of each `label`; empty where classes are
            told as text. Numbers are faster to find among all records.
        told: those whose value the class tells: how many `records` of the source have each `value`.
            Their values need not be looked at inside of classes.
    """

    query: Select
    quasi_identifiers: tuple[str, ...]
    places: tuple[Select, ...] = ()
    told: Mapping[str, Query] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Crosswalk:
    """The private table that maps each record to its released values.

    Attributes:
        relation: `source`, `record` and `records`.
        quasi_identifiers: their names, in the order of `source`.
        released: the names of the released columns, in the order of `record`.
    """

    relation: Relation
    quasi_identifiers: tuple[str, ...]
    released: tuple[str, ...]

    @property
    def members(self) -> Members:
        """The records of the source by class."""
        pairs = [self._cells(name) for name in self.quasi_identifiers]
        classes = (aliased(label, f"class_{i}") for i, (_, label) in enumerate(pairs))
        values = (aliased(value, f"value_{i}") for i, (value, _) in enumerate(pairs))
        query = select(*classes, *values, "records").from_(self.relation.table)
        return Members(query, self.quasi_identifiers)

    def pairs(self, name: str) -> Select:
        """The rows `value`, `label`, `records` of a quasi-identifier; pairs may repeat."""
        value, label = self._cells(name)
        picked = (aliased(value, "value"), aliased(label, "label"), "records")
        return select(*picked).from_(self.relation.table)

    def _cells(self, name: str) -> tuple[Expr, Expr]:
        return (
            _element("source", self.quasi_identifiers.index(name)),
            _element("record", self.released.index(name)),
        )


def _element(list_: str, place: int) -> Expr:
    return function("list_extract", column(list_), literal(place + 1))


def members_of_transformation(
    tuples: Relation,
    labels: Mapping[str, Relation | Query],
    told: Mapping[str, Query] | None = None,
) -> Members:
    """The records of the source by class where one transformation is of all of them.

    Args:
        tuples: `q0`, `q1`, …, the codes of the quasi-identifiers, and `records` of each tuple;
            tuples may repeat.
        labels: of each quasi-identifier, in that order, the `label` of each `code`, and the
            `place` of the label, a number.
        told: of those quasi-identifiers whose labels stand for one value each, how many `records`
            of the source have each `value`.
    """
    query, places = select().from_(tuples.aliased("tuples")), []
    for i, meant in enumerate(labels.values()):
        table = meant.subquery() if isinstance(meant, Query) else meant.table
        same = column("code", f"l{i}").eq(column(f"q{i}", "tuples"))
        query = query.join(aliased(table, f"l{i}"), on=same).select(
            aliased(column("place", f"l{i}"), f"class_{i}"),
            aliased(column(f"q{i}", "tuples"), f"value_{i}"),
        )
        places.append(select("label", "place").distinct().from_(table.copy()))
    return Members(
        query.select(column("records", "tuples")), tuple(labels), tuple(places), told or {}
    )


def stage_members(session: Session, released: Rows, members: Members) -> Relation:
    """The members with `class` as a number, and `released`, how many records of it are.

    Records of no released class have class 0.

    Args:
        session: where the tables are.
        released: the written table.
        members: the records of the source by class.
    """
    names = members.quasi_identifiers
    texts = [cast(column(name, "released"), "VARCHAR") for name in names]
    written = (
        select(
            *(aliased(text, f"class_{i}") for i, text in enumerate(texts)),
            aliased(number_of(released, "released"), "records"),
            aliased(over(row_number()), "number"),
        )
        .from_(relation_of(released).aliased("released"))
        .group_by(*(text.copy() for text in texts))
    )
    if members.places:
        written = _placed(written, members.places)
    pairs = ((column(f"class_{i}", t) for t in ("members", "written")) for i in range(len(names)))
    same = (one.eq(other) if members.places else same_value(one, other) for one, other in pairs)
    number, records = (
        coalesce(column(name, "written"), literal(0)) for name in ("number", "records")
    )
    query = (
        select(
            aliased(number, "class"),
            *(
                column(f"value_{i}", "members")
                for i, n in enumerate(names)
                if n not in members.told
            ),
            column("records", "members"),
            aliased(records, "released"),
        )
        .from_(members.query.subquery("members"))
        .join(written.subquery("written"), on=all_of(*same), join_type="left")
    )
    return session.run(Step(MEMBERS, query))


def _placed(written: Select, places: Sequence[Select]) -> Select:
    """The classes of a written table by the places of their labels."""
    query = select("records", "number").from_(written.subquery("texts"))
    for i, of_label in enumerate(places):
        same = same_value(column("label", f"p{i}"), column(f"class_{i}", "texts"))
        query = query.join(of_label.subquery(f"p{i}"), on=same).select(
            aliased(column("place", f"p{i}"), f"class_{i}")
        )
    return query
