"""Questions to the release of a spec: its answers, what is said of them, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlglot
import tiers
import zoo
from specs import owned, small

import dbdeid
from dbdeid.cli.text.query import answered
from dbdeid.commands.queries.open_release import OpenRelease
from dbdeid.commands.queries.query import Result, query, rewritten
from dbdeid.errors import DataError

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 45 GROUP BY sex ORDER BY sex"
EXACT = {"name": "full_domain", "suppression_limit": 0}
FOUR = [{"model": "k_anonymity", "k": 4}]
LOSSY = {"name": "full_domain", "suppression_limit": 0.5}
AWAY = {
    "target": "out.duckdb",
    "output": {"export": tiers.some(["out.parquet", "out.csv"], 2)},
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def spec(**more: Any) -> dict[str, Any]:
    return small(database="owner.duckdb", evaluate={"metrics": []}, **more)


def sql(text: str) -> list[Any]:
    with duckdb.connect("owner.duckdb") as con:
        return con.execute(text).fetchall()


def prints() -> dict[str, str]:
    files = (p for p in Path().iterdir() if p.is_file())
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


# -- names -------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_name_of_another_table_is_not_the_source() -> None:
    sql(
        "CREATE SCHEMA s; CREATE TABLE s.people2 AS FROM people; CREATE SCHEMA out; "
        "CREATE TABLE s.answers AS FROM people LIMIT 3; CREATE TABLE answers AS FROM s.answers; "
        "CREATE VIEW out.people2 AS FROM s.answers"
    )
    asked = spec(source="s.people2", release="answers", target="out.duckdb")
    dbdeid.run(asked)
    ours = ("s.people2", "owner.s.people2", "out.main.answers", "out.answers", "OUT.Answers")
    for name in tiers.some(ours, 2):
        assert query(asked, f"SELECT COUNT(*) AS n FROM {name}").rows
    others = ("s.answers", "owner.s.answers", "answers", "main.answers", "owner.answers")
    for name in tiers.some((*others, "out.people2", "main.people2", "people2"), 2):
        with pytest.raises(DataError, match="is not the source"):
            query(asked, f"SELECT COUNT(*) AS n FROM {name}")


# -- answers -----------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("where", [{}, {"target": "out.duckdb"}])
def test_answers_lie_about_the_truth_and_nothing_is_written(where: dict[str, Any]) -> None:
    made_of = spec(method=EXACT, **where)
    zoo.run(made_of)
    Path("spec.yml").write_text(json.dumps(made_of))
    before = prints()
    found = query("spec.yml", BY_SEX)
    assert found.columns == ("sex", "n", "n_lower", "n_upper")
    assert found.notes == ()
    assert found.suppressed == 0
    truth = dict(sql(BY_SEX))
    assert len(found.rows) == len(truth)
    for sex, number, lower, upper in found.rows:
        assert lower <= truth[sex] <= upper
        assert lower <= number <= upper
    for source in (made_of, Path("spec.yml"), json.dumps(made_of, indent=1)):
        assert query(source, BY_SEX) == found
    assert prints() == before


@pytest.mark.full
def test_an_open_connection_is_asked() -> None:
    with duckdb.connect("owner.duckdb") as con:
        dbdeid.run(small(), con)
        found = dbdeid.query(small(), BY_SEX, con)
        temporary = "SELECT table_name FROM duckdb_tables() WHERE temporary"
        assert con.execute(temporary).fetchall() == []
    assert dbdeid.query(small(), BY_SEX, database=Path("owner.duckdb")) == found


@pytest.mark.full
def test_another_database_may_be_named() -> None:
    zoo.run(spec())
    rows = query(spec(), BY_SEX).rows
    Path("owner.duckdb").rename("moved.duckdb")
    assert query(spec(), BY_SEX, database=Path("moved.duckdb")).rows == rows


@pytest.mark.full
def test_suppressed_records_are_told_of_and_spread_on_request() -> None:
    made_of = spec(method=LOSSY, privacy=FOUR, target="out.duckdb")
    result = dbdeid.run(made_of)
    lost = result.suppressed_rows
    assert 0 < lost < 200
    asked = "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM people"
    plain = query(made_of, asked)
    assert plain.suppressed == lost
    assert plain.rows[0][:3] == (200 - lost, 200 - lost, 200 - lost)
    (note,) = plain.notes
    assert note.startswith(f"{lost} of 200 records were suppressed. They are not counted here")
    assert note.endswith("; --spread-suppressed counts them too")
    with OpenRelease(made_of, for_others=True) as served:  # where there is no such option
        (other,) = served.query(asked).notes
    assert other.endswith("; SET dbdeid.spread_suppressed = on counts them too")
    spread = query(made_of, asked, spread_suppressed=True)
    n, n_lower, n_upper, s, s_lower, s_upper, a, a_lower, a_upper = spread.rows[0]
    assert (n, n_lower, n_upper) == (pytest.approx(200), 200 - lost, 200)
    assert s == pytest.approx(plain.rows[0][3] * 200 / (200 - lost))
    assert a == pytest.approx(plain.rows[0][6])
    assert (s_lower, s_upper, a_lower, a_upper) == (None, None, None, None)
    assert "spread" in spread.notes[0]
    with pytest.raises(DataError, match="known only where the original is"):
        query("out.duckdb", asked, spread_suppressed=True)


@pytest.mark.full
def test_records_kept_as_stars_are_not_missing() -> None:
    made_of = spec(method=LOSSY | {"suppressed": "keep"}, privacy=FOUR)
    assert dbdeid.run(made_of).suppressed_rows > 0
    found = query(made_of, "SELECT COUNT(*) AS n FROM people")
    assert (found.rows, found.suppressed, found.notes) == (((200.0, 200, 200),), 0, ())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("method", "why"),
    [
        ({"name": "relocation", "limit": 0.5}, "have quasi-identifiers of others"),
        (
            {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.5, "catalog": "none"},
            "are counterfeit, which ones is not told",
        ),
    ],
)
def test_no_bounds_where_records_are_not_those_of_the_source(
    method: dict[str, Any], why: str
) -> None:
    made_of = spec(method=method)
    dbdeid.run(made_of)
    found = query(made_of, "SELECT COUNT(*) AS n FROM people")
    assert found.rows[0][1:] == (None, None)
    assert [note for note in found.notes if note.startswith("no bounds") and why in note]


def test_synthetic_records_are_asked_directly() -> None:
    made_of = spec(
        columns={
            "name, zip, illness": "drop",
            "age": "synthesize",
            "sex": "synthesize",
        },
        privacy=[{"model": "cluster_size", "k": 20}],
        method="condensation",
        target="out.duckdb",
    )
    dbdeid.run(made_of)
    asked = "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY sex ORDER BY sex"
    with duckdb.connect("out.duckdb", read_only=True) as con:
        plain = con.execute(asked.replace("people", "people_public")).fetchall()
    for source in (made_of, "out.duckdb"):
        found = query(source, asked)
        assert [(row[0], row[1], row[4]) for row in found.rows] == [
            (sex, n, pytest.approx(a)) for sex, n, a in plain
        ]
        assert {cell for row in found.rows for cell in (*row[2:4], *row[5:])} == {None}
        assert [note for note in found.notes if note.startswith("no bounds")]
        middle = query(source, "SELECT sex, KURTOSIS(age) AS m FROM people GROUP BY ALL ORDER BY 1")
        assert middle.columns == ("sex", "m")
        assert [note for note in middle.notes if note.startswith("no bounds")]
        with duckdb.connect("out.duckdb", read_only=True) as con:
            of_release = con.execute(middle.sql.replace('"out"."main".', "")).fetchall()
        assert list(middle.rows) == of_release


@pytest.mark.full
def test_columns_that_are_released_as_they_are_answer_anything() -> None:
    made_of = spec(method=EXACT, **AWAY)
    zoo.run(made_of)
    asked = "SELECT illness FROM people UNION SELECT 'x' ORDER BY illness"
    for source in tiers.some((made_of, "out.duckdb", "out.parquet"), 2):
        found = query(source, asked)
        assert list(found.rows) == sql(asked)
        assert "exact of the records released" in " ".join(found.notes)
        assert rewritten(source, asked) == found.sql
    with pytest.raises(DataError, match="right in DuckDB only"):
        rewritten(made_of, asked, dialect="spark")


# -- what may be asked -------------------------------------------------------------------------


def test_ordinary_tables_may_be_joined_and_no_others() -> None:
    zoo.run(spec(method=EXACT))
    sql("CREATE TABLE words AS FROM (VALUES ('f', 'she'), ('m', 'he')) t(sex, word)")
    sql("CREATE SCHEMA dim; CREATE TABLE dim.shown AS FROM words; CREATE VIEW seen AS FROM people")
    dbdeid.run(spec(release="other"))
    asked = "SELECT word, COUNT(*) FROM people JOIN {} USING (sex) GROUP BY word ORDER BY word"
    truth = [(word, number) for word, number in sql(asked.format("words"))]
    for table in tiers.some(("words", "WORDS", "main.words", "dim.shown"), 3):
        found = query(spec(method=EXACT), asked.format(table)).rows
        assert [(word, number) for word, number, *_ in found] == truth
    others = (
        *("people_public", "people_public_dictionary", "other", "other_dictionary", "seen"),
        *("deid.releases", "duckdb_tables", "people", "nothing"),
    )
    for table in tiers.some(others, 2):
        with pytest.raises(DataError, match=r"JOIN|joined|private"):
            query(spec(method=EXACT), asked.format(table))


@pytest.mark.full
def test_only_what_is_released_is_asked() -> None:
    key = {"role": "identifier", "pseudonym": True}
    columns = spec()["columns"] | {"name": key}
    made_of = spec(columns=columns, subject="name")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDEID_PSEUDONYM_KEY", "0123456789abcdef" * 4)
        dbdeid.run(made_of)
    with pytest.raises(DataError, match="name, which is not released"):
        query(made_of, "SELECT COUNT(DISTINCT name) FROM people")


@pytest.mark.full
def test_moments_with_a_time_zone_are_those_of_utc() -> None:
    sql("SET TimeZone = 'America/New_York'")
    sql(
        "CREATE TABLE visits AS SELECT "
        "TIMESTAMPTZ '2020-01-01 22:00:00+00' + to_hours(i % 4) AS at FROM range(40) AS r(i)"
    )
    quasi = {"role": "quasi_identifier", "hierarchy": {"dates": ["month"]}}
    for level, plain in tiers.some(((1, False), (0, True)), 2):
        made_of = spec(source="visits", columns={"at": quasi | {"min_level": level}}, method=EXACT)
        dbdeid.run(made_of)
        asked = "SELECT COUNT(*) AS n FROM visits WHERE at < TIMESTAMP '2020-01-02'"
        number, lower, upper = query(made_of, asked).rows[0]
        with duckdb.connect("owner.duckdb") as con:
            con.execute("SET TimeZone = 'Asia/Tokyo'")
            assert query(made_of, asked, con).rows == ((number, lower, upper),)
        assert (number == lower == upper == 20) == plain
        assert lower <= 20 <= upper


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("SELECT name FROM people", "name, which is not released"),
        ("SELECT COUNT(*) FROM patients", "the source is people"),
        ("DROP TABLE people", "DROP where a SELECT is expected"),
        ("SELECT COUNT(*) FROM people; SELECT 1", "2 statements"),
        ("", "0 statements"),
        ("SELECT COUNT(*) FROM people WHERE illness = 1", "cannot be answered"),
        ("SELECT COUNT(*) FROM people WHERE age LIKE '2%'", "cannot be answered"),
        ("SELECT COUNT(*) FROM people WHERE zip = '10000'", "zip"),
    ],
)
def test_what_cannot_be_answered_is_refused(asked: str, why: str) -> None:
    zoo.run(spec())
    with pytest.raises(DataError, match=why) as refused:
        query(spec(), asked)
    told = str(refused.value)
    assert not [illness for illness in ("asthma", "flu") if illness in told]


def test_a_release_that_is_not_there_or_not_of_the_spec_is_refused() -> None:
    with pytest.raises(DataError, match="never run"):
        query(spec(), BY_SEX)
    zoo.run(spec())
    with pytest.raises(DataError, match="is not the spec that made"):
        query(spec(method=EXACT), BY_SEX)
    assert query(spec(privacy=[{"model": "k_anonymity", "k": 3}]), BY_SEX).rows
    sql("DROP TABLE people_public")
    with pytest.raises(DataError, match="is gone"):
        query(spec(), BY_SEX)
    view = spec(output={"as": "view"}, release="preview")
    dbdeid.run(view)
    with pytest.raises(DataError, match="preview view"):
        query(view, BY_SEX)
    with pytest.raises(DataError, match="goes with a spec"):
        query("owner.duckdb", BY_SEX, database=Path("owner.duckdb"))


# -- the rewritten query -----------------------------------------------------------------------


@pytest.mark.full
def test_what_was_run_can_be_run_by_anybody() -> None:
    made_of = spec(**AWAY)
    zoo.run(made_of)
    for source in tiers.some((made_of, "out.duckdb", "out.parquet", "out.csv"), 2):
        found = query(source, BY_SEX)
        assert rewritten(source, BY_SEX) == found.sql
        with duckdb.connect() as con:
            if source in (made_of, "out.duckdb"):
                con.execute("ATTACH 'out.duckdb' AS out (READ_ONLY); USE out")
            assert con.execute(found.sql).fetchall() == list(found.rows)


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_other_engines_read_plain_names(dialect: str) -> None:
    made_of = spec(**AWAY)
    zoo.run(made_of)
    text = rewritten(made_of, BY_SEX, dialect=dialect)
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert tree is not None
    tables = {t.sql(dialect) for t in tree.find_all(sqlglot.exp.Table) if not t.alias}
    assert not [table for table in tables if "." in table]
    assert "people_public_dictionary" in text


# -- results -----------------------------------------------------------------------------------

ODD = Result(
    ("k", "n", "n_lower", "n_upper"),
    ("VARCHAR", "DOUBLE", "DOUBLE", "DOUBLE"),
    (
        (date(2020, 1, 2), 1234.5, 1000, 2000),
        (Decimal("2.50"), float("nan"), None, None),
        (None, 1e-9, 0, True),
        (Decimal(7), float("-inf"), float("inf"), 3),
    ),
    "SELECT 1",
    ("take care",),
    None,
)


def test_a_result_is_plain_in_json() -> None:
    document = json.loads(json.dumps(ODD.to_dict(), allow_nan=False))
    assert document == {
        "columns": ["k", "n", "n_lower", "n_upper"],
        "rows": [
            {"k": "2020-01-02", "n": 1234.5, "n_lower": 1000, "n_upper": 2000},
            {"k": 2.5, "n": None, "n_lower": None, "n_upper": None},
            {"k": None, "n": 1e-9, "n_lower": 0, "n_upper": True},
            {"k": 7, "n": None, "n_lower": None, "n_upper": 3},
        ],
        "sql": "SELECT 1",
        "notes": ["take care"],
        "suppressed": None,
    }


def test_a_result_is_a_frame_and_shows_itself() -> None:
    zoo.run(spec())
    found = query(spec(), BY_SEX)
    frame = found.to_df()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(found.columns)
    assert frame["n_lower"].dtype.kind == "i"
    assert found.to_arrow().to_pylist() == frame.to_dict("records")
    assert duckdb.sql("FROM found").fetchall() == list(found.rows)
    assert len(repr(found).splitlines()) == 1 + len(found.rows) + len(found.notes)
    assert repr(ODD).splitlines()[0].split() == ["k", "n", "n_lower", "n_upper"]
    assert repr(ODD).endswith("note: take care")


def test_a_result_is_a_table_on_the_screen() -> None:
    assert answered(ODD).splitlines() == [
        "  k                 n  n_lower  n_upper",
        "  2020-01-02  1,234.5    1,000  2,000",
        "  2.50            nan     NULL  NULL",
        "  NULL          1e-09        0  True",
        "  7              -inf      inf  3",
        "  note: take care",
    ]


def say(rows: Callable[[int], Any], number: int) -> str:
    """A table of one number with its bounds, of which the first column is kept."""
    columns = ("n", "n_lower", "n_upper")
    cells = tuple((rows(i), 0, 0) for i in range(number))
    table = answered(Result(columns, ("DOUBLE",) * 3, cells, "", (), 0))
    return "\n".join(line.removesuffix("        0        0") for line in table.split("\n"))


def test_numbers_stand_to_the_right() -> None:
    assert say(lambda i: 10.0**i, 4).split("\n") == [
        *("      n  n_lower  n_upper", "      1", "     10", "    100", "  1,000")
    ]


def test_keys_may_be_years_and_codes() -> None:
    columns, row = ("year", "n", "n_lower", "n_upper"), (2004, 2004.0, 2000, 2010)
    shown = answered(Result(columns, ("DOUBLE",) * len(columns), (row,), "", (), 0)).split("\n")[1]
    assert shown.split() == ["2004", "2,004", "2,000", "2,010"]
    named = answered(
        Result(columns, ("DOUBLE",) * 4, (("Smith, Ann", 2004.0, 2000, 2010),), "", (), 0)
    )
    assert "  Smith, Ann  2,004" in named


def test_long_answers_are_cut() -> None:
    lines = say(lambda i: i, 1001).splitlines()
    assert len(lines) == 1002
    assert lines[-1] == "  … 1 more row; --json prints all"
    assert say(lambda i: i, 0) == "  no groups: none is expected to satisfy the conditions"
