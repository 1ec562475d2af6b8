"""Whether the first line of a text file is a row of data, and not the names of its columns.

Its cells would be told as names of columns: in a draft, in messages, on pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sqlglot import exp

from dbdeid.engine.relation import Relation, cast, column, count_where
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.release.detect import HALF
from dbdeid.release.persons import LOOKED_AT, is_person, is_single_name, is_street
from dbdeid.release.source_files import is_text

LEAST = 2  # columns: one may be a flag named like its value, or a word that is a name, too


def require_header(session: Session, staged: Relation, source: Path) -> None:
    """The first line of a text file is no row of data.

    Few columns hold their own name as a value, and few are named as a person is, a street or an
    address, as those are that stand below.

    Args:
        session: where the table is.
        staged: the table as it was read, with its columns.
        source: its file.

    Raises:
        DataError: it seems to be one.
    """
    if not is_text(source):
        return
    own = _own(session, staged)
    if own >= LEAST and own >= len(staged.names) / 3:
        why = f"{own} of {len(staged.names)} columns hold their own name as a value"
    elif of_persons := _of_persons(session, staged):
        are = "is what its column holds" if of_persons == 1 else "are what their columns hold"
        why = f"{of_persons} of its {len(staged.names)} cells {are}, of persons or addresses"
    else:
        return
    raise DataError(
        f"{source.name}: its first line seems to be a row of data, for {why}",
        hint="put a line with the names of the columns before it; if it is one, make a table of "
        "the file in a database",
    )


def _own(session: Session, staged: Relation) -> int:
    """How many columns hold their own name as a value."""
    same = (cast(column(name), "VARCHAR").eq(exp.Literal.string(name)) for name in staged.names)
    return sum(map(bool, session.row(exp.select(*map(count_where, same)).from_(staged.table))))


def _of_persons(session: Session, staged: Relation) -> int:
    """How many columns are named as a person, a street or an address that stand in them are."""
    found: dict[Callable[[str], bool], int] = dict.fromkeys(_RULES, 0)
    for held in staged.columns:
        rules = [rule for rule in _RULES if held.family == "text" and rule(held.name)]
        if not rules:
            continue
        value = column(held.name)
        some = exp.select(value).distinct().from_(staged.table)
        texts = session.rows(some.where(value.is_(exp.null()).not_()).limit(LOOKED_AT))
        for rule in rules:
            found[rule] += bool(texts) and sum(rule(t) for (t,) in texts) >= HALF * len(texts)
    single = found.pop(is_single_name)
    return max(*found.values(), single if single >= LEAST else 0)


def _is_mail(text: str) -> bool:
    return _MAIL.fullmatch(text) is not None


_MAIL = re.compile(r"[^@\s]+@[^@\s]+[.][A-Za-z]{2,}")
_RULES = (is_person, is_street, _is_mail, is_single_name)
