"""The macros as an extension of DuckDB: its source repository, and the file that LOAD takes.

    python extension/build.py build/extension \
        --repository OWNER/NAME --ref COMMIT --maintainer NAME

writes the sources that DuckDB's community repository builds from, as a repository has them;
`description.yml`, which goes to the former; and `dbdeid.duckdb_extension` for this platform,
unsigned. It needs a C compiler (`cc`, or `CC`). docs/extension.md tells what the extension does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import duckdb
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from dbdeid.engine.engines import ENGINE
from dbdeid.version import __version__

HERE = Path(__file__).parent
NAME = "dbdeid"
API = "v1.2.0"  # of DuckDB's C API, whose stable part every later version keeps
HEADERS = ("duckdb.h", "duckdb_extension.h")
# The last package of npm that has DuckDB's sources, and with them its headers.
PACKAGE = "duckdb@1.4.4"
PACKAGE_SHA256 = "5bb967dcbcd517670ba5f169f238fb9d6787e53752c60ebe24386169d76941ed"
_SCHEMA = "CREATE SCHEMA IF NOT EXISTS deid;\n"


def script() -> str:
    """The statements that make the macros in an attached database `deid`: all of them, or none."""
    text = ENGINE.macro_script()
    if not text.startswith(_SCHEMA):
        raise ValueError("the script of the macros begins with their schema no more")
    # the database stands for the schema, which would be made in the user's database
    return f"BEGIN;\n{text.removeprefix(_SCHEMA)}\nCOMMIT;\n"


def embedded(text: str) -> str:
    """A text as a C array of its bytes, a line a line: some compilers take no long strings."""
    lines = text.encode().splitlines(keepends=True)
    rows = "".join("".join(f"{byte}," for byte in line) + "\n" for line in lines)
    return f"/* Made by extension/build.py of dbdeid {__version__}. */\n" + (
        f"static const char macros[] = {{\n{rows}0}};\n"
    )


def footer(platform: str) -> bytes:
    """The 512 bytes that DuckDB reads from the end of an extension, without a signature.

    Eight fields of 32 bytes, the first one last, and 256 bytes for the signature.
    """
    fields = ["4", platform, API, f"v{__version__}", "C_STRUCT", "", "", ""]
    return b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields)) + bytes(256)


def fetch_headers(folder: Path) -> Path:
    """DuckDB's C headers from its npm package, which `npm` downloads.

    Args:
        folder: where to put them.

    Raises:
        OSError: npm is missing, or cannot reach its registry.
        ValueError: the package is another one.
    """
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", "--silent", "--pack-destination", scratch, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"npm pack {PACKAGE} failed: {done.stderr.strip()[:500]}")
        package = next(Path(scratch).glob("*.tgz"))
        if hashlib.sha256(package.read_bytes()).hexdigest() != PACKAGE_SHA256:
            raise ValueError(f"{PACKAGE} is not the package that was looked at: its digest differs")
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(package) as archive:
            for name in HEADERS:
                found = archive.extractfile(f"package/src/duckdb/src/include/{name}")
                assert found is not None
                (folder / name).write_bytes(found.read())
    return folder


def write_sources(out: Path, headers: Path) -> None:
    """Write the source repository, but for the submodule `extension-ci-tools`."""
    places = {
        "dbdeid.c": "src",
        "CMakeLists.txt": ".",
        "Makefile": ".",
        "dbdeid.test": "test/sql",
        "../LICENSE": ".",
    }
    for name, place in places.items():
        (out / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / name, out / place)
    (out / "src/macros.h").write_text(embedded(script()), encoding="utf-8")
    (out / "duckdb_capi").mkdir(exist_ok=True)
    for name in HEADERS:
        target = out / "duckdb_capi" / name
        if not (target.exists() and target.samefile(headers / name)):
            shutil.copy(headers / name, target)


def compile_extension(out: Path) -> Path:
    """Compile the written sources for this platform, with what DuckDB wants to know of them.

    Raises:
        subprocess.CalledProcessError: the compiler refused them.
    """
    built = out / f"{NAME}.duckdb_extension"
    defined = {"NAME": NAME} | dict(
        zip(
            ("API_VERSION_MAJOR", "API_VERSION_MINOR", "API_VERSION_PATCH"),
            API.removeprefix("v").split("."),
            strict=True,
        )
    )
    subprocess.run(
        [
            *os.environ.get("CC", "cc").split(),
            *("-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"),
            *(f"-DDUCKDB_EXTENSION_{key}={value}" for key, value in defined.items()),
            *("-I", str(out / "src"), "-isystem", str(out / "duckdb_capi")),
            *("-o", str(built), str(out / "src/dbdeid.c")),
        ],
        check=True,
    )
    ((platform,),) = duckdb.execute("PRAGMA platform").fetchall()
    with built.open("ab") as file:
        file.write(footer(platform))
    return built


def write_description(path: Path, repository: str, ref: str, maintainers: list[str]) -> None:
    """Write the descriptor that DuckDB's community repository wants of an extension.

    Args:
        path: where to.
        repository: owner and name of the source repository on GitHub.
        ref: the commit of it.
        maintainers: their names on GitHub.
    """
    description = {
        "extension": {
            "name": NAME,
            "description": "Measure and make k-anonymous tables: risk, l-diversity, t-closeness, "
            "generalization hierarchies and information loss as SQL macros",
            "version": __version__,
            "language": "SQL & C",
            "build": "cmake",
            "license": "Apache-2.0",
            # Python runs what appends the footer; WebAssembly was never tried
            "requires_toolchains": "python3",
            "excluded_platforms": "wasm_mvp;wasm_eh;wasm_threads",
            "maintainers": maintainers,
        },
        "repo": {"github": repository, "ref": ref},
        "docs": {
            "hello_world": LiteralScalarString(
                "CREATE TABLE visits AS SELECT i % 3 AS age FROM range(9) AS numbers(i);\n"
                "SELECT deid.k('visits', ['age']);\n"
                "FROM deid.risk('visits', ['age']);\n"
            ),
            "extended_description": LiteralScalarString(_described()),
        },
    }
    yaml = YAML()
    yaml.width = 1000
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(description, file)


def _described() -> str:
    """What the extension does and has, as Markdown."""
    macros = "".join(
        f"| `{macro.signature}` | {macro.description} |\n" for macro in ENGINE.macros()
    )
    return (
        "`LOAD dbdeid` attaches a database in memory as `deid` that holds these macros. It writes "
        "nothing to other databases, and refuses where that name is taken. "
        "`SELECT comment FROM duckdb_functions() WHERE database_name = 'deid'` tells what each "
        f"reads and gives.\n\n| Macro | Gives |\n|---|---|\n{macros}"
    )


def main() -> None:
    """Write the sources and the descriptor, and build the extension."""
    parser = argparse.ArgumentParser(description="Build the extension of DuckDB.")
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument("--headers", type=Path, help=f"with {' and '.join(HEADERS)}; or npm's")
    parser.add_argument("--repository", required=True, help="of the sources: OWNER/NAME on GitHub")
    parser.add_argument("--ref", required=True, help="its commit")
    parser.add_argument("--maintainer", required=True, action="append", help="a name on GitHub")
    given = parser.parse_args()
    write_sources(given.out, given.headers or fetch_headers(given.out / "duckdb_capi"))
    write_description(given.out / "description.yml", given.repository, given.ref, given.maintainer)
    sys.stdout.write(f"{compile_extension(given.out)}\n")


if __name__ == "__main__":
    main()
