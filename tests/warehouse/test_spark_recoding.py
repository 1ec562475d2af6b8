"""Local recoding in Spark: what is dealt there is what was dealt here, record by record."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from spark_here import has_spark
from spark_releases import lent, people, released, spec

import dbdeid
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.errors import VerificationError

if has_spark():
    from dbdeid.engine.spark.warehouse import Spark

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

COUNTED = ["age", "zip", "sex", "ill"]


def _rows(table: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def _both(spark: Any, asked: dict[str, Any], rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """What Spark and DuckDB release of the same rows, once both have been verified."""
    lent(spark, asked["source"], rows)
    there = dbdeid.run(asked, connection=spark)
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute(f'CREATE TABLE "{asked["source"]}" AS FROM given')
        here = dbdeid.run(asked, connection=connection)
        own = connection.execute(f'FROM "{asked["release"]}"').to_arrow_table()
        listed = connection.execute(f'FROM "{asked["release"]}_dictionary"').to_arrow_table()
    assert there.verified
    assert here.verified
    assert there.loss == here.loss
    assert there.classes == here.classes
    assert [p["found"] for p in there.promises] == [p["found"] for p in here.promises]
    assert [p["model"] for p in there.promises] == [p["model"] for p in here.promises]
    found = released(spark, f"{asked['release']}_dictionary")
    assert _rows(found, ["column", "released_value"]) == _rows(listed, ["column", "released_value"])
    return released(spark, asked["release"]), own


@pytest.mark.parametrize("algorithm", ["dealing", "mondrian", "paper"])
def test_blocks_are_those_of_the_own_engine(here: Any, algorithm: str) -> None:
    rows = people(600 if algorithm == "paper" else 3000)
    method = {"name": "local_recoding", "algorithm": algorithm}
    asked = spec(method=method, seed=7, release=f"recoded_{algorithm}", source="recoded_source")
    there, own = _both(here, asked, rows)
    assert there.column_names == own.column_names
    assert _rows(there, COUNTED) == _rows(own, COUNTED)
    assert _rows(there, ["ill", "dose"]) == _rows(rows, ["ill", "dose"])


def test_columns_of_any_name_and_type_and_free_intervals(here: Any) -> None:
    rows = people(2000, seed=3).select(["age", "zip", "sex", "born", "ill", "dose"])
    rows = rows.rename_columns(["c0", "Deid_Had_0", "place", "k 0", "v`0", "block"])
    quasi = "quasi_identifier"
    free = {
        "role": quasi,
        "hierarchy": "free",
        "accept": ["looks_like_identifier"],
        "reason": "made up",
    }
    asked = {
        "release": "odd_recoded",
        "source": "odd_source",
        "columns": {
            "c0": free,
            "Deid_Had_0": {"role": quasi, "hierarchy": {"prefix": [3, 2, 1]}},
            "place": {"role": quasi, "hierarchy": "suppress", "max_level": 0},
            "k 0": free,
            "v`0": "sensitive",
            "block": {"role": "sensitive", "reason": "nobody outside has it"},
        },
        "privacy": [
            {"model": "k_anonymity", "k": 4},
            {"model": "l_diversity", "column": "v`0", "l": 2},
            {"model": "l_diversity", "column": "block", "l": 3},
        ],
        "method": "local_recoding",
        "output": {"bounds": True},
        "accept": "rows",
        "seed": 1,
    }
    there, own = _both(here, asked, rows)
    assert there.schema.names == own.schema.names
    assert Counter(map(repr, there.to_pylist())) == Counter(map(repr, own.to_pylist()))


CLAIMS = {
    "nothing": "SELECT * FROM n",
    # so that classes, values and records are what they were, and labels are those of others
    "labels of another": """
        SELECT o.age, o.zip, o.sex, n.ill, n.dose, n.deid_had_0, n.deid_had_1, n.deid_had_2
        FROM m AS n JOIN m AS o ON o.place = n.place % n.many + 1 AND o.ill <=> n.ill""",
    "doses of another": """
        SELECT age, zip, sex, ill, coalesce(lead(dose) OVER (ORDER BY n), 1.5) AS dose,
        deid_had_0, deid_had_1, deid_had_2 FROM n""",
    "a record twice for another": """
        SELECT n.age, n.zip, n.sex, n.ill, o.dose, o.deid_had_0, o.deid_had_1, o.deid_had_2
        FROM n JOIN n AS o ON o.n = CASE WHEN n.n = 1 THEN 2 ELSE n.n END""",
    "an age that nobody has": """
        SELECT age, zip, sex, ill, dose, CASE WHEN n = 1 THEN 17 ELSE deid_had_0 END AS deid_had_0,
        deid_had_1, deid_had_2 FROM n""",
    "a record less": "SELECT * EXCEPT (n) FROM n WHERE n > 1",
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_false_claim_is_found(here: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    lent(here, "claimed", people(1000, seed=9))
    ran = Spark.run

    def run(self: Spark, step: Step) -> Relation:
        made = ran(self, step)
        if step.name != "recoded":
            return made
        order = "row_number() OVER (ORDER BY deid_had_0, deid_had_1, deid_had_2, ill, dose)"
        here.sql(f"CREATE OR REPLACE TEMP VIEW n AS SELECT *, {order} AS n FROM {made.name}")
        place = "row_number() OVER (PARTITION BY ill ORDER BY n) AS place"
        many = "count(*) OVER (PARTITION BY ill) AS many"
        here.sql(f"CREATE OR REPLACE TEMP VIEW m AS SELECT *, {place}, {many} FROM n")
        statement = CLAIMS[name].replace("SELECT * FROM n", "SELECT * EXCEPT (n) FROM n")
        here.sql(f"CREATE OR REPLACE TEMP VIEW claim AS {statement}")
        found = Relation("claim", made.columns)
        assert self.source("claim").names == made.names
        return found

    monkeypatch.setattr(Spark, "run", run)
    asked = spec(
        method={"name": "local_recoding"}, seed=2, release="claimed_public", source="claimed"
    )
    if name == "nothing":
        assert dbdeid.run(asked, connection=here).verified
        return
    with pytest.raises(VerificationError) as error:
        dbdeid.run(asked, connection=here)
    assert "truthfulness:" in str(error.value)
    assert not here.catalog.tableExists("claimed_public")
