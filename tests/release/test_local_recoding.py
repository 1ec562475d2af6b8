"""Locally recoded releases from spec to files: what is written, and what holds of it."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import owned, small

import dbdeid
from dbdeid.cli.text.release.verdict import released
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.commands.verify_evaluate_export import verify as verify_release
from dbdeid.engine.session import Settings
from dbdeid.record.border import from_json
from dbdeid.release.result import RunResult
from dbdeid.release.run import run as run_release
from dbdeid.report.page import render

K, L = 4, 2
ALGORITHMS: dict[str, dict[str, Any]] = {
    "dealing": {},
    "dealing-eligible": {"algorithm": "dealing", "tail": "eligible"},
    "dealing-block_entropy": {"algorithm": "dealing", "objective": "block_entropy"},
    "paper": {"algorithm": "paper"},
    "paper-node_entropy": {"algorithm": "paper", "objective": "node_entropy"},
    "paper-literal": {"algorithm": "paper", "objective": "literal"},
    "paper-half": {"algorithm": "paper", "diversity_weight": 0.5},
    "conditional_entropy": {"algorithm": "conditional_entropy"},
    "diversity_first": {"algorithm": "diversity_first"},
    "closeness": {"algorithm": "closeness"},
    "mondrian": {"algorithm": "mondrian"},
    "mondrian-relaxed": {"algorithm": "mondrian", "mondrian": "relaxed"},
}
MODELS = [
    {"model": "k_anonymity", "k": K},
    {"model": "l_diversity", "column": "illness", "l": L},
    {"model": "t_closeness", "column": "illness", "t": 0.5},
]
every_algorithm = pytest.mark.parametrize("method", ALGORITHMS.values(), ids=list(ALGORITHMS))

AWAY = {"target": "out.duckdb"}  # a file that another process writes: where files are looked at


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def spec(method: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    found = small(
        database="owner.duckdb",
        method={"name": "local_recoding"} | (method or {}),
        privacy=MODELS,
        evaluate={"metrics": []},
        seed=7,
    )
    return found | more


def rows(query: str, file: str = "owner.duckdb") -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS given (READ_ONLY)")
        con.execute("USE given")
        return con.execute(query).fetchall()


def classes(values: str = "illness") -> dict[tuple[Any, ...], Counter[Any]]:
    """The sensitive values of each class, as any reader counts them."""
    found: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for age, zip_, sex, value in rows(f"SELECT age, zip, sex, {values} FROM people_public"):
        found[age, zip_, sex][value] += 1
    return found


def source() -> list[tuple[Any, ...]]:
    return rows("SELECT age, zip, sex, illness FROM people ORDER BY ALL")


# -- what holds -----------------------------------------------------------------------------------


@pytest.mark.full
@every_algorithm
def test_every_class_holds_every_model_and_each_value_is_listed(method: dict[str, Any]) -> None:
    result = zoo.run(spec(method))
    assert result.verified
    assert result.recoding == "local"
    assert result.transformation == {}
    assert (result.released_rows, result.suppressed_rows) == (200, 0)
    whole = Counter(illness for *_, illness in source())
    found = classes()
    assert len(found) == result.classes > 1
    for held in found.values():
        size = held.total()
        assert size >= K
        assert len(held) >= L
        apart = sum(abs(held[v] / size - whole[v] / 200) for v in whole) / 2
        assert apart <= 0.5 + 1e-9
    assert sum(found.values(), Counter()) == whole
    assert verify_release(spec(method)).verified
    each_released_value_is_one_of_the_hierarchy_and_listed_with_its_level()


def each_released_value_is_one_of_the_hierarchy_and_listed_with_its_level() -> None:
    listed = rows('SELECT "column", released_value, level FROM people_public_dictionary')
    ages = {
        int(value): level for column, value, level in listed if column == "age" and value.isdigit()
    }
    assert set(ages.values()) <= {0}
    for column, value, level in listed:
        if column == "age" and level:
            assert value == "*" or int(value[1:].split(",")[0]) % (10 * level) == 0
        if column == "zip" and value != "*":
            assert (level, len(value)) in {(0, 5), (1, 5), (2, 5)}
            assert value.count("*") == {0: 0, 1: 2, 2: 4}[level]
    shown = {("age", a) for a, *_ in classes()} | {("zip", z) for _, z, _ in classes()}
    shown |= {("sex", s) for *_, s in classes()}
    assert shown == {(column, value) for column, value, _ in listed}


@pytest.mark.full
def test_what_is_lost_is_less_than_with_one_level_a_column() -> None:
    local = zoo.run(spec())
    method = {"name": "full_domain", "suppression_limit": 0.0}
    whole = dbdeid.run(spec() | {"method": method})
    assert whole.recoding == "global"
    assert local.loss < 0.6 * whole.loss


def test_a_missing_value_stays_missing_below_the_top() -> None:
    zoo.run(spec())
    for (_, _, sex), held in classes().items():
        assert held.total() >= K
        assert sex in (None, "f", "m", "*")
    listed = dict(
        rows("SELECT released_value, level FROM people_public_dictionary WHERE \"column\" = 'sex'")
    )
    assert listed[None] == 0


@pytest.mark.full
def test_a_column_without_any_value_stays_empty() -> None:
    source = {"sql": "SELECT * REPLACE (NULL::VARCHAR AS zip) FROM people", "name": "people"}
    result = dbdeid.run(spec(source=source))
    assert result.verified
    assert rows("SELECT DISTINCT zip FROM people_public") == [(None,)]


# -- columns of every kind ------------------------------------------------------------------------


def wide() -> tuple[dict[str, Any], RunResult]:
    """A release with dates, bounds and a column that stays as it is, and its spec."""
    owned()
    with duckdb.connect("owner.duckdb") as con:
        con.execute("ALTER TABLE people ADD COLUMN seen DATE")
        con.execute("UPDATE people SET seen = DATE '2020-01-01' + (age * 11 + zip::INT % 29)::INT")
        con.execute("ALTER TABLE people ADD COLUMN wage INTEGER")
        con.execute("UPDATE people SET wage = age * 100 + zip::INT % 7")
    columns = small()["columns"] | {
        "seen": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [10, 20], "lower": 0, "upper": 120},
        },
        "wage": {"role": "insensitive", "reason": "a test"},
    }
    output = {"bounds": True, "export": ["out.csv"]}
    made = spec(columns=columns, output=output, evaluate={"metrics": ["loss"]})
    return made, dbdeid.run(made)


def test_numbers_and_dates_are_recoded_by_their_hierarchies_with_bounds() -> None:
    _, result = zoo.fill(wide)
    assert result.verified
    bounds = rows(
        "SELECT age, age_lower, age_upper, seen, seen_lower, seen_upper FROM people_public"
    )
    kinds = set()
    for age, low, high, seen, first, last in bounds:
        if age.isdigit():
            assert low == high == int(age)
        elif age == "*":
            assert (low, high) == (0, 119)
        else:
            assert f"[{low}, {high + 1})" == age
        if first is not None and last is not None:
            days = (last - first).days + 1
            kinds.add(1 if days == 1 else 31 if days <= 31 else 366)
            assert str(first).startswith(seen[:4])
    assert len(kinds) > 1
    true = rows("SELECT age, seen FROM people ORDER BY ALL")
    assert len(bounds) == len(true)


def test_labels_that_mean_something_else_on_another_level_are_told_apart() -> None:
    tens = {20: "20s", 30: "30s", 40: "40s", 50: "50s", 60: "60s", 70: "old"}
    lines = [
        f"{age};{tens[age // 10 * 10]};{'young' if age < 50 else 'old'};*" for age in range(20, 80)
    ]
    Path("age.csv").write_text("\n".join(lines) + "\n")
    columns = small()["columns"] | {
        "age": {"role": "quasi_identifier", "hierarchy": "age.csv", "min_level": 1},
        "zip": "drop",
    }
    privacy = [{"model": "k_anonymity", "k": 8}]
    result = dbdeid.run(spec(columns=columns, privacy=privacy))
    assert result.verified
    listed = rows(
        "SELECT released_value, level, len(leaves) FROM people_public_dictionary "
        "WHERE \"column\" = 'age' ORDER BY ALL"
    )
    meanings = {value: (level, leaves) for value, level, leaves in listed}
    assert len(meanings) == len(listed)
    assert "old" not in meanings
    assert meanings["old@1"] == (1, 10)
    assert meanings["old@2"] == (2, 30)


@pytest.mark.full
def test_levels_stay_within_their_limits() -> None:
    columns = small()["columns"] | {
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [10, 20, 40]},
            "min_level": 1,
            "max_level": 2,
        },
        "sex": {"role": "quasi_identifier", "hierarchy": "suppress", "max_level": 0},
    }
    for method in ({}, {"algorithm": "paper"}, {"algorithm": "mondrian"}):
        assert dbdeid.run(spec(method, columns=columns)).verified
        levels = rows(
            'SELECT "column", min(level), max(level) FROM people_public_dictionary GROUP BY 1'
        )
        found = {column: (low, high) for column, low, high in levels}
        assert found["sex"] == (0, 0), method
        assert 1 <= found["age"][0] <= found["age"][1] <= 2


def test_other_columns_stay_with_their_records() -> None:
    zoo.fill(wide)
    for age, wage in rows("SELECT age, wage FROM people_public"):
        true = wage // 100
        if age.isdigit():
            assert int(age) == true
        elif age != "*":
            low, high = age[1:-1].split(", ")
            assert int(low) <= true < int(high)
    before = rows("SELECT wage, illness FROM people ORDER BY ALL")
    assert rows("SELECT wage, illness FROM people_public ORDER BY ALL") == before


@pytest.mark.full
def test_several_sensitive_columns_hold_each_and_together() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("ALTER TABLE people ADD COLUMN ward VARCHAR")
        con.execute("UPDATE people SET ward = chr((65 + age % 4)::INT)")
    columns = small()["columns"] | {"ward": "sensitive"}
    privacy = [
        {"model": "k_anonymity", "k": K},
        {"model": "l_diversity", "column": ["illness", "ward"], "joint": True, "l": 4},
        {"model": "l_diversity", "column": "ward", "l": 3, "kind": "entropy"},
        {"model": "alpha_k", "column": "illness", "k": K, "alpha": 0.7},
    ]
    for method in ({}, {"algorithm": "mondrian"}, {"algorithm": "paper"}):
        assert dbdeid.run(spec(method, columns=columns, privacy=privacy)).verified
        for held in classes("(illness, ward)").values():
            assert len(held) >= 4
            assert len({ward for _, ward in held}) >= 3
            ill = Counter(illness for illness, _ in held.elements())
            assert max(ill.values()) <= 0.7 * ill.total()


@pytest.mark.full
@pytest.mark.parametrize("attacker", ["prosecutor", "marketer"])
def test_a_limited_risk_is_within_its_threshold(attacker: str) -> None:
    privacy = [{"model": "max_risk", "attacker": attacker, "threshold": 0.15}]
    result = dbdeid.run(spec(privacy=privacy))
    assert result.verified
    sizes = [held.total() for held in classes().values()]
    assert (len(sizes) / 200 if attacker == "marketer" else 1 / min(sizes)) <= 0.15


@pytest.mark.full
@pytest.mark.parametrize(
    "method",
    [{}, {"algorithm": "paper"}, {"algorithm": "mondrian"}],
    ids=["dealing", "paper", "mondrian"],
)
def test_people_with_several_records_are_counted_once(method: dict[str, Any]) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET name = 'person ' || (age % 70)")
        people = con.execute("SELECT count(DISTINCT name) FROM people").fetchone()
    result = dbdeid.run(spec(method, subject="name"))
    assert result.verified
    assert result.source_subjects == people[0] < 200
    with duckdb.connect("owner.duckdb") as con:
        # whose records a class holds is not told: at least k people could have them
        least = con.execute(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM people_public GROUP BY age, zip, sex)"
        ).fetchone()
    assert least[0] >= K
    assert result.smallest_class >= K
    assert verify_release(spec(method, subject="name")).verified


# -- the same again -------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    "models",
    [
        MODELS[:1],
        MODELS[:2],
        [*MODELS[:1], {"model": "l_diversity", "column": "illness", "l": 1.8, "kind": "entropy"}],
        [*MODELS[:2], {"model": "alpha_k", "column": "illness", "k": 4, "alpha": 0.5}],
        MODELS,
    ],
    ids=["k", "distinct", "entropy", "alpha", "closeness"],
)
def test_dealt_in_the_database_it_is_the_same_release(models: list[dict[str, Any]]) -> None:
    files = ("out.duckdb", "out.parquet")
    made = spec(output={"export": ["out.parquet"], "bounds": True}, privacy=models, **AWAY)
    if len(models) == 1:
        made["columns"]["illness"] = {"role": "sensitive", "accept": "homogeneity"}
    run_release(made)
    first = {name: Path(name).read_bytes() for name in files}
    made["method"]["engine"] = "sql"
    run_release(made)
    assert {name: Path(name).read_bytes() for name in files} == first


@pytest.mark.full
@pytest.mark.parametrize(
    "method",
    [ALGORITHMS[name] for name in ("dealing", "paper", "conditional_entropy", "mondrian")],
    ids=["dealing", "paper", "conditional_entropy", "mondrian"],
)
def test_neither_the_order_of_the_source_nor_threads_change_a_byte(
    method: dict[str, Any], place: Path
) -> None:
    exports = ["out.csv", *(["out.parquet"] if tiers.full else [])]
    output = {"export": exports}
    run_release(spec(method, output=output, **AWAY), settings=Settings(threads=1))
    files = ("out.duckdb", "out_dictionary.csv", *exports)
    first = {name: Path(name).read_bytes() for name in files}
    with duckdb.connect("owner.duckdb") as con:
        shuffled = con.execute("FROM people").fetchall()
        random.Random(3).shuffle(shuffled)
        con.execute("DELETE FROM people")
        con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", shuffled)
    run_release(spec(method, output=output, **AWAY), settings=Settings(threads=4))
    assert {name: Path(name).read_bytes() for name in files} == first


@pytest.mark.full
def test_a_second_run_draws_as_the_first_did() -> None:
    """Two releases that differ in their blocks alone would tell more than either."""
    made = spec({"algorithm": "paper"}, seed=None)
    del made["seed"]
    dbdeid.run(made)
    first = rows("FROM people_public")
    dbdeid.run(made)
    assert rows("FROM people_public") == first


# -- what is told ---------------------------------------------------------------------------------


def test_it_is_told_wherever_it_matters_that_levels_differ() -> None:
    made, result = zoo.fill(wide)
    assert result.to_dict()["recoding"] == "local"
    text = released(result)
    assert "generalized   class by class" in text
    assert f"blocks        {result.search['blocks']} by dealing" in text
    assert dbdeid.evaluate(made)["recoding"] == "local"
    levels = rows(
        'SELECT "column", count(DISTINCT level) FROM people_public_dictionary '
        "GROUP BY 1 ORDER BY 2 DESC"
    )
    assert levels[0][1] > 1
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        (kept,) = con.execute("SELECT record FROM deid.releases").fetchone()  # type: ignore[misc]
    record = from_json(json.loads(kept))
    for audience in ("internal", "public"):
        page = render(record, audience)
        assert "local: each class has levels of its own" in page
        assert "class by class" in page


def test_which_record_became_which_is_nowhere_kept() -> None:
    zoo.run(spec(**AWAY))
    for file in ("out.duckdb", "out.private.duckdb"):
        names = {name for (name,) in rows("FROM (SHOW ALL TABLES) SELECT name", file)}
        assert names <= {
            *("people_public", "people_public_dictionary"),
            *("releases", "hierarchies", "counterfeits", "clusters", "files", "frontiers"),
            *("published", "published_rows"),  # digests and numbers of classes
            "withdrawals",
        }
    kept = Path("out.private.duckdb").read_bytes()
    assert b"asthma" not in kept


TAMPERED = {
    "a value": "UPDATE main.people_public SET illness = 'plague' WHERE rowid = 0",
    "a record less": "DELETE FROM main.people_public WHERE rowid = 0",
    "a record twice": "INSERT INTO main.people_public FROM main.people_public LIMIT 1",
    "other levels": "UPDATE main.people_public SET sex = '*' WHERE rowid < 20",
}


@pytest.mark.full
@pytest.mark.parametrize("change", TAMPERED.values(), ids=list(TAMPERED))
def test_a_later_verification_finds_what_was_changed(change: str) -> None:
    made = spec()
    assert zoo.run(made).verified
    assert verify_release(made).verified
    with duckdb.connect("owner.duckdb") as con:
        con.execute(change)
    assert not verify_release(made).verified


@pytest.mark.full
def test_a_later_verification_finds_another_source() -> None:
    made = spec()
    zoo.run(made)
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET illness = 'cough' WHERE name = 'person 3'")
    found = verify_release(made)
    assert found.source_changed is not None
    assert "truthfulness" in found.source_changed.not_compared


@pytest.mark.full
def test_an_export_made_later_is_the_same() -> None:
    made = spec(output={"export": ["out.parquet", "out.csv"]})
    dbdeid.run(made)
    for ending in ("parquet", "csv"):
        export_release(made, Path(f"later.{ending}"))
        assert Path(f"later.{ending}").read_bytes() == Path(f"out.{ending}").read_bytes()


# -- what cannot be -------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every_algorithm
def test_what_no_block_can_hold_is_said_and_nothing_is_written(method: dict[str, Any]) -> None:
    models = [*MODELS[:2], {"model": "l_diversity", "column": "illness", "l": 3, "kind": "entropy"}]
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET illness = 'flu' WHERE age < 70 AND illness <> 'flu'")
    before = Path("owner.duckdb").read_bytes()
    models.append(MODELS[2])
    with pytest.raises(dbdeid.Unsatisfiable, match="the whole source as one block does not hold"):
        dbdeid.run(spec(method, privacy=models, **AWAY))
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["owner.duckdb"]
    assert Path("owner.duckdb").read_bytes() == before


def test_limits_of_levels_that_leave_small_classes_are_said() -> None:
    columns = small()["columns"] | {
        "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}, "max_level": 0}
    }
    with pytest.raises(dbdeid.Unsatisfiable, match=r"at the highest levels .* of 200 records"):
        dbdeid.run(spec(columns=columns))
