"""Measure a written table before it is published, whatever method made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.bind.bound import BoundColumn
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import evaluate_workload
from dbdeid.evaluation.evidence import RunEvidence
from dbdeid.evaluation.fidelity import Fidelity, fidelity
from dbdeid.evaluation.metrics import measured
from dbdeid.evaluation.remains import remains
from dbdeid.evaluation.usefulness import useless
from dbdeid.methods.attacks.counterfeit_suspicion import Suspected
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.condensation.details import Synthetic, synthetic_of
from dbdeid.methods.microaggregation.details import masked_of
from dbdeid.prepare.prepare import Prepared, risk_before
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy.risk import risk
from dbdeid.publish.tables import Public
from dbdeid.record.findings import Remains, Risk, RiskChange, SizeCount
from dbdeid.record.making import Column
from dbdeid.record.release_record import LABELS_SHOWN
from dbdeid.spec.metric_spec import METRICS, kept_metrics
from dbdeid.utility.fidelity.side_by_side import SideBySide
from dbdeid.utility.loss import Counts
from dbdeid.utility.model_fit import Comparison
from dbdeid.utility.query_error import Workload
from dbdeid.verify import Declared

# How far the loss of the written table may lie from what the search promised: float rounding.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """The classes of a written table, and what was lost in it.

    Attributes:
        released_rows: its records.
        classes: equivalence classes, or the clusters that records were drawn from.
        smallest_class: people in the smallest; None without any.
        columns: one for each column of the source.
        transformation: level of each quasi-identifier; empty where they differ between classes.
        loss: mean information loss of a cell; None where no value is generalized.
        column_loss: of each quasi-identifier.
        risk: before and after; None of synthetic records.
        histogram: classes by their size.
    """

    released_rows: int
    classes: int
    smallest_class: int | None
    columns: tuple[Column, ...]
    transformation: Mapping[str, int]
    loss: float | None
    column_loss: Mapping[str, float]
    risk: RiskChange | None
    histogram: tuple[SizeCount, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """All that is measured of a release. Private: it reveals facts about the source.

    Attributes:
        table: its classes, and what was lost.
        metrics: those that were asked for, in their order.
        learned: what who learns from a release with counterfeit records finds; None of others.
        useless: sentences on what nobody can use.
        remains: what is not promised.
        workload: its queries; None without any.
        models: the recipient's; None where none are declared.
        distributions: columns before and after.
    """

    table: MeasuredTable
    metrics: Mapping[str, float]
    learned: Suspected | None
    useless: tuple[str, ...]
    remains: Remains
    workload: Workload | None
    models: Comparison | None
    distributions: tuple[SideBySide, ...]


def of_release(
    prepared: Prepared,
    written: Written,
    session: Session,
    public: Public,
    declared: Declared,
    hierarchies: Relation | None,
    models: Sequence[recipients.Original],
) -> Measured:
    """Measure a written release against its source.

    Args:
        prepared: the prepared spec.
        written: the release.
        session: where it is.
        public: what of it is published.
        declared: what it promises.
        hierarchies: private, what labels stand for; None where values stand for themselves.
        models: the recipient's, as the source has them.
    """
    bound = prepared.bound
    workload = evaluate_workload(bound, session, public, declared)
    compared = recipients.compared(bound, session, models, public, hierarchies, declared)
    asked = kept_metrics(bound.spec.evaluate.metrics)
    evidence = RunEvidence(prepared, written, session)
    alike = fidelity(bound, session, public, hierarchies, declared, asked, evidence)
    return _measured(evidence, workload, compared, alike)


def of_view(prepared: Prepared, written: Written, session: Session) -> Measured:
    """Measure a preview: no query is run on it, and it is not compared with its source."""
    return _measured(RunEvidence(prepared, written, session), None, None, Fidelity({}, ()))


def _measured(
    evidence: RunEvidence,
    workload: Workload | None,
    models: Comparison | None,
    alike: Fidelity,
) -> Measured:
    prepared, written = evidence.prepared, evidence.written
    outcome, bound = written.outcome, prepared.bound
    synthetic = synthetic_of(outcome)
    left = remains(
        bound,
        evidence.session,
        written.counted,
        prepared.parameters.subject,
        synthetic=synthetic is not None,
        classes=evidence if evidence.counts_records else None,
    )
    asked = kept_metrics(bound.spec.evaluate.metrics)
    metrics = {**outcome.metrics, **measured(evidence, {*asked, *outcome.metrics})}
    _require_kept(metrics, outcome)
    table = _of_classes(evidence) if synthetic is None else _of_synthetic(evidence, synthetic)
    return Measured(
        table=table,
        metrics=_in_order({**metrics, **alike.metrics}, asked),
        learned=evidence.suspected,
        useless=useless(prepared, outcome, table.columns, workload),
        remains=left,
        workload=workload,
        models=models,
        distributions=alike.distributions,
    )


def _of_synthetic(of: RunEvidence, synthetic: Synthetic) -> MeasuredTable:
    """What is known of synthetic records; their classes are the clusters they were drawn from."""
    prepared, released = of.prepared, of.released
    return MeasuredTable(
        released_rows=prepared.rows,
        classes=synthetic.clusters,
        smallest_class=synthetic.smallest,
        columns=tuple(_column(c, prepared, {}, {}, released, {}) for c in prepared.bound.columns),
        transformation={},
        loss=None,
        column_loss={},
        risk=None,
        histogram=(),
    )


def _of_classes(of: RunEvidence) -> MeasuredTable:
    """What is known of the equivalence classes of a release, and of what was lost."""
    prepared, session, counted = of.prepared, of.session, of.written.counted
    node, generalized = of.written.outcome.node, masked_of(of.written.outcome) is None
    levels = dict(zip(of.names, node, strict=True)) if node is not None else {}
    losses = of.losses if generalized else {}
    k = prepared.bound.spec.smallest_class
    rows, records = counted, None
    if of.counts_records and prepared.counting.null_policy != "wildcard":
        rows, records = of.classes.relation, of.classes.records
    after = risk.measure(session, rows, of.names, k, prepared.counting, records)
    columns = (
        _column(c, prepared, levels, losses, of.released, of.counts) for c in prepared.bound.columns
    )
    before = risk_before(prepared, session)
    sizes = risk.histogram(session, rows, of.names, prepared.counting, records)
    return MeasuredTable(
        released_rows=after.records,
        classes=after.classes,
        smallest_class=after.k,
        columns=tuple(columns),
        transformation=levels,
        loss=of.loss if generalized else None,
        column_loss=losses,
        risk=RiskChange(before=Risk.told_by(before), after=Risk.told_by(after)),
        histogram=tuple(map(SizeCount.told_by, sizes)),
    )


def _in_order(metrics: Mapping[str, float], asked: Sequence[str]) -> dict[str, float]:
    """The requested metrics, in the order of `METRICS`; columns follow the name after a dot."""
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
) -> Column:
    q = next((q for q in prepared.quasi_identifiers if q.name == c.name), None)
    written = released.find(c.name)
    generalized = prepared.bound.spec.method.can.values == "generalized"
    column = Column(
        name=c.name,
        role=c.spec.role,
        type=c.column.shown_type,
        released_type=written.type if written else None,
        level=levels.get(c.name),
        height=q.height if q else None,
        loss=losses.get(c.name),
        labels=_labels(counts[q.name]) if q else (),
        pseudonym=c.spec.pseudonym,
        reason=c.spec.reason,
        accept=", ".join(c.spec.accept) or None,
        weight=c.spec.weight,
        hierarchy=q.coding.hierarchy.kind if q and generalized else None,
        declared_domain=_declares_domain(c, q) if q else None,
    )
    if c.spec.values == "normalized":  # what the verifier counts by is told where it is not so
        return column
    return column.model_copy(update={"values": c.spec.values})


def _declares_domain(c: BoundColumn, q: QuasiIdentifier) -> bool:
    """Whether the loss of a value follows from what was declared, not from the data."""
    given = c.spec.hierarchy
    limits = given is not None and given.lower is not None and given.upper is not None
    return q.coding.hierarchy.declared or limits


def _labels(counts: Counts) -> tuple[str | None, ...]:
    """The values that occur most."""
    ordered = sorted(counts, key=lambda row: -row[1])
    return tuple(value for value, _ in ordered[:LABELS_SHOWN])
