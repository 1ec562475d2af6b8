"""Truthfulness of local recoding: a released record's values do not say whose it is.

A record of the source can stand behind every released record whose values are ancestors of its
own. The release is true when all can be told apart at once: a perfect matching between the records
of the source and the released ones. Equal records are one node with their number, so that it is a
maximum flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    ascending,
    cast,
    column,
    count_rows,
    dense_rank,
    list_of,
    literal,
    min_of,
    over,
    row_number,
    select,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import as_written, names_of, renamed

RAW, SOURCE, RELEASED = "verify_source", "verify_source_kinds", "verify_released_kinds"

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatchedRecords:
    """How many records there are of the source and of the release, and pairs of one of each."""

    source: int
    released: int
    pairs: int


def matched(
    session: Session,
    real: Relation,
    declared: Declared,
    source: Query | Relation,
    places: Relation,
) -> Promise:
    """Whether the released records are those of the source, each generalized by its hierarchies.

    Args:
        session: sees all tables.
        real: the released records that are not counterfeit, described.
        declared: the shape of the release.
        source: the records as released at level 0.
        places: what each value reads on each level, from `verify.base.places`.
    """
    of = counted(session, real, declared, source, places)
    wanted = {"source_rows": declared.source_rows, "missing_records": 0, "invented_records": 0}
    found = {
        "source_rows": of.source,
        "missing_records": of.source - of.pairs,
        "invented_records": of.released - of.pairs,
    }
    return Promise("truthfulness", wanted, found, found == wanted)


def counted(
    session: Session,
    real: Relation,
    declared: Declared,
    source: Query | Relation,
    places: Relation,
) -> MatchedRecords:
    """How many records of the source can stand behind released ones of their own, at once.

    Args:
        session: sees all tables.
        real: the released records, described.
        declared: the shape of the release; its columns are compared.
        source: the records as released at level 0.
        places: name, level, value, shown: what each value may read; a released value stands for
            what it does on its lowest level.
    """
    wanted_names = [c.name for c in declared.columns if c.name not in declared.bounds]
    columns = [c for name in wanted_names if (c := real.find(name))]
    keys = [c for c in columns if c.name in declared.quasi_identifiers]
    try:
        raw = session.run(Step(RAW, renamed(source, columns)))
        sources = session.run(Step(SOURCE, _kinds(_of_source(raw, columns, keys), keys)))
        released = session.run(Step(RELEASED, _kinds(_of_release(real, columns, keys), keys)))
        flow = _flow(
            _numbers(session, sources),
            _numbers(session, released),
            _pairs(session, sources, released, keys, places),
        )
        rows = int(_numbers(session, sources).sum())
        records = int(_numbers(session, released).sum())
        return MatchedRecords(rows, records, flow)
    finally:
        for name in (RAW, SOURCE, RELEASED):
            session.drop_temp(name)


def _texts(keys: Sequence[Column]) -> list[str]:
    return [f"t{i}" for i in range(len(keys))]


def _of_source(raw: Relation, columns: Sequence[Column], keys: Sequence[Column]) -> Select:
    """The source as t0, t1, … (quasi-identifiers as text) and `others`, as they are written."""
    named = dict(zip((c.name for c in columns), names_of(columns), strict=True))
    texts = [
        aliased(as_text(column(named[c.name])), t) for c, t in zip(keys, _texts(keys), strict=True)
    ]
    others = [
        as_text(as_written(column(named[c.name]), column(named[c.name]), raw, c))
        for c in columns
        if c not in keys
    ]
    return select(*texts, aliased(_list(others), "others")).from_(raw.table)


def _of_release(real: Relation, columns: Sequence[Column], keys: Sequence[Column]) -> Select:
    texts = [aliased(as_text(column(c.name)), t) for c, t in zip(keys, _texts(keys), strict=True)]
    others = [as_text(column(c.name)) for c in columns if c not in keys]
    return select(*texts, aliased(_list(others), "others")).from_(real.table)


def _list(values: Sequence[Expr]) -> Expr:
    return cast(list_of(*values), "VARCHAR[]")


def _kinds(rows: Select, keys: Sequence[Column]) -> Select:
    """Equal records as one, numbered from 0."""
    names = [column(name) for name in (*_texts(keys), "others")]
    grouped = select(*names, aliased(count_rows(), "records"))
    grouped = grouped.from_(rows.subquery("rows")).group_by(*(n.copy() for n in names))
    number = over(row_number()) - literal(1)
    return select("*", aliased(number, "id")).from_(grouped.subquery("grouped"))


def _numbers(session: Session, kinds: Relation) -> Ints:
    """How many records there are of each kind, by its number."""
    query = select(column("records")).from_(kinds.table).order_by(column("id"))
    return session.arrays(query)["records"].astype(np.int64)


def _pairs(
    session: Session,
    sources: Relation,
    released: Relation,
    keys: Sequence[Column],
    places: Relation,
) -> tuple[Ints, Ints]:
    """Which kinds of source records can stand behind which released ones, by their numbers.

    Of each released class the records are looked for in the column that leaves the fewest, and
    then in the others.
    """
    columns = [
        _Fitting.of(session, sources, released, key.name, text, places)
        for key, text in zip(keys, _texts(keys), strict=True)
    ]
    other_sources, other_released = _coded_others(session, sources, released)
    shown = np.stack([c.shown for c in columns] or [np.zeros(len(other_released), np.int64)], 1)
    classes, members = np.unique(shown, axis=0, return_inverse=True)
    members = members.reshape(-1)
    order = np.lexsort((other_released, members))
    starts = np.searchsorted(members[order], np.arange(len(classes) + 1))
    before, after = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    everyone = np.arange(len(other_sources))
    for i, values in enumerate(classes):
        own = order[starts[i] : starts[i + 1]]
        fitting = _fitting(columns, values) if columns else everyone
        held = other_released[own]
        place = np.minimum(np.searchsorted(held, other_sources[fitting]), len(own) - 1)
        same = held[place] == other_sources[fitting]
        before.append(fitting[same])
        after.append(own[place[same]])
    return np.concatenate(before), np.concatenate(after)


def _fitting(columns: Sequence[_Fitting], values: Ints) -> Ints:
    """The kinds of source records that fit one value of each column."""
    number = [int(c.reached[v]) for c, v in zip(columns, values, strict=True)]
    ordered = sorted(range(len(columns)), key=lambda i: number[i])
    found = columns[ordered[0]].records(int(values[ordered[0]]))
    for i in ordered[1:]:
        if not len(found):
            break
        found = found[columns[i].mask(int(values[i]))[columns[i].value[found]]]
    return found


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One quasi-identifier: which of its values can read as which released ones.

    Attributes:
        value: (sources,) the place of each kind's value among the different ones.
        shown: (released,) the same of released kinds.
        below: of each released value the places of the values that can read so.
        order: the kinds of source records by their value.
        starts: where in `order` each value begins, and where it ends.
        reached: how many kinds of source records each released value can stand for.
    """

    value: Ints
    shown: Ints
    below: tuple[Ints, ...]
    order: Ints
    starts: Ints
    reached: Ints

    @classmethod
    def of(
        cls,
        session: Session,
        sources: Relation,
        released: Relation,
        name: str,
        text: str,
        places: Relation,
    ) -> _Fitting:
        """The column of that name, which both kinds of records have as `text`."""
        value, values = _coded(session, sources, text)
        shown, labels = _coded(session, released, text)
        listed: list[list[int]] = [[] for _ in labels]
        for one, reads in session.rows(_readings(places, name)):
            if one in values and reads in labels:
                listed[labels[reads]].append(values[one])
        below = tuple(np.unique(np.array(found, np.int64)) for found in listed)
        counts = np.bincount(value, minlength=len(values))
        return cls(
            value,
            shown,
            below,
            np.argsort(value, kind="stable"),
            np.concatenate([[0], np.cumsum(counts)]),
            np.array([counts[found].sum() for found in below], np.int64),
        )

    def records(self, shown: int) -> Ints:
        """The kinds of source records that a released value can stand for."""
        parts = (self.order[self.starts[v] : self.starts[v + 1]] for v in self.below[shown])
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def mask(self, shown: int) -> NDArray[np.bool_]:
        """Which values can read as a released one."""
        found = np.zeros(len(self.starts) - 1, np.bool_)
        found[self.below[shown]] = True
        return found


