"""Local recoding under a ceiling: what it promises, and what an adversary makes of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import Mixed, problems
from realdata import load, reordered
from tiers import examples

from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.counterfeit.search import decoys
from dbdeid.methods.counterfeit.search.borrow import borrow
from dbdeid.methods.counterfeit.search.borrowing import Work
from dbdeid.methods.counterfeit.search.recoding import Cells, Recoding, candidates, looked_at

ADULT = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
)
Region = tuple[frozenset[int], ...]


def under(lattice: Lattice, tuples: Tuples, h: float) -> list[Node]:
    """All nodes under which no record is generalized more than h."""
    return [n for n in lattice.nodes() if degrees(lattice, tuples, n).max(initial=0) <= h + 1e-12]


def degrees(lattice: Lattice, tuples: Tuples, node: Node) -> np.ndarray:
    cells = zip(lattice.shares, lattice.attributes, node, tuples.codes, strict=True)
    return sum(
        (share * a.loss[v][codes] for share, a, v, codes in cells), np.zeros(len(tuples.weights))
    )


def group(attribute: Attribute, level: int, code: int) -> frozenset[int]:
    """The values that share a group."""
    groups = attribute.groups[level]
    return frozenset(np.flatnonzero(groups == groups[code]).tolist())


def region(lattice: Lattice, levels: Node, codes: tuple[int, ...]) -> Region:
    return tuple(map(group, lattice.attributes, levels, codes))


def tuples_of(tuples: Tuples) -> list[tuple[int, ...]]:
    return [tuple(int(c) for c in codes) for codes in zip(*tuples.codes, strict=True)]


def regions(lattice: Lattice, tuples: Tuples, recoding: Recoding) -> list[Region]:
    """The region of each class; all its pieces agree on it."""
    rows = tuples_of(tuples)
    found: dict[int, Region] = {}
    for row, class_ in zip(recoding.row.tolist(), recoding.class_.tolist(), strict=True):
        made = region(lattice, recoding.signatures[class_], rows[row])
        assert found.setdefault(class_, made) == made
    return [found[c] for c in range(len(recoding.signatures))]


def inside(inner: Region, outer: Region) -> bool:
    return all(a <= b for a, b in zip(inner, outer, strict=True))


def with_values(tuples: Tuples, seed: int, size: int) -> Tuples:
    """Each tuple with a sensitive value; some tuples come twice, with two of them."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(tuples.weights)), np.minimum(tuples.weights, 2))
    value = rng.integers(0, size, len(rows))
    keys = np.unique(rows * size + value)
    rows, value = keys // size, keys % size
    weights = tuples.weights[rows]
    n = np.arange(len(rows))
    return Tuples(
        tuple(c[rows] for c in tuples.codes), weights, None, (Values(n, value, weights, size),)
    )


def released(lattice: Lattice, tuples: Tuples, recoding: Recoding) -> list[tuple[object, ...]]:
    """What is released, whatever the order of the tuples: regions with their values and counts."""
    where = regions(lattice, tuples, recoding)
    rows = tuples_of(tuples)
    value = tuples.values[0].value if tuples.values else np.zeros(len(rows), int)
    found = [
        (
            tuple(map(sorted, where[c])),
            rows[r],
            int(value[r]),
            int(n),
            recoding.signatures[c],
            int(recoding.counterfeits[c]),
        )
        for r, c, n in zip(recoding.row, recoding.class_, recoding.records, strict=True)
    ]
    return sorted(found)


def holds(tuples: Tuples, recoding: Recoding, class_: int, condition: Mixed) -> bool:
    at = recoding.class_ == class_
    value = np.repeat(tuples.values[0].value[recoding.row[at]], recoding.records[at])
    counts = np.unique(value, return_counts=True)[1]
    return len(counts) >= condition.distinct and counts.max() <= condition.share * len(value)


