"""Method policy: domains without an order, populations that do not fit, parameters out of range."""

from __future__ import annotations

from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case

QI = "quasi_identifier"
# The good source has NULL sexes, which have no place in an order.
KNOWN = "UPDATE people SET sex = 'm' WHERE sex IS NULL;"
TOWN = KNOWN + "CREATE TABLE town AS SELECT age, zip, sex, name, 9 AS people FROM people;"
ZIPS = [str(10000 + i) for i in range(400)]
METHOD: dict[str, Any] = {
    "name": "policy", "population": "town", "search": "random_chain", "budget": 60,
    "choose": {"max_risk": 1.0},
}  # fmt: skip
BASE: dict[str, Any] = {
    "columns/age": {"role": QI, "domain": [0, 100]},
    "columns/zip": {"role": QI, "domain": "from_population"},
    "columns/sex": {"role": QI, "order": ["f", "m"]},
    "seed": 7,
}


def _case(
    name: str,
    place: str,
    hint: str,
    *,
    sql: str = TOWN,
    code: int = 2,
    more: Any = None,
    words: tuple[str, ...] = ("run", "spec.yml"),
    **keys: Any,
) -> Case:
    method = {key: value for key, value in (METHOD | keys).items() if value is not GONE}
    spec = BASE | {"method": method} | (more or {})
    for key in BASE:
        if spec[key] is GONE:
            del spec[key]
    return Case(
        name=name,
        spec=spec,
        sql=sql,
        place=place,
        hint=hint,
        code=code,
        words=words,
    )


def _column(column: str, name: str, place: str, hint: str, sql: str = TOWN, **keys: Any) -> Case:
    more = {f"columns/{column}": {"role": QI, **keys}}
    return _case(name, place, hint, sql=sql, more=more)


RANGES = (
    *(
        _case(f"budget {value!r}", "method.budget", "budget: 10000", budget=value)
        for value in (0, -5, 1.5, "many", True, 10**9)
    ),
    *(
        _case(f"max_risk {value!r}", "method.choose.max_risk", "max_risk: 0.05",
              choose={"max_risk": value})
        for value in (-0.1, 1.01, float("nan"), float("inf"), True)
    ),
    _case("max_risk in percent", "method.choose.max_risk: expects a number", "write 0.05",
          choose={"max_risk": "5%"}),
    *(
        _case(f"max_loss {value!r}", "method.choose.max_loss", "max_loss: 0.3",
              choose={"max_loss": value})
        for value in (-0.1, 2, "a little")
    ),
    *(
        _case(f"point {value!r}", "method.choose.point", "point: 12", choose={"point": value})
        for value in (0, -1, 1.5, "best")
    ),
    *(
        _case(f"threshold {value!r}", "method.threshold", "threshold: ", search="sublattice",
              threshold=value)
        for value in (-0.1, 1.5, "half")
    ),
    _case("a point of another frontier", "frontier has ", "choose one of them", choose={"point": 10**6}),
    _case("no such search of policies", "method.search: expects", "did you mean 'greedy'?", search="gredy"),
    _case("no such start", "method.start", "start: ends", search="sublattice", start="middle"),
    _case("no such risk", "method.risk: unknown measure", "did you mean 'population'?", risk="populaton"),
    _case("no such utility", "method.utility: unknown measure", "did you mean 'kl'?", utility="kll"),
    _case("a misspelt choice", "method.choose.max_rsk: unknown key", "did you mean 'max_risk'?",
          choose={"max_rsk": 0.1}),
    _case("no way to choose", "expects one way to choose, found none", "{max_risk: 0.05}", choose={}),
    _case("two ways to choose", "expects one way to choose, found max_risk, max_loss", "one of",
          choose={"max_risk": 0.1, "max_loss": 0.1}),
    _case("a choice in a word", "method.choose: expects a mapping", "as in {key: value}", choose="best"),
    _case("dominating something", "method.choose.dominates", "safe_harbor", choose={"dominates": "hipaa"}),
    _case("a limit of policies", "method.suppression_limit: unknown key", "Known: name", suppression_limit=0.1),
    _case("a run without a choice", "no policy is chosen", "dbdeid frontier", choose=GONE),
    _case("safe_harbor of nothing", "method.safe_harbor: names neither", "{age: age, zip: zip}", safe_harbor={}),
    _case("a misspelt safe_harbor", "method.safe_harbor.zipp: unknown key", "did you mean 'zip'?",
          safe_harbor={"zipp": "zip"}),
    _case("an empty population", "method.population", "population", population=""),
)  # fmt: skip

