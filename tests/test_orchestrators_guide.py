"""The guide to orchestrators: its files are run by the programs that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from guide import DOCS, blocks, lay_out, shell
from ruamel.yaml import YAML

PAGE = DOCS / "orchestrators.md"
KEY = "DBDEID_PSEUDONYM_KEY"
OWN = {  # what keeps a program in the folder of the test, and off the network
    "dagster": {"DAGSTER_HOME": "home", "DAGSTER_DISABLE_TELEMETRY": "1"},
    "airflow": {
        "AIRFLOW_HOME": "home",
        "AIRFLOW__CORE__DAGS_FOLDER": ".",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "HOSPITAL": ".",
    },
    "prefect": {
        "PREFECT_HOME": "home",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
    },
}
# A path is that of the test's folder.
_PATHS = ("DAGSTER_HOME", "AIRFLOW_HOME", "PREFECT_HOME", "AIRFLOW__CORE__DAGS_FOLDER", "HOSPITAL")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, and a key."""
    lay_out(blocks(PAGE), tmp_path)
    monkeypatch.setenv(KEY, "0123456789abcdef" * 4)
    return tmp_path


@pytest.mark.full
def test_the_steps_of_the_workflow_make_and_verify_a_release_or_fail(folder: Path) -> None:
    workflow = YAML(typ="safe").load(folder / ".github" / "workflows" / "release.yml")
    (job,) = workflow["jobs"].values()
    assert set(workflow["on"]) == {"workflow_dispatch", "schedule"}  # nobody else's commands
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"] is False
    assert job["runs-on"][0] == "self-hosted"
    assert job["env"] == {KEY: "${{ secrets." + KEY + " }}"}
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps == ["dbdeid run visits.yml", "dbdeid verify visits.yml"]
    assert "promises verified" in shell("\n".join(steps), folder)
    (fails,) = (b.text for b in blocks(PAGE) if "impossible.yml  #" in b.text)
    assert "exit code 3" in fails
    shell(fails.strip(), folder)
    assert "promises verified" in shell(steps[1], folder)  # the release before stays


def test_without_its_key_a_job_fails_and_publishes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY)
    shell("dbdeid run visits.yml  # exit code 2", folder)
    assert not (folder / "visits_public.duckdb").exists()


class Program:
    """A program that lies somewhere on the PATH, in an environment of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"NOT TRIED: no {name} on the PATH; see CONTRIBUTING.md")
        self.folder = folder
        paths = [str(Path(found).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        own = {k: str(folder / v) if k in _PATHS else v for k, v in OWN[name].items()}
        hidden = ("PYTHONPATH", "PYTHONWARNINGS")
        kept = {k: v for k, v in os.environ.items() if k not in hidden}
        self.environment = kept | own | {"PATH": os.pathsep.join(paths)}
        (folder / "home").mkdir()

    def run(self, command: str) -> tuple[int, str]:
        """The exit code, and all that is printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def _section(name: str) -> Iterator[tuple[str, str]]:
    """The file of an orchestrator and the command that runs it, by their languages."""
    found = list(blocks(PAGE))
    (place,) = (i for i, block in enumerate(found) if block.file == f"hospital_{name}.py")
    yield from ((block.language, block.text) for block in found[place : place + 2])


@pytest.mark.full
@pytest.mark.parametrize("name", OWN)
def test_a_job_succeeds_and_fails_as_its_commands_do(name: str, folder: Path) -> None:
    program = Program(name, folder)
    (_, text), (language, command) = _section(name)
    assert language == "sh"
    if name == "airflow":  # as when it is set up
        assert program.run("airflow db migrate")[0] == 0
    code, printed = program.run(command)
    assert code == 0, printed
    assert "promises verified" in shell("dbdeid verify visits.yml", folder)
    made = (folder / "visits_public.duckdb").read_bytes()
    if name == "dagster":
        _check_finds_what_was_changed(program)

    file = folder / f"hospital_{name}.py"
    file.write_text(text.replace("visits.yml", "impossible.yml"))
    code, printed = program.run(command)
    assert code != 0, printed
    assert "exit code 3" in printed
    assert (folder / "visits_public.duckdb").read_bytes() == made


def _check_finds_what_was_changed(program: Program) -> None:
    target = program.folder / "visits_public.duckdb"
    made = target.read_bytes()
    with duckdb.connect(str(target)) as con:
        con.execute("DELETE FROM visits_public WHERE rowid = 1")
    asked = "from hospital_dagster import promises_hold; print(promises_hold())"
    code, printed = program.run(f'python -c "{asked}"')
    assert code == 0, printed
    assert "passed=False" in printed
    target.write_bytes(made)
