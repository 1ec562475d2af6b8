"""Dates that may lie in another century than meant: after today, or read from two-digit years."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from dbdeid.data.location.file_formats import TEXT_FILES
from dbdeid.engine.expressions import (
    Expr,
    Query,
    cast,
    column,
    count_of,
    count_where,
    literal,
    select,
    table_function,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session

TWO_DIGITS = "read from two-digit years, of which 00 to 68 are taken for 2000 to 2068"
_MEND = (
    "where that is wrong, mend them in `source: {sql: …}`, as in (NAME - INTERVAL 100 YEAR)::DATE"
)


def of_other_centuries(
    session: Session, rows: Query, columns: Sequence[Column], path: Path | None
) -> dict[str, str]:
    """What makes dates of columns doubtful, by name, as clauses without any value.

    Args:
        session: where the rows are.
        rows: all of them.
        columns: those to look at; others than dates and times are left out.
        path: the file that the rows are read from; None where they are from a database.
    """
    dated = [c for c in columns if c.family in ("date", "timestamp")]
    if not dated:
        return {}
    tomorrow = date.today() + timedelta(days=1)  # it is later already elsewhere
    last = cast(literal(tomorrow.isoformat()), "DATE")
    counts: list[Expr] = []
    for c in dated:
        after = cast(column(c.name, "source"), "DATE") > last.copy()
        counts += [count_of(column(c.name, "source")), count_where(after)]
    counted = session.row(select(*counts).from_(rows.copy().subquery("source")))
    short = _two_digits(session, path)
    told = {}
    for c, known, later in zip(dated, counted[::2], counted[1::2], strict=True):
        of = f"{later:,} of {known:,} dates lie{'s' * (later == 1)} after today"
        if short[c.family] and known:
            read = f"they were {TWO_DIGITS}" if later else f"its dates were {TWO_DIGITS}"
            told[c.name] = f"{of}; {read}; {_MEND}" if later else f"{read}; {_MEND}"
        elif later:
            told[c.name] = f"{of}; read from two-digit years? {_MEND}"
    return told


def _two_digits(session: Session, path: Path | None) -> dict[str, bool]:
    """Whether dates, and times, of a file of text were written with two-digit years."""
    none = {"date": False, "timestamp": False}
    if path is None or not path.name.lower().endswith(TEXT_FILES):
        return none
    sniffed = table_function("sniff_csv", literal(str(path)))
    query = select("DateFormat", "TimestampFormat").from_(sniffed)
    try:
        forms = session.row(query)
    except EngineError:  # the rows were read in another way: only what lies after today is told
        return none
    return {what: "%y" in (form or "") for what, form in zip(none, forms, strict=True)}
