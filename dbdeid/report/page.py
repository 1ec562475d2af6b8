"""The report of one release: a single HTML page without script, network or outside files.

`render` is a pure function of the record: the same record gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dbdeid.data.figures import count, number, share
from dbdeid.data.json import Json, JsonObject
from dbdeid.record.findings import Check, Promise
from dbdeid.record.making import Column
from dbdeid.record.public_record import (
    PublicCheck,
    PublicColumn,
    PublicPromise,
    PublicRecord,
    Shown,
)
from dbdeid.record.release_record import LABELS_SHOWN, ReleaseRecord
from dbdeid.report.around import Around, trend
from dbdeid.report.cards import cards
from dbdeid.report.charts.frontier_charts import frontier_chart
from dbdeid.report.charts.page_charts import (
    before_and_after,
    front,
    longest,
    risk_rows,
    sizes_of,
    worst,
)
from dbdeid.report.charts.recipients import recipients
from dbdeid.report.content import terms
from dbdeid.report.content.audience import Audience, about, public, roughly
from dbdeid.report.content.codebook import codebook
from dbdeid.report.content.commands import commands, pseudonym_of
from dbdeid.report.content.headlines import headlines
from dbdeid.report.content.landmarks import chosen
from dbdeid.report.content.metric_terms import metric_words
from dbdeid.report.content.model_terms import by_class, model_called
from dbdeid.report.content.padding import moved_of, padding_of
from dbdeid.report.content.policies import pieces
from dbdeid.report.content.proof import apart, at_least, briefly
from dbdeid.report.content.remains import briefly as briefly_unique
from dbdeid.report.content.remains import sentences, verdict
from dbdeid.utility.common.metric import Words

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_Checked = TypeVar("_Checked", bound=Promise | PublicPromise | Check | PublicCheck)
_HERE = Path(__file__).parent


def render(
    record: ReleaseRecord,
    audience: Audience = "internal",
    around: Around | None = None,
) -> str:
    """The page of one release as HTML.

    Args:
        record: of the release; sections without values are left out.
        audience: `internal` shows everything; `public` what `audience.public` lets through.
        around: files, earlier runs, and the pages beside it.

    Raises:
        ValueError: the audience is neither of the two.
    """
    if audience not in ("internal", "public"):
        raise ValueError(f"audience is internal or public, not {audience!r}")
    private = record if audience == "internal" else None
    shown = private or public(record)
    around = around or Around()
    padding, moved = padding_of(shown), moved_of(shown)
    # no record is taken out
    whole = padding is not None or moved is not None or record.method in terms.TAKES_NONE_OUT
    limit = 0.0 if whole else _parameters(record).get("suppression_limit")
    told = _suppressed(record.suppressed_rows, limit, audience)
    queries = private.queries.queries if private and private.queries else ()
    promises: Sequence[Promise | PublicPromise] = ()
    hygiene: Sequence[Check | PublicCheck] = ()
    if shown.verification is not None:
        promises, hygiene = shown.verification.promises, shown.verification.hygiene
    losses, risks = _losses(shown), risk_rows(shown)
    drawn = before_and_after(private) if private else []
    first = front(losses, risks, queries, drawn, exact=private is not None)
    columns = [_column(column, shown) for column in shown.columns]
    view = {
        "r": shown,
        "audience": audience,
        "suppressed": told,
        "sentences": sentences(shown, audience, None if private else told),
        "verdict": verdict(shown),
        "beside": briefly_unique(shown),
        "cards": cards(shown, audience),
        "by_class": by_class(shown),
        "padding": padding,
        "synthetic": shown.synthetic,
        "moved": moved,
        "whole": whole,
        "local": _local(shown),
        "models": [model_words(model) for model in shown.privacy or ()],
        "model_terms": _model_terms(shown),
        "columns": columns,
        "summary": _summary(columns, promises, hygiene),
        "unfolded": () if private else ("rules", "columns"),
        "parameters": _parameters(shown),
        "headlines": headlines(shown, losses),
        "front": first,
        "codebook": codebook(shown, around.files) if isinstance(shown, PublicRecord) else None,
        "losses": losses,
        "links": around.links,
        "runs": trend(private, around.earlier) if private else [],
        "untold_losses": _untold_losses(shown),
        "metrics": _metrics(shown),
        "risks": risks,
        "charts": sizes_of(shown),
        "promises": _failing_first(promises),
        "hygiene": _failing_first(hygiene),
        "search": private.search if private else None,
        "frontier": _frontier(private.frontier) if private and private.frontier else None,
        "queries": queries,
        "worst": worst(queries),
        "distributions": first.others,
        "recipients": recipients(private) if private else None,
        "longest": longest(queries),
        "commands": commands(shown),
        "pseudonym": pseudonym_of(shown),
        "terms": terms,
        "promise_names": _promise_names(shown),
    }
    view["sections"] = _sections(view, private.spec_text if private else None)
    return environment().get_template("page.html.j2").render(view)


def _suppressed(records: int | None, limit: Json, audience: Audience) -> str | None:
    """How many records were suppressed, as far as the audience may know; None: nobody knows."""
    if records is None:
        return None
    known = limit if isinstance(limit, int | float) else None
    return count(records) if audience == "internal" else about(records, known)


def _sections(view: Mapping[str, Any], specification: str | None) -> dict[str, str]:
    """The sections that have something to show, by id, with their titles."""
    risks, public = view["risks"], view["audience"] == "public"
    compared = risks and len(risks[0].cells) > 1
    searched = (view["search"] and not view["synthetic"]) or not terms.SEARCH_PARAMETERS.isdisjoint(
        view["parameters"]
    )
    return {
        name: title
        for name, title, present in (
            ("columns", "How to read it" if public else "What was released", view["columns"]),
            ("rules", "What you may do with it", public),
            ("protection", "How it is protected", True),
            ("synthesis", "How records were drawn", view["synthetic"]),
            ("counterfeits", "Counterfeit records", view["padding"]),
            ("verification", "Promises and checks", view["promises"] or view["hygiene"]),
            ("risk", "Risk before and after" if compared else "Risk", risks),
            ("recipients", "The recipient's models", view["recipients"]),
            ("loss", "Metrics of loss", view["metrics"]),
            ("distributions", "Other columns before and after", view["distributions"]),
            ("classes", "Classes by size", view["charts"]),
            ("search", "How it was found", searched),
            ("frontier", "What it was chosen from", view["frontier"]),
            ("queries", "Query errors", view["queries"]),
            ("runs", "This run and earlier ones", view["runs"]),
            ("verify", "Verify it yourself", view["commands"]),
            ("glossary", "Terms", True),
            ("specification", "Specification", specification),
        )
        if present
    }


def _summary(
    columns: Sequence[ColumnRow],
    promises: Sequence[Promise | PublicPromise],
    hygiene: Sequence[Check | PublicCheck],
) -> dict[str, str]:
    """What folded sections hold, beside their titles."""
    changed = sum(c.released and c.level not in (None, 0) for c in columns)
    kept, left = sum(c.released for c in columns), sum(not c.released for c in columns)
    held = [
        f"{sum(bool(one.holds) for one in found)} of {len(found)} {name} hold"
        for name, found in (("promises", promises), ("checks", hygiene))
        if found
    ]
    parts = (f"{kept} columns released", f"{changed} generalized", f"{left} withheld")
    return {"columns": ", ".join(parts), "verification": ", ".join(held)}


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
    filters = (count, share, number, plain, breakable, roughly, proven, at_least, briefly)
    env.filters |= {f.__name__: f for f in filters}
    env.globals["css"] = Markup((_HERE / "style.css").read_text(encoding="utf-8"))
    return env


def proven(optimal: bool, objective: str, gap: float | None, bound: float | None) -> str:
    """Say in words what a search proved about its result."""
    if optimal:
        return "proven: no other choice of levels within the limits is better"
    known = apart(gap, bound, objective)
    return f"not proven: a better choice of levels may exist{known}"


def breakable(name: str) -> Markup:
    """A name that may go on in a new line after each underscore and slash, if it must."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[_/])(?=.)", name))


