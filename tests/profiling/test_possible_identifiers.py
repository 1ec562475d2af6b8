"""Safe Harbor tells what a reviewer would ask about: planted columns, and no others."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbdeid
from dbdeid.bind.any_table import opened
from dbdeid.engine.session import Step
from dbdeid.errors import SpecError
from dbdeid.profiling.detect import detect
from dbdeid.profiling.possible_identifiers import identifiers, look
from dbdeid.verify.harbor import ages

DAY = "(DATE '2018-01-01' + ((i * 7) % 1500)::INTEGER)"
OWN_MONTH = f"strftime({DAY}, '%B')"
PERSON = "['Garcia', 'Chen', 'Patel', 'Rossi', 'Weber', 'Haddad', 'Ivanova', 'Kim', 'Lopez']"
TOWN = "['Cambridge', 'Littleton', 'Lyndon', 'Valentine']"
ZIP = "['02139', '03601', '10001', '60601', '94110', '69201', '30301', '20301', '90210', '73301']"
PLANTED = {
    "began": (f"epoch({DAY})::BIGINT", "seconds since 1970"),
    "began_ms": (f"epoch_ms({DAY})", "milliseconds since 1970"),
    "lot": (f"{DAY} - DATE '1899-12-30'", "days since 1900"),
    "julian": (f"strftime({DAY}, '%Y%j')", "a year and a day of it"),
    "doy": (f"strftime({DAY}, '%j')::INTEGER", "the days of a year"),
    "period": (f"strftime({DAY}, '%Y%m')::INTEGER", "a year and a month"),
    "visited": (f"strftime({DAY}, '%m-%d')", "without a year"),
    "season": (OWN_MONTH, "without a year"),
    "adm_month": ("1 + i % 12", "tell a date together"),
    "day": ("1 + i % 31", "tell a date together"),
    "quarter": ("'Q' || (1 + i % 4)", "tell a date together"),
    "stamped": (f"'on ' || {DAY}", "dates in some of its values"),
    "begun": (f"CASE WHEN i % 4 = 0 THEN 'none' ELSE strftime({DAY}, '%-d %B %Y') END", "dates in"),
    "vintages": ("1918 + i % 90", "those of births"),
    "yrs": ("18 + i % 87", "ages in years"),
    "months": ("216 + (i * 7) % 1032", "ages in months"),
    "grp": ("(i % 17 * 5 + 20) || '-' || (i % 17 * 5 + 24)", "as of ages"),
    "residence": (f"{TOWN}[1 + i % 4]", "places"),
    "part": (f"{ZIP}[1 + i % 10]::INTEGER", "five digits"),
    "sector": (f"left({ZIP}[1 + i % 10], 3) || '**'", "ZIP codes or their areas"),
    "spot": (f"'MA ' || {ZIP}[1 + i % 10]", "ZIP codes or their areas"),
    "chart": ("'Q' || i % 900", "may number persons or records"),
    "exactly": ("i * 1.37", "for itself"),
}
# What is refused as a direct identifier, by its contents.
DIRECT = {
    "last": (f"{PERSON}[1 + i % 9]", "persons or places"),
    "assigned": (
        f"{PERSON}[1 + i % 9] || ', ' || chr((65 + i % 20)::INTEGER) || '.'",
        "persons or of user",
    ),
    "signed_by": (f"'Dr. ' || {PERSON}[1 + i % 9]", "persons or of user"),
    "scan": ("'img_' || (i % 50) || '.jpg'", "files of images"),
    "origin": ("CASE WHEN i % 20 = 0 THEN 'http://x.example/a' ELSE 'desk' END", "web addresses"),
    "host": ("CASE WHEN i % 20 = 0 THEN 'via 10.0.3.7' ELSE 'desk' END", "network addresses"),
    "reply": ("CASE WHEN i % 20 = 0 THEN 'to me@x.example' ELSE 'no' END", "e-mail addresses"),
    "reach": ("CASE WHEN i % 20 = 0 THEN 'tel 617-555-0143' ELSE 'no' END", "long numbers"),
    "ext": ("5000000000 + i % 700 * 1234567", "telephones"),
    "marks": ("chr((65 + i % 26)::INTEGER) || chr((65 + i // 26 % 26)::INTEGER)", "initials"),
}
# What a reviewer has no question about.
PLAIN = {
    "sex": "i % 2",
    "ward": "'w' || (i % 5)",
    "los": "i % 40",
    "glucose": "60 + (i * 7) % 240",
    "bp": "80 + i % 100",
    "race": "['White', 'Black', 'Asian', 'Other', 'Mixed', 'None', 'Refused', 'Latino'][1 + i % 8]",
    "specialty": "['Cardiology', 'Surgery', 'Urology', 'Oncology'][1 + i % 4] || 's' || (i % 3)",
    "education_yrs": "i % 20",
    "salary": "20000 + i % 300 * 100",
    "season_year": "2018 + i % 5",
    "flag": "i % 2 = 0",
    "score": "i % 500 / 10.0",
    "dx": "['flu', 'asthma', 'none'][1 + i % 3]",
}


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    columns = {name: sql for name, (sql, _) in (PLANTED | DIRECT).items()} | PLAIN
    made = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    found.execute(f"CREATE TABLE seen AS SELECT {made} FROM range(3000) AS numbers(i)")
    return found


def spec(columns: Any, preset: Any = "safe_harbor") -> dict[str, Any]:
    insensitive = {"role": "insensitive", "reason": "planted"}
    sex = {"sex": {"role": "quasi_identifier", "hierarchy": "suppress"}}
    return {
        "release": "public",
        "preset": preset,
        "source": "seen",
        "columns": dict.fromkeys(columns, insensitive) | sex,
        "evaluate": {"metrics": []},
    }


def asked_among(warnings: list[str]) -> str:
    notes = [w for w in warnings if "before you publish" in w]
    assert len(notes) < 2
    return "".join(notes)


@pytest.fixture(scope="module")
def answered(con: duckdb.DuckDBPyConnection) -> list[str]:
    """What a check tells of what was planted, and of a column that its owner answers for."""
    preset = {"name": "safe_harbor", "accept": {"last": "the last drug given, not a name"}}
    told: list[str] = dbdeid.check(spec([*PLANTED, *PLAIN, "last"], preset), con)["warnings"]
    return told


def test_each_planted_column_is_named_with_its_reason_and_no_other_is(
    answered: list[str],
) -> None:
    note = asked_among(answered)
    told = dict(part.split(" (", 1) for part in note.split(": ", 2)[2].rstrip(")").split("), "))
    missed = {
        name: told.get(name) for name, (_, why) in PLANTED.items() if why not in told.get(name, "")
    }
    assert missed == {}
    assert set(told) == set(PLANTED)
    for value in ("Garcia", "Lyndon", "http", "617", "02139", "img", "2018"):
        assert value not in note


@pytest.mark.full
def test_direct_identifiers_are_refused_and_withheld_by_their_contents(
    con: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(SpecError) as error:
        dbdeid.check(spec([*PLANTED, *DIRECT, *PLAIN]), con)
    told = {m.place: m.message for m in error.value.mistakes}
    assert set(told) == {f"columns.{name}" for name in DIRECT}
    missed = {n: told[f"columns.{n}"] for n, (_, why) in DIRECT.items() if why not in str(told)}
    assert missed == {}
    result = dbdeid.run(spec([*PLANTED, *PLAIN]), con)
    assert result.verified
    assert not set(DIRECT) & set(result.to_df())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name", ["Emergency_Contact", "Attending_Md", "Hausarzt", "medecin_traitant"]
)
def test_persons_around_a_patient_do_not_pass(name: str) -> None:
    con = duckdb.connect()
    doctor = f"{PERSON}[1 + i % 9] || ' ' || {PERSON}[1 + i % 7]"
    con.execute(
        f"CREATE TABLE seen AS SELECT {doctor} AS {name}, i % 2 AS sex FROM range(900) t(i)"
    )
    with pytest.raises(SpecError, match=f"safe_harbor withholds '{name}'"):
        dbdeid.check(spec([name]), con)
    assert name not in dbdeid.run(spec([]), con).to_df()


def looked_into(source: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Identifiers of a file with the names of its columns, and without."""
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        table = session.run(Step("deid_draft", query))
        found = detect(session, table)
        seen = look(session, table, found)
        return (
            identifiers(session, table, found, seen),
            identifiers(session, table, found, seen, by_name=False),
        )


