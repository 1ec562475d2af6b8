"""What a bound spec promises, as the verifier takes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from dbdeid.engine.relation import Column
from dbdeid.methods.outcome import Outcome
from dbdeid.release.bind import Bound, BoundColumn, bounds_of
from dbdeid.release.method_spec import FullDomain, Relocation
from dbdeid.release.prepare import Prepared
from dbdeid.verify import Declared
from dbdeid.verify.declared import CLASS_ID, Padding


def declared_of(prepared: Prepared, outcome: Outcome) -> Declared:
    """The promises of a release as it was made."""
    shown = {
        q.name: {value.level for value in values.values()}
        for q, values in zip(prepared.quasi_identifiers, outcome.shown, strict=True)
    }
    node = outcome.node or ()
    names = [q.name for q in prepared.quasi_identifiers]
    padded = asdict(outcome.padded) if outcome.padded else None
    return declare(
        prepared.bound,
        dict(zip(names, node, strict=False)),
        {q.name: q.height for q in prepared.quasi_identifiers},
        prepared.rows,
        unchanged=[name for name, levels in shown.items() if levels == {0}],
        padded=padded,
    )


def declare(
    bound: Bound,
    levels: Mapping[str, int],
    tops: Mapping[str, int],
    source_rows: int,
    *,
    unchanged: Collection[str],
    padded: Mapping[str, Any] | None = None,
) -> Declared:
    """The promises of a release as it was made.

    Args:
        bound: the bound spec.
        levels: level of each quasi-identifier; empty where levels differ between classes.
        tops: top level of each quasi-identifier.
        source_rows: records of the source.
        unchanged: quasi-identifiers that are released as they are in every class.
        padded: of a release with counterfeit records, the fields of `methods.outcome.Padded`.
    """
    spec, method = bound.spec, bound.spec.method
    keeps = isinstance(method, FullDomain) and method.suppressed == "keep"
    columns = [Column(CLASS_ID, "BIGINT")] if padded else []
    bounds: list[str] = []
    for c in bound.released:
        released_type = c.released_type or "VARCHAR"
        generalized = c.name in tops and (c.name not in unchanged or keeps)
        columns.append(Column(c.name, "VARCHAR" if generalized else released_type))
        if c.name in tops and spec.output.bounds and bounds_of(c):
            bounds += [f"{c.name}_lower", f"{c.name}_upper"]
            columns += [Column(name, released_type) for name in bounds[-2:]]
    return Declared(
        release=spec.release,
        columns=tuple(columns),
        quasi_identifiers=tuple(tops),
        bounds=tuple(bounds),
        withheld=bound.withheld,
        models=bound.models,
        transformation=dict(levels),
        tops=dict(tops),
        source_rows=source_rows,
        suppression_limit=method.suppression_limit if isinstance(method, FullDomain) else 0.0,
        keeps_suppressed=keeps,
        domains=tuple(c.name for c in bound.quasi_identifiers if _declares_domain(c)),
        limited=tuple(c.name for c in bound.quasi_identifiers if _declares_limits(c)),
        null_policy=spec.null_policy,
        subject=bound.subject.name if bound.subject else None,
        pseudonyms=tuple(c.name for c in bound.pseudonyms),
        local=bool(tops) and not levels,
        limits=_limits(bound, tops),
        padding=_padding(bound, padded) if padded else None,
        relocated=method.limit if isinstance(method, Relocation) else None,
    )


def _limits(bound: Bound, tops: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    declared = {c.name: (c.spec.min_level, c.spec.max_level) for c in bound.quasi_identifiers}
    return {
        name: (low, tops[name] if high is None else min(high, tops[name]))
        for name, (low, high) in declared.items()
    }


_OF_PADDING = ("k", "size", "h", "limit", "catalog", "sensitive", "strict")


def _padding(bound: Bound, padded: Mapping[str, Any]) -> Padding:
    return Padding(
        **{key: padded[key] for key in _OF_PADDING},
        weights={c.name: c.spec.weight for c in bound.quasi_identifiers},
    )


def _declares_limits(column: BoundColumn) -> bool:
    hierarchy = column.spec.hierarchy
    return hierarchy is not None and None not in (hierarchy.lower, hierarchy.upper)


def _declares_domain(column: BoundColumn) -> bool:
    hierarchy = column.spec.hierarchy
    listed = hierarchy is not None and hierarchy.kind in ("path", "table", "groups")
    return listed or column.spec.domain is not None
