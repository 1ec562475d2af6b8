"""The path of a release, the same for every method, from spec to verified table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.engine.catalog import Entry
from dbdeid.engine.engines import warehouse_of
from dbdeid.engine.expressions import Query, creation, select
from dbdeid.engine.file_names import given_path, is_folder
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, Unsatisfiable, VerificationError
from dbdeid.evaluation import measurement, recipients
from dbdeid.evaluation.expectations import held
from dbdeid.evaluation.usefulness import unanswered
from dbdeid.methods.common.method import Planned
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.registry import method_of, ready
from dbdeid.prepare import fingerprints
from dbdeid.prepare.populations import by_name
from dbdeid.prepare.prepare import upload_hierarchies
from dbdeid.publish import elsewhere, export, workbooks
from dbdeid.publish.elsewhere import Deliveries
from dbdeid.publish.promises import declared_of
from dbdeid.publish.tables import Public, views
from dbdeid.release import preview, record
from dbdeid.release import reuse_levels as reusing
from dbdeid.release.frontier_tables import require_free
from dbdeid.release.result import Reader, RunResult
from dbdeid.release.reuse_levels import drawing_as_before
from dbdeid.rerelease import rerelease
from dbdeid.review import exposure, findings
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import catalog_name, dictionary_name, refuse
from dbdeid.spec.open_decisions import require_decided
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.verify import (
    Content,
    Declared,
    Twin,
    Verification,
    content_proof,
    contents,
    verify_table,
)
from dbdeid.workspace.atomic_files import Finished, Stage, booked, put_in_place, staging
from dbdeid.workspace.progress import Clock, Notify, Offer
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.workplace import (
    Workplace,
    check_owned,
    check_source,
    previous_objects,
    require_unchanged,
    workplace,
)


def run(
    source: str | Path | Mapping[str, Any] | SpecFile,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
    offer: Offer | None = None,
    reuse: bool = False,
    trial: bool = False,
) -> RunResult:
    """Make, verify and publish one release.

    Args:
        source: path of a spec, its text, a dict, or one that was read just now.
        connection: an open DuckDB connection to work on; or a session of Spark that has the
            source as a table or view, and gets the release as a table of its current schema.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        notify: called with each phase, and with the search's progress.
        offer: asked, when the search is interrupted, whether to release the best found so far.
        reuse: apply the levels of the release's last run instead of searching for some.
        trial: make it to look at, in a file of its own, without exports: what was published stays
            as it was, and no later run is compared with it.

    Raises:
        SpecError, HierarchyError, DataError: bad input; nothing was changed.
        Unsatisfiable: no release satisfies the declared models; nothing was changed.
        NothingFound: the search found none, and proved nothing; nothing was changed.
        VerificationError: the written table does not keep its promises; nothing was published.
        ExpectationError: it misses what the spec expects of it; nothing was published.
    """
    database = given_path(database)
    warehouse = warehouse_of(connection)
    file = source if isinstance(source, SpecFile) else read(source, connection, database)
    file = replace(file, trial=trial)
    refuse(file, "is not run again", "verify, evaluate, query or report it")
    if trial and file.spec.output.kind == "view":
        raise DataError("a preview is to look at already", hint="run it without --trial")
    require_decided(file)
    if warehouse is not None:
        if reuse:
            raise DataError(
                f"nothing remembers the levels of a run in {warehouse.program}",
                hint="give them: `method: {transformation: …}`",
            )
        from dbdeid.release.warehouse_run import run_there

        return run_there(file, warehouse, connection, settings=settings, notify=notify, offer=offer)
    clock = Clock(notify)
    with workplace(file, connection, database=database, settings=settings, writing=True) as work:
        if file.spec.output.kind == "view" and work.passing:
            raise DataError(
                "a view needs a database that stays",
                hint="give `database`, or a connection of your own",
            )
        rerelease.require_memory(work, file)
        check_owned(work, file.spec)
        exports = [path for path in work.places.exports if not is_folder(path)]
        workbooks.require_writer(exports)
        elsewhere.require_reachable(file, work.places.tables, work.book, work.home)
        last = None
        if reuse:
            file, last = reusing.applied(file, work)
        with clock.phase("prepare"):
            bound = bind(file, work.session)
            check_source(work, bound)
            workbooks.require_room(exports, bound, work.session)
            prepared = ready(bound, work.session)
            found = fingerprints.fingerprints_of(bound, work.session)
            prepared = replace(prepared, fingerprints=found)
            before = work.last_published(file.spec) or work.last(file.spec)
            prepared = drawing_as_before(prepared, before)
            if last is not None:
                reusing.require_same_labels(work, prepared, last)
            warnings = findings.require(prepared, work.session)
            models = recipients.originals(prepared.bound, work.session)
        method = method_of(prepared.bound)
        with clock.phase("search"), reusing.still_holding(last):
            if file.spec.method.can.frontier:
                require_free(work, file.spec.release)
            planned = method.plan(prepared, work.session, clock.progress, offer)
        # what a release may tell of people stands first, then what it cost, then what was chosen
        warnings = (*planned.warnings, *warnings)
        if file.spec.output.kind == "view":
            return preview.publish(work, planned, warnings, clock)
        with clock.phase("write"):
            written = method.write(planned, work.session)
        return _release(work, planned, written, warnings, clock, models)


def _release(
    work: Workplace,
    planned: Planned[Any],
    written: Written,
    warnings: tuple[str, ...],
    clock: Clock,
    models: tuple[recipients.Original, ...],
) -> RunResult:
    prepared, session = planned.prepared, work.session
    spec = prepared.bound.spec
    public = Public(written.released, written.dictionary, written.catalog)
    with clock.phase("verify"):
        declared = declared_of(prepared, written.outcome)
        hierarchies = upload_hierarchies(prepared, session) if declared.explained else None
        verification = verify_table(
            session,
            public.released,
            declared,
            dictionary=public.dictionary,
            source=prepared.bound.source,
            hierarchies=hierarchies,
            populations=by_name(population.found for population in prepared.populations),
            catalog=public.catalog,
            flagged=written.flagged,
            crosswalk=written.crosswalk,
            clusters=written.clusters,
        )
        exposure.require_unnamed(prepared.bound, session, public.released)
        synthetic = spec.method.can.values == "drawn"
        exposure.require_hidden(prepared, session, written.counted, synthetic=synthetic)
        if prepared.bound.opened is not None:
            prepared.bound.opened.require_unchanged()
        # subjects are not released, so that the release would not tell of others
        hidden = prepared.bound.subject is not None
        _require_stable(session, prepared.bound.source, verification, hidden=hidden)
        _require(verification)
        warnings = (
            *findings.linked(prepared, written.counted, session),
            *method_of(prepared.bound).told_by(written.outcome),
            *findings.repeated(prepared, work.last_published(spec)),
            *warnings,
        )
    with clock.phase("evaluate"):
        measured = measurement.of_release(
            prepared, written, session, public, declared, hierarchies, models
        )
        warnings = (*warnings, *unanswered(measured.workload))
    with clock.phase("compare"):
        again = rerelease.compare(work, prepared, written)
        warnings = (*(again.words if again else rerelease.forgotten(work)), *warnings)
    with clock.phase("publish"), staging(work.home) as stage:
        as_written = contents(session, declared, *public.tables)
        files = _write_files(work, stage, spec, declared, public, as_written, verification)
        of, rows, frontier = None, None, None
        if written.crosswalk is not None:
            of = content_proof(session, public.released, declared, prepared.bound.source)
        if planned.frontier is not None:
            rows, frontier = planned.frontier.tables(session), planned.frontier.kept
        kept = record.record_of(
            prepared,
            written,
            measured,
            warnings,
            clock.seconds,
            verification=verification,
            engine=fingerprints.engine(session),
            content=record.content_of(as_written, declared),
            rerelease=again.record if again else None,
            proven=of,
            frontier=frontier,
        )
        kept = held(kept, spec.expect)
        entry = record.entry_of(work, prepared, kept)
        private = Private(hierarchies, written.flagged, rows, written.clusters, again)
        with elsewhere.delivering(
            prepared.bound.file,
            work.places.tables,
            session,
            work.book,
            work.home,
            declared,
            public,
            as_written,
        ) as tables:
            _commit(work, stage, spec, entry, files, tables, public, private, declared, as_written)
    reader = Reader(work.places, spec.release, work.connection, _kept(work, public.released))
    return record.result_of(kept, clock.seconds, _where(work, spec.release), reader)


def _require_stable(
    session: Session, source: Query, verification: Verification, *, hidden: bool
) -> None:
    """A source that gives other rows each time it is read cannot be verified against."""
    if verification.verified and not hidden:
        return
    if fingerprints.of_rows(session, source) != fingerprints.of_rows(session, source):
        raise DataError(
            "the source gives different rows each time it is read",
            hint="store the sample as a table first, and release that",
        )


# What the data may not allow, however right the method is.
_OF_DATA = ("copies", "copies_in_trial")


def _require(verification: Verification) -> None:
    broken = [p.model for p in verification.promises if not p.holds]
    if broken and len(broken) == len(verification.failures) and set(broken) <= {*_OF_DATA}:
        raise Unsatisfiable(
            "synthetic records equal more rows of the source than their limit allows, and were not "
            "published: " + "; ".join(verification.failures),
            hint="columns of which nearly every record has a category of its own come back: "
            "`pool` or drop them, name fewer `strata`, or choose another k",
        )
    if not verification.verified:
        raise VerificationError(
            "the written table failed its verification and was not published: "
            + "; ".join(verification.failures),
            hint="nothing was replaced; please report this as a defect of dbdeid",
        )


def _write_files(
    work: Workplace,
    stage: Stage,
    spec: ReleaseSpec,
    declared: Declared,
    public: Public,
    as_written: Content | None,
    verification: Verification,
) -> list[Finished]:
    """All files of the release, each verified after reopening, none in its place."""
    targets = (work.places.target,) if work.places.target else ()
    files: list[Finished] = []
    twin: Twin | None = None
    paths = (*targets, *work.places.exports)
    at_hand = export.at_hand(work.session, stage, paths, public.released)
    for path in paths:
        names = companions(path, spec)
        by = spec.output.partition_by
        made, twin = export.write(
            work.session,
            stage,
            names,
            declared,
            public,
            as_written,
            twin,
            by,
            verification,
            at_hand,
        )
        files += made
    return files


@dataclass(frozen=True, slots=True)
class Private:
    """What the book keeps of a release: its hierarchies, which records are counterfeit, the rows
    of its frontier, by table, the clusters that synthetic records were drawn from, and what later
    runs are compared with."""

    hierarchies: Relation | None
    flagged: Relation | None
    frontier: Mapping[str, Query] | None
    clusters: Relation | None
    again: rerelease.Rerelease | None


def _commit(
    work: Workplace,
    stage: Stage,
    spec: ReleaseSpec,
    entry: Entry,
    files: list[Finished],
    tables: Deliveries,
    public: Public,
    private: Private,
    declared: Declared,
    as_written: Content | None,
) -> None:
    """Book the run, swap the release in, put its files and tables into place: all or nothing.

    Where the database ends with the session, nothing in it would be read again.
    """
    if work.passing:
        require_unchanged(work, spec)
        tables.swap()
        with uninterrupted():
            put_in_place(files)
            tables.commit()
        tables.look()
        return
    session, book = work.session, work.keep_book(stage)
    with ExitStack() as held:
        with session.transaction():
            require_unchanged(work, spec)
            book.create()
            if private.frontier is not None:
                require_free(work, spec.release)
                book.keep_frontier(entry.release, private.frontier)
            if work.places.target is None:
                _swap(work, public, private, declared, as_written)
            book.keep_hierarchies(entry.release, private.hierarchies)
            book.keep_counterfeits(entry.release, private.flagged)
            book.keep_clusters(entry.release, private.clusters)
            if (again := private.again) is not None and again.shown is not None:
                book.keep_published(again.run, again.shown, again.rows)
            book.add(entry)
            book.add_files([booked(file, entry.release, work.home) for file in files])
            book.add_files(tables.booked(entry.release, work.home))
            tables.swap()
            held.enter_context(uninterrupted())  # after the commit there is no way back
            stage.booked = work.home is not None
        work.place_book(book, stage)
        put_in_place(files)
        stage.booked = False
        tables.commit()
    tables.look()


def _swap(
    work: Workplace,
    public: Public,
    private: Private,
    declared: Declared,
    as_written: Content | None,
) -> None:
    """The release in the database, in place of the last one, verified where it is."""
    session, release = work.session, declared.release
    for name in reversed(previous_objects(work, release)):
        session.drop(Relation(name, schema="main", catalog=session.catalog))
    for name, table in public.named(release).items():
        place = Relation(name, schema="main", catalog=session.catalog)
        rows = select("*").from_(table.table)
        session.create_sorted(place, rows, table.columns)
    for name, query in views(declared).items():
        place = Relation(name, schema="main", catalog=session.catalog)
        session.execute(creation(place.table, "VIEW", query))
    catalog = session.relation(catalog_name(release)) if public.catalog else None
    dictionary = session.relation(dictionary_name(release)) if public.dictionary else None
    _require(
        verify_table(
            session,
            session.relation(release),
            declared,
            dictionary=dictionary,
            catalog=catalog,
            flagged=private.flagged,
            same_as=as_written,
        )
    )


def _kept(work: Workplace, staged: Relation) -> Any:
    """The release itself, where it would be gone with the session."""
    in_file = work.places.target or work.places.database
    return None if in_file or work.connection is not None else work.session.table(staged)


def _where(work: Workplace, release: str) -> str:
    return str(work.places.target) if work.places.target else release
