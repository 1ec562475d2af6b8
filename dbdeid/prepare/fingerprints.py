"""Fingerprints of what a release is made of, to tell later whether any of it has changed.

They are private: the fingerprint of a small table can be found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.bound import Bound
from dbdeid.bind.source import find_table, open_table
from dbdeid.data.json import JsonObject
from dbdeid.data.source_files import reading_source
from dbdeid.engine import regular
from dbdeid.engine.expressions import Query, cast, count_rows, function, identifier, select, sum_of
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.privacy import population_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located, query_files


def fingerprints_of(bound: Bound, session: Session) -> dict[str, str]:
    """Fingerprints of the source, and of hierarchies, populations and queries by their names.

    Raises:
        DataError: one of them is gone.
    """
    file = bound.file
    found = {"source": of_rows(session, bound.source), **of_hierarchies(file, session)}
    for name in _populations(file):
        path = located(file, name, "privacy") if file.spec.kind_of(name) == "file" else None
        if path is not None and path.is_file():
            found[f"population {name}"] = _of_file(path)
        else:
            found[f"population {name}"] = of_rows(
                session, open_table(file, session, name, "privacy").query
            )
    for path in query_files(file):
        found[f"query {path.name}"] = _of_file(path)
    return found


def of_hierarchies(file: SpecFile, session: Session) -> dict[str, str]:
    """Fingerprints of the files and tables of hierarchies, by `hierarchy_of` their column.

    Raises:
        DataError: one of them is gone.
    """
    found = {}
    for name, column in file.spec.columns.items():
        hierarchy = column.hierarchy
        if hierarchy is not None and hierarchy.path is not None:
            path = located(file, hierarchy.path, "columns", name, "hierarchy")
            found[f"hierarchy of {name}"] = _of_file(path)
        if hierarchy is not None and hierarchy.table is not None:
            found[f"hierarchy of {name}"] = _of_table(session, hierarchy.table)
    return found


def hierarchy_of(file: SpecFile, name: str) -> str:
    """What the fingerprint of a column's hierarchy is called: as the spec spells the column."""
    spelled = next((n for n in file.spec.columns if n.lower() == name.lower()), name)
    return f"hierarchy of {spelled}"


def _populations(file: SpecFile) -> Iterator[str]:
    if file.spec.method.people is not None:
        yield file.spec.method.people
    for model in file.spec.privacy:
        if (name := population_of(model)) is not None:
            yield name


def _of_file(path: Path) -> str:
    try:
        return regular.sha256(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror})", hint="check the path in the spec"
        ) from None


def _of_table(session: Session, name: str) -> str:
    return of_rows(session, select("*").from_(find_table(session, name, "the spec").table))


def of_rows(session: Session, rows: Query) -> str:
    """How many rows there are, and the sum of their hashes, which knows no order."""
    row = function("hash", identifier("rows_of"))
    summed = sum_of(cast(row, "HUGEINT"))
    query = select(count_rows(), summed).from_(rows.subquery("rows_of"))
    with reading_source():
        count, total = session.row(query)
    return f"{count} rows, {total or 0:x}"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source that is not what a release was made of.

    Attributes:
        rows_then: how many rows it had.
        rows_now: how many it has.
        not_compared: the promises that only the source of then could tell of.
    """

    rows_then: int
    rows_now: int
    not_compared: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What has changed, in words."""
        apart = self.rows_now - self.rows_then
        if not apart:
            return "the source has other values than when this release was made"
        rows = "row" if abs(apart) == 1 else "rows"
        more = "more" if apart > 0 else "fewer"
        return f"the source has {abs(apart):,} {more} {rows} than when this release was made"

    def to_dict(self) -> JsonObject:
        """The change as JSON shows it."""
        return {
            "message": self.message,
            "rows_then": self.rows_then,
            "rows_now": self.rows_now,
            "not_compared": list(self.not_compared),
        }


def source_change(record: ReleaseRecord, bound: Bound, session: Session) -> SourceChange | None:
    """How the source differs from what a run was made of; None where nothing shows a difference.

    Other versions of the engine hash otherwise, and then only the number of rows tells.
    """
    then = (record.fingerprints or {}).get("source")
    if then is None:
        return None
    now = of_rows(session, bound.source)
    found = SourceChange(_rows(then), _rows(now))
    alike = record.engine is None or record.engine == engine(session)
    return found if found.rows_then != found.rows_now or (alike and then != now) else None


def _rows(fingerprint: str) -> int:
    return int(fingerprint.split(" ", 1)[0])


def engine(session: Session) -> str:
    """The version of the engine, on which hashes depend."""
    return session.version
