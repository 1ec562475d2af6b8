"""An exported release as a place to ask questions, from its files alone.

A file tells neither what the source was called nor the types of its columns. The name is whatever
plain name a query takes that is no other table of the file. A type is the narrowest that reads
every text of the dictionary and writes it back unchanged; a dictionary gives bounds to numbers and
dates, and text that has none stays text, whatever it looks like. Where the file does not show that
its records are generalized ones of the source, no bounds are claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from dbdeid.data.weights import WEIGHT, weighted
from dbdeid.engine import file_names
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    cast,
    column,
    creation,
    is_null,
    literal,
    max_of,
    select,
    union_all,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError
from dbdeid.publish.queryable import places, tables_of
from dbdeid.publish.tables import weighted_name
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.statement import names_of_tables
from dbdeid.spec.names import catalog_name, dictionary_name
from dbdeid.verify.base import file_kinds, hygiene, json_files, workbooks
from dbdeid.verify.base.declaration import CLASS_ID
from dbdeid.verify.padding import padded_release


@dataclass(frozen=True, slots=True)
class QueryableFile:
    """A release of an exported file, as one question means it.

    Attributes:
        target: where to ask.
        views: what the session made of files before, for others to repeat.
        notes: what a reader of answers should know.
    """

    target: Answerable
    views: tuple[Expr, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    """The tables of one release.

    Attributes:
        release: its records.
        dictionary: what their values stand for.
        catalog: how many of them are counterfeit.
        weighted: the records with the probability that each is real.
        views: what was made of files.
    """

    release: Relation
    dictionary: Relation | None
    catalog: Relation | None
    weighted: Relation | None
    views: list[Expr] = field(default_factory=list)


@dataclass(frozen=True)
class OpenFile:
    """An exported file that is open for questions.

    Attributes:
        session: where it is.
        path: of the file.
    """

    session: Session
    path: Path
    _releases: list[_Held]
    _tables: tuple[Relation, ...]
    _targets: dict[str, Answerable] = field(default_factory=dict)

    @property
    def releases(self) -> tuple[str, ...]:
        """The names of its releases."""
        return tuple(held.release.name for held in self._releases)

    def asked(self, text: str) -> QueryableFile:
        """The release that a question means, under the name that the question gives it.

        Args:
            text: the question, whose FROM tells which release is meant.

        Raises:
            DataError: it means none.
        """
        held, names, notes = self._meant(text)
        target = replace(self._target(held), source_names=names, places=self._places(names))
        return QueryableFile(target, tuple(held.views), (*notes, *_notes(held, target)))

    def target(self, release: str) -> Answerable:
        """One of its releases to query, by its own name."""
        return self._target(next(h for h in self._releases if h.release.name == release))

    def _meant(self, text: str) -> tuple[_Held, tuple[str, ...], list[str]]:
        """The release that a question means, how it may be called, and what is to be noted."""
        path, releases = self.path, self._releases
        named = names_of_tables(text, file_names.stem(path))
        own = {held.release.name.lower(): held for held in releases}
        known = {t if schema == "main" else f"{schema}.{t}" for schema, t in self._beside}
        known |= {f"{name}{end}" for name in own for end in _OF_RELEASE}
        meant = [own[name.lower()] for name in named if name.lower() in own]
        others = [name for name in named if name.lower() not in known]
        if not meant and len(releases) > 1:
            names = ", ".join(held.release.name for held in releases)
            raise DataError(
                f"{path.name} holds several releases, and the query names none of them",
                hint=f"FROM one of {names}",
            )
        held = (meant or releases)[0]
        name = held.release.name
        if not meant and len(others) > 1:
            raise DataError(
                f"{path.name} does not tell which of {', '.join(others)} is the source of its "
                "release",
                hint=f"FROM {name}, and join tables of the file only",
            )
        taken = others if not meant else []
        for other in taken:
            if not other.strip() or other.startswith("/"):
                raise DataError(
                    f"FROM {other or repr(other)} is no name of a table",
                    hint=f"FROM {name}, or the name of its source",
                )
        notes = [
            f"{other} is read as the source of {name}: the file does not name its source"
            for other in taken
        ]
        return held, (name, *taken), notes

    @property
    def _beside(self) -> set[tuple[str, str]]:
        """The schema and name of each other table, in lower case."""
        return {((t.schema or "main").lower(), t.name.lower()) for t in self._tables}

    def _places(self, names: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
        """How a question may call the release with its schema, its database or both."""
        stem, beside = file_names.stem(self.path).lower(), self._beside
        called = [places(("main", n.lower()), stem, beside.__contains__) for n in names]
        return frozenset().union(*called)

    def _target(self, held: _Held) -> Answerable:
        """What can be asked of a release; the types of its columns are told by its values."""
        name = held.release.name
        if name not in self._targets:
            target = _answerable(self.session, held, (name,), self._tables)
            told = file_kinds.kind(self.path) not in _TYPELESS
            self._targets[name] = replace(target, told=told)
        return self._targets[name]


_TYPELESS = (file_kinds.TEXT, file_kinds.JSON, file_kinds.WORKBOOK)


def files_of(path: Path) -> tuple[Path, ...]:
    """A file and those beside it that are read with it, there or not."""
    if file_kinds.kind(path) == file_kinds.DATABASE:
        return (path,)
    return (path, *(file_names.beside(path, what) for what in ("dictionary", "catalog")))


@contextmanager
def opened(
    path: Path, connection: Any = None, settings: Settings | None = None
) -> Iterator[OpenFile]:
    """Open an exported file for questions.

    Args:
        path: a file of a release; those beside it are found by their names.
        connection: an open DuckDB connection to work on.
        settings: limits of an opened connection.

    Raises:
        DataError: the file cannot be read or holds no release.
    """
    database = path if file_kinds.kind(path) == file_kinds.DATABASE else None
    if connection is None:
        sealed = database is not None  # the other kinds are read while the question is answered
        session = ENGINE.open(database, read_only=True, settings=settings, sealed=sealed)
    else:
        session = ENGINE.over(connection, database, read_only=True)
    with session:
        session.enter()
        releases, tables = _of_database(session, path) if database else _of_files(session, path)
        yield OpenFile(session, path, releases, tables)


def _notes(held: _Held, target: Answerable) -> Iterator[str]:
    if target.truthful:
        yield "bounds cover the released records only: how many were suppressed is not in the file"
    elif held.dictionary is None:
        yield "no bounds: without a dictionary, nothing says that values are those of the source"
    elif _numbered(held.release):
        yield "no bounds: some records are counterfeit, and no catalog tells how many"
    else:
        yield "no bounds: its dictionary says that records have values of others"


# -- what a file holds -------------------------------------------------------------------------


def _of_database(session: Session, path: Path) -> tuple[list[_Held], tuple[Relation, ...]]:
    """The releases of a database file, and its other tables, named as in the file alone."""
    found = [
        replace(table, schema=None if table.schema == "main" else table.schema, catalog=None)
        for table in tables_of(session, session.catalog)
    ]
    main = {table.name.lower(): table for table in found if table.schema is None}

    def beside(name: str, fits: Callable[[Relation], bool]) -> Relation | None:
        table = main.get(name.lower())
        return table if table is not None and fits(table) else None

    releases = []
    for table in main.values():
        dictionary = beside(dictionary_name(table.name), hygiene.readable)
        catalog = beside(catalog_name(table.name), padded_release.listable)
        weights = beside(weighted_name(table.name), lambda view: view.find(WEIGHT) is not None)
        if dictionary is not None:
            releases.append(_Held(table, dictionary, catalog, weights if catalog else None))
    if not releases and session.is_release():
        releases = [_Held(table, None, None, None) for table in main.values()]
    if not releases:
        raise DataError(
            f"{path.name} holds no release: no table has its dictionary beside it",
            hint="give an exported release, or the spec of one",
        )
    names = [held.release.name.lower() for held in releases]
    own = {f"{name}{end}" for name in names for end in _OF_RELEASE}
    return releases, tuple(t for t in found if t.schema or t.name.lower() not in own)


_OF_RELEASE = ("", "_dictionary", "_catalog", "_weighted", "_truthful")


def _of_files(session: Session, path: Path) -> tuple[list[_Held], tuple[Relation, ...]]:
    """The release of a file of one table, with the files beside it, and no other tables."""
    views: list[Expr] = []
    dictionary = _beside(session, path, "dictionary", hygiene.MARKED, hygiene.readable, views)
    catalog = _beside(
        session, path, "catalog", padded_release.CATALOG, padded_release.listable, views
    )
    types = _types_written(session, dictionary) if dictionary is not None else {}
    release = _read(session, path, types, views)
    if release.names in [tuple(c.name for c in s) for s in (hygiene.DICTIONARY, hygiene.MARKED)]:
        raise DataError(
            f"{path.name} is the dictionary of a release", hint="give the file of the release"
        )
    return [_Held(release, dictionary, catalog, None, views)], ()


def _beside(
    session: Session,
    path: Path,
    what: str,
    shape: Sequence[Column],
    fits: Callable[[Relation], bool],
    views: list[Expr],
) -> Relation | None:
    """A table in a file beside that of the release, if it is there."""
    place = file_names.beside(path, what)
    if not place.is_file():
        return None
    found = _read(session, place, {c.name: c.type for c in shape}, views)
    if not fits(found):
        raise DataError(
            f"{place.name} is not what belongs beside a release",
            hint=f"put the file there that was exported with {path.name}",
        )
    return found


def _read(session: Session, path: Path, types: Mapping[str, str], views: list[Expr]) -> Relation:
    """The rows of a file, under the name that it has without its ending.

    The columns of a file of text have the given types, others what their cells tell.
    """
    kind = file_kinds.kind(path)
    if kind == file_kinds.PARQUET:
        return _made(session, path, "VIEW", file_kinds.parquet_rows(path), views)
    texts = file_kinds.csv_rows if kind == file_kinds.TEXT else json_files.text_rows
    if kind == file_kinds.WORKBOOK:
        text, _ = workbooks.foreign(session, path, "deid_text")
    else:
        text = file_kinds.load(session, path, "deid_text", texts(path))
    types = {**_typed_by_cells(session, text, [n for n in text.names if n not in types]), **types}
    cells = [aliased(cast(column(name), types[name]), name) for name in text.names]
    if kind == file_kinds.WORKBOOK:  # no SQL reads it, so nobody is shown how
        found = _made(session, path, "TABLE", select(*cells).from_(text.table), [])
        session.drop_temp(text.name)
        return found
    session.drop_temp(text.name)
    rows = select(*cells).from_(texts(path).subquery("cells"))
    return _made(session, path, "TABLE", rows, views)


def _made(
    session: Session, path: Path, kind: Literal["TABLE", "VIEW"], rows: Query, views: list[Expr]
) -> Relation:
    found = Relation(file_names.stem(path))
    made = creation(found.table, kind, rows, temporary=True)
    try:
        session.execute(made)
    except EngineError as error:
        raise file_kinds.unreadable(path, error) from None
    views.append(made)
    return replace(found, columns=session.describe(found.table))


# -- types -------------------------------------------------------------------------------------


TEXT = "VARCHAR"


def _typed_by_cells(session: Session, text: Relation, names: Sequence[str]) -> dict[str, str]:
    """The types of some columns that are read as text."""
    texts = [
        select(
            aliased(literal(name), "column_name"),
            aliased(column(name), "text"),
            aliased(literal(False), "bound"),
        ).from_(text.table)
        for name in names
    ]
    found = _types(session, union_all(*texts), measured=False) if texts else {}
    return dict.fromkeys(names, TEXT) | found


def _typed_by_dictionary(session: Session, dictionary: Relation) -> dict[str, str]:
    """The type of each column that a dictionary explains, inferred from its texts."""
    texts = step("publish/dictionary_texts", {"dictionary": dictionary})
    found = _types(session, texts, measured=True)
    return {name: found.get(name, TEXT) for name in _explained(session, dictionary)}


def _types_written(session: Session, dictionary: Relation) -> dict[str, str]:
    """The types in which a release with this dictionary is written: labels are text."""
    found = _typed_by_dictionary(session, dictionary)
    plain = _explained(session, dictionary)
    return {name: kind if plain[name] else TEXT for name, kind in found.items()}


def _explained(session: Session, dictionary: Relation) -> dict[str, bool]:
    """The columns that a dictionary explains, and whether they are released as they are."""
    rows = session.rows(step("publish/dictionary_columns", {"dictionary": dictionary}))
    return {str(name): bool(plain) for name, plain in rows}


# The narrowest first.
_TYPES = ("BOOLEAN", "BIGINT", "HUGEINT", "DATE", "TIMESTAMP", "DOUBLE")


def _types(session: Session, texts: Query, *, measured: bool) -> dict[str, str]:
    """The narrowest type of each column that has texts.

    Args:
        session: where the texts are.
        texts: `column_name`, `text`, `bound`.
        measured: whether numbers and dates are known by having bounds.
    """
    fitting = step("publish/column_types", {"texts": texts})
    names = ("column_name", "measured", *_TYPES)
    query = select(*map(column, names)).from_(fitting.subquery("fitting"))
    found = {}
    for name, bounded, *fit in session.rows(query):
        known = _TYPES if bounded or not measured else ("BOOLEAN",)
        fits = (kind for kind, does in zip(_TYPES, fit, strict=True) if does and kind in known)
        found[str(name)] = next(fits, TEXT)
    return found


# -- what can be asked -------------------------------------------------------------------------


def _answerable(
    session: Session, held: _Held, names: tuple[str, ...], tables: tuple[Relation, ...]
) -> Answerable:
    dictionary = held.dictionary
    types = {} if dictionary is None else _typed_by_dictionary(session, dictionary)
    generalized = {name.lower(): name for name in types}
    columns = tuple(
        Column(c.name, types[generalized[c.name.lower()]])
        if c.name.lower() in generalized and c.family == "text"
        else c
        for c in _of_records(held.release, generalized)
    )
    release, weight = held.release, None
    if held.catalog is not None:
        others = [c.name for c in columns if c.name.lower() not in generalized]
        release, weight = _weighing(session, held, held.catalog, others), WEIGHT
    return Answerable(
        source_names=names,
        columns=columns,
        quasi_identifiers=tuple(c.name for c in columns if c.name.lower() in generalized),
        release=release,
        dictionary=dictionary,
        weight=weight,
        truthful=_truthful(held),
        tables=tables,
    )


def _truthful(held: _Held) -> bool:
    """Whether the file shows that records are generalized ones, or tells which may not be."""
    if held.dictionary is None or held.dictionary.find(hygiene.TRUTHFUL.name) is not None:
        return False
    return held.catalog is not None or not _numbered(held.release)


def _numbered(release: Relation) -> bool:
    """Whether records carry the number of their class, as where some are counterfeit."""
    return release.columns[:1] == (Column(CLASS_ID, "BIGINT"),)


def _of_records(release: Relation, generalized: dict[str, str]) -> Iterator[Column]:
    """The columns that the source has too: no numbers of classes, and no bounds."""
    bounds = {f"{name}{end}" for name in generalized for end in ("_lower", "_upper")}
    both = {c.name.lower() for c in release.columns} & bounds
    for place, c in enumerate(release.columns):
        name = c.name.lower()
        stem, _, end = name.rpartition("_")
        other = f"{stem}_{'upper' if end == 'lower' else 'lower'}"
        if name in both and other in both:
            continue
        if place or not _numbered(release):
            yield c


def _weighing(session: Session, held: _Held, catalog: Relation, others: list[str]) -> Relation:
    """The release with the probability that each record is real."""
    if held.weighted is not None:
        return held.weighted
    found = Relation(weighted_name(held.release.name))
    sensitive = _sensitive(session, held.release, catalog, others)
    rows = weighted(held.release, catalog, sensitive)
    made = creation(found.table, "VIEW", rows, temporary=True)
    session.execute(made)
    held.views.append(made)
    return replace(found, columns=session.describe(found.table))


def _sensitive(
    session: Session, release: Relation, catalog: Relation, names: Sequence[str]
) -> str | None:
    """The column whose values a catalog counts; None where it counts records whatever they hold.

    Raises:
        DataError: it may be about several columns, or fits none.
    """
    blank = select(is_null(max_of(column("sensitive_value"))))
    (nothing,) = session.row(blank.from_(catalog.table))
    tables = {"release": release, "catalog": catalog}
    fitting = [
        name
        for name in names
        if session.row(step("publish/catalog_misfits", tables, {"sensitive": [name]})) == (0,)
    ]
    if nothing and (not fitting or _is_empty(session, catalog)):
        return None
    if nothing or len(fitting) != 1:
        raise DataError(
            f"{catalog.name} does not tell which column of {release.name} its values are of",
            hint="export the release as .duckdb, which has a view with the weights",
        )
    return fitting[0]


def _is_empty(session: Session, table: Relation) -> bool:
    return not session.rows(select("*").from_(table.table).limit(1))
