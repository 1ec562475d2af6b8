"""`dbdeid serve` as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest


def started(*arguments: str | Path, **given: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "dbdeid", "serve", *map(str, arguments)]
    return subprocess.Popen(
        words,
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # whoever runs the tests in the background lets their children ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def read_until(process: subprocess.Popen[str], last: str) -> str:
    assert process.stdout is not None
    told = ""
    while last not in told:
        line = process.stdout.readline()
        assert line, process.communicate()
        told += line
    return told


def test_it_tells_how_to_connect_and_ends_by_interrupt(hospital: Path) -> None:
    process = started(hospital / "visits_public.duckdb", "--port", "0", "--expected-only")
    try:
        told = read_until(process, "Ctrl-C")
        (url,) = re.findall(r"^postgresql://\S+$", told, re.MULTILINE)
        assert "visits_public: age, sex" in told
        with psycopg.connect(url, autocommit=True) as client:
            ((count,),) = client.execute("SELECT COUNT(*) FROM visits_public").fetchall()
            assert count > 0
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, errors) == (0, "stopped\n", "")


@pytest.mark.full
def test_a_password_of_ones_own_is_not_shown(hospital: Path) -> None:
    given = {"DBDEID_PASSWORD": "of my own"}
    process = started(hospital / "visits_public.duckdb", "--port", "0", "--json", **given)
    try:
        found = json.loads(read_until(process, "\n}"))
    finally:
        process.kill()
        process.communicate()
    assert "of" not in found["url"]
    assert list(found["tables"]) == ["visits_public"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["owner.duckdb"], "no release"),
        (["nothing.duckdb"], "no such file"),
        ([".", "--database", "owner.duckdb"], "--database"),
    ],
)
def test_what_is_no_release_is_not_served(hospital: Path, arguments: list[str], told: str) -> None:
    paths = [hospital / a if a.endswith(".duckdb") or a == "." else a for a in arguments]
    process = started(*paths, "--port", "0")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert told in errors
