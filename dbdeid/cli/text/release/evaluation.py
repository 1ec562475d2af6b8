"""What the command line says of the utility of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdeid.cli.text.layout import grid
from dbdeid.cli.text.queries import workload
from dbdeid.cli.text.release.models import compared

MOST_PAIRS = 5  # of columns whose association changed


def evaluated(found: Mapping[str, Any]) -> str:
    """The utility of a release."""
    metrics = found["metrics"]
    changed = sorted(
        (name for name in metrics if name.startswith("association.")), key=metrics.__getitem__
    )
    left_out = set(changed[:-MOST_PAIRS])
    rows = [(name, f"{value:.6g}") for name, value in metrics.items() if name not in left_out]
    why = found.get("unpublishable")
    lines = [f"not for publication: {why['message']}. Do not give it away"] if why else []
    lines.append(grid(("metric", "value"), rows))
    if left_out:
        lines.append(f"  associations of {len(left_out)} more pairs, which changed less: --json")
    if found.get("not_measured"):
        names = ", ".join(found["not_measured"])
        lines.append(f"  not measured: {names}; a value has no meaning or no original to compare")
    if found["recoding"] == "local":
        lines += ["  local recoding: levels differ between classes"]
    if found["queries"]:
        lines += ["", workload(found["queries"])]
    if found["models"]:
        lines += ["", compared(found["models"], found["models_overall"])]
    return "\n".join(lines)
