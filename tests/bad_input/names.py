"""Names: missing and hostile ones in every position, and hostile ones that are legal."""

from __future__ import annotations

from bad_input.place import GONE, SPEC
from bad_input.runner import Case, Released

DROP = '"; DROP TABLE people; --'
LONG = "x" * 500

# -- positions that take names of a few letters: `release`, `source.name`, `target` ----------------

NO_NAMES = {
    "spaces": "people public",
    "quotes": 'a"b',
    "a quote of texts": "it's",
    "injection": DROP,
    "500 characters": LONG,
    "empty": "",
    "only blanks": "   ",
    "a newline": "a\nb",
    "a newline at the end": "people_public\n",
    "a tab": "a\tb",
    "a NUL": "a\0b",
    "emoji": "people_😀",
    "combining": "peo\u0301ple",
    "right to left": "\u202eelpoep",
    "zero width": "people\u200b",
    "full width": "ｐｅｏｐｌｅ",
    "a dot": "main.people",
    "a slash": "../people",
    "a digit first": "1people",
    "our own schema": "deid",
}

RELEASES = tuple(
    Case(
        name=f"release: {what}",
        spec={"release": name},
        place="line 2: release: ",
        hint="choose another name" if name == "deid" else "as in `release: visits_public`",
    )
    for what, name in NO_NAMES.items()
)

# -- positions that take the name of something that is there ---------------------------------------

MISSING = {
    "spaces": "no such table",
    "quotes": 'no"such',
    "a quote of texts": "no'such",
    "injection": DROP,
    "500 characters": LONG,
    "only blanks": "   ",
    "a newline": "no\nsuch",
    "a tab": "no\tsuch",
    "emoji": "😀",
    "combining": "peo\u0301ple",
    "right to left": "\u202epeople",
    "zero width": "people\u200b",
    "a reserved word": "select",
    "too many dots": "a.b.c.d",
    "an empty part": "main.",
    "a star": "*",
    "a function": "range(3)",
    "our own table": "deid_source",
}

SOURCES = tuple(
    Case(name=f"source: {what}", spec={"source": name}, place="source", hint="Known")
    for what, name in MISSING.items()
)

COLUMNS = tuple(
    Case(
        name=f"columns: {what}",
        spec={f"columns/{name}": "drop"},
        place="columns",
        hint="Known: ",
    )
    for what, name in MISSING.items()
    if "/" not in name and "," not in name
)

HIERARCHY_TABLES = tuple(
    Case(
        name=f"hierarchy table: {what}",
        spec={"columns/sex/hierarchy": {"table": name}},
        place="hierarchy of column 'sex'",
        hint="Known: ",
    )
    for what, name in MISSING.items()
)

HIERARCHY_PATHS = tuple(
    Case(
        name=f"hierarchy file: {what}",
        spec={"columns/sex/hierarchy": name},
        place="columns.sex.hierarchy" if name == LONG else "hierarchy of column 'sex'",
        hint="a shorter" if name == LONG else "relative to the spec",
    )
    for what, name in MISSING.items()
)

DATABASES = tuple(
    Case(
        name=f"database: {what}",
        spec={"database": name},
        place="line 3: database" if name == LONG else "no such database file",
        hint="a shorter" if name == LONG else "`database`",
    )
    for what, name in MISSING.items()
)

QUERIES = tuple(
    Case(
        name=f"evaluate.queries: {what}",
        spec={"evaluate": {"queries": name}},
        place="evaluate.queries",
        hint="queries/*.sql",
    )
    for what, name in [
        *MISSING.items(),
        ("a folder", "."),
        ("absolute", "/etc/*.sql"),
        ("stars", "**" * 50),
    ]
    if name != "*"
)

TRANSFORMATIONS = tuple(
    Case(
        name=f"transformation: {what}",
        spec={"method/transformation": {name: 1, "age": 1, "zip": 1, "sex": 1}},
        place="method.transformation",
        hint="one level for each quasi-identifier",
    )
    for what, name in MISSING.items()
)

QIS = tuple(
    Case(
        name=f"--qi: {what}",
        words=("risk", "owner.duckdb", "people", "--qi", name),
        place="no column",
        hint="Known: ",
    )
    for what, name in MISSING.items()
)

TABLE_ARGUMENTS = tuple(
    Case(
        name=f"table argument: {what}",
        words=("risk", "owner.duckdb", name, "--qi", "age"),
        place="owner.duckdb",
        hint="Known: ",
    )
    for what, name in MISSING.items()
)

