"""The promises of a padded release that its table and catalog alone can be held to.

Lee, Kim & Chung 2017 promise that every class holds k records, that none is generalized beyond h,
and (their Lemma 1) that whatever the catalog tells, the records of a class with a value could all
be real. Who knows the method knows more: only classes of exactly the padded size can hold
counterfeits. `candidates`, `prosecutor_risk` and `possible_counterfeits` hold against that reader;
the groups of the paper do not promise them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdeid.engine.expressions import (
    Expr,
    Select,
    coalesce,
    column,
    count_rows,
    literal,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.declaration import Check, Declared, Padding, Promise
from dbdeid.verify.base.places import degree
from dbdeid.verify.padding.padded_release import Groups, PaddedCounts

TOLERANCE = 1e-9  # of a degree, for floating point
EXACT = 1e-12  # of a probability

# What every catalog promises, and what one promises that is made against who knows the method.
ALWAYS = ("catalog", "lemma_1")
AGAINST_METHOD = ("candidates", "prosecutor_risk", "possible_counterfeits")


def class_ids(session: Session, counted: PaddedCounts) -> Check:
    """Whether `class_id` is the dense rank of the released quasi-identifiers, NULLs last."""
    wrong = session.row(_count(counted.classes, column("misnumbered")))[0]
    detail = f"{wrong} classes do not carry their rank among the quasi-identifiers"
    return Check("class_ids", not wrong, detail if wrong else "")


def _count(table: Relation, condition: Expr) -> Select:
    return select(count_rows()).from_(table.table).where(condition)


def h_ceiling(
    session: Session, counted: PaddedCounts, declared: Declared, places: Relation
) -> Promise:
    """Whether the mean loss of every class's values is at most h, from the hierarchies' leaves."""
    assert declared.padding is not None
    keys = [c.name for c in counted.classes.columns[: len(declared.quasi_identifiers)]]
    largest, lost = degree(session, counted.classes, keys, declared, places)
    wanted = {"h": declared.padding.h}
    if lost:
        found = f"{lost} classes hold values that the hierarchies do not show"
        return Promise("h_ceiling", wanted, found, False)
    holds = largest is None or largest <= declared.padding.h + TOLERANCE
    return Promise("h_ceiling", wanted, largest, holds)


def added(
    session: Session,
    table: Relation,
    declared: Declared,
    groups: Groups | None,
) -> Promise:
    """Whether the release has all records of the source, and no more counterfeits than allowed."""
    assert declared.padding is not None
    rows = select(count_rows()).from_(table.table)
    released = int(session.row(rows)[0])
    counterfeits = released - declared.source_rows
    found = {"released_rows": released, "counterfeits": counterfeits}
    holds = 0 <= counterfeits <= declared.padding.limit
    if groups is not None:
        found["in_catalog"] = int(session.row(_total(groups.listed))[0])
        holds = holds and found["in_catalog"] == counterfeits
    wanted = {"source_rows": declared.source_rows, "at_most": declared.padding.limit}
    return Promise("counterfeits", wanted, found, holds)


def _total(table: Relation) -> Select:
    total = coalesce(sum_of(column("counterfeits")), literal(0))
    return select(total).from_(table.table)


def unmeasured(declared: Declared, reason: str) -> Iterator[Promise]:
    """The promises of the catalog where they cannot be measured."""
    assert declared.padding is not None
    for name in (*ALWAYS, *AGAINST_METHOD) if declared.padding.catalog != "none" else ALWAYS[:1]:
        yield Promise(name, _wanted(declared.padding, name), reason, False)


def _wanted(padding: Padding, name: str) -> Mapping[str, float]:
    wanted: dict[str, dict[str, float]] = {
        "catalog": {"inconsistencies": 0},
        "lemma_1": {"violations": 0},
        "candidates": {"certain": 0, "exhausted": 0, "known_clean": 0},
        "prosecutor_risk": {"at_most": padding.risk},
        "possible_counterfeits": {"groups_beyond": 0},
    }
    if padding.catalog == "paper" and name in AGAINST_METHOD:
        return {"promised": False}
    return wanted[name]


def of_catalog(
    session: Session,
    counted: PaddedCounts,
    declared: Declared,
) -> Iterator[Promise]:
    """What the catalog promises, beside the classes."""
    padding, groups = declared.padding, counted.groups
    assert padding is not None
    assert groups is not None
    tables = {"counts": counted.counts, "listed": groups.listed, "members": groups.members}
    of_groups, *wrong = (int(n) for n in session.row(step("verify/catalog", tables)))
    names = ("malformed", "repeated", "overlapping", "unknown_classes", "excessive")
    found = {"groups": of_groups, **{n: w for n, w in zip(names, wrong, strict=True) if w}}
    yield Promise("catalog", _wanted(padding, "catalog"), found, not any(wrong))
    query = step(
        "verify/attack",
        {"counts": counted.counts, "told": groups.told},
        values={"most": padding.size - 1},
    )
    lemma_1, certain, exhausted, clean, risk, beyond = session.row(query)
    yield Promise("lemma_1", _wanted(padding, "lemma_1"), {"violations": lemma_1}, not lemma_1)
    told = {
        "certain": certain,
        "exhausted": exhausted,
        "known_clean": clean,
    }
    largest = max(0.0 if risk is None else float(risk), counted.risk)
    bound = padding.risk + EXACT
    yield _against(padding, "candidates", told, not any(told.values()))
    yield _against(padding, "prosecutor_risk", largest, largest <= bound)
    yield _against(padding, "possible_counterfeits", {"groups_beyond": beyond}, not beyond)


def _against(padding: Padding, name: str, found: Any, holds: bool) -> Promise:
    """A promise that the groups of the paper are only measured against."""
    return Promise(name, _wanted(padding, name), found, holds or padding.catalog == "paper")
