"""Staging: the source as coded temporary tables, down to distinct quasi-identifier tuples.

Originals are staged in temporary tables only. In `deid_coded` every quasi-identifier holds the code
of its value; `deid_tuples` counts the records of each distinct tuple of codes, for each subject
apart where one is declared. A subject is a number from then on: no identifier is ever copied.

Where the source was counted elsewhere, each row of its staged tables stands for as many records as
its `weight` says: it is kept once, and `deid_coded` is a view that gives it as often.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    all_of,
    any_of,
    as_often,
    ascending,
    case,
    cast,
    column,
    count_of,
    count_rows,
    dense_rank,
    each_once,
    every_column,
    function,
    is_null,
    null,
    over,
    paren,
    row_number,
    same_value,
    select,
    sum_of,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.engine.warehouse import FIRST, LAST

if TYPE_CHECKING:
    import pyarrow as pa

SOURCE = Relation("deid_source", schema="main", catalog="temp")
CODED = Relation("deid_coded", schema="main", catalog="temp")
WEIGHED = Relation("deid_coded_once", schema="main", catalog="temp")
TUPLES = Relation("deid_tuples", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Staged:
    """A column to stage: its name, its type in the source and the type it is released with."""

    column: Column
    released_type: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject column of the source, which says whose each record is, and its staged number."""

    column: Column
    staged: str


def subject_of(subject: Column, columns: Sequence[Staged]) -> Subject:
    """A place for the number of each subject that no released column has."""
    taken = {c.column.name.lower() for c in columns}
    name = "deid_subject"
    while name in taken:
        name += "_"
    return Subject(subject, name)


def source_step(
    source: Query, columns: Sequence[Staged], subject: Subject | None, weight: str | None = None
) -> Step:
    """Stage the columns that are released, and the number of each record's subject.

    What was counted elsewhere is staged already, its subjects by their numbers, and only looked at.

    Args:
        source: its rows.
        columns: those that are released.
        subject: whose records they are.
        weight: the column of the source that says how many records a row stands for; None: one.
    """
    picked = [_released(c) for c in columns]
    if weight is not None:
        picked.append(column(weight, "source"))
        if subject is not None:
            number = cast(column(subject.column.name, "source"), "UINTEGER")
            picked.append(aliased(number, subject.staged))
        query = select(*picked).from_(source.subquery("source"))
        return Step(SOURCE.name, query, stored=False)
    if subject is not None:
        order = [ascending(column(subject.column.name, "source"))]
        rank = over(dense_rank(), order=order)
        picked.append(aliased(cast(paren(rank) - 1, "UINTEGER"), subject.staged))
    return Step(SOURCE.name, select(*picked).from_(source.subquery("source")))


def _released(staged: Staged) -> Expr:
    value: Expr = column(staged.column.name, "source")
    if staged.released_type != staged.column.type:
        value = cast(value, staged.released_type)
    return aliased(value, staged.column.name)


def values_relation(number: int) -> Relation:
    """The table of the values of one quasi-identifier: value, code."""
    return Relation(f"deid_values_{number}", schema="main", catalog="temp")


def labels_relation(number: int) -> Relation:
    """The labels of one quasi-identifier at a chosen level: code, grp, label, lower, upper."""
    return Relation(f"deid_labels_{number}", schema="main", catalog="temp")


def values_step(number: int, name: str) -> Step:
    """Number the distinct values of a quasi-identifier in their own order, NULL last."""
    distinct = select(aliased(column(name), "value")).distinct().from_(SOURCE.table)
    order = ascending(column("value"))
    number_of = over(row_number(), order=[order])
    code = cast(paren(number_of) - 1, "UINTEGER")
    query = select("value", aliased(code, "code")).from_(distinct.subquery("found"))
    return Step(values_relation(number).name, query)


