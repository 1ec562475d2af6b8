"""Quantiles, variances and standard deviations: expected values, and bounds that hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from random import Random

import duckdb
import pytest
import tiers
from random_releases import RandomRelease
from text_worlds import drawers, judged_all

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import Desk, answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import estimate

MakeRelease = Callable[..., Answerable]
RELEASES = 100
QUERIES = 12

SHOWN = (
    "MEDIAN({x})",
    "QUANTILE_CONT({x}, 0.9)",
    "QUANTILE_CONT({x}, 0.25) FILTER (WHERE {c})",
    "QUANTILE_DISC({x}, 0.5)",
    "QUANTILE({x}, 0.1)",
    "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY {x})",
    "QUANTILE_DISC({x}, 1)",
    "QUANTILE_CONT({x}, 0)",
    "STDDEV({x})",
    "STDDEV_POP({x})",
    "VAR_SAMP({x}) FILTER (WHERE {c})",
    "VAR_POP({x})",
    "STDDEV({x}) / AVG({x})",
    "QUANTILE_CONT({x}, 0.75) - QUANTILE_CONT({x}, 0.25)",
    "COALESCE(VARIANCE({x}), 0)",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries with one of the expressions above."""
    for drawer, names in drawers(release, random):
        x = drawer.number()
        if x is None:
            continue
        key = drawer.key().written(names) if random.random() < 0.5 else ""
        where = f" WHERE {drawer.condition(2).written(names)}" if random.random() < 0.5 else ""
        condition = drawer.condition(1).written(names)
        shown = random.choice(SHOWN).format(x=x.written(names), c=condition)
        grouped = f" GROUP BY {key}" if key else ""
        head = f"SELECT {key}, " if key else "SELECT "
        yield f"{head}{shown} AS shown FROM people{where}{grouped}"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, RELEASES, 10), 8)
    seen = judged_all("quantiles", seeds, texts, QUERIES)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


ROWS = [("[20, 30)", "A", 10), ("[20, 30)", "A", 30), ("[30, 40)", "B", 60), ("[30, 40)", "B", 80)]


@pytest.fixture
def visits(make_release: MakeRelease) -> Answerable:
    """Two records of ages 20 to 29, two of 30 to 39; their costs are known."""
    return make_release(
        {"age": ("INTEGER", "VARCHAR"), "ward": ("VARCHAR",) * 2, "cost": ("INTEGER",) * 2},
        ROWS,
        [("age", "[20, 30)", 1, "20", "29", None), ("age", "[30, 40)", 1, "30", "39", None)],
        sources=("visits",),
    )


@pytest.mark.parametrize(
    ("asked", "lower", "upper"),
    [
        # of what is released as it is: no doubt
        ("MEDIAN(cost)", 45, 45),
        ("QUANTILE_CONT(cost, 0.9)", 74, 74),
        ("QUANTILE_DISC(cost, 0.5)", 30, 30),
        ("VAR_POP(cost)", 725, 725),
        ("VAR_SAMP(cost)", 2900 / 3, 2900 / 3),
        # the second and third of four ages
        ("MEDIAN(age)", 25, 34),
        ("QUANTILE_DISC(age, 0.5)", 20, 29),
        ("QUANTILE_CONT(age, 1)", 30, 39),
        # all at 29 and 30, which lie about 29.5; at 20 and 39
        ("VAR_POP(age)", 0.25, 90.25),
        ("VAR_SAMP(age)", 1 / 3, 361 / 3),
        # one or both of those from 30 on may be counted, or neither
        ("MEDIAN(cost) FILTER (age < 35)", 10, 60),
        ("QUANTILE_DISC(cost, 0.5) FILTER (age < 35)", 10, 30),
        ("MAX(cost) - MEDIAN(cost)", 35, 35),
    ],
)
def test_bounds_that_were_worked_out_by_hand(
    asked: str, lower: float, upper: float, session: Session, visits: Answerable
) -> None:
    ((value, *bounds),) = answer(session, f"SELECT {asked} AS x FROM visits", visits).rows
    assert bounds == [pytest.approx(lower), pytest.approx(upper)]
    assert lower - 1e-9 <= value <= upper + 1e-9


@pytest.mark.full
def test_of_one_record_there_is_no_variance(session: Session, visits: Answerable) -> None:
    text = "SELECT {} AS x FROM visits WHERE cost = 10 AND age > 0"
    assert answer(session, text.format("STDDEV(cost)"), visits).rows[0][0] is None
    assert answer(session, text.format("STDDEV_POP(cost)"), visits).rows == ((0, 0, 0),)


FLOATS = [(1.25, 17, 0.1), (1.36, 18, 0.7)]


