"""What a release teaches of sensitive values, by hand and by plain loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dbdeid.data.records import Ints
from dbdeid.methods.attacks.inference import PRIOR, ROUNDS, Classes, Inferred, People, inferred

# Four values in pairs, and all of them.
GROUPS = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
Label = tuple[int, int]  # level, a code
Member = tuple[int, int]  # exact code, sensitive value


def attack(held: list[tuple[Label, list[Member]]], values: int) -> Inferred:
    """Classes of one quasi-identifier with their people, none of them counterfeit."""
    entries = sorted(
        (c, value, n)
        for c, (_, members) in enumerate(held)
        for value, n in Counter(value for _, value in members).items()
    )
    of_class, value, count = np.array(entries).T
    levels, codes = np.array([label for label, _ in held]).T[:, :, None]
    rows = sorted(Counter((x, c, s) for c, (_, own) in enumerate(held) for x, s in own).items())
    exact, place, has = np.array([row for row, _ in rows]).T
    found = inferred(
        [GROUPS],
        Classes(levels, codes, of_class, value, count, values),
        People(exact[:, None], place, has, np.array([n for _, n in rows])),
    )
    assert found is not None
    return found


def test_classes_that_read_exactly_teach_of_one_that_does_not() -> None:
    """Nearly all 0 have a, nearly all 1 have b; four in one class are told apart by that."""
    held: list[tuple[Label, list[Member]]] = [
        ((0, 0), [(0, 0)] * 19 + [(0, 1)]),
        ((0, 1), [(1, 1)] * 19 + [(1, 0)]),
        ((1, 0), [(0, 0), (0, 0), (1, 1), (1, 1)]),
    ]
    found = attack(held, 2)
    # a and b are as frequent in all, and the first of them is guessed where a class has both alike
    assert found.right == pytest.approx((19 + 19 + 4) / 44)
    assert found.by_class == pytest.approx((19 + 19 + 2) / 44)
    assert found.by_all == pytest.approx(22 / 44)
    assert found.lift == pytest.approx(2 / 44)


def test_where_all_classes_read_on_one_level_nothing_is_taught() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        held = []
        for pair in (0, 2):
            exact = pair + rng.integers(0, 2, 30)
            own = [(int(x), int((x + rng.integers(0, 2)) % 3)) for x in exact]
            held.append(((1, pair), own))
        assert attack(held, 3).lift == 0


def test_values_that_go_with_nothing_are_not_guessed_better() -> None:
    rng = np.random.default_rng(1)
    held = [
        ((level, int(x)), [(int(y), int(rng.integers(0, 4))) for y in ys])
        for level, x, ys in [
            (2, 0, rng.integers(0, 4, 8)) if c % 2 else (0, c // 2 % 4, [c // 2 % 4] * 8)
            for c in range(600)
        ]
    ]
    found = attack(held, 4)
    assert abs(found.lift) < 4 * (0.25 / 4800) ** 0.5
    assert found.by_all == pytest.approx(0.25, abs=0.03)


def plain(groups: Any, held: list[tuple[Label, list[Member]]], values: int) -> dict[str, float]:
    """The same by loops over people, values and codes."""
    codes = range(groups.shape[1])
    alike = {
        (level, x): [y for y in codes if groups[level][y] == groups[level][x]]
        for level in range(len(groups))
        for x in codes
    }

    def learned(of: list[tuple[Label, float]], start: list[float], prior: float) -> list[float]:
        now, pooled = list(start), list(start)
        for _ in range(ROUNDS):
            spread = [prior * p for p in pooled]
            for label, n in of:
                inside = sum(now[y] for y in alike[label])
                for y in alike[label]:
                    spread[y] += n * now[y] / inside
            now = [one / sum(spread) for one in spread]
        return now

    every = [(label, float(len(own))) for label, own in held]
    pooled = learned(every, [1 / len(codes)] * len(codes), 0.0)
    given = [
        learned([(label, sum(v == s for _, v in own)) for label, own in held], pooled, PRIOR)
        for s in range(values)
    ]
    common = Counter(v for _, own in held for _, v in own)
    order = sorted(range(values), key=lambda s: (-common[s], s))
    right = by_class = whole = 0
    for label, own in held:
        counts = Counter(v for _, v in own)
        for x, value in own:
            odds = {
                s: counts[s] * given[s][x] / sum(given[s][y] for y in alike[label]) for s in counts
            }
            total = sum(odds.values())
            chance = {s: round(o / total, 9) for s, o in odds.items()}
            right += max(order, key=lambda s: (chance.get(s, -1), -order.index(s))) == value
            by_class += max(order, key=lambda s: (counts.get(s, -1), -order.index(s))) == value
            whole += 1
    return {"right": right / whole, "by_class": by_class / whole}


@pytest.mark.parametrize("seed", range(5))
def test_the_figures_are_those_of_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held: list[tuple[Label, list[Member]]] = []
    for _ in range(25):
        level, code = int(rng.integers(0, 3)), int(rng.integers(0, 4))
        inside = np.flatnonzero(GROUPS[level] == GROUPS[level][code])
        exact = rng.choice(inside, int(rng.integers(2, 6)))
        values = np.where(rng.random(len(exact)) < 0.6, exact % 3, rng.integers(0, 3, len(exact)))
        held.append(((level, code), list(zip(exact.tolist(), values.tolist(), strict=True))))
    found, expected = attack(held, 3), plain(GROUPS, held, 3)
    assert found.right == pytest.approx(expected["right"])
    assert found.by_class == pytest.approx(expected["by_class"])


def test_of_the_surest_the_share_that_is_right() -> None:
    """Two hundred of one value, whose class tells it, and two hundred of two, of whom it is not."""
    held: list[tuple[Label, list[Member]]] = [
        ((0, 0), [(0, 0)] * 200),
        ((0, 2), [(2, 0)] * 100 + [(2, 1)] * 100),
    ]
    found = attack(held, 2)
    assert found.surest == (1.0, 1.0)
    assert found.right == 0.75
    none: Ints = np.zeros(0, np.int64)
    nobody = People(np.zeros((0, 1), np.int64), none, none, none)
    classes = Classes(np.zeros((0, 1), np.int64), np.zeros((0, 1), np.int64), none, none, none, 0)
    assert inferred([GROUPS], classes, nobody) is None
