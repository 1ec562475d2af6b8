"""A release as a place to ask questions that were written for its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.relation import Column, Relation


@dataclass(frozen=True)
class Answerable:
    """A release as a place to ask questions that were written for its source.

    Attributes:
        source_names: how a query may name the source: as the spec spells it; a file
            also by its stem.
        columns: the released columns whose values mean what they mean in the source, with their
            **source** types (no pseudonyms, no `_lower` and `_upper` companions).
        quasi_identifiers: those of them that may be generalized.
        release: the released table, with its columns.
        dictionary: its dictionary (column, released_value, level, lower, upper, leaves); None
            where released values stand for themselves.
        weight: the column of `release` with the probability that a record is real; None: all are.
        truthful: whether each released record is a generalized record of the source, so that
            bounds hold; not so where records are synthetic, masked or moved.
        told: whether names of columns may be told; those of a text file may be a row of data.
        tables: ordinary tables, with their columns, that a query may join the release with.
        places: dotted names of the source, in parts and lower case, that a query may use as well,
            and an error does not list.
        withheld: names of the source's columns that cannot be asked, in lower case, as far as they
            are known: a query means them by these names, not its own aliases.
    """

    source_names: tuple[str, ...]
    columns: tuple[Column, ...]
    quasi_identifiers: tuple[str, ...]
    release: Relation
    dictionary: Relation | None
    weight: str | None = None
    truthful: bool = True
    told: bool = True
    tables: tuple[Relation, ...] = ()
    places: frozenset[tuple[str, ...]] = frozenset()
    withheld: frozenset[str] = frozenset()

    def is_source(self, parts: Sequence[str]) -> bool:
        """Whether a table's dotted name is one of the source's, compared without case."""
        named = tuple(part.lower() for part in parts)
        return named in self.places or ".".join(named) in {n.lower() for n in self.source_names}

    def find(self, name: str) -> Column | None:
        """The answerable column of that name, compared without case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)
