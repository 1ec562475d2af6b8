"""Releases of one source held against each other: an attacker who tries everybody is the judge."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import tiers
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patients import EVERYTHING, Patient, candidates, counted, fill, isolated, spec, view
from tiers import examples

import dbdeid
from dbdeid.cli.text.release import verdict
from dbdeid.errors import DataError, Unsatisfiable
from dbdeid.record.border import from_json
from dbdeid.release.result import RunResult
from dbdeid.report.content.audience import public
from dbdeid.rerelease.joint_classes import Compared, measured, same_classes

ILLNESSES = ("asthma", "flu", "fracture")


def some(number: int, seed: int, start: int = 0) -> list[Patient]:
    draw = random.Random(seed)
    return [
        (start + i, draw.randrange(EVERYTHING), draw.randrange(EVERYTHING), draw.choice(ILLNESSES))
        for i in range(number)
    ]


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def only(result: Any) -> dict[str, Any]:
    (found,) = result.rerelease
    return dict(found)


# -- what is found, against an attacker --------------------------------------------------------


PAIRS = [((2, 1), (1, 2), 1), ((1, 1), (1, 1), 2), ((3, 0), (1, 1), 3), ((1, 2), (2, 2), 4)]


def of_both(seed: int) -> tuple[list[Patient], list[Patient]]:
    """The patients of a first and of a second release."""
    before = some(60, seed)
    return before, [*before[seed:], *some(8, seed + 100, start=1000)]


def twice(first: tuple[int, int], second: tuple[int, int], seed: int) -> RunResult:
    """Both releases, in one database."""
    before, after = of_both(seed)
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, before)
        dbdeid.run(spec(first, 3), con)
        fill(con, after)
        return dbdeid.run(spec(second, 3), con)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("first", "second", "seed"), PAIRS)
def test_what_two_releases_isolate_is_what_an_attacker_finds_by_trying_everybody(
    place: Path, first: tuple[int, int], second: tuple[int, int], seed: int
) -> None:
    k, (before, after) = 3, of_both(seed)
    result = zoo.fill(twice, first, second, seed)
    found = only(result)
    one, other = view(before, first, k), view(after, second, k)
    assert {key: found[key]["people"] for key in ("both", "appeared", "vanished")} == isolated(
        one, other, k
    )
    assert found["smallest"] == min(candidates(one, other).values())
    assert found["shared"] == len(one.keys() & other.keys())
    assert found["counted"]["groups"] == counted(one, other, k)
    assert any(w.startswith("combined with patients_public") for w in result.warnings)


CLASSES = st.lists(
    st.tuples(st.integers(-1, 4), st.integers(-1, 4)).filter(lambda pair: pair != (-1, -1)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CLASSES, st.integers(1, 5))
def test_sizes_of_joint_classes_tell_what_trying_everybody_tells(
    people: list[tuple[int, int]], k: int
) -> None:
    first = {i: (before, 0) for i, (before, _) in enumerate(people) if before >= 0}
    second = {i: (now, 0) for i, (_, now) in enumerate(people) if now >= 0}
    pairs, sizes = np.unique(np.array(people), axis=0, return_counts=True)
    found = measured(pairs[:, 0], pairs[:, 1], sizes, Compared("r", "", None, k))
    told = {key: getattr(found, key).people for key in ("both", "appeared", "vanished")}
    assert told == isolated(first, second, k)
    assert found.smallest == min(candidates(first, second).values())
    assert found.counted.groups == counted(first, second, k)
    alike = all(
        (first.get(a) == first.get(b)) == (second.get(a) == second.get(b))
        for a in range(len(people))
        for b in range(len(people))
    )
    everybody = len(first) == len(second) == len(people)
    assert same_classes(pairs[:, 0], pairs[:, 1]) == (everybody and alike)


def test_the_same_release_again_tells_nothing_and_is_kept_once(
    con: duckdb.DuckDBPyConnection,
) -> None:
    fill(con, some(60, 5))
    dbdeid.run(spec((1, 1)), con)
    again = dbdeid.run(spec((1, 1)), con)
    assert not any("beside" in w for w in again.warnings)
    assert only(again)["smallest"] >= 2
    if tiers.full:
        assert len(dbdeid.run(spec((1, 1)), con).rerelease) == 1
    assert con.execute("SELECT count(DISTINCT run) FROM deid.published").fetchone() == (1,)


def test_people_who_read_alike_are_as_many_as_they_are(con: duckdb.DuckDBPyConnection) -> None:
    """Nothing tells records apart that equal each other: each is one person's all the same."""
    before = [(number, age % 3, place % 2, "flu") for number, age, place, _ in some(40, 7)]
    query = {"sql": "SELECT age, zip, illness FROM patients", "name": "patients"}
    nameless = spec((1, 1), 3) | {"source": query}
    del nameless["columns"]["number"]
    fill(con, before)
    dbdeid.run(nameless, con)
    if tiers.full:
        again = dbdeid.run(nameless, con)
        assert not any("beside" in w for w in again.warnings)
        assert only(again)["shared"] == len(view(before, (1, 1), 3))
    after = [*before, (1000, 0, 0, "flu"), (1001, 0, 0, "flu")]
    fill(con, after)
    found = only(dbdeid.run(nameless, con))
    one, other = view(before, (1, 1), 3), view(after, (1, 1), 3)
    told = {key: found[key]["people"] for key in ("both", "appeared", "vanished")}
    assert told == isolated(one, other, 3) == {"both": 0, "appeared": 2, "vanished": 0}


