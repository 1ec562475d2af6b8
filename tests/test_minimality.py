"""Who can run the method learns more than the classes show: the attack of Wong et al. 2007.

A method generalizes because it must. Who knows everybody's quasi-identifiers runs it on every
assignment of sensitive values, and keeps those that give the release that is published.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.search.blocks import Demands
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import settle
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import LDiversity
from dbdeid.privacy.common.histogram import Whole

# Four ages in two decades, and everybody.
GROUPS = [np.array(groups, np.uint32) for groups in ([0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0])]
LATTICE = Lattice((Attribute("age", tuple(GROUPS), (np.zeros(4), np.full(4, 1 / 3), np.ones(4))),))
DIVERSE = LDiversity(model="l_diversity", column="dx", kind="distinct", l=2)

# Level and group on it of each record, and its value: how many there are.
Release = frozenset[tuple[tuple[int, int], int, int]]


def released(ages: Sequence[int], values: Sequence[int], k: int) -> Release | None:
    """What is published of these people by dealing; None: nothing is diverse enough."""
    counts = np.bincount(values, minlength=2)
    if counts.min() == 0:
        return None
    records = Counter(zip(ages, values, strict=True))
    age, value = np.array(sorted(records)).T
    weights = np.array([records[pair] for pair in sorted(records)])
    of = Values(np.arange(len(value)), value, weights, 2)
    units = Tuples((age.astype(np.uint16),), weights, None, (of,))
    whole = Whole(counts, len(ages), ("flu", "gout"))
    demands = Demands(units, k, (Sensitive(("dx",), (DIVERSE,), whole),))
    taxonomy = Taxonomy(LATTICE, units)
    blocks = settle(taxonomy, demands, deal(taxonomy, demands))
    regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
    held: Counter[tuple[tuple[int, int], int]] = Counter()
    for row, block, number in zip(blocks.row, blocks.block, blocks.records, strict=True):
        level = int(regions.levels[0, block])
        region = level, int(GROUPS[level][regions.codes[0, block]])
        held[region, int(value[row])] += int(number)
    return frozenset((region, v, number) for (region, v), number in held.items())


def attacked(ages: Sequence[int], k: int) -> Iterator[tuple[Release, list[tuple[int, ...]]]]:
    """Every release that these people can have, with the values that they can have then."""
    worlds = defaultdict(list)
    for values in product(range(2), repeat=len(ages)):
        if (release := released(ages, values, k)) is not None:
            worlds[release].append(values)
    yield from worlds.items()


def given_away(ages: Sequence[int], release: Release, worlds: list[tuple[int, ...]]) -> list[int]:
    """The people whose value is the same in all worlds, though no class of theirs says so."""
    shown = defaultdict(set)
    for region, value, _ in release:
        shown[region].add(value)
    return [
        person
        for person, age in enumerate(ages)
        if len({values[person] for values in worlds}) == 1
        and all(len(v) > 1 for (level, group), v in shown.items() if GROUPS[level][age] == group)
    ]


@pytest.mark.full
def test_who_can_deal_learns_values_that_no_class_shows() -> None:
    """Of five people of any ages, in every world that can be released: about one in twenty."""
    known = everybody = 0
    for ages in combinations_with_replacement(range(4), 5):
        for release, worlds in attacked(ages, 2):
            known += len(given_away(ages, release, worlds)) * len(worlds)
            everybody += len(ages) * len(worlds)
    assert everybody == 56 * 30 * 5
    assert 0.02 < known / everybody < 0.10
