"""Data: empty, tiny and uniform tables, values at the edge of their type, types that cannot leave."""

from __future__ import annotations

from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case, Released

INSIDE = {"target": GONE}
HERE = Released(target="owner.duckdb")
ONE: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": "suppress"}


def _column(kind: str, values: str, role: Any) -> dict[str, Any]:
    """A case's table: `people` with a column `odd` more."""
    return {
        "spec": {**INSIDE, "columns/odd": role},
        "sql": f"CREATE OR REPLACE TABLE people AS SELECT * EXCLUDE (i), ({values})::{kind} AS odd "
        "FROM (SELECT *, row_number() OVER () AS i FROM people) ",
    }


SIZES = (
    Case(
        name="no rows",
        sql="DELETE FROM people",
        place="the source has no rows",
        hint="nothing to release",
    ),
    Case(
        name="no rows, checked",
        words=("check", "spec.yml"),
        sql="DELETE FROM people",
        place="no rows",
        hint="nothing to release",
    ),
    Case(
        name="one row",
        code=3,
        sql="DELETE FROM people WHERE age <> 20 OR rowid > 0",
        place="k = 2",
        hint="k can be at most 1",
    ),
    Case(
        name="one row, checked",
        words=("check", "spec.yml"),
        code=3,
        sql="DELETE FROM people WHERE rowid > 0",
        place="k = 2",
        hint="a smaller k",
    ),
    Case(
        name="one row and k = 1",
        code=0,
        spec={**INSIDE, "privacy/0/k": 1},
        sql="DELETE FROM people WHERE rowid > 0",
        released=Released(target="owner.duckdb", k=1),
    ),
    Case(
        name="k larger than the table",
        code=3,
        spec={"privacy/0/k": 500},
        place="k = 500",
        hint="k can be at most 200",
    ),
    Case(
        name="nothing may be suppressed below the top",
        code=3,
        spec={
            "method/suppression_limit": 0.0,
            "columns/age/max_level": 0,
            "columns/zip/max_level": 0,
        },
        place="no transformation reaches k = 2",
        hint="higher max_level",
    ),
    Case(
        name="all rows equal",
        code=0,
        spec=INSIDE,
        sql="UPDATE people SET age = 30, zip = '10000', sex = 'f'",
        released=HERE,
    ),
    Case(
        name="all quasi-identifiers NULL",
        code=0,
        spec=INSIDE,
        sql="UPDATE people SET age = NULL, zip = NULL, sex = NULL",
        released=HERE,
    ),
    Case(
        name="a column all NULL",
        code=0,
        spec=INSIDE,
        sql="UPDATE people SET age = NULL",
        released=HERE,
    ),
    Case(
        name="a sensitive column all NULL",
        code=0,
        spec=INSIDE,
        sql="UPDATE people SET illness = NULL",
        released=HERE,
    ),
    Case(
        name="an identifier all NULL",
        code=0,
        spec=INSIDE,
        sql="UPDATE people SET name = NULL",
        released=HERE,
    ),
    Case(
        name="an identifier that repeats",
        sql="UPDATE people SET name = 'KANARI person 0'",
        place="columns.name",
        hint="accept: rows",
    ),
    Case(
        name="an insensitive number without a reason",
        spec={"columns/wage": "insensitive"},
        place="columns.wage",
        hint="reason",
    ),
    Case(
        name="a sensitive text that is unique",
        spec={},
        sql="UPDATE people SET illness = name",
        place="columns.illness",
        hint="reason",
    ),
    Case(
        name="a value that reads *",
        sql="UPDATE people SET sex = '*' WHERE age = 20",
        place="'*'",
        hint="recode that value",
    ),
    Case(
        name="a table without columns that leave",
        spec={"columns": {"name, age, zip, sex, illness, wage": "drop"}},
        place="columns",
        hint="quasi_identifier",
    ),
)

NUMBERS = tuple(
    Case(
        name=f"intervals over {what}",
        **_column("DOUBLE", values, {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}}),
        place="column 'odd'",
        hint="remove NaN and infinity",
    )
    for what, values in (
        ("NaN", "CASE WHEN i = 7 THEN 'nan' ELSE i::VARCHAR END"),
        ("infinity", "CASE WHEN i = 7 THEN 'inf' ELSE i::VARCHAR END"),
        ("minus infinity", "CASE WHEN i = 7 THEN '-inf' ELSE i::VARCHAR END"),
    )
)

