"""Progressive dealing inside the database: the blocks of `search.dealing`, dealt by queries.

The records of the pool are those of the staged units. For each transformation its classes are
counted, each finds out how many blocks it gives, and their records are laid out and dealt in turn.
Every block is judged like any other, before its records leave the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    ascending,
    column,
    count_rows,
    function,
    list_of,
    literal,
    over,
    row_number,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.lattice import Node
from dbdeid.methods.local_recoding.recoded_rows import UNIT_ROWS
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.dealing import Pool, dealt, numbering, telling
from dbdeid.methods.local_recoding.search.stages import Layout, Stage
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Taxonomy
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

POOL = Relation("deid_dealing_pool", schema="main", catalog="temp")
CLASSES = Relation("deid_dealing_classes", schema="main", catalog="temp")
ENTRIES = Relation("deid_dealing_entries", schema="main", catalog="temp")
NUMBERS = Relation("deid_dealing_numbers", schema="main", catalog="temp")
DEALT = Relation("deid_dealing_dealt", schema="main", catalog="temp")
WAYS = Relation("deid_dealing_ways", schema="main", catalog="temp")
PORTIONS = Relation("deid_dealing_portions", schema="main", catalog="temp")
NODES = Relation("deid_dealing_nodes", schema="main", catalog="temp")
PROMISING = Relation("deid_dealing_promising", schema="main", catalog="temp")
FAILING = Relation("deid_dealing_failing", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a quasi-identifier: the highest, and the lowest and highest to be dealt on."""

    height: int
    least: int
    most: int

    @property
    def all(self) -> range:
        """The levels that tell values apart."""
        return range(self.height + 1)

    @property
    def dealt(self) -> range:
        """Those of transformations."""
        return range(self.least, self.most + 1)


