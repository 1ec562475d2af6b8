"""What clients of PostgreSQL send: texts of several statements, and SELECTs with parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from math import copysign, isfinite
from typing import Any
from uuid import UUID

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import TokenType

from dbdeid.errors import DataError
from dbdeid.query.parse.expressions import refused
from dbdeid.query.parse.statement import MOST_CHARACTERS, is_common, plainly, refuse_large

POSTGRES = "postgres"
Query = exp.Query
# What a parameter may be.
Value = bool | int | float | Decimal | str | date | datetime | time | UUID | bytes | None


@dataclass(frozen=True, slots=True)
class Sent:
    """One statement.

    Attributes:
        text: as it was sent.
        words: its words, signs and texts, these without their quotes.
        start: where it begins in what was sent.
    """

    text: str
    words: tuple[str, ...]
    start: int = 0

    def word(self, place: int) -> str:
        """A word in upper case; empty beyond the last."""
        return self.words[place].upper() if place < len(self.words) else ""


class Unreadable(DataError):
    """A text that is not SQL.

    Attributes:
        position: of the sign in the text at which it is none, from 1.
    """

    def __init__(self, message: str, *, hint: str, position: int) -> None:
        self.position = position
        super().__init__(message, hint=hint)


def split(text: str) -> tuple[Sent, ...]:
    """The statements of a text; none of an empty one.

    Raises:
        DataError: it is too long, or a quote or comment is not closed.
    """
    if len(text) > MOST_CHARACTERS:
        raise refused("the query is too long", "ask several shorter queries")
    text = _spaced(text)
    with _readable():
        tokens = Dialect.get_or_raise(POSTGRES).tokenize(text)
    found: list[Sent] = []
    first, words = -1, list[str]()
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if words:
                found.append(Sent(text[first : token.start].strip(), tuple(words), first))
            first, words = -1, []
            continue
        first = token.start if first < 0 else first
        words.append(token.text)
    if words:
        found.append(Sent(text[first:].strip(), tuple(words), first))
    return tuple(_apart(sent) for sent in found)


_WORD = re.compile(r"""'(?P<text>[^']*)'|"(?P<name>[^"]*)"|[\w.$]+|\S""")


def _apart(sent: Sent) -> Sent:
    """A statement whose words are apart: some commands are read as one word and a text."""
    first, *rest = sent.words
    if len(rest) != 1 or not sent.text.endswith(rest[0]):
        return sent
    words = (m["text"] or m["name"] or m[0] for m in _WORD.finditer(rest[0]))
    return Sent(sent.text, (first, *words), sent.start)


def read(sent: Sent) -> exp.Query:
    """A query, as PostgreSQL reads it; as DuckDB does where PostgreSQL would not.

    Raises:
        Unreadable: it is no SQL of either.
        DataError: it is no query.
    """
    first: ParseError | None = None
    for dialect, text in _readings(sent.text):
        try:
            tree = Dialect.get_or_raise(dialect).parse(text)[0]
        except ParseError as error:
            first = first or error
            continue
        except SqlglotError:
            continue
        except RecursionError:
            raise refused("the query is nested too deeply", "ask several simpler queries") from None
        if isinstance(tree, exp.Values):
            tree = exp.select("*").from_(exp.paren(tree))
        if isinstance(tree, exp.Query):
            refuse_large(tree)
            for node in list(tree.find_all(exp.Placeholder)):  # as DuckDB reads parameters
                if node.name.isdigit():
                    node.replace(exp.Parameter(this=exp.Literal.number(node.name)))
            return tree
    if first is not None and first.errors:
        raise _unreadable(first.errors[0], sent)
    raise refused("no SELECT that PostgreSQL or DuckDB would read", "ask one SELECT")


def _unreadable(error: Mapping[str, Any], sent: Sent) -> Unreadable:
    """The error with its place in what was sent."""
    line, last = int(error.get("line") or 1), int(error.get("col") or 1)
    before = sent.text.split("\n")[: line - 1]
    place = sum(len(one) + 1 for one in before) + last - len(error.get("highlight") or " ")
    column = max(place - sum(len(one) + 1 for one in before), 0) + 1
    return Unreadable(
        f"the query cannot be answered from the release: not valid SQL (line {line}, column "
        f"{column}): {plainly(error)}",
        hint="correct the text there",
        position=sent.start + max(place, 0) + 1,
    )


def _readings(text: str) -> Iterator[tuple[str, str]]:
    yield POSTGRES, text
    yield "duckdb", text
    with _readable():
        quoted = _with_quotes(text)
    if quoted != text:
        yield POSTGRES, quoted


