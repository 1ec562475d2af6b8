"""What an experiment is asked for, and what it finds: tables, pictures, published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from dbdeid.data.json import JsonObject

if TYPE_CHECKING:
    from dbdeid.papers.common.data import Data

Row = Mapping[str, Any]  # a cell of each column, by the heading of the column
_Many = TypeVar("_Many")


@dataclass(frozen=True, slots=True)
class Asked:
    """How an experiment is to be computed.

    Attributes:
        data: where its tables are.
        quick: on fewer records and with fewer repetitions than the paper.
    """

    data: Data
    quick: bool = False

    def of(self, whole: _Many, quick: _Many) -> _Many:
        """One of two sizes of an experiment."""
        return quick if self.quick else whole


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same headings, at least one."""

    title: str
    rows: Sequence[Row]

    @property
    def head(self) -> list[str]:
        """The headings."""
        return list(self.rows[0])

    @property
    def cells(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [[shown(row.get(name, "")) for name in self.head] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Beside:
    """A published figure and the one found here.

    Attributes:
        what: is measured.
        published: the figure of the paper.
        found: the figure of this run.
        why: what differs between the two, and why.
    """

    what: str
    published: str
    found: str
    why: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart of altair, and what it shows in a sentence."""

    name: str
    words: str
    chart: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment found.

    Attributes:
        data: the records that it was computed on, in words.
        beside: published figures and those found.
        tables: all that was found.
        pictures: of it.
        notes: what was left out, and why.
        figures: what the tables were made of, for programs; not shown.
    """

    data: str
    beside: Sequence[Beside]
    tables: Sequence[Table]
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        """The outcome as JSON shows it: without pictures."""
        return {
            "data": self.data,
            "beside": [
                {"what": b.what, "published": b.published, "found": b.found, "why": b.why}
                for b in self.beside
            ],
            "tables": [
                {"title": table.title, "rows": [dict(row) for row in table.rows]}
                for table in self.tables
            ],
            "notes": [*self.notes],
            "figures": dict(self.figures),
        }


def shown(value: Any) -> str:
    """A cell as it is read."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
