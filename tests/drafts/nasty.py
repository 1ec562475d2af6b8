"""English tables on which drafts went wrong: numbers, dates and remarks that lead to people."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pandas as pd
from faker import Faker

from drafts.registries import nhs_number, registry
from drafts.words import ENGLISH

STATES = (4, 6, 17, 36, 48)
STAGES = ("Unknown", "Localised", "Regional", "Distant")
STATUS = ("Alive", "Dead: cancer", "Dead: other", "Lost to follow-up")


def _rng(name: str) -> random.Random:
    return random.Random(f"drafts {name}")


def _fake(seed: int) -> Faker:
    fake = Faker("en_US")
    fake.seed_instance(seed)
    return fake


def anonymous_headers() -> pd.DataFrame:
    """The English registry, its headers c01 to c26: names, telephones and remarks among them."""
    frame = registry(ENGLISH)
    frame.columns = pd.Index([f"c{i:02}" for i in range(1, 27)])
    return frame


def numbered_visits() -> pd.DataFrame:
    """Visits, with three more numbers each of which stands for the patient."""
    rng = _rng("numbered visits")
    rows = []
    for i in range(150):
        person = {
            "mrn": 70_000 + 3 * i,
            "nhsno": nhs_number(rng).replace(" ", ""),
            "eid": 1_000_000 + rng.randrange(4_000_000),
            "chartno": f"C{rng.randrange(10**6):06}",
            "sex": rng.choice("MF"),
            "age": rng.randrange(18, 95),
            "ethnicity": rng.choice(("White", "White", "White", "Asian", "Black", "Mixed")),
        }
        for _ in range(rng.choice((2, 3, 5, 8))):
            rows.append(
                person
                | {
                    "ward": rng.choice(ENGLISH.wards),
                    "icd10": rng.choice(("I10", "E11.9", "J44.9", "C50.9", "N39.0")),
                    "los": 1 + int(rng.expovariate(0.2)),
                    "crp": round(rng.lognormvariate(2, 1), 1),
                }
            )
    return pd.DataFrame(rows)


def orders() -> pd.DataFrame:
    """A sales ledger: customers with their total, which is as good as their number."""
    rng, fake = _rng("orders"), _fake(1)
    rows = []
    for i in range(300):
        customer = {
            "custno": f"K{10_000 + i}",
            "custname": fake.name(),
            "state": rng.choice(("CA", "NY", "TX", "IL", "AZ")),
            "totsales": round(rng.lognormvariate(8, 1), 2),
        }
        for _ in range(rng.choice((1, 2, 3))):
            rows.append(
                customer
                | {
                    "orderdate": date(2021, 1, 1) + timedelta(days=rng.randrange(700)),
                    "product": rng.choice(("desk", "chair", "lamp", "shelf")),
                    "invoice_total": round(rng.lognormvariate(5, 1), 2),
                    "paid": rng.choice(("yes", "yes", "yes", "no")),
                }
            )
    return pd.DataFrame(rows)


def payroll() -> pd.DataFrame:
    """A payroll, where nearly everybody has a salary of their own."""
    rng, fake = _rng("payroll"), _fake(2)
    return pd.DataFrame(
        {
            "empno": 2000 + i,
            "surname": fake.last_name(),
            "dept": rng.choice(("Sales", "IT", "Finance", "HR", "Operations")),
            "grade": rng.choice(("A", "B", "C", "D")),
            "sex": rng.choice(("female", "male")),
            "birthyear": rng.randrange(1958, 2003),
            "startdate": date(2000, 1, 1) + timedelta(days=rng.randrange(8000)),
            "salary": round(rng.gauss(48_000, 12_000), 2),
        }
        for i in range(500)
    )


def clinic() -> pd.DataFrame:
    """A clinic's export with what Safe Harbor names: contacts, doctors, devices, addresses."""
    rng, fake = _rng("clinic"), _fake(3)
    doctors = [f"{fake.last_name()}, {fake.first_name()} MD" for _ in range(12)]
    zips = [fake.postcode_in_state(state) for state in ("TN", "KY", "GA") for _ in range(12)]
    rows = []
    for i in range(400):
        visit = date(2022, 1, 1) + timedelta(days=rng.randrange(365))
        rows.append(
            {
                "Med_Rec_No": 880_000 + i,
                "Pat_Name": fake.name(),
                "DOB": date(1935, 1, 1) + timedelta(days=rng.randrange(70 * 365)),
                "Sex": rng.choice("MF"),
                "Zip": rng.choice(zips),
                "Emergency_Contact": fake.name(),
                "Emergency_Phone": fake.phone_number(),
                "Attending_Md": rng.choice(doctors),
                "Insurance_Id": f"{fake.random_uppercase_letter()}{rng.randrange(10**8):08}",
                "Device_Serial": f"SN-{rng.randrange(10**7):07}",
                "Portal_IP": fake.ipv4(),
                "Visit_Date": visit,
                "Icd10": rng.choice(("I10", "E11.9", "J44.9", "C50.9", "N39.0", "F32.1")),
                "Systolic": round(rng.gauss(132, 18)),
            }
        )
    return pd.DataFrame(rows)


