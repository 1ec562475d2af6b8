"""Values on their way to a client and back, as text and in binary; the client judges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import tiers
from clients import PASSWORD, Connection, connected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdeid.errors import DataError
from dbdeid.serve import types
from dbdeid.serve.server import Server

WRITTEN: dict[str, Any] = {
    "TRUE": True,
    "(-3)::TINYINT": -3,
    "(-30000)::SMALLINT": -30_000,
    "(-2000000000)::INTEGER": -2_000_000_000,
    "(-9000000000000000000)::BIGINT": -9_000_000_000_000_000_000,
    "123456789012345678901234567890::HUGEINT": Decimal(123456789012345678901234567890),
    "1.25::REAL": 1.25,
    "(-0.1)::DOUBLE PRECISION": -0.1,
    "'nan'::DOUBLE PRECISION": math.nan,
    "'-inf'::DOUBLE PRECISION": -math.inf,
    "1234.50::DECIMAL(10, 2)": Decimal("1234.50"),
    "(-0.0001)::DECIMAL(10, 4)": Decimal("-0.0001"),
    "0::DECIMAL(10, 4)": Decimal("0.0000"),
    "70000::DECIMAL(10, 0)": Decimal("70000"),
    "'Zürich'": "Zürich",
    "''": "",
    "NULL::INTEGER": None,
    "DATE '1969-12-31'": date(1969, 12, 31),
    "TIME '12:34:56.789'": time(12, 34, 56, 789_000),
    "TIMESTAMP '1999-12-31 23:59:59.000001'": datetime(1999, 12, 31, 23, 59, 59, 1),
    "TIMESTAMPTZ '2024-02-29 12:00:00+00'": datetime(2024, 2, 29, 12, tzinfo=UTC),
    "INTERVAL '-3 days 2 hours'": timedelta(days=-3, hours=2),
    "'00000000-0000-0000-0000-00000000000a'::UUID": UUID(int=10),
    "ARRAY[1, NULL, 3]": [1, None, 3],
    """ARRAY['a,b', 'c"d', '', 'NULL', 'e\\f', '{}']""": [
        *("a,b", 'c"d', "", "NULL", "e\\f", "{}"),
    ],
}


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Connection]:
    with connected(server, PASSWORD) as connection:
        yield connection


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("text", WRITTEN)
def test_a_value_arrives_as_it_is(client: Connection, text: str, binary: bool) -> None:
    ((found,),) = client.cursor(binary=binary).execute(f"SELECT {text} AS v").fetchall()
    assert found == WRITTEN[text] or (found != found and "nan" in text)


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(
        allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.dates(),
    st.datetimes(),
    st.lists(st.integers(-100, 100), min_size=1),
)


@settings(
    max_examples=tiers.examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(VALUES, st.booleans(), st.booleans())
def test_a_value_goes_there_and_back(
    client: Connection, value: Any, there: bool, back: bool
) -> None:
    form = "%b" if there else "%t"
    ((found,),) = client.cursor(binary=back).execute(f"SELECT {form} AS v", (value,)).fetchall()
    assert found == value


@pytest.mark.parametrize(
    ("given", "oid", "binary"),
    [
        (b"x", types.INT4.oid, False),
        (b"\0", types.INT4.oid, True),
        (b"2024-13-01", types.DATE.oid, False),
        (b"maybe", types.BOOL.oid, False),
        (b"1", 600, False),
        (b"1,2", types.INT4.array, False),
        (b"{{1},{2}}", types.INT4.array, False),
        (b"\0\0\0\2" + bytes(8), types.INT4.array, True),
        (b"\x7f\xff\xff\xff\xff\xff\xff\xff", types.TIMESTAMP.oid, True),
        (b"\0\1\0\0\xc0\0\0\0", types.NUMERIC.oid, True),
        (b"\xff", types.TEXT.oid, True),
    ],
)
def test_what_is_no_value_of_its_type(given: bytes, oid: int, binary: bool) -> None:
    with pytest.raises(DataError):
        types.value_of(given, oid, binary=binary)


def test_a_type_without_an_equal_is_text() -> None:
    assert types.type_of("ENUM('a', 'b')") is types.TEXT
    assert types.type_of("DECIMAL(18,3)[]").of is types.NUMERIC
    assert types.modifier_of("DECIMAL(10,2)") == (10 << 16 | 2) + 4
    assert types.modifier_of("DOUBLE") == -1
