"""One statement of an analyst: a single SELECT of bounded size, or a refusal that names why not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from dbdeid.engine import sqltext
from dbdeid.errors import DataError
from dbdeid.query.parse.counterparts import place_counterparts
from dbdeid.query.parse.expressions import refused

# A longer text or a larger tree takes seconds to read; a deeper one, or a longer chain as in
# a OR b OR c, would exhaust the stack of whoever walks it.
MOST_CHARACTERS = 500_000
MOST_NODES = 50_000
DEEPEST = 60
LONGEST = 250

_ONE = "ask one SELECT at a time"

_NAMES = {
    "joins": "JOIN",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
    "windows": "WINDOW",
    "pivots": "PIVOT",
    "group": "GROUP BY",
    "order": "ORDER BY",
    "locks": "FOR UPDATE",
    "with_": "WITH",
    "from_": "FROM",
    "operation_modifiers": "a modifier of SELECT",
}


def statement(text: str) -> exp.Select:
    """The one SELECT of a text.

    Raises:
        DataError: it is no SQL, another statement, several of them, too long or too deep.
    """
    found = query(text)
    if not isinstance(found, exp.Select):
        raise refused(f"{found.key.upper()} where a SELECT is expected", _ONE)
    return found


def query(text: str) -> exp.Query:
    """The one query of a text: a SELECT, or several that are put together as by UNION.

    Raises:
        DataError: it is no SQL, another statement, several of them, too long or too deep.
    """
    if len(text) > MOST_CHARACTERS:
        raise _too_long()
    try:
        parsed = sqltext.statements(text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        where = f" (line {first['line']}, column {first['col']})" if first.get("line") else ""
        raise refused(f"not valid SQL{where}: {plainly(first)}", "correct the text there") from None
    except SqlglotError:
        raise refused("not valid SQL: a quote or comment is not closed", "close it") from None
    except RecursionError:
        raise _too_deep() from None
    statements = [s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)]
    if len(statements) != 1:
        raise refused(f"{len(statements)} statements where one is expected", _ONE)
    (found,) = statements
    found = within(found)
    if isinstance(found, exp.Pivot):  # a statement of its own
        found = exp.select("*").from_(exp.Subquery(this=found), copy=False)
    if not isinstance(found, exp.Query) or isinstance(found, exp.Subquery):
        named = found.name if isinstance(found, exp.Command) else found.key
        if isinstance(found, exp.Condition | exp.Alias):  # words that are no statement, as SELEC
            raise refused("an expression where a SELECT is expected", _ONE)
        raise refused(f"{named.upper()} where a SELECT is expected", _ONE)
    refuse_large(found)
    place_counterparts(found)
    refuse_large(found)
    for node in found.walk():
        node.pop_comments()
        node._meta = None  # where it stood in the text: each copy of the tree would copy that
    return found


_NOW = re.compile(
    r"\b(current_date|today|current_timestamp|localtimestamp|now|get_current_timestamp"
    r"|transaction_timestamp)\b",
    re.IGNORECASE,
)
_MOMENTS = ("now", "get_current_timestamp", "transaction_timestamp")


def dated(text: str, now: datetime) -> tuple[str, tuple[str, ...]]:
    """Replace CURRENT_DATE, now() and such in a text by the day or moment at which it is asked.

    They are the same for all records of a statement, so that they are constants of it.

    Args:
        text: of the query; what is no SQL stays as it is.
        now: when it is asked, as the clock of this machine shows it.

    Returns:
        The text, and the constants that it was given, each once.
    """
    if _NOW.search(text) is None or len(text) > MOST_CHARACTERS:
        return text, ()
    try:
        parsed = sqltext.statements(text)
    except (SqlglotError, RecursionError):
        return text, ()
    given: dict[str, None] = {}

    def placed(node: exp.Expr) -> exp.Expr:
        constant: exp.Expr
        named = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.CurrentDate) and node.this is None:
            constant = exp.cast(exp.Literal.string(now.date().isoformat()), "DATE")
        elif isinstance(node, (exp.CurrentTimestamp, exp.Localtimestamp)) or named in _MOMENTS:
            moment = now.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
            constant = exp.cast(exp.Literal.string(moment), "TIMESTAMP")
        else:
            return node
        given[f"{constant.to.sql('duckdb')} '{constant.this.name}'"] = None
        return constant

    for root in parsed:
        if root is None:
            continue
        try:
            refuse_large(root)
        except DataError:
            return text, ()
    found = [root.transform(placed) for root in parsed if root is not None]
    if not given:
        return text, ()
    return ";\n".join(sqltext.sql(root) for root in found), tuple(given)


def within(query: exp.Expr) -> exp.Expr:
    """A query without the parentheses around it."""
    while isinstance(query, exp.Subquery) and [k for k, v in query.args.items() if v] == ["this"]:
        query = query.this
    return query


def only(node: exp.Expr, allowed: Collection[str], where: str = "") -> None:
    """Refuse every clause of a node that is not allowed.

    Raises:
        DataError: which clause, and where.
    """
    for clause, value in node.args.items():
        if value and clause not in allowed:
            name = _NAMES.get(clause, clause.strip("_").upper().replace("_", " "))
            raise refused(f"{name}{where}")


def refuse_large(root: exp.Expr) -> None:
    """Refuse a tree that is too large or too deep to be walked.

    Raises:
        DataError: it is.
    """
    nodes = 0
    pending = [(root, 0, 0)]
    while pending:
        node, depth, length = pending.pop()
        nodes += 1
        if nodes > MOST_NODES:
            raise _too_long()
        if depth > DEEPEST or depth + length > LONGEST:
            raise _too_deep()
        for child in node.iter_expressions():
            chained = isinstance(node, exp.Binary) and type(child) is type(node)
            pending.append((child, depth + (not chained), length + chained))


def names_of_tables(text: str, catalog: str) -> list[str]:
    """The names of tables that a query reads, each once, in the order of the text.

    Args:
        text: of the query.
        catalog: how its database is called. A table of its schema `main` has a plain name, others
            a dotted one.

    Raises:
        DataError: as for `query`.
    """
    found: dict[str, str] = {}
    for table in query(text).find_all(exp.Table, bfs=False):
        if not all(isinstance(part, exp.Identifier) for part in table.parts):
            continue
        if is_common(table):
            continue
        parts = [part.name for part in table.parts]
        if len(parts) > 1 and parts[0].lower() == catalog.lower():
            parts = parts[1:]
        if len(parts) == 2 and parts[0].lower() == "main":
            parts = parts[1:]
        name = ".".join(parts)
        found.setdefault(name.lower(), name)
    return list(found.values())


def is_common(table: exp.Table) -> bool:
    """Whether a name is that of a common table expression that can be seen from where it stands."""
    if len(table.parts) > 1:
        return False
    inside: set[int] = {id(table)}
    node: exp.Expr | None = table.parent
    while node is not None:
        inside.add(id(node))
        given = node.args.get("with_")
        for term in given.expressions if given is not None else ():
            if id(term) in inside:
                break  # its own body, and those of earlier ones, see only what is before them
            if term.alias.lower() == table.name.lower():
                return True
        node = node.parent
    return False


def _too_long() -> DataError:
    return refused("the query is too long", "ask several shorter queries")


def _too_deep() -> DataError:
    return refused("the query is nested too deeply", "ask several simpler queries")


def plainly(error: Mapping[str, object]) -> str:
    """What the parser says, without its own classes and without the query's constants."""
    said = str(error.get("description") or "syntax error")
    missing = re.search(r"missing for <class '.*\.(\w+)'>", said)
    if missing is None:
        return re.split(r",? but got|<", said)[0].strip() or "syntax error"
    clause = missing[1].upper()
    known = clause in ("WHERE", "BETWEEN", "IN", "LIKE", "ILIKE", "CASE", "CAST", "LIMIT", "ORDER")
    return f"{clause if known else 'an expression'} is incomplete"


def number_of_rows(select: exp.Query, clause: str) -> int | None:
    """The number of rows after LIMIT or OFFSET.

    Raises:
        DataError: it is no whole number.
    """
    given = select.args.get(clause)
    if given is None:
        return None
    held, plain = "expression", {"expression"}
    if isinstance(given, exp.Fetch):  # FETCH NEXT n ROWS ONLY
        held, plain = "count", {"count", "direction", "limit_options"}
        options = given.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise refused("FETCH … PERCENT or WITH TIES", "ask for a number of rows")
    count = given.args.get(held)
    other = {name for name, value in given.args.items() if value} - plain
    if other or not isinstance(count, exp.Literal) or not count.is_int:
        raise refused(f"{clause.upper()} that is not a whole number", "write the number")
    return int(count.name)
