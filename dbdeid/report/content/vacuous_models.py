"""Declared models that promise nothing: whatever is released keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def promises_nothing(model: str, declared: Mapping[str, Any]) -> bool:
    """Whether a model is kept by any table, by what was declared of it.

    Args:
        model: its name.
        declared: its parameters; those that are left out have their defaults.
    """
    match model:
        case "k_anonymity" | "k_map":
            return bool(declared.get("k") == 1)
        case "l_diversity":
            loose = declared.get("kind", "distinct") != "recursive" or (declared.get("c") or 0) > 1
            return bool(declared.get("l") == 1) and loose
        case "t_closeness":
            return bool(declared.get("t") == 1)
        case "alpha_k":
            return bool(declared.get("k") == 1 and declared.get("alpha") == 1)
        case "delta_presence":
            return bool(declared.get("max") == 1 and not declared.get("min"))
        case "max_risk":
            return bool(declared.get("threshold") == 1)
    return False
