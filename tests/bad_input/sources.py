"""Sources: queries that are none, that fail, or that fail on a cell; files that are no tables."""

from __future__ import annotations

from bad_input.place import GONE
from bad_input.runner import Case, Released


def _query(name: str, sql: str, place: str, hint: str, code: int = 2) -> Case:
    return Case(
        name=name,
        code=code,
        spec={"source": {"sql": sql, "name": "people"}},
        place=place,
        hint=hint,
    )


ONE = "DuckDB SQL, without semicolon"
STATEMENTS = tuple(
    _query(name, sql, "line 6: source.sql: must be one SELECT statement", ONE)
    for name, sql in (
        ("two statements", "SELECT * FROM people; SELECT 1"),
        ("a statement and DROP", "SELECT * FROM people; DROP TABLE people"),
        ("DROP", "DROP TABLE people"),
        ("DELETE", "DELETE FROM people"),
        ("DELETE that gives rows", "DELETE FROM people RETURNING *"),
        ("UPDATE", "UPDATE people SET age = 1"),
        ("INSERT", "INSERT INTO people SELECT * FROM people"),
        ("CREATE TABLE", "CREATE TABLE x AS SELECT 1"),
        ("COPY", "COPY people TO 'stolen.csv'"),
        ("COPY FROM", "COPY people FROM 'x.csv'"),
        ("EXPORT", "EXPORT DATABASE 'stolen'"),
        ("ATTACH", "ATTACH 'stolen.duckdb'"),
        ("PRAGMA", "PRAGMA table_info('people')"),
        ("SET", "SET memory_limit = '1GB'"),
        ("INSTALL", "INSTALL httpfs"),
        ("LOAD", "LOAD httpfs"),
        ("CALL", "CALL pragma_version()"),
        ("EXPLAIN", "EXPLAIN ANALYZE SELECT * FROM people"),
        ("BEGIN", "BEGIN"),
        ("CHECKPOINT", "CHECKPOINT"),
        ("only a comment", "-- nothing"),
        ("only a semicolon", ";"),
        ("only blanks", "   "),
        ("no SQL at all", "Who is in the table?"),
        ("a misspelt SELECT", "SELEC * FROM people"),
        ("an open bracket", "SELECT (1 FROM people"),
        ("an open quote", "SELECT 'KANARI FROM people"),
    )
)

SHADOWED = tuple(
    Case(
        name=f"{words[0]}, {name}",
        words=words,
        sql=sql,
        code=2,
        place="database 'owner' has macros that stand for functions of DuckDB",
        hint="drop them, or give them other names",
    )
    for words in (("run", "spec.yml"), ("check", "spec.yml"), ("init", "owner.duckdb"))
    for name, sql in (
        ("a macro for min", "CREATE MACRO min(x) AS max(x)"),
        ("a macro for an operator", 'CREATE MACRO "=" (a, b) AS true'),
    )
)

