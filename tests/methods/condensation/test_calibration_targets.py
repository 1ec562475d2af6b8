"""What calibration works on: numbers of both tables that one column decides."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import read
from dbdeid.engine.duckdb.session import Session
from dbdeid.methods.condensation.calibration_targets import Analysed, cells

COX = {"kind": "cox", "duration": "months", "event": "died = 1", "covariates": ["race", "age"]}


def found(*models: Any) -> tuple[tuple[Analysed, ...], Bound]:
    con = duckdb.connect()
    con.execute(
        """
        CREATE TABLE source AS FROM (VALUES
          (3, 10, 1, 'white', 50), (1, 20, 0, 'black', 60),
          (2, 30, 1, 'white', NULL), (4, 40, 1, 'other', 70)
        ) AS t(i, months, died, race, age)
        """
    )
    con.execute("CREATE TABLE synthetic AS SELECT * REPLACE (9 - i AS i) FROM source")
    con.execute("UPDATE synthetic SET race = 'nobody' WHERE race = 'other'")
    spec = {
        "release": "r",
        "source": "source",
        "columns": {"i": "drop", **dict.fromkeys(("months", "died", "race", "age"), "synthesize")},
        "privacy": [{"model": "cluster_size", "k": 2}],
        "method": "condensation",
        "evaluate": {"models": list(models)},
    }
    with Session.over(con, None, read_only=False) as session:
        bound = bind(read(spec), session)
        tables = (session.relation("source"), session.relation("synthetic"))
        return cells(bound, session, *tables, "i"), bound


@pytest.mark.full
def test_numbers_stand_in_the_order_of_the_records() -> None:
    told, _ = found(COX)
    (model,) = told
    assert model.kind == "cox"
    assert model.response.column == "months"
    assert model.response.source.tolist() == [20, 30, 10, 40]
    assert model.response.synthetic.tolist() == [40, 10, 30, 20]
    assert model.event is not None
    assert model.event.column == "died"
    assert model.event.source.tolist() == [0, 1, 1, 1]
    race, other, age = model.covariates
    assert [c.column for c in model.covariates] == ["race", "race", "age"]
    # of the three records that have an age each race has one, so that the first is left out
    np.testing.assert_array_equal(race.source, [0, 0, 0, 1])
    np.testing.assert_array_equal(other.source, [0, 1, 1, 0])
    np.testing.assert_array_equal(age.source, [60, np.nan, 50, 70])
    np.testing.assert_array_equal(other.synthetic, [np.nan, 1, 1, 0])


def test_what_decides_which_records_count_is_not_to_be_moved() -> None:
    (model,) = found({**COX, "where": "months < 40"})[0]
    assert model.rows[0].tolist() == [True, False, True, False]
    assert model.rows[1].tolist() == [False, True, False, True]
    assert model.frozen == ("age", "months", "race")
    (plain,) = found({"kind": "linear", "response": "months", "covariates": ["died"]})[0]
    assert plain.frozen == ()
    assert plain.event is None
    assert plain.rows[0].all()


@pytest.mark.full
def test_a_variable_of_several_columns_is_not_calibrated() -> None:
    told, bound = found(COX, {**COX, "covariates": ["race", "age * died"]})
    assert [analysis.several for analysis in bound.analyses] == [None, "age * died"]
    assert len(told) == 1
