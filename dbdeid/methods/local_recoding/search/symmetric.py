"""Blocks whose shape reveals nothing of a person's sensitive value: simulatable local recoding.

*Leaves* of exactly m records, m at least k, are dealt by the quasi-identifiers alone, and so are
perfect binary *trees* of leaves, each halved again and again where that loses least. Only then
are sensitive values looked at. A node is *kept apart* where every block of both of its halves holds
what is demanded; otherwise all of its records are one block. So a leaf that fails takes its sibling
in, both take in the sibling of their parent, and so on. A tree that does not even hold as a whole
refuses the table. What fills no tree is one block of its own, fixed beforehand. m is what would
lose least if the values of the table were dealt at random.

**Why it is sound.** Take the worlds that are alike before the release: all assignments of the
table's sensitive values to its people. Let π exchange people of one published block such that
leaves inside it are mapped to leaves, and halves to halves of one node. Whether a node is kept
apart depends on the multisets of values in its leaves, and on nothing else of the values; which of
the people alike in all quasi-identifiers is in which leaf is drawn at random. So a world and its
image under π are released in the same blocks, with the same multiset in each: as the same table.
The halves are equally large, so that for any two people of a block there is such a π that puts one
in the place of the other. Hence, given the release, each person of a block has a value with one and
the same probability, which is its share in the block: what is known of somebody in a block that was
fixed beforehand. Every block holds every model. Several blocks that read alike are one class; what
is known of a person is then a mean of shares in such blocks.

What is known of several people *together* can be more: of a block that was not kept apart, some
half fails. And who believes that people alike have the same values anyway, learns from a class what
that belief makes of it.

Wong, Fu, Wang & Pei 2007 for the attack; Cormode, Li, Li & Srivastava 2010 for the insight that an
algorithm withstands it that treats people alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Taxonomy, nlogn

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PATIENCE = 2  # larger leaves that lose more are tried before no others are
TRIED = 200  # random sets of people that must all hold before one is thought to be large enough
SAMPLE = 50_000  # records by which the size of leaves is chosen
REST, TREE = 2, 2  # times as large is what is not divided, and the smallest tree


def symmetric(
    taxonomy: Taxonomy,
    demands: Demands,
    order: Ints,
    *,
    objective: Cost = "balanced",
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks that reveal of a person no more than the shares of values in the block.

    All records are `LEFT` where the table is refused: a tree does not hold.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block must hold; every record is a person.
        order: a random order of all records, in which those of a unit are numbered one after the
            other: it decides between people alike in all quasi-identifiers.
        objective: what transformations cost.
        settled: is told how many records have a block.
    """
    units = demands.units
    kinds, kind = np.unique(np.stack(units.codes), axis=1, return_inverse=True)
    kind = kind.ravel().astype(np.int64)
    weights = np.bincount(kind, units.weights).astype(np.int64)
    people = Tuples(tuple(own.astype(np.uint32) for own in kinds), weights)
    row = np.repeat(np.arange(len(units.weights)), units.weights)
    # what may be chosen by: the values of the table, whoever has them
    values = [own.value[row] for own in units.values]
    anyone = row[np.lexsort(values)] if values else row
    rng = np.random.default_rng(0)
    anyone = anyone[rng.permutation(len(row))][:SAMPLE]
    some = _sampled(people, rng)
    enough, costs, sizes = _enough(demands), list[float](), _sizes(max(demands.k, 1))
    for size in sizes if demands.conditions else sizes[:1]:
        costs.append(_cost(demands, _Forest(taxonomy, some, size, enough, objective), anyone))
        if len(costs) - int(np.argmin(costs)) > PATIENCE:
            break
    best = _Forest(taxonomy, people, sizes[int(np.argmin(costs))], enough, objective)
    mine = row[np.lexsort((order, kind[row]))]
    blocks = _merged(demands, best, mine)
    placed = len(row) if blocks is not None else 0
    if settled is not None:
        settled(placed)
    block = np.full(len(row), LEFT) if blocks is None else blocks[best.leaf_of_records()]
    return Blocks(mine, block, np.ones(len(row), np.int64)).tidied()


def _sampled(people: Tuples, rng: np.random.Generator) -> Tuples:
    """Some of the people, where they are many."""
    if people.records <= SAMPLE:
        return people
    drawn = rng.multivariate_hypergeometric(people.weights, SAMPLE, method="marginals")
    there = drawn > 0
    return Tuples(tuple(own[there] for own in people.codes), drawn[there].astype(np.int64))


def _cost(demands: Demands, forest: _Forest, row: Ints) -> float:
    """What is lost where the people of some trees have the values of these units."""
    blocks = _merged(demands, forest, row)
    return np.inf if blocks is None else forest.cost(blocks)


