"""The attack on counterfeit releases: it finds what the published scheme gives away, no more.

The padding is played here in numpy, apart from the package: Adult at one node of its lattice, once
with the groups of Lee, Kim & Chung 2017, Algorithm 2 and uniform values, once with one pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from attack import Attack, attack
from numpy.random import Generator
from numpy.typing import NDArray

K = 5
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Played:
    """Padded counts: real and counterfeit records of each class and value, groups of classes."""

    real: Ints
    false: Ints
    groups: list[list[int]]

    def attacked(self) -> Attack:
        total = self.real + self.false
        class_, value = np.nonzero(total)
        times = total[class_, value]
        release = pd.DataFrame(
            {
                "class_id": np.repeat(class_ + 1, times),
                "age": np.repeat(class_, times).astype(str),
                "job": np.repeat(value, times).astype(str),
            }
        )
        rows = [
            (sorted(c + 1 for c in group), str(s), number)
            for group in self.groups
            for s, number in enumerate(self.false[group].sum(axis=0))
            if number
        ]
        catalog = pd.DataFrame(rows, columns=["class_ids", "sensitive_value", "counterfeits"])
        return attack(release, catalog, ["age"], "job", K)


def drawn(real: Ints, shares: NDArray[np.float64], rng: Generator) -> Ints:
    """Counterfeits of drawn values for each class of fewer than K records."""
    false = np.zeros_like(real)
    for class_ in np.flatnonzero(real.sum(axis=1) < K):
        missing = K - int(real[class_].sum())
        false[class_] = rng.multinomial(missing, shares)
    return false


def paper(real: Ints, rng: Generator) -> Played:
    """Uniform values, and for each padded class a group in which its values are often enough."""
    false = drawn(real, np.full(real.shape[1], 1 / real.shape[1]), rng)
    free = np.ones(len(real), bool)
    groups: list[list[int]] = []
    for class_ in rng.permutation(np.flatnonzero(false.sum(axis=1))):
        if not free[class_]:
            continue
        group, free[class_] = [int(class_)], False
        while (lack := lacking(real[group], false[group])).any():
            gain = np.where(free, np.minimum(real, lack).sum(axis=1), 0)
            if gain.max() > 0:
                other = [int(rng.choice(np.flatnonzero(gain == gain.max())))]
            else:  # no free class has such a value
                covers = [np.minimum(real[g].sum(axis=0), lack).sum() for g in groups]
                other = groups.pop(int(np.argmax(covers)))
            group += other
            free[other] = False
        groups.append(group)
    return Played(real, false, groups)


def lacking(real: Ints, false: Ints) -> Ints:
    """How many more real records with each value some other class of the group should have."""
    others = real.sum(axis=0) - real
    return np.clip(np.where(false > 0, false - others, 0), 0, None).max(axis=0)


def pool(real: Ints, rng: Generator) -> Played:
    """Values in the proportions of the pool, and one group of all classes of K records."""
    missing = np.where(real.sum(axis=1) < K, K - real.sum(axis=1), 0)
    candidates = real.sum(axis=1) <= K
    share = real[candidates].sum(axis=0) * missing.sum() / real[candidates].sum()
    quota = np.floor(share).astype(np.int64)
    quota[np.argsort(quota - share, kind="stable")[: missing.sum() - quota.sum()]] += 1
    values = rng.permutation(np.repeat(np.arange(real.shape[1]), quota))
    false = np.zeros_like(real)
    np.add.at(false, (np.repeat(np.arange(len(real)), missing), values), 1)
    return Played(real, false, [np.flatnonzero(candidates).tolist()])


NODE = {
    "age": 4,
    "sex": 0,
    "race": 0,
    "marital-status": 0,
    "education": 2,
    "native-country": 1,
    "workclass": 1,
}


def simulated() -> Ints:
    """Counts of a skewed population in many small classes and some large ones."""
    rng = np.random.default_rng(20170)
    sizes = np.concatenate([rng.integers(1, 8, 600), rng.geometric(0.02, 900)])
    shares = rng.dirichlet(np.full(14, 1.5))
    return np.array([rng.multinomial(n, rng.dirichlet(40 * shares)) for n in sizes])


def adult(shared: Path) -> Ints:
    """Counts of occupations in the classes of Adult at the node."""
    rows = duckdb.sql(f"FROM '{shared / 'data' / 'adult_arx.parquet'}'").df()
    generalized = pd.DataFrame(index=rows.index)
    for name, level in NODE.items():
        folder = shared / "data" / "hierarchies" / "adult"
        labels = pd.read_csv(
            folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str
        )
        values = rows[name.replace("-", "_")].astype(str)
        generalized[name] = values.map(dict(zip(labels[0], labels[level], strict=True)))
    assert generalized.notna().all(axis=None)
    classes = generalized.groupby(list(NODE)).ngroup()
    return pd.crosstab(classes, rows["occupation"]).to_numpy(np.int64)


@pytest.fixture(scope="module", params=["simulated", "adult"])
def real(request: pytest.FixtureRequest) -> Ints:
    if request.param == "simulated":
        return simulated()
    return adult(request.getfixturevalue("shared"))


def test_adult_needs_as_many_counterfeits_as_is_known(shared: Path) -> None:
    assert pool(adult(shared), np.random.default_rng(1)).attacked().counterfeits == 895


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_groups_of_the_paper_give_counterfeits_away(real: Ints, seed: int) -> None:
    found = paper(real, np.random.default_rng(seed)).attacked()
    assert found.lemma_violations == 0
    assert found.certain_share >= 0.05
    assert found.clean_classes > 0
    assert found.risk > 1.10 / K


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_pool_gives_none_away(real: Ints, seed: int) -> None:
    found = pool(real, np.random.default_rng(seed)).attacked()
    assert (found.lemma_violations, found.certain, found.clean_classes) == (0, 0, 0)
    assert found.risk <= 1.10 / K


def test_an_attack_by_hand() -> None:
    """Two classes of five, one of six: who knows the method leaves the last out."""
    release = pd.DataFrame(
        {
            "class_id": [1] * 5 + [2] * 5 + [3] * 6,
            "age": ["a"] * 5 + ["b"] * 5 + [None] * 6,
            "job": [*"xxxyy", *"xyyyy", *"xxxxx", None],
        }
    )
    catalog = pd.DataFrame(
        {
            "class_ids": [[1, 2, 3]] * 2,
            "sensitive_value": ["x", "y"],
            "counterfeits": [3, 1],
        }
    )
    found = attack(release, catalog, ["age"], "job", K)
    # of the four x in classes 1 and 2 three are counterfeit: at least two of class 1
    assert (found.counterfeits, found.certain, found.clean_classes) == (4, 2, 1)
    assert found.lemma_violations == 0
    # x is real with 1/4, y with 5/6
    assert found.risk == pytest.approx((5 / 6) / (3 / 4 + 2 * 5 / 6))
    known = attack(release, catalog.iloc[:1], ["age"], "job", K, clean=[2])
    assert (known.certain, known.risk) == (3, pytest.approx(1 / 2))


def test_an_attack_on_records_alone() -> None:
    release = pd.DataFrame({"class_id": [1] * 5 + [2] * 5, "age": ["a"] * 5 + ["b"] * 5})
    catalog = pd.DataFrame({"class_ids": [[1, 2]], "sensitive_value": [None], "counterfeits": [5]})
    found = attack(release, catalog, ["age"], None, K)
    # four at most fit into a class, as one record in it is real
    assert (found.certain, found.lemma_violations) == (2, 0)
    assert found.risk == pytest.approx(1 / K)
