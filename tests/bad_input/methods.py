"""Methods besides full-domain generalization: parameters out of range, what does not go along."""

from __future__ import annotations

from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case

K = {"model": "k_anonymity", "k": 2}
# The good spec has two sensitive columns, which a catalog cannot count.
BASE: dict[str, Any] = {"columns/wage": "drop", "method": {"name": "counterfeit"}}
MOVED: dict[str, Any] = {"method": {"name": "relocation"}}


def _counterfeit(
    name: str, place: str, hint: str = "", *, code: int = 2, more: Any = None, **keys: Any
) -> Case:
    method = {"name": "counterfeit", **keys}
    return Case(
        name=name,
        spec=BASE | {"method": method} | (more or {}),
        place=place,
        hint=hint,
        code=code,
    )


def _relocation(name: str, place: str, hint: str = "", *, more: Any = None, **keys: Any) -> Case:
    method = {"name": "relocation", **keys}
    return Case(name=name, spec={"method": method} | (more or {}), place=place, hint=hint)


def _recoding(
    name: str, place: str, hint: str = "", *, code: int = 2, more: Any = None, **keys: Any
) -> Case:
    method = {"name": "local_recoding", **keys}
    return Case(
        name=name, spec={"method": method} | (more or {}), place=place, hint=hint, code=code
    )


def _models(*models: dict[str, Any]) -> dict[str, Any]:
    return {"privacy": [K, *models]}


RANGES = (
    *(
        _counterfeit(f"h {value!r}", "method.h: expects a number above 0", "h: 0.3", h=value)
        for value in (0, -0.1, 1.01, float("nan"), float("inf"), "0.3", "automatic", True, [0.3])
    ),
    *(
        _counterfeit(f"budget {value!r}", "method.max_counterfeits", "0.1", max_counterfeits=value)
        for value in (-0.1, 1.1, float("nan"), "10%", True, None)
    ),
    _counterfeit("an objective of others", "method.objective", "counterfeits", objective="counterfeit"),
    _counterfeit("no such objective", "method.objective: expects", "objective: loss", objective="precision"),
    _counterfeit("no such catalog", "method.catalog: expects", "'pool'", catalog="pol"),
    _counterfeit("a catalog of a truth", "method.catalog", "catalog: pool", catalog=False),
    _counterfeit("no such recoding", "method.recoding: expects", "'borrow'", recoding="borow"),
    _counterfeit("strict of a text", "method.strict", "strict: true", strict="yes"),
    _counterfeit("a key of another method", "method.suppression_limit: unknown key", "Known: name", suppression_limit=0.1),
    _counterfeit("a misspelt key", "method.max_counterfeit", "did you mean 'max_counterfeits'?", max_counterfeit=0.1),
    *(
        _relocation(f"limit {value!r}", "method.limit", "0.05", limit=value)
        for value in (-0.01, 1.5, float("nan"), "5%", True)
    ),
    _recoding("no such algorithm", "method.algorithm: expects", "'dealing'", algorithm="deal"),
    *(
        _recoding(f"diversity_weight {value!r}", "method.diversity_weight", "diversity_weight: 0.5",
                  algorithm="paper", diversity_weight=value)
        for value in (-0.1, float("nan"), float("inf"), True)
    ),
    _recoding("a diversity_weight in quotes", "method.diversity_weight: expects a number", "without quotes",
              algorithm="paper", diversity_weight="1"),
    _recoding("no such objective of blocks", "method.objective: expects", "objective: node_entropy", objective="precision"),
    _recoding("an objective without bits", "method: objective: loss does not go with algorithm paper", "node_entropy",
              algorithm="paper", objective="loss"),
    _recoding("no such mondrian", "method.mondrian: expects", "mondrian: relaxed", algorithm="mondrian", mondrian="loose"),
    _recoding("no such tail", "method.tail: expects", "tail: append", tail="drop"),
    _recoding("a limit of blocks", "method.suppression_limit: unknown key", "Known: name", suppression_limit=0.1),
    _relocation("a ceiling of moves", "method.h: unknown key", "Known: name, limit", h=0.3),
)  # fmt: skip

