"""t-closeness: the sensitive values of every class are distributed much as in the whole source.

Li, Li & Venkatasubramanian 2007, section 3 (definition) and 4 (the three distances).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.figures import number
from dbdeid.data.json import JsonObject
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import MEASURED
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import (
    CLOSE,
    Floats,
    Histogram,
    Ints,
    Mask,
    Whole,
    at_most,
    meant,
)
from dbdeid.privacy.common.largest import in_order, near_to
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import (
    Makeup,
    OfSensitive,
    Refusal,
    SensitiveColumn,
    sizes,
    target,
)
from dbdeid.privacy.common.shares import Shares, within


class TCloseness(OfSensitive):
    """The earth mover's distance of each class's distribution to that of the source is at most t.

    - equal: every two values are as far apart; half the sum of |p - q|.
    - ordered: values are as far apart as their places; the sum of the cumulative differences'
      absolute values over m - 1, with the m values of the source in their own order, NULL last.
    - hierarchical: as far apart as their lowest common ancestor in the column's hierarchy is high.
    """

    words: ClassVar[Words] = Words(
        "t-closeness",
        "In every class the sensitive values are distributed much as in the whole original table: "
        "the distance of the two distributions, from 0 to 1, is at most t.",
    )
    public: ClassVar[tuple[str, ...]] = ("t", "column", "joint", "distance")

    model: Literal["t_closeness"]
    t: float = Field(ge=0, le=1)
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"

    @model_validator(mode="after")
    def _one_order(self) -> TCloseness:
        if self.joint and self.distance != "equal":
            raise problem(f"joint: true has no {self.distance} distance", "use distance: equal")
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return f"t = {number(declared.get('t'))} of {target(declared)} in each class"

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("t") == 1)

    def refused(self, column: SensitiveColumn) -> Iterator[Refusal]:
        """Values without an order, or without a hierarchy, are no distance apart."""
        if self.distance == "ordered" and column.family not in (*MEASURED, "boolean"):
            yield Refusal(
                "distance",
                f"the values of {column.name!r} ({column.type}) have no order",
                "use distance: equal, or hierarchical with a hierarchy; or cast the column to "
                "numbers in the source",
            )
        if self.distance == "hierarchical" and not column.hierarchy:
            yield Refusal(
                "distance",
                f"{column.name!r} has no hierarchy",
                f"as in `{column.name}: {{role: sensitive, hierarchy: icd.csv}}`",
            )

    @property
    def diversifies(self) -> bool:
        """Whether it keeps the values of a class from being all the same."""
        return self.t < 1

    @property
    def declared(self) -> JsonObject:
        """The promised parameters, as they are shown."""
        return {**super().declared, "distance": self.distance}

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        measured = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}
        return at_most(
            measured[self.distance](classes),
            self.t,
            lambda class_: _exact(self.distance, classes, class_) <= meant(self.t),
        )

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """The share of each value in the source, and on top what may be moved in all.

        What a class has more of its values than these shares adds up to the distance, where all
        values are as far apart; where some are nearer, it is at most that. The parts that are
        whole for the least of it come first.
        """
        for own in sizes(size, whole):
            share = own * whole.counts / max(int(whole.counts.sum()), 1)
            most = np.floor(share + CLOSE)
            more = self.t * own + CLOSE
            for value in np.argsort(most - share, kind="stable"):
                if (cost := most[value] + 1 - share[value]) > more:
                    break
                most[value] += 1
                more -= cost
            most = np.maximum(most + np.floor(more * share / own), own * self.t >= 2)
            yield Makeup(own, 1, most.astype(np.int64))

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges: what it lacks must be moved.

        Only values become present as classes merge. To be moved from, a value is at least one
        step of its hierarchy away, or of its order; these are as much of the distance as they are
        of the greatest one.
        """
        most = len(classes.whole.counts) - 1
        farthest = {
            "equal": 1.0,
            "ordered": max(most, 1),
            "hierarchical": max(len(classes.whole.groups), 1),
        }
        lacking = (1 - classes.present()) / farthest[self.distance]
        return np.asarray(lacking <= self.t + CLOSE)

    def most(self, classes: Histogram) -> Floats:
        """What is left of values of which there are too many.

        Hierarchical: values whose groups on a level of height h differ are (h + 1) / H apart, at
        least. So the distance is at least that of the groups, all equally far apart, times it.
        """
        shares = classes.whole.counts / max(int(classes.whole.counts.sum()), 1)
        if self.distance == "equal":
            return near_to(classes, shares, self.t)
        if self.distance == "ordered":
            return in_order(classes, shares, self.t * (len(shares) - 1))
        found, levels = classes.sizes.astype(np.float64), classes.whole.groups
        for height, groups in enumerate((np.arange(len(shares)), *levels[:-1])):
            grouped = classes.grouped(groups)
            of_groups = _sums(groups, shares, int(groups.max()) + 1)
            distance = self.t * len(levels) / (height + 1)
            found = np.minimum(found, near_to(grouped, of_groups, distance))
        return found

    def measure(self, shares: Shares) -> Query:
        """The greatest distance."""
        compared, whole = shares.compared, shares.of_source
        if self.distance == "equal":
            return step("privacy/t_equal", {"shares": compared})
        if self.distance == "ordered":
            return step("privacy/t_ordered", {"shares": compared, "whole": whole})
        if shares.nodes is None:
            raise ValueError("a hierarchical distance is measured without a hierarchy")
        tables = {"shares": compared, "whole": whole, "nodes": shares.nodes}
        return step("privacy/t_hierarchical", tables)

    def holds(self, found: Any) -> bool:
        """Whether the measured value keeps the promise."""
        return within(found, self.t)


