"""Proposed roles and hierarchies: which columns are given which, and that drafts of them run."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.engine.session import Step
from dbdeid.release.check import check
from dbdeid.release.detect import detect
from dbdeid.release.init import draft
from dbdeid.release.ladders import widths_of
from dbdeid.release.propose import Proposal, propose
from dbdeid.release.run import run
from dbdeid.release.sources import opened


def parquet(folder: Path, sql: str) -> Path:
    source = folder / "q.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({sql}) TO '{source}'")
    return source


def proposed(source: Path) -> dict[str, Proposal]:
    with opened(source, None) as (session, query):
        table = session.run(Step("deid_draft", query))
        return {p.found.name: p for p in propose(session, table, detect(session, table))}


def test_what_others_know_and_what_they_do_not(tmp_path: Path) -> None:
    made = proposed(
        parquet(
            tmp_path,
            "SELECT 'n' || i AS name, i % 90 AS age, i % 2 AS sex, 'r' || (i % 4) AS race, "
            "DATE '2019-01-01' + (i % 300)::INTEGER AS admitted, 'c' || (i % 9) AS city, "
            "i % 300 AS num_labs, i % 7 / 3.0 AS albumin, i / 7.0 AS exact, "
            "i / 7.0 AS charge_exact, "
            "i % 200 AS salary, 'word' || (i % 5) AS whatever FROM range(3000) t(i)",
        )
    )
    by_role: dict[str, set[str]] = {}
    for name, p in made.items():
        by_role.setdefault(p.role, set()).add(name)
    assert by_role == {
        "identifier": {"name"},
        "quasi_identifier": {"age", "sex", "race", "admitted", "city", "whatever"},
        "insensitive": {"num_labs", "albumin"},
        "drop": {"exact"},
        "sensitive": {"charge_exact", "salary"},
    }


def test_years_of_birth_are_known_whatever_they_are_called(tmp_path: Path) -> None:
    born = "1925 + (i * 7) % 80"
    made = proposed(
        parquet(
            tmp_path,
            f"SELECT {born} AS GEBJAHR, {born} AS annee_naissance, {born} + 1 AS xyz, "
            "i % 300 AS num_labs FROM range(3000) t(i)",
        )
    )
    assert {name: p.role for name, p in made.items()} == {
        "GEBJAHR": "quasi_identifier",
        "annee_naissance": "quasi_identifier",
        "xyz": "quasi_identifier",
        "num_labs": "insensitive",
    }


def test_texts_are_no_counts(tmp_path: Path) -> None:
    days = "['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'][1 + i % 7]"
    made = proposed(
        parquet(tmp_path, f"SELECT i % 60 AS age, {days} AS adm_day FROM range(3000) t(i)")
    )
    assert made["adm_day"].role == "quasi_identifier"
    assert made["adm_day"].hierarchy["groups"][0]["weekend"] == ["Sat", "Sun"]


def test_codes_of_counties_are_no_zip_codes(tmp_path: Path) -> None:
    code = "printf('%05d', 6001 + 2 * (i % 40))"
    made = proposed(
        parquet(tmp_path, f"SELECT {code} AS county_fips, {code} AS area FROM range(3000) t(i)")
    )
    assert made["county_fips"].found.kind == "place"
    assert made["area"].found.kind == "zip"


def test_bands_with_decimals_are_no_dates(tmp_path: Path) -> None:
    bands = "['<18.5', '18.5-24.9', '25-29.9', '30-34.9', '35-39.9', '>=40'][1 + i % 6]"
    made = proposed(
        parquet(tmp_path, f"SELECT i % 60 AS age, {bands} AS bmi_class FROM range(3000) t(i)")
    )
    assert made["bmi_class"].role == "quasi_identifier"
    assert len(made["bmi_class"].hierarchy["groups"]) == 2


def test_of_unknown_columns_only_the_first_are_quasi_identifiers(tmp_path: Path) -> None:
    columns = ", ".join(f"'v{n}_' || (i % {n + 3}) AS u{n}" for n in range(9))
    made = proposed(parquet(tmp_path, f"SELECT i % 60 AS age, {columns} FROM range(3000) t(i)"))
    assert [n for n, p in made.items() if p.role == "quasi_identifier"] == [
        *("age", "u0", "u1", "u2", "u3", "u4")
    ]
    assert {made[f"u{n}"].role for n in range(5, 9)} == {"sensitive"}


def test_items_of_a_list_are_told_from_single_columns(tmp_path: Path) -> None:
    drugs = ", ".join(
        f"CASE i % {n + 5} WHEN 0 THEN 'Up' WHEN 1 THEN 'Steady' ELSE 'No' END AS drug_{n}"
        for n in range(6)
    )
    source = parquet(tmp_path, f"SELECT 'a' || (i % 3) AS eyes, {drugs} FROM range(3000) t(i)")
    made = proposed(source)
    assert made["eyes"].role == "quasi_identifier"
    assert {made[f"drug_{n}"].role for n in range(6)} == {"insensitive"}


def test_a_family_has_one_role_and_stays_have_the_same(tmp_path: Path) -> None:
    """Of `part_2` alone nearly every record has a value of its own."""
    source = parquet(
        tmp_path,
        "SELECT i % 90 AS age, i % 2 AS sex, i % 40 AS slos, i % 14 AS time_in_hospital, "
        "i % 20 AS hday, i % 9 AS number_inpatient, i % 300 AS part_1, i / 7.0 AS part_2, "
        "i % 200 AS part_3, i % 4 AS pay_0, i % 5 AS pay_2, i / 7.0 AS bill_amt1, "
        "i % 2500 AS fnlwgt FROM range(3000) t(i)",
    )
    made = proposed(source)
    assert {made[f"part_{n}"].role for n in (1, 2, 3)} == {"insensitive"}
    assert {made[n].role for n in ("pay_0", "pay_2", "bill_amt1")} == {"sensitive"}
    assert {made[n].role for n in ("slos", "time_in_hospital", "hday")} == {"quasi_identifier"}
    assert made["number_inpatient"].role == "insensitive"
    assert "only who treats or pays knows" in made["number_inpatient"].why
    assert all(p.diverse for p in made.values() if p.role == "sensitive")
    assert "subject:" not in draft(source, None)


def test_twins_are_left_out(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT i % 7 AS education_num, 'e' || (i % 7) AS education, i % 7 + i % 2 AS race "
        "FROM range(3000) t(i)",
    )
    made = proposed(source)
    assert made["education_num"].role == "drop"
    assert made["education_num"].why == "it says the same as education"
    assert made["education"].role == made["race"].role == "quasi_identifier"


def test_if_nothing_looks_known_all_that_is_no_secret_might_be(tmp_path: Path) -> None:
    source = parquet(tmp_path, "SELECT i % 40 AS num_a, i % 33 AS num_b FROM range(3000) t(i)")
    assert {p.role for p in proposed(source).values()} == {"quasi_identifier"}


def test_rare_values_are_pooled(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i < 2000 THEN 'often' WHEN i < 2900 THEN 'less' "
        "ELSE 'rare' || (i % 8) END AS region, i % 2 AS sex FROM range(3000) t(i)",
    )
    made = proposed(source)
    (groups,) = made["region"].hierarchy["groups"]
    assert {label: len(members) for label, members in groups.items()} == {
        "often": 1,
        "less": 1,
        "other": 8,
    }
    assert made["sex"].hierarchy == "suppress"


def test_ages_are_capped_wherever_they_are_numbers(tmp_path: Path) -> None:
    source = parquet(tmp_path, "SELECT 18 + i % 85 AS age, i % 2 AS sex FROM range(3000) t(i)")
    (tmp_path / "d.yml").write_text(draft(source, None), encoding="utf-8")
    result = run(tmp_path / "d.yml")
    with duckdb.connect(str(tmp_path / "q_release.duckdb")) as con:
        labels = {str(label) for (label,) in con.execute("SELECT age FROM q_release").fetchall()}
    assert result.verified
    assert any(label.startswith(">= 90") for label in labels)
    assert not any(label in labels for label in map(str, range(90, 104)))


@pytest.mark.parametrize(("low", "high"), [(0, 100), (1, 14), (-7651, 7187), (0.2, 0.9), (0, 1e9)])
def test_widths_are_round_and_few(low: float, high: float) -> None:
    for whole in (False, True):
        widths = widths_of(low, high, whole=whole)
        assert [w / widths[0] for w in widths] == [1, 2, 4]
        assert (high - low) / widths[0] <= 25
        assert not whole or widths[0] >= 2
        digits = f"{widths[0]:e}".split("e")[0].strip("0.")
        assert digits in ("1", "2", "5")


def test_a_repeating_id_becomes_the_subject_and_the_draft_runs(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT i AS visit_id, i // 4 AS patient_id, (i // 4) % 80 AS age, (i // 4) % 2 AS sex, "
        "'d' || (i % 30) AS diagnosis FROM range(4000) t(i)",
    )
    text = draft(source, None)
    assert "subject: patient_id\n" in text
    (tmp_path / "d.yml").write_text(text, encoding="utf-8")
    assert check(tmp_path / "d.yml")["source_subjects"] == 1000
    assert run(tmp_path / "d.yml").verified


def test_the_shelf_is_taken_where_it_knows_the_values(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT printf('%05d', 2100 + i % 90) AS zip, (2100 + i % 80)::VARCHAR AS zip_code, "
        "CASE i % 3 WHEN 0 THEN 'France' WHEN 1 THEN 'Cuba' ELSE 'Peru' END AS country, "
        "'c' || (i % 30) AS nationality, i % 80 AS age, DATE '2019-01-01' AS admitted "
        "FROM range(3000) t(i)",
    )
    made = {name: p.hierarchy for name, p in proposed(source).items()}
    assert made["zip"] == {"shelf": "zip"}
    assert made["zip_code"] == {"prefix": [3]}
    assert made["country"] == {"shelf": "countries"}
    assert "shelf" not in made["nationality"]
    assert (made["age"], made["admitted"]) == ({"shelf": "age"}, {"shelf": "dates"})


def test_a_placeholder_is_named_with_what_to_do(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i % 5 = 0 THEN '?' ELSE 'r' || (i % 4) END AS race, i % 2 AS sex "
        "FROM range(3000) t(i)",
    )
    (line,) = (line for line in draft(source, None).splitlines() if line.startswith("  race:"))
    assert "'?' seems to mean missing: NULLIF in `source: {sql: …}` makes it NULL" in line


@pytest.mark.parametrize("rows", [300, 3000])
def test_texts_about_persons_are_left_out_however_few(tmp_path: Path, rows: int) -> None:
    source = parquet(
        tmp_path,
        "SELECT i AS visit_id, i % 90 AS age, 'Patient number ' || (i % 40) || ' reports pain "
        "since the last visit to the ward' AS note, "
        "'call (615) 555-' || (1000 + i % 30) AS remark, "
        f"'ward ' || (i % 5) AS ward FROM range({rows}) t(i)",
    )
    made = {name: p.role for name, p in proposed(source).items()}
    assert (made["note"], made["remark"], made["ward"]) == ("drop", "drop", "quasi_identifier")


def test_a_value_that_reads_as_suppressed_is_to_be_recoded(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i % 5 = 0 THEN '*' ELSE 'r' || (i % 4) END AS race, i % 2 AS sex "
        "FROM range(3000) t(i)",
    )
    text = draft(source, None)
    (line,) = (line for line in text.splitlines() if line.startswith("  race:"))
    assert "drop" in line
    assert "recode" in line
    (tmp_path / "d.yml").write_text(text, encoding="utf-8")
    assert check(tmp_path / "d.yml")["source_rows"] == 3000


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
SOME = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=8),
    st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=8),
    st.lists(st.floats(width=32), min_size=1, max_size=8),
)
NAMES = st.sampled_from(["age", "race", "zip", "salary", "id", "x", "birth", "city", "value", "y"])


@settings(max_examples=12, deadline=None)
@given(st.dictionaries(NAMES, SOME, min_size=2, max_size=4))
def test_any_table_gets_a_draft_that_says_what_to_do(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[object]]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("drafts")
    rows = {n: [some[i % len(some)] for i in range(60)] for n, some in columns.items()}
    pq.write_table(pa.table(rows), folder / "q.parquet")
    text = draft(folder / "q.parquet", None)
    (folder / "d.yml").write_text(text, encoding="utf-8")
    if "TO DO" not in text:
        assert check(folder / "d.yml")["source_rows"] == 60


def test_comments_hold_no_cell_of_what_is_withheld(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT 'qsecret' || i AS name, 'qsecret' || (i % 50) AS diagnosis, i % 90 AS age, "
        "7770000 + i AS account, 'qsecret' || (i % 700) AS city FROM range(3000) t(i)",
    )
    text = draft(source, None)
    assert "qsecret" not in text
    assert "777" not in text
