"""No extension of DuckDB is found, whatever is installed on the machine: libraries are tried."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def without_extensions(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home
