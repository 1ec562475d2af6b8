"""Several records of one person in Spark: people count there as they do in DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_here import has_spark
from spark_releases import REASON, both, lent, people, spec

import dbdeid
from dbdeid.errors import DataError, SpecError, VerificationError

if has_spark():
    from dbdeid.engine.spark.warehouse import Spark

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


def visits(number: int = 1200, seed: int = 3) -> pa.Table:
    """Visits of some three hundred persons: some come once, some often with much the same."""
    rows = people(number, seed)
    # the persons of high numbers come seldom; one is named by nothing but signs
    names = [f"Ann {min(i * i % 997, i) % 300}" if i % 50 else "'`" for i in range(number)]
    return rows.set_column(0, "name", pa.array(names))


def of_people(**more: Any) -> dict[str, Any]:
    given = spec(**more)
    del given["accept"]
    return {**given, "subject": "name"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "method": {"name": "full_domain", "suppression_limit": 0.2, "suppressed": "keep"},
            "output": {"bounds": True},
        },
        {
            "null_policy": "exclude",
            "privacy": [
                {"model": "k_anonymity", "k": 3},
                {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.2},
                {"model": "t_closeness", "column": "ill", "t": 0.5},
            ],
        },
        {"method": {"name": "full_domain", "suppression_limit": 0.3, "engine": "sql"}},
    ],
    ids=["plain", "star", "exclude", "sql"],
)
def test_people_count_as_in_duckdb(here: Any, more: dict[str, Any]) -> None:
    limit = {"method": {"name": "full_domain", "suppression_limit": 0.2}}
    if more.get("method", {}).get("engine"):
        more |= {"privacy": [{"model": "k_anonymity", "k": 4}]}
    given = of_people(**{**limit, **more})
    if not any(m.get("column") == "ill" for m in given["privacy"]):
        given["columns"]["ill"] = {"role": "sensitive", "accept": "homogeneity", "reason": REASON}
    found = both(here, given, visits())
    assert found.there.record.source_subjects == found.here.record.source_subjects
    assert found.there.suppressed_subjects == found.here.suppressed_subjects
    assert {p["declared"].get("of") for p in found.there.promises if "k" in p["model"]} != {None}


def test_patients_of_diabetes_130_are_counted(here: Any, shared: Path) -> None:
    rows = pq.read_table(shared / "data/ehr/diabetes130.parquet")
    rows = rows.select(["patient_nbr", "race", "gender", "age", "admission_type_id", "readmitted"])
    given = {
        "release": "stays_public",
        "source": "stays",
        "subject": "patient_nbr",
        "columns": {
            "patient_nbr": "identifier",
            "race, gender, age, admission_type_id": {
                "role": "quasi_identifier",
                "hierarchy": "suppress",
            },
            "readmitted": "sensitive",
        },
        "privacy": [
            {"model": "k_anonymity", "k": 20},
            {"model": "l_diversity", "column": "readmitted", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.02},
    }
    found = both(here, given, rows)
    patients = pc.count_distinct(rows["patient_nbr"]).as_py()
    assert found.there.record.source_subjects == patients < rows.num_rows


def test_records_of_nobody_are_refused(here: Any) -> None:
    rows = visits(200)
    names = [None if i == 7 else name for i, name in enumerate(rows["name"].to_pylist())]
    lent(here, "visits", rows.set_column(0, "name", pa.array(names, pa.string())))
    with pytest.raises(DataError, match="the subject 'name' is NULL in 1 of 200 rows"):
        dbdeid.run(of_people(), connection=here)
    given = of_people()
    given["columns"]["name"] = {"role": "identifier", "pseudonym": True}
    with pytest.raises(SpecError, match="no pseudonyms are made in Spark"):
        dbdeid.run(given, connection=here)


def test_a_plan_that_takes_records_for_people_is_found(
    here: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is told that each record is somebody's own; the verifier counts for itself."""
    alike = visits(150)
    lent(here, "visits", pa.concat_tables([alike] * 10))
    counted, called = Spark.profiles, 0

    def profiles(self: Spark, rows: Any, subject: str) -> pa.Table:
        nonlocal called
        called += 1
        found = counted(self, rows, subject)
        if called > 1:
            return found
        each = found["deid_records"].to_numpy() * (
            found["deid_last"].to_numpy() - found["deid_first"].to_numpy()
        )
        last = each.cumsum()
        for name, numbers in (
            ("deid_records", each // each),
            ("deid_first", last - each),
            ("deid_last", last),
        ):
            place = found.column_names.index(name)
            found = found.set_column(place, name, pa.array(numbers))
        return found

    monkeypatch.setattr(Spark, "profiles", profiles)
    with pytest.raises(VerificationError) as error:
        dbdeid.run(of_people(), connection=here)
    assert called == 2
    assert "k_anonymity: declared {'k': 5, 'of': 'subjects'}" in str(error.value)
    assert "'`" not in str(error.value)
    assert {t.name for t in here.catalog.listTables() if not t.isTemporary} == {"visits"}
