"""Proposed roles and hierarchies: what is decided, and what the owner is asked."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.bind.any_table import opened
from dbdeid.bind.read import read
from dbdeid.commands.check import check
from dbdeid.commands.init import drafted
from dbdeid.engine.session import Step
from dbdeid.profiling.detect import detect
from dbdeid.profiling.suggest.hierarchies import widths_of
from dbdeid.profiling.suggest.roles import Proposal, per_cent, propose
from dbdeid.release.run import run


def parquet(folder: Path, sql: str) -> Path:
    source = folder / "q.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({sql}) TO '{source}'")
    return source


def proposed(source: Path) -> dict[str, Proposal]:
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        table = session.run(Step("deid_draft", query))
        return {p.found.name: p for p in propose(session, table, detect(session, table)).columns}


def roles(made: dict[str, Proposal]) -> dict[str, set[str]]:
    by_role: dict[str, set[str]] = {}
    for name, p in made.items():
        by_role.setdefault(p.role, set()).add(name)
    return by_role


@pytest.mark.full
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
    assert roles(made) == {
        "identifier": {"name"},
        "quasi_identifier": {"age", "sex", "race", "admitted", "city"},
        "insensitive": {"num_labs", "albumin"},
        "sensitive": {"salary"},
        "undecided": {"exact", "charge_exact", "whatever"},
    }
    assert made["charge_exact"].why.endswith("100% of the records have a value nobody else has")


@pytest.mark.full
@pytest.mark.parametrize(
    "value",
    [
        "'word' || (i % 5)",
        "i % 300",
        "i % 7 / 3.0",
        "i % 4",
        "i / 7.0",
        "i % 2 = 0",
        "CASE i % 5 WHEN 0 THEN 'Up' WHEN 1 THEN 'Steady' ELSE 'No' END",
        "CASE WHEN i % 9 = 0 THEN 1 END",
    ],
)
def test_what_nothing_is_known_of_is_never_decided(tmp_path: Path, value: str) -> None:
    """Not alone, not beside many quasi-identifiers, and not as one of a family."""
    family = ", ".join(f"{value} AS c{n:02}" for n in range(1, 8))
    known = "i % 60 AS age, i % 2 AS sex, i % 7 AS education, i % 4 AS race, "
    for some in (family, known + family):
        made = proposed(parquet(tmp_path, f"SELECT {some} FROM range(3000) t(i)"))
        assert {p.role for name, p in made.items() if name.startswith("c")} == {"undecided"}


def test_texts_are_withheld_unless_a_list_knows_them(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT 'Word' || chr(97 + (i % 9)::INTEGER) || 'ley' AS race, "
        "'Clinic ' || chr(97 + (i % 9)::INTEGER) AS hospital, "
        "'Lung ' || chr(97 + (i % 9)::INTEGER) AS disease, "
        "['White', 'Black', 'Asian'][1 + i % 3] AS ethnicity, "
        "['married', 'single', 'widowed'][1 + (i // 3) % 3] AS c7, i % 60 AS age "
        "FROM range(3000) t(i)",
    )
    assert roles(proposed(source)) == {
        "undecided": {"race", "hospital", "disease"},
        "quasi_identifier": {"ethnicity", "c7", "age"},
    }


@pytest.mark.full
def test_codes_of_a_census_are_never_insensitive(tmp_path: Path) -> None:
    names = ("MARSTAT", "RACE", "EDUC", "EMPSTAT", "OCC", "SEX", "RELATE", "CITIZEN", "SPEAKENG")
    some = ", ".join(f"i % {n + 3} AS {name}" for n, name in enumerate(names))
    made = proposed(parquet(tmp_path, f"SELECT {some} FROM range(3000) t(i)"))
    assert {p.role for p in made.values()} <= {"quasi_identifier", "undecided"}


@pytest.mark.full
def test_what_is_a_subjects_alone_is_withheld_or_asked(tmp_path: Path) -> None:
    """Each of these goes with one patient, in all of the patient's records."""
    who = "i // 4"
    source = parquet(
        tmp_path,
        f"SELECT {who} AS patient_id, 40000000 + {who} * 7919 AS eid, {who} / 7.0 AS lab, "
        f"'K' || ({who} * 37) AS c3, {who} % 80 AS age, {who} * 31 % 5003 AS salary "
        "FROM range(4000) t(i)",
    )
    made = proposed(source)
    assert (made["eid"].role, made["c3"].role) == ("identifier", "identifier")
    assert (made["lab"].role, made["salary"].role) == ("undecided", "undecided")
    assert "a value nobody else has" in made["salary"].why
    assert made["lab"].telling is not None
    assert made["lab"].telling.alone == 1


