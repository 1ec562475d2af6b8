"""The command line: arguments that are missing, unknown, contradictory, or mean nothing."""

from __future__ import annotations

from dataclasses import replace

from bad_input.place import GONE
from bad_input.runner import Case

HELP = "--help"

USAGE = tuple(
    Case(name=f"dbdeid {' '.join(words)}"[:90], words=words, place=place, hint=(*hint, HELP)[0])
    for words, place, *hint in (
        (("nonsense",), "nonsense"),
        (("runn", "spec.yml"), "runn"),
        (("",), "''"),
        (("--bogus",), "--bogus"),
        (("run",), "no dbdeid.yml", "give a SPEC"),
        (("check",), "SPEC"),
        (("check", "spec.yml", "spec.yml"), "spec.yml"),
        (("verify",), "SPEC|FILE|DIR"),
        (("evaluate",), "SPEC"),
        (("export", "spec.yml"), "DEST"),
        (("export",), "SPEC"),
        (("report",), "SPEC"),
        (("init",), "SOURCE"),
        (("risk",), "SOURCE"),
        (("risk", "owner.duckdb", "people"), "--qi"),
        (("risk", "owner.duckdb", "people", "--qi"), "--qi", "requires an argument"),
        (("risk", "owner.duckdb", "people", "--qi", "age", "--k", "0"), "--k"),
        (("risk", "owner.duckdb", "people", "--qi", "age", "--k", "-1"), "--k"),
        (("risk", "owner.duckdb", "people", "--qi", "age", "--k", "two"), "--k"),
        (("risk", "owner.duckdb", "people", "--qi", "age", "--k", "2.5"), "--k"),
        (("risk", "x.csv", "--qi", "age", "--sensitive"), "--sensitive", "requires an argument"),
        (("risk", "x.csv", "--qi", "age", "--sampling-fraction", "1%"), "--sampling-fraction"),
        (("risk", "x.csv", "--qi", "age", "--special-uniques", "0"), "--special-uniques"),
        (("risk", "x.csv", "--qi", "age", "--special-uniques", "all"), "--special-uniques"),
        (("list",), "DATABASE"),
        (("sql",), "DATABASE"),
        (("macros", "install"), "DATABASE"),
        (("macros", "nonsense"), "nonsense"),
        (("macros", "print", "more"), "more"),
        (("run", "spec.yml", "--bogus"), "--bogus"),
        (("run", "spec.yml", "--thread", "2"), "--thread"),
        (("run", "--threads", "spec.yml"), "--threads"),
        (("run", "spec.yml", "--threads", "0"), "--threads"),
        (("run", "spec.yml", "--threads", "-1"), "--threads"),
        (("run", "spec.yml", "--threads", "many"), "--threads"),
        (("run", "spec.yml", "--threads", "1.5"), "--threads"),
        (("run", "spec.yml", "--threads"), "--threads", "requires an argument"),
        (("run", "spec.yml", "--json=yes"), "--json", "does not take a value"),
        (
            ("run", "spec.yml", "--quiet", "no", "--memory-limit"),
            "--memory-limit",
            "requires an argument",
        ),
        (("run", "spec.yml", "--database"), "--database", "requires an argument"),
        (("report", "spec.yml", "--audience", "everyone"), "--audience"),
        (("report", "spec.yml", "-o"), "-o", "requires an argument"),
        (("verify", "x.parquet", "--qi", "age", "--k", "none"), "--k"),
        (("list", "owner.duckdb", "--explain"), "--explain"),
        (("export", "spec.yml", "x.csv", "--explain"), "--explain"),
        (("search",), "SPEC"),
        (("search", "spec.yml", "--k"), "--k", "requires an argument"),
        (("search", "spec.yml", "--limit", "0.05"), "--limit"),
        (("search", "spec.yml", "--explain"), "--explain"),
        (("query",), "SPEC|FILE"),
        (("query", "spec.yml"), "SQL"),
        (("query", "spec.yml", "SELECT 1", "--dialect", "cobol"), "--dialect"),
        (("query", "spec.yml", "SELECT 1", "--explain", "--dialect"), "--dialect", "argument"),
        (("frontier", "spec.yml"), "method full_domain has no frontier", "method: policy"),
        (("workload",), "SPEC"),
        (("workload", "spec.yml"), "DIR"),
        (("workload", "spec.yml", "asked", "--queries", "0"), "--queries"),
        (("workload", "spec.yml", "asked", "--dimensions", "0"), "--dimensions"),
        (("workload", "spec.yml", "asked", "--seed", "-1"), "--seed"),
        (("workload", "spec.yml", "asked", "--selectivity", "5%"), "--selectivity"),
        (("workload", "spec.yml", "asked", "--selectivity", "0"), "--selectivity", "0.05"),
        (("workload", "spec.yml", "asked", "--selectivity", "nan"), "--selectivity", "0.05"),
        (("workload", "spec.yml", "asked", "--dimensions", "9"), "--dimensions 9", "`domain:`"),
        (("workload", "spec.yml", "."), ". is not empty", "new folder"),
        (("workload", "spec.yml", "spec.yml"), "spec.yml is no folder", "new folder"),
    )
)

