"""The releases that a server answers from, by the names under which clients ask for them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbdeid.commands.queries.open_release import OpenRelease
from dbdeid.commands.queries.opened import databases_of
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.query.clients.questions import Name
from dbdeid.serve.catalog import ServedTable

DATABASE = "releases"
# What clients look in first for the names of databases.
ALSO = "postgres"
_SCHEMAS = ("public", "main")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is answered from.

    Attributes:
        release: the file or spec.
        name: of the release in it.
        columns: the types of its columns, as DuckDB writes them.
        turn: who holds it may ask the file or spec.
    """

    release: OpenRelease
    name: str
    columns: Mapping[str, str]
    turn: threading.Lock


@dataclass(frozen=True, slots=True)
class Served:
    """What a server answers from.

    Attributes:
        tables: as clients are told of them.
        places: where each is answered from, by how a query may name it, in lower case.
    """

    tables: tuple[ServedTable, ...]
    places: Mapping[Name, Place]


@contextmanager
def served(sources: Sequence[Path], settings: Settings | None = None) -> Iterator[Served]:
    """Open releases for clients.

    A release is called by its own name, and by that of its source where no other one is.

    Args:
        sources: specs, exported files, or folders of exported databases.
        settings: limits of the engine.

    Raises:
        DataError: one is no release, may not be published, or two are called alike.
    """
    with ExitStack() as undo:
        tables: list[ServedTable] = []
        places: dict[str, Place] = {}
        other: list[tuple[str, Place]] = []
        for path in _files(sources):
            release = OpenRelease(path, settings=settings, for_others=True)
            undo.callback(release.close)
            turn = threading.Lock()
            for name in release.releases:
                columns = release.columns(name)
                if name.lower() in places:
                    raise DataError(
                        f"two releases are called {name}, the second one in {path}",
                        hint="serve them apart, on two ports",
                    )
                place = Place(release, name, columns, turn)
                places[name.lower()] = place
                tables.append(_table(place))
                other += [(n.lower(), place) for n in release.source_names if "/" not in n]
        taken = Counter(name for name, _ in other)
        for name, place in other:
            if taken[name] == 1 and name not in places:
                places[name] = place
                if "." not in name:  # as those know it who have SQL for the source
                    tables.append(_table(place, name))
        yield Served(tuple(tables), dict(_qualified(places)))


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            yield from databases_of(source)
        else:
            yield source


def _table(place: Place, source: str | None = None) -> ServedTable:
    """A release as clients are told of it, under its own name or that of its source."""
    told = "may be generalized: what is asked of it has bounds"
    comments = dict.fromkeys(place.release.quasi_identifiers(place.name), told)
    untold = (
        "generalized to values that do not tell what they stand for: refused in conditions and "
        "groups until its owner declares `domain`, or `lower` and `upper`, and releases again"
    )
    comments |= dict.fromkeys(place.release.untold(place.name), untold)
    what = "a release" if source is None else f"the release {place.name} by the name of its source"
    return ServedTable(
        source or place.name,
        place.columns,
        f"{what}: answers are expected values, with bounds where they are not exact",
        {name: comments[name] for name in place.columns if name in comments},
    )


def _qualified(places: Mapping[str, Place]) -> Iterator[tuple[Name, Place]]:
    for name, place in places.items():
        yield (name,), place
        for schema in _SCHEMAS:
            yield (schema, name), place
            yield (DATABASE, schema, name), place
