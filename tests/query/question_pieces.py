"""A query in pieces, so that it can be written in several ways.

A query is kept in pieces: its scalar expressions are templates over column names (`{age} + 1`), so
that the same query can be written as an analyst would write it (with aliases, CTEs and
subqueries), and flat, for a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Formatter

from random_releases import OrdinaryTable, RandomRelease


@dataclass(frozen=True)
class Scalar:
    """An expression of one record: a template, and number, date, moment, text or truth."""

    text: str
    family: str

    @property
    def names(self) -> set[str]:
        """The names it uses."""
        return {name for _, name, _, _ in Formatter().parse(self.text) if name}

    def written(self, names: Mapping[str, str]) -> str:
        """The expression over other names."""
        return self.text.format_map(names)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: count, sum, avg, min, max or distinct; `count` may lack an argument.

    A sum of truths may be written as COUNT_IF, which also is NULL where none is known.
    """

    kind: str
    argument: Scalar | None = None
    condition: Scalar | None = None
    counts_if: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number, whatever it is of."""
        of_number = self.argument is not None and self.argument.family == "number"
        return self.kind not in ("min", "max") or of_number

    def written(self, names: Mapping[str, str]) -> str:
        """The aggregate in SQL."""
        inner = "*" if self.argument is None else self.argument.written(names)
        text = f"COUNT(DISTINCT {inner})" if self.kind == "distinct" else f"{self.kind}({inner})"
        if self.counts_if:
            text = f"COUNT_IF({inner})"
        if self.condition is not None:
            text += f" FILTER (WHERE {self.condition.written(names)})"
        return text


@dataclass(frozen=True)
class Item:
    """One term of SELECT: a key or an aggregate by its place, and what is shown of it.

    `other`: the place of a second aggregate, which is shown together with the first.
    """

    place: int
    is_key: bool
    alias: str | None = None
    shown: str = "{v}"
    other: int | None = None


@dataclass(frozen=True)
class Join:
    """A join: the table, its alias, pairs (column of the source, column of the table)."""

    table: OrdinaryTable
    alias: str
    on: tuple[tuple[str, str], ...]
    outer: bool
    using: bool


@dataclass(frozen=True)
class Term:
    """A condition on a group: a key or an aggregate (so many times), a comparison, a constant."""

    place: int
    is_key: bool
    sign: str
    constant: float | None = None
    times: int = 1
    spelled: str = "expression"


@dataclass(frozen=True)
class Order:
    """A term of ORDER BY, written by alias, place or expression."""

    place: int
    is_key: bool
    descending: bool
    nulls: str
    spelled: str


@dataclass(frozen=True)
class Query:
    """A query in pieces.

    Attributes:
        style: plain, qualified, alias, cte, subquery, chain, shadow or distinct (a subquery of the
            different records): where the source stands.
        joined_inside: whether tables are joined in the CTE or subquery.
        loud: whether columns are written in capitals.
        renamed: what a CTE or subquery calls columns of the source.
        computed: columns that a CTE or subquery computes.
        inner: the condition inside of it.
        any_of: whether one condition of HAVING is enough.
        spelled: how GROUP BY names keys: expression, alias, place or all.
    """

    keys: tuple[Scalar, ...]
    aggregates: tuple[Aggregate, ...]
    items: tuple[Item, ...]
    where: Scalar | None = None
    inner: Scalar | None = None
    joins: tuple[Join, ...] = ()
    having: tuple[Term, ...] = ()
    any_of: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    style: str = "plain"
    joined_inside: bool = False
    loud: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    computed: tuple[tuple[str, Scalar], ...] = ()
    spelled: str = "expression"

    @property
    def layered(self) -> bool:
        """Whether the source stands in a CTE or subquery."""
        return self.style not in ("plain", "qualified", "alias")

    @property
    def hides_keys(self) -> bool:
        """Whether some keys are not selected, so that groups cannot be told apart."""
        return sum(item.is_key for item in self.items) < len(self.keys)

    @property
    def unlimited(self) -> Query:
        """The same query of all groups."""
        return replace(self, having=(), order=(), limit=None)

    @property
    def used(self) -> set[str]:
        """The columns of the source that it uses."""
        return self._named | {mine for join in self.joins for mine, _ in join.on}

    @property
    def needed(self) -> set[str]:
        """The columns of the source whose values its answer depends on.

        A LEFT JOIN of a table whose compared columns are unique keeps every record once, so that
        what it compares does not matter where nothing of that table is named.
        """
        names, compared = self._named, set[str]()
        for join in self.joins:
            if not join.outer or names & (set(join.table.columns) - set(join.table.key)):
                compared |= {mine for mine, _ in join.on}
        return names | compared

    @property
    def _named(self) -> set[str]:
        """The columns that its keys, conditions and aggregates name."""
        scalars = [*self.keys, self.where, self.inner]
        scalars += [s for a in self.aggregates for s in (a.argument, a.condition)]
        names = set().union(*(s.names for s in scalars if s is not None))
        for name, scalar in self.computed:
            names |= scalar.names if name in names else set()
        return names

    # -- as the analyst writes it ------------------------------------------------------------

    def names(self, release: RandomRelease) -> dict[str, str]:
        """What the outermost SELECT calls every column."""
        qualifier = {"alias": "p", "shadow": "people"}.get(self.style, "c" if self.layered else "")
        qualifier = qualifier or ("people" if self.joins else "")
        prefix = f"{qualifier}." if qualifier else ""
        renamed = dict(self.renamed)
        found = {a.name: prefix + renamed.get(a.name, a.name) for a in release.attributes}
        found |= {name: prefix + name for name, _ in self.computed}
        for join in self.joins:
            own = prefix if self.joined_inside else f"{join.alias}."
            found |= {c: own + c for c in join.table.columns if c not in join.table.key}
        return {n: text.upper() for n, text in found.items()} if self.loud else found

    def text(self, release: RandomRelease) -> str:
        """The query as the analyst writes it."""
        names = self.names(release)
        parts = [self._with(release), "SELECT", ", ".join(self._item(i, names) for i in self.items)]
        parts += ["FROM", self._from(release)]
        if not self.joined_inside:
            parts += [self._join(join, names) for join in self.joins]
        if self.where is not None:
            parts += ["WHERE", self.where.written(names)]
        if self.keys:
            parts += ["GROUP BY", self._grouped(names)]
        if self.having:
            terms = [self._term(term, names) for term in self.having]
            parts += ["HAVING", (" OR " if self.any_of else " AND ").join(terms)]
        if self.order:
            parts += ["ORDER BY", ", ".join(self._order(o, names) for o in self.order)]
        if self.limit is not None:
            parts += [f"LIMIT {self.limit}"]
        return " ".join(part for part in parts if part)

    def _layer(self, release: RandomRelease, source: str) -> str:
        renamed = dict(self.renamed)
        joins = self.joins if self.joined_inside else ()
        prefix = f"{source}." if joins else ""
        own = {a.name: prefix + a.name for a in release.attributes}
        listed = [f"{t} AS {renamed[c]}" if c in renamed else t for c, t in own.items()]
        listed += [f"{scalar.written(own)} AS {name}" for name, scalar in self.computed]
        if self.style == "distinct":
            listed = [name for name in own if name in self._named] or [next(iter(own))]
            where = "" if self.inner is None else f" WHERE {self.inner.written(own)}"
            return f"SELECT DISTINCT {', '.join(listed)} FROM {source}{where}"
        for join in joins:
            theirs = [c for c in join.table.columns if c not in join.table.key]
            listed += [f"{join.alias}.{c}" for c in theirs]
        plain = not self.renamed and not self.computed and not joins
        parts = [f"SELECT {'*' if plain else ', '.join(listed)} FROM {source}"]
        parts += [self._join(join, own) for join in joins]
        if self.inner is not None:
            parts.append(f"WHERE {self.inner.written(own)}")
        return " ".join(parts)

    def _with(self, release: RandomRelease) -> str:
        if self.style == "cte":
            return f"WITH c AS ({self._layer(release, 'people')})"
        if self.style == "shadow":
            return f"WITH people AS ({self._layer(release, 'people')})"
        if self.style == "chain":
            return f"WITH b AS (SELECT * FROM people), c AS ({self._layer(release, 'b')})"
        return ""

    def _from(self, release: RandomRelease) -> str:
        if self.style in ("subquery", "distinct"):
            return f"({self._layer(release, 'people')}) AS c"
        named = {"alias": "people AS p", "qualified": "main.people", "cte": "c", "chain": "c"}
        return named.get(self.style, "people")

    def _join(self, join: Join, names: Mapping[str, str]) -> str:
        kind = "LEFT JOIN" if join.outer else "JOIN"
        table = f"{join.table.name} AS {join.alias}"
        if join.using:
            return f"{kind} {table} USING ({', '.join(theirs for _, theirs in join.on)})"
        on = " AND ".join(f"{names[mine]} = {join.alias}.{theirs}" for mine, theirs in join.on)
        return f"{kind} {table} ON {on}"

    def _plain(self, place: int, is_key: bool, names: Mapping[str, str]) -> str:
        return (self.keys if is_key else self.aggregates)[place].written(names)

    def _item(self, item: Item, names: Mapping[str, str]) -> str:
        text = item.shown.replace("{v}", self._plain(item.place, item.is_key, names))
        if item.other is not None:
            text = text.replace("{w}", self._plain(item.other, False, names))
        return f"{text} AS {item.alias}" if item.alias else text

    def _grouped(self, names: Mapping[str, str]) -> str:
        if self.spelled == "all":
            return "ALL"
        return ", ".join(
            self._reference(i, True, self.spelled, names) for i in range(len(self.keys))
        )

    def _reference(self, place: int, is_key: bool, spelled: str, names: Mapping[str, str]) -> str:
        for position, item in enumerate(self.items, start=1):
            if (item.place, item.is_key, item.shown) == (place, is_key, "{v}"):
                if spelled == "place":
                    return str(position)
                if spelled == "alias" and item.alias:
                    return item.alias
        return self._plain(place, is_key, names)

    def _term(self, term: Term, names: Mapping[str, str]) -> str:
        text = self._reference(term.place, term.is_key, term.spelled, names)
        text = f"({text})" if term.times == 1 else f"{term.times} * ({text})"
        return f"{text} {term.sign}" + ("" if term.constant is None else f" {term.constant}")

    def _order(self, order: Order, names: Mapping[str, str]) -> str:
        text = self._reference(order.place, order.is_key, order.spelled, names)
        return f"{text}{' DESC' if order.descending else ''}{order.nulls}"

    # -- flat --------------------------------------------------------------------------------

    def flat(self, release: RandomRelease) -> tuple[dict[str, str], str, str]:
        """Names of all columns, joins, and condition, over one table `e` of records."""
        names = {a.name: f'e."{a.name}"' for a in release.attributes}
        names |= {name: f"({scalar.written(names)})" for name, scalar in self.computed}
        joins = []
        for join in self.joins:
            columns = join.table.columns
            names |= {c: f"{join.alias}.{c}" for c in columns if c not in join.table.key}
            on = " AND ".join(f"{names[mine]} = {join.alias}.{theirs}" for mine, theirs in join.on)
            joins.append(f"LEFT JOIN {join.table.name} AS {join.alias} ON {on}")
        passes = [s.written(names) for s in (self.where, self.inner) if s is not None]
        for join in self.joins:
            if not join.outer:
                passes += [f"{join.alias}.{theirs} IS NOT NULL" for _, theirs in join.on]
        return names, " ".join(joins), " AND ".join(f"({p})" for p in passes) or "true"
