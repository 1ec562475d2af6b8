"""Q-blocks by clustering (Yoo, Shin & Lee 2012, section 4).

A block starts with a random record that has none yet, and takes the record nearest to what it
holds so far until there are k of them. What is nearest is up to `Nearness`; between records that
are equally near a keyed order decides, in which every record has its own place: the first value in
some order of the values would make blocks look far less diverse than they have to be.

Where models are declared, the portions that they leave to each value (`Condition.portions`) say
which records may join, and a block grows until it holds. Records for which there is no such block
keep none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.local_recoding.baselines.growing_block import Growing
from dbdeid.methods.local_recoding.baselines.nearness import Diversity, Entropy, Nearness, TableWide
from dbdeid.methods.local_recoding.baselines.plans import BlockPlans
from dbdeid.methods.local_recoding.baselines.pool import Pool
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]

Algorithm = Literal["paper", "conditional_entropy", "diversity_first", "closeness"]
Objective = Literal["node_entropy", "block_entropy", "literal"]

TOLD = 1000  # blocks after which the progress is told


def cluster(
    taxonomy: Taxonomy,
    demands: Demands,
    *,
    algorithm: Algorithm,
    objective: Objective,
    diversity_weight: float,
    rng: np.random.Generator,
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks that all hold, and the records that found none as `LEFT`.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block must hold.
        algorithm: `paper`; its comparators `conditional_entropy`, which has no diversity weight,
            and `diversity_first`, which looks at nothing but the sensitive values. `closeness` is
            `paper` where the portions of the whole table's distribution leave room.
        objective: `block_entropy`, that of the values inside; `node_entropy`, that of what they
            are generalized to; `literal`, equation 8 with the mutual information of the table.
        diversity_weight: λ, what the entropy of the sensitive values of a block is worth.
        rng: decides on the seeds and between equals.
        settled: is told now and then how many records have a block.
    """
    order = rng.permutation(demands.units.records)
    near = nearness(taxonomy, demands, algorithm, objective, diversity_weight)
    return grown(taxonomy, demands, near, seeds=order, places=np.argsort(order), settled=settled)


def nearness(
    taxonomy: Taxonomy,
    demands: Demands,
    algorithm: Algorithm,
    objective: Objective,
    diversity_weight: float,
) -> Nearness:
    """What an algorithm takes for near."""
    if algorithm == "diversity_first":
        return Diversity(taxonomy)
    if algorithm == "paper" and objective == "literal":
        return TableWide(taxonomy, demands.units, diversity_weight)
    weight = 0.0 if algorithm == "conditional_entropy" else diversity_weight
    return Entropy(taxonomy, weight, inside=objective != "node_entropy")


def grown(
    taxonomy: Taxonomy,
    demands: Demands,
    near: Nearness,
    *,
    seeds: Ints,
    places: Ints,
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks around seeds.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block must hold.
        near: what a block takes next.
        seeds: all records, in the order in which they become seeds. They are numbered by unit.
        places: of each record its place among equals, lowest first; those of a unit become seeds
            in this order.
        settled: is told now and then how many records have a block.
    """
    units = demands.units
    pool = Pool(taxonomy.lattice, demands, places)
    plans = BlockPlans(demands)
    unit_of = np.repeat(np.arange(len(units.weights)), units.weights)
    blocks: list[list[int]] = []
    records = 0
    for record in seeds.tolist():
        seed = int(unit_of[record])
        if places[record] < pool.next[seed]:
            continue
        if not plans.possible(pool):
            break
        block = _around(taxonomy, demands, near, plans, pool, seed)
        if block is None:
            pool.leave(seed)
            continue
        near.made(block)
        blocks.append(block.units)
        records += len(block.units)
        if settled is not None and len(blocks) % TOLD == 0:
            settled(records)
    row = np.array([unit for block in blocks for unit in block], np.int64)
    sizes = np.array([len(block) for block in blocks], np.int64)
    number = np.repeat(np.arange(len(blocks)), sizes)
    left = units.weights - np.bincount(row, minlength=len(units.weights))
    rest = np.flatnonzero(left)
    return Blocks(
        np.concatenate([row, rest]),
        np.concatenate([number, np.full(len(rest), LEFT)]),
        np.concatenate([np.ones(len(row), np.int64), left[rest]]),
    ).tidied()


def _around(
    taxonomy: Taxonomy, demands: Demands, near: Nearness, plans: BlockPlans, pool: Pool, seed: int
) -> Growing | None:
    """The block of a seed, whose records are taken out of the pool; None: there is none that holds.

    It is grown by the first plan that the pool allows, and on by larger ones where it fails.
    """
    block = Growing(taxonomy, demands.units, seed)
    pool.take(seed)
    for plan in plans:
        while len(block.units) < plan.size:
            unit = pool.nearest(near, block, plan.closed(block))
            if unit is None:
                break
            block.join(unit)
            pool.take(unit)
        if plans.holds(block):
            pool.finish(block, made=True)
            return block
    pool.finish(block, made=False)
    return None
