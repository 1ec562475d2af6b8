"""Mutants of a dictionary over columns of odd types, values and names: each is caught and named."""

from __future__ import annotations

import duckdb
import pytest
from handmade import Release, detail, failed

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import KAnonymity
from dbdeid.verify import Declared, Verification, verify_table

# Named like every alias of the queries on values and dictionary. `name` is generalized, the others
# are not; `1` stands in four columns, in `name` as a label.
COLUMNS = {
    "column": ("DATE", ["0001-01-01", "2024-02-29"]),
    "value": ("DOUBLE", ["-0.0", "nan", "inf", "1e300"]),
    "released_value": ("BOOLEAN", ["true", "false", None]),
    "level": ("VARCHAR", ["", None, "a@1", "1"]),
    "generalized": ("INTEGER", ["1", None]),
    "name": ("VARCHAR", ["1", "[1, 2)@2"]),
    "entries": ("TIMESTAMP", ["2024-02-29 00:00:00.000001"]),
    "number": ("DECIMAL(4,2)", ["1.00", "0.10"]),
}
LEVELS = dict.fromkeys(COLUMNS, 0) | {"name": 1}
DECLARED = Declared(
    release="odd",
    columns=tuple(Column(name, kind) for name, (kind, _) in COLUMNS.items()),
    quasi_identifiers=tuple(COLUMNS),
    bounds=(),
    withheld=(),
    models=(KAnonymity(model="k_anonymity", k=2),),
    transformation=LEVELS,
    tops=LEVELS | {"name": 2},
    source_rows=1536,
    suppression_limit=0.0,
    keeps_suppressed=False,
)


@pytest.fixture
def odd() -> Release:
    """Every combination of the values twice, and the dictionary of it."""
    con = duckdb.connect()
    con.execute("CREATE TABLE odd AS SELECT 0 AS twice UNION ALL SELECT 1")
    for name, (kind, values) in COLUMNS.items():
        con.execute("CREATE OR REPLACE TABLE cells AS SELECT unnest($1::VARCHAR[]) AS c", [values])
        con.execute(
            f'CREATE OR REPLACE TABLE odd AS SELECT odd.*, CAST(c AS {kind}) AS "{name}" '
            "FROM odd, cells"
        )
    con.execute("CREATE OR REPLACE TABLE odd AS SELECT * EXCLUDE (twice) FROM odd ORDER BY ALL")
    listed = " UNION ".join(
        f"""SELECT '{name}', CAST("{name}" AS VARCHAR), {LEVELS[name]}, NULL, NULL, NULL FROM odd"""
        for name in COLUMNS
    )
    con.execute(
        """CREATE TABLE dictionary ("column" VARCHAR, released_value VARCHAR, level INTEGER,
        lower VARCHAR, upper VARCHAR, leaves VARCHAR[])"""
    )
    con.execute(f"INSERT INTO dictionary FROM ({listed}) ORDER BY ALL")
    return Release(con, DECLARED)


def verified(release: Release) -> Verification:
    release.sql("CREATE OR REPLACE TABLE dictionary AS FROM dictionary ORDER BY ALL")
    release.sql("CREATE OR REPLACE TABLE odd AS FROM odd ORDER BY ALL")
    with Session.over(release.con, None, read_only=False) as session:
        listed = Relation("dictionary")
        return verify_table(session, Relation("odd"), release.declared, dictionary=listed)


def misplaced(found: Verification) -> dict[str, str]:
    """What the transformation says of each quasi-identifier that is not at its level."""
    promise = next(p for p in found.promises if p.model == "transformation")
    return {name: text for name, text in promise.found.items() if text != LEVELS[name]}


def test_columns_of_any_type_and_name_are_verified(odd: Release) -> None:
    found = verified(odd)
    assert found.verified, found.failures


