"""The path of a release whose table is in a warehouse: counted there, chosen here, made there.

What a search looks at is counted there and staged here; method and models are those of any run. The
plan is lent to the warehouse, which makes the table. It is verified there, from what was written,
and takes the place of the old one. No record comes here, and no book is kept there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.bind.counted_there import (
    counted_there,
    held_there,
    is_counted,
    is_there,
    source_there,
)
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import Query, aliased, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.engine.warehouse import Warehouse
from dbdeid.errors import VerificationError
from dbdeid.evaluation import measurement
from dbdeid.evaluation.expectations import held
from dbdeid.evaluation.measurement import MeasuredTable
from dbdeid.evaluation.remains import remains_there
from dbdeid.methods.common.method import Planned
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.registry import method_of, ready
from dbdeid.prepare.populations import by_name
from dbdeid.prepare.prepare import Prepared, require_subjects, upload_hierarchies
from dbdeid.publish.promises import declared_of
from dbdeid.publish.tables import Public
from dbdeid.record.making import Column
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.release import record, warehouse_recoding
from dbdeid.release.result import Reader, RunResult
from dbdeid.release.warehouse_limits import require_possible
from dbdeid.release.warehouse_places import Places, places_there
from dbdeid.release.warehouse_table import Lent, lend, records_there
from dbdeid.review import exposure, findings
from dbdeid.spec.file import SpecFile
from dbdeid.verify import Verification
from dbdeid.verify.warehouse import Recoded, There, verify_there
from dbdeid.workspace.progress import Clock, Notify, Offer
from dbdeid.workspace.release_files import places

FORGOTTEN = (
    "nothing remembers this release: it was compared with none before it, and no later one will be "
    "with it"
)


@dataclass(frozen=True, slots=True)
class _Run:
    """What the stages of a run share.

    Attributes:
        warehouse: where the source is, and the release is to be.
        session: where counts are.
        clock: of the phases.
        places: the tables there.
        source: the table that the release is made of.
        full: the whole specification on it.
    """

    warehouse: Warehouse
    session: Session
    clock: Clock
    places: Places
    source: Relation
    full: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class _Applied:
    """How a plan was applied in the warehouse.

    Attributes:
        lent: what values read, and which classes stay; None where that differs between records.
        recoded: then which record became which.
    """

    lent: Lent | None = None
    recoded: Recoded | None = None


def run_there(
    file: SpecFile,
    warehouse: Warehouse,
    connection: Any,
    *,
    settings: Settings | None = None,
    notify: Notify | None = None,
    offer: Offer | None = None,
) -> RunResult:
    """Make, verify and publish one release of a table in a warehouse.

    Args:
        file: the spec, of which nothing is open.
        warehouse: where its source is; it is closed at the end.
        connection: the caller's, that it is reached by.
        settings: limits of the engine that has the counts here.
        notify: called with each phase, and with the search's progress.
        offer: asked, when the search is interrupted, whether to release the best found so far.

    Raises:
        SpecError, HierarchyError, DataError, EngineError: bad input; nothing was changed.
        Unsatisfiable: no release satisfies the declared models; nothing was changed.
        NothingFound: the search found none, and proved nothing; nothing was changed.
        VerificationError: the written table does not keep its promises; nothing was published.
        ExpectationError: it misses what the spec expects of it; nothing was published.
    """
    clock = Clock(notify)
    with closing(warehouse), ENGINE.open(None, read_only=False, settings=settings) as session:
        require_possible(file, warehouse.program)
        source = source_there(file, warehouse)
        with places_there(warehouse, file.spec.release, source) as tables:
            with clock.phase("describe"):
                full = held_there(file, source, session)
                findings.require_of_columns(full, warehouse)
                require_subjects(full, warehouse)
            return _made(_Run(warehouse, session, clock, tables, source, full), connection, offer)


def _made(run: _Run, connection: Any, offer: Offer | None) -> RunResult:
    session, clock = run.session, run.clock
    with clock.phase("count"):
        counted = counted_there(run.full, run.warehouse, session)
    with clock.phase("prepare"):
        prepared = ready(counted, session)
        warnings = (*_told(run.full), *findings.require(prepared, session), FORGOTTEN)
    method = method_of(prepared.bound)
    with clock.phase("search"):
        planned = method.plan(prepared, session, clock.progress, offer)
    warnings = (*warnings, *planned.warnings)
    whole = replace(planned.prepared, bound=run.full)
    with clock.phase("write"):
        written = method.write(planned, session)
        exposure.require_unnamed(prepared.bound, session, written.released)
        exposure.require_hidden(prepared, session, written.counted)
        applied = _write(run, planned, whole, written)
    with clock.phase("verify"):
        verification = _verified(run, planned, whole, written, applied.recoded)
        warnings = (*warnings, *method.told_by(written.outcome))
    with clock.phase("evaluate"):
        kept = _record(run, planned, whole, written, applied.lent, verification, warnings)
    with clock.phase("publish"):
        run.places.swap()
    table = run.places.tables[0]
    name = ".".join(part for part in (table.catalog, table.schema, table.name) if part)
    reader = Reader(places(run.full.file), name, connection)
    return record.result_of(kept, clock.seconds, name, reader)


def _told(full: Bound) -> Iterator[str]:
    """Columns that leave uncounted, as the owner has explained them."""
    for c in full.released:
        if not is_counted(full, c):
            reason = c.spec.reason
            yield f"{c.name} is published unchanged and was not examined. Your reason: {reason}"


def _write(run: _Run, planned: Planned[Any], whole: Prepared, written: Written) -> _Applied:
    """Make the release and its dictionary aside."""
    counts, node = planned.prepared.bound.counts, written.outcome.node
    assert written.dictionary is not None
    assert counts is not None
    names = [q.name for q in whole.quasi_identifiers]
    dealt = method_of(planned.prepared.bound).dealt(planned, run.session)
    if dealt is not None:
        blocks = warehouse_recoding.lend(
            planned.prepared, dealt, run.session, run.warehouse, counts.table
        )
        recoded = warehouse_recoding.recoded_there(whole, run.source, blocks, run.warehouse)
        run.places.write(0, recoded.released, names)
        applied = _Applied(recoded=recoded)
    else:
        assert node is not None
        lent = lend(whole, node, run.session, run.warehouse, counts.table)
        run.places.write(0, records_there(whole, run.source, lent), names)
        applied = _Applied(lent=lent)
    listed = run.warehouse.lend("dictionary", run.session.table(written.dictionary))
    run.places.write(1, select(*listed.names).from_(listed.table), [])
    return applied


def _verified(
    run: _Run,
    planned: Planned[Any],
    whole: Prepared,
    written: Written,
    recoded: Recoded | None,
) -> Verification:
    """What is found in the tables that were made.

    Raises:
        VerificationError: they do not keep a promise.
    """
    released, dictionary = run.places.staged
    found = verify_there(
        run.warehouse,
        run.session,
        There(released, dictionary, run.source, recoded),
        declared_of(whole, written.outcome),
        declared_of(planned.prepared, written.outcome),
        upload_hierarchies(planned.prepared, run.session),
        written.released,
        _populations(planned.prepared),
    )
    if not found.verified:
        raise VerificationError(
            "the table in the warehouse failed its verification and was not published: "
            + "; ".join(found.failures),
            hint="nothing was replaced; if nobody changed the source meanwhile, and it gives the "
            "same rows each time it is read, please report this as a defect of dbdeid",
        )
    return found


def _populations(prepared: Prepared) -> Mapping[str, Query]:
    """The populations, those of the warehouse counted once more."""
    found = [coded.found for coded in prepared.populations]
    counts = prepared.bound.counts
    assert counts is not None
    for population in found:
        if is_there(prepared.bound, population.name):
            counts.population(population.name)
    return by_name(found)


def _record(
    run: _Run,
    planned: Planned[Any],
    whole: Prepared,
    written: Written,
    lent: Lent | None,
    verification: Verification,
    warnings: tuple[str, ...],
) -> ReleaseRecord:
    """All that is known of the release; measured of the counted columns.

    Raises:
        ExpectationError: it misses what the spec expects of it.
    """
    public = Public(written.released, written.dictionary)
    measured = measurement.of_release(
        planned.prepared,
        written,
        run.session,
        public,
        declared_of(planned.prepared, written.outcome),
        upload_hierarchies(planned.prepared, run.session),
        (),
    )
    table, subject = _with_people(run, whole, lent), whole.parameters.subject
    left = remains_there(measured.remains, run.full, run.warehouse, table, subject)
    columns = tuple(_columns(run.full, measured.table))
    measured = replace(measured, remains=left, table=replace(measured.table, columns=columns))
    kept = record.record_of(
        whole,
        written,
        measured,
        warnings,
        run.clock.seconds,
        verification=verification,
        engine=f"{run.warehouse.program} {run.warehouse.version}",
        content=None,
        rerelease=None,
        proven=None,
        frontier=None,
    )
    return held(kept, run.full.spec.expect)


def _with_people(run: _Run, whole: Prepared, lent: Lent | None) -> Relation:
    """The released records there, with their subject where people count: in a view, for that is
    nowhere written."""
    if run.full.subject is None:
        return run.warehouse.described(run.places.staged[0])
    assert whole.parameters.subject is not None
    assert lent is not None
    subject = aliased(column(run.full.subject.name, "s"), whole.parameters.subject)
    return run.warehouse.run(Step("people", records_there(whole, run.source, lent).select(subject)))


def _columns(full: Bound, measured: MeasuredTable) -> Iterator[Column]:
    """All columns of the table there: what was measured of those that were counted."""
    known = {c.name: c for c in measured.columns}
    for c in full.columns:
        yield known.get(c.name) or Column(
            name=c.name,
            role=c.spec.role,
            type=c.column.shown_type,
            released_type=c.released_type,
            reason=c.spec.reason,
            accept=", ".join(c.spec.accept) or None,
            weight=c.spec.weight,
        )