TOGETHER = (
    _counterfeit("strict and paper", "method: strict bounds", "catalog: pool", strict=True, catalog="paper"),
    _counterfeit("borrow and paper", "method: the paper's catalog", "pool", recoding="borrow", catalog="paper"),
    _counterfeit("impossible and paper", "without asking what they stand with", "catalog: pool",
        catalog="paper", impossible=[{"sex": "m", "illness": "flu"}]),
    _counterfeit("impossible of one column", "method.impossible[0]: expects values of at least two columns",
        "diagnosis", impossible=[{"sex": "m"}]),
    _counterfeit("impossible of a text", "method.impossible[0]: expects values", "as in", impossible=["sex"]),
    _counterfeit("impossible with a nested value", "expects values as they stand in the column", "quote texts",
        impossible=[{"sex": {"is": "m"}, "illness": "flu"}]),
    _counterfeit("impossible of no values", "expects values as they stand in the column", "quote texts",
        impossible=[{"sex": [], "illness": "flu"}]),
    _counterfeit("impossible of an unknown column", "no released column is called 'gender'", "as `columns` does",
        impossible=[{"gender": "m", "illness": "flu"}]),
    _counterfeit("impossible of a dropped column", "no released column is called 'wage'", "as `columns` does",
        impossible=[{"sex": "m", "wage": 1}]),
    _counterfeit("impossible of quasi-identifiers", "has the quasi-identifiers of real ones", "name the sensitive",
        impossible=[{"sex": "m", "age": 20}]),
    _counterfeit("two sensitive columns", "takes one sensitive column", "drop them",
                 more={"columns/wage": {"role": "sensitive", "accept": "homogeneity"}}),
    _counterfeit("subjects", "cannot count subjects", "one row of each subject", more={"subject": "name"}),
    *(
        _counterfeit(f"null_policy {policy}", "null_policy: own_category only", "leave it out",
                     more={"null_policy": policy})
        for policy in ("wildcard", "exclude")
    ),
    _counterfeit("a view", "does not go with a view", "as a table", more={"output": {"as": "view"}, "target": None}),
    *(
        _counterfeit(f"the model {model['model']}", f"does not hold {model['model']}", "declare k_anonymity",
                     more={"privacy": [K, model]})
        for model in (
            {"model": "k_map", "population": "people", "k": 2},
            {"model": "delta_presence", "population": "people", "max": 0.5},
            {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.5},
        )
    ),
    _counterfeit("a metric of single records", "compares records one by one", "is measured by",
                 more={"evaluate/metrics": ["ambiguity"]}),
    *(
        Case(
            name=f"counterfeits beside a column {name}",
            spec={
                "method": {"name": "counterfeit"},
                "columns/wage": GONE,
                "source": {"sql": f'SELECT * EXCLUDE (wage), wage AS "{name}" FROM people', "name": "people"},
                f"columns/{name}": {"role": "insensitive", "reason": "public"},
            },
            place="has the name of a column that method counterfeit adds",
            hint="rename it",
        )
        for name in ("class_id", "Weight")
    ),
    _recoding("a weight of dealing", "method: diversity_weight does not go with algorithm dealing",
              "algorithm: paper", diversity_weight=1),
    _recoding("a weight of mondrian", "method: diversity_weight does not go with algorithm mondrian",
              "algorithm: paper", algorithm="mondrian", diversity_weight=1),
    _recoding("a weight without diversity", "method: conditional_entropy looks at no sensitive value",
              "algorithm: paper", algorithm="conditional_entropy", diversity_weight=0.5),
    _recoding("the paper's own words", "method: objective: literal is the paper's own", "algorithm: paper",
              objective="literal"),
    _recoding("a kind of mondrian alone", "method: mondrian: … goes with algorithm: mondrian", "drop it", mondrian="strict"),
    _recoding("a tail of the paper", "method: tail goes with algorithm: dealing", "drop it", algorithm="paper", tail="append"),
    _recoding("blocks by mondrian in the database", "method: engine: sql goes with algorithm: dealing",
              "engine: numpy", algorithm="mondrian", engine="sql"),
    _recoding("an eligible tail in the database", "method: tail: eligible judges each block", "engine: numpy",
              engine="sql", tail="eligible"),
    _recoding("blocks of subjects in the database", "engine: sql deals records one by one", "engine: numpy",
              engine="sql", more={"subject": "name"}),
    _recoding("diversity that nobody declared", "makes blocks by l_diversity, and none is declared",
              "declare", algorithm="diversity_first"),
    _recoding("closeness that nobody declared", "makes blocks by t_closeness, and none is declared",
              "declare", algorithm="closeness"),
    *(
        _recoding(f"blocks under {policy}", "null_policy: own_category only", "leave it out",
                  more={"null_policy": policy})
        for policy in ("wildcard", "exclude")
    ),
    _recoding("blocks in a view", "does not go with a view", "as a table",
              more={"output": {"as": "view"}, "target": None}),
    _recoding("blocks of linked records", "does not go with a released pseudonym", "full_domain",
              more={"subject": "name", "columns/name": {"role": "identifier", "pseudonym": True}}),
    *(
        _recoding(f"blocks over a population, {model['model']}", f"does not hold {model['model']}",
                  "full_domain", more=_models(model))
        for model in (
            {"model": "k_map", "population": "people", "k": 2},
            {"model": "delta_presence", "population": "people", "max": 0.5},
            {"model": "max_risk", "attacker": "journalist", "population": "people", "threshold": 0.5},
        )
    ),
    _relocation("moved subjects", "cannot count subjects", "one row of each", more={"subject": "name"}),
    _relocation("moved values", "holds k_anonymity only", "full_domain",
                more={"privacy": [K, {"model": "l_diversity", "column": "illness", "l": 2}]}),
    _relocation("moved in a view", "does not go with a view", "as a table",
                more={"output": {"as": "view"}, "target": None}),
    _relocation("moved under wildcards", "null_policy: own_category only", "leave it out",
                more={"null_policy": "wildcard"}),
)  # fmt: skip

