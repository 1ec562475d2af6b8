"""The first page of a site of reports: all releases of a project in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbdeid.report.content.audience import public
from dbdeid.report.content.record import Audience
from dbdeid.report.content.remains import briefly
from dbdeid.report.page import environment, model_words


def render(releases: Sequence[Mapping[str, Any]], audience: Audience) -> str:
    """The page as HTML.

    Args:
        releases: of each its `release`, `page` (None: there is no report), `record` (None: it was
            never run), `spec`, `upstream` (names), `tags`, `changed` (whether the spec differs
            from the one that was run), `status` and `message` of the last run (None: none),
            `verified` (whether nothing says otherwise), its `state` (published, trial, withdrawn
            or preview), and what it was last `tested` to be.
        audience: `public` leaves out what is not verified, and all but what the public pages tell.
    """
    if audience == "public":
        rows = [_public(release) for release in releases if _is_public(release)]
    else:
        rows = [_internal(release) for release in releases]
    counts = {
        "verified": sum(bool(row["verified"]) for row in rows),
        "undone": sum(row.get("status") not in (None, "success") for row in rows),
        "missed": sum(bool(row.get("missed")) for row in rows),
    }
    template = environment().get_template("site.html.j2")
    return template.render(rows=rows, audience=audience, counts=counts)


def _is_public(release: Mapping[str, Any]) -> bool:
    return bool(release["verified"]) and release["page"] is not None


def _public(release: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing but what the public page of the release tells."""
    shown = public(release["record"])
    return {"release": shown["release"], "page": release["page"], **_told(shown)}


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "models": [model_words(model) for model in record.get("privacy") or ()],
        "verified": record["verified"],
        "beside": briefly(record),
        "released_rows": record["released_rows"],
        "smallest_class": record["smallest_class"],
        "loss": record.get("loss"),
        "created": str(record["created"]),
    }


_NEVER: dict[str, Any] = {
    "models": [],
    "verified": None,
    "beside": None,
    "released_rows": None,
    "smallest_class": None,
    "loss": None,
    "created": None,
}


def _internal(release: Mapping[str, Any]) -> dict[str, Any]:
    record = release["record"]
    told = _told(record) if record is not None else _NEVER
    tested = release["tested"]
    expectations = (record or {}).get("expectations") or []
    if "expectations" in tested and "verified" in tested:
        expectations = tested["expectations"]
    row = {key: value for key, value in release.items() if key != "record"}
    return {
        **told,
        **row,
        "preview": record is not None and not record.get("verification"),
        "expectations": expectations,
        "missed": [e for e in expectations if not e["holds"]],
        "queries": ((record or {}).get("queries") or {}).get("mean_relative_error"),
    }
