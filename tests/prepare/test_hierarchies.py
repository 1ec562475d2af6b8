"""Hierarchies of a spec: leaves matched by type, bounds, and every kind of declaration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.data.coding import Coding
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import HierarchyError
from dbdeid.prepare.prepare import prepare


def coded(values: str, hierarchy: Any, **column: Any) -> Coding:
    """The coding of a column `a` made of SQL rows."""
    spec = {
        "release": "r",
        "source": "t",
        "columns": {"a": {"role": "quasi_identifier", "hierarchy": hierarchy, **column}},
        "privacy": [{"model": "k_anonymity", "k": 1}],
        "method": "full_domain",
    }
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT unnest({values}) AS a")
        con.execute("CREATE SCHEMA dim; CREATE TABLE dim.h (v INTEGER, l VARCHAR)")
        con.execute("INSERT INTO dim.h VALUES (1, 'low'), (2, 'high')")
        con.execute("CREATE TABLE dim.holes AS SELECT 1 AS v, NULL AS l")
        with Session.over(con, None, read_only=True) as session:
            return prepare(bind(read(spec), session), session).quasi_identifiers[0].coding


def labels(coding: Coding, level: int) -> list[str | None]:
    return [cell.label for cell in coding.cells(level)]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def write(*rows: str) -> str:
        Path("h.csv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        return "h.csv"

    return write


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("values", "leaf"),
    [
        ("[39]", "039"),
        ("[39]", " 39 "),
        ("[100]", "1e2"),
        ("[39.0::DOUBLE]", "39"),
        ("[0.1::FLOAT]", "0.10"),
        ("[0.5::DECIMAL(4,1)]", "0.50"),
        ("[DATE '2019-01-05']", "2019-1-5"),
        ("[TIMESTAMP '2019-01-05']", "2019-01-05"),
        ("[true]", "1"),
        ("['039']", "039"),
        ("['']", ""),
        ("['x'::ENUM('x', 'y')]", "x"),
    ],
)
def test_leaves_match_by_type(file, values: str, leaf: str) -> None:
    assert labels(coded(values, file(f"{leaf};yes;*", "?;no;*")), 1) == ["yes"]


@pytest.mark.parametrize(
    ("values", "leaf"),
    [
        ("[13]", "12.5"),
        ("[0.3::DECIMAL(4,1)]", "0.25"),
        ("[DATE '2019-01-05']", "2019-01-05 10:00"),
        ("['39']", "039"),
        ("['a']", "A"),
        ("['a']", "a "),
    ],
)
def test_leaves_that_a_cast_would_change_do_not_match(file, values: str, leaf: str) -> None:
    with pytest.raises(HierarchyError, match="1 of 1 values have no leaf"):
        coded(values, file(f"{leaf};yes;*", "?;no;*"))


def test_two_spellings_of_one_value_are_one_leaf_twice(file) -> None:
    with pytest.raises(HierarchyError, match="1 leaves occur more than once"):
        coded("[39]", file("39;x;*", "039;x;*"))


def test_leaves_beyond_the_data_count_for_the_loss(file) -> None:
    coding = coded("[1, 2, NULL]", file(*(f"{i};{'low' if i < 4 else 'high'};*" for i in range(9))))
    assert coding.loss(1).tolist() == [3 / 8, 3 / 8, 0]
    assert [(c.lower, c.upper) for c in coding.cells(1)] == [("0", "3")] * 2 + [(None, None)]
    assert coding.cells(1)[0].leaves == ("0", "1", "2", "3")


def test_bounds_of_timestamps_see_the_time(file) -> None:
    leaves = ["2019-01-01 10:00", "2019-01-01 08:00", "2019-01-02"]
    coding = coded("[TIMESTAMP '2019-01-01 08:00']", file(*(f"{x};x;y" for x in leaves[:2])))
    assert coding.cells(1)[0].lower == "2019-01-01 08:00:00"
    assert coding.cells(1)[0].upper == "2019-01-01 10:00:00"


def test_values_without_a_leaf_are_only_examples(file) -> None:
    with pytest.raises(HierarchyError, match="column 'a': 2 of 3 values") as refused:
        coded("['x', 'secret1', 'secret2', NULL]", file("x;y;*"))
    assert "secret" not in str(refused.value)
    assert refused.value.examples == ("secret1", "secret2")


def test_prefixes() -> None:
    coding = coded("['12345', '12399', '1', '', 'äöüß', NULL]", {"prefix": [3, 1]})
    assert coding.hierarchy.height == 3
    assert labels(coding, 1) == ["", "1", "123**", "123**", "äöü*", None]
    assert labels(coding, 2) == ["", "1", "1****", "1****", "ä***", None]
    assert labels(coding, 3) == ["*"] * 6
    assert coding.cells(1)[2].leaves is None
    declared = coded("['12']", {"prefix": [1]}, domain=["12", "13", "20"])
    assert declared.cells(1)[0].leaves == ("12", "13")
    assert declared.loss(1).tolist() == [1 / 2]


@pytest.mark.parametrize("hierarchy", ["suppress", {"prefix": [1]}])
def test_undeclared_domains_have_no_bounds_above_the_raw_value(hierarchy: Any) -> None:
    coding = coded("[17, 18, 43]", hierarchy)
    for level in range(1, coding.hierarchy.height + 1):
        assert {(c.lower, c.upper, c.leaves) for c in coding.cells(level)} == {(None, None, None)}


def test_groups() -> None:
    levels = [{"u": ["1", "2"], "p": ["3"]}, {"all": ["u", "p"]}]
    coding = coded("['1', '3']", {"groups": levels})
    assert labels(coding, 1) == ["u", "p"]
    assert coding.hierarchy.height == 2
    assert coding.loss(1).tolist() == [1 / 2, 0]
    assert labels(coded("[1, 3]", {"groups": levels}), 1) == ["u", "p"]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([{"u": ["1"], "p": ["1"]}], "1 leaves occur more than once"),
        ([{"u": ["2"]}], "1 of 1 values have no leaf"),
        ([{"u": ["1"]}, {"x": ["v"]}], "1 are missing, 1 unknown"),
        ([{"u": ["1"]}, {"x": ["u"], "y": ["u"]}], "listed twice on level 2"),
        ([{"u": []}], "is empty"),
        ([{"*": ["1"], "u": ["2"]}], "a label below the top reads"),
    ],
)
def test_groups_that_are_no_tree(levels: Any, words: str) -> None:
    with pytest.raises(HierarchyError, match=words):
        coded("['1']", {"groups": levels})


def test_tables_as_hierarchies() -> None:
    assert labels(coded("[1, 2]", {"table": "dim.h"}), 1) == ["low", "high"]
    with pytest.raises(HierarchyError, match="holds NULL"):
        coded("[1]", {"table": "dim.holes"})


@pytest.mark.parametrize(
    ("type_", "hierarchy", "height"),
    [
        ("INTEGER", "suppress", 1),
        ("INTEGER", {"intervals": [5, 10]}, 3),
        ("DATE", {"dates": ["month", "year"]}, 3),
        ("VARCHAR", {"prefix": [3, 1]}, 3),
        ("VARCHAR", {"groups": [{"x": ["1"]}]}, 1),
    ],
)
def test_a_column_of_nulls_stays_null_until_the_top(
    type_: str, hierarchy: Any, height: int
) -> None:
    coding = coded(f"[NULL::{type_}, NULL]", hierarchy)
    assert coding.hierarchy.height == height
    assert [labels(coding, level) for level in range(height)] == [[None]] * height
    assert labels(coding, height) == ["*"]


def test_levels_that_a_hierarchy_does_not_have() -> None:
    for given in ({"min_level": 2}, {"max_level": 2}):
        with pytest.raises(HierarchyError, match="ends at level 1"):
            coded("[1]", "suppress", **given)


def test_missing_file_and_folder_name_the_column() -> None:
    for path in ("none.csv", os.curdir):
        with pytest.raises(HierarchyError, match="column 'a'"):
            coded("['x']", path)
