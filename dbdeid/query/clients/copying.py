"""`COPY … TO STDOUT`: an answer as the text of a file, for `\\copy` and what loads by it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from dbdeid.query.clients.statements import POSTGRES, Query, Sent
from dbdeid.query.parse.expressions import refused

# Options may follow without WITH, which the parser takes for a function.
_SHORT = re.compile(r"\bSTDOUT\s*\(([^()]*)\)\s*$", re.IGNORECASE)
_ON = ("", "TRUE", "ON", "1")
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_ESCAPED = re.compile(r"[\\\t\n\r\b\f]")


@dataclass(frozen=True, slots=True)
class Copied:
    """How rows are written.

    Attributes:
        query: whose rows.
        csv: as CSV, not as PostgreSQL's own text.
        header: with a line of names before them.
        delimiter: one character between values.
        null: what stands for NULL.
    """

    query: Query
    csv: bool
    header: bool
    delimiter: str
    null: str

    def line(self, values: list[str | None]) -> str:
        """One line of the file.

        Args:
            values: as text; None for NULL.
        """
        return self.delimiter.join(self.null if v is None else self._cell(v) for v in values) + "\n"

    def _cell(self, value: str) -> str:
        if not self.csv:
            escaped = _ESCAPED.sub(lambda found: _ESCAPES[found[0]], value)
            special = self.delimiter not in "\t"
            return escaped.replace(self.delimiter, f"\\{self.delimiter}") if special else escaped
        plain = value not in (self.null, "", "\\.")
        if plain and not any(sign in value for sign in (self.delimiter, '"', "\n", "\r")):
            return value
        return '"' + value.replace('"', '""') + '"'


def copied(sent: Sent) -> Copied:
    """What a COPY asks for.

    Raises:
        DataError: it reads, or writes into anything but the client's own output.
    """
    text = _SHORT.sub(r"STDOUT WITH (\1)", sent.text)
    try:
        tree = Dialect.get_or_raise(POSTGRES).parse(text)[0]
    except SqlglotError:
        tree = None
    if not isinstance(tree, exp.Copy) or tree.args.get("kind"):
        raise refused("COPY of this form", "COPY (SELECT …) TO STDOUT WITH (FORMAT csv, HEADER)")
    files = tree.args.get("files") or []
    if [f.name.upper() for f in files if isinstance(f, exp.Identifier)] != ["STDOUT"]:
        raise refused(
            "COPY into a file of the server", "COPY … TO STDOUT; in psql \\copy … TO FILE"
        )
    given = _options(tree)
    form = given.pop("FORMAT", "text").lower()
    if form not in ("text", "csv"):
        raise refused(f"COPY in the format {form}", "FORMAT text or csv")
    csv = form == "csv"
    header = given.pop("HEADER", "FALSE").upper() in _ON
    delimiter = given.pop("DELIMITER", "," if csv else "\t")
    null = given.pop("NULL", "" if csv else "\\N")
    given.pop("ENCODING", None)
    if given or len(delimiter) != 1 or delimiter in '\n\r"\\':
        raise refused(f"COPY with {', '.join(given) or 'this DELIMITER'}")
    return Copied(_query(tree), csv, header, delimiter, null)


def _options(tree: exp.Copy) -> dict[str, str]:
    """The options, in the form of today and in that of old."""
    found: dict[str, str] = {}
    for option in tree.args.get("params") or []:
        value = option.args.get("expression")
        name, given = option.name.upper(), "" if value is None else value.sql(POSTGRES)
        given = value.name if isinstance(value, exp.Literal | exp.Var) else given
        if name in ("CSV", "BINARY"):
            found["FORMAT"] = name
            if given:
                found[given.upper()] = ""
        else:
            found[name] = given
    return found


def _query(tree: exp.Copy) -> Query:
    inner = tree.this
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    if isinstance(inner, exp.Schema):
        return exp.select(*(exp.column(c.copy()) for c in inner.expressions)).from_(inner.this)
    if isinstance(inner, exp.Table):
        return exp.select("*").from_(inner)
    if not isinstance(inner, exp.Query):
        raise refused("COPY of something else than a SELECT or a table")
    return inner
