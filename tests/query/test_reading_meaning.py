"""A query and the question that is read from it have the same answer on raw tables.

DuckDB answers the analyst's own text; `raw_tables.meaning` puts the question together from its
parts. So every rule of names, aliases, subqueries and joins is DuckDB's own.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from raw_tables import ACCEPTED, COLUMNS, PEOPLE, REGIONS, answered, filled, meaning
from sqlglot import exp
from tiers import examples

from dbdeid.errors import DataError
from dbdeid.query.parse.reading import parse


@pytest.fixture(scope="module")
def raw() -> Iterator[duckdb.DuckDBPyConnection]:
    with filled() as connection:
        yield connection


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_query_is_read_as_duckdb_reads_it(text: str, raw: duckdb.DuckDBPyConnection) -> None:
    question = parse(text, PEOPLE)
    assert answered(raw, meaning(question)) == answered(raw, text)


# -- random queries -----------------------------------------------------------------------------

KNOWN = {*COLUMNS, *REGIONS.names}
NAMES = ["age", "sex", "zip", "bmi", "job", "n", "k"]
NUMBERS = st.sampled_from(["age", "bmi", "age + 1", "bmi - age", "-age", "age * 2", "(age)"])
TEXTS = st.sampled_from(["sex", "zip", "job", "sex || zip", "left(job, 1)", "COALESCE(sex, job)"])
CONDITIONS = st.recursive(
    st.one_of(
        st.builds("{} > {}".format, NUMBERS, st.integers(-5, 60)),
        st.builds("{} BETWEEN {} AND 45".format, NUMBERS, st.integers(18, 40)),
        st.builds("{} = 'M'".format, TEXTS),
        st.builds("{} LIKE '1%'".format, TEXTS),
        st.builds("{} IS NULL".format, TEXTS),
        st.builds("{} IN ('F', '11', 'Tech')".format, TEXTS),
    ),
    lambda inner: st.one_of(
        st.builds("{} AND {}".format, inner, inner),
        st.builds("{} OR {}".format, inner, inner),
        st.builds("NOT {}".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=4,
)
AGGREGATES = st.one_of(
    st.just("COUNT(*)"),
    st.builds("{}({})".format, st.sampled_from(["SUM", "MIN", "MAX", "COUNT"]), NUMBERS),
    st.builds("{}({})".format, st.sampled_from(["MIN", "MAX", "COUNT"]), TEXTS),
    st.builds("COUNT(DISTINCT {})".format, TEXTS),
    st.builds("SUM({}) FILTER ({})".format, NUMBERS, CONDITIONS),
    st.builds("COUNT_IF({})".format, CONDITIONS),
)
SHOWN = st.one_of(
    AGGREGATES,
    st.builds("ROUND({} * 2.5 - 1, 1)".format, st.sampled_from(["SUM(bmi)", "MAX(age)"])),
    st.builds("1 - (2 - {})".format, st.sampled_from(["COUNT(*)", "SUM(age)"])),
)
KEYS = st.one_of(NUMBERS, TEXTS)


@st.composite
def queries(draw: st.DrawFn) -> str:
    keys = draw(st.lists(KEYS, max_size=2))
    shown = draw(st.lists(SHOWN, min_size=1, max_size=3))
    aliases = draw(st.permutations(NAMES))
    items = [f"{item} AS {alias}" for item, alias in zip([*keys, *shown], aliases, strict=False)]
    text = f"SELECT {', '.join(items)} FROM {draw(sources())}"
    if draw(st.booleans()):
        text += f" WHERE {draw(CONDITIONS)}"
    if keys:
        places = ", ".join(str(place) for place in range(1, len(keys) + 1))
        text += f" GROUP BY {draw(st.sampled_from(['ALL', places]))}"
    if draw(st.booleans()):
        term = draw(st.sampled_from([*aliases[: len(items)], "COUNT(*)", "SUM(age)"]))
        text += f" HAVING {term} IS NOT NULL AND {draw(AGGREGATES)} IS NOT NULL"
    terms = draw(st.lists(st.sampled_from([*aliases[: len(items)], "-COUNT(*)", "1"]), max_size=2))
    # every row has its place, so that the answers can be compared row by row
    places = ", ".join([*terms, *map(str, range(1, len(items) + 1))])
    return f"{text} ORDER BY {places} LIMIT {draw(st.integers(0, 50))}"


@st.composite
def sources(draw: st.DrawFn) -> str:
    text = "people"
    for _ in range(draw(st.integers(0, 2))):
        columns = draw(
            st.sampled_from(
                [
                    "*",
                    "age, sex, zip, bmi, job",
                    "age + 1 AS age, job AS sex, zip, bmi * 2 AS bmi, sex AS job",
                    "* EXCLUDE (job), upper(job) AS job",
                    "age AS a, -a AS age, bmi, sex, zip, job",
                ]
            )
        )
        where = draw(st.one_of(st.just("TRUE"), CONDITIONS))
        text = f"(SELECT {columns} FROM {text} WHERE {where})"
    join = st.sampled_from(["", " AS s", " AS s LEFT JOIN regions USING (zip)"])
    return text + draw(join)


@pytest.mark.parametrize("keys", ["ALL", "people.job", "1"])
def test_a_key_that_is_called_like_another_item(keys: str, raw: duckdb.DuckDBPyConnection) -> None:
    having = f"GROUP BY {keys} HAVING job IS NOT NULL ORDER BY 1"
    text = f"SELECT job AS age, COUNT(*) AS job FROM people {having}"
    if keys == "ALL":  # DuckDB takes it for the alias there, and for the column where keys stand
        with pytest.raises(DataError, match="another's alias"):
            parse(text, PEOPLE)
    else:
        assert answered(raw, meaning(parse(text, PEOPLE))) == answered(raw, text)
    plain = f"SELECT job AS job, COUNT(*) AS n FROM people {having}"
    assert answered(raw, meaning(parse(plain, PEOPLE))) == answered(raw, plain)


@pytest.mark.full
@settings(max_examples=examples(100), deadline=None)
@given(text=queries())
def test_random_queries_are_read_as_duckdb_reads_them(
    text: str, raw: duckdb.DuckDBPyConnection
) -> None:
    try:
        found = answered(raw, text)
    except duckdb.BinderException:  # no query on the source either: an alias hides a column
        reject()
    try:
        question = parse(text, PEOPLE)
    except DataError as error:
        if "under GROUP BY ALL" not in str(error):
            raise
        reject()
    assert answered(raw, meaning(question)) == found
    assert {c.name for key in question.keys for c in key.find_all(exp.Column)} <= KNOWN
