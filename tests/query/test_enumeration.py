"""The rewritten COUNT(*) is the expectation over all leaves with its bounds, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from asking import bounded, rewrite, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from leaf_worlds import (
    COLUMNS,
    CONDITIONS,
    JOBS,
    KEYS,
    Condition,
    Groups,
    World,
    constants,
    counted,
    worlds,
)
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.rewrite import released

RANDOM = settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


WORLDS = given(
    world=worlds(),
    keys=st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True),
    where=st.none() | CONDITIONS,
    few=st.sampled_from([0, released.FEW]),
    data=st.data(),
)


def counting(keys: list[str], where: Condition | None) -> str:
    text = f"SELECT {', '.join([*keys, 'COUNT(*)'])} FROM people"
    text += f" WHERE {where.text}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def compare(found: list[tuple[Any, ...]], truth: Groups) -> None:
    assert len(found) == len(truth)
    assert {row[:-3]: row[-2:] for row in found} == {
        key: (group.certain, group.possible) for key, group in truth.items()
    }
    masses = {row[:-3]: row[-3] for row in found}
    assert masses == pytest.approx({key: g.mass for key, g in truth.items()}, abs=1e-9)


@RANDOM
@WORLDS
def test_a_count_is_the_expectation_over_the_leaves(
    session: Session,
    make_release: Callable[..., Answerable],
    world: World,
    keys: list[str],
    where: Condition | None,
    few: int,
    data: st.DataObject,
) -> None:
    target = make_release(COLUMNS, world.rows, world.dictionary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(released, "FEW", few)
        found = bounded(session, counting(keys, where), target)
    compare(found, counted(world, keys, where))
    if where is None:
        assert sum(row[-3] for row in found) == pytest.approx(len(world.rows), abs=1e-9)


@pytest.mark.full
@RANDOM
@WORLDS
def test_a_record_counts_as_probably_as_it_is_real(
    session: Session,
    make_release: Callable[..., Answerable],
    world: World,
    keys: list[str],
    where: Condition | None,
    few: int,
    data: st.DataObject,
) -> None:
    chances = st.sampled_from([0.0, 0.25, 2 / 3, 1.0])
    count = len(world.rows)
    weights = data.draw(st.lists(chances, min_size=count, max_size=count))
    weighed = [(*row, weight) for row, weight in zip(world.rows, weights, strict=True)]
    made = make_release({**COLUMNS, "part_0": ("DOUBLE", "DOUBLE")}, weighed, world.dictionary)
    target = replace(made, columns=made.columns[:-1], weight="part_0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(released, "FEW", few)
        query = rewrite(counting(keys, where), target)
        found = session.rows(query)
    compare(found, counted(world, keys, where, weights))
    assert [c.type for c in session.describe(query)][-3:] == ["DOUBLE", "BIGINT", "BIGINT"]


@pytest.mark.full
@RANDOM
@given(
    people=st.lists(
        st.tuples(
            st.none() | constants("age"),
            st.none() | constants("sex"),
            st.none() | constants("day"),
            st.none() | constants("bmi"),
            st.sampled_from(JOBS),
            st.none() | st.integers(0, 3),
        ),
        max_size=8,
    ),
    keys=st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True),
    where=st.none() | CONDITIONS,
)
def test_raw_columns_answer_like_the_source(
    session: Session,
    make_release: Callable[..., Answerable],
    people: list[tuple[Any, ...]],
    keys: list[str],
    where: Condition | None,
) -> None:
    raw = {name: (source, source) for name, (source, _) in COLUMNS.items()}
    source = make_release(raw, people, [], name="people", quasi_identifiers=["age"])
    texts = {name: (source, "VARCHAR") for name, (source, _) in COLUMNS.items()}
    texts["hours"] = ("INTEGER", "INTEGER")
    words = [tuple(None if v is None else str(v) for v in row[:5]) + row[5:] for row in people]
    dictionary = [
        (name, value, 0, None, None, None)
        for place, name in enumerate(("age", "sex", "day", "bmi"))
        for value in {row[place] for row in words}
    ]
    target = make_release(
        texts, words, dictionary, name="raw", quasi_identifiers=["age", "sex", "day", "bmi"]
    )
    text = f"SELECT {', '.join([*keys, 'COUNT(*) AS n'])} FROM people"
    text += f" WHERE {where.text}" if where else ""
    text += f" GROUP BY {', '.join(keys)} ORDER BY n DESC, {', '.join(keys)}" if keys else ""
    truth = session.rows(text)
    assert rows(session, text, target) == truth
    assert rows(session, text, source) == truth
