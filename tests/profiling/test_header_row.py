"""First lines that are rows of data: names of columns may be words that persons have, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdeid.commands.init import drafted
from dbdeid.errors import DataError

FIRST = "its first line seems to be a row of data, for "


def refused(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError) as told:
        drafted(path, None)
    cells = {cell for line in lines for cell in line.split(",") if len(cell) > 3}
    assert not [cell for cell in cells if cell in str(told.value)]
    return str(told.value)


@pytest.mark.parametrize(
    ("lines", "cells"),
    [
        (("Anna Schmidt,Bonn", "Peter Weber,Ulm", "John Smith,Kiel"), "1 of its 2 cells is"),
        (("Schmidt,Anna,f", "Weber,Peter,m", "Meyer,Hans,m"), "2 of its 3 cells are"),
        (("a,12 Main Street", "b,7 Church Road", "c,1 High Street"), "1 of its 2 cells is"),
        (("zoe@clinic.org,x", "fred@clinic.org,y"), "1 of its 2 cells is"),
    ],
)
def test_a_first_row_of_persons_or_addresses(
    tmp_path: Path, lines: tuple[str, ...], cells: str
) -> None:
    assert FIRST + cells in refused(tmp_path / "p.csv", *lines)


@pytest.mark.full
@pytest.mark.parametrize(
    "lines",
    [
        ("Name,Vorname,Wohnort", "Schmidt,Anna,Bonn", "Weber,Peter,Ulm"),
        ("doctor,ward", "Weber,A", "Schmidt,B"),  # a name, too, as other words are
        ("Carol Smith,Hans Weber", "high,low", "low,low"),  # what two persons answered
    ],
)
def test_names_of_columns(tmp_path: Path, lines: tuple[str, ...]) -> None:
    path = tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert all(f"\n  {name}:" in drafted(path, None).text for name in lines[0].split(","))


def test_a_name_of_one_column_may_hold_a_separator(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text('"a,b"\n' + "".join(f"{i % 4}\n" for i in range(40)), encoding="utf-8")
    assert "a,b" in drafted(path, None).text


def test_empty_lines_before_the_names_are_told(tmp_path: Path) -> None:
    told = refused(tmp_path / "p.csv", "", "", "stay,colour", "3,red", "4,blue")
    assert "p.csv, line 1: it is empty" in told
