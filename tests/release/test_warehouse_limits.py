"""What a release in a warehouse is refused for, before anything is asked of it."""

from __future__ import annotations

from typing import Any

import pytest

from dbdeid.bind.read import read
from dbdeid.errors import SpecError
from dbdeid.release.warehouse_limits import require_possible

QI = "quasi_identifier"


def spec(**more: Any) -> dict[str, Any]:
    return {
        "release": "visits_public",
        "source": "clinic.visits",
        "columns": {
            "name": "identifier",
            "age": {"role": QI, "hierarchy": {"intervals": [10]}},
            "ill": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": "full_domain",
        **more,
    }


def test_nothing_is_refused_of_a_plain_release() -> None:
    require_possible(read(spec()), "Spark")
    keep = {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"}
    require_possible(read(spec(method=keep, null_policy="exclude")), "Spark")
    require_possible(read(spec(output={"bounds": True})), "Spark")
    require_possible(read(spec(method="local_recoding")), "Spark")
    for source in ("visits/", "visits/*.parquet", "hdfs://clinic/visits", "visits.parquet"):
        require_possible(read(spec(source=source)), "Spark")


AGE: dict[str, Any] = {"role": QI, "domain": [0, 120]}
PSEUDONYM = {"role": "identifier", "pseudonym": True}
BY_TABLE = {"role": QI, "hierarchy": {"table": "ages"}}
REFUSED = {
    "whose blocks": (
        {"method": "local_recoding", "subject": "name"},
        "whose records are in which block is not told to Spark",
    ),
    "relocation": ({"method": {"name": "relocation"}}, "method relocation is not made in Spark"),
    "policy": (
        {
            "method": "policy",
            "columns": {"age": AGE, "ill": {"role": "sensitive", "accept": "homogeneity"}},
        },
        "method policy is not made in Spark",
    ),
    "text": ({"source": "visits.csv.gz"}, "files in .csv.gz do not say which types"),
    "sheet": ({"source": "s3a://clinic/visits.xlsx"}, "files in .xlsx do not say which types"),
    "attached": (
        {"attach": {"clinic": "clinic.sqlite"}},
        "attach is no place in Spark",
    ),
    "query": ({"source": {"sql": "SELECT 1", "name": "x"}}, "a query of the own engine"),
    "target": ({"target": "public.duckdb"}, "target is no place in Spark"),
    "database": ({"database": "owner.duckdb"}, "database is no place in Spark"),
    "export": ({"output": {"export": ["public.csv"]}}, "what is in Spark is not exported"),
    "view": ({"output": {"as": "view"}}, "no preview is made in Spark"),
    "strict": ({"rerelease": "strict"}, "nothing remembers what was released in Spark"),
    "queries": ({"evaluate": {"queries": "asked.sql"}}, "a workload needs the records"),
    "pseudonym": (
        {"columns": {**spec()["columns"], "name": PSEUDONYM}, "subject": "name"},
        "no pseudonyms are made in Spark",
    ),
    "hierarchy": (
        {"columns": {**spec()["columns"], "age": BY_TABLE}},
        "a hierarchy is not read from Spark",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    more, told = REFUSED[name]
    with pytest.raises(SpecError) as error:
        require_possible(read(spec(**more)), "Spark")
    assert told in str(error.value)


def test_a_trial_is_refused() -> None:
    with pytest.raises(SpecError, match="a trial is made in a file"):
        require_possible(read(spec(), trial=True), "Spark")
