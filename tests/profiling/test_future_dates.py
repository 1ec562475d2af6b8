"""Dates in another century than meant: told by check, run and init, and never a value of them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app

YEARS = [f"{(32 + i) % 100:02}" for i in range(60)]  # 32 to 68 are taken for 2032 to 2068
LATER, RECORDS = 37, 120


def spec(source: str, role: str = "quasi_identifier") -> dict[str, object]:
    column: object = role
    if role == "quasi_identifier":
        column = {"role": role, "hierarchy": "suppress"}
    return {
        "release": "people_public",
        "source": source,
        "columns": {"geb": column, "sex": {"role": "quasi_identifier", "hierarchy": "suppress"}},
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 1.0},
    }


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(form: str, century: str = "") -> None:
    rows = [
        form.format(day=f"{1 + i % 28:02}", year=century + YEARS[i % 60]) for i in range(RECORDS)
    ]
    lines = [f"{row},{'FM'[i % 2]}\n" for i, row in enumerate(rows)]
    Path("people.csv").write_text("geb,sex\n" + "".join(lines))


def told(source: str = "people.csv", role: str = "quasi_identifier") -> list[str]:
    """What a check says of the dates; a run says the same."""
    made = spec(source, role)
    found = [[w for w in dbdeid.check(made)["warnings"] if w.startswith("geb: ")]]
    found += [[w for w in dbdeid.run(made).warnings if w.startswith("geb: ")]]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["{day}.02.{year}", "{day}/02/{year}", "{day}.02.{year} 10:00:00"])
def test_two_digit_years_of_a_file_are_told(form: str) -> None:
    written(form)
    (said,) = told()
    assert f"{2 * LATER} of {RECORDS} dates lie after today" in said
    assert "they were read from two-digit years" in said
    done = CliRunner().invoke(app, ["init", "people.csv", "-o", "draft.yml"])
    assert done.exit_code == 0
    assert "note: geb: " in done.stdout
    assert "two-digit years" in done.stdout
    assert "two-digit years" in Path("draft.yml").read_text()
    drafted = json.loads(CliRunner().invoke(app, ["init", "people.csv", "--json"]).stdout)
    assert list(drafted["doubtful_dates"]) == ["geb"]
    for text in (said, done.stdout, drafted["doubtful_dates"]["geb"]):
        assert "2057" not in text
        assert ".02." not in text
        assert "-02-" not in text


def test_two_digit_years_are_told_where_none_lies_after_today() -> None:
    """Who was born in 1912 is taken for born in 2012."""
    rows = "".join(f"0{1 + i % 9}.02.{i % 20:02},{'FM'[i % 2]}\n" for i in range(RECORDS))
    Path("people.csv").write_text("geb,sex\n" + rows)
    (said,) = told()
    assert said.startswith("geb: its dates were read from two-digit years")
    assert "after today" not in said


@pytest.mark.full
def test_dates_after_today_are_told_wherever_they_come_from() -> None:
    written("{day}.02.{year}")
    with duckdb.connect() as con:
        con.execute("COPY (FROM 'people.csv') TO 'people.parquet'")
    (said,) = told("people.parquet")
    assert f"{2 * LATER} of {RECORDS} dates lie after today; read from two-digit years?" in said


@pytest.mark.full
def test_nothing_is_said_of_dates_that_are_as_written() -> None:
    written("{day}.02.{year}", "19")
    assert told() == []
    written("{day}.02.{year}")
    assert told(role="drop") == []


def test_dates_that_were_mended_are_doubted_no_more() -> None:
    written("{day}.02.{year}")
    mended = (
        "SELECT sex, CASE WHEN geb > current_date THEN (geb - INTERVAL 100 YEAR)::DATE ELSE geb "
        "END AS geb FROM 'people.csv'"
    )
    made = spec("") | {"source": {"name": "people", "sql": mended}}
    assert not any("two-digit" in w or "today" in w for w in dbdeid.check(made)["warnings"])
