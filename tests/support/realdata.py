"""The reference datasets under the oracle's names, as the package loads them from their folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.tuples import Tuples
from dbdeid.papers.common import tables
from dbdeid.papers.common.data import Data

attribute = tables.attribute


def load(shared: Path, dataset: str, qis: tuple[str, ...]) -> tuple[Lattice, Tuples]:
    """The lattice and the distinct tuples of a reference dataset."""
    return tables.load(Data(shared / "data"), dataset, qis)


def load_valued(
    shared: Path, dataset: str, qis: tuple[str, ...], column: str
) -> tuple[Lattice, Tuples]:
    """The same with one sensitive column."""
    return tables.load_valued(Data(shared / "data"), dataset, qis, column)


def reordered(tuples: Tuples, order: np.ndarray) -> Tuples:
    """The same tuples in another order."""
    return replace(
        tuples, codes=tuple(c[order] for c in tuples.codes), weights=tuples.weights[order]
    )
