"""The tables that a query is built from, each written once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.engine.relation import Relation

Q = TypeVar("Q", bound=exp.Query)

# Keeps the rows of a query beyond one question, by what it depends on; None where it does not.
Keep: TypeAlias = "Callable[[Hashable, Callable[[CommonTables], exp.Query]], Relation | None]"


@dataclass
class CommonTables:
    """Common table expressions in the order in which they need each other.

    Attributes:
        taken: names in lower case that stand for tables of the database.
        keep: where tables of the dictionary alone are kept for other questions.
        within: the question that they are of, where a query answers several.
    """

    taken: frozenset[str]
    keep: Keep | None = None
    within: Hashable = None
    _names: dict[Hashable, str] = field(default_factory=dict)
    _found: dict[str, exp.Expr] = field(default_factory=dict)

    @classmethod
    def beside(cls, relations: Iterable[Relation], keep: Keep | None = None) -> CommonTables:
        """Tables named apart from those of the database."""
        return cls(frozenset(relation.name.lower() for relation in relations), keep)

    def apart(self, question: Hashable) -> CommonTables:
        """The same tables for another question of the query, whose own are none of this one's."""
        return replace(self, within=(self.within, question))

    def named(self, stem: str, of: Hashable, query: Callable[[], exp.Expr]) -> Relation:
        """The table that holds a query's rows, under that name or one like it.

        Args:
            stem: what it is called.
            of: what it depends on: tables of equal stem and equal `of` are one.
            query: makes it, where it is new.
        """
        known = self._names.get((self.within, stem, of))
        if known is None:
            made = query()  # which may need, and so name, others before it
            known, number = stem, 1
            while known.lower() in self.taken or known in self._found:
                number += 1
                known = f"{stem}_of_{number}"
            self._names[self.within, stem, of] = known
            self._found[known] = made
        return Relation(known)

    def kept(self, stem: str, of: Hashable, query: Callable[[CommonTables], exp.Query]) -> Relation:
        """As `named`, of a query of the dictionary alone: its rows may be there already.

        Args:
            stem: what it is called.
            of: what it depends on beside the dictionary.
            query: makes it of the tables that it names in the given ones.
        """
        there = self.keep((stem, of), query) if self.keep is not None else None
        return self.named(stem, of, lambda: query(self)) if there is None else there

    def before(self, query: Q) -> Q:
        """The query with all tables."""
        for name, table in self._found.items():
            query = query.with_(identifier(name), as_=table, copy=False)
        return query
