from __future__ import annotations

import pytest
from random_problems import random_problem

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Problem, exhaustive, explore
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search import best_first as module
from dbdeid.methods.full_domain.search.best_first import best_first


@pytest.mark.parametrize("held", [1, 40, 400])
def test_where_too_many_nodes_are_found_it_ends_with_the_best_so_far(held, monkeypatch):
    lattice, tuples = random_problem(seed=1, width=4, rows=300)
    checker = NumpyChecker(lattice, tuples, Rule(4))
    problem = Problem(lattice, tuples, checker, limit=20, objective=LOSS)
    whole, best = explore(best_first, problem), explore(exhaustive, problem)
    assert whole.proven_optimal
    monkeypatch.setattr(module, "HELD", held)
    found = explore(best_first, problem)
    assert not found.proven_optimal
    assert not found.out_of_time
    assert found.checked < whole.checked
    assert found.lower_bound <= best.score <= found.score
    assert explore(best_first, problem) == found
