"""Methods condensation and microaggregation, and the recipient's models."""

from __future__ import annotations

from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case

# Times, events and groups beside the people: a stratum of 15, times below 0 and missing ones.
MORE = (
    "CREATE OR REPLACE TABLE people AS SELECT *, "
    "rowid % 40 AS months, rowid % 3 = 0 AS died, false AS never, 'x' AS same, 7 AS seven, "
    "CASE WHEN rowid < 15 THEN 'rare' ELSE 'usual' END AS ward, (rowid % 40)::INTEGER - 3 AS since, "
    "CASE WHEN rowid > 0 THEN NULL ELSE 1.5 END AS gap, NULL::INTEGER AS none FROM people"
)
DRAWN = ("age", "zip", "sex", "months", "died")
OTHERS = ("never", "same", "seven", "ward", "since", "gap", "none")
COLUMNS: dict[str, Any] = {
    "name": "identifier",
    **dict.fromkeys(("illness", "wage", *OTHERS), "drop"),
    **dict.fromkeys(DRAWN, "synthesize"),
    "zip": {"role": "synthesize", "reason": "made up"},
}
SIZE = {"model": "cluster_size", "k": 20}
COX = {"kind": "cox", "duration": "months", "event": "died", "covariates": ["age", "sex"]}


def _spec(columns: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "columns": COLUMNS | (columns or {}),
        "privacy": [SIZE],
        "method": "condensation",
    } | more


def _refused(
    name: str,
    place: str,
    hint: str,
    *,
    code: int = 2,
    columns: Any = None,
    more: Any = None,
    sql: str = "",
    words: tuple[str, ...] = ("run", "spec.yml"),
    **method: Any,
) -> Case:
    given = {"method": {"name": "condensation", **method}} | (more or {})
    return Case(
        name=name,
        words=words,
        spec=_spec(columns, **given),
        sql=f"{MORE};{sql}",
        place=place,
        hint=hint,
        code=code,
    )


def _works(
    name: str, *, columns: Any = None, more: Any = None, sql: str = "", **method: Any
) -> Case:
    given = {"method": {"name": "condensation", **method}} | (more or {})
    new = ("out.duckdb", "out.private.duckdb")
    return Case(name=name, spec=_spec(columns, **given), sql=f"{MORE};{sql}", code=0, new=new)


def _odd(name: str, kind: str, values: str, place: str, hint: str) -> Case:
    """A column of people that no clusters can be made of."""
    odd = f"CREATE OR REPLACE TABLE people AS SELECT *, ({values})::{kind} AS odd FROM people"
    return _refused(name, place, hint, columns={"odd": "synthesize"}, sql=odd)


def _model(name: str, place: str, hint: str, *, columns: Any = None, **changed: Any) -> Case:
    model = {key: value for key, value in {**COX, **changed}.items() if value is not GONE}
    return _refused(name, place, hint, columns=columns, more={"evaluate": {"models": [model]}})


def _linear(name: str, place: str, hint: str, *, columns: Any = None, **changed: Any) -> Case:
    gone = {"duration": GONE, "event": GONE, "kind": "linear", "response": "months"}
    return _model(name, place, hint, columns=columns, **gone | changed)


def _masked(
    name: str, place: str, hint: str, *, code: int = 2, more: Any = None, sql: str = "", **keys: Any
) -> Case:
    masks = dict.fromkeys(("age", "zip", "sex"), "quasi_identifier")
    others = {"name": "identifier", "illness": "drop", "wage": "drop"}
    given = {"columns": others | masks, "method": {"name": "microaggregation", **keys}}
    return Case(name=name, spec=given | (more or {}), sql=sql, place=place, hint=hint, code=code)


