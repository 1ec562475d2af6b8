"""Conditional privacy against its definition over all pairs of records."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column
from dbdeid.utility.fidelity.conditional_privacy import Privacy, conditional_privacy

COLUMNS = (
    Column("age", "INTEGER"),
    Column("weight", "DOUBLE"),
    Column("sex", "VARCHAR"),
    Column("born", "DATE"),
    Column("seen", "TIMESTAMP"),
    Column("alive", "BOOLEAN"),
)


def random_clusters(seed: int, number: int = 60) -> tuple[list[int], list[Any], list[Any]]:
    """The cluster of each record, and the records of both sides."""
    rng = np.random.default_rng(seed)
    clusters = np.sort(rng.integers(0, 6, number)).tolist()

    def records() -> list[Any]:
        days = np.datetime64("1950-01-01") + rng.integers(0, 9_000, number)
        moments = np.datetime64("2020-01-01T00:00:00") + rng.integers(0, 10**6, number)
        return [
            (
                None if rng.random() < 0.1 else int(rng.integers(0, 90)),
                None if rng.random() < 0.1 else float(rng.integers(0, 12) / 4),
                None if rng.random() < 0.1 else "fmx"[rng.integers(0, 3)],
                str(day),
                str(moment).replace("T", " "),
                str(bool(rng.integers(0, 2))).lower(),
            )
            for day, moment in zip(days, moments, strict=True)
        ]

    return clusters, records(), records()


def measured(clusters: list[int], source: list[Any], released: list[Any]) -> dict[str, Privacy]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE rows (cluster BIGINT, side VARCHAR, record VARCHAR[])")
        for side, rows in (("source", source), ("released", released)):
            texts = [[None if cell is None else str(cell) for cell in row] for row in rows]
            con.executemany(
                "INSERT INTO rows VALUES (?, ?, ?)",
                [[c, side, t] for c, t in zip(clusters, texts, strict=True)],
            )
        con.execute("CREATE TABLE clusters AS SELECT *, count(*) AS records FROM rows GROUP BY ALL")
        with Session.over(con, None, read_only=False) as session:
            return conditional_privacy(session, session.relation("clusters"), COLUMNS)


def defined(clusters: list[int], source: list[Any], released: list[Any], at: int) -> Privacy:
    """By the definition, over all n x n pairs."""
    unit = {"DATE": "D", "TIMESTAMP": "s"}.get(COLUMNS[at].type)

    def number(cell: Any) -> Any:
        if unit and cell is not None:
            return float(np.datetime64(cell.replace(" ", "T"), unit).astype(np.int64))
        return cell

    sides = [[number(row[at]) for row in rows] for rows in (source, released)]
    known = {v for side in sides for v in side if v is not None}
    width = 1.0
    if len(known) > 21:
        least, width = min(known), (max(known) - min(known)) / 20
        sides = [
            [None if v is None else min(int((v - least) / width), 19) for v in side]
            for side in sides
        ]
    original, synthetic = ([repr(v) for v in side] for side in sides)
    joint: dict[tuple[str, str], float] = {}
    sizes = {c: clusters.count(c) for c in clusters}
    for i, a in enumerate(original):
        for j, b in enumerate(synthetic):
            if clusters[i] == clusters[j]:
                joint[a, b] = joint.get((a, b), 0.0) + 1 / sizes[clusters[i]] / len(clusters)

    def entropy(shares: list[float]) -> float:
        return -sum(p * np.log2(p) for p in shares)

    whole = entropy(list(joint.values()))
    of_synthetic = [sum(p for (_, b), p in joint.items() if b == v) for v in {*synthetic}]
    of_original = [original.count(v) / len(original) for v in {*original}]
    conditional = whole - entropy(of_synthetic)
    return Privacy(width * 2**conditional, 2 ** (conditional - entropy(of_original)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_its_definition_says(seed: int) -> None:
    drawn = random_clusters(seed)
    found = measured(*drawn)
    for at, c in enumerate(COLUMNS):
        wanted = defined(*drawn, at)
        assert found[c.name].absolute == pytest.approx(wanted.absolute, rel=1e-9)
        assert found[c.name].relative == pytest.approx(wanted.relative, rel=1e-9)


def test_one_cluster_tells_nothing() -> None:
    _, source, released = random_clusters(1)
    found = measured([0] * len(source), source, released)
    assert [p.relative for p in found.values()] == pytest.approx([1.0] * len(COLUMNS))


@pytest.mark.full
def test_a_cluster_for_each_value_tells_all() -> None:
    _, source, _ = random_clusters(2)
    source = [(row[0], row[1], "f" if i < 40 else "m", *row[3:]) for i, row in enumerate(source)]
    found = measured([int(row[2] == "m") for row in source], source, source)["sex"]
    bits = -(2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3))
    assert found.absolute == pytest.approx(1.0)
    assert found.relative == pytest.approx(2**-bits)


@pytest.mark.full
def test_the_unit_of_a_column_rules_only_the_absolute_one() -> None:
    clusters, source, released = random_clusters(3)

    def grown(rows: list[Any]) -> list[Any]:
        return [(row[0] and row[0] * 1_000, *row[1:]) for row in rows]

    small = measured(clusters, source, released)["age"]
    large = measured(clusters, grown(source), grown(released))["age"]
    assert large.relative == pytest.approx(small.relative)
    assert large.absolute == pytest.approx(1_000 * small.absolute)
