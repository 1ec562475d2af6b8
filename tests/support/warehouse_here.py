"""A warehouse that needs no other program: tables in a DuckDB of its own, reached as any other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import Expr, Query, ascending, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.engine.sqltext import step
from dbdeid.engine.warehouse import FIRST, LAST, RECORDS, Kind
from dbdeid.errors import DataError


class WarehouseHere:
    """See `engine.warehouse.Warehouse`; what leaves it is remembered, so that it can be counted.

    Attributes:
        left: rows and columns of each answer that left it.
    """

    program = "DuckDB beside"
    version = "1"

    def __init__(self) -> None:
        self._session = ENGINE.open(None, read_only=False)
        self._marks: dict[str, Mapping[str, str]] = {}
        self.left: list[tuple[int, tuple[str, ...]]] = []

    def keep(self, name: str, rows: pa.Table) -> None:
        """A table of an owner."""
        self._session.stage(self.place(name), rows.to_reader(), {})

    def rows(self, name: str) -> pa.Table:
        """A table as it is."""
        return self._session.table(self.place(name))

    def names(self) -> set[str]:
        """All tables."""
        return set(self._session.stored_tables())

    def run(self, step: Step) -> Relation:
        return self._session.run(replace(step, stored=False))

    def row(self, query: Expr | str) -> tuple[Any, ...]:
        return self._session.row(query)

    def drop_temp(self, name: str) -> None:
        self._session.drop_temp(name)

    def source(self, name: str) -> Relation:
        if self._session.exists(name) is None:
            raise DataError(f"no table {name!r}", hint="name one")
        return self._session.relation(name)

    def place(self, name: str) -> Relation:
        return Relation(name, (), "main", self._session.catalog)

    def found(self, place: Relation) -> Kind | None:
        kind = self._session.exists(place.name)
        return None if kind is None else "table"

    def described(self, place: Relation) -> Relation:
        return self._session.relation(place.name)

    def marks(self, place: Relation) -> Mapping[str, str]:
        return self._marks.get(place.name, {})

    def arrow(self, query: Query) -> pa.Table:
        rows = self._session.batches(query).read_all()
        self.left.append((rows.num_rows, tuple(rows.column_names)))
        return rows

    def files(self, address: str) -> Relation:
        raise DataError(f"no files at {address}", hint="name a table")

    def overlap(self, source: Relation, place: Relation) -> bool:
        return (source.name, source.schema) == (place.name, place.schema)

    def profiles(self, rows: Query, subject: str) -> pa.Table:
        """As Spark counts them, in plain Python: a profile is what somebody's records are."""
        found = self._session.batches(rows).read_all()
        names = [name for name in found.column_names if name != subject]
        own: dict[Any, Counter[tuple[Any, ...]]] = defaultdict(Counter)
        columns = (found[name].to_pylist() for name in names)
        for who, *cells in zip(found[subject].to_pylist(), *columns, strict=True):
            own[who][tuple(cells)] += 1
        profiles = Counter(frozenset(records.items()) for records in own.values())
        cells: list[list[Any]] = [[] for _ in (*names, RECORDS, FIRST, LAST)]
        first = 0
        for records, people in profiles.items():
            for row, number in records:
                for place, cell in zip(cells, (*row, number, first, first + people), strict=True):
                    place.append(cell)
            first += people
        whole = pa.int64()
        kinds = [*(found.schema.field(name).type for name in names), whole, whole, whole]
        shape = pa.schema(zip((*names, RECORDS, FIRST, LAST), kinds, strict=True))
        made = pa.Table.from_arrays(
            [pa.array(c, k) for c, k in zip(cells, kinds, strict=True)], schema=shape
        )
        self.left.append((made.num_rows, tuple(made.column_names)))
        return made

    def lend(self, name: str, rows: pa.Table) -> Relation:
        place = Relation(f"lent_{name}", schema="main", catalog="temp")
        return self._session.stage(place, rows.to_reader(), {})

    def write(
        self, place: Relation, rows: Query, together: Sequence[str], marks: Mapping[str, str]
    ) -> None:
        columns = self._session.describe(rows)
        order = [ascending(column(c.name)) for c in columns]
        query = select("*").from_(rows.subquery("rows")).order_by(*order)
        self._session.stage(place, self._session.batches(query).read_all().to_reader(), {})
        self._marks[place.name] = marks

    def rename(self, place: Relation, name: str) -> None:
        self._session.execute(f'ALTER TABLE "{place.name}" RENAME TO "{name}"')
        self._marks[name] = self._marks.pop(place.name, {})

    def drop(self, place: Relation) -> None:
        self._session.drop(place)

    def unsorted(self, place: Relation) -> int:
        columns = {"columns": [c.name for c in self.described(place).columns]}
        return int(self._session.row(step("verify/order", {"rel": place}, columns))[0])

    def notes(self, place: Relation) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """What was lent lies apart, and is gone with it."""
