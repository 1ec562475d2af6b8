"""The tables of a frontier: its policies, and the records that each would give."""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.process import uninterrupted
from dbdeid.errors import DataError
from dbdeid.methods.policy.cells import Explored
from dbdeid.methods.policy.frontier_figures import FrontierPoint
from dbdeid.methods.policy.policy import tables
from dbdeid.spec.names import EVALUATIONS, FRONTIER
from dbdeid.workspace.atomic_files import staging
from dbdeid.workspace.workplace import Workplace


def require_free(work: Workplace, release: str) -> None:
    """Refuse to replace tables that are not the frontier of this release.

    Raises:
        DataError: a table or view of that name exists and is not in the book.
    """
    if work.book is None or work.passing:
        return
    session, catalog = work.session, work.book.catalog
    owned = set(map(str.lower, work.book.frontier_of(release)))
    for what in (FRONTIER, EVALUATIONS):
        name = f"{release}_{what}"
        kind = session.exists(name, "main", catalog)
        if kind and name.lower() not in owned:
            raise DataError(
                f"the {kind} {name!r} exists and was not written by dbdeid for this release",
                hint="choose another release name, or drop it first",
            )


def keep_tables(
    work: Workplace, release: str, found: Explored, points: Sequence[FrontierPoint]
) -> None:
    """The tables in the book's database, all or none."""
    rows = tables(work.session, found, points)
    with staging(work.home) as stage:
        book = work.keep_book(stage)
        with work.session.transaction():
            require_free(work, release)
            book.create()
            book.keep_frontier(release, rows)
        with uninterrupted():
            stage.booked = work.home is not None and work.book is None
            work.place_book(book, stage)
            stage.booked = False