def _sizes(k: int) -> list[int]:
    """How many records a leaf may have."""
    return sorted({k, k + 1, *(-(-k * quarters // 4) for quarters in (6, 8, 12, 16, 24, 32, 48))})


class _Forest:
    """Leaves in the nodes of trees.

    Attributes:
        pieces: the leaves, what is not divided as the last of each top class.
        node: of each leaf.
        parents: of the nodes at each height, from the roots down, the node above.
    """

    def __init__(
        self, taxonomy: Taxonomy, people: Tuples, size: int, enough: int, objective: Cost
    ) -> None:
        self._taxonomy = taxonomy
        self._people = people
        self._size = size
        self._cost = taxonomy.cost(objective)
        demands = Demands(people, size, ())
        self.pieces = deal(taxonomy, demands, objective=objective, tail="eligible")
        self.parents: list[Ints] = []
        self.plant(enough)
        self.halve()

    def cost(self, blocks: Ints) -> float:
        """What records cost where each leaf is in some block."""
        _, block = np.unique(blocks, return_inverse=True)
        block = block.ravel().astype(np.int64)[self.pieces.block]
        regions = self._taxonomy.regions(
            self._people, self.pieces.row, block, int(block.max(initial=-1)) + 1
        )
        sizes = np.bincount(block, self.pieces.records)
        found = 0.0
        for table, levels, codes in zip(self._cost, regions.levels, regions.codes, strict=True):
            found += float(table[levels, codes] @ sizes)
        return found

    def leaf_of_records(self) -> Ints:
        """The leaf of each record, in order of the kinds of people."""
        by_kind = np.lexsort((self.pieces.block, self.pieces.row))
        return np.repeat(self.pieces.block[by_kind], self.pieces.records[by_kind])

    def plant(self, enough: int) -> None:
        """Divide the leaves into trees.

        What may be no block together, for it is apart on the highest levels, is in other trees.
        The leaves that cost most are not divided, with the people who are in none.

        Args:
            enough: people of whom a random set holds.
        """
        lattice, people, k = self._taxonomy.lattice, self._people, self._size
        top = np.zeros(len(people.weights), np.int64)
        for attribute, codes, level in zip(
            lattice.attributes, people.codes, lattice.top, strict=True
        ):
            key = top * attribute.cardinality + attribute.groups[level][codes]
            top = np.unique(key, return_inverse=True)[1].ravel().astype(np.int64)
        leaves = self.pieces
        placed = leaves.block >= 0
        row, block = leaves.row[placed], leaves.block[placed]
        regions = self._taxonomy.regions(people, row, block, leaves.number)
        cost = np.zeros(leaves.number)
        for table, levels, codes in zip(self._cost, regions.levels, regions.codes, strict=True):
            cost += table[levels, codes]
        of = np.zeros(leaves.number, np.int64)
        of[block] = top[row]
        least = max(-(-enough * TREE // k) - 1, 0).bit_length()  # depth of the smallest tree
        spare = np.bincount(top[leaves.row[~placed]], leaves.records[~placed], int(top.max()) + 1)
        rest = np.zeros(leaves.number, np.bool_)
        root, trees = np.full(leaves.number, -1), 0
        # people near to each other often have the same values: a small tree has them from all over
        drawn = np.random.default_rng(0).permutation(leaves.number)
        for one, more in enumerate(spare.astype(np.int64).tolist()):
            own = np.flatnonzero(of == one)
            own = own[np.lexsort((drawn[own], -cost[own]))]
            wanted = max(-(-(enough * REST - more) // k), 0)
            if len(own) >= wanted:
                wanted += (len(own) - wanted) % (1 << least)
            rest[own[:wanted]] = True
            own = own[wanted:]
            own = own[np.argsort(drawn[own])]
            while len(own):
                size = 1 << (len(own).bit_length() - 1)
                root[own[:size]], own, trees = trees, own[size:], trees + 1
        self._renumber(top, rest)
        self.node = root[~rest]

    def _renumber(self, top: Ints, rest: Mask) -> None:
        """Leaves that are in trees first; then what is not divided, one for each top class."""
        leaves = self.pieces
        number = np.cumsum(~rest) - 1
        first = int(number[-1]) + 1 if len(number) else 0
        inside = leaves.block >= 0
        inside[inside] = ~rest[leaves.block[inside]]
        block = first + top[leaves.row]
        block[inside] = number[leaves.block[inside]]
        self.pieces = Blocks(leaves.row, block, leaves.records).tidied()

    def halve(self) -> None:
        """Halve all trees down to their leaves; the children of a node have the next numbers."""
        while (open_ := np.bincount(self.node) > 1).any():
            side = self._halves(open_)
            number = 1 + open_.astype(np.int64)
            self.node = (np.cumsum(number) - number)[self.node] + side
            self.parents.append(np.repeat(np.arange(len(open_)), number))

    def _halves(self, open_: Mask) -> Mask:
        """Which leaves of nodes are in the second half, along the attribute that costs least."""
        found = np.zeros(len(self.node), np.bool_)
        chosen = np.flatnonzero(open_[self.node])
        local = np.full(self.pieces.number, -1)
        local[chosen] = np.arange(len(chosen))
        inside = local[self.pieces.block] >= 0
        row, leaf = self.pieces.row[inside], local[self.pieces.block[inside]]
        records = self.pieces.records[inside]
        node, number = self.node[chosen], len(open_)
        counts = np.bincount(node, minlength=number)
        start = np.cumsum(counts) - counts
        best, side = np.full(number, np.inf), np.zeros(len(chosen), np.bool_)
        places = [self._place(i, row, leaf, len(chosen)) for i in range(len(self._people.codes))]
        for i, place in enumerate(places):
            others = [other for j, other in enumerate(places) if j != i]
            ordered = np.lexsort((*reversed(others), place, node))
            at = np.empty(len(ordered), np.int64)
            at[ordered] = np.arange(len(ordered))
            beyond = at - start[node] >= (counts // 2)[node]
            cost = self._costs(row, (2 * node + beyond)[leaf], records, number)
            better = cost < best - 1e-12
            best = np.where(better, cost, best)
            side = np.where(better[node], beyond, side)
        found[chosen] = side
        return found

    def _place(self, i: int, row: Ints, leaf: Ints, leaves: int) -> Ints:
        """The first place of each leaf in the order of an attribute."""
        attribute = self._taxonomy.lattice.attributes[i]
        inner = np.lexsort(attribute.groups)
        place = np.empty(len(inner), np.int64)
        place[inner] = np.arange(len(inner))
        found = np.full(leaves, len(inner))
        np.minimum.at(found, leaf, place[self._people.codes[i][row]])
        return found

    def _costs(self, row: Ints, part: Ints, records: Ints, number: int) -> Floats:
        """What the two parts of each node cost: their labels, and how mixed they are."""
        taxonomy, people = self._taxonomy, self._people
        parts, part = np.unique(part, return_inverse=True)
        part = part.ravel()
        regions = taxonomy.regions(people, row, part, len(parts))
        sizes = np.bincount(part, records)
        found = np.zeros(len(parts))
        whole = sum(float(table[-1].max(initial=0.0)) for table in taxonomy.entropy) or 1.0
        for i, attribute in enumerate(taxonomy.lattice.attributes):
            found += sizes * self._cost[i][regions.levels[i], regions.codes[i]]
            keys, inside = np.unique(
                part * attribute.cardinality + people.codes[i][row], return_inverse=True
            )
            own = nlogn(np.bincount(inside.ravel(), records))
            mixed = nlogn(sizes) - np.bincount(keys // attribute.cardinality, own)
            found += taxonomy.weights[i] * mixed / whole
        return np.asarray(np.bincount(parts // 2, found, number), np.float64)


def _merged(demands: Demands, forest: _Forest, row: Ints) -> Ints | None:
    """The block of each leaf: those that fail are merged with their siblings up to where all hold.

    Args:
        demands: what every block must hold.
        forest: the trees; leaves without a node are in none.
        row: the unit of each record, in order of the kinds of people.

    Returns:
        The number of a leaf of the block, for each leaf; None where a tree does not hold.
    """
    leaf = forest.leaf_of_records()
    leaves, inside = int(leaf.max(initial=-1)) + 1, len(forest.node)
    block = np.arange(leaves)
    ones = np.ones(len(row), np.int64)

    def held() -> Mask:
        _, dense = np.unique(block, return_inverse=True)
        dense = dense.ravel().astype(np.int64)
        return demands.hold(Blocks(row, dense[leaf], ones).tidied())[dense]

    node = forest.node
    for parent in reversed(forest.parents):
        node_above = parent[node]
        broken = np.zeros(int(parent.max(initial=-1)) + 1, np.bool_)
        broken[node_above[~held()[:inside]]] = True
        broken &= np.bincount(parent) > 1
        first = np.full(len(broken), leaves)
        np.minimum.at(first, node_above, np.arange(inside))
        block[:inside] = np.where(broken[node_above], first[node_above], block[:inside])
        node = node_above
    return block if held().all() else None


def _enough(demands: Demands) -> int:
    """How many people hold almost certainly, by the values of the whole table.

    All records are released, so that these are no secret.
    """
    rng, size = np.random.default_rng(0), max(demands.k, 1)
    while size < demands.units.records and not all(
        _hold(demands, i, size, rng) for i in range(len(demands.conditions))
    ):
        size += -(-size // 4)
    return size


def _hold(demands: Demands, attribute: int, size: int, rng: np.random.Generator) -> bool:
    """Whether random sets of people of a size all hold."""
    values = demands.units.values[attribute]
    counts = np.bincount(values.value, values.count, values.cardinality).astype(np.int64)
    drawn = rng.multivariate_hypergeometric(counts, size, TRIED, method="marginals")
    of_class, value = np.nonzero(drawn)
    entries = Entries(of_class, value, drawn[of_class, value])
    return bool(demands.conditions[attribute](np.full(TRIED, size), entries)[0].all())
