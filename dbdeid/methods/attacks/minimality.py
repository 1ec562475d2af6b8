"""The minimality attack: whose sensitive value follows from how a release was made.

A method that generalizes no more than it must tells by what it did that it had to: who knows it,
the specification and everybody's quasi-identifiers knows of some groups of people that they failed
the models as a class of their own (Wong, Fu, Wang & Pei 2007; Cormode, Li, Li & Srivastava 2010).
A group of n people that failed has a value c times at least, c being the least count that a failing
class of n has of its most frequent value. Which value that is, the records tell that these people
can have: n of them are drawn without replacement.

The attacker claims that value of everybody in the group where this is believed more firmly than in
any class that the models allow: where P(value | failed) · c/n > (c - 1)/n. What is claimed is then
compared with the source. An attacker who draws further conclusions reads more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Regions, Taxonomy
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import AlphaK, LDiversity
from dbdeid.privacy.common.histogram import Histogram

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SUBJECTS = "people may have several records each"
PADDED = "classes are filled up with counterfeit records, of which it is not defined"
FREE = "which cuts between values were tried is not told by intervals that blocks choose"
TERMS = 64  # of the tail of a hypergeometric distribution, which falls fast


@dataclass(frozen=True, slots=True)
class Reading:
    """What the attack reads of a sensitive attribute.

    Attributes:
        columns: that make it up.
        people: of the source.
        groups: groups of people of whom a value is claimed.
        claimed: people of whom a value is claimed.
        right: of these, who have it.
        sound: whether nothing can be, since nothing depends on who has which value.
        why: why it is not measured; None where it is.
    """

    columns: tuple[str, ...]
    people: int
    groups: int = 0
    claimed: int = 0
    right: int = 0
    sound: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Groups of people that failed, each perhaps one of several of which some did.

    Attributes:
        group: the group of each unit that is in one; groups are numbered densely.
        unit: these units; one may be in several groups.
        records: of the unit that are in the group.
        among: the class of released records that the people of the unit are among.
        one_of: of each group a number that groups share of which at least one failed.
    """

    group: Ints
    unit: Ints
    records: Ints
    among: Ints
    one_of: Ints


def of_blocks(
    taxonomy: Taxonomy,
    demands: Demands,
    conditions: Sequence[Sensitive],
    blocks: Blocks,
    regions: Regions,
    algorithm: str,
    classes: Ints | None = None,
) -> tuple[Reading, ...]:
    """The attack on a local recoding, for each sensitive attribute.

    The attacker is taken to know which class each person is in, which a matching of people and
    records tells of nearly all of them.

    - dealing: k people alike get a class of their own as soon as they hold as one; those without
      one failed.
    - mondrian: what could be cut by its quasi-identifiers and was not has a part that fails.

    Args:
        taxonomy: of the hierarchies.
        demands: what every block holds, and the units.
        conditions: those of the demands.
        blocks: all records of all units.
        regions: of the blocks.
        algorithm: that made them.
        classes: of each piece, where blocks chose intervals and sets themselves; None: the regions
            tell it.
    """
    if algorithm not in ("dealing", "mondrian"):
        why = f"{algorithm} depends on draws that stay secret"
        return unread(conditions, why)
    if classes is not None and algorithm == "mondrian":
        return unread(conditions, FREE)
    class_of = taxonomy.classes(regions)[blocks.block] if classes is None else classes
    if algorithm == "dealing":
        suspects = _without_a_class(taxonomy.lattice, demands, blocks, regions, class_of)
    else:
        suspects = _uncut(taxonomy, demands, blocks, class_of)
    held = _Held(class_of, blocks.row, blocks.records)
    weights = demands.units.weights
    return tuple(
        _read(condition, demands.of_units(i), weights, suspects, held)
        for i, condition in enumerate(conditions)
    )