SEARCHES = tuple(
    Case(
        name=f"dbdeid search {' '.join(words)}"[:90],
        words=("search", "spec.yml", *words),
        place=place,
        hint=hint,
    )
    for words, place, hint in (
        *(
            (("--k", given), "--k: ", "as in --k 3,5,10")
            for given in ("", ",", "3,", "0", "-1", "2.5", "three", "3,5,3", "9" * 5000, "nan", "²")
        ),
        *(
            (("--suppression", given), "--suppression: ", "as in --suppression 0,0.02,0.05")
            for given in ("", "0,", "-0.01", "1.5", "5%", "nan", "inf", "0.05,5e-2", "0,-0", "0;1")
        ),
        (("-o", "nowhere/page.html"), "nowhere/page.html", "another place with -o"),
    )
)

_WEIGHTS = "CREATE TABLE survey AS SELECT *, {} AS w FROM people; "

RISKS = tuple(
    Case(
        name=f"dbdeid risk {' '.join(words)}"[:90] + (f", {sql}" if sql else ""),
        words=("risk", "owner.duckdb", "survey" if sql else "people", "--qi", "age", *words),
        place=place,
        hint=hint,
        sql=_WEIGHTS.format(sql) if sql else "",
    )
    for sql, words, place, hint in (
        ("", ("--sensitive", "ilness"), "ilness", "did you mean 'illness'?"),
        ("", ("--sensitive", ""), "no column ''", "Known"),
        ("", ("--sensitive", "AGE"), "'age' is given as quasi-identifier", "named once"),
        ("", ("--qi", "sex", "--qi", "SEX"), "'sex' is given as quasi-identifier", "named once"),
        ("", ("--sensitive", "illness", "--sensitive", "illness"), "'illness'", "named once"),
        ("", ("--sensitive", "name", "--subject", "name"), "as subject", "named once"),
        ("", ("--sensitive", "illness", "--null-policy", "wildcard"), "--sensitive", "exclude"),
        ("", ("--sampling-fraction", "0"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "-0.1"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "1.01"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "nan"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "inf"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "1e-300"), "--sampling-fraction", "0.05"),
        ("", ("--sampling-fraction", "0.1", "--subject", "name"), "--sampling-fraction", "leave"),
        ("", ("--sampling-fraction", "1", "--null-policy", "wildcard"), "overlap", "exclude"),
        ("", ("--special-uniques", "2", "--null-policy", "wildcard"), "overlap", "exclude"),
        ("", ("--special-uniques", "2", "--subject", "name"), "--special-uniques", "leave"),
        ("", ("--special-uniques", "9", *("--qi", "x") * 30), "sets of 31", "fewer --qi"),
        ("", ("--weight", "weight"), "no column 'weight'", "Known"),
        ("", ("--weight", "zip"), "'zip' is no number", "survey weights"),
        ("", ("--weight", "wage", "--sensitive", "wage"), "and as weight", "named once"),
        ("", ("--weight", "age"), "and as weight", "named once"),
        ("", ("--weight", "wage", "--subject", "name"), "--weight", "leave"),
        ("CASE WHEN age > 70 THEN NULL ELSE 3 END", ("--weight", "w"), "missing", "stands for"),
        ("CASE WHEN age > 70 THEN 'nan'::DOUBLE ELSE 3 END", ("--weight", "w"), "finite", "stands"),
        ("'inf'::FLOAT", ("--weight", "w"), "200 of 200 values are missing or not", "stands"),
        ("age - 21", ("--weight", "w"), "values are below 1", "itself included"),
        ("-1.5", ("--weight", "w"), "200 of 200 values are below 1", "itself included"),
        ("0.99", ("--weight", "w"), "200 of 200 values are below 1", "itself included"),
    )
)

