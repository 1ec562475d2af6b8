"""What a run is likely to take: the measured runs themselves, and what lies between and beyond."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dbdeid
from dbdeid.prepare.prepare import Prepared
from dbdeid.review.forecast import (
    CURVES,
    MEMORY_BEYOND,
    SLOWEST,
    TELLING,
    TIME_BEYOND,
    Forecast,
    Measured,
    forecast,
)
from dbdeid.spec.method.condensation import Condensation
from dbdeid.spec.method.counterfeit import Counterfeit
from dbdeid.spec.method.full_domain import FullDomain
from dbdeid.spec.method.local_recoding import LocalRecoding
from dbdeid.spec.method.microaggregation import Microaggregation
from dbdeid.spec.method.policy import Policy

METHODS = {
    "full_domain": FullDomain(name="full_domain"),
    "local_recoding, dealing": LocalRecoding(name="local_recoding"),
    "local_recoding, mondrian": LocalRecoding(name="local_recoding", algorithm="mondrian"),
    "counterfeit, full_domain": Counterfeit(name="counterfeit"),
    "counterfeit, borrow": Counterfeit(name="counterfeit", recoding="borrow", h=0.5),
    "condensation": Condensation(name="condensation"),
    "microaggregation": Microaggregation(name="microaggregation"),
}


def prepared(method: Any, cells: float) -> Prepared:
    bound = SimpleNamespace(spec=SimpleNamespace(method=method))
    return cast(Prepared, SimpleNamespace(bound=bound, rows=round(cells), released=("one",)))


@pytest.mark.parametrize("way", CURVES)
def test_a_measured_run_is_foretold_as_it_was(way: str) -> None:
    for one in CURVES[way]:
        found = forecast(prepared(METHODS[way], one.cells), one.staged)
        assert found is not None
        assert (found.seconds, found.gigabytes) == pytest.approx((one.seconds, one.gigabytes))


def test_every_curve_is_of_a_method() -> None:
    assert METHODS.keys() == CURVES.keys()


@given(way=st.sampled_from(sorted(CURVES)), size=st.floats(1, 1e11), more=st.floats(1, 100))
def test_more_cells_take_no_less(way: str, size: float, more: float) -> None:
    method = METHODS[way]
    one, other = (forecast(prepared(method, n), 0.0) for n in (size, size * more))
    assert one is not None
    assert other is not None
    # of two sizes staged in the same time, the machine of the greater is the faster
    assert other.gigabytes >= one.gigabytes * (1 - 1e-9)


def test_each_measured_run_took_more_than_the_one_before() -> None:
    for curve in CURVES.values():
        for one, other in pairwise(curve):
            assert all(getattr(one, f) < getattr(other, f) for f in Measured.__slots__)


def test_a_slow_machine_takes_longer_within_reason() -> None:
    first = CURVES["full_domain"][0]
    assert first.staged >= TELLING
    release = prepared(METHODS["full_domain"], first.cells)
    slow, stuck = (forecast(release, first.staged * n) for n in (2, 1000))
    assert slow is not None
    assert stuck is not None
    assert slow.seconds == pytest.approx(2 * first.seconds)
    assert stuck.seconds == pytest.approx(SLOWEST * first.seconds)
    assert slow.gigabytes == stuck.gigabytes


def test_beyond_the_largest_run_time_grows_nearly_with_the_cells() -> None:
    for way, curve in CURVES.items():
        last, most = curve[-1], 1e9  # so that the machine is taken for the slowest
        found = forecast(prepared(METHODS[way], 10 * last.cells), most)
        assert found is not None
        assert found.seconds >= SLOWEST * 10**TIME_BEYOND * last.seconds * (1 - 1e-9)
        assert found.gigabytes >= 10**MEMORY_BEYOND * last.gigabytes * (1 - 1e-9)


def test_nothing_is_foretold_of_what_was_not_measured() -> None:
    assert forecast(prepared(Policy(name="policy", population="census"), 1e6), 1.0) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Forecast(12, 0.4, 8), []),
        (Forecast(240, 3.04, 8), ["a run takes about 4 minutes and 3.0 GB of memory"]),
        (Forecast(9000, 0.4, None), ["a run takes about 2.5 hours and 0.4 GB of memory"]),
        (Forecast(12, 7, 8), ["a run takes about 12 seconds and 7.0 GB of memory, and this mach"]),
    ],
)
def test_it_is_said_where_it_is_long_or_large(found: Forecast, words: list[str]) -> None:
    assert [said[: len(word)] for said, word in zip(found.words, words, strict=True)] == words


def test_a_check_tells_it(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "h.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT i % 50 AS age FROM range(1000) r(i)")
    spec = {
        "release": "t_public",
        "database": str(tmp_path / "h.duckdb"),
        "source": "t",
        "columns": {"age": {"role": "quasi_identifier", "hierarchy": "suppress"}},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "full_domain"},
    }
    found = dbdeid.check(spec)["forecast"]
    assert found.keys() == {"seconds", "gigabytes", "memory"}
    assert found["seconds"] > 0
