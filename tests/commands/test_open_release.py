"""A release that is opened once: the same answers as of `query`, and the same refusals."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import owned, small

import dbdeid
from dbdeid.commands.queries import answers
from dbdeid.commands.queries.query import rewritten
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.project.remembered import withdraw
from dbdeid.query.desk import kept
from dbdeid.query.rewrite import counted

# Threads add numbers up in any order, so that their last digits differ from one time to the next.
ONE = Settings(threads=1)
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 45 GROUP BY sex ORDER BY sex"
QUESTIONS = (
    BY_SEX,
    "SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 30 AND 41 AND sex = 'f'",
    "SELECT AVG(age) AS a, SUM(age) AS s, MIN(age) AS l, MAX(age) AS h FROM people",
    "SELECT illness, COUNT(DISTINCT sex) AS d, MIN(illness) AS l FROM people GROUP BY illness "
    "ORDER BY illness",
    "SELECT COUNT(*) FILTER (WHERE age >= 41) AS n FROM people WHERE NOT sex IS NULL",
    "SELECT word, COUNT(*) AS n FROM people JOIN words USING (sex) GROUP BY word ORDER BY word",
    "SELECT COUNT(*) FROM nobody, people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE name = 'Ann'",
    "SELECT COUNT(*) FROM people WHERE age LIKE '2%'",
    "SELEC",
)
LOSSY = {"name": "full_domain", "suppression_limit": 0.5}
FOUR = [{"model": "k_anonymity", "k": 4}]
AWAY = {"target": "out.duckdb", "output": {"export": ["out.parquet", "out.csv"]}}
SPECS: dict[str, dict[str, Any]] = {
    "inside": {},
    "lossy": {"method": LOSSY, "privacy": FOUR, "target": "out.duckdb"},
    "away": AWAY,
    "padded": {
        "method": {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.5},
        "seed": 7,
        **AWAY,
    },
    "moved": {"method": {"name": "relocation", "limit": 0.5}, "target": "out.duckdb"},
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    return tmp_path


def hospital() -> None:
    owned()
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE TABLE words AS FROM (VALUES ('f', 'she'), ('m', 'he')) t(sex, word)")


def spec(**more: Any) -> dict[str, Any]:
    return small(database="owner.duckdb", evaluate={"metrics": []}, **more)


def said(ask: Any, text: str, **more: Any) -> Any:
    """An answer, or the error in its place."""
    try:
        return ask(text, **more)
    except DbdeidError as error:
        return type(error), error.message, error.hint


@contextmanager
def busy(file: str) -> Iterator[None]:
    """Another process has a database open for writing."""
    program = (
        "import sys, duckdb; con = duckdb.connect(sys.argv[1]); print('open', flush=True); "
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, file]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        yield
        other.communicate()


# -- the same as one question at a time --------------------------------------------------------


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, None) for name in SPECS),
        *(("away", file) for file in ("out.duckdb", "out.parquet", "out.csv")),
        *(("padded", file) for file in ("out.duckdb", "out.csv")),
    ],
)
def test_answers_are_those_of_single_questions(name: str, source: str | None) -> None:
    asked = source or spec(**SPECS[name])
    zoo.run(spec(**SPECS[name]))

    def alone(text: str, **more: Any) -> Any:
        return dbdeid.query(asked, text, settings=ONE, **more)

    def script(text: str, **more: Any) -> Any:
        return rewritten(asked, text, settings=ONE, **more)

    with dbdeid.open(asked, settings=ONE) as release:
        for spread in (False, True):
            for text in tiers.some(QUESTIONS, 7):
                found = said(alone, text, spread_suppressed=spread)
                for _ in range(2):  # planned, and known
                    assert said(release.query, text, spread_suppressed=spread) == found
        for dialect in ("duckdb", "spark"):
            for text in tiers.some(QUESTIONS, 4):
                found = said(script, text, dialect=dialect)
                assert said(release.rewritten, text, dialect=dialect) == found


@pytest.mark.full
def test_what_is_said_to_have_been_run_gives_the_rows() -> None:
    zoo.run(spec(**AWAY))
    with dbdeid.open("out.duckdb") as release:
        found = [release.query(text) for text in QUESTIONS[:5]]
    with duckdb.connect("out.duckdb", read_only=True) as con:
        for one in found:  # the text is written when it is asked for, be it after closing
            assert con.execute(one.sql).fetchall() == list(one.rows)
            again = pickle.loads(pickle.dumps(one))
            assert (again, again.sql) == (one, one.sql)


@pytest.mark.full
def test_what_is_kept_for_other_questions_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    zoo.run(spec(**AWAY))
    asked = tiers.some(QUESTIONS[:5], 2)
    alone = [dbdeid.query("out.duckdb", text) for text in asked]
    for module, name in ((answers, "MOST_PLANS"), (kept, "MOST_TABLES"), (kept, "LONGEST")):
        with monkeypatch.context() as patch, dbdeid.open("out.duckdb") as release:
            patch.setattr(module, name, 1)
            for _ in range(2):
                assert [release.query(text) for text in asked] == alone


@pytest.mark.full
def test_counted_records_give_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    monkeypatch.setattr(counted, "TIMES", 0.1)
    zoo.run(spec(**AWAY))
    asked = tiers.some(QUESTIONS[:5], 2)
    for source in (spec(**AWAY), "out.duckdb"):
        alone = [dbdeid.query(source, text, settings=ONE) for text in asked]
        with dbdeid.open(source, settings=ONE) as release:
            found = [release.query(text) for text in asked]
            assert found == alone
            assert [one.sql for one in found] == [one.sql for one in alone]


@pytest.mark.full
def test_threads_may_share_it() -> None:
    zoo.run(spec(**AWAY))
    alone = [dbdeid.query("out.duckdb", text) for text in QUESTIONS[:5]]
    with dbdeid.open("out.duckdb") as release, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(release.query, QUESTIONS[:5] * 4)) == alone * 4


# -- what it tells of itself -------------------------------------------------------------------


def test_it_tells_what_can_be_asked() -> None:
    zoo.run(spec(**AWAY))
    columns = {"age": "BIGINT", "zip": "VARCHAR", "sex": "VARCHAR", "illness": "VARCHAR"}
    with dbdeid.open(spec(**AWAY)) as release:
        assert (release.releases, release.source_names) == (("people_public",), ("people",))
        assert release.columns() == release.columns("PEOPLE_PUBLIC") == columns
        assert repr(release) == "<dbdeid.OpenRelease of a spec: FROM people>"
        with pytest.raises(DataError, match="no release 'other'"):
            release.columns("other")
    with dbdeid.open("out.duckdb") as release:
        assert release.source_names == ("people_public",)
        assert release.columns() == columns
        assert repr(release) == "<dbdeid.OpenRelease of out.duckdb: FROM people_public>"


def test_a_file_may_hold_several_releases() -> None:
    zoo.run(spec(**AWAY))
    with duckdb.connect("out.duckdb") as con:
        for end in ("", "_dictionary"):
            con.execute(f"CREATE TABLE other{end} AS FROM people_public{end}")
        con.execute("DELETE FROM other WHERE sex = 'f'")
    with dbdeid.open("out.duckdb") as release:
        assert release.releases == ("other", "people_public")
        with pytest.raises(DataError, match="several releases"):
            release.columns()
        for name in ("other", "people_public", "people"):
            text = BY_SEX.replace("people", name)
            alone = said(lambda q: dbdeid.query("out.duckdb", q), text)
            assert said(release.query, text) == alone


def test_a_closed_release_answers_nothing() -> None:
    zoo.run(spec(**AWAY))
    with dbdeid.open("out.duckdb") as release:
        release.query(BY_SEX)
    release.close()
    assert repr(release) == "<dbdeid.OpenRelease of out.duckdb: closed>"
    for ask in (release.query, release.rewritten):
        with pytest.raises(DataError, match="is closed"):
            ask(BY_SEX)
    with pytest.raises(DataError, match="is closed"):
        release.columns()
    Path("out.duckdb").unlink()
    with pytest.raises(DataError, match=r"out.duckdb: no such file"):
        dbdeid.open("out.duckdb")


# -- while it is open --------------------------------------------------------------------------


def test_a_release_that_was_run_again_is_the_one_that_answers() -> None:
    made_of = spec(target="out.duckdb")
    zoo.run(made_of)
    whole = "SELECT COUNT(*) AS n FROM people"
    with dbdeid.open(made_of) as release, dbdeid.open("out.duckdb") as file:
        before = release.query(whole).rows, file.query(whole).rows
        exact = {"name": "full_domain", "suppression_limit": 0}  # which leaves none out
        dbdeid.run(spec(target="out.duckdb", method=exact))
        refused = said(release.query, whole)
        assert refused == said(lambda q: dbdeid.query(made_of, q), whole)
        assert "is not the spec that made release" in refused[1]
        assert file.query(whole) == dbdeid.query("out.duckdb", whole)
        assert file.query(whole).rows != before[1]
        dbdeid.run(made_of)
        assert (release.query(whole).rows, file.query(whole).rows) == before


@pytest.mark.full
def test_a_withdrawal_is_noted() -> None:
    made_of = spec(target="out.duckdb")
    zoo.run(made_of)
    Path("people.json").write_text(json.dumps(made_of))
    with dbdeid.open("people.json") as release:
        before = release.query(BY_SEX)
        withdraw("people_public", "a mistake", "people.json")
        after = release.query(BY_SEX)
        assert after == dbdeid.query("people.json", BY_SEX)
        assert after.rows == before.rows
        assert "was withdrawn ('a mistake')" in after.notes[0]


@pytest.mark.full
def test_a_release_that_is_gone_is_refused_and_found_when_it_is_back() -> None:
    made_of = spec(target="out.duckdb")
    zoo.run(made_of)
    with dbdeid.open(made_of) as release, dbdeid.open("out.duckdb") as file:
        found = release.query(BY_SEX), file.query(BY_SEX)
        Path("out.duckdb").rename("away.duckdb")
        for ask, source in ((release.query, made_of), (file.query, "out.duckdb")):
            refused = said(ask, BY_SEX)
            assert refused == said(lambda q, s=source: dbdeid.query(s, q), BY_SEX)
            assert refused[0] is DataError
        shutil.copy("away.duckdb", "out.duckdb")
        assert (release.query(BY_SEX), file.query(BY_SEX)) == found


@pytest.mark.full
def test_a_file_of_a_spec_is_read_again_when_it_changes() -> None:
    made_of = spec(target="out.duckdb")
    zoo.run(made_of)
    text = json.dumps(made_of)
    Path("people.json").write_text(text)
    with dbdeid.open("people.json") as release:
        found = release.query(BY_SEX)
        Path("people.json").write_text(text.replace('"out.duckdb"', '"other.duckdb"'))
        assert "never run here" in said(release.query, BY_SEX)[1]
        Path("people.json").write_text(text)
        assert release.query(BY_SEX) == found


def test_a_dictionary_beside_a_file_is_looked_at() -> None:
    whole = "SELECT COUNT(*) AS n FROM people"
    zoo.run(spec(**AWAY))
    with dbdeid.open("out.csv") as release:
        found = release.query(whole)
        Path("out_dictionary.csv").rename("away.csv")
        without = release.query(whole)
        assert without == dbdeid.query("out.csv", whole)
        assert without.notes != found.notes


@pytest.mark.full
def test_a_source_that_takes_its_columns_from_elsewhere_is_looked_at() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("COPY people TO 'people.parquet'")
        con.execute("CREATE VIEW seen AS FROM 'people.parquet'")
    for source in tiers.some(("seen", {"sql": "FROM 'people.parquet'", "name": "seen"}), 2):
        made_of = spec(source=source, target="out.duckdb")
        zoo.run(made_of)
        text = BY_SEX.replace("people", "seen")
        with dbdeid.open(made_of) as release:
            found = release.query(text)
            shutil.copy("people.parquet", "kept.parquet")
            duckdb.sql("COPY (SELECT * EXCLUDE (age) FROM 'kept.parquet') TO 'people.parquet'")
            refused = said(release.query, text)
            assert refused == said(lambda q, m=made_of: dbdeid.query(m, q), text)
            assert refused[0] is not DataError
            shutil.copy("kept.parquet", "people.parquet")
            assert release.query(text) == found


@pytest.mark.full
def test_on_a_connection_everything_is_looked_at_each_time() -> None:
    with duckdb.connect("owner.duckdb") as con:
        dbdeid.run(small(), con)
        with dbdeid.open(small(), con) as release:
            assert release.query(BY_SEX) == dbdeid.query(small(), BY_SEX, con)
            con.execute("DELETE FROM people_public WHERE sex = 'f'")
            found = release.query(BY_SEX)
            assert found == dbdeid.query(small(), BY_SEX, con)
            assert "f" not in {sex for sex, *_ in found.rows}
            con.execute("CREATE MACRO min(a) AS a + 1")
            with pytest.raises(DataError, match="stand for functions"):
                release.query(BY_SEX)
            con.execute("DROP MACRO min; DROP TABLE people_public")
            with pytest.raises(DataError, match="is gone"):
                release.query(BY_SEX)
        temporary = "SELECT table_name FROM duckdb_tables() WHERE temporary"
        assert con.execute(temporary).fetchall() == []


# -- a database that is busy -------------------------------------------------------------------


@pytest.mark.full
def test_a_file_answers_where_the_database_is_busy() -> None:
    made_of = spec(**AWAY)
    zoo.run(made_of)
    by_file = dbdeid.query("out.duckdb", BY_SEX)
    with busy("owner.duckdb"):
        found = dbdeid.query(made_of, BY_SEX)
        assert found.rows == by_file.rows
        note, *others = found.notes
        assert note.startswith("another process has the database open: out.duckdb answers")
        assert tuple(others) == by_file.notes
        with dbdeid.open(made_of) as release:
            assert release.query(BY_SEX) == found
        changed = spec(**AWAY, method=LOSSY)
        with pytest.raises(DataError, match="is not the spec that made release"):
            dbdeid.query(changed, BY_SEX)
        Path("out.private.duckdb").rename("away.duckdb")
        assert "is not known" in dbdeid.query(made_of, BY_SEX).notes[1]
        Path("out.duckdb").unlink()
        assert "out.parquet answers" in dbdeid.query(made_of, BY_SEX).notes[0]


@pytest.mark.full
def test_an_open_release_goes_back_to_its_database() -> None:
    made_of = spec(**AWAY)
    zoo.run(made_of)
    with busy("owner.duckdb"):
        release = dbdeid.open(made_of)
        assert "out.duckdb answers" in release.query(BY_SEX).notes[0]
    with release:
        assert release.query(BY_SEX) == dbdeid.query(made_of, BY_SEX)


@pytest.mark.full
def test_without_a_file_a_busy_database_is_refused() -> None:
    zoo.run(spec())
    zoo.run(spec(target="out.duckdb"), trial=True)
    with busy("owner.duckdb"):
        for ask in (dbdeid.query, lambda *given: dbdeid.query(*given, trial=True)):
            with pytest.raises(DataError, match=r"owner.duckdb: the database is locked"):
                ask(spec(), BY_SEX)
