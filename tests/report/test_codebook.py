"""The public page as a codebook: how to read a label, a first question, digests, terms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from records import full, render, rendered

from dbdeid.record.border import from_json
from dbdeid.report.around import Around
from dbdeid.report.content.audience import public
from dbdeid.report.content.codebook import Codebook, codebook
from dbdeid.report.page import render as page_of

SUMS = {"adult_public.parquet": "ab" * 32, "adult_public_dictionary.parquet": "cd" * 32}


def book(files: dict[str, str] | None = None, **changed: Any) -> Codebook:
    return codebook(public(from_json(full() | changed)), files or {})


def labelled(*labels: str | None) -> dict[str, str]:
    columns = full()["columns"]
    columns[2]["labels"] = [*labels]
    for other in (*columns[:2], *columns[3:]):
        other.pop("labels", None)
    found = book(columns=columns).labels
    return {written: re.split("[:,;]", read)[0] for written, read in found}


def test_labels_are_explained_by_how_they_are_written() -> None:
    assert labelled("[20, 40)", "[40, 60)", ">=60", "<20", "130**", "*", None, "School") == {
        "[20, 40)": "from the first end up to",
        "<20": "open below",
        ">=60": "open above",
        "130**": "begins like this",
        "*": "any value",
    }
    assert labelled("[1, 2]", "Europe@2") == {
        "[1, 2]": "from the first end to the second",
        "Europe@2": "one label that names different values on different levels",
    }
    assert labelled("School", "> a text", "a, b") == {}


def test_says_what_the_values_of_each_column_are() -> None:
    meanings = {column.name: column.meaning for column in book().columns}
    assert meanings["name"] == "not released"
    assert meanings["occupation"] == "withheld in every record"
    assert meanings["sex"] == meanings["hours"] == "the original value"
    assert meanings["age"] == "a group of values that contains the original one"
    assert meanings["diagnosis"] == "the original value (sensitive)"
    local = {c.name: c.meaning for c in book(recoding="local").columns}
    assert local["age"].endswith("how wide differs by record")
    # only quasi-identifiers have labels that are shown
    assert {c.name for c in book().columns if c.labels} == {
        *("sex", "age", "marital-status", "native-country", "occupation"),
    }


def test_the_first_question_is_one_that_the_export_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("adult_public.duckdb") as con:
        con.execute("CREATE TABLE adult_public AS SELECT unnest(['F', 'M', 'F']) AS sex")
        for name in ("adult_public.parquet", "it's.csv.gz"):
            con.execute(f"COPY adult_public TO '{name.replace(chr(39), chr(39) * 2)}'")
    for exports in (["/x/adult_public.parquet"], ["/x/it's.csv.gz"], ["/x/adult_public.duckdb"]):
        query = book(exports=exports).query
        assert query is not None
        with duckdb.connect() as con:
            assert con.execute(query).fetchall() == [("F", 2), ("M", 1)]
    assert book(exports=["/x/adult_public.xlsx"]).query is None
    assert book(exports=["/x/adult_public/"]).query is None


@pytest.mark.full
def test_digests_are_of_the_files_or_else_of_the_rows() -> None:
    assert book(SUMS).sums == tuple(SUMS.items())
    assert book(SUMS).files
    assert [name for name, _ in book().sums] == ["dictionary", "release"]
    page = page_of(from_json(full()), "public", Around(SUMS))
    assert all(digest in page for digest in SUMS.values())
    assert "ab" * 32 not in page_of(from_json(full()), "internal", Around(SUMS))


def test_tells_licence_and_contact_and_never_to_look_for_anyone() -> None:
    publisher = {"name": "<b>Hospital</b>", "licence": "CC BY 4.0", "contact": "data@h.example"}
    page = rendered(full() | {"publisher": publisher}, "public")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "Do not try to find out whom a record is about." in text
    assert "&lt;b&gt;Hospital&lt;/b&gt; Licence CC BY 4.0 Contact data@h.example" in text
    assert "tell the contact below and nobody else" in text
    none = render(full(), "public")
    assert "not stated: ask whoever gave you the release" in none
    assert "tell whoever gave you the release and nobody else" in none
