"""The parts of a specification that declare a hierarchy, and the wording of its mistakes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from dbdeid.data.dates import UNITS
from dbdeid.data.problem import problem
from dbdeid.data.shelf import CODES, NAMES, RULES
from dbdeid.errors import did_you_mean


class Part(BaseModel):
    """A frozen part of a spec that refuses unknown keys and silent conversions."""

    # an input may hold a secret, and Python carries the errors of pydantic along
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise problem("expects a number")
    try:
        number = value if isinstance(value, Fraction) else Fraction(str(value))
    except ValueError:
        raise problem("expects a finite number") from None
    if 10**400 % number.denominator:
        raise problem("expects a number that decimals can write")
    return number


def _number_or_date(value: Any) -> Any:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise problem("expects a number or a date like 2019-12-31") from None
    if isinstance(value, datetime.datetime):
        raise problem("expects a date like 2019-12-31, without a time")
    return _number(value)


def no_nul(value: str) -> str:
    """The same text, which no engine would cut."""
    if "\0" in value:
        raise problem("holds a NUL character")
    return value


Number = Annotated[Fraction, BeforeValidator(_number)]
Limit = Annotated[Fraction | datetime.date, BeforeValidator(_number_or_date)]
Text = Annotated[str, StringConstraints(min_length=1), AfterValidator(no_nul)]


class HierarchySpec(Part):
    """How a quasi-identifier is generalized; exactly one kind is given."""

    path: Text | None = None
    suppress: Literal[True] | None = None
    intervals: Annotated[tuple[Number, ...], Field(strict=False, min_length=1)] | None = None
    dates: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)] | None = None
    prefix: Annotated[tuple[int, ...], Field(strict=False, min_length=1)] | None = None
    groups: (
        Annotated[
            tuple[dict[str, Annotated[tuple[str, ...], Field(strict=False)]], ...],
            Field(strict=False, min_length=1),
        ]
        | None
    ) = None
    table: Text | None = None
    shelf: Text | None = None
    labels: Literal["intervals"] | None = None
    free: Literal[True] | None = None
    origin: Number | None = None
    lower: Limit | None = None
    upper: Limit | None = None

    @property
    def kind(self) -> str:
        """Which of the kinds is given."""
        return next(k for k in _KINDS if getattr(self, k) is not None)

    @model_validator(mode="before")
    @classmethod
    def _rule(cls, value: Any) -> Any:
        """A name on the shelf that is short for a rule becomes that rule."""
        if isinstance(value, Mapping) and [*value] == ["shelf"] and value["shelf"] in RULES:
            return dict(RULES[value["shelf"]])
        return value

    @field_validator("shelf")
    @classmethod
    def _on_the_shelf(cls, value: str | None) -> str | None:
        if value in RULES:
            raise problem(f"shelf: {value} takes no other keys", "drop them, or write the rule out")
        if value is not None and value not in CODES:
            raise problem(f"no hierarchy {value!r} on the shelf", did_you_mean(value, NAMES))
        return value

    @field_validator("groups", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise problem("expects a list with one mapping a level")
        for mapping in value:
            if not isinstance(mapping, Mapping) or not all(
                isinstance(members, list | tuple) for members in mapping.values()
            ):
                raise problem("expects mappings such as {urgent: ['1', '2'], planned: ['3']}")
        return [
            {plain(label): [plain(m) for m in members] for label, members in mapping.items()}
            for mapping in value
        ]

    @field_validator("intervals")
    @classmethod
    def _widths(cls, value: tuple[Fraction, ...] | None) -> tuple[Fraction, ...] | None:
        _check_widths(value or ())
        return value

    @field_validator("dates")
    @classmethod
    def _units(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        _check_units(value or ())
        return value

    @field_validator("prefix")
    @classmethod
    def _lengths(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value and (min(value) < 1 or any(b >= a for a, b in pairwise(value))):
            raise problem("prefix lengths must shrink and stay above 0", "for example [3, 1]")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> HierarchySpec:
        given = [k for k in _KINDS if getattr(self, k) is not None]
        if self.free and len(given) > 1:
            raise problem(
                f"free stands alone: blocks that choose intervals and sets follow no {given[0]}",
                f"drop free, or drop {given[0]}",
            )
        if len(given) != 1:
            raise problem(
                f"expects exactly one kind of hierarchy, found {', '.join(given) or 'none'}",
                f"give a CSV path, suppress, or one of {', '.join(_KINDS[2:])}",
            )
        limits = [k for k in ("origin", "lower", "upper") if getattr(self, k) is not None]
        if limits and self.kind not in ("intervals", "dates", "labels", "free"):
            raise problem(f"{', '.join(limits)} only go with intervals, dates or free")
        if self.intervals is None and self.origin is not None:
            raise problem("origin only goes with intervals")
        if self.intervals:
            _check_limits(self, Fraction, "numbers")
        if self.dates:
            _check_limits(self, datetime.date, "dates like 2019-12-31")
        if self.labels or self.free:
            number = any(isinstance(limit, Fraction) for limit in (self.lower, self.upper))
            _check_limits(self, Fraction if number else datetime.date, "both numbers or both dates")
        return self


_KINDS = (
    *("path", "suppress", "intervals", "dates", "prefix", "groups", "table", "shelf"),
    *("labels", "free"),
)


def plain(value: Any) -> str:
    """A label or value of a spec as text; YAML may have read a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise problem("expects texts", "quote labels and values")
    if any("\ud800" <= sign <= "\udfff" for sign in str(value)):
        raise problem("has half a character (a lone surrogate)", "write it in UTF-8")
    return str(value)


def _check_widths(widths: tuple[Fraction, ...]) -> None:
    if any(width <= 0 for width in widths):
        raise problem("interval widths must be above 0")
    if any(b % a or b <= a for a, b in pairwise(widths)):
        raise problem(
            "each interval width must be a larger multiple of the one before",
            "otherwise the levels do not nest; for example [5, 10, 20]",
        )


def _check_units(units: tuple[str, ...]) -> None:
    unknown = [u for u in units if u not in UNITS]
    if unknown:
        raise problem(f"unknown date unit {unknown[0]!r}", did_you_mean(unknown[0], UNITS))
    if any(UNITS.index(b) <= UNITS.index(a) for a, b in pairwise(units)):
        raise problem("date units must grow", f"in the order {', '.join(UNITS)}")
    if "week" in units and len(units) > 1:
        raise problem("weeks nest in no other unit", "use dates: [week] alone")


def _check_limits(spec: HierarchySpec, kind: type, words: str) -> None:
    for limit in (spec.lower, spec.upper):
        if limit is not None and not isinstance(limit, kind):
            raise problem(f"lower and upper must be {words}")
    if spec.lower is not None and spec.upper is not None and not spec.lower < spec.upper:  # type: ignore[operator]
        raise problem("lower must be below upper")


def short_hierarchy(value: Any) -> Any:
    """`suppress`, `free` or a path, written short for a mapping."""
    if isinstance(value, str):
        if value in _WORDS:
            return {value: True}
        if get_close_matches(value, _WORDS, cutoff=0.8):
            raise problem(f"unknown hierarchy {value!r}", did_you_mean(value, _WORDS))
        return {"path": value}
    return value


_WORDS = ("suppress", "free")