def _coded(session: Session, kinds: Relation, name: str) -> tuple[Ints, dict[str | None, int]]:
    """The place of each kind's text among the different ones, and that of each text."""
    texts = select(column(name)).distinct().from_(kinds.table).order_by(column(name))
    places = {text: place for place, (text,) in enumerate(session.rows(texts))}
    order = [ascending(column(name))]
    rank = over(dense_rank(), order=order) - literal(1)
    codes = select(aliased(rank, "code")).from_(kinds.table).order_by(column("id"))
    return session.arrays(codes)["code"].astype(np.int64), places


def _coded_others(session: Session, sources: Relation, released: Relation) -> tuple[Ints, Ints]:
    """The other columns of each kind as one number, the same on both sides."""
    sides = [
        select(aliased(literal(side), "side"), column("id"), column("others")).from_(kinds.table)
        for side, kinds in enumerate((sources, released))
    ]
    order = [ascending(column("others"))]
    rank = aliased(over(dense_rank(), order=order), "code")
    both = union_all(*sides).subquery("both")
    query = select("side", rank).from_(both).order_by("side", column("id"))
    found = session.arrays(query)
    first = found["side"] == 0
    codes = found["code"].astype(np.int64)
    return codes[first], codes[~first]


def _readings(places: Relation, name: str) -> Select:
    """What each value of a column may read: of a released value, on its lowest level."""
    own = column("name").eq(literal(name))
    lowest = over(min_of(column("level")), by=[column("shown")])
    query = select("value", "shown").from_(places.table).where(own)
    return query.qualify(column("level").eq(lowest))


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
    if len(np.unique(pairs[0])) == len(pairs[0]):  # each kind fits one other: no choice
        reached = np.bincount(pairs[1], before[pairs[0]], minlength=len(after))
        return int(np.minimum(reached, after).sum())
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
