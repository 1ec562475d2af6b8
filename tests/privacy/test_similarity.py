"""The similarity attack: an example by hand, brute force on random tables, and what is refused."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.data.hierarchy import from_rows
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import similarity

ORGANS = {
    "gastritis": ("stomach", "belly"),
    "ulcer": ("stomach", "belly"),
    "colitis": ("bowel", "belly"),
    "flu": ("lung", "chest"),
    "asthma": ("lung", "chest"),
}
MEANS = from_rows("d", "organs.csv", [[v, *m, "*"] for v, m in ORGANS.items()], declared=False)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def table(session: Session, rows: list[tuple[Any, ...]]) -> Relation:
    session.execute("CREATE OR REPLACE TEMP TABLE t (a INTEGER, d VARCHAR, deid_label INTEGER)")
    if rows:
        session.cursor.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
    return session.temp("t")


def test_three_diseases_of_the_stomach_are_one(session: Session) -> None:
    # of class 1 the organ is known, of 2 the part of the body, of 3 nothing, of 4 the disease
    values = {1: ["gastritis", "ulcer", "ulcer"], 2: ["ulcer", "colitis"], 3: ["flu", "colitis"]}
    values[4] = ["flu", "flu"]
    rows = [(a, d, 0) for a, ds in values.items() for d in ds]
    found = similarity.measure(session, table(session, rows), ["a"], "d", MEANS)
    organ, part = found.levels
    assert (organ.level, organ.labels, part.labels) == (1, 3, 2)
    assert (organ.similar.classes, organ.similar.records) == (1, 3)
    assert (organ.homogeneous.classes, organ.homogeneous.records) == (2, 5)
    assert (part.similar.classes, part.similar.records) == (2, 5)
    assert (part.homogeneous.classes, part.homogeneous.records) == (3, 7)
    assert organ.confidence == part.confidence == 1.0


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([*ORGANS, None]), st.integers(0, 4)),
        max_size=25,
    ),
    st.booleans(),
)
def test_brute_force_finds_the_same(
    session: Session, rows: list[tuple[Any, ...]], by_person: bool
) -> None:
    counting = Counting("own_category", "deid_label" if by_person else None)
    found = similarity.measure(session, table(session, rows), ["a"], "d", MEANS, counting)
    for level in found.levels:
        similar, homogeneous = [0, 0], [0, 0]
        most = []
        members: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for place, (a, d, person) in enumerate(rows):
            members[a].append((person if by_person else place, d))
        for own in members.values():
            people = {person for person, _ in own}
            holders: dict[Any, set[Any]] = defaultdict(set)
            values: dict[Any, set[Any]] = defaultdict(set)
            for person, d in own:
                holders[ORGANS[d][level.level - 1] if d else None].add(person)
                values[d].add(person)
            one_label = any(having == people for having in holders.values())
            one_value = any(having == people for having in values.values())
            most.append(max(len(having) for having in holders.values()) / len(people))
            if one_label:
                homogeneous = [homogeneous[0] + 1, homogeneous[1] + len(own)]
                if not one_value:
                    similar = [similar[0] + 1, similar[1] + len(own)]
        assert [level.similar.classes, level.similar.records] == similar
        assert [level.homogeneous.classes, level.homogeneous.records] == homogeneous
        assert level.confidence == (pytest.approx(max(most)) if most else None)


def test_a_value_without_a_meaning_is_refused_and_not_shown(session: Session) -> None:
    rows = [(1, "measles", 0), (1, "measles", 0), (1, None, 0), (2, "flu", 0)]
    with pytest.raises(DataError, match=r"2 records have a value of d that organs\.csv") as error:
        similarity.measure(session, table(session, rows), ["a"], "d", MEANS)
    assert "measles" not in str(error.value)
    flat = from_rows("d", "flat.csv", [["flu", "*"], ["ulcer", "*"]], declared=False)
    with pytest.raises(DataError, match=r"flat.csv has no level between"):
        similarity.measure(session, table(session, rows), ["a"], "d", flat)


def test_it_is_asked_by_command(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("a,d\n1,ulcer\n1,gastritis\n2,flu\n2,colitis\n", "utf-8")
    lines = "".join(f"{value};{organ};{part};*\n" for value, (organ, part) in ORGANS.items())
    (tmp_path / "organs.csv").write_text(lines, "utf-8")
    words = [
        "risk",
        str(tmp_path / "v.csv"),
        "--qi",
        "a",
        "--similar",
        str(tmp_path / "organs.csv"),
    ]
    ended = CliRunner().invoke(app, [*words, "--sensitive", "d", "--json"])
    (organ, _) = json.loads(ended.stdout)["similarity"]["levels"]
    assert organ["similar"] == {"classes": 1, "records": 2}
    text = CliRunner().invoke(app, [*words, "--sensitive", "d"]).stdout
    assert "1 classes, 2 records of several values and one label" in text
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "--similar is the hierarchy of one sensitive column" in refused.stderr
