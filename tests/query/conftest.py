"""A small release with every kind of released value, and a session to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.query.parse.answerable import Answerable

DICTIONARY = (
    '"column" VARCHAR, released_value VARCHAR, level INTEGER, lower VARCHAR, upper VARCHAR, '
    "leaves VARCHAR[]"
)
MakeRelease = Callable[..., Answerable]


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        opened = Session.over(connection, None, read_only=False)
        yield opened
        opened.close()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="session")
def make_release(session: Session) -> MakeRelease:
    """Write a release and its dictionary and describe them for queries."""

    def make(
        columns: dict[str, tuple[str, str]],
        rows: Sequence[Sequence[Any]],
        dictionary: Sequence[Sequence[Any]],
        *,
        name: str = "release",
        sources: tuple[str, ...] = ("people",),
        quasi_identifiers: Sequence[str] | None = None,
    ) -> Answerable:
        """`columns` maps a name to its source type and its released type."""
        table, words = quoted(name), quoted(f"{name}_dictionary")
        shape = ", ".join(f"{quoted(c)} {released}" for c, (_, released) in columns.items())
        session.execute(f"CREATE OR REPLACE TABLE {table} ({shape})")
        session.execute(f"CREATE OR REPLACE TABLE {words} ({DICTIONARY})")
        for target, content in ((table, rows), (words, dictionary)):
            if content:
                row = f"({', '.join('?' * len(content[0]))})"
                marks = ", ".join([row] * len(content))
                cells = [cell for row in content for cell in row]
                session.execute_with(f"INSERT INTO {target} VALUES {marks}", cells)
        qis = [row[0] for row in dictionary] if quasi_identifiers is None else quasi_identifiers
        return Answerable(
            source_names=sources,
            columns=tuple(Column(c, source) for c, (source, _) in columns.items()),
            quasi_identifiers=tuple(dict.fromkeys(qis)),
            release=Relation(name, tuple(Column(c, r) for c, (_, r) in columns.items())),
            dictionary=Relation(f"{name}_dictionary"),
        )

    return make


@pytest.fixture
def people(make_release: MakeRelease) -> Answerable:
    """Five records: age in intervals, sex with leaves, zip as prefixes, bmi as intervals."""
    return make_release(
        {
            "age": ("INTEGER", "VARCHAR"),
            "sex": ("VARCHAR", "VARCHAR"),
            "zip": ("VARCHAR", "VARCHAR"),
            "bmi": ("DOUBLE", "VARCHAR"),
            "job": ("VARCHAR", "VARCHAR"),
        },
        [
            ("[20, 30)", "F", "12*", "[20, 25)", "Sales"),
            ("[20, 30)", "*", "12*", "[20, 25)", "Sales"),
            ("[30, 40)", "*", "13*", "[25, 30)", "Sales"),
            ("*", "M", "*", "*", "Tech"),
            (None, None, None, None, None),
        ],
        [
            ("age", "[20, 30)", 1, "20", "29", None),
            ("age", "[30, 40)", 1, "30", "39", None),
            ("age", "*", 2, "0", "99", None),
            ("age", None, 1, None, None, None),
            ("sex", "F", 0, None, None, None),
            ("sex", "M", 0, None, None, None),
            ("sex", "*", 1, None, None, ["F", "M"]),
            ("zip", "12*", 1, None, None, None),
            ("zip", "13*", 1, None, None, None),
            ("zip", "*", 2, None, None, None),
            ("bmi", "[20, 25)", 1, "20.0", "25.0", None),
            ("bmi", "[25, 30)", 1, "25.0", "30.0", None),
            ("bmi", "*", 2, "10.0", "60.0", None),
        ],
    )


@pytest.fixture
def visits(make_release: MakeRelease) -> Answerable:
    """Three records of ages 20 to 39, one of them in another ward."""
    return make_release(
        {"age": ("INTEGER", "VARCHAR"), "ward": ("VARCHAR",) * 2, "cost": ("INTEGER",) * 2},
        [("[20, 40)", "A", 10), ("[20, 40)", "A", 30), ("[20, 40)", "B", 60)],
        [("age", "[20, 40)", 1, "20", "39", None)],
        sources=("visits",),
    )
