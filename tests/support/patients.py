"""A hospital whose patients are released more than once, and what an attacker makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

Patient = tuple[int, int, int, str]  # number, age, zip, illness
View = Mapping[int, tuple[int, int]]  # the class that shows a patient, by number

WIDTHS = (1, 2, 4)  # of the levels below the top, of both columns
EVERYTHING = 8  # ages and zips are below


def spec(levels: tuple[int, int], k: int = 2, **more: Any) -> dict[str, Any]:
    """A spec that releases patients on these levels of age and zip."""
    column = {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": list(WIDTHS[1:]), "lower": 0, "upper": EVERYTHING},
    }
    return {
        "release": "patients_public",
        "source": "patients",
        "columns": {
            "number": "identifier",
            "age": column,
            "zip": column,
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": k}],
        "evaluate": {"metrics": []},  # nobody asks here how much was lost
        "method": {
            "name": "full_domain",
            "suppression_limit": 1.0,
            "transformation": {"age": levels[0], "zip": levels[1]},
        },
        **more,
    }


def fill(con: duckdb.DuckDBPyConnection, patients: Sequence[Patient]) -> None:
    """The table of these patients."""
    con.execute(
        "CREATE OR REPLACE TABLE patients"
        "(number INTEGER, age INTEGER, zip INTEGER, illness VARCHAR)"
    )
    columns = [list(values) for values in zip(*patients, strict=True)]
    con.execute("INSERT INTO patients SELECT unnest(?), unnest(?), unnest(?), unnest(?)", columns)


def view(patients: Sequence[Patient], levels: tuple[int, int], k: int) -> View:
    """Who is shown in which class, found without dbdeid: small classes are left out."""
    cells = {}
    for number, age, place, _ in patients:
        cells[number] = (_cell(age, levels[0]), _cell(place, levels[1]))
    sizes = Counter(cells.values())
    return {number: cell for number, cell in cells.items() if sizes[cell] >= k}


def _cell(value: int, level: int) -> int:
    return value // WIDTHS[level] if level < len(WIDTHS) else 0


def candidates(first: View, second: View) -> dict[int, int]:
    """How many patients fit what both views show of each: the attacker tries every one of them."""
    shown = {*first, *second}
    return {
        one: sum(
            first.get(one) == first.get(other) and second.get(one) == second.get(other)
            for other in shown
        )
        for one in shown
    }


def isolated(first: View, second: View, k: int) -> dict[str, int]:
    """Patients with fewer than k candidates, by which of the views show them.

    Not those whose class is the same in both: it tells no more than it does alone.
    """
    few = [
        one
        for one, number in candidates(first, second).items()
        if number < k and members(first, one) != members(second, one)
    ]
    return {
        "both": sum(one in first and one in second for one in few),
        "appeared": sum(one not in first for one in few),
        "vanished": sum(one not in second for one in few),
    }


def members(shown: View, one: int) -> set[int]:
    """Everybody in the class of a patient; nobody where that is not shown."""
    return {other for other in shown if one in shown and shown[other] == shown[one]}


def counted(first: View, second: View, k: int) -> int:
    """Regions whose sizes differ by 1 to k-1: merged class by class until none overlap."""
    regions = [
        {one for one in shown if shown[one] == cell}
        for shown in (first, second)
        for cell in set(shown.values())
    ]
    merged: list[set[int]] = []
    for region in regions:
        touching = [other for other in merged if other & region]
        merged = [other for other in merged if not other & region]
        merged.append(region.union(*touching))
    sizes = [len(region & {*second}) - len(region & {*first}) for region in merged]
    return sum(0 < abs(size) < k for size in sizes)
