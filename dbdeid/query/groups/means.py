"""Means of items, whose bounds are beyond what adding up in any order can round them to."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step


def rounded_items(items: Relation, keys: Sequence[str]) -> exp.Query:
    """The items with what adding up their ends may round, as `mean_of` reads them."""
    return _without_comments(step("query/rounded_items", {"items": items}, {"key": keys}))


def mean_of(
    items: Relation | exp.Query, keys: Sequence[str], *, rounded: bool = True, steps: bool = False
) -> exp.Query:
    """The mean of each group as a table of the keys with `estimate`, `lower` and `upper`.

    Args:
        items: as `rounded_items` gives them.
        keys: of the groups.
        rounded: whether the bounds are moved outwards by what adding up may round.
        steps: whether they are moved as well by what several divisions round, as of DECIMAL.
    """
    values = {"rounded": int(rounded), "steps": int(steps)}
    return _without_comments(step("query/avg", {"items": items}, {"key": keys}, values))


def _without_comments(query: exp.Query) -> exp.Query:
    for node in query.walk():
        node.pop_comments()
    return query
