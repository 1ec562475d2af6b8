"""What remains open when every promise is kept, counted on the released table.

Promises cover the quasi-identifiers. Sensitive and insensitive columns leave as they are, and
single people out; a class whose members share one sensitive value gives it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    column,
    count_distinct,
    count_rows,
    count_where,
    literal,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Steps
from dbdeid.engine.sqltext import step
from dbdeid.prepare.spellings import by_meaning
from dbdeid.privacy.common.shares import class_values, members, value_names
from dbdeid.record.findings import AsItIs, Certain, Remains, Singled
from dbdeid.utility.common.counted import Counted, Rows, relation_of

_OPEN = ("sensitive", "insensitive")  # the roles of columns that leave as they are
# Columns are counted one by one as long as that many cells are looked at; each has a GROUP BY.
MOST_CELLS = 60_000_000
MOST_COLUMNS = 40


def remains(
    bound: Bound,
    session: Session,
    table: Relation,
    subject: str | None = None,
    *,
    synthetic: bool = False,
    classes: Classes | None = None,
) -> Remains:
    """Count what remains open.

    Args:
        bound: the spec.
        session: where the table is.
        table: the released records, perhaps with the number of their subject beside them.
        subject: the column of that number, where people count and it is at hand.
        synthetic: whether the records are nobody's: then no column leaves as it is.
        classes: of the table, counted already, where records count and not people.
    """
    spelled = {c.name: found.name for c in bound.released if (found := table.find(c.name))}
    hidden = {subject, *(spelled.get(c.name) for c in bound.pseudonyms)}
    names = [name for name in table.names if name not in hidden]
    open_ = [c for c in bound.released if c.name in spelled and c.spec.role in _OPEN]
    keys = [spelled[c.name] for c in bound.quasi_identifiers if c.name in spelled]
    if synthetic:
        open_, keys = [], []
    counted = _Counted(session, table, subject, classes)
    records, people = counted.size()
    as_they_are, together = counted.left([(c, spelled[c.name]) for c in open_], records)
    named = {*spelled.values(), *hidden}
    wild = bound.spec.null_policy == "wildcard"
    return Remains(
        records=records,
        people=people,
        subject=bound.subject.name if bound.subject and people is not None else None,
        quasi_identifiers=len(keys),
        covered=counted.covered(keys) if keys and not wild else None,
        columns=len(names),
        bounds=sum(name not in named for name in names) if bound.spec.output.bounds else 0,
        as_they_are=as_they_are,
        together=together,
        everything=counted.everything(names, together, records),
        certain=tuple(
            counted.certain(bound, session, keys, c.name, spelled[c.name])
            for c in open_
            if c.spec.role == "sensitive" and keys
        ),
        pseudonyms=tuple(c.name for c in bound.pseudonyms if c.name in spelled),
    )


def remains_there(
    left: Remains, bound: Bound, steps: Steps, table: Relation, subject: str | None
) -> Remains:
    """The same of a table that has more columns than were counted here.

    Args:
        left: of the counted columns, among them all sensitive ones.
        bound: the whole spec.
        steps: where the table is.
        table: the released records, described, perhaps with their subject beside them.
        subject: the column of that, where people count.
    """
    counted = _Counted(steps, table, subject, None)
    names = [name for name in table.names if name != subject]
    open_ = [(c, c.name) for c in bound.released if c.spec.role in _OPEN]
    as_they_are, together = counted.left(open_, left.records)
    told = {
        "columns": len(names),
        "as_they_are": as_they_are,
        "together": together,
        "everything": counted.everything(names, together, left.records),
    }
    return left.model_copy(update=told)


class Classes(Protocol):
    """The classes of a table, and their values, each counted once and numbered."""

    @property
    def classes(self) -> Counted:
        """The quasi-identifiers."""

    def cells(self, name: str) -> Counted:
        """The numbers of the classes, and a sensitive column of the spec."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A released table that is counted; `subject` is the column of the number of whose it is."""

    steps: Steps
    table: Relation
    subject: str | None
    classes: Classes | None

    def size(self) -> tuple[int, int | None]:
        """Its records, and their people."""
        query = select(count_rows()).from_(self.table.table)
        if self.subject is None:
            return int(self.steps.row(query)[0]), None
        people = count_distinct(column(self.subject))
        records, number = self.steps.row(query.select(people))
        return int(records), int(number)

    def left(
        self, columns: Sequence[tuple[BoundColumn, str]], records: int
    ) -> tuple[tuple[AsItIs, ...], Singled | None]:
        """Columns that leave as they are, by their names here: each, and all of them together."""
        each = max(1, min(MOST_COLUMNS, MOST_CELLS // max(records, 1)))
        alone = tuple(
            AsItIs(
                column=c.name,
                role=c.spec.role,
                alone=self.singled([name]) if i < each else None,
            )
            for i, (c, name) in enumerate(columns)
        )
        return alone, self.singled([name for _, name in columns]) if columns else None

    def singled(self, names: Sequence[str]) -> Singled:
        """Who is singled out by columns."""
        rows = {"rel": self.table}
        records = int(self.steps.row(step("verify/unique_records", rows, {"cols": names}))[0])
        if self.subject is None:
            return Singled(records=records, people=None)
        columns = {"cols": names, "subject": [self.subject]}
        people = int(self.steps.row(step("evaluation/singled_people", rows, columns))[0])
        return Singled(records=records, people=people)

    def covered(self, keys: Sequence[str]) -> Singled:
        """Who is singled out by the quasi-identifiers."""
        if self.classes is None:
            return self.singled(keys)
        rows = self.classes.classes
        alone = count_where(column(rows.records).eq(1))
        query = select(alone).from_(rows.relation.table)
        return Singled(records=int(self.steps.row(query)[0]), people=None)

    def everything(self, names: Sequence[str], some: Singled | None, records: int) -> Singled:
        """Who is singled out by all columns; `some` of them may single out every record."""
        if self.subject is None and some is not None and some.records == records:
            return some
        return self.singled(names)

    def certain(
        self, bound: Bound, session: Session, keys: Sequence[str], name: str, spelled: str
    ) -> Certain:
        """Find whose sensitive value is certain to anyone who knows the quasi-identifiers."""
        rows: Rows = self.table
        if self.classes is not None:
            rows = self.classes.cells(name)
            keys = [rows.number]
        table = by_meaning(bound, session, relation_of(rows), {spelled: name})
        number = column(rows.records) if isinstance(rows, Counted) else literal(1)
        classes, records = self._homogeneous(table, keys, spelled, number)
        people = None
        if self.subject is not None:
            classes, people = self._of_people(table, keys, spelled, self.subject)
        return Certain(column=name, classes=classes, records=records, people=people)

    def _homogeneous(
        self, table: Query, keys: Sequence[str], name: str, records: Expr
    ) -> tuple[int, int]:
        """The classes whose records share a value of a column, and their records."""
        places = [f"key_{i}" for i in range(len(keys))]
        named = [aliased(column(k), place) for k, place in zip(keys, places, strict=True)]
        rows = select(*named, aliased(column(name), "value"), aliased(records, "records"))
        rows = rows.from_(table.subquery("rows"))
        uniform = step("evaluation/homogeneous_classes", {"members": rows}, {"qi": places})
        classes, held = self.steps.row(uniform)
        return int(classes), int(held)

    def _of_people(
        self, table: Query, keys: Sequence[str], name: str, subject: str
    ) -> tuple[int, int]:
        """The classes all of whose people have one value of a column, and these people."""
        rows = members(table, keys, [name], subject)
        held = class_values(rows, value_names([name]), by_subject=True)
        uniform = step("evaluation/uniform_classes", {"held": held})
        classes = select(count_rows()).from_(uniform.subquery("uniform"))
        of = step("evaluation/people_of_homogeneous_classes", {"members": rows, "uniform": uniform})
        return int(self.steps.row(classes)[0]), int(self.steps.row(of)[0])
