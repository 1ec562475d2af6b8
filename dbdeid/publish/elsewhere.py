"""Releases written into tables of attached databases, each verified from what is read back there.

A run fills new tables in one transaction of each database, lets the verifier read them back, and
lets them take the places of the old ones. Then its book is written, and then these transactions are
committed: a run that is killed before leaves nothing there, and one that is killed between the two
leaves the old release, whole, of which `verify` tells.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dbdeid.bind.source import attached_place
from dbdeid.engine.catalog import Book, BookedFile
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, VerificationError
from dbdeid.publish.tables import Public
from dbdeid.sources.attached import Database
from dbdeid.sources.rows import staged, temporary
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import published
from dbdeid.targets.shape import shaped
from dbdeid.targets.target import Target, opened
from dbdeid.verify import Check, Content, Declared, Verification, rows_digest, verify_stored
from dbdeid.workspace.atomic_files import remembered

_STAGED = "deid_new_"


@dataclass(frozen=True, slots=True)
class Place:
    """The tables of one release in an attached database.

    Attributes:
        name: as the spec names the first.
        database: where they are.
        tables: the release, then what lies beside it.
    """

    name: str
    database: Database
    tables: tuple[Relation, ...]

    def key(self, table: Relation, home: Path | None) -> str:
        """How the book calls a table: by the path of its file, relative to the book's own folder,
        or by the address of its server, without user and password."""
        path = self.database.path
        where = self.database.place if path is None else f"{remembered(path, home)}|"
        return f"{where}{table.schema}.{table.name}"


def _place(file: SpecFile, name: str, target: Target) -> Place:
    database, schema, table = attached_place(file, name)
    names = (table, *(f"{table}_{what}" for what in published(file.spec)))
    every = (Relation(one, schema=schema or target.schema) for one in names)
    return Place(name, database, tuple(every))


@contextmanager
def _targets(
    file: SpecFile, names: Sequence[str], *, writing: bool
) -> Iterator[list[tuple[Place, Target]]]:
    """The tables that a spec names, with a transaction for each database that they are in."""
    found: list[tuple[Place, Target]] = []
    targets: dict[str, Target] = {}
    with ExitStack() as stack:
        for name in names:
            database = attached_place(file, name)[0]
            # one file has one transaction, however many names it has
            where = str(database.path.resolve()) if database.path else database.alias
            if where not in targets:
                made = stack.enter_context(opened(database, writing=writing))
                _require_another(database, made, targets)
                targets[where] = made
            found.append((_place(file, name, targets[where]), targets[where]))
        _require_distinct(found)
        yield found


def _require_another(database: Database, made: Target, known: Mapping[str, Target]) -> None:
    """Refuse a second name of one database: its transactions would wait for each other.

    Raises:
        DataError: it is one that is known.
    """
    for alias, other in known.items():
        if (other.program, other.identity) == (made.program, made.identity):
            raise DataError(
                f"{alias} and {database.alias} are one database",
                hint=f"write `{alias}.` before the tables of `export` that are in it",
            )


def _require_distinct(found: Sequence[tuple[Place, Target]]) -> None:
    """Refuse tables of one name, also a dictionary's: the last would replace the others."""
    taken: dict[tuple[str, ...], str] = {}
    for place, target in found:
        for table in place.tables:
            key: tuple[str, ...] = (str(id(target)), str(table.schema), table.name)
            if target.program != "postgres":  # which may take letters of either case for the same
                key = tuple(part.lower() for part in key)
            if key in taken:
                raise DataError(
                    f"{taken[key]} and {place.name} both write {table.name!r} in "
                    f"{place.database.alias}",
                    hint="give each table of `export` a name of its own",
                )
            taken[key] = place.name


def require_reachable(
    file: SpecFile, names: Sequence[str], book: Book | None, home: Path | None
) -> None:
    """Refuse tables that could not be written, or that are not this release's, before any work.

    Raises:
        DataError: a database is not to be reached or written, or holds something else there.
        MissingExtra: its driver is not installed.
    """
    with _targets(file, names, writing=True) as found:
        for place, target in found:
            for table in place.tables:
                _known(place, target, table, file.spec.release, book, home)


