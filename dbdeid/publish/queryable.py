"""A release of a spec as a place to ask questions that were written for its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.bind.source import table_in_database
from dbdeid.data.location.file_formats import ending_of, is_pattern
from dbdeid.engine.catalog import SCHEMA, Book
from dbdeid.engine.reading import table_parts
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.publish.tables import Public
from dbdeid.query.parse.answerable import Answerable
from dbdeid.record.border import record_of
from dbdeid.spec.names import dictionary_name, frontier_of, objects_of
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.verify import Declared

Place = tuple[str, str]


def answerable(
    bound: Bound, session: Session, public: Public, declared: Declared, *, staged: bool = True
) -> Answerable:
    """A release of a spec as a place to ask questions.

    Args:
        bound: the spec of the release.
        session: where the release and the owner's database are.
        public: what is published, staged or written.
        declared: its promises.
        staged: whether the weights of records are staged, for many questions; for one the view
            that is published beside the release will do.
    """
    padding = declared.padding
    sensitive = padding.sensitive if padding else None
    released, weight = public.answering(session, sensitive, staged=staged)
    if not released.columns:
        released = replace(released, columns=session.describe(released.table))
    masked = bound.spec.method.can.values == "means"
    generalized = bound.quasi_identifiers if public.dictionary is not None else ()
    asked = [c for c in bound.released if not c.spec.pseudonym]
    return Answerable(
        source_names=names_of_source(bound.spec),
        columns=tuple(_asked(c, released, masked=masked) for c in asked),
        quasi_identifiers=tuple(c.name for c in generalized),
        release=released,
        dictionary=public.dictionary,
        weight=weight,
        truthful=_truthful(bound),
        tables=joinable(bound, session),
        places=_places(bound, session),
        withheld=frozenset(c.name.lower() for c in bound.columns if c not in asked),
    )


def _places(bound: Bound, session: Session) -> frozenset[tuple[str, ...]]:
    """How a query may call the source and its release with a schema, a database or both.

    A name that is another table's in the owner's database means that table.
    """
    spec, owner = bound.spec, session.catalog.lower()
    target = Path(spec.target).stem.lower() if spec.target else owner
    release = ("main", spec.release.lower())
    *_, source = _of_source(bound, session)
    ours = {source} if target != owner else {source, release}

    def is_anothers(place: Place) -> bool:
        schema, name = place
        return place not in ours and session.exists(name, schema) is not None

    return places(source, owner, is_anothers) | places(release, target, is_anothers)


def places(
    of: Place, catalog: str, is_anothers: Callable[[Place], bool]
) -> frozenset[tuple[str, ...]]:
    """The dotted names of a table that are no other's, in parts.

    Args:
        of: its schema and name.
        catalog: what its database is called.
        is_anothers: whether another table or view has a schema and name.
    """
    schema, name = of
    found: set[tuple[str, ...]] = {(catalog, schema, name)}
    own = not is_anothers(of)
    if own:
        found.add(of)
    if own and schema == "main":
        found.add((name,))
    if schema == "main" and not is_anothers((catalog, name)):
        found.add((catalog, name))
    return frozenset(found)


def source_names(source: str, *, attached: bool = False) -> tuple[str, ...]:
    """How queries may name the source: as the spec spells it; a file also without its folder.

    >>> source_names("../visits.csv.gz")
    ('../visits.csv.gz', 'visits.csv.gz', 'visits')
    >>> source_names("export/visits/")
    ('export/visits/', 'visits')
    >>> source_names("clinic.public.visits", attached=True)
    ('clinic.public.visits', 'public.visits', 'visits')

    Args:
        source: its name in the spec.
        attached: whether it begins with the name of a database that the spec attaches.
    """
    if attached:
        parts = table_parts(source)
        return source, *(".".join(parts[at:]) for at in range(1, len(parts)))
    if is_pattern(source) or source.endswith("/"):
        plain = [part for part in Path(source).parts if not is_pattern(part)]
        return source, *plain[-1:]
    ending = ending_of(source)
    if not ending:
        return (source,)
    file = Path(source).name
    return tuple(dict.fromkeys((source, file, file[: -len(ending)] or file)))


def names_of_source(spec: ReleaseSpec) -> tuple[str, ...]:
    """How queries may name the source of a specification."""
    name = spec.source_name
    return source_names(name, attached=spec.source_kind == "attached")


def _asked(found: BoundColumn, released: Relation, *, masked: bool) -> Column:
    """Return a column with its type in queries: as released where means replace the values."""
    written = released.find(found.name)
    if masked and found.spec.role == "quasi_identifier" and written is not None:
        return written  # the mean of whole numbers is none
    return asked_as(found.column)


def asked_as(source: Column) -> Column:
    """A column with the type that queries of its own values use: moments are those of UTC."""
    utc = source.type == "TIMESTAMP WITH TIME ZONE"
    return Column(source.name, "TIMESTAMP") if utc else source


def _truthful(bound: Bound) -> bool:
    """Whether each record is a generalized record of the source, or told to be counterfeit."""
    method = bound.spec.method
    return method.can.truthful or method.catalogued


# -- ordinary tables ---------------------------------------------------------------------------


def joinable(bound: Bound, session: Session) -> tuple[Relation, ...]:
    """The tables of the owner's database with which a release may be joined.

    Not the source, no released object nor what lies beside it, and nothing of dbdeid's own.
    """
    hidden = {*_of_source(bound, session), *_own(bound), *_booked(session, session.catalog)}
    return tuple(
        table
        for table in tables_of(session, session.catalog)
        if (str(table.schema).lower(), table.name.lower()) not in hidden
    )


def tables_of(session: Session, catalog: str) -> tuple[Relation, ...]:
    """Tables of an attached database with their columns, without dbdeid's own schema."""
    rows = session.rows(step("publish/columns_of_tables", values={"catalog": catalog}))
    found = []
    for (schema, name), columns in groupby(rows, key=lambda row: row[:2]):
        if str(schema).lower() != SCHEMA:
            described = tuple(Column(str(c[2]), str(c[3])) for c in columns)
            found.append(Relation(str(name), described, str(schema), catalog))
    return tuple(found)


def _of_source(bound: Bound, session: Session) -> Iterator[Place]:
    name = bound.spec.source_name
    yield "main", name.lower()
    if bound.file.source_kind == "table" and (table := table_in_database(session, name)):
        yield str(table.schema).lower(), table.name.lower()


def _own(bound: Bound) -> Iterator[Place]:
    spec = bound.spec
    names = (*objects_of(spec.release, spec), dictionary_name(spec.release), *frontier_of(spec))
    yield from (("main", name.lower()) for name in names)


def _booked(session: Session, catalog: str) -> Iterator[Place]:
    """What runs have written into a database, by the book in it."""
    book = Book(session, catalog)
    for entry in book.entries():
        beside = record_of(entry).companions
        names = [entry.release, *(f"{entry.release}_{what}" for what in beside)]
        names += book.frontier_of(entry.release)
        yield from (("main", name.lower()) for name in names)