KEYS = (
    *(
        _refused(f"method k {value!r}", "method.k", "k: 5", k=value)
        for value in (0, 1, -3, 2.5, True, float("nan"))
    ),
    _refused("method k in quotes", "method.k", "without quotes", k="20"),
    *(
        _refused(f"response_weight {value!r}", "method.response_weight", "0.3", response="months", response_weight=value)
        for value in (0, 1, -1, float("inf"), True)
    ),
    _refused("no such variant", "method.variant: expects", "did you mean 'recipient'", variant="recipent"),
    _refused("no such synthesis", "method.synthesis", "synthesis: pca", synthesis="copula"),
    _refused("no such time", "method.time: expects", "'exact'", time="exakt"),
    _refused("no such scale of times", "method.time_scale", "time_scale: rank", time_scale="log"),
    _refused("no such small_strata", "method.small_strata: expects", "'merge'", small_strata="mrge"),
    _refused("calibrate of a text", "method.calibrate", "calibrate: true", calibrate="yes"),
    _refused("exact_moments of a text", "method.exact_moments", "exact_moments: true", exact_moments="no"),
    _refused("strata of a text", "method.strata", "as in [a, b]", strata="died"),
    _refused("strata of numbers", "method.strata[0]", "put it in quotes", strata=[1]),
    _refused("a key of suppression", "method.suppression_limit: unknown key", "Known: name, variant", suppression_limit=0.1),
    _refused("a misspelt key of condensation", "method.strat: unknown key", "did you mean 'strata'?", strat=["died"]),
    *(
        _refused(f"cluster_size {value!r}", "privacy[0].k", "k: 5", more={"privacy": [SIZE | {"k": value}]})
        for value in (1, 0, 2.5, None)
    ),
    _refused("cluster_size without k", "privacy[0].k: the key 'k'", "k: 5", more={"privacy": [{"model": "cluster_size"}]}),
    *(
        _refused(f"pool {value!r}", "columns.zip.pool", "pool: 50", columns={"zip": {"role": "synthesize", "pool": value}})
        for value in (0, -1, 2.5, True)
    ),
    _refused("pool of numbers", "columns.age.pool: 'age' (BIGINT) has no categories", "cast it to text",
             columns={"age": {"role": "synthesize", "pool": 5}}),
    _refused("pool of a dropped column", "columns.wage: pool only goes with", "change the role", columns={"wage": {"role": "drop", "pool": 5}}),
    _refused("a hierarchy of what is drawn", "columns.age: hierarchy only go", "change the role",
             columns={"age": {"role": "synthesize", "hierarchy": "suppress"}}),
)  # fmt: skip

TOGETHER = (
    *(
        _refused(f"a role {role} beside synthesize", f"column 'sex' is {role}", "role synthesize", columns={"sex": given})
        for role, given in (
            ("quasi_identifier", {"role": "quasi_identifier", "hierarchy": "suppress"}),
            ("sensitive", {"role": "sensitive", "accept": "homogeneity"}),
            ("insensitive", {"role": "insensitive", "reason": "public"}),
        )
    ),
    _refused("a pseudonym beside synthesize", "column 'name' is identifier", "role synthesize",
             columns={"name": {"role": "identifier", "pseudonym": True}}, more={"subject": "name"}),
    _refused("nothing is drawn", "columns: no column has role", "synthesize", columns=dict.fromkeys(DRAWN, "drop")),
    _refused("k_anonymity of nobody", "and not k_anonymity", "cluster_size, k: 100",
             more={"privacy": [{"model": "k_anonymity", "k": 2}]}),
    _refused("two models of clusters", "promises one cluster_size", "cluster_size, k: 100", more={"privacy": [SIZE, SIZE]}),
    _refused("a model beside cluster_size", "and not k_anonymity", "cluster_size, k: 100",
             more={"privacy": [SIZE, {"model": "k_anonymity", "k": 2}]}),
    _refused("k below cluster_size", "clusters of 5 do not keep", "leave `k` of the method out", k=5),
    Case(name="cluster_size of classes", spec={"privacy": [SIZE]}, place="cluster_size is what synthetic records",
         hint="use method: condensation"),
    Case(name="synthesize without condensation", spec={"columns/wage": "synthesize"},
         place="role synthesize goes with method condensation", hint="give the column another role"),
    _refused("drawn subjects", "cannot count subjects", "one row of each subject", more={"subject": "name"}),
    _refused("a drawn view", "a view previews k_anonymity only", "as a table", more={"output": {"as": "view"}, "target": None}),
    _refused("bounds of what is drawn", "synthetic records have no bounds", "leave `bounds` out", more={"output": {"bounds": True}}),
    *(
        _refused(f"clusters under {policy}", "null_policy: own_category only", "leave it out", more={"null_policy": policy})
        for policy in ("wildcard", "exclude")
    ),
    *(
        _refused(f"the metric {name} of nobody", f"metric {name!r} looks at records one by one", "moments",
                 more={"evaluate": {"metrics": [name]}})
        for name in ("loss", "discernibility", "information_loss")
    ),
    Case(name="a metric of synthetic records", spec={"evaluate/metrics": ["membership"]},
         place="metric 'membership' is about values that are not generalized", hint="is measured by"),
)  # fmt: skip

