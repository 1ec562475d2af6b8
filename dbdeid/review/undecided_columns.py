"""Columns that nobody has decided on: what they are, and what each role would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdeid.bind.bound import Bound
from dbdeid.data.json import JsonObject
from dbdeid.data.source_files import reading_source
from dbdeid.engine.expressions import Expr, aliased, ascending, cast, column, same_value, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.profiling.column_names import tells_persons
from dbdeid.profiling.detect import DetectedColumn, detect
from dbdeid.profiling.suggest import role_costs
from dbdeid.profiling.suggest.agreement import numbers
from dbdeid.profiling.suggest.roles import Role, propose

LOOKED_AT = "deid_undecided"
LEAST = "deid_undecided_least"
# A column of so many values that records share, each of few of them, may number persons.
FEW_PERSONS = 20
OFTEN = 20
TOLD_BY_KIND = ("date", "timestamp", "age", "year", "icd9", "icd10", "country", "place")


@dataclass(frozen=True, slots=True)
class Undecided:
    """A column without a decision.

    Attributes:
        name: as the source spells it.
        type: in the source.
        values: distinct ones.
        why: what was found of it, as a clause without any of its values.
        proposed: the role that a draft would give it; None where it would ask, too.
        unique: as a quasi-identifier: share of the records that are unique on these, at the least
            level that they leave at, with it; None where there is none yet.
        most: as sensitive: share of the records that have its most frequent value.
        alone: as insensitive: share of the records that it singles out by itself.
    """

    name: str
    type: str
    values: int
    why: str
    proposed: Role | None
    unique: float | None
    most: float
    alone: float

    def to_dict(self) -> JsonObject:
        """As commands print it under --json."""
        return {
            "name": self.name,
            "type": self.type,
            "values": self.values,
            "found": self.why,
            "proposed": self.proposed,
            "unique": self.unique,
            "most": self.most,
            "alone": self.alone,
        }


@dataclass(frozen=True, slots=True)
class Repeating:
    """A column that several records share a value of, as they would a number of a person.

    Attributes:
        name: as the source spells it.
        values: different ones.
        records: that have one.
    """

    name: str
    values: int
    records: int


@dataclass(frozen=True, slots=True)
class OpenDecisions:
    """The columns that nobody has decided on.

    Attributes:
        columns: in the order of the source.
        unique: share of the records that are unique on the quasi-identifiers there are, at the
            least level that the spec lets them leave at; None where there is none yet.
        repeating: those of them that may tell whose record it is, where nothing does yet.
    """

    columns: tuple[Undecided, ...] = ()
    unique: float | None = None
    repeating: tuple[Repeating, ...] = ()


def undecided(bound: Bound, session: Session) -> OpenDecisions:
    """The columns that nobody has decided on, with what was found of them."""
    names = set(bound.names("undecided"))
    if not names:
        return OpenDecisions()
    known = set(bound.names("quasi_identifier"))
    mine = bound.subject.name if bound.subject is not None else None
    kept = [c.name for c in bound.columns if c.name in names | known or c.name == mine]
    picked = select(*map(column, kept)).from_(bound.source.subquery("source"))
    with reading_source():
        table = session.run(Step(LOOKED_AT, picked))
    found = detect(session, table)
    whose = next((f for f in found if f.name == mine), None)
    open_ones = [f for f in found if f.name in names]
    decided = [f for f in found if f.name in known]
    least = _least_general(bound, session, table)
    unique = role_costs.uniqueness(session, least, decided, open_ones, whose)
    if least is not table:
        session.drop_temp(least.name)
    telling = role_costs.distinctness(session, table, open_ones, whose)
    proposals = propose(session, table, [f for f in found if f.name not in known])
    session.drop_temp(LOOKED_AT)
    columns = tuple(
        Undecided(
            p.found.name,
            p.found.column.shown_type,
            p.found.distinct,
            p.why,
            p.role if p.role != "undecided" else None,
            unique.joined[p.found.name] if unique else None,
            telling[p.found.name].most,
            telling[p.found.name].alone,
        )
        for p in proposals.columns
        if p.found.name in names
    )
    counted = bound.subject is not None or bound.spec.accept == "rows"
    numbered = any(tells_persons(c.name) for c in bound.columns)
    named = {p.found.name for p in proposals.columns if p.found.kind == "person_name"}
    asked = [f for f in open_ones if not (numbered and f.name in named)]
    repeating = () if counted else tuple(_repeating(asked))
    return OpenDecisions(columns, unique.now if unique else None, repeating)


def _repeating(found: Sequence[DetectedColumn]) -> Iterator[Repeating]:
    """Columns that may number persons of whom some have several records."""
    for f in found:
        like = f.column.family in ("text", "integer", "enum") and f.kind not in TOLD_BY_KIND
        often = f.known / f.distinct if f.distinct else 0.0
        if like and f.distinct >= FEW_PERSONS and 1 < often <= OFTEN and numbers(f):
            yield Repeating(f.name, f.distinct, f.known)


def _least_general(bound: Bound, session: Session, table: Relation) -> Relation:
    """The table with each quasi-identifier at its `min_level`: nothing finer leaves."""
    raised = [c for c in bound.quasi_identifiers if c.spec.min_level and c.spec.hierarchy]
    if not raised:
        return table
    picked: dict[str, Expr] = {name: column(name, "raw") for name in table.names}
    query = select().from_(table.aliased("raw"))
    for number, c in enumerate(raised):
        raw = column(c.name, "raw")
        text = cast(cast(raw, c.released_type or "VARCHAR"), "VARCHAR")
        texts = select(aliased(text, "value")).distinct()
        texts = texts.from_(table.aliased("raw"))
        ordered = ascending(column("value"))
        known = select("value").from_(texts.subquery("found")).order_by(ordered)
        values = [row[0] for row in session.rows(known)]
        groups = coding_of(bound, session, c, values).groups(c.spec.min_level)
        alias = f"least{number}"
        levels = session.upload(f"deid_least_{number}", {"value": values, "grp": groups})
        same = same_value(text.copy(), column("value", alias))
        query = query.join(levels.aliased(alias), on=same)
        picked[c.name] = aliased(column("grp", alias), c.name)
    least = session.run(Step(LEAST, query.select(*picked.values())))
    for number in range(len(raised)):
        session.drop_temp(f"deid_least_{number}")
    return least
