"""Individual risk: sdcMicro's vectors, the definition as an integral, and NULLs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.source_files import file_query
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.privacy import Counting, NullPolicy
from dbdeid.privacy.common.counting import weighted_classes
from dbdeid.privacy.risk.individual_risk import individual_risk, measure

POLICIES: tuple[NullPolicy, ...] = get_args(NullPolicy)

# The weighted tables of sdcMicro's tests: complete, and with NULLs that match everything.
A = (2, 3, 2, 2, 3, 3, 1, 2)
B = (3, 3, 3, 3, 3, 3, 4, 3)
C = (1, 3, 1, 2, 1, 1, 1, 1)
A_NULL = (2, 3, 2, 2, 3, 3, 1, None)
C_NULL = (1, 3, None, 2, 1, 1, None, 1)
WEIGHTS = (18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0)
APPROXIMATE = (
    0.01369863, 0.08579129, 0.01369863, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01369863,
)  # fmt: skip
EXACT = (
    0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01355297,
)  # fmt: skip
APPROXIMATE_NULL = (
    0.013698630, 0.085791288, 0.010554090, 0.032466112, 0.009836066, 0.009836066, 0.039316254,
    0.005973716,
)  # fmt: skip
EXACT_NULL = (
    0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889, 0.039316254,
    0.005962551,
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def table(session: Session, *columns: tuple[float | None, ...]) -> Relation:
    """A table of three quasi-identifiers and a weight, with numbered rows."""
    session.execute("CREATE OR REPLACE TEMP TABLE t (i INT, a INT, b INT, c INT, w DOUBLE)")
    rows = list(zip(range(len(columns[0])), *columns, strict=True))
    if rows:
        session.cursor.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    return session.temp("t")


def by_row(
    session: Session, found: Relation, counting: Counting, *, approximate: bool
) -> list[float]:
    session.run(Step("weighted", weighted_classes(found, ["a", "b", "c"], "w", counting)))
    rows = session.arrays(
        "SELECT class_size, weight FROM t JOIN weighted ON a IS NOT DISTINCT FROM qi_0 "
        "AND b IS NOT DISTINCT FROM qi_1 AND c IS NOT DISTINCT FROM qi_2 ORDER BY i"
    )
    return list(individual_risk(rows["class_size"], rows["weight"], approximate=approximate))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("approximate", "expected"), [(True, APPROXIMATE), (False, EXACT)])
def test_the_complete_table_of_sdcmicro(
    session: Session, policy: NullPolicy, approximate: bool, expected: tuple[float, ...]
) -> None:
    found = table(session, A, B, C, WEIGHTS)
    risks = by_row(session, found, Counting(policy), approximate=approximate)
    assert risks == pytest.approx(expected, abs=5e-9)


@pytest.mark.parametrize(
    ("approximate", "expected"), [(True, APPROXIMATE_NULL), (False, EXACT_NULL)]
)
def test_a_null_of_sdcmicro_matches_everything(
    session: Session, approximate: bool, expected: tuple[float, ...]
) -> None:
    found = table(session, A_NULL, B, C_NULL, WEIGHTS)
    risks = by_row(session, found, Counting("wildcard"), approximate=approximate)
    assert risks == pytest.approx(expected, abs=5e-9)


def test_francdat(session: Session, shared: Path) -> None:
    file = shared / "data" / "sdc" / "sdcmicro_francdat.parquet"
    found = session.run(Step("francdat", file_query(file)))  # type: ignore[arg-type]
    measured = measure(session, found, ["key1", "key2", "key3", "key4"], "w")

    # classes 1-2-5-1 (18 + 92) and 1-2-1-1 (45.5 + 39), four records alone
    def twice(p: float) -> float:
        return p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p)

    def once(w: float) -> float:
        return math.log(w) / (w - 1)

    expected = 2 * twice(2 / 110) + 2 * twice(2 / 84.5)
    expected += sum(once(w) for w in (17.0, 541.0, 8.0, 5.0))
    assert measured.expected_reidentifications == pytest.approx(expected)
    assert measured.mean == pytest.approx(expected / 8)
    assert measured.highest == pytest.approx(once(5.0))
    assert measured.approximate_mean == pytest.approx(expected / 8)  # no frequency above two


# -- weighted frequencies ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("c", "policy", "expected"),
    [
        (C, "wildcard", [108, 45.5, 108, 17, 100, 100, 123.5, 108]),
        (C_NULL, "wildcard", [108, 45.5, 125, 56, 100, 100, 123.5, 108]),
        (C_NULL, "own_category", [69, 45.5, 39, 17, 100, 100, 123.5, 69]),
        (C_NULL, "exclude", [69, 45.5, None, 17, 100, 100, None, 69]),
    ],
)
def test_weighted_frequencies(
    session: Session, c: tuple[int | None, ...], policy: NullPolicy, expected: list[float | None]
) -> None:
    found = table(session, A, B, c, WEIGHTS)
    session.run(Step("weighted", weighted_classes(found, ["a", "b", "c"], "w", Counting(policy))))
    rows = session.rows(
        "SELECT weight FROM t LEFT JOIN weighted ON a = qi_0 AND b = qi_1 "
        "AND c IS NOT DISTINCT FROM qi_2 ORDER BY i"
    )
    assert [weight for (weight,) in rows] == expected


cells = st.one_of(st.none(), st.integers(0, 2))
weights = st.integers(1, 9).map(float)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(cells, cells, cells, weights), max_size=12))
def test_weighted_classes_by_brute_force(
    session: Session, rows: list[tuple[int | None, int | None, int | None, float]]
) -> None:
    columns = tuple(zip(*rows, strict=True)) if rows else ((), (), (), ())
    found = table(session, *columns)

    def matches(one: tuple[object, ...], other: tuple[object, ...], policy: NullPolicy) -> bool:
        if policy == "wildcard":
            return all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))
        return one == other

    for policy in POLICIES:
        expected = {}
        for *key, _ in rows:
            if policy == "exclude" and None in key:
                continue
            met = [r for r in rows if matches(tuple(key), tuple(r[:3]), policy)]
            same = sum(tuple(r[:3]) == tuple(key) for r in rows)
            expected[tuple(key)] = (same, len(met), sum(r[3] for r in met))
        session.run(
            Step("weighted", weighted_classes(found, ["a", "b", "c"], "w", Counting(policy)))
        )
        answer = session.rows("SELECT qi_0, qi_1, qi_2, records, class_size, weight FROM weighted")
        assert {tuple(r[:3]): tuple(r[3:]) for r in answer} == expected


def test_subjects_have_no_weights(session: Session) -> None:
    with pytest.raises(ValueError, match="not of subjects"):
        weighted_classes(table(session, A, B, C, WEIGHTS), ["a"], "w", Counting(subject="i"))


# -- the risk as it is defined -------------------------------------------------------------------


def integral(f: int, p: float) -> float:
    """p·∫ w^(f-1) / (p + (1-p)w) dw by Gauss-Legendre in the logarithm of w."""
    nodes, mass = np.polynomial.legendre.leggauss(200)
    total, edges = 0.0, np.linspace(-60, 0, 61)
    for low, high in pairwise(edges):
        x = (high - low) / 2 * nodes + (high + low) / 2
        w = np.exp(x)
        total += float(((high - low) / 2 * mass * w**f / (p + (1 - p) * w)).sum())
    return p * total


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 40), st.floats(1e-6, 0.999))
def test_the_exact_risk_is_the_integral(f: int, p: float) -> None:
    (risk,) = individual_risk(np.array([f]), np.array([f / p]))
    assert risk == pytest.approx(integral(f, p), rel=1e-8)


def test_a_class_that_is_sampled_as_a_whole_is_a_prosecutors() -> None:
    f = np.array([1, 2, 3, 10])
    assert list(individual_risk(f, f.astype(float))) == [1, 1 / 2, 1 / 3, 1 / 10]
    assert list(individual_risk(f, f.astype(float), approximate=True)) == [1, 1 / 2, 1 / 3, 1 / 10]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 10_000), st.floats(1e-7, 1))
def test_a_risk_lies_between_the_shares_of_sample_and_population(f: int, p: float) -> None:
    frequency, weight = np.array([f]), np.array([f / p])
    (exact,), (rough,) = (individual_risk(frequency, weight, approximate=a) for a in (False, True))
    for risk in (exact, rough):
        assert p / f * (1 - 1e-9) <= risk <= 1 / f * (1 + 1e-9)
    if f >= 3:  # the approximation is the greater, and close to it for larger classes
        assert exact <= rough * (1 + 1e-9)


def test_an_empty_table_has_no_risk(session: Session) -> None:
    found = measure(session, table(session, (), (), (), ()), ["a"], "w")
    assert (found.highest, found.mean, found.expected_reidentifications) == (None, None, 0)
