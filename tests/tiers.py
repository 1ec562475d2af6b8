"""The two tiers of the tests: what a change could break, and every case of it.

`pytest` runs the default tier, `pytest --full` everything. A test marked `full` runs in the full
tier only; of one marked `sampled(n)` the default tier runs each n-th case, the first included. What
either tier proves stands in `tests/TIERS.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pytest

Case = TypeVar("Case")

full = False  # set when pytest starts, before any test is imported


def examples(number: int) -> int:
    """How many examples a property is tried on: a twelfth of them in the default tier."""
    return number if full else max(5, number // 12)


def some(cases: Sequence[Case], n: int) -> Sequence[Case]:
    """What one test goes through by itself: in the default tier each n-th, the first included."""
    return cases if full else cases[::n]


def default(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests of the default tier, in their order."""
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("full"):
            continue
        if sampled := item.get_closest_marker("sampled"):
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if (seen[name] - 1) % sampled.args[0]:
                continue
        yield item
