"""The scalar functions that dbdeid adds to a connection, and their registration.

All take and give Arrow columns, know NULL, are deterministic, and never quote a cell in an error.
A view on one of them fails when the file is opened without dbdeid: use them while a release is
made, never in it. Those with a twin in pure SQL (`deid.generalize`, `deid.lca`, `deid.label_loss`,
`deid.overlap`, `deid.entropy_l`, `deid.emd`, `deid.rce`) give what the macro gives, but take text
where the macro takes anything: write `deid_generalize('age', age::VARCHAR, 2)`, for DuckDB casts no
number to text by itself.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from . import keyed, stored
from .diversity import emd, entropy_l
from .overlap import overlap
from .rce import rce

# Arrow writes the infinite dates of DuckDB as the ends of a 32-bit number.
_INFINITE = 2**31 - 1

_registered: weakref.WeakSet[Any] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how SQL calls it, and what computes it from Arrow columns."""

    name: str
    parameters: tuple[str, ...]
    result: str
    description: str
    example: str
    make: Callable[[stored.Store], Callable[..., Any]]


def register(con: Any, catalog: str | None = None) -> tuple[Function, ...]:
    """Add the functions to a connection; those it has already are replaced.

    Args:
        con: an open DuckDB connection.
        catalog: the attached database whose `deid.hierarchies` is read; None is the current one.
    """
    if catalog is None:
        ((catalog,),) = con.execute("SELECT current_database()").fetchall()
    store = stored.Store(con, str(catalog))
    for function in FUNCTIONS:
        _forget(con, function.name)
        con.create_function(
            function.name,
            function.make(store),
            list(function.parameters),
            function.result,
            type="arrow",
            null_handling="special",
        )
    _registered.add(con)
    return FUNCTIONS


def _forget(con: Any, name: str) -> None:
    # An unknown name is refused with an exception of the engine, which is not imported here.
    with suppress(Exception):
        con.remove_function(name)


@atexit.register
def _forget_all() -> None:
    """A connection that still holds functions when Python ends is reported as leaked."""
    for con in list(_registered):
        for function in FUNCTIONS:
            _forget(con, function.name)


def _pseudonym(_: stored.Store) -> Callable[..., Any]:
    def deid_pseudonym(value: Any, domain: Any) -> Any:
        return _text(keyed.pseudonyms(value.to_pylist(), domain.to_pylist()))

    return deid_pseudonym


def _date_shift(_: stored.Store) -> Callable[..., Any]:
    def deid_date_shift(date: Any, subject: Any, max_days: Any) -> Any:
        import pyarrow as pa

        days = date.cast(pa.int32()).to_pylist()
        moves = keyed.shifts(subject.to_pylist(), max_days.to_pylist())
        shifted = [_moved(day, move) for day, move in zip(days, moves, strict=True)]
        return pa.array(shifted, pa.int32()).cast(pa.date32())

    return deid_date_shift


def _moved(day: int | None, move: int | None) -> int | None:
    if day is None or move is None:
        return None
    return day if abs(day) >= _INFINITE else day + move


def _generalize(store: stored.Store) -> Callable[..., Any]:
    def deid_generalize(column: Any, value: Any, level: Any) -> Any:
        names, values, levels = column.to_pylist(), value.to_pylist(), level.to_pylist()
        wanted: dict[tuple[str | None, int | None], set[str | None]] = {}
        for name, one, at in zip(names, values, levels, strict=True):
            wanted.setdefault((name, at), set()).add(one)
        known = {
            (name, at): stored.generalize(store, name, at, ones)
            for (name, at), ones in wanted.items()
        }
        rows = zip(names, values, levels, strict=True)
        return _text([known[name, at][one] for name, one, at in rows])

    return deid_generalize


def _lca(store: stored.Store) -> Callable[..., Any]:
    def deid_lca(column: Any, values: Any) -> Any:
        names = column.to_pylist()
        groups = [frozenset(leaves or ()) for leaves in values.to_pylist()]
        wanted: dict[str | None, set[stored.Leaves]] = {}
        for name, group in zip(names, groups, strict=True):
            wanted.setdefault(name, set()).add(group)
        known = {
            name: stored.lowest_common_ancestors(store, name, some) for name, some in wanted.items()
        }
        return _text([known[name][group] for name, group in zip(names, groups, strict=True)])

    return deid_lca


