"""Working on releases one after another: what a failure stops, and what is written of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from folders import write
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.bind.read import read
from dbdeid.cli.command import guarded
from dbdeid.errors import DataError, Failure, Unsatisfiable, VerificationError
from dbdeid.project.releases import Release
from dbdeid.project.results import Result, Results, last
from dbdeid.project.runner import Done, Runner, attempt

NAMES = "abcdef"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("specs")
    return {name: read(write(folder, name)) for name in NAMES}


def releases(files: Mapping[str, Any], upstream: Mapping[str, str]) -> list[Release]:
    return [Release(files[n], f"releases/{n}.yml", tuple(upstream.get(n, ""))) for n in NAMES]


def ended(results: Results) -> str:
    return "".join(result.status[0] for result in results.results)


ERRORS = {
    "d": DataError("bad input", hint="mend it"),
    "u": Unsatisfiable("nothing satisfies"),
    "v": VerificationError("does not hold"),
    "o": FileNotFoundError(2, "No such file", "x.csv"),
}
CODES = {"": 0, "d": 2, "u": 3, "v": 4, "o": 2}


@given(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from("duvo")),
    st.dictionaries(st.sampled_from(NAMES), st.text(NAMES, max_size=2)),
)
def test_what_fails_stops_only_what_rests_on_it(
    files: Mapping[str, Any], fails: dict[str, str], rests: dict[str, str]
) -> None:
    upstream = {name: "".join(u for u in ups if u < name) for name, ups in rests.items()}
    begun = []

    def work(release: Release) -> Done:
        begun.append(release.name)
        if release.name in fails:
            raise ERRORS[fails[release.name]]
        return Done({"verified": True})

    found = Runner("run", releases(files, upstream), work).go()
    stopped: set[str] = set()
    for name, result in zip(NAMES, found.results, strict=True):
        above = stopped & set(upstream.get(name, ""))
        if above:
            assert result.status == "skipped"
            assert result.exit_code is None
            assert any(f"{up!r}" in str(result.message) for up in above)
        elif name in fails:
            assert result.status == "failed"
            assert result.exit_code == CODES[fails[name]]
        else:
            assert (result.status, result.exit_code, result.message) == ("success", 0, None)
        if result.status != "success":
            stopped.add(name)
        assert (name in begun) == (not above)
    codes = [CODES[fails.get(name, "")] for name in begun]
    assert found.exit_code == next(code for code in (4, 3, 2, 0) if code in codes)


def test_a_test_waits_for_nothing(files: Mapping[str, Any]) -> None:
    def work(release: Release) -> Done:
        failure = Failure("it misses what the spec expects", 4) if release.name == "a" else None
        return Done({"verified": True}, failure)

    found = Runner("test", releases(files, {"b": "a", "c": "b"}), work).go()
    assert ended(found) == "fsssss"
    assert found.results[0].details == {"verified": True}
    assert found.exit_code == 4


def test_what_is_written_is_true_at_every_moment(files: Mapping[str, Any]) -> None:
    """Whoever kills the process leaves the last of these."""
    written: list[str] = []
    at_work: list[str] = []

    def work(release: Release) -> Done:
        at_work.append(written[-1])
        if release.name == "c":
            raise DataError("no")
        return Done({})

    runner = Runner(
        "run", releases(files, {"d": "c"}), work, keep=lambda r: written.append(ended(r))
    )
    runner.go()
    assert at_work == ["isssss", "sissss", "ssisss", "ssfsis", "ssfssi"]
    assert written[-1] == "ssfsss"


def test_an_interrupt_ends_it_and_tells_what_was_not_done(files: Mapping[str, Any]) -> None:
    kept: list[Results] = []

    def work(release: Release) -> Done:
        if release.name == "c":
            raise KeyboardInterrupt
        return Done({})

    found = Runner("run", releases(files, {}), work, guarded, kept.append).go()
    assert [r.status for r in found.results] == ["success"] * 2 + ["interrupted"] + ["skipped"] * 3
    assert found.exit_code == found.results[2].exit_code == 130
    assert kept[-1].to_dict() == found.to_dict()
    assert kept[-1].interrupted
    assert "before it was begun" in str(found.results[3].message)


def test_a_defect_stops_a_program_and_not_the_command(files: Mapping[str, Any]) -> None:
    def work(release: Release) -> Done:
        if release.name == "b":
            raise ValueError("a cell: 77000001")
        return Done({})

    found = Runner("run", releases(files, {"c": "b"}), work, guarded).go()
    assert [r.status for r in found.results[:4]] == ["success", "failed", "skipped", "success"]
    assert found.exit_code == found.results[1].exit_code == 1
    assert "77000001" not in json.dumps(found.to_dict())

    kept: list[Results] = []
    with pytest.raises(ValueError, match="a cell"):
        Runner("run", releases(files, {}), work, attempt, kept.append).go()
    assert [r.status for r in kept[-1].results[:3]] == ["success", "interrupted", "skipped"]


def test_nothing_to_do_keeps_the_last_results() -> None:
    kept: list[Results] = []
    found = Runner("run", [], lambda release: Done({}), keep=kept.append).go()
    assert (found.exit_code, found.results, kept) == (0, (), [])


def test_results_are_told_as_they_come(files: Mapping[str, Any]) -> None:
    told: list[tuple[str, Failure | None]] = []

    def work(release: Release) -> Done:
        if release.name == "f":
            raise DataError("no", hint="yes")
        return Done({})

    def tell(result: Result, failure: Failure | None) -> None:
        told.append((result.release, failure))

    Runner("run", releases(files, {}), work, tell=tell).go()
    assert told == [*((n, None) for n in "abcde"), ("f", Failure("no\n  Hint: yes", 2))]


# -- the document ------------------------------------------------------------------------------


def results(**more: Any) -> Results:
    found = Result("a", "releases/a.yml", "success", None, 0, 1.5, {"loss": float("nan"), **more})
    return Results("run", "2026-01-01T00:00:00+00:00", 2.0, False, (found,))


def test_the_document_is_json_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "run_results.json"
    results(released_rows=7).write(path)
    document = json.loads(path.read_text())
    assert document["schema"] == "dbdeid.run_results/1"
    assert document["results"][0]["loss"] is None
    assert set(document["results"][0]) == {
        *("release", "spec", "status", "message", "exit_code", "seconds"),
        *("verified", "expectations", "loss", "released_rows"),
    }
    assert last(path)["a"]["status"] == "success"
    assert last(tmp_path / "nowhere.json") == {}
    assert [p.name for p in path.parent.iterdir()] == ["run_results.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"schema": "dbdeid.run_results/2", "results": []}',
    '{"schema": "dbdeid.run_results/1", "results": [{"release": "a"}]}',
    '{"schema": "dbdeid.run_results/1", "results": 7}', "[" * 100_000],
)  # fmt: skip
def test_a_broken_document_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run_results.json"
    path.write_text(text)
    with pytest.raises(DataError, match="no document of a run") as raised:
        last(path)
    assert "remove it" in raised.value.hint


def test_a_document_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be made") as raised:
        results().write(tmp_path / "file" / "run_results.json")
    assert "paths: {results: …}" in raised.value.hint
