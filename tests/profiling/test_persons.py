"""Names, streets and users in texts, however they are written, and what is none of them."""

from __future__ import annotations

import unicodedata

import pytest

from dbdeid.data.shelf import tables
from dbdeid.profiling import persons

NAMES = [
    *("Carla Lang", "carla lang", "CARLA_LANG", "LANG,CARLA", "Lang,  Carla.", "CarlaLang"),
    *("Lang, C.", "Dr. Lang", "C. M. Lang", "José Núñez Ortega", "Jan van der Meer"),
    *("Françoise Lefèvre", "Błażej Kowalski", "Mary-Ann O'Neill", "Frau Dr. Katrin Weiß"),
]
NONE = [
    *("essential hypertension", "Type 2 diabetes mellitus", "Insulin Glargine", "Bus Driver"),
    *("Internal Medicine", "South Dakota", "Native American", "Family Practice", "Heart failure"),
    *("fracture of neck of femur", "Discharged to home", "not needed", "United Kingdom"),
]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name", NAMES)
def test_a_person_is_known_however_the_name_is_written(name: str, form: str) -> None:
    written = unicodedata.normalize(form, name)
    assert persons.is_person(written)


@pytest.mark.parametrize("text", NONE)
def test_what_names_something_is_no_person(text: str) -> None:
    found = persons.shares([text])
    assert {name for name, share in found.items() if share} <= {"words"}


@pytest.mark.parametrize(
    "street",
    [
        *(
            "12 Baker Street",
            "Main Road 4b",
            "1600 Pennsylvania Ave.",
            "Lindenstraße 7",
            "Am Weg 3",
        ),
        *("LINDENSTR. 12", "12, rue de la Paix", "Calle Mayor 5", "C/ Alcalá, 14", "Via Roma 3"),
        *("Kerkstraat 118 a", "Rua Augusta, 22", "Av. da Liberdade 9", "Schillerplatz 1"),
    ],
)
def test_a_street_is_known_with_its_number_before_or_after(street: str) -> None:
    assert persons.is_street(street)


@pytest.mark.parametrize("text", ["ward 7", "drug 12", "Stage 3 b", "day 4", "room 12", "12"])
def test_a_numbered_thing_is_no_street(text: str) -> None:
    assert not persons.is_street(text)


@pytest.mark.parametrize("user", ["clang82", "carla.lang7", "carla_lang1", "jsmith", "weber03"])
def test_a_user_has_a_name_and_digits(user: str) -> None:
    assert persons.is_user(user) == user[-1].isdigit()


def test_a_thing_that_is_counted_is_one_name() -> None:
    assert persons.shares([f"ward{n}" for n in range(20)])["users"] < 0.1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("patient Carla Lang called", True),
        ("call carla lang before 9", True),
        ("Allergic to penicillin", False),
        ("No particular findings", False),
        ("Malignant neoplasm of bronchus and lung", False),
    ],
)
def test_a_person_is_found_in_a_remark(text: str, named: bool) -> None:
    assert persons.mentions_person(text) == named


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        *(("Ελένη Παππά", True), ("Анна Петрова", True), ("王小明", True), ("فاطمة حسن", True)),
        *(("Carla", False), ("Ökonom", False), ("μg", False), ("β2", False)),
    ],
)
def test_another_script_is_seen(text: str, foreign: bool) -> None:
    assert persons.is_foreign(text) == foreign


@pytest.mark.parametrize("name", ["categories.csv", "icd10.csv", "icd9.csv"])
def test_no_list_of_the_shelf_looks_like_persons(name: str) -> None:
    """Each is far below the shares from which on a column is asked about."""
    texts = [text for row in tables.read(name) for text in row.values() if not text.isdigit()]
    found = persons.shares(sorted(set(texts)))
    shares = {n: found[n] for n in ("persons", "single_names", "streets", "users", "mentions")}
    assert max(shares.values()) < 0.05
    assert shares["mentions"] < 0.005