@pytest.mark.full
def test_order_and_edits_of_other_columns_do_not_hide_a_record(
    con: duckdb.DuckDBPyConnection,
) -> None:
    before = some(60, 6)
    fill(con, before)
    dbdeid.run(spec((1, 1)), con)
    fill(con, [(n, age, place, "asthma") for n, age, place, _ in reversed(before)])
    assert only(dbdeid.run(spec((1, 1)), con))["appeared"] == {"groups": 0, "people": 0}


# -- every method tells who is with whom -------------------------------------------------------

METHODS = {
    "full_domain": {"name": "full_domain", "suppression_limit": 0.2},
    "kept": {
        "name": "full_domain",
        "suppression_limit": 0.5,
        "suppressed": "keep",
        "transformation": {"age": 1, "zip": 1},
    },
    "counterfeit": {"name": "counterfeit", "h": 0.6, "max_counterfeits": 0.5},
    "local_recoding": {"name": "local_recoding"},
    "relocation": {"name": "relocation", "limit": 0.5},
    "microaggregation": {"name": "microaggregation"},
    "policy": {"name": "policy", "choose": {"max_risk": 1.0}},
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", METHODS)
def test_the_classes_that_are_kept_are_those_of_the_release(
    con: duckdb.DuckDBPyConnection, name: str
) -> None:
    fill(con, some(120, 7))
    asked = spec((1, 1), k=2, method=METHODS[name], seed=2**70)
    if name in ("microaggregation", "policy"):
        domain = {"domain": [0, EVERYTHING - 1]} if name == "policy" else {}
        plain = {"role": "quasi_identifier", **domain}
        asked["columns"] = {**asked["columns"], "age": plain, "zip": plain}
    result = dbdeid.run(asked, con)
    released = con.execute("SELECT count(*) FROM patients_public GROUP BY age, zip").fetchall()
    kept = con.execute("SELECT count(*) FROM deid.published GROUP BY class").fetchall()
    if name in ("counterfeit", "relocation"):  # some in a class are counterfeit, or were moved in
        assert sum(n for (n,) in kept) >= 120 - result.relocated_rows
        assert sum(n for (n,) in kept) <= 120
        assert len(kept) <= len(released)
    else:
        assert sorted(kept) == sorted(released)


@pytest.mark.full
def test_people_count_where_subjects_do(con: duckdb.DuckDBPyConnection) -> None:
    before = [(i // 2, age, place, ill) for i, age, place, ill in some(120, 8)]
    asked = spec((2, 2), k=3, subject="number")
    fill(con, before)
    dbdeid.run(asked, con)
    fill(con, [*before, (9001, 0, 0, "flu"), (9001, 0, 0, "flu"), (9002, 0, 0, "flu")])
    found = only(dbdeid.run(asked, con))
    assert found["appeared"] == {"groups": 1, "people": 2}
    assert found["both"]["people"] == found["vanished"]["people"] == 0


# -- what a run does with it -------------------------------------------------------------------


def hospital(folder: Path, patients: list[Patient]) -> Path:
    with duckdb.connect(str(folder / "hospital.duckdb")) as con:
        fill(con, patients)
    return folder / "hospital.duckdb"


def in_file(folder: Path, name: str = "out", **more: Any) -> dict[str, Any]:
    given = {"database": str(folder / "hospital.duckdb"), "target": str(folder / f"{name}.duckdb")}
    return spec((2, 2), k=5, **given, **more)


def test_ten_added_patients_are_caught_and_a_strict_release_is_refused(tmp_path: Path) -> None:
    before = some(400, 9)
    hospital(tmp_path, before)
    dbdeid.run(in_file(tmp_path))
    ten = [(1000 + i, i % EVERYTHING, (3 * i) % EVERYTHING, "flu") for i in range(10)]
    hospital(tmp_path, [*before, *ten])
    kept = (tmp_path / "out.duckdb").read_bytes()
    few = isolated(view(before, (2, 2), 5), view([*before, *ten], (2, 2), 5), 5)["appeared"]
    assert few == 5  # of the ten; the others are five in one class
    with pytest.raises(
        Unsatisfiable, match=r"this release alone has 5 people \(3 groups\)"
    ) as caught:
        dbdeid.run(in_file(tmp_path, rerelease="strict"))
    assert caught.value.exit_code == 3
    assert "flu" not in str(caught.value)
    assert (tmp_path / "out.duckdb").read_bytes() == kept
    if tiers.full:
        warned = only(dbdeid.run(in_file(tmp_path)))
        assert warned["appeared"] == warned["counted"] == {"groups": 3, "people": 5}


@pytest.mark.full
def test_enough_added_patients_of_each_class_pass_a_strict_release(tmp_path: Path) -> None:
    before = some(400, 10)
    hospital(tmp_path, before)
    dbdeid.run(in_file(tmp_path, rerelease="strict"))
    many = [(1000 + i, 4 * (i % 2), 4 * (i // 2 % 2), "flu") for i in range(20)]
    hospital(tmp_path, [*before, *many])
    assert only(dbdeid.run(in_file(tmp_path, rerelease="strict")))["smallest"] >= 5


@pytest.mark.full
def test_releases_in_files_of_their_own_know_of_each_other(tmp_path: Path) -> None:
    hospital(tmp_path, some(60, 11))
    dbdeid.run(in_file(tmp_path))
    other = in_file(tmp_path, "other", release="patients_other")
    other["method"] = {**other["method"], "transformation": {"age": 3, "zip": 1}}
    assert [f["release"] for f in dbdeid.run(other).rerelease] == ["patients_public"]


@pytest.mark.full
def test_a_release_of_strangers_in_a_file_of_its_own_is_not_compared(tmp_path: Path) -> None:
    hospital(tmp_path, some(60, 11))
    dbdeid.run(in_file(tmp_path))
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        con.execute(
            "CREATE TABLE staff AS SELECT number, hash(number, 1) % 8 AS age, "
            "hash(number, 2) % 8 AS zip, illness[:0] || 'flu' AS illness FROM patients"
        )
    staff = in_file(tmp_path, "staff", release="staff_public", source="staff")
    assert dbdeid.run(staff).rerelease == ()


@pytest.mark.full
def test_files_are_told_apart_however_they_are_read(tmp_path: Path) -> None:
    for name, seed in (("a", 11), ("b", 12)):
        with duckdb.connect() as con:
            fill(con, some(60, seed))
            con.execute(f"COPY patients TO '{tmp_path}/{name}.csv'")
    given = in_file(tmp_path)
    del given["database"]

    def found(name: str, source: object) -> list[str]:
        own = {**given, "release": name, "target": str(tmp_path / f"{name}.duckdb")}
        return [f["release"] for f in dbdeid.run({**own, "source": source}).rerelease]

    assert found("first", str(tmp_path / "a.csv")) == []
    assert found("other", str(tmp_path / "b.csv")) == []
    assert found("again", str(tmp_path / "a.csv")) == ["first"]
    query = {"sql": f"SELECT * FROM '{tmp_path}/a.csv'", "name": "patients"}
    assert sorted(found("asked", query)) == ["again", "first"]


@pytest.mark.full
def test_a_withdrawn_run_is_compared_no_more(con: duckdb.DuckDBPyConnection) -> None:
    fill(con, some(60, 12))
    first = dbdeid.run(spec((1, 1)), con)
    assert first.rerelease == ()
    con.execute("DELETE FROM deid.published")
    assert dbdeid.run(spec((2, 0)), con).rerelease == ()


@pytest.mark.full
def test_runs_of_earlier_versions_cannot_be_compared(con: duckdb.DuckDBPyConnection) -> None:
    fill(con, some(60, 13))
    dbdeid.run(spec((1, 1)), con)
    con.execute(
        "UPDATE deid.releases SET record = json_merge_patch(record, '{\"rerelease\": null}')"
    )
    result = dbdeid.run(spec((1, 1)), con)
    assert not only(result)["compared"]
    assert any("cannot be compared" in w for w in result.warnings)
    with pytest.raises(Unsatisfiable, match="cannot be compared"):
        dbdeid.run(spec((1, 1), rerelease="strict"), con)


@pytest.mark.full
def test_releases_of_other_tables_in_its_place_are_one_note(con: duckdb.DuckDBPyConnection) -> None:
    for number in range(3):
        con.execute(
            f"CREATE OR REPLACE TABLE people AS SELECT i AS own{number} FROM range(40) t(i)"
        )
        other = {"release": f"other{number}", "source": "people", "method": "full_domain"}
        columns = {f"own{number}": {"role": "quasi_identifier", "hierarchy": "suppress"}}
        k = [{"model": "k_anonymity", "k": 2}]
        result = dbdeid.run({**other, "columns": columns, "privacy": k}, con)
    (note,) = (w for w in result.warnings if "cannot be compared" in w)
    assert note.startswith("2 earlier releases, the last other1 (released ")
    assert "columns that the source does not have now" in note


@pytest.mark.full
def test_what_two_releases_tell_is_said_before_how_the_second_was_made(
    con: duckdb.DuckDBPyConnection,
) -> None:
    fill(con, some(60, 14))
    dbdeid.run(spec((1, 1)), con)
    lines = verdict.released(dbdeid.run(spec((2, 0)), con)).splitlines()
    (place,) = (i for i, line in enumerate(lines) if "combined with" in line)
    assert lines[place].startswith("  warning       combined with ")
    first = [i for i, line in enumerate(lines) if line.startswith(("  use ", "  classes "))]
    assert first[0] < place < first[1]


def test_the_public_is_told_nothing_of_earlier_releases(place: Path) -> None:
    zoo.fill(twice, *PAIRS[0])
    with duckdb.connect("hospital.duckdb", read_only=True) as con:
        (record,) = con.execute(
            "SELECT record FROM deid.releases ORDER BY created DESC LIMIT 1"
        ).fetchone() or ("",)
    found = from_json(json.loads(record))
    assert found.rerelease is not None
    assert found.rerelease.found
    shown = public(found).to_dict()
    assert "rerelease" not in shown
    assert "beside" not in json.dumps(shown)


# -- sensitive values, counterfeits, synthetic records -----------------------------------------


@pytest.mark.full
def test_values_that_both_releases_leave_alone_are_told(con: duckdb.DuckDBPyConnection) -> None:
    fill(con, [(i, i % 8, i // 8 % 8, ILLNESSES[(i // 8) % 2]) for i in range(256)])
    model = {"model": "l_diversity", "column": "illness", "l": 2}
    for levels in ((0, 3), (3, 0)):
        asked = spec(levels, k=2)
        asked["columns"]["illness"] = "sensitive"
        asked["privacy"] = [*asked["privacy"], model] if levels == (0, 3) else asked["privacy"]
        if levels == (3, 0):
            asked["columns"]["illness"] = {"role": "sensitive", "accept": "homogeneity"}
        result = dbdeid.run(asked, con)
    assert only(result)["values"] is None  # accepted
    asked = spec((3, 1), k=2, release="patients_other")
    asked["columns"]["illness"] = "sensitive"
    asked["privacy"] = [*asked["privacy"], model]
    last, first = dbdeid.run(asked, con).rerelease
    assert last["values"] == {"illness": 256}
    assert first["values"] is None


@pytest.mark.full
@pytest.mark.parametrize("values", ["normalized", "as_written"])
def test_spellings_of_a_value_are_one_in_joint_classes(
    con: duckdb.DuckDBPyConnection, values: str
) -> None:
    """All four of age 0 and zip 0 have one value, in three spellings and beside a NULL."""
    alike, others = ("HIV", "hiv ", None, "Hiv"), ("flu", "Flu", "asthma", "gout")
    fill(
        con,
        [(i, i % 8, i // 8 % 8, (others if i % 64 else alike)[i // 64]) for i in range(256)],
    )
    model = {"model": "l_diversity", "column": "illness", "l": 2}
    found = []
    for levels in ((0, 3), (3, 0)):
        asked = spec(levels, k=2, rerelease="warn")
        asked["columns"]["illness"] = {"role": "sensitive", "values": values}
        asked["privacy"] = [*asked["privacy"], model]
        found += dbdeid.run(asked, con).rerelease
    assert [f["values"] for f in found] == [{"illness": 4} if values == "normalized" else None]


@pytest.mark.full
def test_counterfeits_drawn_anew_are_told_and_those_of_the_same_seed_are_not(
    con: duckdb.DuckDBPyConnection,
) -> None:
    fill(con, some(120, 15))
    asked = spec((1, 1), k=3, method=METHODS["counterfeit"], seed=2**70)
    first = dbdeid.run(asked, con)
    assert first.counterfeit_rows > 0
    same = only(dbdeid.run(asked, con))
    assert (same["exposed"], same["counterfeits"]) == (0, first.counterfeit_rows)
    other = dbdeid.run({**asked, "seed": 2**71}, con)
    exposed = other.rerelease[0]
    assert 0 < exposed["exposed"] <= exposed["counterfeits"] == other.counterfeit_rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [2**70, None])
def test_the_same_counterfeits_again_are_no_news(
    con: duckdb.DuckDBPyConnection, seed: int | None
) -> None:
    """k counts them: a class of fewer real people is not isolated by being there twice."""
    fill(con, some(120, 9))
    method = {"name": "counterfeit", "h": 0.4, "max_counterfeits": 0.5}
    asked = spec((1, 1), 5, method=method, rerelease="strict", seed=seed)
    if seed is None:
        del asked["seed"]
    first = dbdeid.run(asked, con)
    assert first.counterfeit_rows > 0
    assert only(dbdeid.run(asked, con))["both"] == {"groups": 0, "people": 0}


@pytest.mark.full
def test_few_patients_more_are_told_by_the_sums_of_synthetic_releases(
    con: duckdb.DuckDBPyConnection,
) -> None:
    asked: dict[str, Any] = {
        "release": "patients_synthetic",
        "source": "patients",
        "columns": {
            "number": "identifier",
            **dict.fromkeys(("age", "zip"), "synthesize"),
            "illness": "drop",
        },
        "privacy": [{"model": "cluster_size", "k": 20}],
        "evaluate": {"metrics": []},
        "method": {"name": "condensation", "exact_moments": True},
        "seed": 2**70,
    }
    before = some(200, 16)
    fill(con, before)
    dbdeid.run(asked, con)
    fill(con, [*before, *some(5, 17, start=1000)])
    result = dbdeid.run(asked, con)
    found = only(result)
    assert found["moments"]
    assert found["appeared"] == {"groups": 1, "people": 5}
    assert any("sums over all records" in w for w in result.warnings)
    fill(con, [*before, *some(45, 17, start=1000)])
    far = dbdeid.run({**asked, "rerelease": "warn"}, con).rerelease
    assert [f["appeared"]["people"] for f in far] == [0, 0]


def once() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, some(30, 5))
        dbdeid.run(spec((1, 1)), con)


@pytest.mark.full
@pytest.mark.parametrize("part", ["places", "columns", "person", "by", "k", "run"])
def test_a_record_that_lost_a_part_is_refused_and_never_left_out_of_the_comparison(
    place: Path, part: str
) -> None:
    zoo.fill(once)
    con = duckdb.connect("hospital.duckdb")
    ((record,),) = con.execute("SELECT record FROM deid.releases").fetchall()
    kept = json.loads(record)
    del kept["rerelease"][part]
    con.execute("UPDATE deid.releases SET record = ?", [json.dumps(kept)])
    with pytest.raises(DataError, match=rf"is damaged \(rerelease.{part}\)"):
        dbdeid.run(spec((2, 1)), con)
