"""The schema of a record, as the reference documentation publishes it, is of what is written."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from test_border import LEAST, kept

from dbdeid.data.json import JsonObject
from dbdeid.record.border import KEY, VERSION, from_json, to_json
from dbdeid.record.schema import schema


def as_written(record: JsonObject) -> JsonObject:
    found: JsonObject = json.loads(json.dumps(to_json(from_json(record))))
    return found


def test_records_are_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jsonschema.validate(as_written(LEAST), schema())
    jsonschema.validate(as_written(kept("local")), schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**as_written(LEAST), KEY: VERSION + 1}, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**as_written(LEAST), "classes": "many"}, schema())


def test_every_value_says_what_it_means() -> None:
    found = schema()
    parts = found["$defs"]
    assert isinstance(parts, dict)
    for part in (found, *parts.values()):
        assert part["description"].endswith(".")
        assert "Attributes" not in part["description"]
        assert all(value["description"] for value in part["properties"].values())
