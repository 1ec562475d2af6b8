"""Privacy models: one file a model, with a predicate for searching and a step for verifying."""

from __future__ import annotations

from dbdeid.privacy.counting import ROWS, Counting, NullPolicy
from dbdeid.privacy.k_anonymity import KAnonymity

__all__ = ["MODELS", "NOT_YET", "ROWS", "Counting", "KAnonymity", "NullPolicy"]

MODELS = {"k_anonymity": KAnonymity}

# Models that the specification knows and this version cannot enforce.
NOT_YET = (
    "l_diversity",
    "t_closeness",
    "alpha_k",
    "basic_beta",
    "enhanced_beta",
    "delta_disclosure",
    "delta_presence",
    "k_map",
    "max_risk",
    "cluster_size",
)