FILES = tuple(
    Case(name=f"dbdeid {' '.join(words)}"[:90], words=words, place=place, hint=hint)
    for words, place, hint in (
        (("run", "missing.yml"), "missing.yml", "YAML file"),
        (("run", "spec.yml", "missing.yml"), "missing.yml", "YAML file"),
        (("run", ""), "cannot be read", "YAML file"),
        (("run", "."), "cannot be read", "YAML file"),
        (("run", "owner.duckdb"), "owner.duckdb", "YAML file"),
        (("run", "people.csv"), "people.csv is data", "dbdeid init people.csv"),
        (("run", "spec.yml", "--database", "missing.duckdb"), "missing.duckdb", "database"),
        (("run", "spec.yml", "--database", "."), "folder", "a .duckdb file"),
        (("run", "spec.yml", "--database", "spec.yml"), "spec.yml", "a .duckdb file"),
        (("run", "spec.yml", "--database", "x" * 500), "File name too long", "path"),
        (("check", "spec.yml", "--database", "out.duckdb"), "out.duckdb", "another"),
        (("verify", "spec.yml"), "never run", "run the spec first"),
        (("evaluate", "spec.yml"), "never run", "run the spec first"),
        (("report", "spec.yml"), "never run", "run the spec first"),
        (("export", "spec.yml", "x.csv"), "never run", "run the spec first"),
        (("export", "spec.yml", "x.xls"), "x.xls", ".parquet"),
        (("export", "spec.yml", "x.txt"), "x.txt: unknown kind", ".parquet"),
        (("export", "spec.yml", "x"), "never run", "run the spec first"),
        (("export", "spec.yml", "."), "not empty", "new folder"),
        (("export", "spec.yml", "no/x"), "no does not exist", "create it"),
        (("export", "spec.yml", "no/x.csv"), "no does not exist", "create it"),
        (("export", "spec.yml", "owner.duckdb"), "owner.duckdb exists", "another name"),
        (("verify", "owner.duckdb"), "owner.duckdb", "--qi age"),
        (("verify", "owner.duckdb", "--qi", "age"), "owner.duckdb", "--k 5"),
        (("verify", "missing.parquet", "--qi", "age", "--k", "5"), "missing.parquet", "path"),
        (("verify", "spec.csv", "--qi", "age", "--k", "5"), "spec.csv", "path"),
        (("verify", "owner.duckdb", "nobody", "--qi", "age", "--k", "5"), "owner.duckdb", "Known"),
        (
            ("verify", "owner.duckdb", "people", "--qi", "agee", "--k", "5"),
            "agee",
            "did you mean 'age'?",
        ),
        (("list", "missing.duckdb"), "missing.duckdb", "database"),
        (("list", "spec.yml"), "spec.yml", "a .duckdb file"),
        (("list", "."), "folder", "a .duckdb file"),
        (("init", "missing.parquet"), "missing.parquet", "looked in"),
        (("init", "missing.duckdb"), "missing.duckdb", "database"),
        (("init", "spec.yml"), "spec.yml is not a DuckDB database", "the ending .csv"),
        (("init", "owner.duckdb"), "holds 2 tables", "name one"),
        (("init", "owner.duckdb", "nobody"), "nobody", "Known"),
        (("risk", "missing.csv", "--qi", "age"), "missing.csv", "looked in"),
        (("risk", "missing.csv", "people", "--qi", "age"), "missing.csv", "looked in"),
        (("risk", "owner.duckdb", "people", "--qi", "agee"), "agee", "did you mean 'age'?"),
        (("risk", "owner.duckdb", "--qi", "age"), "holds 2 tables", "name one"),
        (("demo", "spec.yml"), "spec.yml", "folder"),
        (("demo", "spec.yml/demo"), "spec.yml", "folder"),
        (("demo", "/proc/nowhere"), "/proc/nowhere", "folder"),
        (("demo", "x" * 500), "x", "folder"),
        (("macros", "install", "missing.duckdb"), "missing.duckdb", "DuckDB database"),
        (("macros", "install", "spec.yml"), "spec.yml", "a .duckdb file"),
        (("macros", "install", "no/missing.duckdb"), "missing.duckdb", "DuckDB database"),
        (("query", "spec.yml", "SELECT COUNT(*) FROM people"), "never run", "run the spec first"),
        (("query", "missing.yml", "SELECT 1"), "missing.yml", "YAML file"),
        (("query", "missing.duckdb", "SELECT 1"), "missing.duckdb", "path"),
        (("query", "missing.csv", "SELECT 1"), "missing.csv", "path"),
        (("query", "owner.duckdb", "SELECT COUNT(*) FROM people"), "no release", "the spec of one"),
        (("query", "spec.yml", "missing.sql"), "missing.sql", "file"),
        (("query", "spec.yml", "SELECT 1", "--dialect", "spark"), "--dialect", "DuckDB"),
        (("query", "x.duckdb", "SELECT 1", "--database", "owner.duckdb"), "--database", "leave it"),
        (("sql", "owner.duckdb", "missing.sql"), "missing.sql", "file"),
        (("sql", "owner.duckdb", "."), ".", "file"),
        (("sql", "spec.yml", "-c", "SELECT 1"), "spec.yml", "DuckDB database"),
        (("sql", "no/x.duckdb", "-c", "SELECT 1"), "x.duckdb: no such database", "--create"),
        (("sql", "owner.duckdb", "-c", "SELEC 1"), "SQL: Parser Error", "-c"),
        (("sql", "owner.duckdb", "-c", "SELECT x"), "SQL: Binder Error", "-c"),
        (
            ("sql", "owner.duckdb", "-c", "SELECT name::INT FROM people"),
            "SQL: Conversion Error",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT error(name) FROM people"),
            "SQL: Invalid Input Error",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "FROM deid.risk('people', ['agee'])"),
            "SQL: Binder Error",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "FROM deid.\"check\"('people', ['name'], 5)"),
            "deid.check",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT deid.interval_label(age, 0) FROM people"),
            "width must be above 0",
            "-c",
        ),
        (
            (
                "sql",
                "owner.duckdb",
                "-c",
                "SELECT deid.interval_label(age, 5, lower := 60, upper := 10) FROM people",
            ),
            "lower must be below upper",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT deid.generalize(illness, 'age', 1) FROM people"),
            "deid.generalize",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT deid_generalize('age', illness, 1) FROM people"),
            "age",
            "-c",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT deid_pseudonym(name, 'a') FROM people"),
            "DBDEID_PSEUDONYM_KEY",
            "openssl",
        ),
        (
            ("sql", "owner.duckdb", "-c", "SELECT deid_run('missing.yml')"),
            "missing.yml",
            "YAML file",
        ),
        (("sql", "owner.duckdb", "-c", "SELECT deid_check('release: x')"), "privacy", "privacy: "),
    )
)
SETTINGS = tuple(
    Case(
        name=f"{' '.join(more)}",
        words=("run", "spec.yml", *more),
        real=True,
        place=place,
        hint=hint,
    )
    for more, place, hint in (
        (("--memory-limit", "1MB"), "not enough memory", "--memory-limit"),
        (("--memory-limit", "nonsense"), "refused the settings", "2GB"),
        (("--memory-limit", "-1GB"), "refused the settings", "2GB"),
        (("--memory-limit", ""), "refused the settings", "2GB"),
        (("--memory-limit", "1"), "refused the settings", "2GB"),
        (("--memory-limit", "0GB"), "not enough memory", "--memory-limit"),
        (("--threads", "1000000"), "--threads", HELP),
        (("--threads", "99999999999999999999"), "--threads", HELP),
    )
)

