"""How synthetic records are made, held against the columns of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dbdeid.bind.synthesis import is_number
from dbdeid.data.records import Recipe
from dbdeid.engine.reading import NotSql, columns_in
from dbdeid.engine.relation import Column
from dbdeid.engine.sqltext import statements
from dbdeid.prepare.problem import Synthesis
from dbdeid.spec.method_spec import Condensation
from dbdeid.spec.model_spec import Cox, Linear

if TYPE_CHECKING:
    from dbdeid.bind.bound import Bound, BoundColumn

# Below this many records, a cluster that keeps the counts of its categories tells who is in it.
COUNTED_FROM = 50


def synthesis_of(bound: Bound, method: Condensation, key: str) -> Synthesis:
    """How the records of a bound spec are synthesized, defaults settled by the declared models.

    Args:
        bound: the spec whose columns were found.
        method: its method.
        key: the secret that all draws depend on.
    """
    k = method.k or bound.spec.smallest_class
    columns = {c.name.lower(): c for c in bound.released}
    strata = tuple(_events(bound, columns)) if method.strata is None else method.strata
    response = method.response or _duration(bound, columns, strata)
    recipe = Recipe(
        variant=method.variant,
        k=k,
        response_weight=method.weight,
        exact_moments=method.exact_moments,
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
        key=key,
    )


def calibrates(bound: Bound, method: Condensation) -> bool:
    """Whether the statistics of the declared models are kept."""
    wanted = bool(bound.analyses) if method.calibrate is None else method.calibrate
    return wanted and any(analysis.several is None for analysis in bound.analyses)


def _events(bound: Bound, columns: Mapping[str, BoundColumn]) -> Iterator[str]:
    """The column that tells whether the event of the first Cox model came."""
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