@settings(deadline=None, max_examples=examples(150))
@given(
    problems(most_rows=25),
    st.sampled_from([0.2, 0.4, 0.6, 1.0]),
    st.integers(1, 6),
    st.integers(0, 2),
    st.sampled_from([None, Mixed(2, 1.0), Mixed(2, 0.6)]),
)
def test_what_it_promises(
    problem: tuple[Lattice, Tuples], h: float, k: int, more: int, condition: Mixed | None
) -> None:
    lattice, tuples = problem
    tuples = with_values(tuples, len(tuples.weights), 3)
    nodes = under(lattice, tuples, h)
    if not nodes:
        return
    conditions = () if condition is None else (condition,)
    found = borrow(lattice, tuples, nodes=nodes, k=k, size=k + more, conditions=conditions)
    if found is None:
        assert conditions
        return
    assert np.array_equal(np.sort(found.row), found.row)
    whole = np.bincount(found.row, found.records, minlength=len(tuples.weights))
    assert np.array_equal(whole, tuples.weights)  # every record once
    assert (found.records > 0).all()
    where = regions(lattice, tuples, found)
    assert len(set(where)) == len(where)  # no two classes look alike
    real, padded = found.real, found.counterfeits > 0
    assert np.array_equal(padded, (real < k) & (real < k + more))
    assert np.array_equal(found.counterfeits[padded], k + more - real[padded])
    for class_, levels in enumerate(found.signatures):
        rows = found.row[found.class_ == class_]
        assert degrees(lattice, tuples, levels)[rows].max() <= h + 1e-12
        codes = tuples_of(tuples)[rows[0]]
        for i, level in enumerate(levels):  # the lowest level with its leaf set
            attribute = lattice.attributes[i]
            lower = range(attribute.min_level, level)
            assert all(
                attribute.size(v)[codes[i]] < attribute.size(level)[codes[i]]
                or group(attribute, v, codes[i]) != where[class_][i]
                for v in lower
            )
        if condition and not padded[class_]:
            assert holds(tuples, found, class_, condition)
    final = real + found.counterfeits
    for class_ in np.flatnonzero(padded):
        assert not any(
            final[c] > k and c != class_ and inside(where[c], where[class_])
            for c in range(len(where))
        )
    groups = candidates(lattice, tuples, found, nodes=nodes, k=k, size=k + more)
    assert (groups[padded] >= 0).all()
    assert (final[groups >= 0] == k + more).all()
    for number in range(groups.max(initial=-1) + 1):
        alike = np.flatnonzero(groups == number)
        assert len({found.signatures[c] for c in alike}) == 1
        assert padded[alike].any()


@pytest.mark.full
@settings(deadline=None, max_examples=examples(60))
@given(problems(most_rows=25), st.integers(2, 5), st.integers(0, 1), st.randoms())
def test_order_does_not_matter(
    problem: tuple[Lattice, Tuples], k: int, more: int, random: object
) -> None:
    lattice, tuples = problem
    tuples = with_values(tuples, 5, 3)
    nodes = under(lattice, tuples, 0.6)
    if not nodes:
        return
    order = np.arange(len(tuples.weights))
    random.shuffle(order)  # type: ignore[attr-defined]
    values = tuples.values[0]
    mixed = replace(
        reordered(tuples, order),
        values=(replace(values, value=values.value[order], count=values.count[order]),),
    )
    kept: dict[tuple[Node, ...], Work] = {}
    borrow(lattice, tuples, nodes=nodes, k=k, size=k + 1 - more, kept=kept)
    # nor what was padded before
    one = borrow(lattice, tuples, nodes=nodes, k=k, size=k + more, kept=kept)
    other = borrow(lattice, mixed, nodes=nodes[::-1], k=k, size=k + more)
    assert one is not None
    assert other is not None
    assert released(lattice, tuples, one) == released(lattice, mixed, other)
    assert one.signatures == other.signatures
    assert np.array_equal(one.counterfeits, other.counterfeits)


def attribute(name: str, *levels: list[int]) -> Attribute:
    """A hierarchy over as many values as the levels tell, with loss by leaves."""
    size = len(levels[0])
    groups = [np.arange(size, dtype=np.uint32), *(np.array(v, dtype=np.uint32) for v in levels)]
    losses = [(np.bincount(g)[g] - 1) / (size - 1) for g in groups]
    return Attribute(name, tuple(groups), tuple(losses))