PATHS = tuple(
    Case(
        name=f"spec path: {what}",
        words=("run", name),
        place="cannot be read",
        hint="YAML file",
    )
    for what, name in MISSING.items()
    if name != "*"
)

# -- names of missing things of one kind each ------------------------------------------------------

SINGLE = (
    Case(
        name="target without its ending",
        spec={"target": "out.db"},
        place="target",
        hint="public.duckdb",
    ),
    Case(
        name="target in a folder that is not there",
        spec={"target": "no/out.duckdb"},
        place="target",
        hint="create it first",
    ),
    Case(
        name="target of 500 characters",
        spec={"target": LONG + ".duckdb"},
        place="line 4: target",
        hint="give a shorter",
    ),
    Case(
        name="target with a NUL",
        spec={"target": "a\0.duckdb"},
        place="target",
        hint="_public.duckdb",
    ),
    Case(
        name="target that is only an ending",
        spec={"target": ".duckdb"},
        place="target",
        hint="public.duckdb",
    ),
    Case(
        name="target that is the database",
        spec={"target": "owner.duckdb"},
        place="target",
        hint="another",
    ),
    Case(
        name="target that is the database, otherwise written",
        spec={"target": "./x/../owner.duckdb"},
        place="target",
        hint="another",
        build=lambda folder: (folder / "x").mkdir(),
    ),
    Case(
        name="target that is a link to the database",
        spec={"target": "link.duckdb"},
        build=lambda folder: (folder / "link.duckdb").symlink_to("owner.duckdb"),
        place="target",
        hint="another",
    ),
    Case(
        name="target that is the spec",
        words=("run", "spec.duckdb"),
        spec=None,
        files={
            "spec.duckdb": "release: a\ntarget: spec.duckdb\nsource: people\nprivacy: [{model: k_anonymity, k: 2}]\nmethod: full_domain\ncolumns: {age: {role: quasi_identifier, hierarchy: suppress}}\n"
        },
        place="target",
        hint="another",
    ),
    Case(
        name="export without an ending",
        spec={"output": {"export": ["out"]}},
        place="output.export",
        hint="public.csv",
    ),
    Case(
        name="export that is the target",
        spec={"output": {"export": ["out.duckdb"]}},
        place="output.export",
        hint="another",
    ),
    Case(
        name="export that is the private file",
        spec={"output": {"export": ["out.private.duckdb"]}},
        place="output.export",
        hint="another",
    ),
    Case(
        name="export twice",
        spec={"output": {"export": ["a.csv", "a.csv"]}},
        place="output.export",
        hint="visits_public.csv",
    ),
    Case(
        name="export twice, otherwise written",
        spec={"output": {"export": ["a.csv", "./a.csv"]}},
        place="output.export",
        hint="another",
    ),
    Case(
        name="an export that meets the dictionary of another",
        spec={"output": {"export": ["a.csv", "a_dictionary.csv"]}},
        place="output.export",
        hint="another",
    ),
    Case(
        name="an export over the hierarchy",
        spec={"columns/sex/hierarchy": "sex.csv", "output": {"export": ["sex.csv"]}},
        files={"sex.csv": "f;*\nm;*\n"},
        place="output.export",
        hint="another",
    ),
    Case(
        name="an export over a query",
        spec={"evaluate": {"queries": "*.csv"}, "output": {"export": ["q.csv"]}},
        files={"q.csv": "SELECT 1"},
        place="q.csv",
        hint="another",
    ),
    Case(
        name="an export whose dictionary is an input",
        spec={"columns/sex/hierarchy": "a_dictionary.csv", "output": {"export": ["a.csv"]}},
        files={"a_dictionary.csv": "f;*\nm;*\n"},
        place="a_dictionary.csv",
        hint="another",
    ),
    Case(
        name="export to a file of the owner's",
        spec={"output": {"export": ["mine.csv"]}},
        files={"mine.csv": "a\n"},
        place="mine.csv",
        hint="another",
    ),
    Case(
        name="target that is a file of the owner's",
        files={"out.duckdb": "mine"},
        place="out.duckdb",
        hint="another",
    ),
    Case(
        name="a release over a table of the owner's",
        spec={"target": GONE, "release": "mine"},
        sql="CREATE TABLE mine AS SELECT 1 AS a",
        place="mine",
        hint="another",
    ),
    Case(
        name="a release over its source",
        spec={"target": GONE, "release": "people"},
        place="people",
        hint="another",
    ),
    Case(
        name="a release over its source, in other letters",
        spec={"target": GONE, "release": "PEOPLE"},
        place="PEOPLE",
        hint="another",
    ),
    Case(
        name="a release whose dictionary is a table of the owner's",
        spec={"target": GONE},
        sql="CREATE TABLE people_public_dictionary AS SELECT 1 AS a",
        place="people_public_dictionary",
        hint="another",
    ),
    Case(
        name="a view over a table of the owner's",
        spec={"target": GONE, "release": "mine", "output": {"as": "view"}},
        sql="CREATE TABLE mine AS SELECT 1 AS a",
        place="mine",
        hint="another",
    ),
    Case(
        name="the name of a query with blanks",
        spec={"source": {"sql": "SELECT * FROM people", "name": "my people"}},
        place="source.name",
        hint="name: visits",
    ),
    Case(
        name="the name of a query that is missing",
        spec={"source": {"sql": "SELECT * FROM people"}},
        place="source.name",
        hint="name: visits",
    ),
    Case(
        name="groups with a hostile label",
        spec={"columns/sex/hierarchy": {"groups": [{DROP: ["f"]}]}},
        place="'sex'",
        hint="row",
    ),
    Case(
        name="groups with the label *",
        spec={"columns/sex/hierarchy": {"groups": [{"*": ["f"], "b": ["m"]}]}},
        place="'sex'",
        hint="another name",
    ),
    Case(
        name="a column given twice in other letters",
        spec={"columns/AGE": "drop"},
        place="columns",
        hint="keep one",
    ),
    Case(
        name="a column given twice in a list",
        spec={"columns/age, zip": "drop"},
        place="columns",
        hint="keep one",
    ),
    Case(
        name="a list of columns with an empty one",
        spec={"columns/name": GONE, "columns/name, ": "drop"},
        place="columns",
        hint="Known",
    ),
    Case(
        name="a column without a role",
        spec={"columns/illness": GONE},
        place="'illness'",
        hint="drop",
    ),
    Case(name="an empty column name", spec={"columns/": "drop"}, place="columns", hint="Known"),
    Case(
        name="a role that is misspelt",
        spec={"columns/name": "identifer"},
        place="columns.name",
        hint="identifier",
    ),
)