TOGETHER = (
    _case("a threshold of a chain", "threshold only go with search: sublattice", "drop", threshold=0.3),
    _case("a bisection of nothing", "search: bisect looks for policies", "declare safe_harbor", search="bisect"),
    _case("dominating what is not declared", "needs to know what Safe Harbor is", "declare safe_harbor",
          choose={"dominates": "safe_harbor"}),
    _case("small areas of nobody", "whom no population tells", "declare `population`",
          population=GONE, safe_harbor={"zip": "zip"}),
    _case("safe_harbor of an identifier", "safe_harbor names 'name' for age", "name the quasi-identifier",
          safe_harbor={"age": "name"}),
    _case("safe_harbor of sexes", "'sex' does not hold ages in years", "column of the ages", safe_harbor={"age": "sex"}),
    _case("safe_harbor of ages as ZIP codes", "'age' does not hold ZIP codes", "column of the ZIP codes",
          safe_harbor={"zip": "age"}),
    _case("a point without a seed", "counts points of one frontier", "give a seed",
          choose={"point": 3}, more={"seed": GONE}),
    _case("policies of subjects", "cannot count subjects", "one row of each subject", more={"subject": "name"}),
    *(
        _case(f"policies under {policy}", "null_policy: own_category only", "leave it out",
              more={"null_policy": policy})
        for policy in ("wildcard", "exclude")
    ),
    _case("a policy as a view", "does not go with a view", "as a table",
          more={"output": {"as": "view"}, "target": None}),
    _case("levels of policies", "method policy chooses intervals, not levels", "dbdeid frontier",
          words=("search", "spec.yml")),
    Case(name="a frontier of levels", words=("frontier", "spec.yml"),
         place="method full_domain has no frontier of policies", hint="method: policy"),
    _case("a marketer of another method", "judged by method policy only", "journalist",
          more={"method": "full_domain", "privacy": [{"model": "max_risk", "attacker": "marketer",
                "population": "town", "threshold": 0.1}],
                "columns/age": "drop", "columns/sex": "drop",
                "columns/zip": {"role": QI, "hierarchy": {"prefix": [3]}}}),
    _case("nothing holds", "none of the", "weaker models", code=3,
          more={"privacy": [{"model": "k_anonymity", "k": 150}]}, choose={"max_loss": 0.1}),
    _case("so little risk", "no policy has at most the risk 0", "shows what there is", code=3,
          choose={"max_risk": 0}),
    _case("nothing dominates", "dominates Safe Harbor", "shows what there is", code=3, budget=1,
          safe_harbor={"age": "age"}, choose={"dominates": "safe_harbor"}),
    _case("no uniques", "have no risk by measure uniques", "risk: population", code=3, risk="uniques"),
)  # fmt: skip

