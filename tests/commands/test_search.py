"""Searching without releasing: what a run would choose, and what other demands would cost."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import PEOPLE, owned, small

import dbdeid
from dbdeid.commands import search as search_module
from dbdeid.commands.report import write_report
from dbdeid.commands.search import Grid, search
from dbdeid.errors import DataError, NothingFound, Unsatisfiable
from dbdeid.lattice.exploration import Exploration, exhaustive
from dbdeid.methods.common import searching as sampled
from dbdeid.methods.full_domain import searching
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.release.result import RunResult
from dbdeid.spec.method import full_domain as full_domain_spec

ENGINES = ("numpy", "sql")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path / "owner.duckdb"


def spec(**more: Any) -> dict[str, Any]:
    return small(database="owner.duckdb", evaluate={"metrics": []}, **more)


def method(**given: Any) -> dict[str, Any]:
    return {"method": {"name": "full_domain", "suppression_limit": 0.1, **given}}


@pytest.fixture(autouse=True)
def more_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more: one that gives up at once, and one that looks at everything."""
    known = {**SEARCHES, "gives_up": gives_up, "all": exhaustive}
    monkeypatch.setattr(searching, "SEARCHES", known)
    monkeypatch.setattr(full_domain_spec, "SEARCHES", known)


def gives_up(exploration: Exploration) -> None:
    """A search that looks at one transformation only, where all is as it was."""
    exploration.check(exploration.problem.lattice.bottom)


def prints() -> dict[str, bytes]:
    return {p.name: hashlib.sha256(p.read_bytes()).digest() for p in Path().iterdir()}


def ran(**more: Any) -> RunResult:
    """The same spec released in memory, from a copy of the table."""
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        return dbdeid.run(small(evaluate={"metrics": []}, **more), con)


@cache
def optimum() -> RunResult:
    """What the spec releases where no more is asked."""
    return ran()


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_finds_what_a_run_chooses_and_writes_nothing(people: Path, engine: str) -> None:
    before = prints()
    found = search(spec(**method(engine=engine)))
    assert prints() == before
    made = ran(**method(engine=engine))
    assert found["transformation"] == made.transformation
    assert found["loss"] == pytest.approx(made.loss, rel=1e-12)
    assert found["score"] == found["loss"]
    assert (found["suppressed_rows"], found["classes"], found["smallest_class"]) == (
        made.suppressed_rows,
        made.classes,
        made.smallest_class,
    )
    assert found["search"] == {k: v for k, v in made.search.items() if k != "seconds"}
    assert (found["k"], found["suppression_limit"]) == (2, 0.1)


@pytest.mark.full
def test_a_file_is_looked_at_before_its_first_run_makes_a_database(people: Path) -> None:
    with duckdb.connect(str(people)) as con:
        con.execute("COPY people TO 'people.csv'")
    on_file = small(source="people.csv", database="new.duckdb")
    assert dbdeid.check(on_file)["source_rows"] > 0
    found = search(on_file)
    assert not Path("new.duckdb").exists()
    assert dbdeid.run(on_file).transformation == found["transformation"]
    assert Path("new.duckdb").exists()


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_each_demand_of_a_grid_is_what_a_run_of_its_own_finds(people: Path, engine: str) -> None:
    ks = tiers.some((10, 3, 500), 2)
    grid = Grid(ks, (0.1, 0.0))
    cells = search(spec(**method(engine=engine)), grid=grid)["cells"]
    asked = [(cell["k"], cell["suppression_limit"]) for cell in cells]
    assert asked == list(itertools.product(sorted(ks), (0.0, 0.1)))
    for cell in cells:
        demand = method(engine=engine, suppression_limit=cell["suppression_limit"])
        privacy = [{"model": "k_anonymity", "k": cell["k"]}]
        if cell["k"] == 500:
            assert cell["transformation"] is None
            assert cell["search"]["proven_optimal"]
            with pytest.raises(Unsatisfiable):
                ran(privacy=privacy, **demand)
            continue
        made = ran(privacy=privacy, **demand)
        assert cell["transformation"] == made.transformation
        assert cell["loss"] == pytest.approx(made.loss, rel=1e-12)
        assert cell["suppressed_rows"] == made.suppressed_rows
        assert cell["search"]["checked"] == made.search["checked"]


