"""Columns that give sensitive ones away, values that nearly all have, numbers that lie close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.commands.check import check
from dbdeid.review import dependence

QI: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": "suppress"}
ACCEPTED = {"role": "sensitive", "accept": "homogeneity", "reason": "seen by the board"}
OPEN = {"role": "insensitive", "reason": "known in the ward only"}
NAMES = ("person", "region", "illness", "drug", "ward", "rare", "hiv", "wage")
PEOPLE = """CREATE TABLE people AS
SELECT i // 2 AS person, 'r' || i % 3 AS region, i * 7 % 12 AS illness,
'd' || (i * 7 % 12) // 2 AS drug, 'w' || i // 12 % 5 AS ward, i // 36 % 2 AS rare,
CASE WHEN i % 50 = 0 THEN 'yes' ELSE 'no' END AS hiv,
CASE WHEN i % 3 = 0 THEN 5000 + i % 7 ELSE i * 37 % 9000 END AS wage FROM range(360) t(i)"""


def spec(columns: dict[str, Any], *models: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "release": "public",
        "source": "people",
        "columns": dict.fromkeys(NAMES, "drop") | {"region": QI} | columns,
        "privacy": [{"model": "k_anonymity", "k": 3}, *models],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 0.1},
        "accept": "rows",
    } | more


def warned(asked: dict[str, Any]) -> list[str]:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        return list(check(asked, con)["warnings"])


@pytest.fixture(scope="module")
def many() -> list[str]:
    """What is said where several sensitive columns leave, and one of a ward."""
    columns = {"drug": ACCEPTED, "illness": ACCEPTED, "hiv": ACCEPTED, "ward": OPEN}
    return warned(spec(columns))


def about(words: str, warnings: Sequence[str]) -> list[str]:
    return [w for w in warnings if words in w]


@pytest.mark.full
def test_a_drug_gives_the_illness_away_in_a_check_and_in_a_run() -> None:
    asked = spec({"drug": OPEN, "illness": ACCEPTED, "ward": OPEN})
    (told,) = about(" gives illness away", warned(asked))
    # 12 illnesses, of which two share each drug: log 6 of log 12
    assert told.startswith("drug leaves as it is and gives illness away: it tells 72% of ")
    assert "certain for 0 of 360 records" in told
    assert "ward" not in told
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        assert told in dbdeid.run(asked, con).warnings


def test_a_sensitive_column_gives_another_away(many: list[str]) -> None:
    told = about(" gives drug away", many)
    assert len(told) == 1
    assert "it tells 100% of what there is to know of drug" in told[0]
    assert "certain for 360 of 360 records" in told[0]


@pytest.mark.full
def test_people_are_counted_where_they_are_declared() -> None:
    asked = spec({"person": "identifier", "drug": ACCEPTED, "illness": ACCEPTED}, subject="person")
    del asked["accept"]
    (told,) = about(" gives drug away", warned(asked))
    assert "certain for 180 of 180 people" in told


@pytest.mark.full
def test_a_quasi_identifier_is_told_of_before_it_is_generalized() -> None:
    told = about("nearly determines", warned(spec({"drug": QI, "illness": ACCEPTED})))
    assert [w.split(" nearly")[0] for w in told] == ["drug"]


def test_independent_columns_are_not_told_of() -> None:
    warnings = warned(spec({"ward": OPEN, "rare": ACCEPTED, "illness": ACCEPTED}))
    assert not about("gives", warnings)
    assert not about("determines", warnings)


@pytest.mark.full
def test_of_a_large_table_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "LOOKED_AT", 100)
    (told,) = about(" gives drug away", warned(spec({"drug": ACCEPTED, "illness": ACCEPTED})))
    assert "certain for 90 of 90 records" in told
    assert "measured on a sample of 360 records" in told


@pytest.mark.full
def test_columns_may_have_any_name() -> None:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        con.execute("ALTER TABLE people RENAME drug TO rowid")
        con.execute("ALTER TABLE people RENAME illness TO place")
        asked = spec({"rowid": ACCEPTED, "place": ACCEPTED})
        asked["columns"] = {
            n: c for n, c in asked["columns"].items() if n not in ("drug", "illness")
        }
        (told,) = about(" gives rowid away", check(asked, con)["warnings"])
    assert told.startswith("place leaves as it is")


def test_a_value_that_nearly_all_have(many: list[str]) -> None:
    (told,) = about("of those with a value", many)
    assert told.startswith("hiv: 97.8% of those with a value have the same one")
    # H = -(.978 ln .978 + .022 ln .022) = .1066
    assert "1.11-diverse by entropy, and its alpha is 0.978" in told
    assert "t below 0.022" in told
    assert "yes" not in told.replace("says", "")


@pytest.mark.full
def test_what_a_skewed_column_is_said_to_keep_is_so() -> None:
    """An l just above what is told is out of reach, and one below it is not."""
    for least, possible in ((1.1, True), (1.13, False)):
        model = {"model": "l_diversity", "column": "hiv", "kind": "entropy", "l": least}
        asked = spec({"hiv": "sensitive"}, model, method={"name": "full_domain"})
        with duckdb.connect() as con:
            con.execute(PEOPLE)
            if possible:
                assert dbdeid.run(asked, con).verified
            else:
                with pytest.raises(dbdeid.Unsatisfiable):
                    dbdeid.run(asked, con)


def test_numbers_that_differ_and_mean_the_same() -> None:
    """The wages of one region lie within 7 of each other, those of the others anywhere."""
    asked = spec({"wage": ACCEPTED}, {"model": "l_diversity", "column": "wage", "l": 3})
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        (told,) = about("em_anonymity", check(asked, con)["advice"])
    assert "of 360 records in classes of 3 or more values" in told
    assert " 120 are in one whose values all lie within " in told
    nearness = {"model": "em_anonymity", "column": "wage", "epsilon": 10, "m": 3}
    asked = spec({"wage": ACCEPTED}, {"model": "l_diversity", "column": "wage", "l": 3}, nearness)
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        assert not about("em_anonymity`", check(asked, con)["advice"])
        # what was advised: the region is merged, for a third of the people are near each wage of it
        made = dbdeid.run(asked, con)
        assert made.verified
        assert made.transformation == {"region": 1}


def test_no_value_of_a_sensitive_column_is_told(many: list[str]) -> None:
    for text in many:
        assert not any(f"d{i}" in text or f"'{i}'" in text for i in range(6))
