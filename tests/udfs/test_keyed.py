"""Keys, pseudonyms and date shifts."""

from __future__ import annotations

import base64
import hmac
import os
from collections import Counter
from datetime import date, timedelta
from typing import Any

import duckdb
import pytest
from dbdeid.udfs import keyed
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.errors import DataError

Con = duckdb.DuckDBPyConnection
RAW = bytes(range(16))


def rows(con: Con, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (RAW.hex(), RAW),
        (RAW.hex().upper(), RAW),
        ("00" * 64, bytes(64)),
        (base64.b64encode(RAW).decode(), RAW),
        (base64.b64encode(RAW).decode().rstrip("="), RAW),
        (base64.urlsafe_b64encode(b"\xfb\xff" * 12).decode(), b"\xfb\xff" * 12),
        ("correct horse battery staple - 32", b"correct horse battery staple - 32"),
        ("ä" * 16, ("ä" * 16).encode()),
    ],
)
def test_a_key_is_hex_base64_or_text(text: str, key: bytes) -> None:
    assert keyed.parse_key(text) == key


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "0" * 30,
        "0" * 33,
        "f" * 31,
        base64.b64encode(bytes(15)).decode(),
        "only 31 characters long, a pity",
    ],
)
def test_a_short_key_is_refused_without_telling_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(keyed.VARIABLE, text)
    with pytest.raises(DataError, match="fewer than 128 bits") as error:
        keyed.key_from_environment()
    assert "openssl rand -hex 32" in error.value.hint
    assert len(text) == 1 or text not in str(error.value)


def test_blanks_around_a_key_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keyed.VARIABLE, f" {RAW.hex()}\n")
    assert keyed.key_from_environment() == RAW


@pytest.mark.parametrize(
    "call", ["deid_pseudonym('x', 'd')", "deid_date_shift(DATE '2020-01-01', 's', 30)"]
)
def test_without_a_key_there_is_an_error_with_a_hint(
    con: Con, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(keyed.VARIABLE, raising=False)
    with pytest.raises(duckdb.Error, match=r"need a key in \$DBDEID_PSEUDONYM_KEY") as error:
        rows(con, f"SELECT {call}")
    assert "Hint: make one" in str(error.value)
    assert keyed.VARIABLE not in os.environ


def test_a_pseudonym_is_an_hmac(con: Con, key: bytes) -> None:
    expected = hmac.new(key, b"pseudonym:7:rel.mrnA-17", "sha256").hexdigest()
    assert rows(con, "SELECT deid_pseudonym('A-17', 'rel.mrn')") == [(expected,)]
    assert keyed.pseudonym("A-17", "rel.mrn", key) == expected


def test_pseudonyms_know_null_and_repeat(con: Con, key: bytes) -> None:
    query = """SELECT deid_pseudonym(v, d) FROM (VALUES ('x', 'a'), (NULL, 'a'), ('x', 'b'),
      ('x', 'a'), ('', 'a'), ('X', 'a')) AS t(v, d)"""
    found = [value for (value,) in rows(con, query)]
    assert found[1] is None
    assert found[0] == found[3]
    assert len({v for v in found if v}) == 4
    assert all(len(v) == 64 for v in found if v)
    with pytest.raises(duckdb.Error, match="the domain is NULL"):
        rows(con, "SELECT deid_pseudonym('x', NULL)")


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_domains_and_values_never_run_together(one: tuple[str, str], two: tuple[str, str]) -> None:
    same = keyed.pseudonym(*one, RAW) == keyed.pseudonym(*two, RAW)
    assert same == (one == two)
    moved = (one[0] + two[0], one[1])
    again = (one[0], two[0] + one[1])
    assert (keyed.pseudonym(*moved, RAW) == keyed.pseudonym(*again, RAW)) == (moved == again)


def test_a_million_rows_of_few_values_are_quick_and_right(con: Con, key: bytes) -> None:
    query = "SELECT count(DISTINCT deid_pseudonym((i % 9)::VARCHAR, 'd')) FROM range(100000) r(i)"
    assert rows(con, query) == [(9,)]


def test_shifts_are_uniform_and_never_zero() -> None:
    drawn = Counter(keyed.shift_days(str(i), 3, RAW) for i in range(6000))
    assert set(drawn) == {-3, -2, -1, 1, 2, 3}
    assert all(850 < count < 1150 for count in drawn.values())


def test_dates_of_a_subject_move_together(con: Con, key: bytes) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE visits AS SELECT DATE '2020-02-27' + CAST(i AS INTEGER) AS day, "
        "CAST(i % 7 AS VARCHAR) AS who FROM range(70) AS r(i)"
    )
    found = rows(con, "SELECT who, deid_date_shift(day, who, 30) - day FROM visits")
    moves = {who: {move for w, move in found if w == who} for who, _ in found}
    assert all(len(move) == 1 for move in moves.values())
    assert {who: next(iter(move)) for who, move in moves.items()} == {
        who: keyed.shift_days(who, 30, key) for who in moves
    }
    assert all(1 <= abs(next(iter(move))) <= 30 for move in moves.values())


def test_shifting_knows_null_and_infinity(con: Con, key: bytes) -> None:
    call = "SELECT CAST(deid_date_shift({}) AS VARCHAR)"
    assert rows(con, call.format("NULL, 's', 9")) == [(None,)]
    assert rows(con, call.format("DATE '2020-01-01', NULL, 9")) == [(None,)]
    assert rows(con, call.format("DATE 'infinity', 's', 9")) == [("infinity",)]
    assert rows(con, call.format("DATE '-infinity', 's', 9")) == [("-infinity",)]
    expected = date(1, 1, 5) + timedelta(keyed.shift_days("s", 3, key))
    assert rows(con, "SELECT deid_date_shift(DATE '0001-01-05', 's', 3)") == [(expected,)]
    for days in ("0", "-1", "NULL"):
        with pytest.raises(duckdb.Error, match="max_days must be 1 or more"):
            rows(con, f"SELECT deid_date_shift(DATE '2020-01-01', 's', {days})")
