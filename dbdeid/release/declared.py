"""What a bound spec promises, as the verifier takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdeid.engine.relation import Column
from dbdeid.release.bind import Bound, BoundColumn, bounds_of
from dbdeid.release.prepare import Prepared
from dbdeid.verify import Declared


def declared_of(prepared: Prepared, node: Sequence[int]) -> Declared:
    """The promises of a release at the chosen transformation."""
    names = [q.name for q in prepared.quasi_identifiers]
    tops = {q.name: q.height for q in prepared.quasi_identifiers}
    levels = dict(zip(names, node, strict=True))
    return declare(prepared.bound, levels, tops, prepared.rows)


def declare(
    bound: Bound, levels: Mapping[str, int], tops: Mapping[str, int], source_rows: int
) -> Declared:
    """The promises of a release at known levels.

    Args:
        bound: the bound spec.
        levels: level of each quasi-identifier.
        tops: top level of each quasi-identifier.
        source_rows: records of the source.
    """
    spec = bound.spec
    keeps = spec.method.suppressed == "keep"
    columns: list[Column] = []
    bounds: list[str] = []
    for c in bound.released:
        released_type = c.released_type or "VARCHAR"
        generalized = c.name in levels and (levels[c.name] > 0 or keeps)
        columns.append(Column(c.name, "VARCHAR" if generalized else released_type))
        if c.name in levels and spec.output.bounds and bounds_of(c):
            bounds += [f"{c.name}_lower", f"{c.name}_upper"]
            columns += [Column(name, released_type) for name in bounds[-2:]]
    return Declared(
        release=spec.release,
        columns=tuple(columns),
        quasi_identifiers=tuple(levels),
        bounds=tuple(bounds),
        withheld=bound.withheld,
        models=bound.models,
        transformation=dict(levels),
        tops=dict(tops),
        source_rows=source_rows,
        suppression_limit=spec.method.suppression_limit,
        keeps_suppressed=keeps,
        domains=tuple(c.name for c in bound.quasi_identifiers if _declares_domain(c)),
        null_policy=spec.null_policy,
        subject=bound.subject.name if bound.subject else None,
        pseudonyms=tuple(c.name for c in bound.pseudonyms),
    )


def _declares_domain(column: BoundColumn) -> bool:
    hierarchy = column.spec.hierarchy
    listed = hierarchy is not None and hierarchy.kind in ("path", "table", "groups")
    return listed or column.spec.domain is not None
