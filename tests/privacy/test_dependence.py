"""What a column tells of another: by hand, against an independent sum, and by chance."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.privacy.risk.dependence import dependence


def codes(text: str) -> np.ndarray:
    return np.array([ord(c) for c in text])


def test_by_hand() -> None:
    """Of a a b b c c, x tells a and b apart from nothing else: H = 1 bit, I = .918 - 2/3 · ..."""
    found = dependence(codes("aabbccdd"), codes("yyyynnyn"))
    assert found is not None
    # H(S) = H(5/8); only d is uncertain, of a quarter of the records, by one bit
    entropy = -(5 / 8 * log(5 / 8) + 3 / 8 * log(3 / 8))
    assert found.told == pytest.approx(1 - log(2) / 4 / entropy)
    assert found.certain == 6
    assert found.certain_by_chance < 6


def test_a_value_that_one_record_has_makes_nothing_certain() -> None:
    """Whoever is alone with a value is singled out by it, which is told elsewhere."""
    found = dependence(np.arange(40), codes("yn" * 20))
    assert found is not None
    assert (found.told, found.by_chance) == (pytest.approx(1), pytest.approx(1))
    assert (found.certain, found.certain_by_chance) == (0, 0)


def test_people_are_counted_once() -> None:
    found = dependence(codes("aaabb"), codes("yyyny"), people=np.array([1, 1, 2, 3, 4]))
    assert found is not None
    assert found.certain == 2


def test_a_column_of_one_value_has_nothing_to_tell() -> None:
    assert dependence(codes("abab"), codes("yyyy")) is None


def test_by_chance_a_column_of_many_values_tells_much() -> None:
    random = np.random.default_rng(1)
    found = dependence(random.integers(0, 500, 1000), random.integers(0, 4, 1000))
    assert found is not None
    assert found.told > 0.2
    assert found.told == pytest.approx(found.by_chance, abs=0.05)
    few = dependence(random.integers(0, 3, 20_000), random.integers(0, 4, 20_000))
    assert few is not None
    assert max(few.told, few.by_chance) < 0.01


rows = st.lists(st.tuples(st.integers(0, 4), st.integers(5, 8)), min_size=2, max_size=40)


@given(rows)
def test_as_the_definition_says(drawn: list[tuple[int, int]]) -> None:
    own, values = (np.array(x) for x in zip(*drawn, strict=True))
    found = dependence(own, values)
    if found is None:
        assert len({s for _, s in drawn}) == 1
        return
    n, pairs = len(drawn), Counter(drawn)
    of_own, of_value = (Counter(x) for x in zip(*drawn, strict=True))
    shared = sum(c / n * log(c * n / (of_own[x] * of_value[s])) for (x, s), c in pairs.items())
    entropy = -sum(c / n * log(c / n) for c in of_value.values())
    assert found.told == pytest.approx(shared / entropy, abs=1e-9)
    alike = [x for x in of_own if of_own[x] > 1 and len([p for p in pairs if p[0] == x]) == 1]
    assert found.certain == sum(of_own[x] for x in alike)
