"""MS(k, θ*)-bounding (Lin, Yang & Wang 2016): a bound of its own for each sensitive value.

Several `alpha_k` of one column are this model. A person has several records, and so several values:
what counts is the share of a class's people who have a value.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pytest

import dbdeid

BOUNDS = {"HIV": Fraction(1, 4), "asthma": Fraction(2, 5), "flu": Fraction(3, 5)}
K = 3
Row = tuple[int, int, str]  # person, age, illness


def reports(seed: int) -> list[Row]:
    """Up to three records of each person, the rare illness now and then."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for person in range(60):
        age = rng.randrange(40)
        for _ in range(rng.randint(1, 3)):
            rows.append((person, age, rng.choices([*BOUNDS, "check-up"], [1, 3, 5, 7])[0]))
    return rows


def confidences(rows: Sequence[Row], width: int) -> dict[int, tuple[int, dict[str, Fraction]]]:
    """Of each class of ages the people, and the share of them that has each value."""
    people: dict[int, set[int]] = defaultdict(set)
    having: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for person, age, illness in rows:
        people[age // width].add(person)
        having[age // width][illness].add(person)
    return {
        class_: (
            len(members),
            {value: Fraction(len(having[class_][value]), len(members)) for value in BOUNDS},
        )
        for class_, members in people.items()
    }


def bounded(people: int, shares: dict[str, Fraction]) -> bool:
    """The definition: k people, and of each value no more of them than its bound allows."""
    return people >= K and all(share <= BOUNDS[value] for value, share in shares.items())


def spec(limit: float) -> dict[str, Any]:
    models = [
        {"model": "alpha_k", "column": "illness", "k": K, "alpha": float(b), "values": [value]}
        for value, b in BOUNDS.items()
    ]
    return {
        "release": "r",
        "source": "t",
        "subject": "person",
        "columns": {
            "person": "identifier",
            "age": {
                "role": "quasi_identifier",
                "hierarchy": {"intervals": [1, 2, 4, 8, 16, 32, 64]},
            },
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": models,
        "method": {"name": "full_domain", "suppression_limit": limit},
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
def test_each_value_is_bounded_by_its_own_threshold(seed: int) -> None:
    rows = reports(seed)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (person INTEGER, age INTEGER, illness VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
        found = dbdeid.run(spec(0.4), con)
        assert found.verified
        kept = con.execute("SELECT count(*) FROM r").fetchall()[0][0]
    level = found.transformation["age"]
    width = [1, 1, 2, 4, 8, 16, 32, 64, 128][level]
    held = {class_ for class_, told in confidences(rows, width).items() if bounded(*told)}
    assert kept == sum(age // width in held for _, age, _ in rows)
    assert kept > 0
    # there are classes of enough people that only the bounds rule out
    assert any(
        people >= K and not bounded(people, shares)
        for width in (1, 2, 4, 8)
        for people, shares in confidences(rows, width).values()
    )
