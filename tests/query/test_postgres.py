"""Rewritten queries on a PostgreSQL server: the same answers as in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from asking import rewrite
from engine_cases import Table, check, function_case, random_cases
from postgres_server import Server, programs, running
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.dialects.dialects import transpiled
from dbdeid.query.parse.answerable import Answerable

FOUND = programs()
pytestmark = pytest.mark.skipif(
    FOUND is None, reason="no PostgreSQL server here: initdb, postgres or psql is missing"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    assert FOUND is not None
    with running(FOUND) as started:
        yield started


@pytest.mark.full
def test_random_releases_answer_alike(session: Session, server: Server) -> None:
    asked, releases = 0, examples(8)
    for case in random_cases(session, "postgres", range(300, 300 + releases), each=4):
        server.write(case.tables)
        found = server.ask([one.written for one in case.asked])
        for one, theirs in zip(case.asked, found, strict=True):
            check(session, one, theirs)
            asked += len(theirs) > 0
    assert asked >= releases


def test_functions_give_the_same_values(session: Session, server: Server) -> None:
    case = function_case(session, "postgres")
    server.write(case.tables)
    for one, theirs in zip(case.asked, server.ask([o.written for o in case.asked]), strict=True):
        assert len(theirs) == 8
        check(session, one, theirs)


def test_text_is_in_the_order_of_its_bytes(
    session: Session, server: Server, make_release: Callable[..., Answerable]
) -> None:
    words = ["b", "A", "a", "B", "Ä"]
    target = make_release({"t": ("VARCHAR", "VARCHAR")}, [(w,) for w in words], [], sources=("x",))
    server.write([Table("release", {"t": "VARCHAR"}, [(w,) for w in words])])
    text = "SELECT t, MIN(t) AS low, COUNT(*) AS n FROM x WHERE t > 'A' GROUP BY t ORDER BY t DESC"
    ((*found,),) = server.ask([transpiled(rewrite(text, target), "postgres")])
    assert found == [tuple(row) for row in session.rows(rewrite(text, target))]
    assert [row[0] for row in found] == ["Ä", "b", "a", "B"]


def test_what_the_dictionary_lacks_stops_the_query(
    server: Server, make_release: Callable[..., Answerable]
) -> None:
    """At run time only, and without a value."""
    dictionary = {
        **{"column": "VARCHAR", "released_value": "VARCHAR", "level": "INTEGER"},
        **{"lower": "VARCHAR", "upper": "VARCHAR", "leaves": "VARCHAR[]"},
    }
    target = make_release(
        {"age": ("INTEGER", "VARCHAR")},
        [],
        [("age", "low", 1, "0", "9", None), ("age", "open", 1, "10", None, None)],
    )
    words = [("age", "low", 1, "0", "9", None), ("age", "open", 1, "10", None, None)]
    question = "SELECT COUNT(*) AS n FROM people WHERE age < 15"
    query = transpiled(rewrite(question, target), "postgres")
    for held, expected in (
        ([("low",)], [(1.0, 1.0, 1.0)]),
        ([("secret",)], "is not in the dictionary"),
        ([("open",)], "has an open end on which the query depends"),
    ):
        server.write([Table("release", {"age": "VARCHAR"}, held)])
        server.write([Table("release_dictionary", dictionary, words)])
        if isinstance(expected, list):
            assert server.ask([query]) == [expected]
            continue
        with pytest.raises(AssertionError, match=expected) as stopped:
            server.ask([query])
        assert "secret" not in str(stopped.value)
