"""Truthfulness of local recoding: who each released record is, is not told by its values.

A record of the source can stand behind every released record whose values are ancestors of its
own. The release is true when all can be told apart at once: a perfect matching between the records
of the source and the released ones. Equal records are one node with their number, so that it is a
maximum flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, cast, column
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import sql
from dbdeid.verify.classes import as_text
from dbdeid.verify.declared import Declared, Promise
from dbdeid.verify.generalized import as_written, names_of, renamed

RAW, SOURCE, RELEASED, LEVELS = (
    "verify_source",
    "verify_source_kinds",
    "verify_released_kinds",
    "verify_value_levels",
)

Ints = NDArray[np.int64]


def matched(
    session: Session,
    real: Relation,
    declared: Declared,
    source: exp.Query | Relation,
    places: Relation,
) -> Promise:
    """Whether the released records are those of the source, each generalized by its hierarchies.

    Args:
        session: sees all tables.
        real: the released records that are not counterfeit, described.
        declared: the shape of the release.
        source: the records as released at level 0.
        places: what each value reads on each level, from `verify.places`.
    """
    wanted_names = [c.name for c in declared.columns if c.name not in declared.bounds]
    columns = [c for name in wanted_names if (c := real.find(name))]
    keys = [c for c in columns if c.name in declared.quasi_identifiers]
    try:
        raw = session.run(Step(RAW, renamed(source, columns)))
        sources = session.run(Step(SOURCE, _kinds(_of_source(raw, columns, keys), keys)))
        session.run(Step(LEVELS, _levels(places)))
        released = session.run(Step(RELEASED, _with_levels(_of_release(real, columns, keys), keys)))
        flow = _flow(
            _numbers(session, sources),
            _numbers(session, released),
            _pairs(session, sources, released, keys, places),
        )
        rows = int(_numbers(session, sources).sum())
        records = int(_numbers(session, released).sum())
    finally:
        for name in (RAW, SOURCE, RELEASED, LEVELS):
            session.drop_temp(name)
    wanted = {"source_rows": declared.source_rows, "missing_records": 0, "invented_records": 0}
    found = {
        "source_rows": rows,
        "missing_records": rows - flow,
        "invented_records": records - flow,
    }
    return Promise("truthfulness", wanted, found, found == wanted)


def _texts(keys: Sequence[Column]) -> list[str]:
    return [f"t{i}" for i in range(len(keys))]


def _of_source(raw: Relation, columns: Sequence[Column], keys: Sequence[Column]) -> exp.Select:
    """The source as t0, t1, … (quasi-identifiers as text) and `others`, as they are written."""
    named = dict(zip((c.name for c in columns), names_of(columns), strict=True))
    texts = [
        exp.alias_(as_text(column(named[c.name])), t)
        for c, t in zip(keys, _texts(keys), strict=True)
    ]
    others = [
        as_text(as_written(column(named[c.name]), column(named[c.name]), raw, c))
        for c in columns
        if c not in keys
    ]
    return exp.select(*texts, exp.alias_(_list(others), "others")).from_(raw.table)


def _of_release(real: Relation, columns: Sequence[Column], keys: Sequence[Column]) -> exp.Select:
    texts = [
        exp.alias_(as_text(column(c.name)), t) for c, t in zip(keys, _texts(keys), strict=True)
    ]
    others = [as_text(column(c.name)) for c in columns if c not in keys]
    return exp.select(*texts, exp.alias_(_list(others), "others")).from_(real.table)


def _list(values: Sequence[exp.Expr]) -> exp.Expr:
    return cast(exp.Array(expressions=list(values)), "VARCHAR[]")


def _kinds(rows: exp.Select, keys: Sequence[Column], *more: str) -> exp.Select:
    """Equal records as one, numbered from 0."""
    names = [column(name) for name in (*_texts(keys), "others", *more)]
    grouped = exp.select(*names, exp.alias_(exp.Count(this=exp.Star()), "records"))
    grouped = grouped.from_(rows.subquery("rows")).group_by(*(n.copy() for n in names))
    number = exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=exp.convert(1))
    return exp.select("*", exp.alias_(number, "id")).from_(grouped.subquery("grouped"))


def _levels(places: Relation) -> exp.Select:
    """The lowest level of each released value: where it names the same leaves on others."""
    names = [column("name"), column("shown")]
    lowest = exp.alias_(exp.Min(this=column("level")), "level")
    return exp.select(*names, lowest).from_(places.table).group_by(*(n.copy() for n in names))


def _with_levels(rows: exp.Select, keys: Sequence[Column]) -> exp.Select:
    """The kinds of released records with `signature`, the levels of their values."""
    kinds = _kinds(rows, keys)
    query = exp.select("kinds.*").from_(kinds.subquery("kinds"))
    found: list[exp.Expr] = []
    for key, text in zip(keys, _texts(keys), strict=True):
        alias = f"l_{text}"
        of_key = exp.select(column("shown"), column("level"))
        of_key = of_key.from_(Relation(LEVELS, schema="main", catalog="temp").table)
        of_key = of_key.where(column("name").eq(exp.Literal.string(key.name)))
        same = exp.NullSafeEQ(this=column(text, "kinds"), expression=column("shown", alias))
        query = query.join(of_key.subquery(alias), on=same, join_type="left")
        found.append(column("level", alias))
    return query.select(exp.alias_(exp.Array(expressions=found), "signature"))


def _numbers(session: Session, kinds: Relation) -> Ints:
    """How many records there are of each kind, by its number."""
    query = exp.select(column("records")).from_(kinds.table).order_by(column("id"))
    return session.arrays(query)["records"].astype(np.int64)


def _pairs(
    session: Session,
    sources: Relation,
    released: Relation,
    keys: Sequence[Column],
    places: Relation,
) -> tuple[Ints, Ints]:
    """Which kinds of source records can stand behind which released ones, by their numbers."""
    signatures = exp.select(column("signature")).distinct().from_(released.table)
    before, after = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    of_signature = sql(_of_signature(sources, released, keys, places))  # written once for all
    for (signature,) in session.rows(signatures.order_by(column("signature"))):
        if None in signature:
            continue  # a value that no hierarchy shows stands for no record
        found = session.arrays(of_signature, [*signature, *signature])
        before.append(found["source"].astype(np.int64))
        after.append(found["released"].astype(np.int64))
    return np.concatenate(before), np.concatenate(after)


def _of_signature(
    sources: Relation,
    released: Relation,
    keys: Sequence[Column],
    places: Relation,
) -> exp.Select:
    """The pairs at one signature: `?` are its levels, twice."""
    query = exp.select(exp.alias_(column("id", "s"), "source"))
    query = query.select(exp.alias_(column("id", "r"), "released"))
    query = query.from_(exp.alias_(sources.table, "s", table=True))
    levels = exp.Array(expressions=[exp.Placeholder() for _ in keys])
    same: list[exp.Expr] = [
        column("signature", "r").eq(levels),
        column("others", "r").eq(column("others", "s")),
    ]
    for key, text in zip(keys, _texts(keys), strict=True):
        alias = f"p_{text}"
        at_level = (
            exp.select(column("value"), column("shown"))
            .from_(places.table)
            .where(column("name").eq(exp.Literal.string(key.name)))
            .where(column("level").eq(exp.Placeholder()))
        )
        own = exp.NullSafeEQ(this=column(text, "s"), expression=column("value", alias))
        query = query.join(at_level.subquery(alias), on=own)
        same.append(exp.NullSafeEQ(this=column(text, "r"), expression=column("shown", alias)))
    return query.join(exp.alias_(released.table, "r", table=True), on=exp.and_(*same))


def _flow(before: Ints, after: Ints, pairs: tuple[Ints, Ints]) -> int:
    """How many records can be matched one to one.

    Args:
        before: records of each kind in the source.
        after: records of each kind in the release.
        pairs: numbers of kinds that can be matched.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    if not len(before) or not len(after) or not len(pairs[0]):
        return 0
    first, second = 1, 1 + len(before)
    sink = second + len(after)
    starts = np.concatenate(
        [np.zeros(len(before)), first + pairs[0], second + np.arange(len(after))]
    )
    ends = np.concatenate(
        [first + np.arange(len(before)), second + pairs[1], np.full(len(after), sink)]
    )
    most = np.minimum(before[pairs[0]], after[pairs[1]])
    room = np.concatenate([before, most, after]).astype(np.int32)
    graph: Any = csr_array(
        (room, (starts.astype(np.int32), ends.astype(np.int32))), shape=(sink + 1, sink + 1)
    )
    return int(maximum_flow(graph, 0, sink).flow_value)
