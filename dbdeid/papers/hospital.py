"""Encounters of Diabetes 130-US hospitals (Strack et al. 2014) as Lee, Kim & Chung 2017 ask them.

Their data are a Korean sample of inpatients; the attributes here are those that come nearest. One
row is one encounter. Diagnoses are the groups of Strack et al. (table 2), by ICD-9 code. Unknown
sexes (3 rows) are left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dbdeid.engine.engines import ENGINE

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
_ASKED = {
    "Q1": ("COUNT(*) AS patients", "diagnosis = 'circulatory'"),
    "Q2": ("AVG(days) AS stay", "diagnosis = 'circulatory'"),
    "Q3": ("COUNT(*) AS patients", "operated = 'yes'"),
    "Q4": ("AVG(days) AS stay", "operated = 'yes'"),
}
# Of which patients each mean stay is.
COUNTED = {"Q1": "Q2", "Q3": "Q4"}

# One value of each age group and sex.
Groups = dict[tuple[str, str], float]


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
    """The questions as an analyst asks them."""
    return {
        name: f"SELECT age, sex, {value} FROM encounters WHERE {condition} GROUP BY age, sex"
        for name, (value, condition) in _ASKED.items()
    }


def truth(file: Path) -> dict[str, Groups]:
    """What the source answers to each question."""
    with ENGINE.open(None, read_only=False) as session:
        session.execute(f"CREATE TEMP VIEW encounters AS {ENCOUNTERS.format(file=file)}")
        return {name: groups(session.rows(text)) for name, text in queries().items()}


def groups(rows: Iterable[Sequence[Any]]) -> Groups:
    """The rows of an answer by age group and sex; bounds are left out."""
    return {(age, sex): float(value) for age, sex, value, *_ in rows}


def errors(true: Groups, found: Groups, patients: Groups | None = None) -> tuple[float, float]:
    """Mean of |found − true| / true over groups, and Σ|found − true| / Σtrue.

    Counts are summed over groups of either; mean stays over groups of the source, once for each of
    their patients, who must be given. What a release does not answer counts as 0.
    """
    groups = {**true, **(found if patients is None else {})}
    off = {group: abs(found.get(group, 0.0) - true.get(group, 0.0)) for group in groups}
    of_groups = sum(off[group] / of for group, of in true.items()) / len(true)
    weights = patients or dict.fromkeys(groups, 1.0)
    total = sum(weights[group] * of for group, of in true.items())
    return of_groups, sum(weights[group] * by for group, by in off.items()) / total