FAILING = (
    _query("a table that is not there", "SELECT * FROM poeple", "poeple", "-vv"),
    _query("a column that is not there", "SELECT agee FROM people", "agee", "-vv"),
    _query("a function that is not there", "SELECT aged(age) FROM people", "aged", "-vv"),
    _query("a parameter", "SELECT * FROM people WHERE age = ?", "DuckDB", "-vv"),
    _query("a numbered parameter", "SELECT * FROM people WHERE age = $1", "DuckDB", "-vv"),
    _query("a named parameter", "SELECT * FROM people WHERE age = $age", "DuckDB", "-vv"),
    _query(
        "a cast that fails on a cell",
        "SELECT * REPLACE (name::INTEGER AS name) FROM people",
        "Conversion Error",
        "-vv",
    ),
    _query(
        "a cast that fails on a sensitive cell",
        "SELECT * REPLACE (illness::DATE AS illness) FROM people",
        "Conversion Error",
        "-vv",
    ),
    _query(
        "a filter that fails on a cell",
        "SELECT * FROM people WHERE illness::INTEGER = 1",
        "Conversion Error",
        "-vv",
    ),
    _query(
        "an enumeration that a cell is not in",
        "SELECT * REPLACE (illness::ENUM('a', 'b') AS illness) FROM people",
        "Conversion Error",
        "-vv",
    ),
    _query(
        "a number out of range",
        "SELECT * REPLACE ((wage * 1000000)::INTEGER AS wage) FROM people",
        "Conversion Error",
        "-vv",
    ),
    _query(
        "an error of the owner's own",
        "SELECT * REPLACE (error(name)::VARCHAR AS illness) FROM people",
        "Invalid Input Error",
        "-vv",
    ),
    _query(
        "a date that is none",
        "SELECT * REPLACE (strptime(illness, '%Y') AS illness) FROM people",
        "Invalid Input Error",
        "-vv",
    ),
    _query(
        "a regular expression from a cell",
        "SELECT * REPLACE (regexp_matches('a', '(' || name) AS wage) FROM people",
        "Invalid Input Error",
        "-vv",
    ),
    _query(
        "JSON that is none",
        "SELECT * REPLACE (json_extract(illness, '$.a')::VARCHAR AS illness) FROM people",
        "Error",
        "-vv",
    ),
    _query(
        "a subquery of many rows",
        "SELECT * REPLACE ((SELECT name FROM people) AS name) FROM people",
        "Error",
        "-vv",
    ),
    _query(
        "a Parquet file that is not there",
        "SELECT * FROM 'missing.parquet'",
        "missing.parquet",
        "check the path",
    ),
    _query("a file that is no Parquet", "SELECT * FROM read_parquet('spec.yml')", "DuckDB", "-vv"),
    _query(
        "duplicate columns", "SELECT *, age FROM people", "several columns 'age'", "its own name"
    ),
    _query(
        "columns that differ by case",
        "SELECT *, 1 AS AGE FROM people",
        "several columns 'age'",
        "its own name",
    ),
    _query(
        "unnamed columns",
        "SELECT *, count(*) OVER (), 1 + 1 FROM people",
        "2 columns of the source have no role",
        "drop",
    ),
    _query(
        "2,000 columns more",
        "SELECT *, " + ", ".join(f"{i} AS c{i}" for i in range(2000)) + " FROM people",
        "2000 columns of the source have no role",
        "drop",
    ),
    _query("no rows", "SELECT * FROM people WHERE false", "no rows", "nothing to release"),
    _query("one row", "SELECT * FROM people LIMIT 1", "k = 2", "at most 1", code=3),
    _query(
        "another sample each time",
        "SELECT * REPLACE (age + (10 * random())::INTEGER AS age) FROM people",
        "different rows each time",
        "as a table first",
    ),
    _query(
        "a limit without an order",
        "SELECT * FROM people USING SAMPLE 50",
        "different rows each time",
        "as a table first",
    ),
    _query(
        "a division by zero",
        "SELECT * REPLACE (age // 0 AS age) FROM people",
        "the source cannot be read: DuckDB: Invalid Input Error",
        "-vv",
    ),
    _query(
        "a WITH that deletes",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "the source cannot be read: DuckDB: Binder Error",
        "-vv",
    ),
    _query("a table function of nothing", "SELECT * FROM query_table('nothing')", "nothing", "-vv"),
    _query(
        "a file of the system",
        "SELECT content AS name, 1 AS age, '1' AS zip, 'f' AS sex, 'x' AS illness, 2 AS wage FROM read_text('/etc/hostname')",
        "k = 2",
        "at most 1",
        code=3,
    ),
)

LEGAL = tuple(
    Case(
        name=name,
        code=0,
        spec={"source": {"sql": sql, "name": "people"}, "target": GONE},
        released=Released(target="owner.duckdb"),
    )
    for name, sql in (
        ("a semicolon at the end", "SELECT * FROM people;"),
        ("comments with quotes", "-- it's\nSELECT * /* it's 1 */ FROM people -- \"the end"),
        ("FROM first", "FROM people"),
        ("a WITH", "WITH p AS (FROM people) SELECT * FROM p"),
        (
            "a union",
            "SELECT * FROM people WHERE age < 40 UNION ALL SELECT * FROM people WHERE age >= 40",
        ),
        ("brackets", "(SELECT * FROM people)"),
        ("an order", "SELECT * FROM people ORDER BY name DESC"),
        ("a name with a no-break space", 'SELECT *, FROM (SELECT * FROM people) AS "it\'s\u00a0a"'),
        ("aliases like ours", "SELECT source.* FROM people AS source"),
    )
)

