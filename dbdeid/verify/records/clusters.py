"""Promises of synthetic records, from the owner's table of clusters.

Which cluster a synthetic record was drawn from cannot be seen in it. The table claims it, for the
records of the source and for the released ones. It is believed only as far as it is proven here:
its one side is the source, its other the release, as multisets of whole rows. Then what was
promised of each cluster is counted in it: its size, that it has one combination of the strata, and
what its synthetic records keep of the original ones.

There is no formal guarantee in this: clusters depend on the data.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    any_of,
    case,
    coalesce,
    column,
    count_rows,
    function,
    is_null,
    list_of,
    literal,
    not_,
    not_same_value,
    one_of,
    select,
)
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared, Promise, Synthesized
from dbdeid.verify.base.generalization import as_written, names_of, renamed
from dbdeid.verify.records import copies

CLUSTER, SIDE, RECORD, RECORDS = "cluster", "side", "record", "records"
# What a category that is not among the most frequent is released as.
OTHER = "other"

_SHAPE = {CLUSTER: "BIGINT", SIDE: "VARCHAR", RECORD: "VARCHAR[]", RECORDS: "BIGINT"}
_ROWS, _POOLED, _CELLS = "verify_synthetic_source", "verify_synthetic_pooled", "verify_clusters"


def clustered(
    session: Session,
    table: Relation,
    declared: Declared,
    clusters: Relation | None,
    source: Query | Relation,
) -> list[Promise]:
    """All that a release of synthetic records promises.

    Args:
        session: sees all tables.
        table: the release, described, with all its columns.
        declared: its shape, with `synthesized`.
        clusters: `cluster`, its number; `side`, source or released; `record`, all released columns
            as text; `records`, how many of them the cluster holds on that side.
        source: the records with the released columns as they are.
    """
    synthesized = declared.synthesized
    assert synthesized is not None
    if reason := _unreadable(session, declared, clusters):
        return [Promise("cluster_size", {"k": synthesized.k}, reason, False)]
    assert clusters is not None
    try:
        origin = session.run(Step(_ROWS, _as_released(session, declared, source)))
        pooled = session.run(Step(_POOLED, _pooled(session, origin, declared, synthesized)))
        cells = session.run(Step(_CELLS, _cells(clusters, origin, declared, synthesized)))
        found = [
            *_clusters(session, table, declared, synthesized, clusters, cells, origin),
            *_kept(session, declared, synthesized, cells),
            _values(session, table, declared, synthesized, pooled),
        ]
        if synthesized.chance is not None:
            hits = _hits(session, table, declared, pooled)
            found.append(copies.of_release(*hits, synthesized.chance))
            found.append(copies.of_trial(synthesized.k, synthesized.chance))
    finally:
        for name in (_ROWS, _POOLED, _CELLS):
            session.drop_temp(name)
    return found


# -- the table of clusters -----------------------------------------------------------------


def _unreadable(session: Session, declared: Declared, clusters: Relation | None) -> str:
    """Why nothing can be measured."""
    if clusters is None:
        return "not measurable without the private table of clusters"
    if not all((c := clusters.find(name)) and c.type == kind for name, kind in _SHAPE.items()):
        return "not measurable: the table of clusters has another shape"
    length = function("len", column(RECORD))
    sides = list_of(*(literal(s) for s in ("source", "released")))
    known = function("list_contains", sides, column(SIDE))
    odd = any_of(
        is_null(column(CLUSTER)),
        coalesce(not_(known), literal(True)),
        is_null(column(RECORDS)),
        column(RECORDS) < literal(1),
        not_same_value(length, literal(len(declared.columns))),
    )
    query = select(count_rows()).from_(clusters.table).where(odd)
    malformed = int(session.row(query)[0])
    return f"not measurable: {malformed} malformed rows of clusters" if malformed else ""


def _as_released(session: Session, declared: Declared, source: Query | Relation) -> Select:
    """The source as c0, c1, … in the types of the release."""
    query = renamed(source, declared.columns)
    origin = Relation("origin", session.describe(query))
    cells = [
        aliased(as_written(column(name), column(name), origin, written), name)
        for name, written in zip(names_of(declared.columns), declared.columns, strict=True)
    ]
    return select(*cells).from_(query.subquery("origin"))


def _pooled(
    session: Session, origin: Relation, declared: Declared, synthesized: Synthesized
) -> Select:
    """The source as c0, c1, … with its rare categories as they are released."""
    cells = [
        aliased(_after_pooling(column(name), origin, name, written, synthesized), name)
        for name, written in zip(names_of(declared.columns), declared.columns, strict=True)
    ]
    return select(*cells).from_(origin.table)


def _after_pooling(
    cell: Expr, origin: Relation, name: str, written: Column, synthesized: Synthesized
) -> Expr:
    most = synthesized.pooled.get(written.name)
    if most is None:
        return cell
    frequent = step("verify/frequent", {"rows": origin}, {"cell": [name]}, {"most": most})
    texts = select(as_text(column("value"))).from_(frequent.subquery("frequent"))
    kept = any_of(is_null(cell), one_of(as_text(cell), texts))
    return case((kept, cell), otherwise=literal(OTHER))


def _cells(
    clusters: Relation, origin: Relation, declared: Declared, synthesized: Synthesized
) -> Select:
    """The table of clusters with a column for each cell, as text, pooled on both sides alike."""
    query = select(column(CLUSTER), column(SIDE), column(RECORDS)).from_(clusters.table)
    for i, (name, written) in enumerate(
        zip(names_of(declared.columns), declared.columns, strict=True)
    ):
        raw = _cell(i)
        shown = _after_pooling(raw, origin, name, written, synthesized)
        if shown is not raw:
            of_source = column(SIDE).eq(literal("source"))
            shown = case((of_source, shown), otherwise=raw.copy())
        query = query.select(aliased(shown, name))
    return query


def _cell(place: int) -> Expr:
    return function("list_extract", column(RECORD), literal(place + 1))


# -- promises ------------------------------------------------------------------------------


def _clusters(
    session: Session,
    table: Relation,
    declared: Declared,
    synthesized: Synthesized,
    clusters: Relation,
    cells: Relation,
    origin: Relation,
) -> Iterator[Promise]:
    """The size of the clusters, and whether they hold the source and the release."""
    number, smallest, uneven = session.row(step("verify/cluster_sizes", {"cells": cells}))
    if number or declared.source_rows:
        yield Promise(
            "cluster_size",
            {"k": synthesized.k},
            None if smallest is None else int(smallest),
            smallest is not None and smallest >= synthesized.k,
        )
    rows, missing, foreign = _balance(
        session, origin, names_of(declared.columns), clusters, "source"
    )
    released, unclustered, unreleased = _balance(
        session, table, [c.name for c in declared.columns], clusters, "released"
    )
    wanted = {
        "source_rows": declared.source_rows,
        "released_rows": declared.source_rows,
        "missing_records": 0,
        "invented_records": 0,
        "uneven_clusters": 0,
    }
    found = {
        "source_rows": rows,
        "released_rows": released,
        "missing_records": max(missing, unclustered),
        "invented_records": max(foreign, unreleased),
        "uneven_clusters": int(uneven),
    }
    yield Promise("clusters", wanted, found, found == wanted)


def _balance(
    session: Session, rows: Relation, names: list[str], clusters: Relation, side: str
) -> tuple[int, int, int]:
    """Rows there are, how many of them no cluster has, how many of the clusters' are not there."""
    keys = [f"t{i}" for i in range(len(names))]
    own = [aliased(as_text(column(n)), key) for n, key in zip(names, keys, strict=True)]
    told = [aliased(_cell(i), key) for i, key in enumerate(keys)]
    listed = select(*told, column(RECORDS)).from_(clusters.table)
    listed = listed.where(column(SIDE).eq(literal(side)))
    query = step(
        "verify/balance",
        {"rows": select(*own).from_(rows.table), "counted": listed},
        {"key": keys},
    )
    there, uncounted, absent = (int(number) for number in session.row(query))
    return there, uncounted, absent


