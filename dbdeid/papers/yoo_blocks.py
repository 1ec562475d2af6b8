"""Q-blocks of Adult in the ways that Yoo et al. 2012 compare, and in those that go beyond it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.baselines.clustering import cluster, grown, nearness
from dbdeid.methods.local_recoding.baselines.mondrian import mondrian
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import settle
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy, block_entropy
from dbdeid.papers.common.data import Data
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import LDiversity, SensitiveModel, TCloseness
from dbdeid.privacy.common.histogram import Whole
from dbdeid.spec.method.local_recoding import LocalRecoding

SEVEN = (
    *("sex", "race", "marital_status", "education", "native_country", "workclass"),
    "salary_class",
)
EIGHT = (*SEVEN[:-1], "relationship", "income")
AGED = ("sex", "age", *SEVEN[1:-1])
SENSITIVE = "occupation"
K = 3


@dataclass(frozen=True)
class Table:
    """Some records of Adult.

    Attributes:
        taxonomy: of the quasi-identifiers.
        units: the records, with occupation.
    """

    taxonomy: Taxonomy
    units: Tuples

    def demands(self, k: int, models: tuple[SensitiveModel, ...]) -> Demands:
        """That every block has k records and holds the models."""
        (values,) = self.units.values
        counts = np.bincount(values.value, self.units.weights, values.cardinality)
        whole = Whole(
            np.rint(counts).astype(np.int64),
            self.units.people,
            tuple(map(str, range(values.cardinality))),
        )
        return Demands(self.units, k, (Sensitive((SENSITIVE,), models, whole),))

    def figures(self, blocks: Blocks) -> Figures:
        """What blocks lose and how diverse they are; records without one are left out."""
        placed = blocks.block >= 0
        row, block, records = (x[placed] for x in (blocks.row, blocks.block, blocks.records))
        regions = self.taxonomy.regions(self.units, row, block, blocks.number)
        sizes = blocks.sizes
        value = self.units.values[0].value[row]
        pairs = np.unique(np.stack([block, value]), axis=1)
        distinct = np.bincount(pairs[0], minlength=blocks.number)
        return Figures(
            block_entropy(self.taxonomy, self.units, row, block, records),
            float(self.taxonomy.entropies(regions) @ sizes / max(int(sizes.sum()), 1)),
            float(self.taxonomy.losses(regions) @ sizes / max(int(sizes.sum()), 1)),
            blocks.number,
            tuple(int(n) for n in np.bincount(np.minimum(distinct, 3), minlength=4)[1:]),
            blocks.left,
        )


@dataclass(frozen=True)
class Figures:
    """Of some blocks.

    Attributes:
        inside: the entropy of the quasi-identifiers inside the blocks, in bits a record.
        node: that under the values they are generalized to.
        loss: the mean loss of a cell.
        blocks: how many there are.
        diverse: how many blocks have one sensitive value, two, and three or more.
        left: records without a block.
    """

    inside: float
    node: float
    loss: float
    blocks: int
    diverse: tuple[int, ...]
    left: int


@dataclass(frozen=True)
class Way:
    """How blocks are made.

    Attributes:
        algorithm: as the method calls it; `first_value` is `conditional_entropy` where the first
            of equals in the order of the units is taken, as a naive programme does.
        models: what every block must hold beside k.
        options: of the method; what is not here is as it comes.
        k: how many records every block must have.
    """

    algorithm: str
    models: tuple[SensitiveModel, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    k: int = K

    def found(self, table: Table, demands: Demands, method: LocalRecoding, seed: int) -> Blocks:
        """The blocks before records that have none are placed."""
        taxonomy = table.taxonomy
        if method.algorithm == "dealing":
            return deal(taxonomy, demands, tail=method.tail or "append")
        if method.algorithm == "mondrian":
            return mondrian(taxonomy, demands, relaxed=method.mondrian == "relaxed")
        rng = np.random.default_rng(seed)
        if self.algorithm == "first_value":
            return first_value(table, demands, rng.permutation(table.units.records))
        assert method.loss != "balanced"
        assert method.loss != "loss"
        return cluster(
            taxonomy,
            demands,
            algorithm=method.algorithm,
            objective=method.loss,
            diversity_weight=method.weight,
            rng=rng,
        )

    def made(self, table: Table, seed: int) -> Made:
        """The blocks, with all records."""
        demands = table.demands(self.k, self.models)
        named = {"first_value": "conditional_entropy"}.get(self.algorithm, self.algorithm)
        options = {"name": "local_recoding", "algorithm": named, **self.options}
        method = LocalRecoding.model_validate(options)
        start = time.process_time()
        found = self.found(table, demands, method, seed)
        between = time.process_time()
        blocks = settle(
            table.taxonomy,
            demands,
            found,
            objective="block_entropy" if method.loss == "literal" else method.loss,
            diversity_weight=method.weight,
        )
        seconds = (between - start, time.process_time() - between)
        return Made(blocks, found.left, table.figures(blocks), seconds)


@dataclass(frozen=True)
class Made:
    """Blocks with what is known of them.

    Attributes:
        blocks: of all records.
        left: how many records had none before they were placed.
        figures: of these blocks.
        seconds: of a processor, until then and for that.
    """

    blocks: Blocks
    left: int
    figures: Figures
    seconds: tuple[float, float]


def first_value(table: Table, demands: Demands, seeds: NDArray[np.int64]) -> Blocks:
    """Conditional entropy alone, which takes the first of equals in the order of the units."""
    unit_of = np.repeat(np.arange(len(table.units.weights)), table.units.weights)
    places = np.empty_like(seeds)
    places[np.lexsort((np.argsort(seeds), unit_of))] = np.arange(len(seeds))
    near = nearness(table.taxonomy, demands, "conditional_entropy", "block_entropy", 0.0)
    return grown(table.taxonomy, demands, near, seeds=seeds, places=places)


def diverse(least: int, kind: str) -> LDiversity:
    """l-diversity of the occupations."""
    options = {"model": "l_diversity", "column": SENSITIVE, "l": least, "kind": kind}
    return LDiversity.model_validate(options)


def close(most: float) -> TCloseness:
    """t-closeness of the occupations."""
    return TCloseness(model="t_closeness", column=SENSITIVE, t=most)


STRICT, RELAXED = {"mondrian": "strict"}, {"mondrian": "relaxed"}
THREE = (diverse(3, "entropy"),)

WAYS = {
    "CE, first value": Way("first_value"),
    "CE": Way("conditional_entropy"),
    "paper, λ = 1": Way("paper"),
    "paper, λ = .5": Way("paper", (), {"diversity_weight": 0.5}),
    "paper, node entropy": Way("paper", (), {"objective": "node_entropy"}),
    "paper, equation 8": Way("paper", (), {"objective": "literal"}),
    "paper, entropy l = 3": Way("paper", THREE),
    "diversity first, l = 3": Way("diversity_first", THREE),
    "closeness, t = .15": Way("closeness", (close(0.15),), {"objective": "block_entropy"}),
    "dealing": Way("dealing"),
    "dealing, entropy l = 2": Way("dealing", (diverse(2, "entropy"),)),
    "dealing, entropy l = 3": Way("dealing", THREE),
    "dealing, entropy l = 3, eligible": Way("dealing", THREE, {"tail": "eligible"}),
    "Mondrian, strict": Way("mondrian", (), STRICT),
    "Mondrian, relaxed": Way("mondrian", (), RELAXED),
    "Mondrian, entropy l = 2": Way("mondrian", (diverse(2, "entropy"),), RELAXED),
    "Mondrian, entropy l = 3": Way("mondrian", THREE, RELAXED),
}

CONDITIONS: dict[str, tuple[SensitiveModel, ...]] = {
    "k alone": (),
    "distinct l = 2": (diverse(2, "distinct"),),
    "distinct l = 3": (diverse(3, "distinct"),),
    "entropy l = 2": (diverse(2, "entropy"),),
    "entropy l = 3": THREE,
    "t = .3": (close(0.3),),
}
BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "dealing": ("dealing", {}),
    "Mondrian, strict": ("mondrian", STRICT),
    "Mondrian, relaxed": ("mondrian", RELAXED),
}


def beside(table: Table, k: int, condition: str) -> dict[str, Made]:
    """Dealing beside both Mondrians; nothing is drawn."""
    models = CONDITIONS[condition]
    return {
        name: Way(algorithm, models, options, k).made(table, 0)
        for name, (algorithm, options) in BESIDE.items()
    }


@cache
def adult(data: Data, columns: tuple[str, ...], size: int | None = None, seed: int = 0) -> Table:
    """A sample of the complete records, or all of them.

    Args:
        data: where hierarchies are.
        columns: `SEVEN`, `EIGHT` or `AGED`.
        size: of the sample; None: all.
        seed: that it is drawn with.
    """
    frame = data.adult().rename(columns={"income": "salary_class"} if columns != EIGHT else {})
    texts = np.stack([frame[name].astype(str).to_numpy(str) for name in (*columns, SENSITIVE)])
    if size is not None:
        picked = np.random.default_rng(seed).choice(texts.shape[1], size, replace=False)
        texts = texts[:, picked]
    attributes, codes = [], []
    for name, own in zip(columns, texts[:-1], strict=True):
        rows = sorted(data.hierarchy("adult", name))
        attributes.append(_attribute(name, rows))
        leaves = np.array([row[0] for row in rows])
        codes.append(np.searchsorted(leaves, own))
    names, values = np.unique(texts[-1], return_inverse=True)
    found, weights = np.unique(np.stack([*codes, values]), axis=1, return_counts=True)
    units = Tuples(
        tuple(found[:-1].astype(np.uint32)),
        weights,
        None,
        (Values(np.arange(len(weights)), found[-1], weights, len(names)),),
    )
    return Table(Taxonomy(Lattice(tuple(attributes)), units), units)


def _attribute(name: str, rows: list[list[str]]) -> Attribute:
    levels = [list(range(len(rows))), *list(zip(*rows, strict=True))[1:]]
    if len(set(levels[-1])) > 1:
        levels.append(["*"] * len(rows))
    groups = [np.unique(np.array(level), return_inverse=True)[1] for level in levels]
    losses = [(np.bincount(g)[g] - 1) / max(len(rows) - 1, 1) for g in groups]
    return Attribute(name, tuple(g.astype(np.uint32) for g in groups), tuple(losses))
