"""What once left by drafting a table and running the draft unedited, each case by itself.

A case holds where the run refuses, so that nothing is written, or where what is written holds
neither the column nor, of dates, anything that singles a record out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from ruamel.yaml import YAML

from dbdeid.commands.init import drafted as drafted_of
from dbdeid.errors import SpecError
from dbdeid.release.run import run
from drafts.nasty import (
    census,
    clinic,
    heart_study,
    melanoma,
    numbered_visits,
)
from drafts.registries import registry
from drafts.words import CONCEPTS, ENGLISH, FRENCH, GERMAN, Words

DRAFTED_REASON = "not looked at yet: taken for what outsiders do not know"
HOMOGENEOUS = {"role": "sensitive", "accept": "homogeneity"}


def headers(words: Words, *concepts: str) -> list[str]:
    at = dict(zip(CONCEPTS, words.main, strict=True))
    return [at[concept] for concept in concepts]


def drafted(frame: pd.DataFrame, folder: Path) -> Path:
    """The draft of a table, as `init` writes it."""
    frame.to_parquet(folder / "table.parquet", index=False)
    path = folder / "draft.yml"
    path.write_text(drafted_of(folder / "table.parquet", None).text, encoding="utf-8")
    return path


def released(path: Path) -> pd.DataFrame:
    """What a run of the spec writes: no columns, if it refuses to."""
    try:
        run(path)
    except SpecError:
        return pd.DataFrame()
    (export,) = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["output"]["export"]
    return pd.read_parquet(path.parent / export)


def withheld(frame: pd.DataFrame, columns: list[str], folder: Path) -> bool:
    return not set(columns) & set(released(drafted(frame, folder)).columns)


def refused(frame: pd.DataFrame, **spec: Any) -> str:
    """What a run of an owner's spec says, that has to refuse."""
    with duckdb.connect() as con:
        con.register("frame", frame)
        con.execute("CREATE TABLE source AS FROM frame")
        with pytest.raises(SpecError) as caught:
            run({"release": "public", "source": "source"} | spec, con)
    return str(caught.value)


def visits(**columns: Any) -> Mapping[str, Any]:
    """An owner's spec for numbered visits, in which three numbers have a role of their own."""
    return {
        "subject": "mrn",
        "columns": {
            "mrn": "identifier",
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 40]}},
            "ethnicity": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "ward": "drop",
            "icd10": HOMOGENEOUS,
            "los": "drop",
            "crp": "drop",
            **columns,
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "full_domain", "suppression_limit": 1.0},
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [FRENCH, GERMAN], ids=["French", "German"])
def test_names_and_streets_of_a_patient_file_stay(words: Words, tmp_path: Path) -> None:
    frame = registry(words)
    direct = headers(words, "surname", "first_name", "street", "house_number")
    others = headers(words, "sex", "birth_date", "postcode", "diagnosis_code", "weight")
    assert withheld(frame[direct + others], direct, tmp_path)


def test_the_person_number_of_a_cohort_stays(tmp_path: Path) -> None:
    assert withheld(heart_study(), ["RANDID"], tmp_path)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("written", ["dates", "days", "years"])
def test_dates_of_a_registry_single_nobody_out(written: str, tmp_path: Path) -> None:
    """Neither as they are, nor by the days between two that are hidden."""
    frame = melanoma()
    for name in ("dx", "exit"):
        days = pd.to_datetime(frame[name]) - pd.Timestamp("1960-01-01")
        if written == "days":
            frame[name] = days.dt.days
        elif written == "years":
            frame[name] = (1960 + days.dt.days / 365.25).round(3)
    shown = released(drafted(frame, tmp_path))
    dates = [name for name in ("dx", "exit", "surv_days") if name in shown]
    assert dates == [] or not (~shown.duplicated(dates, keep=False)).any()


def test_telephones_under_headers_that_say_nothing_stay(tmp_path: Path) -> None:
    frame = registry(ENGLISH)
    at = dict(zip(CONCEPTS, (f"c{i:02}" for i in range(1, 27)), strict=True))
    frame.columns = pd.Index(at.values())
    direct = [at[c] for c in ("surname", "street", "telephone", "mail", "physician", "remarks")]
    others = [at[c] for c in ("sex", "birth_date", "postcode", "diagnosis_code")]
    assert withheld(frame[direct + others], direct, tmp_path)


@pytest.mark.full
def test_a_refusal_shows_no_remark() -> None:
    frame = registry(ENGLISH)[headers(ENGLISH, "sex", "birth_date", "diagnosis_code", "remarks")]
    remarks = headers(ENGLISH, "remarks")[0]
    others = dict.fromkeys(frame.columns, "drop")
    said = refused(
        frame,
        columns={
            **others,
            "Sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            remarks: {"role": "insensitive", "reason": "asked for by those who do the study"},
        },
        privacy=[{"model": "k_anonymity", "k": 2}],
        method={"name": "full_domain", "suppression_limit": 1.0},
    )
    assert remarks in said
    assert not [text for text in frame[remarks].dropna().unique() if text in said]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", ["nhsno", "eid", "chartno"])