def of_levels(
    lattice: Lattice,
    tuples: Tuples,
    kept: Mask,
    conditions: Sequence[Sensitive],
    node: Node,
    k: int,
    *,
    minimal: bool,
) -> tuple[Reading, ...]:
    """The attack on a full-domain generalization, for each sensitive attribute.

    Classes of k people and more that were suppressed failed; who is in one can have any value of
    the source. Where none may be suppressed and the levels are the best there are, some class
    fails of every transformation directly below them; those below that have a class of fewer than
    k people tell nothing.

    Args:
        lattice: of the hierarchies.
        tuples: the records, each a person.
        kept: which rows of the tuples are released.
        conditions: of the sensitive attributes, one for each of `tuples.values`.
        node: the levels.
        k: people that a class needs.
        minimal: whether nothing may be suppressed and no lower level would do.
    """
    found = []
    for condition, own in zip(conditions, tuples.values, strict=True):
        everything, lost = np.arange(len(own.row)), np.flatnonzero(~kept[own.row])
        of_lost = _classes(lattice, _units(tuples, own, lost), node)
        large = np.bincount(of_lost, own.count[lost]) >= k
        of_lost, lost = of_lost[large[of_lost]], lost[large[of_lost]]
        # any record of the source, as one class beside those of the node
        held = _Held(np.zeros(len(everything), np.int64), everything, own.count)
        some = [_suspects(of_lost, lost, own.count[lost], np.zeros(len(lost), np.int64))]
        if minimal:
            units = _units(tuples, own, everything)
            of_node = _classes(lattice, units, node) + 1
            among = np.concatenate([of_node, held.of_class])
            held = _Held(among, np.tile(everything, 2), np.tile(own.count, 2))
            for below in lattice.predecessors(node):
                classes = _classes(lattice, units, below)
                if np.bincount(classes, own.count).min(initial=np.inf) >= k:
                    any_ = np.zeros(int(classes.max(initial=-1)) + 1, np.int64)
                    some.append(_Suspects(classes, everything, own.count, of_node, any_))
        found.append(_read(condition, own.value, own.count, _joined(some), held))
    return tuple(found)


def _units(tuples: Tuples, own: Values, rows: Ints) -> Tuples:
    """Some of the pairs of a tuple and a sensitive value, by the codes of the tuple."""
    return Tuples(tuple(codes[own.row[rows]] for codes in tuples.codes), own.count[rows])


def sound(conditions: Sequence[Sensitive]) -> tuple[Reading, ...]:
    """The readings of a release whose classes do not depend on who has which value."""
    return tuple(Reading(c.columns, c.whole.people, sound=True) for c in conditions)


def unread(conditions: Sequence[Sensitive], why: str) -> tuple[Reading, ...]:
    """The readings of a release that is not attacked, and why in words."""
    return tuple(Reading(c.columns, c.whole.people, why=why) for c in conditions)


# -- groups that failed ---------------------------------------------------------------------------


def _without_a_class(
    lattice: Lattice, demands: Demands, blocks: Blocks, regions: Regions, class_of: Ints
) -> _Suspects:
    """People alike in all quasi-identifiers, k or more, none of whom has a class of just these."""
    units = demands.units
    kind = _classes(lattice, units, lattice.bottom)
    exact = (regions.levels == np.array(lattice.bottom)[:, None]).all(axis=0)
    large = np.bincount(kind, units.weights) >= demands.k
    large[kind[blocks.row[exact[blocks.block]]]] = False
    inside = large[kind[blocks.row]]
    row = blocks.row[inside]
    return _suspects(kind[row], row, blocks.records[inside], class_of[inside])


def _uncut(taxonomy: Taxonomy, demands: Demands, blocks: Blocks, class_of: Ints) -> _Suspects:
    """The children of what a class reads, each of k people or more, of which one failed.

    Of the attributes that it could be cut by, the one is taken that gives the fewest parts.
    """
    units, lattice = demands.units, taxonomy.lattice
    classes = int(class_of.max(initial=-1)) + 1
    regions = taxonomy.regions(units, blocks.row, class_of, classes)
    best = np.full(classes, np.iinfo(np.int64).max)
    part = np.zeros(len(blocks.row), np.int64)
    for i, attribute in enumerate(lattice.attributes):
        groups = np.stack(attribute.groups).astype(np.int64)
        level = regions.levels[i][class_of]
        below = np.maximum(level - 1, 0)
        label = groups[below, units.codes[i][blocks.row].astype(np.int64)]
        keys, own = np.unique(class_of * attribute.cardinality + label, return_inverse=True)
        of = keys // attribute.cardinality
        sizes = np.bincount(own, blocks.records)
        number = np.bincount(of, minlength=classes)
        may = regions.levels[i] > lattice.bottom[i]
        may[of[sizes < demands.k]] = False
        better = may & (number > 1) & (number < best)
        best[better] = number[better]
        part = np.where(better[class_of], label, part)
    cut = best[class_of] < np.iinfo(np.int64).max
    size = int(part.max(initial=0)) + 1
    group = class_of[cut] * size + part[cut]
    found = _suspects(group, blocks.row[cut], blocks.records[cut], class_of[cut])
    one_of = np.zeros(len(found.one_of), np.int64)
    one_of[found.group] = found.among
    return _Suspects(found.group, found.unit, found.records, found.among, one_of)