DATES = tuple(
    Case(
        name=f"dates with {what}",
        **_column(
            kind,
            f"CASE WHEN i = 7 THEN '{value}' ELSE '2020-01-01' END",
            {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
        ),
        place="column 'odd'",
        hint="9999-12-31",
    )
    for what, kind, value in (
        ("infinity", "DATE", "infinity"),
        ("minus infinity", "DATE", "-infinity"),
        ("a year before Christ", "DATE", "0044-03-15 (BC)"),
        ("the year 9999", "DATE", "9999-12-31"),
        ("the year 290000", "TIMESTAMP", "290000-01-01"),
        ("an infinite moment", "TIMESTAMP", "infinity"),
        ("an infinite moment with a time zone", "TIMESTAMPTZ", "infinity"),
    )
)

TYPES = tuple(
    Case(
        name=f"a released {what}",
        **_column(kind, value, role),
        place="columns.odd",
        hint="drop it, or cast it",
    )
    for what, kind, value in (
        ("blob", "BLOB", "'\\xAA'"),
        ("list", "INTEGER[]", "[i]"),
        ("array", "INTEGER[2]", "[i, i]"),
        ("struct", "STRUCT(a INTEGER)", "{'a': i}"),
        ("map", "MAP(INTEGER, INTEGER)", "MAP {i: i}"),
        ("union", "UNION(a INTEGER, b VARCHAR)", "i::INTEGER"),
        ("bit", "BIT", "'101'"),
    )
    for role in [{"role": "insensitive", "reason": "x"}]
) + tuple(
    Case(
        name=f"a {what} as quasi-identifier",
        **_column(kind, value, ONE),
        place="columns.odd",
        hint="drop it, or cast it",
    )
    for what, kind, value in (
        ("blob", "BLOB", "'\\xAA'"),
        ("list", "VARCHAR[]", "['a']"),
        ("struct", "STRUCT(a INTEGER)", "{'a': 1}"),
    )
)


Odd = tuple[str, str, str, Any]


def _together(some: tuple[Odd, ...]) -> Case:
    """A release of a table with these columns, each with its name, type, values and role."""
    odd = {f"odd{i}": given for i, given in enumerate(some)}
    roles = {name: role for name, (_, _, _, role) in odd.items()}
    added = ", ".join(f"({values})::{kind} AS {name}" for name, (_, kind, values, _) in odd.items())
    qis = tuple(name for name, role in roles.items() if "hierarchy" in role)
    rest = tuple(name for name, role in roles.items() if role == OPEN)
    return Case(
        name=", ".join(what for what, _, _, _ in some),
        code=0,
        spec={**INSIDE, **{f"columns/{name}": role for name, role in roles.items()}},
        sql=f"CREATE OR REPLACE TABLE people AS SELECT * EXCLUDE (i), {added} "
        "FROM (SELECT *, row_number() OVER () AS i FROM people)",
        released=Released(
            qis=("age", "zip", "sex", *qis),
            rest=("illness", "wage", *rest),
            target="owner.duckdb",
            limit=1.0,
        ),
    )


OPEN = {"role": "insensitive", "reason": "x"}
ODD: tuple[Odd, ...] = (
    ("0.0 and -0.0", "DOUBLE", "CASE WHEN i % 2 = 0 THEN 0.0 ELSE '-0.0' END", ONE),
    (
        "0.0 and -0.0 in intervals",
        "DOUBLE",
        "CASE WHEN i % 2 = 0 THEN 0.0 ELSE '-0.0' END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}},
    ),
    ("0.0 and -0.0 as they are", "DOUBLE", "CASE WHEN i % 2 = 0 THEN 0.0 ELSE '-0.0' END", OPEN),
    ("NaN to suppress", "DOUBLE", "CASE WHEN i % 2 = 0 THEN 'nan' ELSE (i % 3)::VARCHAR END", ONE),
    ("infinity as it is", "DOUBLE", "CASE WHEN i % 2 = 0 THEN '-inf' ELSE 'inf' END", OPEN),
    ("NaN as it is", "FLOAT", "CASE WHEN i % 2 = 0 THEN 'nan' ELSE (i % 3)::VARCHAR END", OPEN),
    (
        "decimals of 38 digits",
        "DECIMAL(38, 0)",
        "CASE WHEN i % 2 = 0 THEN repeat('9', 38) ELSE '-' || repeat('9', 38) END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 100]}},
    ),
    (
        "doubles of 308 digits",
        "DOUBLE",
        "CASE WHEN i % 2 = 0 THEN '1e308' ELSE '-1e308' END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [0.1, 10]}},
    ),
    (
        "small doubles",
        "DOUBLE",
        "CASE WHEN i % 2 = 0 THEN '1e-290' ELSE '-1e-290' END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [0.1, 10]}},
    ),
    (
        "the ends of HUGEINT",
        "HUGEINT",
        "CASE WHEN i % 2 = 0 THEN '170141183460469231731687303715884105727' ELSE '-170141183460469231731687303715884105728' END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}},
    ),
    (
        "the ends of TINYINT",
        "TINYINT",
        "CASE WHEN i % 2 = 0 THEN '127' ELSE '-128' END",
        {"role": "quasi_identifier", "hierarchy": {"intervals": [100]}},
    ),
    (
        "dates of the years 1 and 9998",
        "DATE",
        "CASE WHEN i % 2 = 0 THEN '0001-01-01' ELSE '9998-12-31' END",
        {"role": "quasi_identifier", "hierarchy": {"dates": ["week"]}},
    ),
    (
        "infinite dates as they are",
        "DATE",
        "CASE WHEN i % 2 = 0 THEN 'infinity' ELSE '0044-03-15 (BC)' END",
        OPEN,
    ),
    (
        "infinite dates to suppress",
        "DATE",
        "CASE WHEN i % 2 = 0 THEN 'infinity' ELSE '0044-03-15 (BC)' END",
        ONE,
    ),
    (
        "moments with a time zone",
        "TIMESTAMPTZ",
        "'2020-03-29 0' || i % 4 || ':30:00+01'",
        {"role": "quasi_identifier", "hierarchy": {"dates": ["month"]}},
    ),
    (
        "moments of nanoseconds",
        "TIMESTAMP_NS",
        "'2020-03-29 01:30:00.123456789'",
        {"role": "quasi_identifier", "hierarchy": {"dates": ["month"]}},
    ),
    (
        "an enumeration",
        "ENUM('a', 'b', 'KANARI unused')",
        "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END",
        ONE,
    ),
    ("times to suppress", "TIME", "'12:30'", ONE),
    ("intervals of time to suppress", "INTERVAL", "'1 day'", ONE),
    ("UUIDs to suppress", "UUID", "uuid()", ONE),
    ("JSON to suppress", "JSON", "'{\"a\": 1}'", ONE),
    ("truths to suppress", "BOOLEAN", "i % 2 = 0", ONE),
    ("maps that are dropped", "MAP(VARCHAR, INTEGER)", "MAP {'KANARI': i}", "drop"),
    ("structs that are dropped", 'STRUCT("a, b" VARCHAR)', "{'a, b': 'KANARI'}", "drop"),
    ("unions that are dropped", "UNION(a INTEGER, b VARCHAR)", "i::INTEGER", "drop"),
    ("blobs that are dropped", "BLOB", "'\\xAA'", "drop"),
    ("lists that are identifiers", "VARCHAR[]", "['KANARI ' || i]", "identifier"),
    ("empty text beside NULL", "VARCHAR", "CASE WHEN i % 2 = 0 THEN '' END", ONE),
    (
        "text of 10,000 characters",
        "VARCHAR",
        "repeat('x', 10000)",
        {"role": "quasi_identifier", "hierarchy": {"prefix": [1]}},
    ),
    ("text with NUL characters", "VARCHAR", "'a' || chr(0) || i % 2", ONE),
    (
        "text with quotes, newlines and delimiters",
        "VARCHAR",
        "'a;,\"''' || chr(10) || chr(13) || i % 2",
        ONE,
    ),
    (
        "emoji cut by a prefix",
        "VARCHAR",
        "'👩‍👩‍👧' || i % 2",
        {"role": "quasi_identifier", "hierarchy": {"prefix": [2, 1]}},
    ),
    ("lists between text", "VARCHAR", "'[1, 2]'", ONE),
)

LEGAL = tuple(_together(ODD[i : i + 3]) for i in range(0, len(ODD), 3))

CASES = (*SIZES, *NUMBERS, *DATES, *TYPES, *LEGAL)
