"""What a bound spec promises, as the verifier takes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from dbdeid.bind import safe_harbor
from dbdeid.bind.bound import Bound, BoundColumn, bounds_of
from dbdeid.engine.relation import Column
from dbdeid.methods.common.outcome import Outcome
from dbdeid.methods.condensation.details import synthetic_of
from dbdeid.methods.counterfeit.details import padded_of
from dbdeid.methods.registry import method_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.spec.release_spec import published
from dbdeid.verify import Declared
from dbdeid.verify.base.declaration import Harbor, PolicyRisk


def declared_of(prepared: Prepared, outcome: Outcome) -> Declared:
    """The promises of a release as it was made."""
    shown = {
        q.name: {value.level for value in values.values()}
        for q, values in zip(prepared.quasi_identifiers, outcome.shown, strict=False)
    }
    node = outcome.node or ()
    names = [q.name for q in prepared.quasi_identifiers]
    padded, synthetic = padded_of(outcome), synthetic_of(outcome)
    return declare(
        prepared.bound,
        dict(zip(names, node, strict=False)),
        {q.name: q.height for q in prepared.quasi_identifiers},
        prepared.rows,
        unchanged=[name for name, levels in shown.items() if levels == {0}],
        padded=asdict(padded) if padded else None,
        weighed=asdict(prepared.weighed) if prepared.weighed else None,
        synthetic=asdict(synthetic) if synthetic else None,
    )


def declare(
    bound: Bound,
    levels: Mapping[str, int],
    tops: Mapping[str, int],
    source_rows: int,
    *,
    unchanged: Collection[str],
    padded: Mapping[str, Any] | None = None,
    weighed: Mapping[str, Any] | None = None,
    synthetic: Mapping[str, Any] | None = None,
) -> Declared:
    """The promises of a release as it was made.

    Args:
        bound: the bound spec.
        levels: level of each quasi-identifier; empty where levels differ between classes.
        tops: top level of each quasi-identifier.
        source_rows: records of the source.
        unchanged: quasi-identifiers that are released as they are in every class.
        padded: of a release with counterfeit records, the fields of
            `methods.counterfeit.details.Padded`.
        weighed: of a release under a policy, the fields of `verify.base.declaration.PolicyRisk`.
        synthetic: of synthetic records, the fields of `methods.condensation.details.Synthetic`.
    """
    spec, method = bound.spec, bound.spec.method
    keeps, masked = method.keeps_suppressed, method.can.values == "means"
    columns: list[Column] = []
    bounds: list[str] = []
    for c in bound.released:
        released_type = c.released_type or "VARCHAR"
        generalized = c.name in tops and (c.name not in unchanged or keeps)
        if masked and c.name in tops:
            released_type, generalized = method_of(bound).written_type(released_type), False
        columns.append(Column(c.name, "VARCHAR" if generalized else released_type))
        if c.name in tops and spec.output.bounds and bounds_of(c):
            bounds += [f"{c.name}_lower", f"{c.name}_upper"]
            columns += [Column(name, released_type) for name in bounds[-2:]]
    plain = Declared(
        release=spec.release,
        columns=tuple(columns),
        quasi_identifiers=tuple(tops),
        bounds=tuple(bounds),
        withheld=bound.withheld,
        models=bound.models,
        transformation=dict(levels),
        tops=dict(tops),
        source_rows=source_rows,
        suppression_limit=method.allowed_suppression,
        keeps_suppressed=keeps,
        domains=tuple(
            c.name for c in bound.quasi_identifiers if method.can.ordered or _declares_domain(c)
        ),
        limited=tuple(c.name for c in bound.quasi_identifiers if _declares_limits(c)),
        null_policy=spec.null_policy,
        subject=bound.subject.name if bound.subject else None,
        pseudonyms=tuple(c.name for c in bound.pseudonyms),
        local=bool(tops) and not levels and not masked,
        limits=_limits(bound, tops),
        relocated=method.allowed_moves,
        weighed=PolicyRisk(**weighed) if weighed else None,
        explained=bool(published(spec)),
        harbor=_harbor(bound),
        free={c.name: (c.released_type or "VARCHAR") if bounds_of(c) else "" for c in bound.free},
        as_written=tuple(c.name for c in bound.columns if c.spec.values == "as_written"),
    )
    details = padded or synthetic
    return method_of(bound).declared(plain, bound, details) if details else plain


def _harbor(bound: Bound) -> Harbor | None:
    """What HIPAA Safe Harbor asks of the released columns, where the spec declares to keep it."""
    preset = bound.spec.preset
    if preset is None:
        return None
    released = {c.name.lower(): c.name for c in bound.released if not c.spec.pseudonym}
    judged = {
        released[name.lower()]: safe_harbor.JUDGED[what]
        for name, what in preset.found.items()
        if name.lower() in released and what in safe_harbor.JUDGED and not preset.accepts(name)
    }
    accepted = tuple(name for name in released.values() if preset.accepts(name))
    first = {released[n.lower()]: y for n, y in preset.first_years.items() if n.lower() in released}
    return Harbor(judged, accepted, {n: y for n, y in first.items() if judged.get(n) == "date"})


def _limits(bound: Bound, tops: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    declared = {c.name: (c.spec.min_level, c.spec.max_level) for c in bound.quasi_identifiers}
    return {
        name: (low, tops[name] if high is None else min(high, tops[name]))
        for name, (low, high) in declared.items()
    }


def _declares_limits(column: BoundColumn) -> bool:
    hierarchy = column.spec.hierarchy
    return hierarchy is not None and None not in (hierarchy.lower, hierarchy.upper)


def _declares_domain(column: BoundColumn) -> bool:
    hierarchy = column.spec.hierarchy
    listed = hierarchy is not None and hierarchy.kind in ("path", "table", "groups")
    return listed or column.spec.domain is not None
