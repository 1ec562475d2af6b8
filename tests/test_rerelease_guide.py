"""The guide to releasing again is run, and what it says of its patients is so."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from guide import DOCS, follow

from dbdeid.rerelease import same_source
from dbdeid.rerelease.composition import Together
from dbdeid.rerelease.joint_classes import Compared
from dbdeid.spec.release_spec import ReleaseSpec


@pytest.mark.full
def test_every_command_prints_what_the_guide_shows(tmp_path: Path) -> None:
    assert follow("rerelease.md", tmp_path) == 8


def test_the_classes_are_those_that_the_guide_tells(tmp_path: Path) -> None:
    text = (DOCS / "rerelease.md").read_text(encoding="utf-8")
    (made,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    con = duckdb.connect(str(tmp_path / "hospital.duckdb"))
    con.execute(made)
    sizes = (
        "SELECT count(*) FROM visits GROUP BY age // 20, sex HAVING sex = 'F' ORDER BY age // 20"
    )
    before = [n for (n,) in con.execute(sizes).fetchall()]
    con.execute("INSERT INTO visits SELECT 1000 + i, i * 7, 'F', 'flu' FROM range(10) AS r(i)")
    after = [n for (n,) in con.execute(sizes).fetchall()]
    told = re.search(r"a class of (\d+) patients has (\d+) now", text.replace("\n", " "))
    assert told is not None
    assert (int(told[1]), int(told[2])) in zip(before, after, strict=True)
    assert int(told[2]) - int(told[1]) == 3


def test_every_finding_and_value_is_explained() -> None:
    text = (DOCS / "rerelease.md").read_text(encoding="utf-8")
    described = {"release", "created", "run", "k"}
    for name in Compared.__dataclass_fields__:
        assert name in described or f"`{name}`" in text
    for name in Together.__dataclass_fields__:
        assert f"`{name}`" in text
    assert (same_source.SAMPLED, same_source.AGREEMENT, same_source.FEWEST) == (256, 0.5, 8)
    assert (same_source.SHARE, same_source.SHARE_OF_ROWS, same_source.DENSE) == (1 / 20, 1 / 2, 4)
    values = ReleaseSpec.model_json_schema()["properties"]["rerelease"]["enum"]
    reference = (DOCS / "specification.md").read_text(encoding="utf-8")
    assert all(f"`{value}`" in reference for value in (*values, "rerelease", "from_comments"))
