"""The report of a release, written as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dbdeid.bind.read import read
from dbdeid.commands.handout import require_verified
from dbdeid.commands.verify_evaluate_export import verify
from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.file_names import is_folder
from dbdeid.engine.session import Settings
from dbdeid.errors import DbdeidError
from dbdeid.external import record as external_record
from dbdeid.record.border import record_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.release.reuse_levels import require_same
from dbdeid.report.around import MOST_EARLIER, Around
from dbdeid.report.content.audience import Audience
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import is_external
from dbdeid.workspace.atomic_files import remembered
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.report_files import require_place, write_record
from dbdeid.workspace.standing import require_publishable, unpublishable
from dbdeid.workspace.workplace import Workplace, never_run, workplace


def write_report(
    source: Path,
    audience: Audience,
    output: Path | None = None,
    database: Path | None = None,
    settings: Settings | None = None,
    *,
    trial: bool = False,
) -> Path:
    """Write the page of the last run of a spec, or of a release made elsewhere as it is.

    By default it is written beside the spec. A page in a file has its manifest beside it, named
    like it with the ending `.json`. With `trial` it is that of the trial.

    Raises:
        DataError: the release was never run, was a trial or was withdrawn and the page is public,
            or the page cannot be written.
        VerificationError: the page is public, and the release does not verify now.
    """
    file = read(source, database=database, trial=trial)
    mark = ".trial" if trial else ""
    path = output or file.folder / f"{file.spec.release}_{audience}_report{mark}.html"
    if is_external(file):
        require_place(path, file, database)
        record = external_record.record(file, database=database, settings=settings)
        return write_record(path, record, audience)
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
        if entry is None or work.book is None:
            raise never_run(file, work)
        if audience == "public":
            require_publishable(work.book, entry, "there is no public report of it")
        why = unpublishable(work.book, entry)
        around = Around(digests(work, file), earlier(work.book, entry))
    require_same(file, entry)
    require_place(path, file, database)
    record = record_of(entry)
    if audience == "public":
        require_verified(source, entry, database, settings, "there is no public report of it")
        return write_record(path, record, audience, around)
    objections = [why.message] if why and why.state == "withdrawn" else []
    if record.verified:
        objections += _now(source, database, settings, trial=trial)
    return write_record(path, record.objected(*objections), audience, around)


def _now(
    source: Path, database: Path | None, settings: Settings | None, *, trial: bool
) -> Iterator[str]:
    """Why a release that was verified when it was made is not as it was then."""
    try:
        found = verify(source, database=database, settings=settings, trial=trial)
    except DbdeidError as error:
        yield f"it cannot be verified now: {error.message}"
    else:
        if not found.verified:
            yield f"it does not verify now: {'; '.join(found.failures)}"


def earlier(book: Book, entry: Entry) -> list[ReleaseRecord]:
    """The last published runs of a release before a run, newest first."""
    name = entry.release.lower()
    runs = [
        run
        for run, state in book.states()
        if run.release.lower() == name and run.created < entry.created and state == "published"
    ]
    return [record_of(run) for run in runs[:MOST_EARLIER]]


def digests(work: Workplace, file: SpecFile) -> dict[str, str]:
    """SHA-256 of the files that the last run of a spec wrote, by name, as its book keeps them.

    Empty where it wrote none, and where two of them have one name in different folders.
    """
    assert work.book is not None
    booked: dict[str, str] = {}
    for one in work.book.files():  # newest first
        booked.setdefault(one.path, one.sha256)
    # a folder is no file, of which a recipient could compute the digest
    files = [path for path in work.places.exports if not is_folder(path)]
    given = (*filter(None, [work.places.target]), *files)
    paths = [path for export in given for path in companions(export, file.spec)]
    kept = {path: booked.get(remembered(path, work.home)) for path in paths}
    known = {path.name: digest for path, digest in kept.items() if digest is not None}
    return known if len(known) == len(paths) else {}