def test_borrows_surplus_instead_of_padding() -> None:
    lattice = Lattice((attribute("a", [0, 0, 1, 1], [0, 0, 0, 0]),))
    tuples = Tuples((np.array([0, 1, 2, 3], np.uint16),), np.array([7, 1, 3, 1]))
    nodes = [(0,), (1,)]
    found = borrow(lattice, tuples, nodes=nodes, k=3, size=3)
    assert found is not None
    assert not found.counterfeits.any()
    # two of the seven go with the lonely record; the other one takes a class of three whole
    assert list(zip(found.signatures, found.real.tolist(), strict=True)) == [
        ((0,), 5),
        ((1,), 3),
        ((1,), 4),
    ]


def test_equal_leaf_sets_on_two_levels_are_one_class() -> None:
    lattice = Lattice((attribute("a", [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]),))
    tuples = Tuples((np.array([0, 1, 2, 3], np.uint16),), np.array([1, 2, 2, 2]))
    found = borrow(lattice, tuples, nodes=[(2,)], k=3, size=3)
    assert found is not None
    assert found.signatures == ((1,), (1,))
    assert found.real.tolist() == [3, 4]


def test_pads_leftovers_together() -> None:
    lattice = Lattice((attribute("a", [0, 0, 1, 1], [0, 0, 0, 0]),))
    tuples = Tuples((np.array([0, 1, 2], np.uint16),), np.array([1, 1, 5]))
    found = borrow(lattice, tuples, nodes=[(0,), (1,)], k=5, size=6)
    assert found is not None
    assert sorted(found.counterfeits.tolist()) == [0, 4]


def test_no_class_holds_the_conditions() -> None:
    lattice = Lattice((attribute("a", [0, 0]),))
    value = Values(np.array([0]), np.array([0]), np.array([5]), 1)
    tuples = Tuples((np.array([0], np.uint16),), np.array([5]), None, (value,))
    kept = {"nodes": [(0,), (1,)], "k": 3, "size": 3}
    assert borrow(lattice, tuples, conditions=(Mixed(2, 1.0),), **kept) is None
    assert borrow(lattice, tuples, **kept) is not None


def test_refuses_what_it_cannot_take() -> None:
    lattice = Lattice((attribute("a", [0, 0]),))
    two = Values(np.array([0, 0]), np.array([0, 1]), np.array([2, 3]), 2)
    tuples = Tuples((np.array([0], np.uint16),), np.array([5]), None, (two,))
    with pytest.raises(ValueError, match="more than one value"):
        borrow(lattice, tuples, nodes=[(0,)], k=3, size=3)
    with pytest.raises(ValueError, match="below k"):
        borrow(lattice, tuples, nodes=[(0,)], k=3, size=2)


def test_an_empty_table_has_no_classes() -> None:
    lattice = Lattice((attribute("a", [0, 0]),))
    tuples = Tuples((np.zeros(0, np.uint16),), np.zeros(0, np.int64))
    found = borrow(lattice, tuples, nodes=[(0,)], k=3, size=3)
    assert found is not None
    assert found.signatures == ()


def test_many_nodes_are_thinned_out_evenly() -> None:
    nodes = list(product(range(20), repeat=3))
    some = looked_at(nodes, rows=1000)
    assert len(some) == 1024
    assert (19, 19, 19) in some
    assert looked_at(nodes[::-1], rows=1000) == some
    assert len(looked_at(nodes, rows=1 << 26)) == 2


# An adversary with code of his own: could the records of a class have failed to find another one?


def could_be_padded(
    lattice: Lattice, nodes: list[Node], where: list[Region], clean: np.ndarray, class_: int
) -> bool:
    """Whether records of some value in a region would not have found another class.

    Args:
        lattice: the quasi-identifiers.
        nodes: under the ceiling.
        where: the released regions.
        clean: which of them are known to be clean.
        class_: the one in question.
    """
    own, top = where[class_], topmost(nodes)
    if any(c != class_ and inside(where[c], own) for c in range(len(where))):
        return False
    code = tuple(min(g) for g in own)
    around = [region(lattice, node, code) for node in top]
    if any(inside(own, cell) and cell != own for cell in around):
        return False
    near = set()
    for node in top:
        for other in np.flatnonzero(clean):
            cell = region(lattice, node, tuple(min(g) for g in where[other]))
            if inside(where[other], cell) and all(a & b for a, b in zip(cell, own, strict=True)):
                near.add(cell)
    return any(
        not any(all(v in g for v, g in zip(leaf, cell, strict=True)) for cell in near)
        for leaf in product(*map(sorted, own))
    )


