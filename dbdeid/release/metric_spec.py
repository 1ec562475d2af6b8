"""The metrics that a specification may name, and which releases have which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from dbdeid.data.problem import problem
from dbdeid.release.hierarchy_spec import Part
from dbdeid.release.method_spec import (
    Condensation,
    Counterfeit,
    LocalRecoding,
    Microaggregation,
    Objective,
)

Metric = Literal[
    Objective,
    "block_entropy",
    "node_entropy",
    "reconstruction_error",
    "mutual_information",
    "attacker_gain",
    "class_entropy_change",
    "information_loss",
    "moments",
    "conditional_privacy",
    "exact_hits",
    "membership",
    "cluster_moments",
]
METRICS: tuple[str, ...] = get_args(Metric)
# Metrics of each sensitive column.
OF_SENSITIVE = ("mutual_information", "attacker_gain", "class_entropy_change")
# Metrics of a release with counterfeit records.
OF_PADDED = ("loss", "discernibility", "average_class_size", "reconstruction_error")
# Metrics of synthetic records.
OF_SYNTHETIC = ("moments", "conditional_privacy", "exact_hits", "membership", "cluster_moments")
# Metrics of quasi-identifiers that means have replaced.
OF_MASKED = ("discernibility", "average_class_size", "information_loss", "moments")
# Metrics that only releases without generalized values have.
_OF_NUMBERS = ("information_loss", *OF_SYNTHETIC[1:])
# Why a metric is none of a release whose levels differ between classes.
NOT_OF_LOCAL = {
    "precision": "adds up the levels of one transformation",
    "height": "adds up the levels of one transformation",
    "kl_divergence": "spreads classes that do not overlap",
}
# Metrics of a release of generalized values, and of one whose levels differ between classes.
OF_GENERALIZED = tuple(m for m in METRICS if m not in _OF_NUMBERS)
OF_LOCAL = tuple(name for name in OF_GENERALIZED if name not in NOT_OF_LOCAL)


def require_measured(asked: Sequence[str], method: Part) -> None:
    """Refuse metrics that a method's releases do not have, and say why."""
    match method:
        case Condensation():
            _require(asked, OF_SYNTHETIC, "looks at records one by one, and these are nobody's")
        case Microaggregation():
            _require(asked, OF_MASKED, "is about levels of a hierarchy, and means have none")
        case Counterfeit():
            why = "compares records one by one, and counterfeit ones have no original"
            _require(asked, OF_PADDED, why)
        case LocalRecoding():
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
