from __future__ import annotations

import doctest
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.data import shelf
from dbdeid.data.hierarchy import check_rows
from dbdeid.data.shelf import countries, icd, zips
from dbdeid.data.shelf.tables import read

CHAPTERS_OF_NINE = [
    ("001", "139"),
    ("140", "239"),
    ("240", "279"),
    ("280", "289"),
    ("290", "319"),
    ("320", "389"),
    ("390", "459"),
    ("460", "519"),
    ("520", "579"),
    ("580", "629"),
    ("630", "679"),
    ("680", "709"),
    ("710", "739"),
    ("740", "759"),
    ("760", "779"),
    ("780", "799"),
    ("800", "999"),
    ("E000", "E999"),
    ("V01", "V91"),
]
CHAPTERS_OF_TEN = [
    ("A00", "B99"),
    ("C00", "D49"),
    ("D50", "D89"),
    ("E00", "E90"),
    ("F00", "F99"),
    ("G00", "G99"),
    ("H00", "H59"),
    ("H60", "H95"),
    ("I00", "I99"),
    ("J00", "J99"),
    ("K00", "K95"),
    ("L00", "L99"),
    ("M00", "M99"),
    ("N00", "N99"),
    ("O00", "O9A"),
    ("P00", "P96"),
    ("Q00", "QA0"),
    ("R00", "R99"),
    ("S00", "T98"),
    ("U00", "U85"),
    ("V00", "Y99"),
    ("Z00", "Z99"),
]


def labels(name: str, value: str) -> list[str]:
    return shelf.rows(name, [value])[0][1:]


@pytest.mark.parametrize("module", [shelf, zips, countries])
def test_examples_of_the_documentation_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize(
    ("revision", "chapters"), [(icd.nine, CHAPTERS_OF_NINE), (icd.ten, CHAPTERS_OF_TEN)]
)
def test_every_chapter_begins_and_ends_where_it_should(
    revision: icd.Icd, chapters: list[tuple[str, str]]
) -> None:
    found = [(one.first, one.last) for one in revision.ranges["chapter"]]
    assert sorted(found) == sorted(chapters)
    for first, last in chapters:
        own = next(one for one in revision.ranges["chapter"] if one.first == first)
        for border in (first, last):
            path = revision.path(border)
            if path is not None:  # V01-Y98 of WHO ends before Y99 of the modification
                assert path[2] == own.label
        assert revision.path(first) is not None


@pytest.mark.parametrize("revision", [icd.nine, icd.ten])
def test_blocks_lie_in_one_chapter_and_hold_their_ends(revision: icd.Icd) -> None:
    for block in revision.ranges["block"]:
        chapters = [c for c in revision.ranges["chapter"] if c.holds(block.first)]
        assert [c.holds(block.last) for c in chapters] == [True]
        for end in (block.first, block.last):
            path = revision.path(end)
            assert path is None or (path[0], path[2]) == (end, chapters[0].label)
        assert revision.path(block.first) == (block.first, block.label, chapters[0].label)


def test_blocks_of_nine_do_not_overlap() -> None:
    blocks = sorted(icd.nine.ranges["block"], key=lambda one: one.first)
    assert all(a.last < b.first for a, b in pairwise(blocks))


@pytest.mark.parametrize(
    ("code", "category", "block", "chapter"),
    [
        ("250.83", "250", "249-259 Diseases of other endocrine glands", "240-279"),
        ("25083", "250", "249-259", "240-279"),
        (" 428 ", "428", "420-429", "390-459"),
        ("8", "008", "001-009 Intestinal infectious diseases", "001-139"),
        ("8.45", "008", "001-009", "001-139"),
        ("042", "042", "042 Human immunodeficiency virus [HIV] infection", "001-139"),
        ("286.9", "286", "280-289", "280-289"),
        ("v5789", "V57", "V50-V59", "V01-V91"),
        ("E909.1", "E909", "E900-E909", "E000-E999"),
        ("E030", "E030", "E001-E030", "E000-E999"),
        ("999.99", "999", "996-999", "800-999"),
    ],
)
def test_codes_of_icd_9(code: str, category: str, block: str, chapter: str) -> None:
    found = labels("icd9", code)
    assert found[0] == category
    assert found[1].startswith(block)
    assert found[2].startswith(chapter)


@pytest.mark.parametrize(
    ("code", "category", "block", "chapter"),
    [
        ("E11.9", "E11", "E08-E14 Diabetes mellitus", "E00-E90"),
        ("e119", "E11", "E08-E14", "E00-E90"),
        ("C7A.01", "C7A", "C7A ", "C00-D49 Neoplasms"),
        ("C77.0", "C77", "C76-C80", "C00-D49"),
        ("D3A.00", "D3A", "D3A ", "C00-D49"),
        ("D37", "D37", "D37-D48", "C00-D49"),
        ("D50.0", "D50", "D50-D53", "D50-D89"),
        ("Z3A.20", "Z3A", "Z30-", "Z00-Z99"),
        ("O9A.1", "O9A", "O94-O9A", "O00-O9A"),
        ("B24", "B24", "B20-B24", "A00-B99"),
        ("X60", "X60", "X60-X84", "V00-Y99"),
        ("G63.2*", "G63", "G60-G65", "G00-G99"),
        ("S72.001A", "S72", "S70-S79", "S00-T98"),
        ("U07.1", "U07", "U00-U49", "U00-U85"),
    ],
)
def test_codes_of_icd_10(code: str, category: str, block: str, chapter: str) -> None:
    found = labels("icd10", code)
    assert found[0] == category
    assert found[1].startswith(block)
    assert found[2].startswith(chapter)


