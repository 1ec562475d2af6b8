"""Questions to exported files alone: what they are about, and what the files do not tell."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from specs import PEOPLE, unmeasured
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.errors import DataError
from dbdeid.publish import queryable_file

Release = Callable[[str], dict[str, Any]]
BY_AGE = (
    "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people WHERE age < 45 GROUP BY sex ORDER BY 1"
)
KINDS = ("out.duckdb", "out.parquet", "out.csv")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An owner's database, and a folder of exported files for each kind of release."""
    folder = tmp_path_factory.mktemp("shelf")
    with duckdb.connect(str(folder / "owner.duckdb")) as con:
        con.execute(PEOPLE)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def release(shelf: Path, place: Path) -> Release:
    """Run one of SPECS, or take the files of its last run; give its spec."""

    def take(name: str) -> dict[str, Any]:
        made_of = unmeasured(
            database=str(shelf / "owner.duckdb"),
            target="out.duckdb",
            output={"export": list(KINDS[1:])},
        )
        made_of |= SPECS[name]
        if not (shelf / name).exists():
            dbdeid.run(made_of)
            shutil.copytree(place, shelf / name)
        else:
            shutil.copytree(shelf / name, place, dirs_exist_ok=True)
        return made_of

    return take


QUASI = {"role": "quasi_identifier"}
COUNTERFEIT = {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.5}
# Each kind of file is read by a function of its own; two of them tell of the rest.
TWO = {"output": {"export": ["out.csv"]}}
TEXTS = ("out.csv.gz", "out.json", "out.jsonl.zst", "out.tsv")
SPECS: dict[str, dict[str, Any]] = {
    "plain": {"output": {"export": list(KINDS[1:]), "bounds": True}},
    "in texts": {"output": {"export": ["out.csv", *TEXTS]}},
    "as a manifest": {"output": {"export": ["people_public_public_report.json"]}},
    "moved": TWO | {"method": {"name": "relocation", "limit": 0.5}},
    "means": TWO
    | {
        "method": "microaggregation",
        "columns": {
            "name": "identifier",
            "age": QUASI,
            "zip": "drop",
            "sex": QUASI,
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
    },
    "padded": {"method": COUNTERFEIT, "seed": 7},
    "uncatalogued": TWO | {"method": COUNTERFEIT | {"catalog": "none"}},
    "insensitive": TWO
    | {
        "method": COUNTERFEIT,
        "seed": 7,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "columns": {
            "name": "identifier",
            "age": QUASI | {"hierarchy": {"intervals": [10, 20]}},
            "sex": QUASI | {"hierarchy": "suppress"},
            "zip": "drop",
            "illness": "drop",
        },
    },
}


def made(file: str, *statements: str) -> str:
    with duckdb.connect(file) as con:
        for statement in statements:
            con.execute(statement)
    return file


def opened(file: str, text: str = "SELECT COUNT(*) FROM people") -> queryable_file.QueryableFile:
    with queryable_file.opened(Path(file)) as found:
        return found.asked(text)


def columns(file: str) -> dict[str, str]:
    return {c.name: c.type for c in opened(file).target.columns}


# -- what is answered --------------------------------------------------------------------------


@pytest.mark.full
def test_every_file_answers_as_the_spec_does(release: Release) -> None:
    by_spec = dbdeid.query(release("plain"), BY_AGE)
    assert [row[0] for row in by_spec.rows] == ["f", "m", None]
    for file in KINDS:
        assert columns(file).keys() == {"age", "zip", "sex", "illness"}
        assert columns(file)["age"] == "BIGINT"
        found = dbdeid.query(file, BY_AGE)
        assert found.columns == by_spec.columns
        assert found.rows == by_spec.rows
        assert found.suppressed is None


@pytest.mark.full
def test_files_of_text_answer_as_the_csv_does(release: Release) -> None:
    release("in texts")
    asked = dbdeid.query("out.csv", BY_AGE)
    assert [row[0] for row in asked.rows] == ["f", "m", None]
    for file in TEXTS:
        assert columns(file) == columns("out.csv")
        found = dbdeid.query(file, BY_AGE)
        assert (found.columns, found.rows) == (asked.columns, asked.rows)


@pytest.mark.full
def test_a_table_in_json_is_told_from_a_specification(release: Release) -> None:
    """By what it holds: a list, and not one object."""
    run = CliRunner()
    made_of = release("in texts")
    Path("spec.json").write_text(json.dumps(made_of))
    names = ["--qi", "age", "--qi", "sex", "--qi", "zip", "--k", "2"]
    found = run.invoke(app, ["verify", "out.json", *names])
    assert found.exit_code == 0, found.output
    found = run.invoke(app, ["run", "out.json"])
    assert found.exit_code == 2
    assert "is data, not a specification" in found.output
    found = run.invoke(app, ["export", "spec.json", "later.csv.zst"])
    assert found.exit_code == 0, found.output
    assert Path("later_dictionary.csv.zst").exists()
    again = dbdeid.query("later.csv.zst", BY_AGE)
    assert again.rows == dbdeid.query("out.csv", BY_AGE).rows


@pytest.mark.full
def test_a_file_named_as_the_manifest_is_not_handed_out(release: Release, tmp_path: Path) -> None:
    made_of = release("as a manifest")
    Path("spec.json").write_text(json.dumps(made_of))
    found = CliRunner().invoke(app, ["export", "spec.json", "sent/"])
    assert found.exit_code == 2
    assert "two files of the release would have one name" in found.output
    assert not Path("sent").exists()


@pytest.mark.full
@pytest.mark.parametrize("file", KINDS)
def test_an_open_connection_and_what_is_in_it_stay_as_they_are(release: Release, file: str) -> None:
    release("plain")
    alone = dbdeid.query(file, BY_AGE).rows
    with duckdb.connect() as con:
        con.execute("CREATE TABLE out AS SELECT 7 AS age; CREATE TABLE people_public AS FROM out")
        before = con.execute("SELECT database_name FROM duckdb_databases() ORDER BY 1").fetchall()
        assert dbdeid.query(file, BY_AGE, con).rows == alone
        assert con.execute("FROM out UNION ALL FROM people_public").fetchall() == [(7,), (7,)]
        after = con.execute("SELECT database_name FROM duckdb_databases() ORDER BY 1").fetchall()
        assert after == before
        assert con.execute("FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_tables_of_the_file_may_be_joined(release: Release) -> None:
    release("plain")
    made("out.duckdb", "CREATE TABLE words AS FROM (VALUES ('f', 'she'), ('m', 'he')) t(sex, word)")
    asked = "SELECT word, COUNT(*) FROM people JOIN words USING (sex) GROUP BY word ORDER BY word"
    found = dbdeid.query("out.duckdb", asked).rows
    plain = "SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex DESC"
    assert [row[1:] for row in found] == [row[1:] for row in dbdeid.query("out.duckdb", plain).rows]
    assert [row[0] for row in found] == ["he", "she"]


# -- names -------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "asked",
    [
        "FROM people_public",
        "FROM PEOPLE",
        "FROM anything AS x",
        "FROM main.people",
        "FROM hospital.main.people AS x",
        "FROM out.main.people_public",
        "FROM 'owner.duckdb'",  # a name like any other, which opens nothing
        "FROM (SELECT * FROM people) AS x",
        "FROM x, WITH x AS (SELECT * FROM people)",
        "FROM people, WITH people AS (SELECT * FROM people)",
        "FROM y, WITH x AS (SELECT * FROM people), y AS (SELECT * FROM x)",
    ],
)
def test_the_source_may_have_any_one_name(release: Release, asked: str) -> None:
    release("plain")
    source, _, common = asked.partition(", ")
    found = dbdeid.query("out.duckdb", f"{common} SELECT COUNT(*) AS n {source}")
    plain = dbdeid.query("out.duckdb", "SELECT COUNT(*) AS n FROM people_public")
    assert found.rows == plain.rows
    told = "is read as the source of people_public" in " ".join(found.notes)
    assert told == ("people_public" not in asked)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("FROM people JOIN persons USING (sex)", "does not tell which of people, persons"),
        ("FROM regions", "FROM regions is not the source"),
        ("FROM people_public_dictionary", "FROM people_public_dictionary is not the source"),
        ("FROM people_public JOIN people USING (sex)", "JOIN people, which is not a table"),
        ("FROM people AS a JOIN people AS b USING (age)", "joined with itself"),
        ("FROM read_csv('owner.csv')", "a function in FROM"),
    ],
)
def test_a_name_that_nothing_tells_is_refused(release: Release, asked: str, why: str) -> None:
    release("plain")
    made("out.duckdb", "CREATE TABLE regions AS SELECT 'f' AS sex")
    with pytest.raises(DataError, match=why):
        dbdeid.query("out.duckdb", f"SELECT COUNT(*) {asked}")