def test_times_between_dates_are_known_by_who_knows_these(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT dx, dx + (i * 7 % 900)::INTEGER AS exit, i * 7 % 900 AS c1, "
        "(i * 7 % 900) / 30.4375 AS c2, i * 11 % 900 AS c3 FROM "
        "(SELECT i, DATE '2001-01-01' + (i * 13 % 2000)::INTEGER AS dx FROM range(3000) t(i))",
    )
    made = proposed(source)
    assert {made[name].role for name in ("dx", "exit", "c1", "c2")} == {"quasi_identifier"}
    assert made["c1"].why.startswith("the time from dx to exit, which tells both")
    assert made["c3"].role == "undecided"


def test_a_constant_with_gaps_is_a_flag(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT 'EU' AS a, CASE WHEN i % 9 = 0 THEN 'EU' END AS b, i % 60 AS age "
        "FROM range(3000) t(i)",
    )
    made = proposed(source)
    assert (made["a"].role, made["b"].role) == ("insensitive", "undecided")


def test_shares_are_not_rounded_to_nothing_or_all() -> None:
    assert [per_cent(share) for share in (0, 0.0004, 0.25, 0.9996, 1)] == [
        *("0%", "<0.1%", "25%", ">99.9%", "100%")
    ]


LANGUAGES = {
    "sex": (
        *("male female", "männlich weiblich divers", "homme femme", "hombre mujer"),
        *("maschio femmina", "man vrouw", "masculino feminino"),
    ),
    "marital_status": (
        *("married single divorced", "verheiratet ledig geschieden verwitwet"),
        *("marié célibataire divorcé veuf", "casado soltero divorciado viudo"),
        *("coniugato celibe divorziato vedovo", "gehuwd ongehuwd gescheiden weduwe"),
        "casado solteiro divorciado viúvo",
    ),
    "education": (
        *("primary|high school|bachelor", "Hauptschule|Realschule|Abitur|Promotion"),
        *("collège|baccalauréat|licence|doctorat", "primaria|secundaria|bachillerato"),
        *("licenza media|diploma|laurea", "basisonderwijs|havo|hbo"),
        "ensino fundamental|ensino médio|ensino superior",
    ),
    "smoking": (
        *("never former current", "Nichtraucher|Ex-Raucher|Raucher"),
        *("non-fumeur|ancien fumeur|fumeur", "nunca|exfumador|fumador"),
        *("non fumatore|ex fumatore|fumatore", "nooit|gestopt|huidig", "nunca|ex-fumante|fumante"),
    ),
    "admission": (
        *("emergency|elective|newborn", "Notfall|geplant|Verlegung", "urgence|programmé|transfert"),
        *("urgencia|programado|traslado", "urgenza|programmato|trasferimento"),
        *("spoed|gepland|overplaatsing", "urgência|eletivo|transferência"),
    ),
    "discharge": (
        *("home|died|hospice", "nach Hause|verstorben|Pflegeheim", "domicile|décès|transfert"),
        *("domicilio|fallecimiento|traslado", "al domicilio|deceduto|trasferimento"),
        *("naar huis|overleden|verpleeghuis", "domicílio|óbito|transferência"),
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("what", "texts"), [(k, v) for k, some in LANGUAGES.items() for v in some])
def test_lists_know_seven_languages(tmp_path: Path, what: str, texts: str) -> None:
    """Whatever the column is called, and however it is typed."""
    words = texts.split("|") if "|" in texts else texts.split()
    typed = [word.upper() if n % 2 else f" {word}" for n, word in enumerate(words)]
    source = parquet(
        tmp_path, f"SELECT {typed}[1 + i % {len(typed)}] AS c1, i % 9 AS c2 FROM range(900) t(i)"
    )
    made = proposed(source)["c1"]
    assert made.role == "quasi_identifier", made.why
    assert what.replace("_", " ") in made.why


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


def test_amounts_and_stays_are_known_by_name(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT i % 90 AS age, i % 2 AS sex, i % 40 AS slos, i % 14 AS time_in_hospital, "
        "i % 20 AS hday, i % 9 AS number_inpatient, i % 4 AS pay_0, i % 5 AS pay_2, "
        "i % 2500 AS fnlwgt FROM range(3000) t(i)",
    )
    made = proposed(source)
    assert {made[n].role for n in ("pay_0", "pay_2")} == {"sensitive"}
    assert {made[n].role for n in ("slos", "time_in_hospital", "hday")} == {"quasi_identifier"}
    assert made["number_inpatient"].role == "insensitive"
    assert "only who treats or pays knows" in made["number_inpatient"].why
    assert made["fnlwgt"].role == "undecided"
    assert all(p.diverse for p in made.values() if p.role == "sensitive")
    assert "subject:" not in drafted(source, None).text.replace("# subject: NAME", "")


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


def test_rare_values_are_pooled(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i < 2000 THEN 'A' WHEN i < 2900 THEN 'B' "
        "ELSE 'R' || (i % 8) END AS region, i % 2 AS sex FROM range(3000) t(i)",
    )
    made = proposed(source)
    (groups,) = made["region"].hierarchy["groups"]
    assert {label: len(members) for label, members in groups.items()} == {
        "A": 1,
        "B": 1,
        "other": 8,
    }
    assert made["sex"].hierarchy == "suppress"


@pytest.mark.full
def test_ages_are_capped_wherever_they_are_numbers(tmp_path: Path) -> None:
    source = parquet(tmp_path, "SELECT 18 + i % 85 AS age, i % 2 AS sex FROM range(3000) t(i)")
    (tmp_path / "d.yml").write_text(drafted(source, None).text, encoding="utf-8")
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


@pytest.mark.full
def test_a_repeating_id_becomes_the_subject_and_the_draft_runs(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT i AS visit_id, i // 4 AS patient_id, (i // 4) % 80 AS age, (i // 4) % 2 AS sex, "
        "'d' || (i % 30) AS diagnosis FROM range(4000) t(i)",
    )
    text = drafted(source, None).text
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
    (line,) = (
        line for line in drafted(source, None).text.splitlines() if line.startswith("  race:")
    )
    assert "'?' seems to mean missing: NULLIF in `source: {sql: …}` makes it NULL" in line


@pytest.mark.parametrize("name", ["x7", "diagnosis"])
def test_no_text_of_an_undecided_or_sensitive_column_is_shown(tmp_path: Path, name: str) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i % 5 = 0 THEN 'Keine Angabe' ELSE 'r' || (i % 4) END AS "
        f"{name}, i % 2 AS sex FROM range(3000) t(i)",
    )
    text = drafted(source, None).text
    (line,) = (line for line in text.splitlines() if line.startswith(f"  {name}:"))
    assert "role: undecided" in line or "role: sensitive" in line
    assert "one of its texts, as '?' is, seems to mean missing" in line
    assert "angabe" not in text.lower()


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
    assert (made["note"], made["remark"], made["ward"]) == ("drop", "drop", "undecided")


