"""Records of source and release by a few levels a column: what models and tables of counts take.

Of numbers, dates and moments a level is one of at most ten bins of about as many records of the
source; of other columns one of its fifty most frequent values. Two more follow: any other value,
and none. A released label has a share of each level, as it is spread over what it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    ascending,
    case,
    coalesce,
    column,
    count_rows,
    is_null,
    literal,
    over,
    paren,
    row_number,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.utility.fidelity.sides import ColumnPair, Sides

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = 10
CATEGORIES = 50
_VALUES, _LABELS = "deid_compared_values_", "deid_compared_labels_"


@dataclass(frozen=True, slots=True)
class CodedSides:
    """Source and release by levels.

    Attributes:
        columns: what is compared.
        sizes: levels of each column; the last is for missing values, the one before for others.
        source: (n, columns) the level of each cell of the source.
        labels: (m, columns) the label of each cell of the release, a row of its `spreads`.
        spreads: of each column the (labels, levels) share of each level in a label.
        weights: (m,) the probability that a released record is real.
    """

    columns: tuple[ColumnPair, ...]
    sizes: tuple[int, ...]
    source: Ints
    labels: Ints
    spreads: tuple[Floats, ...]
    weights: Floats

    def sampled(self, rng: np.random.Generator, most: int) -> Ints:
        """The source, or so many records of it drawn without replacement."""
        return self.source[_some(np.arange(len(self.source)), rng, most)]

    def drawn(self, rng: np.random.Generator, most: int) -> Ints:
        """Draw one possible original of the release, or of so many of its records.

        A record that is real with some probability stays with that probability; each label becomes
        one of its levels by their shares.
        """
        real = np.flatnonzero(rng.random(len(self.weights)) < self.weights)
        found = self.labels[_some(real, rng, most)]
        for i, spread in enumerate(self.spreads):
            upto = np.cumsum(spread, axis=1)
            upto /= upto[:, -1:]
            chance = rng.random(len(found))[:, None]
            found[:, i] = (chance >= upto[found[:, i]]).sum(axis=1)
        return found


def _some(rows: Ints, rng: np.random.Generator, most: int) -> Ints:
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


def indicators(levels: Ints, sizes: tuple[int, ...]) -> csr_matrix:
    """The (n, sum of sizes) matrix of 1 at the level of each cell, and 0 elsewhere."""
    from scipy.sparse import csr_matrix

    rows, columns = levels.shape
    places = (levels + np.cumsum((0, *sizes[:-1]))).ravel()
    ends = np.arange(0, rows * columns + 1, columns)
    return csr_matrix((np.ones(rows * columns), places, ends), shape=(rows, sum(sizes)))


def coded_sides(session: Session, sides: Sides) -> CodedSides:
    """The levels of all records of both sides, in an order that does not depend on that of rows."""
    scales = [_scale(session, sides, c, i) for i, c in enumerate(sides.columns)]
    own = [_by_value(scale) for scale in scales]
    source, _ = _cells(session, sides.source, own)
    shown, spreads = [], []
    for i, (scale, reading) in enumerate(zip(scales, own, strict=True)):
        if scale.column.labelled:
            pieces = _pieces(sides, scale.column)
            labels = _labels(session, pieces, i)
            spreads.append(_spread(session, scale, pieces, labels))
            shown.append(_by_label(scale, labels, len(spreads[i]) - 1))
        else:
            shown.append(reading)
            spreads.append(np.eye(scale.size))
    released, weights = _cells(session, sides.released, shown, weighted=True)
    for i in range(len(scales)):
        session.drop_temp(f"{_VALUES}{i}")
        session.drop_temp(f"{_LABELS}{i}")
    sizes = tuple(scale.size for scale in scales)
    return CodedSides(sides.columns, sizes, source, released, tuple(spreads), weights)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The levels of a column.

    Attributes:
        column: the column.
        size: how many levels there are.
        starts: the least number of each bin; None where values are frequent ones.
        values: the frequent ones, `value` and `level`; None where values are numbers.
    """

    column: ColumnPair
    size: int
    starts: Floats | None
    values: Relation | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a cell is read: an expression over a joined table; of numbers the bins are found later.

    Attributes:
        scale: its levels.
        value: the level, the number of a label, or the number itself.
        joined: the table and the condition; None where the cell tells by itself.
    """

    scale: _Scale
    value: Expr
    joined: tuple[Expr, Expr] | None


def _scale(session: Session, sides: Sides, compared: ColumnPair, number: int) -> _Scale:
    """Found on the source alone, so that a release has the same levels."""
    rows = select(aliased(column(compared.key), "value")).from_(sides.source.table)
    if compared.measured:
        bins = session.rows(
            step("utility/fidelity/quantile_bins", {"rel": rows}, {}, {"bins": BINS})
        )
        return _Scale(compared, len(bins) + 2, np.array([start for (start,) in bins]), None)
    query = step("utility/fidelity/frequent_values", {"rel": rows}, {}, {"most": CATEGORIES})
    values = session.run(Step(f"{_VALUES}{number}", query))
    count = session.row(select(count_rows()).from_(values.table))[0]
    return _Scale(compared, int(count) + 2, None, values)


def _by_value(scale: _Scale) -> _Reading:
    """A cell that stands for itself."""
    cell = column(scale.column.key, "records")
    if scale.values is None:
        return _Reading(scale, cell, None)
    name = f"t_{scale.column.key}"
    table = scale.values.aliased(name)
    same = cell.eq(column("value", name))
    return _Reading(scale, _level(scale, cell, name), (table, same))


def _by_label(scale: _Scale, labels: Relation, unknown: int) -> _Reading:
    """A cell that may stand for several values."""
    cell, name = column(scale.column.key, "records"), f"t_{scale.column.key}"
    number = coalesce(column("number", name), literal(unknown))
    same = same_value(cell, column("label", name))
    return _Reading(scale, number, (labels.aliased(name), same))


def _pieces(sides: Sides, compared: ColumnPair) -> Select:
    """What the labels of a column stand for."""
    own = column("number").eq(literal(compared.number))
    return select("label", "leaf", "low", "high", "share").from_(sides.pieces.table).where(own)


def _labels(session: Session, pieces: Select, number: int) -> Relation:
    """The labels of a column with their `number`, from 0."""
    distinct = select("label").distinct().from_(pieces.subquery("pieces")).subquery("labels")
    order = [ascending(column("label"))]
    place = over(row_number(), order=order)
    query = select("label", aliased(paren(place) - 1, "number")).from_(distinct)
    return session.run(Step(f"{_LABELS}{number}", query))


def _spread(session: Session, scale: _Scale, pieces: Select, labels: Relation) -> Floats:
    """The (labels, levels) shares; the last label is one that nothing is known of."""
    same = same_value(column("label", "pieces"), column("label", "labels"))
    query = (
        select(column("number", "labels"), column("share", "pieces"))
        .from_(pieces.subquery("pieces"))
        .join(labels.aliased("labels"), on=same)
    )
    if scale.values is None:
        # added in one order, so that a sum is the same in every run
        found = session.arrays(query.select("low", "high").order_by("low", "high", "share"))
        parts = _overlaps(_numbers(found["low"]), _numbers(found["high"]), scale)
        piece, level = np.nonzero(parts)
        part = parts[piece, level]
    else:
        leaf = column("leaf", "pieces")
        known = scale.values.aliased("levels")
        query = query.join(known, on=leaf.eq(column("value", "levels")), join_type="left")
        query = query.select(aliased(_level(scale, leaf, "levels"), "level")).order_by("share")
        found = session.arrays(query)
        level = np.asarray(found["level"], np.int64)
        piece, part = np.arange(len(level)), np.ones(len(level))
    number = np.asarray(found["number"], np.int64)
    shares = np.zeros((int(number.max(initial=-1)) + 2, scale.size))
    np.add.at(shares, (number[piece], level), part * np.asarray(found["share"])[piece])
    shares[-1, -1] = 1
    return shares


def _level(scale: _Scale, value: Expr, name: str) -> Expr:
    """The level of a text, for which the frequent values are joined."""
    level = coalesce(column("level", name), literal(scale.size - 2))
    missing = (is_null(value), literal(scale.size - 1))
    return case(missing, otherwise=level)


def _overlaps(low: Floats, high: Floats, scale: _Scale) -> Floats:
    """The (pieces, levels) part of each piece in each bin."""
    parts = np.zeros((len(low), scale.size))
    bins = _binned(low, scale)
    parts[np.arange(len(low)), bins] = 1
    wide = np.flatnonzero(high > low)
    if scale.starts is not None and len(scale.starts) > 1 and len(wide):
        begin = np.concatenate(([-np.inf], scale.starts[1:]))
        end = np.concatenate((scale.starts[1:], [np.inf]))
        inside = np.minimum(high[wide, None], end) - np.maximum(low[wide, None], begin)
        parts[wide, :-2] = np.maximum(inside, 0) / (high - low)[wide, None]
    return parts


def _binned(values: Floats, scale: _Scale) -> Ints:
    """The bin of each number; one below all bins is in the first."""
    assert scale.starts is not None
    if not len(scale.starts):
        return np.where(np.isnan(values), scale.size - 1, scale.size - 2)
    bins = np.maximum(np.searchsorted(scale.starts, values, side="right") - 1, 0)
    return np.where(np.isnan(values), scale.size - 1, bins)


def _cells(
    session: Session, table: Relation, readings: list[_Reading], *, weighted: bool = False
) -> tuple[Ints, Floats]:
    """The (rows, columns) levels or labels of a table, and the weights of its records."""
    query = select().from_(table.aliased("records"))
    names = [f"v{i}" for i in range(len(readings))]
    for name, reading in zip(names, readings, strict=True):
        query = query.select(aliased(reading.value, name))
        if reading.joined is not None:
            query = query.join(reading.joined[0], on=reading.joined[1], join_type="left")
    if weighted:
        names.append("weight")
        query = query.select(column("weight", "records"))
    found = session.arrays(query.order_by(*(column(name) for name in names)))
    levels = np.empty((len(found["v0"]), len(readings)), np.int64)
    for i, reading in enumerate(readings):
        cells = found[f"v{i}"]
        plain = reading.joined is None
        levels[:, i] = _binned(_numbers(cells), reading.scale) if plain else cells
    weights = _numbers(found["weight"]) if weighted else np.ones(len(levels))
    return levels, weights


def _numbers(values: NDArray[Any]) -> Floats:
    """Numbers as the engine gives them, NaN for NULL."""
    masked: Any = np.ma  # which older versions do not type
    numbers: Floats = masked.filled(masked.asarray(values, np.float64), np.nan)
    return numbers
