"""Results as notebooks show them: small pieces of HTML.

They are for inside the house: what was searched and what was lost tells of the original. They name
columns, levels and counts, and hold no cell of the original. Every text is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.charts.charts import MEASURES, bar_chart, bars
from dbdeid.report.charts.frontier_charts import frontier_chart
from dbdeid.report.charts.notebook_charts import coloured, verdict
from dbdeid.report.content import terms
from dbdeid.report.content.commands import k_of
from dbdeid.report.content.landmarks import landmarks
from dbdeid.report.content.metric_terms import metric_words
from dbdeid.report.content.proof import decimals
from dbdeid.report.content.remains import briefly, sentences
from dbdeid.report.content.remains import verdict as verdict_of
from dbdeid.report.page import environment

ROWS_SHOWN = 100
PAIRS_SHOWN = 5  # of columns whose association changed, those that changed most
DECIMALS = 4


def run_html(record: ReleaseRecord) -> str:
    """A release: how many records, what was promised and found, what was lost, and how large
    classes are.

    Args:
        record: of the release.
    """
    rows = bars(record.histogram, k_of(record))
    checks = record.verification.promises if record.verification is not None else ()
    return _rendered(
        "run",
        r=record,
        told=sentences(record),
        verdict=verdict_of(record),
        beside=briefly(record),
        promises=sorted(checks, key=lambda check: bool(check.holds)),
        levels=_levels(record.transformation),
        plot=coloured(bar_chart(rows, "records")) if rows else None,
        question=MEASURES["records"],
    )


def check_html(check: Mapping[str, Any]) -> str:
    """A checked spec: its columns, what makes records unique, and what to change first.

    Args:
        check: as `dbdeid check --json` tells it, also of a release made elsewhere.
    """
    unique = check.get("uniqueness") or {"columns": ()}
    cost = check.get("cost") or {"columns": [{}] * len(unique["columns"])}
    return _rendered(
        "check",
        c={"released_rows": None, "source_subjects": None, "lattice_size": None, **check},
        elsewhere=check.get("method") == "external",
        open=bool(check.get("undecided") or check.get("questions")),
        uniques=[{**a, **b} for a, b in zip(unique["columns"], cost["columns"], strict=True)],
        weighed=bool(check.get("cost")),
        advice=check.get("advice") or (),
    )


def verification_html(verification: Mapping[str, Any]) -> str:
    """A verification: every promise, what fails first, and the checks of hygiene.

    Args:
        verification: as `dbdeid verify --json` tells it.
    """
    promises = [_without_values(promise) for promise in verification["promises"]]
    hygiene = verification["hygiene"]
    passed = [check["check"] for check in hygiene if check["holds"]]
    return _rendered(
        "verify",
        v=verification,
        # what holds stands once, for the table and the files; what fails is told of each
        promises=[p for p in promises if not p["holds"]]
        + [p for p in promises if p["holds"] and not _place(p["model"])],
        places=list(dict.fromkeys(filter(None, (_place(p["model"]) for p in promises)))),
        failed=[check for check in hygiene if not check["holds"]],
        remarks=[f"{c['check']}: {c['detail']}" for c in hygiene if c["holds"] and c["detail"]],
        passed=[name for name in passed if not _place(name)],
    )


def evaluation_html(evaluation: Mapping[str, Any]) -> str:
    """The utility of a release: its metrics, its workload, and what became of models.

    Args:
        evaluation: as `dbdeid evaluate --json` tells it.
    """
    metrics = evaluation["metrics"]
    pairs = sorted((n for n in metrics if n.startswith("association.")), key=metrics.__getitem__)
    left_out = set(pairs[:-PAIRS_SHOWN])
    return _rendered(
        "evaluate",
        e=evaluation,
        metrics=[(metric_words(n), v) for n, v in metrics.items() if n not in left_out],
        left_out=len(left_out),
        not_measured=evaluation.get("not_measured") or (),
    )


def search_html(search: Mapping[str, Any]) -> str:
    """Render the result of a search and its neighbours, or the cost of each demand.

    Args:
        search: as `dbdeid search --json` tells it.
    """
    cells = search.get("cells")
    outcomes = [{**of, "levels": _levels(of["transformation"])} for of in cells or [search]]
    for near in () if cells else search["neighbours"]:
        told = "" if near["accepted"] else f", {verdict(near)}"
        outcomes.append({**near, "levels": f"{near['column']} at {near['level']}{told}"})
    digits = decimals(of["score"] for of in outcomes)
    return _rendered(
        "search",
        s=search,
        title=metric_words(search["objective"]).title,
        outcomes=outcomes,
        single=bool(cells) and sum(of["transformation"] is not None for of in outcomes) < 2,
        score=lambda value: "–" if value is None else f"{value:,.{digits}f}",
    )


def frontier_html(frontier: Mapping[str, Any]) -> str:
    """A frontier: its drawing, and the points that are worth a look.

    Args:
        frontier: as `dbdeid frontier --json` tells it.
    """
    return _rendered(
        "frontier",
        f=frontier,
        plot=coloured(frontier_chart(frontier)),
        landmarks=landmarks(frontier),
        loss=terms.FRONTIER_LOSSES.get(frontier["utility"], (frontier["utility"], ""))[0],
        risk=terms.FRONTIER_RISKS.get(frontier["risk"], (frontier["risk"], ""))[0],
    )


def answer_html(columns: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str]) -> str:
    """An answer from a release as a table, then what a reader of it should know."""
    return _rendered(
        "answer",
        columns=columns,
        rows=[[_cell(value) for value in row] for row in rows[:ROWS_SHOWN]],
        more=max(0, len(rows) - ROWS_SHOWN),
        notes_of=notes,
    )


def _rendered(kind: str, **view: Any) -> str:
    template = environment().get_template("notebook.html.j2")
    html: str = template.render(kind=kind, **view)
    return html


def _place(name: str) -> str | None:
    """The file that a promise or check was looked at in, as its name ends; None: the table."""
    found = re.fullmatch(r".*? \((.*)\)", name)
    return found and found[1]


def _without_values(promise: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same without the values of a sensitive column that a model may list."""
    declared = promise["declared"]
    if not isinstance(declared, Mapping):
        return promise
    return {**promise, "declared": {k: v for k, v in declared.items() if k != "values"}}


def _levels(transformation: Mapping[str, int] | None) -> str:
    if transformation is None:
        return "none found"
    return ", ".join(f"{name} {level}" for name, level in transformation.items())


def _cell(value: Any) -> tuple[str, bool]:
    """The text of a cell, and whether it is a number."""
    if value is None:
        return "NULL", False
    if isinstance(value, bool):
        return str(value), False
    if isinstance(value, float):
        whole = math.isfinite(value) and value.is_integer()
        return (f"{value:,.0f}" if whole else f"{value:,.{DECIMALS}f}"), True
    if isinstance(value, int | Decimal):
        return f"{value:,}", True
    return str(value), False