def test_names_of_a_text_file_are_counted_for_they_may_be_cells(place: Path) -> None:
    Path("anon.csv").write_text("Zoe Kanari,angina\nFred Kanari,asthma\n", encoding="utf-8")
    with pytest.raises(DataError, match="which is not released") as told:
        dbdeid.query("anon.csv", "SELECT COUNT(*) FROM anon WHERE sex = 'F'")
    assert "look at the 2 names in its first line" in str(told.value)
    assert "Kanari" not in str(told.value)


def test_of_several_releases_in_a_database_one_is_named(release: Release) -> None:
    made("owner.duckdb", PEOPLE)
    with pytest.raises(DataError, match="holds no release"):
        dbdeid.query("owner.duckdb", "SELECT COUNT(*) FROM people")
    release("plain")
    made("out.duckdb", PEOPLE)
    with pytest.raises(DataError, match="FROM people is not the source") as refused:
        dbdeid.query("out.duckdb", "SELECT COUNT(*) FROM people")
    assert "the source is people_public" in str(refused.value)
    women = "FROM people_public WHERE sex = 'f'"
    made("out.duckdb", f"CREATE TABLE other AS {women}")
    made("out.duckdb", "CREATE TABLE other_dictionary AS FROM people_public_dictionary")
    with pytest.raises(DataError, match="several releases") as refused:
        dbdeid.query("out.duckdb", "SELECT COUNT(*) FROM visits")
    assert "FROM one of other, people_public" in str(refused.value)
    found = dbdeid.query("out.duckdb", "SELECT COUNT(*) AS n FROM OTHER")
    with duckdb.connect("out.duckdb", read_only=True) as con:
        ((number,),) = con.execute(f"SELECT count(*) {women}").fetchall()
    assert found.rows == ((number, number, number),)
    assert number > 50


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("missing.duckdb", "no such file"),
        ("missing.csv", "no such file"),
        ("broken.parquet", "cannot be read as Parquet"),
        ("broken.duckdb", "not a DuckDB database"),
        ("broken.csv", "cannot be read as CSV"),
        ("out_dictionary.parquet", "is the dictionary of a release"),
        ("out_dictionary.csv", "is the dictionary of a release"),
    ],
)
def test_files_that_cannot_be_asked_are_refused(release: Release, file: str, why: str) -> None:
    release("plain")
    Path("broken.parquet").write_bytes(b"PAR1")
    Path("broken.duckdb").write_bytes(b"no")
    Path("broken.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=why):
        dbdeid.query(file, "SELECT COUNT(*) FROM people")


# -- types -------------------------------------------------------------------------------------

DICTIONARY = (
    '"column" VARCHAR, released_value VARCHAR, level INTEGER, lower VARCHAR, upper VARCHAR, '
    "leaves VARCHAR[]"
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("BIGINT", [("7", 0, "7", "7", None), ("[0, 10)", 1, "0", "9", None)]),
        ("BIGINT", [("-1", 0, "-1", "-1", None)]),
        ("BIGINT", [("*", 1, "1", "2", ["1", "2"])]),
        ("BIGINT", [("< 10", 1, None, "9", None)]),
        # where levels mix, a value tells its level
        ("BIGINT", [("1@0", 0, "1", "1", ["1"]), ("low", 1, "1", "2", ["1", "2"])]),
        ("HUGEINT", [("99999999999999999999", 0, *["99999999999999999999"] * 2, None)]),
        ("DOUBLE", [("[0, 10)", 1, "0.0", "10.0", None)]),
        ("DOUBLE", [("0.5", 0, "0.5", "0.5", None), ("< 0", 1, None, "0.0", None)]),
        ("DOUBLE", [("20.50", 0, "20.50", "20.50", None), ("[20, 30)", 1, "20.0", "30.0", None)]),
        ("DOUBLE", [("1e+20", 0, "1e+20", "1e+20", None), ("0.5", 0, "0.5", "0.5", None)]),
        ("DATE", [("2020-02-01", 0, "2020-02-01", "2020-02-01", None)]),
        ("DATE", [("2020-Q1", 1, "2020-01-01", "2020-03-31", None)]),
        ("TIMESTAMP", [("2020-Q1", 1, "2020-01-01 00:00:00", "2020-04-01 00:00:00", None)]),
        ("BOOLEAN", [("*", 1, None, None, ["true", "false"])]),
        # numbers and dates have bounds; what has none is a code
        ("VARCHAR", [("13053", 0, None, None, None), ("1305*", 1, None, None, None)]),
        ("VARCHAR", [("02139", 0, None, None, None), ("*", 1, None, None, ["02139", "1"])]),
        ("VARCHAR", [("250.80", 0, None, None, None), ("250.8", 0, None, None, None)]),
        ("VARCHAR", [("2020-02-01", 0, None, None, None)]),
        ("VARCHAR", [("12*", 1, None, None, None)]),
        ("VARCHAR", [("yes", 0, None, None, None), ("*", 1, None, None, ["yes", "no"])]),
        ("VARCHAR", [("x", 0, None, None, None), ("y", 0, "1", "1", None)]),
    ],
)
def test_a_type_reads_and_writes_back_what_the_dictionary_tells(
    place: Path, kind: str, rows: list[tuple[Any, ...]]
) -> None:
    with duckdb.connect("t.duckdb") as con:
        con.execute(
            f"CREATE TABLE r (a VARCHAR, b INTEGER); CREATE TABLE r_dictionary ({DICTIONARY})"
        )
        for value, *row in rows:
            con.execute("INSERT INTO r VALUES (?, 1)", [value])
            con.execute("INSERT INTO r_dictionary VALUES ('a', ?, ?, ?, ?, ?)", [value, *row])
    assert columns("t.duckdb") == {"a": kind, "b": "INTEGER"}


