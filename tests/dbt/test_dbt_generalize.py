"""What a model for dbt makes of a plan is what dbdeid releases, for every kind of hierarchy."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hospital import Project

import dbdeid
from dbdeid.cli.text.plan import model
from dbdeid.commands.plan import plan

# column: its type and value for i, its hierarchy, what else is declared, and its level
COLUMNS: dict[str, tuple[str, Any, dict[str, Any], int]] = {
    "below": ("CAST(i % 90 - 45 AS INTEGER)", {"intervals": [10], "origin": 3}, {}, 1),
    "small": ("CAST(i % 30 AS UTINYINT)", {"intervals": [7, 14], "origin": 5}, {}, 2),
    "cut": ("CAST(i % 90 AS BIGINT)", {"intervals": [20], "lower": 25, "upper": 75}, {}, 1),
    "under": ("CAST(i % 90 AS SMALLINT)", {"intervals": [20], "upper": 75}, {}, 1),
    "over": ("(i % 90) * 1.25", {"intervals": [20], "lower": 0}, {}, 1),
    "bmi": ("10 + (i % 301) / 10", {"intervals": [0.5], "lower": 12, "upper": 35.2}, {}, 1),
    "whole": ("(i % 301) / 10", {"intervals": [5]}, {}, 1),
    "week": ("DATE '2019-12-20' + CAST(i * 3 AS INTEGER)", {"dates": ["week"]}, {}, 1),
    "month": (
        "DATE '2019-01-15' + CAST(i * 5 AS INTEGER)",
        {"dates": ["month", "year"], "lower": "2019-03-10", "upper": "2022-01-05"},
        {},
        1,
    ),
    "quarter": ("DATE '0990-01-15' + CAST(i * 50 AS INTEGER)", {"dates": ["quarter"]}, {}, 1),
    "decade": (
        "TIMESTAMP '1988-12-31 23:59:59' + to_days(CAST(i * 30 AS INTEGER))",
        {"dates": ["year", "decade"]},
        {},
        2,
    ),
    "code": ("substr('A1' || i * 7919, 1, 1 + i % 6)", {"prefix": [3, 1]}, {}, 1),
    "listed": ("'37' || i % 4", {"prefix": [2]}, {"domain": ["370", "371", "372", "373"]}, 1),
    "said": (
        "['it''s', 'a,b', '\"c\"', '037', 'back\\slash', 'o\u0308'][1 + i % 6]",
        {
            "groups": [
                {"that's": ["it's", "a,b"], '"x", y': ['"c"', "037", "back\\slash", "o\u0308"]}
            ]
        },
        {},
        1,
    ),
    "raw": ("['yes', 'no', 'null ', ' '][1 + i % 4]", "suppress", {}, 0),
    "number": ("CAST(i % 3 AS INTEGER)", "suppress", {"domain": ["0", "1", "2", "3"]}, 0),
    "gone": ("'secret ' || i", "suppress", {}, 1),
}
# every column has a NULL somewhere
SOURCE = ", ".join(
    f'CASE WHEN i % 41 = {number} THEN NULL ELSE {value} END AS "{name}"'
    for number, (name, (value, *_)) in enumerate(COLUMNS.items())
)
SPEC: dict[str, Any] = {
    "release": "planned",
    "source": "kinds",
    "columns": {
        name: {"role": "quasi_identifier", "hierarchy": hierarchy, "reason": "made up", **more}
        for name, (_, hierarchy, more, _) in COLUMNS.items()
    },
    "privacy": [{"model": "k_anonymity", "k": 1}],
    "method": {
        "name": "full_domain",
        "transformation": {name: level for name, (*_, level) in COLUMNS.items()},
    },
}


@pytest.mark.full
def test_dbt_makes_what_dbdeid_releases(project: Project) -> None:
    project.write("models/kinds.sql", f"SELECT {SOURCE} FROM range(600) AS numbers(i)")
    project.write("models/kinds.yml", "models: [{name: kinds, config: {materialized: table}}]\n")
    project.run("run", "--select", "kinds")
    found = plan(SPEC, database=project.database, output=project.folder / "seeds")
    project.write("models/planned.sql", model(found))
    project.run("build", "--select", "planned_policy", "planned")
    target = project.folder / "released.duckdb"
    dbdeid.run({**SPEC, "target": str(target)}, database=project.database)
    texts = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in COLUMNS)
    query = f"SELECT {texts} FROM planned ORDER BY ALL"
    with duckdb.connect(str(target), read_only=True) as con:
        expected = con.execute(query).fetchall()
    given = project.rows(query)
    for place, name in enumerate(COLUMNS):
        pairs = {(a[place], b[place]) for a, b in zip(given, expected, strict=True)}
        assert {a for a, _ in pairs} == {b for _, b in pairs}, name
    assert given == expected
    assert len(given) == 600
