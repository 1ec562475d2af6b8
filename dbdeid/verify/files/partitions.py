"""A release in a folder of Parquet files: read as one table, and what lies there beside it.

Every folder is a column and one value of it, every file has the same other columns, and there is
nothing else: no file or folder of another name, no link, no folder without rows, no value that is
written otherwise than this one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    ascending,
    column,
    count_rows,
    literal,
    null,
    select,
    text_of,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.verify.base import file_kinds, hygiene
from dbdeid.verify.base.declaration import Check, Declared

FILE = "data.parquet"
NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and its readers write NULL
NAMED = ("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DATE")


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of a folder.

    Attributes:
        path: where it is.
        values: of the columns that are the names of its folders.
    """

    path: Path
    values: tuple[tuple[str, str | None], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.values)


def read(
    session: Session, folder: Path, declared: Declared
) -> tuple[Relation, list[Path], list[Check]]:
    """The rows of all files, sorted, for rows of several files have no order.

    Args:
        session: any session that keeps the order of rows.
        folder: the folder.
        declared: the shape, with types as Parquet has them.

    Returns:
        The rows, the files, and whether there is nothing else and each file is in order.

    Raises:
        DataError: there is no file, or one cannot be read.
    """
    parts, wrong = _parts(folder)
    if not parts:
        raise DataError(
            f"{folder}: holds no {FILE} in a folder for each value",
            hint="give the whole folder, or a file",
        )
    kinds = {c.name: c.type for c in declared.columns}
    first = parts[0].names
    tables: list[Relation] = []
    rows = []
    unlike = empty = other = 0
    for number, part in enumerate(parts):
        rows_of = file_kinds.parquet_rows(part.path)
        table = file_kinds.load(session, part.path, f"verify_part_{number}", rows_of)
        same = not tables or table.columns == tables[0].columns
        if part.names != first or not same or set(first) & set(table.names):
            unlike += 1
            continue
        tables.append(table)
        empty += session.row(select(count_rows()).from_(table.table)) == (0,)
        other += not all(_canonical(session, v, kinds.get(n)) for n, v in part.values)
        labels = [_value(n, v, kinds.get(n)) for n, v in part.values]
        rows.append(select(*table.names, *labels).from_(table.table))
    wrong += [f"{unlike} files of other columns"] if unlike else []
    wrong += [f"{empty} files without rows"] if empty else []
    wrong += [f"{other} folders of values that are none of their type"] if other else []
    if not rows:
        raise DataError(f"{folder}: its files have other columns", hint="give the whole folder")
    order = hygiene.order(session, tables)
    every = _in_order([*tables[0].names, *first], declared.columns)
    merged = select(*every).from_(union_all(*rows).subquery("parts"))
    merged = merged.order_by(*(ascending(column(n)) for n in every))
    found = session.run(Step(folder.name, merged))
    for table in tables:
        session.drop_temp(table.name)
    checks = [Check("folder", not wrong, "; ".join(wrong))]
    if not order.holds:
        checks.append(Check("order", False, "rows of a file are not sorted by its columns"))
    return found, [part.path for part in parts], checks


def _parts(folder: Path) -> tuple[list[_Part], list[str]]:
    """The files of a folder, and what else there is, in words."""
    parts, strays = [], 0
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        labels = inner[:-1] if path.name == FILE else inner
        values = [_parsed(label) for label in labels]
        linked = path.is_symlink()
        if linked or None in values or not labels or (path.name == FILE) != path.is_file():
            strays += 1
        elif path.is_dir():
            strays += not any(path.iterdir())
        else:
            strays += len(list(path.parent.iterdir())) - 1
            parts.append(_Part(path, tuple(v for v in values if v is not None)))
    return parts, [f"{strays} files or folders that are none of it"] if strays else []


def _parsed(label: str) -> tuple[str, str | None] | None:
    """The column and the value in the name of a folder, if it is written in the one way."""
    name, sign, value = label.partition("=")
    if not (sign and name and value):
        return None
    pair = unquote(name), unquote(value)
    if (quote(pair[0], safe=""), quote(pair[1], safe="")) != (name, value):
        return None
    return pair[0], None if pair[1] == NOTHING else pair[1]


def _value(name: str, value: str | None, kind: str | None) -> Expr:
    told = null() if value is None else literal(value)
    return aliased(try_cast(told, kind or "VARCHAR"), name)


def _canonical(session: Session, value: str | None, kind: str | None) -> bool:
    """Whether a value of a type is written as a name of a folder in the one way."""
    if value is None or kind in (None, "VARCHAR"):
        return True
    again = text_of(try_cast(literal(value), kind or "VARCHAR"))
    return kind in NAMED and session.row(select(again)) == (value,)


def _in_order(names: Sequence[str], declared: Sequence[Column]) -> list[str]:
    """All columns as they were declared; as they were found where they are others."""
    wanted = [c.name for c in declared]
    return wanted if sorted(wanted) == sorted(names) else list(names)
