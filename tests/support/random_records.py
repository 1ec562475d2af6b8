"""Records of all kinds of attributes, for tests of what works on them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dbdeid.data.records import Attribute, Floats, Records

Kinds = st.lists(
    st.sampled_from(["two", "five", "constant", "whole", "real", "gaps", "lost"]),
    min_size=0,
    max_size=4,
)


def column(kind: str, n: int, rng: np.random.Generator) -> Attribute:
    """An attribute of a kind: two or five categories, whole or real numbers, with gaps, or none."""
    values: Floats
    if kind in ("two", "five", "constant"):
        levels = {"two": 2, "five": 5, "constant": 1}[kind]
        values = np.floor(levels * rng.random(n) ** 2)
        return Attribute(kind, values, levels, weight=1 + rng.random())
    if kind == "lost":
        return Attribute(kind, np.full(n, np.nan))
    values = rng.lognormal(2, 1, n)
    if kind == "whole":
        return Attribute(kind, np.round(values), grid=1.0)
    if kind == "gaps":
        values = np.where(rng.random(n) < 0.4, np.nan, np.round(values, 1))
        return Attribute(kind, values, grid=0.1)
    return Attribute(kind, values)


@st.composite
def tables(draw: st.DrawFn, k: int) -> Records:
    """One to three strata of k records or more, a response of whole numbers, rows in doubles."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(st.lists(st.integers(k, 5 * k), min_size=1, max_size=3))
    n = sum(sizes)
    kinds = draw(Kinds)
    attributes = [column("whole", n, rng), *(column(kind, n, rng) for kind in kinds)]
    if draw(st.booleans()):
        rows = rng.integers(0, max(1, n // 3), n)
        attributes = [
            Attribute(a.name, a.values[rows], a.levels, a.grid, a.weight) for a in attributes
        ]
    strata = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    response = draw(st.sampled_from([None, 0]))
    return Records(tuple(attributes), strata, response)