def test_a_column_that_kept_its_type_is_not_guessed(place: Path) -> None:
    made(
        "t.duckdb",
        "CREATE TABLE r AS SELECT 1::DECIMAL(9, 2) AS a",
        f"CREATE TABLE r_dictionary ({DICTIONARY})",
        "INSERT INTO r_dictionary VALUES ('a', '1.00', 0, '1.00', '1.00', NULL)",
    )
    assert columns("t.duckdb") == {"a": "DECIMAL(9,2)"}


@pytest.mark.full
def test_cells_of_a_csv_file_tell_their_types(place: Path) -> None:
    Path("t.csv").write_text(
        'i,code,d,at,yes,x,fee,icd,"a ""b",empty\n'
        '1,042,2020-02-01,2020-02-01 10:00:00,true,0.5,7.50,250.80,"",\n'
        "-2,7,,2020-02-01 10:00:00,false,12.25,12.00,250.8,NULL,\n"
    )
    found = opened("t.csv")
    assert [(c.name, c.type) for c in found.target.columns] == [
        ("i", "BIGINT"),
        ("code", "VARCHAR"),
        ("d", "DATE"),
        ("at", "TIMESTAMP"),
        ("yes", "BOOLEAN"),
        ("x", "DOUBLE"),
        ("fee", "DOUBLE"),
        ("icd", "VARCHAR"),
        ('a "b', "VARCHAR"),
        ("empty", "VARCHAR"),
    ]
    asked = 'SELECT COUNT("a ""b") AS n, COUNT(d) AS d, MIN(code) AS code, SUM(i) AS i FROM t'
    cells = dbdeid.query("t.csv", asked).rows[0]
    assert [cell for cell in cells if cell is not None] == [2, 1, "042", -1]


