"""Print the utility of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdeid.cli.text.layout import grid
from dbdeid.cli.text.queries import workload
from dbdeid.cli.text.release.models import compared
from dbdeid.report.content.metric_terms import metric_words

HEADLINES = 5
# What is read first, where a release has it.
_FIRST = (
    *("loss", "information_loss", "exact_hits", "distribution", "association", "propensity"),
    *("classification", "moments", "attacker_gain", "discernibility", "average_class_size"),
)


def evaluated(found: Mapping[str, Any], *, every: bool = False) -> str:
    """The utility of a release.

    Args:
        found: as `dbdeid evaluate --json` tells it.
        every: all metrics, not the first few alone.
    """
    metrics = found["metrics"]
    shown = list(metrics) if every else headline(metrics)
    words = {name: metric_words(name) for name in shown}
    rows = [
        (name, f"{metrics[name]:.6g}", words[name].better, words[name].range, words[name].title)
        for name in shown
    ]
    why = found.get("unpublishable")
    lines = [f"not for publication: {why['message']}. Do not give it away"] if why else []
    lines.append(grid(("metric", "value", "better", "range", "what"), rows))
    if len(shown) < len(metrics):
        more = len(metrics) - len(shown)
        lines.append(f"  {more} more {'figure' if more == 1 else 'figures'}: --all, or --json")
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


def headline(metrics: Mapping[str, Any]) -> list[str]:
    """The few metrics that are read first; of one without a figure of its own those of columns."""
    order = {name: place for place, name in enumerate(_FIRST)}
    whole = [name for name in metrics if "." not in name or name.partition(".")[0] not in metrics]
    return sorted(whole, key=lambda n: order.get(n.partition(".")[0], len(order)))[:HEADLINES]
