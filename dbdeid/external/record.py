"""The report of a release made elsewhere, from its tables, without an earlier run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dbdeid.data.json import plain
from dbdeid.engine.session import Settings
from dbdeid.evaluation.remains import remains
from dbdeid.external.foreign_release import Foreign, opened
from dbdeid.external.metrics import count, evaluated, risk_of, staged
from dbdeid.external.values import Explained
from dbdeid.external.verify import verified, warnings
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import risk
from dbdeid.record.findings import Risk, RiskChange, SizeCount, Verification
from dbdeid.record.making import Column, Publisher
from dbdeid.record.release_record import LABELS_SHOWN, ReleaseRecord
from dbdeid.record.usefulness import Distribution, Recipients, Workload
from dbdeid.spec.file import SpecFile
from dbdeid.utility.loss import value_counts
from dbdeid.version import __version__


def record(
    file: SpecFile, *, database: Path | None = None, settings: Settings | None = None
) -> ReleaseRecord:
    """All that is known of a release made elsewhere, as its report takes it.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit.
    """
    with opened(file, database=database, settings=settings) as found:
        return _record(found)


def _record(found: Foreign) -> ReleaseRecord:
    spec, session = found.bound.spec, found.session
    verification = verified(found)
    utility = evaluated(found) if found.at_hand else None
    names = [found.spelled[c.name] for c in found.bound.quasi_identifiers]
    own = found.spelled[found.bound.subject.name] if found.bound.subject else None
    after = risk_of(found, found.table)
    rows = count(session, found.original) if found.original is not None else None
    left = remains(found.bound, session, found.table, own)
    histogram = risk.histogram(session, found.table, names, Counting(spec.null_policy, own))
    parameters = spec.method.model_dump(exclude={"name"})
    workload = utility.queries if utility else None
    models = utility.models if utility else None
    return ReleaseRecord(
        release=spec.release,
        method=spec.method.name,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=spec.source_name,
        source_rows=rows,
        source_subjects=after.subjects if own else None,
        released_rows=after.records,
        suppressed_rows=None if rows is None else max(rows - after.records, 0),
        recoding="unknown",
        classes=after.classes,
        smallest_class=after.k,
        verified=verification.verified,
        remains=left,
        warnings=tuple(warnings(found)),
        columns=tuple(_reported(found)),
        privacy=tuple(plain({"model": m.model, **m.declared}) for m in found.bound.models),
        null_policy=spec.null_policy,
        accept=spec.accept,
        method_parameters=plain({key: value for key, value in parameters.items() if value != {}}),
        transformation={},
        loss=None,
        metrics=dict(utility.metrics) if utility else {},
        verification=Verification.told_by(verification.to_dict()),
        risk=_risk(found, after),
        histogram=tuple(map(SizeCount.told_by, histogram)),
        queries=Workload.told_by(workload.to_dict()) if workload else None,
        models=Recipients.told_by(models.to_dict()) if models else None,
        distributions=tuple(map(Distribution.told_by, utility.distributions)) if utility else (),
        exports=(),
        spec_text=found.file.text,
        publisher=Publisher.told_by(spec.publisher) if spec.publisher else None,
    )


def _risk(found: Foreign, after: risk.Risk) -> RiskChange:
    """That of the release, and of the original, in records, where it has the quasi-identifiers."""
    told = Risk.told_by(after)
    names = [c.name for c in found.bound.quasi_identifiers]
    if not found.at_hand or found.bound.subject or not set(names) <= set(found.compared):
        return RiskChange(after=told)
    source = staged(found, names)
    measured = risk_of(found, source, subject=False)
    found.session.drop_temp(source.name)
    return RiskChange(before=Risk.told_by(measured), after=told)


def _reported(found: Foreign) -> Iterator[Column]:
    explained: dict[str, Explained] = {c.column.name: c for c in found.columns}
    spelled = [found.spelled[name] for name in explained]
    counts = value_counts(found.session, found.table, spelled)
    for c in found.bound.columns:
        written = found.table.find(c.name)
        values = explained.get(c.name)
        frequent = sorted(counts[found.spelled[c.name]], key=lambda row: -row[1]) if values else []
        yield Column(
            name=c.name,
            role=c.spec.role,
            type=c.column.shown_type,
            released_type=written.type if written and c.spec.released else None,
            level=None,
            height=None,
            loss=None,
            labels=tuple(value for value, _ in frequent[:LABELS_SHOWN]),
            pseudonym=c.spec.pseudonym,
            reason=c.spec.reason,
            accept=", ".join(c.spec.accept) or None,
            weight=1.0,
            hierarchy=f"explained by {values.told_by}" if values else None,
            declared_domain=False if values else None,
        )
