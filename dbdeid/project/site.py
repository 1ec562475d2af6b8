"""A static site of the reports of a project: a page for each release, and one that lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.project.releases import Release
from dbdeid.release import external_record
from dbdeid.release.bind import relative
from dbdeid.release.existing import require_same
from dbdeid.release.page import is_page, write_page, write_record
from dbdeid.release.workplace import workplace
from dbdeid.report import site_page
from dbdeid.report.record import Audience

INDEX = "index.html"


def write(
    folder: Path,
    releases: Sequence[Release],
    last: Mapping[str, Mapping[str, Any]],
    tests: Mapping[str, Mapping[str, Any]],
    audience: Audience,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Path:
    """Write the site; pages that an earlier one has of other releases are removed.

    Args:
        folder: where it is written; it is made where it is missing.
        releases: of the project.
        last: their results in the last run, by name.
        tests: the same of the last test.
        audience: for whom. Public pages tell nothing of releases that were never verified, or not
            when they were tested last.
        database: in place of the specs' `database`.
        settings: engine limits.

    Returns:
        The first page.

    Raises:
        DataError: a database cannot be opened, a page cannot be written, or a file that is no page
            of dbdeid is in its place.
    """
    # all is read before anything is written
    found = [_record(release, database, settings) for release in releases]
    rows: list[dict[str, Any]] = []
    for release, (record, changed) in zip(releases, found, strict=True):
        result, tested = last.get(release.name, {}), _tested(record, tests.get(release.name))
        verified = record is not None and bool(record["verified"]) and tested.get("verified", True)
        shown = record is not None and (audience == "internal" or verified)
        rows.append(
            {
                "release": release.name,
                "page": f"{release.name}.html" if shown else None,
                "record": record,
                "spec": release.label,
                "upstream": release.upstream,
                "tags": release.tags,
                "changed": changed,
                "status": result.get("status"),
                "message": result.get("message"),
                "verified": verified,
                "tested": tested,
            }
        )
    pages = {row["page"] for row in rows if row["page"]} | {INDEX}
    _make(folder, pages)
    for row in rows:
        if row["page"] is not None:
            write_record(folder / row["page"], row["record"], audience)
    write_page(folder / INDEX, site_page.render(rows, audience))
    for path in folder.glob("*.html"):  # of releases that are gone
        if path.name not in pages and is_page(path):
            path.unlink()
            path.with_suffix(".json").unlink(missing_ok=True)
    return folder / INDEX


def _tested(record: Mapping[str, Any] | None, found: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What the last test found of a release, if it was of the last run; empty where it was not."""
    if record is None or found is None or found["started"] < str(record["created"]):
        return {}
    return {key: value for key, value in found.items() if value is not None}


def _record(
    release: Release, database: Path | None, settings: Settings | None
) -> tuple[Mapping[str, Any] | None, bool]:
    """The record of the last run, and whether the spec has changed since; None: never run."""
    file = release.file
    if not release.made_here:
        return external_record.record(file, database=database, settings=settings), False
    if _nothing_there(release, database):
        return None, False
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
    if entry is None:
        return None, False
    try:
        require_same(file, entry)
    except DbdeidError:
        return entry.record, True
    return entry.record, False


def _nothing_there(release: Release, database: Path | None) -> bool:
    """Whether its database is not there: another release makes it, which was never run."""
    file, path = release.file, database
    if path is None and file.spec.database is not None:
        path = relative(file, file.spec.database, "database")
    return path is not None and not path.exists()


def _make(folder: Path, pages: set[str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be made ({error.strerror})",
            hint="name another folder with -o, or by `paths: {docs: …}`",
        ) from None
    for name in pages:
        path = folder / name
        if path.exists() and not is_page(path):
            raise DataError(
                f"{path} is there already, and is no page of dbdeid",
                hint="name another folder with -o, or by `paths: {docs: …}`",
            )