def equal(classes: Histogram) -> Floats:
    """Half the sum of |p - q|: the sum of p - q over the values of which the class has too many."""
    p = classes.count / classes.pairs[classes.of_class]
    q = classes.whole.counts / classes.whole.counts.sum()
    return classes.summed(np.maximum(p - q[classes.value], 0))


def ordered(classes: Histogram) -> Floats:
    """Σ over the values of |cumulative p - cumulative q|, over m - 1.

    Between two values of a class its cumulative share stays and that of the source grows: the sum
    follows from sums of the source's shares up to each value, and from where the two cross.
    """
    total = int(classes.whole.counts.sum())
    up_to = np.cumsum(classes.whole.counts) / total
    values = len(up_to)
    if values < 2 or not len(classes.of_class):
        return np.zeros(classes.classes)
    area = np.concatenate([[0.0], np.cumsum(up_to)])  # of the places before
    share = classes.count / classes.pairs[classes.of_class]
    first = np.searchsorted(classes.of_class, np.arange(classes.classes))
    running = np.cumsum(classes.count)
    before = np.concatenate([[0], running])[first]
    held = (running - before[classes.of_class]) / classes.pairs[classes.of_class]
    end = np.full(len(share), values)
    same = classes.of_class[1:] == classes.of_class[:-1]
    end[:-1][same] = classes.value[1:][same]
    start = classes.value
    cross = np.clip(np.searchsorted(up_to, held, side="right"), start, end)
    over = held * (cross - start) - (area[cross] - area[start])
    under = (area[end] - area[cross]) - held * (end - cross)
    leading = area[classes.value[first]]  # nothing of the class yet
    return np.asarray((classes.summed(over + under) + leading) / (values - 1))


def hierarchical(classes: Histogram) -> Floats:
    """Σ over the inner nodes of height / greatest height · what is moved between their children.

    At a node of which children have too much, by `more` in all, and others too little, the lesser
    of both is moved there and the rest above (Li et al. 2007, section 4.3).
    """
    levels = classes.whole.groups
    extra = classes.count / classes.pairs[classes.of_class]
    nodes: Floats = classes.whole.counts / classes.whole.counts.sum()
    of_class, node, below = classes.of_class, classes.value, np.arange(len(nodes))
    found = np.zeros(classes.classes)
    for height, groups in enumerate(levels, start=1):
        size = int(groups.max()) + 1
        parent = np.zeros(len(nodes), np.int64)
        parent[below] = groups
        key, place = np.unique(of_class * size + parent[node], return_inverse=True)
        more = _sums(place, np.maximum(extra - nodes[node], 0), len(key))
        extra = _sums(place, extra, len(key))
        nodes = _sums(parent, nodes, size)
        of_class, node, below = key // size, key % size, groups
        less = more - (extra - nodes[node])
        found += _sums(of_class, np.minimum(more, less), len(found)) * height / len(levels)
    return np.maximum(found, 0)


def _sums(place: Ints, amounts: Floats, places: int) -> Floats:
    return np.asarray(np.bincount(place, amounts, places), np.float64)


def _exact(distance: str, classes: Histogram, class_: int) -> Fraction:
    """The distance of one class without rounding.

    Shares are counted in parts of one over the product of both sums, which fits 64 bits.
    """
    entries = classes.entries(class_)
    pairs, total = int(classes.pairs[class_]), int(classes.whole.counts.sum())
    extra = -pairs * classes.whole.counts
    extra[classes.value[entries]] += total * classes.count[entries]
    if distance == "equal":
        return Fraction(int(extra[extra > 0].sum()), pairs * total)
    if distance == "ordered":
        moved, longest = sum(np.abs(np.cumsum(extra)).tolist()), max(len(extra) - 1, 1)
    else:
        moved, longest = _moved(extra, classes.whole), max(len(classes.whole.groups), 1)
    return Fraction(moved, longest * pairs * total)


def _moved(extra: Ints, whole: Whole) -> int:
    """What is moved at the nodes of a hierarchy, each times its height."""
    found, of_value = 0, np.arange(len(extra))
    for height, groups in enumerate(whole.groups, start=1):
        size = int(groups.max()) + 1
        parent = np.zeros(len(extra), np.int64)
        parent[of_value] = groups
        more, less = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(more, parent, np.maximum(extra, 0))
        np.add.at(less, parent, np.maximum(-extra, 0))
        found += height * int(np.minimum(more, less).sum())
        extra, of_value = more - less, groups
    return found