def _loss(store: stored.Store) -> Callable[..., Any]:
    def deid_loss(column: Any, label: Any) -> Any:
        names, labels = column.to_pylist(), label.to_pylist()
        wanted: dict[str | None, set[str | None]] = {}
        for name, one in zip(names, labels, strict=True):
            wanted.setdefault(name, set()).add(one)
        known = {name: stored.label_losses(store, name, ones) for name, ones in wanted.items()}
        return _numbers([known[name][one] for name, one in zip(names, labels, strict=True)])

    return deid_loss


def _overlap(_: stored.Store) -> Callable[..., Any]:
    def deid_overlap(label: Any, lower: Any, upper: Any) -> Any:
        rows = list(zip(label.to_pylist(), lower.to_pylist(), upper.to_pylist(), strict=True))
        known = {row: overlap(*row) for row in set(rows)}
        return _numbers([known[row] for row in rows])

    return deid_overlap


def _entropy_l(_: stored.Store) -> Callable[..., Any]:
    def deid_entropy_l(counts: Any) -> Any:
        return _numbers([entropy_l(one) for one in counts.to_pylist()])

    return deid_entropy_l


def _emd(_: stored.Store) -> Callable[..., Any]:
    def deid_emd(p: Any, q: Any, kind: Any) -> Any:
        rows = zip(p.to_pylist(), q.to_pylist(), kind.to_pylist(), strict=True)
        return _numbers([emd(*row) for row in rows])

    return deid_emd


def _rce(_: stored.Store) -> Callable[..., Any]:
    def deid_rce(leaves: Any, p: Any, real: Any) -> Any:
        rows = zip(leaves.to_pylist(), p.to_pylist(), real.to_pylist(), strict=True)
        return _numbers([rce(*row) for row in rows])

    return deid_rce


def _text(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _numbers(values: Sequence[float | None]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.float64())


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "deid_pseudonym",
        ("VARCHAR", "VARCHAR"),
        "VARCHAR",
        "keyed hash of a value, separated by domain: deid_pseudonym(value, domain)",
        "deid_pseudonym('A-17', 'study')",
        _pseudonym,
    ),
    Function(
        "deid_date_shift",
        ("DATE", "VARCHAR", "BIGINT"),
        "DATE",
        "date moved by the subject's keyed shift: deid_date_shift(date, subject, max_days)",
        "deid_date_shift(DATE '2024-02-29', 'A-17', 30)",
        _date_shift,
    ),
    Function(
        "deid_generalize",
        ("VARCHAR", "VARCHAR", "INTEGER"),
        "VARCHAR",
        "label of a value in deid.hierarchies: deid_generalize(column, value, level)",
        "deid_generalize('age', '37', 1)",
        _generalize,
    ),
    Function(
        "deid_lca",
        ("VARCHAR", "VARCHAR[]"),
        "VARCHAR",
        "label of the lowest common ancestor of some values: deid_lca(column, values)",
        "deid_lca('age', ['23', '37'])",
        _lca,
    ),
    Function(
        "deid_loss",
        ("VARCHAR", "VARCHAR"),
        "DOUBLE",
        "loss of a label in deid.hierarchies: deid_loss(column, label)",
        "deid_loss('age', '*')",
        _loss,
    ),
    Function(
        "deid_overlap",
        ("VARCHAR", "DOUBLE", "DOUBLE"),
        "DOUBLE",
        "share of an interval that lies in a range: deid_overlap(label, lower, upper)",
        "deid_overlap('[20, 40)', 30, 50)",
        _overlap,
    ),
    Function(
        "deid_entropy_l",
        ("BIGINT[]",),
        "DOUBLE",
        "exponential of the entropy of some counts: deid_entropy_l(counts)",
        "deid_entropy_l([2, 2])",
        _entropy_l,
    ),
    Function(
        "deid_emd",
        ("DOUBLE[]", "DOUBLE[]", "VARCHAR"),
        "DOUBLE",
        "earth mover's distance, kind equal or ordered: deid_emd(p, q, kind)",
        "deid_emd([3, 1], [1, 1], 'equal')",
        _emd,
    ),
    Function(
        "deid_rce",
        ("BIGINT[]", "DOUBLE", "BOOLEAN"),
        "DOUBLE",
        "reconstruction error of a record: deid_rce(leaves, p, real)",
        "deid_rce([1, 2], 1, true)",
        _rce,
    ),
)
