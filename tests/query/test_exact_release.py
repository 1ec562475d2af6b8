"""A release that holds the source's own values answers every query as the source does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from raw_tables import ACCEPTED, PEOPLE, answered, filled

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.query.desk.answer import answer

ITSELF = replace(
    PEOPLE,
    release=Relation("people", PEOPLE.columns),
    dictionary=None,
    quasi_identifiers=(),
)


@pytest.fixture(scope="module")
def raw() -> Iterator[tuple[duckdb.DuckDBPyConnection, Session]]:
    with filled() as connection:
        session = Session.over(connection, None, read_only=False)
        yield connection, session
        session.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", ACCEPTED)
def test_values_and_bounds_are_those_of_the_source(
    text: str, raw: tuple[duckdb.DuckDBPyConnection, Session]
) -> None:
    connection, session = raw
    names, rows = answered(connection, text)
    found = answer(session, text, ITSELF)
    told = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert len(told) == len(rows)
    for row, cells in zip(rows, told, strict=True):
        for name, value in zip(names, row, strict=True):
            for shown in (name, f"{name}_lower", f"{name}_upper"):
                if shown in cells:
                    assert number(cells[shown]) == number(value), shown


def number(value: Any) -> Any:
    """A value to compare: counts and sums come back as floating-point numbers."""
    exact = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return pytest.approx(float(value), rel=1e-9) if exact else value
