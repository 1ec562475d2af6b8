"""Tables of a number, a letter and a category, small enough to try every transformation."""

from __future__ import annotations

from typing import Any

DRAWN = {"role": "quasi_identifier", "reason": "drawn at random"}  # k may be 1


def spec(k: int, limit: float, **method: Any) -> dict[str, Any]:
    """A release of a table `t` of the three columns, and the one metric that is minimized."""
    return {
        "release": "r",
        "source": "t",
        "columns": {
            "n": {**DRAWN, "hierarchy": {"intervals": [2, 4]}},
            "c": {**DRAWN, "hierarchy": {"groups": [{"ab": ["a", "b"], "c_": ["c"]}]}},
            "x": {**DRAWN, "hierarchy": "suppress"},
        },
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": {"name": "full_domain", "suppression_limit": limit, **method},
        "evaluate": {"metrics": [method.get("objective", "loss")]},
    }


def generalized(row: tuple[Any, ...], node: tuple[int, ...], low: int, high: int) -> list[Any]:
    """Label and loss of each cell, written down from the definitions alone."""
    n, c, x = row
    width = {1: 2, 2: 4}.get(node[0], 1)
    span = max(high - low - 1, 1)
    first = (n // width, (width - 1) / span) if node[0] < 3 else ("*", 1.0)
    second: tuple[Any, float] = (c, 0.0)
    if node[1] == 1 and c in ("a", "b"):
        second = ("ab", 0.5)
    elif node[1] == 2:
        second = ("*", 1.0)
    return [first, second, (x, 0.0) if node[2] == 0 else ("*", 1.0)]