@pytest.mark.parametrize(
    "argument",
    [
        *("x * 0.5", "de + x", "de * 3", "ROUND(de, 1)", "x % 2.5", "f", "f * 0.5", "ROUND(f, 1)"),
        "CASE WHEN x > 17 THEN 0.125 ELSE x END",
    ],
)
def test_what_would_be_rounded_between_two_values_has_to_be_cast(
    argument: str, session: Session, make_release: MakeRelease
) -> None:
    kinds = {"de": ("DECIMAL(8,2)",) * 2, "x": ("INTEGER",) * 2, "f": ("FLOAT",) * 2}
    shop = make_release(kinds, FLOATS, [], name="shop", sources=("shop",))
    for asked in ("MEDIAN({})", "QUANTILE_CONT({}, 0.333333)"):
        with pytest.raises(DataError, match="is rounded") as refusal:
            estimate(parse(f"SELECT {asked.format(argument)} AS m FROM shop", shop), shop)
        assert refusal.value.hint == "write CAST(… AS DOUBLE) in the quantile"
        text = f"SELECT {asked.format(f'CAST({argument} AS DOUBLE)')} AS m FROM shop"
        ((value, lower, upper),) = answer(session, text, shop).rows
        ((true,),) = session.rows(text)
        assert lower <= value <= upper
        assert lower <= true <= upper
        assert upper - lower <= 1e-12 * abs(upper)


def test_numbers_of_float_are_not_computed_with(
    session: Session, make_release: MakeRelease
) -> None:
    shop = make_release({"f": ("FLOAT", "FLOAT")}, [(0.1,)], [], name="shop", sources=("shop",))
    with pytest.raises(DataError, match="QUANTILE_DISC of FLOAT, which has some 7 digits"):
        estimate(parse("SELECT 1 - QUANTILE(f, 0.1) AS m FROM shop", shop), shop)
    assert answer(session, "SELECT QUANTILE(f, 0.1) AS m FROM shop", shop).rows[0][1] < 0.11


def test_what_lies_between_decimals_is_rounded_outwards(
    session: Session, make_release: MakeRelease
) -> None:
    kind = "DECIMAL(6,2)"
    shop = make_release({"pay": (kind, kind)}, [("1.01",), ("1.02",)], [], name="shop")
    found = answer(session, "SELECT MEDIAN(pay) AS m FROM people", shop)
    assert found.rows == ((pytest.approx(1.015), pytest.approx(1.01), pytest.approx(1.02)),)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("MEDIAN(ward)", "QUANTILE_CONT of ward, which is TEXT"),
        ("QUANTILE_CONT(age, [0.5])", "not one number"),
        ("QUANTILE_CONT(age, 1.5)", "from 0 to 1"),
        ("QUANTILE_CONT(age, 0.5 + 0.1)", "not one number"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC)", "another order"),
        ("STDDEV(age < 3)", "VAR_SAMP of a value of type BOOLEAN"),
        ("MEDIAN(DISTINCT age)", "DISTINCT in QUANTILE_CONT"),
    ],
)
def test_others_are_refused(asked: str, why: str, session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError) as refusal:
        answer(session, f"SELECT {asked} AS x FROM visits WHERE age > 0", visits)
    assert why in refusal.value.message


# -- of one record ---------------------------------------------------------------------------------

SINGLE = "SELECT {} AS x FROM visits WHERE {}"


def in_all_worlds(shown: str, where: str) -> set[float | None]:
    """What the original may answer, of all tables that may lie behind `visits`."""
    ages = [range(20, 30) if age == "[20, 30)" else range(30, 40) for age, _, _ in ROWS]
    found: set[float | None] = set()
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT world, age, cost "
            "FROM (SELECT UNNEST(?) AS world, UNNEST(?) AS age, UNNEST(?) AS cost)",
            [
                [n for n, _ in enumerate(itertools.product(*ages)) for _ in ROWS],
                [age for world in itertools.product(*ages) for age in world],
                [cost for _ in itertools.product(*ages) for *_, cost in ROWS],
            ],
        )
        query = f"SELECT DISTINCT {shown} FILTER ({where}) FROM visits GROUP BY world"
        found |= {row[0] for row in connection.sql(query).fetchall()}
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("where", "single"),
    [
        ("cost = 10 AND age < 90", "always"),
        ("age < 25", "maybe"),
        ("cost = 10 OR age > 37", "maybe"),
        ("age < 31 AND cost > 20", "maybe"),
        ("age < 30", "never"),
        ("cost > 50 AND age = 20", "always"),
    ],
)
@pytest.mark.parametrize("shown", ["STDDEV(cost)", "VAR_SAMP(age)"])
def test_no_number_is_claimed_where_all_worlds_have_none(
    shown: str, where: str, single: str, session: Session, visits: Answerable
) -> None:
    truth = in_all_worlds(shown, where)
    desk, text = Desk(session, visits.dictionary), SINGLE.format(shown, where)
    plan = desk.plan(text, visits)
    ((value, lower, upper),) = desk.rows(plan).rows
    numbers = [x for x in truth if x is not None]
    assert single == ("never" if None not in truth else "maybe" if numbers else "always")
    assert plan.maybe_single == (("x",) if single == "maybe" else ())
    if not numbers:
        assert (value, lower, upper) == (None, None, None)
    else:
        assert lower <= min(numbers) + 1e-9
        assert max(numbers) <= upper + 1e-9


@pytest.mark.parametrize(
    ("shown", "where", "expected"),
    [
        ("COALESCE(STDDEV(cost), 0)", "cost = 10 AND age < 90", (0, 0, 0)),
        ("STDDEV(cost) / COUNT(*)", "cost = 10 AND age < 90", (None, None, None)),
    ],
)
def test_what_is_computed_of_no_variance(
    shown: str,
    where: str,
    expected: tuple[float | None, ...],
    session: Session,
    visits: Answerable,
) -> None:
    assert answer(session, SINGLE.format(shown, where), visits).rows == (expected,)
