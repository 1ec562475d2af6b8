"""Two anonymized versions of one table, asked the same (after Gal et al. 2014, Table 1).

The paper compares versions of a small table that are equally anonymous by what their recipient can
still ask. The cells here are made up in that manner: version A has disjoint age groups, version B
generalizes the same four patients to intervals that overlap. Both are releases made elsewhere:
their values are explained by labels (A) and by a dictionary (B).

- Q1, how many patients are younger than 30: A answers exactly 2, B anything from 0 to 4.
- Q2, does a woman of 23 have the disease: in A certainly ("Y"), in B with 50 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbdeid

TABLES = """
CREATE TABLE patients AS FROM (VALUES
  (23, 'f', 'Y'), (27, 'f', 'Y'), (31, 'm', 'N'), (36, 'm', 'Y')
) AS t(age, sex, disease);
CREATE TABLE a AS FROM (VALUES
  ('20-29', 'f', 'Y'), ('20-29', 'f', 'Y'), ('30-39', 'm', 'N'), ('30-39', 'm', 'Y')
) AS t(age, sex, disease);
CREATE TABLE b AS FROM (VALUES
  ('about 28', '*', 'Y'), ('about 28', '*', 'N'), ('about 32', '*', 'Y'), ('about 32', '*', 'Y')
) AS t(age, sex, disease);
CREATE TABLE b_dictionary AS FROM (VALUES
  ('age', 'about 28', 20, 35, NULL), ('age', 'about 32', 25, 39, NULL),
  ('sex', '*', NULL, NULL, ['f', 'm'])
) AS t("column", released_value, lower, upper, leaves);
"""
Q1 = "SELECT count(*) AS patients FROM patients WHERE age < 30"
Q2 = """
SELECT avg(CASE WHEN disease = 'Y' THEN 1 ELSE 0 END) AS has_it FROM patients
WHERE age = 23 AND sex = 'f'
"""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(TABLES)
        yield opened


def version(name: str) -> dict[str, Any]:
    dictionary = {"dictionary": "b_dictionary"} if name == "b" else {}
    age = {"role": "quasi_identifier"}
    if name == "a":
        age |= {"hierarchy": {"labels": "intervals"}}
    return {
        "release": f"patients_{name}",
        "source": "patients",
        "columns": {"age": age, "sex": "quasi_identifier", "disease": "sensitive"},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "external", "table": name, **dictionary},
    }


@pytest.mark.full
@pytest.mark.parametrize("name", ["a", "b"])
def test_both_versions_are_true_and_two_anonymous(con: Any, name: str) -> None:
    found = dbdeid.verify(version(name), con)
    assert found.verified
    assert [p.found for p in found.promises if p.model == "k_anonymity"] == [2]
    assert con.execute(Q1).fetchall() == [(2,)]
    assert con.execute(Q2).fetchall() == [(1.0,)]


@pytest.mark.full
def test_disjoint_groups_answer_exactly(con: Any) -> None:
    (count,) = dbdeid.query(version("a"), Q1, con).rows
    assert count == (2.0, 2, 2)
    (share,) = dbdeid.query(version("a"), Q2, con).rows
    assert share == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.full
def test_overlapping_intervals_leave_both_open(con: Any) -> None:
    (count,) = dbdeid.query(version("b"), Q1, con).rows
    assert count == pytest.approx((2 * 10 / 16 + 2 * 5 / 15, 0, 4))
    (share,) = dbdeid.query(version("b"), Q2, con).rows
    assert share == pytest.approx((0.5, 0.0, 1.0))
