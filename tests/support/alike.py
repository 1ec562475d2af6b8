"""People with all kinds of columns, and specs of every method, for measuring releases of them."""

from __future__ import annotations

from typing import Any

import duckdb

from dbdeid.spec.metric_spec import OF_EVERY

Row = dict[str, Any]

ROWS = 240
PEOPLE = f"""
CREATE TABLE people AS SELECT
  'person ' || i AS name,
  CASE WHEN i % 13 > 0 THEN 20 + (i * i) % 47 END AS age,
  ((i * 37) % 1000 / 100)::DECIMAL(6, 2) AS fee,
  DATE '1990-01-01' + ((i * 53) % 900)::INTEGER AS born,
  TIMESTAMP '2020-01-01' + to_minutes((i * i * 97) % 500000) AS seen,
  (10000 + (i * 37) % 90 * (i % 3))::VARCHAR AS zip,
  CASE WHEN i % 11 > 0 THEN ['f', 'm', 'x'][1 + i % 7 % 3] END AS sex,
  i % 5 = 0 AS smoker,
  ['asthma', 'flu', 'none'][1 + (i % 5 + i % 2) % 3] AS illness
FROM range({ROWS}) AS r(i)
"""
COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [4, 8]}},
    "fee": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [1, 5], "lower": 0, "upper": 10},
    },
    "born": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
    "seen": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [4, 3]}},
    "sex": {
        "role": "quasi_identifier",
        "hierarchy": {"groups": [{"fx": ["f", "x", "q"], "m": ["m"]}]},
    },
    "smoker": {"role": "insensitive"},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}
NAMES = tuple(COLUMNS)[1:]
QIS = NAMES[:-2]
for name in QIS:  # k is 1 in many of the specs
    COLUMNS[name]["reason"] = "made up"
FEW = ("age", "zip", "sex", "illness", "smoker")


def spec(
    method: dict[str, Any], names: tuple[str, ...] = NAMES, k: int = 1, **more: Any
) -> dict[str, Any]:
    """A spec of some of the columns."""
    return {
        "release": "alike",
        "source": "people",
        "columns": {n: c if n in ("name", *names) else "drop" for n, c in COLUMNS.items()},
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": method,
        "evaluate": {"metrics": [*OF_EVERY]},
        "seed": 5,
        **more,
    }


def at(levels: dict[str, int], **more: Any) -> dict[str, Any]:
    """A spec of a known transformation, which leaves columns that it does not name as they are."""
    known = {name: levels.get(name, 0) for name in QIS}
    return spec({"name": "full_domain", "transformation": known}, **more)


def table(con: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    """The rows of a table."""
    found = con.execute(f"FROM {name}")
    names = [c[0] for c in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


_PADDED = {"name": "counterfeit", "h": 0.6, "max_counterfeits": 0.9}
_SUPPRESSING = {"name": "full_domain", "suppression_limit": 0.2}
_ORDERED = {
    "age": {"role": "quasi_identifier", "domain": [0, 99]},
    "sex": {"role": "quasi_identifier", "order": ["f", "m", "x"]},
    "illness": COLUMNS["illness"],
}
METHODS: dict[str, dict[str, Any]] = {
    "full_domain": spec(_SUPPRESSING, FEW, k=4),
    "kept": spec({**_SUPPRESSING, "suppressed": "keep"}, FEW, k=4),
    "local": spec({"name": "local_recoding"}, FEW, k=4),
    "mondrian": spec({"name": "local_recoding", "algorithm": "mondrian"}, k=3),
    "counterfeit": spec(_PADDED, FEW, k=3),
    "borrow": spec({"name": "counterfeit", "recoding": "borrow"}, FEW, k=3),
    "no catalog": spec({**_PADDED, "catalog": "none"}, FEW, k=3),
    "relocation": spec({"name": "relocation", "limit": 0.3}, FEW, k=3),
    "policy": {
        **spec({"name": "policy", "search": "greedy", "budget": 30, "choose": {"max_risk": 0.5}}),
        "source": {
            "sql": "SELECT * FROM people WHERE age IS NOT NULL AND sex IS NOT NULL",
            "name": "known",
        },
        "columns": {n: _ORDERED.get(n, "drop") for n in COLUMNS},
    },
    "microaggregation": {
        **spec({"name": "microaggregation"}, k=4),
        "columns": {
            n: "quasi_identifier" if n not in ("name", "illness") else COLUMNS[n] for n in COLUMNS
        },
    },
    "condensation": {
        **spec({"name": "condensation", "strata": ["smoker"]}),
        "columns": {n: "synthesize" if n not in ("name", "zip") else "drop" for n in COLUMNS},
        "privacy": [{"model": "cluster_size", "k": 20}],
    },
}
