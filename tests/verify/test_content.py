"""The content of a table: what it is made of, and that no other table has it."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pytest
from forging import SUM_OF_HASHES, forged
from handmade import detail, failed, handmade
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Content, content, contents, verify_file
from dbdeid.verify.files.content import EARLIER, MADE, _sorted, same

Row = tuple[Any, ...]
TEXTS = ("VARCHAR", "VARCHAR")


_OPEN = ExitStack()


@cache
def database() -> tuple[duckdb.DuckDBPyConnection, Session]:
    """One for all tables, of which there is one at a time."""
    con = _OPEN.enter_context(duckdb.connect())
    return con, _OPEN.enter_context(Session.over(con, None, read_only=False))


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    _OPEN.close()
    database.cache_clear()


def table(rows: Sequence[Row], types: Sequence[str], *names: str) -> Session:
    """The session that sees these rows as `t`."""
    con, session = database()
    named = names or [f"c{i}" for i in range(len(types))]
    columns = ", ".join(f'"{n}" {t}' for n, t in zip(named, types, strict=True))
    con.execute(f"CREATE OR REPLACE TABLE t ({columns})")
    if rows:
        row = f"({', '.join(f'CAST(? AS {kind})' for kind in types)})"
        cells = [cell for row in rows for cell in row]
        con.execute(f"INSERT INTO t VALUES {', '.join([row] * len(rows))}", cells)
    return session


def digest(rows: Sequence[Row], types: Sequence[str] = TEXTS, *names: str) -> str:
    return digest_of(table(rows, types, *names), len(rows))


def digest_of(session: Session, rows: int) -> str:
    relation = session.relation("t")
    found = content(session, relation, relation.columns)
    assert found is not None
    assert found.rows == rows
    return found.digest


def by_hand(rows: Sequence[Row], types: Sequence[str], *names: str) -> str:
    """The same from its description, without a database."""

    def cell(value: object) -> str:
        text = written(value)
        return "N" if text is None else f"{len(text.encode())}:{text}"

    def written(value: object) -> str | None:
        match value:
            case None | str():
                return value
            case bool():
                return str(value).lower()
            case float() if value != value:
                (bits,) = struct.unpack("<Q", struct.pack("<d", value))
                free = f"{bits:064b}"[1:]
                return "nan" if free == "1" * 12 + "0" * 51 else f"nan{free}"
            case datetime():
                micros = f".{value.microsecond:06}".rstrip("0").rstrip(".")
                return f"{value:%Y-%m-%d %H:%M:%S}{micros}"
            case list():
                return "".join(map(cell, value))
            case _:
                return str(value)

    buckets: dict[str, list[str]] = {}
    for row in rows:
        row_digest = hashlib.sha256("".join(map(cell, row)).encode()).hexdigest()
        buckets.setdefault(row_digest[:2], []).append(row_digest)
    told = names or [f"c{i}" for i in range(len(types))]
    head = "".join(cell(name) + cell(kind) for name, kind in zip(told, types, strict=True))
    of_buckets = (
        hashlib.sha256("".join(sorted(buckets[b])).encode()).hexdigest() for b in sorted(buckets)
    )
    return hashlib.sha256(f"{head} {len(rows)} {''.join(of_buckets)}".encode()).hexdigest()


# -- the digest -------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "UBIGINT": st.integers(0, 2**64 - 1),
    "HUGEINT": st.integers(-(2**127), 2**127 - 1),
    "UHUGEINT": st.integers(0, 2**128 - 1),
    "DECIMAL(9,2)": st.decimals("-9999999", "9999999", places=2, allow_nan=False).map(
        lambda d: d or Decimal("0.00")
    ),
    "DOUBLE": st.floats(),
    "DATE": st.dates(date(1000, 1, 1)),
    "TIMESTAMP": st.datetimes(datetime(1000, 1, 1)),
    "VARCHAR": texts,
    "VARCHAR[]": st.lists(st.none() | texts, max_size=3),
}


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_is_what_its_description_says(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    row = st.tuples(*(st.none() | CELLS[kind] for kind in types))
    rows = data.draw(st.lists(row, max_size=5))
    assert digest(rows, types) == by_hand(rows, types)


def test_many_rows_in_many_passes() -> None:
    rows = [(f"a{i % 700}", None if i % 3 else str(i % 5)) for i in range(1500)]
    expected = by_hand(rows, TEXTS)
    session = table(rows, TEXTS)
    assert digest_of(session, len(rows)) == expected
    for at_once in (1, 100, 1000):
        with mock.patch("dbdeid.verify.files.content.AT_ONCE", at_once):
            assert digest_of(session, len(rows)) == expected


def test_cells_of_any_length() -> None:
    rows = [
        ("a" * size, "é" * (size // 2)) for size in (0, 1, 9, 10, 46, 47, 48, 49, 99, 100, 3000)
    ]
    assert digest(rows, TEXTS) == by_hand(rows, TEXTS)


def test_hashes_that_begin_alike_are_sorted_to_their_end() -> None:
    hashes = [f"{i % 3:08x}{i % 7:08x}{i % 50:048x}" for i in range(100)]
    found = np.array([one.encode() for one in hashes])
    assert [one.decode() for one in _sorted(found)] == sorted(hashes)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.none() | texts, st.none() | texts), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_tells_every_change_but_the_order_of_rows(rows: list[Row], chance: random.Random) -> None:
    whole = digest(rows)
    assert digest(chance.sample(rows, len(rows))) == whole
    at = chance.randrange(len(rows))
    left, right = rows[at]
    changed = [
        [*rows, rows[at]],
        rows[:at] + rows[at + 1 :],
        [*rows[:at], (left, f"{right or ''}x"), *rows[at + 1 :]],
        [*rows[:at], (left, "" if right is None else None), *rows[at + 1 :]],
        [(b, a) for a, b in rows],
    ]
    for other in changed:
        assert (digest(other) == whole) == (sorted(other, key=repr) == sorted(rows, key=repr))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "alike",
    [
        [(None, "a"), ("", "a"), ("NULL", "a"), ("N", "a"), ("a", None)],
        [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("1:a", "bc")],
        [("a", "2:bcN"), ("a2:bc", None), ("a,2:bc", "N")],
        [("\x00", ""), ("", "\x00"), ("\x00\x00", ""), (None, "\x00")],
        [("é", ""), ("e\u0301", ""), ("E", ""), ("\u00a0", ""), (" ", "")],
    ],
)
def test_no_two_rows_are_written_alike(alike: list[Row]) -> None:
    assert len({digest([row]) for row in alike}) == len(alike)
    assert (
        len({digest(pair) for pair in permutations(alike, 2)}) == len(alike) * (len(alike) - 1) // 2
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("HUGEINT", ["1152921504606846976", "1152921504606846977"]),
        ("UHUGEINT", [str(2**128 - 1), str(2**128 - 2), "0"]),
        ("DOUBLE", ["nan", "inf", "-inf", "0.0", "-0.0", "5e-324", "0.1", "0.10000000000000002"]),
        ("FLOAT", ["nan", "inf", "-0.0", "0.0", "0.1", "0.10000001"]),
        ("DATE", ["infinity", "-infinity", "0044-03-15 (BC)", "0044-03-15", "2020-01-01"]),
        ("TIMESTAMP", ["infinity", "2020-01-01 00:00:00.000001", "2020-01-01"]),
        ("TIMESTAMP_NS", ["2020-01-01 00:00:00.000000001", "2020-01-01"]),
        ("TIMESTAMPTZ", ["infinity", "-infinity", "2020-01-01 00:00:00+00", "2020-01-01 00:00+01"]),
        ("VARCHAR[]", ["[]", "['']", "[NULL]", "['a, b']", "['a', 'b']", "['1:a1:b']", "[['a']]"]),
        ("UUID", ["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001"]),
        ("BLOB", ["", "a", "\\x00", "\\x5Cx00"]),
        ("ENUM ('a', 'b')", ["a", "b"]),
    ],
)
def test_no_two_values_of_a_type_are_written_alike(kind: str, values: list[str]) -> None:
    con, session = database()
    found = set()
    for value in [*values, None]:
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT CAST(? AS {kind}) AS a", [value])
        relation = session.relation("t")
        found.add(content(session, relation, relation.columns))
    assert len(found) == len(values) + 1


def test_nan_is_one_value() -> None:
    assert digest([(float("nan"),)], ["DOUBLE"]) == digest([(-float("nan"),)], ["DOUBLE"])


def test_knows_no_time_zone_and_no_setting_of_the_connection() -> None:
    found = set()
    with duckdb.connect() as con:
        for zone in ("UTC", "Asia/Kathmandu"):
            con.execute(f"SET TimeZone = '{zone}'")
            con.execute("CREATE OR REPLACE TABLE t (a TIMESTAMPTZ)")
            con.execute("INSERT INTO t VALUES ('2020-06-01 12:00:00+00'), (NULL)")
            with Session.over(con, None, read_only=False) as session:
                relation = session.relation("t")
                found.add(content(session, relation, relation.columns))
    assert len(found) == 1


def test_the_columns_belong_to_it() -> None:
    rows = [("a", "a"), ("b", "b")]
    told = [
        digest(rows, TEXTS, "a", "b"),
        digest(rows, TEXTS, "b", "a"),
        digest(rows, TEXTS, "a", "c"),
        digest([], TEXTS, "a", "b"),
        digest([], TEXTS, "b", "a"),
        digest([(1,)], ["INTEGER"]),
        digest([(1,)], ["BIGINT"]),
    ]
    assert len(set(told)) == len(told)


def test_columns_that_are_missing_or_of_other_types_have_none() -> None:
    session = table([("a", "b")], TEXTS)
    relation = session.relation("t")
    names = relation.columns
    assert content(session, relation, names[:1]) is None
    assert content(session, relation, names[::-1]) is None
    assert content(session, relation, (names[0], Column("c1", "INTEGER"))) is None
    assert content(session, Relation("t"), names) == content(session, relation, names)


@example([])
@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), max_size=4))
@settings(max_examples=examples(20), deadline=None)
def test_is_the_same_in_a_file_that_has_no_such_type(numbers: list[int]) -> None:
    rows = [(n,) for n in numbers]
    session = table(rows, ["DECIMAL(38,0)"])
    stored = content(session, session.relation("t"), (Column("c0", "HUGEINT"),))
    assert stored is not None
    assert stored.digest == digest(rows, ["HUGEINT"])


# -- forged -----------------------------------------------------------------------------------


def sum_of_hashes(rows: Sequence[Row]) -> Row:
    return table(rows, TEXTS).row(SUM_OF_HASHES)


def test_rows_of_the_same_sum_of_hashes_are_told_apart() -> None:
    true, false = forged()
    assert sorted(true) != sorted(false)
    assert sum_of_hashes(true) == sum_of_hashes(false)
    assert digest(true) != digest(false)


# -- kept and compared ------------------------------------------------------------------------


def kept(**changes: Any) -> Content:
    one = Content(3, "a" * 64)
    return replace(one, dictionary=Content(4, "b" * 64), catalog=Content(5, "c" * 64), **changes)


def test_what_is_kept_is_read_again() -> None:
    for one in (Content(3, "a" * 64), kept()):
        assert Content.of_dict(one.to_dict()) == one
    assert kept().to_dict()["made"] == MADE
    assert kept().to_dict()["catalog"] == {"rows": 5, "sha256": "c" * 64}


@pytest.mark.parametrize(
    "then", [[3, "9224570870114540512666703"], {}, {"release": None}, "?", 7, None]
)
def test_what_an_earlier_version_kept_is_not_believed(then: Any) -> None:
    found = same(Content(3, "a" * 64), Content.of_dict(then))
    assert not found.holds
    assert found.detail == EARLIER
    assert "run the spec again" in EARLIER


@pytest.mark.full
@pytest.mark.parametrize("kind", [".duckdb", ".parquet", ".csv"])
@pytest.mark.parametrize(
    "change",
    [
        "leaves = ['secret']",
        "lower = '0', upper = '999'",
        "level = 9",
        "truthless = 1",
    ],
)
def test_another_dictionary_than_was_verified(tmp_path: Path, kind: str, change: str) -> None:
    release = handmade()
    domains = release.declared.quasi_identifiers  # so that its leaves may be told
    release.promise(domains=domains)
    with Session.over(release.con, None, read_only=False) as session:
        tables = Relation("ward"), Relation("ward_dictionary"), None
        expected = contents(session, release.declared, *tables)
    path = tmp_path / f"ward{kind}"
    beside = "ward_dictionary" if kind == ".duckdb" else path.with_name(f"ward_dictionary{kind}")
    release.write(path)
    found = verify_file(path, release.declared, dictionary=beside, same_as=expected)
    assert found.verified, found.failures
    assert {"content", "dictionary_content"} <= {c.check for c in found.hygiene}
    if "truthless" in change:
        release.sql("ALTER TABLE ward_dictionary ADD COLUMN truthless INTEGER")
    release.sql(f"UPDATE ward_dictionary SET {change} WHERE rowid = 0")
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary ORDER BY ALL")
    path.unlink()
    release.write(path)
    found = verify_file(path, release.declared, dictionary=beside, same_as=expected)
    assert "dictionary_content" in failed(found)
    assert "content" not in failed(found)
    assert "than the table that was verified" in detail(found, "dictionary_content")


def test_a_dictionary_that_is_missing() -> None:
    release = handmade()
    with Session.over(release.con, None, read_only=False) as session:
        tables = Relation("ward"), Relation("ward_dictionary"), None
        expected = contents(session, release.declared, *tables)
    assert expected is not None
    assert expected.dictionary is not None
    assert not same(None, expected.dictionary, "dictionary_content").holds