def test_a_value_that_reads_as_suppressed_is_to_be_recoded(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT CASE WHEN i % 5 = 0 THEN '*' ELSE 'r' || (i % 4) END AS race, i % 2 AS sex "
        "FROM range(3000) t(i)",
    )
    text = drafted(source, None).text
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


@pytest.mark.full
@settings(max_examples=examples(12), deadline=None)
@given(st.dictionaries(NAMES, SOME, min_size=2, max_size=4))
def test_any_table_gets_a_draft_that_says_what_to_do(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[object]]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("drafts")
    rows = {n: [some[i % len(some)] for i in range(60)] for n, some in columns.items()}
    pq.write_table(pa.table(rows), folder / "q.parquet")
    text = drafted(folder / "q.parquet", None).text
    (folder / "d.yml").write_text(text, encoding="utf-8")
    if "TO DO" in text:
        return
    decided = {name: c.role for name, c in read(text).spec.columns.items()}
    if "quasi_identifier" in decided.values():
        found = check(folder / "d.yml")
        assert found["source_rows"] == 60
        open_ones = [name for name, role in decided.items() if role == "undecided"]
        assert [one["name"] for one in found["undecided"]] == open_ones


@pytest.mark.parametrize(("values", "asked"), [("['', '0']", True), ("['', '0', '1']", False)])
def test_texts_that_say_nothing_make_no_column_diverse(
    tmp_path: Path, values: str, asked: bool
) -> None:
    size = values.count(",") + 1
    source = parquet(
        tmp_path, f"SELECT {values}[1 + i % {size}] AS salary, 30 AS age FROM range(60) t(i)"
    )
    text = drafted(source, None).text
    assert ("accept: homogeneity" in text) is asked
    assert ("l_diversity, column: salary" in text) is not asked


def test_comments_hold_no_cell_of_what_is_withheld(tmp_path: Path) -> None:
    source = parquet(
        tmp_path,
        "SELECT 'qsecret' || i AS name, 'qsecret' || (i % 50) AS diagnosis, i % 90 AS age, "
        "7770000 + i AS account, 'qsecret' || (i % 700) AS city FROM range(3000) t(i)",
    )
    text = drafted(source, None).text
    assert "qsecret" not in text
    assert "777" not in text