def _suspects(group: Ints, unit: Ints, records: Ints, among: Ints) -> _Suspects:
    """Groups that have all failed."""
    numbers, dense = np.unique(group, return_inverse=True)
    return _Suspects(dense.ravel().astype(np.int64), unit, records, among, np.arange(len(numbers)))


def _joined(some: Sequence[_Suspects]) -> _Suspects:
    groups, ones = [0], [0]
    for one in some:
        groups.append(groups[-1] + len(one.one_of))
        ones.append(ones[-1] + int(one.one_of.max(initial=-1)) + 1)
    return _Suspects(
        np.concatenate([s.group + first for s, first in zip(some, groups, strict=False)]),
        np.concatenate([s.unit for s in some]),
        np.concatenate([s.records for s in some]),
        np.concatenate([s.among for s in some]),
        np.concatenate([s.one_of + first for s, first in zip(some, ones, strict=False)]),
    )


def _classes(lattice: Lattice, units: Tuples, node: Node) -> Ints:
    """The class of each unit under a transformation."""
    key, space = np.zeros(len(units.weights), np.int64), 1
    for attribute, codes, level in zip(lattice.attributes, units.codes, node, strict=True):
        groups = attribute.groups[level][codes].astype(np.int64)
        size = int(groups.max(initial=0)) + 1
        if space * size >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1].ravel().astype(np.int64)
            space = int(key.max(initial=0)) + 1
        key, space = key * size + groups, space * size
    return np.unique(key, return_inverse=True)[1].ravel().astype(np.int64)


# -- what they have -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """Which records are in which released class."""

    of_class: Ints
    unit: Ints
    records: Ints


def _read(
    condition: Sensitive, value: Ints, weights: Ints, suspects: _Suspects, held: _Held
) -> Reading:
    """What is claimed of the groups, and what of it is right.

    Args:
        condition: the attribute and its models.
        value: of each unit.
        weights: the records of each unit.
        suspects: the groups.
        held: the records that people can have.
    """
    people = int(weights.sum())
    made_up = tuple(m for m in condition.models if _by_makeup(m))
    if not made_up:
        why = "these models compare with the whole table"
        return Reading(condition.columns, people, why=why)
    values = len(condition.whole.counts)
    groups = len(suspects.one_of)
    size = np.bincount(suspects.group, suspects.records, groups).astype(np.int64)
    least = _least_counts(Sensitive(condition.columns, made_up, condition.whole), size)
    # records that the people of a group can have, by value
    pairs = np.unique(np.stack([suspects.group, suspects.among]), axis=1)
    classes, number = _added_up(held.of_class * values + value[held.unit], held.records)
    of = classes // values
    first, last = np.searchsorted(of, pairs[1]), np.searchsorted(of, pairs[1], "right")
    entry = np.arange(int((last - first).sum()))
    entry += np.repeat(first - np.cumsum(last - first) + last - first, last - first)
    keys, place = np.unique(
        np.repeat(pairs[0], last - first) * values + classes[entry] % values, return_inverse=True
    )
    group, number = keys // values, np.bincount(place.ravel(), number[entry]).astype(np.int64)
    among = np.bincount(group, number, groups).astype(np.int64)
    odds = _tail(among[group], number, size[group], least[group])
    odds[least[group] <= 1] = 0.0
    any_ = np.bincount(group, odds, groups)
    failed = np.minimum(any_, 1.0)
    ones = int(suspects.one_of.max(initial=-1)) + 1
    alone = np.bincount(suspects.one_of, minlength=ones) == 1
    spared = np.bincount(suspects.one_of, np.log1p(-np.minimum(failed, 1 - 1e-12)), ones)
    some = np.where(alone[suspects.one_of], failed, -np.expm1(spared)[suspects.one_of])
    sure = np.divide(failed, some, out=np.zeros(groups), where=some > 0)
    share = np.divide(odds, any_[group], out=np.zeros(len(odds)), where=any_[group] > 0)
    belief = share * np.minimum(sure, 1.0)[group]
    best = np.lexsort((-belief, group))
    best = best[np.unique(group[best], return_index=True)[1]]
    claims = best[belief[best] * least[group[best]] > least[group[best]] - 1 + 1e-9]
    claimed = np.full(groups, -1)
    claimed[group[claims]] = keys[claims] % values
    told = claimed[suspects.group] >= 0
    right = told & (value[suspects.unit] == claimed[suspects.group])
    return Reading(
        condition.columns,
        people,
        len(claims),
        _people(weights, suspects, told),
        _people(weights, suspects, right),
    )