# -- hostile, but legal ----------------------------------------------------------------------------

LEGAL = {
    "spaces": "birth year",
    "blanks at the ends": " age ",
    "a comma": "age, of sorts",
    "quotes": 'a"b""c',
    "a quote of texts": "it's",
    "injection": DROP,
    "200 characters": "x" * 200,
    "a newline": "a\nb",
    "a tab": "a\tb",
    "emoji": "😀",
    "combining": "a\u0301ge",
    "right to left": "\u202eega",
    "zero width": "age\u200b",
    "a dot": "people.age",
    "a star": "*",
    "brackets": "[age]",
    "dollars": "$1",
    "a question mark": "?",
    "a percent sign": "%s {0} {{x}}",
    "a backslash": "a\\n",
    "a comment": "/* a */ -- b",
    "only blanks": "   ",
    "a number": "007",
    "a truth": "true",
    "null": "null",
    **{
        f"our alias {name}": name
        for name in [
            "deid_source",
            "deid_coded",
            "deid_tuples",
            "deid_staged",
            "deid_dictionary",
            "deid_values_0",
            "code",
            "grp",
            "label",
            "records",
            "value",
            "source",
            "coded",
            "q0",
            "l0",
            "v0",
            "c0",
            "s0",
            "lc0",
            "class_size",
            "__n",
            "__rel__",
            "__qi__",
            "k",
            "qis",
            "column",
            "level",
            "leaves",
            "lower",
            "upper",
            "released_value",
            "suppressed",
            "verify_source",
            "verify_rows",
            "verify_balance",
            "origin",
            "generalized",
            "released",
            "both",
            "occurring",
            "entry",
            "listed",
            "found",
            "smallest",
            "rowid",
            "h0",
            "tbl",
            "__k",
            "release",
            "hierarchy",
        ]
    },
    **{
        f"reserved {name}": name
        for name in ("select", "order", "group", "from", "table", "end", "all", "qualify")
    },
}


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _hostile(number: int, names: tuple[tuple[str, str], ...]) -> Case:
    """A release of a table whose columns have these names."""
    old = ("age", "zip", "sex", "illness", "wage", "name")
    new = {before: name for before, (_, name) in zip(old, names, strict=False)}
    qis = tuple(new.get(name, name) for name in old[:3])
    return Case(
        name="columns called " + ", ".join(what for what, _ in names),
        code=0,
        spec={
            "columns": {new.get(name, name): role for name, role in SPEC["columns"].items()},
            **({"output": {"export": ["out.parquet", "out.csv"]}} if number % 4 == 0 else INSIDE),
        },
        sql="; ".join(
            f"ALTER TABLE people RENAME COLUMN {before} TO {_identifier(after)}"
            for before, after in new.items()
        ),
        new=(*FILES, *TABLES),
        released=Released(
            qis=qis,
            rest=tuple(new.get(name, name) for name in ("illness", "wage")),
            target="out.duckdb" if number % 4 == 0 else "owner.duckdb",
        ),
    )


