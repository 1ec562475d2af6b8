"""Check the options of synthetic records against the columns of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.data.records import Recipe
from dbdeid.engine.reading import NotSql, columns_in
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import statements
from dbdeid.methods.condensation.calibration_targets import Analysed, cells
from dbdeid.prepare.prepare import key_of
from dbdeid.prepare.problem import Drawing, Parameters
from dbdeid.spec.method.condensation import Condensation, is_number
from dbdeid.spec.model_spec import Cox, Linear

# Below this many records, a cluster that keeps the counts of its categories tells who is in it.
COUNTED_FROM = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis(Drawing):
    """How synthetic records are made.

    Attributes:
        columns: all released columns as staged, in order.
        recipe: of the clusters and of what is drawn from them.
        strata: columns whose combinations of values are condensed apart, and kept.
        merge: whether combinations of fewer than k records are joined, not refused.
        response: the column that the recipient explains; None: there is none.
        weights: of columns while clustering, where they are not 1.
        pools: columns of whose categories only so many of the most frequent are kept.
        categorical: columns whose numbers are names.
        analyses: the recipient's models as numbers of the records of two tables, those of the
            source and the synthetic ones, which a column numbers; None: none is to be kept.
    """

    columns: tuple[Column, ...]
    recipe: Recipe
    strata: tuple[str, ...]
    merge: bool
    response: str | None
    weights: Mapping[str, float]
    pools: Mapping[str, int]
    categorical: tuple[str, ...]
    analyses: Callable[[Session, Relation, Relation, str], Sequence[Analysed]] | None = None


def options(bound: Bound) -> Synthesis:
    """How the records of a bound spec are synthesized, with defaults from the declared models."""
    method = declared_method(bound)
    k = method.k or bound.spec.smallest_class
    columns = {c.name.lower(): c for c in bound.released}
    strata = tuple(_events(bound, columns)) if method.strata is None else method.strata
    response = method.response or _duration(bound, columns, strata)
    recipe = Recipe(
        variant=method.variant,
        k=k,
        response_weight=method.weight,
        exact_moments=method.exact,
        time=method.time,
        time_scale=method.time_scale,
        counts=method.variant == "recipient" and k >= COUNTED_FROM,
    )
    return Synthesis(
        columns=tuple(Column(s.column.name, s.released_type) for s in bound.staged),
        recipe=recipe,
        strata=tuple(dict.fromkeys(columns[name.lower()].name for name in strata)),
        merge=method.small_strata == "merge",
        response=columns[response.lower()].name if response else None,
        weights={c.name: c.spec.weight for c in bound.released if c.spec.weight != 1},
        pools={c.name: c.spec.pool for c in bound.released if c.spec.pool is not None},
        categorical=tuple(c.name for c in bound.released if c.spec.type == "categorical"),
        key=key_of(bound),
        analyses=partial(cells, bound) if _calibrates(bound, method) else None,
    )


def declared_method(bound: Bound) -> Condensation:
    """The method of a spec that is of this one."""
    method = bound.spec.method
    assert isinstance(method, Condensation)
    return method


def _calibrates(bound: Bound, method: Condensation) -> bool:
    """Whether the statistics of the declared models are kept."""
    wanted = bool(bound.analyses) if method.calibrate is None else method.calibrate
    return wanted and any(analysis.several is None for analysis in bound.analyses)


def _events(bound: Bound, columns: Mapping[str, BoundColumn]) -> Iterator[str]:
    """The event column of the first Cox model."""
    for model in bound.spec.evaluate.models:
        if isinstance(model, Cox):
            yield from _only(_columns_of(model.event, columns))
            return


def _duration(
    bound: Bound, columns: Mapping[str, BoundColumn], strata: Sequence[str]
) -> str | None:
    """The column of numbers that the first Cox model, or else the first linear one, explains."""
    models = bound.spec.evaluate.models
    explained = [m.duration for m in models if isinstance(m, Cox)]
    explained += [m.response for m in models if isinstance(m, Linear)]
    taken = {name.lower() for name in strata}
    for text in explained:
        for name in _only(_columns_of(text, columns)):
            if is_number(columns[name.lower()]) and name.lower() not in taken:
                return name
    return None


def _only(names: list[str]) -> list[str]:
    """The names, if it is one."""
    return names if len(names) == 1 else []


def _columns_of(text: str, columns: Mapping[str, BoundColumn]) -> list[str]:
    """The released columns that an expression names, each once."""
    try:
        tree = statements(text)[0]
    except (NotSql, IndexError):
        return []
    named = dict.fromkeys(name.lower() for name in columns_in(tree)) if tree is not None else {}
    return [columns[name].name for name in named if name in columns]


def synthesis_of(parameters: Parameters[object]) -> Synthesis:
    """The options in parameters of this method."""
    assert isinstance(parameters.options, Synthesis)
    return parameters.options