def _kept(
    session: Session, declared: Declared, synthesized: Synthesized, cells: Relation
) -> Iterator[Promise]:
    """What the synthetic records of each cluster have in common with the original ones."""
    names = {c.name: n for c, n in zip(declared.columns, names_of(declared.columns), strict=True)}
    if synthesized.strata:
        of = {"cell": [names[name] for name in synthesized.strata]}
        mixed, changed = session.row(step("verify/cluster_strata", {"cells": cells}, of))
        wanted = {"columns": list(synthesized.strata), "changed_clusters": 0}
        found = {"columns": list(synthesized.strata), "changed_clusters": int(changed)}
        if not synthesized.merged:
            wanted["mixed_clusters"], found["mixed_clusters"] = 0, int(mixed)
        yield Promise("strata", wanted, found, found == wanted)
    if synthesized.counts and synthesized.categories:
        counted = {name: names[name] for name in synthesized.categories}
        yield _unchanged(session, cells, "category_counts", counted)
    if synthesized.exact and synthesized.response is not None:
        response = {synthesized.response: names[synthesized.response]}
        yield _unchanged(session, cells, "responses", response)
    measured = {n: c for n, c in names.items() if n not in synthesized.categories}
    if synthesized.nulls and measured:
        yield _unchanged(session, _missing(cells, measured), "missing_values", measured)


