"""The manifest of a release: what its page shows, for machines.

One JSON document beside the page, made from the same record by the same choice of parts, so that
the manifest for the public tells no more than the page for the public.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from dbdeid.report.content.audience import public
from dbdeid.report.content.commands import commands
from dbdeid.report.content.record import Audience, Record
from dbdeid.report.content.remains import sentences

SCHEMA = "dbdeid.manifest/1"
# What a page shows of a record; nothing is passed on because it happens to be there.
_SHOWN = tuple(get_type_hints(Record))


def manifest(
    record: Mapping[str, Any] | Record, audience: Audience, files: Mapping[str, str] | None = None
) -> str:
    """The manifest of one release as JSON text, the same for the same record.

    Args:
        record: as the page takes it.
        audience: `internal`, or `public`: what `audience.public` lets through.
        files: SHA-256 of what lies with it, by name: the files of the release, and its page. None
            where the release is in no file.
    """
    shown = dict(record) if audience == "internal" else public(record)
    if not isinstance(shown.get("content"), Mapping):  # an earlier version kept a sum of hashes
        shown.pop("content", None)
    elif files:
        shown["content"] = {**shown["content"], "files": dict(sorted(files.items()))}
    counted = "records" if shown.get("source_subjects") is None else "subjects"
    if audience == "public":  # which only says whether rows or people are counted
        shown.pop("source_subjects", None)
    parts = {key: shown[key] for key in _SHOWN if shown.get(key) not in (None, [], {}, "")}
    lead = {"trial": True} if parts.pop("trial", False) else {}
    document = {"schema": SCHEMA, "audience": audience, **lead, **parts, "counted": counted}
    document["sentences"] = sentences(shown, audience).to_dict()
    document["verify"] = commands(shown)
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
