"""The downcoding attack, held against all worlds that give the same release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import dbdeid
from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.attacks.downcoding import Downcoded, of_blocks, of_levels
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.report.content.audience import public
from dbdeid.report.content.remains import sentences

# Of each attribute the path of its values from the leaf up; the last level is the top.
TREES: dict[str, list[tuple[Any, ...]]] = {
    "binary": [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)],
    "uneven": [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 2, 0)],
    "chain": [(0, 0, 0), (1, 0, 0), (2, 1, 0)],
}
Table = list[tuple[int, ...]]
Marks = tuple[tuple[int, int], ...]  # of each attribute level and group


def attribute(name: str, **more: Any) -> Attribute:
    paths = np.array(TREES[name], np.uint32)
    sizes = [np.bincount(own)[own] for own in paths.T]
    loss = tuple((own - 1) / (len(paths) - 1) for own in sizes)
    return Attribute(name, tuple(paths.T.copy()), loss, **more)


def units(rows: Table) -> tuple[Tuples, dict[tuple[int, ...], int]]:
    counted = sorted(Counter(rows).items())
    codes = np.array([row for row, _ in counted], np.uint16).T
    weights = np.array([n for _, n in counted])
    return Tuples(tuple(codes), weights), {row: i for i, (row, _) in enumerate(counted)}


def group(name: str, level: int, code: int) -> int:
    return int(TREES[name][code][level])


def ancestors(names: list[str], block: Table, least: list[int]) -> Marks:
    """The lowest common ancestors of a block, by looking at the paths."""
    marks = []
    for i, name in enumerate(names):
        level = least[i]
        while len({group(name, level, row[i]) for row in block}) > 1:
            level += 1
        marks.append((level, group(name, level, block[0][i])))
    return tuple(marks)


def certain(names: list[str], worlds: list[list[Table]], marks: list[Marks]) -> int:
    """Cells that have the same child in each world: the least count of each child of each class."""
    found = 0
    for c, mark in enumerate(marks):
        for i, name in enumerate(names):
            level = mark[i][0]
            if level == 0 or len(leaves(name, *mark[i])) < 2:
                continue
            counts = [Counter(group(name, level - 1, row[i]) for row in w[c]) for w in worlds]
            found += sum(min(one[child] for one in counts) for child in {*counts[0]})
    return found


def leaves(name: str, level: int, label: int) -> list[int]:
    return [code for code in range(len(TREES[name])) if group(name, level, code) == label]


def fillings(names: list[str], mark: Marks, number: int) -> Iterator[Table]:
    """All records that a class of this label can have."""
    cells = [leaves(name, *own) for name, own in zip(names, mark, strict=True)]
    yield from (list(rows) for rows in product(list(product(*cells)), repeat=number))


@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_of_blocks_that_follows_what_is_so_in_all_worlds(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(TREES)), min_size=1, max_size=2))
    least = [data.draw(st.integers(0, 1)) for _ in names]
    row = st.tuples(*[st.integers(0, len(TREES[name]) - 1) for name in names])
    blocks: list[Table] = data.draw(
        st.lists(st.lists(row, min_size=2, max_size=3), min_size=1, max_size=3 - len(names))
    )
    attributes = [attribute(n, min_level=m) for n, m in zip(names, least, strict=True)]
    known, place = units([r for block in blocks for r in block])
    pieces = [(place[r], b, n) for b, rows in enumerate(blocks) for r, n in Counter(rows).items()]
    made = Blocks(*np.array(pieces).T)
    taxonomy = Taxonomy(Lattice(tuple(attributes)), known)
    regions = taxonomy.regions(known, made.row, made.block, made.number)
    found = of_blocks(taxonomy, known, made, regions)
    # classes as they are published: labels, and how many records
    sizes: Counter[Marks] = Counter()
    for rows in blocks:
        sizes[ancestors(names, rows, least)] += len(rows)
    cells = certain_cells = 0
    for mark, number in sizes.items():
        worlds = [
            [rows]
            for rows in fillings(names, mark, number)
            if ancestors(names, rows, least) == mark  # as one block; several tell no more
        ]
        certain_cells += certain(names, worlds, [mark])
        cells += number * sum(
            len(leaves(name, *own)) > 1 for name, own in zip(names, mark, strict=True)
        )
    assert found == Downcoded(cells, certain_cells, certain_cells)


def splits(names: list[str], rows: Table, node: Node) -> list[Table]:
    """The classes of a transformation."""
    held: dict[tuple[int, ...], Table] = {}
    for row in rows:
        key = tuple(group(n, v, c) for n, v, c in zip(names, node, row, strict=True))
        held.setdefault(key, []).append(row)
    return [held[key] for key in sorted(held)]


def fails(names: list[str], rows: Table, node: Node, k: int) -> bool:
    return any(len(own) < k for own in splits(names, rows, node))


TABLES = [
    (["binary"], [(0,), (0,), (2,), (2,), (3,)], 2),  # one class can fall apart
    (["binary"], [(0,), (1,), (1,), (2,), (3,), (3,)], 2),  # either may have
    (["uneven"], [(0,), (0,), (1,), (2,), (2,)], 3),  # three parts: none is certain
    (["uneven"], [(0,), (1,), (1,), (2,), (2,)], 2),  # the other class has one value
    (["binary", "chain"], [(0, 0), (1, 1), (1, 0)], 2),
    (["chain"], [(0,), (0,), (0,), (2,)], 2),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("names", "rows", "k"), TABLES)
def test_of_levels_that_follows_what_is_so_in_all_worlds(
    names: list[str], rows: Table, k: int
) -> None:
    lattice = Lattice(tuple(attribute(name) for name in names))
    nodes = sorted(product(range(3), repeat=len(names)), key=lambda n: (sum(n), n))
    node = next(n for n in nodes if not fails(names, rows, n, k))
    known, _ = units(rows)
    kept = np.ones(len(known.weights), np.bool_)
    found = of_levels(lattice, known, kept, node, minimal=True, starred=False)
    classes = splits(names, rows, node)
    marks = [
        tuple((v, group(n, v, c)) for n, v, c in zip(names, node, own[0], strict=True))
        for own in classes
    ]
    each = [list(fillings(names, m, len(own))) for m, own in zip(marks, classes, strict=True)]
    below = [
        tuple(v - (j == i) for j, v in enumerate(node)) for i in range(len(names)) if node[i] > 0
    ]
    worlds = [
        list(world)
        for world in product(*each)
        if all(fails(names, [row for own in world for row in own], lower, k) for lower in below)
    ]
    assert found.attempted == found.right == certain(names, worlds, marks)
    nothing = of_levels(lattice, known, kept, node, minimal=False, starred=False)
    assert (nothing.cells, nothing.attempted) == (found.cells, 0)


def test_a_child_without_a_value_that_occurs_may_be_the_other_one() -> None:
    paths = np.array([(0, 0), (1, 0)], np.uint32).T.copy()
    zero = (np.zeros(2), np.ones(2))
    sizes = (np.array([1, 1]), np.array([3, 3]))  # a third value was declared
    lattice = Lattice((Attribute("sex", tuple(paths), zero, sizes=sizes),))
    known, place = units([(0,), (1,)])
    made = Blocks(np.array([place[(0,)], place[(1,)]]), np.zeros(2, np.int64), np.ones(2, np.int64))
    taxonomy = Taxonomy(lattice, known)
    regions = taxonomy.regions(known, made.row, made.block, 1)
    assert of_blocks(taxonomy, known, made, regions) == Downcoded(2, 0, 0)


def test_suppressed_records_that_stay_are_generalized_cells_that_tell_nothing() -> None:
    lattice = Lattice((attribute("binary"),))
    known, _ = units([(0,), (1,), (3,)])
    kept = np.array([True, True, False])
    args = (lattice, known, kept, (1,))
    assert of_levels(*args, minimal=False, starred=True) == Downcoded(3, 0, 0)
    assert of_levels(*args, minimal=False, starred=False) == Downcoded(2, 0, 0)


def visits(method: Any, **more: Any) -> Any:
    spec = {
        "release": "visits_public",
        "source": "visits",
        "accept": "rows",
        "seed": 3,
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": method,
        "evaluate": {"metrics": ["downcoding"]},
        **more,
    }
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE visits AS SELECT (i * i % 61)::INTEGER AS age, ['f', 'm'][1 + i % 2] AS "
            "sex FROM range(60) AS r(i)"
        )
        return dbdeid.run(spec, con)


@pytest.mark.full
def test_a_run_says_what_is_taken_back() -> None:
    result = visits("local_recoding")
    found = result.record.downcoded
    assert result.metrics["downcoding"] == found.right / found.cells > 0
    assert result.metrics["downcoding.attempted"] == found.attempted / found.cells
    told = f"narrows {found.right:,} of {found.cells:,} generalized values"
    assert told in " ".join(sentences(result.record).not_promised)
    assert "downcoding" not in " ".join(sentences(public(result.record), "public").not_promised)
    quiet = visits("local_recoding", evaluate={"metrics": ["loss"]})
    assert "downcoding" not in " ".join(sentences(quiet.record).not_promised)


@pytest.mark.full
def test_of_a_full_domain_release_with_suppression_nothing_follows() -> None:
    result = visits({"name": "full_domain", "suppression_limit": 0.1})
    assert result.metrics["downcoding"] == result.metrics["downcoding.attempted"] == 0
    assert result.record.downcoded.cells > 0
