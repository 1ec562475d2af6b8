"""The two views of a published file that weigh its records, or keep only what is true of them.

A view may stand beside a release only with the text that is shipped, as DuckDB shows it, and when
it gives what the verifier computes by itself from table and catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dbdeid.data.weights import WEIGHT, earlier, truthful, weighted
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import (
    Query,
    Select,
    aliased,
    all_of,
    any_value_of,
    cast,
    column,
    count_rows,
    identifier,
    literal,
    null,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step
from dbdeid.verify.base.declaration import CLASS_ID, Check, Declared
from dbdeid.verify.base.generalization import names_of, renamed
from dbdeid.verify.padding.counterfeits import EXACT
from dbdeid.verify.padding.padded_release import PaddedCounts, padded_counts, unreadable, value_of


def names(release: str) -> tuple[str, str]:
    """The names of the weighted and of the truthful view."""
    return f"{release}_weighted", f"{release}_truthful"


def definitions(
    session: Session, table: Relation, catalog: Relation, sensitive: Sequence[str | None]
) -> list[str]:
    """The views whose text is not the shipped one, or that are not there.

    Args:
        session: its database holds them.
        table: the release, described.
        catalog: its catalog.
        sensitive: the column that the catalog may be about; None: about none.
    """
    found = session.views(session.catalog)
    other = list(names(table.name))
    if table.find(CLASS_ID) is None or not found:
        return other
    for one in sensitive:
        for queries in _written(table, catalog, one) if one != CLASS_ID else ():
            if other:
                shipped = _shipped(table, catalog, queries)
                other = [name for name in other if found.get(name) not in shipped[name]]
    return other


def _written(
    table: Relation, catalog: Relation, sensitive: str | None
) -> Iterator[dict[str, Query]]:
    """The views as this version publishes them, and as versions before it did."""
    bare = Relation(table.name), Relation(catalog.name)
    now = weighted(*bare, sensitive), truthful(*bare, sensitive, table.names)
    for both in (now, earlier(*bare, sensitive, table.names)):
        yield dict(zip(names(table.name), both, strict=True))


def _shipped(table: Relation, catalog: Relation, queries: dict[str, Query]) -> dict[str, set[str]]:
    """The text of each view as a new database shows it, and as a published and reopened one."""
    with (
        ENGINE.open(None, read_only=False) as fresh,
        TemporaryDirectory(dir=fresh.scratch) as folder,
    ):
        path = Path(folder) / "shipped.duckdb"
        _create(fresh, (table, catalog), queries)
        texts = {name: {text} for name, text in fresh.views(fresh.catalog).items()}
        name = fresh.attach_new(path)
        fresh.execute(f"USE {sql(identifier(name))}")
        _create(fresh, (table, catalog), queries)
        fresh.execute(f"USE {sql(identifier(fresh.catalog))}")
        fresh.detach(name)
        for view, text in fresh.views(fresh.attach(path, read_only=True)).items():
            texts[view].add(text)
    return texts


def _create(session: Session, tables: Sequence[Relation], queries: dict[str, Query]) -> None:
    for table in tables:
        empty = select(*(aliased(cast(null(), c.type), c.name) for c in table.columns)).limit(0)
        session.execute(f"CREATE TABLE {sql(identifier(table.name))} AS {sql(empty)}")
    for name, query in queries.items():
        session.execute(f"CREATE VIEW {sql(identifier(name))} AS {sql(query)}")


def rows(session: Session, table: Relation, catalog: Relation, declared: Declared) -> Check:
    """Whether the views give the rows and weights that the table and its catalog mean."""
    if reason := unreadable(table, declared, catalog):
        return Check("views", False, reason)
    try:
        weights, truths = (session.relation(name) for name in names(table.name))
        with padded_counts(session, table, declared, catalog) as found:
            wrong = [
                *_unlike_weights(session, table, weights, declared, found),
                *_unlike_truth(session, table, truths, declared, found),
            ]
    except EngineError as error:
        if error.of_memory:
            raise
        return Check("views", False, f"they cannot be read ({error.kind})")
    return Check("views", not wrong, "; ".join(wrong))


def _unlike_weights(
    session: Session, table: Relation, view: Relation, declared: Declared, found: PaddedCounts
) -> list[str]:
    assert declared.padding is not None
    assert found.groups is not None
    if view.columns != (*table.columns, Column(WEIGHT, "DOUBLE")):
        return [f"{view.name!r} has other columns"]
    records = select(
        aliased(column(CLASS_ID), "class"),
        aliased(value_of(declared.padding), "value"),
        column(WEIGHT),
    ).from_(view.table)
    query = step(
        "verify/weights",
        {"weighted": records, "counts": found.counts, "told": found.groups.told},
        values={"tolerance": EXACT},
    )
    unlike = int(session.row(query)[0])
    other = _differences(session, _tally(table, table), _tally(view, table))
    wrong = [f"{view.name!r} weighs {unlike} classes and values otherwise"] if unlike else []
    return wrong + ([f"{view.name!r} has {other} other rows"] if other else [])


def _unlike_truth(
    session: Session, table: Relation, view: Relation, declared: Declared, found: PaddedCounts
) -> list[str]:
    if view.columns != table.columns:
        return [f"{view.name!r} has other columns"]
    other = _differences(session, _tally(view, table), _true(table, declared, found))
    return [f"{view.name!r} has {other} other rows"] if other else []


def _tally(rows: Relation, table: Relation) -> Select:
    """The rows as c0, c1, …, and how often each occurs."""
    columns = [column(n) for n in names_of(table.columns)]
    total = aliased(count_rows(), "records")
    inner = renamed(rows, table.columns).subquery("inner_rows")
    return select(*columns, total).from_(inner).group_by(*(c.copy() for c in columns))


def _true(table: Relation, declared: Declared, found: PaddedCounts) -> Query:
    """The records whose value no counterfeit of their group has; of others, the value alone."""
    padding, groups = declared.padding, found.groups
    assert padding is not None
    assert groups is not None
    named = names_of(table.columns)
    doubtful = column("counterfeits") > 0
    told = select(column("class"), column("value")).from_(groups.told.table).where(doubtful)
    same = all_of(
        column("class", "told").eq(column("class", "held")),
        same_value(column("value", "told"), column("value", "held")),
    )
    held = renamed(table, table.columns).select(
        aliased(column(CLASS_ID), "class"), aliased(value_of(padding), "value")
    )
    certain = (
        select(*(column(n, "held") for n in named), aliased(literal(1), "records"))
        .from_(held.subquery("held"))
        .join(told.subquery("told"), on=same, join_type="anti")
    )
    cells = [
        aliased(cast(column("value") if c.name == padding.sensitive else null(), c.type), n)
        for c, n in zip(table.columns, named, strict=True)
    ]
    left = any_value_of(column("total")) - any_value_of(column("counterfeits"))
    rest = (
        select(*cells, aliased(left, "records"))
        .from_(groups.told.table)
        .where(doubtful.copy())
        .group_by(column("grp"), column("value"))
    )
    return union_all(certain, rest)


def _differences(session: Session, one: Query, other: Query) -> int:
    """How many combinations of values do not occur equally often."""
    width = len([s for s in one.selects if s.alias_or_name != "records"])
    columns = [column(f"c{i}") for i in range(width)]
    negative = select(
        *(c.copy() for c in columns),
        aliased(-column("records"), "records"),
    ).from_(other.subquery("other"))
    positive = select(*columns, column("records")).from_(one.subquery("one"))
    both = union_all(positive, negative).subquery("both_sides")
    total = sum_of(column("records"))
    unequal = (
        select(aliased(total, "records"))
        .from_(both)
        .group_by(*(c.copy() for c in columns))
        .having(total.copy().neq(literal(0)))
    )
    return int(session.row(select(count_rows()).from_(unequal.subquery("u")))[0])
