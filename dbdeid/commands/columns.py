"""Looking at the columns of a source: what each is, and the role that a draft would give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.read import Source, read
from dbdeid.bind.source import open_source
from dbdeid.data.json import Json, JsonObject, plain
from dbdeid.data.source_files import reading_source
from dbdeid.engine.expressions import cast, column, function, select
from dbdeid.engine.file_names import given_path
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.profiling.detect import IDENTIFYING, DetectedColumn, detect
from dbdeid.profiling.suggest import hierarchies
from dbdeid.profiling.suggest.role_costs import Uniqueness
from dbdeid.profiling.suggest.roles import Proposal, asking, propose
from dbdeid.workspace.progress import Clock, Notify
from dbdeid.workspace.workplace import workplace

LOOKED_AT = "deid_looked_at"
MOST_SHOWN = 12  # values of a column, the most frequent ones
OFTEN = 20  # records that share a value before it is shown: it is nobody's own
ROWS = 5  # records that are shown before and after
MOST_KEPT = 20_000  # values of a column, with which levels are shown


@dataclass(frozen=True, slots=True)
class Looked:
    """A column of a source as its owner decides on it.

    Attributes:
        name: as the source spells it.
        type: in the source.
        family: of the type, as in `engine.relation`.
        stored: the type as the engine writes it; text of a list of values.
        kind: what it holds.
        records: of the table.
        known: those with a value.
        distinct: values.
        why: what was found, as a clause without a value.
        proposed: the role that a draft would give it.
        entry: what a draft would write of it.
        generalized: what would be written of it as a quasi-identifier; None where nothing can.
        most: share of the records that have its most frequent value; None where that was not
            counted.
        alone: share of the records that it singles out by itself; None likewise.
        unique: share of the records that are unique with it as one more quasi-identifier; None of
            a column that is one, and where there is none.
        often: values that many records share, with how many, the most frequent first; none of a
            column that leads to a person.
    """

    name: str
    type: str
    family: str
    stored: str
    kind: str
    records: int
    known: int
    distinct: int
    why: str
    proposed: str
    entry: Mapping[str, Json]
    generalized: Mapping[str, Json] | None
    most: float | None
    alone: float | None
    unique: float | None
    often: tuple[tuple[str, int], ...]

    @property
    def direct(self) -> bool:
        """Whether it leads to a person directly."""
        return self.kind in IDENTIFYING or self.proposed == "identifier"


@dataclass(frozen=True, slots=True)
class Overview:
    """The columns of a source.

    Attributes:
        columns: in the order of the source.
        unique: share of the records that are unique on the quasi-identifiers of a draft.
        subjects: columns that may tell whose record a record is, with their values.
        values: of each column that may be generalized its values and their records, for levels.
        rows: a few records, as texts by the names of their columns; without those that lead to
            persons.
    """

    columns: tuple[Looked, ...]
    unique: float | None
    subjects: tuple[tuple[str, int], ...]
    values: Mapping[str, Sequence[tuple[str, int]]]
    rows: tuple[Mapping[str, str | None], ...] = ()

    def to_dict(self) -> JsonObject:
        """As JSON has it; private, for it holds values."""
        return {
            "columns": plain(self.columns),
            "unique": self.unique,
            "subjects": plain(self.subjects),
            "rows": [dict(row) for row in self.rows],
            "values": {name: [list(one) for one in some] for name, some in self.values.items()},
        }


def columns_of(
    source: Source,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
) -> Overview:
    """What the columns of a spec's source are, whatever the spec says of them.

    Args:
        source: the spec.
        database: in place of the spec's `database`.
        settings: engine limits.
        notify: called with each phase.

    Raises:
        SpecError, DataError: the spec has mistakes, or its source cannot be read.
    """
    file = read(source, database=given_path(database))
    clock = Clock(notify)
    with workplace(file, database=given_path(database), settings=settings, writing=False) as work:
        session = work.session
        with clock.phase("read"), reading_source():
            table = session.run(Step(LOOKED_AT, open_source(file, session).query))
        with clock.phase("look at the columns"):
            found = detect(session, table)
            proposals = asking(propose(session, table, found))
        with clock.phase("count values"):
            counted = {
                p.found.name: hierarchies.values_of(session, table, p.found)
                for p in proposals.columns
                if not _direct(p) and p.found.distinct <= MOST_KEPT
            }
            rows = _rows(session, table, [*counted])
            ladders = {p.found.name: _generalized(session, table, p) for p in proposals.columns}
    columns = tuple(
        _looked(p, ladders[p.found.name], proposals.uniqueness, counted.get(p.found.name, ()))
        for p in proposals.columns
    )
    return Overview(
        columns,
        proposals.uniqueness.now if proposals.uniqueness else None,
        tuple((f.name, f.distinct) for f in proposals.subjects),
        counted,
        rows,
    )


def _rows(
    session: Session, table: Relation, names: Sequence[str]
) -> tuple[Mapping[str, str | None], ...]:
    """A few records, in an order that says nothing, with the columns that lead to nobody."""
    if not names:
        return ()
    texts = [cast(column(name), "VARCHAR") for name in names]
    some = select(*texts).from_(table.table).order_by(function("hash", *map(column, names)))
    return tuple(
        {name: None if cell is None else str(cell) for name, cell in zip(names, row, strict=True)}
        for row in session.rows(some.limit(ROWS))
    )


def _direct(p: Proposal) -> bool:
    return p.found.kind in IDENTIFYING or p.role == "identifier" or p.found.kind == "free_text"


def _generalized(session: Session, table: Relation, p: Proposal) -> Mapping[str, Json] | None:
    """The entry of a column as a quasi-identifier."""
    if p.role == "quasi_identifier":
        return p.entry
    if p.found.kind == "other":
        return None
    if _direct(p) or not p.found.distinct:
        return {"role": "quasi_identifier", "hierarchy": "suppress"}
    ladder = hierarchies.of(session, table, p.found)
    made = Proposal(
        p.found, "quasi_identifier", "", ladder.hierarchy, ladder.min_level, ladder.domain
    )
    return made.entry


def _looked(
    p: Proposal,
    generalized: Mapping[str, Json] | None,
    unique: Uniqueness | None,
    counted: Sequence[tuple[str, int]],
) -> Looked:
    found: DetectedColumn = p.found
    return Looked(
        found.name,
        found.column.shown_type,
        found.column.family,
        "VARCHAR" if found.column.family in ("enum", "other") else found.column.type,
        found.kind,
        found.records,
        found.known,
        found.distinct,
        p.why,
        p.role,
        p.entry,
        generalized,
        p.telling.most if p.telling else None,
        p.telling.alone if p.telling else None,
        unique.joined.get(found.name) if unique else None,
        tuple((value, n) for value, n in counted[:MOST_SHOWN] if n >= OFTEN),
    )
