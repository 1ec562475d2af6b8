"""Local recoding under one ceiling that needs almost no counterfeits.

Three passes each fix the classes of the node that saves most, degree and reconstruction error
counted in equal parts. The records left over, hardest first, take the cheapest node under the
ceiling whose class reaches k from other such records, from what fixed classes have above k, or from
one that lies inside it and is taken whole. Only what still remains is padded with counterfeits.
It goes beyond Lee et al. (2017), who recode the whole table under one node.

**What an adversary may know.** The release shows every class's region and final size, and the
catalog says among which classes there are counterfeits and how many. Whoever knows this program
knows that only classes of exactly the padded size m can be padded, and asks of each: could it have
been? Padded wherever their few records fit best, classes would be betrayed: hardly another class
of size m has their signature, and most that have could have borrowed.

What is true of every padded class is written down in `recoding`, as far as the release shows it.
What there is to borrow only shrinks while the leftovers are gone through, for a class made later
is made of records that were there to be had; so a record that found no class finds none at the end.
To find none under a maximal node is to find none below it; and a class is padded under a maximal
node, in a region that lies in no larger one, so that nothing is known of larger ones.

Real classes of which all of this is true are made, not hoped for: for each padded class, some of m
records which lie alone in such a region are released there, as *decoys*, under the same signature.
They bear so many records that counterfeits are a small share of those of the group. The exchange
argument: m equal records in the region of a padded class would have been a class of their own,
alone there, and fit to be a decoy; fewer than k records with the value of the last fact in the
region of a decoy would have found no class and been padded. The release is the same with the two
exchanged, so that no fact rules out a padded class, and none leaves it alone.

The groups of `candidates` may be put together to one catalog group: that tells less, and the
quotas of sensitive values are finer. In tables of a few hundred records there may not be enough
decoys; whoever publishes has to measure the risk. Two things are not accounted for: what is known
of two classes together (not both are padded if their records could have met), and what is known
about the population (a region where nobody can live). Where conditions keep classes from lending,
the later facts may be false of a padded class; then its group asks less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.rule import Condition
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.counterfeit.search.borrowing import ClassesByNode, Work
from dbdeid.methods.counterfeit.search.decoys import Padding
from dbdeid.methods.counterfeit.search.recoding import Recoding, looked_at

Ints = NDArray[np.int64]


def borrow(
    lattice: Lattice,
    tuples: Tuples,
    *,
    nodes: Sequence[Node],
    k: int,
    size: int,
    conditions: Sequence[Condition] = (),
    progress: Callable[[int], None] | None = None,
    kept: dict[tuple[Node, ...], Work] | None = None,
) -> Recoding | None:
    """Release every record in a class of k, under some of the nodes, with few counterfeits.

    The result does not depend on the order of the tuples or of the nodes.

    Args:
        lattice: the quasi-identifiers.
        tuples: the data; each has one value of each sensitive attribute. Without the values, which
            of some equal tuples goes where does depend on their order.
        nodes: all under the ceiling.
        k: records that a class needs.
        size: that smaller ones are padded to; at least k.
        conditions: of each sensitive attribute of the tuples, which classes that are not padded
            must hold.
        progress: is told how many records have found their class.
        kept: the classes before anything is padded, by nodes. Whoever asks for other sizes with the
            same data, nodes, k and conditions gives the same one again, to make them once.

    Returns:
        The recoding; None if some records find no class that holds the conditions, nor one to pad.

    Raises:
        ValueError: a tuple has more than one value of a sensitive attribute, or size is below k.
    """
    if size < k:
        raise ValueError(f"padded to {size}, below k = {k}")
    if not len(tuples.weights):
        none = np.zeros(0, np.int64)
        return Recoding((), none, none, none, none)
    some = looked_at(nodes, len(tuples.weights))
    if kept is None or some not in kept:
        ground = ClassesByNode(lattice, tuples, some, tuple(conditions))
        work = Work(ground, k, progress or (lambda records: None))
        work.passes()
        work.leftovers()
    else:
        work = kept[some]
    if kept is not None:
        kept.clear()  # those of one choice of nodes are enough, and large
        kept[some] = work
        work = work.copy()
    return _recoding(work, size) if Padding(work, size).pad() else None


def _recoding(work: Work, size: int) -> Recoding:
    """The classes in an order of their own, by signature and groups."""
    ground = work.ground
    live = [c for c, records in enumerate(work.sizes) if records]
    live.sort(key=lambda c: ground.region(work.levels[c], work.first[c]))
    number = np.full(len(work.sizes), -1, np.int64)
    number[live] = np.arange(len(live))
    pair = ground.order[ground.row] * len(live) + number[work.owner]
    pieces, records = np.unique(pair, return_counts=True)
    row, class_ = np.divmod(pieces, len(live))
    real = np.array(work.sizes, np.int64)[live]
    counterfeits = np.where(real < work.k, size - real, 0)
    signatures = tuple(work.levels[c] for c in live)
    return Recoding(signatures, row, class_, records.astype(np.int64), counterfeits)
