"""Releases made elsewhere: opened and verified as they are, never written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from foreign import QI, absent, check, make, method, promise, spec
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import dbdeid
from dbdeid.commands.explain import steps
from dbdeid.commands.search import search
from dbdeid.commands.verify_evaluate_export import export_release


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        make(opened)
        yield opened


@pytest.fixture
def owned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The spec on a database file in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        make(con)
    return spec(database="owner.duckdb")


def files() -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path().iterdir()}


# -- what it is -------------------------------------------------------------------------------


@pytest.mark.full
def test_a_release_is_verified_from_its_table_and_its_original(con: Any) -> None:
    sizes = con.execute("SELECT count(*) FROM anon GROUP BY age, zip, sex").fetchall()
    found = dbdeid.verify(spec(), con)
    assert promise(found, "k_anonymity").found == min(n for (n,) in sizes)
    records = promise(found, "released_records")
    assert records.found == {"records": 199, "suppressed": 1, "share": 0.005}
    assert promise(found, "truthfulness").holds
    assert {c.check for c in found.hygiene} == {
        *("columns", "types", "definition", "order", "comments", "meanings")
    }
    assert found.verified
    found = dbdeid.verify(spec(privacy=[{"model": "k_anonymity", "k": 50}]), con)
    assert [p.model for p in found.promises if not p.holds] == ["k_anonymity"]


@pytest.mark.full
def test_nothing_is_written_and_no_run_is_needed(owned: dict[str, Any]) -> None:
    before = files()
    dbdeid.check(owned)
    dbdeid.verify(owned)
    dbdeid.query(owned, "SELECT count(*) FROM people")
    assert files() == before


@pytest.mark.parametrize("what", ["run", "frontier", "search", "export", "explain"])
def test_what_makes_releases_is_refused(what: str, owned: dict[str, Any]) -> None:
    done = {
        "run": lambda: dbdeid.run(owned),
        "frontier": lambda: dbdeid.frontier(owned),
        "search": lambda: search(owned),
        "export": lambda: export_release(owned, Path("x.csv")),
        "explain": lambda: steps(owned),
    }
    before = files()
    with pytest.raises(dbdeid.DataError, match="'anon' was made elsewhere") as refused:
        done[what]()
    assert refused.value.hint
    assert files() == before


def test_check_describes_the_columns(con: Any) -> None:
    found = dbdeid.check(spec(), con)
    assert (found["source_rows"], found["released_rows"]) == (200, 199)
    told = {c["name"]: c for c in found["columns"]}
    assert told["name"]["released_type"] is None
    assert told["age"]["explained_by"] == "its dictionary"
    assert [told[c]["values"] for c in ("age", "zip", "sex")] == [3, 4, 3]
    assert [told[c]["not_listed"] for c in ("age", "zip", "sex")] == [0, 4, 0]
    assert len(found["warnings"]) == 1
    assert "4 of 4 values of 'zip' stand for values that are not listed" in found["warnings"][0]


def test_a_person_with_several_rows_is_warned_of(con: Any) -> None:
    con.execute("UPDATE people SET name = 'the same' WHERE rowid < 3")
    (_, warned) = dbdeid.check(spec(), con)["warnings"]
    assert "identifier 'name' repeats in the original (2 of 200 values)" in warned
    assert len(dbdeid.check(spec(accept="rows"), con)["warnings"]) == 1


# -- truthfulness -----------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    "change",
    [
        "age = 'old' WHERE rowid = (SELECT min(rowid) FROM anon WHERE age = 'young')",
        "illness = 'gout' WHERE rowid = 3",
        "zip = '999**' WHERE rowid = 3",
    ],
)
def test_a_record_that_is_nobodys_is_found(con: Any, change: str) -> None:
    con.execute(f"UPDATE anon SET {change}")
    found = promise(dbdeid.verify(spec(), con), "truthfulness")
    assert (found.holds, found.found["invented_records"]) == (False, 1)


@pytest.mark.full
def test_a_record_that_stands_twice_is_one_too_many(con: Any) -> None:
    con.execute("INSERT INTO anon FROM anon WHERE age = 'old' AND sex = 'f'")
    ((both,),) = con.execute("SELECT count(*) FROM anon WHERE age = 'old' AND sex = 'f'").fetchall()
    found = dbdeid.verify(spec(), con)
    assert promise(found, "truthfulness").found["invented_records"] == both // 2
    assert not promise(found, "released_records").holds


def test_one_record_of_the_original_stands_behind_one_released_record_only() -> None:
    """Both released records could be the first, and neither the second."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people AS FROM (VALUES (1), (9)) AS t(age)")
        con.execute("CREATE TABLE anon AS FROM (VALUES ('1-3'), ('0-2')) AS t(age)")
        ages = {"age": {"role": QI, "hierarchy": {"labels": "intervals"}}}
        found = dbdeid.verify(spec(columns=ages, **method(dictionary=None)), con)
        assert promise(found, "truthfulness").found["invented_records"] == 1


