"""Steps: holes are filled on the tree, lists only where lists fit, names never become SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine import sqltext
from dbdeid.engine.relation import Relation

FACTS = {
    "group": "SELECT __qi__, count(*) AS n FROM __rel__ GROUP BY __qi__",
    "window": "SELECT count(*) OVER (PARTITION BY __qi__ ORDER BY __qi__ DESC) AS n FROM __rel__",
    "order": "SELECT __qi__ FROM __rel__ ORDER BY __qi__ DESC NULLS FIRST",
    "qualified": "SELECT r.__qi__ FROM __rel__ AS r",
    "single": "SELECT max(__qi__) AS m FROM __rel__",
    "compare": "SELECT 1 FROM __rel__ WHERE __qi__ > $least",
    "aliased": "SELECT __qi__ AS v FROM __rel__",
    "open": "SELECT __qi__ FROM __rel__ WHERE __other__ = $x",
}
HOSTILE = st.one_of(
    st.sampled_from(
        [
            '"; DROP TABLE x; --',
            "a, b",
            "__rel__",
            "__qi__",
            "select",
            "$least",
            "*",
            "é ü",
            "x" * 500,
        ]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
)


@pytest.fixture(autouse=True)
def _facts(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = sqltext.sqlglot.parse_one
    found = {f"steps/{name}.sql": parse(text, dialect="duckdb") for name, text in FACTS.items()}
    monkeypatch.setattr(sqltext, "parsed", found.__getitem__)


def text(name: str, qi: list[str], **values: int) -> str:
    return sqltext.sql(sqltext.step(name, {"rel": Relation("t")}, {"qi": qi}, values))


def test_lists_expand_wherever_a_list_stands() -> None:
    assert text("group", ["a", "b"]) == (
        'SELECT "a", "b", COUNT(*) AS n FROM "t" GROUP BY "a", "b"'
    )
    window = text("window", ["a", "b"])
    assert 'PARTITION BY "a", "b" ORDER BY "a" DESC, "b" DESC' in window
    assert '"a" DESC NULLS FIRST, "b" DESC NULLS FIRST' in text("order", ["a", "b"])
    assert text("qualified", ["a", "b"]) == 'SELECT "r"."a", "r"."b" FROM "t" AS r'


@pytest.mark.parametrize("name", ["single", "compare", "aliased"])
def test_a_list_where_one_column_fits_is_refused(name: str) -> None:
    assert '"a"' in text(name, ["a"], least=1)
    for wrong in (["a", "b"], []):
        with pytest.raises(ValueError, match="exactly one column"):
            text(name, wrong, least=1)


def test_unfilled_holes_are_refused() -> None:
    for name in ("open", "compare"):
        with pytest.raises(ValueError, match="unfilled"):
            text(name, ["a"])
    with pytest.raises(ValueError, match="unfilled"):
        sqltext.step("group", {}, {"qi": ["a"]})


def spelled(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.full
@settings(deadline=None, max_examples=examples(50))
@given(table=HOSTILE, names=st.lists(HOSTILE, min_size=1, max_size=3, unique_by=str.lower))
def test_names_never_become_sql(table: str, names: list[str]) -> None:
    relation = Relation(table)
    query = sqltext.sql(sqltext.step("group", {"rel": relation}, {"qi": names}))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE x AS SELECT 1")
        quoted = ", ".join(f"1 AS {spelled(n)}" for n in names)
        try:
            con.execute(f"CREATE OR REPLACE TABLE {spelled(table)} AS SELECT {quoted}")
        except duckdb.Error:
            return  # no name that the engine takes
        assert len(con.extract_statements(query)) == 1
        result = con.execute(query)
        assert [column[0] for column in result.description] == [*names, "n"]
        assert result.fetchall() == [(*[1] * len(names), 1)]


def test_every_shipped_step_parses_with_its_header() -> None:
    folder = Path(sqltext.__file__).parents[2] / "sql" / "steps"
    for path in folder.glob("*.sql"):
        body = path.read_text(encoding="utf-8")
        assert body.startswith(f"-- {path.stem}"), path
        assert sqltext.sqlglot.parse_one(body, dialect="duckdb")
