"""A release made elsewhere, for tests: its original, its dictionary, and the spec of both."""

from __future__ import annotations

from typing import Any

import duckdb
from specs import PEOPLE

QI = "quasi_identifier"
# Ages in overlapping intervals, ZIP codes by prefix, sex suppressed where there are few.
ANON = """
CREATE TABLE anon AS SELECT
  CASE WHEN age < 40 AND i % 3 = 0 THEN 'young' WHEN age < 50 THEN 'middle' ELSE 'old' END AS age,
  left(zip, 3) || '**' AS zip,
  CASE WHEN sex IS NULL THEN '*' ELSE sex END AS sex,
  illness
FROM (SELECT *, row_number() OVER () AS i FROM people) WHERE zip <> '10037' ORDER BY ALL;
CREATE TABLE anon_dictionary AS FROM (VALUES
  ('age', 'young', 1, '20', '39', NULL),
  ('age', 'middle', 1, '20', '49', NULL),
  ('age', 'old', 1, '50', '79', NULL),
  ('sex', 'f', 0, NULL, NULL, NULL),
  ('sex', 'm', 0, NULL, NULL, NULL),
  ('sex', '*', 1, NULL, NULL, ['f', 'm'])
) AS t("column", released_value, level, lower, upper, leaves);
"""


def make(con: duckdb.DuckDBPyConnection) -> None:
    """Write the original and the release."""
    con.execute(PEOPLE + ";" + ANON)


def spec(**more: Any) -> dict[str, Any]:
    """The release `anon` with its dictionary; ZIP codes are explained by their hierarchy."""
    declared = {
        "release": "anon",
        "source": "people",
        "columns": {
            "name": "identifier",
            "age": QI,
            "zip": {"role": QI, "hierarchy": {"prefix": [3, 1]}},
            "sex": QI,
            "illness": "sensitive",
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "external", "table": "anon", "dictionary": "anon_dictionary"},
    }
    return declared | more


def method(**keys: Any) -> dict[str, Any]:
    """The method of the spec with other keys."""
    return {"method": spec()["method"] | keys}


def absent(**more: Any) -> dict[str, Any]:
    """The spec of somebody who does not have the original."""
    return spec(**({"source": "original"} | method(types={"age": "INTEGER"}) | more))


def promise(found: Any, model: str) -> Any:
    """The only promise of this name."""
    (only,) = [p for p in found.promises if p.model == model]
    return only


def check(found: Any, name: str) -> Any:
    """The only check of this name."""
    (only,) = [c for c in found.hygiene if c.check == name]
    return only
