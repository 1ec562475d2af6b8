"""Published files: what each kind can hide, caught and named after reopening."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from handmade import DECLARED, Release, detail, failed, handmade

from dbdeid.engine.duckdb import macros
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.verify import verify_bare, verify_file
from dbdeid.verify.files import container, footer

KINDS = [".duckdb", ".parquet", ".csv"]


@pytest.mark.parametrize("ending", KINDS)
def test_a_published_file_is_verified(tmp_path: Path, ending: str) -> None:
    found = handmade(macros=True).publish(tmp_path / f"ward{ending}")
    assert found.verified, found.failures
    assert [p.model for p in found.promises] == [
        "k_anonymity",
        "suppression_limit",
        "transformation",
    ]


@pytest.mark.full
@pytest.mark.parametrize("ending", KINDS)
@pytest.mark.parametrize("name", ["deid", "r[1]*", "it's", "main", "memory", "ward"])
def test_any_file_name(tmp_path: Path, ending: str, name: str) -> None:
    path = tmp_path / f"ward{ending}"
    found = handmade(macros=True).publish(path)
    beside = tmp_path / f"ward_dictionary{ending}"
    renamed = path.rename(tmp_path / f"{name}{ending}")
    dictionary = beside if beside.exists() else "ward_dictionary"
    again = verify_file(renamed, DECLARED, dictionary=dictionary)
    assert again == found


@pytest.mark.full
@pytest.mark.parametrize("ending", KINDS)
def test_an_empty_release(tmp_path: Path, ending: str) -> None:
    release = handmade().promise(suppression_limit=1.0)
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward LIMIT 0")
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary LIMIT 0")
    assert release.verify().verified
    found = release.publish(tmp_path / f"ward{ending}")
    assert found.verified, found.failures
    assert found.promises[0].found is None


@pytest.mark.parametrize("ending", KINDS)
def test_mutants_of_the_table_are_caught_in_files_too(tmp_path: Path, ending: str) -> None:
    """A record less than k, an identifier, and in text and Parquet rows that are not sorted."""
    release = handmade().promise(suppression_limit=0.5)
    release.replace("""SELECT *, 'patient ' || rowid AS "NAME" FROM ward WHERE rowid <> 0""")
    told = {"k_anonymity", "columns"}
    if ending != ".duckdb":
        release.sql("CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY dx")
        told |= {"order"}
    found = release.publish(tmp_path / f"ward{ending}")
    assert failed(found) == told
    assert detail(found, "columns") == "columns withheld 'NAME'"


# -- .duckdb ----------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE raw AS SELECT 1 AS a", "table 'raw'"),
        ("CREATE TABLE deid.hierarchies AS SELECT 1 AS a", "table 'hierarchies'"),
        ("CREATE VIEW small AS FROM ward WHERE age = '[20, 30)'", "view 'small'"),
        ("CREATE SEQUENCE next_patient START 21", "sequence 'next_patient'"),
        ("CREATE TYPE diagnosis AS ENUM ('flu', 'gout', 'secret')", "type 'diagnosis'"),
        ("CREATE MACRO deid.raw() AS 'patient 1'", "macro 'raw'"),
        ("CREATE MACRO main.classes() AS 'patient 1'", "macro 'classes'"),
        ("CREATE SCHEMA staging", "schema 'staging'"),
    ],
)
def test_an_extra_object(tmp_path: Path, statement: str, words: str) -> None:
    found = handmade(macros=True).publish(tmp_path / "ward.duckdb", statement)
    assert failed(found) == {"objects"}
    assert detail(found, "objects") == f"not part of a release: {words}"


ALTERED = {
    "body": "CREATE OR REPLACE MACRO deid.k(tbl, qis) AS 5",
    "default": next(m.definition for m in macros.MACROS if m.name == "suppress").replace(
        "k := 5", "k := 4", 1
    ),
    "parameter": "CREATE OR REPLACE MACRO deid.topcode(a, b, c) AS a",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_macro(tmp_path: Path, what: str) -> None:
    found = handmade(macros=True).publish(tmp_path / "ward.duckdb", ALTERED[what])
    assert failed(found) == {"objects"}
    assert detail(found, "objects").startswith("not as shipped: macro ")


def test_a_file_may_come_without_macros(tmp_path: Path) -> None:
    found = handmade(macros=True).publish(tmp_path / "ward.duckdb", "DROP MACRO deid.topcode")
    assert "objects" not in failed(found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("COMMENT ON COLUMN ward.dx IS 'patient 1'", "column 'ward'.'dx'"),
        ("COMMENT ON TABLE ward_dictionary IS 'patient 1'", "table 'ward_dictionary'"),
        ("COMMENT ON MACRO deid.topcode IS 'patient 1'", "macro 'topcode'"),
        ("COMMENT ON MACRO TABLE deid.check IS 'patient 1'", "macro 'check'"),
    ],
)
def test_a_comment_in_a_file(tmp_path: Path, statement: str, place: str) -> None:
    found = handmade(macros=True).publish(tmp_path / "ward.duckdb", statement)
    assert failed(found) == {"comments"}
    assert detail(found, "comments") == f"comment on {place}"


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("statement", "place", "named"),
    [
        ("CREATE TABLE t AS SELECT 1 AS a", "TABLE t", "table 't'"),
        ("CREATE TABLE t AS SELECT 1 AS a", "COLUMN t.a", "column 't'.'a'"),
        ("CREATE VIEW t AS SELECT 1 AS a", "VIEW t", "view 't'"),
        ("CREATE VIEW t AS SELECT 1 AS a", "COLUMN t.a", "column 't'.'a'"),
        ("CREATE MACRO t() AS 1", "MACRO t", "macro 't'"),
        ("CREATE TYPE t AS ENUM ('a')", "TYPE t", "type 't'"),
        ("CREATE SEQUENCE t", "SEQUENCE t", "sequence 't'"),
        ("CREATE INDEX t ON ward (dx)", "INDEX t", "index 't'"),
    ],
)
def test_comments_on_foreign_objects_are_named_too(
    tmp_path: Path, statement: str, place: str, named: str
) -> None:
    comment = f"COMMENT ON {place} IS 'patient 1'"
    found = handmade().publish(tmp_path / "ward.duckdb", statement, comment)
    assert failed(found) == {"definition" if "INDEX" in place else "objects", "comments"}
    assert detail(found, "comments") == f"comment on {named}"


@pytest.mark.full
def test_an_index_in_a_file(tmp_path: Path) -> None:
    found = handmade().publish(tmp_path / "ward.duckdb", "CREATE INDEX by_dx ON ward (dx)")
    assert failed(found) == {"definition"}


def test_deleted_rows_stay_in_the_file(tmp_path: Path) -> None:
    insert = "INSERT INTO ward SELECT * REPLACE ('~' AS age, 'secret' AS dx) FROM ward LIMIT 4"
    found = handmade().publish(
        tmp_path / "ward.duckdb", insert, "CHECKPOINT", "DELETE FROM ward WHERE age = '~'"
    )
    assert "storage" in failed(found)
    assert "4 deleted rows of 'ward'" in detail(found, "storage")


def test_a_dropped_table_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    raw = "CREATE TABLE raw AS SELECT 'secret ' || i AS name FROM range(1000) AS r(i)"
    found = handmade().publish(path, raw, "CHECKPOINT", "DROP TABLE raw")
    assert b"secret" in path.read_bytes()
    assert failed(found) == {"storage"}
    assert "freed blocks" in detail(found, "storage")


def test_bytes_after_the_last_block(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    handmade().write(path)
    with path.open("ab") as end:
        end.write(b"patient 1")
    found = verify_file(path, DECLARED, dictionary="ward_dictionary")
    assert failed(found) == {"storage"}


def test_a_write_ahead_log_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    handmade().write(path)
    with duckdb.connect(path) as con:
        con.execute("SET checkpoint_threshold = '1GB'")
        con.execute("PRAGMA disable_checkpoint_on_shutdown")
        con.execute("CREATE TABLE raw AS SELECT 'secret' AS name")
        con.execute("DROP TABLE raw")
    assert path.with_name("ward.duckdb.wal").exists()
    found = verify_file(path, DECLARED, dictionary="ward_dictionary")
    assert failed(found) == {"storage"}
    assert "write-ahead log" in detail(found, "storage")


@pytest.mark.full
def test_statistics_that_tell_about_updated_rows(tmp_path: Path) -> None:
    release = handmade()
    release.sql("CREATE TABLE kept AS FROM ward")
    release.replace("SELECT * REPLACE (dx || rowid AS dx) FROM ward")
    found = release.publish(tmp_path / "ward.duckdb", "UPDATE ward SET dx = 'flu'")
    assert {"statistics"} <= failed(found) <= {"statistics", "storage", "order"}
    assert "'ward'.'dx'" in detail(found, "statistics")


def test_a_view_instead_of_the_release(tmp_path: Path) -> None:
    found = handmade().publish(
        tmp_path / "ward.duckdb",
        "ALTER TABLE ward RENAME TO hidden",
        "CREATE VIEW ward AS FROM hidden",
    )
    assert failed(found) == {"objects"}
    assert not found.verified
    assert found.promises == ()


@pytest.mark.full
def test_nan_is_itself_in_statistics(tmp_path: Path) -> None:
    from dbdeid.engine.relation import Column

    release = handmade().replace(
        "SELECT * REPLACE (CASE rowid WHEN 3 THEN 'nan' ELSE '0.5' END::DOUBLE AS dx) FROM ward"
    )
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY ALL")
    columns = (*release.declared.columns[:-1], Column("dx", "DOUBLE"))
    for ending in KINDS:
        found = release.promise(columns=columns).publish(tmp_path / f"ward{ending}")
        assert found.verified, found.failures


# -- .parquet ---------------------------------------------------------------------------------


def test_foreign_key_value_metadata(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    copy = f"COPY ward TO '{path}' (FORMAT parquet, KV_METADATA {{note: 'patient 1'}})"
    found = handmade().publish(path, copy)
    assert failed(found) == {"metadata"}
    assert detail(found, "metadata") == "key-value metadata 'note'"


def test_a_parquet_file_of_another_writer(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "ward.parquet"
    release = handmade()
    release.write(path)
    pq.write_table(release.con.table("ward").to_arrow_table(), path)
    beside = tmp_path / "ward_dictionary.parquet"
    found = verify_file(path, release.declared, dictionary=beside)
    assert failed(found) == {"metadata"}
    assert "ARROW:schema" in detail(found, "metadata")
    assert "not written by DuckDB" in detail(found, "metadata")
    assert verify_bare(path, ("age", "zip"), 5).verified


def test_bytes_hidden_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    handmade().write(path)
    content = path.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:-footer] + b"patient 1" + content[-footer:])
    beside = tmp_path / "ward_dictionary.parquet"
    found = verify_file(path, DECLARED, dictionary=beside)
    assert failed(found) == {"metadata"}
    assert "9 bytes outside" in detail(found, "metadata")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["HUGEINT", "TIMESTAMP_S", "DECIMAL(9,2)", "UTINYINT"])
def test_types_that_parquet_stores_otherwise(tmp_path: Path, kind: str) -> None:
    from dbdeid.engine.relation import Column

    value = "TIMESTAMP '2020-02-02'" if kind.startswith("T") else "3"
    release = handmade().replace(f"SELECT * REPLACE (CAST({value} AS {kind}) AS dx) FROM ward")
    columns = (*release.declared.columns[:-1], Column("dx", kind))
    for ending in KINDS:
        path = tmp_path / f"ward{ending}"
        exact = "SELECT * REPLACE (CAST(dx AS DECIMAL(38, 0)) AS dx) FROM ward"
        wide = kind == "HUGEINT" and ending == ".parquet"
        again = [f"COPY ({exact}) TO '{path}'"] if wide else []
        found = release.promise(columns=columns).publish(path, *again)
        assert found.verified, found.failures


def test_an_enum_column_leaves_its_traces_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    copy = f"""COPY (SELECT * REPLACE (CAST(dx AS ENUM ('flu', 'gout', 'secret')) AS dx) FROM ward)
        TO '{path}'"""
    found = handmade().publish(path, copy)
    assert failed(found) == {"metadata"}
    assert "values that do not occur in the dictionary of 'dx'" in detail(found, "metadata")


def test_categories_of_pandas_in_a_bare_parquet_file(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "frame.parquet"
    values = pd.Categorical(["a", "a"], categories=["a", "secret"])
    pd.DataFrame({"z": values, "n": [1, 1]}).to_parquet(path)
    assert failed(verify_bare(path, ("z",), 2)) == {"metadata"}
    pd.DataFrame({"z": values.remove_unused_categories()}).to_parquet(path)
    assert verify_bare(path, ("z",), 2).verified


# -- .csv -------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (",20,29,", ",020,29,", "types"),
        (",20,29,", ",20.0,29,", "types"),
        (",20,29,", ",twenty,29,", "types"),
        ("age_lower", "AGE_LOWER", "columns"),
    ],
)
def test_a_changed_cell_of_a_csv_file(tmp_path: Path, old: str, new: str, check: str) -> None:
    path = tmp_path / "ward.csv"
    release = handmade()
    release.write(path)
    path.write_text(path.read_text().replace(old, new, 1))
    found = verify_file(path, release.declared, dictionary=tmp_path / "ward_dictionary.csv")
    assert check in failed(found)


def test_a_ragged_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    handmade().write(path)
    path.write_text(path.read_text() + "patient 1\n")
    with pytest.raises(DataError, match="cannot be read as CSV") as error:
        verify_file(path, DECLARED, dictionary=None)
    assert "patient 1" not in str(error.value)


def test_null_and_empty_text_are_two_classes_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    duckdb.sql(
        f"COPY (SELECT CASE WHEN i < 3 THEN '' END AS a, 1 AS b FROM range(5) AS r(i)) TO '{path}'"
    )
    assert verify_bare(path, ("a",), 2).promises[0].found == 2
    assert not verify_bare(path, ("a",), 3).verified


# -- any file ---------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", KINDS)
def test_a_bare_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ward{ending}"
    handmade().write(path)
    found = verify_bare(path, ("age", "zip", "sex"), 5)
    assert found.verified, found.failures
    assert found.promises[0].found == 5
    assert failed(verify_bare(path, ("age", "zip", "sex"), 6)) == {"k_anonymity"}
    with pytest.raises(DataError, match="no column 'zipp'") as refused:
        verify_bare(path, ("zipp",), 5)
    # the first line of a text file may be a person's
    likely = "look at the 6 names in its first line" if ending == ".csv" else "did you mean 'zip'"
    assert likely in refused.value.hint


def test_a_bare_file_of_a_working_database(tmp_path: Path) -> None:
    path = tmp_path / "work.duckdb"
    with duckdb.connect(path) as con:
        con.execute(
            "CREATE TABLE t AS SELECT CAST('a' AS ENUM ('a', 'secret')) AS a, i FROM range(9) r(i)"
        )
        con.execute("COMMENT ON COLUMN t.a IS 'note'")
        con.execute("CREATE VIEW v AS FROM t")
    found = verify_bare(path, ("a",), 5)
    assert failed(found) == {"types", "comments", "objects"}
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE u AS SELECT 1 AS a FROM range(7)")
    with pytest.raises(DataError, match="which table"):
        verify_bare(path, ("a",), 5)
    with pytest.raises(DataError, match="which table"):
        verify_bare(path, ("a",), 5, table="w")
    assert "k_anonymity" not in failed(verify_bare(path, ("a",), 7, table="u"))


def test_the_order_of_a_bare_file_is_only_reported(tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    path.write_text("a;b\n2;x\n1;x\n2;x\n1;x\n")
    found = verify_bare(path, ("a",), 2)
    assert found.verified
    assert detail(found, "order").startswith("reported only")


@pytest.mark.parametrize(
    ("rows", "misplaced"),
    [
        ("9,b\n10,a\n10,b\n", 0),  # numbers
        ("-1.5,b\n-1,a\n1e3,b\n,b\n", 0),  # none are last
        ("10,a\n9,a\nx,a\n", 0),  # one cell is no number: text
        ("9,b\n10,b\n10,a\n", 1),
        ("10,b\n9,b\nx,b\n11,a\n", 1),
        ("2,b\n,b\n1,b\n10,b\n", 1),
    ],
)
def test_cells_of_a_bare_text_file_are_in_order_as_numbers_or_as_text(
    tmp_path: Path, rows: str, misplaced: int
) -> None:
    path = tmp_path / "any.csv"
    path.write_text(f"a,b\n{rows}")
    told = f"reported only: 'any.csv': {misplaced} of its rows are not in order"
    assert detail(verify_bare(path, ("a",), 1), "order") == (told if misplaced else "")


@pytest.mark.full
def test_the_order_of_a_wide_file_takes_no_long_statement(tmp_path: Path) -> None:
    path, wide = tmp_path / "wide.csv", 1100  # expressions may be a thousand deep
    lines = [",".join(f"c{i}" for i in range(wide))]
    lines += [
        ",".join("xy"[i % 2] + str(n // 9) for i in range(wide - 1)) + f",{n % 9}"
        for n in range(30)
    ]
    path.write_text("\n".join(lines) + "\n")
    assert detail(verify_bare(path, ("c0",), 1), "order") == ""


@pytest.mark.parametrize("name", ["missing.csv", "notes.txt", "broken.parquet", "broken.duckdb"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name != "missing.csv":
        path.write_text("no such thing")
    with pytest.raises(DataError):
        verify_bare(path, ("a",), 2)


def test_verifying_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    release: Release = handmade()
    release.write(path)
    before = path.read_bytes()
    verify_file(path, release.declared, dictionary="ward_dictionary")
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ward.duckdb"]
    release.verify()
    left = release.con.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    assert left == []


NOTES = [
    pytest.param({"age": b"Jane Roe"}, None, "metadata on 'age'", id="a note on a column"),
    pytest.param({}, b'{"attributes": {"note": "Jane Roe"}}', "'pandas'", id="of a pandas frame"),
    pytest.param({}, b'{"columns": [], "note": "Jane Roe"}', "'pandas'", id="in what pandas says"),
    pytest.param({}, b"Jane Roe", "'pandas'", id="in place of what pandas says"),
    pytest.param({}, b'{"columns": [], "creator": {}}', "", id="nothing beside names and types"),
]


@pytest.mark.parametrize(("fields", "pandas", "told"), NOTES)
def test_notes_in_a_parquet_file_of_another_writer(
    tmp_path: Path, fields: dict[str, bytes], pandas: bytes | None, told: str
) -> None:
    rows = pa.table({"age": [1, 1, 2, 2]})
    schema = rows.schema.with_metadata({b"pandas": pandas} if pandas else None)
    for name, note in fields.items():
        at = schema.get_field_index(name)
        schema = schema.set(at, schema.field(at).with_metadata({b"note": note}))
    path = tmp_path / "noted.parquet"
    pq.write_table(rows.cast(schema), path)
    found = verify_bare(path, ("age",), 2)
    (metadata,) = (c for c in found.hygiene if c.check == "metadata")
    assert metadata.holds == (not told)
    assert told in metadata.detail
    assert "Jane" not in metadata.detail


def test_delta_encodings_of_a_bare_parquet_file(tmp_path: Path) -> None:
    """As DuckDB writes them where it is asked for: a column of unlike texts has no dictionary."""
    path = tmp_path / "later.parquet"
    with duckdb.connect() as con:
        rows = "SELECT '[20, 40)' || (i % 3) AS age, 'row' || i AS note FROM range(300) r(i)"
        con.execute(f"COPY ({rows} ORDER BY ALL) TO '{path}' (FORMAT parquet, PARQUET_VERSION v2)")
    with pq.ParquetFile(path) as file:
        encodings = file.metadata.row_group(0).column(1).encodings
    assert any("DELTA" in encoding for encoding in encodings)
    found = verify_bare(path, ("age",), 3)
    assert found.verified, found.failures


@pytest.mark.parametrize("error", [OSError("Unknown encoding"), pa.ArrowInvalid("torn")])
def test_columns_that_arrow_cannot_read_are_a_failed_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    path = tmp_path / "release.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 'a' AS age FROM range(100)) TO '{path}' (FORMAT parquet)")

    def torn(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", torn)
    assert "that Arrow cannot read" in footer.found_wrong(path)[0]
    with Session.open(None, read_only=False) as session:
        check = container.parquet(session, [path], ours=False)
    assert not check.holds
    assert "a schema or columns that Arrow cannot read" in check.detail
