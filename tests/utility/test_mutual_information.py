"""What classes tell of a sensitive column, against a few lines of Python and by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log2
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.utility.mutual_information import MutualInformation, mutual_information

Row = tuple[Any, ...]  # two quasi-identifiers and the sensitive value
# Names that a query of ours could mistake for its own.
NAMES = ("records", "qi_0", "value")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        yield opened


def measured(session: Session, source: Sequence[Row], released: Sequence[Row]) -> MutualInformation:
    for table, rows in (("source", source), ("released", released)):
        columns = ", ".join(f'"{name}" VARCHAR' for name in NAMES)
        session.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
        if rows:
            cells = ", ".join(
                "(" + ", ".join("NULL" if c is None else f"'{c}'" for c in row) + ")"
                for row in rows
            )
            session.execute(f"INSERT INTO {table} VALUES {cells}")
    return mutual_information(
        session, Relation("source"), Relation("released"), NAMES[:2], NAMES[2]
    )


def entropy(things: Sequence[Any]) -> float:
    return sum(n / len(things) * log2(len(things) / n) for n in Counter(things).values())


def information(rows: Sequence[Row]) -> float:
    classes, values = [row[:2] for row in rows], [row[2] for row in rows]
    return entropy(classes) + entropy(values) - entropy(rows)


def test_by_hand(session: Session) -> None:
    """Classes {f, f, m} and {m}: H(S) = 1, H(S | class) = 3/4 · .918296 = .688722."""
    source = [("1", "a", "f"), ("2", "a", "f"), ("3", "a", "m"), ("4", "b", "m")]
    released = [("*", "a", "f"), ("*", "a", "f"), ("*", "a", "m"), ("*", "b", "m")]
    found = measured(session, source, released)
    assert (found.entropy, found.source) == (1, 1)
    assert found.release == found.gain == pytest.approx(0.311278, abs=1e-6)
    assert found.lost == pytest.approx(0.688722, abs=1e-6)


def test_what_was_removed_is_one_class(session: Session) -> None:
    source = [("1", "a", "f"), ("1", "a", "f"), ("3", "b", "m"), ("4", "c", "m")]
    found = measured(session, source, source[:2])
    assert (found.release, found.lost) == (1, 0)
    assert measured(session, source, []).release == 0


def test_what_is_a_function_of_the_classes_never_tells_more(session: Session) -> None:
    source = [("1", "a", "f"), ("1", "a", "m"), ("2", "b", "f"), ("3", "b", "f")]
    assert measured(session, source, source).lost == 0
    assert measured(session, source, source[:2]).lost >= 0
    # one of two rows that the source does not tell apart
    assert measured(session, source, [source[0], *source[2:]]).lost < 0


def test_a_constant_column_has_nothing_to_tell(session: Session) -> None:
    rows = [("1", "a", None), ("2", "b", None)]
    assert measured(session, rows, rows) == MutualInformation(0, 0, 0)
    assert measured(session, rows, rows).gain == 0


CELLS = st.sampled_from(["a", "b", "c", None])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=25)


@pytest.mark.full
@given(ROWS, st.sets(st.integers(0, 24)), st.booleans())
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_is_what_counting_finds(
    session: Session, source: list[Row], removed: set[int], generalized: bool
) -> None:
    stays = [i for i in range(len(source)) if i not in removed]
    released = [("*" if generalized else source[i][0], *source[i][1:]) for i in stays]
    gone = [("-", "-", source[i][2]) for i in range(len(source)) if i in removed]
    found = measured(session, source, released)
    assert found.entropy == pytest.approx(entropy([row[2] for row in source]), abs=1e-12)
    assert found.source == pytest.approx(information(source), abs=1e-12)
    assert found.release == pytest.approx(information([*released, *gone]), abs=1e-12)
    assert found.lost == pytest.approx(found.source - found.release, abs=1e-11)
    assert 0 <= found.gain <= 1