def topmost(nodes: list[Node]) -> list[Node]:
    return [n for n in nodes if not any(m != n and all(np.less_equal(n, m)) for m in nodes)]


def known_counterfeits(
    tuples: Tuples, found: Recoding, group: np.ndarray, suspects: list[int], seed: int
) -> int:
    """How many counterfeits a catalog of one group gives away to who knows the suspects.

    Their values are drawn by quotas proportional to those of the group's real records.
    """
    values = tuples.values[0]
    real = np.zeros((len(found.signatures), values.cardinality), np.int64)
    np.add.at(real, (found.class_, values.value[found.row]), found.records)
    total = int(found.counterfeits[group].sum())
    ideal = total * real[group].sum(axis=0) / real[group].sum()
    quota = np.floor(ideal).astype(int)
    quota[np.argsort(quota - ideal, kind="stable")[: total - quota.sum()]] += 1
    drawn = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(quota)), quota))
    shown = real.copy()
    np.add.at(shown, (np.repeat(group, found.counterfeits[group]), drawn), 1)
    left = shown[suspects].sum(axis=0)
    return int(quota[(quota > 0) & (quota >= left)].sum())


@pytest.fixture(scope="module")
def sparse() -> tuple[Lattice, Tuples, list[Node]]:
    """Crowds, and many small corners that look like those which must be padded."""
    rng = np.random.default_rng(2)
    six = [i // 2 for i in range(6)], [0] * 6
    lattice = Lattice(tuple(attribute(name, *six) for name in "abcd"))
    crowd = np.minimum(rng.geometric(0.5, (2500, 4)) - 1, 5)
    value = np.minimum(rng.geometric(0.4, (2500, 1)) - 1, 3)
    codes, weights = np.unique(np.hstack([crowd, value]), axis=0, return_counts=True)
    own = Values(np.arange(len(weights)), codes[:, 4], weights, 4)
    tuples = Tuples(tuple(codes[:, :4].T.astype(np.uint16)), weights, None, (own,))
    return lattice, tuples, under(lattice, tuples, 0.3)


def test_the_candidates_are_those_that_an_adversary_cannot_rule_out(
    sparse: tuple[Lattice, Tuples, list[Node]],
) -> None:
    lattice, tuples, nodes = sparse
    found = borrow(lattice, tuples, nodes=nodes, k=4, size=4)
    assert found is not None
    padded = np.flatnonzero(found.counterfeits)
    assert len(padded)
    where, final = regions(lattice, tuples, found), found.real + found.counterfeits
    groups = candidates(lattice, tuples, found, nodes=nodes, k=4, size=4)
    for number in range(groups.max(initial=-1) + 1):
        group = np.flatnonzero(groups == number)
        levels = found.signatures[group[0]]
        alike = [c for c, own in enumerate(found.signatures) if own == levels and final[c] == 4]
        suspects = [c for c in alike if could_be_padded(lattice, nodes, where, groups < 0, c)]
        assert suspects == group.tolist()
        assert 3 * found.counterfeits[group].sum() <= found.real[group].sum()


def test_classes_of_other_groups_with_the_same_key_are_not_met(
    sparse: tuple[Lattice, Tuples, list[Node]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lattice, tuples, nodes = sparse
    found = borrow(lattice, tuples, nodes=nodes, k=4, size=4)
    assert found is not None
    groups = candidates(lattice, tuples, found, nodes=nodes, k=4, size=4)
    monkeypatch.setattr(Cells, "keys", lambda self, codes, levels: np.zeros(len(codes), np.uint64))
    monkeypatch.setattr(Cells, "key_of", lambda self, levels, codes: 0)
    monkeypatch.setattr(Cells, "apart", lambda self, levels: False)
    again = borrow(lattice, tuples, nodes=nodes, k=4, size=4)
    assert again is not None
    assert again.signatures == found.signatures
    assert (candidates(lattice, tuples, again, nodes=nodes, k=4, size=4) == groups).all()


def test_one_tuple_has_the_key_that_many_have() -> None:
    """Twenty-five columns of six values have more combinations than there are keys."""
    rng = np.random.default_rng(3)
    for width, apart in ((4, True), (25, False)):
        columns = [attribute(f"a{i}", [v // 2 for v in range(6)]) for i in range(width)]
        cells = Cells(Lattice(tuple(columns)), [(1,) * width])
        codes, levels = rng.integers(0, 6, (40, width)), (0,) * width
        keys = cells.keys(codes, levels)
        assert [cells.key_of(levels, row) for row in codes.tolist()] == keys.tolist()
        assert cells.apart(levels) is apart


# Adult, 30,162 rows, and what a catalog of it gives away.

Adult = tuple[Lattice, Tuples, dict[float, list[Node]]]


@pytest.fixture(scope="module")
def adult(shared: Path) -> Adult:
    """Seven quasi-identifiers, the occupation as the sensitive value, the nodes under ceilings."""
    whole, rows = load(shared, "adult.csv", (*ADULT, "occupation"))
    *codes, occupation = rows.codes
    lattice = Lattice(whole.attributes[:-1])
    n = np.arange(len(rows.weights))
    own = Values(n, occupation.astype(np.int64), rows.weights, int(occupation.max()) + 1)
    tuples = Tuples(tuple(codes), rows.weights, None, (own,))
    distinct = np.unique(np.stack(codes), axis=1)
    bare = Tuples(tuple(distinct), np.ones(distinct.shape[1], np.int64))
    highest = {node: degrees(lattice, bare, node).max() for node in lattice.nodes()}
    ceilings = (0.25, 0.3, 0.35)
    under_ = {h: [n for n, d in highest.items() if d <= h + 1e-12] for h in ceilings}
    return lattice, tuples, under_


@pytest.mark.full
@pytest.mark.parametrize(("h", "k", "most"), [(0.3, 3, 10), (0.3, 5, 45), (0.35, 5, 5)])
def test_adult_needs_few_counterfeits(adult: Adult, h: float, k: int, most: int) -> None:
    lattice, tuples, nodes = adult
    found = borrow(lattice, tuples, nodes=nodes[h], k=k, size=k)
    assert found is not None
    assert found.counterfeits.sum() <= most
    loss = 0.0
    for levels in set(found.signatures):
        at = np.array([own == levels for own in found.signatures])[found.class_]
        loss += (degrees(lattice, tuples, levels)[found.row[at]] * found.records[at]).sum()
    assert loss / tuples.records <= 0.18
    groups = candidates(lattice, tuples, found, nodes=nodes[h], k=k, size=k)
    assert (groups[found.counterfeits > 0] >= 0).all()
    for number in range(groups.max(initial=-1) + 1):
        group = np.flatnonzero(groups == number)
        assert 5 * found.counterfeits[group].sum() <= found.real[group].sum()
    if len(pool := np.flatnonzero(groups >= 0)):
        assert known_counterfeits(tuples, found, pool, pool.tolist(), 1) == 0


@pytest.mark.full
def test_adult_without_decoys_gives_counterfeits_away(
    adult: Adult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool of all classes of size k hides nothing: few of them could have been padded."""
    lattice, tuples, nodes = adult
    monkeypatch.setattr(decoys, "DECOYS", 0)
    monkeypatch.setattr(decoys, "LEAST", 0)
    found = borrow(lattice, tuples, nodes=nodes[0.3], k=5, size=5)
    assert found is not None
    padded = np.flatnonzero(found.counterfeits)
    pool = np.flatnonzero(found.real + found.counterfeits == 5)
    groups = candidates(lattice, tuples, found, nodes=nodes[0.3], k=5, size=5)
    suspects = np.flatnonzero(groups >= 0)
    assert 50 * len(padded) < len(pool)
    assert 2 * len(padded) > len(suspects)
    assert known_counterfeits(tuples, found, pool, suspects.tolist(), 1) > 0
