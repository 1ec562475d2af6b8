"""What clients find out about the tables that are served; SQLAlchemy and psql ask as they do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy
from clients import PASSWORD, Connection, connected
from sqlalchemy import MetaData, Table, select

from dbdeid.query.clients import catalog
from dbdeid.query.clients.statements import read, split
from dbdeid.serve.server import Server

psql = pytest.mark.skipif(shutil.which("psql") is None, reason="no psql here")


@pytest.fixture(scope="module")
def engine(server: Server) -> Iterator[sqlalchemy.Engine]:
    url = server.url(PASSWORD).replace(" ", "%20").replace("postgresql:", "postgresql+psycopg:")
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Connection]:
    with connected(server, PASSWORD) as connection:
        yield connection


def test_sqlalchemy_reflects_a_release(engine: sqlalchemy.Engine) -> None:
    found = sqlalchemy.inspect(engine)
    assert found.get_schema_names() == ["information_schema", "public"]
    assert found.get_table_names() == ["visits_public"]
    assert found.get_view_names() == []
    columns = {
        c["name"]: (str(c["type"]), c["comment"]) for c in found.get_columns("visits_public")
    }
    uncertain = "may be generalized: what is asked of it has bounds"
    assert columns == {
        "age": ("BIGINT", uncertain),
        "sex": ("VARCHAR", uncertain) if columns["sex"][0] == "VARCHAR" else ("TEXT", uncertain),
        "admitted": ("DATE", uncertain),
        "illness": ("TEXT", None) if columns["illness"][0] == "TEXT" else ("VARCHAR", None),
        "cost": ("NUMERIC(8, 2)", None),
        "seen": ("TIMESTAMP", None),
        "smoker": ("BOOLEAN", None),
    }
    assert found.get_pk_constraint("visits_public")["constrained_columns"] == []
    assert found.get_foreign_keys("visits_public") == []
    assert found.get_indexes("visits_public") == []
    assert found.get_unique_constraints("visits_public") == []
    assert found.get_check_constraints("visits_public") == []
    assert "bounds" in str(found.get_table_comment("visits_public")["text"])
    assert not found.has_table("secrets")


def test_sqlalchemy_asks_a_table_that_it_found(engine: sqlalchemy.Engine) -> None:
    visits = Table("visits_public", MetaData(), autoload_with=engine)
    asked = select(visits.c.sex, sqlalchemy.func.avg(visits.c.age).label("a")).group_by(
        visits.c.sex
    )
    with engine.connect() as connection:
        rows = connection.execute(asked.where(visits.c.age < 50).order_by("a")).all()
    assert set(rows[0]._mapping) == {"sex", "a", "a_lower", "a_upper"}
    assert all(row.a_lower <= row.a <= row.a_upper for row in rows)


QUESTIONS = {
    "SELECT version()": r"^PostgreSQL 15",
    "SELECT current_database()": "releases",
    "SELECT current_user || session_user": "analystanalyst",
    "SELECT current_schema": "public",
    "SELECT 'visits_public'::regclass::oid = oid FROM pg_class WHERE relname = "
    "'visits_public'": "True",
    "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'r' AND relnamespace = 2200": (
        "visits_public"
    ),
    "SELECT format_type(1700, ((10 << 16) | 2) + 4)": r"numeric\(10,2\)",
    "SELECT count(*) FROM pg_catalog.pg_index": "0",
    "SELECT nspname = ANY (current_schemas(true)) FROM pg_namespace WHERE oid = 2200": "True",
    "SELECT data_type FROM information_schema.columns WHERE column_name = 'cost'": "numeric",
    "SELECT setting FROM pg_settings WHERE name = 'server_encoding'": "UTF8",
    "SELECT set_config('application_name', 'me', false)": "me",
    "SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(visits)' COLLATE "
    "pg_catalog.default": "visits_public",
    "SELECT col_description('public.visits_public'::regclass, 1)": "generalized",
    "SELECT attnum FROM pg_attribute WHERE attrelid = 'visits_public'::regclass AND attname = "
    "'sex'": "2",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT max(i) "
    "FROM n": "3",
    "TABLE pg_am": "2",
    "VALUES (7)": "7",
    "SELECT (ARRAY['a', 'b'])[2]": "b",
    "SELECT sum(i) FROM pg_class c, generate_series(1, 3) i WHERE c.oid = 16384": "6",
    "SELECT lpad('7', 3, '0')": "007",
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_questions_about_tables(client: Connection, text: str) -> None:
    import re

    ((first, *_), *rest) = client.execute(text.encode()).fetchall()
    assert not rest
    assert re.search(QUESTIONS[text], str(first))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT range(1000000000)",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT range(n) FROM (SELECT 100000 * 100000 AS n)",
        "SELECT range('1000000000'::int)",
        "SELECT repeat('x', 1000000000)",
        "SELECT lpad('x', 1000000000, 'y')",
        "SELECT space(1000000000)",
    ],
)
def test_the_catalog_makes_nothing_long(client: Connection, text: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"letters|series"):
        client.execute(text.encode())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT 1, 'a', NULL", ["?column?", "?column?", "?column?"]),
        ("SELECT version(), Now() IS NULL AS Past", ["version", "past"]),
        ("SELECT 1::int8, (SELECT max(oid) FROM pg_class), oid FROM pg_am", ["int8", "max", "oid"]),
        ("SELECT CASE WHEN true THEN 1 END, coalesce(1, 2)", ["case", "coalesce"]),
        ('SELECT 1 AS "One"', ["One"]),
    ],
)
def test_columns_are_called_as_postgresql_calls_them(
    client: Connection, text: str, names: list[str]
) -> None:
    found = client.execute(text.encode())
    assert [column.name for column in found.description or ()] == names


@psql
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\l", "releases"),
        (r"\dn", "public"),
        (r"\dt", "visits_public"),
        (r"\dt+ visits*", "bounds where they are not exact"),
        (r"\d visits_public", "numeric(8,2)"),
        (r"\d+ visits_public", "may be generalized"),
        (r"\d secrets", 'Did not find any relation named "secrets"'),
        (r"\du", "analyst"),
        (r"\df", "0 rows"),
        (r"\dx", "0 rows"),
        (r"\conninfo", 'database "releases"'),
        (r"\set FETCH_COUNT 5 \\ SELECT cost FROM visits_public;", "cost"),
        (r"SELECT COUNT(*) AS n FROM visits_public \gdesc", "double precision"),
    ],
)
def test_psql_shows_what_is_served(server: Server, command: str, shown: str) -> None:
    done = subprocess.run(
        ["psql", "-X", "-w", server.url(None)],
        input=f"{command}\n",
        env={**os.environ, "PGPASSWORD": PASSWORD, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert shown in done.stdout + done.stderr
    assert "ERROR" not in done.stderr


def test_a_question_of_no_table_is_not_taken_for_one_to_a_release() -> None:
    standing = catalog.Standing({}, lambda _: None, lambda _, v: v, {"pg_class"}, set())

    def is_of_catalog(text: str) -> bool:
        (sent,) = split(text)
        return catalog.is_of_catalog(read(sent), standing)

    assert is_of_catalog("SELECT 1")
    assert is_of_catalog("SELECT * FROM pg_class, information_schema.anything")
    assert not is_of_catalog("SELECT * FROM pg_class, visits")
    assert not is_of_catalog("SELECT * FROM public.pg_class")
    assert not is_of_catalog("SELECT (SELECT count(*) FROM visits)")
