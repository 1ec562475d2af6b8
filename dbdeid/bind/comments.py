"""Roles in the comments of a table's columns: read, written, and used by a specification.

    COMMENT ON COLUMN visits.age IS 'Age in years. deid: quasi_identifier hierarchy=age.csv'

Behind the text of people, `deid:` begins the declaration: a role, then `key=value` as the
specification knows them. A value is a word, text in double quotes, or YAML in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from dbdeid.bind.source import find_table
from dbdeid.data.location.file_formats import names_file
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, Mistake, SpecError, did_you_mean
from dbdeid.spec.column.column_spec import ColumnSpec, names_in
from dbdeid.spec.yaml_text import load

# As a specification writes it: its name alone, or with the keys beside it.
Role: TypeAlias = Mapping[str, object] | str

FROM_COMMENTS = "from_comments"
_MARK = re.compile(r"(?:^|(?<=\s))deid:(?=\s|$)")
_KEY = re.compile(r"\s*([A-Za-z_]+)\s*=\s*")
_WORD = re.compile(r"[^\s\"'{}\[\],=]+")
_BARE = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")
_CLOSING = {"{": "}", "[": "]"}


# -- the text of a comment -------------------------------------------------------------------------


def declaration(comment: str) -> dict[str, object] | None:
    """What a comment declares of its column: `role`, and the keys beside it; None: nothing.

    >>> declaration("Age in years. deid: quasi_identifier hierarchy={intervals: [5, 10]} weight=2")
    {'role': 'quasi_identifier', 'hierarchy': {'intervals': [5, 10]}, 'weight': 2}
    >>> declaration("deidentified in 2019") is None
    True

    Raises:
        DataError: it begins a declaration and is none; the message says what is wrong.
    """
    mark = _MARK.search(comment)
    if mark is None:
        return None
    rest = comment[mark.end() :].strip()
    role = _WORD.match(rest)
    if role is None or rest[role.end() :].lstrip().startswith("="):
        raise DataError("no role behind `deid:`", hint="as in `deid: quasi_identifier`")
    found: dict[str, object] = {"role": role[0]}
    at = role.end()
    while rest[at:].strip():
        key = _KEY.match(rest, at)
        if key is None:
            raise DataError(
                f"`{rest[at:].split()[0]}` is no key=value",
                hint='put text in quotes, as in `reason="a public band"`',
            )
        if key[1] in found:
            raise DataError(f"the key {key[1]!r} is given twice", hint="keep one of them")
        end = _end(rest, key.end())
        found[key[1]] = _value(rest[key.end() : end], key[1])
        at = end
    return found


def _end(text: str, start: int) -> int:
    """Where the value that begins here ends; brackets and quotes hold what is in them together."""
    if text[start : start + 1] not in ('"', *_CLOSING):
        word = _WORD.match(text, start)
        return word.end() if word else start
    open_: list[str] = []
    quoted = skipped = False
    for at in range(start, len(text)):
        sign = text[at]
        if skipped:
            skipped = False
        elif quoted:
            skipped, quoted = sign == "\\", sign != '"'
        elif sign == '"':
            quoted = True
        elif sign in _CLOSING:
            open_.append(_CLOSING[sign])
        elif open_ and sign == open_[-1]:
            open_.pop()
        if not quoted and not open_:
            return at + 1
    return len(text)


def _value(text: str, key: str) -> Any:
    try:
        return load(f"value: {text}", "comment")[0]["value"] if text else None
    except SpecError:
        raise DataError(
            f"the value of {key!r} cannot be read", hint="close its quotes and brackets"
        ) from None


def comment_text(role: Role, comment: str | None) -> str:
    """A comment that declares a role, behind the text that people wrote in the last one.

    >>> comment_text({"role": "insensitive", "reason": "a public band"}, "Income. deid: drop")
    'Income. deid: insensitive reason="a public band"'
    """
    given = {"role": role} if isinstance(role, str) else dict(role)
    parts = [f"deid: {given.pop('role')}", *(f"{k}={_told(v)}" for k, v in given.items())]
    mark = _MARK.search(comment or "")
    people = (comment or "")[: mark.start()].strip() if mark else (comment or "").strip()
    return " ".join([*([people] if people else []), *parts])


def _told(value: object) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value) and _value(value, "") == value:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


# -- in a database ---------------------------------------------------------------------------------


def declarations(
    session: Session, table: Relation
) -> tuple[dict[str, dict[str, object]], list[str]]:
    """What the comments of a table declare, by column, and the columns that they say nothing of.

    Raises:
        SpecError: comments that are wrong, all at once, or none that declares a role.
    """
    roles: dict[str, dict[str, object]] = {}
    without: list[str] = []
    mistakes: list[Mistake] = []
    for name, comment in session.comments(table).items():
        try:
            role = declaration(comment or "")
        except DataError as error:
            mistakes.append(Mistake(error.message, _place(table, name), hint=error.hint))
            continue
        if role is None:
            without.append(name)
        else:
            roles[name] = role
            mistakes += _wrong(role, _place(table, name))
    if not roles and not mistakes:
        hint = "`COMMENT ON COLUMN t.age IS 'deid: quasi_identifier hierarchy=age.csv'`"
        message = f"no comment on a column of {table.name!r} declares a role"
        mistakes.append(Mistake(message, "columns", hint=hint))
    if mistakes:
        raise SpecError(mistakes, source=f"comments of {table.name}")
    return roles, without


def _place(table: Relation, name: str) -> str:
    return f"{table.name}.{name}"


def _wrong(role: Mapping[str, object], place: str) -> Iterator[Mistake]:
    """What a specification would not take of a declaration."""
    known = [*ColumnSpec.model_fields]
    for key in role:
        if key not in known:
            yield Mistake(f"unknown key {key!r}", place, hint=did_you_mean(key, known))
            return
    try:
        ColumnSpec.model_validate(dict(role))
    except ValidationError as error:
        for found in error.errors(include_url=False, include_input=False):
            told = found.get("ctx") or {}
            message = str(told.get("message", found["msg"]))
            key = ".".join(map(str, found["loc"]))
            yield Mistake(f"{key}: {message}" if key else message, place, hint=told.get("hint", ""))


def table_of(source: object, session: Session, what: str) -> Relation:
    """The table that a specification names as its source, whose columns can have comments.

    Raises:
        SpecError: the source is a query or a file, which has none.
        DataError: there is no such table.
    """
    if not isinstance(source, str) or names_file(source):
        raise _no_comments("a file" if isinstance(source, str) else "a query", what)
    return find_table(session, source, "source")


def _no_comments(kind: str, what: str) -> SpecError:
    mistake = Mistake(
        f"{what} needs a table or view: {kind} has no comments on columns",
        "source",
        hint="list the roles under `columns`, or make the source a table or view",
    )
    return SpecError([mistake])


def with_columns(text: str, data: Mapping[str, object]) -> str:
    """The text of a spec with the columns that stood in comments, as its run found them."""
    given = json.dumps(data["columns"], ensure_ascii=False, default=str)
    place = re.compile(r"""^(\s*["']?columns["']?\s*:\s*)["']?from_comments["']?""", re.MULTILINE)
    found = place.sub(lambda start: start[1] + given, text)
    try:
        if load(found, "spec")[0] == data:
            return found
    except SpecError:
        pass
    return json.dumps(data, indent=2, default=str)


def with_roles(
    data: Mapping[str, object], folder: Path, connection: Any = None, database: Path | None = None
) -> dict[str, object]:
    """The data of a specification with the roles of the source's comments as its `columns`.

    Args:
        data: of which `columns` is `from_comments`.
        folder: that its relative paths start from.
        connection: an open connection to read from.
        database: in place of the `database` of the specification.

    Raises:
        SpecError: the source has no comments, or they are wrong.
        DataError: the database cannot be read.
    """
    named = data.get("database")
    path = database or (folder / Path(named).expanduser() if isinstance(named, str) else None)
    if connection is None:
        session = ENGINE.open(path, read_only=True)
    else:
        session = ENGINE.over(connection, path, read_only=True)
    with session:
        table = table_of(data.get("source"), session, f"columns: {FROM_COMMENTS}")
        roles, _ = declarations(session, table)
    return {**data, "columns": roles}


def export(
    columns: Mapping[str, Role],
    source: object,
    database: Path | None,
    settings: Settings | None = None,
) -> dict[str, str]:
    """Write roles into the comments of the source's columns, behind what people wrote there.

    Args:
        columns: the `columns` of a specification as written; a key may list several.
        source: its `source`.
        database: the owner's database.
        settings: limits of the engine.

    Returns:
        The new comment of each column.

    Raises:
        SpecError: the source cannot have comments, or has no such column.
        DataError: the database cannot be written, or there is no such table.
    """
    if database is None:
        raise DataError("comments need a database", hint="give `database` in the spec")
    with ENGINE.open(database, read_only=False, settings=settings) as session:
        table = table_of(source, session, "roles export")
        comments = session.comments(table)
        new = {
            name: comment_text(role, comments[name])
            for name, role in _spread(columns, comments).items()
        }
        with session.transaction():
            for name, comment in new.items():
                session.comment(table, name, comment)
    return new


def _spread(columns: Mapping[str, Role], known: Collection[str]) -> dict[str, Role]:
    names = {name.lower(): name for name in known}
    found: dict[str, Role] = {}
    for key, role in columns.items():
        parts = (key,) if key.lower() in names else names_in(key)
        for part in parts:
            if part.lower() not in names:
                hint = did_you_mean(part, known)
                mistake = Mistake(f"the source has no column {part!r}", "columns", hint=hint)
                raise SpecError([mistake])
            found[names[part.lower()]] = role
    return found


def roles_in(
    database: Path, name: str, settings: Settings | None = None
) -> tuple[dict[str, dict[str, object]], list[str]]:
    """What the comments of a table of a database declare, and the columns they say nothing of.

    Raises:
        SpecError: comments that are wrong, or none that declares a role.
        DataError: no such database or table.
    """
    if names_file(database.name):
        raise _no_comments("a file", "roles import")
    with ENGINE.open(database, read_only=True, settings=settings) as session:
        return declarations(session, table_of(name, session, "roles import"))


def draft_text(roles: Mapping[str, Mapping[str, object]], without: list[str]) -> str:
    """The `columns` part of a specification, with a line for each column that has no role yet."""
    lines = ["columns:"]
    for name, role in roles.items():
        given = json.dumps(dict(role), ensure_ascii=False, default=str)
        lines.append(f"  {json.dumps(name, ensure_ascii=False)}: {given}")
    lines += [f"  # no role: {json.dumps(name, ensure_ascii=False)}" for name in without]
    return "\n".join(lines)
