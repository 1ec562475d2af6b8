"""Print the recipient's models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdeid.cli.text.layout import grid

_HEAD = (
    *("model", "coefficients", "significance changed", "direction changed"),
    *("outside 95 %", "rmsz", "errors"),
)


def compared(models: Sequence[Mapping[str, Any]], overall: Mapping[str, Any]) -> str:
    """What changed of each model, and of all."""
    rows = [(_named(model), *_summary(model["summary"])) for model in models]
    if len(models) > 1:
        rows.append(("all", *_summary(overall)))
    return "\n".join([grid(_HEAD, rows), *_notes(models, overall)])


def _named(model: Mapping[str, Any]) -> str:
    where = f" where {model['where']}" if model["where"] else ""
    event = f", event {model['event']}" if model["event"] else ""
    return f"{model['kind']} of {model['response']}{event}{where}"


def _summary(found: Mapping[str, Any]) -> tuple[str, ...]:
    share = [found[k] for k in ("changed_significance", "changed_direction", "outside")]
    return (
        str(found["coefficients"]),
        *(_share(value) for value in share),
        *("" if found[k] is None else f"{found[k]:.2f}" for k in ("rmsz", "error_ratio")),
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _notes(models: Sequence[Mapping[str, Any]], overall: Mapping[str, Any]) -> Iterator[str]:
    for model in models:
        if model["reason"]:
            yield f"  {_named(model)}: no fit on the release: {model['reason']}"
        spread = [term["text"] for term in model["terms"] if term["entered"] == "expected"]
        if spread:
            yield f"  {_named(model)}: by expected values: {', '.join(spread)}"
    if overall["near"]:
        yield (
            f"  {overall['near']} of {overall['coefficients']} coefficients are near the limit of "
            f"significance; {_share(overall['changed_near'])} of all are near and changed"
        )
