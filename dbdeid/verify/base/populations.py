"""Models over a population, measured on the classes of a written table.

The population is generalized as the source is, through the hierarchies: its people fit a released
class whose values theirs become, NULL being that of NULL. Everyone fits a class of `*`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from dbdeid.engine.expressions import (
    Query,
    Select,
    aliased,
    coalesce,
    column,
    count_rows,
    literal,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy import DeltaPresence, KMap, MaxRisk, Model, population_of
from dbdeid.verify.base.classes import STAR
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import as_written, generalized, names_of, renamed
from dbdeid.verify.base.sensitive import classless

RAW, PEOPLE, FITTING = "verify_population", "verify_population_people", "verify_population_classes"

# By the name that models have for them: c0, c1, … (the quasi-identifiers at level 0) and people.
Populations = Mapping[str, Query]
Found = Mapping[Model, Promise]


def class_sizes(table: Relation, declared: Declared) -> Select:
    """A query of the classes of a written table: c0, c1, … and class_size, in records."""
    columns = written(table, declared)
    keys = [column(name) for name in names_of(columns)]
    size = aliased(count_rows(), "class_size")
    rows = renamed(table, columns).subquery("written")
    return select(*keys, size).from_(rows).group_by(*(key.copy() for key in keys))


def population_promises(
    session: Session,
    table: Relation,
    declared: Declared,
    models: Sequence[Model],
    populations: Populations | None,
    hierarchies: Relation | None,
    sizes: Query | None = None,
) -> Found:
    """The promise of each model over a population.

    Args:
        session: sees all tables.
        table: the written table, described.
        declared: its shape.
        models: those to measure; others than over a population are passed over.
        populations: by name; a model whose population is not among them does not hold.
        hierarchies: `deid.hierarchies`, or its rows of this release, with the values of the
            populations.
        sizes: the released classes: c0, c1, … and class_size, where they do not count records.
    """
    found: dict[Model, Promise] = {}
    for name in dict.fromkeys(population_of(model) for model in models):
        if name is not None:
            query = (populations or {}).get(name)
            asked = [model for model in models if population_of(model) == name]
            found |= _of_one(session, table, declared, asked, query, hierarchies, sizes)
    return found


def written(table: Relation, declared: Declared) -> list[Column]:
    """The written quasi-identifiers."""
    return [c for name in declared.quasi_identifiers if (c := table.find(name))]


def _of_one(
    session: Session,
    table: Relation,
    declared: Declared,
    models: Sequence[Model],
    population: Query | None,
    hierarchies: Relation | None,
    sizes: Query | None,
) -> dict[Model, Promise]:
    """The promises over one population."""
    with fitted(session, table, declared, population, hierarchies, sizes) as reason:
        return {model: _promise(session, model, reason) for model in models}


@contextmanager
def fitted(
    session: Session,
    table: Relation,
    declared: Declared,
    population: Query | None,
    hierarchies: Relation | None,
    sizes: Query | None = None,
) -> Iterator[str]:
    """The released classes with the people who fit them, in `FITTING`, while it lasts.

    Yields:
        why they cannot be told; nothing where they can.
    """
    try:
        reason = _unmeasurable(session, table, declared, population, hierarchies)
        if not reason:
            assert population is not None
            assert hierarchies is not None
            reason = _fit(session, table, declared, population, hierarchies, sizes)
        yield reason
    finally:
        for name in (RAW, PEOPLE, FITTING):
            session.drop_temp(name)


def _unmeasurable(
    session: Session,
    table: Relation,
    declared: Declared,
    population: Query | None,
    hierarchies: Relation | None,
) -> str:
    missing = [name for name in declared.quasi_identifiers if table.find(name) is None]
    if missing:
        return f"not measurable without {', '.join(map(repr, missing))}"
    if population is None or hierarchies is None:
        return "not measurable without its population"
    if declared.null_policy == "wildcard":
        return "not measurable where a NULL matches everything"
    if declared.pseudonyms:
        return "not measurable where rows of a subject are linked"
    if declared.null_policy == "exclude" and (alone := classless(session, table, declared)):
        return f"{alone} records without a class"
    return ""


def _fit(
    session: Session,
    table: Relation,
    declared: Declared,
    population: Query,
    hierarchies: Relation,
    sizes: Query | None,
) -> str:
    """Leave the released classes with the people who fit them in a temporary table.

    Returns:
        why they cannot be told; nothing where they can.
    """
    columns = written(table, declared)
    keys = names_of(columns)
    raw = session.run(Step(RAW, population))
    fitting = generalized(raw, columns, declared, hierarchies).select(column("people", "s"))
    people = session.run(Step(PEOPLE, fitting))
    lost = _sum(session, raw) - _sum(session, people)
    if lost:
        return f"{lost} people without a place in the hierarchies"
    rows: Query = select(*map(column, keys), "people").from_(people.table)
    if declared.stars_suppressed:
        star = literal(STAR)
        stars = [
            aliased(as_written(star, column(key), raw, written), key)
            for key, written in zip(keys, columns, strict=True)
        ]
        rows = union_all(rows, select(*stars, "people").from_(raw.table))
    classes = class_sizes(table, declared) if sizes is None else sizes
    query = step("verify/population_classes", {"classes": classes, "people": rows}, {"key": keys})
    session.run(Step(FITTING, query))
    return ""


def _with_absent(session: Session) -> Query:
    """The released classes, and as one of nobody those people of the population who fit none.

    The class of suppressed records that are kept is one that everybody fits.
    """
    fitting, everyone = session.temp(FITTING), _sum(session, session.temp(RAW))
    absent = everyone - _sum(session, fitting)
    classes = select("class_size", "people").from_(fitting.table)
    if absent <= 0:
        return classes
    nobody = aliased(literal(0), "class_size")
    alone = select(nobody, aliased(literal(absent), "people"))
    return union_all(classes, alone)


def _sum(session: Session, people: Relation) -> int:
    total = coalesce(sum_of(column("people")), literal(0))
    return int(session.row(select(total).from_(people.table))[0])


def _promise(session: Session, model: Model, reason: str) -> Promise:
    if reason:
        return Promise(model.model, model.declared, reason, False)
    fitting = session.temp(FITTING)
    if isinstance(model, DeltaPresence):
        least, greatest = session.row(model.measure(_with_absent(session)))
        shown, holds = model.shown(least, greatest), model.holds(least, greatest)
    elif isinstance(model, KMap):
        (shown,) = session.row(model.measure(fitting))
        holds = model.holds(shown)
    else:
        assert isinstance(model, MaxRisk)
        people = select(
            aliased(column("class_size"), "records"), aliased(column("people"), "class_size")
        ).from_(fitting.table)
        (risk,) = session.row(model.measure(people))
        shown, holds = model.shown(risk), model.holds(risk)
    return Promise(model.model, model.declared, shown, holds)
