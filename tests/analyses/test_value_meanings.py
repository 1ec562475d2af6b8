"""What released values stand for, as a model lists it."""

from __future__ import annotations

from statistics import mean

import duckdb
import pytest

from dbdeid.analyses.value_meanings import CONTINUOUS, MOST, Untold, between, generalized, meanings
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column

TABLES = """
CREATE TABLE dictionary AS FROM (VALUES
  ('age', '[20, 30)', 1, '20', '22', NULL), ('age', '7', 0, '7', '7', NULL),
  ('sex', '*', 1, NULL, NULL, ['m', 'f']),
  ('zip', '1@1', 1, NULL, NULL, NULL), ('zip', '12', 0, NULL, NULL, NULL),
  ('job', 'x', 0, NULL, NULL, NULL), ('job', 'y', 1, NULL, NULL, NULL),
  ('twice', 'x', 0, NULL, NULL, NULL), ('twice', 'x', 1, NULL, NULL, ['a']),
  ('code', 'low', 1, NULL, NULL, ['1', 'many'])
) AS t("column", released_value, level, lower, upper, leaves);
CREATE TABLE hierarchies AS FROM (VALUES
  ('zip', 0, '10', '10'), ('zip', 0, '12', '12'), ('zip', 1, '12', '1'), ('zip', 1, '10', '1'),
  ('zip', 1, NULL, '1'), ('zip', 2, '10', '*')
) AS t(hierarchy, level, value, label);
"""


def listed(name: str, kind: str) -> tuple[dict[str | None, list[object]], bool]:
    con = duckdb.connect()
    con.execute(TABLES)
    with Session.over(con, None, read_only=False) as session:
        tables = (session.relation("dictionary"), session.relation("hierarchies"))
        found = meanings(session, Column(name, kind), *tables, "means")
        rows = session.rows('SELECT "value", leaf FROM means ORDER BY ALL')
    values: dict[str | None, list[object]] = {}
    for value, leaf in rows:
        values.setdefault(value, []).append(leaf)
    return values, found.told


def test_leaves_bounds_and_values_are_told_by_the_dictionary() -> None:
    assert listed("age", "INTEGER") == ({"[20, 30)": [20, 21, 22], "7": [7], None: [None]}, True)
    assert listed("sex", "VARCHAR") == ({"*": ["f", "m"], None: [None]}, True)


def test_the_owner_knows_what_the_dictionary_does_not_tell() -> None:
    """A label that tells its level is the same one in the hierarchy."""
    expected = {"1@1": ["10", "12"], "12": ["12"], None: [None]}
    assert listed("zip", "VARCHAR") == (expected, False)


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("job", "VARCHAR", "job is released without the values"),
        ("twice", "VARCHAR", "two meanings"),
        ("code", "INTEGER", "are not of its type INTEGER"),
    ],
)
def test_a_column_without_usable_values_is_refused(name: str, kind: str, reason: str) -> None:
    with pytest.raises(Untold, match=reason):
        listed(name, kind)


def test_only_columns_on_a_higher_level_are_generalized() -> None:
    con = duckdb.connect()
    con.execute(TABLES)
    with Session.over(con, None, read_only=False) as session:
        known = generalized(session, session.relation("dictionary"))
        assert known == {"age", "sex", "zip", "job", "twice", "code"}
        con.execute("DELETE FROM dictionary WHERE level > 0")
        assert generalized(session, session.relation("dictionary")) == frozenset()
        assert generalized(session, None) == frozenset()


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "number", "middle"),
    [
        ("INTEGER", "-3", "4", 8, 0.5),
        ("BIGINT", "0", "999999", MOST, 499999.5),
        ("DOUBLE", "1.5", "2.5", CONTINUOUS, 2.0),
        ("DECIMAL(4,1)", "0", "10", CONTINUOUS, 5.0),
    ],
)
def test_values_between_bounds_are_even(
    kind: str, lower: str, upper: str, number: int, middle: float
) -> None:
    found = [float(text) for text in between(Column("c", kind), lower, upper)]
    assert len(found) == number
    assert mean(found) == pytest.approx(middle, abs=0.5 if kind == "BIGINT" else 1e-9)
    assert float(lower) <= min(found) < max(found) <= float(upper)


def test_days_and_moments_between_bounds() -> None:
    days = between(Column("c", "DATE"), "2020-02-28", "2020-03-01")
    assert list(days) == ["2020-02-28", "2020-02-29", "2020-03-01"]
    moments = list(between(Column("c", "TIMESTAMP"), "2020-01-01 00:00:00", "2020-01-02 00:00:00"))
    assert len(moments) == CONTINUOUS
    assert moments[CONTINUOUS // 2].startswith("2020-01-01 12:00:00")


@pytest.mark.parametrize("bounds", [("1", None), (None, "1"), (None, None)])
def test_one_bound_tells_nothing(bounds: tuple[str | None, str | None]) -> None:
    assert list(between(Column("c", "INTEGER"), *bounds)) == []
    assert list(between(Column("c", "VARCHAR"), "a", "b")) == []
