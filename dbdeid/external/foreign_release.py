"""A release that was made elsewhere, opened: its table, its original, what its values stand for.

The original need not be at hand. What is known of its columns are then the types of the released
ones, and those that the spec declares (`types` of the method).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import read
from dbdeid.bind.source import find_table, open_source
from dbdeid.data.location.file_formats import is_pattern, is_remote
from dbdeid.data.source_files import NO_HEADER, told_names
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    all_of,
    cast,
    column,
    count_where,
    every_column,
    is_null,
    not_null,
    null,
    select,
    try_cast,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.file_names import of_one_table
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError, Mistake, SpecError, did_you_mean
from dbdeid.external import dictionary as external_dictionary
from dbdeid.external.values import Explained, explained
from dbdeid.publish.queryable import asked_as, names_of_source, tables_of
from dbdeid.query.parse.answerable import Answerable
from dbdeid.sources.files import Opened
from dbdeid.spec.column.column_spec import names_in
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located
from dbdeid.spec.method.external import External, external
from dbdeid.spec.open_decisions import require_decided
from dbdeid.verify.base import file_kinds
from dbdeid.verify.files import text_tables
from dbdeid.workspace.workplace import reading

ROWS, LISTED, PLAIN, TYPED = (
    "deid_external_rows",
    "deid_external_listed",
    "deid_external_release",
    "deid_external_typed",
)
# What an engine says of a source that is not there, rather than wrong.
_ABSENT = ("CatalogException", "IOException")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A release made elsewhere.

    Attributes:
        file: the spec.
        session: where its tables are.
        bound: the spec held against the original, or against what is known of it.
        table: the released table, as it is.
        path: the Parquet file that it comes from.
        columns: the quasi-identifiers with what their values stand for.
        dictionary: the same as a table, with the columns of our dictionaries.
        at_hand: whether `bound.source` is the original, and not an empty table like it.
        added: released columns that the original does not have.
        truthful: whether every record is said to be one of the original, perhaps generalized.
    """

    file: SpecFile
    session: Session
    bound: Bound
    table: Relation
    path: Path | None
    columns: tuple[Explained, ...]
    dictionary: Relation
    at_hand: bool
    added: tuple[str, ...]
    truthful: bool

    @property
    def method(self) -> External:
        """The method of the spec."""
        return external(self.file.spec.method)

    @property
    def original(self) -> Query | None:
        """The rows of the original, where it is at hand."""
        return self.bound.source if self.at_hand else None

    @property
    def of_original(self) -> Bound:
        """The spec with the columns alone that the original has too."""
        own = tuple(c for c in self.bound.columns if c.name not in self.added)
        return replace(self.bound, columns=own)

    @property
    def spelled(self) -> dict[str, str]:
        """How the released table spells the released columns."""
        found = ((c.name, self.table.find(c.name)) for c in self.bound.released)
        return {name: written.name for name, written in found if written is not None}

    @property
    def compared(self) -> tuple[str, ...]:
        """The released columns whose values mean what they mean in the original."""
        pseudonyms = {c.name for c in self.bound.pseudonyms}
        names = (c.name for c in self.bound.released)
        return tuple(n for n in names if n not in pseudonyms and n not in self.added)

    def answerable(self) -> Answerable:
        """The release as a place to ask questions that were written for its original."""
        spread = [c for c in self.columns if c.column.name in self.compared and self._spread(c)]
        return Answerable(
            source_names=names_of_source(self.file.spec),
            columns=tuple(
                asked_as(c.column) for c in self.bound.released if c.name in self.compared
            ),
            quasi_identifiers=tuple(c.column.name for c in spread),
            release=self._as_texts(spread),
            dictionary=self.dictionary,
            truthful=self.truthful,
            tables=self._joinable(),
        )

    def _joinable(self) -> tuple[Relation, ...]:
        """The tables of the database but the original and the release with its dictionary."""
        method, source = self.method, self.file.spec.source_name
        hidden = {name.lower() for name in (source, method.table, method.dictionary or source)}
        tables = tables_of(self.session, self.session.catalog)
        return tuple(t for t in tables if not hidden & _names(t))

    def _spread(self, c: Explained) -> bool:
        """Whether the dictionary has to say what its values are."""
        written = self.table.find(c.column.name)
        retyped = written is not None and written.type != c.column.type
        return c.generalized or bool(c.unknown or c.ambiguous) or retyped

    def _as_texts(self, spread: list[Explained]) -> Relation:
        """The table, where generalized values are texts, as a dictionary writes them."""
        written = [self.table.find(c.column.name) for c in spread]
        other = [w for w in written if w is not None and w.family != "text"]
        if not other:
            return self.table
        texts = [aliased(cast(column(w.name), "VARCHAR"), w.name) for w in other]
        query = select(every_column(replace=texts)).from_(self.table.table)
        return self.session.run(Step(PLAIN, query))


def _names(table: Relation) -> set[str]:
    """How a spec may name a table, in lower case."""
    name = table.name.lower()
    qualified = f"{str(table.schema).lower()}.{name}"
    return {qualified, name} if table.schema == "main" else {qualified}