def test_columns_without_a_name_are_known_by_what_they_hold(tmp_path: Path) -> None:
    a, b = "chr((65 + i % 23)::INTEGER)", "chr((97 + i * 7 % 25)::INTEGER)"
    word = f"{a} || {b} || chr((97 + i * 3 % 19)::INTEGER) || 'en'"
    says = "CASE WHEN i % 9 = 0 THEN 'ask {} or 0171 / 23 45 678' ELSE 'ok' END"
    source = tmp_path / "c.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT {word} AS c01, 'van der ' || {word} AS c02, upper({word}) AS c03, "
        f"{word} || 'straße ' || (1 + i % 60) AS c04, {says.format('her')} AS c05, "
        "'P-' || printf('%04d', i % 700) AS c06, 'no ' || i % 40 AS c07, i % 90 AS c08, "
        "CASE WHEN i % 9 = 0 THEN 'Frau Weber called' ELSE 'ok' END AS c09, "
        "['Germany', 'France', 'Spain', 'Italy'][1 + i % 4] AS c10, "
        f"CASE WHEN i % 9 = 0 THEN '06 12 34 56 78' ELSE 'ok' END AS c11 "
        f"FROM range(2000) t(i)) TO '{source}'"
    )
    named, unnamed = looked_into(source)
    assert set(named) == {"c01", "c02", "c03", "c04", "c05", "c06", "c09", "c11"}
    assert named == unnamed
    assert not any(word in str(named) for word in ("Weber", "0171", "van der", "P-"))


