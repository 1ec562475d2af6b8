"""Source and release as tables of one column each, for what compares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import numpy as np

from dbdeid.engine import arrow
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.utility.fidelity.sides import ColumnPair, Sides

# Of a label: what it stands for; of numbers pairs of ends, the upper one past the last.
Pieces = Mapping[Any, Sequence[Any]]


@dataclass(frozen=True)
class Both:
    """One column of both sides: values, and what its labels stand for, each piece as likely."""

    source: Sequence[Any]
    released: Sequence[Any]
    pieces: Pieces | None = None
    number: bool = False
    whole: bool = False
    weights: Sequence[float] = field(default=())


@cache
def _session() -> Session:
    """One for all examples: to open another takes longer than to compare."""
    return Session.over(duckdb.connect(), None, read_only=False)


@contextmanager
def compared(**columns: Both) -> Iterator[tuple[Session, Sides]]:
    """The columns side by side; the weights are those of the first."""
    first, *_ = columns.values()
    session = _session()
    sources, labels, found = {}, {}, []
    for i, (name, both) in enumerate(columns.items()):
        labelled = both.pieces is not None
        sources[f"c{i}"] = _column(both.source, numbers=both.number)
        labels[f"c{i}"] = _column(both.released, numbers=both.number and not labelled)
        found.append(ColumnPair(name, i, both.number, both.whole, labelled))
    weights = [*(first.weights or [1.0] * len(first.released))]
    labels["weight"] = np.array(weights, np.float64)
    released = session.upload("released", labels)
    each = [*columns.values()]
    pieces = _pieces(session, each)
    before = [(both.source, both.number) for both in each]
    after = [(both.released, both.number and both.pieces is None) for both in each]
    counted = (
        _counts(session, "counted_source", before, [1.0] * len(first.source)),
        _counts(session, "counted_release", after, weights),
    )
    source = session.upload("source", sources)
    yield session, Sides(source, released, tuple(found), pieces, counted)


def _counts(
    session: Session,
    name: str,
    columns: Sequence[tuple[Sequence[Any], bool]],
    weights: Sequence[float],
) -> Relation:
    """How often each value of each column occurs, numbers apart from texts."""
    rows = [
        (i, value if numbers else None, None if numbers else value, n * weight)
        for i, (values, numbers) in enumerate(columns)
        for (value, weight), n in Counter(zip(values, weights, strict=True)).items()
    ]
    number, point, text, mass = zip(*rows, strict=True) if rows else [()] * 4
    return session.upload(
        name,
        {
            "number": np.array(number, np.int64),
            "point": arrow.numbers(point, np.float64),
            "text": [*text],
            "mass": np.array(mass, np.float64),
        },
    )


def _pieces(session: Session, columns: Sequence[Both]) -> Relation:
    rows = [
        (i, label, *((None, *part) if both.number else (part, None, None)), 1 / len(of))
        for i, both in enumerate(columns)
        for label, of in (both.pieces or {}).items()
        for part in of
    ]
    number, label, leaf, low, high, share = zip(*rows, strict=True) if rows else [()] * 6
    return session.upload(
        "pieces",
        {
            "number": np.array(number, np.int64),
            "label": label,
            "leaf": leaf,
            "low": arrow.numbers(low, np.float64),
            "high": arrow.numbers(high, np.float64),
            "share": np.array(share, np.float64),
        },
    )


def _column(values: Sequence[Any], *, numbers: bool) -> Any:
    return arrow.numbers(values, np.float64) if numbers else list(values)
