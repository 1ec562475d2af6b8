"""The metrics that a specification may name, and which releases have which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from dbdeid.data.problem import problem
from dbdeid.spec.method_spec import MethodPart, Objective

Metric = Literal[
    Objective,
    "block_entropy",
    "node_entropy",
    "reconstruction_error",
    "mutual_information",
    "attacker_gain",
    "class_entropy_change",
    "minimality",
    "downcoding",
    "inference",
    "information_loss",
    "moments",
    "conditional_privacy",
    "exact_hits",
    "membership",
    "people_at_risk",
    "counterfeit_suspicion",
    "cluster_moments",
    "distribution",
    "association",
    "propensity",
    "classification",
]
METRICS: tuple[str, ...] = get_args(Metric)
# Metrics of every release, whatever made it; the dear ones only where they are asked for.
OF_EVERY = ("distribution", "association", "propensity", "classification")
ON_REQUEST = (*OF_EVERY[1:], "inference")
BY_DEFAULT = tuple(name for name in METRICS if name not in ON_REQUEST)
# Metrics of each sensitive column.
OF_SENSITIVE = ("mutual_information", "attacker_gain", "class_entropy_change")
# Metrics that are about sensitive columns.
ABOUT_SENSITIVE = (*OF_SENSITIVE, "minimality", "inference")
# Metrics of a release with counterfeit records.
OF_PADDED = (
    *("loss", "discernibility", "average_class_size", "reconstruction_error"),
    "counterfeit_suspicion",
    *OF_EVERY,
)
# Metrics of synthetic records.
_OF_DRAWN = ("conditional_privacy", "exact_hits", "membership", "people_at_risk", "cluster_moments")
OF_SYNTHETIC = ("moments", *_OF_DRAWN, *OF_EVERY)
# Metrics of quasi-identifiers that means have replaced.
OF_MASKED = ("discernibility", "average_class_size", "information_loss", "moments", *OF_EVERY)
# Metrics of a release made elsewhere, which tells of its values and not how it was made.
OF_EXTERNAL = (
    "discernibility",
    "average_class_size",
    "ambiguity",
    "reconstruction_error",
    *OF_SENSITIVE,
    "moments",
    *OF_EVERY,
)
# Metrics that only releases without generalized values have.
_OF_NUMBERS = ("information_loss", "counterfeit_suspicion", *_OF_DRAWN)
# Why a metric is none of a release whose levels differ between classes.
NOT_OF_LOCAL = {
    "precision": "adds up the levels of one transformation",
    "height": "adds up the levels of one transformation",
    "kl_divergence": "spreads classes that do not overlap",
}
# Metrics of a release of generalized values, and of one whose levels differ between classes.
OF_GENERALIZED = tuple(m for m in METRICS if m not in _OF_NUMBERS)
OF_LOCAL = tuple(name for name in OF_GENERALIZED if name not in NOT_OF_LOCAL)


def kept_metrics(asked: Sequence[str] | None) -> Sequence[str]:
    """The metrics that are measured where a spec asks for some, or for none in particular."""
    return BY_DEFAULT if asked is None else asked


def require_measured(asked: Sequence[str], method: MethodPart, *, view: bool) -> None:
    """Refuse metrics that the releases of a method do not have, or views, and say why."""
    compared = [name for name in asked if name in OF_EVERY]
    if view and compared:
        raise problem(
            f"metric {compared[0]!r} compares a release with its source, and a view is a preview",
            "release it as a table",
        )
    match method.family:
        case "synthetic":
            _require(asked, OF_SYNTHETIC, "looks at records one by one, and these are nobody's")
        case "masked":
            _require(asked, OF_MASKED, "is about levels of a hierarchy, and means have none")
        case "padded":
            why = "compares records one by one, and counterfeit ones have no original"
            _require(asked, OF_PADDED, why)
        case "external":
            _require(asked, OF_EXTERNAL, "is about how a release was made")
        case "local":
            for name in asked:
                if name in NOT_OF_LOCAL:
                    why = (
                        f"{NOT_OF_LOCAL[name]}, and in method {method.name} levels differ between "
                        "classes, which overlap"
                    )
                    _require([name], OF_LOCAL, why)
            _require(asked, OF_LOCAL, "is about values that are not generalized")
        case _:
            _require(asked, OF_GENERALIZED, "is about values that are not generalized")


def _require(asked: Sequence[str], known: Sequence[str], why: str) -> None:
    refused = [name for name in asked if name not in known]
    if refused:
        raise problem(f"metric {refused[0]!r} {why}", f"it is measured by {', '.join(known)}")
