"""The figures of the papers by command: what is listed, found, drawn and refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.errors import DataError
from dbdeid.papers import tennessee, xia2013
from dbdeid.papers.catalog import PAPERS, Item, paper
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.made_registries import REGISTRIES, registry
from dbdeid.papers.common.outcome import Asked
from dbdeid.papers.common.tables import keys_of, load, there
from dbdeid.papers.reproduce import reproduce

PAGES = Path(__file__).parents[2] / "docs"


def called(*words: str) -> str:
    ended = CliRunner().invoke(app, ["reproduce", *words])
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def items() -> list[tuple[str, Item]]:
    return [(one.name, item) for one in PAPERS for item in one.items]


def test_every_item_is_computed_or_says_why_it_is_not() -> None:
    assert [one.name for one in PAPERS] == sorted(one.name for one in PAPERS)
    for name, item in items():
        if item.status == "not possible":
            assert not item.compute
            with pytest.raises(DataError, match=re.escape(item.why)):
                reproduce(name, item.name)
            continue
        module, _, function = item.compute.partition(".")
        assert callable(getattr(import_module(f"dbdeid.papers.{module}"), function)), item.name


def test_names_of_a_paper_are_apart() -> None:
    for one in PAPERS:
        names = Counter(name for item in one.items for name in (item.name, *item.also))
        assert max(names.values()) == 1


@pytest.mark.parametrize("written", ["figure5", "Figure 5", "Fig. 5", "fig5", "5"])
def test_a_figure_is_found_as_people_write_it(written: str) -> None:
    assert paper("Xia2013").item(written).name == "figure5"
    assert paper("gal2014").item(written).name == "figures5to8"


def test_names_are_read_as_words() -> None:
    labels = {item.name: item.label for _, item in items()}
    assert labels["figure8a"] == "Figure 8a"
    assert labels["figures5to8"] == "Figures 5 to 8"
    assert labels["table1"] == "Table 1"
    assert labels["against_k"] == "Against k"


def test_the_list_has_every_item_and_so_has_its_page() -> None:
    told = json.loads(called("--json"))
    assert [(p["name"], i["name"]) for p in told for i in p["items"]] == [
        (name, item.name) for name, item in items()
    ]
    text = called()
    for name, item in items():
        assert item.title in text
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        line = next(own for own in page.splitlines() if own.startswith(f"| `{item.name}` |"))
        assert f"| {item.title} | {item.status}{paper(name).remark(item)} |" in line
        if item.compute:
            assert f"dbdeid reproduce {name} {item.name}" in page
    for one in PAPERS:
        page = " ".join((PAGES / f"{one.name}.md").read_text(encoding="utf-8").split())
        for number, why in enumerate(one.shared, 1):
            assert text.count(f"({number}) {why}") == 1
            assert f"({number}) {why[0].upper()}{why[1:]}." in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("yoo2021", "figure4"), "did you mean 'yoo2012'?"),
        (("yoo2012", "figure14"), "did you mean 'figure4'?"),
        (("lee2017", "figure11"), "Korean inpatients"),
        (("lee2017", "hospital"), "archive.ics.uci.edu/dataset/296"),
        (("lee2017", "hospital", "--data", "nowhere"), "nowhere is no folder"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_what_to_do(
    words: tuple[str, ...], said: str
) -> None:
    ended = CliRunner().invoke(app, ["reproduce", *words])
    assert ended.exit_code == 2
    assert said in ended.stderr


def test_a_figure_is_computed_printed_and_drawn(tmp_path: Path) -> None:
    told = json.loads(called("xia2013", "7", "--quick", "--json", "-o", str(tmp_path / "new")))
    assert told["status"] == "on other data"
    assert told["quick"]
    page = Path(told["page"]).read_text(encoding="utf-8")
    plain = unescape(re.sub(r"<[^>]+>", " ", page))
    (line,) = told["beside"]
    assert all(line[key] in plain for key in ("what", "published", "found", "why"))
    for table in told["tables"]:
        assert table["title"] in plain
        assert all(str(cell) in page.replace(",", "") for cell in table["rows"][0].values())
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert not re.search(r'(src|href)="|url\(|https?://', page)
    text = called("xia2013", "7", "--quick")
    assert "published and found" in text
    assert line["found"] in text


def test_what_a_frontier_dominates_is_what_brute_force_finds() -> None:
    asked = Asked(Data(), quick=True)
    (table,) = xia2013.frontiers(asked).tables
    found = {way: xia2013._frontier(asked, tennessee.SAMPLE, way) for way in xia2013.searches()}
    points = {way: np.array(xia2013.points(found[way])) for way in ("random chain", "greedy")}

    def beaten(these: Any, by: Any) -> float:
        no_worse = (by[None] <= these[:, None]).all(axis=2)
        better = (by[None] < these[:, None]).any(axis=2)
        return float((no_worse & better).any(axis=1).mean())

    for row in table.rows:
        if row[""] in points:
            for other, by in points.items():
                share = beaten(points[row[""]], by)
                assert row[f"dominated by {other}"] == f"{share:.1%}"


@pytest.mark.full
@pytest.mark.parametrize("state", tennessee.STATES)
def test_the_two_policies_dominate_safe_harbor(shared: Path, state: str) -> None:
    asked = Asked(Data(shared / "data"), quick=True)
    (rows,) = (t.rows for t in xia2013.policies(asked).tables if t.title.endswith(state))
    rule, *others = rows
    assert len(others) == 2
    for row in others:
        assert float(row["risk"]) <= float(rule["risk"])
        assert float(row["loss"]) <= float(rule["loss"])
    assert rule["age"].startswith("91 of 121")


# -- data ----------------------------------------------------------------------------------------


def test_adult_of_the_package_is_that_of_the_references(shared: Path) -> None:
    own = Data().adult().rename(columns={"income": "salary_class"})
    reference = pd.read_parquet(shared / "data/adult_arx.parquet").astype(str)
    names = list(reference.columns)
    own = own[names].astype(str)
    assert own.equals(reference)
    for complete in (True, False):
        assert len(Data().adult(complete)) == (30_162 if complete else 32_561)


@pytest.mark.parametrize("family", ["adult", "adult_full"])
def test_hierarchies_of_the_package_are_those_of_the_references(shared: Path, family: str) -> None:
    columns = ["sex", "race", "marital-status", "education", "native-country", "workclass"]
    columns += ["occupation", "salary-class"] + ["age"] * (family == "adult")
    for column in columns:
        path = shared / f"data/hierarchies/{family}/{family}_hierarchy_{column}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert sorted(map(";".join, Data().hierarchy(family, column))) == sorted(lines), column


@pytest.mark.parametrize("kind", REGISTRIES)
def test_made_registries_are_those_of_the_references(shared: Path, kind: Any) -> None:
    reference = pd.read_parquet(shared / f"data/survival/recipient_{kind}_simulated.parquet")
    pd.testing.assert_frame_equal(registry(kind), reference, check_dtype=False)


@pytest.fixture
def cup(tmp_path: Path) -> Data:
    """A copy of CUP as a user may have it: two columns with a hierarchy, one without."""
    (tmp_path / "hierarchies/cup").mkdir(parents=True)
    (tmp_path / "cup.csv").write_text("AGE;GENDER;ZIP\n1;F;07\n1;F;08\n3;M;07\n", "utf-8")
    of = {"AGE": "1;<2;*\n2;2+;*\n3;2+;*\n", "GENDER": "F;*\nM;*\n"}
    for name, text in of.items():
        (tmp_path / f"hierarchies/cup/cup_hierarchy_{name}.csv").write_text(text, "utf-8")
    return Data(tmp_path)


def test_a_table_of_the_user_is_loaded_by_its_name(cup: Data) -> None:
    assert there(cup, "cup")
    assert keys_of(cup, "cup") == ("AGE", "GENDER")
    lattice, tuples = load(cup, "cup")
    assert [a.name for a in lattice.attributes] == ["AGE", "GENDER"]
    assert lattice.size == 3 * 2
    assert [codes.tolist() for codes in tuples.codes] == [[0, 2], [0, 1]]
    assert tuples.weights.tolist() == [2, 1]
    # of three leaves, those of 2+ lose half
    assert [list(loss) for loss in lattice.attributes[0].loss] == [
        [0, 0, 0], [0, 0.5, 0.5], [1, 1, 1],
    ]  # fmt: skip


def test_a_table_that_does_not_fit_its_hierarchies_is_refused(cup: Data) -> None:
    assert cup.folder is not None
    (cup.folder / "cup.csv").write_text("AGE;GENDER\n9;F\n9;M\n1;F\n", "utf-8")
    with pytest.raises(DataError, match="2 values of AGE are not in its hierarchy") as error:
        load(cup, "cup", ("AGE",))
    assert "9" not in str(error.value)


@pytest.mark.parametrize("name", ["fars", "atus", "ihis", "ss13", "creditcard_int"])
def test_a_table_that_is_not_there_says_where_it_is_to_be_had(cup: Data, name: str) -> None:
    assert not there(cup, name)
    with pytest.raises(DataError, match=r"--data FOLDER: \w+"):
        load(cup, name, ("AGE",))
    with pytest.raises(DataError, match="one of adult, "):
        there(cup, "adlut")
