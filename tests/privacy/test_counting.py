"""Classes, k and risk under every NULL policy, by rows and by subjects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import judge
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.engine.sqltext import sql
from dbdeid.privacy import Counting, KAnonymity, NullPolicy
from dbdeid.privacy.common.counting import classes
from dbdeid.privacy.risk import risk
from dbdeid.verify import verify_bare

POLICIES: tuple[NullPolicy, ...] = get_args(NullPolicy)
K = KAnonymity(model="k_anonymity", k=5)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def table(session: Session, types: str, rows: list[tuple[Any, ...]]) -> Relation:
    session.execute(f"CREATE OR REPLACE TEMP TABLE t ({types})")
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        session.cursor.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    return session.temp("t")


# -- sdcMicro's vectors ------------------------------------------------------------------------

A = (2, 3, 2, 2, 3, 3, 1, 2)
B = (3, 3, 3, 3, 3, 3, 4, 3)
COMPLETE = (1, 3, 1, 2, 1, 1, 1, 1)
INCOMPLETE = (1, 3, None, 2, 1, 1, None, 1)
WEIGHTS = (18, 45.5, 39, 17, 92, 8, 123.5, 51)


def frequencies(session: Session, c: tuple[int | None, ...], counting: Counting) -> list[int]:
    rows = list(zip(range(8), A, B, c, strict=True))
    found = table(session, "i INTEGER, a INTEGER, b INTEGER, c INTEGER", rows)
    query = sql(classes(found, ["a", "b", "c"], counting))
    return [
        size
        for (size,) in session.rows(
            f"SELECT class_size FROM t JOIN ({query}) ON a = qi_0 AND b = qi_1 "
            "AND c IS NOT DISTINCT FROM qi_2 ORDER BY i"
        )
    ]


@pytest.mark.parametrize(
    ("c", "policy", "expected"),
    [
        (COMPLETE, "own_category", [3, 1, 3, 1, 2, 2, 1, 3]),
        (COMPLETE, "wildcard", [3, 1, 3, 1, 2, 2, 1, 3]),
        (COMPLETE, "exclude", [3, 1, 3, 1, 2, 2, 1, 3]),
        (INCOMPLETE, "own_category", [2, 1, 1, 1, 2, 2, 1, 2]),
        (INCOMPLETE, "wildcard", [3, 1, 4, 2, 2, 2, 1, 3]),
        (INCOMPLETE, "exclude", [2, 1, None, 1, 2, 2, None, 2]),
    ],
)
def test_sample_frequencies(
    session: Session, c: tuple[int | None, ...], policy: NullPolicy, expected: list[int]
) -> None:
    assert frequencies(session, c, Counting(policy)) == expected


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        (COMPLETE, [108, 45.5, 108, 17, 100, 100, 123.5, 108]),
        (INCOMPLETE, [108, 45.5, 125, 56, 100, 100, 123.5, 108]),
    ],
)
def test_weighted_frequencies_are_the_weights_of_the_records_that_match(
    session: Session, c: tuple[int | None, ...], expected: list[float]
) -> None:
    """A record of weight w as 2w records: the frequencies are then twice the weighted ones."""
    rows = [
        row
        for row, weight in zip(zip(A, B, c, strict=True), WEIGHTS, strict=True)
        for _ in range(int(2 * weight))
    ]
    found = table(session, "a INTEGER, b INTEGER, c INTEGER", rows)
    sizes = {
        tuple(row[:3]): row[-1] / 2
        for row in session.rows(classes(found, ["a", "b", "c"], Counting("wildcard")))
    }
    assert [sizes[row] for row in zip(A, B, c, strict=True)] == expected


# -- facts -------------------------------------------------------------------------------------

# two people fill the class of three rows; one row of 30 has no year, one visit has no person
VISITS = [
    ("a", 20, 1),
    ("a", 20, 1),
    ("b", 20, 1),
    ("c", 30, 1),
    ("d", 30, 1),
    ("e", 30, None),
    (None, 30, 1),
]


@pytest.mark.parametrize(
    ("counting", "k", "expected"),
    [
        (Counting(), 1, (7, 7, 3, 1, 1.0, 3 / 7, 1, 7)),
        (Counting("wildcard"), 3, (7, 7, 3, 3, 1 / 3, (1 + 3 / 4 + 1 / 4) / 7, 0, 3)),
        (Counting("exclude"), 0, (7, 7, 2, 3, 1 / 3, 2 / 6, 0, 7)),
        (Counting("own_category", "p"), 1, (7, 5, 3, 1, 1.0, (4 / 2 + 1) / 5, 1, 7)),
        (Counting("wildcard", "p"), 2, (7, 5, 3, 2, 1 / 2, (2 / 2 + 3 / 3) / 5, 0, 3)),
        (Counting("exclude", "p"), 0, (7, 5, 2, 2, 1 / 2, 1 / 2, 0, 7)),
    ],
)
def test_seven_visits_of_five_people(
    session: Session, counting: Counting, k: int, expected: tuple[Any, ...]
) -> None:
    found = table(session, "p VARCHAR, a INTEGER, b INTEGER", VISITS)
    assert session.row(K.measure(found, ["a", "b"], counting)) == (k,)
    at_risk = 4 if counting.null_policy != "wildcard" else (4 if not counting.subject else 3)
    measured = risk.measure(session, found, ["a", "b"], at_risk, counting)
    assert tuple(measured.to_dict().values())[1:] == pytest.approx(expected)
    assert measured.null_policy == counting.null_policy


@pytest.mark.parametrize(
    ("counting", "told"),
    [
        (Counting("exclude"), {"null_policy": "exclude"}),
        (Counting(subject="p"), {"null_policy": "own_category", "subject": "p"}),
    ],
)
def test_k_of_any_table_is_told_with_how_it_was_counted(
    session: Session, counting: Counting, told: dict[str, str]
) -> None:
    found = table(session, "p VARCHAR, a INTEGER, b INTEGER", VISITS)
    promise, *_ = verify_bare((session, found), ("a", "b"), 2, counting=counting).promises
    assert promise.declared == {"k": 2, **told}


def test_a_class_of_unknown_people_breaks_every_promise(session: Session) -> None:
    found = table(session, "p INTEGER, a INTEGER", [(None, 1)] * 9)
    counting = Counting(subject="p")
    assert session.row(K.measure(found, ["a"], counting)) == (0,)
    assert not KAnonymity(model="k_anonymity", k=1).holds(0)
    measured = risk.measure(session, found, ["a"], 1, counting)
    assert (measured.k, measured.highest_risk, measured.average_risk) == (0, 1.0, None)
    assert (measured.subjects, measured.unique_records, measured.records_at_risk) == (0, 9, 9)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("subject", [None, "p"])
def test_an_empty_table(session: Session, policy: NullPolicy, subject: str | None) -> None:
    found = table(session, "p INTEGER, a INTEGER", [])
    counting = Counting(policy, subject)
    assert session.row(K.measure(found, ["a"], counting)) == (None,)
    measured = risk.measure(session, found, ["a"], 5, counting)
    assert tuple(measured.to_dict().values()) == (policy, 0, 0, 0, None, None, None, 0, 0)
    assert risk.histogram(session, found, ["a"], counting) == ()


OURS = ["qi_0", "qi_1", "subject", "records", "class_size", "cells", "pattern", "other", "seen"]
OURS += ["met", "marked", "found", "groups", "classes", "select", 'quo"te', "__qi__", "meetings"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", OURS)
def test_no_name_of_the_table_meets_one_of_ours(
    session: Session, policy: NullPolicy, name: str
) -> None:
    """The table, a quasi-identifier or the subject may be called like anything in the queries."""
    quoted = '"' + name.replace('"', '""') + '"'
    others = [other for other in OURS if other != name and '"' not in other]
    spare = ", ".join(f'i AS "{other}"' for other in others)
    session.execute(
        f"CREATE OR REPLACE TEMP TABLE {quoted} AS "
        f"SELECT i % 2 AS {quoted}, i // 2 AS person, {spare} FROM range(8) AS r(i)"
    )
    for qis, counting, expected in (
        ([name], Counting(policy, "person"), (4, 2, 8)),
        ([name, others[0]], Counting(policy, name), (1, 8, 8)),
    ):
        (size,) = risk.histogram(session, Relation(name), qis, counting)
        assert (size.class_size, size.classes, size.records) == expected
        assert risk.measure(session, session.temp(name), qis, 2, counting).classes == size.classes
    session.drop_temp(name)


def test_counting_rows_is_a_plain_group_by(session: Session) -> None:
    found = table(session, "a INTEGER, b INTEGER", [(1, None)])
    text = sql(classes(found, ["a", "b"]))
    assert "JOIN" not in text
    assert text.count("GROUP BY") == 1


# -- brute force -------------------------------------------------------------------------------

cells = st.one_of(st.none(), st.integers(0, 2))
tables = st.lists(
    st.tuples(cells, cells, cells, st.one_of(st.none(), st.integers(0, 5))), max_size=14
)
TYPES = "a INTEGER, b VARCHAR, c DOUBLE, p INTEGER"


@settings(max_examples=examples(50), deadline=None)
@given(records=tables, policy=st.sampled_from(POLICIES), people=st.booleans(), k=st.integers(1, 4))
def test_counting_agrees_with_the_definitions(
    session: Session, records: list[tuple[Any, ...]], policy: NullPolicy, people: bool, k: int
) -> None:
    rows = [(a, None if b is None else str(b), c, p) for a, b, c, p in records]
    found = table(session, TYPES, rows)
    counting = Counting(policy, "p" if people else None)
    judged = judge(rows if people else [row[:3] for row in rows], 3 if people else None, counting)
    names = ["a", "b", "c"]
    session.run(Step("found_classes", classes(found, names, counting)))
    written = {tuple(row[:3]): row[3:] for row in session.rows("FROM found_classes")}
    assert written == judged.sizes
    assert session.row(K.measure(found, names, counting)) == (judged.smallest,)
    sizes = risk.histogram(session, found, names, counting)
    assert [(s.class_size, s.classes, s.records) for s in sizes] == judged.histogram()
    measured = risk.measure(session, found, names, k, counting).to_dict()
    assert measured == pytest.approx(judged.risk(k))
