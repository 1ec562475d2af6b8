"""dbt in an environment of its own, and the integration project, built once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

import duckdb
import pytest
import tiers
from hospital import ROOT, Project

# dbt-core wants another pathspec than mypy, so that it gets an environment of its own.
WANTED = (
    "dbt-core<1.12",
    "dbt-duckdb==1.11.1",
    "dbt-postgres==1.11.0",
    "dbt-spark==1.11.0",  # a session of it needs pyspark, which is lent where it is installed
    f"duckdb=={duckdb.__version__}",
)


@pytest.fixture(scope="session")
def dbt(pytestconfig: pytest.Config) -> Path:
    """The Python of an environment with dbt, which pytest's cache keeps."""
    lent = sorted((package.name, package.version) for package in distributions())
    key = hashlib.sha256(repr((WANTED, lent, sys.version)).encode()).hexdigest()[:12]
    cache = pytestconfig.cache.mkdir("dbt")
    folder = cache / key
    with _alone(cache):  # another worker may make it
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder)  # filled by the pip at hand, and what nobody loads stays as it is
            _lend(folder)  # first: what is there already need not be installed
            into = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
            install = [*into, "install", "--quiet", "--no-compile", *WANTED]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            (folder / "whole").touch()
        _lend(folder)
    return folder / "bin" / "python"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other worker is at it meanwhile."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lend(folder: Path) -> None:
    """Have dbdeid, for the plugin, and all that is beside it behind dbt's own packages."""
    (packages,) = folder.glob("lib/python*/site-packages")
    behind = [str(ROOT), *(p for p in sys.path if p.endswith("site-packages"))]
    (packages / "dbdeid.pth").write_text("\n".join(behind) + "\n")


@pytest.fixture(scope="session")
def built(dbt: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The integration project after a `dbt build`, to be copied and not changed.

    It is built by the worker that comes first, and each has a copy.
    """
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    project = Project(common / "hospital", dbt)
    with _alone(common):
        if not (common / "whole").exists():
            shutil.copytree(
                Path(__file__).with_name("project"), project.folder, ignore=Project.MADE
            )
            if tiers.full:
                project.run("deps")
            else:
                project.link()
            project.run("build")
            (common / "whole").touch()
    return project.copied(own / "built")


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of the built project."""
    return built.copied(tmp_path / "hospital")
