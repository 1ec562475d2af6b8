"""Columns that leave as they are: refused where they name people or tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest
import tiers

from dbdeid.commands.check import check
from dbdeid.commands.plan import plan
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import SpecError
from dbdeid.release.run import run
from dbdeid.report.content.remains import sentences

AGE = {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}}
HELD = {"role": "sensitive", "accept": "homogeneity"}
PEOPLE = 60


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Three visits of each of sixty people."""
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE visits AS SELECT i % 60 AS patient, i % 3 AS age, "
            "'c' || (i * 7 % 60) AS colour, i % 60 % 8 AS one, i % 60 // 8 AS other, "
            "i % 9 AS stay, 'user' || i % 9 || '@clinic.org' AS contact, "
            "DATE '2020-01-01' + (i % 5)::INTEGER AS seen, (i * 7 % 60) / 7.0 AS paid "
            f"FROM range({3 * PEOPLE}) t(i)"
        )
        yield opened


def spec(columns: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    every = ("patient", "colour", "one", "other", "stay", "contact", "seen", "paid")
    rest = dict.fromkeys(every, "drop") | {"patient": "identifier"}
    return {
        "release": "public",
        "source": "visits",
        "subject": "patient",
        "columns": {"age": AGE, **rest, **columns},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "evaluate": {"metrics": []},
        "method": "full_domain",
        **given,
    }


def mistakes(con: Any, columns: Mapping[str, Any], **given: Any) -> list[str]:
    """What a run refuses, and that it left nothing."""
    with pytest.raises(SpecError) as refused:
        run(spec(columns, **given), con)
    assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("visits",)]
    assert "clinic.org" not in str(refused.value)
    return [m.message for m in refused.value.mistakes]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["colour", "paid"])
