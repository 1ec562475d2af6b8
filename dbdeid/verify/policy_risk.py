"""The risk of a policy, recomputed from the written table, its source and the population.

The risk is a share of that of the records as they are (Xia et al. 2013, eq. 2).
"""

from __future__ import annotations

from math import inf, isfinite

from dbdeid.engine.expressions import Expr, Query, Select, aliased, cast, column, count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.shares import finite
from dbdeid.verify.base.declaration import Declared, PolicyRisk, Promise
from dbdeid.verify.base.generalization import names_of
from dbdeid.verify.base.populations import FITTING, Populations, class_sizes, fitted, written

RAW = "verify_policy_population"
# How far the risk of the written table may lie above the declared one: float rounding.
TOLERANCE = 1e-9


def risk(
    session: Session,
    table: Relation,
    declared: Declared,
    weighed: PolicyRisk,
    source: Query | Relation,
    hierarchies: Relation,
    populations: Populations | None,
) -> Promise:
    """Whether the risk of a written table is no more than that of the chosen policy."""
    shown = {"risk": weighed.risk, "measure": weighed.measure}
    if weighed.population is None:
        after = _alone(class_sizes(table, declared))
        before = _alone(_source_sizes(session, table, declared, source, None))
        return _promise(
            shown, weighed, _sum(session, weighed, after), _sum(session, weighed, before)
        )
    shown["population"] = weighed.population
    people = (populations or {}).get(weighed.population)
    with fitted(session, table, declared, people, hierarchies) as reason:
        if reason or people is None:
            return Promise("policy", shown, reason, False)
        fitting = select("*").from_(session.temp(FITTING).table)
        total = _sum(session, weighed, fitting)
    try:
        raw = session.run(Step(RAW, people))
        keys = names_of(written(table, declared))
        query = step(
            "verify/population_classes",
            {
                "classes": _source_sizes(session, table, declared, source, raw),
                "people": select(*map(column, keys), "people").from_(raw.table),
            },
            {"key": keys},
        )
        return _promise(shown, weighed, total, _sum(session, weighed, query))
    finally:
        session.drop_temp(RAW)


def _promise(shown: object, weighed: PolicyRisk, after: float, before: float) -> Promise:
    """Of an infinite risk, in a source that has changed since, any risk would be a share of 0."""
    if not isfinite(before):
        reason = "records of the source are like nobody in its population"
        return Promise("policy", shown, reason, False)
    share = after / before if before else (inf if after else 0.0)
    return Promise("policy", shown, finite(share), share <= weighed.risk + TOLERANCE)


def _source_sizes(
    session: Session,
    table: Relation,
    declared: Declared,
    source: Query | Relation,
    raw: Relation | None,
) -> Select:
    """The classes of the records as they are: c0, c1, … in the types of the population."""
    columns = written(table, declared)
    origin = source.table if isinstance(source, Relation) else source.copy().subquery("origin")
    keys: list[Expr] = []
    for c, name in zip(columns, names_of(columns), strict=True):
        value: Expr = column(c.name)
        known = raw.find(name) if raw is not None else None
        keys.append(aliased(cast(value, known.type) if known else value, name))
    rows = select(*keys).from_(origin).subquery("records")
    names = [column(name) for name in names_of(columns)]
    size = aliased(count_rows(), "class_size")
    return select(*names, size).from_(rows).group_by(*(name.copy() for name in names))


def _alone(sizes: Select) -> Select:
    """Classes whose people are their own records."""
    people = aliased(column("class_size"), "people")
    return select("class_size", people).from_(sizes.subquery("classes"))


def _sum(session: Session, weighed: PolicyRisk, classes: Query) -> float:
    chance, alone = session.row(step("verify/policy_risk", {"classes": classes}))
    return float(chance if weighed.measure == "population" else alone)
