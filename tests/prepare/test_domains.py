"""How the domains of method policy are declared, what order they have, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.data.ordered_domain import OrderedDomain
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError, DbdeidError, HierarchyError, SpecError
from dbdeid.prepare.prepare import prepare
from dbdeid.spec.column.column_spec import FROM_POPULATION

FROM = {"domain": FROM_POPULATION}


def world(kind: str, values: str, people: str | None = None) -> Any:
    """A source with values of a type in column x, and a town that has them too, or others."""
    con = duckdb.connect()
    con.execute(
        f"CREATE TABLE source AS SELECT CAST(x AS {kind}) AS x, 1 AS y FROM {_rows(values)}"
    )
    con.execute(
        f"CREATE TABLE town AS SELECT CAST(x AS {kind}) AS x, 5 AS people "
        f"FROM {_rows(people or values)}"
    )
    return con


def _rows(values: str) -> str:
    return f"(SELECT unnest([{values}]) AS x)"


def spec(column: dict[str, Any], *, population: bool = True, **method: Any) -> dict[str, Any]:
    of_town = {"population": "town"} if population else {}
    return {
        "release": "public",
        "source": "source",
        "accept": "rows",
        "columns": {"x": {"role": "quasi_identifier", **column}, "y": "drop"},
        "privacy": [{"model": "k_anonymity", "k": 1}],
        "evaluate": {"metrics": []},
        "method": {"name": "policy", **of_town, **method},
    }


def domains_of(con: Any, given: dict[str, Any], folder: Path | None = None) -> list[OrderedDomain]:
    """The domains of the quasi-identifiers, as the search will have them."""
    with Session.over(con, None, read_only=False) as session:
        bound = prepare(bind(read(given), session), session).bound
    return [c.domain for c in bound.quasi_identifiers if c.domain is not None]


def domain_of(con: Any, column: dict[str, Any], **more: Any) -> OrderedDomain:
    (found,) = domains_of(con, spec(column, **more))
    return found


ZIPS = "'37010', '37013', '38001'"
A_TO_C = {"groups": [{"first": ["b", "a"], "last": ["c"]}]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "values", "column", "style", "expected"),
    [
        ("INTEGER", "1, 3", {"domain": [0, 4]}, "range", "0 1 2 3 4"),
        ("INTEGER", "1, 3", {"domain": ["-1", 3]}, "range", "-1 0 1 2 3"),
        ("INTEGER", "3", {"domain": [3, 3]}, "range", "3"),
        ("INTEGER", "3", {"domain": [3]}, "range", "3"),
        ("INTEGER", "1, 3", {"domain": [10, 3, 1]}, "range", "1 3 10"),
        ("HUGEINT", "1, 3", {"domain": [1, 3]}, "range", "1 2 3"),
        ("UTINYINT", "254, 255", {"domain": [253, 255]}, "range", "253 254 255"),
        ("INTEGER", "9, 10, 100", FROM, "range", "9 10 100"),
        ("INTEGER", "9, 10, 100", {}, "range", "9 10 100"),
        (
            "DATE", "'2024-02-28', '2024-03-01'", {"domain": ["2024-02-28", "2024-03-01"]},
            "range", "2024-02-28 2024-02-29 2024-03-01",
        ),
        ("DATE", "'2024-02-28'", {"domain": ["2024-03-01", "2024-02-28", "2023-01-01"]},
         "range", "2023-01-01 2024-02-28 2024-03-01"),
        ("DATE", "'2024-03-01', '2024-02-28'", FROM, "range", "2024-02-28 2024-03-01"),
        ("DECIMAL(5, 2)", "1.5, 10", {"domain": ["10", 1.5, "2.00"]}, "range", "1.50 2.00 10.00"),
        ("DOUBLE", "1.5, 10", {"domain": [10, 1.5, 2]}, "range", "1.5 2.0 10.0"),
        ("DOUBLE", "1.5, 10, 0.1", FROM, "range", "0.1 1.5 10.0"),
        ("BOOLEAN", "true, false", {}, "listed", "false true"),
        ("BOOLEAN", "true", {"domain": ["true", "false"]}, "listed", "false true"),
        ("BOOLEAN", "true", {"order": ["true", "false"]}, "listed", "true false"),
        ("VARCHAR", ZIPS, FROM, "code", "37010 37013 38001"),
        ("VARCHAR", ZIPS, {"domain": ["38001", "37013", "37010"]}, "code", "37010 37013 38001"),
        ("VARCHAR", ZIPS, {"order": ["38001", "37013", "37010"]}, "listed", "38001 37013 37010"),
        ("VARCHAR", ZIPS, {"order": ["37010", "37013", "38001"]}, "code", "37010 37013 38001"),
        ("VARCHAR", "'f', 'm'", FROM, "listed", "f m"),
        ("VARCHAR", "'f', 'm'", {"domain": ["m", "f"]}, "listed", "f m"),
        ("VARCHAR", "'b', 'a', 'c'", {"order": ["c", "a", "b"]}, "listed", "c a b"),
        ("VARCHAR", "'b', 'a', 'c'", {"hierarchy": A_TO_C}, "listed", "b a c"),
        ("VARCHAR", "'b', 'a', 'c'", {"hierarchy": {"table": "letters"}}, "listed", "a b c"),
        ("INTEGER", "2, 10", {"hierarchy": {"table": "numbers"}}, "range", "2 10"),
        ("ENUM ('m1', 'a2')", "'a2', 'm1'", FROM, "code", "a2 m1"),
        ("INTEGER", "2, 10", {"type": "categorical", "order": ["2", "10"]}, "listed", "2 10"),
        ("INTEGER", "2, 10", {"type": "categorical", **FROM}, "listed", "10 2"),
    ],
)  # fmt: skip
def test_a_domain_and_its_order(
    kind: str, values: str, column: dict[str, Any], style: str, expected: str
) -> None:
    con = world(kind, values)
    con.execute("CREATE TABLE letters AS FROM (VALUES ('a', 'x'), ('b', 'x'), ('c', 'y'))")
    con.execute("CREATE TABLE numbers AS FROM (VALUES ('10', 'x'), ('2', 'x'))")
    found = domain_of(con, column)
    assert " ".join(found.values) == expected
    assert found.style == style


def test_the_leaves_of_a_hierarchy_file_are_a_domain(tmp_path: Path) -> None:
    path = tmp_path / "race.csv"
    path.write_text("White;any\nOther;any\nBlack;any\n")
    con = world("VARCHAR", "'Black', 'White'")
    found = domain_of(con, {"hierarchy": str(path)}, population=False)
    assert found == OrderedDomain(("White", "Other", "Black"), "listed", "race.csv")


def test_a_domain_reaches_as_far_as_the_population() -> None:
    con = world("INTEGER", "3", "1, 2, 3, 9")
    assert domain_of(con, FROM).values == ("1", "2", "3", "9")
    assert domain_of(con, {"domain": [0, 9]}).values == tuple("0123456789")


def test_a_key_of_several_columns_gives_each_its_domain() -> None:
    con = world("INTEGER", "3")
    con.execute("ALTER TABLE source ADD COLUMN z VARCHAR DEFAULT 'A1'")
    con.execute("ALTER TABLE town ADD COLUMN z VARCHAR DEFAULT 'A1'")
    given = spec(FROM)
    given["columns"] = {"x, Z": given["columns"]["x"], "y": "drop"}
    assert [d.values for d in domains_of(con, given)] == [("3",), ("A1",)]


def test_a_column_of_any_name() -> None:
    con = world("INTEGER", "3")
    for table in ("source", "town"):
        con.execute(f"""ALTER TABLE {table} RENAME x TO "an ""odd"", name's" """)
    given = spec({"domain": [0, 3]})
    given["columns"] = {'an "odd", name\'s': given["columns"]["x"], "y": "drop"}
    (found,) = domains_of(con, given)
    assert found.values == tuple("0123")


def test_other_methods_have_no_domains() -> None:
    given = spec({"hierarchy": "suppress"}, population=False) | {"method": "full_domain"}
    assert domains_of(world("INTEGER", "3"), given) == []


# -- refusals -----------------------------------------------------------------------------------

NO_ORDER = "its values have no order of their own"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "values", "column", "message"),
    [
        ("VARCHAR", "'a', 'b', 'c'", FROM, NO_ORDER),
        ("VARCHAR", "'a'", {"domain": ["a", "b", "c"]}, NO_ORDER),
        ("VARCHAR", "'a b1', 'b', 'c'", FROM, NO_ORDER),
        ("VARCHAR", "'é1', 'a1', 'b1'", FROM, NO_ORDER),
        ("ENUM ('a', 'b', 'c')", "'a', 'b', 'c'", FROM, NO_ORDER),
        ("VARCHAR", "'a'", {"order": ["a", "b", "a"]}, "1 values of its domain are repeated"),
        ("VARCHAR", "'a1'", {"domain": ["a1", "a1"]}, "1 values of its domain are repeated"),
        ("INTEGER", "1", {"domain": [1, 2, 2]}, "values of its domain are repeated"),
        ("DECIMAL(5, 2)", "1", {"domain": ["1", "1.0", "2"]}, "values of its domain are repeated"),
        ("INTEGER", "1", {"domain": [5, 1]}, "its domain ends before it begins"),
        ("DATE", "'2024-01-01'", {"domain": ["2024-01-02", "2024-01-01"]},
         "its domain ends before it begins"),
        ("DATE", "'2024-01-01'", {"domain": ["2024-01-01", "infinity"]}, "no day of the calendar"),
        ("DATE", "'2024-01-01'", {"domain": ["2024-02-30", "2024-03-01"]},
         "1 values of its domain are none of type DATE"),
        ("INTEGER", "1", {"domain": ["one", "two"]}, "2 values of its domain are none of type"),
        ("TINYINT", "1", {"domain": [0, 300]}, "1 values of its domain are none of type TINYINT"),
        ("INTEGER", "1", {"domain": [0.5, 3]}, "1 values of its domain are none of type INTEGER"),
        ("INTEGER", "1", {"domain": [0, 100_000]}, "has 100,001 values, and method policy takes"),
        ("DATE", "'2024-01-01'", {"domain": ["1700-01-01", "2024-01-01"]}, "has 118,339"),
        ("DECIMAL(5, 2)", "1", {"domain": [0, 3]}, "a range counts whole numbers or days"),
        ("DOUBLE", "1", {"domain": [0, 3]}, "a range counts whole numbers or days"),
        ("TIMESTAMP", "'2024-01-01'", {"domain": ["2024-01-01", "2024-01-02"]},
         "a range counts whole numbers or days"),
        ("DOUBLE", "'1', 'nan'", {"domain": [1, 2, "nan"]}, "are no numbers or dates"),
        ("INTEGER", "1", {"order": ["1", "2"]}, "it is INTEGER and has its own order"),
        ("DATE", "'2024-01-01'", {"order": ["2024-01-01"]}, "it is DATE and has its own order"),
    ],
)  # fmt: skip
def test_a_domain_that_is_refused(
    kind: str, values: str, column: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=r"columns\.x: ") as error:
        domain_of(world(kind, values), column)
    assert message in str(error.value)
    assert all(mistake.hint for mistake in error.value.mistakes)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({}, "they are not read off the data"),
        (FROM, "the method names no population"),
    ],
)
def test_a_domain_is_never_read_off_the_data(column: dict[str, Any], message: str) -> None:
    con = world("VARCHAR", ZIPS)
    with pytest.raises(SpecError, match=message):
        domain_of(con, column, population=False)


def test_all_mistakes_are_told_at_once() -> None:
    con = world("INTEGER", "3")
    con.execute("ALTER TABLE source ADD COLUMN z VARCHAR DEFAULT 'A1'")
    given = spec({"domain": [5, 1]}, population=False)
    given["columns"]["z"] = "quasi_identifier"
    with pytest.raises(SpecError, match="2 mistakes"):
        domains_of(con, given)


def test_too_many_values_of_a_population() -> None:
    con = world("INTEGER", "3")
    con.execute("INSERT INTO town SELECT i, 1 FROM range(100001) AS r(i)")
    with pytest.raises(SpecError, match="its domain has 100,001 values"):
        domain_of(con, FROM)


@pytest.mark.parametrize(
    ("values", "people", "message"),
    [
        ("'a1', NULL, NULL", "'a1'", "column 'x' is NULL in 2 rows"),
        ("'a1'", "'a1', NULL", "population 'town': column 'x' is NULL in 1 rows"),
    ],
)
def test_null_has_no_place_in_an_order(values: str, people: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        domain_of(world("VARCHAR", values, people), FROM)
    assert "coalesce" in error.value.hint


@pytest.mark.parametrize(
    ("column", "values", "people", "message"),
    [
        (FROM, "'a1', 'secret 1', 'secret 2'", "'a1'",
         "column 'x': 2 of 3 values are not in its domain (population town)"),
        ({"domain": ["a1", "a2"]}, "'a1', 'secret 1'", "'a1'",
         "column 'x': 1 of 2 values are not in its domain (a declared domain)"),
        ({"order": ["a1", "a2"]}, "'a1'", "'a1', 'secret 2'",
         "population 'town': column 'x': 1 of 2 values are not in its domain (a declared order)"),
    ],
)  # fmt: skip
def test_values_outside_are_counted(
    column: dict[str, Any], values: str, people: str, message: str
) -> None:
    with pytest.raises(HierarchyError) as error:
        domain_of(world("VARCHAR", values, people), column)
    assert error.value.message == message
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", ["BLOB", "INTEGER[]", "STRUCT(a INTEGER)"])
def test_types_that_cannot_be_released(kind: str) -> None:
    con = world("INTEGER", "1")
    con.execute(f"ALTER TABLE source DROP x; ALTER TABLE source ADD COLUMN x {kind}")
    with pytest.raises(SpecError, match="cannot be released"):
        domain_of(con, FROM, population=False)


def test_a_star_is_no_value() -> None:
    with pytest.raises(DbdeidError, match=r"reads '\*'"):
        domain_of(world("VARCHAR", "'a'"), {"order": ["a", "*"]})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"hierarchy": "suppress"}, "takes no hierarchy of suppress"),
        ({"hierarchy": {"intervals": [5]}}, "takes no hierarchy of intervals"),
        ({"hierarchy": {"prefix": [3]}}, "takes no hierarchy of prefix"),
        ({"domain": [0, 3], "order": ["0"]}, "domain and order declare its values twice"),
        ({"hierarchy": A_TO_C, "order": ["a"]}, "hierarchy and order declare its values twice"),
        ({"domain": [0, 3], "min_level": 1}, "has no levels"),
        ({"domain": [0, 3], "max_level": 0}, "has no levels"),
        ({"domain": "population"}, "from_population"),
        ({"domain": []}, "from_population"),
        ({"order": []}, "at least one"),
        ({"order": ["a\ud800"]}, "half a character"),
        ({"domain": ["a\ud800", "b"]}, "half a character"),
    ],
)
def test_keys_of_a_column_that_are_refused(column: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        read(spec(column))


@pytest.mark.parametrize("column", [FROM, {"order": ["a", "b"]}])
def test_keys_that_only_go_with_policies(column: dict[str, Any]) -> None:
    given = spec(column, population=False) | {"method": "full_domain"}
    with pytest.raises(SpecError, match="goes with method policy"):
        read(given)
    given["columns"]["x"] = {"role": "insensitive", **column}
    given["columns"]["y"] = {"role": "quasi_identifier", "hierarchy": "suppress"}
    with pytest.raises(SpecError, match="only go with role quasi_identifier"):
        read(given)
