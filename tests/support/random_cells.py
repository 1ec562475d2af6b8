"""Small random records and people over ordered domains, for the searches of the frontier."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dbdeid.methods.policy.search.measures import Domain
from dbdeid.methods.policy.search.policies import Cells


def random_cells(
    rng: np.random.Generator, sizes: tuple[int, ...], records: int, *, population: bool = True
) -> Cells:
    """Records that lean to some values, and people: all of them without a population."""
    leaning = [rng.dirichlet(np.full(size, 0.5)) for size in sizes]
    rows = np.stack([rng.choice(len(p), records, p=p) for p in leaning])
    own, n = np.unique(rows, axis=1, return_counts=True)
    more = np.stack([rng.integers(0, size, 2 * records) for size in sizes])
    codes, at = np.unique(np.hstack([own, more]), axis=1, return_inverse=True)
    found = np.bincount(at.ravel()[: own.shape[1]], n, codes.shape[1]).astype(np.int64)
    people = found + rng.integers(0, 40, len(found)) * (rng.random(len(found)) < 0.8)
    return Cells(
        tuple(Domain(f"a{i}", size) for i, size in enumerate(sizes)),
        tuple(codes.astype(np.int64)),
        found,
        people if population else found,
    )


@st.composite
def cells(draw: st.DrawFn, most: int = 5) -> Cells:
    """Up to three attributes of at most so many values."""
    sizes = draw(st.lists(st.integers(1, most), min_size=1, max_size=3).map(tuple))
    records = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return random_cells(rng, sizes, records, population=draw(st.booleans()))
