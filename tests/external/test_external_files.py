"""Releases made elsewhere as files, and releases of our own in the hands of a recipient."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from foreign import QI, make, method, promise, spec
from specs import small

import dbdeid
from dbdeid.commands.queries.workload import Drawing, write


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        make(con)


def owned(**more: Any) -> dict[str, Any]:
    return spec(database="owner.duckdb", **more)


def sql(text: str) -> list[Any]:
    with duckdb.connect("owner.duckdb") as con:
        return con.execute(text).fetchall()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.zst", "tsv.gz", "ndjson", "json"])
def test_tables_may_be_files_beside_the_spec(ending: str) -> None:
    wanted = dbdeid.verify(owned())
    form = "(FORMAT json)" if "json" in ending else "(FORMAT csv)"
    form = "" if ending in ("csv", "parquet") else form
    sql(f"COPY anon TO 'anon.{ending}' {form}; COPY anon_dictionary TO 'words.{ending}' {form}")
    declared = owned(**method(table=f"anon.{ending}", dictionary=f"words.{ending}"))
    found = dbdeid.verify(declared)
    assert found.promises == wanted.promises
    assert found.verified
    assert ("metadata" in {c.check for c in found.hygiene}) == (ending == "parquet")
    text = "SELECT sex, count(*) AS n, avg(age) AS a FROM people GROUP BY sex ORDER BY 1"
    assert dbdeid.query(declared, text).rows == dbdeid.query(owned(), text).rows


@pytest.mark.full
def test_a_source_file_is_the_original() -> None:
    sql("COPY people TO 'people.parquet'")
    found = dbdeid.verify(owned(source="people.parquet"))
    assert promise(found, "truthfulness").holds
    text = "SELECT count(*) AS n FROM people WHERE age < 30"
    answer = dbdeid.query(owned(source="people.parquet"), text)
    assert answer.rows == dbdeid.query(owned(), text).rows


@pytest.mark.full
def test_an_open_release_is_read_again_when_one_of_its_files_changes() -> None:
    sql("COPY anon TO 'anon.csv'; COPY anon_dictionary TO 'words.csv'")
    declared = owned(**method(table="anon.csv", dictionary="words.csv"))
    text = "SELECT sex, count(*) AS n, min(age) AS a FROM people GROUP BY sex ORDER BY 1"
    with dbdeid.open(declared) as release:
        found = release.query(text)
        assert found == release.query(text) == dbdeid.query(declared, text)
        records = Path("anon.csv").read_text().splitlines(keepends=True)
        Path("anon.csv").write_text("".join(records[:-20]))
        fewer = release.query(text)
        assert fewer == dbdeid.query(declared, text)
        assert fewer.suppressed == (found.suppressed or 0) + 20
        words = Path("words.csv").read_text()
        Path("words.csv").write_text(words.replace("middle", "mittel"))
        with pytest.raises(dbdeid.DataError, match="age"):
            release.query(text)


def test_a_workbook_of_another_program_is_not_vouched_for() -> None:
    """It may hold other sheets, hidden rows and comments, so its sheet is to be saved as CSV."""
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        con.sql("FROM anon").df().to_excel("anon.xlsx", index=False)
    with pytest.raises(dbdeid.DataError, match="save the sheet as CSV") as refused:
        dbdeid.verify(owned(**method(table="anon.xlsx")))
    assert "middle" not in str(refused.value)


def test_cells_of_a_csv_file_that_are_not_of_their_type() -> None:
    sql("CREATE OR REPLACE TABLE people AS SELECT *, 1.5 AS wage FROM people")
    wage = "CASE WHEN age = 'old' THEN 'much' ELSE '1.5' END AS wage"
    sql(f"COPY (SELECT *, {wage} FROM anon) TO 'a.csv'")
    columns = spec()["columns"] | {"wage": {"role": "insensitive", "reason": "made up"}}
    with pytest.raises(dbdeid.DataError, match=r"cells of 'wage' are not of the type") as refused:
        dbdeid.verify(owned(columns=columns, **method(table="a.csv")))
    assert "much" not in str(refused.value)


@pytest.mark.full
def test_a_workload_is_drawn_for_it(tmp_path: Path) -> None:
    Path("s.json").write_text(json.dumps(owned(columns=spec()["columns"] | {
        "age": {"role": QI, "hierarchy": {"labels": "intervals", "lower": 20, "upper": 80}},
        "sex": {"role": QI, "hierarchy": "suppress", "domain": ["f", "m"]},
    })))  # fmt: skip
    drawn = write(Path("s.json"), Path("queries"), Drawing(queries=5, dimensions=2))
    assert {"age", "sex"} <= set(drawn.columns)
    found = dbdeid.evaluate(owned(evaluate={"queries": "queries/*.sql"}))["queries"]
    assert len(found["queries"]) == 5
    assert found["answered"] > 0


OURS: dict[str, dict[str, Any]] = {
    "full_domain": {"name": "full_domain", "suppression_limit": 0.1},
    "local_recoding": {"name": "local_recoding"},
}
QUESTIONS = (
    "SELECT count(*) AS n FROM people WHERE age BETWEEN 20 AND 44",
    "SELECT sex, count(*) AS n FROM people WHERE age >= 60 GROUP BY sex ORDER BY 1",
    "SELECT illness, avg(age) AS a, sum(age) AS s FROM people GROUP BY illness ORDER BY 1",
)


@pytest.mark.full
@pytest.mark.parametrize("name", OURS)
def test_a_release_of_ours_is_asked_as_one_of_others(name: str) -> None:
    """By a recipient, who has the exported files, and no original and no book."""
    columns = small()["columns"] | {
        "age": {"role": QI, "hierarchy": {"intervals": [10, 20], "lower": 0, "upper": 100}},
        "sex": {"role": QI, "hierarchy": "suppress", "domain": ["f", "m"]},
    }
    exports = tiers.some(["public.xlsx", "public.csv", "public.parquet", "public.duckdb"], 4)
    ours = small(
        database="owner.duckdb",
        columns=columns,
        method=OURS[name],
        output={"export": [*exports]},
        evaluate={"metrics": []},
    )
    dbdeid.run(ours)
    wanted = promise(dbdeid.verify(ours), "k_anonymity").found
    answers = [dbdeid.query(ours, text).rows for text in QUESTIONS]
    for file in exports:
        theirs = {key: value for key, value in ours.items() if key not in ("output", "database")}
        theirs["method"] = {
            "name": "external",
            "table": file,
            "dictionary": file.replace("public", "public_dictionary"),
            "types": {"age": "INTEGER", "zip": "VARCHAR"},
        }
        if file.endswith(".duckdb"):
            theirs["database"] = file
            theirs["method"] |= {
                "table": "people_public", "dictionary": "people_public_dictionary"
            }  # fmt: skip
        found = dbdeid.verify(theirs)
        assert found.verified, found.failures
        assert promise(found, "k_anonymity").found == wanted
        for text, rows in zip(QUESTIONS, answers, strict=True):
            found_rows = dbdeid.query(theirs, text).rows
            assert [*found_rows] == [pytest.approx(row) for row in rows], file


def test_metrics_are_those_of_the_run_that_made_it() -> None:
    shared = ["discernibility", "average_class_size", "ambiguity", "reconstruction_error"]
    shared += ["attacker_gain", "distribution", "association"]
    ours = small(database="owner.duckdb", evaluate={"metrics": shared})
    run = dbdeid.run(ours)
    assert run.suppressed_rows > 0
    theirs = ours | {
        "release": "theirs",
        "method": {
            "name": "external",
            "table": "people_public",
            "dictionary": "people_public_dictionary",
        },
    }
    found = dbdeid.evaluate(theirs)["metrics"]
    assert found == pytest.approx(run.metrics)
    assert promise(dbdeid.verify(theirs), "truthfulness").holds


def test_a_dictionary_that_says_so_makes_a_release_untruthful() -> None:
    """As that of method relocation, which gives records the values of others."""
    sql("ALTER TABLE anon_dictionary ADD COLUMN truthful BOOLEAN")
    sql("UPDATE anon_dictionary SET truthful = false")
    found = dbdeid.verify(owned())
    assert "truthfulness" not in {p.model for p in found.promises}
    (row,) = dbdeid.query(owned(), "SELECT count(*) AS n FROM people").rows
    assert row == (199.0, None, None)
