"""Numbers of a text file that may mean others: a comma before decimals, a point between thousands.

A file of Germany or France writes 87281 as 87.281, which reads as a number below 100 to everyone
else. What it is cannot be seen in one column: it is told where the rest of the file shows signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdeid.data.location.file_formats import is_text
from dbdeid.data.source_files import EVERY_LINE
from dbdeid.engine.expressions import (
    Expr,
    column,
    count_of,
    count_where,
    function,
    literal,
    select,
    table_function,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session

_COMMA = r"[-+]?([0-9]+|[0-9]{1,3}([. ][0-9]{3})+),[0-9]+"
_THOUSANDS = r"[-+]?[0-9]{1,3}(,[0-9]{3})+"  # as in English: may be decimals as well
_GROUPED = r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+"
_MILLIONS = r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3}){2,}"
_SMALL = r"[-+]?[0-9]{1,3}"
_PATTERNS = (_COMMA, _THOUSANDS, _GROUPED, _MILLIONS, _SMALL)
MOST = 0.9  # of the values

READ = "read_csv('FILE', decimal_separator = ',', thousands = '.')"
DECIMALS = (
    "its values are numbers with a comma before the decimals, and are read as text; to have "
    f'numbers: `source: {{name: …, sql: "SELECT * FROM {READ}"}}`'
)
GROUPS = (
    "the point in its numbers may stand between thousands (12.345 for 12345), for the file writes "
    f"other numbers with a comma, or separates cells by semicolons; if so, read it with {READ} in "
    "`source: {name: …, sql: …}`, else they are released as decimals"
)


def of_other_countries(
    session: Session, columns: Sequence[Column], path: Path | None
) -> dict[str, str]:
    """What makes numbers of columns doubtful, by name, as clauses without any value.

    Args:
        session: that reads the file.
        columns: those to look at, with the types that were read.
        path: the file; None where the rows are from a database.
    """
    some = [c for c in columns if c.family in ("text", "decimal", "float")]
    if path is None or not is_text(path) or not some:
        return {}
    try:
        semicolons, counts = _looked_at(session, path, some)
    except EngineError:  # the rows were read in another way
        return {}
    told: dict[str, str] = {}
    for c, (known, comma, thousands, *_) in zip(some, counts, strict=True):
        if c.family == "text" and known and comma >= MOST * known and comma > thousands:
            told[c.name] = DECIMALS
    if not (semicolons or told or any(millions for *_, millions, _ in counts)):
        return told
    for c, (known, _, _, grouped, millions, small) in zip(some, counts, strict=True):
        numeric = c.family != "text" or millions
        if numeric and grouped and grouped + small == known:
            told[c.name] = GROUPS
    return told


def _looked_at(
    session: Session, path: Path, some: Sequence[Column]
) -> tuple[bool, list[tuple[int, ...]]]:
    """Whether semicolons separate cells; of each column, how many cells are written how."""
    place = literal(str(path))
    sniffed = table_function("sniff_csv", place)
    delimiter = session.row(select("Delimiter").from_(sniffed))[0]
    options = {"all_varchar": literal(True), **EVERY_LINE}
    rows = table_function("read_csv", place.copy(), **options)
    counts: list[Expr] = []
    for c in some:
        text = function("trim", column(c.name))
        counts.append(count_of(column(c.name)))
        counts += [
            count_where(function("regexp_full_match", text.copy(), literal(one)))
            for one in _PATTERNS
        ]
    found = [int(n) for n in session.row(select(*counts).from_(rows))]
    width = 1 + len(_PATTERNS)
    return delimiter == ";", [tuple(found[i : i + width]) for i in range(0, len(found), width)]
