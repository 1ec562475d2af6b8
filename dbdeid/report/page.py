"""The report of one release: a single HTML page without script, network or outside files.

`render` is a pure function of the record: the same record gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdeid.data.figures import count, number, share
from dbdeid.report.cards import by_class, cards
from dbdeid.report.charts.charts import MEASURES, bar_chart, bars
from dbdeid.report.charts.frontier_charts import frontier_chart
from dbdeid.report.charts.recipients import recipients
from dbdeid.report.content import terms
from dbdeid.report.content.audience import about, public
from dbdeid.report.content.commands import commands, k_of, pseudonym_of
from dbdeid.report.content.landmarks import chosen
from dbdeid.report.content.metric_terms import metric_words
from dbdeid.report.content.model_terms import model_called
from dbdeid.report.content.padding import moved_of, padding_of
from dbdeid.report.content.policies import pieces
from dbdeid.report.content.proof import apart, at_least, briefly
from dbdeid.report.content.record import Audience, Record
from dbdeid.report.content.remains import briefly as briefly_unique
from dbdeid.report.content.remains import sentences, verdict
from dbdeid.utility.common.metric import Words

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
# A workload of more queries is told by those with the greatest errors; the rest is folded.
LONG_WORKLOAD, WORST = 15, 10
# Methods that take no record out.
_WHOLE = ("local_recoding", "policy", "condensation", "microaggregation")


def render(record: Mapping[str, Any] | Record, audience: Audience = "internal") -> str:
    """The page of one release as HTML.

    Args:
        record: a `Record` as the catalog keeps it; sections without values are left out.
        audience: `internal` shows everything; `public` what `audience.public` lets through.

    Raises:
        ValueError: the audience is neither of the two.
    """
    if audience not in ("internal", "public"):
        raise ValueError(f"audience is internal or public, not {audience!r}")
    shown = dict(record) if audience == "internal" else public(record)
    padding, moved = padding_of(shown), moved_of(shown)
    # no record is taken out
    whole = padding or moved or record["method"] in _WHOLE
    limit = 0.0 if whole else _parameters(record).get("suppression_limit")
    suppressed = record["suppressed_rows"]
    queries = _queries(shown)
    told = _suppressed(suppressed, limit, audience)
    view = {
        "r": shown,
        "audience": audience,
        "suppressed": told,
        "sentences": sentences(shown, audience, None if audience == "internal" else told),
        "verdict": verdict(shown),
        "beside": briefly_unique(shown),
        "cards": cards(shown, audience),
        "by_class": by_class(shown),
        "padding": padding,
        "synthetic": shown.get("synthetic"),
        "moved": moved,
        "whole": whole,
        "local": _local(shown),
        "models": [model_words(model) for model in shown.get("privacy") or ()],
        "model_terms": _model_terms(shown),
        "columns": [_column(column, shown) for column in shown.get("columns") or ()],
        "parameters": _parameters(shown),
        "losses": _losses(shown),
        "metrics": _metrics(shown),
        "risks": _risks(shown),
        "charts": _charts(shown),
        "promises": _failing_first((shown.get("verification") or {}).get("promises")),
        "hygiene": _failing_first((shown.get("verification") or {}).get("hygiene")),
        "search": _search(shown),
        "frontier": _frontier(shown),
        "queries": queries,
        "worst": _worst(queries),
        "distributions": _distributions(shown),
        "recipients": recipients(shown),
        "longest": _longest(queries),
        "commands": commands(shown),
        "pseudonym": pseudonym_of(shown),
        "terms": terms,
        "promise_names": _promise_names(shown),
    }
    view["sections"] = _sections(view)
    return environment().get_template("page.html.j2").render(view)


def _suppressed(records: int | None, limit: float | None, audience: Audience) -> str | None:
    """How many records were suppressed, as far as the audience may know; None: nobody knows."""
    if records is None:
        return None
    return count(records) if audience == "internal" else about(records, limit)


def _sections(view: Mapping[str, Any]) -> dict[str, str]:
    """The sections that have something to show, by id, with their titles."""
    record, risks = view["r"], view["risks"]
    compared = risks and len(risks[0]["cells"]) > 1
    searched = (view["search"] and not view["synthetic"]) or not terms.SEARCH_PARAMETERS.isdisjoint(
        view["parameters"]
    )
    return {
        name: title
        for name, title, present in (
            ("columns", "What was released", view["columns"]),
            ("protection", "How it is protected", True),
            ("synthesis", "How records were drawn", view["synthetic"]),
            ("counterfeits", "Counterfeit records", view["padding"]),
            ("verification", "Promises and checks", view["promises"] or view["hygiene"]),
            ("risk", "Risk before and after" if compared else "Risk", risks),
            ("recipients", "The recipient's models", view["recipients"]),
            ("loss", "Information loss", view["losses"] or view["metrics"]),
            ("distributions", "Before and after", view["distributions"]),
            ("classes", "Class sizes", view["charts"]),
            ("search", "How it was found", searched),
            ("frontier", "What it was chosen from", view["frontier"]),
            ("queries", "Query errors", view["queries"]),
            ("verify", "Verify it yourself", view["commands"]),
            ("glossary", "Terms", True),
            ("specification", "Specification", record.get("spec_text")),
        )
        if present
    }


@cache
def environment() -> Environment:
    """The templates of all pages, with their filters and the stylesheet."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    env = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {f.__name__: f for f in (count, share, number, plain, proven, at_least, briefly)}
    env.globals["css"] = Markup((_HERE / "style.css").read_text(encoding="utf-8"))
    return env