def test_a_name_counts_only_where_it_is_asked(tmp_path: Path) -> None:
    source = tmp_path / "c.parquet"
    duckdb.connect().execute(
        "COPY (SELECT ['old', 'new', 'none'][1 + i % 3] AS surname FROM range(900) t(i)) "
        f"TO '{source}'"
    )
    assert looked_into(source) == ({"surname": "its name says so"}, {})


# What a reviewer lets through in tables that everybody has: numbers of persons are no such.
TABLES = {
    "ehr/diabetes130.parquet": {"encounter_id", "patient_nbr"},
    "survival/support2.parquet": set(),
    "adult_uci.parquet": set(),
    "arx_ss13acs_5attr.parquet": set(),
    "sdc/sdcmicro_testdata.parquet": set(),
    "survival/r_survival_rotterdam.parquet": {"pid"},
}


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_no_false_alarm(shared: Path, name: str) -> None:
    named, unnamed = looked_into(shared / "data" / name)
    assert set(named) == TABLES[name]
    assert unnamed.keys() <= TABLES[name]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "values",
    [
        "['Metformin', 'Insulin Glargine', 'Aspirin', 'Warfarin', 'Heparin'][1 + i % 5]",
        "['Cardiology', 'Internal Medicine', 'Surgery', 'Urology', 'Family Practice'][1 + i % 5]",
        "['White', 'Black', 'Asian', 'Native American', 'Other', 'Two Or More'][1 + i % 6]",
        "['Registered Nurse', 'Teacher', 'Farmer', 'Bus Driver', 'Clerk'][1 + i % 5]",
        "['Type 2 diabetes mellitus', 'Essential hypertension', 'Acute bronchitis'][1 + i % 3]",
        "['North America', 'South America', 'Asia', 'Europe'][1 + i % 4]",
        "['Alabama', 'Texas', 'Ohio', 'New York', 'Maine', 'Utah', 'Iowa', 'Idaho'][1 + i % 8]",
        "chr((65 + i % 20)::INTEGER) || printf('%02d.%d', i % 90, i % 9)",
        "20000 + i * 37 % 9000 * 10",
    ],
)
def test_categories_are_no_persons(tmp_path: Path, values: str) -> None:
    source = tmp_path / "c.parquet"
    duckdb.connect().execute(f"COPY (SELECT {values} AS c01 FROM range(3000) t(i)) TO '{source}'")
    assert looked_into(source) == ({}, {})


