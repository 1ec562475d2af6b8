"""The page of trade-offs: what each demand costs, what methods lose, and what to change first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.data.figures import count, part, share
from dbdeid.engine.session import Settings
from dbdeid.spec.method_spec import METHODS
from dbdeid.ui.background.jobs import Jobs
from dbdeid.ui.sheet.decisions import entry_of
from dbdeid.ui.sheet.desk import Sheet
from dbdeid.ui.sheet.levels import Levels
from dbdeid.ui.views import frontier
from dbdeid.ui.views.columns_page import names_of
from dbdeid.ui.views.levels_page import Ladders, spec_of
from dbdeid.ui.views.release_page import outcome, weighed

KS, LIMITS = "3,5,10,20", "0,1,2,5"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one demand would cost.

    Attributes:
        k: of it.
        percent: of records that may be left out.
        score: of what would be chosen; None where nothing satisfies.
        lost: records that would be suppressed.
        levels: that would be chosen, in words.
        shade: from 0, the best of the grid, to 5.
        own: whether the specification demands it.
    """

    k: int
    percent: str
    score: float | None
    lost: str
    levels: str
    shade: int
    own: bool


@dataclass(frozen=True, slots=True)
class Button:
    """A change that a sentence names: the form that makes it."""

    word: str
    action: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What the release answers of a question of the workload.

    Attributes:
        name: of the question.
        error: relative, mean over its figures.
        within: share of the groups whose true value lies within the bounds.
        groups: of the true answer, and how many are lost or invented.
        totals: the true one and the answered one, of a single figure.
        refused: why it has no answer; empty where it has.
    """

    name: str
    error: str
    within: str
    groups: str
    totals: str
    refused: str


def view(
    sheet: Sheet,
    looked: Mapping[str, Any] | None,
    jobs: Jobs,
    ladders: Ladders,
    settings: Settings,
) -> dict[str, Any]:
    """All that the page shows."""
    found, around = _done(jobs, "search"), _done(jobs, "around")
    first = around or found
    chosen, of = _transformation(jobs)
    head, rows = _rows(sheet, looked, ladders, settings, chosen)
    checked = _done(jobs, "check")
    ran = _done(jobs, "run")
    return {
        "searched": outcome(jobs, "search", sheet),
        "checked": outcome(jobs, "check", sheet),
        "grid": list(_grid(found, sheet)) if found else [],
        "objective": first["objective"] if first else "loss",
        "people": "subjects" if first and first["by_subject"] else "records",
        "around": outcome(jobs, "around", sheet),
        "neighbours": list(_neighbours(around)) if around else [],
        **_demands(jobs),
        "methods": checked.get("methods") or () if checked else (),
        "declared": sheet.file.spec.method.name if sheet.file else None,
        "weighed": weighed(jobs),
        "advised": list(_advised(checked, sheet, looked)) if checked else [],
        "choices": [name for name in METHODS if name != "external"],
        "chooses": sheet.file is not None and sheet.file.spec.method.can.frontier,
        "frontier": frontier.view(_done(jobs, "frontier"), _k(sheet)),
        "frontier_job": outcome(jobs, "frontier", sheet),
        "sentences": ran["sentences"] if ran else None,
        "head": head,
        "examples": rows,
        "chosen_by": of,
        "declares": sheet.file is not None and sheet.file.spec.evaluate.queries is not None,
        "asked": outcome(jobs, "workload", sheet),
        "workload": _workload(jobs),
    }


def _done(jobs: Jobs, what: str) -> Mapping[str, Any] | None:
    job = jobs.last.get(what)
    return job.result if job is not None and job.state == "done" else None


def _demands(jobs: Jobs) -> dict[str, str]:
    """The demands that were compared last, as they are typed; the usual ones before that."""
    job = jobs.last.get("search")
    given: Mapping[str, Any] = job.task.given if job is not None else {}
    percents = [f"{100 * float(one):g}" for one in (given.get("limits") or "").split(",") if one]
    return {"ks": given.get("ks") or KS, "limits": ",".join(percents) or LIMITS}


def _grid(found: Mapping[str, Any], sheet: Sheet) -> Iterator[list[Cell]]:
    """The demands by k, each row with the limits side by side."""
    cells = found.get("cells") or [found]
    scores = [c["score"] for c in cells if c["transformation"] is not None]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    file = sheet.file
    limit = getattr(file.spec.method, "suppression_limit", None) if file else None
    k = _k(sheet)
    for one in sorted({c["k"] for c in cells}):
        yield [
            _cell(c, found, low, high, own=(c["k"], c["suppression_limit"]) == (k, limit))
            for c in cells
            if c["k"] == one
        ]


def _cell(
    c: Mapping[str, Any], found: Mapping[str, Any], low: float, high: float, *, own: bool
) -> Cell:
    percent = f"{100 * c['suppression_limit']:g}"
    if c["transformation"] is None:
        return Cell(c["k"], percent, None, "", "", 5, own)
    lost = c["suppressed_subjects" if found["by_subject"] else "suppressed_rows"]
    shade = round(4 * (c["score"] - low) / (high - low)) if high > low else 0
    levels = ", ".join(f"{name} {level}" for name, level in c["transformation"].items() if level)
    return Cell(
        c["k"],
        percent,
        c["score"],
        f"{count(lost)} ({part(lost, found['source_subjects'])})",
        levels or "nothing generalized",
        shade,
        own,
    )


def _neighbours(found: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """One level more or less in a single column."""
    for one in found.get("neighbours") or ():
        lost = one["suppressed_subjects" if found["by_subject"] else "suppressed_rows"]
        verdict = "yes" if one["accepted"] else "no: the spec does not allow it"
        yield {
            "column": one["column"],
            "levels": f"{found['transformation'][one['column']]}\u00a0→\u00a0{one['level']}",
            "lost": f"{count(lost)} ({part(lost, found['source_subjects'])})",
            "score": f"{one['score']:.4f}",
            "verdict": verdict if one["feasible"] else "no: suppresses too much",
        }


def _k(sheet: Sheet) -> int:
    """Records that a class has at least, where that is promised."""
    models = sheet.file.spec.privacy if sheet.file else ()
    return next((m.k for m in models if m.model == "k_anonymity"), 1)


def _advised(
    checked: Mapping[str, Any], sheet: Sheet, looked: Mapping[str, Any] | None
) -> Iterator[tuple[str, list[Button]]]:
    """What to change first: each sentence of the check with the changes that it names.

    What was changed since is not advised again.
    """
    names = names_of(sheet, looked)
    for words, some in zip(checked.get("advice") or (), checked.get("changes") or (), strict=True):
        left = [one for change in some if (one := _button(change, names, sheet)) is not None]
        if left or not some:
            yield words.replace("`", ""), left


def _button(change: Mapping[str, Any], names: Sequence[str], sheet: Sheet) -> Button | None:
    """The button of a change; None where it was made, or its column is gone."""
    if (method := change["method"]) is not None:
        made = sheet.file is not None and sheet.file.spec.method.name == method
        return None if made else Button(f"Use {method}", "method", (("method", method),))
    name, level = change["column"], change["min_level"]
    entry = entry_of(sheet.data or {}, name)
    if name not in names or entry.get("role", "quasi_identifier") != "quasi_identifier":
        return None
    column = ("column", str(names.index(name)))
    if level is None:
        return Button(f"Drop {name}", "role", (column, ("role", "drop")))
    least = entry.get("min_level")
    if isinstance(least, int) and least >= level:
        return None
    fields = (column, ("level", str(level)), ("which", "from"))
    return Button(f"Start {name} at level {level}", "level", fields)


def _workload(jobs: Jobs) -> Mapping[str, Any] | None:
    """The questions of the workload, as the last run or the last asking found them."""
    some = [jobs.last[w] for w in ("run", "workload") if _done(jobs, w) is not None]
    job = max(some, key=lambda one: one.started, default=None)
    found = (job.result or {}).get("workload") if job is not None else None
    if found is None:
        return None
    asked = found["queries"]
    return {
        "answered": f"{found['answered']} of {len(asked)}",
        "error": _share(found["mean_relative_error"]),
        "within": _share(found["within_bounds"]),
        "questions": [_question(one) for one in asked],
    }


def _question(one: Mapping[str, Any]) -> Question:
    groups = "–" if one["groups"] is None else count(one["groups"])
    gone = [f"{count(one[key])} {key}" for key in ("lost", "invented") if one[key]]
    totals = [one["true_total"], one["estimated_total"]]
    return Question(
        one["name"],
        _share(one["relative_error"]),
        _share(one["within_bounds"]),
        groups + (f" ({', '.join(gone)})" if gone else ""),
        "–" if None in totals else " → ".join(f"{total:,.6g}" for total in totals),
        one["refused"] or "",
    )


def _share(value: float | None) -> str:
    return "–" if value is None else share(value)


def _transformation(jobs: Jobs) -> tuple[Mapping[str, int] | None, str]:
    """The levels that were found last, and by what."""
    some = [(jobs.last[w], w) for w in ("run", "around") if _done(jobs, w) is not None]
    for job, what in sorted(some, key=lambda one: -one[0].started):
        found = job.result or {}
        if what == "around" and found.get("transformation"):
            return found["transformation"], "the last search"
        if what == "run" and found["result"]["transformation"]:
            return found["result"]["transformation"], "the last run"
    return None, ""


def _rows(
    sheet: Sheet,
    looked: Mapping[str, Any] | None,
    ladders: Ladders,
    settings: Settings,
    chosen: Mapping[str, int] | None,
) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """A few records before and after: of each quasi-identifier the value and its label."""
    if sheet.file is None or looked is None or chosen is None:
        return [], []
    k = sheet.file.spec.smallest_class
    by_name = {one["name"]: one for one in looked["columns"]}
    labels: dict[str, Mapping[str, str]] = {}
    for name, level in chosen.items():
        spec, counted = spec_of(sheet.file, name), looked["values"].get(name)
        if spec is None or spec.role != "quasi_identifier":
            continue  # it was one when the levels were found
        if counted is None or name not in by_name:
            continue
        ladder = ladders.of(sheet.file, by_name[name], spec, counted, k, settings)
        if isinstance(ladder, Levels) and level <= ladder.height:
            labels[name] = {row[0]: row[1 + level] for row in ladder.values}
    shown: Sequence[Mapping[str, str | None]] = looked["rows"]
    return [*labels], [
        [(_text(row[name]), _label(labels[name], row[name])) for name in labels] for row in shown
    ]


def _text(value: str | None) -> str:
    return "–" if value is None else value


def _label(labels: Mapping[str, str], value: str | None) -> str:
    return "–" if value is None else labels.get(value, "?")