@pytest.mark.parametrize("role", [HELD, {"role": "insensitive"}])
def test_what_every_person_has_for_themselves_needs_a_reason(
    name: str, role: Mapping[str, Any], con: Any
) -> None:
    told = mistakes(con, {name: role})
    assert len(told) == 1
    assert "another one for nearly every person" in told[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("role", [HELD, {"role": "insensitive"}])
def test_what_has_a_reason_leaves_and_makes_no_pairs(role: Mapping[str, Any], con: Any) -> None:
    con.execute("ALTER TABLE visits ALTER one TYPE VARCHAR")
    known = {**role, "reason": "nobody outside knows it"}
    accepted = [*([role["accept"]] if "accept" in role else []), "looks_like_identifier"]
    columns: dict[str, Any] = dict.fromkeys(("colour", "paid", "seen"), known)
    columns |= {"one": "insensitive", "contact": {**known, "accept": accepted}}
    assert run(spec(columns), con).verified


def test_a_pair_of_columns_tells_people_apart(con: Any) -> None:
    con.execute("ALTER TABLE visits ALTER one TYPE VARCHAR")
    con.execute("ALTER TABLE visits ALTER other TYPE VARCHAR")
    pair = {"one": "insensitive", "other": HELD}
    told = mistakes(con, pair)
    assert told == [
        "'one' and 'other' together are another pair for nearly every person, and released as "
        "they are"
    ]
    for name in tiers.some([*pair], 2):
        assert run(spec({name: pair[name]}), con).verified  # one alone tells little
    known = {"one": {"role": "insensitive", "reason": "a dice was thrown"}, "other": HELD}
    with pytest.raises(SpecError) as refused:
        run(spec(known), con)  # the one that is known leaves all the same
    assert [m.message for m in refused.value.mistakes] == told
    both = known | {"other": {**HELD, "reason": "another dice"}}
    assert run(spec(both), con).verified


@pytest.mark.full
def test_three_columns_that_tell_people_apart_are_told(con: Any) -> None:
    con.execute(
        "CREATE TABLE codes AS SELECT i AS age, 'a' || i // 16 AS a, 'b' || i // 4 % 4 AS b, "
        "'c' || i % 4 AS c FROM range(64) t(i)"
    )
    given = spec({}, source="codes", subject=None)
    given["columns"] = {"age": AGE | {"min_level": 2}, "a, b, c": "insensitive"}
    (told,) = [w for w in run(given, con).warnings if "together they tell" in w]
    assert told.startswith("a, b, c: released as they are without a reason, and together they ")
    assert "100.0% of the records apart" in told
    given["columns"] = {"age": AGE | {"min_level": 2}, "a, b": "insensitive", "c": "drop"}
    assert not [w for w in run(given, con).warnings if "together they tell" in w]


def test_a_date_of_many_people_needs_a_reason(con: Any) -> None:
    assert "is of dates finer than a month" in mistakes(con, {"seen": HELD})[0]


@pytest.mark.parametrize("role", [HELD, {"role": "insensitive"}])
def test_a_direct_identifier_is_refused_whatever_its_role(
    role: Mapping[str, Any], con: Any
) -> None:
    told = mistakes(con, {"contact": {**role, "reason": "of wards"}})
    assert told[0].startswith("column 'contact' looks like a direct identifier (")
    accepted = {**role, "accept": [*([role["accept"]] if "accept" in role else [])]}
    accepted["accept"] = [*accepted["accept"], "looks_like_identifier"]
    with pytest.raises(SpecError, match="needs a reason"):
        run(spec({"contact": accepted}), con)


def test_what_a_quasi_identifier_became_is_looked_at_in_the_written_table(con: Any) -> None:
    mails = {"role": "quasi_identifier", "hierarchy": "suppress"}
    told = mistakes(con, {"contact": mails, "age": "drop"})
    assert told[0].startswith("column 'contact' looks like a direct identifier (")
    assert run(
        spec({"contact": {**mails, "min_level": 1}}), con
    ).verified  # nothing but `*` is left
    cut = {"role": "quasi_identifier", "hierarchy": {"prefix": [5]}, "min_level": 1}
    assert run(spec({"contact": cut, "age": "drop"}), con).verified


@pytest.mark.full
def test_few_people_are_told_apart_like_many(con: Any) -> None:
    con.execute("DELETE FROM visits WHERE patient >= 12")
    two = [{"model": "k_anonymity", "k": 2}]
    told = mistakes(con, {"colour": HELD}, privacy=two)
    assert "another one for nearly every person" in told[0]
    con.execute("UPDATE visits SET colour = 'c' || patient // 2")  # each is that of two people
    assert run(spec({"colour": HELD}, privacy=two), con).verified


def test_a_key_of_a_small_table_needs_a_reason(con: Any) -> None:
    con.execute("CREATE TABLE few AS SELECT i % 2 AS age, 'k' || i * 7 AS code FROM range(12) t(i)")
    given = spec({}, source="few", subject=None, privacy=[{"model": "k_anonymity", "k": 2}])
    given["columns"] = {"age": AGE, "code": HELD}
    with pytest.raises(SpecError, match="'code' is another one for nearly every person"):
        run(given, con)


# -- quasi-identifiers that no model covers -------------------------------------------------------

PATIENTS = {
    "release": "public",
    "source": "patients",
    "method": "full_domain",
    "evaluate": {"metrics": []},
}
BORN = {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}}
ILL = {"role": "sensitive", "accept": "homogeneity"}
VAIN: list[list[dict[str, Any]]] = [
    [{"model": "k_anonymity", "k": 1}],
    [{"model": "t_closeness", "column": "ill", "t": 1.0}],
    [{"model": "l_diversity", "column": "ill", "l": 1}],
    [{"model": "alpha_k", "column": "ill", "k": 1, "alpha": 1.0}],
    [{"model": "k_map", "k": 1, "population": "town"}],
    [{"model": "delta_presence", "max": 1.0, "population": "town"}],
    [{"model": "max_risk", "attacker": "marketer", "threshold": 1.0}],
]


@pytest.fixture
def patients(con: Any) -> Any:
    con.execute(
        "CREATE TABLE patients AS SELECT i AS born, i % 4 AS ward, "
        "['flu', 'gout'][1 + i % 2] AS ill FROM range(40) t(i)"
    )
    con.execute("CREATE TABLE town AS SELECT born, ward FROM patients, range(3)")
    return con