def test_a_number_beside_that_of_the_subject_stays(number: str, tmp_path: Path) -> None:
    frame = numbered_visits()
    kept = ["mrn", number, "sex", "age", "ethnicity", "icd10", "crp"]
    assert withheld(frame[kept], [number], tmp_path)


def test_numbers_of_the_subject_are_refused_all_at_once() -> None:
    said = refused(
        numbered_visits(),
        **visits(nhsno=HOMOGENEOUS, eid=HOMOGENEOUS, chartno=HOMOGENEOUS),
    )
    assert [name for name in ("nhsno", "eid", "chartno") if name not in said] == []


def test_an_owner_may_release_a_number_for_a_reason() -> None:
    with duckdb.connect() as con:
        con.register("frame", numbered_visits())
        con.execute("CREATE TABLE source AS FROM frame")
        chart = {
            "role": "insensitive",
            "accept": "looks_like_identifier",
            "reason": "drawn anew for this release, the key is destroyed",
        }
        spec = visits(nhsno="identifier", eid="identifier", chartno=chart)
        run({"release": "public", "source": "source"} | spec, con)
        rows = con.execute("DESCRIBE public").fetchall()
    assert "chartno" in [row[0] for row in rows]


def test_codes_of_a_census_do_not_leave_as_they_are(tmp_path: Path) -> None:
    path = drafted(census(), tmp_path)
    columns = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["columns"]
    shown = released(path)
    as_they_are = [
        name
        for name in ("MARSTAT", "RACE", "EDUC")
        if name in shown and columns[name]["role"] != "quasi_identifier"
    ]
    assert as_they_are == []


@pytest.mark.parametrize("reason", ["", DRAFTED_REASON])
def test_a_reason_that_nobody_gave_is_refused(reason: str) -> None:
    said = refused(
        census()[["AGE", "SEX", "MARSTAT"]],
        columns={
            "AGE": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 40]}},
            "SEX": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "MARSTAT": {"role": "insensitive", "reason": reason},
        },
        privacy=[{"model": "k_anonymity", "k": 2}],
        method={"name": "full_domain", "suppression_limit": 1.0},
    )
    assert "MARSTAT" in said


def test_no_reason_is_drafted(tmp_path: Path) -> None:
    """Where the owner's reason belongs, nothing stands that the tool has written."""
    entries = YAML(typ="safe").load(drafted(census(), tmp_path).read_text())["columns"].values()
    assert [e["reason"] for e in entries if isinstance(e, dict) and e.get("reason")] == []


@pytest.mark.full
@pytest.mark.parametrize("amount", ["totsales", "invoicetotal", "salary"])
def test_an_amount_is_nobody(amount: str, tmp_path: Path) -> None:
    """Nearly every record has an amount of its own, so that it looks like a number that repeats."""
    rng = random.Random(amount)
    frame = pd.DataFrame(
        {
            "state": rng.choice(("CA", "NY", "TX", "IL", "AZ")),
            "sex": rng.choice(("female", "male")),
            amount: 20_000 + rng.randrange(50_000),
        }
        for _ in range(1000)
    )
    assert 0.95 < frame[amount].nunique() / len(frame) < 1
    spec = YAML(typ="safe").load(drafted(frame, tmp_path).read_text(encoding="utf-8"))
    assert spec.get("subject") != amount


def test_contacts_and_doctors_do_not_pass_safe_harbor() -> None:
    frame = clinic()[["Sex", "Emergency_Contact", "Attending_Md", "Icd10"]]
    said = refused(
        frame,
        preset="safe_harbor",
        columns={
            "Sex": {"role": "insensitive", "reason": "not named by Safe Harbor"},
            "Emergency_Contact": HOMOGENEOUS,
            "Attending_Md": HOMOGENEOUS,
            "Icd10": HOMOGENEOUS,
        },
    )
    assert "Emergency_Contact" in said
    assert "Attending_Md" in said


def test_a_draft_declares_no_value_of_few_records(tmp_path: Path) -> None:
    """What is common, or of the type, can be asked of the release; the rest is for the owner."""
    frame = pd.DataFrame(
        {
            "sex": ["F", "M"] * 50,
            "gender": ["F", "M"] * 49 + ["F", "X"],
            "married": [True, False] * 50,
        }
    )
    path = drafted(frame, tmp_path)
    columns = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["columns"]
    assert columns["sex"]["domain"] == ["F", "M"]
    assert columns["married"]["domain"] == ["false", "true"]
    assert "domain" not in columns["gender"]
    assert "X" not in path.read_text(encoding="utf-8").split("columns:")[1]
    assert "domain: [...]" in path.read_text(encoding="utf-8")
