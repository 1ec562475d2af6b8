"""(ε, m)-anonymity of a written table: the definition judges, and mutants of a class are caught."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import brute
import duckdb
import pyarrow as pa
import pytest
from brute import counts, model
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Declared, Promise, verify_table

Row = tuple[str, float | None, int]  # class, value, person
NEAR = model("em_anonymity", column="wage", epsilon=5.0, m=3)


def judged(
    rows: Sequence[Row],
    *,
    asked: Any = NEAR,
    by_subject: bool = False,
    as_written: bool = False,
    source: Sequence[Row] | None = None,
) -> Promise:
    """The promise of the model on a table that is released as it is."""
    declared = Declared(
        release="t",
        columns=(Column("ward", "VARCHAR"), Column("wage", "DOUBLE")),
        quasi_identifiers=("ward",),
        bounds=(),
        withheld=(),
        models=(asked,),
        transformation={"ward": 0},
        tops={"ward": 2},
        source_rows=len(source or rows),
        suppression_limit=1.0,
        keeps_suppressed=False,
        null_policy="own_category",
        subject="person" if by_subject else None,
        as_written=("wage",) if as_written else (),
    )
    with duckdb.connect() as con:
        for name, given_ in (("source", source or rows), ("t", rows)):
            ward, wage, person = zip(*given_, strict=True)
            table = pa.table({"ward": ward, "wage": pa.array(wage, pa.float64()), "person": person})
            con.register("given", table)
            con.execute(f"CREATE TABLE {name} AS FROM given")
        con.execute("ALTER TABLE t DROP COLUMN person")
        con.execute(
            "CREATE TABLE h (hierarchy VARCHAR, level INTEGER, value VARCHAR, label VARCHAR)"
        )
        with Session.over(con, None, read_only=False) as session:
            found = verify_table(
                session,
                Relation("t"),
                declared,
                dictionary=None,
                source=Relation("source"),
                hierarchies=Relation("h"),
            )
    (promise,) = [p for p in found.promises if p.model == asked.model]
    return promise


def ward(name: str, *values: float | None, first: int = 0) -> list[Row]:
    return [(name, value, first + i) for i, value in enumerate(values)]


# Two wards of six: around each wage two of six people, a third.
KEPT = [*ward("a", 10, 14, 30, 33, 50, 52), *ward("b", 0, 5, 11, 16, 22, 27, first=10)]


def test_what_is_kept_is_found() -> None:
    promise = judged(KEPT)
    assert (promise.model, promise.found, promise.holds) == ("em_anonymity", 3, True)
    assert promise.declared == {"column": "wage", "epsilon": 5.0, "m": 3}


MUTANTS: dict[str, list[Row]] = {
    "a wage moved to within epsilon of two others": [
        ("a", 15, 9) if r[1] == 30 else r for r in KEPT
    ],
    "a wage moved to exactly epsilon of two others": [
        ("a", 19, 9) if r[1] == 30 else r for r in KEPT
    ],
    "a record left out, so that two are more than a third": [r for r in KEPT if r[1] != 50],
    "a wage made that of another": [("b", 0, 9) if r[1] == 11 else r for r in KEPT],
    "a wage made missing": [("b", None, 9) if r[1] == 22 else r for r in KEPT],
    "two records swapped between classes": [
        ("b", 14, 9) if r[1] == 16 else ("a", 16, 8) if r[1] == 52 else r for r in KEPT
    ],
    "one class made of two": [("a" if r[1] in (0, 5) else r[0], *r[1:]) for r in KEPT],
    "all of a class near": [r if r[0] == "a" else ("b", 20 + r[1] / 6, r[2]) for r in KEPT],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    promise = judged(MUTANTS[name])
    assert not promise.holds
    assert promise.found < 3


def test_a_wage_moved_out_of_reach_is_no_harm() -> None:
    moved = [("a", 20.0, 9) if r[1] == 14 else r for r in KEPT]
    assert judged(moved).holds


@pytest.mark.full
def test_people_count_where_they_are_known() -> None:
    """Three people of two records each: around each wage there is one of them."""
    rows = [("a", wage, person) for person, wage in [(1, 0), (2, 20), (3, 40)] for _ in range(2)]
    assert judged(rows, by_subject=True).found == 3
    two = [("a", 0, 1), ("a", 3, 1), ("a", 20, 2), ("a", 40, 3)]
    promise = judged(two, by_subject=True)  # both records of one person are near each other
    assert (promise.found, promise.holds) == (1.5, False)
    assert judged([*rows, ("a", 0, 2)], by_subject=True).found == 1.5  # a second one has it


def test_nobody_is_near_in_an_empty_release() -> None:
    assert NEAR.holds(None)


cells = st.none() | st.integers(0, 12).map(lambda n: n / 2)
tables = st.lists(
    st.tuples(st.sampled_from("ab"), cells, st.integers(1, 6)), min_size=1, max_size=14
)


@pytest.mark.full
@given(
    rows=tables,
    epsilon=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    by_subject=st.booleans(),
    as_written=st.booleans(),
)
@settings(max_examples=examples(20), deadline=None)
def test_what_is_found_is_what_the_definition_gives(
    rows: list[Row], epsilon: float, by_subject: bool, as_written: bool
) -> None:
    asked = model("em_anonymity", column="wage", epsilon=epsilon, m=2)
    records = [(class_, person, value) for class_, value, person in rows]
    least = min(
        brute.near(
            counts(
                [r for r in records if r[0] == class_],
                by_subject=by_subject,
                nullable=not as_written,
            ),
            epsilon,
        )
        for class_ in {row[0] for row in rows}
    )
    promise = judged(rows, asked=asked, by_subject=by_subject, as_written=as_written)
    assert promise.found == pytest.approx(float(least), rel=1e-12)
    assert promise.holds == (least >= 2)