def coded_steps(
    names: Sequence[str],
    quasi_identifiers: Sequence[str],
    subject: Subject | None,
    weight: str | None = None,
    codes: Mapping[str, int] | None = None,
) -> Iterator[Step]:
    """Replace each quasi-identifier by the code of its value.

    Args:
        names: of the released columns.
        quasi_identifiers: those of them that are coded.
        subject: whose records they are.
        weight: the column that says how many records a row stands for; None: one.
        codes: how many codes a quasi-identifier has, if that is known: they take up little then.
    """
    kinds = {name: _narrowest(number) for name, number in (codes or {}).items()}
    coded = _coded_step(names, quasi_identifiers, subject, weight, kinds)
    if weight is None:
        yield coded
        return
    yield replace(coded, name=WEIGHED.name)
    kept = [*names, *([subject.staged] if subject else [])]
    rows = as_often(WEIGHED.table, [column(name) for name in kept], column(weight))
    yield Step(CODED.name, rows, stored=False)


def _coded_step(
    names: Sequence[str],
    quasi_identifiers: Sequence[str],
    subject: Subject | None,
    weight: str | None,
    kinds: Mapping[str, str],
) -> Step:
    names = [*names, *([subject.staged] if subject else []), *([weight] if weight else [])]
    number = {name: i for i, name in enumerate(quasi_identifiers)}
    picked: list[Expr] = []
    for name in names:
        if name not in number:
            picked.append(column(name, "source"))
            continue
        code: Expr = column("code", f"v{number[name]}")
        picked.append(aliased(cast(code, kinds[name]) if name in kinds else code, name))
    query = select(*picked).from_(SOURCE.aliased("source"))
    for name, i in number.items():
        same = same_value(column(name, "source"), column("value", f"v{i}"))
        query = query.join(values_relation(i).aliased(f"v{i}"), on=same)
    return Step(CODED.name, query)


def _narrowest(codes: int) -> str:
    """The narrowest type that holds so many codes."""
    return "UTINYINT" if codes <= 1 << 8 else "USMALLINT" if codes <= 1 << 16 else "UINTEGER"


def _counted(weight: str | None) -> tuple[Relation, Expr]:
    """Where the coded records are, and how many of them there are in a group."""
    if weight is None:
        return CODED, count_rows()
    return WEIGHED, cast(sum_of(column(weight, "coded")), "BIGINT")


def tuples_step(
    quasi_identifiers: Sequence[str], subject: Subject | None, weight: str | None = None
) -> Step:
    """The distinct tuples of codes q0, q1, … (with `subject`) and the records behind each."""
    keys = [aliased(column(name, "coded"), f"q{i}") for i, name in enumerate(quasi_identifiers)]
    if subject is not None:
        keys.append(aliased(column(subject.staged, "coded"), "subject"))
    coded, records = _counted(weight)
    query = (
        select(*keys, aliased(records, "records"))
        .from_(coded.aliased("coded"))
        .group_by(*[key.this.copy() for key in keys])
    )
    return Step(TUPLES.name, query)


def sensitive_relation(number: int) -> Relation:
    """The values of one sensitive attribute: value0, value1, …, code, people."""
    return Relation(f"deid_sensitive_{number}", schema="main", catalog="temp")


def sensitive_step(
    number: int,
    columns: Sequence[str],
    subject: Subject | None,
    spelled: Mapping[str, Relation],
    nullable: Collection[str] = (),
) -> Step:
    """Number the values of a sensitive attribute in their own order, NULL last.

    `people` are the subjects of the source with each value, or its records. Where values have
    several spellings there is a row for each, with the number and the people of the value. So is
    there for each combination of which a part is missing: together they are one value, the last.

    Args:
        number: of the attribute.
        columns: that make it up.
        subject: whose records they are.
        spelled: of those in which values have several spellings: spelling, meaning.
        nullable: columns in which NULL says that there is no value.
    """
    absent = [name for name in columns if name in nullable] if len(columns) > 1 else []
    if absent or any(name in spelled for name in columns):
        return _spelled_step(number, columns, subject, spelled, absent)
    values = [aliased(column(name), f"value{i}") for i, name in enumerate(columns)]
    counted: Expr = every_column()
    if subject is not None:
        counted = each_once(column(subject.staged))
    found = (
        select(*values, aliased(count_of(counted), "people"))
        .from_(CODED.table)
        .group_by(*(value.this.copy() for value in values))
    )
    names = [value.alias for value in values]
    order = [ascending(column(name)) for name in names]
    number_of = over(row_number(), order=order)
    code = aliased(cast(paren(number_of) - 1, "UINTEGER"), "code")
    query = select(*names, code, "people").from_(found.subquery("found"))
    return Step(sensitive_relation(number).name, query)


