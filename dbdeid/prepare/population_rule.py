"""A population as the search compares classes with it: how many of its people fit each class.

A person fits a class whose labels are those that the person's values have on the levels of the
transformation, NULL being that of NULL. Labels are compared, not codes: what is known of the
population changes nothing about how the source is coded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.coding import Coding
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.lattice import Node
from dbdeid.privacy import DeltaPresence, KMap, MaxRisk, PopulationModel

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST = 1 << 62  # keys are below it, so that they fit 64 bits
SCANNED = 6  # key space per cell up to which all counts are kept in one array


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of one level, numbered together for source and population.

    Attributes:
        of_source: the label of each value code of the source.
        of_people: the label of each value code of the population.
        count: labels are below it.
    """

    of_source: Ints
    of_people: Ints
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Distinct tuples of a population, and the models that look at it.

    Attributes:
        name: as the spec names it.
        models: all of them must hold.
        labels: by attribute and level.
        codes: one array per attribute, the value code in each tuple.
        people: how many each tuple stands for; there is one at least.
    """

    name: str
    models: tuple[PopulationModel, ...]
    labels: tuple[tuple[Labels, ...], ...]
    codes: tuple[Ints, ...]
    people: Ints

    def __call__(self, node: Node, codes: Ints, sizes: Ints) -> tuple[Mask, Mask]:
        """Which classes hold all models, and which have what is necessary as they grow."""
        people = self.fitting(node, codes)
        holds, possible = (np.ones(len(sizes), np.bool_) for _ in range(2))
        for model in self.models:
            possible &= model.necessary(sizes, people)
            holds &= model.satisfied(sizes, people)
        return holds & possible, possible

    def of_all(self, subjects: int) -> bool:
        """Whether a class of so many subjects that all people fit would hold."""
        sizes, people = np.array([subjects]), np.array([self.people.sum()])
        return all(bool(model.satisfied(sizes, people)[0]) for model in self.models)

    def covered(self, node: Node, codes: Ints) -> bool:
        """Whether all people fit some of these classes, if a model says that they must.

        Nobody fits two classes of a transformation.

        Args:
            node: the transformation.
            codes: a value code of the source for each class on each attribute.
        """
        if not any(isinstance(model, DeltaPresence) and model.min > 0 for model in self.models):
            return True
        return bool(self.fitting(node, codes).sum() == self.people.sum())

    def fitting(self, node: Node, codes: Ints) -> Ints:
        """The people who fit each class.

        Args:
            node: the transformation.
            codes: a value code of the source for each class on each attribute.
        """
        cell, of_class = np.zeros(len(self.people), np.int64), np.zeros(codes.shape[1], np.int64)
        space = 1
        for labels, level, own, of_source in zip(self.labels, node, self.codes, codes, strict=True):
            found = labels[level]
            if space > MOST // max(found.count, 1):
                keys, both = np.unique(np.concatenate([cell, of_class]), return_inverse=True)
                cell, of_class, space = both[: len(cell)], both[len(cell) :], len(keys)
            cell = cell * found.count + found.of_people[own]
            of_class = of_class * found.count + found.of_source[of_source]
            space *= found.count
        if space <= max(SCANNED * len(cell), 1024):
            return _added(cell, self.people, space)[of_class]
        keys, place = np.unique(cell, return_inverse=True)
        at = np.minimum(np.searchsorted(keys, of_class), len(keys) - 1)
        return np.where(keys[at] == of_class, _added(place, self.people, len(keys))[at], 0)

    def alone(self) -> Iterator[Population]:
        """The same population under each model alone."""
        for model in self.models:
            yield replace(self, models=(model,))

    def impossible(self) -> Iterator[Unsatisfiable]:
        """Why no class whatever can hold a model."""
        people = int(self.people.sum())
        for model in self.models:
            if isinstance(model, KMap) and people < model.k:
                reason, hint = f"fewer than k = {model.k}", f"k can be at most {people}"
            elif isinstance(model, MaxRisk) and not model.of_table and people < model.fewest:
                reason, hint = f"and {model.fewest} are needed", "raise the threshold"
            else:
                continue
            yield Unsatisfiable(
                f"no release holds {model.model}: {self.name} has {people} people, {reason}",
                hint=hint,
            )

    @property
    def named(self) -> str:
        """The population and its models for a message."""
        shown = []
        for model in self.models:
            given = [f"{k} {v}" for k, v in model.declared.items() if k != "population"]
            shown.append(f"{model.model} ({', '.join(given)})")
        return f"{self.name}: {', '.join(shown)}"


def _added(key: Ints, people: Ints, space: int) -> Ints:
    """People by key; sums are exact, as there are fewer than 2^53 of them."""
    return np.rint(np.bincount(key, people, space)).astype(np.int64)


def labels_of(source: Coding, people: Coding) -> tuple[Labels, ...]:
    """The labels of one attribute on each level, from the codings of source and population."""
    return tuple(_numbered(source.labels(i), people.labels(i)) for i in _levels(source))


def _levels(coding: Coding) -> range:
    return range(coding.hierarchy.height + 1)


def _numbered(source: Sequence[str | None], people: Sequence[str | None]) -> Labels:
    index: dict[str | None, int] = {}
    found = [
        np.array([index.setdefault(label, len(index)) for label in labels], np.int64)
        for labels in (source, people)
    ]
    return Labels(found[0], found[1], len(index))
