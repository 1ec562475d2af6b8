"""Hierarchies: files, tables and groups that are no tree over the values of their column."""

from __future__ import annotations

import gzip

from bad_input.place import GONE
from bad_input.runner import Case, Released

SEX = "hierarchy of column 'sex'"
GOOD = "f;any\nm;any\n"
PACKED = gzip.compress(GOOD.encode() * 100)


def _file(name: str, content: str | bytes, place: str, hint: str, path: str = "sex.csv") -> Case:
    return Case(
        name=name,
        spec={"columns/sex/hierarchy": path},
        files={path: content},
        place=place,
        hint=hint,
    )


FILES = (
    _file("an empty file", "", SEX, "one row for each value"),
    _file("only newlines", "\n\n\r\n", SEX, "one row for each value"),
    _file("only a byte order mark", b"\xef\xbb\xbf", SEX, "one row for each value"),
    _file("ragged rows", "f;a;*\nm;a\n", "rows do not have 3 cells", "the same number of levels"),
    _file("a leaf twice", "f;a\nf;a\nm;a\n", SEX, "exactly one row"),
    _file(
        "a leaf with two parents",
        "f;a;*\nf;b;*\nm;a;*\n",
        "two different parents",
        "exactly one row",
    ),
    _file("a label with two parents", "f;a;x\nm;a;y\n", "have two parents", "exactly one parent"),
    _file("a value without a leaf", "f;*\n", "1 of 2 values have no leaf", "--show-values"),
    _file("no value has a leaf", "1;*\n2;*\n", "2 of 2 values have no leaf", "--show-values"),
    _file(
        "a header line and no leaves",
        "value;level1\n",
        "2 of 2 values have no leaf",
        "--show-values",
    ),
    _file("leaves with blanks", " f;*\n m;*\n", "2 of 2 values have no leaf", "--show-values"),
    _file("leaves of other letters", "F;*\nM;*\n", "2 of 2 values have no leaf", "--show-values"),
    _file("a leaf that reads *", "f;a\nm;a\n*;a\n", "'*'", "recode that value"),
    _file(
        "a label below the top that reads *",
        "f;*;x\nm;b;x\n",
        "label below the top",
        "another name",
    ),
    _file("a delimiter nobody knows", "f#*\nm#*\n", "2 of 2 values", "--show-values"),
    _file("an open quote", 'f;"a\nm;a\n', SEX, "quotation mark"),
    _file("latin-1", "f;\xe4\nm;\xe4\n".encode("latin-1"), "not UTF-8", "save it as UTF-8"),
    _file("UTF-16", GOOD.encode("utf-16"), "not UTF-8", "save it as UTF-8"),
    _file("random bytes", bytes(range(1, 256)), "not UTF-8", "save it as UTF-8"),
    _file(
        "only the name of gzip",
        GOOD + "x;y;z\n",
        "rows do not have 2 cells",
        "levels",
        "sex.csv.gz",
    ),
    _file(
        "a gzip file cut short",
        PACKED[: len(PACKED) // 2],
        "not a whole gzip file",
        "plain CSV",
        "sex.csv.gz",
    ),
    _file(
        "a gzip file with garbage inside",
        PACKED[:12] + b"xxxx" + PACKED[16:],
        "not a whole gzip file",
        "plain CSV",
        "sex.csv.gz",
    ),
    _file(
        "a gzip file that is only a header",
        b"\x1f\x8b",
        "not a whole gzip file",
        "plain CSV",
        "sex.csv.gz",
    ),
    _file("a Parquet file", b"PAR1" + bytes(range(256)), SEX, "UTF-8", "sex.parquet"),
    Case(
        name="the database as hierarchy",
        spec={"columns/sex/hierarchy": "owner.duckdb"},
        place="owner.duckdb is not UTF-8",
        hint="save it as UTF-8",
    ),
    Case(
        name="a hierarchy that is a folder",
        spec={"columns/sex/hierarchy": "folder"},
        build=lambda folder: (folder / "folder").mkdir(),
        place=SEX,
        hint="give a CSV file",
    ),
    Case(
        name="a hierarchy in a file",
        spec={"columns/sex/hierarchy": "spec.yml/sex.csv"},
        place="sex.csv",
        hint="give a CSV file",
    ),
    Case(
        name="a hierarchy that is a loop of links",
        spec={"columns/sex/hierarchy": "loop.csv"},
        build=lambda folder: (folder / "loop.csv").symlink_to("loop.csv"),
        place="loop.csv",
        hint="path",
    ),
    Case(
        name="a hierarchy that is /dev/null",
        spec={"columns/sex/hierarchy": "/dev/null"},
        place=SEX,
        hint="give a CSV file",
    ),
    Case(
        name="values on request",
        words=("run", "spec.yml", "--show-values"),
        spec={"columns/sex/hierarchy": "sex.csv"},
        files={"sex.csv": "f;*\n"},
        place="For example: 'm'",
        hint="--show-values",
    ),
    Case(
        name="a sensitive value without a leaf",
        words=("run", "spec.yml", "--show-values"),
        spec={
            "columns/illness": {"role": "sensitive", "hierarchy": {"groups": [{"a": ["flu"]}]}},
            "privacy": [
                {"model": "t_closeness", "column": "illness", "distance": "hierarchical", "t": 0.5}
            ],
        },
        place="column 'illness': 3 of 3 values have no leaf",
        hint="each of them; sensitive values are not printed",
    ),
    Case(
        name="a number between leaves of text",
        spec={"columns/age/hierarchy": "age.csv"},
        files={"age.csv": "20.0;*\n21.5;*\n"},
        place="column 'age'",
        hint="--show-values",
    ),
    Case(
        name="leaves that are no numbers",
        spec={"columns/age/hierarchy": "age.csv"},
        files={"age.csv": "twenty;*\nthirty;*\n"},
        place="column 'age'",
        hint="--show-values",
    ),
    Case(
        name="one number written twice",
        spec={"columns/age/hierarchy": "age.csv"},
        files={"age.csv": "".join(f"{i};*\n" for i in range(20, 80)) + "020;*\n"},
        place="column 'age'",
        hint="exactly one row",
    ),
)

BROKEN_TABLES = tuple(
    Case(
        name=f"a table {what}",
        spec={"columns/sex/hierarchy": {"table": "dim"}},
        sql=f"CREATE TABLE dim {body}",
        place=place,
        hint=hint,
    )
    for what, body, place, hint in (
        ("without rows", "(v VARCHAR, a VARCHAR)", SEX, "one row for each value"),
        (
            "with NULL as label",
            "AS SELECT * FROM (VALUES ('f', 'a'), ('m', NULL)) AS t(v, a)",
            "holds NULL",
            "NULL needs no leaf",
        ),
        (
            "with NULL as leaf",
            "AS SELECT * FROM (VALUES ('f', 'a'), ('m', 'a'), (NULL, 'a')) AS t(v, a)",
            "holds NULL",
            "NULL needs no leaf",
        ),
        (
            "with a leaf twice",
            "AS SELECT * FROM (VALUES ('f', 'a'), ('f', 'a'), ('m', 'a')) AS t(v, a)",
            SEX,
            "exactly one row",
        ),
        (
            "with lists",
            "AS SELECT * FROM (VALUES (['f'], 'a'), (['m'], 'a')) AS t(v, a)",
            "column 'sex'",
            "--show-values",
        ),
        (
            "with blobs",
            "AS SELECT * FROM (VALUES ('\\xFF'::BLOB, 'a')) AS t(v, a)",
            "column 'sex'",
            "--show-values",
        ),
    )
)

TABLES = (
    *BROKEN_TABLES,
    Case(
        name="a table that is a view on nothing",
        spec={"columns/sex/hierarchy": {"table": "dim"}},
        sql="CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW dim AS FROM t; DROP TABLE t",
        place="DuckDB",
        hint="-vv",
    ),
    Case(
        name="a table whose view fails on a cell",
        spec={"columns/sex/hierarchy": {"table": "dim"}},
        sql="CREATE VIEW dim AS SELECT name::INTEGER AS v FROM people",
        place="DuckDB: Conversion Error",
        hint="-vv",
    ),
    Case(
        name="a table without columns of text",
        code=0,
        spec={"target": GONE, "columns/age/hierarchy": {"table": "dim"}},
        sql="CREATE TABLE dim AS SELECT i AS v, i // 10 AS a, true AS b FROM range(20, 90) AS r(i)",
        released=Released(target="owner.duckdb"),
    ),
)

GROUPS = tuple(
    Case(
        name=f"groups {what}",
        spec={"columns/sex/hierarchy": {"groups": groups}},
        place=place,
        hint=hint,
    )
    for what, groups, place, hint in (
        ("without a level", [], "columns.sex.hierarchy.groups", "urgent"),
        ("without a label", [{}], "'sex'", "one row"),
        ("without members", [{"a": []}], "'sex'", "one row"),
        (
            "with a member twice",
            [{"a": ["f", "m"], "b": ["f"]}],
            "two different parents",
            "exactly one row",
        ),
        (
            "with an unknown label above",
            [{"a": ["f"], "b": ["m"]}, {"x": ["a", "c"]}],
            "level 2",
            "one mapping a level",
        ),
        (
            "with a label twice above",
            [{"a": ["f"], "b": ["m"]}, {"x": ["a"], "y": ["a", "b"]}],
            "level 2",
            "exactly one parent",
        ),
        ("that forget a value", [{"a": ["f"]}], "1 of 2 values", "--show-values"),
        ("with a null member", [{"a": ["f", None]}], "columns.sex.hierarchy.groups", "quote"),
        ("with a truth as member", [{"a": ["f", True]}], "columns.sex.hierarchy.groups", "quote"),
        ("with lists as members", [{"a": [["f"], ["m"]]}], "columns.sex.hierarchy.groups", "quote"),
        ("that are text", ["a"], "columns.sex.hierarchy.groups", "urgent"),
        (
            "with * below the top",
            [{"*": ["f"], "b": ["m"]}, {"x": ["*", "b"]}],
            "'*'",
            "another name",
        ),
    )
)

HUGE = "".join(f"{i:06d};{i // 10:05d};{i // 100:04d};*\n" for i in range(100_000))

RELEASED = ("hostile labels", "NUL characters", "an empty label", "one column")
LEGAL_FILES = tuple(
    Case(
        name=name,
        code=0,
        spec={"columns/sex/hierarchy": path, "target": GONE},
        files={path: content},
        # what is hostile is released, and what is written in another way is only read
        words=("run" if name in RELEASED else "check", "spec.yml"),
        released=Released(target="owner.duckdb") if name in RELEASED else None,
    )
    for name, path, content in (
        ("a byte order mark", "sex.csv", b"\xef\xbb\xbf" + GOOD.encode()),
        ("CRLF", "sex.csv", GOOD.replace("\n", "\r\n")),
        ("no newline at the end", "sex.csv", "f,any\nm,any"),
        ("a tab", "sex.csv", "f\tany\nm\tany\n"),
        ("hostile labels", "sex.csv", 'f;"""; DROP TABLE people; --"\nm;it\'s 😀\u202e\u200b\n'),
        ("one column", "sex.csv", "f\nm\n"),
        ("a gzip file", "sex.csv.gz", gzip.compress(GOOD.encode())),
        ("gzip without the name", "sex.csv", gzip.compress(GOOD.encode())),
        ("NUL characters", "sex.csv", "f;a\0\nm;a\0\n"),
        ("an empty label", "sex.csv", "f;;any\nm;x;any\n"),
        ("leaves that do not occur", "sex.csv", GOOD + "x;any\n"),
    )
)

LEGAL = (
    *LEGAL_FILES,
    Case(
        name="100,000 leaves",
        code=0,
        words=("check", "spec.yml"),
        spec={"columns/zip/hierarchy": "zip.csv"},
        files={"zip.csv": HUGE},
        sql="UPDATE people SET zip = lpad(zip, 6, '0')",
        says=("4 levels",),
    ),
)

CASES = (*FILES, *TABLES, *GROUPS, *LEGAL)
