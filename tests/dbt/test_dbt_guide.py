"""The guide to dbt is followed: its files are written, its commands run, what it shows is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from guide import DOCS, blocks, shell, write
from hospital import ROOT


@pytest.mark.full
def test_the_guide_can_be_followed(dbt: Path, tmp_path: Path) -> None:
    folders = [str(Path(sys.executable).parent), str(dbt.parent), os.environ["PATH"]]
    environment = os.environ | {
        "PATH": ":".join(folders),
        "DBDEID_DBT": str(ROOT / "sql" / "dbt"),
        "DO_NOT_TRACK": "1",
        "DBT_USE_COLORS": "false",
    }
    environment.pop("PYTHONWARNINGS", None)
    printed, files, commands, shown = "", 0, 0, 0
    for block in blocks(DOCS / "dbt.md"):
        if block.file is not None:
            write(block, tmp_path)
            files += 1
        elif block.language == "sh":
            fails = block.mark == "fails"
            printed = shell(block.text, tmp_path, fails=fails, environment=environment)
            commands += 1
        elif block.language == "text":
            assert block.text.strip() in printed
            shown += 1
    assert (files, commands, shown) == (8, 7, 2)
    # the model in the guide is the one that the command prints
    planned = subprocess.run(
        [sys.executable, "-m", "dbdeid", "dbt", "plan", "visits.yml", "-o", "seeds"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert planned.stdout.endswith((tmp_path / "models" / "visits_public.sql").read_text())
