"""Who knows everybody's quasi-identifiers and solves the matching is left with classes of k.

That regions overlap hides nobody: on Adult a matching tells the class of nearly everyone. But
records that read alike can always change places, so that all records of that class stay possible.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from linkage import Linkage, link

import dbdeid

# The leaves of each released value of one attribute, and its level.
LEAVES = {
    "a": (0, "a"), "b": (0, "b"), "c": (0, "c"), "d": (0, "d"),
    "ab": (1, "ab"), "cd": (1, "cd"), "*": (2, "abcd"),
}  # fmt: skip
DICTIONARY = pd.DataFrame(
    [
        (column, value, level, list(leaves))
        for column in ("x", "y")
        for value, (level, leaves) in LEAVES.items()
    ],
    columns=["column", "released_value", "level", "leaves"],
)

Cells = tuple[str, str]


def linked(people: list[Cells], released: list[tuple[str, str, str]]) -> Linkage:
    rows = pd.DataFrame(released, columns=["x", "y", "s"])
    return link(pd.DataFrame(people, columns=["x", "y"]), rows, DICTIONARY, "s")


def meets(*values: str) -> str:
    """The lowest value that has all of them as leaves."""
    return next(v for v, (_, leaves) in LEAVES.items() if set(values) <= set(leaves))


def drawn(seed: int, size: int) -> tuple[list[Cells], list[tuple[str, str, str]]]:
    """People in blocks of two or three, each released at its lowest common ancestors."""
    rng = random.Random(seed)
    values = rng.sample("abcd", rng.randint(2, 4))
    people = [(rng.choice(values), rng.choice(values)) for _ in range(size)]
    numbers, released = list(range(size)), []
    rng.shuffle(numbers)
    while numbers:
        cut = len(numbers) if len(numbers) < 4 else rng.choice([2, 3]) if len(numbers) > 4 else 2
        block, numbers = numbers[:cut], numbers[cut:]
        region = tuple(meets(*(people[i][j] for i in block)) for j in range(2))
        released += [(*region, rng.choice("uvw")) for _ in block]
    return people, released


def could_be(people: list[Cells], released: list[tuple[str, str, str]]) -> set[tuple[Cells, Cells]]:
    """Kinds of people and classes that meet in some order of the records, one by one."""
    regions = [(x, y) for x, y, _ in released]
    return {
        pair
        for order in set(permutations(regions))
        if all(
            leaf in LEAVES[shown][1]
            for person, region in zip(people, order, strict=True)
            for leaf, shown in zip(person, region, strict=True)
        )
        for pair in zip(people, order, strict=True)
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(25))
def test_the_pairs_of_some_matching_are_found(seed: int) -> None:
    people, released = drawn(seed, 5 + seed % 3)
    found = linked(people, released)
    kinds, classes = sorted(set(people)), sorted({(x, y) for x, y, _ in released})
    pairs = {(kinds[t], classes[c]) for t, c in zip(*found.matched, strict=True)}
    assert pairs == could_be(people, released)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(25))
def test_a_matching_leaves_k_and_every_value_of_a_class(seed: int) -> None:
    people, released = drawn(100 + seed, 40)
    found = linked(people, released)
    assert (found.records <= found.records_by_region).all()
    assert found.records.min() >= found.classes.min() >= 2
    assert (found.owners >= found.classes).all()
    assert found.possible_values.min() >= (found.held > 0).sum(axis=1).min()


def test_a_matching_tells_more_than_regions() -> None:
    # by their regions a's records could be all four; but only the b's can be `ab` with them
    people = [("a", "a"), ("a", "a"), ("b", "a"), ("b", "a")]
    released = [("a", "a", "u"), ("a", "a", "v"), ("ab", "a", "u"), ("ab", "a", "w")]
    found = linked(people, released)
    assert found.records_by_region.tolist() == [4, 2]
    assert found.records.tolist() == [2, 2]
    assert found.known_class == 4


def test_records_of_other_people_are_no_release_of_these() -> None:
    with pytest.raises(AssertionError, match="not of these people"):
        linked([("c", "c"), ("c", "c")], [("ab", "c", "u"), ("ab", "c", "v")])


def test_one_person_alone_would_be_found() -> None:
    # k = 1: the last record can only be hers
    people = [("a", "a"), ("a", "a"), ("d", "a")]
    released = [("*", "a", "u"), ("*", "a", "v"), ("cd", "a", "w")]
    found = linked(people, released)
    assert np.column_stack([found.people, found.records]).tolist() == [[2, 2], [1, 1]]
    assert found.records_by_region.tolist() == [2, 3]


SEVEN = (
    *("sex", "race", "marital_status", "education", "native_country", "workclass"),
    "salary_class",
)


def adult(
    shared: Path,
    algorithm: str,
    k: int,
    l: int,  # noqa: E741
    *metrics: str,
) -> tuple[Linkage, pd.DataFrame, Mapping[str, float]]:
    """Adult, locally recoded and linked, its people, and what the run measured."""
    file = str(shared / "data" / "hierarchies" / "adult" / "adult_hierarchy_{}.csv")
    files = {name: file.format(name.replace("_", "-")) for name in SEVEN}
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE adult AS FROM '{shared / 'data' / 'adult_arx.parquet'}'")
        result = dbdeid.run(
            {
                "release": "adult_public",
                "source": "adult",
                "accept": "rows",
                "columns": {
                    "age": "drop",
                    "occupation": "sensitive",
                    **{n: {"role": "quasi_identifier", "hierarchy": f} for n, f in files.items()},
                },
                "privacy": [
                    {"model": "k_anonymity", "k": k},
                    {"model": "l_diversity", "column": "occupation", "kind": "distinct", "l": l},
                ],
                "method": {"name": "local_recoding", "algorithm": algorithm},
                "evaluate": {"metrics": list(metrics)},
            },
            con,
        )
        assert result.verified
        people, *tables = (
            con.sql(query).df()
            for query in ("FROM adult", "FROM adult_public", "FROM adult_public_dictionary")
        )
    return link(people[list(SEVEN)], *tables, "occupation"), people, result.metrics


@pytest.mark.full
@pytest.mark.parametrize(("algorithm", "k"), [("dealing", 3), ("dealing", 5), ("mondrian", 4)])
def test_on_adult_nobody_is_left_with_fewer_than_k(algorithm: str, k: int, shared: Path) -> None:
    found, *_ = adult(shared, algorithm, k, 3)
    assert found.records.min() >= k
    assert found.owners.min() >= k
    assert found.possible_values.min() >= 3
    # that regions overlap is no protection to count on
    assert found.known_class > 0.9 * found.people.sum()


@pytest.mark.full
def test_on_adult_dealing_tells_which_people_have_one_value(shared: Path) -> None:
    """What diversity was declared against, told to those who know how records are dealt."""
    found, people, metrics = adult(shared, "dealing", 3, 2, "minimality")
    assert found.possible_values.min() >= 2
    told = found.told_alike(3)
    alike = people.groupby(list(SEVEN))["occupation"].agg(["nunique", "first"])
    rightly = [k for k, v in told.items() if tuple(alike.iloc[k]) == (1, v.removeprefix("="))]
    assert len(rightly) >= 30
    assert len(rightly) >= 0.9 * len(told)
    # and the run itself told its owner
    assert metrics["minimality.occupation"] == found.people[rightly].sum()
