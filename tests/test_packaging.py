"""The package list against the disk, and what ships in a wheel."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

from ruamel.yaml import YAML

import dbdeid

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_on_disk_is_listed() -> None:
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "dbdeid").rglob("__init__.py")
    }
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    assert found | {"dbdeid.sql", "dbdeid.udfs"} == listed


def test_every_place_states_the_version_of_the_package() -> None:
    parts = {
        "sql/dbt/dbt_project.yml": f"version: {dbdeid.version.__version__}",
        "tests/dbt/project/seeds/visits_public_policy.csv": f"dbdeid {dbdeid.version.__version__}",
    }
    for place, stated in parts.items():
        assert stated in re.split(r"[\n,]", (ROOT / place).read_text(encoding="utf-8")), place


def test_every_supported_python_is_tested_on_a_hosted_machine() -> None:
    prefix = "Programming Language :: Python :: 3."
    supported = [c for c in PROJECT["project"]["classifiers"] if c.startswith(prefix)]
    jobs = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    tested = jobs["default"]["strategy"]["matrix"]["python"]
    assert [c.removeprefix("Programming Language :: Python :: ") for c in supported] == tested
    assert PROJECT["project"]["requires-python"] == f">={tested[0]}"


def test_no_generic_top_level_name_is_claimed() -> None:
    assert all(name.split(".")[0] == "dbdeid" for name in PROJECT["tool"]["setuptools"]["packages"])


def test_every_data_file_ships() -> None:
    declared = PROJECT["tool"]["setuptools"]["package-data"]
    folders = {
        "dbdeid.sql": ROOT / "sql",
        "dbdeid.sample": ROOT / "dbdeid" / "sample",
        "dbdeid.data.shelf": ROOT / "dbdeid" / "data" / "shelf",
    }
    for package, folder in folders.items():
        shipped = {p for pattern in declared[package] for p in folder.glob(pattern)}
        data = {p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
        assert {p for p in data if p.suffix != ".py"} <= shipped


def test_the_sample_is_the_whole_uci_training_file() -> None:
    import duckdb

    sample = files("dbdeid.sample").joinpath("adult.parquet")
    found = duckdb.sql(f"SELECT count(*), count(*) FILTER (income = '>50K') FROM '{sample}'")
    assert found.fetchall() == [(32561, 7841)]
