"""A release that keeps its promises because nothing is left of it: said first, everywhere."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zoo

from dbdeid.bind.read import read
from dbdeid.cli.text.release.verdict import released
from dbdeid.commands.report import write_report
from dbdeid.errors import ExpectationError, SpecError
from dbdeid.evaluation.usefulness import asked
from dbdeid.release.run import run

QI = "quasi_identifier"
LEAF = {"role": QI, "hierarchy": "suppress", "reason": "made up"}


@pytest.fixture(autouse=True)
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)


def owned() -> None:
    """A table of 40 people, no two alike."""
    with duckdb.connect("owner.duckdb") as con:
        con.execute(
            "CREATE TABLE people AS SELECT i AS age, 'z' || i AS zip, 's' || (i % 2) AS sex, "
            "'d' || (i % 5) AS illness FROM range(40) t(i)"
        )


def spec(**more: Any) -> dict[str, Any]:
    return {
        "release": "people_public",
        "database": "owner.duckdb",
        "source": "people",
        "columns": {
            "age": LEAF | {"type": "categorical"},
            "zip": LEAF,
            "sex": LEAF,
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 30}],
        "method": {"name": "full_domain"},
        "evaluate": {"metrics": []},
    } | more


def queries(*texts: str) -> dict[str, Any]:
    folder = Path("queries")
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"q{number}.sql").write_text(text)
    return {"queries": "queries/*.sql", "metrics": []}


def test_a_release_of_nothing_says_so_before_all_else() -> None:
    done = zoo.run(spec())
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        rows = con.execute(
            "SELECT count(*) FILTER (age <> '*' OR zip <> '*' OR sex <> '*') FROM people_public"
        )
        assert rows.fetchall() == [(0,)]
    assert done.verified
    (told,) = done.useless
    assert told.startswith("every quasi-identifier is `*` in every record, the same for all: ")
    assert "age, zip and sex" in told
    assert "No less general transformation holds the models" in told
    assert done.warnings[0] == told
    lines = released(done).splitlines()
    assert lines[0] == f"USELESS: {told}"
    assert sum(told in line for line in lines) == 1
    assert done.to_dict()["useless"] == [told]
    assert "useless" in done._repr_html_().partition("<table")[0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("method", "why"),
    [
        ({"name": "local_recoding"}, "No smaller block of records holds the models"),
        ({"name": "counterfeit", "catalog": "none"}, "Method counterfeit found nothing less"),
        (
            {"name": "full_domain", "transformation": {"age": 1, "zip": 1, "sex": 1}},
            "`transformation` in the spec says so",
        ),
        ({"name": "full_domain", "suppressed": "keep"}, "No less general transformation"),
    ],
)
def test_every_method_says_so(method: dict[str, Any], why: str) -> None:
    (told,) = run(spec(method=method)).useless
    assert told.startswith("every quasi-identifier is `*` in every record")
    assert why in told


@pytest.mark.full
def test_one_interval_of_every_column_is_nothing() -> None:
    columns = {
        "age": {"role": QI, "domain": [0, 39]},
        "zip": "drop",
        "sex": "drop",
        "illness": {"role": "sensitive", "accept": "homogeneity"},
    }
    choose = {"point": 1}  # the first of the frontier has the least risk
    method = {"name": "policy", "search": "sublattice", "population": "people", "choose": choose}
    privacy = [{"model": "k_anonymity", "k": 1}]
    done = run(spec(columns=columns, method=method, privacy=privacy, seed=3))
    assert {row[0] for row in done.to_df()[["age"]].itertuples(index=False)} == {"*"}
    (told,) = done.useless
    assert "The policy that `choose` takes merges all values" in told


@pytest.mark.full
def test_one_mean_of_all_is_nothing() -> None:
    columns = {
        "age": {"role": QI},
        "zip": "drop",
        "sex": "drop",
        "illness": {"role": "sensitive", "accept": "homogeneity"},
    }
    (told,) = run(spec(columns=columns, method={"name": "microaggregation"})).useless
    assert "All records are one group" in told


def test_a_column_that_the_workload_asks_about_is_missed_alone() -> None:
    evaluate = queries(
        "SELECT count(*) FROM people WHERE zip = 'z3' AND sex = 's0'",
        "SELECT sex, count(*) FROM people GROUP BY sex",
    )
    privacy = [{"model": "k_anonymity", "k": 20}]
    done = run(spec(privacy=privacy, evaluate=evaluate))
    assert done.transformation == {"age": 1, "zip": 1, "sex": 0}
    (told,) = done.useless
    assert told.startswith(
        "zip is `*` in every record, and 1 of the 2 queries of the workload asks"
    )
    assert done.warnings[0] == told
    # age is lost, too, and nobody asks for it
    assert not run(spec(privacy=privacy)).useless


def test_a_column_of_which_next_to_nothing_is_left_is_missed() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(
            "CREATE TABLE many AS SELECT i AS age, 'z' || (i // 398) AS zip, 's' AS sex, "
            "'d' AS illness FROM range(400) t(i)"
        )
    ages = {
        "role": QI,
        "hierarchy": {"groups": [{"low": ["0"], "rest": [str(i) for i in range(1, 400)]}]},
    }
    columns = spec()["columns"] | {"age": ages | {"type": "categorical"}, "zip": "drop"}
    evaluate = queries("SELECT count(*) FROM many WHERE age < 10")
    done = run(
        spec(
            source="many",
            columns=columns,
            privacy=[{"model": "k_anonymity", "k": 1}],
            method={"name": "full_domain", "transformation": {"age": 1, "sex": 0}},
            evaluate=evaluate,
        )
    )
    (told,) = done.useless
    assert told.startswith("age has lost 99.")


@pytest.mark.full
def test_what_is_left_of_a_good_release_is_not_called_useless() -> None:
    done = run(spec(privacy=[{"model": "k_anonymity", "k": 1}]))
    assert done.useless == ()
    assert not released(done).startswith("USELESS")


@pytest.mark.full
def test_a_spec_may_expect_use() -> None:
    with pytest.raises(ExpectationError, match="useless is 1, expected = 0"):
        run(spec(target="people_public.duckdb", expect={"useless": "= 0"}))
    assert not Path("people_public.duckdb").exists()


@pytest.mark.full
def test_the_page_says_it_at_its_top() -> None:
    done = zoo.run(spec())
    Path("spec.json").write_text(json.dumps(spec()))
    page = write_report(Path("spec.json"), "internal", Path("page.html")).read_text()
    top, _, rest = page.partition('<p class="lead">')
    (told,) = done.useless
    assert unescape(top).count(told) == 1
    assert told not in unescape(rest)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT AVG(Age) FROM people WHERE \"zip\" IN ('*')", {"age", "zip"}),
        ("SELECT count(*) FROM people", set()),
        ("SELECT 'zip' FROM people p WHERE p.sex = 'zip'", {"sex"}),
        ("no SQL at all (", set()),
    ],
)
def test_a_query_asks_about_the_columns_it_names(query: str, columns: set[str]) -> None:
    assert asked(query, ("age", "zip", "sex")) == columns


def test_of_a_release_made_elsewhere_nothing_of_the_kind_is_expected() -> None:
    method = {"name": "external", "table": "people"}
    with pytest.raises(SpecError, match="made elsewhere"):
        read(spec(method=method, expect={"useless": "= 0"}))
