"""The page of levels: what each level shows and costs, other hierarchies, and merged groups."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Browser
from ruamel.yaml import YAML
from tiers import examples

from dbdeid.errors import DataError
from dbdeid.prepare.hierarchies import group_rows
from dbdeid.ui.sheet.hierarchy_edits import merge


def entry(browser: Browser, name: str) -> dict[str, object]:
    return dict(YAML(typ="safe").load(browser.room.desk.path)["columns"][name])


def table(browser: Browser, name: str) -> list[list[str]]:
    """The rows of the table of a column's levels."""
    page = browser.page("levels")
    start = page.index(f'data-column="{browser.number(name)}"')
    rows = re.findall(r"<tr data-level.*?</tr>", page[start : page.index("</table>", start)], re.S)
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in rows]


def cells(browser: Browser, number: int) -> list[str]:
    lines = browser.room.desk.path.with_name("people.csv").read_text().splitlines()[1:]
    return [line.split(",")[number] for line in lines]


def test_levels_are_counted_as_a_person_would_count_them(browser: Browser) -> None:
    ages = [int(age) for age in cells(browser, 2)]
    browser.done(
        "hierarchy", column=browser.number("age"), kind="intervals", text="10, 20", page="levels"
    )
    found = table(browser, "age")
    assert [row[0] for row in found] == ["0", "1", "2", "3"]
    for row, width in zip(found, (1, 10, 20), strict=False):
        sizes = [sum(age // width == g for age in ages) for g in {age // width for age in ages}]
        few = sum(n for n in sizes if n < 5) / len(ages)
        assert row[1] == str(len(sizes))
        assert row[2] == str(min(sizes))
        assert row[3] == ("0%" if not few else row[3])
        assert abs(float(row[3].rstrip("%")) / 100 - few) < 0.001
    assert found[-1][1:3] == ["1", str(len(ages))]
    assert float(found[0][4]) == 0
    assert float(found[-1][4]) == 1


def test_which_levels_may_leave(browser: Browser) -> None:
    number = browser.number("age")
    browser.done("level", column=number, level="2", which="only", page="levels")
    assert (entry(browser, "age")["min_level"], entry(browser, "age")["max_level"]) == (2, 2)
    assert [row[5] for row in table(browser, "age")][:4] == ["no", "no", "yes", "no"]
    browser.done("level", column=number, level="0", which="from", page="levels")
    assert "min_level" not in entry(browser, "age")
    browser.done("level", column=number, level="1", which="any", page="levels")
    assert entry(browser, "age") == {"role": "quasi_identifier", "hierarchy": {"shelf": "age"}}
    assert browser.send("level", column=number, level="1", which="none").status == 422


def test_a_hierarchy_from_a_file_or_the_shelf_or_of_intervals(browser: Browser) -> None:
    number, spec = browser.number("city"), browser.room.desk.path
    lines = ["Bern,west", "Thun,west", "Basel,north", "Chur,east"]
    spec.with_name("cities.csv").write_text("\n".join(["city,region", *lines]) + "\n")
    page = browser.done("hierarchy", column=number, kind="file", file="cities.csv", page="levels")
    assert entry(browser, "city")["hierarchy"] == "cities.csv"
    assert '<span class="label">west</span>' in page
    for wrong in ("../people.csv", "/etc/passwd", "people.csv", "missing.csv", ""):
        answer = browser.send("hierarchy", column=number, kind="file", file=wrong)
        assert answer.status == 422, wrong
    spec.with_name("cities.csv").write_text("\n".join(["city,region", *lines[:3]]) + "\n")
    page = browser.page("levels")  # what does not cover the values is told, and which stay unsaid
    assert "1 of 4 values" in page or "not" in page[page.index(f'data-column="{number}"') :][:600]
    browser.done("hierarchy", column=number, kind="suppress", page="levels")
    assert entry(browser, "city")["hierarchy"] == "suppress"
    number = browser.number("age")
    browser.done("hierarchy", column=number, kind="intervals", text="5 10", lower="0", upper="100")
    assert entry(browser, "age")["hierarchy"] == {"intervals": [5, 10], "lower": 0, "upper": 100}
    browser.done("hierarchy", column=number, kind="shelf", shelf="age", page="levels")
    assert entry(browser, "age")["hierarchy"] == {"shelf": "age"}
    for kind, text in (("intervals", "five"), ("intervals", ""), ("prefix", "x"), ("table", "t")):
        assert browser.send("hierarchy", column=number, kind=kind, text=text).status == 422


def test_groups_are_merged_by_ticking_labels(browser: Browser) -> None:
    number = browser.number("city")
    ticked = [("label", "Bern"), ("label", "Thun")]
    page = browser.done(
        "merge", *ticked, column=number, level="0", into="Bern region", page="levels"
    )
    (level,) = entry(browser, "city")["hierarchy"]["groups"]  # type: ignore[index]
    assert {label: sorted(members) for label, members in level.items()} == {
        "Basel": ["Basel"],
        "Bern region": ["Bern", "Thun"],
        "Chur": ["Chur"],
    }
    assert "domain" not in entry(browser, "city")
    assert '<span class="label">Bern region</span>' in page
    assert [row[1] for row in table(browser, "city")] == ["4", "3", "1"]
    assert (
        browser.send("merge", ("label", "Rome"), column=number, level="0", into="x").status == 422
    )
    assert (
        browser.send("merge", ("label", "Bern"), column=number, level="0", into=" ").status == 422
    )
    assert (
        browser.send("merge", ("label", "Bern"), column=number, level="7", into="x").status == 422
    )


LETTERS = list("abcdefgh")


@settings(deadline=None, max_examples=examples(150))
@given(st.integers(0, 10**6))
def test_any_merges_leave_a_hierarchy_of_the_same_values(seed: int) -> None:
    draw = random.Random(seed)
    entry = {"role": "quasi_identifier", "hierarchy": "suppress", "domain": list(LETTERS)}
    data = {"columns": {"x": entry}}
    for number in range(draw.randint(1, 6)):
        hierarchy = data["columns"]["x"]["hierarchy"]
        groups = hierarchy["groups"] if isinstance(hierarchy, dict) else []
        level = draw.randint(0, len(groups))
        rows = group_rows("x", tuple(groups)) if groups else [[v] for v in LETTERS]
        labels = sorted({row[level] for row in rows})
        ticked = draw.sample(labels, draw.randint(1, len(labels)))
        into = draw.choice([f"g{number}", *labels])
        before = {row[0]: row for row in rows}
        merge(data, "x", level, ticked, into, LETTERS)
        made = data["columns"]["x"]["hierarchy"]["groups"]
        after = {row[0]: row for row in group_rows("x", tuple(made))}  # which nests, or is refused
        assert sorted(after) == LETTERS
        for value in LETTERS:
            assert after[value][: level + 1] == before[value][: level + 1]
            if before[value][level] in ticked:
                assert after[value][level + 1] == into
    assert "domain" not in data["columns"]["x"]


def test_too_many_values_are_not_written_into_a_spec() -> None:
    data = {"columns": {"x": {"role": "quasi_identifier", "hierarchy": "suppress"}}}
    with pytest.raises(DataError, match="501 values are too many"):
        merge(data, "x", 0, ["1"], "few", [str(i) for i in range(501)])


def test_columns_of_persons_show_no_values_even_as_quasi_identifiers(browser: Browser) -> None:
    browser.role("name", "quasi_identifier")
    page = browser.page("levels")
    assert "its values are not shown" in page
    assert not any(name in page for name in cells(browser, 1))


def test_what_is_no_method_of_levels_says_so(browser: Browser) -> None:
    spec: Path = browser.room.desk.path
    text = spec.read_text().replace(
        "name: full_domain, suppression_limit: 0.05, time_limit: 60", "name: microaggregation"
    )
    spec.write_text(text)
    page = browser.page("levels")
    assert "chooses no levels" in page or "once the mistakes are mended" in page
