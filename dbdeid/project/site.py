"""A static site of the reports of a project: a page for each release, and one that lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdeid.commands.handout import require_verified
from dbdeid.commands.report import digests, earlier
from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.catalog import Entry, State
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.external import record as external_record
from dbdeid.project.releases import Release
from dbdeid.record.border import record_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Expectation
from dbdeid.release.reuse_levels import require_same
from dbdeid.report import site_page
from dbdeid.report.around import Around, Links
from dbdeid.report.content.audience import Audience
from dbdeid.report.site_page import Listed
from dbdeid.spec.files import relative
from dbdeid.workspace.report_files import is_page, write_page, write_record
from dbdeid.workspace.standing import unpublishable
from dbdeid.workspace.workplace import workplace

INDEX = "index.html"


def write(
    folder: Path,
    releases: Sequence[Release],
    last: Mapping[str, JsonObject],
    tests: Mapping[str, JsonObject],
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
        audience: for whom. Public pages tell nothing of trials, of withdrawn releases, and of those
            that were never verified, or not when they were tested last; the others are verified
            again before anything is written.
        database: in place of the specs' `database`.
        settings: engine limits.

    Returns:
        The first page.

    Raises:
        DataError: a database cannot be opened, a page cannot be written, or a file that is no page
            of dbdeid is in its place.
        VerificationError: the pages are public, and a release does not verify now.
    """
    # all is read before anything is written
    found = [_record(release, database, settings) for release in releases]
    rows: list[Listed] = []
    for release, made in zip(releases, found, strict=True):
        record, state = made.record, made.state
        result, tested = last.get(release.name, {}), _tested(record, tests.get(release.name))
        verified = record is not None and record.verified and bool(tested.get("verified", True))
        given = verified and state == "published"
        if audience == "public" and given and made.entry is not None:
            left = f"there are no public pages with {release.name}"
            require_verified(release.path, made.entry, database, settings, left)
        shown = record is not None and (audience == "internal" or given)
        rows.append(
            Listed(
                release=release.name,
                page=f"{release.name}.html" if shown else None,
                record=record,
                spec=release.label,
                upstream=release.upstream,
                tags=release.tags,
                changed=made.changed,
                state=state,
                status=_text(result.get("status")),
                message=_text(result.get("message")),
                verified=verified,
                failed_test=str(tested["message"]) if tested.get("status") == "failed" else None,
                expectations=_expectations(record, tested),
            )
        )
    pages = {row.page for row in rows if row.page is not None} | {INDEX}
    _make(folder, pages)
    for row, made in zip(rows, found, strict=True):
        if row.page is not None and row.record is not None:
            links = _links(row, rows) if audience == "internal" else Links(INDEX)
            around = Around(made.files, made.earlier, links)
            write_record(folder / row.page, row.record, audience, around)
    write_page(folder / INDEX, site_page.render(rows, audience))
    for path in folder.glob("*.html"):  # of releases that are gone
        if path.name not in pages and is_page(path):
            path.unlink()
            path.with_suffix(".json").unlink(missing_ok=True)
    return folder / INDEX


@dataclass(frozen=True, slots=True)
class _Made:
    """What is known of a release.

    Attributes:
        record: of its last run; None: it was never run.
        changed: whether the spec has changed since.
        state: what the run counts as.
        entry: of that run; None of a release made elsewhere.
        files: SHA-256 of the files of the release by name.
        earlier: its published runs before that one.
    """

    record: ReleaseRecord | None
    changed: bool = False
    state: State = "published"
    entry: Entry | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    earlier: Sequence[ReleaseRecord] = ()


def _links(row: Listed, rows: Sequence[Listed]) -> Links:
    """The pages of what a release is made of, and of what is made of it."""
    pages = {other.release: other.page for other in rows}
    below = [other.release for other in rows if row.release in other.upstream]
    return Links(
        INDEX,
        [(name, pages.get(name)) for name in row.upstream],
        [(name, pages.get(name)) for name in below],
    )


def _tested(record: ReleaseRecord | None, found: JsonObject | None) -> JsonObject:
    """What the last test found of a release, if it was of the last run; empty where it was not."""
    if record is None or found is None or str(found["started"]) < record.created:
        return {}
    return {key: value for key, value in found.items() if value is not None}


def _expectations(record: ReleaseRecord | None, tested: JsonObject) -> Sequence[Expectation]:
    """What became of what is expected: when it was tested last, or else when it was made."""
    found = tested.get("expectations")
    if isinstance(found, list) and "verified" in tested:
        return tuple(map(Expectation.told_by, found))
    return record.expectations if record is not None else ()


def _text(value: Json) -> str | None:
    return None if value is None else str(value)


def _record(release: Release, database: Path | None, settings: Settings | None) -> _Made:
    file = release.file
    if not release.made_here:
        return _Made(external_record.record(file, database=database, settings=settings))
    if _nothing_there(release, database):
        return _Made(None)
    with workplace(file, database=database, settings=settings, writing=False) as work:
        states = work.book.states() if work.book else ()
        of_release = (pair for pair in states if pair[0].release.lower() == release.name.lower())
        last = next(of_release, None)
        if last is None or work.book is None:
            return _Made(None)
        (entry, state), files = last, digests(work, file)
        runs = earlier(work.book, entry)
        why = unpublishable(work.book, entry) if state == "withdrawn" else None
    record = record_of(entry)
    record = record.objected(why.message) if why else record
    try:
        require_same(file, entry)
    except DbdeidError:
        return _Made(record, True, state, entry, files, runs)
    return _Made(record, False, state, entry, files, runs)


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
