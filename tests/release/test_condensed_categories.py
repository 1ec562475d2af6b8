"""Synthetic records of categories alone: counts stay, and what goes together still does."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pytest

import dbdeid

N, K = 600, 50
NAMES = ("x", "y", "z")


def records() -> list[tuple[str, ...]]:
    """Of x and y each goes with two of three; z goes with nothing."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, N)
    y, z = (x + rng.integers(0, 2, N)) % 3, rng.integers(0, 2, N)
    return [("abc"[i], "def"[j], "gh"[k]) for i, j, k in zip(x, y, z, strict=True)]


def apart(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> float:
    """The total variation distance of two lists."""
    left, right = Counter(one), Counter(other)
    return sum(abs(left[key] - right[key]) for key in {*left, *right}) / (2 * N)


@pytest.mark.parametrize("variant", ["recipient", "original"])
def test_categories_alone_keep_what_goes_together(variant: str, tmp_path: Path) -> None:
    source = records()
    with duckdb.connect() as con:
        con.execute("CREATE TABLE records (x VARCHAR, y VARCHAR, z VARCHAR)")
        con.executemany("INSERT INTO records VALUES (?, ?, ?)", [list(row) for row in source])
        spec = {
            "release": "r",
            "source": "records",
            "columns": dict.fromkeys(NAMES, "synthesize"),
            "privacy": [{"model": "cluster_size", "k": K}],
            "method": {"name": "condensation", "variant": variant},
            "evaluate": {"metrics": []},
            "seed": 1,
        }
        assert dbdeid.run(spec, connection=con).verified
        made = con.execute("SELECT x, y, z FROM r").fetchall()
    assert len(made) == N
    rng = np.random.default_rng(2)
    shuffled = [rng.permutation(own).tolist() for own in zip(*source, strict=True)]
    for i, j in combinations(range(3), 2):
        pairs = ([(row[i], row[j]) for row in rows] for rows in (source, made))
        alone = [*zip(shuffled[i], shuffled[j], strict=True)]
        kept = apart(*pairs)
        assert kept <= 0.05
        if (i, j) == (0, 1):
            assert kept <= 0.2 * apart([(row[0], row[1]) for row in source], alone)
    if variant == "recipient":  # it keeps the counts of each cluster, so those of the table
        for i in range(3):
            assert Counter(row[i] for row in made) == Counter(row[i] for row in source)
