"""What can be done with a release that exists: verify it, evaluate it, export it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.bind import any_table
from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import Source, read
from dbdeid.commands.results import Evaluated, Verified
from dbdeid.data.location.address import is_server, without_secret
from dbdeid.data.source_files import database_kind
from dbdeid.engine import regular
from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.file_names import KINDS, given_path, is_export
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, VerificationError
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import evaluate_workload
from dbdeid.evaluation.fidelity import fidelity
from dbdeid.external import metrics as external_measures
from dbdeid.external import verify as external_work
from dbdeid.prepare import fingerprints, populations, pseudonyms
from dbdeid.privacy import ROWS, Counting
from dbdeid.publish import elsewhere, export, hierarchy_rules
from dbdeid.publish.promises import declare
from dbdeid.publish.tables import Public
from dbdeid.record.border import damaged, record_of
from dbdeid.release.reuse_levels import require_same
from dbdeid.spec.file import SpecFile, read_text
from dbdeid.spec.metric_spec import kept_metrics
from dbdeid.spec.names import is_external, refuse
from dbdeid.spec.release_spec import published
from dbdeid.verify import (
    Check,
    Content,
    ContentProof,
    Declared,
    Twin,
    Verification,
    compared,
    contents,
    unique,
    verify_bare,
    verify_table,
    verify_views,
)
from dbdeid.workspace.atomic_files import put_in_place, remembered, staging
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.standing import require_publishable, unpublishable
from dbdeid.workspace.workplace import Workplace, never_run, workplace


@dataclass(frozen=True, slots=True)
class Existing:
    """A release as its last run left it, opened for reading.

    Attributes:
        work: the session and the files.
        file: the spec.
        book: where the run is remembered.
        entry: the last run.
        public: the released table and those beside it.
    """

    work: Workplace
    file: SpecFile
    book: Book
    entry: Entry
    public: Public

    def bound(self) -> Bound:
        """The specification, validated against its database."""
        return bind(self.file, self.work.session)

    def declared(self, bound: Bound) -> Declared:
        """What the spec promises now, at the levels of the last run.

        Raises:
            DataError: the private book does not tell how the release was made.
        """
        record = record_of(self.entry)
        known = {c.name: c for c in record.columns if c.height is not None}
        if record.source_rows is None:
            raise damaged(self.entry.release, "source_rows")
        try:
            return declare(
                bound,
                self.entry.transformation,
                {name: c.height for name, c in known.items() if c.height is not None},
                record.source_rows,
                unchanged=[name for name, c in known.items() if c.released_type != "VARCHAR"],
                padded=record.padding.to_dict() if record.padding else None,
                weighed=record.weighed.to_dict() if record.weighed else None,
                synthetic=record.synthetic.to_dict() if record.synthetic else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.entry.release, type(error).__name__) from None


@contextmanager
def existing(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Iterator[Existing]:
    """Open the release of a spec.

    Raises:
        DataError: it was never run, or what the run wrote is gone.
    """
    refuse(file, "no run is remembered of it", "verify, evaluate, query and report need none")
    with workplace(file, connection, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
        if work.book is None or entry is None:
            raise never_run(file, work)
        catalog = work.session.catalog
        if work.places.target is not None:
            catalog = work.session.attach(work.places.target, read_only=True)
        released = Relation(entry.release, schema="main", catalog=catalog)
        beside = {
            what: Relation(f"{entry.release}_{what}", schema="main", catalog=catalog)
            for what in published(read_text(entry.spec).spec)
        }
        public = Public(released, beside.get("dictionary"), beside.get("catalog"))
        if work.session.exists(entry.release, "main", catalog) is None:
            raise DataError(f"the released table {entry.release!r} is gone", hint="run it again")
        yield Existing(work, file, work.book, entry, public)


def verify(
    source: Source,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    trial: bool = False,
) -> Verified:
    """Verify the release of a spec again: the table against its source, and every file reopened.

    Where the source has changed since, the release is verified against what was written then, and
    `source_changed` says what could not be compared. `unpublishable` says that nobody else is to
    have it all the same. With `trial` it is its trial that is verified.

    Raises:
        DataError: there is no verifiable release of this spec.
    """
    database = given_path(database)
    file = read(source, connection, database, trial=trial)
    if is_external(file):
        made = external_work.verify(file, connection, database=database, settings=settings)
        return Verified(made.promises, made.hygiene, made.unique)
    with existing(file, connection, database=database, settings=settings) as found:
        if found.entry.kind == "view":
            raise DataError(
                "a preview view is internal and never verified", hint="release it as a table"
            )
        require_same(found.file, found.entry, besides=("privacy",))
        given = unpublishable(found.book, found.entry)
        bound = found.bound()
        declared = found.declared(bound)
        session, target, public = found.work.session, found.work.places.target, found.public
        # a target's content is looked at in the file, reopened
        kept = None if target else _kept(found)
        table = _verified(found, bound, declared, kept)
        changed = fingerprints.source_change(record_of(found.entry), bound, session)
        if changed is not None and (changed.rows_then != changed.rows_now or not table.verified):
            then = _verified_alone(found, declared, kept)
            known = {promise.model for promise in then.promises}
            untold = tuple(p.model for p in table.promises if p.model not in known)
            table, changed = then, replace(changed, not_compared=untold)
        else:
            changed = None
        released = session.relation(public.released.name, catalog=public.released.catalog)
        alone = unique(session, released, declared.pseudonyms)
        if target is None and public.catalog is not None:
            seen = verify_views(session, public.released, declared, public.catalog)
            table = replace(table, hygiene=(*table.hygiene, seen))
        if public.dictionary is not None:
            book, record = found.book.of_release(found.entry.release), record_of(found.entry)
            again = hierarchy_rules.checks(
                bound, session, declared, record, book, public.dictionary
            )
            table = replace(table, hygiene=(*table.hygiene, *again))
        files = [*([target] if target else []), *found.work.places.exports]
        expected = expected_content(found, declared)
        if target is not None:
            session.detach(str(public.released.catalog))
        digests: dict[str, str] = {}
        for booked in found.book.files():  # newest first
            digests.setdefault(booked.path, booked.sha256)
        reopened: list[tuple[str, Verification]] = []
        twin: Twin | None = None
        for path in files:
            names = companions(path, found.file.spec)
            of_file, twin = _reopened(names, declared, expected, twin)
            if of_file.verified:  # else what it holds says more
                of_file = replace(
                    of_file, hygiene=(*of_file.hygiene, *_unlike(names, digests, found.work.home))
                )
            reopened.append((path.name, of_file))
        for name in found.work.places.tables:
            home = found.work.home
            there = elsewhere.reopened(found.file, name, declared, expected, found.book, home)
            reopened.append((name, there))
    verified = _together(replace(table, unique=alone), reopened)
    return replace(verified, source_changed=changed, unpublishable=given)


def verify_alone(
    source: str,
    table: str | None,
    quasi_identifiers: tuple[str, ...],
    k: int | None,
    counting: Counting = ROWS,
    settings: Settings | None = None,
) -> Verification:
    """Verify the k-anonymity of a file, or of a table of any database, without a spec.

    Of a table in a database of another program its rows are looked at, and nothing beside them.

    Args:
        source: the file, or the address of a server.
        table: which of a database that holds several.
        quasi_identifiers: their names.
        k: the smallest class that is accepted.
        counting: what a class counts, and what a NULL equals.
        settings: limits of the engine.

    Raises:
        DataError: it is not there, cannot be read, or does not have the columns.
        MissingExtra: a library that it needs is not installed.
    """
    path = Path(source)
    server = is_server(source)
    called = without_secret(source) if server else source
    if not server and not path.suffix and not path.exists():
        raise DataError(f"{called}: no such file or folder", hint="look at how it is spelled")
    if not quasi_identifiers or k is None:
        raise DataError(
            f"{called}: a file or table without a spec needs --qi and --k",
            hint=f"dbdeid verify {called} --qi age,zip --k 5",
        )
    if not (server or (path.is_file() and database_kind(path) == "sqlite")):
        return verify_bare(
            path, quasi_identifiers, k, counting=counting, table=table, settings=settings
        )
    with any_table.opened(source, table, settings, sealed=True) as found:
        rows = found.staged(table or "release")
        return verify_bare((found.session, rows), quasi_identifiers, k, counting=counting)


def _verified_alone(found: Existing, declared: Declared, kept: Content | None) -> Verification:
    """The released table held against what was written and verified when it was made."""
    return verify_table(
        found.work.session,
        found.public.released,
        declared,
        dictionary=found.public.dictionary,
        catalog=found.public.catalog,
        flagged=found.book.counterfeits_of(found.entry.release) if declared.padding else None,
        same_as=kept,
    )


def expected_content(found: Existing, declared: Declared) -> Content | None:
    """What each file of a release must hold: what was verified, or, where an earlier version kept
    none of it, what the tables hold now."""
    return _kept(found) or contents(found.work.session, declared, *found.public.tables)


def _kept(found: Existing) -> Content | None:
    """The content that was verified when the release was made, if any was kept."""
    then = record_of(found.entry).content
    return None if then is None else Content.of_dict(then.to_dict())


def _verified(
    found: Existing, bound: Bound, declared: Declared, kept: Content | None
) -> Verification:
    """The released table held against its source."""
    session, book, release = found.work.session, found.book, found.entry.release
    then = record_of(found.entry).proven
    return verify_table(
        session,
        found.public.released,
        declared,
        dictionary=found.public.dictionary,
        catalog=found.public.catalog,
        flagged=book.counterfeits_of(release) if declared.padding else None,
        then=ContentProof.of_dict(then.to_dict()) if then else None,
        same_as=kept,
        source=pseudonyms.replaced(bound, session),
        hierarchies=book.of_release(release) if declared.explained else None,
        clusters=book.clusters_of(release) if declared.synthesized else None,
        populations=populations.by_name(populations.population_tables(bound, session)),
    )


def _require(found: Verification) -> None:
    if not found.verified:
        raise VerificationError(
            "the released table no longer keeps its promises and was not exported: "
            + "; ".join(found.failures),
            hint="run the spec again",
        )


def _reopened(
    files: tuple[Path, ...], declared: Declared, expected: Content | None, twin: Twin | None
) -> tuple[Verification, Twin | None]:
    path = files[0]
    if not path.exists():
        raise DataError(f"{path.name} is gone", hint="run the spec again")
    try:
        return export.reopened(files, declared, expected, twin)
    except DataError as error:  # somebody has damaged it
        return Verification((), (Check("readable", False, error.message),)), twin


def _unlike(
    files: tuple[Path, ...], digests: Mapping[str, str], home: Path | None
) -> Iterator[Check]:
    """Files whose bytes are not those that the book keeps: other programs may read them otherwise.

    One that an earlier version wrote may not be in the book, and is told by its rows alone.
    """
    for path in files:
        kept = digests.get(remembered(path, home))
        if kept is not None and regular.digest(path) != kept:
            yield Check(
                "file",
                False,
                f"{path.name} holds the rows that were verified, but is not byte by byte the file "
                "that was written: move it elsewhere, and run the spec again",
            )


def _together(table: Verification, files: list[tuple[str, Verification]]) -> Verified:
    """All that was found, the checks of a file named after it."""
    promises, hygiene = list(table.promises), list(table.hygiene)
    for name, found in files:
        promises += [replace(p, model=f"{p.model} ({name})") for p in found.promises]
        hygiene += [replace(c, check=f"{c.check} ({name})") for c in found.hygiene]
    return Verified(tuple(promises), tuple(hygiene), table.unique)


def evaluate(
    source: Source,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    trial: bool = False,
) -> Evaluated:
    """Utility of the release of a spec: its metrics, and its workload on source and release.

    With `trial` of its trial.

    Raises:
        DataError: there is no release of this spec, or none that its spec still fits.
    """
    database = given_path(database)
    file = read(source, connection, database, trial=trial)
    if is_external(file):
        worth, missing = external_measures.evaluate(
            file, connection, database=database, settings=settings
        )
        return Evaluated.of(
            "unknown", worth.metrics, worth.queries, worth.models, not_measured=missing
        )
    with existing(file, connection, database=database, settings=settings) as found:
        require_same(found.file, found.entry)
        workload, models = None, None
        why = unpublishable(found.book, found.entry)
        metrics = dict(found.entry.metrics)
        if found.entry.kind != "view":
            bound, session = found.bound(), found.work.session
            declared = found.declared(bound)
            workload = evaluate_workload(bound, session, found.public, declared)
            hierarchies = None
            if declared.explained:
                hierarchies = found.book.of_release(found.entry.release)
            originals = recipients.originals(bound, session)
            models = recipients.compared(
                bound, session, originals, found.public, hierarchies, declared
            )
            # what the run was not asked for
            wanted = {*kept_metrics(bound.spec.evaluate.metrics)} - metrics.keys()
            alike = fidelity(bound, session, found.public, hierarchies, declared, wanted)
            metrics |= alike.metrics
        recoding = record_of(found.entry).recoding
        return Evaluated.of(recoding, metrics, workload, models, unpublishable=why)


@contextmanager
def exportable(
    file: SpecFile, *, database: Path | None = None, settings: Settings | None = None
) -> Iterator[Existing]:
    """Open a release that may be exported.

    Raises:
        DataError: it was made elsewhere or never run, it is a view, a trial or withdrawn, or its
            spec has changed since.
    """
    refuse(file, "is not exported", "give away that table, or a file of it")
    with existing(file, database=database, settings=settings) as found:
        if found.entry.kind == "view":
            raise DataError(
                "a preview view is internal and never exported", hint="release it as a table"
            )
        require_publishable(found.book, found.entry, "it is not exported")
        require_same(found.file, found.entry)
        yield found


def export_release(
    source: Source,
    destination: Path,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> tuple[Path, ...]:
    """Export the release of a spec to a new file, verified after reopening.

    Or to a table of a database that the spec attaches, `warehouse.public.visits`: a new one, or one
    that a run of the spec has written.

    Raises:
        DataError: the destination exists or its ending is unknown, or the release is a view, a
            trial, or withdrawn.
        VerificationError: the file does not keep the promises; it is removed.
    """
    file = read(source, database=database)
    table = str(destination)
    if not is_export(table) and file.spec.attached_as(table) is not None:
        return _export_table(file, table, database, settings)
    if not is_export(destination.name):
        raise DataError(
            f"{destination.name}: unknown kind of export, and no table of a database of `attach`",
            hint=f"use {KINDS}, or a table as warehouse.public.visits",
        )
    finals = companions(destination, file.spec)
    for path in finals:
        if path.exists():
            raise DataError(f"{path.name} exists", hint="choose another name or remove it first")
    if not destination.resolve().parent.is_dir():
        raise DataError(f"the folder {destination.parent} does not exist", hint="create it first")
    with exportable(file, database=database, settings=settings) as found:
        declared = _as_verified(found)
        expected, session = expected_content(found, declared), found.work.session
        with staging(None) as stage:
            files, _ = export.write(session, stage, finals, declared, found.public, expected)
            with uninterrupted():
                put_in_place(files)
    return finals


def _export_table(
    file: SpecFile, name: str, database: Path | None, settings: Settings | None
) -> tuple[Path, ...]:
    with exportable(file, database=database, settings=settings) as found:
        declared = _as_verified(found)
        expected, work = expected_content(found, declared), found.work
        with elsewhere.delivering(
            file, [name], work.session, found.book, work.home, declared, found.public, expected
        ) as tables:
            tables.swap()
            with uninterrupted():
                tables.commit()
            tables.look()
    return (Path(name),)


def _as_verified(found: Existing) -> Declared:
    """What a release promises that is as it was when it was verified.

    Raises:
        VerificationError: it is not.
    """
    bound = found.bound()
    declared = found.declared(bound)
    if declared.subject is not None:
        # whose records they are is not told by a file: its content is held against this table
        _require(_verified(found, bound, declared, _kept(found)))
    elif (kept := _kept(found)) is not None:
        checks = compared(found.work.session, declared, *found.public.tables, kept)
        _require(Verification((), tuple(checks)))
    return declared