ENTRY = (
    """UPDATE dictionary SET {} WHERE "column" = '{}' AND released_value IS NOT DISTINCT FROM {}"""
)
ADDED = "INSERT INTO dictionary VALUES ('{}', {}, {}, NULL, NULL, NULL)"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("statement", "wrong", "levels"),
    [
        pytest.param(
            ENTRY.format("\"column\" = 'level'", "column", "'2024-02-29'"),
            "misses 1 released values of 'column'; lists 1 values of 'level' that do not occur",
            {"column": "1 of 2"},
            id="under another column",
        ),
        pytest.param(
            """UPDATE dictionary SET "column" = CASE "column" WHEN 'level' THEN 'name'
            ELSE 'level' END WHERE "column" IN ('level', 'name') AND released_value = '1'""",
            "",
            {"level": "1 of 4", "name": "1 of 2"},
            id="levels of a text in two columns, exchanged",
        ),
        pytest.param(
            ENTRY.format("level = 0", "name", "'1'"),
            "",
            {"name": "1 of 2"},
            id="another level in one of the columns that have the text",
        ),
        pytest.param(
            ENTRY.format("level = NULL", "value", "'nan'"),
            "",
            {"value": "1 of 4"},
            id="no level",
        ),
        pytest.param(
            ADDED.format("name", "'1'", 2),
            "lists 1 values of 'name' more than once; "
            "lists 1 values of 'name' at the top that are not '*'",
            {"name": "1 of 2"},
            id="a higher level too",
        ),
        pytest.param(
            ADDED.format("name", "'1'", 0),
            "lists 1 values of 'name' more than once",
            {"name": "1 of 2"},
            id="a lower level too",
        ),
        pytest.param(
            "DELETE FROM dictionary WHERE \"column\" = 'level' AND released_value IS NULL",
            "misses 1 released values of 'level'",
            {"level": "1 of 4"},
            id="NULL not listed beside the empty text",
        ),
        pytest.param(
            ENTRY.format("released_value = ''", "generalized", "NULL"),
            "misses 1 released values of 'generalized'; "
            "lists 1 values of 'generalized' that do not occur",
            {"generalized": "1 of 2"},
            id="the empty text in place of NULL",
        ),
        pytest.param(
            ENTRY.format("released_value = NULL", "column", "'0001-01-01'"),
            "misses 1 released values of 'column'; lists 1 values of 'column' that do not occur",
            {"column": "1 of 2"},
            id="NULL in place of a date",
        ),
        pytest.param(
            ENTRY.format("released_value = '0.0'", "value", "'-0.0'"),
            "misses 1 released values of 'value'; lists 1 values of 'value' that do not occur",
            {"value": "1 of 4"},
            id="zero of another sign",
        ),
        pytest.param(
            ENTRY.format("released_value = 'NaN'", "value", "'nan'"),
            "misses 1 released values of 'value'; lists 1 values of 'value' that do not occur",
            {"value": "1 of 4"},
            id="another spelling",
        ),
        pytest.param(
            ENTRY.format("released_value = '0.1'", "number", "'0.10'"),
            "misses 1 released values of 'number'; lists 1 values of 'number' that do not occur",
            {"number": "1 of 2"},
            id="a number equal, and written otherwise",
        ),
        pytest.param(
            ENTRY.format("released_value = 'a'", "level", "'a@1'"),
            "misses 1 released values of 'level'; lists 1 values of 'level' that do not occur",
            {"level": "1 of 4"},
            id="a label without what tells its level",
        ),
        pytest.param(
            "UPDATE dictionary SET \"column\" = 'Name' WHERE \"column\" = 'name'",
            "2 entries of no quasi-identifier; misses 2 released values of 'name'",
            {"name": "2 of 2"},
            id="a name in other case",
        ),
        pytest.param(
            "INSERT INTO dictionary VALUES (NULL, '1', 0, NULL, NULL, NULL), "
            "(NULL, '1', 0, NULL, NULL, NULL), ('', NULL, 0, NULL, NULL, NULL)",
            "3 entries of no quasi-identifier",
            {},
            id="of no column",
        ),
        pytest.param(
            "DELETE FROM odd WHERE name = '1'; UPDATE dictionary SET level = 0 "
            "WHERE \"column\" = 'name' AND released_value = '1'",
            "lists 1 values of 'name' that do not occur",
            {},
            id="what occurs in other columns alone",
        ),
    ],
)
def test_a_wrong_entry(odd: Release, statement: str, wrong: str, levels: dict[str, str]) -> None:
    found = verified(odd.sql(statement).promise(suppression_limit=0.5))
    assert detail(found, "dictionary") == wrong
    are = {name: "is" if text.startswith("1 ") else "are" for name, text in levels.items()}
    texts = {n: f"{text} values {are[n]} not listed at level" for n, text in levels.items()}
    assert misplaced(found) == {name: f"{text} {LEVELS[name]}" for name, text in texts.items()}
    expected = {"dictionary"} if wrong else set()
    assert failed(found) == expected | ({"transformation"} if levels else set())


def test_a_dictionary_without_rows(odd: Release) -> None:
    found = verified(odd.sql("DELETE FROM dictionary"))
    assert failed(found) == {"dictionary", "transformation"}
    assert set(misplaced(found)) == set(COLUMNS)
    assert all(f"released values of {name!r}" in detail(found, "dictionary") for name in COLUMNS)


def test_a_dictionary_of_a_release_without_rows(odd: Release) -> None:
    found = verified(odd.sql("DELETE FROM odd").promise(suppression_limit=1.0))
    assert failed(found) == {"dictionary"}
    assert detail(found, "dictionary").count("that do not occur") == len(COLUMNS)
