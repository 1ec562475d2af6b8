"""What the verifier finds in a table of Spark that is not what was promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from spark_here import has_spark
from spark_releases import lent, people, spec

import dbdeid
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.errors import VerificationError

if has_spark():
    from dbdeid.engine.spark.warehouse import Spark

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

# Of the records as they should be written, what is written: `t` is the view of them.
_ALL = "age, zip, sex, ill, dose"
MUTANTS = {
    "nothing": ("SELECT * FROM t", ""),
    "a cell that is not counted": (
        "SELECT age, zip, sex, ill, CASE WHEN n = 1 THEN 99 ELSE dose END AS dose FROM n",
        "truthfulness",
    ),
    "a cell of a quasi-identifier": (
        "SELECT CASE WHEN n = 1 THEN '[0, 40)' WHEN n = 2 THEN '[40, 80)' ELSE age END AS age, "
        "zip, sex, ill, dose FROM n",
        "records",
    ),
    "a sensitive cell": (
        "SELECT age, zip, sex, CASE WHEN n = 1 THEN 'pox' ELSE ill END AS ill, dose FROM n",
        "records",
    ),
    "sensitive cells exchanged": (
        "SELECT age, zip, sex, coalesce(CASE WHEN n < 100 THEN lead(ill) OVER (ORDER BY n) END, "
        "ill) AS ill, dose FROM n",
        "truthfulness",
    ),
    "a record less": (f"SELECT {_ALL} FROM n WHERE n > 1", "records"),
    "a record twice": (
        f"SELECT {_ALL} FROM n UNION ALL SELECT {_ALL} FROM n WHERE n = 1",
        "records",
    ),
    "a record twice for another": (
        f"SELECT {_ALL} FROM n WHERE n <> 1 UNION ALL SELECT {_ALL} FROM n WHERE n = 2",
        "truthfulness",
    ),
    "a column more": ("SELECT *, 1 AS more FROM t", "columns"),
    "a column less": ("SELECT age, zip, sex, ill FROM t", "columns"),
    "a column of another name": (
        "SELECT age, zip, sex, ill, dose AS Dose2 FROM t",
        "columns",
    ),
    "a column of another type": (
        "SELECT age, zip, sex, ill, CAST(dose AS FLOAT) AS dose FROM t",
        "types",
    ),
    "columns in another order": ("SELECT zip, age, sex, ill, dose FROM t", "columns"),
    "a small class": (
        f"SELECT {_ALL} FROM (SELECT *, dense_rank() OVER (ORDER BY age, zip, sex) AS class, "
        "row_number() OVER (PARTITION BY age, zip, sex ORDER BY n) AS place FROM n) "
        "WHERE class > 1 OR place < 3",
        "k_anonymity",
    ),
    "an illness alone": (
        "SELECT age, zip, sex, CASE WHEN class = 1 THEN 'flu' ELSE ill END AS ill, dose FROM "
        "(SELECT *, dense_rank() OVER (ORDER BY age, zip, sex) AS class FROM n)",
        "l_diversity",
    ),
    "all but few": (f"SELECT {_ALL} FROM n WHERE age <> '*' AND n % 2 = 0", "suppression_limit"),
    "raw values": (
        "SELECT age, '80101' AS zip, sex, ill, dose FROM t",
        "transformation",
    ),
}


@pytest.fixture
def mutated(here: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], Any]]:
    """A run whose writer writes something else; it gives what `run` would."""
    lent(here, "visits", people(1200, seed=5))
    made = Spark.write

    def of(statement: str, **more: Any) -> Callable[[], Any]:
        def write(self: Spark, place: Relation, rows: Query, together: Any, marks: Any) -> None:
            if "dictionary" in place.name:
                return made(self, place, rows, together, marks)
            right = replace(place, name="right")
            made(self, right, rows, together, {})
            here.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM `right`")
            order = f"row_number() OVER (ORDER BY {_ALL})"
            here.sql(f"CREATE OR REPLACE TEMP VIEW n AS SELECT *, {order} AS n FROM t")
            here.sql(f"CREATE OR REPLACE TEMP VIEW mutant AS {statement}")
            found = Relation("mutant", self.source("mutant").columns)
            names = [c.name for c in found.columns]
            from dbdeid.engine.expressions import select

            query = select(*names).from_(found.table)
            made(self, place, query, [n for n in together if n in names], marks)

        monkeypatch.setattr(Spark, "write", write)
        given = {key: value for key, value in spec(**more).items() if value is not None}
        return lambda: dbdeid.run(given, connection=here)

    return of


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(here: Any, mutated: Any, name: str) -> None:
    statement, told = MUTANTS[name]
    run = mutated(statement)
    if not told:
        assert run().verified
        return
    with pytest.raises(VerificationError) as error:
        run()
    assert told + ":" in str(error.value)
    assert "pox" not in str(error.value)
    tables = {t.name for t in here.catalog.listTables() if not t.isTemporary}
    assert tables == {"visits", "right"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nothing", ""),
        ("a record less", "1 classes without some of their records"),
        ("a record twice for another", "truthfulness: declared"),
        ("all but few", "suppression_limit: declared {'share': 0.05, 'subjects': "),
    ],
)
def test_a_mutant_is_found_where_people_count(
    here: Any, mutated: Any, name: str, told: str
) -> None:
    run = mutated(MUTANTS[name][0], subject="name", accept=None)
    if not told:
        assert run().verified
        return
    with pytest.raises(VerificationError) as error:
        run()
    assert told in str(error.value)
    assert "Ann" not in str(error.value)
