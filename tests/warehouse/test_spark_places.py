"""Where a release goes in Spark: what it may replace, and what a failure leaves."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from spark_here import has_spark
from spark_releases import counted, lent, people, released, spec

import dbdeid
from dbdeid.engine.engines import warehouse_of
from dbdeid.errors import DataError, DbdeidError, SpecError, VerificationError
from dbdeid.release.warehouse_places import places_there

if has_spark():
    from dbdeid.engine.spark.warehouse import Spark

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

ROWS = people(400, seed=7)
OWN = {"visits", "visits_public", "visits_public_dictionary"}


def tables(spark: Any) -> set[str]:
    return {t.name for t in spark.catalog.listTables() if not t.isTemporary}


def small(**more: Any) -> dict[str, Any]:
    return spec(**{"method": {"name": "full_domain", "suppression_limit": 0.2}, **more})


def test_a_release_replaces_the_last_one_and_nothing_of_others(here: Any) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    first = counted(released(here, "visits_public"))
    again = small(privacy=[{"model": "k_anonymity", "k": 30}, small()["privacy"][1]])
    found = dbdeid.run(again, connection=here)
    assert counted(released(here, "visits_public")) != first
    assert len(found.to_df()) == found.released_rows == released(here, "visits_public").num_rows
    assert tables(here) == OWN
    marks = dict(map(tuple, here.sql("SHOW TBLPROPERTIES visits_public").collect()))
    assert marks["dbdeid.release"] == "visits_public"

    here.sql("CREATE TABLE taken (a INT) USING parquet")
    here.sql("CREATE TABLE mine_dictionary (a INT) USING parquet")
    here.sql("CREATE VIEW seen AS SELECT 1 AS a")
    for name, told in (
        ("taken", "the table 'taken' exists there and was not written by dbdeid"),
        ("mine", "the table 'mine_dictionary' exists there and was not written by dbdeid"),
        ("seen", "the view 'seen' exists there and was not written by dbdeid"),
        ("visits", "the source is 'visits', which the release would replace"),
    ):
        with pytest.raises(DataError, match=told):
            dbdeid.run(small(release=name), connection=here)
    here.sql("ALTER TABLE taken SET TBLPROPERTIES ('dbdeid.release' = 'another')")
    with pytest.raises(DataError, match="holds the release 'another'"):
        dbdeid.run(small(release="taken"), connection=here)
    assert tables(here) == OWN | {"taken", "mine_dictionary", "seen"}


@pytest.mark.parametrize("at", range(1, 5))
def test_a_failure_between_renames_leaves_the_last_release(
    here: Any, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    before = [counted(released(here, name)) for name in sorted(OWN)]
    rename, called = Spark.rename, 0

    def failing(self: Spark, place: Any, name: str) -> None:
        nonlocal called
        called += 1
        if called == at:
            raise DataError("no more", hint="none")
        rename(self, place, name)

    monkeypatch.setattr(Spark, "rename", failing)
    again = small(privacy=[{"model": "k_anonymity", "k": 30}, small()["privacy"][1]])
    with pytest.raises(DataError, match="no more"):
        dbdeid.run(again, connection=here)
    assert tables(here) == OWN
    assert [counted(released(here, name)) for name in sorted(OWN)] == before


@pytest.mark.parametrize("stage", ["write", "lend", "unsorted", "notes", "row"])
def test_a_failure_or_interrupt_in_any_stage_leaves_nothing(
    here: Any, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    lent(here, "visits", ROWS)
    made = getattr(Spark, stage)
    for error in (KeyboardInterrupt(), DataError("no more", hint="none")):

        def failing(self: Spark, *given: Any, error: BaseException = error) -> Any:
            made(self, *given)
            with self._told():
                raise error

        monkeypatch.setattr(Spark, stage, failing)
        with pytest.raises(type(error)):
            dbdeid.run(small(), connection=here)
        assert tables(here) == {"visits"}
        views = [t.name for t in here.catalog.listTables() if t.isTemporary]
        assert not [name for name in views if name.startswith("deid_")]
        assert here.getTags() == set()
    monkeypatch.setattr(Spark, stage, made)
    assert dbdeid.run(small(), connection=here).verified


@pytest.mark.parametrize("phase", ["count", "write", "verify", "evaluate"])
def test_ctrl_c_leaves_nothing(here: Any, phase: str) -> None:
    lent(here, "visits", people(20_000, seed=8))

    def follow(name: str, _: Any) -> None:
        if name == phase:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        dbdeid.run(small(), connection=here, notify=follow)
    assert tables(here) == {"visits"}
    assert here.getTags() == set()
    assert dbdeid.run(small(), connection=here).verified


def test_a_writing_that_is_cut_off_leaves_nothing(here: Any) -> None:
    here.createDataFrame(ROWS).createOrReplaceTempView("whole")
    # the last read of the source, which writes, fails in the middle
    cells = ", ".join(c for c in ROWS.column_names if c != "dose")
    here.sql(
        f"CREATE OR REPLACE TEMP VIEW visits AS SELECT {cells}, "
        "IF(dose > 9, raise_error('Ann'), dose) AS dose FROM whole"
    )
    with pytest.raises(DbdeidError) as error:
        dbdeid.run(small(), connection=here)
    assert "USER_RAISED_EXCEPTION" in str(error.value)
    assert "Ann" not in str(error.value)
    assert tables(here) == set()
    here.sql("CREATE OR REPLACE TEMP VIEW visits AS SELECT * FROM whole")
    assert dbdeid.run(small(), connection=here).verified
    for name in ("visits", "whole"):
        here.catalog.dropTempView(name)


def test_two_runs_at_once(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lent(here, "visits", ROWS)
    write, inner = Spark.write, []

    def meanwhile(self: Spark, place: Any, *given: Any) -> None:
        write(self, place, *given)
        if not inner:
            inner.append("")
            with pytest.raises(DataError, match="another run writes the release now") as error:
                dbdeid.run(small(), connection=here)
            inner.append(str(error.value))

    monkeypatch.setattr(Spark, "write", meanwhile)
    assert dbdeid.run(small(), connection=here).verified
    assert "drop visits_public__deid_staging" in inner[1]
    assert tables(here) == OWN


def test_a_run_that_was_published_meanwhile_is_not_replaced(here: Any) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    warehouse = warehouse_of(here)
    assert warehouse is not None
    source = warehouse.source("visits")
    with places_there(warehouse, "visits_public", source) as places:
        dbdeid.run(small(), connection=here)
        with pytest.raises(DataError, match="another run has written 'visits_public' meanwhile"):
            places.swap()
    assert tables(here) == OWN


def test_what_a_killed_run_set_aside_is_put_back(here: Any) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    first = counted(released(here, "visits_public"))
    here.sql("ALTER TABLE visits_public RENAME TO visits_public__deid_last")
    warehouse = warehouse_of(here)
    assert warehouse is not None
    with places_there(warehouse, "visits_public", warehouse.source("visits")):
        assert counted(released(here, "visits_public")) == first
    here.sql(
        "CREATE TABLE visits_public__deid_last USING parquet "
        "TBLPROPERTIES ('dbdeid.release' = 'visits_public') AS SELECT 1 AS a"
    )
    with places_there(warehouse, "visits_public", warehouse.source("visits")):
        assert tables(here) == OWN
    assert counted(released(here, "visits_public")) == first
    here.sql("CREATE TABLE visits_public__deid_last USING parquet AS SELECT 1 AS a")
    with pytest.raises(DataError, match="'visits_public__deid_last' exists there and was not"):
        dbdeid.run(small(), connection=here)


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO visits VALUES ('x', 33, '80101', 'f', NULL, 'flu', 1.0)",
        "INSERT INTO visits VALUES ('x', 33, '99999', 'f', NULL, 'flu', 1.0)",
        "INSERT OVERWRITE visits SELECT * FROM before WHERE age <> 33",
        "INSERT OVERWRITE visits SELECT name, age, zip, sex, born, ill, dose + 1 FROM before",
    ],
)
def test_a_source_that_changes_after_it_was_counted(
    here: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    lent(here, "visits", ROWS)
    lent(here, "before", ROWS)
    stage = "write" if "dose + 1" not in change else "unsorted"
    made, done = getattr(Spark, stage), []

    def changing(self: Spark, *given: Any) -> Any:
        if not done and stage == "write":
            done.append(here.sql(change))
        return made(self, *given)

    # a change of what is not counted is one between writing and verifying
    described = Spark.described

    def later(self: Spark, place: Any) -> Any:
        if not done and "staging" in place.name:
            done.append(here.sql(change))
        return described(self, place)

    monkeypatch.setattr(Spark, *(("write", changing) if stage == "write" else ("described", later)))
    with pytest.raises(VerificationError):
        dbdeid.run(small(), connection=here)
    assert done
    assert tables(here) == {"visits", "before"}


def test_a_source_that_differs_each_time(here: Any) -> None:
    here.createDataFrame(ROWS).createOrReplaceTempView("whole")
    here.sql("CREATE OR REPLACE TEMP VIEW visits AS SELECT * FROM whole WHERE rand() < 0.9")
    with pytest.raises(DbdeidError):
        dbdeid.run(small(), connection=here)
    assert tables(here) == set()
    for name in ("visits", "whole"):
        here.catalog.dropTempView(name)


REFUSED = {  # all others without a session: `release/test_warehouse_limits.py`
    "method": (
        {"method": {"name": "relocation"}, "privacy": [{"model": "k_anonymity", "k": 5}]},
        "not made in Spark",
    ),
    "nowhere": ({"source": "nowhere"}, "Spark has no table or view 'nowhere'"),
    "comments": ({"columns": "from_comments"}, "columns in comments, are not read from Spark"),
    "preset": ({"preset": "safe_harbor"}, "a preset, or columns in comments, are not read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(here: Any, name: str) -> None:
    lent(here, "visits", ROWS)
    more, told = REFUSED[name]
    given = {key: value for key, value in small(**more).items() if value is not None}
    with pytest.raises(DbdeidError) as error:
        dbdeid.run(given, connection=here)
    assert told in str(error.value)
    assert tables(here) == {"visits"}


def test_questions_are_asked_as_of_any_table(here: Any) -> None:
    lent(here, "visits", ROWS)

    def refused(**columns: Any) -> str:
        given = small()
        given["columns"] |= columns
        with pytest.raises(SpecError) as error:
            dbdeid.run(given, connection=here)
        return str(error.value)

    assert "column 'dose' leaves as it is, and is not counted" in refused(dose="insensitive")
    told = refused(dose={"role": "sensitive"})
    assert "sensitive column 'dose' has no diversity or closeness model" in told
    given = small()
    del given["columns"]["born"], given["accept"]
    with pytest.raises(SpecError, match="column 'born' \\(DATE\\) of the source has no role"):
        dbdeid.run(given, connection=here)
    given = small()
    del given["accept"]
    here.sql("CREATE OR REPLACE TEMP VIEW twice AS SELECT * FROM visits UNION ALL FROM visits")
    with pytest.raises(SpecError, match="identifier 'name' repeats"):
        dbdeid.run({**given, "source": "twice"}, connection=here)
    here.catalog.dropTempView("twice")
    here.sql("CREATE TABLE zoned AS SELECT *, current_timestamp() AS at FROM visits")
    given["columns"]["at"] = {"role": "insensitive", "reason": "none outside"}
    with pytest.raises(SpecError, match="whose values depend on who reads them"):
        dbdeid.run({**given, "source": "zoned"}, connection=here)
    assert tables(here) == {"visits", "zoned"}


def test_levels_of_a_run_are_not_remembered(here: Any) -> None:
    lent(here, "visits", ROWS)
    with pytest.raises(DataError, match="nothing remembers the levels"):
        dbdeid.run(small(), connection=here, reuse=True)
    with pytest.raises(SpecError, match="a trial is made in a file"):
        dbdeid.run(small(), connection=here, trial=True)


def test_expectations_are_held(here: Any) -> None:
    lent(here, "visits", ROWS)
    with pytest.raises(VerificationError, match="misses what the spec expects"):
        dbdeid.run(small(expect={"loss": "<= 0.001"}), connection=here)
    assert tables(here) == {"visits"}
    assert dbdeid.run(small(expect={"loss": "<= 1"}), connection=here).expectations
