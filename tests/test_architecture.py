"""The rules of the house: who may import whom, what a file may be, what a commit may not say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import sqlglot

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dbdeid"
MODULES = sorted(PACKAGE.rglob("*.py")) + sorted((ROOT / "udfs").glob("*.py"))

# A room may import the rooms it names, itself, and errors; what it may import lies below it.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "sample": set(),
    "engine": set(),
    "data": {"engine"},
    "record": {"data", "engine"},
    "lattice": set(),
    "privacy": {"data", "engine"},
    "utility": {"data", "engine"},
    "report": {"record", "utility", "privacy", "data", "engine"},
    "query": {"utility", "data", "engine"},
    "profiling": {"data", "engine"},
    "verify": {"privacy", "data", "engine"},
    "sources": {"data", "engine"},
    "targets": {"sources", "verify", "data", "engine"},
    "spec": {"utility", "privacy", "data", "engine"},
    "bind": {
        *("sources", "spec", "verify", "profiling", "query", "utility", "privacy", "data"),
        "engine",
    },
    "analyses": {"bind", "query", "utility", "engine"},
    "prepare": {
        *("analyses", "bind", "spec", "verify", "profiling", "query"),
        *("record", "utility", "privacy", "lattice", "data", "engine", "udfs"),
    },
    "methods": {
        *("prepare", "analyses", "bind", "spec", "verify", "report", "query", "privacy"),
        *("lattice", "data", "engine"),
    },
    "workspace": {
        *("methods", "bind", "spec", "report", "record", "privacy", "lattice", "data", "engine"),
    },
    "publish": {
        *("workspace", "methods", "prepare", "bind", "targets", "sources", "spec", "verify"),
        *("query", "report", "record", "privacy", "data", "engine"),
    },
    "rerelease": {
        *("workspace", "methods", "prepare", "bind", "spec", "verify"),
        *("record", "privacy", "lattice", "data", "engine"),
    },
    "evaluation": {
        *("rerelease", "publish", "methods", "prepare", "analyses", "bind", "spec", "verify"),
        *("query", "record", "utility", "privacy", "data", "engine"),
    },
    "review": {
        *("workspace", "methods", "prepare", "bind", "spec", "profiling", "query", "report"),
        *("privacy", "lattice", "data", "engine"),
    },
    "external": {
        *("review", "evaluation", "publish", "workspace", "prepare", "bind", "spec", "verify"),
        *("query", "report", "record", "utility", "privacy", "data", "engine", "version"),
        "sources",
    },
    "release": {
        *("external", "review", "evaluation", "rerelease", "publish", "workspace", "methods"),
        *("prepare", "bind", "spec", "verify", "record", "privacy", "data", "engine"),
        *("report", "version"),
    },
    "install": {"udfs", "engine"},
    "commands": {
        *("release", "external", "review", "evaluation", "rerelease", "publish", "workspace"),
        *("methods", "prepare", "bind", "spec", "verify", "profiling", "query", "report"),
        *("record", "utility", "privacy", "lattice", "data", "engine", "version"),
    },
    "serve": {"commands", "query", "data", "engine", "version"},
    "ui": {
        *("project", "commands", "release", "workspace", "prepare", "bind", "spec", "profiling"),
        *("report", "record", "query", "privacy", "data", "engine", "version"),
    },
    "project": {
        *("commands", "release", "external", "evaluation", "workspace", "prepare", "bind"),
        *("spec", "report", "record", "privacy", "data", "engine", "version"),
    },
    "papers": {
        *(
            "commands",
            "release",
            "evaluation",
            "publish",
            "workspace",
            "bind",
            "prepare",
            "methods",
        ),
        *("spec", "query", "report", "utility", "privacy", "lattice", "data", "engine"),
    },
    "cli": {
        *(
            "papers",
            "project",
            "ui",
            "serve",
            "commands",
            "install",
            "release",
            "publish",
            "workspace",
            "prepare",
            "bind",
        ),
        *("spec", "verify", "report", "record", "privacy", "data", "engine", "version"),
    },
    "api": {"project", "commands", "install", "release", "workspace"},
    "dbt": {"install"},
}

# Rooms that know the trees of SQL: others say queries in the words of `engine/expressions.py`.
WITH_TREES = {"engine", "query"}

# What may name DuckDB above the engine: a plugin of another program for it, the dialects in which
# answers are asked for, and the verifier's knowledge of what its files hold beside rows.
NAMING_DUCKDB = {
    "dbdeid/dbt.py",
    "dbdeid/cli/dbt.py",
    "dbdeid/cli/sql.py",
    "dbdeid/commands/histogram.py",
    "dbdeid/commands/queries/answers.py",
    "dbdeid/commands/queries/open_release.py",
    "dbdeid/commands/queries/query.py",
    "dbdeid/verify/files/container.py",
}

# Rooms that speak neither SQL nor of tables in memory.
WITHOUT_SQL = {"lattice", "record", "report", "project", "ui", "cli"}


def room(path: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "udfs"


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def name_of(path: Path) -> str:
    return ".".join(("dbdeid", *path.relative_to(ROOT).with_suffix("").parts)).replace(
        "dbdeid.dbdeid", "dbdeid"
    )


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The syntax of a module; each is parsed once."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """All that a module imports, deferred imports and those for types included."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def arrows() -> dict[str, set[str]]:
    """The modules that each module imports; a name of a package is one of its `__init__`."""
    names = {name_of(p): p for p in MODULES}

    def module(found: str) -> str:
        folder = found.rpartition(".")[0]
        return next((n for n in (found, folder, f"{folder}.__init__") if n in names), "")

    return {
        name: {m for found in imports(p) if (m := module(found)) and m != name}
        for name, p in names.items()
    }


