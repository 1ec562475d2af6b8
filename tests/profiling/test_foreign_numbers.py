"""Numbers of a text file whose points and commas may not be those of an English one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.commands.check import check
from dbdeid.commands.init import drafted
from dbdeid.profiling.text_files.foreign_numbers import READ

GERMAN = [
    f"{i};{20 + i % 50};{100 + 7 * i},{i % 90 + 10};{12 + i % 80}.{100 + i}" for i in range(99)
]
HEADER = "nr;alter;kosten;lohn"


def told(path: Path, lines: list[str], header: str = HEADER) -> dict[str, str]:
    path.write_text("".join(f"{line}\n" for line in (header, *lines)), encoding="utf-8")
    return dict(drafted(path, None).doubtful_numbers)


def test_commas_before_decimals_and_points_between_thousands_are_told(tmp_path: Path) -> None:
    path = tmp_path / "faelle.csv"
    found = told(path, GERMAN)
    assert list(found) == ["kosten", "lohn"]
    assert "a comma before the decimals, and are read as text" in found["kosten"]
    assert "may stand between thousands" in found["lohn"]
    draft = drafted(path, None)
    for name, why in found.items():
        assert f"note: {name}: {why}" in draft.told(path)
        (line,) = (line for line in draft.text.splitlines() if line.startswith(f"  {name}:"))
        assert line.endswith(why)
    # what is advised reads them as they were meant
    rows = duckdb.sql(f"SELECT kosten, lohn FROM {READ.replace('FILE', str(path))} LIMIT 2")
    assert rows.fetchall() == [(100.1, 12100), (107.11, 13101)]


def test_a_check_says_it_of_columns_that_leave(tmp_path: Path) -> None:
    path = tmp_path / "faelle.csv"
    told(path, GERMAN)
    spec: dict[str, Any] = {
        "release": "out",
        "source": str(path),
        "columns": {
            "nr, kosten": "drop",
            "alter": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "lohn": {"role": "sensitive", "accept": "homogeneity", "reason": "asked at home"},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
    }
    noted = [w for w in check(spec)["warnings"] if "between thousands" in w]
    assert [w.split(":")[0] for w in noted] == ["lohn"]


ENGLISH = {
    "three decimals, and no sign of another country": (
        "nr,lab",
        [f"{i},{12 + i % 80}.{100 + i}" for i in range(99)],
    ),
    "thousands in quotes": ("nr,pay", [f'{i},"{12 + i},{100 + i}"' for i in range(99)]),
    "semicolons, and other decimals": (
        "nr;lab",
        [f"{i};{12 + i % 80}.{10 + i}" for i in range(99)],
    ),
    "lists": ("nr;codes", [f"{i};{i},{i},{i}" for i in range(99)]),
}


@pytest.mark.full
@pytest.mark.parametrize("name", ENGLISH)
def test_other_numbers_are_left_alone(tmp_path: Path, name: str) -> None:
    header, lines = ENGLISH[name]
    assert told(tmp_path / "table.csv", lines, header) == {}
