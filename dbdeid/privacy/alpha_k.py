"""(α, k)-anonymity: of no class can a sensitive value be concluded with more than confidence α.

Wong, Li, Fu & Wang 2006, definition 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from dbdeid.data.figures import share
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Expr, Query, aliased, any_of, literal, same_value, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import CLOSE, Floats, Histogram, Mask, Whole
from dbdeid.privacy.common.largest import capped
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import Makeup, OfSensitive, Refusal, sizes, target
from dbdeid.privacy.common.shares import Shares, as_label, within


def _texts(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if any(isinstance(v, list | tuple | dict) for v in value):
        raise problem("values are listed one by one", 'as in values: ["HIV", "hepatitis"]')
    return tuple(v if v is None or isinstance(v, str) else _text(v) for v in value)


def _text(value: Any) -> str:
    """A value of YAML as the engine writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class AlphaK(OfSensitive):
    """Every class has k subjects, and at most a share alpha of them has the same sensitive value.

    Of the subjects who have a value at all, at most that share has the same one, too: who has none
    hides nobody.

    Attributes:
        values: the values that are sensitive, as text; all by default.
    """

    relative: ClassVar[bool] = False
    words: ClassVar[Words] = Words(
        "(α, k)-anonymity",
        "Every class has at least k members, and at most the share alpha of them has the same "
        "sensitive value.",
    )
    public: ClassVar[tuple[str, ...]] = ("k", "column", "joint", "alpha")
    found_in_release: ClassVar[bool] = True

    model: Literal["alpha_k"]
    k: int = Field(ge=1)
    alpha: float = Field(gt=0, le=1)
    values: (
        Annotated[
            tuple[str | None, ...], BeforeValidator(_texts), Field(strict=False, min_length=1)
        ]
        | None
    ) = None

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        some = ", for the values listed" if declared.get("values") else ""
        return (
            f"k = {declared.get('k')} on {on} with at most {share(declared.get('alpha'))} of a "
            f"class sharing a value of {target(declared)}{some}"
        )

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("k") == 1 and declared.get("alpha") == 1)

    def contradictions(self) -> Iterator[Refusal]:
        """Values are listed as they stand in one column."""
        if self.values is not None and self.joint:
            message = "values are of one column, not of several together"
            yield Refusal("values", message, "leave values out, or joint")

    @property
    def diversifies(self) -> bool:
        """Whether it keeps the values of a class from being all the same, whichever that is."""
        return self.alpha < 1 and self.values is None

    @property
    def smallest_class(self) -> int:
        """The number of subjects below which a class fails."""
        return self.k

    def reached(self, one: Histogram) -> str:
        """The greatest share of a value."""
        shares = [one.confidence, one.known[1].confidence]
        most = max(share.max(initial=0) for share in shares)
        return f"alpha = {most:.4g}" if self.values is None else ""

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        # both sides are rounded once, so that equal numbers stay equal
        held = (classes.sizes >= self.k) & self._within(classes)
        if classes.whole.missing is not None:
            chosen, known = classes.known
            held[chosen] &= self._within(known)
        return held

    def _within(self, classes: Histogram) -> Mask:
        too_many = classes.confidence > self.alpha
        if self.values is not None:
            too_many &= self._listed(classes.whole)[classes.value]
        return ~classes.any(too_many)

    def _listed(self, whole: Whole) -> Mask:
        """Whether each value is meant."""
        meant = (self.values is None or label in self.values for label in whole.labels)
        return np.fromiter(meant, np.bool_, len(whole.labels))

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """A share alpha of each value that is meant."""
        meant = self._listed(whole)
        for own in sizes(max(size, self.k), whole):
            yield Makeup(own, 1, np.where(meant, int(own * self.alpha + CLOSE), whole.people))

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges: 1/α values, where all count."""
        enough = classes.sizes >= 0
        if self.values is None:
            enough = classes.distinct >= 1 / self.alpha - CLOSE
        return np.asarray(enough)

    def most(self, classes: Histogram) -> Floats:
        """Of each value that is meant the share alpha, of others any."""
        caps = np.where(self._listed(classes.whole), self.alpha, 1.0)
        return capped(classes, caps[classes.value])

    def measure(self, shares: Shares) -> Query:
        """The smallest class as k, and the greatest share of a value that is meant as alpha."""
        held = shares.held.table if isinstance(shares.held, Relation) else shares.held.subquery("h")
        marked = select("*", aliased(self._meant(), "meant")).from_(held)
        return step("privacy/confidence", {"held": marked})

    def _meant(self) -> Expr:
        if self.values is None:
            return literal(True)
        listed = (literal(value) for value in self.values)
        return any_of(*(same_value(as_label("value"), v) for v in listed))

    def holds(self, found: Any) -> bool:
        """Whether the measured values keep the promise."""
        return found["k"] is None or (found["k"] >= self.k and within(found["alpha"], self.alpha))