def test_an_answer_settles_it(answered: list[str]) -> None:
    assert "last (" not in asked_among(answered)
    assert any("last is released as declared: the last drug" in w for w in answered)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("age_months", "216 + i % 1000"),
        ("age", "(20 + i % 85) || ' years'"),
        ("agegrp", "(i % 17 * 5 + 20) || '-' || (i % 17 * 5 + 24)"),
        ("how_old", "18 + i % 87"),
        ("age_at_visit", "'about ' || (18 + i % 87)"),
        ("days_of_life", "i * 12"),
    ],
)
def test_a_column_that_says_age_is_never_let_through(name: str, sql: str) -> None:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE seen AS SELECT {sql} AS {name}, i % 2 AS sex FROM range(900) t(i)")
    with pytest.raises(SpecError, match=f"columns.{name}"):
        dbdeid.check(spec([name]), con)
    result = dbdeid.run(spec([]), con)
    released = result.to_df()
    assert result.verified
    assert name not in released or ages([*set(released[name])]) == 0


PEOPLE = [
    *("Carla Lang", "Tom Becker", "Anna Schulz", "Pedro Gomes", "Lucie Moreau", "Jan de Vries"),
    *("Ingrid Olsen", "Marta Nowak", "Paul Weber", "Sofia Ricci"),
]
TOWNS = ["Bochum", "Sevilla", "Lyon", "Utrecht", "Porto", "Bologna", "Leeds", "Graz", "Gent"]
PHONES = [6175550143 + 7919 * n for n in range(40)]
SIXTY = [f"{a}{b}{c}" for a in ("bra", "kel", "mor", "tus") for b in "aeiou" for c in ("nt", "x")]
# What an answer of a word let through: the name of a column, and its values.
LEFT: dict[str, Sequence[object]] = {
    "c01": PEOPLE,
    "c02": PEOPLE[:4],
    "c03": [name.split()[-1] for name in PEOPLE],
    "drug_name": PEOPLE,
    "product": [name.lower() for name in PEOPLE],
    "residence": PEOPLE,
    "visit_country": PEOPLE,
    "city_code": [name.split()[0] for name in PEOPLE],
    "c10": [name.upper().replace(" ", "_") for name in PEOPLE],
    "c11": [name.lower() for name in PEOPLE],
    "c12": [name.replace(" ", "  ") + "." for name in PEOPLE],
    "c13": [",".join(name.upper().split()[::-1]) for name in PEOPLE],
    "c14": [unicodedata.normalize("NFD", n) for n in ("José Núñez", "Zoë Brontë", "Inès Moreau")],
    "c15": [
        "Ελένη Παππά",
        "Анна Петрова",
        "王小明",
        "فاطمة حسن",
        *(f"Иван {a}нов" for a in "АБВГДЕ"),
    ],
    "c20": ["seen today", "no change", "patient Carla Lang called", "to be seen again"],
    "c21": ["seen today", "ring 6175550143", "no change"],
    "c22": ["seen today", "mail to her@x.example", "no change"],
    "c23": ["seen today", "6175550143", "no change"],
    "c30": [f"{n} Baker Street" for n in range(1, 8)],
    "c31": ["Lindenstr. 7", "Am Weg 3", "Schillerplatz 1", "HAUPTSTRASSE 12 a"],
    "c32": ["12, rue de la Paix", "3 avenue Foch", "8 bd Voltaire", "1 place Monge"],
    "c33": ["Calle Mayor 5", "C/ Alcalá, 14", "Via Roma 3", "Rua Augusta, 22", "Kerkstraat 118"],
    "c34": ["clang82", "tbecker7", "aschulz11", "pgomes3", "lmoreau90"],
    "c35": [123_456_789 + 7919 * n for n in range(12)],
    "c36": PHONES,
    "c37": [str(n) for n in PHONES],
    "c38": [float(n) for n in PHONES],
    "c40": [f"{word}a" for word in SIXTY],
}
# Few values that name nobody, and many under a name that says what they are.
NOBODY: dict[str, Sequence[object]] = {
    "d01": ["red", "green", "blue", "black", "white", "brown", "grey", "pink", "gold"],
    "d02": ["Internal Medicine", "Surgery", "Cardiology", "Family Practice", "Urology"],
    "d03": TOWNS,
    "d04": ["metformin", "ramipril", "aspirin", "warfarin", "heparin", "insulin glargine"],
    "d05": ["ward 1", "ward 2", "ward 3", "ward 4"],
    "d06": [f"drug{n}" for n in range(30)],
    "d07": ["January", "April", "May", "June", "August", "September", "March", "July", "October"],
    "d08": ["Georgia", "Virginia", "Carolina", "Montana", "Dakota", "Texas", "Ohio", "Maine"],
    "d09": ["Malignant neoplasm of lung", "Heart failure", "Type 2 diabetes mellitus"],
    "d10": [20_000 + 9 * n for n in range(300)],
    "drug": SIXTY,
    "d11": [1_234_567 + 991_777 * n for n in range(300)],
    "d12": [f"{word}{n}" for n, word in enumerate(SIXTY)],
}


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of columns by what they hold, with their names."""
    source = tmp_path_factory.mktemp("left") / "c.parquet"
    every = LEFT | NOBODY
    frame = pd.DataFrame(
        {n: [some[i % len(some)] for i in range(1200)] for n, some in every.items()}
    )
    frame.to_parquet(source, index=False)
    return looked_into(source)[0]


@pytest.mark.parametrize("name", LEFT)
def test_no_person_hides_behind_a_name_or_a_spelling(name: str, looks: dict[str, str]) -> None:
    assert name in looks
    assert not [value for value in LEFT[name] if str(value) in looks[name]]


@pytest.mark.parametrize("name", NOBODY)
def test_few_words_that_name_nobody_pass(name: str, looks: dict[str, str]) -> None:
    assert looks.get(name) is None


# A remark that leads to a person stands among others that do not; none has many different values.
REMARKS = [
    *("Tel. 0221 12345", "Angehörige: Tel 61234", "phone no 54 321", "tél: 12 34 56"),
    *("Mobil 0171 99887", "daheim 0807 83982", "unter 804855 erreichbar"),
    *("12 Main Street", "Hauptstraße 12, 50667 Köln", "5 rue de la Paix", "wohnt Hauptstr. 12"),
    *("lives at 37 Pine Street", "Calle Mayor 5", "Am Mühlweg 3, 79100 Freiburg"),
    *("siehe Müller", "Tochter heißt Anna", "Sohn Peter holt ab", "s'appelle Anna"),
    *("DOB 1970-03-04", "geb. 3.4.1970", "née le 12/03/1956", "born on 3 April 1970"),
]
HARMLESS = [
    *("siehe Befund", "siehe Brief", "see Chart 2", "Tochter informiert", "Sohn erreichbar"),
    *("Monitoring 24 h", "Atemweg 2", "Scoring 12", "via Port 2", "Stage 3 b", "room 12", "Ring 3"),
    *("telemetry 24 h", "mobil seit 2019", "Telefonvisite", "mobile 10 m", "Leukozyten 12500"),
    *("born at term", "geboren in 38+2", "unter 10000", "0.125 mg 2x", "5 cours", "2 rue"),
]


@pytest.fixture(scope="module")
def remarked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of a column of remarks for each of the texts, by the text."""
    source = tmp_path_factory.mktemp("remarks") / "c.parquet"
    every = [*REMARKS, *HARMLESS]
    frame = pd.DataFrame(
        {
            f"c{n}": [("", "privat", "ok", text)[i % 4] for i in range(40)]
            for n, text in enumerate(every)
        }
    )
    with duckdb.connect() as held:
        held.register("frame", frame)
        held.execute(f"COPY (FROM frame) TO '{source}'")
    said, unnamed = looked_into(source)
    assert said == unnamed
    return {every[int(name[1:])]: why for name, why in said.items()}


@pytest.mark.parametrize("text", REMARKS)
def test_a_remark_that_leads_to_a_person_is_seen(text: str, remarked: dict[str, str]) -> None:
    assert "in some of its values" in remarked[text]
    assert text not in remarked[text]


@pytest.mark.parametrize("text", HARMLESS)
def test_a_remark_about_nobody_is_not(text: str, remarked: dict[str, str]) -> None:
    assert text not in remarked
