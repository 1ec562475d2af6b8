"""Small random problems of policies: domains, records and people."""

import numpy as np
from hypothesis import strategies as st

from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain
from dbdeid.methods.policy.search.policies import Cells, Gauge

SPARSE = (40, 41, 42, 43, 2)  # so many combinations of values that cells are found by hashing


def cells_of(seed, sizes, population, count):
    """Random cells; with a population, some hold people of whom there is no record."""
    rng = np.random.default_rng(seed)
    # drawn from few values of each domain, so that cells meet
    some = [rng.integers(0, size, min(size, 12)) for size in sizes]
    drawn = [own[rng.integers(0, len(own), count)] for own in some]
    codes = np.unique(np.array(drawn), axis=1)
    records = rng.integers(0 if population else 1, 4, codes.shape[1])
    records[0] += 1
    people = records + (rng.integers(0, 5, len(records)) if population else 0)
    there = people > 0
    return Cells(
        tuple(Domain(f"a{i}", size, float(i + 1)) for i, size in enumerate(sizes)),
        tuple(own[there].astype(np.int64) for own in codes),
        records[there].astype(np.int64),
        people[there].astype(np.int64),
    )


@st.composite
def problems(draw, sparse=True, most=8):
    """Records with or without a population, over small domains or, some, over wide ones."""
    small = st.lists(st.integers(1, most), min_size=1, max_size=4).map(tuple)
    sizes = draw(small | st.just(SPARSE) if sparse else small)
    seed, population = draw(st.integers(0, 10**6)), draw(st.booleans())
    return cells_of(seed, sizes, population, draw(st.integers(1, 80)))


@st.composite
def gauges(draw, **settings):
    """Problems with built-in measures."""
    risk, loss = draw(st.sampled_from([*RISKS])), draw(st.sampled_from([*LOSSES]))
    return Gauge(draw(problems(**settings)), RISKS[risk], LOSSES[loss])


def policies(space):
    """All policies of a space, one a row."""
    return (np.arange(1 << space.length)[:, None] >> np.arange(space.length) & 1).astype(bool)
