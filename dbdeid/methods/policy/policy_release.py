"""A prepared source under one policy: each quasi-identifier in the intervals of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.coding import Coding
from dbdeid.data.ordered_domain import with_intervals
from dbdeid.methods.common.levels import Levels
from dbdeid.prepare.population_rule import labels_of
from dbdeid.prepare.prepare import Prepared, judging
from dbdeid.verify.base.declaration import PolicyRisk


def with_policy(
    prepared: Prepared, starts: Sequence[NDArray[np.int64]], weighed: PolicyRisk
) -> Prepared:
    """The same where each quasi-identifier has the intervals of a policy, and is released in them.

    Args:
        prepared: of method policy, before any policy was chosen.
        starts: places of the first values of the intervals, for each quasi-identifier.
        weighed: its risk.
    """
    domains_ = [c.domain for c in prepared.bound.quasi_identifiers]
    node, found = [], []
    others = [list(c.codings) for c in prepared.populations]
    for i, (q, domain, own) in enumerate(
        zip(prepared.quasi_identifiers, domains_, starts, strict=True)
    ):
        assert domain is not None
        kept, whole = len(own) == len(domain.values), len(own) == 1
        coding, level = q.coding, 0 if kept else q.height
        if not kept and not whole:
            hierarchy = with_intervals(q.coding.hierarchy, domain, own)
            coding, level = Coding(hierarchy, q.coding.leaf), 1
            for codings in others:
                codings[i] = Coding(hierarchy, codings[i].leaf)
        node.append(level)
        found.append(replace(q, coding=coding))
    coded = tuple(
        replace(
            one,
            codings=tuple(codings),
            population=replace(
                one.population,
                labels=tuple(labels_of(q.coding, c) for q, c in zip(found, codings, strict=True)),
            ),
        )
        for one, codings in zip(prepared.populations, others, strict=True)
    )
    rule = replace(prepared.parameters.rule, populations=tuple(judging(coded)))
    parameters = replace(prepared.parameters, rule=rule).under(Levels(transformation=tuple(node)))
    return replace(
        prepared,
        quasi_identifiers=tuple(found),
        populations=coded,
        parameters=parameters,
        weighed=weighed,
    )