def _missing(cells: Relation, columns: dict[str, str]) -> Select:
    """The cells of columns as whether there is no value."""
    flags = [aliased(is_null(column(c)), c) for c in columns.values()]
    return select(CLUSTER, SIDE, RECORDS, *flags).from_(cells.table)


def _unchanged(
    session: Session, cells: Relation | Query, name: str, columns: dict[str, str]
) -> Promise:
    """Whether each value of the columns occurs as often among both sides of every cluster."""
    found = {
        c: int(session.row(step("verify/cluster_counts", {"cells": cells}, {"cell": [cell]}))[0])
        for c, cell in columns.items()
    }
    changed = {c: number for c, number in found.items() if number}
    return Promise(
        name,
        {"columns": list(columns), "changed_clusters": {}},
        {"columns": list(columns), "changed_clusters": changed},
        not changed,
    )


def _values(
    session: Session,
    table: Relation,
    declared: Declared,
    synthesized: Synthesized,
    pooled: Relation,
) -> Promise:
    """Whether released categories are the source's, and numbers and dates within its range."""
    odd: dict[str, int] = {}
    for written, name in zip(declared.columns, names_of(declared.columns), strict=True):
        category = written.name in synthesized.categories or not _ordered(written)
        query = step(
            "verify/new_values" if category else "verify/range",
            {
                "released": select(aliased(column(written.name), name)).from_(table.table),
                "source": pooled,
            },
            {"cell": [name]},
        )
        if number := int(session.row(query)[0]):
            odd[written.name] = number
    wanted = {"columns": len(declared.columns), "foreign_values": {}}
    return Promise("values", wanted, wanted | {"foreign_values": odd}, not odd)


def _ordered(written: Column) -> bool:
    return written.family in (*NUMBERS, "date", "timestamp")


def _hits(
    session: Session, table: Relation, declared: Declared, pooled: Relation
) -> tuple[int, int]:
    """Rows of the source that no other equals, and those of them that are released."""
    keys = names_of(declared.columns)
    written = [
        aliased(as_text(column(c.name)), k) for c, k in zip(declared.columns, keys, strict=True)
    ]
    own = [aliased(as_text(column(k)), k) for k in keys]
    query = step(
        "utility/fidelity/exact_hits",
        {
            "source": select(*own).from_(pooled.table),
            "released": select(*written).from_(table.table),
        },
        {"key": keys},
    )
    unique, reproduced, *_ = session.row(query)
    return int(unique), int(reproduced)