COLUMN_NAMES = (
    _refused("an unknown stratum", "method.strata[1]: the source has no column 'dead'", "Known:", strata=["died", "dead"]),
    _refused("a stratum that is dropped", "method.strata[0]: 'ward' is drop", "make its role synthesize", strata=["ward"]),
    _refused("an unknown response", "method.response: the source has no column 'month'", "did you mean 'months'", response="month"),
    _refused("a response that is withheld", "method.response: 'name' is identifier", "make its role synthesize", response="name"),
    _refused("a response of text", "method.response: the response 'sex' (VARCHAR) is no number", "`strata`", response="sex"),
    _refused("a response of conditions", "method.response: the response 'died' (BOOLEAN) is no number", "`strata`", response="died"),
    _refused("a response that is a stratum", "method.response: 'MONTHS' is the response and one", "the same one",
             response="MONTHS", strata=["months"]),
    _refused("a response that is categorical", "method.response: the response 'months' (BIGINT)", "`strata`",
             response="months", columns={"months": {"role": "synthesize", "type": "categorical"}}),
)  # fmt: skip

DATA = (
    _refused("a stratum below k", "1 of 2 combinations of ward have fewer than k = 20 records, the smallest 15",
             "small_strata: merge", columns={"ward": "synthesize"}, strata=["ward"]),
    _works("a stratum below k, merged", columns={"ward": "synthesize"}, strata=["ward"], small_strata="merge"),
    _refused("a stratum below k, checked", "1 of 2 combinations of ward", "small_strata: merge", words=("check", "spec.yml"),
             columns={"ward": "synthesize"}, strata=["ward"]),
    _works("strata of one value", columns={"never": "synthesize"}, strata=["never"]),
    _works("no strata", strata=[]),
    _works("a response of one value", columns={"seven": "synthesize"}, response="seven"),
    _works("a response that is missing", columns={"none": "synthesize"}, response="none"),
    _works("a response of two values", response="since", columns={"since": "synthesize"},
           sql="UPDATE people SET since = since % 2"),
    _works("a column of one value", columns={"same": "synthesize", "gap": "synthesize"}),
    _refused("more records in a cluster than there are", "k = 201 is more than the 200 records", "a smaller k", code=3,
             more={"privacy": [SIZE | {"k": 201}]}),
    _works("one cluster of all", more={"privacy": [SIZE | {"k": 200}]}),
    _works("more columns than records", more={"privacy": [SIZE | {"k": 2}]},
           columns={f"n{i}": "synthesize" for i in range(12)},
           sql="CREATE OR REPLACE TABLE people AS SELECT *, " +
               ", ".join(f"random() AS n{i}" for i in range(12)) + " FROM people LIMIT 8"),
    _refused("no rows to draw from", "the source has no rows", "nothing to release", sql="DELETE FROM people"),
    _refused("text of thousands of values with a reason", "column 'code' has 3,000 categories: most", "pool: 50",
             columns={"code": {"role": "synthesize", "reason": "made up"}, "name": "drop"}, more={"accept": "rows"},
             sql="CREATE OR REPLACE TABLE people AS SELECT p.*, 'KANARI' || (p.rowid * 15 + j) AS code FROM people p, range(15) r(j)"),
    _refused("numbers that people are given", "columns.wage: column 'wage' has another whole number", "drop the column",
             columns={"wage": "synthesize"}, sql="UPDATE people SET wage = rowid"),
    _refused("text of thousands of values", "column 'code' has 3,000 categories of fewer than 11 records", "drop the column",
             columns={"code": "synthesize", "name": "drop"}, more={"accept": "rows"},
             sql="CREATE OR REPLACE TABLE people AS SELECT p.*, 'KANARI' || (p.rowid * 15 + j) AS code FROM people p, range(15) r(j)"),
    _works("text of many values, pooled", columns={"name": {"role": "synthesize", "pool": 50, "reason": "made up", "accept": "looks_like_identifier"}}),
    _works("text of which one is kept", columns={"zip": {"role": "synthesize", "pool": 1, "reason": "made up"}}),
    _odd("infinite numbers to draw", "DOUBLE", "CASE rowid WHEN 3 THEN 'inf' ELSE '1' END", "column 'odd' has 1 values that are not finite", "make them NULL"),
    _odd("infinite dates to draw", "DATE", "CASE rowid WHEN 3 THEN '-infinity' ELSE '2000-01-01' END", "column 'odd' has 1 values that are not finite", "make them NULL"),
    _odd("infinite moments to draw", "TIMESTAMP", "CASE rowid WHEN 3 THEN 'infinity' ELSE '2000-01-01' END", "column 'odd' has 1 values that are not finite", "make them NULL"),
    _odd("numbers beyond doubles", "BIGINT", "9007199254740993 + rowid % 7", "column 'odd' has numbers beyond 2^53", "type: categorical"),
    _odd("huge numbers to draw", "DOUBLE", "rowid * 1e300", "column 'odd' has numbers beyond 2^53", "drop the column"),
    _odd("decimals that doubles cannot tell apart", "DECIMAL(18, 3)", "'999999999999999.' || (900 + rowid % 90)", "column 'odd' has", "subtract from all of them"),
    _odd("the largest decimal", "DECIMAL(18, 3)", "CASE rowid WHEN 3 THEN 999999999999999.999 ELSE rowid % 7 END", "column 'odd' has 1 values that doubles cannot tell", "round them"),
    _odd("lists to draw", "INTEGER[]", "[rowid]", "column 'odd' has type INTEGER[], which cannot be released", "drop it"),
    _odd("structs to draw", "STRUCT(a INTEGER)", "{'a': 1}", "column 'odd' has type STRUCT(a INTEGER), which cannot be released", "drop it"),
    _works("numbers that are missing as NaN", columns={"odd": "synthesize"},
           sql="CREATE OR REPLACE TABLE people AS SELECT *, CASE WHEN rowid % 5 = 0 THEN 'nan'::DOUBLE ELSE rowid END AS odd FROM people"),
    _refused("records that come back", "equal more rows of the source than their limit allows", "`pool` or drop them", code=3,
             columns={"wage": {"role": "synthesize", "type": "categorical", "reason": "made up"}} | dict.fromkeys(DRAWN, "drop"),
             sql="UPDATE people SET wage = rowid", small_strata="merge", strata=["wage"], more={"seed": 1}),
    _refused("a search of clusters", "method: method condensation", "run it", words=("search", "spec.yml")),
)  # fmt: skip

