"""Every case of every room, through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bad_input import (
    commands,
    data,
    external,
    files,
    hierarchies,
    methods,
    models,
    names,
    policies,
    populations,
    projects,
    sources,
    spec,
    synthetic,
    yaml_text,
)
from bad_input.runner import Case, check

ROOMS = {
    "names": names.CASES,
    "spec": spec.CASES,
    "methods": methods.CASES,
    "models": models.CASES,
    "synthetic": synthetic.CASES,
    "yaml": yaml_text.CASES,
    "hierarchies": hierarchies.CASES,
    "data": data.CASES,
    "sources": sources.CASES,
    "populations": populations.CASES,
    "policies": policies.CASES,
    "external": external.CASES,
    "projects": projects.CASES,
    "commands": commands.CASES,
    "files": files.CASES,
}
ALL = [(room, case) for room, cases in ROOMS.items() for case in cases]
# A process and a release take ten times as long as a refusal in this process.
LONG = [(room, case) for room, case in ALL if case.real or case.code == 0]
SHORT = [(room, case) for room, case in ALL if not (case.real or case.code == 0)]


def cases(listed: list[tuple[str, Case]]) -> pytest.MarkDecorator:
    names = [f"{room}: {case.name}" for room, case in listed]
    ids = [name.encode("ascii", "backslashreplace").decode() for name in names]
    return pytest.mark.parametrize(("room", "case"), listed, ids=ids)


@pytest.mark.sampled(30)
@cases(SHORT)
def test_case(room: str, case: Case, template: Path, tmp_path: Path, counted: Any) -> None:
    hold(room, case, template, tmp_path, counted)


@pytest.mark.sampled(80)
@cases(LONG)
def test_long_case(room: str, case: Case, template: Path, tmp_path: Path, counted: Any) -> None:
    hold(room, case, template, tmp_path, counted)


def hold(room: str, case: Case, template: Path, tmp_path: Path, counted: Any) -> None:
    ended = check(case, tmp_path / "place", template)
    kind = "hostile but legal" if case.released else room
    counted(kind, case.name, 0 if case.real else ended.code, ended.seconds)


def test_names_of_cases_are_their_own() -> None:
    names = [(room, case.name) for room, case in ALL]
    assert len(set(names)) == len(names)


def test_there_are_enough_cases() -> None:
    assert len(ALL) >= 200
    assert sum(case.real for _, case in ALL) >= 25
