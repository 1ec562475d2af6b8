"""Documents of `dbdeid frontier` to draw: a chain of merges over small or large domains."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Domains = dict[str, list[str]]

SMALL: Domains = {
    "age": [str(age) for age in range(20)],
    "sex": ["Female", "Male"],
    "zip": ["37010", "37011", "37012", "37020", "37021", "37130"],
}
TENNESSEE: Domains = {
    "age": [str(age) for age in range(121)],
    "race": ["Asian", "Black", "Native", "Other", "Pacific", "Two or more", "White"],
    "sex": ["Female", "Male"],
    "zip": [str(37010 + 2 * i) for i in range(628)],
}


def labels(values: Sequence[str], starts: Sequence[int]) -> list[str]:
    """The released labels of the intervals that start at these places."""
    ends = [*starts[1:], len(values)]
    if len(starts) == 1:
        return ["*"]
    return [
        values[start] if end == start + 1 else f"{values[start]} to {values[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    ]


def chain(domains: Domains, rng: random.Random) -> list[dict[str, list[str]]]:
    """Policies from the top to the bottom, each with one interval more than the one before."""
    cuts = [(name, at) for name, own in domains.items() for at in range(1, len(own))]
    rng.shuffle(cuts)
    starts = {name: [0] for name in domains}
    found = [{name: labels(own, starts[name]) for name, own in domains.items()}]
    for name, at in cuts:
        starts[name] = sorted([*starts[name], at])
        found.append({**found[-1], name: labels(domains[name], starts[name])})
    return found


def document(
    domains: Domains = SMALL, chains: int = 1, points: int | None = None, **more: Any
) -> dict[str, Any]:
    """A frontier whose policies are of several chains in turn, as `dbdeid frontier` tells it."""
    rng = random.Random(8)
    policies = [p for found in zip(*(chain(domains, rng) for _ in range(chains))) for p in found]  # noqa: B905
    policies = policies[:points]
    last = max(len(policies) - 1, 1)
    told = [
        {
            "point": i + 1,
            "risk": round(0.0008 ** (1 - i / last), 12),
            "loss": round((1 - i / last) ** 1.6, 12),
            "kl": round(4.146 * (1 - i / last) ** 1.6, 12),
            "policy": policy,
            "classes": 3 * i + 1,
            "smallest_class": 1,
        }
        for i, policy in enumerate(policies)
    ]
    starts = [0, *range(10, len(domains["age"]), 10)]
    rule = dict(policies[-1])
    rule["age"] = labels(domains["age"], starts)
    found: dict[str, Any] = {
        "release": "visits",
        "source_rows": 32561,
        "people": 6_400_000,
        "population": "people.parquet",
        "risk": "population",
        "utility": "kl",
        "search": "greedy",
        "budget": 15100,
        "evaluated": 15011,
        "spent": 15100,
        "area": 0.0846,
        "seconds": {"prepare": 1.5, "search": 3.75, "total": 5.5},
        "columns": [
            {"name": name, "values": len(own), "bits": len(own) - 1}
            for name, own in domains.items()
        ],
        "points": told,
        "equal": 2,
        "reference": {"safe_harbor": {"risk": 0.0837, "loss": 0.39, "kl": 1.62, "policy": rule}},
        "not_representable": ["ZIP areas 369 and 692 are pooled with a neighbour instead of 000"],
        "distance": {"mean": 0.0712, "least": 0.0113},
        "chosen": told[len(told) // 2]["point"],
        "choose": {"max_risk": 0.1},
        "neighbours": [
            {
                "column": "age",
                "merged": "0 to 9",
                "from": ["0 to 4", "5 to 9"],
                "risk": 0.02,
                "loss": 0.4,
            },
            {
                "column": "sex",
                "merged": "*",
                "from": ["Female", "Male"],
                "risk": 0.005,
                "loss": 0.41,
            },
        ],
        "page": "visits_frontier.html",
        "warnings": ["the frontier is of the search, not of all policies"],
        **more,
    }
    rules = found["reference"].get("safe_harbor")
    found.setdefault(
        "dominating_safe_harbor",
        rules and sum(p["risk"] <= rules["risk"] and p["loss"] <= rules["loss"] for p in told),
    )
    return found


WITHOUT_SAFE_HARBOR: dict[str, Any] = {
    "reference": {},
    "distance": None,
    "not_representable": [],
}
WITHOUT_CHOICE: dict[str, Any] = {"chosen": None, "choose": None, "neighbours": []}
SAMPLE: dict[str, Any] = {"people": None, "population": None}
ONE_POINT: dict[str, Any] = {**WITHOUT_SAFE_HARBOR, **WITHOUT_CHOICE, "points": []}
