"""The dictionary of a release made elsewhere: read as others wrote it, and written as ours is.

A dictionary has the columns `column`, `released_value`, and as far as they are known `level`,
`lower`, `upper` and `leaves`, which mean what they mean in ours: bounds of whole numbers and days
are the smallest and the largest value inside, otherwise `upper` is the first value past it. Values
may share leaves. Without a level, a value with neither leaves nor bounds stands for itself. If a
column `truthful` is false somewhere, records have values of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdeid.bind.bound import Bound
from dbdeid.data.hierarchy import TOP
from dbdeid.engine import arrow
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    any_of,
    cast,
    column,
    count_rows,
    count_where,
    is_null,
    literal,
    not_,
    not_null,
    null,
    select,
    try_cast,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import SpecError
from dbdeid.external.values import ITSELF, Entry, Explained, Meaning, Values

REQUIRED, OPTIONAL = ("column", "released_value"), ("level", "lower", "upper", "leaves")
TRUTHFUL = "truthful"
DICTIONARY = "deid_external_dictionary"


@dataclass(frozen=True, slots=True)
class _Row:
    """One line as it stands there."""

    value: str | None
    level: int | None
    lower: str | None
    upper: str | None
    leaves: tuple[str | None, ...]

    @property
    def bounded(self) -> bool:
        return self.lower is not None or self.upper is not None


def listed(
    bound: Bound, session: Session, dictionary: Relation | None
) -> dict[str, tuple[Entry, ...]]:
    """What a dictionary says of each quasi-identifier that it names.

    Args:
        bound: the spec.
        session: where the dictionary is.
        dictionary: described; None: there is none.

    Raises:
        SpecError: it has other columns, levels that are none, or entries of other columns, or it
            bounds a column whose type is not known.
    """
    if dictionary is None:
        return {}
    _require_columns(bound, dictionary)
    rows = _rows(bound, session, dictionary)
    known = {c.name.lower(): c for c in bound.quasi_identifiers}
    foreign = sorted({name for name in rows if name is None or name.lower() not in known}, key=str)
    if foreign:
        names = ", ".join("NULL" if name is None else repr(name) for name in foreign[:10])
        raise _mistake(
            bound,
            f"has entries of what is no quasi-identifier: {names}",
            "make the column a quasi_identifier, or leave its entries out",
        )
    found: dict[str, tuple[Entry, ...]] = {}
    for name, of_name in rows.items():
        c = known[str(name).lower()]
        found[c.name] = (*found.get(c.name, ()), *_entries(Values(session, c), of_name))
    return found


def bounded(session: Session, dictionary: Relation | None) -> frozenset[str]:
    """The columns, in lower case, whose values a dictionary explains by bounds alone."""
    if dictionary is None or not all(dictionary.find(c) for c in (*REQUIRED, "lower", "upper")):
        return frozenset()
    some = any_of(*(not_null(column(c)) for c in ("lower", "upper")))
    query = select(cast(column("column"), "VARCHAR")).distinct().from_(dictionary.table)
    query = query.where(some)
    if dictionary.find("leaves"):
        query = query.where(is_null(column("leaves")))
    return frozenset(str(name).lower() for (name,) in session.rows(query))


def untruthful(session: Session, dictionary: Relation | None) -> bool:
    """Whether a dictionary says that records have values of others."""
    if dictionary is None or dictionary.find(TRUTHFUL) is None:
        return False
    said = try_cast(column(TRUTHFUL), "BOOLEAN")
    query = select(count_rows()).from_(dictionary.table).where(not_(said))
    return bool(session.row(query)[0])


def _mistake(bound: Bound, message: str, hint: str) -> SpecError:
    place = ("method", "dictionary")
    return SpecError([bound.file.mistake(message, *place, hint=hint)], source=bound.file.label)


def _require_columns(bound: Bound, dictionary: Relation) -> None:
    given = [name.lower() for name in dictionary.names]
    missing = [name for name in REQUIRED if name not in given]
    other = [n for n in dictionary.names if n.lower() not in (*REQUIRED, *OPTIONAL, TRUTHFUL)]
    wrong = [f"has no column {name!r}" for name in missing]
    wrong += [f"has a column {name!r}, which says nothing" for name in other[:10]]
    if wrong:
        columns = f"{', '.join(REQUIRED)} and, where they are known, {', '.join(OPTIONAL)}"
        raise _mistake(bound, ", ".join(wrong), f"a dictionary has the columns {columns}")


def _rows(
    bound: Bound, session: Session, dictionary: Relation
) -> dict[str | None, tuple[_Row, ...]]:
    """The lines of each column.

    Raises:
        SpecError: levels are no whole numbers from 0, or leaves no lists.
    """
    cells = {name: _cell(dictionary, name) for name in (*REQUIRED, *OPTIONAL)}
    unread = [
        count_where(all_of(not_null(column(c)), is_null(cells[c])))
        if dictionary.find(c)
        else literal(0)
        for c in ("level", "leaves")
    ]
    below = count_where(cells["level"] < 0)
    query = select(*unread, below).from_(dictionary.table)
    levels, lists, negative = session.row(query)
    if count := levels + negative:
        raise _mistake(bound, f"has {count} levels that are none", "whole numbers from 0, or NULL")
    if lists:
        hint = "lists of values as VARCHAR[], in a CSV file written [a, b]; or NULL"
        raise _mistake(bound, f"has {lists} leaves that are no lists", hint)
    found: dict[str | None, list[_Row]] = defaultdict(list)
    query = select(*(aliased(c, n) for n, c in cells.items()))
    for name, value, level, lower, upper, leaves in session.rows(query.from_(dictionary.table)):
        found[name].append(_Row(value, level, lower, upper, tuple(leaves or ())))
    return {name: tuple(rows) for name, rows in found.items()}


_TYPES = {"level": "INTEGER", "leaves": "VARCHAR[]"}


def _cell(dictionary: Relation, name: str) -> Expr:
    kind = _TYPES.get(name, "VARCHAR")
    if dictionary.find(name) is None:
        return cast(null(), kind)
    return try_cast(column(name), kind)


def _entries(values: Values, rows: Sequence[_Row]) -> Iterator[Entry]:
    leaves = [leaf for row in rows for leaf in row.leaves if leaf is not None]
    fitting = values.fitting(leaves)
    for row in rows:
        yield Entry(row.value, _meaning(values, row, fitting))


def _meaning(values: Values, row: _Row, fitting: Mapping[str, str]) -> Meaning | None:
    if row.level == 0:
        return ITSELF
    if row.leaves:
        if not all(leaf in fitting for leaf in row.leaves):
            return None
        below = dict.fromkeys(fitting[str(leaf)] for leaf in row.leaves)
        return Meaning(row.level or 1, leaves=tuple(below))
    if row.bounded:
        ends = [None if e is None else values.bound_of(e) for e in (row.lower, row.upper)]
        read = [end for end in (row.lower, row.upper) if end is not None]
        if len([e for e in ends if e is not None]) < len(read) or not values.between(*ends):
            return None
        return Meaning(row.level or 1, lower=ends[0], upper=ends[1])
    if row.level is None and row.value != TOP:
        return ITSELF
    return Meaning(row.level or 1)


def written(session: Session, columns: Sequence[Explained]) -> Relation:
    """The dictionary of the released values, in a temporary table, with the columns of ours.

    Those without a meaning stand for something that is not told.
    """
    rows = [(c.column.name, text, m) for c in columns for text, m in c.values.items()]
    rows += [
        (c.column.name, text, Meaning(1)) for c in columns for text in (*c.unknown, *c.ambiguous)
    ]
    table: dict[str, Any] = {
        "column": [name for name, _, _ in rows],
        "released_value": [text for _, text, _ in rows],
        "level": np.array([m.level for _, _, m in rows], np.int32),
        "lower": [m.lower for _, _, m in rows],
        "upper": [m.upper for _, _, m in rows],
        "leaves": arrow.lists([m.leaves for _, _, m in rows]),
    }
    uploaded = session.upload(f"{DICTIONARY}_rows", table)
    names = [column(name) for name in table]
    found = session.run(Step(DICTIONARY, select(*names).from_(uploaded.table)))
    session.drop_temp(uploaded.name)
    return found
