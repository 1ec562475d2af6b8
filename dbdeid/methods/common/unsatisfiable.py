"""Why no transformation satisfies the declared models, and what would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.check import Check, Checker
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.common.levels import Levels
from dbdeid.prepare.population_rule import Population
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.sensitive_conditions import Sensitive


def unsatisfiable(
    lattice: Lattice, tuples: Tuples, checker: Checker, parameters: Parameters[Levels], limit: int
) -> Unsatisfiable:
    """Make the error that says what is achievable, after a check of the top or given levels."""
    who = "records" if parameters.subject is None else "subjects"
    options = parameters.options
    node = options.transformation or lattice.top
    check = checker.check(node)
    lost, people = check.suppressed_subjects, tuples.people
    demanded = wanted(parameters)
    gone = ("moved", "move") if options.moves else ("suppressed", "suppress")
    if parameters.impossible:
        return parameters.impossible[0]
    if lost <= limit and people >= parameters.k:
        return _unacceptable(check, people, who, parameters)
    what = "the given transformation" if options.transformation else "the most general one"
    if parameters.k > people:
        hint = f"k can be at most {people}, the number of {who}"
    elif options.transformation:
        hint = "use higher levels, weaker models or a larger suppression_limit"
    elif lost == people:
        more = "a higher limit" if options.moves else "more suppression"
        hint = f"use weaker models, or higher max_level; {more} would not help"
    else:
        share = math.ceil(lost / people * 10_000) / 10_000
        key = "limit" if options.moves else "suppression_limit"
        hint = f"allow {key}: {share}, weaker models such as a smaller k, or higher "
        hint += "max_level"
    return Unsatisfiable(
        f"no transformation reaches {demanded} with at most {limit} of {people} {who} "
        f"{gone[0]}; {what} would {gone[1]} {lost}"
        + "".join(
            f"\n  {line}" for line in alone(lattice, tuples, parameters, limit, node, "suppressed")
        ),
        hint=hint,
    )


def wanted(parameters: Parameters[object]) -> str:
    """Format the declared models for a message."""
    others = [judge.named for judge in parameters.judges]
    size = [f"k = {parameters.k}"] if parameters.k > 1 or not others else []
    return "; ".join([*size, *others])


def alone(
    lattice: Lattice,
    tuples: Tuples,
    parameters: Parameters[object],
    limit: int,
    node: Node,
    gone: str,
) -> Iterator[str]:
    """Which sensitive attributes or populations alone make a transformation lose too many.

    Args:
        lattice: the transformations.
        tuples: the source.
        parameters: what must hold.
        limit: how many may be lost.
        node: the transformation.
        gone: what becomes of those, in words.
    """
    plain = replace(parameters.rule, k=1, conditions=(), populations=())
    rules: list[tuple[Sensitive | Population, Rule, Tuples]] = [
        (one, replace(plain, conditions=(one,)), replace(tuples, values=(values,)))
        for sensitive, values in zip(parameters.sensitive, tuples.values, strict=True)
        for one in sensitive.alone()
    ]
    without = replace(tuples, values=())
    rules += [
        (one, replace(plain, populations=(one,)), without)
        for population in parameters.populations
        for one in population.alone()
    ]
    for one, rule, data in rules:
        lost = NumpyChecker(lattice, data, rule).check(node).suppressed_subjects
        if lost > limit:
            reached = one.reached if isinstance(one, Sensitive) else ""
            yield f"{one.named} alone: {lost} {gone}" + (f"; {reached}" if reached else "")


def _unacceptable(
    check: Check, people: int, who: str, parameters: Parameters[object]
) -> Unsatisfiable:
    """Why a transformation within the limit cannot be released."""
    demanded, lost = wanted(parameters), check.suppressed_subjects
    if check.classes == 0:
        return Unsatisfiable(
            f"no transformation reaches {demanded}: every one would suppress all {people} {who}",
            hint="choose a smaller k or weaker models, or higher max_level",
        )
    if parameters.keep and not check.rest_holds:
        return Unsatisfiable(
            f"no transformation reaches {demanded}: the suppressed {who} that are kept would form "
            f"a class of {lost}" + (" that does not hold" if lost >= parameters.k else ""),
            hint="use `suppressed: drop`, or weaker models",
        )
    if not check.covers:
        return Unsatisfiable(
            f"no transformation reaches {demanded}: people of the population fit no released "
            "class, and are known not to be in the table",
            hint="leave `min` of delta_presence out, use `suppressed: keep`, or allow higher "
            "max_level",
        )
    return Unsatisfiable(
        f"no transformation within the suppression limit holds {demanded} and the models of the "
        "table as a whole",
        hint="raise the threshold of max_risk",
    )
