"""Relocation: what would be suppressed gets the quasi-identifiers of the nearest class."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest

import dbdeid


def spec(**changes: Any) -> dict[str, Any]:
    rows = ", ".join(
        f"({age}, '{town}', {n})"
        for n, (age, town) in enumerate([(30, "A")] * 4 + [(40, "B")] * 3 + [(30, "B"), (70, "C")])
    )
    return {
        "release": "moved",
        "source": {"sql": f"SELECT * FROM (VALUES {rows}) t(age, town, n)", "name": "people"},
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [100]}, "max_level": 0},
            "town": {"role": "quasi_identifier", "hierarchy": "suppress", "max_level": 0},
            "n": {"role": "insensitive", "reason": "a test"},
        },
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "relocation", "limit": 0.25},
        "evaluate": {"metrics": ["loss"]},
    } | changes


def test_outliers_join_the_nearest_and_then_the_largest_class() -> None:
    result = dbdeid.run(spec())
    rows = result.to_df()
    assert (result.released_rows, result.relocated_rows, result.suppressed_rows) == (9, 2, 0)
    # (30, B) differs from both classes in one column, (70, C) from both in two: the larger one
    assert Counter(zip(rows.age, rows.town, strict=True)) == {(30, "A"): 6, (40, "B"): 3}
    assert sorted(rows.n) == list(range(9))
    assert result.verified
    assert result.smallest_class == 3
    assert result.loss == 0.0  # that of the records where they are now


@pytest.mark.full
def test_the_dictionary_says_that_values_may_be_those_of_others() -> None:
    with duckdb.connect() as con:
        dbdeid.run(spec(), con)
        told = "SELECT DISTINCT truthful FROM moved_dictionary"
        assert con.execute(told).fetchall() == [(False,)]
        assert dbdeid.verify(spec(), con).verified
        for change in ("truthful = true WHERE level = 0", "truthful = NULL WHERE level = 0"):
            con.execute(f"UPDATE moved_dictionary SET {change}")
            failed, other = [c for c in dbdeid.verify(spec(), con).hygiene if not c.holds]
            assert (failed.check, other.check) == ("dictionary", "dictionary_content")
            assert "do not say that records have values of others" in failed.detail
        con.execute("ALTER TABLE moved_dictionary DROP truthful")
        failed, _ = [c for c in dbdeid.verify(spec(), con).hygiene if not c.holds]
        assert "missing 'truthful'" in failed.detail


def test_no_more_records_move_than_the_limit_allows() -> None:
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec(method={"name": "relocation", "limit": 0.2}))