MODELS = (
    _model("an unknown kind of model", "evaluate.models[0]", "did you mean 'cox'", kind="coxx"),
    _model("a model without event", "evaluate.models[0].event: the key 'event' is missing", "event: died", event=GONE),
    _model("no covariates", "evaluate.models[0].covariates", "covariates: [age", covariates=[]),
    _model("a key of another kind", "evaluate.models[0].response: unknown key", "Known: kind, duration", response="age"),
    _model("an unknown covariate", "evaluate.models[0].covariates[1]: the source has no column 'agee'", "did you mean 'age'", covariates=["sex", "agee"]),
    _model("a covariate that is withheld", "evaluate.models[0].covariates[0]: the release has no column 'wage'", "release the column", covariates=["wage"]),
    _model("a duration that is withheld", "evaluate.models[0].duration: the release has no column 'since'", "release the column", duration="since"),
    _model("a duration of text", "evaluate.models[0].duration: is VARCHAR, and a duration is a number", "cast it", duration="sex"),
    _model("an event of text", "evaluate.models[0].event: is VARCHAR", "status = 'dead'", event="sex"),
    _model("a condition of numbers", "evaluate.models[0].where: is BIGINT, and `where` is a condition", "cast it", where="age"),
    _model("a mean as covariate", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["avg(age)"]),
    _model("a window as covariate", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["row_number() OVER ()"]),
    _model("a query as covariate", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["(SELECT max(wage) FROM people)"]),
    _model("two statements as covariate", "evaluate.models[0].covariates[0]: is not one SQL expression", "one expression of columns", covariates=["age; DROP TABLE people"]),
    _model("a file as covariate", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["(SELECT 1 FROM read_csv('x.csv'))"]),
    _model("a function that reads a file", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["read_text('spec.yml') || sex"]),
    _model("no SQL as covariate", "evaluate.models[0].covariates[0]: is no SQL expression", "one expression of columns", covariates=["age +* 2"]),
    _model("a star as covariate", "evaluate.models[0].covariates[0]", "one expression of columns", covariates=["*"]),
    _model("a number as covariate", "evaluate.models[0].covariates[0]: names no column", "columns of the source", covariates=["1"]),
    _model("an expression that cannot be computed", "evaluate.models[0].covariates[0]: cannot be computed", "types of its columns", covariates=["age + sex"]),
    _model("an expression that some records break", "evaluate.models[0]: the cox model: cannot be computed on every record", "try_cast", covariates=["CAST(sex AS INTEGER)"]),
    _model("an event that never comes", "evaluate.models[0]: the cox model: the event never comes", "look at `event`",
           event="never", columns={"never": "synthesize"}),
    _model("negative times", "evaluate.models[0]: the cox model: 15 times are negative", "count them from",
           duration="since", columns={"since": "synthesize"}),
    _model("missing times", "evaluate.models[0]: the cox model: no record is left", "missing values",
           duration="none", columns={"none": "synthesize"}),
    _model("a covariate of one value", "evaluate.models[0]: the cox model: same has one value", "leave the covariate out",
           covariates=["same", "age"], columns={"same": "synthesize"}),
    _model("an event of other numbers", "evaluate.models[0]: the cox model: the event has other values", "write it as a condition", event="age"),
    _linear("a response of one value in a model", "evaluate.models[0]: the linear model: the response has one value", "look at the response",
            response="seven", columns={"seven": "synthesize"}),
    _linear("a response of itself", "evaluate.models[0]: the linear model: the covariates tell the response completely", "leave out", covariates=["months"]),
    _linear("a logistic model of a number", "evaluate.models[0]: the logistic model: the response has other values", "write it as a condition", kind="logistic"),
    _linear("a huge response", "evaluate.models[0]: the linear model: it has numbers beyond 1e+100", "divide them", response="months * 1e200"),
    _refused("too few records for the models", "records", "calibrate: false", sql="DELETE FROM people WHERE rowid >= 60; UPDATE people SET age = age // 2",
             more={"evaluate": {"models": [COX, {"kind": "linear", "response": "age", "covariates": ["sex", "months", "died"]}]}}),
    _works("models that are only compared", sql="DELETE FROM people WHERE rowid >= 120", calibrate=False, more={"evaluate": {"models": [COX]}}),
    Case(name="a place of a model in YAML",
         spec="release: r\nsource: people\ndatabase: owner.duckdb\ncolumns:\n  name, illness, wage: drop\n  age, zip, sex: synthesize\n"
              "privacy: [{model: cluster_size, k: 20}]\nmethod: condensation\nevaluate:\n  models:\n"
              "    - kind: linear\n      response: age\n      covariates:\n        - sex\n        - avg(age)\n",
         place="line 15: evaluate.models[0].covariates[1]", hint="one expression of columns"),
)  # fmt: skip

