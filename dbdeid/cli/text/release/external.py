"""Print a release that was made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdeid.cli.text.layout import grid


def checked(found: Mapping[str, Any]) -> str:
    """A checked spec of a release made elsewhere in a few lines."""
    risk, rows = found["risk"], found["source_rows"]
    of = "" if rows is None else f" of {rows:,}"
    lines = [
        f"{found['release']}, made elsewhere: the spec fits its table ({found['released_rows']:,}"
        f"{of} records)",
        f"  as it is: k = {risk['k']}, {risk['unique_records']:,} unique records, "
        f"{risk['records_at_risk']:,} at risk (NULL: {risk['null_policy']})",
        grid(("column", "role", "type", "values"), [_row(c) for c in found["columns"]]),
    ]
    return "\n".join([*lines, *(f"  note: {text}" for text in found["warnings"])])


def _row(column: Mapping[str, Any]) -> tuple[str, str, str, str]:
    values = ""
    if column["values"] is not None:
        values = f"{column['values']} values, explained by {column['explained_by']}"
    if column["without_meaning"]:
        values += f"; {column['without_meaning']} without one meaning"
    if column["not_listed"]:
        values += f"; {column['not_listed']} stand for what is not listed"
    return column["name"], column["role"], column["type"], values
