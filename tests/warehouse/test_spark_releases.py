"""Releases of tables that Spark has: the same as in DuckDB, verified there, and put in place."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from spark_releases import REASON, both

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


def people(number: int = 3000, seed: int = 1) -> pa.Table:
    """Persons with an age, ZIP code, sex, birthday, illness and dose; some values are missing."""
    rng = random.Random(seed)

    def some(value: Any, share: float = 0.03) -> Any:
        return None if rng.random() < share else value

    rows = [
        {
            "name": f"Ann {i}",
            "age": some(rng.randint(0, 95)),
            "zip": some(f"8{rng.randint(0, 3)}{rng.randint(0, 9)}01"),
            "sex": some(rng.choice(["f", "m"])),
            "born": some(date(1930, 1, 1) + timedelta(rng.randint(0, 30000))),
            "ill": some(rng.choice(["flu", "cold", "gout", "none", "Flu "]), 0.01),
            "dose": some(round(rng.random() * 10, 3)),
        }
        for i in range(number)
    ]
    shape = pa.schema(
        [
            *(("name", pa.string()), ("age", pa.int32()), ("zip", pa.string())),
            *(("sex", pa.string()), ("born", pa.date32()), ("ill", pa.string())),
            ("dose", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(rows, shape)


def spec(**more: Any) -> dict[str, Any]:
    """A specification of these persons."""
    return {
        "release": "visits_public",
        "source": "visits",
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [4, 3, 2, 1]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "born": "drop",
            "ill": "sensitive",
            "dose": {"role": "insensitive", "reason": REASON},
        },
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "ill", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "accept": "rows",
        **more,
    }


def test_a_release_is_the_same_in_both(here: Any) -> None:
    found = both(here, spec(), people())
    assert found.there.suppressed_rows > 0
    frame = found.there.to_df()
    assert len(frame) == found.there.released_rows


@pytest.mark.parametrize(
    "more",
    [
        {"output": {"bounds": True}},
        {"method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"}},
        {
            "method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"},
            "output": {"bounds": True},
        },
        {"null_policy": "exclude"},
        {"null_policy": "wildcard", "privacy": [{"model": "k_anonymity", "k": 7}]},
        {"privacy": [{"model": "t_closeness", "column": "ill", "t": 0.3}]},
        {
            "privacy": [
                {"model": "l_diversity", "column": "ill", "l": 2, "kind": "entropy"},
                {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.1},
            ]
        },
        {
            "method": {
                "name": "full_domain",
                "suppression_limit": 0.1,
                "transformation": {"age": 2, "zip": 4, "sex": 0},
            }
        },
    ],
    ids=["bounds", "star", "star_bounds", "exclude", "wildcard", "t", "entropy", "given"],
)
def test_each_of_these_is_the_same_in_both(here: Any, more: dict[str, Any]) -> None:
    given = spec(**more)
    if not any(m.get("column") == "ill" for m in given["privacy"]):
        given["columns"]["ill"] = {"role": "sensitive", "accept": "homogeneity", "reason": REASON}
    both(here, given, people(1500, seed=2))
