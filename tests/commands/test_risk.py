"""The risk of any table: what is told of it, and when its values are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.cli.text.release.verdict import risk as words
from dbdeid.commands.risk import RiskQuestion, assess
from dbdeid.errors import DataError
from dbdeid.privacy import Counting

SECRETS = ("asthma", "gout", "mumps")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Eight visits: three alike, two pairs, and one alone; one age is not known."""
    path = tmp_path / "visits.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT * FROM (VALUES "
            "('p1', 30, 'north', 'asthma', 4, 10.0), ('p2', 30, 'north', 'gout', 5, 20.0), "
            "('p3', 30, 'north', 'gout', 6, 30.5), ('p4', 40, 'north', 'mumps', 4, 5.0), "
            "('p5', 40, 'north', 'mumps', 4, 7.0), ('p6', 40, 'south', 'gout', 9, 2.0), "
            "('p6', 40, 'south', 'asthma', 9, 2.0), ('p7', NULL, 'south', 'mumps', 1, 1.0)"
            f") AS v(Person, Age, Region, Illness, Severity, W)) TO '{path}'"
        )
    return path


QIS = ("age", "region")


def test_of_one_sensitive_column_the_numbers_are_at_the_top(visits: Path) -> None:
    told = assess(visits, None, RiskQuestion(QIS, sensitive=("illness",))).to_dict()
    assert {"distinct_l", "entropy_l", "recursive_c", "t", "t_distance"} <= set(told)
    assert (told["distinct_l"], told["entropy_l"], told["t_distance"]) == (1, 1, "equal")
    assert told["homogeneous"] == {"classes": 2, "records": 3}
    assert told["sensitive"]["Illness"]["distinct_l"] == 1
    assert told["classes"] == 4


def test_of_several_they_are_by_column_and_numbers_are_ordered(visits: Path) -> None:
    told = assess(visits, None, RiskQuestion(QIS, sensitive=("illness", "severity"))).to_dict()
    assert "distinct_l" not in told
    distances = {name: found["t_distance"] for name, found in told["sensitive"].items()}
    assert distances == {"Illness": "equal", "Severity": "ordered"}


def test_people_and_complete_records_are_counted_as_told(visits: Path) -> None:
    counting = Counting("exclude", "person")
    told = assess(visits, None, RiskQuestion(QIS, 5, counting, sensitive=("illness",))).to_dict()
    # p6 is alone in a class, and has two illnesses; the record without an age has no class
    assert (told["classes"], told["k"], told["distinct_l"]) == (3, 1, 1)
    assert told["homogeneous"] == {"classes": 2, "records": 4}


def test_only_what_is_asked_for_is_told(visits: Path) -> None:
    told = assess(visits, None, RiskQuestion(QIS)).to_dict()
    assert not set(told) & {"sensitive", "population_uniqueness", "individual_risk"}
    assert told["histogram"] == [
        {"class_size": 1, "classes": 1, "records": 1},
        {"class_size": 2, "classes": 2, "records": 4},
        {"class_size": 3, "classes": 1, "records": 3},
    ]


def test_the_estimates(visits: Path) -> None:
    asked = RiskQuestion(QIS, sampling_fraction=0.5, weight="w", special_uniques=2)
    told = assess(visits, None, asked).to_dict()
    assert told["population_uniqueness"]["population"] == 16
    assert told["population_uniqueness"]["sample_uniqueness"] == 1 / 8
    # the record without an age stands for itself alone
    assert told["individual_risk"]["highest"] == 1
    # nobody else lacks an age
    assert told["special_uniques"]["minimal_sample_uniques"] == [1, 0]
    assert told["special_uniques"]["sampling_fraction"] == 0.5


def test_values_of_small_classes_are_told_on_request_only(visits: Path) -> None:
    asked = RiskQuestion(QIS, sensitive=("illness",), weight="w", special_uniques=1)
    plain = assess(visits, None, asked)
    text = words(plain, asked)
    assert "1 of 1, 2 of 2, 1 of 3" in text
    assert "south" not in text
    assert "smallest_classes" not in plain.to_dict()
    asked = RiskQuestion(QIS, sensitive=("illness",), values=True)
    shown = assess(visits, None, asked)
    assert shown.to_dict()["smallest_classes"][0] == {
        "class_size": 1,
        "records": 1,
        "values": {"Age": None, "Region": "south"},
    }
    text = words(shown, asked)
    assert "NULL  south" in text
    assert not [secret for secret in SECRETS if secret in text]


def test_in_words(visits: Path) -> None:
    asked = RiskQuestion(
        QIS, sensitive=("illness", "severity"), sampling_fraction=0.2, weight="w", special_uniques=2
    )
    text = words(assess(visits, None, asked), asked)
    for said in (
        "what is learned of Illness",
        "t (ordered)",
        "infinite: 4 classes lack a value",
        "estimated to be unique in the population of 40",
        "Dankar's choice, as ARX",
        "individual risk, weights W",
        "special uniques by 2 of 2 quasi-identifiers or fewer",
        "homogeneous, l = 1                   2 classes, 3 records",
    ):
        assert said.casefold() in text.casefold(), said


def test_an_empty_table_has_no_risk(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 1 AS age, 'x' AS i, 1 AS w LIMIT 0) TO '{tmp_path}/e.parquet'")
    asked = RiskQuestion(
        ("age",),
        sensitive=("i",),
        sampling_fraction=0.1,
        weight="w",
        special_uniques=1,
        values=True,
    )
    found = assess(tmp_path / "e.parquet", None, asked)
    told = found.to_dict()
    assert (told["records"], told["k"], told["distinct_l"], told["t"]) == (0, None, None, None)
    assert "special uniques" in words(found, asked)


def test_a_weight_below_one_is_refused(visits: Path) -> None:
    with pytest.raises(DataError, match="is no number"):
        assess(visits, None, RiskQuestion(QIS, weight="illness"))
    with duckdb.connect() as con:
        path = visits.with_name("light.parquet")
        con.execute(f"COPY (SELECT *, W / 2 AS half FROM '{visits}') TO '{path}'")
    with pytest.raises(DataError, match="'half': 1 of 8 values are below 1"):
        assess(path, None, RiskQuestion(QIS, weight="half"))
