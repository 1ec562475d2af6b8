"""What releases show of the same records, side by side in one temporary table.

One row for each record that any of them shows: whose it is, and the class in each release.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    any_of,
    coalesce,
    column,
    count_rows,
    function,
    literal,
    not_null,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.rerelease.composition import NOT_SHOWN, Laid


class Overlay:
    """The classes of a release, and of each earlier one that is laid over it.

    Args:
        session: where they are.
        name: of the temporary table.
        own: what the release shows: record, person, class.
        several: whether people have several records.
        k: people that a class of it should have.
    """

    def __init__(
        self, session: Session, name: str, own: Relation, k: int, *, several: bool
    ) -> None:
        self._session, self._name, self._several = session, name, several
        self._k: list[int] = [k]
        self._which: list[int] = []
        first = select("record", "person", aliased(column("class"), "c0"))
        self._table = session.run(Step(name, first.from_(own.table)))

    def add(self, before: Relation, k: int, which: int, *, people: bool) -> None:
        """Lay an earlier release over those that are here.

        Args:
            before: what it shows: record, person, class; each record once.
            k: people that a class of it should have.
            which: its number.
            people: whether it told people apart as the release does: then it is believed whose
                those records are that the release does not show.
        """
        self._k.append(k)
        self._which.append(which)
        here = self._table.aliased("here")
        there = before.aliased("there")
        order = ["there", "here"] if people else ["here", "there"]
        record = _first("record", ["here", "there"])
        each = [record, _first("person", order)]
        classes = [column(f"c{i}", "here") for i in range(len(self._which))]
        added = aliased(column("class", "there"), f"c{len(self._which)}")
        same = column("record", "here").eq(column("record", "there"))
        query = select(*each, *classes, added).from_(here).join(there, on=same, join_type="full")
        self._table = self._session.run(Step(self._name, query))

    @property
    def which(self) -> tuple[int, ...]:
        """The numbers of the earlier releases."""
        return tuple(self._which)

    def laid(self) -> Laid:
        """The joint classes of all of them."""
        names = [f"c{i}" for i in range(len(self._which) + 1)]
        missing = literal(NOT_SHOWN)
        classes = [aliased(coalesce(column(name), missing.copy()), name) for name in names]
        if self._several:
            query = select(*classes, "person").distinct().from_(self._table.table)
        else:
            counted = aliased(count_rows(), "people")
            query = select(*classes, counted).from_(self._table.table).group_by(*names)
        found = self._session.arrays(query)
        number = people = None
        if self._several:
            number = np.unique(found["person"], return_inverse=True)[1].astype(np.int64)
        else:
            people = found["people"].astype(np.int64)
        matrix = np.column_stack([found[name].astype(np.int64) for name in names])
        return Laid(matrix, people, number, tuple(self._k), tuple(self._which))

    def earlier(self, which: Sequence[int]) -> Query:
        """The records that some of the earlier releases show, with their joint class in those."""
        columns = [column(f"c{1 + self._which.index(one)}") for one in which]
        shown = any_of(*(not_null(column) for column in columns))
        joint = columns[0] if len(columns) == 1 else function("row", *columns)
        query = select("record", aliased(joint, "class"))
        return query.from_(self._table.table).where(shown)


def _first(name: str, tables: Sequence[str]) -> Expr:
    """A column of the first of these tables that has it."""
    first, *others = (column(name, table) for table in tables)
    return aliased(coalesce(first, *others), name)