def unhidden(privacy: list[dict[str, Any]], born: Any = BORN, **given: Any) -> dict[str, Any]:
    ward = {"role": "quasi_identifier", "hierarchy": "suppress"}
    return {**PATIENTS, "columns": {"born": born, "ward": ward, "ill": ILL}, "privacy": privacy,
            **given}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("privacy", VAIN, ids=lambda models: models[0]["model"])
@pytest.mark.parametrize("verb", [check, run])
def test_models_that_promise_nothing_hide_nobody(
    verb: Any, privacy: list[dict[str, Any]], patients: Any
) -> None:
    with pytest.raises(SpecError) as refused:
        verb(unhidden(privacy), patients)
    (mistake,) = refused.value.mistakes
    assert mistake.place == "privacy"
    assert mistake.message == (
        "no model hides a person among others: 40 of 40 records (100.0%) are the only ones with "
        "their 'born' and 'ward'"
    )
    made = [row[0] for row in patients.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    assert sorted(made) == ["patients", "town", "visits"]


def test_quasi_identifiers_that_nothing_hides_leave_for_a_reason(patients: Any) -> None:
    known = {**BORN, "reason": "a number of the study"}
    done = run(unhidden(VAIN[0], known), patients)
    assert done.verified
    assert (
        "born: accepted in the specification. Your reason: a number of the study" in done.warnings
    )
    assert done.remains["covered"] == {"records": 40, "people": None}
    told = sentences(done.record)
    assert "40 of 40 records (100%) share the 2 quasi-identifiers with no other" in (
        told.not_promised
    )
    assert told.promised[0] == "k = 1 on 2 columns, which protects nobody: holds"


def test_what_is_general_enough_needs_no_model(patients: Any) -> None:
    assert run(unhidden(VAIN[0], {**BORN, "min_level": 1}), patients).verified


def test_what_the_written_table_tells_is_refused_though_a_model_promises_something(
    patients: Any,
) -> None:
    weak = [{"model": "t_closeness", "column": "ill", "t": 0.9}]
    fine = {"name": "full_domain", "transformation": {"born": 0, "ward": 0}}
    with pytest.raises(SpecError, match="no model hides a person among others: 40 of 40"):
        run(unhidden(weak, method=fine), patients)
    assert ("public",) not in patients.execute("SELECT table_name FROM duckdb_tables()").fetchall()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "model",
    [
        {"model": "k_map", "k": 3, "population": "town"},
        {"model": "delta_presence", "max": 0.5, "population": "town"},
        {"model": "max_risk", "attacker": "journalist", "threshold": 0.5, "population": "town"},
    ],
    ids=lambda model: model["model"],
)
def test_a_class_of_one_is_meant_where_a_population_counts(
    model: dict[str, Any], patients: Any
) -> None:
    done = run(unhidden([model]), patients)
    assert done.verified
    clauses = sentences(done.record).not_promised
    assert "40 of 40 records (100%) share the 2 quasi-identifiers with no other" in clauses


def test_a_quasi_identifier_that_nothing_hides_makes_pairs(patients: Any) -> None:
    patients.execute("CREATE TABLE pairs AS SELECT i % 8 AS born, 'w' || i // 8 AS ill "
                     "FROM range(40) t(i)")  # fmt: skip
    given = unhidden(VAIN[0], source="pairs")
    del given["columns"]["ward"]
    with pytest.raises(SpecError, match="'born' and 'ill' together are another pair"):
        run(given, patients)


def test_a_view_is_looked_at_like_a_table(patients: Any) -> None:
    patients.execute("ALTER TABLE patients ADD COLUMN contact VARCHAR")
    patients.execute("UPDATE patients SET contact = 'user' || born % 4 || '@clinic.org'")
    given = unhidden([{"model": "k_anonymity", "k": 2}], output={"as": "view"})
    given["columns"] = {
        "born, ward, ill": "drop",
        "contact": {"role": "quasi_identifier", "hierarchy": "suppress"},
    }
    with pytest.raises(SpecError, match="'contact' looks like a direct identifier"):
        run(given, patients)
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    assert patients.execute(views).fetchall() == []


