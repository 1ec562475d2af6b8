"""Populations against counting, in the search and in whole releases, on random tables."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import generalized, spec
from tiers import examples

import dbdeid
from dbdeid.lattice.rule import Rule
from dbdeid.prepare import population_rule as module
from dbdeid.prepare.population_rule import Labels, Population
from dbdeid.prepare.problem import Parameters
from dbdeid.privacy import MODELS

Key = tuple[Any, ...]


def k_map(k: int) -> Any:
    return MODELS["k_map"](model="k_map", population="town", k=k)


# -- people who fit a class -------------------------------------------------------------------


def labelled(sizes: tuple[int, ...], cells: int, classes: int, seed: int) -> tuple[Any, Any]:
    """A population of one level a attribute, and the value codes of some classes."""
    rng = np.random.default_rng(seed)
    labels = tuple(
        (Labels(rng.integers(0, size, 9), rng.integers(0, size, 9), size),) for size in sizes
    )
    codes = tuple(rng.integers(0, 9, cells) for _ in sizes)
    people = rng.integers(0, 5, cells)
    return Population("town", (k_map(2),), labels, codes, people), np.array(
        [rng.integers(0, 9, classes) for _ in sizes]
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("most", [1 << 62, 100])
@pytest.mark.parametrize("scanned", [0, 6])
@pytest.mark.parametrize("sizes", [(3,), (2, 5, 4), (9, 9, 9, 9), (1,) * 5])
@pytest.mark.parametrize("cells", [1, 300])
def test_people_are_counted_by_their_labels(
    cells: int, sizes: tuple[int, ...], scanned: int, most: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(module, "SCANNED", scanned)
    monkeypatch.setattr(module, "MOST", most)
    population, codes = labelled(sizes, cells, 40, seed=cells)
    of_people = zip(
        *(of[0].of_people[c] for of, c in zip(population.labels, population.codes, strict=True)),
        strict=True,
    )
    fitting: Counter[Key] = Counter()
    for key, people in zip(of_people, population.people.tolist(), strict=True):
        fitting[tuple(map(int, key))] += people
    of_classes = zip(
        *(of[0].of_source[c] for of, c in zip(population.labels, codes, strict=True)), strict=True
    )
    expected = [fitting[tuple(map(int, key))] for key in of_classes]
    assert population.fitting((0,) * len(sizes), codes).tolist() == expected


def test_keys_beyond_64_bits() -> None:
    population, codes = labelled((1 << 16,) * 6, 200, 10, seed=1)
    own = np.stack([c[:10] for c in population.codes])
    labels = tuple(
        (Labels(of[0].of_people, of[0].of_people, of[0].count),) for of in population.labels
    )
    same = Population("town", (k_map(2),), labels, population.codes, population.people)
    assert (same.fitting((0,) * 6, own) >= population.people[:10]).all()
    assert not population.fitting((0,) * 6, codes).any()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("models", "subject", "convex"),
    [
        ([{"model": "k_map", "k": 3}], None, True),
        ([{"model": "k_map", "k": 3}], "who", False),
        ([{"model": "delta_presence", "max": 0.5}], None, True),
        ([{"model": "delta_presence", "min": 0.1, "max": 0.5}], None, False),
        ([{"model": "max_risk", "attacker": "journalist", "threshold": 0.5}], None, True),
    ],
)
def test_where_parts_that_hold_make_a_whole_that_holds(
    models: list[dict[str, Any]], subject: str | None, convex: bool
) -> None:
    declared = tuple(MODELS[m["model"]](**m, population="town") for m in models)
    parameters = Parameters(Rule(1), declared, subject, None)
    assert parameters.convex is convex
    assert parameters.valued


# -- releases -----------------------------------------------------------------------------------


@pytest.mark.full
def test_who_fits_no_released_class_is_known_not_to_be_in_the_table() -> None:
    """Nergiz et al. 2007, definition 3: of every person of the population, in the table or not."""
    given = spec(1, 0.0)
    given["privacy"] = [{"model": "delta_presence", "population": "town", "min": 0.25, "max": 0.5}]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS n, 'a' AS c, 0 AS x")
        con.execute("CREATE TABLE town AS SELECT t.* FROM t, range(2) UNION ALL SELECT 1, 'b', 0")
        found = dbdeid.run(given, con)  # not at level 0, where nobody of b can be in it
        assert found.transformation == {"n": 0, "c": 1, "x": 0}
        given["privacy"][0]["min"] = 0
        found = dbdeid.run(given, con)
        assert found.transformation == {"n": 0, "c": 0, "x": 0}
        told = {p.model: p.found for p in dbdeid.verify(given, con).promises}
        assert told["delta_presence"] == {"min": 0, "max": 0.5}
        con.execute("INSERT INTO town SELECT 1, 'b', 0 FROM range(2)")
        given["privacy"][0]["min"] = 0.25
        with pytest.raises(dbdeid.Unsatisfiable, match="town: delta_presence"):
            dbdeid.run(given, con)


CELL = (st.sampled_from(["a", "b", "c", None]), st.integers(0, 2))
ROW = st.tuples(st.integers(0, 7), *CELL, st.integers(0, 6))
PERSON = st.tuples(st.integers(-2, 11), *CELL, st.integers(0, 6))


@dataclass(frozen=True)
class Case:
    """What one release asks for."""

    models: list[dict[str, Any]]
    limit: float
    policy: str
    by_subject: bool
    keep: bool
    counted: bool
    others: list[Key] = field(default_factory=list)

    def spec(self) -> dict[str, Any]:
        given = spec(1, self.limit, suppressed="keep" if self.keep else "drop")
        given["null_policy"] = self.policy
        given["privacy"] = [
            m if m["model"] == "k_anonymity" else {**m, "population": m.get("population", "town")}
            for m in self.models
        ]
        given["columns"]["who"] = "drop"
        if self.by_subject:
            given["subject"] = "who"
        return given

    def people(self, name: str, town: list[Key]) -> list[tuple[Key, int]]:
        rows = self.others if name == "others" else town
        return [(row[:3], row[3] if self.counted else 1) for row in rows]

    def holds(self, n: int, fitting: dict[str, int]) -> bool:
        return all(one_holds(m, n, fitting[m.get("population", "town")]) for m in self.models)


def one_holds(model: dict[str, Any], n: int, people: int) -> bool:
    if model["model"] == "k_anonymity":
        return n >= model["k"]
    if model["model"] == "k_map":
        return people >= model["k"]
    if model["model"] == "max_risk":
        return people > 0 and 1 / people <= model["threshold"]
    return people > 0 and model["min"] <= n / people <= model["max"]


MODEL = st.one_of(
    st.builds(lambda k: {"model": "k_anonymity", "k": k}, st.integers(1, 3)),
    st.builds(
        lambda k, p: {"model": "k_map", "k": k, "population": p},
        st.integers(1, 8),
        st.sampled_from(["town", "others"]),
    ),
    st.builds(
        lambda low, high: {"model": "delta_presence", "min": low, "max": high},
        st.sampled_from([0.0, 0.0, 0.1, 0.25]),
        st.sampled_from([0.25, 0.5, 1.0]),
    ),
    st.builds(
        lambda t: {"model": "max_risk", "attacker": "journalist", "threshold": t},
        st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    ),
)
CASES = st.builds(
    Case,
    st.lists(MODEL, min_size=1, max_size=3),
    st.sampled_from([0.0, 0.2, 0.5]),
    st.sampled_from(["own_category", "own_category", "exclude"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(PERSON, min_size=1, max_size=40),
)


def releases(rows: list[Key], town: list[Key], case: Case) -> dict[Key, tuple[float, int]]:
    """The loss of every transformation that may be released, and the records it suppresses."""
    low = min(r[0] for r in rows) // 4 * 4
    high = max(r[0] for r in rows) // 4 * 4 + 4
    who = [row[3] for row in rows] if case.by_subject else list(range(len(rows)))
    everyone = {name: case.people(name, town) for name in ("town", "others")}
    whole = {name: sum(n for _, n in people) for name, people in everyone.items()}
    found = {}
    for node in itertools.product(range(4), range(3), range(2)):
        cells = [generalized(row[:3], node, low, high) for row in rows]
        keys = [tuple(label for label, _ in row) for row in cells]
        fitting: dict[str, Counter[Key]] = {name: Counter() for name in everyone}
        for name, people in everyone.items():
            for row, n in people:
                fitting[name][tuple(label for label, _ in generalized(row, node, low, high))] += n
        sizes = {k: len({p for p, own in zip(who, keys, strict=True) if own == k}) for k in keys}
        fine = {
            k: case.holds(n, {name: f[k] for name, f in fitting.items()}) for k, n in sizes.items()
        }
        kept = [fine[k] and not (case.policy == "exclude" and None in k) for k in keys]
        lost = {p for p, stay in zip(who, kept, strict=True) if not stay}
        if len(lost) > case.limit * len(set(who)) + 1e-9 or not any(kept):
            continue
        if case.keep and lost and not case.holds(len(lost), whole):
            continue
        shown = {key for key, stay in zip(keys, kept, strict=True) if stay}
        if not (case.keep and lost) and any(
            set(fitting[m.get("population", "town")]) - shown  # known not to be in the table
            for m in case.models
            if m.get("min", 0) > 0
        ):
            continue
        loss = sum(
            sum(part for _, part in row) if stay else 3
            for row, stay in zip(cells, kept, strict=True)
        )
        found[node] = loss / 3 / len(rows), len(rows) - sum(kept)
    return found


@pytest.mark.full
@settings(max_examples=examples(20), deadline=None)
@given(st.lists(ROW, min_size=1, max_size=16), st.lists(PERSON, min_size=1, max_size=60), CASES)
def test_a_release_is_the_best_that_its_population_allows(
    rows: list[Key], town: list[Key], case: Case
) -> None:
    if any(sum(n for _, n in case.people(name, town)) == 0 for name in ("town", "others")):
        return  # an empty population is refused
    expected = releases(rows, town, case)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (n INTEGER, c VARCHAR, x INTEGER, who INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        for name, people in (("town", town), ("others", case.others)):
            con.execute(f"CREATE TABLE {name} (n BIGINT, c VARCHAR, x TINYINT, people INTEGER)")
            con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", people)
            if not case.counted:
                con.execute(f"ALTER TABLE {name} DROP people")
        try:
            found = dbdeid.run(case.spec(), con)
        except dbdeid.Unsatisfiable:
            assert not expected
            return
        assert found.verified
        assert found.loss == pytest.approx(
            min(e[0] for e in expected.values()), rel=1e-11, abs=1e-12
        )
        loss, suppressed = expected[tuple(found.transformation[name] for name in "ncx")]
        assert (found.loss, found.suppressed_rows) == (pytest.approx(loss), suppressed)
        assert dbdeid.verify(case.spec(), con).verified


def test_near_values_of_parts_that_hold_may_meet() -> None:
    near = MODELS["em_anonymity"](model="em_anonymity", column="cost", epsilon=1, m=2)
    assert not Parameters(Rule(1), (near,), None, None).convex
