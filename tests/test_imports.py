"""Start-up is cheap: what is not needed is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from specs import PEOPLE, small

ANALYSIS = ("pandas", "scipy", "sklearn", "lifelines", "statsmodels", "altair", "vl_convert")
ANALYSIS += ("pyspark",)
HEAVY = ("numpy", "pandas", "sklearn", "lifelines", "pyarrow", "altair", "rich.live")
ENGINE = ("duckdb", "sqlglot", "pydantic", "ruamel.yaml", "jinja2")


def loaded(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print('\\nloaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rsplit("loaded ", 1)[1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import dbdeid",
        "import dbdeid.cli.app",
        "from dbdeid.cli.app import app; app(['--help'], standalone_mode=False)",
    ],
)
def test_starting_loads_no_engine(statement: str) -> None:
    assert not loaded(statement) & {*HEAVY, *ENGINE}


@pytest.mark.full
def test_public_functions_load_no_analysis_packages() -> None:
    assert not loaded("import dbdeid; dbdeid.run") & {"pandas", "sklearn", "lifelines", "altair"}


def test_verify_stays_a_function_when_its_submodule_is_loaded() -> None:
    code = "import dbdeid, dbdeid.verify as _, dbdeid.release.run; assert callable(dbdeid.verify)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_every_public_name_is_there_and_no_other() -> None:
    import dbdeid

    for name in dbdeid.__all__:
        assert callable(getattr(dbdeid, name)), name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = dbdeid.nonsense


def test_commands_load_no_analysis_packages(tmp_path: Path) -> None:
    source, out, spec = (tmp_path / name for name in ("people.duckdb", "out.duckdb", "spec.yml"))
    with duckdb.connect(str(source)) as con:
        con.execute(PEOPLE)
    spec.write_text(json.dumps(small(database=str(source), target=str(out))))
    asked = "SELECT count(*) FROM people"
    commands = [*([word, str(spec)] for word in ("check", "run", "verify", "evaluate"))]
    commands += [["query", str(out), asked], ["init", str(source), "-o", str(tmp_path / "new.yml")]]
    call = "from dbdeid.cli.app import app; "
    call += f"assert not any([app(words, standalone_mode=False) for words in {commands}])"
    found = loaded(call)
    assert "numpy" in found
    assert (tmp_path / "new.yml").is_file()
    assert not found & {*ANALYSIS, "cryptography", "jinja2"}