def most_pairs(people: list[tuple[int, str]], released: list[tuple[int, int, str]]) -> int:
    """The largest matching, by augmenting paths."""
    of_person: dict[int, int] = {}

    def placed(r: int, seen: set[int]) -> bool:
        low, high, illness = released[r]
        for p, (age, own) in enumerate(people):
            if p not in seen and low <= age <= high and own == illness:
                seen.add(p)
                if p not in of_person or placed(of_person[p], seen):
                    of_person[p] = r
                    return True
        return False

    return sum(placed(r, set()) for r in range(len(released)))


PERSON = st.tuples(st.integers(0, 9), st.sampled_from("ab"))
RECORD = st.tuples(st.integers(0, 9), st.integers(0, 4), st.sampled_from("ab"))


@pytest.mark.full
@settings(max_examples=examples(12), deadline=None)
@given(st.lists(PERSON, min_size=4, max_size=12), st.lists(RECORD, min_size=4, max_size=12))
def test_overlapping_values_are_matched_as_by_hand(
    people: list[tuple[int, str]], drawn: list[tuple[int, int, str]]
) -> None:
    released = [(low, low + width, illness) for low, width, illness in drawn]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people (age INTEGER, illness VARCHAR)")
        con.executemany("INSERT INTO people VALUES (?, ?)", people)
        con.execute("CREATE TABLE anon (age VARCHAR, illness VARCHAR)")
        rows = [(f"[{low}, {high}]", illness) for low, high, illness in released]
        con.executemany("INSERT INTO anon VALUES (?, ?)", rows)
        columns = {
            "age": {"role": QI, "hierarchy": {"labels": "intervals"}},
            "illness": "sensitive",
        }
        found = dbdeid.verify(spec(columns=columns, **method(dictionary=None)), con)
        told = promise(found, "truthfulness").found["invented_records"]
        assert told == len(released) - most_pairs(people, released)
        sizes = Counter(r[:2] for r in released)
        assert promise(found, "k_anonymity").found == min(sizes.values())


def test_an_untruthful_release_is_not_compared_record_by_record(con: Any) -> None:
    con.execute("UPDATE anon SET age = 'old' WHERE rowid = 3")
    declared = spec(**method(truthful=False))
    found = dbdeid.verify(declared, con)
    assert "truthfulness" not in {p.model for p in found.promises}
    assert "declared untruthful" in check(found, "source").detail
    answer = dbdeid.query(declared, "SELECT count(*) AS n FROM people", con)
    assert answer.rows == ((199.0, None, None),)
    assert any("untruthful" in note for note in answer.notes)


# -- models -----------------------------------------------------------------------------------


@pytest.mark.full
def test_models_are_measured_as_on_any_table(con: Any) -> None:
    privacy = [
        {"model": "k_anonymity", "k": 2},
        {"model": "l_diversity", "column": "illness", "l": 2},
        {"model": "t_closeness", "column": "illness", "t": 0.3},
        {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.5},
    ]
    found = dbdeid.verify(spec(privacy=privacy), con)
    classes: dict[Any, Counter[str]] = {}
    for *key, illness in con.execute("SELECT age, zip, sex, illness FROM anon").fetchall():
        classes.setdefault(tuple(key), Counter())[illness] += 1
    whole = Counter(i for (i,) in con.execute("SELECT illness FROM people").fetchall())
    smallest = min(c.total() for c in classes.values())
    fewest = min(len(c) for c in classes.values())
    farthest = max(
        sum(abs(c[i] / c.total() - whole[i] / 200) for i in whole) / 2 for c in classes.values()
    )
    by_model = {p.model: (p.found, p.holds) for p in found.promises[:4]}
    assert by_model["k_anonymity"] == (smallest, smallest >= 2)
    assert by_model["l_diversity"] == (fewest, fewest >= 2)
    assert by_model["t_closeness"] == (pytest.approx(farthest), farthest <= 0.3)
    assert by_model["max_risk"] == (pytest.approx(1 / smallest), smallest >= 2)
    assert farthest > 0.3


