"""Fingerprints of what a release is made of, to tell later whether any of it has changed.

They are private: the fingerprint of a small table can be found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from dbdeid.engine.relation import identifier
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.privacy import population_of
from dbdeid.release.bind import FILES, Bound, find_table, located, reading_source
from dbdeid.release.evaluate import query_files
from dbdeid.release.journal import digest
from dbdeid.release.method_spec import Policy
from dbdeid.release.specfile import SpecFile


def taken(bound: Bound, session: Session) -> dict[str, str]:
    """Fingerprints of the source, and of hierarchies, populations and queries by their names.

    Raises:
        DataError: one of them is gone.
    """
    file = bound.file
    found = {"source": of_rows(session, bound.source)}
    for name, column in file.spec.columns.items():
        hierarchy = column.hierarchy
        if hierarchy is not None and hierarchy.path is not None:
            path = located(file, hierarchy.path, "columns", name, "hierarchy")
            found[f"hierarchy of {name}"] = _of_file(path)
        if hierarchy is not None and hierarchy.table is not None:
            found[f"hierarchy of {name}"] = _of_table(session, hierarchy.table)
    for name in _populations(file):
        if name.lower().endswith(tuple(FILES)):
            found[f"population {name}"] = _of_file(located(file, name, "privacy"))
        else:
            found[f"population {name}"] = _of_table(session, name)
    for path in query_files(file):
        found[f"query {path.name}"] = _of_file(path)
    return found


def _populations(file: SpecFile) -> Iterator[str]:
    method = file.spec.method
    if isinstance(method, Policy) and method.population is not None:
        yield method.population
    for model in file.spec.privacy:
        if (name := population_of(model)) is not None:
            yield name


def _of_file(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror})", hint="check the path in the spec"
        ) from None


def _of_table(session: Session, name: str) -> str:
    return of_rows(session, exp.select("*").from_(find_table(session, name, "the spec").table))


def of_rows(session: Session, rows: exp.Query) -> str:
    """How many rows there are, and the sum of their hashes, which knows no order."""
    row = exp.Anonymous(this="hash", expressions=[identifier("rows_of")])
    summed = exp.Sum(this=exp.cast(row, "HUGEINT", dialect="duckdb"))
    query = exp.select(exp.Count(this=exp.Star()), summed).from_(rows.subquery("rows_of"))
    with reading_source():
        count, total = session.row(query)
    return f"{count} rows, {total or 0:x}"
