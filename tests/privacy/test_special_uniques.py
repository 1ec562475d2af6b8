"""Special uniques: sdcMicro's scores, and brute force over all sets of quasi-identifiers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.source_files import file_query
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.privacy import Counting
from dbdeid.privacy.risk.special_uniques import dis_scores, measure, msus, scores

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def table(session: Session, rows: Sequence[Row], width: int) -> Relation:
    columns = ", ".join(f"c{i} VARCHAR" for i in range(width))
    session.execute(f"CREATE OR REPLACE TEMP TABLE t ({columns})")
    if rows:
        marks = ", ".join("?" * width)
        session.cursor.executemany(f"INSERT INTO t VALUES ({marks})", [list(r) for r in rows])
    return session.temp("t")


def scored(rows: Sequence[Row], *, original: bool = True) -> list[float]:
    """The SUDA score of every row, over sets of any size."""
    width = len(rows[0])
    distinct = Counter(rows)
    number = [{v: i for i, v in enumerate(sorted(set(c)))} for c in zip(*rows, strict=True)]
    codes = [[number[i][value] for i, value in enumerate(row)] for row in distinct]
    found = msus(np.array(codes), np.array(list(distinct.values())), width)
    score = dict(zip(distinct, scores(found, width, original=original), strict=True))
    return [float(score[row]) for row in rows]


# -- sdcMicro's values ---------------------------------------------------------------------------

BOOK = tuple(
    zip(
        ["20s"] * 7 + ["60s"],
        ["male"] * 4 + ["female"] * 3 + ["male"],
        ["50k+"] * 2 + ["50k-"] * 6,
        ["highschool"] * 4 + ["university", "highschool", "middleschool", "university"],
        strict=True,
    )
)
GUIDELINE = tuple(
    zip(
        "UUUURUUUUU",  # residence
        "FFFMFMFMFF",  # gender
        ["some 2nd", "some 2nd", "some 1st", "2nd", "2nd", "2nd", "1st", "3rd"] + ["some 2nd"] * 2,
        "EENEUENUNN",  # labour
        strict=True,
    )
)


def test_the_example_of_the_book() -> None:
    assert scored(BOOK)[4:] == [4, 2, 6, 8]


def test_the_example_of_the_guideline() -> None:
    assert scored(GUIDELINE) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


@pytest.mark.parametrize(
    ("columns", "original", "first"),
    [
        ("urbrur roof walls water sex", True, 2),
        ("urbrur roof walls water electcon relat sex", True, 180),
        ("urbrur roof walls water electcon relat sex", False, 2.73),
    ],
)
def test_the_first_household_of_testdata2(
    session: Session, shared: Path, columns: str, original: bool, first: float
) -> None:
    file = shared / "data" / "sdc" / "sdcmicro_testdata2.parquet"
    session.run(Step("households", file_query(file)))  # type: ignore[arg-type]
    rows = session.rows(f"SELECT {', '.join(columns.split())} FROM households")
    assert round(scored(rows, original=original)[0], 2) == first


# -- brute force ---------------------------------------------------------------------------------


def brute_msus(rows: Sequence[Row], largest: int, *, nulls_match: bool) -> Counter[int]:
    """Minimal sample uniques by size, found one record and one set of columns at a time."""
    found: Counter[int] = Counter()
    width = len(rows[0])
    for row in rows:

        def alone(columns: tuple[int, ...], row: Row = row) -> bool:
            cells = tuple(row[i] for i in columns)
            if None in cells and not nulls_match:
                return False
            return sum(tuple(other[i] for i in columns) == cells for other in rows) == 1

        minimal: list[set[int]] = []
        for size in range(1, largest + 1):
            for columns in combinations(range(width), size):
                if alone(columns) and not any(part <= set(columns) for part in minimal):
                    minimal.append(set(columns))
        found.update(len(one) for one in minimal)
    return found


cells = st.one_of(st.none(), st.sampled_from("abc"))
tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=14)
)


@settings(max_examples=examples(80), deadline=None)
@given(tables, st.integers(1, 5), st.booleans())
def test_minimal_sample_uniques_by_brute_force(
    session: Session, rows: list[Row], largest: int, nulls_match: bool
) -> None:
    width = len(rows[0])
    found = measure(
        session,
        table(session, rows, width),
        [f"c{i}" for i in range(width)],
        largest,
        counting=Counting("own_category" if nulls_match else "exclude"),
    )
    expected = brute_msus(rows, min(largest, width), nulls_match=nulls_match)
    assert found.largest_set == min(largest, width)
    assert found.minimal_sample_uniques == tuple(
        expected[size] for size in range(1, found.largest_set + 1)
    )


def test_the_score_of_smaller_sets_is_the_product_of_elliot() -> None:
    """(ATT - k) … (ATT - M) for a set of k, of at most M of ATT columns."""
    found = np.eye(3, dtype=np.int64)
    assert scores(found, 9).tolist() == [8 * 7 * 6, 7 * 6, 6]
    assert scores(np.eye(4, dtype=np.int64), 4).tolist() == [
        math.factorial(4 - s) for s in (1, 2, 3, 4)
    ]
    assert scores(np.eye(1, dtype=np.int64), 1).tolist() == [1]


# -- the chance that a match is right ------------------------------------------------------------


def test_alike_uniques_share_the_chance_of_the_table() -> None:
    """Of one score, each has π·U / (π·U + (1 - π)·P): Skinner and Elliot's θ."""
    records = np.array([1, 1, 1, 1, 2, 2, 2, 5])
    score = np.array([3.0] * 4 + [0.0] * 4)
    chance = dis_scores(score, records, 6, 0.1)
    theta = 0.1 * 4 / (0.1 * 4 + 0.9 * 6)
    assert chance.tolist() == pytest.approx([theta] * 4 + [0] * 4)


def test_a_higher_score_has_a_higher_chance() -> None:
    records = np.array([1, 1, 1, 2, 2])
    low, middle, high, *none = dis_scores(np.array([1.0, 5, 20, 0, 0]), records, 5).tolist()
    assert 0 < low < middle < high < 1
    assert none == [0, 0]


def test_without_pairs_every_unique_is_a_certain_match() -> None:
    assert dis_scores(np.array([2.0, 1.0]), np.array([1, 1]), 4, 0.1).tolist() == [1, 1]


# -- tables of all kinds -------------------------------------------------------------------------


def test_an_empty_table(session: Session) -> None:
    found = measure(session, table(session, [], 3), ["c0", "c1", "c2"], 3)
    assert (found.records, found.minimal_sample_uniques) == (0, (0, 0, 0))
    assert (found.highest_score, found.highest_dis_score) == (0, 0)


def test_records_twice_are_nobodys(session: Session) -> None:
    found = measure(session, table(session, [("a", "b")] * 2, 2), ["c0", "c1"], 2)
    assert (found.records, found.highest_score) == (0, 0)


def test_one_record_is_alone_on_every_column(session: Session) -> None:
    found = measure(session, table(session, [("a", None)], 2), ["c0", "c1"], 2)
    assert found.minimal_sample_uniques == (2, 0)


@pytest.mark.parametrize("counting", [Counting("wildcard"), Counting(subject="c1")])
def test_wildcards_and_subjects_are_refused(session: Session, counting: Counting) -> None:
    with pytest.raises(ValueError, match="do not overlap"):
        measure(session, table(session, [("a", "b")], 2), ["c0"], 1, counting=counting)
