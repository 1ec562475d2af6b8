"""The hierarchy of each quasi-identifier, built from its spec and checked against the data."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction

from dbdeid.bind.bound import Bound, BoundColumn, bounds_of
from dbdeid.bind.source import find_table
from dbdeid.data import dates, hierarchy_file, intervals, shelf
from dbdeid.data.coding import Coding, code
from dbdeid.data.hierarchy import Hierarchy, Order, from_rows, without_leaves
from dbdeid.data.ordered_domain import OrderedDomain
from dbdeid.engine.expressions import cast, column, select, try_cast
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session
from dbdeid.errors import HierarchyError
from dbdeid.prepare import free_cells
from dbdeid.spec.column.hierarchy_spec import HierarchySpec
from dbdeid.spec.files import located

Rows = Sequence[Sequence[str]]


def coding_of(
    bound: Bound, session: Session, quasi_identifier: BoundColumn, values: list[str | None]
) -> Coding:
    """The coding of one quasi-identifier.

    Args:
        bound: the bound spec.
        session: where hierarchy tables are found and leaves are cast.
        quasi_identifier: the column.
        values: its distinct values as text in code order, NULL last.

    Raises:
        HierarchyError: the hierarchy is broken, or does not cover the values.
    """
    present = [v for v in values if v is not None]
    hierarchy = _build(bound, session, quasi_identifier, present)
    _check_levels(quasi_identifier, hierarchy)
    return code(hierarchy, values)


def _build(
    bound: Bound, session: Session, quasi_identifier: BoundColumn, present: list[str]
) -> Hierarchy:
    spec, name = quasi_identifier.spec.hierarchy, quasi_identifier.name
    if quasi_identifier.domain is not None:
        return _of_domain(session, quasi_identifier, quasi_identifier.domain, present)
    if spec is None:  # it is not generalized: only its values are known
        if not present:
            return without_leaves(name, "none", 1)
        rows, order = _typed(session, quasi_identifier, [[value] for value in present])
        return from_rows(name, "none", rows, declared=False, order=order, fixed_top=True)
    if spec.intervals is not None:
        return intervals.build(
            name, present, scale_of(spec), discrete=quasi_identifier.column.family == "integer"
        )
    if spec.dates is not None:
        timed = quasi_identifier.column.family == "timestamp"
        return dates.build(name, present, calendar_of(spec), timed=timed)
    if spec.free:
        return _free(session, quasi_identifier, spec, present)
    rows, kind, declared = leaf_rows(bound, session, quasi_identifier, spec, present)
    if not rows and not declared:
        between = shelf.CODES[spec.shelf].height if spec.shelf else len(spec.prefix or ())
        return without_leaves(name, kind, 1 + between)
    rows, order = _typed(session, quasi_identifier, rows)
    fixed = spec.kind in ("prefix", "suppress", "shelf")
    return from_rows(name, kind, rows, declared=declared, order=order, fixed_top=fixed)


def _free(
    session: Session, quasi_identifier: BoundColumn, spec: HierarchySpec, present: list[str]
) -> Hierarchy:
    """The values of a column whose intervals and sets the blocks choose, and `*`."""
    domain = quasi_identifier.spec.domain
    own = Column(quasi_identifier.name, quasi_identifier.released_type or "VARCHAR")
    rows, order = _typed(session, quasi_identifier, [[value] for value in domain or present])
    return free_cells.build(
        own,
        [row[0] for row in rows],
        limits=(spec.lower, spec.upper),
        order=order,
        declared=bool(domain),
    )


def _of_domain(
    session: Session, quasi_identifier: BoundColumn, domain: OrderedDomain, present: Sequence[str]
) -> Hierarchy:
    """The values of an ordered domain and `*`, before a policy puts intervals between them."""
    known = set(domain.values)
    outside = [value for value in present if value not in known]
    if outside:
        raise HierarchyError(
            f"column {quasi_identifier.name!r}: {len(outside)} of {len(present)} values are not in "
            f"its domain ({domain.kind})",
            hint="declare a domain that has them, or leave those rows out; --show-values prints "
            "up to ten",
            examples=outside[:10],
        )
    rows, order = _typed(session, quasi_identifier, [[value] for value in domain.values])
    return from_rows(
        quasi_identifier.name, domain.kind, rows, declared=True, order=order, fixed_top=True
    )


def calendar_of(spec: HierarchySpec) -> dates.Calendar:
    """The units of a hierarchy of dates, and how far it reaches."""
    return dates.Calendar(
        spec.dates or (),
        typing.cast("date | None", spec.lower),
        typing.cast("date | None", spec.upper),
    )


def scale_of(spec: HierarchySpec) -> intervals.Intervals:
    """The widths of a hierarchy of intervals, where they start, and how far it reaches."""
    return intervals.Intervals(
        typing.cast("tuple[Fraction, ...]", spec.intervals),
        spec.origin if spec.origin is not None else Fraction(0),
        typing.cast("Fraction | None", spec.lower),
        typing.cast("Fraction | None", spec.upper),
    )


def leaf_rows(
    bound: Bound,
    session: Session,
    quasi_identifier: BoundColumn,
    spec: HierarchySpec,
    present: list[str],
) -> tuple[Rows, str, bool]:
    """The leaves with their labels, where they come from, and whether they are a public domain."""
    name = quasi_identifier.name
    if spec.path is not None:
        path = located(bound.file, spec.path, "columns", name, "hierarchy")
        return hierarchy_file.read(name, path), path.name, True
    if spec.table is not None:
        return table_rows(session, name, spec.table), f"table {spec.table}", True
    if spec.groups is not None:
        return group_rows(name, spec.groups), "groups", True
    domain = quasi_identifier.spec.domain
    leaves = list(domain) if domain else present
    if spec.shelf is not None:
        if spec.shelf == "zip":
            _require_whole(name, leaves)
        return shelf.rows(spec.shelf, leaves), f"shelf: {spec.shelf}", bool(domain)
    if spec.prefix is not None:
        lengths = ", ".join(map(str, spec.prefix))
        kind = f"prefixes of {lengths}"
        return [[v, *(_prefix(v, n) for n in spec.prefix)] for v in leaves], kind, bool(domain)
    return [[v] for v in leaves], "suppress", bool(domain)


def _require_whole(name: str, zips: Sequence[str]) -> None:
    """Numbers that lost their leading zeros are codes of other areas."""
    shortened = shelf.zips.shortened(zips)
    if shortened:
        raise HierarchyError(
            f"column {name!r}: {len(shortened)} of {len(zips)} different values are not ZIP codes "
            "of 5 or 9 digits, as where leading zeros were lost",
            hint="write them whole in `source: {sql: …}`, as lpad(zip::VARCHAR, 5, '0')",
            examples=shortened[:10],
        )


def _prefix(value: str, length: int) -> str:
    return value[:length] + "*" * max(len(value) - length, 0)


def table_rows(session: Session, name: str, table: str) -> Rows:
    """The rows of a table of leaves and their labels, as text.

    Raises:
        HierarchyError: a cell is NULL.
    """
    relation = find_table(session, table, f"hierarchy of column {name!r}")
    texts = [cast(column(c), "VARCHAR") for c in relation.names]
    rows = session.rows(select(*texts).from_(relation.table))
    if any(cell is None for row in rows for cell in row):
        raise HierarchyError(
            f"hierarchy of column {name!r} (table {table}) holds NULL",
            hint="NULL needs no leaf, and every value needs a label on each level",
        )
    return rows


def group_rows(name: str, groups: tuple[dict[str, tuple[str, ...]], ...]) -> Rows:
    """The rows of `groups`: each value with its labels, the finest first.

    Raises:
        HierarchyError: a level does not map each label of the one before, once.
    """
    rows: list[list[str]] = [[leaf] for members in groups[0].values() for leaf in members]
    for number, mapping in enumerate(groups, start=1):
        parent: dict[str, str] = {}
        for label, members in mapping.items():
            for member in members:
                if number > 1 and member in parent:
                    raise HierarchyError(
                        f"hierarchy of column {name!r} (groups): a label of level {number - 1} "
                        f"is listed twice on level {number}",
                        hint="every label has exactly one parent",
                        examples=[member],
                    )
                parent.setdefault(member, label)
        if number == 1:
            firsts = [label for label, members in mapping.items() for _ in members]
            rows = [[*row, label] for row, label in zip(rows, firsts, strict=True)]
            continue
        missing = sorted({row[-1] for row in rows} - set(parent))
        unknown = sorted(set(parent) - {row[-1] for row in rows})
        if missing or unknown:
            raise HierarchyError(
                f"hierarchy of column {name!r} (groups): level {number} must map each label of "
                f"level {number - 1}; {len(missing)} are missing, {len(unknown)} unknown",
                hint="one mapping a level, each over the labels of the one before",
                examples=[*missing, *unknown][:10],
            )
        rows = [[*row, parent[row[-1]]] for row in rows]
    return rows


def _typed(
    session: Session, quasi_identifier: BoundColumn, rows: Rows
) -> tuple[Rows, Order | None]:
    """Leaves written as the column writes its values, and the numbers behind them."""
    source_type = quasi_identifier.released_type
    if source_type == "VARCHAR" or source_type is None:
        return rows, None
    texts = written(session, Column(quasi_identifier.name, source_type), [r[0] for r in rows])
    leaves = [text if text is not None else row[0] for text, row in zip(texts, rows, strict=True)]
    typed = [[leaf, *row[1:]] for leaf, row in zip(leaves, rows, strict=True)]
    if not bounds_of(quasi_identifier):
        return typed, None
    numbers = tuple(None if text is None else rank(text) for text in texts)
    return typed, Order(numbers, tuple(leaves))


def written(session: Session, target: Column, leaves: Sequence[str]) -> list[str | None]:
    """Each leaf cast to the column's type and back; None where it is no value of that type."""
    session.upload("deid_leaves", {"number": range(len(leaves)), "leaf": list(leaves)})
    kind = target.type
    cast_there = try_cast(column("leaf"), kind)
    query = (
        select(cast(cast_there, "VARCHAR"))
        .from_(session.temp("deid_leaves").table)
        .order_by("number")
    )
    texts = [row[0] for row in session.rows(query)]
    session.drop_temp("deid_leaves")
    return [
        text if text is not None and _same(leaf, text) else None
        for leaf, text in zip(leaves, texts, strict=True)
    ]


def _same(leaf: str, written: str) -> bool:
    """Whether a cast kept a leaf's value: 12.5 is no INTEGER, though DuckDB rounds it to 13."""
    before, after = rank(leaf.strip()), rank(written)
    return before is None or after is None or before == after


def rank(text: str) -> Fraction | None:
    """The number behind the text of a number, a date or a moment; None if it is none."""
    try:
        return Fraction(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=None)
        return Fraction((moment - datetime.min) // timedelta(microseconds=1))
    except ValueError:
        return None


def _check_levels(quasi_identifier: BoundColumn, hierarchy: Hierarchy) -> None:
    spec = quasi_identifier.spec
    highest = spec.min_level if spec.max_level is None else max(spec.min_level, spec.max_level)
    if highest > hierarchy.height:
        raise HierarchyError(
            f"column {quasi_identifier.name!r}: min_level or max_level is {highest}, but its "
            f"hierarchy ({hierarchy.kind}) ends at level {hierarchy.height}",
            hint=f"levels run from 0 to {hierarchy.height}",
        )
