"""Who is unique over all released columns: no promise covers them, and every verdict names them."""

from __future__ import annotations

from collections.abc import Collection

from dbdeid.engine.expressions import count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.declaration import Unique


def unique(session: Session, table: Relation, apart: Collection[str | None] = ()) -> Unique:
    """Count the records of a table that no other equals.

    Args:
        session: sees the table.
        table: described.
        apart: columns that nobody outside knows, as pseudonyms are.
    """
    hidden = {name.lower() for name in apart if name is not None}
    names = [name for name in table.names if name.lower() not in hidden]
    records = session.row(select(count_rows()).from_(table.table))[0]
    found = (
        session.row(step("verify/unique_records", {"rel": table}, {"cols": names}))[0]
        if names
        else 0
    )
    return Unique(int(found), int(records), len(names))
