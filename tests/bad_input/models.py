"""Privacy models: columns that are not there or fit no model, parameters out of reach."""

from __future__ import annotations

from typing import Any

from bad_input.runner import Case

K = {"model": "k_anonymity", "k": 2}


def _model(**model: Any) -> dict[str, Any]:
    return {"privacy": [K, model]}


def _refused(name: str, place: str, hint: str, *, code: int = 2, **model: Any) -> Case:
    where = place if code == 3 or place.startswith("privacy") else f"privacy[1].{place}"
    return Case(name=name, spec=_model(**model), place=where, hint=hint, code=code)


L: dict[str, Any] = {"model": "l_diversity", "column": "illness", "l": 2}
T: dict[str, Any] = {"model": "t_closeness", "column": "illness", "t": 0.2}
EM: dict[str, Any] = {"model": "em_anonymity", "column": "wage", "epsilon": 500, "m": 2}
KM: dict[str, Any] = {"model": "km_anonymity", "column": "illness", "k": 2, "m": 2}
ALPHA: dict[str, Any] = {"model": "alpha_k", "column": "illness", "k": 2, "alpha": 0.5}

KEYS = (
    _refused("no l", "l: the key 'l' is missing", "l: 3", model="l_diversity", column="wage"),
    _refused("no column", "column: the key 'column'", "diagnosis", model="l_diversity", l=2),
    _refused("unknown column", "column: the source has no column", "'illness'", **L | {"column": "ilness"}),
    _refused("a column twice", "privacy[1]: a column is named twice", "[a, b]", **L | {"column": ["wage", "WAGE"]}),
    _refused("no columns", "column", "column: diagnosis", **L | {"column": []}),
    _refused("a column of numbers", "column", "column: diagnosis", **L | {"column": 7}),
    _refused("joint of one", "privacy[1]: joint: true takes several", "[diagnosis, drug]", **L | {"joint": True}),
    _refused("a quasi-identifier", "column: l_diversity is about a sensitive", "make its role", **L | {"column": "age"}),
    _refused("an identifier", "column: l_diversity is about a sensitive", "make its role", **L | {"column": "name"}),
    _refused("l below 1", "l", "l: 3", **L | {"l": 0}),
    _refused("l a text", "l", "write 2, without quotes", **L | {"l": "2"}),
    _refused("l not whole", "privacy[1]: l of kind distinct is a whole", "l: 3", **L | {"l": 2.5}),
    _refused("l no number", "l", "l: 3", **L | {"l": float("nan")}),
    _refused("l infinite", "l", "l: 3", **L | {"l": float("inf")}),
    _refused("unknown kind", "kind", "did you mean 'entropy'", **L | {"kind": "entrpy"}),
    _refused("recursive without c", "privacy[1]: kind: recursive needs c", "c: 2", **L | {"kind": "recursive"}),
    _refused("c without recursive", "privacy[1]: c only goes with", "drop it", **L | {"c": 2}),
    _refused("c of nothing", "c", "c: 2", **L | {"kind": "recursive", "c": 0}),
    _refused("t above 1", "t", "t: 0.2", **T | {"t": 1.5}),
    _refused("t below 0", "t", "t: 0.2", **T | {"t": -0.1}),
    _refused("t a percentage", "t", "write 0.2", **T | {"t": "20%"}),
    _refused("unknown distance", "distance", "did you mean 'ordered'", **T | {"distance": "orderd"}),
    _refused("ordered text", "distance: the values of 'illness'", "use distance: equal", **T | {"distance": "ordered"}),
    _refused("no hierarchy", "distance: 'illness' has no hierarchy", "hierarchy: icd.csv", **T | {"distance": "hierarchical"}),
    _refused("ordered and joint", "privacy[1]: joint: true has no ordered", "distance: equal",
             **T | {"distance": "ordered", "joint": True, "column": ["illness", "wage"]}),
    _refused("alpha 0", "alpha", "alpha: 0.5", **ALPHA | {"alpha": 0}),
    _refused("alpha above 1", "alpha", "alpha: 0.5", **ALPHA | {"alpha": 1.1}),
    _refused("no values", "values", "values: ", **ALPHA | {"values": []}),
    _refused("unknown values", "values: of 1 values not in illness: number 1", "as the source does", **ALPHA | {"values": ["x"]}),
    _refused("nested values", "values: values are listed one by one", "values: ", **ALPHA | {"values": [["x"]]}),
    _refused("beta 0", "beta", "beta: 2", model="basic_beta", column="illness", beta=0),
    _refused("enhanced beta below 0", "beta", "beta: 2", model="enhanced_beta", column="illness", beta=-1),
    _refused("delta 0", "delta", "delta: 1.5", model="delta_disclosure", column="illness", delta=0),
    _refused("epsilon below 0", "epsilon", "epsilon: 500", **EM | {"epsilon": -1}),
    _refused("epsilon infinite", "epsilon", "epsilon: 500", **EM | {"epsilon": float("inf")}),
    _refused("m of one", "m", "m: 3", **EM | {"m": 1}),
    _refused("m not whole", "m", "m: 3", **EM | {"m": 2.5}),
    _refused("nearness of texts", "column: em_anonymity is about numbers", "l_diversity or t_closeness", **EM | {"column": "illness"}),
    _refused("nearness of combinations", "privacy[1]: joint: true has no distances", "leave joint out",
             **EM | {"joint": True, "column": ["illness", "wage"]}),
    _refused("no m", "m: the key 'm' is missing", "m: 3", model="km_anonymity", column="illness", k=2),
    _refused("items of none", "m", "m: 3", **KM | {"m": 0}),
    _refused("an empty separator", "separator", "separator: ", **KM | {"separator": ""}),
    _refused("blanks as separator", "privacy[1]: separator: blanks", "another character", **KM | {"separator": "  "}),
    _refused("items of numbers", "column: km_anonymity is about a text", "array_to_string", **KM | {"column": "wage"}),
    _refused("items by what they mean", "column: km_anonymity counts the items", "values: as_written", **KM),
    _refused("items of combinations", "privacy[1]: joint: true has no items", "leave joint out",
             **KM | {"joint": True, "column": ["illness", "wage"]}),
    _refused("min above max", "privacy[1]: min is above max", "max: 0.2",
             model="delta_presence", population="people", min=0.5, max=0.1),
    _refused("unknown attacker", "attacker", "did you mean 'journalist'", model="max_risk", attacker="jurnalist", threshold=0.1),
    _refused("threshold 0", "threshold", "threshold: 0.09", model="max_risk", attacker="prosecutor", threshold=0),
    _refused("a journalist alone", "privacy[1]: a journalist needs", "a table or file", model="max_risk", attacker="journalist", threshold=0.1),
    _refused("a key of another model", "k: unknown key 'k'", "Known: model, column", **L | {"k": 2}),
    _refused("a misspelt key", "distanz: unknown key", "did you mean 'distance'?", **T | {"distanz": "equal"}),
    _refused("an unknown model", "privacy[1]: unknown or missing", "did you mean 'l_diversity'", **L | {"model": "l_diversty"}),
)  # fmt: skip

