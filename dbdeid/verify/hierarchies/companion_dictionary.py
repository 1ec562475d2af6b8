"""The dictionary that lies beside a file of anyone, or in it: it must not explain a value twice."""

from __future__ import annotations

from pathlib import Path

from dbdeid.engine import file_names
from dbdeid.engine.expressions import column, count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base import file_kinds, hygiene
from dbdeid.verify.base.declaration import Check
from dbdeid.verify.files import text_tables


def dictionary(session: Session, target: Path) -> Relation | None:
    """The dictionary beside a file of one table, where there is one, by its name.

    Raises:
        DataError: a file of that name cannot be read.
    """
    path = file_names.beside(target, "dictionary")
    if not path.is_file():
        return None
    if file_kinds.kind(path) == file_kinds.PARQUET:
        return file_kinds.parquet(session, path, "verify_dictionary")
    return text_tables.read(session, path, hygiene.MARKED, "verify_dictionary")[0]


def unambiguous(session: Session, listed: Relation | None) -> list[Check]:
    """Whether a dictionary explains each value of each column once: else a reader may pick.

    No check where there is none, or another table has its name.
    """
    if listed is None or not hygiene.readable(listed):
        return []
    of_value = [column("column"), column("released_value")]
    repeated = select(of_value[0]).from_(listed.table).group_by(*of_value)
    repeated = repeated.having(count_rows() > 1)
    names = select(column("column"), count_rows()).from_(repeated.subquery("r"))
    rows = session.rows(names.group_by(column("column")).order_by(column("column")))
    wrong = [f"lists {count} values of {name!r} more than once" for name, count in rows]
    return [Check("dictionary", not wrong, "; ".join(wrong))]
