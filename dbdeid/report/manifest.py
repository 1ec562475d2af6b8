"""The manifest of a release: what its page shows, for machines.

One JSON document beside the page, made from the same record by the same choice of parts, so that
the manifest for the public tells no more than the page for the public.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from dbdeid.data.json import JsonObject
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.content.audience import Audience, public
from dbdeid.report.content.commands import commands
from dbdeid.report.content.remains import sentences

SCHEMA = "dbdeid.manifest/1"
# What a page shows of a record, in this order; nothing is passed on because it happens to be there.
_SHOWN = (
    *("release", "method", "version", "created", "publisher", "source", "source_rows"),
    *("source_subjects", "released_rows", "suppressed_rows", "classes", "smallest_class"),
    *("verified", "warnings", "objections", "columns", "privacy", "null_policy", "accept"),
    *("method_parameters", "transformation", "loss", "metrics", "column_loss", "search"),
    *("verification", "remains", "readings", "downcoded", "suppressed_subjects"),
    *("counterfeit_rows", "relocated_rows", "recoding", "padding", "masked", "risk"),
    *("histogram", "queries", "models", "distributions", "seconds", "exports", "content"),
    *("useless", "spec_text"),
)


def manifest(
    record: ReleaseRecord, audience: Audience, files: Mapping[str, str] | None = None
) -> str:
    """The manifest of one release as JSON text, the same for the same record.

    Args:
        record: as the page takes it.
        audience: `internal`, or `public`: what `audience.public` lets through.
        files: SHA-256 of what lies with it, by name: the files of the release, and its page. None
            where the release is in no file.
    """
    private = record if audience == "internal" else None
    shown = private or public(record)
    told = shown.to_dict()
    if shown.content is None or shown.content.release is None:  # once it was a sum of hashes
        told.pop("content", None)
    elif files:
        told["content"] = {**shown.content.to_dict(), "files": dict(sorted(files.items()))}
    parts = {key: told[key] for key in _SHOWN if told.get(key) not in (None, [], {}, "")}
    document: JsonObject = {"schema": SCHEMA, "audience": audience}
    if private and private.trial:
        document["trial"] = True
    document |= {**parts, "counted": "subjects" if shown.by_subject else "records"}
    document["sentences"] = plain(sentences(shown, audience).to_dict())
    document["verify"] = plain(commands(shown))
    return json.dumps(plain(document, _short), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any, of: Callable[[Any], Any] = lambda value: value) -> Any:
    """A value in JSON's own words; what is not a finite number is null.

    Args:
        value: mappings and lists of values.
        of: what a single value becomes.
    """
    match value:
        case Mapping():
            return {str(key): plain(item, of) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, of) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return of(value)


def _short(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.12g}")  # 0.15, not 0.15000000000000002
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)
