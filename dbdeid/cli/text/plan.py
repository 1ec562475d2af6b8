"""What the command line says of a plan, and the model for dbt that goes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbdeid.commands.plan import DbtPlan


def planned(plan: DbtPlan) -> str:
    """Where the policy is, and what it does."""
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
    gate, names = plan.gate, list(plan.transformation)
    columns = ",\n".join(f"    {_column(c, names, policy)}" for c in plan.columns)
    diverse = f", l_diversity={_python(gate['l_diversity'])}" if "l_diversity" in gate else ""
    declared = ",\n".join(f"  {json.dumps(k)}: {_python(v)}" for k, v in gate.items())
    return (
        "{{ config(materialized='deid_release', meta={'deid': {\n"
        f"{declared}\n"
        "}}) }}\n\n"
        "WITH generalized AS (\n"
        f"  SELECT\n{columns}\n"
        f"  FROM {{{{ ref('{plan.source}') }}}}\n"
        ")\n\n"
        f"{{{{ deid.suppress('generalized', {_python(names)}, k={gate['k']}{diverse}) }}}}"
    )


def _column(name: str, quasi_identifiers: list[str], policy: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    shown = name if name.isidentifier() and name.isascii() else quoted
    if name not in quasi_identifiers:
        return shown
    return f"{{{{ deid.generalize({json.dumps(name)}, ref('{policy}')) }}}} AS {shown}"


def _python(value: Any) -> str:
    """A value as Jinja reads it: as JSON, but for true and false, which both know."""
    return json.dumps(value, ensure_ascii=False)
