"""Block, node and non-uniform entropy of written tables: by hand, record by record, as a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log2

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_problems import random_problem
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.methods.local_recoding.baselines.mondrian import mondrian
from dbdeid.methods.local_recoding.search import taxonomy as searched
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.utility.block_entropy import block_entropy
from dbdeid.utility.common.counted import each
from dbdeid.utility.common.members import Crosswalk, members_of_transformation
from dbdeid.utility.node_entropy import node_entropy
from dbdeid.utility.nonuniform_entropy import (
    nonuniform_entropy,
    nonuniform_entropy_of_crosswalk,
)

# As the queries call their own columns.
NAMES = ("class", "records")
WEIGHTS = {"class": 3.0, "records": 1.0}
# Values by code, and what each label stands for; a label may be on several levels.
VALUES = ["a", "b", "c", None]
MEANS = {
    **{value: {code} for code, value in enumerate(VALUES)},
    "ab": {0, 1},
    "bc": {1, 2},
    "*": {0, 1, 2, 3},
}
MEANT = [(label, code, VALUES[code]) for label, codes in MEANS.items() for code in sorted(codes)]
LABELS = {label: frozenset(codes) for label, codes in MEANS.items()}
ONE_LEVEL = ["ab", "ab", "c", None]

Cells = tuple[str | None, str | None]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        opened.execute("CREATE TABLE means (label VARCHAR, code INTEGER, value VARCHAR)")
        for row in MEANT:
            opened.execute_with("INSERT INTO means VALUES (?, ?, ?)", list(row))
        opened.execute("CREATE TABLE one_level (code INTEGER, label VARCHAR, place INTEGER)")
        for code, label in enumerate(ONE_LEVEL):
            place = ONE_LEVEL.index(label)
            opened.execute_with("INSERT INTO one_level VALUES (?, ?, ?)", [code, label, place])
        yield opened


def made(session: Session, pairs: Sequence[tuple[tuple[int, int], Cells | None]]) -> Crosswalk:
    """Stage source, tuples, release and crosswalk; records that become None are removed."""
    for statement in (
        'CREATE OR REPLACE TABLE source ("class" INTEGER, "records" INTEGER)',
        "CREATE OR REPLACE TABLE tuples (q0 INTEGER, q1 INTEGER, records BIGINT)",
        'CREATE OR REPLACE TABLE released (extra INTEGER, "class" VARCHAR, "records" VARCHAR)',
        "CREATE OR REPLACE TABLE crosswalk (source VARCHAR[], record VARCHAR[], records BIGINT)",
    ):
        session.execute(statement)
    for codes, cells in pairs:
        session.execute_with("INSERT INTO source VALUES (?, ?)", list(codes))
        if cells is not None:
            session.execute_with("INSERT INTO released VALUES (7, ?, ?)", list(cells))
    for codes, records in Counter(codes for codes, _ in pairs).items():
        session.execute_with("INSERT INTO tuples VALUES (?, ?, ?)", [*codes, records])
    for (codes, cells), records in Counter(pairs).items():
        if cells is not None:
            texts = [[VALUES[code] for code in codes], ["7", *cells], records]
            session.execute_with("INSERT INTO crosswalk VALUES (?, ?, ?)", texts)
    return Crosswalk(Relation("crosswalk"), NAMES, ("extra", *NAMES))


RELEASED = Relation("released", tuple(Column(name, "VARCHAR") for name in ("extra", *NAMES)))
OF_ALL = {name: Relation("means") for name in NAMES}
OF_ONE = {name: Relation("one_level") for name in NAMES}


def entropy(things: Sequence[object]) -> float:
    return sum(n / len(things) * log2(len(things) / n) for n in Counter(things).values())


def weighted(bits: Sequence[float]) -> float:
    """Weights of 3 and 1 are 1.5 and 0.5 of their mean."""
    return 1.5 * bits[0] + 0.5 * bits[1]


def test_by_hand(session: Session) -> None:
    """a, a, b, c as ab, ab, ab, c: 3/4 · H(2/3, 1/3) = 3/4 · .918296; split, b is alone in ab."""
    together = [((0, 3), ("ab", None)), ((0, 3), ("ab", None)), ((1, 3), ("ab", None))]
    together.append(((2, 3), ("c", None)))
    crosswalk = made(session, together)
    bits = 1.5 * 0.75 * 0.9182958
    for members in (crosswalk.members, members_of_transformation(Relation("tuples"), OF_ONE)):
        assert block_entropy(session, RELEASED, members, WEIGHTS) == pytest.approx(bits)
    found = node_entropy(session, Relation("source"), RELEASED, OF_ALL, WEIGHTS)
    assert found == pytest.approx(bits)
    apart = [*together[:1], ((0, 3), ("a", None)), *together[2:]]
    crosswalk = made(session, apart)
    assert block_entropy(session, RELEASED, crosswalk.members, WEIGHTS) == pytest.approx(1.5 * 0.5)
    found = node_entropy(session, Relation("source"), RELEASED, OF_ALL, WEIGHTS)
    assert found == pytest.approx(1.5 * 0.5 * 0.9182958)
    # log2(3/2) and log2(3/1) of the records a and b in ab; `*` loses 2·log2(4/2) + 2·log2(4/1)
    share = nonuniform_entropy_of_crosswalk(session, crosswalk, OF_ALL, WEIGHTS)
    assert share == pytest.approx((0.5849625 + 1.5849625) / 6)


def test_unknown_labels_tell_nothing(session: Session) -> None:
    crosswalk = made(session, [((0, 0), ("?", "a")), ((1, 0), ("?", "a"))])
    assert node_entropy(session, Relation("source"), RELEASED, OF_ALL, WEIGHTS) == 1.5
    assert nonuniform_entropy_of_crosswalk(session, crosswalk, OF_ALL, WEIGHTS) == 1


def cells_above(codes: tuple[int, int]) -> st.SearchStrategy[Cells]:
    above = [
        sorted((str(label), label) for label, below in LABELS.items() if code in below)
        for code in codes
    ]
    return st.tuples(*(st.sampled_from([label for _, label in some]) for some in above))


CODES = st.tuples(st.integers(0, 3), st.integers(0, 3))
LOCAL = st.lists(
    CODES.flatmap(lambda codes: st.tuples(st.just(codes), cells_above(codes))),
    min_size=1,
    max_size=25,
)
slow = settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.full
@given(LOCAL)
@slow
def test_levels_that_differ(session: Session, pairs: list[tuple[tuple[int, int], Cells]]) -> None:
    crosswalk = made(session, pairs)
    inside, below, lost, whole = [], [], [], []
    for i in range(2):
        everyone = [codes[i] for codes, _ in pairs]
        marginal = Counter(everyone)
        bits = 0.0
        for cells in {cells for _, cells in pairs}:
            members = [codes[i] for codes, own in pairs if own == cells]
            bits += len(members) * entropy(members)
        inside.append(bits / len(pairs))
        groups = {
            label: [code for code in everyone if code in codes] for label, codes in LABELS.items()
        }
        below.append(sum(entropy(groups[cells[i]]) for _, cells in pairs) / len(pairs))
        lost.append(sum(log2(len(groups[cells[i]]) / marginal[codes[i]]) for codes, cells in pairs))
        whole.append(sum(log2(len(pairs) / marginal[code]) for code in everyone))
    found = block_entropy(session, RELEASED, crosswalk.members, WEIGHTS)
    assert found == pytest.approx(weighted(inside), abs=1e-9)
    found = node_entropy(session, Relation("source"), RELEASED, OF_ALL, WEIGHTS)
    assert found == pytest.approx(weighted(below), abs=1e-9)
    share = weighted(lost) / weighted(whole) if weighted(whole) else 0.0
    found = nonuniform_entropy_of_crosswalk(session, crosswalk, OF_ALL, WEIGHTS)
    assert found == pytest.approx(share, abs=1e-9)


@pytest.mark.full
@given(st.lists(CODES, min_size=1, max_size=25), st.sets(st.integers(0, 24)), st.booleans())
@slow
def test_one_transformation_with_removed_records(
    session: Session, records: list[tuple[int, int]], removed: set[int], kept: bool
) -> None:
    """Removed records, whether they are dropped or read `*`, leave everything open."""
    labels: list[Cells] = [(ONE_LEVEL[a], ONE_LEVEL[b]) for a, b in records]
    gone: Cells | None = ("*", "*") if kept else None
    pairs = [(codes, gone if i in removed else labels[i]) for i, codes in enumerate(records)]
    crosswalk = made(session, pairs)
    inside, below = [], []
    for i in range(2):
        everyone = [codes[i] for codes in records]
        classes = {
            cells: [codes[i] for codes, own in zip(records, labels, strict=True) if own == cells]
            for cells in labels
        }
        groups = {
            label: [code for code in everyone if code in codes] for label, codes in LABELS.items()
        }
        open_ = [
            (entropy(everyone), entropy(everyone))
            if n in removed
            else (entropy(classes[labels[n]]), entropy(groups[labels[n][i]]))
            for n in range(len(records))
        ]
        inside.append(sum(bits for bits, _ in open_) / len(records))
        below.append(sum(bits for _, bits in open_) / len(records))
    members = members_of_transformation(Relation("tuples"), OF_ONE)
    found = block_entropy(session, RELEASED, members, WEIGHTS)
    assert found == pytest.approx(weighted(inside), abs=1e-9)
    source = Relation("source")
    found = node_entropy(session, source, RELEASED, OF_ALL, WEIGHTS)
    assert found == pytest.approx(weighted(below), abs=1e-9)
    if not removed.intersection(range(len(records))):
        same = nonuniform_entropy(session, source, RELEASED, OF_ONE, WEIGHTS)
        found = nonuniform_entropy_of_crosswalk(session, crosswalk, OF_ALL, WEIGHTS)
        assert found == pytest.approx(same, abs=1e-12)


@pytest.mark.full
@given(st.lists(CODES, min_size=1, max_size=25), st.sets(st.integers(0, 24)))
@slow
def test_what_a_class_tells_need_not_be_looked_at_inside(
    session: Session, records: list[tuple[int, int]], removed: set[int]
) -> None:
    labels = {NAMES[0]: Relation("one_level"), NAMES[1]: Relation("each_its_own")}
    session.execute(
        "CREATE OR REPLACE TABLE each_its_own AS SELECT code, value AS label, "
        "code AS place FROM means WHERE label IS NOT DISTINCT FROM value"
    )
    gone: set[Cells] = {
        (ONE_LEVEL[a], VALUES[b]) for i, (a, b) in enumerate(records) if i in removed
    }
    shown: list[Cells] = [(ONE_LEVEL[a], VALUES[b]) for a, b in records]
    made(session, [(c, None if s in gone else s) for c, s in zip(records, shown, strict=True)])
    counts = {NAMES[1]: each(Relation("source"), [NAMES[1]], ["value"])}
    found = [
        block_entropy(
            session, RELEASED, members_of_transformation(Relation("tuples"), labels, told), WEIGHTS
        )
        for told in (None, counts)
    ]
    assert found[1] == found[0]


@pytest.mark.full
def test_they_are_what_a_search_says_of_its_blocks(session: Session) -> None:
    lattice, units = random_problem(seed=3, width=4, rows=2000)
    taxonomy = Taxonomy(lattice, units)
    blocks = mondrian(taxonomy, Demands(units, 4, ()), relaxed=True)
    regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
    groups = np.stack(
        [
            np.stack(attribute.groups)[levels, codes]
            for attribute, levels, codes in zip(
                lattice.attributes, regions.levels, regions.codes, strict=True
            )
        ]
    )
    # blocks that read alike are one class
    _, of = np.unique(np.vstack([regions.levels, groups]), axis=1, return_inverse=True)
    merged = Blocks(blocks.row, of.ravel()[blocks.block], blocks.records).tidied()
    inside = searched.block_entropy(taxonomy, units, merged.row, merged.block, merged.records)
    below = float((taxonomy.entropies(regions) * blocks.sizes).sum() / units.records)

    names = tuple(attribute.name for attribute in lattice.attributes)
    width = range(len(names))
    labels = [
        [f"{level}:{group}" for level, group in zip(levels, own, strict=True)]
        for levels, own in zip(regions.levels.tolist(), groups.tolist(), strict=True)
    ]
    records = [[labels[i][block] for i in width] for block in blocks.block.tolist()]
    sources = [[str(units.codes[i][row]) for i in width] for row in blocks.row.tolist()]
    columns = {f"s{i}": [one[i] for one in sources] for i in width}
    columns |= {f"r{i}": [one[i] for one in records] for i in width}
    session.upload("written", columns | {"records": blocks.records})
    lists = [", ".join(f"{side}{i}" for i in width) for side in "sr"]
    session.execute(
        f"CREATE OR REPLACE TABLE walked AS SELECT [{lists[0]}] AS source, [{lists[1]}] AS record,"
        " records FROM written"
    )
    times = "CROSS JOIN LATERAL unnest(range(records))"
    named = [", ".join(f'{side}{i} AS "{name}"' for i, name in enumerate(names)) for side in "sr"]
    session.execute(f"CREATE OR REPLACE TABLE originals AS SELECT {named[0]} FROM written {times}")
    session.execute(f"CREATE OR REPLACE TABLE public AS SELECT {named[1]} FROM written {times}")
    means = {}
    for i, attribute in enumerate(lattice.attributes):
        pairs = [
            (f"{level}:{group}", str(code))
            for level, own in enumerate(attribute.groups)
            for code, group in enumerate(own.tolist())
        ]
        label, code = zip(*pairs, strict=True)
        means[attribute.name] = session.upload(f"means_{i}", {"label": label, "code": code})
    weights = dict.fromkeys(names, 1.0)
    crosswalk = Crosswalk(Relation("walked"), names, names)
    released = Relation("public")
    found = block_entropy(session, released, crosswalk.members, weights)
    assert found == pytest.approx(inside, abs=1e-9)
    found = node_entropy(session, Relation("originals"), released, means, weights)
    assert found == pytest.approx(below, abs=1e-9)
