"""Arrow arrays from buffers hold what they were given, as DuckDB reads them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.engine import arrow
from dbdeid.engine.duckdb.session import Session

COLUMNS = [
    (np.array([3, 0, 250], np.uint8), [3, 0, 250], "UTINYINT"),
    (np.array([-1, 2**62], np.int64)[::-1], [2**62, -1], "BIGINT"),
    (np.array([0.25, -0.0]), [0.25, -0.0], "DOUBLE"),
    (range(2, 5), [2, 3, 4], "BIGINT"),
    (["a", None, "", "größer", "a\0b"], ["a", None, "", "größer", "a\0b"], "VARCHAR"),
    (np.array(["x", None], np.object_), ["x", None], "VARCHAR"),
    ([None] * 9, [None] * 9, "VARCHAR"),
    ([], [], "VARCHAR"),
    (np.array([], np.int64), [], "BIGINT"),
    (range(5, 0, -2), [5, 3, 1], "BIGINT"),
    (np.arange(6, dtype=np.uint32)[1::2], [1, 3, 5], "UINTEGER"),
    (np.array([1, -(2**63)], ">i8"), [1, -(2**63)], "BIGINT"),
    (["ü" * 3_000_000, None, "x"], ["ü" * 3_000_000, None, "x"], "VARCHAR"),
    (arrow.numbers([1, None, 3], np.int32), [1, None, 3], "INTEGER"),
    (arrow.numbers([None, 0.5], np.float64), [None, 0.5], "DOUBLE"),
    (arrow.lists([("a", "b"), None, (), ("ü",)]), [["a", "b"], None, [], ["ü"]], "VARCHAR[]"),
]


@pytest.mark.parametrize(("given", "rows", "kind"), COLUMNS)
def test_a_column_arrives_as_it_was(given: Any, rows: list[Any], kind: str) -> None:
    with Session.open(None, read_only=False) as session:
        table = session.upload("uploaded", {"cell": given})
        assert [c.type for c in table.columns] == [kind]
        assert session.rows("FROM uploaded ORDER BY rowid") == [(row,) for row in rows]


@pytest.mark.parametrize(
    "values", [["a", 1], [1, 2], [True, False], np.array([True]), np.array(["2020-01-01"], "M8[D]")]
)
def test_what_is_no_text_is_no_column(values: Any) -> None:
    with pytest.raises(TypeError):
        arrow.array(values)


def test_a_table_is_no_column() -> None:
    with pytest.raises(ValueError, match="too many values"):
        arrow.array(np.zeros((2, 2)))


def test_a_number_beyond_its_type_is_refused() -> None:
    with pytest.raises(OverflowError):
        arrow.numbers([2**31], np.int32)


# What cannot be written as UTF-8 is no text.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def same(made: pa.Array, wanted: pa.Array) -> None:
    """Arrow's own checks of the layout, and what Arrow itself makes of the values."""
    made.validate(full=True)
    assert made.type == wanted.type
    assert made.null_count == wanted.null_count
    if made.type == pa.float64():  # NaN by its bits
        made, wanted = made.view(pa.int64()), wanted.view(pa.int64())
    assert made.equals(wanted)


@pytest.mark.full
@settings(deadline=None)
@given(st.lists(st.none() | TEXTS), st.lists(st.none() | st.lists(TEXTS)))
def test_texts_are_laid_out_as_arrow_does(
    texts: list[str | None], lists: list[list[str] | None]
) -> None:
    same(arrow.texts(texts), pa.array(texts, pa.large_string()))
    same(arrow.lists(lists), pa.array(lists, pa.large_list(pa.large_string())))


@settings(deadline=None)
@given(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.none() | st.floats()),
)
def test_numbers_are_laid_out_as_arrow_does(
    integers: list[int | None], numbers: list[float | None]
) -> None:
    same(arrow.numbers(integers, np.int64), pa.array(integers, pa.int64()))
    same(arrow.numbers(numbers, np.float64), pa.array(numbers, pa.float64()))
    given = np.array([n for n in numbers if n is not None], np.float64)
    same(arrow.array(given), pa.array(given))


OF_KINDS = (
    "TRUE AS v, 1::TINYINT AS w, (-2)::SMALLINT AS x, 3::INTEGER AS y, 4::BIGINT AS z",
    "170141183460469231731687303715884105::HUGEINT AS v, 5::UBIGINT AS w, NULL::INTEGER AS x",
    "1.5::FLOAT AS v, 'nan'::DOUBLE AS w, -12.30::DECIMAL(6, 2) AS x, 'Zürich' AS y, ''::BLOB AS z",
    "DATE '1969-12-31' AS v, TIME '23:59:59.5' AS w, TIMESTAMP '2020-02-29 12:00:00.000001' AS x",
    "TIMESTAMPTZ '2020-02-29 12:00:00+02' AS v, INTERVAL 36 HOURS AS w",
    "[1, NULL, 3] AS v, ['a'] AS w, [[1.50]] AS x, []::DATE[] AS y",
    "'00000000-0000-0000-0000-00000000000a'::UUID AS v, {'a': 1} AS w, NULL AS x",
)


@pytest.mark.parametrize("text", OF_KINDS)
def test_rows_become_a_table_with_the_types_of_the_engine(text: str) -> None:
    with Session.open(None, read_only=False) as session:
        found = session.result(f"SELECT {text} UNION ALL SELECT {text}")
    made = arrow.table(found.columns, found.types, found.rows)
    assert made.column_names == list(found.columns)
    with duckdb.connect() as con:
        again = con.execute("SELECT * FROM made").fetchall()
    for before, after in zip(found.rows, again, strict=True):
        for was, now in zip(before, after, strict=True):
            texts = isinstance(was, UUID | dict)
            assert now == (str(was) if texts else was) or (now != now and was != was)
