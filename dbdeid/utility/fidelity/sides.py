"""Source and release side by side, column by column: what distances between them are taken of.

Of numbers, dates and moments a value is a number: a date counts its days, a moment its seconds, a
whole number or day v reaches from v to v + 1, so that an interval of them is as wide as it has
members. Of all other columns it is the text. What a released label stands for is listed in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.engine.relation import Relation


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of both sides.

    Attributes:
        name: as the source has it.
        number: tells its pieces from others'.
        measured: whether its values are numbers, which have a distance.
        whole: of numbers, whether all of them are whole, or days.
        labelled: whether the release shows labels in place of values.
    """

    name: str
    number: int
    measured: bool
    whole: bool
    labelled: bool

    @property
    def key(self) -> str:
        """The column of both tables."""
        return f"c{self.number}"


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides as temporary tables, of which those of records are there where they are needed.

    Attributes:
        source: one row a record.
        released: one row a record, the labels of generalized columns in place of values, and
            `weight`, the probability that the record is real.
        columns: what both have.
        pieces: what labels stand for: `number` of the column, `label`, `share`; of numbers `low`
            and `high`, of others `leaf`, NULL being a missing value. The shares of a label are 1.
        counted: how often each value of each column occurs in source and release: `number` of the
            column, `point` (a number) or `text`, and `mass`; there is one row for each value and
            weight.
    """

    source: Relation
    released: Relation
    columns: tuple[ColumnPair, ...]
    pieces: Relation
    counted: tuple[Relation, Relation]