# What is quoted in one of PostgreSQL's ways or a comment, or else a parameter that a sign follows:
# the parser takes `$1,$` for the beginning of a quote.
_PARAMETER = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$"""
    r"""|\$(?P<tag>[A-Za-z_]\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/|(?P<one>\$\d+)(?=[^\w\s])""",
    re.DOTALL,
)


def _spaced(text: str) -> str:
    """The text with a space after each parameter that a sign follows."""
    return _PARAMETER.sub(lambda found: f"{found[0]} " if found["one"] else found[0], text)


def _with_quotes(text: str) -> str:
    """The text with quotes around columns that PostgreSQL lets be called like a statement."""
    tokens = Dialect.get_or_raise(POSTGRES).tokenize(text)
    for before, token in reversed(list(pairwise(tokens))):
        if before.token_type is TokenType.ALIAS and token.token_type in _VERBS:
            text = f'{text[: token.start]}"{token.text}"{text[token.end + 1 :]}'
    return text


_VERBS = (
    *(TokenType.SELECT, TokenType.UPDATE, TokenType.INSERT, TokenType.DELETE, TokenType.TABLE),
)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except SqlglotError:
        raise refused("not valid SQL: a quote or comment is not closed", "close it") from None


# -- parameters ----------------------------------------------------------------------------------


def parameters(query: exp.Query) -> dict[int, exp.Parameter]:
    """The parameters `$1`, `$2`, … of a query, each where it first stands."""
    found: dict[int, exp.Parameter] = {}
    for node in query.find_all(exp.Parameter, bfs=False):
        if isinstance(node.this, exp.Literal) and node.this.is_int:
            found.setdefault(int(node.name), node)
    return dict(sorted(found.items()))


def filled(query: exp.Query, values: Sequence[Value | list[Value]]) -> exp.Query:
    """The query with constants in place of its parameters.

    Raises:
        DataError: a parameter has no value, or one that no constant can be.
    """
    made = query.copy()
    for node in list(made.find_all(exp.Parameter)):
        place = int(node.name) if node.name.isdigit() else 0
        if not 1 <= place <= len(values):
            raise refused(f"${node.name} has no value", "give it one")
        value = values[place - 1]
        if isinstance(value, list):
            node.replace(exp.Array(expressions=[_constant(v, place) for v in value]))
        else:
            node.replace(_constant(value, place))
    return made


def _constant(value: Value, place: int) -> exp.Expr:
    if isinstance(value, datetime):
        plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return exp.cast(exp.Literal.string(plain.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, float) and isfinite(value):
        written = repr(abs(value))  # with an exponent it is no decimal
        made = exp.Literal.number(written if "e" in written else f"{written}e0")
        return exp.Neg(this=made) if copysign(1, value) < 0 else made
    if isinstance(value, UUID | time):
        return exp.Literal.string(str(value))
    if isinstance(value, bytes | float) or (isinstance(value, Decimal) and not value.is_finite()):
        raise refused(
            f"${place} is a value that no constant of a query can be",
            "give a finite number or a text",
        )
    return exp.convert(value)


# -- names of columns ----------------------------------------------------------------------------


def with_names(query: exp.Query, *, taken: frozenset[str] | None) -> exp.Query:
    """The query with the names that PostgreSQL gives to columns that have none.

    Args:
        query: a query; its outermost SELECT is changed.
        taken: names, in lower case, that no column is given; None: each may be given repeatedly.
    """
    if not isinstance(query, exp.Select):
        return query
    used = set(taken or ())
    for item in list(query.expressions):
        alias = item.args.get("alias") if isinstance(item, exp.Alias) else None
        if alias is not None and not alias.quoted:
            alias.set("this", alias.name.lower())
        inner = item.this if isinstance(item, exp.Cast) else item
        if isinstance(item, exp.Alias | exp.Column | exp.Star) or item.is_star:
            continue
        name = _name_of(item if not isinstance(inner, exp.Func | exp.Column) else inner)
        if taken is not None and (name in used or not name.isidentifier()):
            continue
        used.add(name)
        item.replace(exp.alias_(item.copy(), name, quoted=True))
    return query


# How PostgreSQL calls the columns that are casts to these types.
_SHORT = {
    **{"bigint": "int8", "int": "int4", "integer": "int4", "smallint": "int2"},
    **{"decimal": "numeric", "double precision": "float8", "real": "float4", "boolean": "bool"},
}


def _name_of(item: exp.Expr) -> str:
    while isinstance(item, exp.Dot | exp.Paren | exp.Window | exp.Filter | exp.Bracket):
        item = item.expression if isinstance(item, exp.Dot) else item.this
    if isinstance(item, exp.Column):
        return item.name.lower()
    if isinstance(item, exp.Cast):
        kind = str(item.to.sql(POSTGRES)).lower().split("(")[0].split(".")[-1]
        return _SHORT.get(kind, kind)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and item.selects:
        first = item.this.expressions[0]
        return str(first.alias) if isinstance(first, exp.Alias) else _name_of(first)
    if isinstance(item, exp.Case):
        last = item.args.get("default")
        return _name_of(last) if isinstance(last, exp.Column | exp.Func | exp.Dot) else "case"
    if isinstance(item, exp.Func) and not isinstance(item, exp.And | exp.Or):
        return name_of(item)
    return "?column?"


def name_of(function: exp.Func) -> str:
    """How PostgreSQL calls a function, in lower case."""
    if isinstance(function, exp.Anonymous):
        return function.name.lower()
    if isinstance(function, exp.CurrentTimestamp):
        return "now"
    written = function.sql(POSTGRES).split("(")[0].strip().lower()
    return written if written.isidentifier() else function.sql_name().lower()


def read_tables(query: exp.Query) -> Iterator[exp.Table]:
    """The tables that a query reads by a name; those of WITH are none."""
    for table in query.find_all(exp.Table):
        named = all(isinstance(part, exp.Identifier) for part in table.parts)
        if named and not is_common(table) and not _is_itself(table):
            yield table


def _is_itself(table: exp.Table) -> bool:
    """Whether a table is the term of WITH RECURSIVE that it stands in."""
    term = table.find_ancestor(exp.CTE)
    while term is not None and len(table.parts) == 1:
        recursive = isinstance(term.parent, exp.With) and term.parent.recursive
        if recursive and term.alias.lower() == table.name.lower():
            return True
        term = term.find_ancestor(exp.CTE)
    return False