@pytest.mark.parametrize("name", ["icd9", "icd10"])
@pytest.mark.parametrize("text", ["?", "", " ", "none", "25x", "1234567", "*+", "250.", "٢٥٠"])
def test_what_is_no_code_has_a_label_of_its_own(name: str, text: str) -> None:
    assert labels(name, text) == ["other"] * 3


@pytest.mark.parametrize(("name", "code"), [("icd9", "019"), ("icd9", "V92"), ("icd10", "A29")])
def test_a_gap_between_blocks_is_no_code(name: str, code: str) -> None:
    assert labels(name, code) == ["other"] * 3


SMALL_BY_HHS = [
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
]
SMALL_BY_2010 = [
    *("036", "059", "102", "202", "203", "204", "205", "369", "556"),
    *("692", "753", "772", "821", "823", "878", "879", "884", "893"),
]


def test_areas_of_no_more_than_20000_people_are_not_told() -> None:
    people = {row["zip3"]: int(row["people_2010"]) for row in read("zip3.csv")}
    assert sum(people.values()) == 312_462_997  # of the Census Bureau's gazetteer, with Puerto Rico
    assert sorted(area for area, n in people.items() if n <= 20_000) == SMALL_BY_2010
    assert people.keys() - zips.named_areas() == {*SMALL_BY_HHS, *SMALL_BY_2010}


@given(st.integers(0, 99999).map("{:05d}".format))
def test_a_zip_code_is_told_by_its_area_or_not_at_all(code: str) -> None:
    area, digit = labels("zip", code)
    told = code[:3] in zips.named_areas()
    assert (area, digit) == ((f"{code[:3]}**", f"{code[0]}****") if told else ("000", "000"))
    assert labels("zip", f"{code}-0001") == labels("zip", f"{code}0001") == [area, digit]


def test_military_and_unknown_areas_are_small() -> None:
    assert labels("zip", "09012") == labels("zip", "00001") == ["000", "000"]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["02139", "02139-1234", "021391234", "?"], []),
        (["021", "945"], []),
        (["021", "94501"], ["021"]),
        (["021", "94501-0001"], ["021"]),
        (["2139"], ["2139"]),
        (["94501", "21391234"], ["21391234"]),
    ],
)
def test_lost_zeros_are_found(values: list[str], found: list[str]) -> None:
    assert zips.shortened(values) == found


@pytest.mark.parametrize(
    ("name", "subregion", "region"),
    [
        ("DE", "Western Europe", "Europe"),
        ("usa", "Northern America", "Americas"),
        ("United-States", "Northern America", "Americas"),
        ("the Netherlands", "Western Europe", "Europe"),
        ("Côte d'Ivoire", "Sub-Saharan Africa", "Africa"),
        ("cote d’ivoire", "Sub-Saharan Africa", "Africa"),
        ("Türkiye", "Western Asia", "Asia"),
        ("England", "Northern Europe", "Europe"),
        ("Korea", "Eastern Asia", "Asia"),
        ("S. Korea", "Eastern Asia", "Asia"),
        ("NA", "Sub-Saharan Africa", "Africa"),
        ("Viet Nam", "South-eastern Asia", "Asia"),
        ("Antarctica", "Antarctica", "Antarctica"),
        ("Atlantis", "other", "other"),
        ("", "other", "other"),
    ],
)
def test_countries(name: str, subregion: str, region: str) -> None:
    assert labels("countries", name) == [subregion, region]


def test_no_name_is_that_of_two_countries() -> None:
    rows = read("countries.csv")
    owners: dict[str, set[str]] = {}
    for row in rows:
        for name in (row["alpha2"], row["alpha3"], *row["names"].split("|")):
            owners.setdefault(countries._plain(name), set()).add(row["alpha2"])
    assert len(rows) == 249
    assert [name for name, own in owners.items() if len(own) > 1] == []
    assert "" not in owners


CODES_OF_NINE = st.from_regex(r"(V[0-9]{2}|E[0-9]{3}|[0-9]{1,3})(\.[0-9]{0,2})?", fullmatch=True)
CODES_OF_TEN = st.from_regex(r"[A-Za-z][0-9][0-9A](\.[0-9A-Z]{1,4})?", fullmatch=True)
VALUES = {
    "icd9": CODES_OF_NINE,
    "icd10": CODES_OF_TEN,
    "zip": st.integers(0, 99999).map("{:05d}".format),
    "countries": st.sampled_from([row["alpha3"] for row in read("countries.csv")]),
}


@pytest.mark.parametrize("name", VALUES)
@settings(deadline=None)  # the tables are read by the first example
@given(data=st.data())
def test_levels_nest_and_a_label_depends_on_its_value_alone(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(VALUES[name] | st.text(max_size=5), min_size=1, unique=True))
    rows = shelf.rows(name, [v for v in values if v != "*"])
    if rows:
        check_rows("c", name, rows)  # every label has one parent
    assert rows == [shelf.rows(name, [row[0]])[0] for row in rows]
    for row in rows:
        assert len(row) == 1 + shelf.CODES[name].height
        assert all(row[1:])
        for number, label in enumerate(row[1:], start=1):
            lowest = shelf.level_of(name, label)
            assert lowest is not None
            assert lowest <= number
            assert lowest == number or row[lowest] == label


@pytest.mark.parametrize("revision", [icd.nine, icd.ten])
def test_the_label_of_a_category_does_not_depend_on_the_rest_of_the_code(
    revision: icd.Icd,
) -> None:
    for block in revision.ranges["block"]:
        whole = revision.path(block.first)
        assert whole is not None
        for form in (f"{block.first}.1", f"{block.first}1", block.first.lower()):
            assert revision.path(form) == whole
