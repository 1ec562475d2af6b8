"""dbt in an environment of its own, and the integration project, built once."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import duckdb
import pytest
import tiers
from hospital import ROOT, Project

# dbt-core wants another pathspec than mypy, so that it gets an environment of its own.
WANTED = ("dbt-core<1.12", "dbt-duckdb==1.11.1", f"duckdb=={duckdb.__version__}")


@pytest.fixture(scope="session")
def dbt(pytestconfig: pytest.Config) -> Path:
    """The Python of an environment with dbt, which pytest's cache keeps."""
    key = hashlib.sha256(repr((WANTED, sys.version)).encode()).hexdigest()[:12]
    cache = pytestconfig.cache.mkdir("dbt")
    folder = cache / key
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may make it
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder)  # filled by the pip at hand, and what nobody loads stays as it is
            into = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
            install = [*into, "install", "--quiet", "--no-compile", *WANTED]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            (folder / "whole").touch()
        # dbdeid and what it needs, behind dbt's own packages, for the plugin
        (packages,) = folder.glob("lib/python*/site-packages")
        behind = [str(ROOT), *(p for p in sys.path if p.endswith("site-packages"))]
        (packages / "dbdeid.pth").write_text("\n".join(behind) + "\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def built(dbt: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The integration project after a `dbt build`, to be copied and not changed."""
    folder = tmp_path_factory.mktemp("built") / "hospital"
    shutil.copytree(Path(__file__).with_name("project"), folder, ignore=Project.MADE)
    project = Project(folder, dbt)
    if tiers.full:
        project.run("deps")
    else:
        project.link()
    project.run("build")
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of the built project."""
    return built.copied(tmp_path / "hospital")