def deal(
    session: Session,
    taxonomy: Taxonomy,
    demands: Demands,
    *,
    objective: Cost,
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """The blocks that `search.dealing.deal` gives, with a tail that is appended.

    Args:
        session: where the units are staged.
        taxonomy: of the hierarchies.
        demands: what every block must hold; every record is a subject.
        objective: what transformations cost, in whose order they are dealt.
        settled: is told how many records have a block.

    Raises:
        ValueError: subjects count.
    """
    if demands.units.subjects is not None:
        raise ValueError("subjects are not dealt in SQL")
    return dealt(_Database(session, taxonomy, demands), taxonomy, objective, settled)


class _Database:
    """The dealer that has the records in the database."""

    pool: Pool
    stages: Sequence[Stage]

    def __init__(self, session: Session, taxonomy: Taxonomy, demands: Demands) -> None:
        units, lattice = demands.units, taxonomy.lattice
        layout = Layout.of(demands)
        self._session = session
        self._demands = demands
        self._counts = layout.counts
        self._order = numbering(lattice, units)
        self._least = np.array(lattice.bottom)
        self._stage: Stage | None = None
        for i, attribute in enumerate(lattice.attributes):
            columns = {f"g{level}": groups for level, groups in enumerate(attribute.groups)}
            codes = {"code": range(attribute.cardinality)}
            session.upload(groups_relation(i).name, codes | columns)
        levels = [Levels(a.height, a.min_level, a.most_general) for a in lattice.attributes]
        session.run(pool_step(levels, len(units.values), layout.attribute, telling(taxonomy)))
        self.pool = Pool(np.arange(len(units.weights)), units.weights)
        self.stages = layout.stages

    def promising(self, nodes: Sequence[Node], stage: Stage) -> Sequence[Node]:
        """The nodes in which a class can give a block, found in one query to save time."""
        if stage is not self._stage:
            self._upload(stage)
        levels = np.array(nodes) - self._least + 1
        columns = {f"l{i}": own for i, own in enumerate(levels.T)}
        self._session.upload(NODES.name, {"node": range(len(nodes))} | columns)
        self._session.fill(promising_step(len(self._least)))
        found = self._session.rows(select("node").from_(PROMISING.table).order_by("node"))
        return [nodes[node] for (node,) in found]

    def dealt(self, node: Node, stage: Stage) -> Blocks | None:
        """The blocks of a transformation, judged by everything that is demanded."""
        fill = self._session.fill
        places = (np.array(node) - self._least + 1).tolist()
        if not fill(classes_step(places, self._order, stage.least)):
            return None
        fill(entries_step())
        if not fill(numbers_step()):
            return None
        fill(places_step())
        found = self._session.arrays(select("*").from_(DEALT.table))
        row, block, records = (
            found[name].astype(np.int64) for name in ("unit", "block", "records")
        )
        made = Blocks(row, block, records)
        held = self._demands.hold(made)
        self._session.upload(FAILING.name, {"block": np.flatnonzero(~held)})
        if not held.any():
            return None
        fill(left_step())
        stay = held[block]
        blocks = Blocks(row[stay], block[stay], records[stay]).tidied()
        self.pool = self.pool.without(blocks)
        return blocks

    def _upload(self, stage: Stage) -> None:
        """How blocks are made up."""
        ways, values = range(len(stage.portions)), len(self._counts)
        largest = self._counts.sum()
        columns: dict[str, object] = {
            "way": ways,
            "size": np.array([p.size for p in stage.portions]),
            "different": np.array([p.different for p in stage.portions]),
            "needed": np.array([np.count_nonzero(p.least) for p in stage.portions]),
            "largest": np.array(
                [p.size if stage.rare is not None else largest for p in stage.portions]
            ),
            "worth": np.array([stage.worth(p) for p in stage.portions]),
            "together": np.array([int(stage.free) for p in stage.portions]),
        }
        self._session.upload(WAYS.name, columns)
        rare = np.ones(values, np.int64) if stage.rare is None else stage.rare.astype(np.int64)
        columns = {
            "way": np.repeat(ways, values),
            "value": np.tile(np.arange(values), len(ways)),
            "most": np.concatenate([p.most for p in stage.portions]),
            "least": np.concatenate([p.least for p in stage.portions]),
            "rare": np.tile(rare, len(ways)),
            "spot": np.tile(stage.order, len(ways)),
            "total": np.tile(self._counts, len(ways)),
        }
        self._session.upload(PORTIONS.name, columns)
        self._stage = stage


def steps(
    quasi_identifiers: Sequence[QuasiIdentifier], sensitive: int, node: Node, least: int
) -> tuple[Step, ...]:
    """How the pool is filled, and how one transformation is dealt.

    The order of quasi-identifiers, the attribute whose values are dealt, and the size of blocks
    are those of the data: here each is the first there is.
    """
    levels = [
        Levels(q.height, q.min_level, q.height if q.max_level is None else q.max_level)
        for q in quasi_identifiers
    ]
    places = [
        min(max(level, own.least), own.most) - own.least + 1
        for level, own in zip(node, levels, strict=True)
    ]
    order = range(len(levels))
    return (
        pool_step(levels, sensitive, 0 if sensitive else None, order),
        promising_step(len(levels)),
        classes_step(places, order, least),
        entries_step(),
        numbers_step(),
        places_step(),
        left_step(),
    )


def groups_relation(number: int) -> Relation:
    """The groups of a quasi-identifier's codes on each level: code, g0, g1, …."""
    return Relation(f"deid_dealing_groups_{number}", schema="main", catalog="temp")


def pool_step(
    levels: Sequence[Levels], sensitive: int, attribute: int | None, telling: Sequence[int]
) -> Step:
    """All units: records, the value that is dealt, the place, and the groups on each level.

    Args:
        levels: of each quasi-identifier.
        sensitive: how many sensitive attributes there are.
        attribute: the one whose values are dealt; None: all are alike.
        telling: the quasi-identifiers in an order by which those near each other are alike.
    """
    values = [f"v{i}" for i in range(sensitive)]
    codes = ["unit", *(f"q{i}" for i in range(len(levels))), *values]
    counted = aliased(count_rows(), "records")
    units = select(*codes, counted).from_(UNIT_ROWS.table).group_by(*codes)
    order = [column(f"g{level}", f"a{i}") for i in telling for level in reversed(levels[i].all)]
    order += [column(value, "units") for value in reversed(values)]
    by = [ascending(key) for key in order]
    value = literal(0) if attribute is None else column(values[attribute], "units")
    query = select(
        column("unit", "units"),
        aliased(value, "value"),
        aliased(over(row_number(), order=by), "place"),
        column("records", "units"),
    ).from_(units.subquery("units"))
    for i, own in enumerate(levels):
        alias = f"a{i}"
        groups = groups_relation(i).aliased(alias)
        same = column("code", alias).eq(column(f"q{i}", "units"))
        dealt = list_of(*(column(f"g{level}", alias) for level in own.dealt))
        query = query.join(groups, on=same).select(aliased(dealt, f"q{i}"))
    return Step(POOL.name, query)


@cache
def promising_step(width: int) -> Step:
    """Which of the transformations that are staged have a class that can give a block.

    Args:
        width: how many quasi-identifiers there are.
    """
    rows = _grouped([column(f"l{i}", "nodes") for i in range(width)])
    rows = rows.select(column("node", "nodes"))
    rows = rows.join(NODES.aliased("nodes"), join_type="CROSS")
    groups = {"groups": [f"g{i}" for i in range(width)]}
    tables: dict[str, Relation | Query] = {"members": rows, "ways": WAYS, "portions": PORTIONS}
    return Step(PROMISING.name, step("methods/local_recoding/dealing_promising", tables, groups))


def _grouped(places: Sequence[Expr]) -> Select:
    """The pool with the group of each quasi-identifier, which stands at a place of its list."""
    columns = ("unit", "value", "place", "records")
    query = select(*(column(name, "pool") for name in columns))
    query = query.from_(POOL.aliased("pool"))
    for i, place in enumerate(places):
        group = function("list_extract", column(f"q{i}", "pool"), place)
        query = query.select(aliased(group, f"g{i}"))
    return query


def classes_step(places: Sequence[int], order: Sequence[int], least: int) -> Step:
    """The classes of a transformation that may give a block.

    Args:
        places: of the levels of the transformation among those that are dealt, from 1.
        order: the quasi-identifiers by whose groups classes are numbered.
        least: records of the smallest blocks.
    """
    members = _grouped([literal(place) for place in places])
    groups = {"groups": [f"g{i}" for i in order]}
    query = step(
        "methods/local_recoding/dealing_classes", {"members": members}, groups, {"least": least}
    )
    return Step(CLASSES.name, query)


@cache
def entries_step() -> Step:
    """The sensitive values of the classes."""
    return Step(ENTRIES.name, step("methods/local_recoding/dealing_entries", {"classes": CLASSES}))


@cache
def numbers_step() -> Step:
    """How many blocks each class gives."""
    tables = {"entries": ENTRIES, "ways": WAYS, "portions": PORTIONS}
    return Step(NUMBERS.name, step("methods/local_recoding/dealing_numbers", tables))


@cache
def places_step() -> Step:
    """Which records go to which block."""
    tables = {"classes": CLASSES, "entries": ENTRIES, "numbers": NUMBERS}
    return Step(
        DEALT.name,
        step(
            "methods/local_recoding/dealing_places", tables | {"ways": WAYS, "portions": PORTIONS}
        ),
    )


@cache
def left_step() -> Step:
    """The pool without the records of the blocks that hold."""
    tables = {"pool": POOL, "dealt": DEALT, "failing": FAILING}
    return Step(POOL.name, step("methods/local_recoding/dealing_left", tables))
