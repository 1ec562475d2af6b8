"""Hierarchy files as ARX and anjana write them, and every way in which one can be broken."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
import tiers

from dbdeid.data import hierarchy_file
from dbdeid.data.hierarchy import from_rows
from dbdeid.errors import HierarchyError

DEFECTIVE = "adult_full_hierarchy_age.csv"


def read(folder: Path, body: str | bytes) -> list[list[str]]:
    path = folder / "h.csv"
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return hierarchy_file.read("c", path)


@pytest.mark.full
def test_reference_files_load_as_they_are(shared: Path) -> None:
    paths = sorted(p for p in (shared / "data" / "hierarchies").rglob("*") if p.is_file())
    good = [path for path in paths if path.name != DEFECTIVE]
    assert len(good) == 125
    for path in good[:: 1 if tiers.full else 5]:
        rows = hierarchy_file.read("c", path)
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        assert rows == list(csv.reader(data.decode().splitlines(), delimiter=";"))
        hierarchy = from_rows("c", path.name, rows, declared=True)
        assert hierarchy.levels[-1].labels == ("*",)
        assert hierarchy.leaves == tuple(row[0] for row in rows)


def test_defective_file_is_refused_by_numbers_only(shared: Path) -> None:
    path = shared / "data" / "hierarchies" / "adult_full" / DEFECTIVE
    with pytest.raises(HierarchyError, match="column 'age'") as refused:
        from_rows("age", path.name, hierarchy_file.read("age", path), declared=True)
    message = str(refused.value).replace(path.name, "")
    assert "17 leaves occur more than once, 16 of them with two different parents" in message
    assert {int(n) for n in message.split() if n.isdigit()} == {17, 16}
    assert 0 < len(refused.value.examples) <= 10


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("a;x;*\nb;y;*\n", [["a", "x", "*"], ["b", "y", "*"]]),
        ("a,x,*\nb,y,*", [["a", "x", "*"], ["b", "y", "*"]]),
        ("a\tx\t*\nb\ty\t*\n", [["a", "x", "*"], ["b", "y", "*"]]),
        ("\ufeffa;x\n", [["a", "x"]]),
        ("a;x\r\nb;y\r\n", [["a", "x"], ["b", "y"]]),
        ("a;x\rb;y\r", [["a", "x"], ["b", "y"]]),
        ('"a;b";"x ""y"""\n', [["a;b", 'x "y"']]),
        ('"a,b",x\nc,y\n', [["a,b", "x"], ["c", "y"]]),
        ('"two\nlines";x\n', [["two\nlines", "x"]]),
        ("a\nb\n", [["a"], ["b"]]),
        ('""\nb\n', [[""], ["b"]]),
        (";none\na;some\n", [["", "none"], ["a", "some"]]),
        ("a;x\n\n\nb;y\n\n", [["a", "x"], ["b", "y"]]),
        ("1;[0, 5)\n6;[5, 10)\n", [["1", "[0, 5)"], ["6", "[5, 10)"]]),
        ("1;{1, 2, 3};*\n9;{7, 8, 9};*\n", [["1", "{1, 2, 3}", "*"], ["9", "{7, 8, 9}", "*"]]),
        ("1;{1, 2, 3, 4}\n9;{6, 7, 8, 9}\n", [["1", "{1, 2, 3, 4}"], ["9", "{6, 7, 8, 9}"]]),
        ("a, x, *\nb, y, *\n", [["a", "x", "*"], ["b", "y", "*"]]),
        (" a, x\n b, y\n", [[" a", "x"], [" b", "y"]]),
        ("a, x,*\nb, y,*\n", [["a", " x", "*"], ["b", " y", "*"]]),
        ("a|x|*\nb|y|*\n", [["a", "x", "*"], ["b", "y", "*"]]),
        ("1|[0, 5)|*\n6|[5, 10)|*\n", [["1", "[0, 5)", "*"], ["6", "[5, 10)", "*"]]),
        ("1|[0,5)|*\n6|[5,10)|*\n", [["1", "[0,5)", "*"], ["6", "[5,10)", "*"]]),
        ("1;1|2|3|4\n9;6|7|8|9\n", [["1", "1|2|3|4"], ["9", "6|7|8|9"]]),
        ("a;x y;*\nb;tab\there;*\n", [["a", "x y", "*"], ["b", "tab\there", "*"]]),
    ],
)
def test_what_a_file_says(tmp_path: Path, body: str, rows: list[list[str]]) -> None:
    assert read(tmp_path, body) == rows
    assert read(tmp_path, gzip.compress(body.encode())) == rows


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "is empty"),
        ("\n\r\n\n", "is empty"),
        ("\ufeff", "is empty"),
        ("a;é;*\n".encode("latin-1"), "is not UTF-8"),
        ("a;x;*\n".encode("utf-16"), "is not UTF-8"),
        (gzip.compress(b"secret;x;*\n" * 500, mtime=0)[:-20], "not a whole gzip file"),
        (b"\x1f\x8bsecret secret", "not a whole gzip file"),
        ('secret;"x"y;*\nb;x;*\n', "is not a CSV file"),
        ('secret;"x;*\n', "is not a CSV file"),
        ("secret;" + "x" * 200_000, "is not a CSV file"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, body: str | bytes, words: str) -> None:
    with pytest.raises(HierarchyError, match=words) as refused:
        read(tmp_path, body)
    assert "column 'c'" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="cannot be read"):
        hierarchy_file.read("c", tmp_path)
    with pytest.raises(HierarchyError, match="does not exist"):
        hierarchy_file.read("c", tmp_path / "none.csv")