def test_a_grid_of_one_kind_keeps_what_the_spec_says_of_the_other(people: Path) -> None:
    assert [
        (c["k"], c["suppression_limit"]) for c in search(spec(), grid=Grid(ks=(4, 2)))["cells"]
    ] == [(2, 0.1), (4, 0.1)]
    limits = search(spec(), grid=Grid(limits=(0.2, 0.0)))["cells"]
    assert Grid.of({"k": [4, 2]}) == Grid(ks=(4, 2))
    assert Grid.of({"suppression": [0, 0.2]}) == Grid(limits=(0.0, 0.2))
    for wrong in ({"ks": [3]}, {"k": [0]}, [3, 5]):
        with pytest.raises(DataError, match=r"grid|--k"):
            search(spec(), grid=wrong)
    assert [(c["k"], c["suppression_limit"]) for c in limits] == [(2, 0.0), (2, 0.2)]


@pytest.mark.full
def test_neighbours_are_what_applying_them_gives(people: Path) -> None:
    found = search(spec())
    node, tops = found["transformation"], {c["name"]: c["max_level"] for c in found["columns"]}
    expected = {
        (name, level)
        for name, chosen in node.items()
        for level in (chosen - 1, chosen + 1)
        if 0 <= level <= tops[name]
    }
    assert {(n["column"], n["level"]) for n in found["neighbours"]} == expected
    for neighbour in tiers.some(found["neighbours"], 4):
        other = {**node, neighbour["column"]: neighbour["level"]}
        if neighbour["suppressed_rows"] == 200:  # then there is nothing to release
            with pytest.raises(Unsatisfiable, match="would suppress all 200"):
                ran(**method(suppression_limit=1.0, transformation=other))
            continue
        made = ran(**method(suppression_limit=1.0, transformation=other))
        assert neighbour["loss"] == pytest.approx(made.loss, rel=1e-12)
        assert neighbour["suppressed_rows"] == made.suppressed_rows
        assert neighbour["feasible"] == (made.suppressed_rows <= 20)
        assert neighbour["accepted"] == neighbour["feasible"]


@pytest.mark.full
def test_levels_limits_and_weights_reach_the_search(people: Path) -> None:
    limited = spec()
    limited["columns"]["age"] |= {"min_level": 1, "max_level": 2}
    limited["columns"]["sex"]["weight"] = 1000.0
    free, found = search(spec()), search(limited)
    assert found["lattice_size"] == free["lattice_size"] // 4 * 2
    age, _, sex = found["columns"]
    assert (age["min_level"], age["max_level"], age["height"]) == (1, 2, 3)
    assert 1 <= found["transformation"]["age"] <= 2
    assert sex["weight"] == 1000.0
    assert found["transformation"]["sex"] == 0  # the last to be given up
    assert {n["level"] for n in found["neighbours"] if n["column"] == "age"} <= {1, 2}