def plain(value: Any, named: bool = False) -> str:
    """Any value of the record in words: `k = 5`, `yes`, `a, b`.

    Args:
        value: of the record.
        named: whether keys are names of columns, which are not words.
    """
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
            words = {str(key): plain(item) for key, item in value.items()}
            if named:
                return ", ".join(f"{name} = {item}" for name, item in words.items())
            return ", ".join(
                f"{key.replace('_', ' ')}{' ' if key == 'of' else ' = '}{item}"
                for key, item in words.items()
            )
        case list() | tuple():
            return ", ".join(plain(item) for item in value)
        case _:
            return str(value)


def _model_terms(record: Shown) -> tuple[tuple[str, str], ...]:
    """The declared models for the glossary, each once."""
    names = dict.fromkeys(str(model.get("model")) for model in record.privacy or ())
    return tuple(kind.words for name in names if (kind := model_called(name)))


def _promise_names(record: Shown) -> dict[str, str]:
    """What each promise is called that was verified."""
    found = {}
    for promise in record.verification.promises if record.verification is not None else ():
        name = promise.model
        kind = model_called(name)
        named = kind.words.name if kind else terms.PROMISES.get(name, name.replace("_", " "))
        found[name] = named
    return found


def model_words(model: JsonObject) -> str:
    """A privacy model in words: `k-anonymity (k = 5)`."""
    model_name = str(model.get("model", ""))
    kind = model_called(model_name)
    name = kind.words.name if kind else model_name
    values = plain({key: value for key, value in model.items() if key != "model"})
    return f"{name} ({values})" if values else name


