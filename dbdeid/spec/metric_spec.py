"""The metrics that a specification may name, and which releases have which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import GetPydanticSchema
from pydantic_core import core_schema

from dbdeid.data.problem import problem
from dbdeid.spec.method_spec import Family, MethodPart
from dbdeid.utility.catalog import CATALOG
from dbdeid.utility.common.metric import EVERY

METRICS = tuple(metric.name for metric in CATALOG)
# Their figures that are not of columns: `membership.outliers`.
PARTS = tuple(f"{metric.name}.{part}" for metric in CATALOG for part in metric.parts)
Metric: TypeAlias = Annotated[
    str, GetPydanticSchema(lambda _source, _handler: core_schema.literal_schema([*METRICS]))
]
# Metrics of every release, whatever made it; the dear ones only where they are asked for.
OF_EVERY = tuple(metric.name for metric in CATALOG if {*metric.families} == {*EVERY})
ON_REQUEST = tuple(metric.name for metric in CATALOG if metric.on_request)
BY_DEFAULT = tuple(name for name in METRICS if name not in ON_REQUEST)
# Metrics that are about sensitive columns.
ABOUT_SENSITIVE = tuple(metric.name for metric in CATALOG if metric.sensitive != "no")

# Why the releases of a family do not have the metrics of others.
_WHY: dict[Family, str] = {
    "generalized": "is about values that are not generalized",
    "local": "is about values that are not generalized",
    "padded": "compares records one by one, and counterfeit ones have no original",
    "synthetic": "looks at records one by one, and these are nobody's",
    "masked": "is about levels of a hierarchy, and means have none",
    "external": "is about how a release was made",
}


def kept_metrics(asked: Sequence[str] | None) -> Sequence[str]:
    """The metrics that are measured where a spec asks for some, or for none in particular."""
    return BY_DEFAULT if asked is None else asked


def metrics_of(family: Family) -> tuple[str, ...]:
    """The metrics that the releases of a family have."""
    return tuple(metric.name for metric in CATALOG if family in metric.families)


def require_measured(asked: Sequence[str], method: MethodPart, *, view: bool) -> None:
    """Refuse metrics that the releases of a method do not have, or views, and say why."""
    compared = [name for name in asked if name in OF_EVERY]
    if view and compared:
        raise problem(
            f"metric {compared[0]!r} compares a release with its source, and a view is a preview",
            "release it as a table",
        )
    family, known = method.family, metrics_of(method.family)
    refused = [name for name in asked if name not in known]
    why = _WHY[family]
    if family == "local":
        own = {m.name: m.not_of_local for m in CATALOG if m.not_of_local}
        refused.sort(key=lambda name: name not in own)
        if refused and refused[0] in own:
            differ = f"in method {method.name} levels differ between classes, which overlap"
            why = f"{own[refused[0]]}, and {differ}"
    if refused:
        raise problem(
            f"metric {refused[0]!r} {why}",
            f"what method {method.name} releases is measured by {', '.join(known)}",
        )
