"""The tables of a release in a warehouse, which has no transactions: made aside, then renamed.

New tables are filled under names of their own and verified there. Then the old ones are set aside,
and the new ones take their names; if any of that fails, all names go back. A run that is killed
meanwhile leaves the old tables, whole, under one name or the other, and the next one tells or puts
them back. A property of each table tells whose it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from dbdeid.engine.expressions import Query
from dbdeid.engine.failure import EngineError
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.relation import Relation
from dbdeid.engine.warehouse import Warehouse
from dbdeid.errors import DataError
from dbdeid.spec.names import dictionary_name

RELEASE, RUN = "dbdeid.release", "dbdeid.run"
_STAGED, _LAST = "__deid_staging", "__deid_last"


def _beside(place: Relation, ending: str) -> Relation:
    return replace(place, name=f"{place.name}{ending}")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run writes.

    Attributes:
        warehouse: where the tables are.
        release: whose they are.
        run: of which run.
        tables: the release and its dictionary.
        old: which run each of them is of now; None where there is none.
    """

    warehouse: Warehouse
    release: str
    run: str
    tables: tuple[Relation, ...]
    old: tuple[str | None, ...]

    @property
    def staged(self) -> tuple[Relation, ...]:
        """The release and its dictionary as long as they are not published."""
        return tuple(_beside(table, _STAGED) for table in self.tables)

    def write(self, number: int, rows: Query, together: list[str]) -> None:
        """Fill one of the new tables."""
        marks = {RELEASE: self.release, RUN: self.run}
        self.warehouse.write(self.staged[number], rows, together, marks)

    def swap(self) -> None:
        """Let the new tables take the places of the old ones: all of them, or none.

        Raises:
            DataError: another run has published the release meanwhile.
        """
        for table, old in zip(self.tables, self.old, strict=True):
            if _run_of(self.warehouse, table, self.release) != old:
                raise DataError(
                    f"another run has written {table.name!r} meanwhile",
                    hint="nothing was replaced; run the spec again",
                )
        last = [_beside(table, _LAST) for table in self.tables]
        with uninterrupted():
            with ExitStack() as undo:
                for table, new, aside in zip(self.tables, self.staged, last, strict=True):
                    if self.warehouse.found(table) is not None:
                        self._move(table, aside, undo)
                    self._move(new, table, undo)
                undo.pop_all()
            for table in last:
                self.warehouse.drop(table)

    def _move(self, table: Relation, to: Relation, undo: ExitStack) -> None:
        self.warehouse.rename(table, to.name)
        undo.callback(self.warehouse.rename, to, table.name)


@contextmanager
def places_there(warehouse: Warehouse, release: str, source: Relation) -> Iterator[Places]:
    """Yield the tables that a release may write; unpublished ones are dropped afterwards.

    Args:
        warehouse: where they are.
        release: its name.
        source: the table that it is made of.

    Raises:
        DataError: something of others is there, another run is at work, or it is the source.
    """
    tables = tuple(warehouse.place(name) for name in (release, dictionary_name(release)))
    _require_other(warehouse, tables, source)
    _require_apart(warehouse, tables, source)
    for table in tables:
        if warehouse.found(staged := _beside(table, _STAGED)) is not None:
            raise DataError(
                f"the table {staged.name!r} exists: another run writes the release now, or one "
                "was killed",
                hint=f"wait for it; if none is at work, drop {staged.name}, and run the spec again",
            )
    for table in tables:
        _recover(warehouse, table, release)
    old = tuple(_run_of(warehouse, table, release) for table in tables)
    found = Places(warehouse, release, secrets.token_hex(8), tables, old)
    try:
        yield found
    finally:
        for staged in found.staged:
            _if_own(found, staged)


def _require_other(warehouse: Warehouse, tables: tuple[Relation, ...], source: Relation) -> None:
    for table in tables:
        given = (source.catalog or table.catalog, source.schema or table.schema, source.name)
        own = (table.catalog, table.schema, table.name)
        if [str(a).lower() for a in given] == [str(b).lower() for b in own]:
            raise DataError(
                f"the source is {source.name!r}, which the release would replace",
                hint="choose another release name",
            )


def _require_apart(warehouse: Warehouse, tables: tuple[Relation, ...], source: Relation) -> None:
    """Refuse a source that is read from the files of what the release replaces."""
    for table in (*tables, *(_beside(t, _LAST) for t in tables)):
        if warehouse.found(table) == "table" and warehouse.overlap(source, table):
            raise DataError(
                f"the source is read from the files of {table.name!r}, which the release would "
                "replace",
                hint="choose another release name",
            )


def _run_of(warehouse: Warehouse, table: Relation, release: str) -> str | None:
    """Which run of this release wrote a table; None where there is none.

    Raises:
        DataError: it is something else.
    """
    kind = warehouse.found(table)
    if kind is None:
        return None
    marks = warehouse.marks(table) if kind == "table" else {}
    if RELEASE not in marks:
        raise DataError(
            f"the {kind} {table.name!r} exists there and was not written by dbdeid",
            hint="choose another release name, or drop it first",
        )
    if marks[RELEASE].lower() != release.lower():
        raise DataError(
            f"the table {table.name!r} holds the release {marks[RELEASE]!r}",
            hint="choose another release name, or drop it first",
        )
    return marks.get(RUN, "")


def _recover(warehouse: Warehouse, table: Relation, release: str) -> None:
    """Put back what a killed run has set aside, or drop it where it was replaced."""
    aside = _beside(table, _LAST)
    if _run_of(warehouse, aside, release) is None:
        return
    if warehouse.found(table) is None:
        warehouse.rename(aside, table.name)
    else:
        warehouse.drop(aside)


def _if_own(places: Places, staged: Relation) -> None:
    """Drop a table that this run has staged, and no other has."""
    with suppress(EngineError):
        there = places.warehouse.found(staged) is not None
        if there and places.warehouse.marks(staged).get(RUN) == places.run:
            places.warehouse.drop(staged)