def census() -> pd.DataFrame:
    """A census extract with the codes of IPUMS, households numbered."""
    rng = _rng("census")
    rows: list[dict[str, Any]] = []
    for household in range(450):
        state, size = rng.choice(STATES), rng.choice((1, 2, 2, 3, 4))
        weight = rng.choice((54, 61, 77, 90, 102, 118))
        race = rng.choices((1, 2, 3, 4, 6, 7, 8), (70, 12, 1, 3, 3, 6, 5))[0]
        for person in range(size):
            age = rng.randrange(20, 90) if person < 2 else rng.randrange(0, 25)
            rows.append(
                {
                    "YEAR": 2019,
                    "SERIAL": 700_001 + household,
                    "PERNUM": person + 1,
                    "PERWT": weight,
                    "STATEFIP": state,
                    "SEX": rng.choice((1, 2)),
                    "AGE": age,
                    "MARSTAT": rng.choice((1, 1, 1, 3, 4, 5, 6)) if age > 17 else 6,
                    "RACE": race,
                    "EDUC": min(11, max(0, round(rng.gauss(6.5, 2)))) if age > 4 else 0,
                    "OCC": rng.randrange(10, 9800, 330) if 17 < age < 70 else 0,
                    "INCTOT": round(rng.lognormvariate(10, 1), -2) if age > 17 else 0,
                }
            )
    return pd.DataFrame(rows)


def melanoma() -> pd.DataFrame:
    """A melanoma registry: exact dates of diagnosis and exit, and the days between."""
    rng = _rng("melanoma")
    rows = []
    for i in range(1500):
        found = date(1975, 1, 1) + timedelta(days=rng.randrange(6 * 365))
        days = 1 + min(int(rng.expovariate(1 / 2200)), (date(1995, 12, 31) - found).days)
        age = rng.randrange(25, 92)
        rows.append(
            {
                "sex": rng.choice(("Male", "Female")),
                "age": age,
                "agegrp": ("0-44", "45-59", "60-74", "75+")[(age > 44) + (age > 59) + (age > 74)],
                "stage": rng.choices(STAGES, (20, 60, 12, 8))[0],
                "subsite": rng.choice(("Head and Neck", "Trunk", "Limbs", "Multiple and NOS")),
                "status": rng.choices(STATUS, (55, 25, 18, 2))[0],
                "dx": found,
                "exit": found + timedelta(days=days),
                "surv_days": days,
                "id": i + 1,
            }
        )
    return pd.DataFrame(rows)


def heart_study() -> pd.DataFrame:
    """A cohort like that of Framingham: up to three exams of a person, and the days to events."""
    rng = _rng("heart study")
    rows: list[dict[str, Any]] = []
    for number in rng.sample(range(2_000, 10_000_000), 700):
        sex, age, dead = rng.choice((1, 2)), rng.randrange(32, 70), int(rng.random() < 0.35)
        smoker = int(rng.random() < 0.48)
        end = 8766 if not dead else rng.randrange(30, 8766)
        for period in range(1, rng.choice((2, 3, 4, 4))):
            rows.append(
                {
                    "RANDID": number,
                    "SEX": sex,
                    "AGE": age + 6 * (period - 1),
                    "PERIOD": period,
                    "TIME": (period - 1) * (2190 + rng.randrange(-60, 60)),
                    "TOTCHOL": round(rng.gauss(240, 42)),
                    "SYSBP": round(rng.gauss(134, 20), 1),
                    "DIABP": round(rng.gauss(83, 11), 1),
                    "CURSMOKE": smoker,
                    "CIGPDAY": smoker * rng.choice((5, 10, 20, 20, 30, 40)),
                    "BMI": round(rng.gauss(25.8, 4), 2),
                    "DIABETES": int(rng.random() < 0.04),
                    "educ": rng.choice((1, 1, 2, 3, 4)),
                    "PREVCHD": int(rng.random() < 0.07),
                    "DEATH": dead,
                    "TIMEDTH": end,
                }
            )
    return pd.DataFrame(rows)


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "anonymous_headers": anonymous_headers,
    "numbered_visits": numbered_visits,
    "orders": orders,
    "payroll": payroll,
    "clinic": clinic,
    "census": census,
    "melanoma": melanoma,
    "heart_study": heart_study,
}
