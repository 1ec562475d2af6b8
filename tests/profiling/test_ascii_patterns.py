"""Patterns for ASCII values find what those with the letters of all scripts find."""

from __future__ import annotations

import random

import duckdb
import pytest
from sqlglot import exp

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql, step
from dbdeid.profiling.shapes import in_ascii, looked_for, staged

ASCII = [chr(i) for i in range(1, 128)]
PLACES = ("{}", "[{}]", "[^{}]", "[{}'-]", "[^0-9{}]", "(?i){}", "(?i)[^{}]", "(?i)[{}0-9]")
STEPS = ("profiling/value_shapes", "profiling/lookalikes")
# What the patterns are about, to be put together at random.
PIECES = (
    *("van", "de", "la", "Dr", "Dr. ", "Mrs", "Herr ", "Sig.", "O'", "Smith", "Mc", "ROE", "jane"),
    *("J.", "J. ", "K", "tel ", "Fax: ", "born", " on ", "geb. ", "dob ", "@", "mail.com", "www."),
    *("http://", "1999", "2021", "12", "31", "7", "-", "/", ".", " ", ", ", ":", "May", "January"),
    *(
        "st",
        "th",
        " de ",
        "rue ",
        "Street",
        " Ave",
        "12a",
        "E11.9",
        "V45",
        "555-",
        "0049",
        "+",
        "(",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "to ",
        "years",
        "<",
        "*",
        "\\",
        "^",
        "|",
        "'",
        "_",
        ".jpg",
        "02139",
        "W12",
    ),
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("letters", [r"\p{L}", r"\p{Lu}", r"\p{Ll}"])
@pytest.mark.parametrize("place", PLACES)
def test_a_letter_is_the_same_question_of_each_character(letters: str, place: str) -> None:
    plain = place.format(letters)
    short = in_ascii(plain)
    assert "p{" not in short
    with duckdb.connect() as con:
        query = "SELECT regexp_full_match(c, $p) FROM (SELECT unnest($all) AS c)"
        found = [con.execute(query, {"p": p, "all": ASCII}).fetchall() for p in (plain, short)]
    assert found[0] == found[1]
    assert (True,) in found[0]


def test_what_is_no_letter_stays() -> None:
    plain = r"[\[(]?[0-9]\p{L}\\p|\.[\]\p{Ll}]\p{Lu}"
    assert in_ascii(plain) == r"[\[(]?[0-9][A-Za-z]\\p|\.[\]a-z][A-Z]"


def values(session: Session, texts: list[str]) -> Relation:
    """A table of one row with a column for each text."""
    cells = [exp.alias_(exp.Literal.string(t), f"c{i}") for i, t in enumerate(texts)]
    session.execute(f"CREATE OR REPLACE TEMP TABLE given AS {sql(exp.select(*cells))}")
    columns = tuple(Column(f"c{i}", "VARCHAR") for i in range(len(texts)))
    return Relation("given", columns, "main", "temp")


@pytest.mark.full
def test_every_value_looks_the_same() -> None:
    rng = random.Random(8)
    texts = ["".join(rng.choices(PIECES, k=rng.randint(1, 6))) for _ in range(150)]
    with Session.open(None, read_only=False) as session:
        table = values(session, texts)
        with staged(session, table, table.columns) as looked_at:
            for name in STEPS:
                plain = step(name, {"rel": looked_at})
                short = looked_for(session, name, looked_at)
                assert r"\p{" in sql(plain)
                assert r"\p{" not in short
                assert sorted(map(repr, session.rows(plain))) == sorted(
                    map(repr, session.rows(short))
                )


def test_one_other_letter_keeps_all_patterns() -> None:
    with Session.open(None, read_only=False) as session:
        table = values(session, ["Jane Roe", "Jürgen Weiß"])
        with staged(session, table, table.columns) as looked_at:
            for name in STEPS:
                assert looked_for(session, name, looked_at) == sql(step(name, {"rel": looked_at}))
