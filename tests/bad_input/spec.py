"""The specification: unknown and wrong keys on every level, wrong types, absurd parameters."""

from __future__ import annotations

import datetime
from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case, Released

# -- unknown, misspelt and missing keys ------------------------------------------------------------

UNKNOWN = tuple(
    Case(name=f"unknown key {place}", spec={place: 1}, place=shown, hint=hint)
    for place, shown, hint in (
        ("relase", "relase: unknown key 'relase'", "did you mean 'release'?"),
        ("privcy", "privcy: unknown key 'privcy'", "did you mean 'privacy'?"),
        ("k", "k: unknown key 'k'", "Known: release"),
        ('"; DROP TABLE people; --', "unknown key '\"; DROP", "Known: release"),
        ("😀", "unknown key '😀'", "Known: release"),
        ("columns/age/heirarchy", "columns.age.heirarchy", "did you mean 'hierarchy'?"),
        ("columns/age/hierarchy/widths", "columns.age.hierarchy.widths", "Known: "),
        ("privacy/0/l", "privacy[0].l", "Known: model, k"),
        ("method/supression_limit", "method.supression_limit", "did you mean 'suppression_limit'?"),
        ("method/k", "method.k", "Known: name"),
        ("output/format", "output.format", "Known: as"),
        ("evaluate/query", "evaluate.query", "did you mean 'queries'?"),
    )
)
OF_A_QUERY = Case(
    name="unknown key of a source",
    spec={"source": {"database": "owner.duckdb", "table": "people"}},
    place="source.table",
    hint="Known: sql, name",
)

MISSING = tuple(
    Case(name=f"without {place}", spec={place: GONE}, place=shown, hint=hint)
    for place, shown, hint in (
        ("release", "release: the key 'release' is missing", "release: visits_public"),
        ("source", "source: the key 'source' is missing", "visits.parquet"),
        ("columns", "columns: the key 'columns' is missing", "quasi_identifier"),
        ("privacy", "privacy: the key 'privacy' is missing", "k_anonymity"),
        ("method", "method: the key 'method' is missing", "full_domain"),
        ("method/name", "method.name: the key 'name' is missing", "method: {name: full_domain"),
        ("privacy/0/model", "privacy[0]", "k_anonymity"),
        ("privacy/0/k", "privacy[0].k", "k: 5"),
        ("columns/age/role", "columns.age.role", "role: quasi_identifier"),
        ("columns/age/hierarchy", "columns.age", "a CSV path"),
        ("columns/illness/accept", "columns.illness", "accept: homogeneity"),
    )
)

# -- wrong types -----------------------------------------------------------------------------------

DAY = datetime.date(2020, 1, 1).isoformat()
ANYTHING: dict[str, Any] = {
    "null": None,
    "a truth": True,
    "a number": 7,
    "a fraction": 1.5,
    "a text": "word",
    "a list": [1],
    "an empty list": [],
    "a mapping": {"a": 1},
    "an empty mapping": {},
    "a deep list": [[[["x"]]]],
}
# What each key takes, so that these are no mistakes.
TAKES = {
    "release": {"a text"},
    "database": {"null", "a text"},
    "target": {"null"},
    "source": set(),
    "columns": set(),
    "privacy": set(),
    "method": set(),
    "evaluate": {"an empty mapping"},
    "output": {"an empty mapping"},
    "seed": {"null", "a number"},
    "null_policy": set(),
    "accept": {"null"},
    "columns/age": set(),
    "columns/age/role": set(),
    "columns/age/hierarchy": {"null", "a text"},
    "columns/age/hierarchy/intervals": {"null", "a list"},
    "columns/age/weight": {"a number", "a fraction"},
    "columns/age/min_level": {"a number"},
    "columns/age/max_level": {"null", "a number"},
    "columns/sex/hierarchy/groups": set(),
    "columns/zip/hierarchy/prefix": {"null", "a list"},
    "columns/illness/reason": {"null", "a text"},
    "columns/illness/accept": {"null"},
    "privacy/0": set(),
    "privacy/0/k": {"a number"},
    "method/suppression_limit": set(),
    "method/search": set(),
    "method/time_limit": {"null", "a number", "a fraction"},
    "method/engine": set(),
    "method/objective": set(),
    "method/transformation": {"null", "an empty mapping"},
    "method/suppressed": set(),
    "evaluate/queries": {"null", "a text"},
    "evaluate/metrics": {"null", "an empty list"},
    "output/as": set(),
    "output/bounds": {"a truth"},
    "output/export": {"an empty list"},
}
SKIPPED = {("source", "a text"), ("columns/sex/hierarchy/groups", "a text")}


