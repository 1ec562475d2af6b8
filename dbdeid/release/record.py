"""The record of a run, from what was prepared, written, verified and measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.catalog import Entry
from dbdeid.evaluation import counterfeit_suspicion
from dbdeid.evaluation.measurement import Measured
from dbdeid.methods.attacks.counterfeit_suspicion import Suspected
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.condensation.details import synthetic_of
from dbdeid.methods.counterfeit.details import Padded, padded_of
from dbdeid.methods.microaggregation.details import masked_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.privacy import MODELS
from dbdeid.record.border import to_json
from dbdeid.record.comparison import Content, Proven, Rerelease, Shape
from dbdeid.record.findings import Downcoded, Reading, Verification
from dbdeid.record.making import (
    Learned,
    Masked,
    Padding,
    PolicyRisk,
    Publisher,
    Search,
    Synthetic,
)
from dbdeid.record.part import Part
from dbdeid.record.release_record import Recoding, ReleaseRecord
from dbdeid.record.usefulness import Distribution, Recipients, Workload
from dbdeid.release.result import Reader, RunResult
from dbdeid.spec.release_spec import beside
from dbdeid.verify import Content as Digests
from dbdeid.verify import ContentProof, Declared
from dbdeid.verify import Verification as Verified
from dbdeid.version import __version__
from dbdeid.workspace.atomic_files import remembered
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.workplace import Workplace


def record_of(
    prepared: Prepared,
    written: Written,
    measured: Measured,
    warnings: Sequence[str],
    seconds: Mapping[str, float],
    *,
    verification: Verified | None,
    engine: str | None,
    content: Content | None,
    rerelease: Rerelease | None,
    proven: ContentProof | None,
    frontier: JsonObject | None,
) -> ReleaseRecord:
    """Everything that is known of a release.

    Args:
        prepared: the prepared spec.
        written: the release.
        measured: what was measured of it.
        warnings: what a reader should know.
        seconds: of each phase.
        verification: what was verified; None of a view, as all that follows.
        engine: its version, on which fingerprints depend.
        content: digests of what was written.
        rerelease: what it tells beside earlier releases; None where nothing is remembered.
        proven: digests of what proves a local recoding.
        frontier: that the policy was chosen from.
    """
    spec, outcome, table = prepared.bound.spec, written.outcome, measured.table
    padded, drawing = padded_of(outcome), prepared.parameters.drawing
    synthetic, masked = synthetic_of(outcome), masked_of(outcome)
    workload = measured.workload
    learned = counterfeit_suspicion.words(padded, measured.learned) if padded else ()
    return ReleaseRecord(
        release=spec.release,
        method=spec.method.name,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=spec.source_name,
        source_rows=prepared.rows,
        source_subjects=prepared.subjects if spec.subject else None,
        counterfeit_rows=outcome.details.added,
        relocated_rows=outcome.details.moved,
        recoding=_recoding(prepared, outcome),
        padding=_padding(padded, measured.learned) if padded else None,
        weighed=PolicyRisk.told_by(prepared.weighed) if prepared.weighed else None,
        synthetic=Synthetic.told_by(synthetic) if synthetic else None,
        masked=Masked.told_by(masked) if masked else None,
        readings=tuple(map(Reading.told_by, outcome.readings)),
        downcoded=Downcoded.told_by(outcome.downcoded) if outcome.downcoded else None,
        draws=drawing.key if drawing else None,
        companions=tuple(beside(spec)),
        suppressed_rows=outcome.suppressed,
        suppressed_subjects=outcome.suppressed_subjects,
        verified=verification is not None and verification.verified,
        useless=measured.useless,
        warnings=(*measured.useless, *warnings, *learned),
        privacy=tuple(plain({"model": m.model, **m.declared}) for m in prepared.bound.models),
        null_policy=spec.null_policy,
        accept=spec.accept,
        method_parameters=plain(spec.method.model_dump(exclude={"name"})),
        search=Search.told_by(outcome.search),
        verification=Verification.told_by(verification.to_dict()) if verification else None,
        queries=Workload.told_by(workload.to_dict()) if workload else None,
        distributions=tuple(map(Distribution.told_by, measured.distributions)),
        seconds=dict(seconds),
        exports=() if prepared.bound.file.trial else tuple(spec.output.export),
        fingerprints=dict(prepared.fingerprints),
        spec_text=prepared.bound.file.text,
        released_rows=table.released_rows,
        classes=table.classes,
        smallest_class=table.smallest_class,
        columns=table.columns,
        transformation=dict(table.transformation),
        loss=table.loss,
        metrics=dict(measured.metrics),
        column_loss=dict(table.column_loss),
        risk=table.risk,
        histogram=table.histogram,
        remains=measured.remains,
        models=Recipients.told_by(measured.models.to_dict()) if measured.models else None,
        trial=prepared.bound.file.trial,
        engine=engine,
        content=content,
        rerelease=rerelease,
        proven=Proven.told_by(proven.to_dict()) if proven else None,
        frontier=frontier,
        publisher=Publisher.told_by(spec.publisher) if spec.publisher else None,
    )


def content_of(written: Digests | None, declared: Declared) -> Content | None:
    """Return the digests of the written tables, with their columns and types."""
    if written is None:
        return None
    shape = tuple(map(Shape.told_by, declared.columns))
    return Content.told_by(written.to_dict()).model_copy(update={"columns": shape})


def _padding(padded: Padded, learned: Suspected | None) -> Padding:
    """What is known of the padding, and the risk to report."""
    return Padding.told_by(padded).model_copy(
        update={
            "learned": Learned.told_by(learned) if learned else None,
            "told": counterfeit_suspicion.bound(padded, learned),
        }
    )


def _recoding(prepared: Prepared, outcome: Outcome) -> Recoding:
    values = prepared.bound.spec.method.can.values
    if values != "generalized":
        return "means" if values == "means" else "none"
    return "local" if outcome.node is None else "global"


def entry_of(work: Workplace, prepared: Prepared, record: ReleaseRecord) -> Entry:
    """The line of the book for a run, from its record."""
    spec, text = prepared.bound.spec, prepared.bound.file.text
    target = work.places.target
    exports = [path for export in work.places.exports for path in companions(export, spec)]
    told = to_json(record)
    return Entry(
        release=spec.release,
        object=remembered(target, work.home) if target else spec.release,
        kind="file" if target else spec.output.kind,
        exports=(*(remembered(path, work.home) for path in exports), *work.places.tables),
        spec=text,
        spec_hash=hashlib.sha256(text.encode()).hexdigest(),
        transformation=record.transformation,
        metrics=record.measured,
        record=told,
        version=__version__,
        created=datetime.now(UTC).replace(tzinfo=None),
    )


# Promises that are no privacy models.
_PROMISES = (*MODELS, "policy", "copies", "safe_harbor")


def result_of(
    record: ReleaseRecord, seconds: Mapping[str, float], table: str, reader: Reader
) -> RunResult:
    """What a run gives back, from its record."""
    policy = (record.frontier or {}).get("policy")
    assert policy is None or isinstance(policy, Mapping)
    promises = record.verification.promises if record.verification else ()
    recipients, rerelease = record.models, record.rerelease
    together = rerelease.together if rerelease else None
    assert record.source_rows is not None
    assert record.remains is not None
    return RunResult(
        release=record.release,
        trial=record.trial,
        method=record.method,
        source_rows=record.source_rows,
        source_subjects=record.source_subjects or record.source_rows,
        released_rows=record.released_rows,
        suppressed_rows=record.suppressed_rows or 0,
        suppressed_subjects=record.suppressed_subjects or 0,
        counterfeit_rows=record.counterfeit_rows or 0,
        relocated_rows=record.relocated_rows or 0,
        recoding=record.recoding,
        padding=_told(record.padding),
        synthetic=_told(record.synthetic),
        masked=_told(record.masked),
        policy=policy,
        classes=record.classes or 0,
        smallest_class=record.smallest_class,
        null_policy=record.null_policy or "",
        transformation=record.transformation,
        loss=record.loss,
        metrics=record.measured,
        models=tuple(model.to_dict() for model in recipients.models) if recipients else (),
        models_overall=_told(recipients.overall) if recipients else None,
        search={**(_told(record.search) or {}), "seconds": seconds.get("search")},
        verified=record.verified,
        promises=tuple(p.to_dict() for p in promises if p.model in _PROMISES),
        expectations=tuple(expectation.to_dict() for expectation in record.expectations),
        remains=record.remains.to_dict(),
        useless=record.useless,
        warnings=record.warnings,
        rerelease=tuple(found.to_dict() for found in rerelease.found) if rerelease else (),
        together=_told(together),
        seconds=dict(seconds),
        table=table,
        _reader=reader,
        _record=record,
    )


def _told(part: Part | None) -> JsonObject | None:
    return None if part is None else part.to_dict()
