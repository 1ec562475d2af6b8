"""Print a plan, and the dbt model that goes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbdeid.commands.plan import DbtPlan


def planned(plan: DbtPlan) -> str:
    """Format a plan: the file of the policy, its levels, loss and suppression."""
    return "\n".join(_lines(plan))


def _lines(plan: DbtPlan) -> Iterator[str]:
    levels = ", ".join(f"{name} {level}" for name, level in plan.transformation.items())
    yield f"{plan.release}: nothing was released; policy written to {plan.seed}"
    yield f"  levels       {levels}"
    yield f"  loss         {plan.loss:.4f}"
    yield f"  left out     {plan.suppressed_rows:,} of {plan.source_rows:,} records"
    yield from (f"  note: {text}" for text in plan.warnings)
    yield f"a model that applies it, as models/{plan.release}.sql:"


def model(plan: DbtPlan) -> str:
    """A model for dbt that makes the planned release of its source."""
    policy = plan.seed.stem if plan.seed else f"{plan.release}_policy"
    columns = ",\n".join(f"    {column}" for column in _columns(plan, policy))
    policy, source = _text(policy), _text(plan.source)
    gate = f"{{'policy': {policy}, 'source': {source}}}"
    return (
        f"{{{{ config(materialized='deid_release', meta={{'deid': {gate}}}) }}}}\n\n"
        "WITH generalized AS (\n"
        f"  SELECT\n{columns}\n"
        f"  FROM {{{{ ref({source}) }}}}\n"
        ")\n\n"
        f"{{{{ deid.suppress('generalized', ref({policy})) }}}}"
    )


def _columns(plan: DbtPlan, policy: str) -> Iterator[str]:
    promises = plan.promises
    for column in promises.columns:
        shown = _quoted(column.name)
        if column.name in plan.transformation:
            call = f"deid.generalize({json.dumps(column.name)}, ref({_text(policy)}))"
            yield f"{{{{ {call} }}}} AS {shown}"
        elif column.cast:
            yield f"CAST({shown} AS {{{{ type_string() }}}}) AS {shown}"
        else:
            yield shown
    if promises.subject is not None and promises.subject not in (c.name for c in promises.columns):
        yield f"{_quoted(promises.subject)}  -- counted, and not released"


def _text(name: str) -> str:
    """A name as a text of Jinja."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quoted(name: str) -> str:
    """A name as SQL has it, quoted where it must be."""
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
