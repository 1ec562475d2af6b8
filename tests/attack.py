"""The adversary who knows how a release with counterfeit records was made, and has only that.

Plain pandas and numpy on the released pair; nothing is shared with the verifier. Knowing the
method is knowing that only classes of exactly the padded size can hold counterfeits, each of them
at most so many that one real record is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Attack:
    """What is known for certain, and how sure a guess is.

    Attributes:
        counterfeits: how many the catalog tells of.
        certain: counterfeits that are known to lie in one class with one value, at least.
        certain_share: the same as a share of all.
        risk: the largest prosecutor risk of a class: how probably a person who is known to be in
            it is found in the record that is likeliest real.
        lemma_violations: classes and values whose records the catalog does not let be all real.
        clean_classes: classes of a group that the catalog names and the method cannot have padded.
    """

    counterfeits: int
    certain: int
    certain_share: float
    risk: float
    lemma_violations: int
    clean_classes: int


def attack(
    release: pd.DataFrame,
    catalog: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str | None,
    size: int,
    clean: Collection[int] = (),
) -> Attack:
    """Attack a release by its catalog.

    Args:
        release: the released table.
        catalog: `class_ids`, `sensitive_value`, `counterfeits`.
        quasi_identifiers: their names in the release.
        sensitive: the column that the catalog counts; None: records.
        size: how many records a padded class has.
        clean: classes that are known not to be padded for another reason, as where levels differ
            those with a surplus inside them.
    """
    keys = release[list(quasi_identifiers)].apply(_text).agg("\1".join, axis=1)
    values = pd.Series("", release.index) if sensitive is None else _text(release[sensitive])
    ids = release.groupby(keys)["class_id"].first()
    table = pd.crosstab(keys.map(ids), values)
    held, sizes = table.to_numpy(np.int64), table.sum(axis=1).to_numpy(np.int64)
    row = {int(class_): i for i, class_ in enumerate(table.index)}
    place = {str(value): i for i, value in enumerate(table.columns)}
    suspect = (sizes == size) & ~np.isin(table.index.to_numpy(), list(clean))
    chance = np.ones(held.shape)
    told, certain, violations, known_clean = 0, 0, 0, 0
    for ids_, rows in catalog.groupby(catalog["class_ids"].map(tuple)):
        group = np.array([row[int(class_)] for class_ in ids_])
        candidates = group[suspect[group]]
        known_clean += len(group) - len(candidates)
        texts = [""] * len(rows) if sensitive is None else _text(rows["sensitive_value"])
        for text, number in zip(texts, rows["counterfeits"], strict=True):
            s, number = place[text], int(number)
            told += number
            violations += _violations(held[group, s], number)
            certain += _certain(held[candidates, s], number, size)
            suspected = held[candidates, s].sum()
            chance[candidates, s] = max(0.0, 1 - number / suspected) if suspected else 0.0
    weighed = (held * chance).sum(axis=1)
    best = np.where(held > 0, chance, 0).max(axis=1)
    risk = np.divide(best, weighed, out=np.ones(len(held)), where=weighed > 0)
    share = certain / told if told else 0.0
    return Attack(told, certain, share, float(risk.max()), violations, known_clean)


def _text(values: pd.Series) -> pd.Series:
    """The values as text, so that NULL is one of its own."""
    return values.map(lambda value: "" if pd.isna(value) else f"={value}")


def _violations(held: Ints, number: int) -> int:
    """Classes whose records with a value cannot all be real: Lemma 1 of Lee et al. 2017."""
    return int(((held > 0) & (number > held.sum() - held)).sum())


def _certain(held: Ints, number: int, size: int) -> int:
    """Counterfeits of one value that must lie in one class, as the others cannot hold them all."""
    most = np.minimum(held, size - 1)
    return int(np.clip(number - (most.sum() - most), 0, None).sum())


def with_a_surplus_inside(
    release: pd.DataFrame,
    leaves: Mapping[str, Mapping[str | None, Set[str | None]]],
    k: int,
    size: int,
) -> set[int]:
    """The classes of a locally recoded release inside which another has more than k records.

    Who pads a class takes what there is to spare inside it first: such a class is clean, unless
    the other may be padded itself.

    Args:
        release: the released table.
        leaves: the leaves of each released value, by quasi-identifier; NULL is its own.
        k: records that a class needs.
        size: how many records a padded class has.
    """
    names = list(leaves)
    classes = release.groupby("class_id")[names].first()
    sizes = release["class_id"].value_counts().to_dict()
    regions: dict[int, list[Set[str | None]]] = {
        int(class_): [
            leaves[name][None if pd.isna(cell) else str(cell)]
            for name, cell in zip(names, cells, strict=True)
        ]
        for class_, *cells in classes.itertuples(name=None)
    }
    large = [class_ for class_ in regions if sizes[class_] > k and sizes[class_] != size]

    def inside(one: int, other: int) -> bool:
        return one != other and all(
            a <= b for a, b in zip(regions[one], regions[other], strict=True)
        )

    return {other for other in regions if any(inside(one, other) for one in large)}
