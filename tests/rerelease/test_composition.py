"""All releases of a source together: an attacker who has every one of them is the judge."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patients import EVERYTHING, Patient, fill, spec
from tiers import examples

import dbdeid
from dbdeid.errors import Unsatisfiable
from dbdeid.rerelease.composition import Laid, fewest, measured

# -- the attacker --------------------------------------------------------------------------------

Shown = Mapping[int, Any]  # the class that shows a record, by record


def left_with_few(
    releases: Sequence[Shown], k: Sequence[int], person: Mapping[int, int] | None = None
) -> set[int]:
    """People whom some choice of releases, this one (the first) in it, leaves with too few.

    The attacker looks at each record of a choice and lists everybody whose records are in the same
    class of each release of it, or are missing where that is missing. He is wrong to be content
    only with the release that promises least: every choice is tried. Classes that all of a choice
    show whole are no news.
    """
    found: set[int] = set()
    for number in range(1, len(releases)):
        for rest in combinations(range(1, len(releases)), number):
            chosen = (0, *rest)
            promised = min(k[0], *(k[i] for i in rest))
            records = {one for i in chosen for one in releases[i]}
            of: dict[Any, set[int]] = {}
            for one in records:
                of.setdefault(tuple(releases[i].get(one) for i in chosen), set()).add(one)
            for together in of.values():
                people = {one if person is None else person[one] for one in together}
                whole = all(
                    together
                    == {other for other, c in releases[i].items() if c == releases[i].get(one)}
                    for i in chosen
                    for one in together
                )
                if len(people) < promised and not whole:
                    found |= people
    return found


def needed(
    releases: Sequence[Shown], k: Sequence[int], person: Mapping[int, int] | None = None
) -> int:
    """How many earlier releases have to go, by trying every choice of them."""
    earlier = range(1, len(releases))
    for number in range(len(releases)):
        for gone in combinations(earlier, number):
            kept = [0, *(i for i in earlier if i not in gone)]
            if not left_with_few([releases[i] for i in kept], [k[i] for i in kept], person):
                return number
    raise AssertionError("a release alone was thought unsafe")


def laid(
    classes: Sequence[Sequence[int]], k: Sequence[int], persons: Sequence[int] | None = None
) -> Laid:
    matrix = np.array(classes, np.int64).reshape(len(classes), len(k))
    which = tuple(range(len(k) - 1))
    if persons is None:
        joint, people = np.unique(matrix, axis=0, return_counts=True)
        return Laid(joint, people.astype(np.int64), None, tuple(k), which)
    owned = np.unique(np.column_stack((matrix, np.array(persons, np.int64))), axis=0)
    return Laid(owned[:, :-1], None, owned[:, -1], tuple(k), which)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[int], list[int]]:
    """Classes of some records in two to five releases, what these promise, whose records."""
    releases = draw(st.integers(2, 5))
    one = st.tuples(*[st.integers(-1, 2)] * releases).filter(lambda c: max(c) >= 0)
    classes = draw(st.lists(one, min_size=1, max_size=24))
    k = draw(st.lists(st.integers(1, 5), min_size=releases, max_size=releases))
    persons = draw(st.lists(st.integers(0, 9), min_size=len(classes), max_size=len(classes)))
    return classes, k, persons


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.booleans())
def test_who_is_isolated_is_who_an_attacker_finds_that_has_every_release(
    history: tuple[list[tuple[int, ...]], list[int], list[int]], several: bool
) -> None:
    classes, k, persons = history
    person = dict(enumerate(persons)) if several else None
    releases = [{i: c[r] for i, c in enumerate(classes) if c[r] >= 0} for r in range(len(k))]
    found = left_with_few(releases, k, person)
    of = laid(classes, k, persons if several else None)
    told = measured([of])
    assert told.people == len(found)
    gone, exact = fewest([of], frozenset(), len(k) - 1)
    assert exact
    assert len(gone) == needed(releases, k, person)
    kept = [0, *(i for i in range(1, len(k)) if i - 1 not in gone)]
    assert not left_with_few([releases[i] for i in kept], [k[i] for i in kept], person)


# -- what a run does with it ---------------------------------------------------------------------


def wards(folder: Path) -> Path:
    """Stays with three columns of two values: three people share one cell of eight, six each other.

    A diagnosis is that of its cell, and another one in each cell beside it.
    """
    rows = [
        (1000 * cell + i, *(cell >> bit & 1 for bit in range(3)), "ab"[cell.bit_count() % 2])
        for cell in range(8)
        for i in range(3 if cell == 0 else 6)
    ]
    with duckdb.connect(str(folder / "wards.duckdb")) as con:
        con.execute("CREATE TABLE stays(patient INTEGER, a INTEGER, b INTEGER, c INTEGER, d TEXT)")
        con.executemany("INSERT INTO stays VALUES (?, ?, ?, ?, ?)", rows)
    return folder / "wards.duckdb"


def of(folder: Path, kept: str, **more: Any) -> dict[str, Any]:
    """A spec that releases these columns as they are, and the others as `*`."""
    column = {"role": "quasi_identifier", "hierarchy": "suppress", "domain": [0, 1]}
    return {
        "release": f"stays_{kept}",
        "database": str(folder / "wards.duckdb"),
        "target": str(folder / f"{kept}.duckdb"),
        "source": "stays",
        "columns": {"patient": "identifier", **dict.fromkeys("abc", column), "d": "drop"},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "evaluate": {"metrics": []},
        "method": {
            "name": "full_domain",
            "transformation": {name: int(name not in kept) for name in "abc"},
        },
        **more,
    }


@pytest.mark.full
def test_three_releases_leave_three_people_where_each_two_leave_nine(tmp_path: Path) -> None:
    def inside(kept: str, **more: Any) -> dict[str, Any]:
        """The same in the database, which no process of its own has to write."""
        return {k: v for k, v in of(tmp_path, kept, **more).items() if k != "target"}

    wards(tmp_path)
    dbdeid.run(inside("a", rerelease="strict"))
    second = dbdeid.run(inside("b", rerelease="strict"))
    assert [f["smallest"] for f in second.rerelease] == [9]
    assert second.together is not None
    assert (second.together["people"], second.together["smallest"]) == (0, 9)
    with pytest.raises(Unsatisfiable) as refused:
        dbdeid.run(inside("c", rerelease="strict"))
    told = str(refused.value)
    assert "combined with all 2 earlier releases of its source: 3 people have" in told
    assert "fewer alike than promised (the smallest group: 3)" in told
    assert "nothing would be found if these were withdrawn: stays_" in told
    assert "no fewer would do" in told
    with duckdb.connect(str(tmp_path / "wards.duckdb"), read_only=True) as con:
        assert not con.execute("FROM duckdb_tables() WHERE table_name = 'stays_c'").fetchall()
    third = dbdeid.run(inside("c"))
    assert [f["smallest"] for f in third.rerelease] == [9, 9]  # two of them: nothing
    assert all(not f["both"]["people"] for f in third.rerelease)
    found = third.together
    assert found is not None
    assert (found["releases"], found["people"], found["smallest"]) == (2, 3, 3)
    assert any("3 people have" in w for w in third.warnings)


@pytest.mark.full
def test_without_what_would_have_to_be_withdrawn_a_strict_release_passes(tmp_path: Path) -> None:
    wards(tmp_path)
    for kept in ("a", "b", "ab"):
        dbdeid.run(of(tmp_path, kept))
    tried = dbdeid.run(of(tmp_path, "c", rerelease="warn"), trial=True).together
    assert tried is not None
    # a and b as they are tell with this one what the three tell, and so does each beside the other
    assert {one["release"] for one in tried["withdraw"]} in (
        {"stays_ab", "stays_a"},
        {"stays_ab", "stays_b"},
    )
    assert tried["exact"]
    for one in tried["withdraw"]:
        for run in one["runs"]:
            folder = tmp_path / f"{one['release'].removeprefix('stays_')}.duckdb"
            dbdeid.withdraw(one["release"], "a rehearsal", folder, run=run)
    after = dbdeid.run(of(tmp_path, "c", rerelease="strict")).together
    assert after is not None
    assert after["people"] == 0


@pytest.mark.full
def test_three_releases_leave_one_value_where_each_two_leave_two(tmp_path: Path) -> None:
    wards(tmp_path)
    for kept in "abc":
        asked = of(tmp_path, kept)
        asked["columns"]["d"] = "sensitive"
        asked["privacy"] = [*asked["privacy"], {"model": "l_diversity", "column": "d", "l": 2}]
        result = dbdeid.run(asked)
    assert [f["values"] for f in result.rerelease] == [None, None]
    assert result.together is not None
    assert result.together["values"] == {"d": 45}
    assert any("45 people have too few values of d left" in w for w in result.warnings)
    assert len(result.together["withdraw"]) == 1


@pytest.mark.full
def test_a_run_is_excused_by_no_release_that_promises_less(tmp_path: Path) -> None:
    """k = 2 of a fourth release does not make three people of three others enough."""
    wards(tmp_path)
    for kept in ("a", "b"):
        dbdeid.run(of(tmp_path, kept))
    weaker = {"privacy": [{"model": "k_anonymity", "k": 2}], "release": "stays_top"}
    dbdeid.run(of(tmp_path, "", target=str(tmp_path / "top.duckdb"), **weaker))
    found = dbdeid.run(of(tmp_path, "c")).together
    assert found is not None
    assert (found["k"], found["people"]) == (2, 3)


METHODS: list[dict[str, Any]] = [
    spec((1, 2), 3),
    spec((0, 0), 3, method={"name": "local_recoding"}),
    spec((0, 0), 4, method={"name": "local_recoding"}, release="patients_other"),
    spec((2, 1), 4),
]


@pytest.mark.full
@pytest.mark.parametrize("several", [False, True])
def test_people_of_all_methods_are_counted_as_by_trying_everybody(several: bool) -> None:
    draw = random.Random(3)
    patients: list[Patient] = [
        (i // 2 if several else i, draw.randrange(EVERYTHING), draw.randrange(EVERYTHING), "flu")
        for i in range(90)
    ]
    con = duckdb.connect()
    fill(con, patients)
    results = [
        dbdeid.run({**asked, "subject": "number"} if several else asked, con) for asked in METHODS
    ]
    runs = "SELECT json_extract_string(record, '$.rerelease.run') FROM deid.releases"
    numbers = [run for (run,) in con.execute(f"{runs} ORDER BY rowid DESC").fetchall()]
    assert len(set(numbers)) == len(METHODS)
    kept = "SELECT record, class, person FROM deid.published WHERE run = ?"
    rows = [con.execute(kept, [run]).fetchall() for run in numbers]
    person = {record: one for shown in rows for record, _, one in shown}
    releases = [{record: place for record, place, _ in shown} for shown in rows]
    found = results[-1].together
    assert found is not None
    few = left_with_few(releases, [4, 4, 3, 3], person)
    assert found["people"] == len(few) > 0
    assert found["releases"] == 3
    gone = len(found["withdraw"])
    assert gone == needed(releases, [4, 4, 3, 3], person)


def test_releases_that_tell_records_apart_otherwise_are_not_thought_safe_together() -> None:
    """First by their number, then by all they hold, which has another column meanwhile."""
    con = duckdb.connect()
    fill(con, [(i, i % 2, 0, "flu") for i in range(40)])
    dbdeid.run(spec((0, 3), 5), con)
    nameless = spec((3, 3), 5, release="patients_nameless")
    nameless["columns"]["number"] = "drop"
    dbdeid.run(nameless, con)
    third = spec((0, 3), 5, release="patients_third")
    result = dbdeid.run(third, con)
    assert all(f["compared"] for f in result.rerelease)
    assert result.together is not None
    assert (result.together["people"], result.together["ways"]) == (0, 2)
    with pytest.raises(Unsatisfiable, match="tell records apart in 2 ways"):
        dbdeid.run({**third, "release": "patients_fourth", "rerelease": "strict"}, con)


def test_many_releases_are_searched_greedily_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbdeid.rerelease.composition.MOST_TRIED", 1)
    # each two of the first three columns part the people, each of them with this one does not
    classes = [(0, a, b, c) for a in range(2) for b in range(2) for c in range(2) for _ in range(2)]
    of_all = laid(classes, [3, 3, 3, 3])
    gone, exact = fewest([of_all], frozenset(), 3)
    assert (len(gone), exact) == (1, True)  # one has to go in any case
    gone, exact = fewest([laid(classes, [5, 5, 5, 5])], frozenset(), 3)
    assert (len(gone), exact) == (2, False)
    assert not laid(classes, [5, 5, 5, 5]).isolated({0, 1, 2} - set(gone)).any()
    # there are as many choices where nobody is shown: one of two ways has to go, with both releases
    nobody = [replace(laid([], [2, 2, 2]), which=which) for which in ((0, 1), (2, 3))]
    assert fewest(nobody, frozenset(), 4) == ((0, 1), False)