def test_a_subject_is_what_is_counted(people: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE TABLE visits AS FROM people UNION ALL FROM people LIMIT 300")
    found = search(spec(source="visits", subject="name"))
    assert (found["source_rows"], found["source_subjects"]) == (300, 200)
    assert found["suppressed_subjects"] <= 20
    assert found["smallest_class"] >= 2


# -- demands beside others ---------------------------------------------------------------------


@pytest.mark.full
def test_other_models_stay_and_k_is_asked_beside_them(people: Path) -> None:
    diverse = {"model": "l_diversity", "column": "illness", "l": 3}
    found = search(spec(privacy=[diverse]), grid=Grid(ks=(2, 5)))
    assert found["warnings"] == [
        "no k_anonymity is declared: each k was asked beside the declared models",
        "another model asks for classes of 3: a smaller k changes nothing",
    ]
    for cell, k in tiers.some([*zip(found["cells"], (2, 5), strict=True)], 2):
        made = ran(privacy=[diverse, {"model": "k_anonymity", "k": k}])
        assert cell["transformation"] == made.transformation
        assert cell["k"] == k


def test_a_known_transformation_does_not_stop_a_search(people: Path) -> None:
    known = {"age": 3, "zip": 3, "sex": 1}
    found = search(spec(**method(transformation=known)))
    assert found["transformation"] == search(spec())["transformation"] != known
    assert "`transformation` of the spec is not looked at" in found["warnings"][0]


@pytest.mark.full
def test_a_class_of_suppressed_records_that_are_kept_must_hold_too(people: Path) -> None:
    found = search(spec(**method(suppressed="keep")))
    for neighbour in found["neighbours"]:
        assert neighbour["feasible"] or not neighbour["accepted"]


# -- nothing found -----------------------------------------------------------------------------


def test_that_none_satisfies_is_an_error_of_one_search_and_a_line_of_a_grid(people: Path) -> None:
    with pytest.raises(Unsatisfiable, match="k can be at most 200"):
        search(spec(privacy=[{"model": "k_anonymity", "k": 201}]))
    (cell,) = search(spec(), grid=Grid(ks=(201,)))["cells"]
    assert (cell["transformation"], cell["loss"], cell["suppressed_rows"]) == (None, None, None)
    assert cell["search"]["gap"] is cell["search"]["lower_bound"] is None  # no JSON has infinity


def test_a_search_that_finds_none_proves_nothing(people: Path) -> None:
    before = prints()
    for call in (search, dbdeid.run):
        with pytest.raises(NothingFound) as refused:
            call(spec(**method(search="gives_up", suppression_limit=0.0)))
        assert refused.value.exit_code == 3
        assert "search gives_up found no transformation that satisfies, in 1 of 32; it is not" in (
            refused.value.message
        )
        assert refused.value.hint.startswith("use `search: optimal`, or use weaker models")
    (cell,) = search(spec(**method(search="gives_up")), grid=Grid(limits=(0.0,)))["cells"]
    assert cell["transformation"] is None
    assert not cell["search"]["proven_optimal"]
    with pytest.raises(Unsatisfiable):  # which is known without any search
        search(spec(privacy=[{"model": "k_anonymity", "k": 201}], **method(search="gives_up")))
    assert prints() == before


@pytest.mark.full
def test_a_time_limit_counts_when_there_is_something_whatever_the_search(people: Path) -> None:
    for name in SEARCHES:
        found = search(spec(**method(search=name, time_limit=1e-9)))
        assert found["search"]["out_of_time"]
        assert found["transformation"] != {"age": 3, "zip": 3, "sex": 1}
    assert search(spec(**method(search="gives_up", time_limit=60)))["loss"] < 1


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_levels_of_samples_are_released_when_the_time_is_up(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = optimum()
    monkeypatch.setattr(sampled, "LEAST", dict.fromkeys(ENGINES, 2))
    found = ran(**method(engine=engine, time_limit=1e-9))
    assert found.verified
    assert found.search["out_of_time"]
    assert best.loss <= found.loss < 1
    again = ran(**method(engine=engine))  # samples without a limit change nothing
    assert again.transformation == best.transformation
    assert again.search["proven_optimal"]


# A class of any part of these records has other shares of illnesses than all of them.
FAR = {
    "privacy": [
        {"model": "k_anonymity", "k": 2},
        {"model": "t_closeness", "column": "illness", "t": 0.001},
    ],
    "columns": {**small()["columns"], "illness": "sensitive"},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_but_stars_for_want_of_time_is_refused(people: Path, engine: str) -> None:
    before = prints()
    hurried = spec(**FAR, **method(engine=engine, suppression_limit=0.0, time_limit=1e-9))
    for call in (dbdeid.run, search):
        with pytest.raises(NothingFound) as refused:
            call(hurried)
        assert refused.value.exit_code == 3
        assert "it had found nothing but `*` (or one value for all" in refused.value.message
        assert re.search(r"checked \d of 32 transformations in \d+\.\d s", refused.value.message)
        assert refused.value.hint.startswith("raise `time_limit`")
    assert prints() == before
    (line,) = re.findall(r"transformation: \{.*\}", refused.value.hint)
    assert line == "transformation: {age: 3, zip: 2, sex: 1}"  # all ZIP codes begin alike
    (cell,) = search({**hurried}, grid=Grid(ks=(2,)))["cells"]
    assert cell["classes"] == 1  # a line of a table is no release


@pytest.mark.full
def test_nothing_but_stars_that_is_proven_or_given_is_released() -> None:
    unhurried = {**FAR, **method(suppression_limit=0.0)}
    proven = ran(**unhurried)
    assert proven.search["proven_optimal"]
    assert proven.transformation == {"age": 3, "zip": 2, "sex": 1}
    hurried = ran(**FAR, **method(suppression_limit=0.0, time_limit=60))
    assert hurried.search["proven_optimal"]
    given = {**FAR, **method(suppression_limit=0.0, transformation=proven.transformation)}
    (told,) = ran(**given).useless
    assert "`transformation` in the spec says so" in told


def test_what_a_run_would_ask_is_told(people: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("ALTER TABLE people ADD COLUMN note VARCHAR DEFAULT 'x'")
    columns = {**small()["columns"], "note": "sensitive"}
    (told,) = search(spec(columns=columns))["warnings"]
    assert told.startswith("a run will ask, columns.note: sensitive column 'note' has no diversity")


@pytest.mark.full
def test_too_many_transformations_for_a_proof_are_told(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(33)]
    with duckdb.connect() as con:
        picked = ", ".join(f"(i // {i % 7 + 1} % 2)::VARCHAR AS {n}" for i, n in enumerate(names))
        con.execute(f"CREATE TABLE people AS SELECT {picked} FROM range(200) t(i)")
        of_two = {"role": "quasi_identifier", "hierarchy": "suppress"}
        wide = small(columns=dict.fromkeys(names, of_two))
        assert any("too many for a proof" in w for w in dbdeid.check(wide, con)["warnings"])
        found = search(wide, con)
        assert any("too many for a proof" in w for w in found["warnings"])
        assert not found["search"]["proven_optimal"]
        assert not found["search"]["out_of_time"]
        few = {n: of_two if i < 32 else "drop" for i, n in enumerate(names)}
        found = search({**wide, "columns": few}, con)
        assert not any("too many" in w for w in found["warnings"])


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_whose_time_is_up_tells_how_far_the_optimum_may_be(engine: str) -> None:
    best, found = optimum(), ran(**method(engine=engine, time_limit=1e-9))
    assert found.verified
    assert found.search["out_of_time"]
    assert found.search["checked"] < best.search["checked"]
    assert found.search["time_limit"] == 1e-9
    assert not found.search["proven_optimal"]
    assert found.loss * (1 - found.search["gap"]) <= best.loss
    assert found.search["lower_bound"] < best.loss <= found.loss < 1
    assert best.search["gap"] == 0


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_every_search_makes_releases_and_claims_no_more_than_is_so(name: str, engine: str) -> None:
    best, found = optimum(), ran(**method(search=name, engine=engine))
    assert found.verified
    assert found.search["name"] == name
    assert found.search["lower_bound"] <= best.loss + 1e-12
    assert found.loss * (1 - found.search["gap"]) <= best.loss + 1e-12
    if found.search["proven_optimal"]:
        assert found.transformation == best.transformation


# -- pages -------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_page_is_drawn_beside_the_spec_or_where_it_is_asked_for(people: Path) -> None:
    assert search(spec(), page=True)["page"] == str(Path.cwd() / "people_public_search.html")
    found = search(spec(), grid=Grid(ks=(2, 3)), page=Path("grid.html"))
    assert found["page"] == "grid.html"
    text = Path("grid.html").read_text(encoding="utf-8")
    assert "What each demand costs" in text
    assert "do not publish" in text
    assert set(prints()) == {"owner.duckdb", "people_public_search.html", "grid.html"}
    with pytest.raises(DataError, match="no such folder"):
        search(spec(), page=Path("nowhere/page.html"))


@pytest.mark.full
def test_a_page_replaces_no_file_of_its_spec(people: Path) -> None:
    Path("spec.yml").write_text(json.dumps(spec(target="out.duckdb")))
    dbdeid.run("spec.yml")
    before = prints()
    for name in ("spec.yml", "owner.duckdb", "out.duckdb", "out.private.duckdb"):
        for write in (
            lambda path: search("spec.yml", page=path),
            lambda path: write_report(Path("spec.yml"), "internal", path),
        ):
            with pytest.raises(DataError, match="belongs to this spec"):
                write(Path(name))
    assert prints() == before


def test_a_page_replaces_none_but_a_page(people: Path) -> None:
    Path("queries.sql").write_text("SELECT 1")
    Path("source.csv").write_text("age,sex\n1,m\n")
    Path("other.html").write_text("<!doctype html>\n<html><head></head></html>")
    before = prints()
    for name in ("queries.sql", "source.csv", "other.html"):
        with pytest.raises(DataError, match="is there already, and is no page"):
            search(spec(), page=Path(name))
    assert prints() == before
    for _ in range(2):
        search(spec(), page=Path("page.html"))
    assert Path("page.html").stat().st_size > 1000


def test_of_many_points_those_that_stand_out_are_drawn(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "DRAWN", 3)
    found = search(spec(**method(search="all")), page=Path("page.html"))
    text = Path("page.html").read_text(encoding="utf-8")
    (told,) = re.findall(r"Of 32 checked transformations (\d+) are drawn", text)
    drawn = re.findall(r"<title>(age \d.*)\n.*</title></path>", unescape(text))
    assert len(drawn) == int(told) < 32
    node = found["transformation"]
    around = [{**node, n["column"]: n["level"]} for n in found["neighbours"]]
    for one in (node, *around):
        assert ", ".join(f"{name} {level}" for name, level in one.items()) in drawn


@pytest.mark.full
def test_a_page_shows_no_cell(people: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET illness = 'canary ' || illness, zip = 'Z' || zip")
    search(spec(), page=Path("page.html"))
    text = Path("page.html").read_text(encoding="utf-8")
    assert "canary" not in text
    assert "Z10" not in text
    assert "person " not in text
    assert "zip" in text


def test_a_page_is_drawn_where_nothing_satisfies(people: Path) -> None:
    search(spec(), grid=Grid(ks=(201,)), page=Path("none.html"))
    assert "No transformation satisfies: that is proven" in Path("none.html").read_text()


# -- lists -------------------------------------------------------------------------------------


def test_lists_of_a_grid() -> None:
    assert Grid.parse("3, 5,10", "0,0.02,1") == Grid((3, 5, 10), (0.0, 0.02, 1.0))
    assert not Grid.parse(None, None)
    for given in ("", "3,,5", "0", "3,03", "2.0", "-1", "x"):
        with pytest.raises(DataError, match="--k"):
            Grid.parse(given, None)
    for given in ("", "1.01", "-0.1", "0,0.0", "nan", "1%"):
        with pytest.raises(DataError, match="--suppression"):
            Grid.parse(None, given)


@pytest.mark.parametrize(
    ("option", "word", "why"),
    [
        ("--k", "0", "whole numbers from 1"),
        ("--k", "x", "whole numbers from 1"),
        ("--suppression", "2", "shares from 0 to 1"),
        ("--suppression", "5%", "write 5% as 0.05"),
    ],
)
def test_a_list_says_what_it_takes(option: str, word: str, why: str) -> None:
    given = {"--k": (word, None), "--suppression": (None, word)}[option]
    with pytest.raises(DataError, match=f"{option}: '{word}'.*{why}"):
        Grid.parse(*given)


@pytest.mark.usefixtures("people")
def test_a_method_that_suppresses_nothing_is_not_searched() -> None:
    with pytest.raises(dbdeid.SpecError, match="counterfeit suppresses nothing"):
        search(spec(method="counterfeit"))


@pytest.mark.full
@pytest.mark.usefixtures("people")
def test_what_relocation_would_move_is_what_is_shown_as_suppressed() -> None:
    moving = {"name": "relocation", "limit": 0.1}
    found = search(spec(method=moving))
    assert any("moves the records that are shown as suppressed" in w for w in found["warnings"])
    made = ran(method=moving)
    assert found["transformation"] == made.transformation
    assert found["suppressed_rows"] == made.relocated_rows > 0
    with pytest.raises(dbdeid.SpecError, match="compare what is suppressed"):
        search(spec(method=moving), grid=Grid((3,), ()))
