"""An extract as hospitals bring it: 40 columns of ids, names, dates, codes, text, measurements.

Nobody in it lives. Patients come back, values are missing as they are in such extracts, and the
notes name people.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

FIRST = (
    *("Anna", "Beat", "Claudia", "Daniel", "Elena", "Fabio", "Gabriela", "Hans", "Irene", "Jonas"),
    *("Karin", "Luca", "Maria", "Nino", "Olivia", "Peter", "Rahel", "Stefan", "Tanja", "Urs"),
)
LAST = (
    *("Aebischer", "Brunner", "Caduff", "Diethelm", "Egger", "Fischer", "Gerber", "Hofmann"),
    *("Iten", "Jenni", "Keller", "Lehmann", "Meier", "Nussbaum", "Oberholzer", "Pfister"),
)
PLACES = (
    *(("3011", "Bern"), ("3600", "Thun"), ("4051", "Basel"), ("7000", "Chur"), ("8001", "Zürich")),
    *(("9000", "St. Gallen"), ("6003", "Luzern"), ("1950", "Sion"), ("3900", "Brig")),
)
STREETS = ("Bahnhofstrasse", "Dorfweg", "Hauptgasse", "Seestrasse", "Im Feld")
CODES = {
    "I10": "E65A", "I50.1": "F62B", "J18.9": "E77C", "E11.9": "K60F", "K35.8": "G23A",
    "S72.0": "I08E", "C50.9": "J23Z", "N39.0": "L63F", "O80": "O60D", "F32.1": "U64Z",
}  # fmt: skip
WARDS = ("Medicine A", "Medicine B", "Surgery", "Maternity", "Psychiatry", "ICU")
NOTES = (
    "Pat. reports pain since {days} days. Discussed with {name}.",
    "Follow-up in 3 weeks. Wife of {name} informed by phone {phone}.",
    "No complications, discharged home.",
    "Known to the ward, see letter of {day}.",
)
NAMES = (
    *("encounter_id", "patient_id", "mrn", "first_name", "last_name", "date_of_birth", "sex"),
    *("marital_status", "nationality", "zip", "city", "street", "phone", "email", "insurance_no"),
    *("insurer", "admitted_at", "discharged_at", "length_of_stay", "admission_type", "ward", "bed"),
    *("attending", "icd10_main", "icd10_secondary", "drg", "height_cm", "weight_kg", "systolic"),
    *("diastolic", "heart_rate", "temperature", "creatinine", "hba1c", "smoker", "allergies"),
    *("note", "outcome", "readmitted_30d", "cost_chf"),
)


def write(path: Path, rows: int = 3_000, seed: int = 40) -> None:
    """Write the extract as a CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(NAMES)
        out.writerows(_rows(random.Random(seed), rows))


def _rows(draw: random.Random, rows: int) -> Iterator[list[object]]:
    people = [_person(draw, i) for i in range(rows * 7 // 10)]
    for i in range(rows):
        person = people[i] if i < len(people) else draw.choice(people)
        admitted = datetime(2024, 1, 1) + timedelta(minutes=draw.randrange(2 * 365 * 24 * 60))
        days = min(int(draw.expovariate(0.2)) + 1, 60)
        code = draw.choices([*CODES], weights=range(len(CODES), 0, -1))[0]
        others = draw.sample([*CODES], draw.choice((0, 0, 1, 2)))
        height, weight = round(draw.gauss(170, 9)), round(draw.gauss(76, 15), 1)
        note = draw.choice(NOTES).format(
            days=days, name=f"{draw.choice(FIRST)} {draw.choice(LAST)}", phone=person[10],
            day=f"{admitted:%d.%m.%Y}",
        )  # fmt: skip
        yield [
            f"E{500_000 + i}",
            *person,
            f"{admitted:%Y-%m-%d %H:%M:%S}",
            f"{admitted + timedelta(days=days):%Y-%m-%d %H:%M:%S}",
            days,
            draw.choices(("emergency", "elective", "transfer"), weights=(5, 4, 1))[0],
            ward := draw.choice(WARDS),
            f"{ward[0]}{draw.randint(1, 24):02d}",
            f"Dr. {draw.choice(LAST)}",
            code,
            ";".join(others),
            CODES[code],
            _or_none(draw, height, 0.08),
            _or_none(draw, weight, 0.08),
            _or_none(draw, round(draw.gauss(128, 17)), 0.05),
            _or_none(draw, round(draw.gauss(79, 11)), 0.05),
            _or_none(draw, round(draw.gauss(78, 13)), 0.05),
            _or_none(draw, round(draw.gauss(36.8, 0.6), 1), 0.1),
            _or_none(draw, round(draw.lognormvariate(4.4, 0.3)), 0.3),
            _or_none(draw, round(draw.gauss(6.1, 1.1), 1), 0.6),
            draw.choices(("yes", "no", "former", ""), weights=(2, 5, 2, 1))[0],
            draw.choices(("", "Penicillin", "Latex", "Pollen, nuts"), weights=(7, 2, 1, 1))[0],
            note if draw.random() < 0.7 else "",
            draw.choices(("home", "rehabilitation", "died", "care home"), weights=(12, 3, 1, 2))[0],
            draw.choices(("0", "1"), weights=(8, 1))[0],
            f"{draw.lognormvariate(9, 0.7):.2f}",
        ]


def _person(draw: random.Random, number: int) -> list[object]:
    first, last = draw.choice(FIRST), draw.choice(LAST)
    born = datetime(1930, 1, 1) + timedelta(days=draw.randrange(85 * 365))
    place, city = draw.choices(PLACES, weights=range(len(PLACES), 0, -1))[0]
    return [
        f"P{100_000 + number}",
        f"{draw.randrange(10**9):09d}",
        first,
        last,
        f"{born:%Y-%m-%d}",
        draw.choice(("F", "M")),
        draw.choice(("single", "married", "divorced", "widowed", "")),
        draw.choices(("CH", "DE", "IT", "PT", "FR"), weights=(14, 2, 2, 1, 1))[0],
        place,
        city,
        f"{draw.choice(STREETS)} {draw.randint(1, 120)}",
        f"+41 79 {draw.randrange(10**3):03d} {draw.randrange(100):02d} {draw.randrange(100):02d}",
        f"{first}.{last}{number}@example.ch".lower() if draw.random() < 0.6 else "",
        f"756.{draw.randrange(10**4):04d}.{draw.randrange(10**4):04d}.{draw.randrange(100):02d}",
        draw.choice(("Helsana", "CSS", "Swica", "Visana", "Sanitas")),
    ]


def _or_none(draw: random.Random, value: object, missing: float) -> object:
    return "" if draw.random() < missing else value
