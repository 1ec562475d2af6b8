"""What placeholders stand for, and what is computed from them once for several places.

The arithmetic of intervals names an end of an operand in several places. Of quotients of quotients
each would repeat the text of all below it, so that a question of some lines became a megabyte.
Where an expression is long, it is a column of a step before, and its name stands in these places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.relation import Relation
from dbdeid.query.groups.intervals import Interval

LONG = 100  # nodes: less than a share of two counts has
STEP = "step"  # the name of a table that a step computes, or the start of it

# Names the table that holds the rows of a query.
Named: TypeAlias = Callable[[exp.Select], Relation]


@dataclass(frozen=True)
class Held(Mapping[str, Interval]):
    """The interval of each placeholder, and the steps in which others are computed from them."""

    _of: Mapping[str, Interval]
    _found: dict[exp.Expr, Interval] = field(default_factory=dict)
    _names: dict[exp.Expr, str] = field(default_factory=dict)
    _steps: list[dict[str, exp.Expr]] = field(default_factory=list)

    def __getitem__(self, name: str) -> Interval:
        return self._of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def computed(self, node: exp.Expr, made: Callable[[], Interval]) -> Interval:
        """The interval of an expression of placeholders, made unless it is known."""
        if node not in self._found:
            self._found[node.copy()] = self.ends(made())
        return self._found[node]

    def ends(self, one: Interval) -> Interval:
        """An interval of which no end is long."""
        value, lower, upper = map(self.once, (one.value, one.lower, one.upper))
        return replace(one, value=value, lower=lower, upper=upper)

    def once(self, node: exp.Expr) -> exp.Expr:
        """An expression over the tables of the groups; where it is long, the column that holds it.

        A constant stays what it is: arithmetic looks at its value.
        """
        long = next(islice(node.walk(), LONG, None), None) is not None
        if not long or node.find(exp.Column) is None:
            return node
        if node not in self._names:
            names = (c.name for c in node.find_all(exp.Column) if c.table == STEP)
            depth = 1 + max((_depth(name) for name in names), default=-1)
            if depth == len(self._steps):
                self._steps.append({})
            name = f"step_{depth}_{len(self._steps[depth])}"
            kept = node.copy()
            self._steps[depth][name], self._names[kept] = kept, name
        return column(self._names[node], STEP)

    def before(self, select: exp.Select, named: Named) -> exp.Select:
        """A query of groups whose expressions name what steps compute, on these steps.

        Args:
            select: the query, on the tables that hold the groups.
            named: names the table of a step.
        """
        if not self._steps:
            return select
        held: dict[str, exp.Expr] = {}

        def moved(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.table == STEP:
                return node
            name = f"{node.table}_{node.name}"
            held.setdefault(name, node.copy())
            return column(name, STEP)

        def over_step(node: exp.Expr) -> exp.Expr:
            return node.transform(moved)

        levels = [{name: over_step(n) for name, n in level.items()} for level in self._steps]
        outer = select.copy()
        for clause in ("from_", "joins"):
            outer.set(clause, None)
        shown = [node if node.alias else _named(node, node.name) for node in outer.expressions]
        outer.set("expressions", list(map(over_step, shown)))
        for clause in ("where", "order"):
            if (node := outer.args.get(clause)) is not None:
                outer.set(clause, over_step(node))
        below = exp.select(*(_named(n, name) for name, n in held.items()), copy=False)
        for clause in ("from_", "joins"):
            below.set(clause, select.args.get(clause))
        for level in levels:
            computed = [_named(n, name) for name, n in level.items()]
            below = _over(exp.select(exp.Star(), *computed, copy=False), named(below))
        return _over(outer, named(below))


def _named(node: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=node, alias=identifier(name))


def _over(select: exp.Select, step: Relation) -> exp.Select:
    table = step.table
    table.set("alias", exp.TableAlias(this=identifier(STEP)))
    return select.from_(table, copy=False)


def _depth(name: str) -> int:
    """In which step a column is computed."""
    return int(name.split("_")[1])
