"""Releases that count people: what is asked of a spec, and a real table of encounters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.explain import steps
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.privacy.common.counting import Counting
from dbdeid.verify import verify_bare

KEY = "0123456789abcdef" * 2
QI = {"role": "quasi_identifier", "hierarchy": "suppress"}
PSEUDONYM = {"role": "identifier", "pseudonym": True}
# Visits of 12 patients, one or three each, in two wards; one ward is not known.
VISITS = """
CREATE TABLE visits AS
SELECT i AS visit, i % 12 AS patient, 'mrn' || (i % 12) AS mrn,
  CASE WHEN i = 7 THEN NULL ELSE 'ward ' || (i % 2) END AS ward, 20 + i % 3 * 10 AS age,
  'dx' || (i % 3) AS dx
FROM range(24) AS r(i)
"""


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "release": "public",
        "source": "visits",
        "subject": "patient",
        "columns": {
            "visit": "drop",
            "patient": "identifier",
            "mrn": "identifier",
            "ward": QI,
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [20, 40]}},
            "dx": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 0.5},
        **changes,
    }


def columns(**changes: Any) -> dict[str, Any]:
    return spec()["columns"] | changes


@pytest.fixture
def con() -> Any:
    with duckdb.connect() as con:
        con.execute(VISITS)
        yield con


BY_ROW = {"null_policy": "wildcard", "subject": None}
LINKED = {"columns": columns(mrn=PSEUDONYM)}
REFUSED = [
    ({"accept": "rows"}, "", "accept: rows says"),
    ({"null_policy": "wildcard"}, "", "does not count subjects"),
    ({**BY_ROW, "method": {"name": "full_domain", "engine": "sql"}}, "", "needs engine: numpy"),
    ({**BY_ROW, "output": {"as": "view"}}, "", "view"),
    ({"null_policy": "ignore"}, "null_policy", "own_category"),
    ({**LINKED, "subject": None}, "", "needs `subject`"),
    ({**LINKED, "output": {"as": "view"}}, "", "does not go with a view"),
    (
        {**LINKED, "method": {"name": "full_domain", "objective": "discernibility"}},
        "",
        "counts classes",
    ),
    ({"columns": columns(ward={**QI, "pseudonym": True})}, "columns.ward", "only goes with role"),
]


@pytest.mark.parametrize(("changes", "place", "words"), REFUSED)
def test_what_does_not_go_together(changes: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(dbdeid.SpecError) as refused:
        read(spec(**changes))
    (mistake,) = refused.value.mistakes
    assert mistake.place == place
    assert words in mistake.message + mistake.hint


UNFIT = [
    ({"columns": columns(visit=PSEUDONYM)}, "columns.visit", "12 subjects have several texts"),
    ({"subject": "pateint"}, "subject", "did you mean 'patient'"),
    ({"columns": columns(patient={"role": "insensitive", "reason": "x"})}, "subject", "released"),
    ({"subject": "ward", "columns": columns(mrn=PSEUDONYM, ward="drop")}, "columns.mrn", ""),
    ({"columns": columns(ward={"role": "identifier", "pseudonym": True})}, "columns.ward", "NULL"),
]


@pytest.mark.parametrize(("changes", "place", "words"), UNFIT)
def test_what_the_source_does_not_bear_out(
    con: Any, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], place: str, words: str
) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    with pytest.raises((dbdeid.SpecError, dbdeid.DataError)) as refused:
        dbdeid.run(spec(**changes), con)
    text = str(refused.value)
    assert words in text
    assert place in text or "'ward' is NULL" in text
    assert "mrn1" not in text


def test_a_record_of_nobody_is_refused(con: Any) -> None:
    con.execute("UPDATE visits SET patient = NULL WHERE visit = 3")
    with pytest.raises(dbdeid.DataError, match="'patient' is NULL in 1 of 24 rows") as refused:
        dbdeid.run(spec(), con)
    assert "leave these rows out" in refused.value.hint


def test_an_identifier_that_repeats_asks_whose_records_they_are(con: Any) -> None:
    with pytest.raises(dbdeid.SpecError) as refused:
        dbdeid.run(spec(subject=None), con)
    assert "beside `columns`: `subject: patient` if it tells whose row it is" in str(refused.value)


def test_an_identifier_of_several_subjects_is_told(con: Any) -> None:
    by_visit = spec(subject="visit", columns=columns(visit="identifier"))
    told = dbdeid.check(by_visit, con)["warnings"]
    assert sum("belong to several values of visit" in warning for warning in told) == 2
    assert "patient: 12 of its values" in " ".join(told)
    assert not any("belong to several" in w for w in dbdeid.check(spec(), con)["warnings"])


def test_a_dropped_column_that_repeats_is_told(con: Any) -> None:
    dropped = columns(patient="drop", mrn="drop", visit="drop")
    con.execute("UPDATE visits SET patient = visit // 1.5")
    given = spec(subject=None, columns=dropped)
    with pytest.raises(dbdeid.SpecError, match=r"dropped column 'mrn' repeats \(12 of 24 values\)"):
        dbdeid.check(given, con)
    told = dbdeid.check({**given, "accept": "rows"}, con)["warnings"]
    assert not any("subject" in warning for warning in told)


def test_pseudonyms_that_would_link_people_are_refused(
    con: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    con.execute("UPDATE visits SET mrn = 'shared' WHERE visit IN (1, 2)")
    with pytest.raises(dbdeid.SpecError, match="1 values of 'mrn' belong to several") as refused:
        dbdeid.run(spec(columns=columns(mrn=PSEUDONYM)), con)
    assert "shared" not in str(refused.value).replace("share", "")


@pytest.mark.full
@pytest.mark.parametrize("pseudonym", ["patient", "mrn"])
def test_everything_that_is_done_with_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pseudonym: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(VISITS)
    exports = ["public.csv", *(["public.parquet"] if tiers.full else [])]
    given = spec(
        database="owner.duckdb",
        target="public.duckdb",
        columns=columns(**{pseudonym: PSEUDONYM}),
        output={"export": exports},
    )
    result = dbdeid.run(given)
    assert result.verified
    assert result.source_subjects == 12
    assert any("links the records of each subject" in warning for warning in result.warnings)
    found = dbdeid.verify(given)
    assert found.verified
    assert {p.model for p in found.promises} >= {"linked_classes", "k_anonymity (public.csv)"}
    contents = [c.holds for c in found.hygiene if c.check.startswith(("content", "dictionary_"))]
    # two of each file, and the dictionary rebuilt
    assert contents == [True] * (2 * (1 + len(exports)) + 1)
    (exported,) = export_release(given, tmp_path / "more.duckdb")
    with duckdb.connect(str(exported), read_only=True) as con:
        values = {v for (v,) in con.execute(f'SELECT "{pseudonym}" FROM public').fetchall()}
        names = [row[0] for row in con.execute("DESCRIBE public").fetchall()]
    assert all(len(v) == 64 for v in values)
    assert "deid_subject" not in names
    with (tmp_path / "public.csv").open("a") as file:
        file.write('"no end')
    found = dbdeid.verify(given)
    assert [c.check for c in found.hygiene if not c.holds] == ["readable (public.csv)"]
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY[::-1])
    assert any("under another key" in text for text in dbdeid.verify(given).failures)
    monkeypatch.delenv("DBDEID_PSEUDONYM_KEY")
    with pytest.raises(dbdeid.DataError, match="DBDEID_PSEUDONYM_KEY"):
        dbdeid.verify(given)


def test_equal_subjects_of_different_text_have_no_pseudonym(
    con: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    con.execute(
        """CREATE TABLE s AS SELECT * FROM (VALUES (INTERVAL 1 MONTH, 'x'), (INTERVAL 30 DAY, 'x'),
        (INTERVAL 2 DAY, 'y'), (INTERVAL 3 DAY, 'y')) AS v(patient, ward)"""
    )
    given = spec(source="s", columns={"patient": PSEUDONYM, "ward": QI})
    with pytest.raises(dbdeid.SpecError, match="1 subjects have several texts") as refused:
        dbdeid.run(given, con)
    assert "cast the column to text" in str(refused.value)
    dropped = dbdeid.run(given | {"columns": {"patient": "drop", "ward": QI}}, con)
    assert dropped.source_subjects == 3


def test_subjects_that_change_while_they_are_read(con: Any) -> None:
    query = "SELECT * REPLACE ((random() * 1e6)::INTEGER AS patient) FROM visits"
    given = spec(source={"sql": query, "name": "v"}, privacy=[{"model": "k_anonymity", "k": 1}])
    with pytest.raises(dbdeid.DataError, match="different rows each time"):
        dbdeid.run(given, con)


@pytest.mark.full
def test_the_finest_subjects_are_told_apart(con: Any) -> None:
    con.execute(
        "CREATE TABLE fine AS SELECT ward, age, TIMESTAMP_NS '2020-01-01 00:00:00.000000001' + "
        "INTERVAL 0 DAY AS patient FROM visits UNION ALL SELECT ward, age, "
        "TIMESTAMP_NS '2020-01-01 00:00:00.000000002' FROM visits"
    )
    given = spec(source="fine")
    given["columns"] = {n: given["columns"][n] for n in ("ward", "age")} | {"patient": "drop"}
    assert dbdeid.run(given, con).source_subjects == 2


def test_too_many_patterns_of_missing_values(con: Any) -> None:
    cells = ", ".join(f"CASE WHEN i >> {j} & 1 = 1 THEN 1 END AS c{j}" for j in range(8))
    con.execute(f"CREATE TABLE holes AS SELECT {cells} FROM range(256) AS r(i)")
    given = {
        "release": "public",
        "source": "holes",
        "null_policy": "wildcard",
        "columns": {f"c{j}": QI for j in range(8)},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
    }
    with pytest.raises(dbdeid.DataError, match="256 different combinations"):
        dbdeid.run(given, con)


def test_what_stands_in_the_way_is_told(con: Any) -> None:
    con.execute(
        "CREATE TABLE few AS FROM (VALUES ('x', 1), ('x', 2), ('y', 3)) AS v(ward, patient)"
    )
    ward = {**QI, "max_level": 0}
    given = spec(source="few", columns={"ward": ward, "patient": "drop"})
    given["method"] = {"name": "full_domain", "suppression_limit": 1.0, "suppressed": "keep"}
    with pytest.raises(dbdeid.Unsatisfiable, match="would form a class of 1"):
        dbdeid.run(given, con)
    con.execute("UPDATE few SET ward = NULL")
    with pytest.raises(dbdeid.Unsatisfiable, match="would suppress all 3 subjects"):
        dbdeid.run(given | {"null_policy": "exclude"}, con)


def test_a_view_withholds_suppressed_records_that_become_too_few(con: Any) -> None:
    con.execute(
        "CREATE TABLE few AS "
        "FROM (VALUES ('x', 1), ('x', 2), ('y', 3), ('z', 4)) AS v(ward, patient)"
    )
    given = spec(source="few", columns={"ward": QI, "patient": "drop"}, output={"as": "view"})
    given["method"] = {"name": "full_domain", "suppression_limit": 0.5, "suppressed": "keep"}
    dbdeid.run(given, con)
    assert sorted(con.execute("FROM public").fetchall()) == [("*",), ("*",), ("x",), ("x",)]
    con.execute("DELETE FROM few WHERE ward = 'z'")
    assert con.execute("FROM public").fetchall() == [("x",), ("x",)]
    con.execute("INSERT INTO few VALUES ('x', NULL)")
    assert con.execute("FROM public").fetchall() == [("x",), ("x",)]


def test_a_file_that_links_records_is_verified_as_that(tmp_path: Path) -> None:
    path = tmp_path / "linked.parquet"
    rows = "('x', 1), ('y', 1), ('x', 2), ('y', 3), ('x', 4), ('y', 5)"
    duckdb.sql(f"COPY (FROM (VALUES {rows}) AS v(a, s) ORDER BY ALL) TO '{path}'")
    found = verify_bare(path, ("a",), 2, counting=Counting(subject="s"))
    assert [(p.model, p.found, p.holds) for p in found.promises] == [
        ("k_anonymity", 3, True),
        ("linked_classes", 1, False),
    ]


def test_a_view_withholds_classes_of_too_few_people(con: Any) -> None:
    result = dbdeid.run(
        spec(output={"as": "view"}, privacy=[{"model": "k_anonymity", "k": 3}]), con
    )
    assert result.smallest_class is not None
    assert result.smallest_class >= 3
    con.execute("UPDATE visits SET patient = 0")
    assert con.execute("SELECT count(*) FROM public").fetchall() == [(0,)]


def test_a_view_without_missing_values(con: Any) -> None:
    given = spec(output={"as": "view"}, null_policy="exclude", subject=None, accept="rows")
    result = dbdeid.run(given, con)
    assert result.suppressed_rows == 1
    assert con.execute("SELECT count(*) FROM public WHERE ward IS NULL").fetchall() == [(0,)]


@pytest.mark.parametrize("linked", [False, True])
def test_the_steps_are_shown_with_subjects(tmp_path: Path, linked: bool) -> None:
    with duckdb.connect(str(tmp_path / "owner.duckdb")) as con:
        con.execute(VISITS)
    changes = {"columns": columns(mrn=PSEUDONYM)} if linked else {}
    shown = steps(spec(database=str(tmp_path / "owner.duckdb"), **changes))
    names = [step.name for step in shown]
    assert names.index("deid_counted") < names.index("deid_staged")
    assert ("deid_kept" in names) == linked
    counted = shown[names.index("deid_counted")].text()
    assert ("COUNT(DISTINCT" in counted) != linked
    assert ('"source"."mrn"' in shown[0].text()) == linked  # only to look its pseudonym up
    assert ('"p0"."pseudonym" AS' in shown[0].text()) == linked


DIABETES = ("race", "gender", "age", "medical_specialty", "admission_type_id")


@pytest.mark.full
def test_encounters_of_real_patients(shared: Path) -> None:
    """Rows hide that 82 classes of five or more encounters are of fewer than five patients."""
    path = shared / "data" / "ehr" / "diabetes130.parquet"
    names = ", ".join(("patient_nbr", *DIABETES))
    given: dict[str, Any] = {
        "release": "encounters",
        "source": {"sql": f"SELECT {names} FROM '{path}'", "name": "diabetes"},
        "columns": {"patient_nbr": "identifier", **dict.fromkeys(DIABETES, QI)},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {
            "name": "full_domain",
            "suppression_limit": 1.0,
            "transformation": dict.fromkeys(DIABETES, 0),
        },
    }
    patients = f"""
        SELECT count(*) FROM (
          SELECT count(DISTINCT patient_nbr) AS patients
          FROM '{path}' SEMI JOIN encounters USING ({", ".join(DIABETES)})
          GROUP BY {", ".join(DIABETES)}
        ) WHERE patients < 5"""
    with duckdb.connect() as con:
        with pytest.raises(dbdeid.SpecError, match="'patient_nbr' repeats"):
            dbdeid.run(given, con)
        by_row = dbdeid.run({**given, "accept": "rows"}, con)
        assert con.execute(patients).fetchall() == [(82,)]
        by_subject = dbdeid.run({**given, "subject": "patient_nbr"}, con)
        assert con.execute(patients).fetchall() == [(0,)]
    assert by_subject.classes == by_row.classes - 82
    assert (by_subject.source_rows, by_subject.source_subjects) == (101_766, 71_518)
    assert by_subject.smallest_class == 5


@pytest.mark.full
def test_a_value_that_everyone_in_a_class_has_is_told_whatever_else_they_have() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT CASE WHEN i < 6 THEN 'a' END AS records, i // 2 AS who, "
            "CASE WHEN i % 2 = 0 THEN 'flu' ELSE 'x' || i % 3 END AS s FROM range(12) AS r(i)"
        )
        spec = {
            "release": "r",
            "source": "t",
            "columns": {
                "records": {"role": "quasi_identifier", "hierarchy": "suppress"},
                "who": "drop",
                "s": {"role": "sensitive", "accept": "homogeneity"},
            },
            "privacy": [{"model": "k_anonymity", "k": 2}],
            "evaluate": {"metrics": []},
            "method": {"name": "full_domain", "transformation": {"records": 0}},
        }
        of_rows = dbdeid.run(spec | {"accept": "rows"}, con).remains["certain"][0]
        of_people = dbdeid.run(spec | {"subject": "who"}, con).remains["certain"][0]
    assert of_rows["classes"] == 0
    assert (of_people["classes"], of_people["people"]) == (2, 6)
