"""The report of a release made elsewhere: what its tables tell, without an earlier run."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbdeid.engine.relation import Column
from dbdeid.engine.session import Settings
from dbdeid.evaluation.remains import remains
from dbdeid.external.foreign_release import Foreign, opened
from dbdeid.external.metrics import count, evaluated, risk_of, staged
from dbdeid.external.values import Explained
from dbdeid.external.verify import verified, warnings
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import risk
from dbdeid.report.content.record import LABELS_SHOWN
from dbdeid.spec.file import SpecFile
from dbdeid.utility.loss import value_counts
from dbdeid.version import __version__


def record(
    file: SpecFile, *, database: Path | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """All that is known of a release made elsewhere, as its report takes it.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit.
    """
    with opened(file, database=database, settings=settings) as found:
        return _record(found)


def _record(found: Foreign) -> dict[str, Any]:
    spec, session = found.bound.spec, found.session
    verification = verified(found)
    utility = evaluated(found) if found.at_hand else None
    names = [found.spelled[c.name] for c in found.bound.quasi_identifiers]
    own = found.spelled[found.bound.subject.name] if found.bound.subject else None
    after = risk_of(found, found.table)
    rows = count(session, found.original) if found.original is not None else None
    left = remains(found.bound, session, found.table, own)
    histogram = risk.histogram(session, found.table, names, Counting(spec.null_policy, own))
    return {
        "release": spec.release,
        "method": spec.method.name,
        "version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": spec.source_name,
        "source_rows": rows,
        "source_subjects": after.subjects if own else None,
        "released_rows": after.records,
        "suppressed_rows": None if rows is None else max(rows - after.records, 0),
        "recoding": "unknown",
        "classes": after.classes,
        "smallest_class": after.k,
        "verified": verification.verified,
        "remains": left.to_dict(),
        "warnings": list(warnings(found)),
        "columns": _reported(found),
        "privacy": [{"model": m.model, **m.declared} for m in found.bound.models],
        "null_policy": spec.null_policy,
        "accept": spec.accept,
        "method_parameters": {
            key: value
            for key, value in spec.method.model_dump(exclude={"name"}).items()
            if value != {}
        },
        "transformation": {},
        "loss": None,
        "metrics": utility.metrics if utility else {},
        "verification": verification.to_dict(),
        "risk": {**_before(found), "after": after.to_dict()},
        "histogram": [asdict(size) for size in histogram],
        "queries": utility.queries if utility else None,
        "models": {"models": utility.models, "overall": utility.models_overall}
        if utility and utility.models
        else None,
        "distributions": list(utility.distributions) if utility else [],
        "exports": [],
        "spec_text": found.file.text,
    }


def _before(found: Foreign) -> dict[str, Any]:
    """The risk of the original, in records, where it has all the quasi-identifiers."""
    names = [c.name for c in found.bound.quasi_identifiers]
    if not found.at_hand or found.bound.subject or not set(names) <= set(found.compared):
        return {}
    source = staged(found, names)
    measured = risk_of(found, source, subject=False).to_dict()
    found.session.drop_temp(source.name)
    return {"before": measured}


def _reported(found: Foreign) -> list[dict[str, Any]]:
    explained: dict[str, Explained] = {c.column.name: c for c in found.columns}
    spelled = [found.spelled[name] for name in explained]
    counts = value_counts(found.session, found.table, spelled)
    reported = []
    for c in found.bound.columns:
        written: Column | None = found.table.find(c.name)
        values = explained.get(c.name)
        frequent = sorted(counts[found.spelled[c.name]], key=lambda row: -row[1]) if values else []
        reported.append(
            {
                "name": c.name,
                "role": c.spec.role,
                "type": c.column.shown_type,
                "released_type": written.type if written and c.spec.released else None,
                "level": None,
                "height": None,
                "loss": None,
                "labels": [value for value, _ in frequent[:LABELS_SHOWN]],
                "pseudonym": c.spec.pseudonym,
                "reason": c.spec.reason,
                "accept": ", ".join(c.spec.accept) or None,
                "weight": 1.0,
                "hierarchy": f"explained by {values.told_by}" if values else None,
                "declared_domain": False if values else None,
            }
        )
    return reported
