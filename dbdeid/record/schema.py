"""The JSON Schema of a record as the private catalog keeps it, written from its parts."""

from __future__ import annotations

import re
from typing import Any

from dbdeid.data.json import JsonObject
from dbdeid.record.border import KEY, VERSION
from dbdeid.record.release_record import ReleaseRecord

_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def schema() -> JsonObject:
    """The schema, in which each part says what it is, and each of its values what it means."""
    found = ReleaseRecord.model_json_schema()
    parts = found.pop("$defs")
    version = {"const": VERSION, "description": "how the record is to be read"}
    whole = _described(found)
    whole["properties"] = {KEY: version, **whole["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "$defs": {name: _described(part) for name, part in parts.items()},
    }


def _described(part: dict[str, Any]) -> dict[str, Any]:
    """A part whose values say what the docstring of its class says of them."""
    said, _, attributes = part["description"].partition("Attributes:\n")
    told = {name: re.sub(r"\s+", " ", text) for name, text in _ATTRIBUTE.findall(attributes)}
    properties = {
        name: {**{k: v for k, v in value.items() if k != "title"}, "description": told[name]}
        for name, value in part["properties"].items()
    }
    return {**part, "description": re.sub(r"\s+", " ", said).strip(), "properties": properties}