def _base(place: str) -> dict[str, Any]:
    """What must be so that a key may stand at its place at all."""
    if place.startswith("columns/sex/hierarchy/"):
        return {"columns/sex/hierarchy": {}}
    return {}


def _shown(place: str) -> str:
    first, *rest = place.split("/")
    # A list that holds something wrong is told with the number of its entry.
    return ".".join([first, *rest]).replace(".0", "[0]")


TYPES = tuple(
    Case(
        name=f"{place} is {what}",
        words=("check", "spec.yml"),
        spec={**_base(place), place: value},
        place=_shown(place),
        hint="Hint: ",
    )
    for place, taken in TAKES.items()
    for what, value in ANYTHING.items()
    if what not in taken and (place, what) not in SKIPPED
)

# -- absurd values ---------------------------------------------------------------------------------

HUGE = 10**30
ABSURD = tuple(
    Case(
        name=f"{place} = {str(value)[:30]}", spec={place: value}, place=shown, hint=hint, code=code
    )
    for place, value, shown, hint, code in (
        ("privacy/0/k", 0, "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", -1, "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", 2.5, "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", 2.0, "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", "5", "privacy[0].k", "write 5, without quotes", 2),
        ("privacy/0/k", True, "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", float("nan"), "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", float("inf"), "privacy[0].k", "k: 5", 2),
        ("privacy/0/k", HUGE, "k = 1000", "k can be at most 200", 3),
        ("privacy/0/k", 2**63, "k = 9223372036854775808", "k can be at most 200", 3),
        ("privacy/0/k", 201, "k = 201", "k can be at most 200", 3),
        ("method/suppression_limit", -1, "method.suppression_limit", "0.05", 2),
        ("method/suppression_limit", -0.0001, "method.suppression_limit", "0.05", 2),
        ("method/suppression_limit", 2, "method.suppression_limit: must be at most 1", "0.05", 2),
        ("method/suppression_limit", "5%", "method.suppression_limit", "write 0.05", 2),
        ("method/suppression_limit", float("nan"), "method.suppression_limit", "0.05", 2),
        ("method/suppression_limit", float("inf"), "method.suppression_limit", "0.05", 2),
        ("method/suppression_limit", HUGE, "method.suppression_limit", "0.05", 2),
        ("method/search", "optimale", "method.search", "did you mean 'optimal'?", 2),
        ("method/time_limit", 0, "method.time_limit: must be more than 0", "time_limit: 60", 2),
        ("method/time_limit", -1, "method.time_limit", "time_limit: 60", 2),
        ("method/time_limit", True, "method.time_limit", "time_limit: 60", 2),
        ("method/time_limit", "60", "method.time_limit", "write 60, without quotes", 2),
        ("method/time_limit", "60s", "method.time_limit", "time_limit: 60", 2),
        ("method/time_limit", float("nan"), "method.time_limit", "time_limit: 60", 2),
        ("method/time_limit", float("inf"), "method.time_limit", "time_limit: 60", 2),
        ("columns/age/weight", 0, "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", -1, "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", 5e-324, "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", 1e308, "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", float("inf"), "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", float("nan"), "columns.age.weight", "weight: 2.0", 2),
        ("columns/age/weight", 10**400, "columns.age.weight", "weight: 2.0", 2),
        (
            "columns/age/min_level",
            -1,
            "columns.age.min_level: must be at least 0",
            "min_level: 1",
            2,
        ),
        ("columns/age/min_level", 1.5, "columns.age.min_level", "min_level: 1", 2),
        ("columns/age/min_level", 9, "column 'age'", "levels run from 0 to 3", 2),
        ("columns/age/min_level", HUGE, "column 'age'", "levels run from 0 to 3", 2),
        ("columns/age/max_level", 9, "column 'age'", "levels run from 0 to 3", 2),
        (
            "columns/age",
            {"role": "quasi_identifier", "hierarchy": "suppress", "min_level": 1, "max_level": 0},
            "columns.age",
            "columns: {age",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [0],
            "columns.age.hierarchy.intervals",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [-5],
            "columns.age.hierarchy.intervals",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [10, 5],
            "columns.age.hierarchy.intervals",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [10, 15],
            "columns.age.hierarchy.intervals",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [float("nan")],
            "columns.age.hierarchy.intervals[0]",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [float("inf")],
            "columns.age.hierarchy.intervals[0]",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            ["5"],
            "columns.age.hierarchy.intervals[0]",
            "[5, 10, 20]",
            2,
        ),
        (
            "columns/age/hierarchy/intervals",
            [True],
            "columns.age.hierarchy.intervals[0]",
            "[5, 10, 20]",
            2,
        ),
        ("columns/age/hierarchy/lower", "x", "columns.age.hierarchy.lower", "lower: 10", 2),
        ("columns/age/hierarchy/lower", DAY, "columns.age.hierarchy", "intervals", 2),
        (
            "columns/age/hierarchy",
            {"intervals": [5], "lower": 60, "upper": 10},
            "columns.age.hierarchy",
            "hierarchy: age.csv",
            2,
        ),
        (
            "columns/age/hierarchy",
            {"intervals": [5], "prefix": [1]},
            "columns.age.hierarchy",
            "give a CSV path",
            2,
        ),
        (
            "columns/age/hierarchy",
            {"dates": ["year"]},
            "columns.age.hierarchy",
            "cast it to DATE",
            2,
        ),
        (
            "columns/age/hierarchy",
            {"dates": ["jear"]},
            "columns.age.hierarchy.dates",
            "did you mean 'year'?",
            2,
        ),
        (
            "columns/age/hierarchy",
            {"dates": ["year", "month"]},
            "columns.age.hierarchy.dates",
            "week, month",
            2,
        ),
        (
            "columns/zip/hierarchy",
            {"intervals": [5]},
            "columns.zip.hierarchy",
            "cast it to a number",
            2,
        ),
        ("columns/zip/hierarchy", {"prefix": [0]}, "columns.zip.hierarchy.prefix", "[3, 1]", 2),
        ("columns/zip/hierarchy", {"prefix": [1, 3]}, "columns.zip.hierarchy.prefix", "[3, 1]", 2),
        ("columns/zip/hierarchy", {"prefix": [-1]}, "columns.zip.hierarchy.prefix", "[3, 1]", 2),
        ("columns/zip/domain", [], "columns.zip.domain", "domain: ", 2),
        ("columns/zip/domain", ["00501"], "column 'zip'", "add a row", 2),
        ("columns/zip/domain", ["10000", "10000"], "column 'zip'", "exactly one row", 2),
        ("columns/age/domain", ["1"], "columns.age", "columns: {age", 2),
        ("columns/wage/weight", 2.0, "columns.wage", "drop the key", 2),
        (
            "columns/wage",
            {"role": "sensitive", "hierarchy": "suppress", "min_level": 1},
            "columns.wage: min_level only go with role quasi_identifier",
            "drop the key",
            2,
        ),
        (
            "columns/name",
            {"role": "identifier", "accept": "homogeneity"},
            "columns.name",
            "columns: {age",
            2,
        ),
        ("method/transformation", {"age": 1}, "method.transformation", "one level for each", 2),
        (
            "method/transformation",
            {"age": 99, "zip": 0, "sex": 0},
            "method.transformation",
            "one level for each",
            2,
        ),
        (
            "method/transformation",
            {"age": -1, "zip": 0, "sex": 0},
            "method.transformation.age",
            "{age: 2",
            2,
        ),
        (
            "method/transformation",
            {"age": HUGE, "zip": 0, "sex": 0},
            "method.transformation",
            "one level for each",
            2,
        ),
        (
            "method/transformation",
            {"age": 0, "AGE": 1, "zip": 0, "sex": 0},
            "method.transformation",
            "one level for each",
            2,
        ),
        (
            "method/transformation",
            {"age": 0, "zip": 0, "sex": 0},
            "the given transformation",
            "higher levels",
            3,
        ),
        ("seed", -1, "seed", "seed: 7", 2),
        ("method", "full-domain", "method", "did you mean 'full_domain'?", 2),
        ("privacy/0/model", "k-anonymity", "privacy[0]", "did you mean 'k_anonymity'?", 2),
        (
            "privacy",
            [{"column": "wage", "model": "alpha_k", "k": 1, "alpha": 1e-9}],
            "would suppress 200",
            "use weaker models",
            3,
        ),
        (
            "privacy",
            [
                {
                    "model": "alpha_k",
                    "k": 1,
                    "alpha": 1e-9,
                    "column": "illness",
                    "values": [f"KANARI illness {i}" for i in range(3)],
                }
            ],
            "alpha_k (k 1, alpha 1e-09) with at most",
            "use weaker models",
            3,
        ),
        ("null_policy", "own", "null_policy", "own_category", 2),
        ("output", {"as": "view"}, "lives in `database`", "drop `target`", 2),
        ("columns", {"age": "quasi_identifier"}, "columns.age", "a CSV path", 2),
        ("columns", {"name": "identifier"}, "columns", "quasi_identifier", 2),
    )
)

