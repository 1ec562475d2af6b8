"""The method against exhaustive search, with both engines, on random tables."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import duckdb
import pytest
import tiers
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import generalized, spec

import dbdeid
import dbdeid.release.result

VALUES = st.tuples(st.integers(0, 7), st.sampled_from(["a", "b", "c", None]), st.integers(0, 3))


def outcome(
    rows: list[tuple[Any, ...]], given: dict[str, Any]
) -> dbdeid.release.result.RunResult | None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (n INTEGER, c VARCHAR, x INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        try:
            return dbdeid.run(given, con)
        except dbdeid.Unsatisfiable:
            return None


def best_scores(
    rows: list[tuple[Any, ...]], k: int, limit: float, keep: bool, objective: str
) -> float | None:
    """The least score over all transformations, by a Counter."""
    low = min(r[0] for r in rows) // 4 * 4
    high = max(r[0] for r in rows) // 4 * 4 + 4
    scores = []
    for node in itertools.product(range(4), range(3), range(2)):
        cells = [generalized(row, node, low, high) for row in rows]
        keys = [tuple(label for label, _ in row) for row in cells]
        sizes = Counter(keys)
        lost = sum(n for n in sizes.values() if n < k)
        if lost > limit * len(rows) + 1e-9 or (keep and 0 < lost < k):
            continue
        classes = sum(n >= k for n in sizes.values())
        loss = sum(
            3 if sizes[key] < k else sum(loss for _, loss in row)
            for key, row in zip(keys, cells, strict=True)
        )
        scores.append(
            {
                "loss": loss / 3 / len(rows),
                "discernibility": sum(n * n for n in sizes.values() if n >= k) + lost * len(rows),
                "average_class_size": len(rows) / max(classes + (lost > 0), 1),
            }[objective]
        )
    return min(scores, default=None)


@settings(max_examples=12 if tiers.full else 3, deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=25),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 0.4]),
    st.booleans(),
    st.sampled_from(["loss", "discernibility", "average_class_size"]),
    st.sampled_from(["numpy", "sql"]),
)
def test_a_release_scores_what_trying_every_transformation_finds(
    rows: list[tuple[Any, ...]], k: int, limit: float, keep: bool, objective: str, engine: str
) -> None:
    given = spec(
        k, limit, suppressed="keep" if keep else "drop", objective=objective, engine=engine
    )
    found, best = outcome(rows, given), best_scores(rows, k, limit, keep, objective)
    if best is None:
        assert found is None
        return
    assert found is not None
    assert found.verified
    assert found.search["proven_optimal"]
    assert found.metrics[objective] == pytest.approx(best, rel=1e-11)


def test_kept_suppressed_records_must_form_a_class_themselves() -> None:
    rows = [(1, "a", 0)] * 6 + [(5, "c", 1)]
    dropped = outcome(rows, spec(3, 0.5))
    kept = outcome(rows, spec(3, 0.5, suppressed="keep"))
    assert dropped is not None
    assert kept is not None
    assert dropped.suppressed_rows == 1
    assert kept.suppressed_rows == 0
    assert kept.released_rows == 7
    assert (
        outcome(rows, spec(3, 0.5, suppressed="keep", transformation={"n": 0, "c": 0, "x": 0}))
        is None
    )


@pytest.mark.full
def test_levels_stay_within_their_limits() -> None:
    rows = [(i % 8, "abc"[i % 3], i % 4) for i in range(40)]
    given = spec(2, 0.2)
    given["columns"]["n"] |= {"min_level": 1, "max_level": 2}
    given["columns"]["x"]["weight"] = 50.0
    found = outcome(rows, given)
    assert found is not None
    assert 1 <= found.transformation["n"] <= 2
    assert found.transformation["x"] == 0  # its weight makes it the last to be given up
    given["method"]["transformation"] = {"n": 3, "c": 0, "x": 0}
    with pytest.raises(dbdeid.SpecError, match="level 3 of 'n' is not 1-2"):
        outcome(rows, given)
    given["method"]["transformation"] = {"n": 1, "d": 0}
    with pytest.raises(dbdeid.SpecError, match="no level for quasi-identifier 'c'") as error:
        outcome(rows, given)
    assert "'d' is not a quasi-identifier" in str(error.value)