def proven(search: Mapping[str, Any], objective: str) -> str:
    """What is proven of what a search found, in words."""
    if search.get("proven_optimal"):
        return "proven: no other choice of levels within the limits is better"
    return f"not proven: a better choice of levels may exist{apart(search, objective)}"


def plain(value: Any) -> str:
    """Any value of the record in words: `k = 5`, `yes`, `a, b`."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number(value)
        case Mapping() | list() | tuple() if not value:
            return "none"
        case Mapping():
            words = ((str(key).replace("_", " "), plain(item)) for key, item in value.items())
            return ", ".join(f"{word} = {item}" for word, item in words)
        case list() | tuple():
            return ", ".join(plain(item) for item in value)
        case _:
            return str(value)


def _model_terms(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The declared models for the glossary, each once."""
    names = dict.fromkeys(model.get("model") for model in record.get("privacy") or ())
    return tuple(kind.words for name in names if (kind := model_called(name)))


def _promise_names(record: Mapping[str, Any]) -> dict[str, str]:
    """What each promise is called that was verified."""
    found = {}
    for promise in (record.get("verification") or {}).get("promises") or ():
        name = promise["model"]
        kind = model_called(name)
        named = kind.words.name if kind else terms.PROMISES.get(name, name.replace("_", " "))
        found[name] = named
    return found


def model_words(model: Mapping[str, Any]) -> str:
    """A privacy model in words: `k-anonymity (k = 5)`."""
    model_name = str(model.get("model", ""))
    kind = model_called(model_name)
    name = kind.words.name if kind else model_name
    values = plain({key: value for key, value in model.items() if key != "model"})
    return f"{name} ({values})" if values else name


def _parameters(record: Mapping[str, Any]) -> dict[str, Any]:
    """The method's parameters that are set, with the defaults that decide on protection."""
    given = record.get("method_parameters")
    defaults: dict[str, Any] = {}
    if given is not None and record["method"] == "full_domain":
        defaults = {"suppression_limit": 0.0, "suppressed": "drop"}
    if given is not None and record["method"] == "counterfeit":
        given = {**given, "h": given.get("h") or "auto"}
    return defaults | {name: value for name, value in (given or {}).items() if value is not None}


def _local(record: Mapping[str, Any]) -> bool:
    """Whether each class has levels of its own; records of older runs tell by the method."""
    borrowed = _parameters(record).get("recoding") == "borrow"
    return bool(record.get("recoding", "local" if borrowed else "global") == "local")


