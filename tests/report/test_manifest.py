"""The manifest holds what the page of its audience shows, and nothing else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from records import full, manifest, minimal, public

from dbdeid.report.content.audience import Audience
from dbdeid.report.manifest import SCHEMA

PRIVATE = (
    *("source_rows", "suppressed_rows", "seconds", "search", "queries", "models", "distributions"),
    *("spec_text", "transformation", "warnings", "frontier", "draws"),
)


def told(record: Any, audience: Audience) -> dict[str, Any]:
    found = json.loads(manifest(record, audience))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("audience", ["internal", "public"])
def test_says_what_it_is(audience: Audience) -> None:
    for record in (full(), minimal()):
        found = told(record, audience)
        assert list(found)[:2] == ["schema", "audience"]
        assert (found["schema"], found["audience"]) == (SCHEMA, audience)
        assert found["release"] == "adult_public"
        assert found["counted"] == "records"
    assert told(full() | {"source_subjects": 40}, audience)["counted"] == "subjects"


def test_the_public_is_told_what_the_public_page_is_made_from() -> None:
    record: Any = full() | {"distributions": [{"column": "age", "rows": []}]}
    shown, found = public(record), told(record, "public")
    for key in found.keys() - {"schema", "audience", "counted", "verify", "sentences"}:
        assert found[key] == json.loads(json.dumps(shown[key], default=str))
    assert not found.keys() & set(PRIVATE)
    assert "/home/owner" not in json.dumps(found)


def test_the_owner_is_told_what_the_page_knows_and_no_key_of_the_draws() -> None:
    record: Any = full() | {"draws": "secret key", "unheard_of": 1}
    found = told(record, "internal")
    assert found["source_rows"] == record["source_rows"]
    assert not found.keys() & {"draws", "unheard_of"}


def test_is_plain_json_and_the_same_each_time() -> None:
    record: Any = full() | {"loss": math.inf}
    text = manifest(record, "internal")
    assert text == manifest(record, "internal")
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["loss"] is None