def test_a_column_is_counted_once(monkeypatch: pytest.MonkeyPatch, con: Any) -> None:
    asked: list[str] = []
    honest = Session.row

    def heard(self: Session, query: Any) -> Any:
        asked.append(query if isinstance(query, str) else query.sql("duckdb"))
        return honest(self, query)

    monkeypatch.setattr(Session, "row", heard)
    con.execute("ALTER TABLE visits ALTER one TYPE VARCHAR")
    con.execute("ALTER TABLE visits ALTER other TYPE VARCHAR")
    with pytest.raises(SpecError):
        check(spec({"one": "insensitive", "other": HELD}), con)
    counted = [q for q in asked if 'COUNT(DISTINCT "one")' in q and "deid_coded" in q]
    assert len(counted) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("['carla lang', 'TOM_BECKER', 'Schulz,Anna', 'Moreau, L.'][1 + patient % 4]", "persons"),
        (
            "['well', 'worse', 'patient Carla Lang called', 'same'][1 + patient % 4]",
            "names of persons",
        ),
        (
            "chr((97 + patient % 5)::INTEGER) || 'nt' || chr((97 + patient // 5)::INTEGER)",
            "no known list",
        ),
    ],
)
def test_a_reason_alone_does_not_let_words_out(values: str, why: str, con: Any) -> None:
    con.execute(
        f"CREATE OR REPLACE TABLE visits AS SELECT * REPLACE ({values} AS colour) FROM visits"
    )
    lazy = {"role": "insensitive", "reason": "not needed"}
    (told,) = mistakes(con, {"colour": lazy})
    assert why in told
    assert "arla" not in told
    assert run(spec({"colour": {**lazy, "accept": "looks_like_identifier"}}), con).verified


# -- quasi-identifiers that leave as they are, or in the dictionary --------------------------------

BLUNT = {"role": "quasi_identifier", "hierarchy": "suppress"}
STAYS = {
    "release": "public",
    "source": "stays",
    "accept": "rows",
    "columns": {"name": "drop", "mrn": BLUNT, "age": AGE, "town": "drop"},
    "privacy": [{"model": "k_anonymity", "k": 5}],
    "evaluate": {"metrics": []},
    "method": {"name": "full_domain", "transformation": {"mrn": 0, "age": 1}},
}


@pytest.fixture
def stays(con: Any) -> Any:
    """Six stays of each of sixty people."""
    con.execute(
        "CREATE TABLE stays AS SELECT "
        "['Anna', 'Carla', 'Peter', 'Maria'][1 + p % 4] || ' ' "
        "|| ['Fischer', 'Lang', 'Hoffmann', 'Schulz', 'Becker', 'Wagner'][1 + p % 6] AS name, "
        "2110264 + p * 7919 AS mrn, 20 + p % 3 AS age, 't' || p % 3 AS town "
        "FROM (SELECT i % 60 AS p FROM range(360) t(i))"
    )
    con.execute(
        "CREATE TABLE letters AS SELECT DISTINCT name AS value, left(name, 1) AS l FROM stays"
    )
    return con


def test_a_plan_refuses_of_quasi_identifiers_what_a_run_refuses(stays: Any) -> None:
    with pytest.raises(SpecError) as of_run:
        run(STAYS, stays)
    with pytest.raises(SpecError, match="'mrn' looks like a direct identifier") as of_plan:
        plan(STAYS, stays)
    assert str(of_plan.value) == str(of_run.value)
    dropped = {**STAYS["columns"], "mrn": "drop"}
    general = {**STAYS, "columns": dropped, "method": {"name": "full_domain"}}
    assert list(plan(general, stays).transformation) == ["age"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["full_domain", "local_recoding"])
