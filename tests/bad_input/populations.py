"""Populations: not there, of another shape, of no people, or failing on a cell."""

from __future__ import annotations

from typing import Any

from bad_input.runner import Case

TOWN = "CREATE TABLE town AS SELECT age, zip, sex, name, 9 AS people FROM people;"
PLACE = "line {}: privacy[0].population: population {!r} "


def _model(population: str, **more: Any) -> dict[str, Any]:
    return {"privacy/0": {"model": "k_map", "k": 2, "population": population}, **more}


def _case(
    name: str, place: str, hint: str, sql: str = TOWN, population: str = "town", **more: Any
) -> Case:
    return Case(
        name=name,
        spec=_model(population, **more.pop("spec", {})),
        sql=sql,
        place=PLACE.format(43, population) + place,
        hint=hint,
        **more,
    )


SHAPES = (
    _case("no such table", "cannot be read", "did you mean 'people'?", "", "poeple"),
    _case("no such file", "cannot be read", "looked in", "", "town.csv"),
    _case("a folder", "cannot be read", "check the path", "", "x.csv", files={"x.csv/y": ""}),
    _case(
        "no parquet", "cannot be read", "-vv logs", "", "x.parquet", files={"x.parquet": "KANARI"}
    ),
    _case(
        "columns missing",
        "has no column 'zip', 'sex'",
        "like the quasi-identifiers",
        TOWN + "ALTER TABLE town DROP zip; ALTER TABLE town DROP sex",
    ),
    _case(
        "digits read as numbers",
        "has column 'zip' as BIGINT, and the source as VARCHAR",
        "in a CSV file digits are read as numbers",
        "",
        "town.csv",
        files={"town.csv": "age,zip,sex\n30,10001,f\n"},
    ),
    _case(
        "people in words",
        "has 'people' as VARCHAR",
        "a whole number of people",
        TOWN + "ALTER TABLE town ALTER people TYPE VARCHAR; UPDATE town SET people = name",
    ),
    _case("no rows", "is empty", "nobody fits", TOWN + "DELETE FROM town"),
    _case("no people", "is empty", "nobody fits", TOWN + "UPDATE town SET people = 0"),
    _case(
        "fewer than nobody",
        "has fewer than 0 people in 1 of 200 rows",
        "at least 0",
        TOWN + "UPDATE town SET people = -3 WHERE rowid = 7",
    ),
    _case(
        "an unknown number",
        "has NULL as 'people' in 1 of 200 rows",
        "at least 0",
        TOWN + "UPDATE town SET people = NULL WHERE rowid = 7",
    ),
    _case(
        "parts of a year",
        "has 200 values of 'age' that are none of type BIGINT",
        "the wider type",
        TOWN + "ALTER TABLE town ALTER age TYPE DOUBLE; UPDATE town SET age = age + 0.5",
    ),
)

FAILING = (
    _case(
        "a view that fails on a cell",
        "cannot be read",
        "-vv logs",
        "CREATE VIEW town AS SELECT name::INTEGER AS age, zip, sex FROM people",
    ),
    _case(
        "a late line of another kind",
        "has column 'age' as VARCHAR, and the source as BIGINT",
        "give both the same type",
        "",
        "town.csv",
        files={"town.csv": "age,zip,sex\n" + "30,a1,f\n30,a2,m\n" * 30_000 + "KANARI,a1,f\n"},
    ),
    Case(
        name="a value outside the hierarchy",
        spec=_model("town", **{"columns/sex/hierarchy": {"groups": [{"any": ["f", "m"]}]}}),
        sql=TOWN + "UPDATE town SET sex = 'KANARI' WHERE age = 20",
        place="population 'town': column 'sex': 1 of 3 values have no leaf in its hierarchy",
        hint="add a row for each of them",
    ),
    Case(
        name="too few people",
        code=3,
        spec=_model("town"),
        sql=TOWN + "DELETE FROM town WHERE rowid > 0; UPDATE town SET people = 1",
        place="town has 1 people, fewer than k = 2",
        hint="k can be at most 1",
    ),
)

REFUSED = tuple(
    Case(name=name, spec=_model("town", **spec), sql=TOWN, place=place, hint=hint)
    for name, spec, place, hint in (
        (
            "wildcards",
            {"null_policy": "wildcard"},
            "null_policy: wildcard is not compared with a population",
            "own_category is stricter",
        ),
        (
            "engine: sql",
            {"method/engine": "sql"},
            "engine: sql compares with no population",
            "use engine: numpy",
        ),
    )
)

CASES = (*SHAPES, *FAILING, *REFUSED)
