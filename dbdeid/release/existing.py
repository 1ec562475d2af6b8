"""What can be done with a release that exists: verify it, evaluate it, export it, list it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, SpecError, VerificationError
from dbdeid.release import (
    export,
    external_measures,
    external_work,
    populations,
    pseudonyms,
    recipients,
)
from dbdeid.release.bind import Bound, bind
from dbdeid.release.declared import declare
from dbdeid.release.evaluate import evaluate_workload
from dbdeid.release.external import is_external, refuse
from dbdeid.release.fidelity import fidelity
from dbdeid.release.journal import put_in_place, recover, staging
from dbdeid.release.metric_spec import kept_metrics
from dbdeid.release.public import Public
from dbdeid.release.spec import EXPORTS, published
from dbdeid.release.specfile import SpecFile, read, read_text
from dbdeid.release.told import Evaluated, Verified
from dbdeid.release.workplace import (
    Workplace,
    companions,
    private_of,
    workplace,
)
from dbdeid.verify import (
    Check,
    Content,
    Declared,
    Proven,
    Verification,
    stored_content,
    verify_table,
    verify_views,
)


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
        """The spec held against its database."""
        return bind(self.file, self.work.session)

    def declared(self, bound: Bound) -> Declared:
        """What the spec promises now, at the levels of the last run."""
        record = self.entry.record
        known = {c["name"]: c for c in record["columns"] if c["height"] is not None}
        return declare(
            bound,
            self.entry.transformation,
            {name: c["height"] for name, c in known.items()},
            record["source_rows"],
            unchanged=[name for name, c in known.items() if c["released_type"] != "VARCHAR"],
            padded=record.get("padding"),
            weighed=record.get("weighed"),
            synthetic=record.get("synthetic"),
        )


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
            raise DataError(
                f"release {file.spec.release!r} was never run here", hint="run the spec first"
            )
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


def require_same(file: SpecFile, entry: Entry, *, besides: tuple[str, ...] = ()) -> None:
    """Refuse to speak of a release for a spec that has changed since.

    Args:
        file: the spec now.
        entry: the last run.
        besides: keys that may differ; `evaluate`, `rerelease` and what a project asks always may.

    Raises:
        DataError: the spec is not the one that made the release.
    """
    loose = {"evaluate", "expect", "rerelease", "tags", "depends_on", *besides}
    try:
        then = read_text(entry.spec).spec
    except SpecError:
        then = None
    if then is None or then.model_dump(exclude=loose) != file.spec.model_dump(exclude=loose):
        raise DataError(
            f"{file.label} is not the spec that made release {entry.release!r} on "
            f"{entry.created:%Y-%m-%d %H:%M} UTC",
            hint="run it first, or go back to that spec",
        )


def verify(
    source: str | Path | Mapping[str, Any],
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Verified:
    """Verify the release of a spec again: the table against its source, and every file reopened.

    Raises:
        DataError: there is no verifiable release of this spec.
    """
    file = read(source, connection, database)
    if is_external(file):
        made = external_work.verify(file, connection, database=database, settings=settings)
        return Verified(made.promises, made.hygiene)
    with existing(file, connection, database=database, settings=settings) as found:
        if found.entry.kind == "view":
            raise DataError(
                "a preview view is internal and never verified", hint="release it as a table"
            )
        require_same(found.file, found.entry, besides=("privacy",))
        bound = found.bound()
        declared = found.declared(bound)
        table = _verified(found, bound, declared)
        session, target, public = found.work.session, found.work.places.target, found.public
        if target is None and public.catalog is not None:
            seen = verify_views(session, public.released, declared, public.catalog)
            table = replace(table, hygiene=(*table.hygiene, seen))
        files = [*([target] if target else []), *found.work.places.exports]
        expected = [
            stored_content(session, public.released, declared, path, public.catalog)
            for path in files
        ]
        if target is not None:
            session.detach(str(public.released.catalog))
        reopened = [
            (path.name, _reopened(companions(path, found.file.spec), declared, content))
            for path, content in zip(files, expected, strict=True)
        ]
    return _together(table, reopened)


def _verified(found: Existing, bound: Bound, declared: Declared) -> Verification:
    """The released table held against its source."""
    session, book, release = found.work.session, found.book, found.entry.release
    then = found.entry.record.get("proven")
    return verify_table(
        session,
        found.public.released,
        declared,
        dictionary=found.public.dictionary,
        catalog=found.public.catalog,
        flagged=book.counterfeits_of(release) if declared.padding else None,
        then=Proven.of_dict(then) if then else None,
        source=pseudonyms.replaced(bound, session),
        hierarchies=book.of_release(release) if declared.explained else None,
        clusters=book.clusters_of(release) if declared.synthesized else None,
        populations=populations.by_name(populations.found(bound, session)),
    )


def _require(found: Verification) -> None:
    if not found.verified:
        raise VerificationError(
            "the released table no longer keeps its promises and was not exported: "
            + "; ".join(found.failures),
            hint="run the spec again",
        )


def _reopened(
    files: tuple[Path, ...], declared: Declared, expected: Content | None
) -> Verification:
    path = files[0]
    if not path.exists():
        raise DataError(f"{path.name} is gone", hint="run the spec again")
    try:
        return export.reopened(files, declared, expected)
    except DataError as error:  # somebody has damaged it
        return Verification((), (Check("readable", False, error.message),))


def _together(table: Verification, files: list[tuple[str, Verification]]) -> Verified:
    """All that was found, the checks of a file named after it."""
    promises, hygiene = list(table.promises), list(table.hygiene)
    for name, found in files:
        promises += [replace(p, model=f"{p.model} ({name})") for p in found.promises]
        hygiene += [replace(c, check=f"{c.check} ({name})") for c in found.hygiene]
    return Verified(tuple(promises), tuple(hygiene))


def evaluate(
    source: str | Path | Mapping[str, Any],
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Evaluated:
    """Utility of the release of a spec: its metrics, and its workload on source and release.

    Returns:
        recoding (global, or local where levels differ between classes), metrics by name, queries
        (None without a workload), models (empty where none are declared) and what changed over all
        of them, models_overall.
    """
    file = read(source, connection, database)
    if is_external(file):
        told = external_measures.evaluate(file, connection, database=database, settings=settings)
        return Evaluated(told)
    with existing(file, connection, database=database, settings=settings) as found:
        require_same(found.file, found.entry)
        workload, models = None, None
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
        compared = models.to_dict() if models else {"models": [], "overall": None}
        return Evaluated(
            {
                "recoding": found.entry.record.get("recoding", "global"),
                "metrics": metrics,
                "queries": workload.to_dict() if workload else None,
                "models": compared["models"],
                "models_overall": compared["overall"],
            }
        )


def export_release(
    source: str | Path | Mapping[str, Any],
    destination: Path,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> tuple[Path, ...]:
    """Export the release of a spec to a new file, verified after reopening.

    Raises:
        DataError: the destination exists or its ending is unknown, or the release is a view.
        VerificationError: the file does not keep the promises; it is removed.
    """
    if destination.suffix not in EXPORTS:
        raise DataError(
            f"{destination.name}: unknown kind of export", hint=f"use {', '.join(EXPORTS)}"
        )
    file = read(source, database=database)
    refuse(file, "is not exported", "give away that table, or a file of it")
    finals = companions(destination, file.spec)
    for path in finals:
        if path.exists():
            raise DataError(f"{path.name} exists", hint="choose another name or remove it first")
    if not destination.resolve().parent.is_dir():
        raise DataError(f"the folder {destination.parent} does not exist", hint="create it first")
    with existing(file, database=database, settings=settings) as found:
        if found.entry.kind == "view":
            raise DataError(
                "a preview view is internal and never exported", hint="release it as a table"
            )
        require_same(found.file, found.entry)
        bound, session = found.bound(), found.work.session
        declared = found.declared(bound)
        if declared.subject is not None:
            # whose records they are is not told by a file: its content is held against this table
            _require(_verified(found, bound, declared))
        with staging(None) as stage:
            files = export.write(session, stage, finals, declared, found.public)
            with uninterrupted():
                put_in_place(files)
    return finals


def entries(database: Path, settings: Settings | None = None) -> list[Entry]:
    """The runs that a database, or the private file beside a target, remembers; newest first."""
    path = database
    if (
        database.is_file()
        and not database.name.endswith(".private.duckdb")
        and private_of(database).exists()
    ):
        path = private_of(database)
    with Session.open(path, read_only=True, settings=settings) as session:
        book = Book(session, session.catalog)
        recover(book, path)
        return list(book.entries())
