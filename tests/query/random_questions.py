"""Random queries of the supported grammar over a random release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from combined import COMBINED
from question_pieces import Aggregate, Item, Join, Order, Query, Scalar, Term
from random_releases import Attribute, RandomRelease, at

FAMILIES = ("number", "date", "moment", "text", "truth")
NUMBERS = ("INTEGER", "BIGINT", "SMALLINT", "DOUBLE", "DECIMAL(6,2)")


class Questioner:
    """Draws queries over one release."""

    def __init__(self, release: RandomRelease, random: Random) -> None:
        self.release, self.random = release, random
        self.extra: dict[str, str] = {}
        self.computed: tuple[tuple[str, Scalar], ...] = ()

    def query(self) -> Query:
        """A query."""
        random = self.random
        self.extra, self.computed = {}, ()
        layers = ["cte", "subquery", "chain", "shadow"]
        style = random.choice([*["plain"] * 5, "alias", "qualified", *layers, "distinct"])
        renamed: tuple[tuple[str, str], ...] = ()
        inner: Scalar | None = None
        if style in layers:
            inner = self.condition(1) if random.random() < 0.6 else None
            chosen = [a.name for a in self.release.attributes if random.random() < 0.3]
            renamed = tuple((name, f"{name}_x") for name in chosen)
            if random.random() < 0.3:
                self.computed = (("made", self.key()),)
        elif style == "distinct":
            inner = self.condition(1) if random.random() < 0.4 else None
        joins = () if style == "distinct" else tuple(self._joins(dict(renamed)))
        keys = tuple(dict.fromkeys(self.key() for _ in range(random.choice([0, 1, 1, 1, 2, 2]))))
        aggregates = tuple(
            dict.fromkeys(self.aggregate() for _ in range(random.choice([1, 1, 2, 3])))
        )
        shown_keys = [Item(i, True, self._alias(f"k{i}")) for i in range(len(keys))]
        if shown_keys and random.random() < 0.05:
            shown_keys.pop()
        told = len(shown_keys) == len(keys)  # else a row fits several groups
        shown = [self._shown(i, aggregates, combined=told) for i in range(len(aggregates))]
        if len(shown) > 1 and random.random() < 0.15:
            shown.pop()  # it is then only in HAVING or ORDER BY
        items = [*shown_keys, *shown]
        if random.random() < 0.2:
            random.shuffle(items)
        texts = [(i.is_key, i.place, i.shown) for i in items]
        assert len(set(texts)) == len(texts)
        spellings = ["expression", "expression", "alias", "place"]
        if len(shown_keys) == len(keys):
            spellings.append("all")
        query = Query(
            keys,
            aggregates,
            tuple(items),
            self.condition(2) if random.random() < 0.65 else None,
            inner,
            joins,
            style=style,
            renamed=renamed,
            computed=self.computed,
            spelled=random.choice(spellings),
            joined_inside=bool(joins) and style in layers and random.random() < 0.4,
            loud=random.random() < 0.1,
        )
        return self._of_groups(query)

    def _of_groups(self, query: Query) -> Query:
        random = self.random
        having = [self._having(query) for _ in range(random.choice([0, 0, 0, 1, 2]))]
        order: tuple[Order, ...] = ()
        limit = None
        if query.keys and random.random() < 0.35:
            order = tuple(self._ordered(query) for _ in range(random.randint(1, 2)))
            limit = random.choice([None, 0, 1, 2, 3])
        any_of = random.random() < 0.5
        terms = tuple(term for term in having if term is not None)
        asked = [thing.place for thing in (*query.items, *terms, *order) if not thing.is_key]
        asked += [item.other for item in query.items if item.other is not None]
        return replace(
            query,
            aggregates=query.aggregates[: max(asked) + 1],  # the last may be asked for nowhere
            having=terms,
            any_of=any_of,
            order=order,
            limit=limit,
        )

    def _alias(self, name: str) -> str | None:
        return name if self.random.random() < 0.85 else None

    def _shown(self, place: int, aggregates: Sequence[Aggregate], *, combined: bool) -> Item:
        alias = self._alias(f"a{place}")
        numbers = [i for i, one in enumerate(aggregates) if one.is_number]
        if combined and place in numbers and self.random.random() < 0.25:
            shown, other = self.random.choice(COMBINED), self.random.choice(numbers)
            return Item(place, False, alias, shown, other if "{w}" in shown else None)
        if place in numbers and self.random.random() < 0.2:
            shown = self.random.choice(SHOWN)
            if not (shown == TO_INTEGER and self._of_decimals(aggregates[place])):
                return Item(place, False, alias, shown)
        return Item(place, False, alias)

    def _of_decimals(self, aggregate: Aggregate) -> bool:
        """DuckDB rounds a decimal half away from zero, and a double half to even.

        Sums of decimals are answered as doubles, so that halves may be cast to another integer.
        """
        names = aggregate.argument.names if aggregate.argument is not None else set()
        names = names.union(*(s.names for n, s in self.computed if n in names))
        types = {a.name: a.type for a in self.release.attributes}
        return any(types.get(name, "").startswith("DECIMAL") for name in names)

    def _having(self, query: Query) -> Term | None:
        random = self.random
        if query.keys and random.random() < 0.3:
            place = random.randrange(len(query.keys))
            if query.keys[place].family == "number" and random.random() < 0.7:
                return Term(place, True, random.choice(SIGNS), random.choice([0.5, 1, 3, 2023]))
            return Term(place, True, random.choice(["IS NULL", "IS NOT NULL"]))
        place = random.randrange(len(query.aggregates))
        aggregate = query.aggregates[place]
        counted = aggregate.kind in ("count", "distinct")
        if not counted and (aggregate.argument is None or aggregate.argument.family != "number"):
            return Term(place, False, "IS NOT NULL")
        constant = random.choice([0.13, 0.71, 1.37, 3.19, 7.77])
        times, spelled = random.choice([1, 1, 2, -2]), random.choice(["expression", "alias"])
        return Term(place, False, random.choice(SIGNS), constant, times, spelled)

    def _ordered(self, query: Query) -> Order:
        random = self.random
        is_key = random.random() < 0.5
        place = random.randrange(len(query.keys if is_key else query.aggregates))
        nulls = random.choice(["", "", " NULLS FIRST", " NULLS LAST"])
        spelled = random.choice(["alias", "place", "expression"])
        return Order(place, is_key, random.random() < 0.5, nulls, spelled)

    def _joins(self, renamed: Mapping[str, str]) -> Sequence[Join]:
        found = []
        for table in self.release.tables:
            if self.random.random() > 0.15:
                continue
            on = tuple((key.removesuffix("_code"), key) for key in table.key)
            same = all(mine == theirs and mine not in renamed for mine, theirs in on)
            using = same and not found and self.random.random() < 0.4
            outer = self.random.random() < 0.4
            alias = table.name[0]
            found.append(Join(table, alias, on, outer, using))
            self.extra |= {
                c: "number" if kind == "INTEGER" else "text"
                for c, kind in table.columns.items()
                if c not in table.key
            }
        return found

    # -- expressions -------------------------------------------------------------------------

    def _names(self, *families: str) -> list[str]:
        found = [a.name for a in self.release.attributes if family(a) in families]
        found += [name for name, kind in self.extra.items() if kind in families]
        return found + [name for name, scalar in self.computed if scalar.family in families]

    def _family(self, name: str) -> str:
        return next(kind for kind in FAMILIES if name in self._names(kind))

    def _in_intervals(self, name: str) -> bool:
        attribute = next((a for a in self.release.attributes if a.name == name), None)
        meanings = (attribute and attribute.meanings) or {}
        return any(m.interval is not None for m in meanings.values())

    def _moving(self, name: str) -> bool:
        """Whether the name may stand for an interval of a continuous column."""
        computed = dict(self.computed).get(name)
        names = {name} if computed is None else computed.names
        return any(self._in_intervals(n) for n in names)

    def _is_enum(self, name: str) -> bool:
        attribute = next((a for a in self.release.attributes if a.name == name), None)
        return attribute is not None and attribute.type.startswith("ENUM")

    def _constant(self, name: str) -> str:
        attribute = next((a for a in self.release.attributes if a.name == name), None)
        if attribute is None:
            kind = self.extra.get(name) or dict(self.computed)[name].family
            return {"number": "2", "text": "'north'", "truth": "true"}.get(kind, "NULL")
        if attribute.continuous:
            value = at(attribute.type, 2 * self.random.randint(-1, 9))
        elif attribute.type in NUMBERS:
            value = self.random.choice(attribute.domain) + self.random.choice([0, 0, 1, -1])
        else:
            value = self.random.choice(attribute.domain)
        return literal(value)

    def condition(self, depth: int) -> Scalar:
        """A condition on a record."""
        draw = self.random.random()
        if depth == 0 or draw < 0.4:
            return Scalar(self._atom(), "truth")
        if draw < 0.5:
            return Scalar(f"NOT ({self.condition(depth - 1).text})", "truth")
        word = " AND " if draw < 0.75 else " OR "
        parts = [f"({self.condition(depth - 1).text})" for _ in range(self.random.randint(2, 3))]
        return Scalar(word.join(parts), "truth")

    def _atom(self) -> str:
        random = self.random
        kind = random.choice(["number", "number", "date", "moment", "text", "truth"])
        names = self._names(kind) or self._names(*FAMILIES)
        name = random.choice(names)
        kind = next(
            k for k in ("number", "date", "moment", "text", "truth") if name in self._names(k)
        )
        one, two = sorted((self._constant(name), self._constant(name)))
        c = "{" + name + "}"
        general = [
            lambda: f"{c} {random.choice(SIGNS)} {one}",
            lambda: f"{c} {random.choice(SIGNS)} {one}",
            lambda: f"{one} {random.choice(SIGNS)} {c}",
            lambda: f"{c} BETWEEN {one} AND {two}",
            lambda: f"{c} NOT BETWEEN {one} AND {two}",
            lambda: f"{c} IN ({one}, {two})",
            lambda: f"{c} NOT IN ({one}, {two})",
            lambda: f"{c} IS NULL",
            lambda: f"{c} IS NOT NULL",
            lambda: f"{c} IS DISTINCT FROM {one}",
        ]
        if self._is_enum(name) and random.random() < 0.85:  # members have no order here
            return random.choice(general[5:])()
        if random.random() < (0.95 if self._moving(name) else 0.75):
            return random.choice(general)()
        return self._special(kind, name, c)

    def _special(self, kind: str, name: str, c: str) -> str:
        random = self.random
        one = self._constant(name)
        if kind == "truth":
            return random.choice([c, f"NOT {c}", f"{c} = true"])
        if kind == "text":
            return random.choice(
                [
                    f"{c} LIKE 'S%'",
                    f"{c} LIKE '%a%'",
                    f"{c} NOT LIKE '_e%'",
                    f"lower({c}) = 'sales'",
                    f"length({c}) > 4",
                    f"{c} || 'x' <> 'x'",
                ]
            )
        if kind == "date":
            return random.choice(
                [
                    f"year({c}) = 2024",
                    f"month({c}) IN (12, 2)",
                    f"date_trunc('month', {c}) = DATE '2023-12-01'",
                    f"extract(day FROM {c}) < 3",
                    f"{c} < '2024-01-01'",
                    f"coalesce({c}, DATE '2023-12-31') <= DATE '2023-12-31'",
                ]
            )
        if kind == "moment":
            return random.choice(
                [
                    f"CAST({c} AS DATE) = DATE '2023-12-31'",
                    f"year({c}) = 2024",
                    f"{c} < DATE '2024-01-01'",
                    f"date_trunc('day', {c}) > TIMESTAMP '2023-12-30'",
                ]
            )
        whole = [n for n in self._names("number") if not self._moving(n) and n != name]
        others = ["{" + n + "}" for n in whole] or [one]
        found = [
            f"{c} + 1 > {one}",
            f"2 * {c} <= 5",
            f"floor({c} / 2) = 1",
            f"-{c} < -2",
            f"CASE WHEN {c} > {one} THEN 1 ELSE 0 END = 1",
            f"coalesce({c}, 0) < {one}",
            f"{c} < {random.choice(others)}",
            f"{c} + 1 >= {random.choice(others)}",
        ]
        if not self._moving(name):
            found += [f"{c} % 2 = 1", f"abs({c} - 3) < 2"]
        return random.choice(found)

    def key(self) -> Scalar:
        """Something to group by: constant between the marks that cut continuous columns."""
        random = self.random
        name = random.choice(self._names(*FAMILIES))
        kind = self._family(name)
        c = "{" + name + "}"
        one = self._constant(name)
        if random.random() < 0.08:
            return self.condition(1)
        parts: list[tuple[str, str]] = [
            (f"CASE WHEN {c} < {one} THEN 'low' ELSE 'high' END", "text"),
            (f"CASE WHEN {c} >= {one} THEN 'high' WHEN {c} IS NULL THEN 'none' END", "text"),
            (f"{c} >= {one}", "truth"),
            (f"{c} IS NULL", "truth"),
        ]
        if self._is_enum(name):
            parts = [(f"{c} IS NULL", "truth")]
        if not self._moving(name):
            parts += [(c, kind)] * 6
        if self._moving(name) and random.random() < 0.8:
            return Scalar(*random.choice(parts))
        more = {
            "number": [
                (f"floor({c} / 5) * 5", "number"),
                (f"floor({c})", "number"),
                (f"CAST(floor({c} / 2) AS INTEGER)", "number"),
            ],
            "date": [
                (f"year({c})", "number"),
                (f"month({c})", "number"),
                (f"date_trunc('month', {c})", "moment"),
                (f"extract(quarter FROM {c})", "number"),
            ],
            "moment": [(f"CAST({c} AS DATE)", "date"), (f"year({c})", "number")],
            "text": [
                (f"upper({c})", "text"),
                (f"left({c}, 1)", "text"),
                (f"coalesce({c}, 'none')", "text"),
                (f"length({c})", "number"),
            ],
            "truth": [(f"NOT {c}", "truth")],
        }[kind]
        if kind == "number" and not self._moving(name):
            more += [(f"{c} // 3", "number"), (f"{c} % 2", "number")]
        return Scalar(*random.choice([*parts, *more]))

    def aggregate(self) -> Aggregate:
        """An aggregate."""
        random = self.random
        condition = self.condition(1) if random.random() < 0.15 else None
        kind = random.choice(
            ["count", "count", "sum", "sum", "avg", "avg", "min", "max", "distinct"]
        )
        if kind == "count" and random.random() < 0.6:
            return Aggregate("count", None, condition)
        if random.random() < 0.04:
            return Aggregate(kind, Scalar("2", "number"), condition)
        if kind == "sum" and random.random() < 0.1:
            return Aggregate("sum", self.condition(1), condition, random.random() < 0.5)
        if kind in ("sum", "avg") or random.random() < 0.5:
            argument = self.number()
        else:
            argument = self._value()
        if argument is None or (kind == "distinct" and any(map(self._moving, argument.names))):
            return Aggregate("count", None, condition)
        return Aggregate(kind, argument, condition)

    def _value(self) -> Scalar:
        name = self.random.choice(self._names(*FAMILIES))
        kind = self._family(name)
        if kind == "date" and self.random.random() < 0.3:
            return Scalar("{" + name + "} + 1", kind)
        return Scalar("{" + name + "}", kind)

    def number(self) -> Scalar | None:
        """A numeric argument, linear in a continuous column between the marks."""
        random = self.random
        names = self._names("number")
        if not names or random.random() < 0.1:
            lengths = [f"length({{{n}}})" for n in self._names("text")]
            lengths += [f"year({{{n}}})" for n in self._names("date", "moment")]
            lengths += [f"CAST({{{n}}} AS INTEGER)" for n in self._names("truth")]
            lengths += [f"{{{n}}} - DATE '2024-01-01'" for n in self._names("date")]
            lengths += [
                f"date_diff('day', DATE '2024-01-01', {{{n}}})" for n in self._names("date")
            ]
            return Scalar(random.choice(lengths), "number") if lengths else None
        name = random.choice(names)
        c = "{" + name + "}"
        if random.random() < (0.85 if self._moving(name) else 0.5):
            return Scalar(c, "number")
        whole = [n for n in names if not self._moving(n)]
        other = "{" + random.choice(whole) + "}" if whole else "3"
        if name in whole and len(names) > 1:
            other = "{" + random.choice([n for n in names if n != name]) + "}"
        condition = self.condition(1).text
        found = [
            f"{c} * 2",
            f"{c} + {other}",
            f"{c} * {other}",
            f"{c} - 1",
            f"-{c}",
            f"coalesce({c}, 0)",
            f"CASE WHEN {condition} THEN {c} ELSE 0 END",
            f"CASE WHEN {condition} THEN {c} END",
            f"CASE WHEN {condition} THEN 1 ELSE 0 END",
            f"if({condition}, {c}, {other})",
            f"nullif({c}, 2)",
            f"greatest({c}, 2)",
            f"{c} / 2",
            f"CAST({c} AS DOUBLE)",
        ]
        if not self._moving(name):
            found += [f"abs({c} - 4)", f"{c} // 2", f"{c} % 3", f"round({c} / 3, 1)"]
        return Scalar(random.choice(found), "number")


SIGNS = ["=", "<>", "<", "<=", ">", ">="]
TO_INTEGER = "CAST({v} AS INTEGER)"
SHOWN = [
    "ROUND({v}, 1)",
    "100 * {v}",
    "-{v}",
    "{v} / 2 + 1",
    "CAST({v} AS DOUBLE)",
    TO_INTEGER,
    "FLOOR({v})",
    "CEIL({v} * 2)",
    "ROUND(100 * {v} / 7, 1)",
    "10 - {v}",
    "({v} + 1) * -3",
    "TRUNC({v} / 2)",
    "EXP({v} / 1000)",
    "POWER({v}, 3)",
]


def family(attribute: Attribute) -> str:
    """What kind of value a column holds."""
    if attribute.type in NUMBERS:
        return "number"
    kinds = {"DATE": "date", "TIMESTAMP": "moment", "BOOLEAN": "truth"}
    return kinds.get(attribute.type, "text")


def literal(value: Any) -> str:
    """A constant in SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'"
    name = {"date": "DATE", "datetime": "TIMESTAMP"}.get(type(value).__name__)
    return f"{name} '{value}'" if name else str(value)
