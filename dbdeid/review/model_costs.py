"""What each declared model costs: the loss with it, and with all the others alone.

k-anonymity is held against k = 2, the least that hides anyone: without it nobody would be hidden,
which is no choice. Other models are left out. The suppression limit stays as it is, and the least
loss is searched for, whatever the objective of the method is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from dbdeid.data.json import Json
from dbdeid.lattice.exploration import Found, Problem
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import loss_of
from dbdeid.methods.common.searching import Ground, Remembering
from dbdeid.methods.full_domain.search.costs import best_of
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.prepare.population_rule import Population
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import KAnonymity, LDiversity, Model, OfSensitive, population_of

LEAST_K = 2
WORTH = 0.1  # of the detail, from which on a model's cost is worth a word
NAMED = 2  # models that are advised on


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model costs.

    Attributes:
        model: in words.
        loss_with: mean loss of a cell under all models, suppressed cells counting 1.
        loss_without: the same under all models but this.
        costs: the difference.
        proven_optimal: no transformation loses less, in both.
    """

    model: str
    loss_with: float
    loss_without: float
    costs: float
    proven_optimal: bool


def model_costs(parameters: Parameters, ground: Ground, seconds: float) -> tuple[ModelCost, ...]:
    """The cost of each declared model, in their order; those of which nothing is found are missing.

    Args:
        parameters: under which everything was searched.
        ground: the staged source.
        seconds: for all the searches.
    """
    weighed = [m for m in parameters.models if not _is_least(m)]
    if not weighed:
        return ()
    by_loss = replace(parameters, objective="loss", engine="numpy")
    deadline = monotonic() + seconds
    left = 1 + len(weighed)
    best, problem = _best(by_loss, ground, seconds / left)
    if best is None or best.check is None:
        return ()
    with_all = loss_of(ground.lattice, problem.marginals, best.check)
    told: list[ModelCost] = []
    for number, model in enumerate(weighed, 1):
        each = max(deadline - monotonic(), 0.0) / (left - number)
        found, problem = _best(without(by_loss, model), ground, each, best.node)
        if found is not None and found.check is not None:
            loss = loss_of(ground.lattice, problem.marginals, found.check)
            proven = best.proven_optimal and found.proven_optimal
            told.append(ModelCost(named(model), with_all, loss, with_all - loss, proven))
    return tuple(told)


def _best(
    parameters: Parameters, ground: Ground, seconds: float, start: Node | None = None
) -> tuple[Found | None, Problem]:
    """The least loss that is found, half of the time by greedy steps."""
    problem = ground.problem(parameters, Remembering(ground.checker(parameters)))
    return best_of(problem, SEARCHES["optimal"], seconds / 2, start), problem


def _is_least(model: Model) -> bool:
    return isinstance(model, KAnonymity) and model.k <= LEAST_K


def without(parameters: Parameters, model: Model) -> Parameters:
    """The parameters without one of their models; of k-anonymity with the least k.

    Args:
        parameters: of full-domain generalization.
        model: the very one of the parameters.
    """
    others: tuple[Model, ...] = tuple(m for m in parameters.models if m is not model)
    if isinstance(model, KAnonymity):
        others = (KAnonymity(model="k_anonymity", k=LEAST_K), *others)
    rule = parameters.rule
    conditions = tuple(
        replace(s, models=tuple(m for m in s.models if m is not model))
        if isinstance(s, Sensitive)
        else s
        for s in rule.conditions
    )
    populations = tuple(
        replace(p, models=tuple(m for m in p.models if m is not model))
        if isinstance(p, Population)
        else p
        for p in rule.populations
    )
    judging = tuple(p for p in populations if not isinstance(p, Population) or p.models)
    k = max((m.smallest_class for m in others), default=1)
    rule = replace(rule, k=k, conditions=conditions, populations=judging)
    return replace(parameters, models=others, rule=rule)


def advice(found: tuple[ModelCost, ...]) -> Iterator[str]:
    """What to say of the models that cost most."""
    ranked = sorted(found, key=lambda one: -one.costs)
    for one in ranked[:NAMED]:
        if one.costs >= WORTH:
            about = "" if one.proven_optimal else "about "
            yield (
                f"{one.model} costs {about}{one.costs:.2f} of the detail: {one.loss_with:.2f} is "
                f"lost with it, {one.loss_without:.2f} without; ask for less of it if you can "
                "answer for that, or coarsen other columns first"
            )


def named(model: Model) -> str:
    """A model in a few words, as `l = 2 on race`."""
    if isinstance(model, KAnonymity):
        return f"k = {model.k} in place of k = {LEAST_K}"
    hidden = ("column", "joint", "values", "population", "attacker", "threshold", "distance")
    shown = {key: value for key, value in model.declared.items() if key not in hidden}
    of = population_of(model)
    place = f" in {of}" if of else ""
    if isinstance(model, OfSensitive):
        columns = (" with " if model.joint else " and ").join(model.columns)
        place = f" on {columns}"
    if model.model == "max_risk":
        shown = {f"{model.declared['attacker']} risk": model.declared["threshold"]}
    kind = shown.pop("kind", "distinct") if isinstance(model, LDiversity) else None
    parameters = ", ".join(f"{key} = {value}" for key, value in _simple(shown))
    prefix = "" if kind in (None, "distinct") else f"{kind} "
    if model.model not in ("l_diversity", "t_closeness", "max_risk"):
        prefix = f"{model.model} "
    return f"{prefix}{parameters}{place}"


def _simple(shown: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for key, value in shown.items():
        yield key, f"{value:g}" if isinstance(value, float) else value
