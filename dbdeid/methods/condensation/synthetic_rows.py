"""Records as numbers and back, as SQL on the staged source, in named steps.

Numbers are pulled as they are, dates as days and timestamps as microseconds since 1970, categories
as codes in the order of their values; what is drawn goes back through the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import SOURCE
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    any_of,
    ascending,
    case,
    cast,
    coalesce,
    column,
    count_distinct,
    count_rows,
    count_where,
    dense_rank,
    descending,
    is_null,
    list_of,
    literal,
    max_of,
    not_null,
    over,
    paren,
    row_number,
    same_value,
    select,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.methods.common.numbers import LARGEST, as_number, from_number, indistinct
from dbdeid.methods.condensation.permissible import on_grid

RECORDS = Relation("deid_records", schema="main", catalog="temp")
CODES = Relation("deid_record_codes", schema="main", catalog="temp")
DRAWN = Relation("deid_drawn", schema="main", catalog="temp")
SYNTHETIC = Relation("deid_synthetic", schema="main", catalog="temp")
STAGED = Relation("deid_staged", schema="main", catalog="temp")
MEMBERS = Relation("deid_cluster_members", schema="main", catalog="temp")
CLUSTERS = Relation("deid_clusters", schema="main", catalog="temp")
# What pooled categories are released as.
OTHER = "other"
# More categories than this would each be a few people: they are pooled on request, or refused.
MOST_LEVELS = 200
# Steps that the numbers of a column may all be multiples of, the largest first.
DECIMALS = tuple(10.0**-d for d in range(7))
MICROSECONDS = (86_400e6, 3_600e6, 60e6, 1e6, 1.0)


@dataclass(frozen=True, slots=True)
class Codes:
    """The columns of the source as numbers, their records sorted by all columns.

    Attributes:
        columns: as released, in order.
        values: of each column (n,) numbers, NaN where missing, or codes of categories.
        levels: of each column how many categories it has; None: it holds numbers.
        grids: of each column the step between its numbers; 0: none was found.
        place: the name of the column that numbers the records, which no column has.
    """

    columns: tuple[Column, ...]
    values: tuple[NDArray[np.float64], ...]
    levels: tuple[int | None, ...]
    grids: tuple[float, ...]
    place: str

    @property
    def number(self) -> int:
        """How many records there are."""
        return len(self.values[0])


def levels_relation(number: int) -> Relation:
    """The categories of one column: value, label, code."""
    return Relation(f"deid_levels_{number}", schema="main", catalog="temp")


def pull(
    session: Session,
    columns: Sequence[Column],
    categorical: Sequence[str],
    pools: Mapping[str, int],
    response: str | None = None,
    strata: Sequence[str] = (),
) -> Codes:
    """The staged source as numbers.

    Args:
        session: where it is staged.
        columns: as they are staged.
        categorical: columns whose numbers are names.
        pools: columns of whose categories only so many of the most frequent are kept.
        response: a column that holds numbers, however few.
        strata: columns whose combinations are condensed apart.

    Raises:
        DataError: a column has too many categories, or numbers that are no finite doubles.
    """
    place = place_in(columns)
    categories = [
        c.name in categorical or (c.name != response and _is_category(session, c)) for c in columns
    ]
    for i, (c, category) in enumerate(zip(columns, categories, strict=True)):
        if category:
            session.run(levels_step(i, c, pools.get(c.name)))
            _require_few(session, i, c, strata)
        elif c.family == "decimal":
            _require_apart(session, c)
    session.run(records_step(columns, place))
    session.run(codes_step(columns, categories, place))
    order = select("*").from_(CODES.table).order_by(column(place))
    arrays = session.arrays(order)
    values = [np.asarray(arrays[f"x{i}"], np.float64) for i in range(len(columns))]
    levels = [
        _number_of_levels(session, i) if known else None for i, known in enumerate(categories)
    ]
    grids = [
        0.0 if level else _grid(c, v) for c, v, level in zip(columns, values, levels, strict=True)
    ]
    return Codes(tuple(columns), tuple(values), tuple(levels), tuple(grids), place)


def place_in(columns: Sequence[Column]) -> str:
    """A name for the numbers of the records that no column starts with."""
    taken, name = [c.name.lower() for c in columns], "deid_place"
    while any(other.startswith(name) for other in taken):
        name += "_"
    return name


def named(c: Column) -> bool:
    """Whether a column holds names by its type: text and truth values."""
    return c.family not in (*NUMBERS, "date", "timestamp")


def _is_category(session: Session, c: Column) -> bool:
    """Whether a column holds names: text, truth values, and at most two whole numbers."""
    if named(c):
        return True
    distinct = count_distinct(column(c.name))
    known = session.row(select(distinct).from_(SOURCE.table))[0]
    return c.family == "integer" and known <= 2


def levels_step(number: int, c: Column, most: int | None) -> Step:
    """The categories of a column with the labels they are released under, numbered in their order.

    Args:
        number: of the column.
        c: the column.
        most: how many of the most frequent are kept, the others being pooled; None: all.
    """
    value = aliased(column(c.name), "value")
    records = aliased(count_rows(), "records")
    counted = select(value, records).from_(SOURCE.table).group_by(column(c.name))
    label: Expr = column("value")
    if most is not None:
        missing = is_null(column("value"))
        order = [
            ascending(missing.copy()),
            descending(column("records")),
            ascending(column("value")),
        ]
        rank = over(row_number(), order=order)
        kept = any_of(rank <= most, missing.copy())
        label = case((kept, label), otherwise=literal(OTHER))
    labelled = select("value", aliased(label, "label")).from_(counted.subquery("counted"))
    last = ascending(column("label"))
    code = over(dense_rank(), order=[last])
    coded = cast(paren(code) - 1, "BIGINT")
    query = select("value", "label", aliased(coded, "code"))
    return Step(levels_relation(number).name, query.from_(labelled.subquery("labelled")))


def _number_of_levels(session: Session, number: int) -> int:
    most = max_of(column("code"))
    return int(session.row(select(most).from_(levels_relation(number).table))[0]) + 1


def _require_few(session: Session, number: int, c: Column, strata: Sequence[str]) -> None:
    found = _number_of_levels(session, number)
    if found > MOST_LEVELS and c.name in strata:
        raise DataError(
            f"column {c.name!r} of the strata has {found:,} values: no cluster could be made",
            hint="group it in `source: {sql: …}`, or leave it out of `strata`",
        )
    if found > MOST_LEVELS:
        raise DataError(
            f"column {c.name!r} has {found:,} categories: most are a few people's, and would be "
            "released as they are",
            hint=f"say `{c.name}: {{role: synthesize, pool: 50}}` to keep the 50 most frequent and "
            f"call the rest {OTHER!r}, group them in `source: {{sql: …}}`, or drop the column",
        )


def _require_apart(session: Session, c: Column) -> None:
    """The values of a column of decimals are different doubles, which its type holds."""
    value, number = column(c.name), cast(column(c.name), "DOUBLE")
    back = try_cast(number, c.type)
    lost = count_where(all_of(is_null(back), not_null(value)))
    exact, told = (count_distinct(v.copy()) for v in (value, number))
    counts = session.row(select(exact, told, lost).from_(SOURCE.table))
    if alike := int(counts[0]) - int(counts[1]) + int(counts[2]):
        raise indistinct(c.name, alike)


def records_step(columns: Sequence[Column], place: str) -> Step:
    """The records, numbered in the order of all their columns."""
    order = [ascending(column(c.name)) for c in columns]
    number = over(row_number(), order=order)
    placed = aliased(cast(paren(number) - 1, "BIGINT"), place)
    names = [column(c.name) for c in columns]
    return Step(RECORDS.name, select(*names, placed).from_(SOURCE.table))


def codes_step(columns: Sequence[Column], categories: Sequence[bool], place: str) -> Step:
    """The records as numbers: x0, x1, …"""
    query = select(column(place, "records")).from_(RECORDS.aliased("records"))
    for i, (c, category) in enumerate(zip(columns, categories, strict=True)):
        value: Expr = column(c.name, "records")
        if category:
            levels = levels_relation(i).aliased(f"levels{i}")
            known = column("value", f"levels{i}")
            query = query.join(levels, on=same_value(value, known))
            number: Expr = column("code", f"levels{i}")
        else:
            number = as_number(c, value)
        nan = cast(literal("nan"), "DOUBLE")
        known_number = coalesce(cast(number, "DOUBLE"), nan)
        query = query.select(aliased(known_number, f"x{i}"))
    return Step(CODES.name, query)


def _grid(c: Column, values: NDArray[np.float64]) -> float:
    """The step that all numbers of a column are multiples of; 0 where they have none.

    Raises:
        DataError: they are not all finite, or too large to be told apart.
    """
    known = values[~np.isnan(values)]
    odd = int(np.count_nonzero(np.isinf(known)))
    if odd:
        raise DataError(
            f"column {c.name!r} has {odd} values that are not finite, which have no mean",
            hint="make them NULL in `source: {sql: …}`",
        )
    if len(known) and float(np.abs(known).max()) > LARGEST:
        raise DataError(
            f"column {c.name!r} has numbers beyond 2^53, which cannot be told apart as numbers",
            hint="say `type: categorical` if they are names, or drop the column",
        )
    if c.family in ("integer", "date"):
        return 1.0
    steps = MICROSECONDS if c.family == "timestamp" else DECIMALS
    distinct = np.unique(known)
    # Exactly, or the least and the greatest number that are drawn would leave the source's range.
    return next((step for step in steps if (on_grid(distinct, step) == distinct).all()), 0.0)


def upload(
    session: Session,
    codes: Codes,
    values: Sequence[NDArray[np.float64]],
    clusters: NDArray[np.int64],
) -> Relation:
    """Synthetic records as a temporary table: the columns of the release, place and cluster.

    Args:
        session: where the categories are staged.
        codes: of the source.
        values: of each column (n,), coded as there.
        clusters: (n,) the cluster of each synthetic record.
    """
    drawn = {f"x{i}": own for i, own in enumerate(values)}
    session.upload(DRAWN.name, {"place": np.arange(len(clusters)), "cluster": clusters, **drawn})
    categories = [levels is not None for levels in codes.levels]
    return session.run(synthetic_step(codes.columns, categories, codes.place))


def synthetic_step(columns: Sequence[Column], categories: Sequence[bool], place: str) -> Step:
    """The step that turns the drawn numbers into values of the columns."""
    placed = aliased(column("place", "drawn"), place)
    query = select(placed, aliased(column("cluster", "drawn"), cluster_in(place)))
    query = query.from_(DRAWN.aliased("drawn"))
    for i, (c, category) in enumerate(zip(columns, categories, strict=True)):
        number = column(f"x{i}", "drawn")
        if category:
            labels = select("label", "code").distinct().from_(levels_relation(i).table)
            same = cast(column("code", f"levels{i}"), "DOUBLE").eq(number)
            query = query.join(labels.subquery(f"levels{i}"), on=same, join_type="left")
            value: Expr = column("label", f"levels{i}")
        else:
            value = from_number(c, number)
        query = query.select(aliased(cast(value, c.type), c.name))
    return Step(SYNTHETIC.name, query)


def cluster_in(place: str) -> str:
    """A name for the clusters that no column has, of that of the places."""
    return f"{place}_cluster"


def release_steps(columns: Sequence[Column], place: str) -> tuple[Step, ...]:
    """The release, sorted by all its columns; and which records are of which cluster, private."""
    names = [column(c.name) for c in columns]
    order = [ascending(name.copy()) for name in names]
    released = select(*names).from_(SYNTHETIC.table).order_by(*order)
    text = list_of(*(cast(name.copy(), "VARCHAR") for name in names))
    sides = []
    for side, table in (("source", _of_source(columns, place)), ("released", SYNTHETIC.table)):
        cluster = aliased(column(cluster_in(place)), "cluster")
        own = select(
            cluster,
            aliased(literal(side), "side"),
            aliased(text, "record"),
            aliased(count_rows(), "records"),
        )
        sides.append(own.from_(table).group_by("1", "2", "3"))
    both = union_all(*sides)
    return Step(STAGED.name, released), Step(CLUSTERS.name, both)


def _of_source(columns: Sequence[Column], place: str) -> Expr:
    """The records of the source with their clusters."""
    same = column("place", "members").eq(column(place, "records"))
    cluster = aliased(column("cluster", "members"), cluster_in(place))
    own = [column(c.name, "records") for c in columns]
    query = select(cluster, *own).from_(RECORDS.aliased("records"))
    members = MEMBERS.aliased("members")
    return query.join(members, on=same).subquery("source")