MEANS = (
    _masked("no such algorithm of means", "method.algorithm: expects", "'mdav'", algorithm="vmdav"),
    _masked("a key that means have not", "method.k: unknown key", "Known: name, algorithm", k=3),
    _masked("a hierarchy of means", "columns.age: hierarchy goes with methods that generalize", "drop it",
            more={"columns/age": {"role": "quasi_identifier", "hierarchy": "suppress"}}),
    _masked("a domain of means", "columns.zip: domain goes with", "drop it",
            more={"columns/zip": {"role": "quasi_identifier", "domain": ["1"]}}),
    _masked("levels of means", "columns.age: method microaggregation has no levels", "drop min_level",
            more={"columns/age": {"role": "quasi_identifier", "max_level": 1}}),
    _masked("means of other models", "microaggregation holds k_anonymity only", "full_domain",
            more={"columns/illness": "sensitive",
                  "privacy": [{"model": "k_anonymity", "k": 2}, {"model": "l_diversity", "column": "illness", "l": 2}]}),
    _masked("means of clusters", "cluster_size is what synthetic records promise", "condensation", more={"privacy": [SIZE]}),
    _masked("bounds of means", "means have no bounds", "leave `bounds` out", more={"output/bounds": True}),
    _masked("means of subjects", "cannot count subjects", "one row of each subject", more={"subject": "name"}),
    _masked("means in a view", "does not go with a view", "as a table", more={"output": {"as": "view"}, "target": None}),
    _masked("means under wildcards", "null_policy: own_category only", "leave it out", more={"null_policy": "wildcard"}),
    _masked("the loss of means", "metric 'loss' is about levels", "information_loss", more={"evaluate/metrics": ["loss"]}),
    _masked("groups larger than the table", "no groups reach k = 999: there are 200 records", "k can be at most 200", code=3,
            more={"privacy": [{"model": "k_anonymity", "k": 999}]}),
    _masked("means of infinite numbers", "column 'age' has 1 values that are not finite", "make them NULL",
            sql="CREATE OR REPLACE TABLE people AS SELECT * REPLACE (CASE rowid WHEN 3 THEN 'inf'::DOUBLE ELSE age END AS age) FROM people"),
    _masked("means of huge numbers", "column 'age' has numbers beyond 1e+100", "divide them",
            sql="CREATE OR REPLACE TABLE people AS SELECT * REPLACE (age * 1e300 AS age) FROM people"),
    _masked("means of names", "column 'zip' has 1,200 categories", "group them",
            sql="CREATE OR REPLACE TABLE people AS SELECT p.* REPLACE ('KANARI' || name || j AS zip, name || j AS name) FROM people p, range(6) r(j)"),
)  # fmt: skip

CASES = (*KEYS, *TOGETHER, *COLUMN_NAMES, *DATA, *MODELS, *MEANS)