def _spelled_step(
    number: int,
    columns: Sequence[str],
    subject: Subject | None,
    spelled: Mapping[str, Relation],
    nullable: Collection[str],
) -> Step:
    rows = select().from_(CODED.aliased("coded"))
    meanings: list[Expr] = []
    for i, name in enumerate(columns):
        value: Expr = column(name, "coded")
        rows = rows.select(aliased(value, f"value{i}"))
        if name in spelled:
            same = column("spelling", f"m{i}").eq(cast(value.copy(), "VARCHAR"))
            table = spelled[name].aliased(f"m{i}")
            rows = rows.join(table, on=same, join_type="left")
            value = column("meaning", f"m{i}")
        meanings.append(value)
    named = zip(columns, meanings, strict=True)
    absent = [is_null(m) for n, m in named if n in nullable]
    for i, value in enumerate(meanings):
        if absent:  # a combination of which a part is missing is none, whichever part that is
            value = case((any_of(*absent), null()), otherwise=value.copy())
        rows = rows.select(aliased(value, f"meaning{i}"))
    owner = null() if subject is None else column(subject.staged, "coded")
    rows = rows.select(aliased(owner, "subject"))
    places = range(len(columns))
    query = step(
        "data/sensitive_spellings",
        {"rows": rows},
        {"value": [f"value{i}" for i in places], "meaning": [f"meaning{i}" for i in places]},
        {"by_subject": subject is not None},
    )
    return Step(sensitive_relation(number).name, query)


def tuple_values_relation(number: int) -> Relation:
    """The values of one sensitive attribute behind each tuple: tuple, value, records."""
    return Relation(f"deid_tuple_values_{number}", schema="main", catalog="temp")


def tuple_values_step(
    number: int,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    subject: Subject | None,
    weight: str | None = None,
) -> Step:
    """Count the records behind each tuple by their sensitive value; a tuple is its row's number."""
    keys = [(name, f"q{i}") for i, name in enumerate(quasi_identifiers)]
    keys += [(subject.staged, "subject")] if subject else []
    tuples, values = column("rowid", "t"), column("code", "v")
    of_tuple = (column(name, "coded").eq(column(key, "t")) for name, key in keys)
    of_value = (
        same_value(column(name, "coded"), column(f"value{i}", "v"))
        for i, name in enumerate(columns)
    )
    found = sensitive_relation(number).aliased("v")
    coded, records = _counted(weight)
    query = (
        select(
            aliased(tuples, "tuple"),
            aliased(values, "value"),
            aliased(records, "records"),
        )
        .from_(coded.aliased("coded"))
        .join(TUPLES.aliased("t"), on=all_of(*of_tuple))
        .join(found, on=all_of(*of_value))
        .group_by(tuples.copy(), values.copy())
        .order_by(tuples.copy(), values.copy())
    )
    return Step(tuple_values_relation(number).name, query)


def values_of(session: Session, number: int) -> list[str | None]:
    """The distinct values of a quasi-identifier as text, in the order of their codes."""
    text = cast(column("value"), "VARCHAR")
    query = select(text).from_(values_relation(number).table).order_by("code")
    return [row[0] for row in session.rows(query)]


def subjects_here(session: Session, profiles: pa.Table, subject: str, name: str) -> Relation:
    """The rows of profiles for each of their subjects, as a view: what is stored stays counts.

    Args:
        session: where.
        profiles: as `Warehouse.profiles` gives them.
        subject: the name of the column that gets the number.
        name: of the view.
    """
    counts = session.stage(profiles_relation(name), profiles.to_reader(), {})
    number = function("unnest", function("range", column(FIRST), column(LAST)))
    cells = [c for c in counts.names if c not in (FIRST, LAST)]
    each = select(*cells, aliased(number, subject)).from_(counts.table)
    return session.run(Step(name, each, stored=False))


def profiles_relation(name: str) -> Relation:
    """The table that the view of a name reads."""
    return Relation(f"{name}_profiles", schema="main", catalog="temp")
