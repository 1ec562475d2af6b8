"""The adversary who knows everybody's quasi-identifiers and has a locally recoded release.

Plain pandas, numpy and scipy on the released table and its dictionary; nothing is shared with the
package. By the region alone a person could be in many classes. But every person has one record and
every record one person: what remains are the classes in which a person is in some perfect matching
of people and records (the matches of Gionis, Mazza & Tassa 2008, and their global anonymity).
These are the pairs of a maximum flow, and those on a cycle of what is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Linkage:
    """What is known of each kind of people, those alike in all quasi-identifiers.

    Attributes:
        people: how many there are of each kind.
        classes: records of each released class.
        by_region: pairs of a kind and a class whose region holds it.
        matched: of these, the pairs of some perfect matching.
        held: records of each class with each sensitive value.
        values: these values, as text.
        own: whether a kind has a class of its own, released as it is.
    """

    people: Ints
    classes: Ints
    by_region: tuple[Ints, Ints]
    matched: tuple[Ints, Ints]
    held: Ints
    values: Sequence[str]
    own: NDArray[np.bool_]

    @property
    def records_by_region(self) -> Ints:
        """For each person, by kind, how many records could be theirs by their regions."""
        return self._records(self.by_region)

    @property
    def records(self) -> Ints:
        """For each person, by kind, how many records could be theirs."""
        return self._records(self.matched)

    def _records(self, pairs: tuple[Ints, Ints]) -> Ints:
        kind, class_ = pairs
        return _rounded(np.bincount(kind, self.classes[class_], len(self.people)))

    @property
    def owners(self) -> Ints:
        """For each class, how many people could be in it."""
        kind, class_ = self.matched
        return _rounded(np.bincount(class_, self.people[kind], len(self.classes)))

    @property
    def possible_values(self) -> Ints:
        """For each person, by kind, how many sensitive values are possible."""
        kind, class_ = self.matched
        found = np.zeros((len(self.people), self.held.shape[1]), bool)
        np.logical_or.at(found, kind, self.held[class_] > 0)
        return found.sum(axis=1)

    @property
    def known_class(self) -> int:
        """How many people are known to be in one class."""
        kind, _ = self.matched
        return int(self.people[np.bincount(kind, minlength=len(self.people)) == 1].sum())

    def told_alike(self, least: int) -> dict[int, str]:
        """The one value of each kind that has one, for all that the method tells: Wong et al. 2007.

        Where a method gives so many people of a kind a class of their own as soon as they have two
        values, those without one have a single value: it must be often enough in their classes.
        """
        told = {}
        for kind in np.flatnonzero((self.people >= least) & ~self.own):
            classes = self.matched[1][self.matched[0] == kind]
            often = np.flatnonzero(self.held[classes].sum(axis=0) >= self.people[kind])
            if len(often) == 1:
                told[int(kind)] = self.values[often[0]]
        return told


def link(
    people: pd.DataFrame,
    release: pd.DataFrame,
    dictionary: pd.DataFrame,
    sensitive: str | None = None,
) -> Linkage:
    """Link people to released records.

    Args:
        people: the quasi-identifiers of everybody, as text.
        release: the released table, with the columns of `people`.
        dictionary: `column`, `released_value`, `level` and `leaves` of what is released.
        sensitive: a column of the release.
    """
    names = list(people.columns)
    kinds = people.map(_text).groupby(names).size().reset_index(name="people")
    shown = release[names].map(_text)
    classes = shown.groupby(names).size().reset_index(name="records")
    values = pd.Series("", release.index) if sensitive is None else release[sensitive].map(_text)
    number = shown.merge(classes.reset_index(), on=names, how="left")["index"].to_numpy()
    held = pd.crosstab(number, values.to_numpy())
    places = {name: _places(dictionary[dictionary["column"] == name]) for name in names}
    pairs = _inside(kinds, classes, names, places)
    flow = _flow(kinds["people"].to_numpy(), classes["records"].to_numpy(), pairs)
    return Linkage(
        kinds["people"].to_numpy(np.int64),
        classes["records"].to_numpy(np.int64),
        pairs,
        _possible(len(kinds), len(classes), pairs, flow),
        held.to_numpy(np.int64),
        [str(value) for value in held.columns],
        kinds.merge(classes, on=names, how="left")["records"].notna().to_numpy(),
    )


def _text(value: object) -> str:
    """A value as text, so that NULL is one of its own."""
    return "" if value is None or value != value else f"={value}"


def _rounded(sums: NDArray[np.float64]) -> Ints:
    return np.asarray(np.rint(sums), np.int64)


Places = tuple[Mapping[str, int], Mapping[int, Mapping[str, str]]]


def _places(entries: pd.DataFrame) -> Places:
    """The level of each released value, and what each leaf reads on each level."""
    level, reads = {}, {}
    for entry in entries.itertuples():
        shown = _text(entry.released_value)
        level[shown] = int(entry.level)
        leaves = [""] if not shown else [_text(leaf) for leaf in entry.leaves]
        reads.setdefault(int(entry.level), {}).update(dict.fromkeys(leaves, shown))
    return level, reads


def _inside(
    kinds: pd.DataFrame,
    classes: pd.DataFrame,
    names: Sequence[str],
    places: Mapping[str, Places],
) -> tuple[Ints, Ints]:
    """The kinds of people in the region of each class, by levels."""
    levels = pd.DataFrame({name: classes[name].map(places[name][0]) for name in names})
    before, after = [], []
    for at, of_levels in levels.groupby(names):
        read = pd.DataFrame(
            {n: kinds[n].map(places[n][1][level]) for n, level in zip(names, at, strict=True)}
        )
        here = classes.loc[of_levels.index, names]
        met = read.dropna().reset_index().merge(here.reset_index(), on=names)
        before.append(met["index_x"].to_numpy(np.int64))
        after.append(met["index_y"].to_numpy(np.int64))
    return np.concatenate(before), np.concatenate(after)


def _flow(people: Ints, records: Ints, pairs: tuple[Ints, Ints]) -> Ints:
    """How many of each pair are in one perfect matching."""
    kind, class_ = pairs
    source, first, second = 0, 1, 1 + len(people)
    sink = second + len(records)
    ends = (
        np.concatenate(
            [np.full(len(people), source), first + kind, second + np.arange(len(records))]
        ),
        np.concatenate(
            [first + np.arange(len(people)), second + class_, np.full(len(records), sink)]
        ),
    )
    most = np.minimum(people[kind], records[class_])
    capacity = np.concatenate([people, most, records]).astype(np.int32)
    found = maximum_flow(csr_array((capacity, ends), shape=(sink + 1,) * 2), source, sink)
    assert found.flow_value == people.sum() == records.sum(), "the release is not of these people"
    return np.asarray(found.flow[first + kind, second + class_]).ravel()


def _possible(kinds: int, classes: int, pairs: tuple[Ints, Ints], flow: Ints) -> tuple[Ints, Ints]:
    """The pairs of some perfect matching: of this one, or on a cycle that changes it."""
    kind, class_ = pairs
    used = flow > 0
    ends = (
        np.concatenate([kind, kinds + class_[used]]),
        np.concatenate([kinds + class_, kind[used]]),
    )
    size = kinds + classes
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    _, part = connected_components(graph, connection="strong")
    possible = used | (part[kind] == part[kinds + class_])
    return kind[possible], class_[possible]