@contextmanager
def opened(
    source: str | Path | Mapping[str, Any] | SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Iterator[Foreign]:
    """Open a release made elsewhere, for reading only.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit the tables.
    """
    file = source if isinstance(source, SpecFile) else read(source, connection, database)
    with reading(file, connection, database=database, settings=settings) as session:
        yield _opened(file, session)


def _opened(file: SpecFile, session: Session) -> Foreign:
    require_decided(file)
    method = external(file.spec.method)
    found = _fetched(file, session, method.table, "table", ROWS)
    listed = None
    if method.dictionary is not None:
        listed = _fetched(file, session, method.dictionary, "dictionary", LISTED).table
    original = _original(file, session, found)
    known = session.describe(original) if original is not None else ()
    _require_types(file, known, found)
    names = {c.name.lower() for c in known}
    added = [c for c in found.columns if c.name.lower() not in names and _declares(file, c.name)]
    if original is None:
        _require_roles(file, found)
        _require_known(file, found, external_dictionary.bounded(session, listed))
        stand_in = _stand_in(file, found)
    else:
        _require_roles(file, found, besides=names)
        stand_in = _with(original, added)
    bound = bind(file, session, Opened(stand_in, passing=False))
    _require_columns(bound, found)
    table = _typed(session, bound, found)
    columns = explained(bound, session, table, external_dictionary.listed(bound, session, listed))
    return Foreign(
        file=file,
        session=session,
        bound=bound,
        table=table,
        path=found.path if found.path and found.path.suffix == file_kinds.PARQUET else None,
        columns=columns,
        dictionary=external_dictionary.written(session, columns),
        at_hand=original is not None,
        added=tuple(c.name for c in added) if original is not None else (),
        truthful=method.truthful and not external_dictionary.untruthful(session, listed),
    )


# -- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A table of the database, or a file read into a temporary one.

    Attributes:
        table: with its columns.
        columns: the same with the types that are sniffed in a CSV file, which is read as text.
        path: the file.
        as_text: whether all columns were read as text.
    """

    table: Relation
    columns: tuple[Column, ...]
    path: Path | None = None
    as_text: bool = False


def _fetched(file: SpecFile, session: Session, name: str, key: str, staged: str) -> _Fetched:
    if of_one_table(name):
        path = located(file, name, "method", key)
        if file_kinds.kind(path) == file_kinds.PARQUET:
            table = file_kinds.parquet(session, path, staged)
            return _Fetched(table, table.columns, path)
        table, columns = text_tables.plain(session, path, staged)
        return _Fetched(table, columns, path, as_text=True)
    table = find_table(session, name, f"method.{key}")
    if session.exists(table.name, table.schema or "main", table.catalog) != "table":
        raise DataError(
            f"method.{key}: {name!r} is a view, and what it shows can change",
            hint=f"make it a table: CREATE TABLE … AS FROM {name}",
        )
    return _Fetched(table, table.columns)


def _original(file: SpecFile, session: Session, found: _Fetched) -> Query | None:
    """The rows of the original; None where it is not at hand."""
    source, kind = file.spec.source, file.source_kind
    if kind == "query":
        try:
            query = open_source(file, session).query
            session.describe(query)
        except EngineError as error:
            if error.kind in _ABSENT:
                return None
            raise DataError(
                f"the source cannot be read: {error.message}", hint=error.hint
            ) from None
        return query
    if kind == "file" and not is_remote(str(source)):
        path = located(file, str(source), "source")
        same = found.path is not None and path.resolve() == found.path.resolve()
        if same or not (path.exists() or is_pattern(path)):
            return None
    if kind != "table":
        return open_source(file, session).query
    try:
        table = find_table(session, str(source), "source")
    except DataError:
        return None
    if found.path is None and _place(table) == _place(found.table):
        return None  # analysts call the release as its original
    return select("*").from_(table.table)


def _place(table: Relation) -> tuple[str, ...]:
    return tuple(str(part).lower() for part in (table.catalog, table.schema, table.name))


def _typed(session: Session, bound: Bound, found: _Fetched) -> Relation:
    """The table; of a CSV file all but quasi-identifiers in the types of the original.

    Raises:
        DataError: cells are not of their type.
    """
    if not found.as_text:
        return found.table
    kinds = {c.name.lower(): c.released_type for c in bound.released}
    kinds |= {c.name.lower(): "VARCHAR" for c in bound.quasi_identifiers}
    cells: dict[str, Expr] = {}
    for c in found.columns:
        kind = kinds.get(c.name.lower()) or "VARCHAR"
        cells[c.name] = try_cast(column(c.name), kind)
    lost = [count_where(all_of(is_null(cell), not_null(column(n)))) for n, cell in cells.items()]
    counts = session.row(select(*lost).from_(found.table.table))
    wrong = [f"{n} cells of {c!r}" for c, n in zip(cells, counts, strict=True) if n]
    if wrong:
        raise DataError(
            f"method.table: {', '.join(wrong)} are not of the type that the original has",
            hint="write them as the original does",
        )
    named = [aliased(cell, n) for n, cell in cells.items()]
    return session.run(Step(TYPED, select(*named).from_(found.table.table)))


# -- columns ----------------------------------------------------------------------------------


def _declared(file: SpecFile) -> dict[str, str]:
    """The names that the keys of `columns` may stand for, in lower case, and their keys."""
    named: dict[str, str] = {}
    for key in file.spec.columns:
        named |= {name.lower(): key for name in (key.strip(), *names_in(key))}
    return named


def _declares(file: SpecFile, name: str) -> bool:
    return name.lower() in _declared(file)


def _may_be_told(file: SpecFile, found: _Fetched) -> bool:
    """Whether the released table's column names may be shown: those of a text file may be cells."""
    return not found.as_text or told_names(found.table.names, list(_declared(file)))


def _require_roles(
    file: SpecFile, found: _Fetched, besides: frozenset[str] | set[str] = frozenset()
) -> None:
    """Refuse released columns without a role; `bind` reports those of the original."""
    names = [
        c.name
        for c in found.columns
        if c.name.lower() not in besides and not _declares(file, c.name)
    ]
    if names and not _may_be_told(file, found):
        message = f"{len(names)} of {len(found.columns)} columns of the released table have no role"
        raise SpecError([file.mistake(message, "columns", hint=NO_HEADER)], source=file.label)
    if names:
        listed = ", ".join(map(repr, names[:20]))
        message = f"columns of the released table have no role: {listed}"
        hint = f"add `{names[0]}: insensitive` (or quasi_identifier, sensitive)"
        raise SpecError([file.mistake(message, "columns", hint=hint)], source=file.label)


def _require_columns(bound: Bound, found: _Fetched) -> None:
    """Refuse declared columns that the table does not have."""
    file = bound.file
    mistakes = []
    for c in bound.released:
        if found.table.find(c.name) is None:
            told = _may_be_told(file, found)
            hint = did_you_mean(c.name, found.table.names) if told else ""
            message = f"the released table has no column {c.name!r}"
            key = _declared(file).get(c.name.lower(), c.name)
            mistakes.append(file.mistake(message, "columns", key, hint=f"{hint} Or: drop".strip()))
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def _require_types(file: SpecFile, known: tuple[Column, ...], found: _Fetched) -> None:
    """Refuse declared types that are not those of the original, or of no column."""
    source = {c.name.lower(): c for c in known or found.columns}
    mistakes = []
    for name, kind in external(file.spec.method).types.items():
        own, place = source.get(name.lower()), ("method", "types", name)
        if own is None:
            told = known or _may_be_told(file, found)
            hint = did_you_mean(name, [c.name for c in source.values()]) if told else ""
            mistakes.append(file.mistake(f"there is no column {name!r}", *place, hint=hint))
        elif known and own.family != Column(name, kind).family:
            message = f"the original has {own.name!r} as {own.shown_type}, and not as {kind}"
            mistakes.append(file.mistake(message, *place, hint="leave it out: the original tells"))
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def _require_known(file: SpecFile, found: _Fetched, bounded: frozenset[str]) -> None:
    """Refuse text that stands for numbers or dates, where nothing says of which type."""
    types = {name.lower() for name in external(file.spec.method).types}
    mistakes: list[Mistake] = []
    keys = _declared(file)
    for c in found.columns:
        spec = file.spec.columns.get(keys.get(c.name.lower(), ""))
        if spec is None or spec.role != "quasi_identifier" or c.name.lower() in types:
            continue
        kind = spec.hierarchy.kind if spec.hierarchy else None
        measured = kind in ("intervals", "dates", "labels") or c.name.lower() in bounded
        if measured and c.family == "text":
            message = (
                f"the original is not at hand, and the text of {c.name!r} does not tell which "
                "type its values have"
            )
            hint = f"add `types: {{{c.name}: INTEGER}}` (or DOUBLE, DATE, …) to `method`"
            mistakes.append(file.mistake(message, "columns", keys[c.name.lower()], hint=hint))
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def _stand_in(file: SpecFile, found: _Fetched) -> Query:
    """An empty table like the original, as far as it is known."""
    types = {name.lower(): kind for name, kind in external(file.spec.method).types.items()}
    columns = [Column(c.name, types.get(c.name.lower(), c.type)) for c in found.columns]
    present = {c.name.lower() for c in columns}
    for key in file.spec.columns:
        parts = (key,) if key.lower() in present else names_in(key)
        columns += [Column(part, "VARCHAR") for part in parts if part.lower() not in present]
        present |= {part.lower() for part in parts}
    nothing = [aliased(cast(null(), c.type), c.name) for c in columns]
    return select(*nothing).limit(0)


def _with(original: Query, added: list[Column]) -> Query:
    """The original with released columns that it does not have, which are NULL there."""
    if not added:
        return original
    nothing = [aliased(cast(null(), c.type), c.name) for c in added]
    return select("*", *nothing).from_(original.subquery("original"))
