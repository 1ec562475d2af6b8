"""Safe Harbor tells what a reviewer would ask about: planted columns, and no others."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.errors import SpecError
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
    "remark": (f"'on ' || {DAY}", "dates in some of its values"),
    "begun": (f"CASE WHEN i % 4 = 0 THEN 'none' ELSE strftime({DAY}, '%-d %B %Y') END", "dates in"),
    "vintages": ("1918 + i % 90", "those of births"),
    "yrs": ("18 + i % 87", "ages in years"),
    "months": ("216 + (i * 7) % 1032", "ages in months"),
    "grp": ("(i % 17 * 5 + 20) || '-' || (i % 17 * 5 + 24)", "as of ages"),
    "last": (f"{PERSON}[1 + i % 9]", "persons or places"),
    "assigned": (
        f"{PERSON}[1 + i % 9] || ', ' || chr((65 + i % 20)::INTEGER) || '.'",
        "persons or of user",
    ),
    "signed_by": (f"'Dr. ' || {PERSON}[1 + i % 9]", "persons or of user"),
    "residence": (f"{TOWN}[1 + i % 4]", "places"),
    "scan": ("'img_' || (i % 50) || '.jpg'", "files of images"),
    "origin": ("CASE WHEN i % 20 = 0 THEN 'http://x.example/a' ELSE 'desk' END", "web addresses"),
    "host": ("CASE WHEN i % 20 = 0 THEN 'via 10.0.3.7' ELSE 'desk' END", "network addresses"),
    "reply": ("CASE WHEN i % 20 = 0 THEN 'to me@x.example' ELSE 'no' END", "e-mail addresses"),
    "reach": ("CASE WHEN i % 20 = 0 THEN 'tel 617-555-0143' ELSE 'no' END", "long numbers"),
    "part": (f"{ZIP}[1 + i % 10]::INTEGER", "five digits"),
    "sector": (f"left({ZIP}[1 + i % 10], 3) || '**'", "ZIP codes or their areas"),
    "spot": (f"'MA ' || {ZIP}[1 + i % 10]", "ZIP codes or their areas"),
    "ext": ("5000000000 + i % 700 * 1234567", "telephones"),
    "marks": ("chr((65 + i % 26)::INTEGER) || chr((65 + i // 26 % 26)::INTEGER)", "initials"),
    "chart": ("'Q' || i % 900", "may number persons or records"),
    "exactly": ("i * 1.37", "for itself"),
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
    columns = {name: sql for name, (sql, _) in PLANTED.items()} | PLAIN
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
    }


def asked_about(con: duckdb.DuckDBPyConnection, given: dict[str, Any]) -> str:
    notes = [w for w in dbdeid.check(given, con)["warnings"] if "before you publish" in w]
    assert len(notes) < 2
    return "".join(notes)


def test_each_planted_column_is_named_with_its_reason_and_no_other_is(
    con: duckdb.DuckDBPyConnection,
) -> None:
    note = asked_about(con, spec([*PLANTED, *PLAIN]))
    told = dict(part.split(" (", 1) for part in note.split(": ", 2)[2].rstrip(")").split("), "))
    missed = {
        name: told.get(name) for name, (_, why) in PLANTED.items() if why not in told.get(name, "")
    }
    assert missed == {}
    assert set(told) == set(PLANTED)
    for value in ("Garcia", "Lyndon", "http", "617", "02139", "img", "2018"):
        assert value not in note


def test_an_answer_settles_it(con: duckdb.DuckDBPyConnection) -> None:
    preset = {"name": "safe_harbor", "accept": {"last": "the last drug given, not a name"}}
    warnings = dbdeid.check(spec([*PLANTED, *PLAIN], preset), con)["warnings"]
    assert "last (" not in next(w for w in warnings if "before you publish" in w)
    assert any("last is released as declared: the last drug" in w for w in warnings)


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
