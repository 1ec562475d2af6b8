"""The content of a table as one number, to tell whether a file holds the rows that were verified.

What cannot be recomputed from a file alone, as whose records they are, is promised of these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, cast, column
from dbdeid.engine.session import Session
from dbdeid.verify.declared import Check


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows there are, and the sum of the hashes of their values as text.

    Attributes:
        rows: how many.
        digest: the sum.
        catalog: the same of the catalog beside a padded release; None: not told.
    """

    rows: int
    digest: int
    catalog: Content | None = None


def content(session: Session, table: Relation, columns: Sequence[Column]) -> Content | None:
    """The content of a table, its columns taken as of these types; None where one is missing."""
    if not all(table.find(c.name) for c in columns):
        return None
    texts = [
        cast(
            exp.TryCast(this=column(c.name), to=exp.DataType.build(c.type, dialect="duckdb")),
            "VARCHAR",
        )
        for c in columns
    ]
    hashed = cast(exp.Anonymous(this="hash", expressions=texts), "HUGEINT")
    total = exp.Coalesce(this=exp.Sum(this=hashed), expressions=[exp.Literal.number(0)])
    rows, digest = session.row(exp.select(exp.Count(this=exp.Star()), total).from_(table.table))
    return Content(int(rows), int(digest))


def same(found: Content | None, expected: Content, check: str = "content") -> Check:
    """Whether a table has the content that was verified, apart from its catalog."""
    if found and (found.rows, found.digest) == (expected.rows, expected.digest):
        return Check(check, True)
    what = "other values" if found and found.rows == expected.rows else "other rows"
    return Check(check, False, f"{what} than the table that was verified with its source")