def _known(
    place: Place,
    target: Target,
    table: Relation,
    release: str,
    book: Book | None,
    home: Path | None,
) -> frozenset[str] | None:
    """The digests of what this release's runs wrote into a table; None where there is none.

    Raises:
        DataError: it is something else, or nobody knows that it is theirs.
    """
    kind = target.found(table)
    if kind is None:
        return None
    key = place.key(table, home)
    known = [one for one in (book.tables() if book else ()) if one.path == key]
    called = f"the {kind} {table.name!r} in {place.database.alias}"
    if kind != "table" or not known:
        raise DataError(
            f"{called} exists and was not written by dbdeid for this database",
            hint="choose another name, or remove it first",
        )
    if known[0].release.lower() != release.lower():
        raise DataError(
            f"{called} holds the release {known[0].release!r}",
            hint="give each release tables of its own, or remove this one first",
        )
    return frozenset(one.sha256 for one in known)


@dataclass(frozen=True, slots=True)
class _Written:
    """New tables that wait for their places: each with its name, and the digest of its rows.

    Attributes:
        place: where they are to be.
        target: the transaction.
        tables: each as it is called now and later, and its digest.
        old: the tables that are replaced, which are locked.
    """

    place: Place
    target: Target
    tables: tuple[tuple[Relation, Relation, str], ...]
    old: frozenset[Relation]


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What a run has written into attached databases, verified there and not committed yet.

    Attributes:
        file: the spec.
        written: for each table that it names.
        declared: the shape and promises of the release.
        expected: the content of what was verified.
    """

    file: SpecFile
    written: tuple[_Written, ...]
    declared: Declared
    expected: Content | None

    def booked(self, release: str, home: Path | None) -> list[BookedFile]:
        """The tables as the book calls them."""
        return [
            BookedFile(release, one.place.key(table, home), digest, "")
            for one in self.written
            for _, table, digest in one.tables
        ]

    def swap(self) -> None:
        """Let the new tables take the places of the old ones, for this transaction only."""
        for one in self.written:
            for new, table, _ in one.tables:
                # what another has made meanwhile is not looked at yet, and stays
                move = one.target.swap if table in one.old else one.target.rename
                move(new, table)

    def commit(self) -> None:
        """Make the new tables last.

        Raises:
            DataError: a database could not commit.
        """
        for target in {id(one.target): one.target for one in self.written}.values():
            names = ", ".join(one.place.name for one in self.written if one.target is target)
            try:
                target.commit()
            except DataError as error:
                raise DataError(
                    f"{error.message}: {names} may hold the release before this one",
                    hint="the run is done otherwise; `dbdeid export SPEC TABLE` writes it there",
                ) from None
            target.close()

    def look(self) -> None:
        """Read the new tables once more, as anybody does from now on.

        Raises:
            DataError: one cannot be read.
            VerificationError: it gives something else than what was verified.
        """
        for one in self.written:
            name = one.place.name
            try:
                found = reopened(self.file, name, self.declared, self.expected, None, None)
            except DataError as error:
                raise DataError(
                    f"{name} was written and verified, and could not be read once more: "
                    f"{error.message}",
                    hint="`dbdeid verify SPEC` reads it again",
                ) from None
            _require(found, name, "what is read from it now is not what was verified")


@contextmanager
def delivering(
    file: SpecFile,
    names: Sequence[str],
    session: Session,
    book: Book | None,
    home: Path | None,
    declared: Declared,
    public: Public,
    expected: Content | None,
) -> Iterator[Deliveries]:
    """Write a release into tables of attached databases; uncommitted tables are removed afterwards.

    Args:
        file: the spec.
        names: of the tables, as specs write them.
        session: where the tables are.
        book: that tells which tables are this release's.
        home: its file.
        declared: the shape and promises of the release.
        public: what is published.
        expected: the content of what was verified.

    Raises:
        DataError: it cannot be written, or what is there is not this release's, or was changed.
        VerificationError: what is read back does not keep the promises.
    """
    with _targets(file, names, writing=True) as found:
        written = []
        for place, target in found:
            old = set()
            for table in place.tables:
                known = _known(place, target, table, file.spec.release, book, home)
                if known is not None:
                    target.lock(table)
                    _require_unchanged(place, target, table, known)
                    old.add(table)
            new = tuple(_filled(session, place, target, public))
            there, digests = _verified(place, target, new, declared, expected, booking=True)
            _require(there, place.name, "it failed its verification when it was read back")
            tables = tuple(zip(new, place.tables, digests, strict=True))
            written.append(_Written(place, target, tables, frozenset(old)))
        yield Deliveries(file, tuple(written), declared, expected)


def _filled(session: Session, place: Place, target: Target, public: Public) -> Iterator[Relation]:
    """New tables under names that nobody has."""
    for table, final in zip((public.released, *public.beside), place.tables, strict=True):
        new = replace(final, name=f"{_STAGED}{secrets.token_hex(8)}")
        shape = shaped(session, target.program, table, place.name)
        with session.batches(shape.rows) as rows:  # closed, or the database stays open
            target.write(new, shape, rows)
        yield new


def _require_unchanged(
    place: Place, target: Target, table: Relation, digests: frozenset[str]
) -> None:
    with ENGINE.open(None, read_only=True) as reader:
        found = rows_digest(reader, staged(reader, temporary("deid_old"), target.rows(table)))
    if found not in digests:
        raise DataError(
            f"the table {table.name!r} in {place.database.alias} was changed since dbdeid wrote it",
            hint="rename it there if it is still wanted, or drop it",
        )


def _verified(
    place: Place,
    target: Target,
    tables: Sequence[Relation],
    declared: Declared,
    expected: Content | None,
    *,
    booking: bool,
) -> tuple[Verification, list[str]]:
    """What the verifier finds in tables, read back into a session that knows nothing else, and the
    digests of their rows where they are to be booked, or to tell what is wrong."""
    with ENGINE.open(None, read_only=True) as reader:
        reader.keep_order()
        read = [
            staged(reader, temporary(f"deid_read_{number}"), target.rows(table))
            for number, table in enumerate(tables)
        ]
        listed, counts = (*read[1:], None, None)[:2]
        found = verify_stored(reader, target.program, (read[0], listed, counts), declared, expected)
        wanted = read if booking or not found.verified else ()
        return found, [rows_digest(reader, table) for table in wanted]


def reopened(
    file: SpecFile,
    name: str,
    declared: Declared,
    expected: Content | None,
    book: Book | None,
    home: Path | None,
) -> Verification:
    """Verify a release in an attached database, as anybody reads it.

    Args:
        file: the spec.
        name: of the table, as the spec names it.
        declared: the shape and promises of the release.
        expected: the content of what was verified.
        book: that tells whether it is of an earlier run.
        home: its file.

    Raises:
        DataError: it cannot be read, or is gone.
        MissingExtra: its driver is not installed.
    """
    with _targets(file, [name], writing=False) as found:
        place, target = found[0]
        for table in place.tables:
            if target.found(table) is None:
                raise DataError(
                    f"{table.name!r} in {place.database.alias} is gone",
                    hint=f"`dbdeid export SPEC {name}` writes it there",
                )
        verification, digests = _verified(
            place, target, place.tables, declared, expected, booking=False
        )
    if verification.verified or not _earlier(place, digests, book, home):
        return verification
    told = f"holds an earlier run: `dbdeid export SPEC {name}` writes the last one there"
    return Verification((), (Check("table", False, told),))


def _earlier(place: Place, digests: Sequence[str], book: Book | None, home: Path | None) -> bool:
    """Whether tables are what runs before the last one wrote."""
    booked = book.tables() if book else ()  # newest first
    older = False
    for table, digest in zip(place.tables, digests, strict=True):
        key = place.key(table, home)
        known = [one.sha256 for one in booked if one.path == key]
        if digest not in known:
            return False
        older |= digest != known[0]
    return older


def _require(found: Verification, name: str, why: str) -> None:
    if not found.verified:
        raise VerificationError(
            f"{name}: {why}: " + "; ".join(found.failures),
            hint="see whether the database changes what it is given: a trigger, a rule, a policy",
        )
