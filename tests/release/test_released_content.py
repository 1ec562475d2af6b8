"""What was verified is what is there: table, files, dictionary, book and manifest of a release."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import PEOPLE, small

import dbdeid
from dbdeid.commands.handout import hand_out
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.record.border import KEY
from dbdeid.verify.files.content import EARLIER

DOCUMENT = Path(__file__).parents[2] / "docs" / "content.md"
FILES = ("out.parquet", "out.csv", "more.duckdb")
SOME = tiers.some(FILES, 3)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(extra: str = "", exports: Sequence[str] = SOME) -> dict[str, Any]:
    """A release of people, who may have another column, `extra`, that is released as it is."""
    return zoo.fill(released, extra, exports)


def released(extra: str, exports: Sequence[str]) -> dict[str, Any]:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE.replace("CREATE", "CREATE OR REPLACE"))
        if extra:
            con.execute(f"CREATE OR REPLACE TABLE people AS SELECT *, {extra} AS extra FROM people")
    given = small(
        database="owner.duckdb",
        target="out.duckdb",
        output={"export": list(exports)},
        evaluate={"metrics": []},
    )
    if extra:
        given["columns"]["extra"] = {"role": "insensitive", "reason": "a figure of a test"}
    assert dbdeid.run(given).verified
    return given


def failed(given: dict[str, Any]) -> set[str]:
    return {c.check for c in dbdeid.verify(given).hygiene if not c.holds}


def rewritten(path: str, query: str) -> None:
    """A Parquet file again, as dbdeid would write it, with the rows of a query of `given`."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE given AS FROM '{path}'")
        con.execute(f"CREATE TABLE changed AS FROM ({query}) ORDER BY ALL")
        con.execute(f"COPY changed TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


SWAPPED = """
SELECT given.* REPLACE (
  CASE given.rowid WHEN a THEN 'flu' WHEN f THEN 'asthma' ELSE illness END AS illness
)
FROM given, (
  SELECT
    min(rowid) FILTER (illness = 'asthma') AS a,
    max(rowid) FILTER (illness = 'flu') AS f
  FROM given
)"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", [SWAPPED, "SELECT * REPLACE ('flu' AS illness) FROM given"])
def test_false_diagnoses_in_an_exported_file(change: str) -> None:
    given = made()
    assert failed(given) == set()
    rewritten("out.parquet", change)
    assert failed(given) == {"content (out.parquet)"}


@pytest.mark.full
def test_a_file_that_is_written_again_is_the_same() -> None:
    given = made()
    rewritten("out.parquet", "FROM given")
    assert failed(given) == set()


@pytest.mark.full
@pytest.mark.parametrize("change", ["['secret'] AS leaves", "'0' AS lower, '9' AS upper"])
def test_the_dictionary_of_a_file(change: str) -> None:
    given = made()
    rewritten("out_dictionary.parquet", f"SELECT * REPLACE ({change}) FROM given")
    assert "dictionary_content (out.parquet)" in failed(given)


def test_the_released_table_and_its_dictionary() -> None:
    given = made()
    with duckdb.connect("out.duckdb") as con:
        con.execute("UPDATE people_public_dictionary SET lower = '0' WHERE rowid = 0")
        con.execute("UPDATE people_public SET illness = 'plague' WHERE rowid = 0")
    assert {"content (out.duckdb)", "dictionary_content (out.duckdb)"} <= failed(given)
    with pytest.raises(dbdeid.VerificationError, match="dictionary_content"):
        export_release(given, Path("again.parquet"))
    assert not Path("again.parquet").exists()


@pytest.mark.full
def test_a_book_of_an_earlier_version() -> None:
    given = made()
    with duckdb.connect("out.private.duckdb") as con:
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
        record = json.loads(text)
        del record[KEY]
        record["content"] = [record["content"]["release"]["rows"], "9224570870114540512666703"]
        con.execute("UPDATE deid.releases SET record = ?", [json.dumps(record)])
    found = dbdeid.verify(given)
    details = {c.detail for c in found.hygiene if not c.holds}
    assert details == {EARLIER}
    for refused in (
        lambda: export_release(given, Path("again.parquet")),
        lambda: hand_out(given, Path("given")),
    ):
        with pytest.raises(dbdeid.VerificationError, match="run the spec again"):
            refused()
    dbdeid.run(given)
    assert dbdeid.verify(given).verified


NUMBERS = {
    "DOUBLE": "['nan', '-nan', 'inf', '-inf', '0.1', '-0.0', '5e-324'][i + 1]::DOUBLE",
    "FLOAT": "CASE i WHEN 0 THEN 'nan' ELSE '-0.0' END::FLOAT",
    "HUGEINT": "(1152921504606846976 + i % 2)::HUGEINT",
    "UHUGEINT": "(99999999999999999999999999999999999999::UHUGEINT)",
    "DATE": "['infinity', '-infinity', '0044-03-15 (BC)', '2020-01-01'][i % 4 + 1]::DATE",
    "TIMESTAMP_NS": "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-01-01 12:00:00+05'",
    "VARCHAR": "CASE i % 4 WHEN 0 THEN '' WHEN 1 THEN 'NULL' WHEN 2 THEN NULL ELSE 'a,\"b\n' END",
}


@pytest.mark.full
@pytest.mark.parametrize("kind", NUMBERS)
def test_every_type_is_verified_in_every_file(kind: str) -> None:
    at = "(row_number() OVER (ORDER BY name) % 7)"
    found = dbdeid.verify(made(re.sub(r"\bi\b", at, NUMBERS[kind]), FILES))
    assert found.verified, found.failures


@pytest.mark.full
def test_wide_integers_that_differ_by_one() -> None:
    given = made("(1152921504606846976 + length(illness) % 2)::HUGEINT", ("out.parquet",))
    with duckdb.connect() as con:
        (kind,) = con.execute("SELECT DISTINCT typeof(extra) FROM 'out.parquet'").fetchone() or (
            "",
        )
    assert kind == "DECIMAL(38,0)"
    rewritten(
        "out.parquet", "SELECT * REPLACE (1152921504606846977::DECIMAL(38, 0) AS extra) FROM given"
    )
    assert failed(given) == {"content (out.parquet)"}
    rewritten("out.parquet", "SELECT * REPLACE (extra::DOUBLE AS extra) FROM given")
    assert {"content (out.parquet)", "types (out.parquet)"} <= failed(given)


@pytest.mark.full
def test_integers_that_parquet_cannot_hold() -> None:
    with pytest.raises(dbdeid.DataError, match="'extra' have more") as error:
        released("170141183460469231731687303715884105727::HUGEINT", FILES)
    assert "categorical" in str(error.value)
    assert not Path("out.parquet").exists()
    assert made("170141183460469231731687303715884105727::HUGEINT", ("out.csv", "b.duckdb"))


# -- for recipients ---------------------------------------------------------------------------


def manifest(given: dict[str, Any]) -> dict[str, Any]:
    hand_out(given, Path("given"))
    found = json.loads(Path("given/people_public_public_report.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.full
def test_a_recipient_recomputes_the_digests_by_the_sql_of_the_docs() -> None:
    told = manifest(made())["content"]
    assert set(told) == {"made", "columns", "release", "dictionary", "files"}
    given, query, dictionary = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    tables = [
        ("out.parquet", given, "release"),
        ("out_dictionary.parquet", dictionary, "dictionary"),
    ]
    for path, texts, name in tables:
        with duckdb.connect() as con:
            con.execute(re.sub(r"'adult_public\w*\.parquet'", f"'given/{path}'", texts))
            assert con.execute(query).fetchone() == (told[name]["sha256"],)
            (rows,) = con.execute("SELECT count(*) FROM given").fetchone() or (0,)
        assert rows == told[name]["rows"]


@pytest.mark.full
def test_the_public_is_told_of_published_tables_only() -> None:
    given = made()
    with duckdb.connect("out.private.duckdb") as con:
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
    record = json.loads(text)
    assert "source" in record["fingerprints"]
    public = manifest(given)
    told = set(re.findall(r"\b[0-9a-f]{64}\b", json.dumps(public)))
    assert record["fingerprints"]["source"] not in told
    given_away = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path("given").iterdir()
        if path.suffix != ".json"
    }
    assert public["content"]["files"] == given_away
    assert len(told - set(given_away.values())) == 2  # the release and its dictionary


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("key", "value"),
    [("source_rows", None), ("padding", 1), ("weighed", "x"), ("synthetic", {"a": 1})],
)
def test_a_damaged_record(key: str, value: Any) -> None:
    given = made()
    with duckdb.connect("out.private.duckdb") as con:
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
        changed = json.dumps({**json.loads(text), key: value})
        con.execute("UPDATE deid.releases SET record = ?", [changed])
    with pytest.raises(dbdeid.DataError, match="record of release 'people_public' is damaged"):
        dbdeid.verify(given)
