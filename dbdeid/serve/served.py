"""The releases that a server answers from, by the names under which clients ask for them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dbdeid.commands.queries.open_release import OpenRelease
from dbdeid.commands.queries.opened import databases_of
from dbdeid.engine import file_names
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.query.clients.questions import OF_ENGINES, Name
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
        unnamed: the only release, where it is of a file, which does not tell how its source is
            called; None of others.
        skipped: the databases of folders that are not served, and why.
    """

    tables: tuple[ServedTable, ...]
    places: Mapping[Name, Place]
    unnamed: Place | None = None
    skipped: Mapping[Path, str] = field(default_factory=dict)

    def find(self, name: Name) -> tuple[Place, str] | None:
        """Where a table is answered from and how it is called there; None where it is unknown.

        As `dbdeid query` has it, any name that a file does not know is that of its source.

        Args:
            name: with what qualifies it, in lower case.
        """
        if name in self.places:
            place = self.places[name]
            return place, place.name
        *qualifiers, plain = name
        own = not qualifiers or qualifiers[-1] in _SCHEMAS
        if self.unnamed is None or not own or plain.startswith(OF_ENGINES):
            return None
        return self.unnamed, plain


@contextmanager
def served(sources: Sequence[Path], settings: Settings | None = None) -> Iterator[Served]:
    """Open releases for clients.

    A release is called by its own name, and by that of its source where no other one is.

    Args:
        sources: specs, exported files, or folders of exported databases.
        settings: limits of the engine.

    Raises:
        DataError: one is no release, may not be published, or two are called alike; of a folder,
            none is a release.
    """
    with ExitStack() as undo:
        tables: list[ServedTable] = []
        places: dict[str, Place] = {}
        other: list[tuple[str, Place]] = []
        opened, skipped = _opened(sources, settings)
        for _, release in opened:
            undo.callback(release.close)
        for path, release in opened:
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
        alone = len(opened) == 1 and len(tables) == 1 and file_names.holds_table(opened[0][0])
        unnamed = next(iter(places.values())) if alone else None
        yield Served(tuple(tables), dict(_qualified(places)), unnamed, skipped)


def _opened(
    sources: Iterable[Path], settings: Settings | None
) -> tuple[list[tuple[Path, OpenRelease]], dict[Path, str]]:
    """The releases, and those databases of folders that are none, with the reason."""
    opened: list[tuple[Path, OpenRelease]] = []
    skipped: dict[Path, str] = {}
    with ExitStack() as undo:  # unless all goes well
        for source in sources:
            folder = source.is_dir()
            before = len(opened)
            for path in databases_of(source) if folder else (source,):
                try:
                    release = OpenRelease(path, settings=settings, for_others=True)
                except DbdeidError as error:
                    if not folder:
                        raise
                    skipped[path] = error.message
                    continue
                undo.callback(release.close)
                opened.append((path, release))
            if folder and len(opened) == before:
                whys = "; ".join(skipped.values())
                raise DataError(
                    f"{source} holds no release that can be served: {whys}",
                    hint="name the spec of a release, an exported file, or a folder of them",
                )
        undo.pop_all()
    return opened, skipped


def _table(place: Place, source: str | None = None) -> ServedTable:
    """A release as clients see it, under its own name or that of its source."""
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
