"""The runner itself: each of its checks fails when what it looks for is there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from bad_input.runner import Case, Ended, Released, check

FEW = {"evaluate": {"metrics": []}}
BAD = Case(name="bad", spec={"privacy/0/k": 0}, place="privacy[0].k", hint="k: 5")
TOLD = "error: spec.yml: 1 mistake\n- line 36: privacy[0].k: too small\n  Hint: as in `k: 5`\n"


def ended(code: int = 2, out: str = "", err: str = TOLD) -> Ended:
    return Ended(code, out, err, 0.0)


def test_a_good_refusal_passes(template: Path, tmp_path: Path) -> None:
    check(BAD, tmp_path / "place", template)
    document = json.dumps(
        {"error": TOLD.removeprefix("error: ")[:-1], "exit_code": 2, "mistakes": []}
    )
    told = {True: ended(out=document), False: ended()}
    check(BAD, tmp_path / "again", template, lambda case, words: told["--json" in words])


@pytest.mark.parametrize(
    ("case", "broken"),
    [
        (replace(BAD, code=3), "exit code 2 instead of 3"),
        (replace(BAD, place="columns.age"), "no place"),
        (replace(BAD, hint="k: 6"), "no hint"),
        (replace(BAD, place=""), "does not say where"),
        (replace(BAD, hint=""), "does not say what"),
        (
            replace(BAD, code=0, spec={}, words=("check", "spec.yml"), says=("nowhere",)),
            "no 'nowhere'",
        ),
        (replace(BAD, code=0, spec=FEW, place="", hint=""), "leaves"),
    ],
)
def test_wrong_expectations_fail(case: Case, broken: str, template: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=broken):
        check(case, tmp_path / "place", template)


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (ended(err="Traceback (most recent call last):\n" + TOLD), "internals"),
        (ended(err=TOLD + "ValueError: x\n"), "internals"),
        (ended(err=TOLD + "BinderException\n"), "internals"),
        (ended(err=TOLD + "see https://errors.pydantic.dev\n"), "internals"),
        (ended(err=TOLD + "KANARI person 7"), "shows a cell"),
        (ended(err=TOLD + "77000001"), "shows a cell"),
        (ended(out="KANARI"), "shows a cell"),
        (ended(out="{}"), "standard output"),
        (ended(err=TOLD * 1000), "characters"),
        (ended(err=TOLD + "\0"), "NUL"),
        (ended(code=1), "exit code 1"),
    ],
)
def test_bad_endings_fail(found: Ended, broken: str, template: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=broken):
        check(BAD, tmp_path / "place", template, lambda case, words: found)


def test_other_words_with_json_fail(template: Path, tmp_path: Path) -> None:
    def call(case: Case, words: tuple[str, ...]) -> Ended:
        return ended(err=TOLD + "more" if "--json" in words else TOLD)

    with pytest.raises(AssertionError, match="other words with --json"):
        check(replace(BAD, name="zero"), tmp_path / "place", template, call)


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("CREATE TABLE more AS SELECT 1 AS a", "owner's database was changed"),
        ("CREATE VIEW more AS FROM people", "owner's database was changed"),
        ("CREATE MACRO more() AS 1", "owner's database was changed"),
        ("CREATE SCHEMA more", "owner's database was changed"),
        ("UPDATE people SET age = 0 WHERE rowid = 7", "owner's database was changed"),
        ("DROP TABLE clinic.visits", "owner's database was changed"),
        ("COPY people TO 'more.csv'", "leaves"),
        ("COPY (SELECT 1) TO 'spec.yml' (FORMAT csv)", "changes"),
    ],
)
def test_traces_fail(statement: str, broken: str, template: Path, tmp_path: Path) -> None:
    def call(case: Case, words: tuple[str, ...]) -> Ended:
        with duckdb.connect("owner.duckdb") as con:
            con.execute(statement)
        return ended()

    with pytest.raises(AssertionError, match=broken):
        check(BAD, tmp_path / "place", template, call)


def test_a_lost_file_fails(template: Path, tmp_path: Path) -> None:
    def call(case: Case, words: tuple[str, ...]) -> Ended:
        Path("spec.yml").unlink()
        return ended()

    with pytest.raises(AssertionError, match="loses"):
        check(BAD, tmp_path / "place", template, call)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "wrong",
    [
        Released(k=150),
        Released(qis=("age", "zip")),
        Released(rest=("illness",)),
    ],
)
def test_wrong_releases_fail(wrong: Released, template: Path, tmp_path: Path) -> None:
    case = Case(name="good", code=0, spec={"target": None, **FEW}, released=wrong)
    good = replace(case, released=Released(target="owner.duckdb"))
    check(good, tmp_path / "good", template)
    with pytest.raises(AssertionError):
        check(
            replace(case, released=replace(wrong, target="owner.duckdb")), tmp_path / "p", template
        )