DATA = (
    Case(
        name="a column that counterfeits cannot copy",
        spec=BASE | {"columns/name": {"role": "insensitive", "reason": "public"}},
        place="columns.name: insensitive column 'name' is nearly unique",
        hint="drop the column",
    ),
    Case(
        name="a sensitive column that counterfeits cannot copy",
        spec=BASE | {
            "columns/illness": "drop",
            "columns/name": {"role": "sensitive", "accept": "homogeneity", "reason": "public"},
        },
        place="columns.name: sensitive column 'name' is nearly unique",
        hint="drop the column",
    ),
    _counterfeit("h and budget out of reach", "no transformation under h = 0.15 reaches k = 2",
                 "the smallest feasible h with this budget is", code=3, h=0.15, max_counterfeits=0.001),
    _counterfeit("a budget out of reach", "no transformation under h = 0.15 reaches k = 2",
                 "the fewest counterfeit records under h = 0.15 are", code=3, h=0.15, max_counterfeits=0.001),
    _counterfeit("more values than there are to draw", "illness has 3 values, fewer than l = 4", "at most 3",
                 code=3, more={"privacy": [K, {"model": "l_diversity", "column": "illness", "l": 4}]}),
    _counterfeit("classes larger than the table", "k = 999", "a smaller k", code=3, more={"privacy": [K | {"k": 999}]}),
    Case(name="nothing may be moved", spec={"method": {"name": "relocation", "limit": 0}, "columns/zip/max_level": 0},
         place="no transformation reaches k = 2 with at most 0 of 200 records moved", hint="a higher limit would not help", code=3),
    _recoding("blocks larger than the table", "the whole source as one block does not hold",
              "a smaller k", code=3, more={"privacy": [K | {"k": 999}]}),
    _recoding("blocks of more values than there are", "illness has 3 values, fewer than l = 4", "at most 3",
              code=3, more=_models({"model": "l_diversity", "column": "illness", "l": 4})),
    _recoding("blocks within limits that do not hold", "at the highest levels", "higher max_level", code=3,
              more={"columns/zip/max_level": 0}),
    Case(name="a search of blocks", words=("search", "spec.yml"), spec={"method": "local_recoding"},
         place="method: method local_recoding suppresses nothing", hint="run it"),
    Case(name="a search of counterfeits", words=("search", "spec.yml"), spec=BASE,
         place="method: method counterfeit suppresses nothing", hint="run it"),
    Case(name="a grid of moves", words=("search", "spec.yml", "--k", "2,3"), spec=MOVED,
         place="method: --k and --suppression compare", hint="full_domain"),
)  # fmt: skip

CASES = (*RANGES, *TOGETHER, *DATA)