def circles(edges: Mapping[str, set[str]]) -> str:
    """A circle in a graph, as graphlib tells it; nothing where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return ""


def test_imports_point_one_way() -> None:
    assert not [
        f"{shown(path)}: {own} may not import {name}"
        for path in MODULES
        if (own := room(path)) not in ("__init__", "__main__", "udfs")
        for name in imports(path)
        if name.startswith("dbdeid.") and name.split(".")[1] not in ROOMS[own] | {own, "errors"}
    ]


def test_rooms_lie_above_each_other() -> None:
    assert not circles(ROOMS)
    assert {room(p) for p in MODULES} - {*ROOMS} == {"__init__", "__main__", "udfs"}


def test_no_module_imports_itself_by_way_of_others() -> None:
    # `dbdeid/__init__.py` offers the names of `api` when they are first used
    assert not circles({k: v for k, v in arrows().items() if k != "dbdeid.__init__"})


def test_no_folder_imports_itself_by_way_of_others() -> None:
    folders: dict[str, set[str]] = {}
    for module, found in arrows().items():
        own = module.rpartition(".")[0]
        if own != "dbdeid":
            folders.setdefault(own, set()).update(
                other for n in found if (other := n.rpartition(".")[0]) not in (own, "dbdeid")
            )
    folders.pop("dbdeid.udfs", None)  # its procedures call the package, which calls its functions
    assert not circles(folders)


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    for path in (PACKAGE / "verify").rglob("*.py"):
        used = {n.split(".")[1] for n in imports(path) if n.startswith("dbdeid.")}
        assert used <= {"verify", "privacy", "data", "engine", "errors"}, path.name


@cache
def methods() -> dict[str, str]:
    """The classes of methods in a specification, by name, each with its module."""
    return {
        node.name: path.stem
        for path in (PACKAGE / "spec" / "method").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "MethodPart" for base in node.bases)
    }


def told_apart(path: Path) -> set[str]:
    """The classes that a module tells values apart by: of `isinstance` and of patterns."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                found |= {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                found |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
        elif isinstance(node, ast.MatchClass):
            found |= {n.id for n in ast.walk(node.cls) if isinstance(n, ast.Name)}
            found |= {n.attr for n in ast.walk(node.cls) if isinstance(n, ast.Attribute)}
    return found


def test_each_method_has_a_class_of_its_own() -> None:
    assert len(methods()) >= 8
    assert len({*methods().values()}) == len(methods())


def test_only_a_method_itself_asks_whether_it_is_meant() -> None:
    # all others ask what it can do, or call what all methods have
    def of_others(path: Path) -> set[str]:
        spec, own = PACKAGE / "spec" / "method", {path.stem, path.parent.name}
        at_home = path.is_relative_to(PACKAGE / "methods") or path.is_relative_to(spec)
        return {name for name, home in methods().items() if not (at_home and home in own)}

    assert not {shown(p): found for p in MODULES if (found := told_apart(p) & of_others(p))}


