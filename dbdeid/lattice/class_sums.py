"""Sums over classes that an objective asks of every check.

Each cell of a class has a number, which its attribute, level and group determine; the numbers of
a class are added up, and a sum over all classes is made of that and of the class's records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.tuples import Marginals, Tuples

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """What to add up.

    Args:
        cells: `cells[attribute][level][value code]`, one number per group.
        sums: (records of each class, those that stay, sum of the numbers of its cells) to the sums.
    """

    cells: tuple[tuple[Floats, ...], ...]
    sums: Callable[[Ints, Ints, Floats], tuple[float, ...]]


def tallied(
    tally: Tally | None, counts: Ints, kept: Ints, cells: Callable[[], Floats]
) -> tuple[float, ...]:
    """The sums of a check, none without a tally; the numbers of the cells are added up on demand.

    Args:
        tally: what to add up.
        counts: records of each class.
        kept: those that stay.
        cells: the sum of the numbers of the cells of each class.
    """
    return tally.sums(counts, kept, cells()) if tally else ()


def bits_of_suppression(lattice: Lattice, tuples: Tuples) -> Tally:
    """What suppression adds to the share of bits lost: from its group to `*` for every cell.

    A cell whose group has c of N records loses another log2(N/c) bits.
    """
    marginals = tuples.marginals(lattice)
    whole = bits_at_the_top(lattice, marginals)
    cells = tuple(
        tuple(
            share * _log2(marginals.records, _in_group(groups, counts)) / whole
            for groups in attribute.groups
        )
        for attribute, share, counts in zip(
            lattice.attributes, lattice.shares, marginals.counts, strict=True
        )
    )
    return Tally(cells, lambda counts, kept, bits: (_sum((counts - kept) * bits),))


def bits_lost(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """Per attribute and admissible level, its share of the bits that generalization loses."""
    whole = bits_at_the_top(lattice, marginals)
    return [
        np.array(
            [
                share * float((counts * _log2(_in_group(groups, counts), counts)).sum()) / whole
                for groups in attribute.groups[attribute.min_level : attribute.most_general + 1]
            ]
        )
        for attribute, share, counts in zip(
            lattice.attributes, lattice.shares, marginals.counts, strict=True
        )
    ]


def bits_at_the_top(lattice: Lattice, marginals: Marginals) -> float:
    """Return the bits lost when every cell is `*`; 1 where there is nothing to lose."""
    bits = sum(
        share * float((counts * _log2(marginals.records, counts)).sum())
        for share, counts in zip(lattice.shares, marginals.counts, strict=True)
    )
    return bits or 1.0


def domain_tuples(lattice: Lattice, tuples: Tuples) -> Tally:
    """Tuples of the domain that the records stand for: as released, were none suppressed, and
    those of the suppressed records.
    """
    domain = float(np.prod([float(a.domain) for a in lattice.attributes]))

    def sums(counts: Ints, kept: Ints, logs: Floats) -> tuple[float, ...]:
        sizes = np.exp(logs)
        lost = float((counts - kept).sum()) * domain
        return _sum(kept * sizes) + lost, _sum(counts * sizes), lost

    return Tally(_log_sizes(lattice), sums)


def divergence(lattice: Lattice, tuples: Tuples) -> Tally:
    """Kullback-Leibler divergence in nats: of the release, and were none suppressed."""
    records = max(tuples.records, 1)
    domain = float(np.sum(np.log([float(a.domain) for a in lattice.attributes])))
    source = _sum(_n_log_n(_distinct(tuples)))

    def sums(counts: Ints, kept: Ints, logs: Floats) -> tuple[float, ...]:
        lost = (counts - kept).sum(keepdims=True)
        pool = float((lost * domain - _n_log_n(lost))[0])
        release = source + _sum(kept * logs - _n_log_n(kept)) + pool
        return release / records, (source + _sum(counts * logs - _n_log_n(counts))) / records

    return Tally(_log_sizes(lattice), sums)


def marginal_divergence(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """Per attribute and admissible level, the divergence of the attribute alone, in nats."""
    return [
        np.array(
            [
                float((counts * (np.log(attribute.size(level)) - _spread(groups, counts))).sum())
                / max(marginals.records, 1)
                for level, groups in enumerate(attribute.groups)
                if attribute.min_level <= level <= attribute.most_general
            ]
        )
        for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
    ]


def mean_log_sizes(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """Per attribute and admissible level, the mean logarithm of the sizes of the groups."""
    return [
        np.array(
            [
                float((counts * np.log(attribute.size(level))).sum()) / max(marginals.records, 1)
                for level in range(attribute.min_level, attribute.most_general + 1)
            ]
        )
        for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
    ]


# -- parts ---------------------------------------------------------------------------------


def _log_sizes(lattice: Lattice) -> tuple[tuple[Floats, ...], ...]:
    return tuple(
        tuple(np.log(attribute.size(level)) for level in range(attribute.height + 1))
        for attribute in lattice.attributes
    )


def _in_group(groups: NDArray[np.uint32], counts: Ints) -> Ints:
    """The records in the group of each value code."""
    inside = np.zeros(len(groups), np.int64)  # there are no more groups than value codes
    np.add.at(inside, groups, counts)
    return inside[groups]


def _log2(all_: Ints | int, part: Ints) -> Floats:
    """log2(all/part), 0 where there is no part."""
    found = np.log2(np.maximum(all_, 1) / np.maximum(part, 1))
    return np.asarray(found * (part > 0), np.float64)


def _spread(groups: NDArray[np.uint32], counts: Ints) -> Floats:
    return np.asarray(_log2(_in_group(groups, counts), counts) * np.log(2))


def _n_log_n(counts: Ints) -> Floats:
    return np.asarray(counts * np.log(np.maximum(counts, 1)))


def _distinct(tuples: Tuples) -> Ints:
    """The records of each distinct tuple, whoever they belong to."""
    if tuples.subjects is None:
        return tuples.weights
    rows = np.stack(tuples.codes).astype(np.uint32)
    place = np.unique(rows, axis=1, return_inverse=True)[1].ravel()
    counts = np.zeros(rows.shape[1], np.int64)
    np.add.at(counts, place, tuples.weights)
    return counts


def _sum(values: NDArray[Any]) -> float:
    """A sum that does not depend on the order of the values."""
    return float(np.sort(values).sum())
