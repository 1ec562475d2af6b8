"""Rules over sensitive values checked in the database: counted there, judged on the counts.

A *unit* is what holds a condition or fails it: a class; or, where a pseudonym links the rows of a
subject, the records that the subjects of one whole set of classes have in one of these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import tuple_values_relation
from dbdeid.engine.expressions import aliased, column, count_distinct, literal, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.check import Check, Lost
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.rule import Judged, Rule
from dbdeid.lattice.sensitive_counts import Entries

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def check(session: Session, rule: Rule, node: Node, rows: Relation, *, by_subject: bool) -> Check:
    """What a transformation finds.

    Args:
        session: where the tuples are staged.
        rule: with conditions, in the order of the staged attributes.
        node: the transformation.
        rows: one row per tuple: tuple, class from 1, subject, records, loss, blank.
        by_subject: distinct subjects count.
    """
    return _Units(session, rule, rows, by_subject).check(node)


class _Units:
    """The units of one transformation."""

    def __init__(self, session: Session, rule: Rule, rows: Relation, by_subject: bool) -> None:
        self._session, self._rule, self._by_subject = session, rule, by_subject
        kind = "methods/common/set_units" if rule.linked else "methods/common/class_units"
        self._table = session.run(Step("deid_units", step(kind, {"rows": rows})))
        found = session.arrays(step("methods/common/unit_counts", {"units": self._table}))
        self._class, self._whole = found["class"], found["whole"]
        self._records, self._subjects = found["records"], found["subjects"]
        self._loss, self._blank = found["loss"], found["blank"]

    def check(self, node: Node) -> Check:
        """Count and judge the units."""
        enough = (self._subjects >= self._rule.k) & ~self._blank
        judged = Judged(self._subjects[enough], self._rule.k, parts=not self._by_subject)
        found = self._entries(enough, self._table)
        for condition, entries in zip(self._rule.conditions, found, strict=True):
            judged.judge(condition, entries)
        holds, most = np.zeros(len(enough), np.bool_), np.zeros(len(enough), np.int64)
        holds[enough], most[enough] = judged.holds, judged.most
        kept = self._together(holds)
        lost = below = self._lost(kept)
        if not judged.all_hold:
            below = self._lost_below(most)
        kept_records = np.bincount(self._class, self._records * kept).astype(np.int64)
        all_records = np.bincount(self._class, self._records).astype(np.int64)
        return Check(
            node=node,
            suppressed=lost.records,
            suppressed_subjects=lost.subjects,
            classes=int(np.count_nonzero(kept_records)),
            all_classes=len(all_records),
            smallest=int(self._subjects[kept].min()) if kept.any() else 0,
            squares_kept=sum(n * n for n in kept_records.tolist()),
            squares_all=sum(n * n for n in all_records.tolist()),
            suppressed_loss=lost.loss,
            chance=float((self._records[kept] / self._subjects[kept]).sum()),
            rest_holds=self._rest_holds(kept, lost.subjects),
            below=below,
        )

    def _entries(self, chosen: Mask, table: Relation) -> Iterator[Entries]:
        """The values of the chosen units of a table, which are numbered anew."""
        place = np.cumsum(chosen) - 1
        for number in range(len(self._rule.conditions)):
            query = step(
                "methods/common/unit_values",
                {"units": table, "values": tuple_values_relation(number)},
            )
            found = self._session.arrays(query)
            unit = found["unit"].astype(np.int64)
            meant = chosen[unit]
            value, people = found["value"].astype(np.int64), found["people"]
            yield Entries(place[unit[meant]], value[meant], people[meant])

    def _together(self, holds: Mask) -> Mask:
        """Which units stay: those of which all that stays or goes with them holds."""
        failing = np.bincount(self._whole, ~holds) > 0
        return np.asarray(~failing[self._whole])

    def _lost(self, kept: Mask) -> Lost:
        records = int(self._records[~kept].sum())
        loss = float(self._loss[~kept].sum())
        if not self._by_subject:
            return Lost(records, records, loss)
        return Lost(records, self._subjects_outside(kept), loss)

    def _lost_below(self, most: Ints) -> Lost:
        """What is lost where no more than so many subjects of each unit can stay."""
        if self._by_subject:
            return self._lost(self._together(most > 0))
        dropped = self._records - most
        loss = float((self._loss * dropped / self._records).sum())
        return Lost(int(dropped.sum()), int(dropped.sum()), loss)

    def _subjects_outside(self, kept: Mask) -> int:
        if kept.all():
            return 0
        people = count_distinct(column("subject"))
        query = select(people).from_(self._outside(kept).table)
        return int(self._session.row(query)[0])

    def _outside(self, kept: Mask) -> Relation:
        """The rows of the units that do not stay, as one unit."""
        dropped = self._session.upload("deid_dropped", {"dropped": np.flatnonzero(~kept) + 1})
        same = column("unit").eq(column("dropped"))
        one = select("tuple", "subject", "records", aliased(literal(1), "unit"))
        query = one.from_(self._table.table).join(dropped.table, on=same)
        return self._session.run(Step("deid_outside", query))

    def _rest_holds(self, kept: Mask, subjects: int) -> bool:
        if not self._rule.rest or not subjects:
            return True
        if subjects < self._rule.k:
            return False
        one = np.ones(1, np.bool_)
        found = self._entries(one, self._outside(kept))
        return all(
            bool(condition(np.array([subjects]), entries)[0][0])
            for condition, entries in zip(self._rule.conditions, found, strict=True)
        )
