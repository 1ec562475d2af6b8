"""Answers to random queries of random releases agree with brute force and with possible worlds.

`tests/benchmarks/worlds.py` asks as many as one likes; here are enough to notice.
"""

from __future__ import annotations

import pytest
from judging import Tally, opened, run

RELEASES = 40
QUERIES = 5


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_answers_agree_with_brute_force(tenth: int) -> None:
    tally = Tally()
    with opened() as session:
        for seed in range(tenth, RELEASES, 10):
            run(session, seed, QUERIES, 3, tally)
    assert tally.wrong == []
    # The judge has looked at something, and refusals are rare.
    assert tally.counts["queries"] == RELEASES // 10 * QUERIES
    assert tally.counts["refused"] < tally.counts["queries"] / 2
    assert tally.counts["expected values"] > 0
    assert tally.counts["bounds attained"] > 0
    assert tally.counts["worlds within bounds"] > 0