def _added_up(keys: Ints, records: Ints) -> tuple[Ints, Ints]:
    """The different keys in order, and the records of each."""
    if int(keys.max(initial=0)) <= len(keys):
        counts = np.zeros(int(keys.max(initial=0)) + 1, np.int64)
        np.add.at(counts, keys, records)
        found = np.flatnonzero(counts)
        return found, counts[found]
    found, place = np.unique(keys, return_inverse=True)
    return found, np.bincount(place.ravel(), records).astype(np.int64)


def _people(weights: Ints, suspects: _Suspects, chosen: Mask) -> int:
    """How many people some of the suspects are; one may be so for more than one reason."""
    found = np.zeros(len(weights), np.int64)
    np.add.at(found, suspects.unit[chosen], suspects.records[chosen])
    return int(np.minimum(found, weights).sum())


def _by_makeup(model: Any) -> bool:
    """Whether a class holds a model by how often its values occur, whichever they are."""
    return isinstance(model, LDiversity) or (isinstance(model, AlphaK) and model.values is None)


def _least_counts(condition: Sensitive, sizes: Ints) -> Ints:
    """How often failing classes of some sizes have their most frequent value, at least.

    Of all classes with that count the one fails first that has the fewest values; 0 where none can
    fail.
    """
    values = len(condition.whole.counts)
    found = {n: _least(condition, n, values) for n in np.unique(sizes).tolist()}
    return np.array([found[n] for n in sizes.tolist()], np.int64)


def _least(condition: Sensitive, size: int, values: int) -> int:
    low, high = max(-(-size // max(values, 1)), 1), size
    if size < 1 or not _fails(condition, size, high):
        return 0
    while low < high:
        middle = (low + high) // 2
        if _fails(condition, size, middle):
            high = middle
        else:
            low = middle + 1
    return low


def _fails(condition: Sensitive, size: int, most: int) -> bool:
    """Whether a class fails that has as few values as it can with so many of the first."""
    counts = np.full(-(-size // most), most, np.int64)
    counts[-1] = size - most * (len(counts) - 1)
    places = np.arange(len(counts))
    one = Histogram(np.array([size]), 0 * places, places, counts, condition.whole)
    return not all(model.satisfied(one)[0] for model in condition.models)


def _of_factorial(numbers: Ints) -> Floats:
    """The logarithm of n!, and 0 below 0; few numbers are different, and scipy is slow to load."""
    different, place = np.unique(np.maximum(numbers, 0), return_inverse=True)
    logarithms = np.array([lgamma(n + 1) for n in different.tolist()], np.float64)
    found: Floats = logarithms[place.ravel()]
    return found


def _tail(among: Ints, number: Ints, drawn: Ints, least: Ints) -> Floats:
    """How probable it is to draw so many of a value at least, without replacement."""

    def chosen(of: Ints, some: Ints) -> Floats:
        ways = _of_factorial(of) - _of_factorial(some) - _of_factorial(of - some)
        return np.where((some >= 0) & (some <= of), ways, -np.inf)

    found = np.zeros(len(among))
    whole = chosen(among, drawn)
    for more in range(min(int((drawn - least).max(initial=0)) + 1, TERMS)):
        count = least + more
        ways = chosen(number, count) + chosen(among - number, drawn - count)
        found += np.where(count <= drawn, np.exp(ways - whole), 0.0)
    return found
