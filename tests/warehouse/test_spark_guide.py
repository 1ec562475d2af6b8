"""The SQL of the guide gives in Spark what the macros give in DuckDB."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from spark_releases import lent, people

import dbdeid

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

GUIDE = Path(__file__).parents[2] / "docs" / "spark.md"


@pytest.mark.parametrize("unknown", [False, True])
def test_risk_is_that_of_the_macros(here: Any, unknown: bool) -> None:
    rows = people(700, seed=6).select(["age", "zip", "sex", "ill"])
    decades = pa.array(
        [None if a is None else f"{a // 30}" for a in rows["age"].to_pylist()], pa.string()
    )
    rows = rows.set_column(0, "age", decades)
    rows = rows if unknown else rows.drop_null()
    lent(here, "visits_public", rows)
    (text,) = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    view, question = (part.strip() for part in text.strip().removesuffix(";").split(";"))
    here.sql(view)
    found = here.sql(question).toArrow().to_pylist()[0]
    keys = "['age', 'zip', 'sex']"
    with duckdb.connect() as connection:
        dbdeid.install(connection)
        connection.register("visits_public", rows)
        risk = connection.execute(f"FROM deid.risk('visits_public', {keys})")
        expected = risk.to_arrow_table().to_pylist()[0]
        diverse = f"SELECT distinct_l FROM deid.l_diversity('visits_public', {keys}, 'ill')"
        expected |= connection.execute(diverse).to_arrow_table().to_pylist()[0]
    del expected["subjects"]
    assert found == {name: pytest.approx(value, rel=1e-12) for name, value in expected.items()}
