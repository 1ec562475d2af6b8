"""Arrow arrays from buffers hold what they were given, as DuckDB reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dbdeid.engine import arrow
from dbdeid.engine.session import Session

COLUMNS = [
    (np.array([3, 0, 250], np.uint8), [3, 0, 250], "UTINYINT"),
    (np.array([-1, 2**62], np.int64)[::-1], [2**62, -1], "BIGINT"),
    (np.array([0.25, -0.0]), [0.25, -0.0], "DOUBLE"),
    (range(2, 5), [2, 3, 4], "BIGINT"),
    (["a", None, "", "größer", "a\0b"], ["a", None, "", "größer", "a\0b"], "VARCHAR"),
    (np.array(["x", None], np.object_), ["x", None], "VARCHAR"),
    ([None] * 9, [None] * 9, "VARCHAR"),
    ([], [], "VARCHAR"),
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


def test_what_is_no_text_is_no_column() -> None:
    with pytest.raises(AttributeError):
        arrow.array(["a", 1])