def test_hierarchical_distance_follows_the_hierarchy_of_the_sensitive_column(con: Any) -> None:
    """Of asthma alone: as much of the weight of flu is half as far away as that of none."""
    con.execute("DELETE FROM people WHERE rowid >= 198; DELETE FROM anon WHERE illness <> 'asthma'")
    tree = {"groups": [{"lung": ["asthma", "flu"], "none": ["none"]}]}
    illness = {"illness": {"role": "sensitive", "hierarchy": tree}}
    distances = [
        {"model": "t_closeness", "column": "illness", "t": 0.5, "distance": "hierarchical"},
        {"model": "t_closeness", "column": "illness", "t": 0.5},
    ]
    found = dbdeid.verify(spec(columns=spec()["columns"] | illness, privacy=distances), con)
    along, equal = found.promises[:2]
    assert (along.found, along.holds) == (pytest.approx(1 / 3 + 1 / 6), True)
    assert (equal.found, equal.holds) == (pytest.approx(2 / 3), False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("policy", "k"), [("own_category", 2), ("exclude", 2), ("exclude", 1)])
def test_missing_values_are_counted_as_declared(con: Any, policy: str, k: int) -> None:
    con.execute("UPDATE anon SET sex = NULL WHERE sex = '*'")
    declared = spec(null_policy=policy, privacy=[{"model": "k_anonymity", "k": k}])
    sizes = con.execute("SELECT count(*) FROM anon GROUP BY age, zip, sex").fetchall()
    kept = promise(dbdeid.verify(declared, con), "k_anonymity")
    assert kept.found == (min(n for (n,) in sizes) if policy == "own_category" else 0)
    assert kept.holds == (kept.found >= k)


def test_a_pseudonym_of_the_table_counts_people(con: Any) -> None:
    con.execute("ALTER TABLE people ADD COLUMN patient INTEGER")
    con.execute("UPDATE people SET patient = rowid // 4")
    con.execute(
        "CREATE OR REPLACE TABLE anon AS SELECT md5(patient::VARCHAR) AS patient, '*' AS sex, "
        "illness FROM people WHERE patient < 3 OR patient > 40"
    )
    declared = spec(
        columns={
            "patient": {"role": "identifier", "pseudonym": True},
            "sex": {"role": QI, "hierarchy": "suppress"},
            "illness": {"role": "insensitive", "reason": "made up"},
            "name, age, zip": "drop",
        },
        subject="patient",
        privacy=[{"model": "k_anonymity", "k": 12}],
        **method(dictionary=None),
    )
    found = dbdeid.verify(declared, con)
    assert promise(found, "k_anonymity").found == 12
    assert promise(found, "k_anonymity").declared == {"k": 12, "subject": "patient"}
    assert promise(found, "linked_classes").found == 12
    assert promise(found, "truthfulness").found["compared_columns"] == 2
    assert found.verified
    con.execute("UPDATE anon SET sex = 'f' WHERE rowid = 0")
    found = dbdeid.verify(declared, con)
    assert promise(found, "k_anonymity").found == 1
    assert promise(found, "linked_classes").found == 1


# -- without the original ---------------------------------------------------------------------


@pytest.mark.full
def test_without_the_original_the_table_is_verified_alone(con: Any) -> None:
    found = dbdeid.verify(absent(), con)
    assert found.verified
    assert {p.model for p in found.promises} == {"k_anonymity"}
    assert "the original is not at hand" in check(found, "source").detail
    told = dbdeid.check(absent(), con)
    assert told["source_rows"] is None
    assert "'original' is not at hand" in told["warnings"][0]


def test_without_the_original_nothing_is_compared_with_it(con: Any) -> None:
    closeness = {"model": "t_closeness", "column": "illness", "t": 1.0}
    declared = absent(privacy=[{"model": "k_anonymity", "k": 2}, closeness])
    found = dbdeid.verify(declared, con)
    assert promise(found, "t_closeness").found == "not measurable without the original"
    assert not found.verified
    with pytest.raises(dbdeid.DataError, match="not at hand"):
        dbdeid.evaluate(absent(), con)


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM {} WHERE age < 30",
        "SELECT sex, count(*) AS n, avg(age) AS a FROM {} GROUP BY sex ORDER BY sex",
        "SELECT illness, max(age) AS oldest FROM {} WHERE sex = 'f' GROUP BY 1 ORDER BY 1",
    ],
)
def test_without_the_original_the_answers_are_the_same(con: Any, text: str) -> None:
    with_it = dbdeid.query(spec(), text.format("people"), con)
    without = dbdeid.query(absent(), text.format("original"), con)
    assert without.rows == with_it.rows
    assert (with_it.suppressed, without.suppressed) == (1, None)


def test_suppressed_records_are_spread_where_the_original_tells_how_many(con: Any) -> None:
    text = "SELECT count(*) AS n FROM {}"
    ((n, *_),) = dbdeid.query(spec(), text.format("people"), con, spread_suppressed=True).rows
    assert n == pytest.approx(200)
    with pytest.raises(dbdeid.DataError, match="how many records were suppressed"):
        dbdeid.query(absent(), text.format("original"), con, spread_suppressed=True)


