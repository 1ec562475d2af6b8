"""What a database file keeps of before: found by its bytes, and never seen in a fresh file."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from handmade import detail, failed, handmade

from dbdeid.engine.duckdb.session import Session
from dbdeid.verify import verify_bare
from dbdeid.verify.files import storage_leftovers

PEOPLE = """CREATE TABLE people AS
    SELECT 'secret ' || i AS name, i % 2 AS sex, 'of ' || i % 7 AS ward, i % 5 AS age
    FROM range({rows}) AS r(i)"""

# What was done to a database, and what the file then still tells of it.
HISTORIES = {
    "column": (PEOPLE, "CHECKPOINT", "ALTER TABLE people DROP COLUMN name"),
    "last column": (PEOPLE, "CHECKPOINT", "ALTER TABLE people DROP COLUMN age"),
    "update": (PEOPLE, "CHECKPOINT", "UPDATE people SET name = 'x'"),
    "deleted": (PEOPLE, "CHECKPOINT", "DELETE FROM people WHERE name LIKE '%3'"),
    "all deleted": (PEOPLE, "CHECKPOINT", "DELETE FROM people WHERE sex = 0", "CHECKPOINT"),
    "replaced": (
        *(PEOPLE, "CHECKPOINT"),
        "CREATE OR REPLACE TABLE people AS SELECT sex, ward FROM people",
    ),
    "another table": (
        *(PEOPLE, "CREATE TABLE raw AS FROM people", "CHECKPOINT"),
        *("DROP TABLE raw", "CHECKPOINT"),
    ),
    "comment": (
        *(PEOPLE, "COMMENT ON TABLE people IS 'secret'", "CHECKPOINT"),
        "COMMENT ON TABLE people IS NULL",
    ),
    "view": (
        *(PEOPLE, "CREATE VIEW few AS FROM people WHERE name = 'secret 7'", "CHECKPOINT"),
        "DROP VIEW few",
    ),
    "type": (
        *(PEOPLE, "CREATE TYPE kinds AS ENUM ('flu', 'secret')", "CHECKPOINT"),
        "DROP TYPE kinds",
    ),
}


def told(path: Path) -> str:
    """What is found in a file."""
    with Session.open(path, read_only=True, sealed=True) as session:
        return storage_leftovers.storage(session, path, []).detail


@pytest.mark.sampled(6)
@pytest.mark.parametrize("history", HISTORIES)
def test_what_was_there_before_is_found(tmp_path: Path, history: str) -> None:
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(path) as con:
        for statement in HISTORIES[history]:
            con.execute(statement.format(rows=2000))
    assert b"secret" in path.read_bytes()
    found = verify_bare(path, ("sex",), 5)
    assert "storage" in failed(found)
    assert "secret" not in detail(found, "storage")


@pytest.mark.parametrize(
    ("dropped", "words"), [("name", "bytes of no column"), ("age", "freed blocks")]
)
def test_columns_dropped_before_the_first_checkpoint(
    tmp_path: Path, dropped: str, words: str
) -> None:
    # Large tables are written before they are committed: there is no catalog of before.
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(path, config={"threads": 1}) as con:
        con.execute(PEOPLE.format(rows=260_000))
        con.execute(f"ALTER TABLE people DROP COLUMN {dropped}")
    assert words in told(path)


@pytest.mark.parametrize("history", ["column", "comment"])
def test_a_copy_leaves_it_behind(tmp_path: Path, history: str) -> None:
    old, new = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    with duckdb.connect(old) as con:
        for statement in HISTORIES[history]:
            con.execute(statement.format(rows=2000))
        con.execute(f"ATTACH '{new}' AS fresh")
        con.execute("COPY FROM DATABASE old TO fresh")
    assert told(old)
    assert not told(new)


@pytest.mark.full
def test_a_release_changed_later(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    comment = "COMMENT ON TABLE ward IS 'patient 1'", "COMMENT ON TABLE ward IS NULL"
    assert handmade().publish(path, *comment).verified
    path.unlink()
    found = handmade().publish(path, comment[0], "CHECKPOINT", comment[1], later=True)
    assert failed(found) == {"storage"}
    assert "a catalog of before" in detail(found, "storage")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", [60, 300, 4096 + 2000, 3 * 4096 - 1])
def test_bytes_in_the_header(tmp_path: Path, place: int) -> None:
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(path) as con:
        con.execute(PEOPLE.format(rows=20))
    assert not told(path)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"s")
    header = path.read_bytes()[: 3 * 4096]
    assert storage_leftovers._written_over(header)


# -- fresh files ---------------------------------------------------------------------------

VALUES = {
    "auto": [
        *("i", "i % 3", "'p' || i", "'zip' || i % 20", "i // 300", "7", "hash(i) % 2 = 0"),
        *("i::DECIMAL(9, 2)", "hash(i)::HUGEINT * 3", "DATE '2000-01-01' + (hash(i) % 900)::INT"),
        *("[i, i + 1]", "{'a': i, 'b': 'x' || i}", "repeat('x' || i, 3000)", "('z' || i)::BLOB"),
        *("CASE WHEN hash(i) % 3 = 0 THEN i END", "sin(i)", "round(i / 10, 1)", "uuid()"),
        *("'patient number ' || i * i", "CASE WHEN i % 9 > 0 THEN 'v' || hash(i) % 99999 END"),
    ],
    "roaring": [
        *("CASE WHEN i % 1000 > 0 THEN i END", "CASE WHEN hash(i) % 3 = 0 THEN i END"),
        # rows in a stretch beside rows that are missing here and there
        *(f"CASE WHEN i > 3000 AND hash(i) % {n} > 0 THEN i END" for n in (40, 400)),
    ],
    "rle": ["i // 300", "i // 70000"],
    "uncompressed": ["i::INTEGER", "'p' || i", "i::DECIMAL(9, 1)", "INTERVAL (i) DAY", "[i]"],
    "dictionary": ["'zip' || i % 20"],
    "fsst": ["'patient number ' || i * i"],
    "dict_fsst": ["'zip' || i % 20", "'patient number ' || i * i"],
    "zstd": ["repeat('lorem ipsum ' || i, 30)"],
    "alp": ["round(i / 10, 1)::FLOAT", "round(i / 10, 1)"],
    "alprd": ["sin(i)", "sin(i)::FLOAT"],
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("version", ["v1.2.0", "latest"])
@pytest.mark.parametrize("compression", VALUES)
@pytest.mark.parametrize("rows", [900, 5000])
def test_fresh_files_hold_nothing_else(
    tmp_path: Path, compression: str, version: str, rows: int
) -> None:
    path = tmp_path / "any.duckdb"
    names = [f"{value} AS c{n}" for n, value in enumerate(VALUES[compression])]
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS fresh (STORAGE_VERSION '{version}')")
        con.execute(f"SET force_compression = '{compression}'")
        query = f"SELECT {', '.join(names)}, i % 7 AS z FROM range({rows}) AS r(i)"
        con.execute(f"CREATE TABLE fresh.any AS {query}")
        con.execute(f"CREATE TABLE fresh.more AS {query} LIMIT 50")
    assert not told(path)
    _ends_are_exact(path)


def _ends_are_exact(path: Path) -> None:
    """Segments end where the next one begins, but for the eight bytes that it is aligned to."""
    with Session.open(path, read_only=True, sealed=True) as session:
        size = session.row("SELECT block_size FROM pragma_database_size() WHERE block_size > 0")[0]
        of_block = defaultdict(list)
        for segment in storage_leftovers._segments(session):
            of_block[segment.block].append(segment)
    data = path.read_bytes()
    for number, segments in of_block.items():
        block = data[3 * 4096 + number * size + 8 : 3 * 4096 + (number + 1) * size]
        segments.sort(key=lambda s: s.offset)
        for one, following in pairwise(segments):
            end = storage_leftovers._end(one, block[one.offset :])
            if one.compression == "ZSTD":
                assert end is None
                continue
            assert end is not None
            spare = following.offset - one.offset - end
            assert 0 <= spare < 8
