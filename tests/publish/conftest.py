"""A release that the tests of one file start from."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from specs import PEOPLE

import dbdeid


@pytest.fixture(scope="module")
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an owner's database, and with the release of the file's `spec()`."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with duckdb.connect("owner.duckdb") as con:
            con.execute(PEOPLE)
        dbdeid.run(request.module.spec())
    return folder