def test_record_numbers_do_not_leave_as_quasi_identifiers(method: str, stays: Any) -> None:
    given = STAYS if method == "full_domain" else {**STAYS, "method": method}
    with pytest.raises(SpecError, match="'mrn' looks like a direct identifier") as refused:
        run(given, stays)
    assert "2110264" not in str(refused.value)
    general = {"role": "quasi_identifier", "hierarchy": {"intervals": [100_000]}, "min_level": 1}
    method_of = {"method": "full_domain", "columns": {**STAYS["columns"], "mrn": general}}
    assert run({**STAYS, **method_of}, stays).verified
    known = {**BLUNT, "accept": "looks_like_identifier", "reason": "a number of the study"}
    assert run({**given, "columns": {**STAYS["columns"], "mrn": known}}, stays).verified


@pytest.mark.full
def test_shortened_record_numbers_do_not_leave_as_quasi_identifiers(stays: Any) -> None:
    stays.execute("ALTER TABLE stays ALTER mrn TYPE VARCHAR USING printf('%05d', mrn % 40000)")
    short = {"role": "quasi_identifier", "hierarchy": {"prefix": [2, 1]}, "min_level": 1}
    given = {**STAYS, "columns": {**STAYS["columns"], "mrn": short}}
    left = {"name": "full_domain", "transformation": {"mrn": 2, "age": 1}}
    with pytest.raises(SpecError, match="'mrn' looks like a direct identifier"):
        run({**given, "method": left}, stays)
    top = {"name": "full_domain", "transformation": {"mrn": 3, "age": 1}}
    assert run({**given, "method": top}, stays).verified
    known = {**short, "accept": "looks_like_identifier", "reason": "a number of the study"}
    given["columns"] = {**STAYS["columns"], "mrn": known}
    assert run({**given, "method": left}, stays).verified


def test_names_do_not_leave_in_the_dictionary(stays: Any) -> None:
    listed = {"role": "quasi_identifier", "hierarchy": {"table": "letters"}, "min_level": 1}
    columns = {**STAYS["columns"], "mrn": "drop", "name": listed}
    with pytest.raises(SpecError, match="'name' looks like a direct identifier") as refused:
        run({**STAYS, "method": "full_domain", "columns": columns}, stays)
    assert "Fischer" not in str(refused.value)


def test_a_dropped_number_of_persons_tells_that_they_have_several_rows(stays: Any) -> None:
    given = {k: v for k, v in STAYS.items() if k != "accept"}
    given["columns"] = {**STAYS["columns"], "mrn": "drop"}
    given["method"] = "full_domain"
    with pytest.raises(SpecError) as refused:
        run(given, stays)
    told = [m.message for m in refused.value.mistakes]
    assert any("dropped column 'mrn' repeats (300 of 360 values)" in text for text in told)
    assert not any("dropped column 'name'" in text for text in told)  # many may share a name


def test_names_are_shared_by_chance_where_each_row_has_a_person_of_its_own(stays: Any) -> None:
    stays.execute("ALTER TABLE stays ADD COLUMN patient_id INTEGER")
    stays.execute("UPDATE stays SET patient_id = rowid")
    columns = {**STAYS["columns"], "mrn": "drop", "town": HELD, "patient_id": "identifier"}
    del columns["mrn"]
    stays.execute("ALTER TABLE stays DROP COLUMN mrn")
    given = {k: v for k, v in STAYS.items() if k != "accept"}
    assert run({**given, "method": "full_domain", "columns": columns}, stays).verified


def test_missing_values_that_equal_all_others_hide_nobody(con: Any) -> None:
    con.execute(
        "CREATE TABLE wild AS SELECT i % 60 AS age, '1' || i AS zip FROM range(300) t(i) "
        "UNION ALL SELECT NULL, NULL FROM range(6)"
    )
    given = {
        "release": "public",
        "source": "wild",
        "null_policy": "wildcard",
        "columns": {"age": AGE, "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [2]}}},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "evaluate": {"metrics": []},
        "method": "full_domain",
    }
    with pytest.raises(SpecError, match="no model hides a person among others: 300 of 306"):
        run(given, con)
