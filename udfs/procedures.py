"""Procedures callable from SQL: a whole release runs with `SELECT deid_run('spec.yml')`.

Each takes a path, YAML or JSON text, works on a cursor of its own and returns JSON, in which null
stands for a number that is not finite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# What a command gives of a connection and a specification.
Procedure: TypeAlias = Callable[[Any, str], Mapping[str, object]]


def _check(connection: Any, spec: str) -> Mapping[str, object]:
    from dbdeid.commands.check import check

    return check(spec, connection)


def _run(connection: Any, spec: str) -> Mapping[str, object]:
    from dbdeid.release.run import run

    return run(spec, connection).to_dict()


def _verify(connection: Any, spec: str) -> Mapping[str, object]:
    from dbdeid.commands.verify_evaluate_export import verify

    return verify(spec, connection).to_dict()


def _evaluate(connection: Any, spec: str) -> Mapping[str, object]:
    from dbdeid.commands.verify_evaluate_export import evaluate

    return evaluate(spec, connection)


def _frontier(connection: Any, spec: str) -> Mapping[str, object]:
    from dbdeid.commands.frontier import frontier

    return frontier(spec, connection)


PROCEDURES: dict[str, Procedure] = {
    "deid_check": _check,
    "deid_run": _run,
    "deid_verify": _verify,
    "deid_evaluate": _evaluate,
    "deid_frontier": _frontier,
}


def register(con: Any) -> None:
    """Register `deid_check`, `deid_run`, `deid_verify`, `deid_evaluate`, `deid_frontier`.

    Args:
        con: an open `duckdb.DuckDBPyConnection`.
    """
    for name, procedure in PROCEDURES.items():
        con.create_function(
            name,
            _procedure(con, procedure),
            ["VARCHAR"],
            "VARCHAR",
            null_handling="special",
            side_effects=True,
        )


def _procedure(con: Any, procedure: Procedure) -> Callable[[str | None], str | None]:
    def call(spec: str | None) -> str | None:
        if spec is None:
            return None
        from dbdeid.report.manifest import plain

        # the connection itself is busy with the query that calls
        with con.cursor() as cursor:
            return json.dumps(plain(procedure(cursor, spec)), allow_nan=False)

    return call
