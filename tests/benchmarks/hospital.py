"""Encounters of Diabetes 130-US hospitals (Strack et al. 2014) as Lee, Kim & Chung 2017 ask them.

Their data are a Korean sample of inpatients; the attributes here are those that come nearest. One
row is one encounter. Diagnoses are the groups of Strack et al. (table 2), by ICD-9 code. Unknown
sexes (3 rows) are left out.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb

ENCOUNTERS = """
SELECT
  patient_nbr,
  age,
  gender AS sex,
  race,
  CASE admission_type_id
    WHEN 1 THEN 'emergency' WHEN 2 THEN 'urgent' WHEN 3 THEN 'elective' WHEN 4 THEN 'newborn'
    WHEN 7 THEN 'trauma' ELSE 'unknown'
  END AS admission,
  CASE
    WHEN discharge_disposition_id IN (1, 6, 8) THEN 'home'
    WHEN discharge_disposition_id IN (11, 19, 20, 21) THEN 'died'
    WHEN discharge_disposition_id IN (13, 14) THEN 'hospice'
    WHEN discharge_disposition_id = 7 THEN 'against advice'
    WHEN discharge_disposition_id IN (18, 25, 26) THEN 'unknown'
    ELSE 'elsewhere'
  END AS discharge,
  time_in_hospital AS days,
  CASE WHEN num_procedures > 0 THEN 'yes' ELSE 'no' END AS operated,
  CASE
    WHEN diag_1 LIKE '250%' THEN 'diabetes'
    WHEN code BETWEEN 390 AND 459 OR code = 785 THEN 'circulatory'
    WHEN code BETWEEN 460 AND 519 OR code = 786 THEN 'respiratory'
    WHEN code BETWEEN 520 AND 579 OR code = 787 THEN 'digestive'
    WHEN code BETWEEN 800 AND 999 THEN 'injury'
    WHEN code BETWEEN 710 AND 739 THEN 'musculoskeletal'
    WHEN code BETWEEN 580 AND 629 OR code = 788 THEN 'genitourinary'
    WHEN code BETWEEN 140 AND 239 THEN 'neoplasms'
    ELSE 'other'
  END AS diagnosis