LEGAL = tuple(
    Case(
        name=what,
        code=0,
        spec={**spec, "target": GONE},
        released=Released(target="owner.duckdb", k=1),
    )
    for what, spec in {
        "a prefix longer than every value": {"columns/zip/hierarchy": {"prefix": [HUGE, 1]}},
        "a width of 400 digits": {"columns/age/hierarchy": {"intervals": [10, 10**400]}},
        "a seed of 30 digits": {"seed": HUGE},
        "k = 1": {
            "privacy/0/k": 1,
            **{f"columns/{name}/reason": "made up" for name in ("age", "zip", "sex")},
        },
    }.items()
)

PUBLISHERS = tuple(
    Case(name=f"a publisher {name}", spec={"publisher": given}, place=place, hint=hint)
    for name, given, place, hint in (
        ("that is text", "Hospital", "publisher: expects a mapping", "{key: value}"),
        ("of nothing", {}, "publisher: publisher says nothing", "give name, licence or contact"),
        ("of two lines", {"name": "a\nb"}, "publisher.name: not one line", "public page"),
        (
            "that turns the text",
            {"licence": "CC \u202e BY"},
            "publisher.licence: not one",
            "public",
        ),
        ("as long as a text", {"name": "x" * 201}, "publisher.name: not one line", "public page"),
        ("without an address", {"contact": "call us"}, "publisher.contact: neither", "https://"),
        (
            "with a password",
            {"contact": "https://me:pw@h.example"},
            "publisher.contact",
            "https://",
        ),
        ("of script", {"contact": "javascript:alert(1)"}, "publisher.contact", "https://"),
        (
            "of a licence misspelt",
            {"license": "MIT"},
            "publisher.license",
            "did you mean 'licence'?",
        ),
    )
)

