"""Whether the first line of a text file is a row of data, and not the names of its columns.

Its cells would be told as names of columns: in a draft, in messages, on pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from dbdeid.data.location.file_formats import is_text_source
from dbdeid.engine.expressions import cast, column, count_where, literal, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError
from dbdeid.profiling.detect import HALF
from dbdeid.profiling.persons import LOOKED_AT, is_person, is_single_name, is_street
from dbdeid.profiling.shapes import staged as values_of

LEAST = 2  # columns: one may be a flag named like its value, or a word that is a name, too


def require_header(session: Session, staged: Relation, source: Path) -> None:
    """Refuse a text file whose first line is a row of data.

    It is one if several columns hold their own name as a value, or if a column's name is that of a
    person, a street or an e-mail address, and its values are as well.

    Args:
        session: where the table is.
        staged: the table as it was read, with its columns.
        source: its file.

    Raises:
        DataError: it seems to be one.
    """
    if not is_text_source(source):
        return
    own = _own(session, staged)
    if own >= LEAST and own >= len(staged.names) / 3:
        why = f"{own} of {len(staged.names)} columns hold their own name as a value"
    elif of_persons := _of_persons(session, staged):
        are = "is a name or an address" if of_persons == 1 else "are names or addresses"
        why = f"{of_persons} of its {len(staged.names)} cells {are}, like the values below"
    else:
        return
    raise DataError(
        f"{source.name}: its first line seems to be a row of data, for {why}",
        hint="put a line with the names of the columns before it; if it is one, make a table of "
        "the file in a database",
    )


def _own(session: Session, staged: Relation) -> int:
    """How many columns hold their own name as a value."""
    same = (cast(column(name), "VARCHAR").eq(literal(name)) for name in staged.names)
    return sum(map(bool, session.row(select(*map(count_where, same)).from_(staged.table))))


def _of_persons(session: Session, staged: Relation) -> int:
    """How many columns have the name of a person, a street or an address, and such values."""
    like = {c: rules for c in staged.columns if (rules := [r for r in _RULES if r(c.name)])}
    if not like:
        return 0
    with values_of(session, staged, [*like]) as values:
        texts = dict(
            session.rows(step("profiling/value_texts", {"rel": values}, values={"most": LOOKED_AT}))
        )
    found: dict[Callable[[str], bool], int] = dict.fromkeys(_RULES, 0)
    for place, rules in enumerate(like.values()):
        held = texts.get(place, ())
        for rule in rules:
            found[rule] += bool(held) and sum(map(rule, held)) >= HALF * len(held)
    single = found.pop(is_single_name)
    return max(*found.values(), single if single >= LEAST else 0)


def _is_mail(text: str) -> bool:
    return _MAIL.fullmatch(text) is not None


_MAIL = re.compile(r"[^@\s]+@[^@\s]+[.][A-Za-z]{2,}")
_RULES = (is_person, is_street, _is_mail, is_single_name)