FROM (SELECT *, floor(TRY_CAST(diag_1 AS DOUBLE)) AS code FROM '{file}')
WHERE gender IN ('Female', 'Male')
"""

_DECADES = [f"[{age}-{age + 10})" for age in range(0, 100, 10)]
_UNPLANNED = {"emergency", "urgent", "trauma", "newborn"}
_ALIVE = {"home", "elsewhere", "against advice"}

# One row a value: the value and its label on each level below `*`.
HIERARCHIES: dict[str, list[tuple[str, ...]]] = {
    "age": [
        (decade, f"[{20 * (i // 2)}-{20 * (i // 2) + 20})", "[0-60)" if i < 6 else "[60-100)")
        for i, decade in enumerate(_DECADES)
    ],
    "sex": [("Female",), ("Male",)],
    "race": [
        (race, "known" if race != "?" else "?")
        for race in ("Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other", "?")
    ],
    "admission": [
        (kind, "unplanned" if kind in _UNPLANNED else kind)
        for kind in ("emergency", "urgent", "trauma", "newborn", "elective", "unknown")
    ],
    "discharge": [
        (to, "discharged" if to in _ALIVE else to if to == "unknown" else "dying")
        for to in ("home", "elsewhere", "against advice", "hospice", "died", "unknown")
    ],
    "days": [
        (str(day), f"{day - (day - 1) % 2}+", "1-4" if day < 5 else "5-8" if day < 9 else "9-14")
        for day in range(1, 15)
    ],
    "operated": [("no",), ("yes",)],
}

# What is asked, each per age group and sex.
QUESTIONS = {
    "Q1": "patients with a circulatory diagnosis",
    "Q2": "their mean length of stay",
    "Q3": "patients with a procedure",
    "Q4": "their mean length of stay",
}
CONDITIONS = {"Q1": "diagnosis = 'circulatory'", "Q3": "operated = 'yes'"}

# On a release: each generalized value spread evenly over its leaves, each record by its weight.
ANSWERS = """
WITH leaves AS (
  SELECT "column", released_value, unnest(leaves) AS leaf, 1 / len(leaves) AS share
  FROM released_dictionary
), stays AS (
  SELECT released_value, avg(CAST(leaf AS DOUBLE)) AS days
  FROM leaves
  WHERE "column" = 'days'
  GROUP BY released_value
), spread AS (
  SELECT
    ages.leaf AS age,
    sexes.leaf AS sex,
    stays.days,
    {weight} * ages.share * sexes.share * flags.share AS weight
  FROM {release} AS released
  JOIN leaves AS ages ON ages."column" = 'age' AND ages.released_value = released.age
  JOIN leaves AS sexes ON sexes."column" = 'sex' AND sexes.released_value = released.sex
  JOIN leaves AS flags
    ON flags."column" = 'operated' AND flags.released_value = released.operated
  JOIN stays ON stays.released_value = CAST(released.days AS VARCHAR)
  WHERE {condition}
)
SELECT age, sex, sum(weight) AS patients, sum(weight * days) / sum(weight) AS days
FROM spread
WHERE weight > 0
GROUP BY age, sex
"""
# Which leaves of `operated` are counted: of a diagnosis both, so that a record counts once.
ON_RELEASE = {"Q1": "diagnosis = 'circulatory'", "Q3": "flags.leaf = 'yes'"}

Groups = dict[tuple[str, str], tuple[float, float]]


def hierarchies(folder: Path) -> dict[str, str]:
    """Write the hierarchy of each quasi-identifier."""
    paths = {}
    for name, rows in HIERARCHIES.items():
        path = folder / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows((*row, "*") for row in rows)
        paths[name] = str(path)
    return paths


def columns(paths: dict[str, str]) -> dict[str, Any]:
    """A role for each column."""
    keys = {n: {"role": "quasi_identifier", "hierarchy": path} for n, path in paths.items()}
    return {
        "patient_nbr": "identifier",
        **keys,
        "diagnosis": {"role": "sensitive", "accept": "homogeneity"},
    }


def queries() -> dict[str, str]:
    """The two questions that count, as an analyst asks them."""
    return {
        name: f"SELECT age, sex, COUNT(*) FROM encounters WHERE {condition} GROUP BY age, sex"
        for name, condition in CONDITIONS.items()
    }


def truth(file: Path) -> dict[str, Groups]:
    """Patients and their mean stay by age group and sex, of each condition, in the source."""
    return {
        name: _groups(
            duckdb.connect(),
            f"SELECT age, sex, count(*), avg(days) FROM ({ENCOUNTERS.format(file=file)}) "
            f"WHERE {condition} GROUP BY age, sex",
        )
        for name, condition in CONDITIONS.items()
    }


def answers(database: Path, *, weighted: bool) -> dict[str, Groups]:
    """The same, estimated from a release."""
    with duckdb.connect(database, read_only=True) as connection:
        release, weight = ("released_weighted", "weight") if weighted else ("released", "1")
        return {
            name: _groups(
                connection,
                ANSWERS.format(release=release, weight=weight, condition=condition),
            )
            for name, condition in ON_RELEASE.items()
        }


def _groups(connection: duckdb.DuckDBPyConnection, query: str) -> Groups:
    return {(age, sex): (n, days) for age, sex, n, days in connection.execute(query).fetchall()}


def errors(true: Groups, found: Groups, place: int) -> tuple[float, float]:
    """Mean of |found − true| / true over groups, and Σ|found − true| / Σtrue.

    Counts (place 0) are summed over groups of either; mean stays (place 1) over groups of the
    source, once for each patient. What a release does not answer counts as 0.
    """
    off = {
        group: abs(found.get(group, (0.0, 0.0))[place] - true.get(group, (0, 0.0))[place])
        for group in {**true, **(found if place == 0 else {})}
    }
    weights = {group: n if place else 1 for group, (n, _) in true.items()}
    of_groups = sum(off[group] / of[place] for group, of in true.items()) / len(true)
    total = sum(weights[group] * of[place] for group, of in true.items())
    return of_groups, sum(weights.get(group, 1) * by for group, by in off.items()) / total