def test_cells_of_a_csv_file_are_what_its_dictionary_says(place: Path) -> None:
    Path("t.csv").write_text("zip,x,decade\n10000,0.5,20\n10001,12.25,30\n")
    Path("t_dictionary.csv").write_text(
        "column,released_value,level,lower,upper,leaves\n"
        "zip,10000,0,,,\nzip,10001,0,,,[10001]\n"
        "x,0.5,0,0.5,0.5,\nx,12.25,0,12.25,12.25,\n"
        "decade,20,1,20,29,\ndecade,30,1,30,39,\n"
    )
    assert columns("t.csv") == {"zip": "VARCHAR", "x": "DOUBLE", "decade": "BIGINT"}
    assert [c.type for c in opened("t.csv").target.release.columns] == [
        "VARCHAR",
        "DOUBLE",
        "VARCHAR",
    ]
    asked = "SELECT COUNT(*) AS n, MIN(x) AS x FROM t WHERE zip LIKE '%1' AND decade = 34"
    assert dbdeid.query("t.csv", asked).rows == ((pytest.approx(0.1), 0, 1, 12.25, 12.25, 12.25),)
    Path("t_dictionary.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"t_dictionary.csv is not what belongs beside a release"):
        opened("t.csv")


@pytest.mark.full
def test_whole_numbers_and_others_in_intervals_are_told_apart(place: Path) -> None:
    made(
        "owner.duckdb",
        "CREATE TABLE sizes AS "
        "SELECT i % 40 AS whole, (i % 40 + 0.5)::DOUBLE AS real FROM range(200) r(i)",
    )
    intervals = QUASI | {"hierarchy": {"intervals": [20]}, "min_level": 1}
    made_of = unmeasured(
        "sizes",
        database="owner.duckdb",
        columns={"whole": intervals, "real": intervals},
        target="out.duckdb",
    )
    dbdeid.run(made_of)
    assert columns("out.duckdb") == {"whole": "BIGINT", "real": "DOUBLE"}
    conditions = ("whole > 19", "real >= 20", "real > 19 AND real < 20")
    counts = [f"COUNT(*) FILTER (WHERE {c}) AS c{i}" for i, c in enumerate(conditions)]
    asked = f"SELECT {', '.join(counts)} FROM sizes"
    found = dbdeid.query("out.duckdb", asked)
    assert found.rows == dbdeid.query(made_of, asked).rows
    assert found.rows[0] == (100, 100, 100, 100, 100, 100, pytest.approx(5), 0, 100)


# -- what a file does not promise --------------------------------------------------------------


def no_bounds(file: str, why: str) -> None:
    found = dbdeid.query(file, "SELECT COUNT(*) AS n, MIN(age) AS least FROM people")
    shown = dict(zip(found.columns, found.rows[0], strict=True))
    assert shown["n"] > 0
    assert {name: value for name, value in shown.items() if "_" in name} == dict.fromkeys(
        ("n_lower", "n_upper", "least_lower", "least_upper")
    )
    assert [note for note in found.notes if why in note]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("file", ["out.duckdb", "out.csv"])
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("moved", "its dictionary says that records have values of others"),
        ("means", "without a dictionary"),
        ("uncatalogued", "some records are counterfeit"),
    ],
)
def test_no_bounds_are_claimed(release: Release, kind: str, why: str, file: str) -> None:
    release(kind)
    no_bounds(file, why)


