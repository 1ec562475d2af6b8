"""What a spec expects of its release beyond what it promises: `expect: {loss: "< 0.3"}`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from dbdeid.errors import did_you_mean
from dbdeid.spec.metric_spec import METRICS, ON_REQUEST, PARTS, require_measured

if TYPE_CHECKING:
    from dbdeid.spec.release_spec import ReleaseSpec

# Counts, shares and risks that every record of a run has.
COUNTS = ("source_rows", "released_rows", "classes", "smallest_class")
SHARES = ("suppressed", "counterfeits")
RISKS = ("highest_risk", "average_risk")
# What is found by the workload of `evaluate.queries`.
OF_QUERIES = ("query_error", "within_bounds")
# How many sentences say that something of the release is of no use.
USELESS = "useless"
KNOWN = (*COUNTS, USELESS, *SHARES, *RISKS, *OF_QUERIES, *METRICS)

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_GRAMMAR = re.compile(r"\s*(<=|>=|<|>|=)\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A comparison and a number: the limit of a measured value."""

    sign: str
    number: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side; nan is on none."""
        return _SIGNS[self.sign](value, self.number)

    def worst(self, values: list[float]) -> float:
        """Return the value that misses the threshold most, or holds it least."""
        if self.sign == "=":
            return max(values, key=lambda value: abs(value - self.number))
        return max(values) if self.sign[0] == "<" else min(values)


def parse(text: str) -> Threshold | None:
    """A threshold from its text; None where it is none.

    >>> parse("<= 0.05")
    Threshold(sign='<=', number=0.05)
    """
    found = _GRAMMAR.fullmatch(text)
    return Threshold(found[1], float(found[2])) if found else None


def mistakes(spec: ReleaseSpec) -> Iterator[tuple[str, str, str]]:
    """List the mistakes in a spec's expectations: the key, the mistake, and a hint."""
    for name, text in spec.expect.items():
        kind, _, column = name.partition(".")
        if kind not in KNOWN or (column and kind not in METRICS):
            yield name, f"nothing called {name!r} is measured", did_you_mean(name, KNOWN)
        elif name not in PARTS and column and column.lower() not in map(str.lower, spec.columns):
            parts = [part for part in PARTS if part.startswith(f"{kind}.")]
            if parts:
                yield name, f"nothing called {name!r} is measured", did_you_mean(name, parts)
            else:
                hint = did_you_mean(column, spec.columns)
                yield name, f"there is no column {column!r}", hint
        elif parse(text) is None:
            hint = 'as in `loss: "< 0.3"`, with <, <=, >, >= or ='
            yield name, f"expects a sign and a number, found {text[:40]!r}", hint
        else:
            yield from ((name, *told) for told in _unmeasured(spec, kind))


def _unmeasured(spec: ReleaseSpec, kind: str) -> Iterator[tuple[str, str]]:
    """Why a run does not measure what is expected, if so."""
    if spec.output.kind == "view":
        yield "nothing is expected of a view, which is a preview", "release it as a table"
    elif kind in OF_QUERIES and spec.evaluate.queries is None:
        yield f"{kind} is found by a workload", "declare it, as in `evaluate: {queries: q/*.sql}`"
    elif kind == "counterfeits" and not spec.method.can.counterfeits:
        yield "only method counterfeit adds records", "leave it out"
    elif kind in METRICS:
        asked = spec.evaluate.metrics
        measured = kind not in ON_REQUEST if asked is None else kind in asked
        if not measured:
            yield f"metric {kind!r} is not measured", f"name it in `evaluate.metrics`: [{kind}, …]"
        try:
            require_measured([kind], spec.method, view=False)
        except PydanticCustomError as error:
            context = error.context or {}
            yield context["message"], context["hint"]
    elif spec.method.foreign_table is not None and kind == USELESS:
        yield "nobody says what is useless in a release made elsewhere", "expect its query_error"
    elif spec.method.foreign_table is not None and kind == "suppressed":
        yield "how many were suppressed is not known of a release made elsewhere", "leave it out"
