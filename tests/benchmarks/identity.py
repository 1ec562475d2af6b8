"""Print a digest of every file that releases of all methods publish, to compare two checkouts.

    python tests/benchmarks/identity.py [--examples] [--only NAME …] DIR > one.txt

Makes small releases of tables that it draws itself, with fixed seeds, in folders of DIR, and prints
a line a published file, sorted: its SHA-256 and its place in DIR. A change that is to alter nothing
prints the same as before (`diff`). Beside the files themselves there is a line for each table of an
exported DuckDB file, which tells whether its records or the macros that go with them have changed,
one for the public report without its day, and one for the result as the command line prints it,
without seconds. `--examples` adds the demo and the releases of `examples/`, which take a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before numpy is loaded, as tests/conftest.py has it: sums in another order round otherwise.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if platform.machine() == "x86_64":
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ["DBDEID_PSEUDONYM_KEY"] = "5a5e" * 16

import duckdb
import pyarrow as pa

import dbdeid
from dbdeid.commands import demo
from dbdeid.commands.report import write_report

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROWS, PEOPLE, POPULATION = 240, 90, 4000
FLAT = ("public.csv", "public.parquet", "public.duckdb")
EDUCATION = {"none": "low", "school": "low", "college": "high", "doctor": "high"}


def drawn(rows: int, seed: int) -> pa.Table:
    """Records of patients of several types, with missing values and rare ones."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    for i in range(rows):
        age = min(draw.randint(18, 60) + draw.choice([0, 0, 0, 30]), 99)
        found.append(
            {
                "name": f"person {i}",
                "patient": f"p{draw.randrange(PEOPLE):03}",
                "age": age if draw.random() < 0.96 else None,
                "sex": draw.choice(["f", "f", "m", "m", "m", "x"]),
                "zip": str(10000 + draw.choice([3, 7, 21, 250, 251, 900]) + draw.randrange(4)),
                "education": draw.choice([*EDUCATION, "school", None]),
                "fee": round(draw.lognormvariate(3, 0.6), 2),
                "days": draw.randrange(1, 900),
                "smoker": draw.random() < 0.3,
                "illness": draw.choice(["asthma", "flu", "flu", "gout", "none", "none", None]),
                "score": draw.choice([10, 12, 15, 30, 31, 44, 58, 60]) + age // 10,
            }
        )
    return pa.Table.from_pylist(found)


SOURCE = """
CREATE TABLE visits AS SELECT * REPLACE (age::INTEGER AS age, fee::DECIMAL(8, 2) AS fee,
  days::INTEGER AS days, score::INTEGER AS score), DATE '1990-01-01' + days::INTEGER AS born,
  TIMESTAMP '2020-01-01' + to_hours(days * 3) AS seen FROM drawn
"""


def quasi(hierarchy: Any, **more: Any) -> dict[str, Any]:
    """A quasi-identifier with its hierarchy."""
    return {"role": "quasi_identifier", "reason": "made up", "hierarchy": hierarchy, **more}


OPEN = {"role": "sensitive", "accept": "homogeneity"}
COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "patient": "drop",
    "age": quasi({"intervals": [5, 10, 20]}),
    "sex": quasi("suppress"),
    "zip": quasi({"prefix": [4, 3]}),
    "education": quasi("education.csv"),
    "fee": "drop",
    "days": "drop",
    "smoker": "insensitive",
    "illness": OPEN,
    "score": "drop",
    "born": "drop",
    "seen": "drop",
}
TYPES = {  # columns of every type, with other hierarchies
    "education": quasi(
        {"groups": [{"lower": ["none", "school"], "higher": ["college", "doctor"]}]}
    ),
    "fee": quasi({"intervals": [10, 50], "lower": 0, "upper": 300}),
    "born": quasi({"dates": ["month", "year"]}, weight=2),
    "seen": quasi({"dates": ["quarter", "year"]}, min_level=1),
}


def spec(
    method: dict[str, Any], *models: dict[str, Any], k: int = 4, columns: Any = (), **more: Any
) -> dict[str, Any]:
    """A specification of the visits, exported in every form."""
    return {
        "release": "public",
        "database": "owner.duckdb",
        "target": "target.duckdb",
        "source": "visits",
        "columns": COLUMNS | dict(columns),
        "privacy": [{"model": "k_anonymity", "k": k}, *models] if k else [*models],
        "method": method,
        "output": {"export": [*FLAT]},
        "seed": 2**77 + 5,
        **more,
    }


