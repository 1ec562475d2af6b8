"""What is wrong with a declared condensation, seen from the columns it was declared for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdeid.bind.bound import BoundColumn
from dbdeid.engine.relation import MEASURED
from dbdeid.errors import Mistake, did_you_mean
from dbdeid.spec.file import SpecFile
from dbdeid.spec.method_spec import Condensation


def mistakes(file: SpecFile, columns: Mapping[str, BoundColumn]) -> Iterator[Mistake]:
    """What the columns do not allow of method condensation.

    Args:
        file: the spec.
        columns: those of the source, by name in lower case.
    """
    method = file.spec.method
    if not isinstance(method, Condensation):
        return
    named: list[tuple[str, tuple[str | int, ...]]] = [
        (name, ("method", "strata", i)) for i, name in enumerate(method.strata or ())
    ]
    if method.response is not None:
        named.append((method.response, ("method", "response")))
    for name, place in named:
        found = columns.get(name.lower())
        if found is None:
            hint = did_you_mean(name, [c.name for c in columns.values()])
            yield file.mistake(f"the source has no column {name!r}", *place, hint=hint)
        elif found.spec.role != "synthesize":
            yield file.mistake(
                f"{found.name!r} is {found.spec.role}, and nothing can be drawn for it",
                *place,
                hint="make its role synthesize",
            )
    response = columns.get((method.response or "").lower())
    if response is not None and not is_number(response):
        yield file.mistake(
            f"the response {response.name!r} ({response.column.shown_type}) is no number",
            "method",
            "response",
            hint="name a column of numbers or dates, or declare it in `strata`",
        )
    if method.response and method.response.lower() in {s.lower() for s in method.strata or ()}:
        yield file.mistake(
            f"{method.response!r} is the response and one of the strata",
            "method",
            "response",
            hint="records of a stratum would all have the same one",
        )
    for c in columns.values():
        if c.spec.pool is not None and c.column.family not in ("text", "enum"):
            yield file.mistake(
                f"{c.name!r} ({c.column.shown_type}) has no categories to pool",
                "columns",
                c.name,
                "pool",
                hint="cast it to text in `source: {sql: …}` if its values are names",
            )


def is_number(column: BoundColumn) -> bool:
    """Whether synthetic records have numbers, dates or times in this column."""
    return column.column.family in MEASURED and column.spec.type is None
