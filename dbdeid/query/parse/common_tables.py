"""The tables that a query is built from, each written once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.engine.relation import Relation


@dataclass
class CommonTables:
    """Common table expressions in the order in which they need each other.

    Attributes:
        taken: names in lower case that stand for tables of the database.
    """

    taken: frozenset[str]
    _names: dict[Hashable, str] = field(default_factory=dict)
    _found: dict[str, exp.Expr] = field(default_factory=dict)

    @classmethod
    def beside(cls, relations: Iterable[Relation]) -> CommonTables:
        """Tables named apart from those of the database."""
        return cls(frozenset(relation.name.lower() for relation in relations))

    def named(self, stem: str, of: Hashable, query: Callable[[], exp.Expr]) -> Relation:
        """The table that holds a query's rows, under that name or one like it.

        Args:
            stem: what it is called.
            of: what it depends on: tables of equal stem and equal `of` are one.
            query: makes it, where it is new.
        """
        known = self._names.get((stem, of))
        if known is None:
            made = query()  # which may need, and so name, others before it
            known, number = stem, 1
            while known.lower() in self.taken or known in self._found:
                number += 1
                known = f"{stem}_of_{number}"
            self._names[stem, of] = known
            self._found[known] = made
        return Relation(known)

    def before(self, query: exp.Select) -> exp.Select:
        """The query with all tables."""
        for name, table in self._found.items():
            query = query.with_(identifier(name), as_=table, copy=False)
        return query
