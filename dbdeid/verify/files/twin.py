"""A file that holds, cell by cell, what was verified elsewhere: it keeps the same promises.

Comparing cells takes a fraction of what it takes to hash them, and tells as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdeid.engine.expressions import (
    Expr,
    all_of,
    any_of,
    column,
    count_rows,
    function,
    literal,
    not_same_value,
    row_by_row,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base.declaration import Check, Verification
from dbdeid.verify.base.file_kinds import IN_PARQUET
from dbdeid.verify.base.floats import is_nan
from dbdeid.verify.files.content import canonical

# What is found of a database file as such, or anew of each kind of file.
_OF_FILE = {"columns", "types", "definition"}
_OF_FILE |= {"comments", "objects", "storage", "statistics", "views"}
_PLAIN = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DATE")


@dataclass(frozen=True, slots=True)
class Twin:
    """A database file of the same release that was reopened and verified.

    Attributes:
        path: the file.
        tables: the names of release, dictionary and catalog in it, as far as there are any.
        found: what was found of it.
    """

    path: Path
    tables: tuple[str, ...]
    found: Verification

    def holds(self, session: Session, tables: Sequence[Relation]) -> bool:
        """Whether tables of a session, described and in the order of the names, hold the same."""
        if len(tables) != len(self.tables):
            return False
        named = dict(zip(self.tables, tables, strict=True))
        return _as_in(session, self.path, named)


@dataclass(frozen=True, slots=True)
class Staged:
    """Tables that were verified beside their source, of which a database file was written.

    Attributes:
        session: where they are; it may open the file.
        path: the file.
        tables: each by its name in the file.
        found: what was found of them.
    """

    session: Session
    path: Path
    tables: Mapping[str, Relation]
    found: Verification

    def holds(self, _: Session, tables: Sequence[Relation]) -> bool:
        """Whether the tables of the file, as another session sees them, hold the same."""
        names = [table.name for table in tables]
        return names == list(self.tables) and _as_in(self.session, self.path, self.tables)


def checks(of: Twin | Staged) -> list[Check]:
    """What was found of the rows, and holds of all that are the same."""
    return [c for c in of.found.hygiene if c.check not in _OF_FILE]


def alike(session: Session, twin: Twin | Staged, tables: Sequence[Relation]) -> bool:
    """Whether tables hold what was verified, every cell in the same place.

    Args:
        session: sees the tables.
        twin: what was verified.
        tables: in the order of those of the twin, described.
    """
    return twin.found.verified and twin.holds(session, tables)


def _as_in(session: Session, path: Path, tables: Mapping[str, Relation]) -> bool:
    """Whether tables of a session hold what those of these names in a database file do."""
    catalog = session.attach(path, read_only=True)
    try:
        return all(
            session.exists(name, catalog=catalog) == "table"
            and _same(session, table, session.relation(name, catalog=catalog))
            for name, table in tables.items()
        )
    finally:
        session.detach(catalog)


def _same(session: Session, one: Relation, other: Relation) -> bool:
    """Whether two tables have the same rows in the same order."""
    if one.names != other.names or _count(session, one) != _count(session, other):
        return False
    pairs = tuple(zip(one.columns, other.columns, strict=True))
    if any(a.type not in (b.type, IN_PARQUET.get(b.type)) for a, b in pairs):
        return False  # other types of the same texts are another table
    unlike = [_unlike(a, b) for a, b in pairs]
    both = row_by_row(select(count_rows()).from_(one.aliased("one")), other.aliased("other"))
    return session.row(both.where(any_of(*unlike))) == (0,)


def _count(session: Session, table: Relation) -> int:
    return int(session.row(select(count_rows()).from_(table.table))[0])


def _unlike(a: Column, b: Column) -> Expr:
    """Whether two cells differ in anything: texts by their bytes, whatever their collation."""
    one, other = column(a.name, "one"), column(b.name, "other")
    if a == b and a.type in _PLAIN:
        return not_same_value(one, other)
    if a == b and a.type == "VARCHAR":
        return not_same_value(function("encode", one), function("encode", other))
    written = not_same_value(canonical(one, a.type), canonical(other, b.type))
    if a == b and a.type in ("FLOAT", "DOUBLE"):
        # but for zeros and NaN, equal ones are the same, and writing each takes most of the time
        several = any_of(one.copy().eq(literal(0)), is_nan(one))
        return any_of(not_same_value(one.copy(), other.copy()), all_of(several, written))
    return written