INSIDE = {"target": GONE}
FILES = ("out.duckdb", "out.private.duckdb")
TABLES = ("out.parquet", "out_dictionary.parquet", "out.csv", "out_dictionary.csv")

# Six names a case, in an order that lets neighbours meet.
LEGAL_COLUMNS = tuple(_hostile(i, tuple(LEGAL.items())[i : i + 6]) for i in range(0, len(LEGAL), 6))

LEGAL_TABLES = tuple(
    Case(
        name=f"a table called {what}",
        code=0,
        spec={"source": name, **INSIDE},
        sql=f"CREATE TABLE {_identifier(name)} AS FROM people",
        released=Released(target="owner.duckdb"),
    )
    for what, name in {
        "injection": DROP,
        "500 characters": LONG,
        "a newline": "a\nb",
        "an ideographic space": "a\u3000b",
        "a dot": "a.b",
        "only blanks": "   ",
        "a reserved word": "select",
        "our own deid_source": "deid_source",
        "source": "source",
    }.items()
)

LEGAL_RELEASES = tuple(
    Case(
        name=f"a release called {name}",
        code=0,
        spec={"release": name, **({} if name == "people" else INSIDE)},
        new=FILES if name == "people" else (),
        released=Released(
            release=name, target="out.duckdb" if name == "people" else "owner.duckdb"
        ),
    )
    for name in (
        "select",
        "deid_source",
        "deid_staged",
        "deid_dictionary",
        "release",
        "main",
        "temp",
        "people",
        "x" * 63,
        "__rel__",
        "hierarchies",
    )
)

LEGAL_FILES = tuple(
    Case(
        name=f"a target called {what}",
        code=0,
        spec={"target": name},
        new=(name, name.removesuffix(".duckdb") + ".private.duckdb"),
        released=Released(target=name),
    )
    for what, name in {
        "quotes, stars and more": "a\"b'; c*[d]?--.duckdb",
        "a newline and a no-break space": "a\nb\u00a0c.duckdb",
        "a percent sign": "%s{0}.duckdb",
        "temp": "temp.duckdb",
        "deid": "deid.duckdb",
        "like the database in other letters": "OWNER.duckdb",
    }.items()
) + tuple(
    Case(
        name=f"an export called {what}",
        code=0,
        spec={"output": {"export": [f"{name}.parquet", f"{name}.csv", f"{name}.duckdb"]}},
        new=(
            "out.duckdb",
            "out.private.duckdb",
            f"{name}.parquet",
            f"{name}.csv",
            f"{name}.duckdb",
            f"{name}_dictionary.parquet",
            f"{name}_dictionary.csv",
        ),
        released=Released(target=f"{name}.duckdb"),
    )
    for what, name in {"quotes, stars, braces and a year": "a\"b'c*[d]?{e,f}year=1"}.items()
)

CASES = (
    *RELEASES,
    *SOURCES,
    *COLUMNS,
    *HIERARCHY_TABLES,
    *HIERARCHY_PATHS,
    *DATABASES,
    *QUERIES,
    *TRANSFORMATIONS,
    *QIS,
    *TABLE_ARGUMENTS,
    *PATHS,
    *SINGLE,
    *LEGAL_COLUMNS,
    *LEGAL_TABLES,
    *LEGAL_RELEASES,
    *LEGAL_FILES,
)