TWO = (
    Case(
        name="k = 1 without a reason",
        spec={"privacy/0/k": 1},
        place="privacy",
        hint="reason: …",
    ),
    Case(
        name="all mistakes at once",
        spec={"release": "a b", "privacy/0/k": 0, "method/engine": "gpu", "columns/age/weight": -1},
        place="4 mistakes",
        hint="k: 5",
    ),
    Case(
        name="a limit with a comma",
        spec="release: r\nsource: people\nprivacy: [{model: k_anonymity, k: 2}]\nmethod: {name: full_domain, suppression_limit: 0,05}\ncolumns: {age: {role: quasi_identifier, hierarchy: suppress}}\n",
        place="line 4",
        hint="a comma separates keys",
    ),
    Case(
        name="a view with exports",
        spec={"target": GONE, "output": {"as": "view", "export": ["a.csv"]}},
        place="output",
        hint="output",
    ),
    Case(
        name="bounds that meet a column",
        spec={
            "columns/wage": GONE,
            "columns/AGE_lower": {"role": "insensitive", "reason": "x"},
            "output": {"bounds": True},
        },
        sql="ALTER TABLE people RENAME wage TO AGE_lower",
        place="output.bounds",
        hint="rename the column",
    ),
    Case(
        name="nothing would remain",
        spec={"database": GONE, "target": GONE, "source": "people.csv"},
        files={"people.csv": "a\n1\n"},
        place="spec.yml",
        hint="give the spec a `target`",
    ),
    Case(
        name="a home folder of nobody",
        spec={"database": "~nobody_at_all/x.duckdb"},
        place="database",
        hint="plain path",
    ),
)

CASES = (*UNKNOWN, OF_A_QUERY, *MISSING, *TYPES, *ABSURD, *LEGAL, *PUBLISHERS, *TWO)
