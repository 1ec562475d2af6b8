"""What nobody has decided on does not leave: open questions are refused, and listed by `check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import dbdeid
from dbdeid.bind.read import read
from dbdeid.cli.app import app
from dbdeid.commands.frontier import frontier
from dbdeid.commands.plan import plan
from dbdeid.commands.search import search
from dbdeid.errors import SpecError
from dbdeid.release.run import run

AGE = {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}}
OPEN: Mapping[str, Any] = {
    "age": AGE,
    "ward": "undecided",
    "town, colour": "undecided",
    "stay": {"role": "insensitive", "reason": ""},
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE visits AS SELECT i % 40 AS age, i % 4 AS ward, i % 3 AS town, "
            "i % 2 AS colour, i % 5 AS stay FROM range(400) t(i)"
        )
        yield opened


def spec(columns: Mapping[str, Any] = OPEN, **given: Any) -> dict[str, Any]:
    return {
        "release": "public",
        "source": "visits",
        "columns": dict(columns),
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "evaluate": {"metrics": []},
        "method": "full_domain",
        **given,
    }


@pytest.mark.parametrize("verb", [run, search, plan])
def test_all_open_questions_are_refused_at_once(verb: Any, con: Any) -> None:
    with pytest.raises(SpecError) as refused:
        verb(spec(subject=""), con)
    columns, subject, reason = refused.value.mistakes
    assert columns.message == "3 columns are undecided: ward, town, colour"
    assert subject.place == "subject"
    assert reason.place == "columns.stay.reason"
    assert refused.value.exit_code == 2
    assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("visits",)]


def test_the_frontier_is_refused_likewise(con: Any) -> None:
    columns = {"age": {"role": "quasi_identifier", "domain": [0, 39]}, "ward": "undecided"}
    rest = {"town, colour, stay": "drop"}
    with pytest.raises(SpecError, match="1 column is undecided: ward"):
        frontier(spec(columns | rest, method="policy"), con)


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "  ",
        "?",
        "-",
        "TODO",
        "tbd.",
        "n/a",
        "not looked at yet",
        "your own words",
        "\u3164",
        "Not looked at yet: taken for a count",
    ],
)
def test_a_reason_is_words_of_the_owner(reason: str, con: Any) -> None:
    columns = {"age": AGE, "ward, town, colour": "drop"}
    given = {**columns, "stay": {"role": "insensitive", "reason": reason}}
    with pytest.raises(SpecError, match="the reason of 'stay' is empty"):
        run(spec(given), con)


@pytest.mark.full
def test_any_words_of_the_owner_are_a_reason(con: Any) -> None:
    columns = {"age": AGE, "ward, town, colour": "drop"}
    stay = {"role": "insensitive", "reason": "the ward alone knows it"}
    assert run(spec({**columns, "stay": stay}), con).verified


@pytest.mark.full
def test_an_accepted_homogeneity_with_an_empty_reason_is_a_question(con: Any) -> None:
    columns = {"age": AGE, "ward, town, colour": "drop"}
    accepted = {"role": "sensitive", "accept": "homogeneity"}
    with pytest.raises(SpecError, match="the reason of 'stay' is empty"):
        run(spec({**columns, "stay": {**accepted, "reason": ""}}), con)
    assert run(spec({**columns, "stay": accepted}), con).verified


def test_a_preset_accepts_nothing_without_a_reason(con: Any) -> None:
    con.execute("CREATE TABLE people AS SELECT i % 40 AS age, i % 7 AS city FROM range(400) t(i)")
    given = {
        "release": "public",
        "source": "people",
        "preset": {"name": "safe_harbor", "accept": {"city": "not looked at yet"}},
        "columns": {"age": {"role": "drop"}, "city": {**AGE, "hierarchy": "suppress"}},
    }
    with pytest.raises(SpecError, match="the reason to accept 'city' is empty"):
        run(given, con)


def test_check_lists_what_is_open_first_and_goes_on(con: Any) -> None:
    found = dbdeid.check(spec(subject=""), con)
    assert [one["name"] for one in found["undecided"]] == ["ward", "town", "colour"]
    ward, town, colour = found["undecided"]
    assert (ward["most"], town["most"], colour["most"]) == (0.25, 134 / 400, 0.5)
    assert ward["alone"] == colour["alone"] == found["unique_now"] == 0.0
    assert found["source_rows"] == 400
    assert len(found["questions"]) == 2
    with pytest.raises(SpecError):
        dbdeid.check(spec({**OPEN, "ward, town, colour": "drop"}), con)


def test_costs_of_an_undecided_column_are_shares_of_the_records(con: Any) -> None:
    con.execute(
        "CREATE TABLE few AS SELECT 30 AS age, i AS code, CASE WHEN i < 2 THEN i ELSE 9 END AS odd "
        "FROM range(8) t(i)"
    )
    columns = {"age": AGE, "code, odd": "undecided"}
    found = dbdeid.check(spec(columns, source="few"), con)
    code, odd = found["undecided"]
    assert (code["unique"], code["most"], code["alone"]) == (1.0, 1 / 8, 1.0)
    assert (odd["unique"], odd["most"], odd["alone"]) == (2 / 8, 6 / 8, 2 / 8)


def test_costs_start_at_the_least_level_that_leaves(con: Any) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT i AS age, CASE WHEN i < 5 THEN NULL ELSE i % 2 END AS ward, "
        "'x' || i % 20 AS code FROM range(40) t(i)"
    )
    ward = {"role": "quasi_identifier", "hierarchy": "suppress", "min_level": 0}
    rest = {"ward": ward, "code": "undecided"}
    raw = dbdeid.check(spec({"age": AGE, **rest}, source="people"), con)
    assert (raw["unique_now"], raw["undecided"][0]["unique"]) == (1.0, 1.0)
    general = dbdeid.check(spec({"age": {**AGE, "min_level": 2}, **rest}, source="people"), con)
    assert (general["unique_now"], general["undecided"][0]["unique"]) == (0.0, 1.0)
    top = {"age": {**AGE, "min_level": 3}, "ward": {**ward, "min_level": 1}, "code": "undecided"}
    found = dbdeid.check(spec(top, source="people"), con)
    assert (found["unique_now"], found["undecided"][0]["unique"]) == (0.0, 0.0)


@pytest.mark.full
def test_check_asks_whose_rows_repeat(con: Any) -> None:
    con.execute(
        "CREATE TABLE sales AS SELECT i % 40 AS age, 'K' || i % 300 AS klant, i % 7 AS kleur "
        "FROM range(1000) t(i)"
    )
    columns = {"age": AGE, "klant, kleur": "undecided"}
    (asked,) = dbdeid.check(spec(columns, source="sales"), con)["questions"]
    assert "can a person have more than one row? klant repeats (300 values in 1,000 " in asked
    assert "`subject: klant`" in asked
    (asked,) = dbdeid.check(spec(columns, source="sales", subject=""), con)["questions"]
    assert "klant repeats (300 values in 1,000 records)" in asked
    numbered = {"age": AGE, "klant": "identifier", "kleur": "undecided"}
    open_ = dbdeid.check(spec(numbered, source="sales", subject=""), con)["questions"]
    assert any("klant repeats (700 of 1000 values)" in text for text in open_)
    for settled in ({"accept": "rows"}, {"subject": "klant"}):
        told = {**numbered, "klant": "drop"} if "subject" in settled else columns
        found = dbdeid.check(spec(told, source="sales", **settled), con)
        assert not [text for text in found["questions"] if "more than one row" in text]


def test_accept_rows_belongs_to_the_whole_release(con: Any) -> None:
    columns = {"age": AGE, "ward": {"role": "identifier", "accept": "rows"}}
    with pytest.raises(SpecError, match="accept: rows is about the whole release") as refused:
        read(spec(columns))
    assert "top level, beside `columns`" in str(refused.value)


@pytest.mark.full
def test_a_draft_in_which_nothing_is_a_quasi_identifier_is_listed(con: Any) -> None:
    given = spec({"age, ward, town, colour, stay": "undecided"})
    found = dbdeid.check(given, con)
    assert len(found["undecided"]) == 5
    assert found["risk"] is None
    with pytest.raises(SpecError, match="5 columns are undecided"):
        run(given, con)


def test_an_undecided_column_is_withheld() -> None:
    assert not read(spec()).spec.columns["ward"].released


def test_check_ends_with_2_while_anything_is_open(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(
        "age,ward\n" + "".join(f"{i % 40},{i % 4}\n" for i in range(400))
    )
    text = (
        "release: public\nsource: visits.csv\ntarget: public.duckdb\ncolumns:\n"
        "  age: {role: quasi_identifier, hierarchy: {intervals: [10, 20]}}\n"
        "  ward: undecided\nprivacy: [{model: k_anonymity, k: 5}]\nmethod: full_domain\n"
    )
    path = tmp_path / "public.yml"
    path.write_text(text)
    asked = CliRunner().invoke(app, ["check", str(path)])
    assert asked.exit_code == 2
    assert asked.stdout.startswith("public: not ready to run\n  1 column is undecided")
    assert "fits its data" not in asked.stdout
    assert "  with what is decided so far: 400 records, 4 transformations to choose" in asked.stdout
    assert "1 question to answer before a run" in asked.stderr
    refused = CliRunner().invoke(app, ["run", str(path)])
    assert refused.exit_code == 2
    assert "1 column is undecided: ward" in refused.stderr
    path.write_text(text.replace("ward: undecided", "ward: drop"))
    assert CliRunner().invoke(app, ["check", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["run", str(path)]).exit_code == 0
