"""Whether counterfeit records have values that were declared not to stand in one record.

A combination names values of columns. A record belongs to it if its cell of each of these columns
is one of them, or a generalized one that stands for none but them. Counterfeit records may not
belong to any. And no more records may belong to it than rows of the source do, so that a list of
counterfeit records which leaves some out hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dbdeid.engine.expressions import Expr, Query, Select, aliased, column, list_of, literal, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Declared, Promise

CELLS = "verify_cells"

# Of each column the values that belong to a combination.
_Values = Mapping[str, set[str]]


def promise(
    session: Session,
    table: Relation,
    declared: Declared,
    flagged: Relation,
    leaves: Query | None,
    source: Query | Relation | None,
) -> Promise:
    """Whether the declared combinations are in the source, if they are anywhere.

    Args:
        session: sees all tables.
        table: the written table, described, with all its columns.
        declared: its shape and promises.
        flagged: its counterfeits: `record`, all released columns as text, and `counterfeits`.
        leaves: `name`, `shown`, `value`: what each released value stands for; None: unknown.
        source: the records as released at level 0; None: not at hand.
    """
    padding = declared.padding
    assert padding is not None
    known = _leaves(session, leaves, declared)
    shown = [_released(c, known, declared) for c in padding.impossible]
    names = [c.name for c in declared.columns]
    record = aliased(list_of(*(as_text(column(name)) for name in names)), "record")
    released = _records(record, table)
    false = select(column("record"), aliased(column("counterfeits"), "records"))
    counterfeits = _belonging(session, false.from_(flagged.table), names, shown)
    found = {"counterfeits": sum(counterfeits), "more_than_in_the_source": 0}
    if source is not None:
        raw = [_raw(values, known, declared) for values in shown]
        own = sorted({name for values in raw for name in values})
        texts = aliased(list_of(*(as_text(column(name)) for name in own)), "record")
        real = _belonging(session, _records(texts, source), own, raw)
        every = _belonging(session, released, names, shown)
        surplus = (max(0, n - m) for n, m in zip(every, real, strict=True))
        found["more_than_in_the_source"] = sum(surplus)
    wanted = dict.fromkeys(found, 0)
    return Promise("impossible_combinations", wanted, found, found == wanted)


def _leaves(
    session: Session, leaves: Query | None, declared: Declared
) -> dict[str, dict[str | None, set[str | None]]]:
    """Of each quasi-identifier what its released values stand for."""
    found: dict[str, dict[str | None, set[str | None]]] = {}
    if leaves is None:
        return found
    told = select(*map(column, ("name", "shown", "value"))).from_(leaves.subquery("leaves"))
    for name, shown, value in session.rows(told):
        found.setdefault(name, {}).setdefault(shown, set()).add(value)
    return {name: own for name, own in found.items() if name in declared.quasi_identifiers}


def _released(
    combination: Mapping[str, tuple[str, ...]],
    known: Mapping[str, Mapping[str | None, set[str | None]]],
    declared: Declared,
) -> dict[str, set[str]]:
    """The released values that belong to a combination, by column."""
    found = {name: set(values) for name, values in combination.items()}
    for name in found:
        if name in declared.quasi_identifiers:
            stand = known.get(name, {})
            inside = (shown for shown, leaves in stand.items() if leaves <= set(combination[name]))
            found[name] |= {shown for shown in inside if shown is not None}
    return found


def _raw(
    values: _Values,
    known: Mapping[str, Mapping[str | None, set[str | None]]],
    declared: Declared,
) -> dict[str, set[str]]:
    """The values of the source that are released as those, by column."""
    found = {}
    for name, shown in values.items():
        stand = known.get(name, {}) if name in declared.quasi_identifiers else {}
        leaves = {leaf for label in shown for leaf in stand.get(label, {label})}
        found[name] = {leaf for leaf in leaves if leaf is not None}
    return found


def _records(record: Expr, table: Query | Relation) -> Select:
    rows = table.table if isinstance(table, Relation) else table.subquery("source")
    return select(record, aliased(literal(1), "records")).from_(rows)


def _belonging(
    session: Session, rows: Query, names: Sequence[str], combinations: Sequence[_Values]
) -> list[int]:
    """How many records belong to each combination."""
    cells = list(_cells(names, combinations))
    columns = {
        "combination": np.array([cell[0] for cell in cells], np.int64),
        "place": np.array([cell[1] for cell in cells], np.int64),
        "value": [cell[2] for cell in cells],
    }
    staged = session.upload(CELLS, columns)
    try:
        counted = session.rows(step("verify/combinations", {"rows": rows, "cells": staged}))
    finally:
        session.drop_temp(CELLS)
    found = dict(counted)
    return [int(found.get(i, 0)) for i in range(len(combinations))]


def _cells(names: Sequence[str], combinations: Sequence[_Values]) -> Iterator[tuple[int, int, str]]:
    for i, combination in enumerate(combinations):
        for name, values in combination.items():
            for value in sorted(values):
                yield i, names.index(name) + 1, value
