"""Groups that mean something: bands in their order, categories that everybody knows."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.data.shelf import OTHER, tables
from dbdeid.profiling.suggest.column_groups import Level, bands, categories, levels_of

BANDS = [f"[{a}-{a + 10})" for a in range(0, 100, 10)]


def test_bands_are_joined_with_their_neighbours() -> None:
    first, second, third = bands(sorted(BANDS))
    assert list(first) == [f"[{a}-{a + 20})" for a in range(0, 100, 20)]
    assert first["[80-100)"] == ["[80-90)", "[90-100)"]
    assert list(second) == ["[0-40)", "[40-80)", "[80-100)"]
    assert second["[80-100)"] == ["[80-100)"]
    assert third["[0-80)"] == ["[0-40)", "[40-80)"]


@pytest.mark.parametrize(
    "values",
    [
        ["0-9", "10-19", "old", "20-29", "30-39"],
        ["0-9", "10-19", "20-29"],  # so few that a level joins nearly all
        ["0-10", "5-15", "10-20", "15-25"],  # overlapping
        ["2020-01", "2020-02", "2020-03", "2020-04"],  # months
        ["1", "2", "3", "4"],
    ],
)
def test_what_is_no_row_of_bands(values: list[str]) -> None:
    assert bands(values) == []


def test_bands_with_open_ends_and_unknown_values() -> None:
    incomes = [">$50k", "$25-$50k", "under $11k", "$11-$25k", "unknown"]
    assert bands(incomes) == [
        {
            "under $11k or $11-$25k": ["under $11k", "$11-$25k"],
            "$25-$50k or >$50k": ["$25-$50k", ">$50k"],
            "unknown": ["unknown"],
        }
    ]
    ages = bands(["<18", "18-29", "30 to 44", "45-64", "65-79", "80+"])
    assert [list(level) for level in ages] == [
        ["<18 or 18-29", "30 to 64", "65-79 or 80+"],
        ["<18 through 45-64", "65-79 or 80+"],
    ]


ADULT = [
    "10th",
    "11th",
    "12th",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "Assoc-acdm",
    "Assoc-voc",
    "Bachelors",
    "Doctorate",
    "HS-grad",
    "Masters",
    "Preschool",
    "Prof-school",
    "Some-college",
]


def test_levels_of_education_follow_what_was_learned() -> None:
    first, second = categories("education", dict.fromkeys(ADULT, 1))[1]
    assert list(first) == [
        "primary school or less",
        "some high school",
        "high school",
        "some college",
        "bachelor",
        "graduate degree",
    ]
    assert set(first["graduate degree"]) == {"Masters", "Prof-school", "Doctorate"}
    assert second["college"] == ["some college", "bachelor", "graduate degree"]


def found(name: str, *values: str) -> list[Level]:
    known = categories(name, dict.fromkeys(values, 1))
    return known[1] if known else []


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        (
            "smoker",
            ["Never", "Former", "Current"],
            [{"never": ["Never"], "ever": ["Former", "Current"]}],
        ),
        (
            "home_state",
            ["IN", "OH", "CA", "WA"],
            [{"East North Central": ["IN", "OH"], "Pacific": ["CA", "WA"]}],
        ),
        ("country_code", ["IN", "DE", "CA", "AL"], []),
        (
            "blood",
            ["A+", "A-", "O+", "O-", "B+"],
            [{"O": ["O-", "O+"], "A": ["A-", "A+"], "B": ["B+"]}],
        ),
        ("school_mark", ["A+", "A-", "B", "B+", "A"], []),
        (
            "marital",
            ["married", "single", "divorced", "widowed"],
            [
                {
                    "with a partner": ["married"],
                    "parted": ["divorced", "widowed"],
                    "never married": ["single"],
                },
                {
                    "with a partner": ["with a partner"],
                    "without a partner": ["parted", "never married"],
                },
            ],
        ),
        (
            "stage",
            ["I", "IIA", "IIB", "Stage 3", "IV"],
            [
                {"I": ["I"], "II": ["IIA", "IIB"], "III": ["Stage 3"], "IV": ["IV"]},
                {"up to II": ["I", "II"], "III or more": ["III", "IV"]},
            ],
        ),
        ("colour", ["red", "green", "blue", "low"], []),
        ("consent", ["yes", "no"], []),
        ("stage", ["I", "III"], []),  # nothing to join
    ],
)
def test_values_are_joined_as_everybody_would(
    name: str, values: list[str], expected: list[Level]
) -> None:
    assert found(name, *values) == expected


def test_values_that_no_list_joins_are_not_joined_for_one_that_is_unknown() -> None:
    assert found("race", "White", "Black", "Asian", "?") == []
    assert found("sex", "male", "female", "not stated") == []


def test_a_list_must_know_most_records_not_most_spellings() -> None:
    typed = {"Married": 50, "Single": 40, "Maried": 1, "maried ?": 1, "wed": 1, "singel": 1}
    known = categories("marital", typed)
    assert known is not None
    assert known[0] == "marital status"
    assert known[1][0][OTHER] == ["Maried", "maried ?", "singel", "wed"]
    assert categories("marital", {**typed, "wed": 40}) is None


@pytest.mark.parametrize(
    "values",
    [
        ["<18.5", "18.5-24.9", "25-29.9", "30-34.9", ">=40"],
        ["under $10,000", "$10,000-$24,999", "$25,000-$49,999", "$50,000 or more"],
        ["$0-$500k", "$500k-$1m", "$1m-$2m", "$2m+"],
        ["0-30 min", "30-60 min", "60-90 min", "over 90 min"],
        ["18-29 years", "30 to 49", "50–64", "65 and older"],
    ],
)
def test_bands_in_many_forms(values: list[str]) -> None:
    refused = "Prefer not to say"
    joined = list(bands([refused, *reversed(values)])[0].values())
    assert list(chain.from_iterable(joined)) == [*values, refused]


LISTED = [row["value"] for row in tables.read("categories.csv")]


def test_lists_hold_each_value_once_and_as_it_is_compared() -> None:
    rows = tables.read("categories.csv")
    assert len({(row["list"], row["value"]) for row in rows}) == len(rows)
    for row in rows:
        assert row["value"] == " ".join(row["value"].lower().split())
        assert row["group"]
        assert row["wider"]
        assert not {row["group"], row["wider"]} & {OTHER, "*"}
    for name in {row["list"] for row in rows}:
        pairs = {(row["group"], row["wider"]) for row in rows if row["list"] == name}
        assert len({group for group, _ in pairs}) == len(pairs)  # a group has one wider one


def test_all_states_are_listed_with_their_codes() -> None:
    states = [row for row in tables.read("categories.csv") if row["list"] == "us_states"]
    assert sum(len(row["value"]) == 2 for row in states) == 51
    assert len(states) == 102
    assert len({row["group"] for row in states}) == 9
    assert len({row["wider"] for row in states}) == 4


@given(st.lists(st.sampled_from([*LISTED, *BANDS, "?", "other", "more"]), unique=True, max_size=30))
def test_each_level_joins_all_of_the_one_below(values: list[str]) -> None:
    for levels in (bands(values), found("state", *values) if values else []):
        below = set(values)
        for level in levels:
            joined = list(chain.from_iterable(level.values()))
            assert len(joined) == len(set(joined))
            assert set(joined) == below
            assert 1 < len(level) < len(below)
            below = set(level)


def test_labels_that_join_nothing_are_no_level() -> None:
    assert levels_of({"a": ["x", "p"], "b": ["y", "p"], "c": ["z", "q"]}) == [
        {"p": ["a", "b"], "q": ["c"]}
    ]
    assert levels_of({"a": ["x"], "b": ["x"]}) == []
    assert levels_of({}) == []
