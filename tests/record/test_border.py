"""Records as the private catalog keeps them: nothing is lost on the way there and back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zoo
from alike import METHODS, PEOPLE

import dbdeid
from dbdeid.data.json import JsonObject
from dbdeid.errors import DataError
from dbdeid.record import border, public_record
from dbdeid.record.border import from_json, to_json
from dbdeid.record.making import Search
from dbdeid.record.public_record import PublicRecord
from dbdeid.record.release_record import ReleaseRecord

LEAST: dict[str, Any] = {
    "release": "r",
    "method": "full_domain",
    "version": "0.2.0",
    "created": "2026-02-03T10:15:42+00:00",
    "source": "people",
    "source_rows": 9,
    "source_subjects": None,
    "released_rows": 8,
    "suppressed_rows": 1,
    "classes": 2,
    "smallest_class": 4,
    "verified": True,
    "warnings": [],
}


def kept(name: str) -> JsonObject:
    """The record of a real run, as a book keeps it."""
    if not Path("people.duckdb").exists():
        with duckdb.connect("people.duckdb") as con:
            con.execute(PEOPLE)
    zoo.run({**METHODS[name], "database": "people.duckdb"})
    with duckdb.connect("people.duckdb", read_only=True) as con:
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", METHODS)
def test_a_record_of_each_method_comes_back_as_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = {**kept(name), border.KEY: border.VERSION}
    assert to_json(from_json(told)) == told


def test_what_was_not_told_is_not_told_again() -> None:
    found = to_json(from_json(LEAST))
    assert found.keys() - LEAST.keys() == {border.KEY, "recoding"}
    column: JsonObject = {"name": "age", "role": "quasi_identifier", "loss": None}
    again = to_json(from_json({**LEAST, "columns": [column]}))
    assert again["columns"] == [column]


def test_numbers_stay_what_they_are() -> None:
    told: JsonObject = {"count": 3, "share": 3.0, "most": math.inf, "none": None}
    found = to_json(from_json({**LEAST, "metrics": told}))["metrics"]
    assert found == told
    assert json.dumps(found) == json.dumps(told)


def test_a_record_of_an_earlier_version_is_made_into_one_of_today() -> None:
    old: dict[str, Any] = {
        **LEAST,
        "content": [27, "9224570870114540512666703"],
        "proven": {"source": [1, "2"], "release": {"rows": 8, "sha256": "0c" * 32}},
        "method_parameters": {"recoding": "borrow"},
        "search": {},
        "remains": None,
        "unheard_of": 1,
    }
    found = from_json(old)
    assert found.content is not None
    assert found.content.release is None
    assert found.proven is not None
    assert found.proven.source is None
    assert found.proven.release is not None
    assert found.recoding == "local"
    assert found.companions == ("dictionary",)
    assert (found.search, found.remains) == (None, None)
    assert "unheard_of" not in to_json(found)


@pytest.mark.parametrize("change", [{"released_rows": "many"}, {"padding": 1}, {"columns": [{}]}])
def test_what_is_damaged_is_refused_without_a_value(change: dict[str, Any]) -> None:
    with pytest.raises(dbdeid.DataError, match="record of release 'r' is damaged") as caught:
        from_json({**LEAST, **change})
    assert "many" not in str(caught.value)


def test_null_of_what_must_be_told_is_none_and_not_damage() -> None:
    none = {"classes": None, "smallest_class": None, "source_subjects": None}
    found = from_json({**LEAST, **none})
    assert (found.classes, found.smallest_class, found.by_subject) == (None, None, False)


@pytest.mark.parametrize("version", [{}, {border.KEY: border.VERSION}])
def test_a_record_that_lost_whether_people_count_tells_the_public_nothing(
    version: dict[str, Any],
) -> None:
    lost = {key: value for key, value in LEAST.items() if key != "source_subjects"}
    with pytest.raises(DataError, match=r"damaged \(source_subjects\)"):
        from_json({**lost, **version})


def test_a_record_of_a_later_version_is_refused() -> None:
    with pytest.raises(dbdeid.DataError, match="by a later version of dbdeid"):
        from_json({**LEAST, border.KEY: border.VERSION + 1})


def test_a_record_does_not_change() -> None:
    record = from_json(LEAST)
    with pytest.raises(ValueError, match="frozen"):
        record.verified = False  # type: ignore[misc]


def test_the_public_has_no_place_for_what_is_private() -> None:
    """Neither in its record nor in any part that is its own."""
    private = {
        *("source", "source_rows", "source_subjects", "suppressed_rows", "suppressed_subjects"),
        *("spec_text", "seconds", "search", "queries", "distributions", "models", "frontier"),
        *("draws", "fingerprints", "engine", "rerelease", "proven", "transformation", "warnings"),
        *("expectations", "readings", "downcoded", "weighed", "masked", "useless", "objections"),
        *("limit", "h", "learned", "clusters", "strata", "trial", "shadows", "before", "unique"),
        *("weight", "hierarchy", "declared_domain"),
    }
    own = [one for name, one in vars(public_record).items() if name.startswith("Public")]
    assert PublicRecord in own
    for part in own:
        assert not private & part.model_fields.keys(), part
    assert private & ReleaseRecord.model_fields.keys()


def test_what_a_method_tells_has_a_place() -> None:
    assert Search.told_by({"checked": 3}).checked == 3
    with pytest.raises(TypeError, match="guesses"):
        Search.told_by({"checked": 3, "guesses": 4})
