"""Lowest common ancestors, looked up in a table or not."""

from __future__ import annotations

import numpy as np
import pytest
from block_problems import Problem, problems
from hypothesis import given

from dbdeid.methods.local_recoding.search import taxonomy
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy


@given(problem=problems())
def test_ancestors_do_not_depend_on_how_many_values_there_are(problem: Problem) -> None:
    lattice, units = problem.taxonomy.lattice, problem.demands.units
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxonomy, "TABULATED", 0)
        looked_for = Taxonomy(lattice, units)
    for i, attribute in enumerate(lattice.attributes):
        codes = np.arange(attribute.cardinality)
        for pair in ((codes, codes), (codes, 0), (codes[:, None], codes), (codes[None, :], 0)):
            expected, found = (of.meet(i, *pair) for of in (problem.taxonomy, looked_for))
            assert np.array_equal(expected, found)
            assert expected.shape == found.shape
