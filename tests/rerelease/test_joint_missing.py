"""Of a combination of sensitive columns a part may be missing: then all of it is no value."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import exp, log
from typing import Any

import duckdb
import pytest

import dbdeid

BOTH: dict[str, Any] = {"column": ["d", "t"], "joint": True}
ENTROPY = {"model": "l_diversity", **BOTH, "kind": "entropy", "l": 3}
MODELS: dict[str, dict[str, Any]] = {
    "distinct": {"model": "l_diversity", **BOTH, "l": 3},
    "entropy": ENTROPY,
    "recursive": {"model": "l_diversity", **BOTH, "kind": "recursive", "l": 2, "c": 2},
    "alpha": {"model": "alpha_k", **BOTH, "alpha": 0.5, "k": 4},
    "enhanced": {"model": "enhanced_beta", **BOTH, "beta": 1},
}
METHODS: dict[str, dict[str, Any]] = {
    "numpy": {"name": "full_domain", "suppression_limit": 0.5},
    "sql": {"name": "full_domain", "suppression_limit": 0.5, "engine": "sql"},
    "local": {"name": "local_recoding"},
    "dealing": {"name": "local_recoding", "algorithm": "dealing"},
}
AGE = {
    "role": "quasi_identifier",
    "hierarchy": {"intervals": [10, 20, 40], "lower": 0, "upper": 80},
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


def spec(model: dict[str, Any], method: dict[str, Any], **more: Any) -> dict[str, Any]:
    part = {"role": "sensitive", "accept": "homogeneity", "reason": "made up"}
    return {
        "release": "r",
        "source": "v",
        "columns": {
            "age": AGE,
            "d": part,
            "t": dict(part),
            "person": "drop",
            **more.pop("columns", {}),
        },
        "privacy": [{"model": "k_anonymity", "k": 4}, model],
        "evaluate": {"metrics": []},
        "method": method,
        **more,
    }


def load(con: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]]) -> None:
    con.execute("CREATE OR REPLACE TABLE v (person INTEGER, age INTEGER, d VARCHAR, t VARCHAR)")
    con.executemany("INSERT INTO v VALUES (?, ?, ?, ?)", rows)


def told(d: str | None, t: str | None, as_written: bool = False) -> Any:
    """The combination, or None; `d` as written may be missing and is a value then."""
    if as_written:
        return None if not (t or "").strip() else (d, (t or "").strip().lower())
    parts = tuple((part or "").strip().lower() for part in (d, t))
    return parts if all(parts) else None


def holds(name: str, held: list[Any], source: list[Any]) -> bool:
    """Whether the values of a class hold a model of those above, by its definition."""
    if name == "enhanced":
        here, there = Counter(held), Counter(source)
        gains = ((n / len(held), there[v] / len(source)) for v, n in here.items())
        return all(p / q - 1 <= min(1, -log(q)) + 1e-9 for p, q in gains)
    known = [value for value in held if value is not None]
    readings = [sorted(Counter(each).values(), reverse=True) for each in (held, known)]
    if not known:
        return False
    if name == "distinct":
        return len(readings[1]) >= 3
    if name == "recursive":
        return all(counts[0] < 2 * sum(counts[1:]) for counts in readings)
    shares = [[n / sum(counts) for n in counts] for counts in readings]
    if name == "alpha":
        return all(p[0] <= 0.5 for p in shares)
    return all(exp(-sum(x * log(x) for x in p)) >= 3 - 1e-9 for p in shares)


def classes(rows: Iterable[tuple[Any, ...]], as_written: bool = False) -> list[list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for age, d, t in rows:
        found[age].append(told(d, t, as_written))
    return list(found.values())


def random_rows(number: int) -> list[tuple[Any, ...]]:
    draws = random.Random(number)
    d = [None, None, "a", "A ", "b", "c", "e"]
    t = [None, " ", "x", "X", "y", "z", "w", "v"]
    return [(i, draws.randrange(80), draws.choice(d), draws.choice(t)) for i in range(90)]


CASES = [
    *((name, method, False) for name in MODELS for method in METHODS),
    *((name, "numpy", True) for name in MODELS),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "method", "as_written"), CASES)
def test_every_written_class_holds(con: Any, name: str, method: str, as_written: bool) -> None:
    load(con, random_rows(0))
    asked = spec(MODELS[name], METHODS[method])
    if as_written:
        asked["columns"]["d"]["values"] = "as_written"
    dbdeid.run(asked, con)
    whole = [told(*row, as_written) for row in con.execute("SELECT d, t FROM v").fetchall()]
    released = classes(con.execute("SELECT age, d, t FROM r").fetchall(), as_written)
    assert released
    for held in released:
        assert len(held) >= 4
        assert holds(name, held, whole)


HALF_MISSING = [("a", "x"), ("b", "y"), ("c", "z"), *((None, f"p{i}") for i in range(7))]


@pytest.mark.parametrize("name", ["entropy", "recursive", "alpha"])
def test_half_missing_combinations_spread_nothing(con: Any, name: str) -> None:
    """Seven of ten have no value: l is 2.56, c 7/3 and the share of none 0.7."""
    load(con, [(i, age, *part) for age in (1, 41) for i, part in enumerate(HALF_MISSING)])
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec(MODELS[name], {"name": "full_domain", "suppression_limit": 0.0}), con)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["entropy", "distinct", "recursive", "alpha"])
def test_the_verifier_sees_that_nobody_has_a_value(con: Any, name: str) -> None:
    parts = [*HALF_MISSING[3:], ("q", None), ("r", " ")]
    load(con, [(i, age, *part) for age in (1, 41) for i, part in enumerate(parts)])
    asked = spec(MODELS[name], {"name": "external", "table": "v"}, source="none")
    asked["columns"] |= {"age": {"role": "quasi_identifier"}, "person": "insensitive"}
    (_, promise) = dbdeid.verify(asked, con).promises[:2]
    assert promise.model == MODELS[name]["model"]
    assert not promise.holds
    if name == "entropy":
        assert promise.found == 1


@pytest.mark.full
def test_people_without_a_value_are_counted_once(con: Any) -> None:
    """Each of four people has a visit without `d` and another without `t`: four of eight."""
    rows = [(p, 1, *part) for p in range(4) for part in ((None, f"p{p}"), (f"q{p}", None))]
    rows += [(p, 1, "abcd"[p - 4], "x") for p in range(4, 8)]
    load(con, rows)
    people = {"subject": "person", "columns": {"person": "identifier"}}
    method = {"name": "full_domain", "suppression_limit": 0.0}
    dbdeid.run(spec(MODELS["alpha"], method, **people), con)
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec({**MODELS["alpha"], "alpha": 0.49}, method, **people, release="q"), con)
