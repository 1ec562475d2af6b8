"""The declaration of a metric beside its formula: its name, its words, who has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

# What the values of a release are; methods say which theirs are.
Family = Literal["generalized", "local", "padded", "synthetic", "masked", "external"]
EVERY: tuple[Family, ...] = get_args(Family)


class Words(NamedTuple):
    """How a metric reads: its title, definition, range, and which direction is better."""

    title: str
    definition: str
    range: str
    better: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of releases.

    Attributes:
        name: as specifications and records have it; what it is of a column follows after a dot.
        words: for its readers.
        families: the releases that have it. Those of every family are taken of release and source
            side by side, and may be measured later.
        not_of_local: why releases whose levels differ between classes do not have it, if so.
        on_request: it takes longer, and is measured only where it is named.
        sensitive: whether it is about the sensitive columns, as one figure or one of each.
        parts: what its other figures are called, after a dot, where they are not of columns.
    """

    name: str
    words: Words
    families: tuple[Family, ...]
    not_of_local: str = ""
    on_request: bool = False
    sensitive: Literal["no", "one", "each"] = "no"
    parts: tuple[str, ...] = ()
