"""Whether released quasi-identifiers are the means of their classes, from the owner's crosswalk.

The crosswalk claims which record of the source became which of the release. It is believed only as
far as it is proven here: counted over the source it is the source, counted over the release it is
the release, and what a class reads is the mean of its members: of numbers to 1e-9 of how far they
are apart, of dates to half a day, of moments to half a second; of text and truth values it is the
most frequent. Classes of several groups that read alike have that mean too.
"""

from __future__ import annotations

from dbdeid.engine.expressions import Expr, Query, aliased, cast, function, select
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.records.crosswalk import RECORD, RECORDS, SOURCE, accounted, cell

# How far a mean may be rounded, in seconds of dates and moments.
SLACK = {"date": 43_200.0, "timestamp": 0.5}


def masked(
    session: Session,
    table: Relation,
    declared: Declared,
    crosswalk: Relation | None,
    source: Query | Relation,
) -> Promise:
    """Whether each record reads the means of a class of records of the source, and is in it.

    Args:
        session: sees all tables.
        table: the written table, described, with all its columns.
        declared: its shape.
        crosswalk: as `verify.records.crosswalk.traced` reads it.
        source: the records as they are, pseudonyms in their place.
    """
    wanted = {
        "source_rows": declared.source_rows,
        "missing_records": 0,
        "invented_records": 0,
        "other_means": 0,
    }
    found = accounted(session, table, declared, crosswalk, source)
    if crosswalk is None or isinstance(found, str):
        return Promise("means", wanted, found, False)
    types = {c.name: c for c in declared.columns}
    others = [
        int(session.row(_others(declared, crosswalk, i, types[name]))[0])
        for i, name in enumerate(declared.quasi_identifiers)
    ]
    told = {**found, "other_means": max(others)}
    return Promise("means", wanted, told, told == wanted)


def _others(declared: Declared, crosswalk: Relation, number: int, c: Column) -> Expr:
    """Counts the records whose class does not read the mean of one quasi-identifier."""
    places = {column.name: i for i, column in enumerate(declared.columns)}
    keys = [f"k{i}" for i in range(len(declared.quasi_identifiers))]
    cells = select(
        *(
            aliased(cell(RECORD, places[name]), key)
            for key, name in zip(keys, declared.quasi_identifiers, strict=True)
        ),
        aliased(_number(cell(SOURCE, number), c), "value"),
        aliased(_number(cell(RECORD, places[c.name]), c), "shown"),
        RECORDS,
    ).from_(crosswalk.table)
    if c.family in ("float", *SLACK):
        slack = {"slack": SLACK.get(c.family, 0.0)}
        return step("verify/means", {"cells": cells}, {"key": keys}, slack)
    return step("verify/modes", {"cells": cells}, {"key": keys})


def _number(text: Expr, c: Column) -> Expr:
    if c.family in SLACK:
        return function("epoch", cast(text, "TIMESTAMP"))
    return cast(text, "DOUBLE") if c.family == "float" else text
