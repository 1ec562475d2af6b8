"""Records that are not true: counterfeit ones that were added, and ones that were moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The method's own bound of the prosecutor risk of a record, in shares of 1/k.
ALLOWED_RISK = 1.10
# The catalogs that are published, and so say how many records are counterfeit.
CATALOGUED = ("pool", "paper")


def counted(padding: Mapping[str, Any]) -> str:
    """What k means where counterfeit records count, with the risk or, unknown, what it may be.

    >>> counted({"k": 5, "risk": 0.212, "strict": False})
    'k = 5 counting counterfeits; prosecutor risk 1.06/5'
    >>> counted({"k": 5, "risk": None, "strict": False})
    'k = 5 counting counterfeits; prosecutor risk at most 1.10/5'
    """
    k, risk = padding["k"], padding.get("told") or padding["risk"]
    if risk is None:
        shown = f"at most {1.0 if padding['strict'] else ALLOWED_RISK:.2f}"
    else:
        shown = f"{risk * k:.2f}"
    return f"k = {k} counting counterfeits; prosecutor risk {shown}/{k}"


def padding_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a page says of counterfeit records; None where there are none.

    What the audience may not know is None: of a record for the public, `counterfeits`, `size`,
    `candidates`, `groups`, `real`, `limit` or `degree`.
    """
    padding = record.get("padding")
    if not padding:
        return None
    keys = ("counterfeits", "size", "candidates", "groups", "limit", "degree", "h")
    declared = record.get("method_parameters") or {}
    added = padding.get("counterfeits")
    return {
        **dict.fromkeys(keys),
        **padding,
        "counted": counted(padding),
        "declared_h": declared.get("h"),
        "budget": declared.get("max_counterfeits"),
        "real": None if added is None else record["released_rows"] - added,
        "published": padding["catalog"] in CATALOGUED,
        "weighing": _weighing(record["release"]) if padding["catalog"] in CATALOGUED else None,
    }


def moved_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a page says of records with quasi-identifiers of others; None where there are none.

    Their number is None for the public.
    """
    if record["method"] != "relocation":
        return None
    limit = (record.get("method_parameters") or {}).get("limit")
    return {"limit": limit, "rows": record.get("relocated_rows")}


def _weighing(release: str) -> str:
    """How a recipient counts and averages."""
    return (
        f"SELECT sum(weight) AS records\nFROM {release}_weighted\nWHERE …;\n\n"
        f"SELECT sum(weight * x) / sum(weight) AS mean_of_x\nFROM {release}_weighted\nWHERE …;"
    )
