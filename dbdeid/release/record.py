"""The record of a run: plain values for the book, the report and the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from dbdeid.bind.bound import BoundColumn
from dbdeid.engine.catalog import Entry
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.evaluation import counterfeit_suspicion
from dbdeid.evaluation.evidence import RunEvidence
from dbdeid.evaluation.fidelity import Fidelity
from dbdeid.evaluation.metrics import measured
from dbdeid.evaluation.usefulness import useless
from dbdeid.methods.attacks.counterfeit_suspicion import Suspected
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.condensation.details import Synthetic, synthetic_of
from dbdeid.methods.counterfeit.details import Padded, padded_of
from dbdeid.methods.microaggregation.details import masked_of
from dbdeid.prepare.prepare import Prepared, risk_before
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy import MODELS
from dbdeid.privacy.risk import risk
from dbdeid.release.result import Reader, RunResult
from dbdeid.report.content.record import LABELS_SHOWN
from dbdeid.spec.metric_spec import METRICS, kept_metrics
from dbdeid.spec.release_spec import beside
from dbdeid.utility.loss import Counts
from dbdeid.utility.query_error import Workload
from dbdeid.verify import Verification
from dbdeid.version import __version__
from dbdeid.workspace.atomic_files import remembered
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.workplace import Workplace

# How far the loss of the written table may lie from what the search promised: float rounding.
TOLERANCE = 1e-9


def record_of(
    prepared: Prepared,
    written: Written,
    session: Session,
    verification: Verification | None,
    workload: Workload | None,
    fidelity: Fidelity,
    warnings: Sequence[str],
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """Everything that is known of a release, measured on the written table.

    Args:
        prepared: the prepared spec.
        written: the release.
        session: where it is.
        verification: what was verified; None of a view.
        workload: its queries; None without any.
        fidelity: how like its source it is.
        warnings: what a reader should know.
        seconds: of each phase.
    """
    spec, outcome = prepared.bound.spec, written.outcome
    evidence = RunEvidence(prepared, written, session)
    synthetic, masked = synthetic_of(outcome), masked_of(outcome)
    asked = kept_metrics(spec.evaluate.metrics)
    metrics = {**outcome.metrics, **measured(evidence, {*asked, *outcome.metrics})}
    _require_kept(metrics, outcome)
    metrics = _in_order({**metrics, **fidelity.metrics}, asked)
    if synthetic is not None:
        found = _of_synthetic(prepared, written, synthetic, metrics)
    else:
        found = _of_classes(evidence, metrics)
    padding, weighed = padded_of(outcome), prepared.weighed
    learning = evidence.suspected
    vain = useless(prepared, outcome, found["columns"], workload)
    return {
        "release": spec.release,
        "method": spec.method.name,
        "version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": spec.source_name,
        "source_rows": prepared.rows,
        "source_subjects": prepared.subjects if spec.subject else None,
        "counterfeit_rows": outcome.details.added,
        "relocated_rows": outcome.details.moved,
        "recoding": _recoding(prepared, outcome),
        "padding": _padding(padding, learning) if padding else None,
        "weighed": asdict(weighed) if weighed else None,
        "synthetic": asdict(synthetic) if synthetic else None,
        "masked": asdict(masked) if masked else None,
        "readings": [asdict(reading) for reading in outcome.readings],
        "downcoded": asdict(outcome.downcoded) if outcome.downcoded else None,
        "draws": drawing.key if (drawing := prepared.parameters.drawing) else None,
        "companions": list(beside(spec)),
        "suppressed_rows": outcome.suppressed,
        "suppressed_subjects": outcome.suppressed_subjects,
        "verified": verification is not None and verification.verified,
        "useless": list(vain),
        "warnings": [
            *vain,
            *warnings,
            *(counterfeit_suspicion.words(padding, learning) if padding else ()),
        ],
        "privacy": [{"model": m.model, **m.declared} for m in prepared.bound.models],
        "null_policy": spec.null_policy,
        "accept": spec.accept,
        "method_parameters": spec.method.model_dump(exclude={"name"}),
        "search": dict(outcome.search),
        "verification": verification.to_dict() if verification else None,
        "queries": workload.to_dict() if workload else None,
        "distributions": [drawn.to_dict() for drawn in fidelity.distributions],
        "seconds": dict(seconds),
        "exports": [] if prepared.bound.file.trial else list(spec.output.export),
        "fingerprints": dict(prepared.fingerprints),
        "spec_text": prepared.bound.file.text,
        **found,
    }


def _padding(padded: Padded, learning: Suspected | None) -> dict[str, Any]:
    """What is known of the padding, and the risk that is told."""
    found = asdict(padded)
    learned = asdict(learning) if learning else None
    return found | {"learned": learned, "told": counterfeit_suspicion.bound(found, learning)}


def _recoding(prepared: Prepared, outcome: Outcome) -> str:
    values = prepared.bound.spec.method.can.values
    if values != "generalized":
        return "means" if values == "means" else "none"
    return "local" if outcome.node is None else "global"


def _of_synthetic(
    prepared: Prepared, written: Written, synthetic: Synthetic, metrics: Mapping[str, float]
) -> dict[str, Any]:
    """What is known of synthetic records; their classes are the clusters they were drawn from."""
    return {
        "released_rows": prepared.rows,
        "classes": synthetic.clusters,
        "smallest_class": synthetic.smallest,
        "columns": [
            _column(c, prepared, {}, {}, written.released, {}) for c in prepared.bound.columns
        ],
        "transformation": {},
        "loss": None,
        "metrics": metrics,
        "column_loss": {},
        "risk": None,
        "histogram": [],
    }


def _of_classes(of: RunEvidence, metrics: Mapping[str, float]) -> dict[str, Any]:
    """What is known of the equivalence classes of a release, and of what was lost."""
    prepared, written, session = of.prepared, of.written, of.session
    outcome, released, counted = written.outcome, written.released, written.counted
    levels = dict(zip(of.names, outcome.node, strict=True)) if outcome.node is not None else {}
    k = prepared.bound.spec.smallest_class
    after = risk.measure(session, counted, of.names, k, prepared.counting)
    losses = {} if masked_of(outcome) is not None else of.losses
    return {
        "released_rows": after.records,
        "classes": after.classes,
        "smallest_class": after.k,
        "columns": [
            _column(c, prepared, levels, losses, released, of.counts)
            for c in prepared.bound.columns
        ],
        "transformation": levels,
        "loss": None if masked_of(outcome) is not None else of.loss,
        "metrics": metrics,
        "column_loss": losses,
        "risk": {
            "before": risk_before(prepared, session).to_dict(),
            "after": after.to_dict(),
        },
        "histogram": [
            asdict(size) for size in risk.histogram(session, counted, of.names, prepared.counting)
        ],
    }


def _in_order(metrics: Mapping[str, float], asked: Sequence[str]) -> dict[str, float]:
    """The metrics that were asked for; those of a column follow their name after a dot."""
    kind = {name: name.partition(".")[0] for name in metrics}
    return {name: metrics[name] for m in METRICS if m in asked for name in kind if kind[name] == m}


def _require_kept(metrics: Mapping[str, float], outcome: Outcome) -> None:
    """The written table scores what the method promised of it."""
    for name, promised in outcome.metrics.items():
        found = metrics[name]
        if abs(found - promised) > TOLERANCE * max(1.0, abs(promised)):
            raise AssertionError(
                f"the written table has {name} {found}, the method promised {promised}"
            )


def _column(
    c: BoundColumn,
    prepared: Prepared,
    levels: Mapping[str, int],
    losses: Mapping[str, float],
    released: Relation,
    counts: Mapping[str, Counts],
) -> dict[str, Any]:
    q = next((q for q in prepared.quasi_identifiers if q.name == c.name), None)
    written = released.find(c.name)
    generalized = prepared.bound.spec.method.can.values == "generalized"
    return {
        "name": c.name,
        "role": c.spec.role,
        "type": c.column.shown_type,
        "released_type": written.type if written else None,
        "level": levels.get(c.name),
        "height": q.height if q else None,
        "loss": losses.get(c.name),
        "labels": _labels(counts[q.name]) if q else [],
        "pseudonym": c.spec.pseudonym,
        "reason": c.spec.reason,
        "accept": ", ".join(c.spec.accept) or None,
        "weight": c.spec.weight,
        "hierarchy": q.coding.hierarchy.kind if q and generalized else None,
        "declared_domain": _declares_domain(c, q) if q else None,
        # what the verifier counts by, told where it is not the rule
        **({"values": c.spec.values} if c.spec.values != "normalized" else {}),
    }


def _declares_domain(c: BoundColumn, q: QuasiIdentifier) -> bool:
    """Whether the loss of a value follows from what was declared, not from the data."""
    given = c.spec.hierarchy
    limits = given is not None and given.lower is not None and given.upper is not None
    return q.coding.hierarchy.declared or limits


def _labels(counts: Counts) -> list[str | None]:
    """The values that occur most."""
    ordered = sorted(counts, key=lambda row: -row[1])
    return [value for value, _ in ordered[:LABELS_SHOWN]]


def entry_of(work: Workplace, prepared: Prepared, kept: Mapping[str, Any]) -> Entry:
    """The line of the book for a run, from its record."""
    spec, text = prepared.bound.spec, prepared.bound.file.text
    target = work.places.target
    exports = [path for export in work.places.exports for path in companions(export, spec)]
    return Entry(
        release=spec.release,
        object=remembered(target, work.home) if target else spec.release,
        kind="file" if target else spec.output.kind,
        exports=tuple(remembered(path, work.home) for path in exports),
        spec=text,
        spec_hash=hashlib.sha256(text.encode()).hexdigest(),
        transformation=kept["transformation"],
        metrics=kept["metrics"],
        record=kept,
        version=__version__,
        created=datetime.now(UTC).replace(tzinfo=None),
    )


def result_of(
    kept: Mapping[str, Any], seconds: Mapping[str, float], table: str, reader: Reader
) -> RunResult:
    """What a run gives back, from its record."""
    return RunResult(
        release=kept["release"],
        trial=bool(kept.get("trial")),
        method=kept["method"],
        source_rows=kept["source_rows"],
        source_subjects=kept["source_subjects"] or kept["source_rows"],
        released_rows=kept["released_rows"],
        suppressed_rows=kept["suppressed_rows"],
        suppressed_subjects=kept["suppressed_subjects"],
        counterfeit_rows=kept["counterfeit_rows"],
        relocated_rows=kept["relocated_rows"],
        recoding=kept["recoding"],
        padding=kept["padding"],
        synthetic=kept["synthetic"],
        masked=kept["masked"],
        policy=(kept.get("frontier") or {}).get("policy"),
        classes=kept["classes"],
        smallest_class=kept["smallest_class"],
        null_policy=kept["null_policy"],
        transformation=kept["transformation"],
        loss=kept["loss"],
        metrics=kept["metrics"],
        models=tuple((kept.get("models") or {}).get("models", ())),
        models_overall=(kept.get("models") or {}).get("overall"),
        search={**kept["search"], "seconds": seconds.get("search")},
        verified=kept["verified"],
        promises=tuple(
            promise
            for promise in (kept["verification"] or {}).get("promises", ())
            if promise["model"] in (*MODELS, "policy", "copies", "safe_harbor")
        ),
        expectations=tuple(kept.get("expectations") or ()),
        remains=kept["remains"],
        useless=tuple(kept["useless"]),
        warnings=tuple(kept["warnings"]),
        rerelease=tuple((kept.get("rerelease") or {}).get("found", ())),
        together=(kept.get("rerelease") or {}).get("together"),
        seconds=dict(seconds),
        table=table,
        _reader=reader,
        _record=kept,
    )
