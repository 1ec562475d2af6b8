"""What the values of a release made elsewhere stand for: hierarchies, dictionaries, domains."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
from foreign import QI, check, promise, spec

import dbdeid


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


TREE = "a;early;*\nb;early;*\ny;late;*\nz;late;*\n"


def of_one(
    con: duckdb.DuckDBPyConnection,
    values: list[str | None],
    kind: str,
    originals: list[Any],
    **keys: Any,
) -> dict[str, Any]:
    """A spec of a table with one quasi-identifier `x`, released as these values."""
    con.execute(f"CREATE OR REPLACE TABLE people (x {kind})")
    con.executemany("INSERT INTO people VALUES (?)", [(v,) for v in originals])
    con.execute("CREATE OR REPLACE TABLE anon (x VARCHAR)")
    con.executemany("INSERT INTO anon VALUES (?)", [(v,) for v in values])
    return spec(
        columns={"x": {"role": QI, **keys}},
        privacy=[{"model": "k_anonymity", "k": 1}],
        method={"name": "external", "table": "anon"},
    )


def asked(con: Any, declared: dict[str, Any], where: str) -> tuple[Any, ...]:
    """The expected count of a condition, and its bounds."""
    text = f"SELECT count(*) AS n FROM people WHERE {where}"
    (row,) = dbdeid.query(declared, text, con).rows
    return row


# Of each kind: released values, the type of the original and its values, what is declared.
KINDS: dict[str, tuple[list[str | None], str, list[Any], dict[str, Any]]] = {
    "csv": (["early", "z", "*"], "VARCHAR", ["a", "z", "y"], {"hierarchy": "tree.csv"}),
    "groups": (["low", "3", "*"], "INTEGER", [1, 3, 2], {
        "hierarchy": {"groups": [{"low": ["1", "2"], "high": ["3", "4"]}]}}),
    "table": (["early", "z", "*"], "VARCHAR", ["a", "z", "y"], {"hierarchy": {"table": "tree"}}),
    "intervals": (["[20, 30)", "[5, 10)", "7", ">= 60"], "INTEGER", [22, 9, 7, 99], {
        "hierarchy": {"intervals": [5, 10], "lower": 0, "upper": 60}}),
    "dates": (["2019-Q3", "2019", "2018-05-01"], "DATE", ["2019-08-01", "2019-01-01", "2018-05-01"],
        {"hierarchy": {"dates": ["quarter", "year"]}}),
    "prefix": (["12***", "123**", "12345", "*"], "VARCHAR", ["12999", "12301", "12345", "55555"], {
        "hierarchy": {"prefix": [3, 2]}}),
    "prefix of a domain": (["12*", "13*", "*"], "VARCHAR", ["123", "131", "124"], {
        "hierarchy": {"prefix": [2]}, "domain": ["123", "124", "131"]}),
    "suppress": (["a", "*"], "VARCHAR", ["a", "b"], {"hierarchy": "suppress"}),
    "suppress of a domain": (["a", "*"], "VARCHAR", ["a", "b"], {
        "hierarchy": "suppress", "domain": ["a", "b", "c"]}),
    "labels": (["[20, 30)", "35-39", "> 50", "7", "*"], "INTEGER", [22, 35, 99, 7, 1], {
        "hierarchy": {"labels": "intervals", "lower": 0, "upper": 120}}),
    "labels of dates": (["[2019-01-01, 2019-02-01)", "*"], "DATE", ["2019-01-31", "2012-01-01"], {
        "hierarchy": {"labels": "intervals", "lower": "2000-01-01", "upper": "2030-01-01"}}),
    "labels of decimals": (["(1.5, 2.5]", "*"], "DECIMAL(4,1)", [2.5, 0.1], {
        "hierarchy": {"labels": "intervals"}}),
    "itself": (["5", "05", "*", None], "INTEGER", [5, 5, 9, None], {"domain": [0, 120]}),
    "itself as text": (["x", "*"], "VARCHAR", ["x", "y"], {}),
    "booleans": (["true", "*"], "BOOLEAN", [True, False], {}),
}  # fmt: skip


@pytest.fixture
def kind_of(con: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text(TREE)
    con.execute("CREATE TABLE tree AS SELECT * FROM read_csv('tree.csv', header = false)")

    def declared(kind: str) -> dict[str, Any]:
        values, type_, originals, keys = KINDS[kind]
        return of_one(con, values, type_, originals, **keys)

    return declared


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_hierarchy_explains_values(con: Any, kind_of: Any, kind: str) -> None:
    declared = kind_of(kind)
    # each record again, and none of the original is left for them
    con.execute("CREATE TABLE twice AS FROM anon UNION ALL FROM anon WHERE x <> '*'")
    found = dbdeid.verify(declared, con)
    assert check(found, "meanings").holds, check(found, "meanings").detail
    assert promise(found, "truthfulness").holds
    declared["method"]["table"] = "twice"
    found = promise(dbdeid.verify(declared, con), "truthfulness")
    ((more,),) = con.execute("SELECT count(*) FROM anon WHERE x <> '*'").fetchall()
    assert found.found["invented_records"] == more


def days(first: date, last: date) -> int:
    return (last - first).days + 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "where", "wanted"),
    [
        ("csv", "x = 'a'", (0.75, 0, 2)),
        ("csv", "x IN ('y', 'z')", (1.5, 1, 2)),
        ("groups", "x <= 2", (1.5, 1, 2)),
        ("intervals", "x < 10", (2.0, 2, 2)),
        ("intervals", "x BETWEEN 20 AND 24", (0.5, 0, 1)),
        ("dates", "x >= '2019-07-01'", (1 + 184 / 365, 1, 2)),
        ("prefix of a domain", "x = '124'", (0.5 + 1 / 3, 0, 2)),
        ("suppress of a domain", "x = 'c'", (1 / 3, 0, 1)),
        ("labels", "x >= 40", (1 + 80 / 120, 1, 2)),
        ("labels of dates", "x < '2019-01-16'", (
            15 / 31 + days(date(2000, 1, 1), date(2019, 1, 15))
            / days(date(2000, 1, 1), date(2029, 12, 31)), 0, 2)),
        ("itself", "x = 5", (2 + 1 / 121, 2, 3)),
    ],
)  # fmt: skip
def test_questions_use_what_values_stand_for(
    con: Any, kind_of: Any, kind: str, where: str, wanted: tuple[float, int, int]
) -> None:
    assert asked(con, kind_of(kind), where) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["labels of decimals", "prefix", "suppress", "itself as text"])
def test_a_star_without_a_domain_answers_nothing(con: Any, kind_of: Any, kind: str) -> None:
    with pytest.raises(dbdeid.DataError, match="it uses x"):
        asked(con, kind_of(kind), "x > '2'" if KINDS[kind][1] == "VARCHAR" else "x > 2")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("values", "keys", "told"),
    [
        (["[20, 30)", "5", "young"], {}, "2 of 3 values of 'x' have no meaning"),
        (["[20, 31)", "[20, 30)"], {"hierarchy": {"intervals": [10]}}, "1 of 2 values of 'x'"),
        (["[30, 20)", "[1.5, 1.9]", "x"], {"hierarchy": {"labels": "intervals"}}, "3 of 3 values"),
        (["2.5", "inf", "*"], {}, "2 of 3 values of 'x' have no meaning"),
        (["200", "5"], {"hierarchy": "suppress", "domain": [5, 7]}, "1 of 2 values of 'x' has no"),
        (["A"], {"hierarchy": {"groups": [{"A": ["1"], "B": ["2", "3"]}, {"A": ["A", "B"]}]}},
         "1 of 1 values of 'x' has several"),
    ],
)  # fmt: skip
def test_values_without_one_meaning_are_counted(
    con: Any, values: list[str | None], keys: dict[str, Any], told: str
) -> None:
    declared = of_one(con, values, "INTEGER", [5], **keys)
    lost = check(dbdeid.verify(declared, con), "meanings")
    assert not lost.holds
    assert told in lost.detail
    assert any(told in warning for warning in dbdeid.check(declared, con)["warnings"])
    with pytest.raises(dbdeid.DataError, match="it uses x"):
        asked(con, declared, "x < 7")


def test_labels_that_are_told_with_their_level(con: Any) -> None:
    """As local recoding writes them where one label names other leaves on another level."""
    groups = {"groups": [{"A": ["1"], "B": ["2", "3"]}, {"A": ["A", "B"]}]}
    declared = of_one(con, ["A@2", "B", "1"], "INTEGER", [2, 3, 1], hierarchy=groups)
    assert dbdeid.verify(declared, con).verified
    assert asked(con, declared, "x = 3") == pytest.approx((1 / 3 + 1 / 2, 0, 2))


def test_limits_are_no_domain_where_values_lie_outside(con: Any) -> None:
    hierarchy = {"intervals": [10], "lower": 0, "upper": 100}
    declared = of_one(con, ["*", "[20, 30)"], "INTEGER", [55, 21], hierarchy=hierarchy)
    assert asked(con, declared, "x < 50") == pytest.approx((1.5, 1, 2))
    for outside in ("< 0", "200"):
        declared = of_one(con, ["*", outside], "INTEGER", [55, -1], hierarchy=hierarchy)
        with pytest.raises(dbdeid.DataError, match="it uses x"):
            asked(con, declared, "x < 50")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"domain": [0, "many"]}, "1 values of its domain are none of type INTEGER"),
        ({"domain": [9, 1]}, "its domain ends before it begins"),
        ({"hierarchy": {"labels": "intervals", "lower": "2019-01-01"}}, "its limits do not fit"),
        ({"type": "categorical", "hierarchy": {"labels": "intervals"}}, "labels of intervals need"),
    ],
)
def test_domains_that_do_not_fit(con: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(dbdeid.SpecError, match=message):
        dbdeid.check(of_one(con, ["5"], "INTEGER", [5], **keys), con)


# -- dictionaries -----------------------------------------------------------------------------

BOUNDS = '"column", released_value, lower, upper'
LEAVES = '"column", released_value, leaves'


def with_dictionary(con: Any, rows: str, columns: str, values: list[str | None]) -> dict[str, Any]:
    declared = of_one(con, values, "INTEGER", [5])
    con.execute(f"CREATE OR REPLACE TABLE words AS FROM (VALUES {rows}) AS t({columns})")
    declared["method"]["dictionary"] = "words"
    return declared


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ("('x', 'few', '1', '9'), ('x', '5', NULL, NULL)", BOUNDS),
        ("('X', 'few', [1,2,3,4,5,6,7,8,9]), ('X', '5', NULL)", LEAVES),
        ("('x', 'few', 1, 9, 2, NULL), ('x', '5', 5, 5, 0, ['5'])",
         '"COLUMN", released_value, lower, upper, level, leaves'),
        ("('x', 'few', '1', '9'), ('x', '5', NULL, NULL), ('x', 'few', '1.0', '9.0')", BOUNDS),
        ("('x', 'few', '1', '9'), ('x', '5', NULL, NULL), ('x', 'gone', '7', '1')", BOUNDS),
    ],
)  # fmt: skip
def test_dictionaries_that_say_the_same(con: Any, rows: str, columns: str) -> None:
    declared = with_dictionary(con, rows, columns, ["few", "5"])
    assert check(dbdeid.verify(declared, con), "meanings").holds
    assert asked(con, declared, "x <= 5") == pytest.approx((1 + 5 / 9, 1, 2))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("rows", "columns", "lost"),
    [
        ("('x', 'few', '1', '9')", BOUNDS, "1 of 2 values of 'x' has no meaning"),
        ("('x', 'few', '9', '1'), ('x', '5', NULL, NULL)", BOUNDS, "1 of 2 values of 'x' has no"),
        ("('x', 'few', ['1', 'two']), ('x', '5', NULL)", LEAVES, "1 of 2 values of 'x' has no"),
        ("('x', 'few', ['1']), ('x', 'few', ['2']), ('x', '5', NULL)", LEAVES, "has several"),
        ("('x', 'few'), ('x', '5')", '"column", released_value', "1 of 2 values of 'x' has no"),
    ],
)
def test_dictionaries_that_do_not_explain_all(con: Any, rows: str, columns: str, lost: str) -> None:
    declared = with_dictionary(con, rows, columns, ["few", "5"])
    assert lost in check(dbdeid.verify(declared, con), "meanings").detail


def test_numbers_that_are_codes_of_intervals_are_not_taken_for_values(con: Any) -> None:
    rows = "('x', '1', '0', '9'), ('x', '2', '10', '19')"
    declared = with_dictionary(con, rows, BOUNDS, ["1", "2", "2"])
    con.execute("ALTER TABLE anon ALTER x TYPE INTEGER")
    assert asked(con, declared, "x < 10") == (1.0, 1, 1)
    assert asked(con, declared, "x = 15") == pytest.approx((0.2, 0, 2))


def test_the_hierarchy_explains_labels_that_a_dictionary_only_lists(con: Any) -> None:
    rows = "('x', '[0, 10)', 1), ('x', '*', 2)"
    columns = '"column", released_value, level'
    declared = with_dictionary(con, rows, columns, ["[0, 10)", "*"])
    limits = {"intervals": [10], "lower": 0, "upper": 20}
    declared["columns"] = {"x": {"role": QI, "hierarchy": limits}}
    assert asked(con, declared, "x < 5") == pytest.approx((0.75, 0, 2))
