"""Load the reference datasets and hierarchies as coded lattices and tuples."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values

FILES = {
    "adult.csv": ("adult_arx.parquet", "adult", None),
    "creditcard_int.csv": ("arx_creditcard_int.parquet", "creditcard_int", None),
    "ss13_like.csv": ("synth/ss13_like.parquet", "ss13acs_int", None),
    "ihis_like.csv": ("synth/ihis_like.parquet", "ihis_int", None),
    "ihis_like_100k.csv": ("synth/ihis_like.parquet", "ihis_int", 100_000),
}


def attribute(name: str, rows: list[list[str]]) -> Attribute:
    """Code a hierarchy given as one row a leaf, with loss by leaves of the hierarchy."""
    groups, losses = [], []
    for level, labels in enumerate(zip(*rows, strict=True)):
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if level == 0:
            codes, counts = np.arange(len(rows)), np.ones(len(rows))
        groups.append(codes.astype(np.uint32))
        losses.append((counts[codes] - 1) / (len(rows) - 1))
    return Attribute(name, tuple(groups), tuple(losses))


@cache
def load(shared: Path, dataset: str, qis: tuple[str, ...]) -> tuple[Lattice, Tuples]:
    """The lattice and the distinct tuples of a reference dataset under the oracle's names."""
    file, family, first = FILES[dataset]
    folder = shared / "data" / "hierarchies" / family
    hierarchies = []
    for qi in qis:
        path = folder / f"{family}_hierarchy_{qi.replace(' ', '_')}.csv"
        with path.open(newline="", encoding="utf-8") as lines:
            hierarchies.append(list(csv.reader(lines, delimiter=";")))
    return (
        Lattice(tuple(map(attribute, qis, hierarchies))),
        _tuples(shared / "data" / file, first, qis, hierarchies),
    )


@cache
def load_valued(
    shared: Path, dataset: str, qis: tuple[str, ...], column: str
) -> tuple[Lattice, Tuples]:
    """The same with one sensitive column, its values numbered in their order."""
    lattice, tuples = load(shared, dataset, (*qis, column))
    *codes, values = tuples.codes
    distinct, row = np.unique(np.stack(codes), axis=1, return_inverse=True)
    names, value = np.unique(values, return_inverse=True)
    order = np.lexsort((value, row))
    weights = np.rint(np.bincount(row, tuples.weights)).astype(np.int64)
    held = Values(row[order], value[order], tuples.weights[order], len(names))
    return Lattice(lattice.attributes[:-1]), Tuples(tuple(distinct), weights, None, (held,))


def _tuples(path: Path, first: int | None, qis: tuple[str, ...], hierarchies: list) -> Tuples:
    con = duckdb.connect()
    names = {
        row[0].replace("_", "-"): row[0] for row in con.sql(f"DESCRIBE FROM '{path}'").fetchall()
    }
    columns = [names.get(qi) or names.get(qi.lower()) or qi for qi in qis]
    con.sql(f"CREATE TABLE source AS FROM '{path}'" + (f" LIMIT {first}" if first else ""))
    codes = []
    for i, (column, rows) in enumerate(zip(columns, hierarchies, strict=True)):
        leaves = {row[0]: code for code, row in enumerate(rows)}
        con.execute(
            f"CREATE TABLE h{i} AS SELECT unnest(?) AS leaf, unnest(?) AS code",
            [list(leaves), list(leaves.values())],
        )
        codes.append(f'(SELECT code FROM h{i} WHERE leaf = "{column}"::VARCHAR) AS c{i}')
    keys = ", ".join(f"c{i}" for i in range(len(qis)))
    found = con.sql(
        f"SELECT {keys}, count(*) AS n FROM (SELECT {', '.join(codes)} FROM source) "
        f"GROUP BY {keys} ORDER BY {keys}"
    ).fetchnumpy()
    *columns_, weights = found.values()
    return Tuples(
        tuple(np.asarray(c).astype(np.uint32) for c in columns_),
        np.asarray(weights).astype(np.int64),
    )


def reordered(tuples: Tuples, order: np.ndarray) -> Tuples:
    """The same tuples in another order."""
    return replace(
        tuples, codes=tuple(c[order] for c in tuples.codes), weights=tuples.weights[order]
    )
