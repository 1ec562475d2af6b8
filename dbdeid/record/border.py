"""The border of a record to JSON: as the private catalog keeps it, and as it is read again.

A record says by `record_version` how it is to be read. Those of earlier versions of dbdeid have
none: they are made into one of today before anything else reads them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.catalog import Entry
from dbdeid.errors import DataError
from dbdeid.record.release_record import ReleaseRecord

VERSION = 1
KEY = "record_version"


# Parts that most runs do not have; they are not written where there are none.
_RARE = frozenset({"trial", "engine", "content", "rerelease", "proven", "frontier"})


def to_json(record: ReleaseRecord) -> JsonObject:
    """A record as the private catalog keeps it."""
    told = record.to_dict()
    return {KEY: VERSION, **{k: v for k, v in told.items() if v or k not in _RARE}}


def from_json(kept: Mapping[str, Json]) -> ReleaseRecord:
    """A record that was kept, by this version of dbdeid or an earlier one.

    Raises:
        DataError: it was kept by a later version, or is damaged.
    """
    version = kept.get(KEY, 0)
    if not isinstance(version, int) or version > VERSION:
        raise DataError(
            "a record of the private book was made by a later version of dbdeid",
            hint="use that version, or a later one",
        )
    try:
        return ReleaseRecord.model_validate(_upgraded(kept) if version < VERSION else kept)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise damaged(str(kept.get("release")), where) from None


def damaged(release: str, where: str) -> DataError:
    """The refusal of a record that cannot be read."""
    return DataError(
        f"the private book's record of release {release!r} is damaged ({where})",
        hint="put a copy of the private book back, or give the release another name",
    )


def record_of(entry: Entry) -> ReleaseRecord:
    """The record of a run that the private catalog keeps.

    Raises:
        DataError: it was kept by a later version of dbdeid, or is damaged.
    """
    return from_json(entry.record)


# Parts that earlier versions kept as null or as nothing where they had none.
_PARTS = frozenset(
    {
        *("padding", "weighed", "synthetic", "masked", "downcoded", "search", "verification"),
        *("queries", "risk", "remains", "models", "rerelease", "proven", "frontier"),
    }
)


def _upgraded(kept: Mapping[str, Json]) -> JsonObject:
    """A record without a version as one of version 1.

    What is null was not known, as what is not there; of what must be told, null says that there is
    none. Recoding was once told by the method alone; the content of a release was once a sum, to
    which other rows can be found.
    """
    must = {name for name, field in ReleaseRecord.model_fields.items() if field.is_required()}
    found: JsonObject = {}
    found |= {
        k: v
        for k, v in kept.items()
        if (v is not None or k in must) and (v != {} or k not in _PARTS)
    }
    if "recoding" not in found:
        parameters = found.get("method_parameters")
        borrowed = isinstance(parameters, Mapping) and parameters.get("recoding") == "borrow"
        found["recoding"] = "local" if borrowed else "global"
    if isinstance(models := found.get("models"), Mapping) and not models.get("models"):
        del found["models"]
    if "content" in found:
        found["content"] = _comparable(found["content"], "release", "dictionary", "catalog")
    if "proven" in found:
        found["proven"] = _comparable(found["proven"], "source", "release")
    return found


def _comparable(kept: Json, *tables: str) -> JsonObject:
    """What was kept of the content of tables, without what is no digest."""
    if not isinstance(kept, Mapping):
        return {}
    return {k: v for k, v in kept.items() if k not in tables or _is_digest(v)}


def _is_digest(kept: Json) -> bool:
    return isinstance(kept, Mapping) and "sha256" in kept
