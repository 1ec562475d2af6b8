"""A release in a table of SQLite: what is there, whose it is, and what happens when that fails."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from lakes import change, left_behind, rows, spec, tables
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.engine.expressions import select
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError, DbdeidError, SpecError, VerificationError
from dbdeid.publish import elsewhere
from dbdeid.sources.attached import Database
from dbdeid.targets.shape import Shape
from dbdeid.targets.sqlite import SqliteTarget
from dbdeid.targets.target import opened


def refused(*exports: str, **more: Any) -> str:
    with pytest.raises(DbdeidError) as error:
        dbdeid.run(spec(*exports, **more))
    return str(error.value)


def own() -> list[tuple[Any, ...]]:
    """The release in the database of its owner."""
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        query = "SELECT age, sex, dose::DOUBLE, ill::INT, seen::VARCHAR FROM visits_public"
        return connection.execute(query).fetchall()


def test_its_rows_are_those_that_were_verified_in_their_order(place: Path) -> None:
    dbdeid.run(spec("lake.public_visits"))
    assert rows("SELECT * FROM public_visits") == own()
    assert tables() == {"other", "public_visits", "public_visits_dictionary"}
    found = dbdeid.verify(spec("lake.public_visits"))
    assert found.verified
    assert {"content (lake.public_visits)", "order (lake.public_visits)"} <= {
        check.check for check in found.hygiene
    }
    written = Path("lake.sqlite").read_bytes()
    assert b"Ann " not in written
    assert b"deid_new_" not in written
    assert left_behind(place) == set()

    # another run replaces it, and what reads it stays
    change("CREATE VIEW seen AS SELECT count(*) AS n FROM public_visits")
    dbdeid.run(spec("lake.public_visits", k=20))
    assert rows("SELECT * FROM public_visits") == own()
    assert rows("SELECT n FROM seen") == [(len(own()),)]
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        told = connection.execute("SELECT exports FROM deid.releases").fetchall()
    assert told == [(["lake.public_visits"],)] * 2


@pytest.mark.full
def test_another_original_of_the_same_release_changes_no_byte(place: Path) -> None:
    shutil.copy("lake.sqlite", "other.sqlite")
    shutil.copy("lake.sqlite", "third.sqlite")
    attach = {"other": "other.sqlite", "third": "third.sqlite"}
    dbdeid.run(spec("lake.public_visits", "other.public_visits", attach=attach))
    duckdb.sql(
        "COPY (SELECT * REPLACE ('Bob' || hash(name) AS name) FROM 'visits.parquet' "
        "ORDER BY dose, age DESC) TO 'again.parquet'"
    )
    again = spec("third.public_visits", attach=attach, source="again.parquet", release="again")
    dbdeid.run(again)
    files = [Path(name).read_bytes() for name in ("lake.sqlite", "other.sqlite", "third.sqlite")]
    assert files[0] == files[1] == files[2]


def test_what_is_not_its_own_is_never_replaced(place: Path) -> None:
    assert "the table 'other' in lake exists and was not written by dbdeid" in refused("lake.other")
    change("CREATE VIEW taken AS SELECT 1 AS a", "CREATE TABLE visits_dictionary (a INTEGER)")
    assert "the view 'taken' in lake exists" in refused("lake.taken")
    assert "the table 'visits_dictionary' in lake exists" in refused("lake.visits")
    assert rows("SELECT * FROM other") == [(1,)]

    dbdeid.run(spec("lake.mine"))
    assert "holds the release 'visits_public'" in refused("lake.mine", release="another")
    change("UPDATE mine SET dose = 9 WHERE rowid = 1")
    assert "'mine' in lake was changed since dbdeid wrote it" in refused("lake.mine")
    change("UPDATE mine_dictionary SET level = 7 WHERE rowid = 1")
    told = "; ".join(dbdeid.verify(spec("lake.mine")).failures)
    assert "dictionary_content (lake.mine)" in told
    assert "earlier run" not in told
    change("DROP TABLE mine", "DROP TABLE mine_dictionary")
    with pytest.raises(DataError, match="is gone"):
        dbdeid.verify(spec("lake.mine"))
    assert export_release(spec("lake.mine"), Path("lake.mine")) == (Path("lake.mine"),)
    assert dbdeid.verify(spec("lake.mine")).verified
    with pytest.raises(DataError, match="was not written by dbdeid"):
        export_release(spec("lake.mine"), Path("lake.other"))


@pytest.mark.full
def test_names_that_say_a_file_or_a_table(place: Path) -> None:
    told = refused("lake.csv")
    assert "may be a file, or a table of lake" in told
    assert './lake.csv for the file, or lake."csv" for the table' in told
    assert "names no database of `attach`" in refused("nowhere.public.visits")
    assert "SQLite has no schema 'public'" in refused("lake.public.visits")
    with pytest.raises(SpecError, match="neither exports"):
        dbdeid.run(spec("lake.visits", output={"as": "view", "export": ["lake.visits"]}))
    dbdeid.run(spec("./lake.csv", 'lake."csv"', 'lake.main."odd "" name"'))
    assert {"csv", "csv_dictionary", 'odd " name', 'odd " name_dictionary'} <= tables()
    assert left_behind(place) == {"lake.csv", "lake_dictionary.csv"}
    # commands that would do something else than they are asked for
    Path("spec.json").write_text(json.dumps(spec("./lake.csv")))
    for words, told in (
        (("verify", "spec.json", "lake.csv"), "are for a file alone"),
        (("export", "spec.json", "nowhere.public.t"), "no table of a database of `attach`"),
    ):
        done = CliRunner().invoke(app, list(words))
        assert (done.exit_code, told in done.output) == (2, True), done.output


def test_a_name_is_written_once(place: Path) -> None:
    told = "both write 'mine_dictionary' in "
    assert told + "lake" in refused("lake.mine", "lake.mine_dictionary")
    pond = {"pond": "./lake.sqlite"}  # the same file
    assert "both write 'MINE' in pond" in refused("lake.mine", "pond.MINE", attach=pond)
    assert tables() == {"other"}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("own.duckdb", "export a file of its own, as in public.duckdb, and ATTACH it there"),
        ("ducklake:lake.ducklake", "and CALL ducklake_add_data_files"),
        ("md:lake", "into tables of PostgreSQL, MySQL and SQLite only"),
        ("sheet.xlsx", "into tables of PostgreSQL, MySQL and SQLite only"),
    ],
)
def test_databases_that_get_no_release(place: Path, kind: str, told: str) -> None:
    duckdb.connect("own.duckdb").close()
    Path("sheet.xlsx").write_bytes(b"PK")
    assert told in refused("there.t", attach={"there": kind})


def test_a_failure_leaves_what_was_there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dbdeid.run(spec("lake.mine"))
    before, bytes_before = rows("SELECT * FROM mine"), Path("lake.sqlite").read_bytes()

    # what is read back is not what was written
    with monkeypatch.context() as patch:
        write = SqliteTarget.write

        def other(self: SqliteTarget, place: Any, shape: Any, batches: Any) -> None:
            write(self, place, shape, batches)
            self._connection.execute(f'UPDATE "{place.name}" SET rowid = rowid + 100')
            self._connection.execute(f'UPDATE "{place.name}" SET rowid = 1 WHERE rowid = 105')

        patch.setattr(SqliteTarget, "write", other)
        assert "when it was read back: order" in refused("lake.mine", k=20)
    # the book cannot be written
    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Deliveries, "swap", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            dbdeid.run(spec("lake.mine", k=20))
    # another program holds the file
    monkeypatch.setattr("dbdeid.targets.sqlite._WAIT", 0.01)
    holder = sqlite3.connect("lake.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "lake.sqlite cannot be written (another program holds it)" in refused("lake.mine")
    holder.close()
    assert (rows("SELECT * FROM mine"), Path("lake.sqlite").read_bytes()) == (before, bytes_before)
    assert dbdeid.verify(spec("lake.mine")).verified
    assert left_behind(place) == set()

    # it does not commit: the run is booked, and the table can be written
    def no_commit(_: SqliteTarget) -> None:
        raise DataError("lake: no room")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTarget, "commit", no_commit)
        assert "lake.mine may hold the release before this one" in refused("lake.mine", k=20)
    found = dbdeid.verify(spec("lake.mine", k=20))
    assert found.failures == (
        "table (lake.mine): holds an earlier run: `dbdeid export SPEC lake.mine` writes the last "
        "one there",
    )
    export_release(spec("lake.mine", k=20), Path("lake.mine"))
    assert dbdeid.verify(spec("lake.mine", k=20)).verified
    assert rows("SELECT * FROM mine") == own()

    # it commits, and gives something else
    look = elsewhere.Deliveries.look

    def changed(self: elsewhere.Deliveries) -> None:
        change("DELETE FROM mine WHERE rowid = 1")
        look(self)

    monkeypatch.setattr(elsewhere.Deliveries, "look", changed)
    with pytest.raises(VerificationError, match="what is read from it now"):
        dbdeid.run(spec("lake.mine"))


def test_a_failure_leaves_no_row_on_free_pages(place: Path) -> None:
    size = 20_000  # more than the cache of SQLite has room for
    change("CREATE TABLE junk (a TEXT)", f"INSERT INTO junk VALUES (zeroblob({200 * size}))")
    change("DROP TABLE junk")
    given = pa.table({"sex": ["marked" + "x" * 144] * size})
    shape = Shape((("sex", "TEXT"),), select("*"))
    with opened(Database("lake", "lake.sqlite", place), writing=True) as there:
        there.write(Relation("mine", schema="main"), shape, given.to_reader())
    assert b"marked" not in Path("lake.sqlite").read_bytes()
    assert tables() == {"other"}


def test_without_a_book_only_a_new_table_is_written(place: Path) -> None:
    given = spec("lake.mine")
    del given["database"]
    done = dbdeid.run(given)
    assert any("nothing remembers this release" in warning for warning in done.warnings)
    with pytest.raises(DataError, match="was not written by dbdeid for this database"):
        dbdeid.run(given)
    dbdeid.run({**given, "output": {"export": ["lake.another"]}}, trial=True)
    assert "another" not in tables()


@pytest.mark.full
def test_a_withdrawn_run_names_all_that_it_wrote(place: Path) -> None:
    made = spec("lake.public_visits", 'lake."odd name"', "public.csv.gz", "own.duckdb")
    dbdeid.run(made)
    (place / "spec.json").write_text(json.dumps(made))
    done = CliRunner().invoke(
        app, ["releases", "withdraw", "visits_public", "spec.json", "--reason", "a rehearsal"]
    )
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    listed = told.partition("still lies there: ")[2].partition(". Remove it")[0]
    assert set(listed.split(", ")) == {
        *("visits_public", "visits_public_dictionary", "own.duckdb"),
        *("public.csv.gz", "public_dictionary.csv.gz"),
        *("lake.public_visits", "lake.public_visits_dictionary"),
        *('lake."odd name"', 'lake."odd name_dictionary"'),
    }


def test_anyone_verifies_a_table_without_a_spec(place: Path) -> None:
    dbdeid.run(spec("lake.public_visits"))
    asked = ["verify", "lake.sqlite", "public_visits", "--qi", "age", "--qi", "sex"]
    run = CliRunner()
    assert run.invoke(app, [*asked, "--k", "3"]).exit_code == 0
    done = run.invoke(app, [*asked, "--k", "40"])
    assert done.exit_code == 4
    assert "k_anonymity" in done.output
    done = run.invoke(app, ["verify", "lake.sqlite", "--qi", "age", "--k", "3"])
    assert "lake holds 3 tables" in done.output
    assert run.invoke(app, ["verify", "lake.sqlite", "public_visits"]).exit_code == 2