def test_folders_stay_small() -> None:
    for folder in {p.parent for p in MODULES}:
        files = [p for p in folder.glob("*.py") if p.name != "__init__.py"]
        assert len(files) <= 16, folder
        assert sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files) <= 4000, folder


def test_only_the_engine_knows_the_database() -> None:
    def withheld(path: Path) -> Iterator[str]:
        if path.parent != PACKAGE / "engine" / "duckdb":
            yield "duckdb"
        if path.parent != PACKAGE / "engine" / "spark":
            yield "pyspark"
        if room(path) not in WITH_TREES:
            yield "sqlglot"
        if room(path) in WITHOUT_SQL:
            yield from ("pandas", "pyarrow")

    used = {path: {name.split(".")[0] for name in imports(path)} for path in MODULES}
    assert not {shown(p): found for p in MODULES if (found := used[p] & {*withheld(p)})}


def named(path: Path) -> Iterator[str]:
    """All that a module names, and the texts in it that are no prose."""
    for node in nodes(path):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Constant(value=str(text)) if re.search(r"duckdb_|^duckdb$", text):
                yield text


def test_nothing_above_the_engine_names_one() -> None:
    assert not [
        (shown(path), name)
        for path in MODULES
        if room(path) not in WITH_TREES and shown(path) not in NAMING_DUCKDB
        for name in (*imports(path), *named(path))
        if "duckdb" in name.lower()
    ]


def test_the_engines_lie_beside_each_other_below_the_choice() -> None:
    for path in (PACKAGE / "engine").rglob("*.py"):
        used = {name for name in imports(path) if name.startswith("dbdeid.engine.")}
        own = path.relative_to(PACKAGE / "engine").parts[:-1]
        if own != ("engines",):
            assert not {n for n in used if n.startswith("dbdeid.engine.engines")}, path
        if not own:
            assert not {n for n in used if n.startswith("dbdeid.engine.duckdb")}, path
            assert not {n for n in used if n.startswith("dbdeid.engine.spark")}, path


def test_errors_are_caught_broadly_in_one_place_only() -> None:
    def broad(path: Path) -> bool:
        handlers = [n for n in nodes(path) if isinstance(n, ast.ExceptHandler)]
        return any(
            h.type is None or (isinstance(h.type, ast.Name) and h.type.id == "Exception")
            for h in handlers
        )

    assert [shown(p) for p in MODULES if broad(p)] == ["dbdeid/cli/command.py"]


# Macros are DuckDB's own dialect, and those for dbt are Jinja; their tests let these parse them.
STEPS = sorted(
    p
    for p in (ROOT / "sql").rglob("*.sql")
    if p.relative_to(ROOT / "sql").parts[0] not in ("macros", "dbt")
)


def test_sql_files_say_what_they_are() -> None:
    def first(path: Path) -> str:
        name = path.relative_to(ROOT / "sql").with_suffix("")
        return f"-- {name.relative_to('steps') if name.parts[0] == 'steps' else name.name}: "

    assert not [shown(p) for p in STEPS if not p.read_text(encoding="utf-8").startswith(first(p))]


def test_sql_files_parse() -> None:
    def parses(path: Path) -> bool:
        try:
            return all(sqlglot.parse(path.read_text(encoding="utf-8"), dialect="duckdb"))
        except sqlglot.errors.SqlglotError:
            return False

    assert not [shown(path) for path in STEPS if not parses(path)]


def test_every_step_is_used() -> None:
    code = "\n".join(module.read_text(encoding="utf-8") for module in MODULES)
    steps = ROOT / "sql" / "steps"
    assert not [
        name
        for path in sorted(steps.rglob("*.sql"))
        if f'"{(name := path.relative_to(steps).with_suffix("").as_posix())}"' not in code
    ]


def test_modules_stay_one_idea() -> None:
    long = {p.name: n for p in MODULES if (n := len(p.read_text().splitlines())) > 500}
    assert not long


def test_tests_outside_packages_have_names_of_their_own() -> None:
    # pytest imports them by their bare names: of two alike, the second is an error of collection
    files = (p for p in (ROOT / "tests").rglob("*.py") if p.parent.name != "benchmarks")
    bare = sorted(p.name for p in files if not (p.parent / "__init__.py").exists())
    assert [name for name in bare if name != "conftest.py"] == sorted({*bare} - {"conftest.py"})
