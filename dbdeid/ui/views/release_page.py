"""The page of a release: the promise, the check, the run, and the files that may leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdeid.data.figures import count, number, part, share
from dbdeid.spec.open_decisions import open_mistakes
from dbdeid.ui.background.jobs import Job, Jobs
from dbdeid.ui.sheet.decisions import models_of
from dbdeid.ui.sheet.desk import Sheet


def view(sheet: Sheet, jobs: Jobs) -> dict[str, Any]:
    """All that the page shows."""
    data = sheet.data or {}
    file = sheet.file
    asked = [str(one) for one in open_mistakes(file)] if file is not None else []
    told = data.get("method")
    method = told if isinstance(told, Mapping) else {"name": told}
    models = [m for m in models_of(data) if isinstance(m, Mapping)]
    limit = method.get("suppression_limit")
    percent = 100 * limit if isinstance(limit, int | float) else 0
    k = next((m.get("k") for m in models if m.get("model") == "k_anonymity"), None)
    return {
        "asked": asked,
        "ready": file is not None and not asked,
        "release": data.get("release"),
        "k": k,
        "limit_shown": f"{percent:g}",
        "method": method.get("name"),
        "models": [m for m in models if m.get("model") != "k_anonymity"],
        "checked": outcome(jobs, "check", sheet),
        "run": outcome(jobs, "run", sheet),
        "given": outcome(jobs, "hand_out", sheet),
        "report": outcome(jobs, "report", sheet),
        "verified": outcome(jobs, "verify", sheet),
        "earlier": outcome(jobs, "releases", sheet),
        "remembered": _remembered(jobs),
        "beside": _beside((_done(jobs, "run") or {}).get("beside")),
        "figures": _figures(jobs),
        "weighed": weighed(jobs),
    }


def outcome(jobs: Jobs, what: str, sheet: Sheet) -> Mapping[str, Any] | None:
    """How work ended that was begun last; None where there was none, or it still runs."""
    job = jobs.last.get(what)
    if job is None or job.state == "running":
        return None
    return {
        "state": job.state,
        "result": job.result,
        "error": job.error,
        "seconds": number(round(job.seconds or 0, 1)),
        "outdated": job.version != sheet.version,
    }


def _done(jobs: Jobs, what: str) -> Mapping[str, Any] | None:
    job: Job | None = jobs.last.get(what)
    return job.result if job is not None and job.state == "done" else None


def _figures(jobs: Jobs) -> list[tuple[str, str, str]]:
    """What a run gave, in figures: each with its name and what it means."""
    found = _done(jobs, "run")
    if found is None:
        return []
    r = found["result"]
    who = "records" if r["source_subjects"] is None else "people"
    made = [
        (
            "Released",
            count(r["released_rows"] - r["counterfeit_rows"]),
            f"of {count(r['source_rows'])} records",
        ),
        (
            "Suppressed",
            count(r["suppressed_rows"]),
            part(r["suppressed_rows"], r["source_rows"]) + " of the records",
        ),
        ("Classes", count(r["classes"]), f"the smallest has {count(r['smallest_class'])} {who}"),
    ]
    if r["loss"] is not None:
        made.append(("Loss", f"{r['loss']:.3f}", "from 0 (no detail lost) to 1 (all of it)"))
    if r["counterfeit_rows"]:
        made.append(("Counterfeits", count(r["counterfeit_rows"]), "records that nobody is"))
    return made


def weighed(jobs: Jobs) -> Mapping[str, Any] | None:
    """What a check found of uniqueness."""
    found = _done(jobs, "check")
    if found is None:
        return None
    unique = found.get("uniqueness")
    told = None
    if unique:
        told = (
            f"{count(unique['unique_records'])} of {count(unique['records'])} records "
            f"({share(unique['unique_records'] / max(unique['records'], 1))}) are unique on the "
            "unchanged quasi-identifiers"
        )
    return {
        "unique": told,
        "questions": found.get("questions") or (),
        "warnings": found.get("warnings") or (),
        "advice": [one.replace("`", "") for one in found.get("advice") or ()],
        "undecided": [one["name"] for one in found.get("undecided") or ()],
    }


def _remembered(jobs: Jobs) -> list[Mapping[str, Any]]:
    """The releases of the source, each with what it reveals together with those before it."""
    found = (_done(jobs, "releases") or {}).get("releases") or ()
    return [{**one, "beside": _beside(one["beside"])} for one in found]


def _beside(found: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What a release reveals together with earlier ones; None where there is none before it."""
    if not found or not found["found"]:
        return None
    return {
        "rows": [
            {
                "release": one["release"],
                "created": one["created"],
                "shared": count(one["shared"]) if one["compared"] else "–",
                "smallest": "–" if one["smallest"] is None else count(one["smallest"]),
                "few": count(_few(one)) if one["compared"] else "–",
                "why": "" if one["compared"] else one["reason"],
            }
            for one in found["found"]
        ],
        "k": found["k"],
        "words": found["words"],
    }


def _few(one: Mapping[str, Any]) -> int:
    """People of whom both releases together leave fewer than k alike."""
    ways = (one[key] for key in ("both", "appeared", "vanished"))
    return sum(way["people"] for way in ways if way)