DOMAINS = (
    _column("sex", "no order", "columns.sex: its values have no order of their own", "order: [a, b, c]",
            domain=["f", "m", "x"]),
    _column("sex", "an order that lacks a value", "column 'sex': 1 of 2 values are not in its domain",
            "declare a domain", order=["f", "x"]),
    _column("sex", "a value twice", "1 values of its domain are repeated", "order", order=["f", "m", "f"]),
    _column("sex", "NULL in a column", "column 'sex' is NULL in 19 rows", "coalesce(",
            sql=TOWN.replace(KNOWN, ""), order=["f", "m"]),
    _column("sex", "NULL in a population", "population 'town': column 'sex' is NULL in 1 rows", "coalesce(",
            sql=TOWN + "UPDATE town SET sex = NULL WHERE age = 20 AND rowid = 0", order=["f", "m"]),
    _column("age", "ages outside", "values are not in its domain (a declared domain)", "declare a domain",
            domain=[0, 50]),
    _column("age", "ages backwards", "columns.age: its domain ends before it begins", "the least value, then",
            domain=[100, 0]),
    _column("age", "ages in words", "2 values of its domain are none of type BIGINT", "[0, 120]", domain=["zero", "ten"]),
    _column("age", "parts of an age", "1 values of its domain are none of type BIGINT", "[0, 120]", domain=[0.5, 100]),
    _column("age", "a long life", "and method policy takes 5,000", "the least value, then", domain=[0, 10**9]),
    _column("age", "a longer life", "none of type BIGINT", "[0, 120]", domain=[0, 10**30]),
    _column("age", "an order of numbers", "it is BIGINT and has its own order", "[0, 120]", order=[1, 2]),
    _column("age", "twice declared", "domain and order declare its values twice", "keep one",
            domain=[0, 100], order=["1"]),
    _column("age", "intervals of a policy", "takes no hierarchy of intervals", "domain: [0, 120]",
            hierarchy={"intervals": [5]}),
    _column("age", "levels of a column", "method policy has no levels", "drop min_level", domain=[0, 100], max_level=1),
    _column("age", "a domain in a word", "columns.age.domain: expects a list of values", "[0, 120]", domain="census"),
    _column("age", "a domain of nothing", "columns.age.domain: expects a list of values", "[0, 120]", domain=[]),
    _column("age", "an order in a word", "columns.age.order: expects a list", "as in", order="ab"),
    _column("zip", "ZIP codes of a missing hierarchy", "zips.csv does not exist", "relative to the spec", hierarchy="zips.csv"),
    _case("from no population", "the method names no population", "population: census.parquet", population=GONE),
    _case("off the data", "they are not read off the data", "domain: [0, 120]", population=GONE,
          more={"columns/zip": QI}),
    _case("an order for another method", "order goes with method policy", "give a hierarchy",
          more={"method": "full_domain"}),
    _case("a star in a domain", "a value reads '*'", "recode",
          sql=TOWN, more={"columns/sex": {"role": QI, "order": ["f", "m", "*"]}}),
)  # fmt: skip

POPULATIONS = (
    _case("people who are nowhere", "method.population: population 'twon' cannot be read",
          "did you mean 'town'?", population="twon"),
    _case("people of other columns", "has no column 'sex'", "like the quasi-identifiers",
          sql=TOWN + "ALTER TABLE town DROP sex"),
    _case("people of another type", "has column 'age' as VARCHAR, and the source as BIGINT", "same type",
          sql=TOWN + "ALTER TABLE town ALTER age TYPE VARCHAR"),
    _case("a town of nobody", "is empty", "nobody fits", sql=TOWN + "UPDATE town SET people = 0"),
    _case("an empty cell", "records have values that nobody in the population has", "drawn from",
          sql=TOWN + "UPDATE town SET people = 0 WHERE age < 30"),
    _case("an empty cell of a population without it", "nobody in the population has", "drawn from",
          sql=TOWN + "DELETE FROM town WHERE rowid % 3 = 0", more={"columns/zip": {"role": QI, "domain": ZIPS}}),
    _case("more records than people", "have more records than people in the population", "drawn from",
          sql=TOWN + "INSERT INTO people SELECT p.* FROM people AS p, range(10)",
          more={"accept": "rows"}),
    _case("records outside the population", "values are not in its domain (population town)", "declare a domain",
          sql=TOWN + "DELETE FROM town WHERE zip < '10100'"),
    _case("people outside the domain", "population 'town': column 'age': 1 of", "declare a domain",
          sql=TOWN + "INSERT INTO town VALUES (150, '10000', 'f', 'KANARI', 3)"),
    _case("another population of other values", "population 'county': column 'zip': 1 of", "declare a domain",
          sql=TOWN + "CREATE TABLE county AS FROM town; INSERT INTO county VALUES (30, '99999', 'f', 'KANARI', 3)",
          more={"privacy": [{"model": "k_anonymity", "k": 2}, {"model": "k_map", "k": 2, "population": "county"}]}),
    _case("a frontier of nobody", "nobody in the population has", "drawn from", words=("frontier", "spec.yml"),
          sql=TOWN + "UPDATE town SET people = 0 WHERE age < 30"),
    _case("checked against nobody", "nobody in the population has", "drawn from", words=("check", "spec.yml"),
          sql=TOWN + "UPDATE town SET people = 0 WHERE age < 30"),
)  # fmt: skip

CASES = (*RANGES, *TOGETHER, *DOMAINS, *POPULATIONS)
