"""The rules of the house: who may import whom, what a file may be, what a commit may not say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dbdeid"
MODULES = sorted(PACKAGE.rglob("*.py")) + sorted((ROOT / "udfs").glob("*.py"))

# A room may import the rooms it names, itself, and errors.
ROOMS = {
    "errors": set(),
    "engine": set(),
    "data": {"engine"},
    "privacy": {"data", "engine"},
    "utility": {"privacy", "data", "engine"},
    "search": set(),
    "numeric": set(),
    "query": {"utility", "data", "engine"},
    "verify": {"privacy", "data", "engine"},
    "report": {"utility", "data", "engine"},
    "methods": {"privacy", "utility", "search", "numeric", "data", "engine"},
    "release": {
        "methods",
        "verify",
        "report",
        "query",
        "utility",
        "privacy",
        "search",
        "numeric",
        "data",
        "engine",
        "sample",
        "udfs",
    },
    "project": {"release", "report", "engine"},
    "sample": set(),
    "api": {"project", "release", "words"},
    "words": {"release", "report", "engine", "privacy", "verify", "query"},
    "commands": {"words", "release", "engine"},
    "cli": {
        *("cli_dbt", "cli_project", "cli_releases", "cli_roles", "cli_sign", "cli_sql"),
        *("commands", "release", "engine", "verify", "privacy"),
    },
    "cli_dbt": {"commands", "release"},
    "cli_project": {"commands", "project", "release", "engine"},
    "cli_releases": {"commands", "project", "release"},
    "cli_sql": {"commands", "release", "engine"},
    "cli_roles": {"commands", "release"},
    "cli_sign": {"commands", "release"},
    "dbt": {"release"},
    "udfs": {"api", "engine"},
}


# Rooms that speak neither SQL nor of tables in memory.
WITHOUT_SQL = {"search", "numeric", "report", "project", "words", "commands"}
WITHOUT_SQL |= {"cli", "cli_dbt", "cli_project", "cli_releases", "cli_roles", "cli_sign"}
WITHOUT_SQL |= {"cli_sql"}


def room(path: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "udfs"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            if node.module == "dbdeid":
                yield from (f"dbdeid.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    own = room(path)
    if own in ("__init__", "__main__"):
        return
    for name in imports(path):
        if name.startswith("dbdeid.") and (other := name.split(".")[1]) != "__version__":
            assert other in ROOMS[own] | {own, "errors"}, f"{own} may not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_engine_knows_the_database(path: Path) -> None:
    found = {name.split(".")[0] for name in imports(path)}
    if room(path) != "engine":
        assert "duckdb" not in found
    if room(path) in WITHOUT_SQL:
        assert not found & {"sqlglot", "pandas", "pyarrow"}


def test_errors_are_caught_broadly_in_one_place_only() -> None:
    def broad(path: Path) -> bool:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        handlers = [n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler)]
        return any(
            h.type is None or (isinstance(h.type, ast.Name) and h.type.id == "Exception")
            for h in handlers
        )

    assert [p.relative_to(ROOT).as_posix() for p in MODULES if broad(p)] == ["dbdeid/commands.py"]


# Macros are DuckDB's own dialect, and those for dbt are Jinja; their tests let these parse them.
STEPS = sorted(
    p
    for p in (ROOT / "sql").rglob("*.sql")
    if p.relative_to(ROOT / "sql").parts[0] not in ("macros", "dbt")
)


@pytest.mark.parametrize("path", STEPS, ids=lambda p: str(p.relative_to(ROOT)))
def test_sql_files_parse_and_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"-- {path.stem}: ")
    assert all(sqlglot.parse(text, dialect="duckdb"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "sql" / "steps").glob("*.sql")), ids=lambda p: p.stem
)
def test_every_step_is_used(path: Path) -> None:
    used = any(f'"{path.stem}"' in module.read_text(encoding="utf-8") for module in MODULES)
    assert used, f"no module runs {path.name}"


def test_modules_stay_one_idea() -> None:
    long = {p.name: n for p in MODULES if (n := len(p.read_text().splitlines())) > 500}
    assert not long


def test_tests_outside_packages_have_names_of_their_own() -> None:
    # pytest imports them by their bare names: of two alike, the second is an error of collection
    files = (p for p in (ROOT / "tests").rglob("*.py") if p.parent.name != "benchmarks")
    bare = sorted(p.name for p in files if not (p.parent / "__init__.py").exists())
    assert [name for name in bare if name != "conftest.py"] == sorted({*bare} - {"conftest.py"})