@pytest.mark.full
def test_a_dictionary_of_moved_records_says_so_in_every_row(release: Release) -> None:
    made_of = release("moved")
    with duckdb.connect("out.duckdb", read_only=True) as con:
        query = "SELECT DISTINCT truthful FROM people_public_dictionary"
        assert con.execute(query).fetchall() == [(False,)]
    assert dbdeid.verify(made_of).verified
    release("plain")
    assert opened("out.duckdb").target.truthful


def test_means_are_what_they_are(release: Release, shelf: Path) -> None:
    made_of = release("means")
    asked = "SELECT AVG(age) AS a, COUNT(*) FILTER (WHERE age > 25.5) AS n FROM people"
    with duckdb.connect("out.duckdb", read_only=True) as con:
        truth = con.execute(asked.replace("people", "people_public")).fetchall()[0]
    for source in (made_of, "out.duckdb", "out.csv"):
        found = dbdeid.query(source, asked).rows[0]
        assert (found[0], found[3]) == pytest.approx(truth)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", KINDS)
def test_counterfeits_are_weighed_by_the_catalog(release: Release, shelf: Path, file: str) -> None:
    made_of = release("padded")
    asked = "SELECT illness, COUNT(*) AS n FROM people GROUP BY illness ORDER BY 1"
    found = dbdeid.query(file, asked)
    assert "class_id" not in columns(file)
    assert sum(row[1] for row in found.rows) == pytest.approx(200)
    with duckdb.connect(str(shelf / "owner.duckdb"), read_only=True) as con:
        truth = con.execute("SELECT illness, COUNT(*) FROM people GROUP BY 1 ORDER BY 1").fetchall()
    for (illness, number), (shown, _, lower, upper) in zip(truth, found.rows, strict=True):
        assert shown == illness
        assert lower <= number <= upper
    assert sum(row[2] for row in found.rows) < 200 < sum(row[3] for row in found.rows)
    by_spec = dbdeid.query(made_of, asked).rows
    assert [row[0] for row in by_spec] == [row[0] for row in found.rows]
    for one, other in zip(by_spec, found.rows, strict=True):
        assert one[1:] == pytest.approx(other[1:])


@pytest.mark.parametrize("rows", ["SELECT *, illness AS same", "SELECT * REPLACE ('x' AS illness)"])
def test_a_catalog_must_be_about_one_column(release: Release, rows: str) -> None:
    release("padded")
    with duckdb.connect() as con:
        con.execute(f"COPY ({rows} FROM 'out.parquet') TO 'odd.parquet'")
        for what in ("dictionary", "catalog"):
            con.execute(f"COPY (FROM 'out_{what}.parquet') TO 'odd_{what}.parquet'")
    with pytest.raises(DataError, match="does not tell which column"):
        dbdeid.query("odd.parquet", "SELECT COUNT(*) FROM people")


@pytest.mark.full
def test_a_catalog_may_count_records_whatever_they_hold(release: Release) -> None:
    release("insensitive")
    with duckdb.connect("out.duckdb", read_only=True) as con:
        rows = con.execute("SELECT count(*) FROM people_public").fetchall()[0][0]
    assert rows > 200
    for file in ("out.duckdb", "out.csv"):
        found = dbdeid.query(file, "SELECT COUNT(*) AS n FROM people").rows[0]
        assert found[0] == pytest.approx(200)
        assert found[1] < 200 < found[2] == rows
