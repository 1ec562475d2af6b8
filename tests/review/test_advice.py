"""What a check says beyond that a spec fits: uniqueness, costs, advice, earlier runs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.cli.text.release.verdict import checked
from dbdeid.commands.check import check
from dbdeid.lattice.exploration import exhaustive, explore
from dbdeid.methods.common.levels import levels_of
from dbdeid.methods.common.searching import Ground, lattice_of
from dbdeid.methods.registry import ready
from dbdeid.privacy import KAnonymity, KMap, LDiversity, MaxRisk, TCloseness
from dbdeid.release.run import run
from dbdeid.review import advice
from dbdeid.review.method_comparison import Comparison, Method
from dbdeid.review.method_comparison import advice as on_methods
from dbdeid.review.model_costs import named
from dbdeid.workspace.workplace import workplace

QI = "quasi_identifier"


def spec(folder: Path, **more: Any) -> dict[str, Any]:
    """A table of 60 records, of 20 people, and a spec for it."""
    file = folder / "owner.duckdb"
    if not file.exists():
        with duckdb.connect(str(file)) as con:
            con.execute(
                "CREATE TABLE people AS SELECT i // 3 AS person, i * 7 % 23 AS age, i % 2 AS sex, "
                "'r' || (i * 5 % 4) AS region, 'd' || (i % 9) AS illness FROM range(60) t(i)"
            )
    return {
        "release": "people_public",
        "database": str(file),
        "target": str(folder / "people_public.duckdb"),
        "source": "people",
        "columns": {
            "person": "identifier",
            "age": {"role": QI, "hierarchy": {"intervals": [4, 12], "lower": 0, "upper": 24}},
            "sex": {"role": QI, "type": "categorical", "hierarchy": "suppress"},
            "region": {"role": QI, "hierarchy": "suppress"},
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "accept": "rows",
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 0.1},
    } | more


Looked = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Looked:
    """The folder of the spec, and what a check finds before any run; nobody changes either."""
    folder = tmp_path_factory.mktemp("looked")
    return folder, check(spec(folder))


def unique(folder: Path, columns: tuple[str, ...]) -> int:
    """Records that no other shares some columns with, as the engine counts them."""
    named = ", ".join(columns)
    with duckdb.connect(str(folder / "owner.duckdb"), read_only=True) as con:
        query = f"SELECT count(*) FROM (FROM people SELECT {named} GROUP BY ALL HAVING count(*)=1)"
        return int(con.execute(query).fetchall()[0][0])


@pytest.mark.full
def test_uniqueness_is_what_the_engine_counts(looked: Looked) -> None:
    folder, found = looked
    told, names = found["uniqueness"], ("age", "sex", "region")
    assert told["records"] == 60
    assert told["unique_records"] == unique(folder, names) == found["risk"]["unique_records"]
    for c in told["columns"]:
        others = tuple(n for n in names if n != c["name"])
        assert c["alone"] == unique(folder, (c["name"],))
        assert c["without"] == unique(folder, others)
    for some in told["sets"]:
        most = max(unique(folder, s) for s in combinations(names, len(some["columns"])))
        assert some["unique_records"] == most == unique(folder, tuple(some["columns"]))


def test_subjects_count_where_they_are_declared(tmp_path: Path) -> None:
    given = {k: v for k, v in spec(tmp_path).items() if k != "accept"} | {"subject": "person"}
    found = check(given)
    assert found["uniqueness"]["unique_records"] == found["risk"]["unique_records"]


@pytest.mark.full
def test_a_run_has_the_transformation_whose_costs_were_told_and_is_remembered(
    tmp_path: Path, looked: Looked
) -> None:
    _, found = looked
    made = run(spec(tmp_path))
    cost = found["cost"]
    assert cost["proven_optimal"]
    assert cost["transformation"] == made.transformation
    for c in cost["columns"]:
        assert 0 <= c["others_without"] <= c["others_with"] + 1e-12 <= 1 + 1e-12
    assert found["earlier"] == []
    other = spec(tmp_path, release="other", target=str(tmp_path / "other.duckdb"))
    later = check(other)
    (one,) = later["earlier"]
    assert one["release"] == "people_public"
    assert "released before from the same source: people_public (" in checked(later)
    with duckdb.connect(other["database"]) as con:
        con.execute("CREATE TABLE strangers AS FROM people")
    assert check(other | {"source": "strangers"})["earlier"] == []


@pytest.mark.full
def test_advice_names_what_makes_records_unique(looked: Looked) -> None:
    _, found = looked
    first = found["advice"][0]
    assert first.startswith("age: ")
    assert "of the unique records would not be unique without it" in first
    share, level, gone = map(
        int,
        re.match(r"age: (\d+)% .* `min_level: (\d)`: (\d+)% are not unique then$", first).groups(),  # type: ignore[union-attr]
    )
    width = (1, 4, 12)[level]
    whole, without, coarser = (
        unique(looked[0], columns)
        for columns in (
            ("age", "sex", "region"),
            ("sex", "region"),
            (f"age // {width}", "sex", "region"),
        )
    )
    assert share == round(100 * (whole - without) / whole)
    assert gone == round(100 * (whole - coarser) / whole)
    drop, start = found["changes"][0]
    assert drop == {"column": "age", "min_level": None, "method": None}
    assert start == {"column": "age", "min_level": level, "method": None}
    assert len(found["changes"]) == len(found["advice"])
    text = checked(found)
    assert "what to change first\n    1. age: " in text
    assert "unique by it alone" in text


@pytest.mark.full
def test_a_column_that_singles_everybody_out_is_named_though_another_does_too(
    tmp_path: Path,
) -> None:
    """Without either of them all are unique still, by the other."""
    given = spec(tmp_path)
    with duckdb.connect(given["database"]) as con:
        con.execute(
            "CREATE TABLE beds AS SELECT *, 7 * rowid AS bed, 9 * rowid AS chart FROM people"
        )
    both = {name: {"role": QI, "hierarchy": {"intervals": [100]}} for name in ("bed", "chart")}
    asked = given | {"source": "beds", "columns": given["columns"] | both}
    advised = check(asked)["advice"]
    assert advised[0].startswith("bed: 100% of the records are unique by it alone")
    assert advised[1].startswith("chart: 100% of the records are unique by it alone")


@pytest.mark.full
def test_a_level_that_is_there_is_not_advised(tmp_path: Path) -> None:
    columns = spec(tmp_path)["columns"]
    columns["age"] |= {"min_level": 1}
    advised = check(spec(tmp_path, columns=columns))["advice"]
    assert not any("`min_level: 1`" in text for text in advised if text.startswith("age: "))


@pytest.mark.full
def test_large_sources_are_looked_at_when_asked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(advice, "QUICK", 0)
    found = check(spec(tmp_path))
    assert found["uniqueness"] is not None
    assert found["cost"] is None
    assert "check --deep" in checked(found)
    assert check(spec(tmp_path), deep=True)["cost"] is not None
    monkeypatch.setattr(advice, "LARGE", 0)
    assert check(spec(tmp_path))["uniqueness"] is None
    assert check(spec(tmp_path), deep=True)["uniqueness"] is not None


def test_models_that_nothing_holds_have_no_costs(tmp_path: Path) -> None:
    columns = spec(tmp_path)["columns"]
    columns["age"] |= {"max_level": 0}
    found = check(spec(tmp_path, columns=columns))
    assert found["cost"] is None


def test_no_cell_of_a_sensitive_column_is_told(looked: Looked) -> None:
    text = checked(looked[1])
    assert not any(f"d{i}" in text.replace("dbdeid", "") for i in range(9))


MODELS: list[list[dict[str, Any]]] = [
    [{"model": "l_diversity", "column": "illness", "l": 3}],
    [{"model": "l_diversity", "column": "illness", "kind": "entropy", "l": 2}],
    [{"model": "l_diversity", "column": "illness", "kind": "recursive", "l": 2, "c": 3}],
    [{"model": "t_closeness", "column": "illness", "t": 0.4, "distance": "equal"}],
    [{"model": "alpha_k", "column": "illness", "alpha": 0.5, "k": 4}],
    [{"model": "basic_beta", "column": "illness", "beta": 2.0}],
    [{"model": "delta_disclosure", "column": "illness", "delta": 1.5}],
    [{"model": "max_risk", "attacker": "prosecutor", "threshold": 0.2}],
    [{"model": "max_risk", "attacker": "marketer", "threshold": 0.1}],
    [{"model": "k_map", "k": 6, "population": "people"}],
    [{"model": "delta_presence", "min": 0.0, "max": 1.0, "population": "people"}],
    [
        {"model": "l_diversity", "column": "illness", "l": 2},
        {"model": "t_closeness", "column": "illness", "t": 0.6, "distance": "equal"},
    ],
]


def least_loss(given: dict[str, Any]) -> float:
    """The least loss of all transformations, each looked at: brute force."""
    file = read(given)
    with workplace(file, None, database=None, settings=None, writing=False) as work:
        prepared = ready(bind(file, work.session), work.session)
        parameters = levels_of(prepared.parameters)
        ground = Ground.of(work.session, lattice_of(prepared.quasi_identifiers), parameters)
        problem = ground.problem(parameters, ground.checker(parameters))
        found = explore(exhaustive, problem)
    assert found.node is not None
    assert found.checked == ground.lattice.size
    return found.score


@pytest.mark.sampled(12)
@pytest.mark.parametrize("models", MODELS, ids=lambda m: " ".join(x["model"] for x in m))
def test_a_model_costs_what_all_transformations_lose_with_it_and_without(
    tmp_path: Path, models: list[dict[str, Any]]
) -> None:
    privacy = [{"model": "k_anonymity", "k": 3}, *models]
    given = spec(tmp_path, privacy=privacy)
    told = check(given)["cost"]["models"]
    assert len(told) == len(privacy)
    with_all = least_loss(given)
    for number, one in enumerate(told):
        rest = [model for i, model in enumerate(privacy) if i != number]
        if number == 0:
            rest = [{"model": "k_anonymity", "k": 2}, *rest]
        assert one["loss_with"] == pytest.approx(with_all)
        assert one["loss_without"] == pytest.approx(least_loss(given | {"privacy": rest}))
        assert one["costs"] == pytest.approx(one["loss_with"] - one["loss_without"])
        assert one["costs"] >= -1e-9
        assert one["proven_optimal"]


@pytest.mark.full
def test_the_model_that_costs_most_is_advised_on_by_its_name(tmp_path: Path) -> None:
    privacy = [
        {"model": "k_anonymity", "k": 2},
        {"model": "l_diversity", "column": "illness", "l": 8},
    ]
    found = check(spec(tmp_path, privacy=privacy))
    (one,) = found["cost"]["models"]  # k = 2 is the least that hides anyone
    assert one["model"] == "l = 8 on illness"
    said = (
        f"l = 8 on illness costs {one['costs']:.2f} of the detail: {one['loss_with']:.2f} is lost"
    )
    assert any(text.startswith(said) for text in found["advice"])
    assert "l = 8 on illness  " in checked(found)


def test_models_are_named_as_people_say_them() -> None:
    names = {
        "k = 5 in place of k = 2": KAnonymity(model="k_anonymity", k=5),
        "entropy l = 2 on a": LDiversity(model="l_diversity", column="a", l=2, kind="entropy"),
        "t = 0.3 on a and b": TCloseness(
            model="t_closeness", column=("a", "b"), t=0.3, distance="equal"
        ),
        "k_map k = 4 in census": KMap(model="k_map", k=4, population="census"),
        "prosecutor risk = 0.1": MaxRisk(model="max_risk", attacker="prosecutor", threshold=0.1),
    }
    for name, model in names.items():
        assert named(model) == name


def wide(folder: Path, rows: int = 3_000) -> dict[str, Any]:
    """Many quasi-identifiers of few people: what one transformation of all cannot keep."""
    file = folder / "wide.duckdb"
    with duckdb.connect(str(file)) as con:
        columns = ", ".join(f"'v' || (hash(i * 31 + {n}) % {3 + n}) AS c{n}" for n in range(7))
        con.execute(
            f"CREATE TABLE wide AS SELECT i // 2 AS person, {columns}, "
            f"'d' || (i % 4) AS illness FROM range({rows}) t(i)"
        )
    return {
        "release": "wide_public",
        "database": str(file),
        "target": str(folder / "wide_public.duckdb"),
        "source": "wide",
        "columns": {
            "person": "identifier",
            **{f"c{n}": {"role": QI, "hierarchy": "suppress"} for n in range(7)},
            "illness": {"role": "sensitive"},
        },
        "accept": "rows",
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "illness", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
    }


@pytest.mark.full
def test_another_method_that_loses_much_less_is_told(tmp_path: Path) -> None:
    given = wide(tmp_path)
    before = Path(given["database"]).read_bytes()
    found = check(given)
    own, other = found["methods"]
    assert (own["method"], other["method"]) == ("full_domain", "local_recoding")
    assert own["declared"]
    assert not other["declared"]
    assert own["sample_rows"] == other["sample_rows"] == 2_000
    assert other["loss"] < own["loss"]
    assert other["query_error"] < own["query_error"]
    assert own["questions"] == 100
    assert check(given)["methods"] == found["methods"]  # the same sample, the same questions
    text = checked(found)
    assert (
        "what each method would give, on a sample of 2,000 records (on all, both lose less)" in text
    )
    assert "full_domain (declared)" in text
    assert Path(given["database"]).read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["wide.duckdb"]


@pytest.mark.full
def test_all_records_of_a_small_source_are_tried_as_a_run_does(tmp_path: Path) -> None:
    """Without a sample the loss is that of the releases themselves."""
    given = wide(tmp_path, rows=400)
    for method in (given["method"], {"name": "local_recoding"}):
        asked = given | {"method": method}
        own = check(asked)["methods"][0]
        assert own["sample_rows"] == 400
        assert own["loss"] == pytest.approx(run(asked).loss)


def test_subjects_are_sampled_whole_and_counted(tmp_path: Path) -> None:
    given = {k: v for k, v in wide(tmp_path).items() if k != "accept"} | {"subject": "person"}
    own, other = check(given)["methods"]
    assert own["sample_rows"] == other["sample_rows"] == 2_000


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"null_policy": "exclude"}, "local_recoding does not take null_policy: exclude"),
        ({"method": {"name": "microaggregation"}}, "method microaggregation promises something"),
        (
            {
                "method": {
                    "name": "full_domain",
                    "transformation": {"age": 3, "sex": 1, "region": 1},
                }
            },
            "`transformation` in the spec names the levels",
        ),
        (
            {"privacy": [{"model": "k_map", "k": 3, "population": "people"}]},
            "a sample says nothing of a model over a population",
        ),
    ],
)
def test_what_cannot_be_compared_is_not(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    given = spec(tmp_path, **more)
    if "microaggregation" in why:
        given["columns"] = {"age": QI, **dict.fromkeys(("sex", "region"), "drop")} | {
            name: c for name, c in given["columns"].items() if name in ("person", "illness")
        }
    found = check(given)
    assert found["methods"] == []
    assert found["methods_left_out"].startswith(why)
    assert f"not compared with other methods: {why}" in checked(found)


def test_another_method_is_advised_only_where_nothing_gets_worse() -> None:
    own = Method("full_domain", True, 0.6, 0.9, 100, 2_000)
    better = Method("local_recoding", False, 0.2, 0.05, 100, 2_000)
    ((named, said),) = on_methods(Comparison((own, better)))
    assert named == better.method
    assert said.startswith("`method: local_recoding` loses 0.20 of the detail where full_domain")
    assert "5% from the true ones on average, not 90%" in said
    for other in (
        replace(better, query_error=1.0),
        replace(better, loss=0.5, query_error=0.8),
        replace(better, loss=None, query_error=None, why="too slow"),
    ):
        assert not list(on_methods(Comparison((own, other))))
    assert not list(on_methods(Comparison((own, better)), lost=0.01))
    little = replace(own, loss=0.04, query_error=0.02)
    assert not list(on_methods(Comparison((little, replace(better, loss=0.01, query_error=0.01)))))