def _column(column: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the table of columns; only quasi-identifiers show labels."""
    role = str(column.get("role", ""))
    quasi, pseudonym = role == "quasi_identifier", bool(column.get("pseudonym"))
    level = column.get("level", (record.get("transformation") or {}).get(column["name"]))
    labels = list(column.get("labels") or ())[:8] if quasi else []
    if level is None and _local(record):
        level = "class by class"
    return {
        "name": column["name"],
        "role": terms.ROLES.get(role, role) + (", as a pseudonym" if pseudonym else ""),
        "released": pseudonym or role not in ("identifier", "drop"),
        "type": column.get("released_type") or column.get("type"),
        "from_type": column.get("type"),
        "level": level if quasi else None,
        "height": column.get("height") if quasi and isinstance(level, int) else None,
        "labels": ["(missing)" if label is None else label for label in labels],
        "hierarchy": column.get("hierarchy"),
        "weight": column.get("weight", 1),
        "reason": column.get("reason"),
        "accept": column.get("accept"),
    }


def _losses(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Loss of each column, greatest first."""
    losses = record.get("column_loss") or {
        column["name"]: column.get("loss") for column in record.get("columns") or ()
    }
    known = [(name, loss) for name, loss in losses.items() if loss is not None]
    return sorted(known, key=lambda pair: -pair[1])


def _metrics(
    record: Mapping[str, Any],
) -> list[tuple[Words, float | None, dict[str, float | None]]]:
    """The metrics with their definitions, loss first, and what they are by column, if anything.

    One that has no figure of its own has a row for each column, which names it.
    """
    values = dict(record.get("metrics") or {})
    if record.get("loss") is not None:
        values = {"loss": record["loss"]} | values
    rows = [name for name in values if "." not in name or name.partition(".")[0] not in values]
    return [
        (
            metric_words(name),
            values[name],
            {other[len(name) + 1 :]: values[other] for other in values if _part(other, name)},
        )
        for name in rows
    ]


def _part(name: str, whole: str) -> bool:
    return name.startswith(f"{whole}.")


def _risks(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each measure of risk: its words, and a cell for each known table."""
    risk = record.get("risk") or {}
    tables = [table for table in ("before", "after") if risk.get(table)]
    return [
        {
            "title": title,
            "meaning": meaning,
            "cells": {table: _risk(risk[table], key) for table in tables},
        }
        for key, title, meaning in terms.RISK
        # below a class of 1 nobody is at risk, whoever is unique
        if tables and (key != "records_at_risk" or by_class(record))
    ]


def _risk(risk: Mapping[str, Any], key: str) -> dict[str, Any]:
    """One cell: its text, and the share of 1 that its bar shows (None: no bar)."""
    value = risk.get(key)
    if key in ("records", "classes", "k"):
        return {"text": count(value), "share": None}
    if key in ("highest_risk", "average_risk"):
        return {"text": share(value), "share": value or 0.0}
    part = (value or 0) / risk["records"] if risk.get("records") else 0.0
    return {"text": f"{count(value)} ({share(part)})" if part else count(value), "share": part}


def _charts(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The class-size histogram: its ranges, and one chart each of classes and records."""
    rows = bars(record.get("histogram") or (), k_of(record))
    if not rows:
        return None
    return {
        "rows": rows,
        "low": any(row.low and row.classes for row in rows),
        "titles": MEASURES,
        "classes": bar_chart(rows, "classes"),
        "records": bar_chart(rows, "records"),
    }


def _failing_first(checks: list[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    return sorted(checks or (), key=lambda check: bool(check["holds"]))


def _frontier(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The frontier that a policy was chosen from, drawn, and the policy."""
    found = record.get("frontier")
    if not found:
        return None
    point = chosen(found)
    assert point is not None
    columns = [
        {"name": name, "intervals": pieces(labels)} for name, labels in found["policy"].items()
    ]
    risk, loss = terms.FRONTIER_RISKS[found["risk"]], terms.FRONTIER_LOSSES[found["utility"]]
    return {
        **found,
        "chart": frontier_chart(found),
        "point": point,
        "columns": columns,
        "measures": (risk, loss),
    }


def _search(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The search as recorded, with every key present."""
    keys = ("lattice_size", "checked", "proven_optimal", "lower_bound", "gap", "interrupted")
    search = record.get("search")
    return dict.fromkeys(keys) | search if search else None


def _queries(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The workload's queries as declared, with every key present."""
    keys = ("sql", "groups", "lost", "invented", "relative_error", "mean_group_error", "refused")
    blank = dict.fromkeys((*keys, "within_bounds", "seconds_source", "seconds_release"))
    return [
        blank | {"aggregates": []} | query
        for query in (record.get("queries") or {}).get("queries") or ()
    ]


def _worst(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a long workload what is read first: refusals, and the greatest errors; else all of it."""
    if len(queries) <= LONG_WORKLOAD:
        return queries
    order = sorted(queries, key=lambda q: (q["refused"] is None, -(q["relative_error"] or 0.0)))
    return order[:WORST]


def _distributions(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns before and after, each with the length of a full bar and its distance."""
    metrics = record.get("metrics") or {}
    roles = {c["name"]: c.get("role") for c in record.get("columns") or ()}
    return [
        {
            "name": drawn["column"],
            "rows": drawn["rows"],
            "longest": max(max(row["source"], row["released"]) for row in drawn["rows"]) or 1.0,
            "distance": metrics.get(f"distribution.{drawn['column']}"),
            "open": roles.get(drawn["column"]) == "quasi_identifier",
        }
        for drawn in record.get("distributions") or ()
        if drawn["rows"]
    ]


def _longest(queries: list[dict[str, Any]]) -> float:
    """The relative error that a full bar shows: 1, or the largest when that is more."""
    errors = [query["relative_error"] for query in queries]
    return max([1.0, *(float(e) for e in errors if e is not None and math.isfinite(e))])