CSV = "name,age,zip,sex,illness,wage\n" + "".join(
    f"KANARI {i},{20 + i % 5},{10000 + i % 3},f,KANARI ill {i % 2},{77000001 + i % 2}\n"
    for i in range(60)
)


def _file(name: str, path: str, content: str | bytes, place: str, hint: str) -> Case:
    return Case(
        name=name,
        spec={"source": path, "database": GONE},
        files={path: content},
        place=place,
        hint=hint,
    )


FILES = (
    _file(
        "an empty CSV file",
        "people.csv",
        "",
        "columns.age: the source has no column 'age'",
        "see whether the first line of the file has the names",
    ),
    _file(
        "a CSV file with a header alone",
        "people.csv",
        "name,age,zip,sex,illness,wage\n",
        "columns.age.hierarchy",
        "cast it to a number",
    ),
    _file(
        "a text among numbers",
        "people.csv",
        CSV + "KANARI 61,KANARI old,10000,f,KANARI ill,77000001\n",
        "columns.age.hierarchy",
        "cast it to a number",
    ),
    _file(
        "a gzip file that is none",
        "people.csv.gz",
        CSV,
        "people.csv.gz is no whole gzip file",
        "compress it again",
    ),
    _file(
        "ragged rows",
        "people.csv",
        CSV.replace("KANARI 7,", "KANARI 7,1,2,3,"),
        "people.csv, line 9: it has 9 cells, and the first line 6",
        "mend that line",
    ),
    _file(
        "an empty Parquet file",
        "people.parquet",
        b"",
        "people.parquet is no Parquet file",
        "write it again",
    ),
    _file(
        "random bytes as Parquet",
        "people.parquet",
        bytes(range(256)) * 40,
        "people.parquet is no Parquet file",
        "write it again",
    ),
    _file(
        "a CSV file called Parquet",
        "people.parquet",
        CSV,
        "people.parquet is no Parquet file",
        "write it again",
    ),
    Case(
        name="a file that is not there",
        spec={"source": "missing.csv", "database": GONE},
        place="missing.csv does not exist",
        hint="looked in",
    ),
    Case(
        name="a folder called like a file",
        spec={"source": "folder.csv", "database": GONE},
        build=lambda f: (f / "folder.csv").mkdir(),
        place="folder.csv is a folder that holds no file",
        hint="check the path",
    ),
    Case(
        name="a pattern that matches nothing",
        spec={"source": "*.tsv", "database": GONE},
        files={"a.csv": CSV},
        place="*.tsv matches no file",
        hint="check the path",
    ),
    Case(
        name="an address",
        spec={"source": "https://example.com/people.csv", "database": GONE},
        place="needs DuckDB's extension 'httpfs'",
        hint="INSTALL httpfs",
    ),
    Case(
        name="an address of Hadoop",
        spec={"source": "hdfs://clinic/people/", "database": GONE},
        place="hdfs:// is a file system of Hadoop",
        hint="give a session of Spark",
    ),
    Case(
        name="a workbook that is none",
        spec={"source": "people.xlsx"},
        files={"people.xlsx": "x"},
        place="people.xlsx cannot be read as a spreadsheet",
        hint="save it again",
    ),
    Case(
        name="a view on nothing",
        spec={"source": "v"},
        sql="CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS FROM t; DROP TABLE t",
        place="the source cannot be read: DuckDB: Catalog Error",
        hint="-vv",
    ),
    Case(
        name="a view that fails on a cell",
        spec={"source": "v"},
        sql="CREATE VIEW v AS SELECT * REPLACE (name::INTEGER AS name) FROM people",
        place="DuckDB: Conversion Error",
        hint="-vv",
    ),
    Case(
        name="a column that compares by a collation",
        sql="ALTER TABLE people ALTER sex TYPE VARCHAR COLLATE NOCASE",
        place="columns.sex",
        hint="decode(encode(",
    ),
)

CASES = (*STATEMENTS, *SHADOWED, *FAILING, *LEGAL, *FILES)
