"""The minimality attack as it is measured, and blocks that withstand it, by brute force."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import comb
from typing import Any

import duckdb
import numpy as np
import pytest

import dbdeid
from dbdeid.errors import SpecError, Unsatisfiable
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.attacks.minimality import SUBJECTS, of_blocks, of_levels
from dbdeid.methods.local_recoding.search import symmetric as simulatable
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import settle
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import AlphaK, LDiversity
from dbdeid.privacy.common.histogram import Whole
from dbdeid.report.content.audience import public
from dbdeid.report.content.remains import sentences

AGES = 8
# Eight ages, in pairs, in fours, and everybody.
GROUPS = [(np.arange(AGES) >> level).astype(np.uint32) for level in range(4)]
LOSS = tuple(np.full(AGES, (2**level - 1) / 7) for level in range(4))
LATTICE = Lattice((Attribute("age", tuple(GROUPS), LOSS),))
HALF = AlphaK(model="alpha_k", column="dx", k=2, alpha=0.5)
DIVERSE = LDiversity(model="l_diversity", column="dx", l=2)

Region = tuple[int, int]
Release = frozenset[tuple[Region, int, int]]


class World:
    """People of some ages, with a value each, as the search sees them."""

    def __init__(self, ages: Sequence[int], values: Sequence[int], k: int, model: Any) -> None:
        records = Counter(zip(ages, values, strict=True))
        age, self.value = np.array(sorted(records)).T
        weights = np.array([records[pair] for pair in sorted(records)])
        counts = np.bincount(values, minlength=max(values) + 1)
        of = Values(np.arange(len(age)), self.value, weights, len(counts))
        self.units = Tuples((age.astype(np.uint16),), weights, None, (of,))
        whole = Whole(counts, len(ages), tuple("abcdefgh"[: len(counts)]))
        self.conditions = (Sensitive(("dx",), (model,), whole),)
        self.demands = Demands(self.units, k, self.conditions)
        self.taxonomy = Taxonomy(LATTICE, self.units)

    def release(self, blocks: Blocks) -> Release:
        """What is published: region, value, and how many records."""
        regions = self.taxonomy.regions(self.units, blocks.row, blocks.block, blocks.number)
        held: Counter[tuple[Region, int]] = Counter()
        for row, block, number in zip(blocks.row, blocks.block, blocks.records, strict=True):
            level = int(regions.levels[0, block])
            region = level, int(GROUPS[level][regions.codes[0, block]])
            held[region, int(self.value[row])] += int(number)
        return frozenset((region, v, number) for (region, v), number in held.items())


def dealt(world: World, _: Any) -> Release | None:
    found = deal(world.taxonomy, world.demands)
    try:
        return world.release(settle(world.taxonomy, world.demands, found))
    except ValueError:
        return None


def safe(world: World, order: Sequence[int]) -> Release | None:
    blocks = simulatable.symmetric(world.taxonomy, world.demands, np.array(order))
    return None if blocks.left else world.release(blocks)


def orders(ages: Sequence[int]) -> list[tuple[int, ...]]:
    """All orders of the people of each age; records are numbered by age, then by value."""
    first, each = 0, []
    for number in (n for _, n in sorted(Counter(ages).items())):
        each.append(list(permutations(range(first, first + number))))
        first += number
    return [tuple(i for part in parts for i in part) for parts in product(*each)]


def assignments(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All different ways to give the values to the people."""

    def given(left: Counter[int], so_far: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not left:
            yield so_far
        for value in sorted(left):
            yield from given(left - Counter([value]), (*so_far, value))

    yield from given(Counter(values), ())


def worst(
    ages: Sequence[int], values: Sequence[int], k: int, model: Any, make: Any
) -> tuple[Fraction, int]:
    """The most that the attacker can believe of anybody, and how many releases there are.

    Everybody's age is known, and all assignments of the values were as probable beforehand.
    """
    draws = orders(ages) if make is safe else [()]
    number: dict[Release, int] = defaultdict(int)
    having: dict[tuple[Release, int, int], int] = defaultdict(int)
    for given in assignments(values):
        world = World(ages, given, k, model)
        for order in draws:
            release = make(world, order)
            if release is None:
                continue
            number[release] += 1
            for person, value in enumerate(given):
                having[release, person, value] += 1
    return max(Fraction(n, number[r]) for (r, _, _), n in having.items()), len(number)


TABLES = [
    ((0, 1, 1, 4, 5, 7), (0, 0, 1, 1, 2, 3)),
    ((0, 0, 1, 2, 4, 5, 6, 7), (0, 0, 0, 0, 1, 1, 2, 3)),
    ((0, 1, 2, 3, 4, 5, 6, 7), (0, 0, 0, 1, 1, 1, 2, 2)),
]


@pytest.fixture
def small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of two leaves and more; in earnest they are larger, to be refused hardly ever."""
    monkeypatch.setattr(simulatable, "_enough", lambda demands: demands.k)
    monkeypatch.setattr(simulatable, "_sizes", lambda k: [k])
    monkeypatch.setattr(simulatable, "REST", 0)
    monkeypatch.setattr(simulatable, "TREE", 1)


@pytest.mark.full
@pytest.mark.parametrize(("ages", "values"), TABLES)
@pytest.mark.usefixtures("small_trees")
def test_nobody_is_believed_of_more_than_the_model_allows(
    ages: tuple[int, ...], values: tuple[int, ...]
) -> None:
    most, releases = worst(ages, values, 2, HALF, safe)
    assert most <= Fraction(1, 2)
    assert releases > 10


@pytest.mark.full
def test_dealing_lets_more_be_believed() -> None:
    most, _ = worst(*TABLES[1], 2, HALF, dealt)
    assert most > Fraction(1, 2)


@pytest.mark.usefixtures("small_trees")
def test_leaves_of_two_sizes_would_not_be_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves must be equally large: of two and three people, it is likelier that the two failed."""
    whole = simulatable._Forest.plant

    def plant(self: Any, enough: int) -> None:
        whole(self, enough)
        last = self.pieces.number - 1  # who is left over joins the last leaf
        block = np.minimum(self.pieces.block, last - 1)
        self.pieces = Blocks(self.pieces.row, block, self.pieces.records)

    monkeypatch.setattr(simulatable._Forest, "plant", plant)
    model = AlphaK(model="alpha_k", column="dx", k=2, alpha=2 / 3)
    most, _ = worst((0, 1, 2, 3, 4), (0, 0, 0, 1, 1), 2, model, safe)
    assert most == Fraction(3, 4)


# -- the attack -----------------------------------------------------------------------------------


def drawn(seed: int, people: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, AGES, people)
    # values go with the ages, so that some groups have one value
    values = np.where(rng.random(people) < 0.6, ages // 2, rng.integers(0, 4, people))
    values[:4] = range(4)
    return ages.tolist(), values.tolist()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_read_of_dealing_is_what_is_counted_by_hand(seed: int) -> None:
    ages, values = drawn(seed, 60)
    world = World(ages, values, 3, DIVERSE)
    blocks = settle(world.taxonomy, world.demands, deal(world.taxonomy, world.demands))
    regions = world.taxonomy.regions(world.units, blocks.row, blocks.block, blocks.number)
    [found] = of_blocks(world.taxonomy, world.demands, world.conditions, blocks, regions, "dealing")
    # by hand: ages of three people and more that no class shows alone
    held: dict[Region, Counter[int]] = defaultdict(Counter)
    where: dict[int, set[Region]] = defaultdict(set)
    for row, block, number in zip(blocks.row, blocks.block, blocks.records, strict=True):
        level = int(regions.levels[0, block])
        region = level, int(GROUPS[level][regions.codes[0, block]])
        held[region][int(world.value[row])] += int(number)
        where[int(world.units.codes[0][row])].add(region)
    claimed = right = 0
    for age, n in Counter(ages).items():
        if n < 3 or any(level == 0 for level, _ in where[age]):
            continue
        records = sum((held[region] for region in where[age]), Counter())
        odds = {v: comb(own, n) for v, own in records.items()}
        value = max(odds, key=lambda v: (odds[v], -v))
        if n * odds[value] > (n - 1) * sum(odds.values()):
            claimed += n
            right += sum(a == age and v == value for a, v in zip(ages, values, strict=True))
    assert (found.claimed, found.right) == (claimed, right)
    assert found.people == 60


def test_dealing_is_read() -> None:
    read = 0
    for seed in range(8):
        world = World(*drawn(seed, 60), 3, DIVERSE)
        blocks = settle(world.taxonomy, world.demands, deal(world.taxonomy, world.demands))
        regions = world.taxonomy.regions(world.units, blocks.row, blocks.block, blocks.number)
        args = (world.taxonomy, world.demands, world.conditions, blocks, regions)
        read += of_blocks(*args, "dealing")[0].right
        assert of_blocks(*args, "paper")[0].why
    assert read > 0


def test_levels_tell_what_failed_below() -> None:
    """One group of three alone can have a single value: because of it the levels are that high."""
    ages = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    values = [0, 0, 0, 1, 2, 3, 1, 0, 1, 2, 1, 2, 3]
    world = World(ages, values, 3, DIVERSE)
    kept = np.ones(len(world.units.weights), np.bool_)
    args = (LATTICE, world.units, kept, world.conditions, (1,), 3)
    [found] = of_levels(*args, minimal=True)
    assert (found.groups, found.claimed, found.right) == (1, 3, 3)
    [found] = of_levels(*args, minimal=False)
    assert found.claimed == 0


def test_one_of_two_groups_is_no_claim() -> None:
    ages = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    values = [0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 2, 1]
    world = World(ages, values, 3, DIVERSE)
    kept = np.ones(len(world.units.weights), np.bool_)
    [found] = of_levels(LATTICE, world.units, kept, world.conditions, (1,), 3, minimal=True)
    # either three of five among six: 2/3, which a class of three may tell as well
    assert found.claimed == 0


def test_who_is_suppressed_may_have_failed() -> None:
    ages = [0, 0, 0, 0, *[2, 3, 4, 5, 6, 7] * 6]
    values = [0, 0, 0, 0, *[0, 0, 0, 1, 0, 0] * 6]
    world = World(ages, values, 3, DIVERSE)
    kept = world.units.codes[0] != 0
    [found] = of_levels(LATTICE, world.units, kept, world.conditions, (0,), 3, minimal=False)
    assert (found.groups, found.claimed, found.right) == (1, 4, 4)


# -- releases -------------------------------------------------------------------------------------

VISITS = """
CREATE TABLE visits AS SELECT
  (i * 7 % 40)::INTEGER AS age,
  ['f', 'm'][1 + i % 2] AS sex,
  CASE
    WHEN i * 7 % 40 < 6 THEN 'flu' ELSE ['asthma', 'flu', 'none', 'gout'][1 + (i * 5 + i // 9) % 4]
  END AS illness
FROM range(600) AS r(i)
"""


def visits(method: Any, **more: Any) -> Any:
    spec = {
        "release": "visits_public",
        "source": "visits",
        "accept": "rows",
        "seed": 3,
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "illness": "sensitive",
        },
        "privacy": [
            {"model": "k_anonymity", "k": 3},
            {"model": "l_diversity", "column": "illness", "l": 2},
        ],
        "method": method,
        "evaluate": {"metrics": ["minimality"]},
        **more,
    }
    spec = {name: part for name, part in spec.items() if part is not None}
    with duckdb.connect() as con:
        con.execute(VISITS)
        return dbdeid.run(spec, con)


@pytest.mark.full
def test_a_run_says_how_many_people_are_read() -> None:
    result = visits("local_recoding")
    read = result.metrics["minimality.illness"]
    claimed = result.metrics["minimality.illness.claimed"]
    assert 0 < read <= claimed
    assert result.metrics["minimality"] == read
    told = " ".join(sentences(result.record).not_promised)
    assert f"reads illness of {read:,.0f} of {claimed:,.0f} people rightly" in told
    assert "reads illness" not in " ".join(sentences(public(result.record), "public").not_promised)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["full_domain", "local_recoding"])
