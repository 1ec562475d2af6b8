"""A release as a folder of Parquet files, one for each value of some of its columns.

The folders are named as Hive names them, `sex=f/data.parquet`, with all but letters, digits and
`_.-~` as %XX, and the files have the other columns: DuckDB, Spark, Arrow and others read them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from dbdeid.engine.expressions import (
    Expr,
    all_of,
    column,
    is_null,
    literal,
    same_value,
    select,
    text_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.publish.copying import in_parquet
from dbdeid.verify.files.partitions import FILE, NAMED, NOTHING

MOST = 1000  # files
_LONGEST = 255  # bytes of a name in most file systems


def write(session: Session, table: Relation, by: Sequence[str], folder: Path, name: str) -> None:
    """Write a verified table to a new folder.

    Args:
        session: where the table is.
        table: the release.
        by: the columns whose values tell in which file a row is.
        folder: which does not exist yet.
        name: how messages call it.

    Raises:
        DataError: there are too many files or none, a value can be no name of a folder, or the
            columns are of no type that one tells.
    """
    columns = session.describe(table.table)
    wanted = [n.lower() for n in by]
    named = sorted(
        (c for c in columns if c.name.lower() in wanted), key=lambda c: wanted.index(c.name.lower())
    )
    if wrong := [c.name for c in named if c.type not in NAMED]:
        raise DataError(
            f"{name}/: names of folders are texts, days or whole numbers, and "
            f"{', '.join(map(repr, wrong))} is none",
            hint="partition by another column, or generalize it",
        )
    texts = [text_of(column(c.name)) for c in named]
    query = select(*texts).from_(table.table).group_by(*texts).order_by(*texts).limit(MOST + 1)
    values = session.rows(query)
    if len(values) > MOST or not values:
        many = f"more than {MOST:,} files" if values else "no file, for no record is released"
        raise DataError(
            f"{name}/ would have {many}", hint="partition by other columns, or export a .parquet"
        )
    cells = zip(columns, in_parquet(session, table, Path(f"{name}/")), strict=True)
    rest = [cell for c, cell in cells if c not in named]
    for row in values:
        labels = [_label(c.name, value, name) for c, value in zip(named, row, strict=True)]
        pairs = zip(texts, row, strict=True)
        here = [
            is_null(text.copy()) if value is None else same_value(text.copy(), literal(value))
            for text, value in pairs
        ]
        path = folder.joinpath(*labels, FILE)
        path.parent.mkdir(parents=True)
        rows: list[Expr] = [cell.copy() for cell in rest]
        session.export(select(*rows).from_(table.table).where(all_of(*here)), path)


def _label(column_name: str, value: str | None, name: str) -> str:
    """The name of a folder for the rows with a value.

    Raises:
        DataError: readers would take it for another value.
    """
    label = f"{quote(column_name, safe='')}={quote(NOTHING if value is None else value, safe='')}"
    if value in ("", NOTHING) or len(label) > _LONGEST:
        what = "is empty" if not value else "can be no name of a folder"
        raise DataError(
            f"{name}/: a released value of {column_name!r} {what}",
            hint="partition by another column, or export a .parquet",
        )
    return label