def test_a_type_that_text_does_not_tell_is_asked_for(con: Any) -> None:
    with pytest.raises(dbdeid.SpecError) as refused:
        dbdeid.check(spec(source="original"), con)
    (mistake,) = refused.value.mistakes
    assert mistake.place == "columns.age"
    assert "types: {age: INTEGER}" in mistake.hint


def test_a_source_that_is_the_table_itself_is_not_at_hand(con: Any) -> None:
    declared = absent(source="Anon")
    assert dbdeid.check(declared, con)["source_rows"] is None
    assert dbdeid.query(declared, "SELECT count(*) AS n FROM anon", con).rows[0][0] == 199


@pytest.mark.parametrize(
    "source", ["gone.parquet", {"sql": "SELECT * FROM gone", "name": "people"}]
)
def test_other_sources_that_are_not_there(con: Any, source: Any) -> None:
    assert dbdeid.check(absent(source=source), con)["source_rows"] is None


def test_a_source_with_a_mistake_is_not_absent(con: Any) -> None:
    wrong = {"sql": "SELECT nothing FROM people", "name": "people"}
    with pytest.raises(dbdeid.DataError, match="the source cannot be read"):
        dbdeid.check(spec(source=wrong), con)


# -- columns ----------------------------------------------------------------------------------


def test_a_withheld_column_in_the_table_is_a_leak(con: Any) -> None:
    con.execute("ALTER TABLE anon ADD COLUMN name VARCHAR")
    found = dbdeid.verify(spec(), con)
    assert check(found, "columns").detail == "columns withheld 'name'"
    assert not found.verified
    with pytest.raises(dbdeid.DataError, match="name"):
        dbdeid.query(spec(), "SELECT name, count(*) FROM people GROUP BY name", con)


def test_a_column_that_looks_like_a_direct_identifier_fails(con: Any) -> None:
    con.execute(
        "ALTER TABLE anon ADD COLUMN contact VARCHAR;"
        "UPDATE anon SET contact = 'jane' || rowid || '@example.org'"
    )
    contact = {"contact": {"role": "insensitive", "reason": "made up"}}
    asked = spec(columns=spec()["columns"] | contact)
    found = dbdeid.verify(asked, con)
    assert not found.verified
    assert "'contact' looks like a direct identifier" in check(found, "identifiers").detail
    assert "@" not in check(found, "identifiers").detail
    with pytest.raises(dbdeid.SpecError, match="looks like a direct identifier"):
        dbdeid.check(asked, con)
    contact["contact"]["accept"] = "looks_like_identifier"
    asked = spec(columns=spec()["columns"] | contact)
    assert dbdeid.verify(asked, con).verified
    dbdeid.check(asked, con)


def test_columns_that_only_the_release_has_are_not_compared(con: Any) -> None:
    con.execute("ALTER TABLE anon ADD COLUMN batch INTEGER; UPDATE anon SET batch = rowid % 2")
    with pytest.raises(dbdeid.SpecError, match="'batch'"):
        dbdeid.verify(spec(), con)
    batch = {"batch": {"role": "insensitive", "reason": "made up"}}
    found = dbdeid.verify(spec(columns=spec()["columns"] | batch), con)
    assert found.verified
    assert promise(found, "truthfulness").found["compared_columns"] == 4
    assert "not of the original, and not compared: 'batch'" in check(found, "source").detail


@pytest.mark.full
def test_columns_in_another_order_and_spelling(con: Any) -> None:
    wanted = dbdeid.verify(spec(), con).promises
    picked = 'SELECT illness AS "ILLNESS", sex AS "Sex", zip, age FROM anon'
    con.execute(f"CREATE OR REPLACE TABLE anon AS {picked}")
    assert dbdeid.verify(spec(), con).promises == wanted
    text = "SELECT count(*) AS n FROM people WHERE sex = 'f'"
    assert dbdeid.query(spec(), text, con).rows[0][1] > 0
    assert dbdeid.evaluate(spec(), con)["metrics"]["discernibility"] > 0


@pytest.mark.full
def test_a_type_that_could_hide_values_is_named(con: Any) -> None:
    replaced = "SELECT * REPLACE (sex::ENUM('f', 'm', '*') AS sex) FROM anon"
    con.execute(f"CREATE OR REPLACE TABLE anon AS {replaced}")
    found = dbdeid.verify(spec(), con)
    assert check(found, "types").detail == "'sex' is ENUM"
    assert promise(found, "truthfulness").holds