def test_of_people_with_several_records_nothing_is_measured(method: str) -> None:
    query = "SELECT *, row_number() OVER () // 2 AS person FROM visits"
    columns = {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
        "illness": "sensitive",
    }
    source = {"sql": query, "name": "visits"}
    more = {"source": source, "columns": columns, "subject": "person"}
    result = visits(method, accept=None, **more)
    assert not [name for name in result.metrics if name.startswith("minimality")]
    assert [one.why for one in result.record.readings] == [SUBJECTS]


def test_a_safe_release_is_read_of_nobody() -> None:
    result = visits({"name": "local_recoding", "minimality": "safe"}, expect={"minimality": "= 0"})
    assert result.verified
    assert result.metrics["minimality.illness.claimed"] == 0
    assert result.smallest_class >= 3
    told = " ".join(sentences(result.record).not_promised)
    assert "the shape of blocks reveals no illness" in told


@pytest.mark.usefixtures("small_trees")
def test_a_table_is_refused_where_a_fixed_block_fails() -> None:
    assert safe(World((0, 2, 4, 6), (0, 1, 1, 0), 2, HALF), range(4)) is not None
    # one tree: three of four have the same value
    assert safe(World((0, 2, 4, 6), (0, 1, 0, 0), 2, HALF), range(4)) is None


def test_a_safe_release_keeps_to_levels_and_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulatable, "SAMPLE", 200)  # fewer than there are
    age = {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}, "max_level": 3}
    result = visits(
        {"name": "local_recoding", "minimality": "safe"},
        columns={"age": age, "sex": "sensitive", "illness": "sensitive"},
        privacy=[
            {"model": "k_anonymity", "k": 4},
            {"model": "t_closeness", "column": "illness", "t": 0.6},
            {"model": "alpha_k", "column": "sex", "k": 4, "alpha": 0.8},
        ],
    )
    assert result.verified
    assert result.metrics["minimality"] == 0


def test_a_refusal_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulatable, "_merged", lambda demands, forest, row: None)
    with pytest.raises(Unsatisfiable, match="minimality: safe does not reach"):
        visits({"name": "local_recoding", "minimality": "safe"})


@pytest.mark.parametrize("more", [{"algorithm": "mondrian"}, {"engine": "sql"}, {"tail": "append"}])
def test_a_safe_release_has_no_other_algorithm(more: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="a way of its own"):
        visits({"name": "local_recoding", "minimality": "safe", **more})
