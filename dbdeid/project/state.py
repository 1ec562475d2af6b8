"""Whether a release is still what its spec, its source and its files would make."""

from __future__ import annotations

from pathlib import Path

from dbdeid.bind.bind import bind
from dbdeid.engine.session import Settings
from dbdeid.errors import DbdeidError
from dbdeid.prepare import fingerprints
from dbdeid.project.releases import Release
from dbdeid.record.border import record_of
from dbdeid.spec.file import read_text
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.workplace import workplace

# They say when a release is run, and nothing of what it is.
_OF_PROJECT = {"tags", "depends_on"}


def modified(
    release: Release, *, database: Path | None = None, settings: Settings | None = None
) -> bool:
    """Whether a release was never run, or its spec or anything it is made of differs since.

    What cannot be compared counts as modified: a run tells why.
    """
    try:
        return _modified(release, database, settings)
    except DbdeidError:
        return True


def _modified(release: Release, database: Path | None, settings: Settings | None) -> bool:
    file = release.file
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
        if entry is None:
            return True
        then = read_text(entry.spec).spec
        if then.model_dump(exclude=_OF_PROJECT) != file.spec.model_dump(exclude=_OF_PROJECT):
            return True
        written = [path for path in work.places.exports for path in companions(path, file.spec)]
        if not all(path.exists() for path in (*filter(None, (work.places.target,)), *written)):
            return True
        if work.places.target is None and work.session.exists(entry.release) is None:
            return True
        known = record_of(entry).fingerprints
        return known != fingerprints.fingerprints_of(bind(file, work.session), work.session)
