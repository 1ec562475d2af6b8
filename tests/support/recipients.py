"""The three tables of recipients, with the covariates of their models as dummies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dbdeid.data.records import Bools, Floats, Ints

TABLES = ("support2", "colon_simulated", "lung_simulated")


@dataclass(frozen=True)
class Table:
    """A table of survival.

    Attributes:
        values: (attributes, n) codes or numbers: the time first, the age second, then categories.
        owners: of each covariate its attribute.
        x: (n, p) covariates: age, then dummies against the most frequent category.
        time: (n,).
        dead: (n,) whether the time is that of death.
    """

    values: Floats
    owners: tuple[int, ...]
    x: Floats
    time: Floats
    dead: Bools


def recipient(shared: Path, name: str) -> Table:
    frame = pd.read_parquet(shared / f"data/survival/recipient_{name}.parquet")
    age = "Age" if "Age" in frame else "DiagAge"
    time = "SurvTime" if "SurvTime" in frame else "SurvInterval"
    values, owners = [frame[time].to_numpy(float), frame[age].to_numpy(float)], [1]
    columns = [values[1]]
    for column in frame.columns.drop(["VitalStat", time, age]):
        names = list(frame[column].value_counts().index)
        codes = frame[column].map({name: i for i, name in enumerate(names)}).to_numpy(float)
        columns += [(codes == i).astype(float) for i in range(1, len(names))]
        owners += [len(values)] * (len(names) - 1)
        values.append(codes)
    x = np.column_stack(columns)
    dead = frame["VitalStat"].to_numpy() == 0
    return Table(np.array(values), tuple(owners), x, values[0], dead)


def leaves(table: Table, k: int, rng: np.random.Generator) -> Ints:
    """(n,) clusters of k to 2k records of one status: halves along the leading principal axis."""
    ranks = np.argsort(np.argsort(table.time)) / len(table.time)
    matrix = np.column_stack(
        [ranks / ranks.std() * 2, *((v - v.mean()) / v.std() for v in table.x.T)]
    )
    found = np.zeros(len(ranks), dtype=np.int64)
    open_, number = [np.flatnonzero(table.dead), np.flatnonzero(~table.dead)], 0
    while open_:
        rows = open_.pop()
        if len(rows) < 2 * k:
            found[rows] = number
            number += 1
            continue
        centred = matrix[rows] - matrix[rows].mean(axis=0)
        axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        order = np.argsort(centred @ axis + rng.normal(size=len(rows)) * 1e-9)
        open_ += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    return found


def shuffled(clusters: Ints, rng: np.random.Generator) -> Ints:
    """(n,) a random permutation inside clusters: which record each record takes its value from."""
    found = np.empty(len(clusters), dtype=np.int64)
    found[np.lexsort([np.arange(len(clusters)), clusters])] = np.lexsort(
        [rng.random(len(clusters)), clusters]
    )
    return found