def _parameters(record: Shown) -> JsonObject:
    """The method's parameters that are set, with the defaults that decide on protection."""
    given = record.method_parameters
    defaults: JsonObject = {}
    if given is not None and record.method == "full_domain":
        defaults = {"suppression_limit": 0.0, "suppressed": "drop"}
    if given is not None and record.method == "counterfeit":
        given = {**given, "h": given.get("h") or "auto"}
    return defaults | {name: value for name, value in (given or {}).items() if value is not None}


def _local(record: Shown) -> bool:
    """Whether each class has levels of its own."""
    return record.recoding == "local"


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """One row of the table of columns.

    Attributes:
        name: of the column.
        role: in words.
        released: whether it leaves.
        type: in the release, or else in the source.
        from_type: in the source.
        level: of its hierarchy, or that it differs class by class.
        height: the top level, where the level is a number.
        labels: those that occur most.
        hierarchy: in a line.
        weight: of its loss.
        reason: the owner's words.
        accept: what the owner accepts of it.
    """

    name: str
    role: str
    released: bool
    type: str | None
    from_type: str | None
    level: int | str | None
    height: int | None
    labels: tuple[str, ...]
    hierarchy: str | None
    weight: float
    reason: str | None
    accept: str | None


def _column(column: Column | PublicColumn, record: Shown) -> ColumnRow:
    """One row of the table of columns; only quasi-identifiers show labels."""
    role, pseudonym = column.role, column.pseudonym
    quasi = role == "quasi_identifier"
    level: int | str | None = column.level
    if level is None and isinstance(record, ReleaseRecord):
        level = record.transformation.get(column.name)
    if level is None and _local(record):
        level = "class by class"
    private = column if isinstance(column, Column) else None
    return ColumnRow(
        name=column.name,
        role=terms.ROLES.get(role, role) + (", as a pseudonym" if pseudonym else ""),
        released=pseudonym or role not in ("identifier", "drop"),
        type=column.released_type or column.type,
        from_type=column.type,
        level=level if quasi else None,
        height=column.height if quasi and isinstance(level, int) else None,
        labels=tuple(
            "(missing)" if label is None else label
            for label in (column.labels[:LABELS_SHOWN] if quasi else ())
        ),
        hierarchy=private.hierarchy if private else None,
        weight=private.weight if private else 1,
        reason=column.reason,
        accept=column.accept,
    )


def _losses(record: Shown) -> list[tuple[str, float]]:
    """Loss of each column, greatest first."""
    losses = record.column_loss
    if not losses and isinstance(record, ReleaseRecord):
        losses = {column.name: column.loss for column in record.columns}
    known = [(name, loss) for name, loss in losses.items() if loss is not None]
    return sorted(known, key=lambda pair: -pair[1])


def _untold_losses(record: Shown) -> list[str]:
    """Quasi-identifiers whose own loss is not shown, though they are part of the mean loss."""
    if record.loss is None:
        return []
    told = {name for name, _ in _losses(record)}
    hidden = (c.name for c in record.columns if c.role == "quasi_identifier")
    return [name for name in hidden if name not in told]


def _metrics(
    record: Shown,
) -> list[tuple[Words, float | None, dict[str, float | None]]]:
    """The metrics with their definitions, loss first, and what they are by column, if anything.

    One that has no figure of its own has a row for each column, which names it.
    """
    values = record.metrics
    if record.loss is not None:
        values = {"loss": record.loss, **values}
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


def _failing_first(checks: Sequence[_Checked]) -> list[_Checked]:
    return sorted(checks, key=lambda check: bool(check.holds))


def _frontier(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chart of the frontier that a policy was chosen from, and the policy."""
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
