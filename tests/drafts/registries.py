"""Patient registries made with Faker: names, streets and numbers of each country, none real."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import pandas as pd
from faker import Faker

from drafts.words import CONCEPTS, ICD, Words

PEOPLE = 300  # with one to three stays each, so about 600 rows
SEED = 20260101


def registry(words: Words, *, short: bool = False) -> pd.DataFrame:
    """One row a stay, the 26 columns of `CONCEPTS` under the headers of a language.

    Args:
        short: abbreviated headers, dates as the country writes them, and for half of the
            languages weights with a decimal comma: what a CSV of an older system holds.
    """
    locale = words.short_locale if short else words.locale
    fake = Faker(locale)
    fake.seed_instance(SEED + short)
    rng = random.Random(f"{locale} {short}")
    doctors = [f"{words.doctor} {fake.first_name()[0]}. {fake.last_name()}" for _ in range(15)]
    cities = [(fake.postcode(), fake.city()) for _ in range(40)]
    rows = []
    for number in range(PEOPLE):
        person = _person(fake, rng, words, locale, number, cities)
        for _ in range(rng.choice((1, 2, 3))):
            rows.append(person | _stay(fake, rng, words, doctors, person, short))
    frame = pd.DataFrame(rows)[list(CONCEPTS)]
    frame.columns = pd.Index(words.short if short else words.main)
    if short:
        _as_written(frame, words)
    return frame


def _person(
    fake: Faker,
    rng: random.Random,
    words: Words,
    locale: str,
    number: int,
    cities: list[tuple[str, str]],
) -> dict[str, Any]:
    sex = rng.randrange(2)
    postcode, city = rng.choice(cities)
    height = round(rng.gauss((178, 165)[sex], 7))
    return {
        "record_number": 400_000 + 7 * number + rng.randrange(7),
        "health_number": health_number(fake, rng, locale),
        "surname": fake.last_name(),
        "first_name": (fake.first_name_male, fake.first_name_female)[sex](),
        "sex": words.sexes[sex],
        "birth_date": date(1930, 1, 1) + timedelta(days=rng.randrange(75 * 365)),
        "street": fake.street_name(),
        "house_number": fake.building_number(),
        "postcode": postcode,
        "city": city,
        "telephone": fake.phone_number(),
        "mail": fake.email(),
        "nationality": _often_first(rng, words.countries, 0.85),
        "marital_status": rng.choice(words.marital),
        "occupation": rng.choice(words.occupations),
        "insurance": _often_first(rng, words.insurances, 0.8),
        "weight": round(23 * (height / 100) ** 2 + rng.gauss(3, 9), 1),
        "height": height,
        "deceased": words.deceased[rng.random() > 0.08],
    }


def _stay(
    fake: Faker,
    rng: random.Random,
    words: Words,
    doctors: list[str],
    person: dict[str, Any],
    short: bool,
) -> dict[str, Any]:
    admitted = date(2018, 1, 1) + timedelta(days=rng.randrange(5 * 365))
    what = min(int(rng.expovariate(0.25)), len(ICD) - 1)
    remark = rng.choice(words.remarks) if rng.random() < 0.8 else None
    return {
        "admission": admitted,
        "discharge": admitted + timedelta(days=1 + int(rng.expovariate(0.15))),
        "ward": rng.choice(words.wards),
        "physician": rng.choice(doctors),
        "diagnosis_code": ICD[what],
        "diagnosis": words.diagnoses[what],
        "weight": round(person["weight"] + rng.gauss(0, 1.5), 1 if short else None),
        "remarks": remark and remark.format(name=fake.name(), phone=fake.phone_number()),
    }


def _often_first(rng: random.Random, values: tuple[str, ...], share: float) -> str:
    return values[0] if rng.random() < share else rng.choice(values[1:])


def _as_written(frame: pd.DataFrame, words: Words) -> None:
    at = dict(zip(CONCEPTS, words.short, strict=True))
    for concept in ("birth_date", "admission", "discharge"):
        frame[at[concept]] = [day.strftime(words.dates) for day in frame[at[concept]]]
    if words.language in ("German", "French", "Dutch"):
        weights = frame[at["weight"]]
        frame[at["weight"]] = [f"{weight:.1f}".replace(".", ",") for weight in weights]


def health_number(fake: Faker, rng: random.Random, locale: str) -> str:
    """A national insurance or health number, with check digits where Faker or we know them."""
    match locale:
        case "de_DE":
            return _german(rng)
        case "en_GB":
            return nhs_number(rng)
        case "pt_PT":
            return f"{rng.randrange(100_000_000, 1_000_000_000)}"
        case "es_ES":
            return str(fake.nif())
        case "pt_BR":
            return str(fake.cpf())
        case _:
            return str(fake.ssn())


def nhs_number(rng: random.Random) -> str:
    """Ten digits, the last of which checks the others modulo 11."""
    while True:
        digits = [rng.choice((4, 6, 7)), *(rng.randrange(10) for _ in range(8))]
        check = -sum(d * w for d, w in zip(digits, range(10, 1, -1), strict=True)) % 11
        if check < 10:
            text = "".join(map(str, [*digits, check]))
            return f"{text[:3]} {text[3:6]} {text[6:]}"


def _german(rng: random.Random) -> str:
    """A letter, eight digits and a check digit: weights 1 and 2 in turn, sums of digits mod 10."""
    letter = rng.randrange(26)
    digits = [rng.randrange(10) for _ in range(8)]
    figures = [*divmod(letter + 1, 10), *digits]
    products = [d * (1 + i % 2) for i, d in enumerate(figures)]
    check = sum(sum(divmod(p, 10)) for p in products) % 10
    return chr(65 + letter) + "".join(map(str, digits)) + str(check)