def full(*models: dict[str, Any], columns: Any = (), more: Any = (), **options: Any) -> Any:
    """A specification of full-domain generalization."""
    method = {"name": "full_domain", "suppression_limit": 0.3, **options}
    return spec(method, *models, columns=columns, **dict(more))


def about(column: str, model: str, **keys: Any) -> dict[str, Any]:
    """A model of a sensitive column."""
    return {"model": model, "column": column, **keys}


NUMBER = {"score": OPEN}
KNOWN = {"sql": "SELECT * FROM visits WHERE age IS NOT NULL AND education IS NOT NULL", "name": "v"}
ORDERED = {
    **dict.fromkeys(("zip", "smoker"), "drop"),
    "age": {"role": "quasi_identifier", "domain": [0, 110]},
    "sex": {"role": "quasi_identifier", "order": ["f", "m", "x"]},
    "education": {"role": "quasi_identifier", "order": [*EDUCATION]},
}
MASKED = dict.fromkeys(("age", "sex", "education", "fee", "born"), "quasi_identifier") | {
    "zip": "drop"
}
DRAWN = {
    n: {"role": "synthesize", "reason": "made up"}
    for n in ("age", "sex", "education", "fee", "days", "smoker", "illness", "born")
} | {"zip": "drop"}
COX = {"kind": "cox", "duration": "days", "event": "smoker", "covariates": ["age", "fee"]}
LOGISTIC = {"kind": "logistic", "response": "smoker", "covariates": ["age", "sex"]}
LINEAR = {"kind": "linear", "response": "fee", "covariates": ["age", "smoker"]}


def padded(**options: Any) -> dict[str, Any]:
    """A specification of counterfeit records."""
    method = {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.9, **options}
    return spec(method, k=3)