OUT_OF_REACH = (
    _refused("more values than there are", "illness has 3 values, fewer than l = 4", "at most 3", code=3, **L | {"l": 4}),
    _refused("l of a constant", "wage has 4 values", "at most 4", code=3, **L | {"column": "wage", "l": 9}),
    _refused("entropy out of reach", "no transformation reaches", "weaker models", code=3, **L | {"kind": "entropy", "l": 3}),
    _refused("alpha out of reach", "no transformation reaches", "weaker models", code=3, **ALPHA | {"alpha": 0.2}),
)  # fmt: skip

TOGETHER = (
    Case(
        name="wildcards and values",
        spec={**_model(**L), "null_policy": "wildcard"},
        place="null_policy: wildcard counts no sensitive values",
        hint="own_category is stricter",
    ),
    Case(
        name="items of people with several records",
        spec={
            **_model(**KM),
            "columns/illness": {
                "role": "sensitive",
                "values": "as_written",
                "accept": "homogeneity",
            },
            "subject": "name",
        },
        place="privacy[1]: km_anonymity takes every record for a person",
        hint="string_agg(DISTINCT code, ';')",
    ),
    Case(
        name="counterfeit items",
        spec={
            **_model(**KM),
            "columns/illness": {
                "role": "sensitive",
                "values": "as_written",
                "accept": "homogeneity",
            },
            "columns/wage": "drop",
            "method": {"name": "counterfeit"},
        },
        place="method counterfeit does not hold km_anonymity",
        hint="full_domain or local_recoding",
    ),
    Case(
        name="a view of values",
        spec={**_model(**L), "output/as": "view", "target": None},
        place="a view previews k_anonymity only",
        hint="as a table",
    ),
    Case(
        name="a sensitive column without a model",
        spec={"columns/illness": "sensitive"},
        place="columns.illness: sensitive column 'illness' has no",
        hint="{model: l_diversity, column: illness, l: 2}",
    ),
    Case(
        name="only one of two columns has a model",
        spec={**_model(**L), "columns/illness": "sensitive", "columns/wage": "sensitive"},
        place="columns.wage: sensitive column 'wage' has no",
        hint="accept: homogeneity",
    ),
    Case(
        name="l of 1 protects nothing",
        spec={**_model(**L | {"l": 1}), "columns/illness": "sensitive"},
        place="columns.illness: sensitive column 'illness' has no",
        hint="accept: homogeneity",
    ),
)

CASES = (*KEYS, *OUT_OF_REACH, *TOGETHER)