ODD = (
    Case(
        name="a spec twice",
        words=("run", "spec.yml", "spec.yml"),
        code=0,
        new=("out.duckdb", "out.private.duckdb"),
        says=("people_public",),
    ),
    Case(
        name="every way to be quiet and loud",
        words=("check", "spec.yml", "-q", "--json"),
        code=0,
        says=("source_rows",),
    ),
    Case(
        name="two specs, the second wrong",
        words=("run", "spec.yml", "bad.yml"),
        spec={"target": GONE},
        files={"bad.yml": "release: x\n"},
        place="bad.yml",
        hint="privacy",
    ),
    Case(
        name="options before the command",
        words=("--json", "run", "spec.yml"),
        place="--json",
        hint=HELP,
    ),
    Case(
        name="an option after --", words=("run", "--", "--json"), place="--json", hint="YAML file"
    ),
    Case(
        name="SQL from nowhere",
        words=("sql", "owner.duckdb"),
        stdin="SELEC 1",
        place="SQL: Parser Error",
        hint="-c",
    ),
)

# A sample of all that is above, as processes of their own.
REAL = (
    ("nonsense",), ("run",), ("run", "missing.yml"), ("run", "spec.yml", "--bogus"),
    ("run", "spec.yml", "--threads", "0"), ("run", "spec.yml", "--database", "missing.duckdb"),
    ("verify", "spec.yml"), ("export", "spec.yml", "x.xls"), ("list", "missing.duckdb"),
    ("sql", "owner.duckdb", "-c", "SELECT name::INT FROM people"), ("macros", "install", "missing.duckdb"),
    ("risk", "owner.duckdb", "people", "--qi", "agee"),
)  # fmt: skip


def _as_process(case: Case) -> Case:
    return replace(case, name=f"{case.name}, as a process", real=True)


CASES = (
    *USAGE,
    *FILES,
    *RISKS,
    *SEARCHES,
    *SETTINGS,
    *ODD,
    *(_as_process(case) for case in (*USAGE, *FILES) if case.words in REAL),
)