def policy(choose: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A specification of a policy of intervals."""
    method = {"name": "policy", "budget": 60, "choose": choose, **options}
    return spec(method, k=1, columns=ORDERED, source=KNOWN)


def condensed(variant: str, *analyses: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A specification of synthetic records."""
    method = {"name": "condensation", "variant": variant, **options}
    measured = {"models": [*analyses], "metrics": ["moments", "exact_hits", "membership"]}
    cluster = {"model": "cluster_size", "k": 25}
    return spec(method, cluster, k=0, columns=DRAWN, evaluate=measured)


def local(algorithm: str, *models: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A specification of local recoding."""
    return spec({"name": "local_recoding", "algorithm": algorithm, **options}, *models)


L_DIVERSE = about("illness", "l_diversity", l=2)
T_CLOSE = about("illness", "t_closeness", t=0.5)
SUBJECTS = {"subject": "patient"}
PSEUDONYM = {"patient": {"role": "identifier", "pseudonym": True}}
SPECS: dict[str, dict[str, Any]] = {
    "full_domain": full(),
    "full_domain_bounds": full(more={"output": {"export": [*FLAT], "bounds": True}}),
    "full_domain_keep": full(suppressed="keep"),
    "full_domain_types": full(columns=TYPES, objective="nonuniform_entropy"),
    "full_domain_discernibility": full(L_DIVERSE, objective="discernibility"),
    "full_domain_height": full(T_CLOSE, objective="height"),
    "full_domain_precision_keep": full(
        about("illness", "alpha_k", k=4, alpha=0.7), objective="precision", suppressed="keep"
    ),
    "full_domain_class_size": full(
        about("illness", "l_diversity", kind="entropy", l=1.5), objective="average_class_size"
    ),
    "full_domain_recursive": full(
        about("illness", "l_diversity", kind="recursive", l=2, c=3), objective="ambiguity"
    ),
    "full_domain_numbers": full(
        about("score", "em_anonymity", epsilon=3, m=2),
        about("score", "t_closeness", distance="ordered", t=0.4),
        columns=NUMBER,
        objective="kl_divergence",
    ),
    "full_domain_beta": full(
        about("illness", "basic_beta", beta=4), about("illness", "enhanced_beta", beta=3)
    ),
    "full_domain_delta": full(about("illness", "delta_disclosure", delta=3)),
    "full_domain_risk": full(
        {"model": "max_risk", "attacker": "marketer", "threshold": 0.1},
        {"model": "k_map", "population": "population", "k": 6},
        {"model": "delta_presence", "population": "population", "max": 0.4},
    ),
    "full_domain_sql": full(engine="sql"),
    "full_domain_flash": full(search="flash"),
    "full_domain_datafly": full(search="datafly"),
    "full_domain_lbs": full(search="lbs"),
    "full_domain_ola": full(search="ola"),
    "full_domain_igreedy": full(search="igreedy"),
    "full_domain_best_first": full(search="best_first"),
    "full_domain_known": full(transformation={"age": 3, "sex": 1, "zip": 2, "education": 1}),
    "full_domain_wildcard": full(more={"null_policy": "wildcard"}),
    "full_domain_exclude": full(L_DIVERSE, more={"null_policy": "exclude"}),
    "full_domain_subjects": full(L_DIVERSE, more=SUBJECTS),
    "full_domain_pseudonyms": full(columns=PSEUDONYM, more=SUBJECTS, suppression_limit=0.8),
    "full_domain_measured": full(
        more={
            "evaluate": {
                "models": [LOGISTIC],
                "metrics": ["loss", "mutual_information", "inference", "propensity", "minimality"],
            }
        }
    ),
    "local_dealing": local("dealing", L_DIVERSE),
    "local_dealing_eligible": local("dealing", tail="eligible"),
    "local_dealing_sql": local("dealing", engine="sql"),
    "local_safe": local("dealing", L_DIVERSE, minimality="safe"),
    "local_mondrian": local("mondrian", T_CLOSE),
    "local_mondrian_relaxed": local("mondrian", mondrian="relaxed"),
    "local_paper": local("paper"),
    "local_conditional_entropy": local("conditional_entropy"),
    "local_diversity_first": local("diversity_first", L_DIVERSE),
    "local_closeness": local("closeness", T_CLOSE),
    "counterfeit_pool": padded(),
    "counterfeit_paper": padded(catalog="paper"),
    "counterfeit_none": padded(catalog="none", objective="loss"),
    "counterfeit_auto": padded(h="auto", objective="counterfeits"),
    "counterfeit_borrow": padded(recoding="borrow", strict=True),
    "policy_greedy": policy({"max_risk": 0.6}, safe_harbor={"age": "age"}),
    "policy_sublattice": policy({"max_loss": 0.4}, search="sublattice"),
    "policy_random_chain": policy({"point": 2}, search="random_chain"),
    "policy_bisect": policy({"max_risk": 0.6}, search="bisect", safe_harbor={"age": "age"}),
    "policy_uniques": policy({"max_risk": 0.7}, risk="uniques", utility="loss"),
    "policy_population": policy({"max_risk": 0.5}, population="population"),
    "condensation_recipient": condensed("recipient", COX, LOGISTIC),
    "condensation_improved": condensed("improved", strata=["smoker"], response="days"),
    "condensation_original": condensed("original", strata=["smoker"], response="days"),
    "condensation_exact": condensed(
        "recipient", LINEAR, exact_moments=True, calibrate=False, strata=["sex"]
    )
    | {"privacy": [{"model": "cluster_size", "k": 15}]},
    "microaggregation_mdav": spec({"name": "microaggregation"}, columns=MASKED),
    "microaggregation_tfrp": spec(
        {"name": "microaggregation", "algorithm": "tfrp"}, columns=MASKED
    ),
    "relocation": spec({"name": "relocation", "limit": 0.3}, k=3),
    "view": full(more={"target": None, "output": {"as": "view"}}),
}
# What also answers the analysts' queries, and gets a page: a release of each kind.
SHOWN = (
    *("full_domain", "full_domain_bounds", "local_dealing", "counterfeit_pool"),
    *("policy_greedy", "condensation_recipient", "microaggregation_mdav", "relocation"),
)
QUERIES = {
    "smokers": "SELECT sex, count(*) AS n FROM visits WHERE smoker GROUP BY sex",
    "ages": "SELECT education, avg(age) AS mean FROM visits WHERE age < 50 GROUP BY education",
}


def prepare(folder: Path, spec: dict[str, Any]) -> None:
    """Write the source of a specification and its files into a folder."""
    (folder / "queries").mkdir(parents=True)
    drawn_rows, others = drawn(ROWS, 1), drawn(POPULATION, 2)
    with duckdb.connect(str(folder / "owner.duckdb")) as con:
        con.register("drawn", drawn_rows)
        con.execute(SOURCE)
        con.register("others", others)
        chosen = "age, sex, zip, education" if spec["method"]["name"] != "policy" else "*"
        con.execute(f"CREATE TABLE population AS SELECT {chosen} FROM others")
        con.execute(f"INSERT INTO population BY NAME SELECT {chosen} FROM drawn")
        if chosen == "*":
            con.execute("DELETE FROM population WHERE age IS NULL OR education IS NULL")
            con.execute(
                "CREATE OR REPLACE TABLE population AS SELECT age, sex, education FROM population"
            )
    lines = "".join(f"{value};{group}\n" for value, group in EDUCATION.items())
    (folder / "education.csv").write_text(lines)
    for name, query in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(query)


def make(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Make a release in a folder, and give what it published."""
    spec = {key: value for key, value in SPECS[name].items() if value is not None}
    if name in SHOWN and spec["source"] == "visits":
        spec["evaluate"] = {"queries": "queries/*.sql"} | spec.get("evaluate", {})
    prepare(folder, spec)
    (folder / "release.yml").write_text(json.dumps(spec))
    before = {path.name for path in folder.iterdir()}
    with contextlib.chdir(folder):
        result = dbdeid.run("release.yml")
        yield "result", plain(result)
        if spec["output"].get("as") == "view":
            with duckdb.connect("owner.duckdb", read_only=True) as con:
                yield "view.sql", contents(con, "(SELECT sql FROM duckdb_views())")
                yield "view", contents(con, "(FROM public ORDER BY ALL)")
            return
        if name in SHOWN:
            write_report(Path("release.yml"), "public")
        for path in sorted(Path().iterdir()):
            if path.name not in before and not path.name.endswith(".private.duckdb"):
                yield from published(path)


def plain(result: Any) -> bytes:
    """A result as the command line prints it, without seconds."""
    shown = result.to_dict()
    del shown["seconds"], shown["search"]["seconds"]
    shown["search"].pop("seconds_of", None)
    return json.dumps(shown, ensure_ascii=False, default=str).encode()


def published(path: Path) -> Iterator[tuple[str, bytes]]:
    """What is to be compared of a file."""
    data = path.read_bytes()
    if path.suffix == ".html":
        day = rb"\d{4}-\d\d-\d\d"
        data = re.sub(rb'<time datetime="' + day + rb'">' + day + rb"</time>", b"<time/>", data)
        data = re.sub(rb", " + day + rb", dbdeid ", b", dbdeid ", data)
    yield path.name, data
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as con:
            tables = con.execute(
                "SELECT schema_name || '.' || table_name FROM duckdb_tables() ORDER BY ALL"
            ).fetchall()
            for (table,) in tables:
                yield f"{path.name}:{table}", contents(con, table)


def contents(con: duckdb.DuckDBPyConnection, table: str) -> bytes:
    """The records of a table in the order that they are stored in, with their types."""
    found = con.execute(f"FROM {table}")
    return repr((found.description, found.fetchall())).encode()


def examples(folder: Path) -> Iterator[tuple[str, bytes]]:
    """What the demo and the examples publish."""
    made = demo.run(folder / "demo").directory
    for path in sorted(made.glob("*_public.duckdb")):
        for name, data in published(path):
            yield f"demo/{name}", data
    for example in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        place = folder / example.name
        shutil.copytree(example, place)
        before = {path.name for path in place.iterdir()}
        with contextlib.chdir(place):
            result = dbdeid.run(next(Path().glob("*.yml")))
            yield f"{example.name}/result", plain(result)
            for path in sorted(Path().iterdir()):
                if path.name not in before and not path.name.endswith(".private.duckdb"):
                    for name, data in published(path):
                        yield f"{example.name}/{name}", data


def main() -> None:
    """Make everything, and print its digests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="is emptied first")
    parser.add_argument("--examples", action="store_true", help="also the demo and examples/")
    parser.add_argument("--only", nargs="+", choices=SPECS, default=SPECS, metavar="NAME")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    lines = []
    for name in asked.only:
        try:
            made = list(make(folder / name, name))
        except dbdeid.DbdeidError as error:
            made = [("refused", str(error).encode())]
            print(name, error, file=sys.stderr)
        lines += [f"{hashlib.sha256(data).hexdigest()}  {name}/{file}" for file, data in made]
    if asked.examples:
        for file, data in examples(folder / "examples"):
            lines.append(f"{hashlib.sha256(data).hexdigest()}  examples/{file}")
    print("\n".join(sorted(lines, key=lambda line: line.split("  ", 1)[1])))


if __name__ == "__main__":
    main()
