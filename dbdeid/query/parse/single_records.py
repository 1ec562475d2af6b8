"""Lists of single records, which a release of generalized columns does not give."""

from __future__ import annotations

from sqlglot import exp

from dbdeid.query.parse.aliases import Item, has_aggregate, read_item
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import Scope, refused

_OF_RECORDS = (
    "ask for groups, as SELECT x, COUNT(*) … GROUP BY x; or read the released table itself by its "
    "name, with any client, in place of asking for the source"
)


def refuse_records(select: exp.Select, scope: Scope, target: Answerable) -> None:
    """Refuse a query that lists single records; errors about unreleased columns come first.

    Raises:
        DataError: it is one.
    """
    if any(select.args.get(clause) for clause in ("group", "distinct", "having", "qualify")):
        return
    plain = [node for node in select.expressions if not node.is_star]
    if any(has_aggregate(node) for node in plain):
        return
    items: list[Item] = []
    for node in plain:
        items.append(read_item(node, items, scope, "SELECT"))
    named = {
        c.name for i in items for c in scope.scalar(i.expression, "SELECT").find_all(exp.Column)
    }
    if len(plain) == len(select.expressions) and not named:
        return
    whole = len(plain) < len(select.expressions)
    spread = [name for name in target.quasi_identifiers if whole or name in named]
    why = f"; {', '.join(spread)} may be generalized" if spread and target.told else ""
    raise refused(f"single records are not listed{why}", _OF_RECORDS)
