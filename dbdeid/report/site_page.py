"""The first page of a site of reports: all releases of a project in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.record.public_record import Shown
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Expectation
from dbdeid.report.charts.lineage import lineage
from dbdeid.report.content.audience import Audience, public
from dbdeid.report.content.remains import briefly
from dbdeid.report.page import environment, model_words


@dataclass(frozen=True, slots=True)
class Listed:
    """A release of a project as its first page lists it.

    Attributes:
        release: its name.
        page: the name of its report; None: there is none.
        record: of its last run; None: it was never run.
        spec: the path of its specification.
        upstream: names of the releases that it is made of.
        tags: of its specification.
        changed: whether the specification differs from the one that was run.
        state: published, trial, withdrawn or preview.
        status: of the last run; None: none.
        message: why that did not succeed.
        verified: whether it was, and nothing says otherwise.
        failed_test: why the last test of it failed; None where it did not.
        expectations: what the last test of it, or else the run, found of each.
    """

    release: str
    page: str | None
    record: ReleaseRecord | None
    spec: str
    upstream: Sequence[str]
    tags: Sequence[str]
    changed: bool
    state: str
    status: str | None
    message: str | None
    verified: bool
    failed_test: str | None = None
    expectations: Sequence[Expectation] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What the page shows of a release from its record; empty for one that was never run."""

    models: Sequence[str] = ()
    beside: str | None = None
    released_rows: int | None = None
    smallest_class: int | None = None
    loss: float | None = None
    created: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the page: `of` is for the owner only."""

    release: str
    page: str | None
    told: Told
    verified: bool
    of: Listed | None = None
    preview: bool = False
    missed: Sequence[Expectation] = ()
    queries: float | None = None


def render(releases: Sequence[Listed], audience: Audience) -> str:
    """The page as HTML.

    Args:
        releases: in the order of the page.
        audience: `public` leaves out what is not verified, and all but what the public pages tell.
    """
    if audience == "public":
        found = map(_public, releases)
        rows = [row for row in found if row is not None]
    else:
        rows = [_internal(release) for release in releases]
    counts = {
        "verified": sum(bool(row.verified) for row in rows),
        "undone": sum(
            row.of is not None and row.of.status not in (None, "success") for row in rows
        ),
        "missed": sum(bool(row.missed) for row in rows),
    }
    template = environment().get_template("site.html.j2")
    drawn, pages = None, {one.release: one.page for one in releases}
    if audience == "internal":
        upstream = {one.release: one.upstream for one in releases}
        drawn = lineage(upstream, pages)
    return template.render(rows=rows, audience=audience, counts=counts, lineage=drawn, pages=pages)


def _public(release: Listed) -> Row | None:
    """Nothing but what the public page of the release shows; None where it has none."""
    if not release.verified or release.page is None or release.record is None:
        return None
    shown = public(release.record)
    return Row(shown.release, release.page, _told(shown), shown.verified)


def _told(record: Shown) -> Told:
    return Told(
        models=[model_words(model) for model in record.privacy or ()],
        beside=briefly(record),
        released_rows=record.released_rows,
        smallest_class=record.smallest_class,
        loss=record.loss,
        created=record.created,
    )


def _internal(release: Listed) -> Row:
    record = release.record
    queries = record.queries if record is not None else None
    return Row(
        release=release.release,
        page=release.page,
        told=_told(record) if record is not None else Told(),
        verified=release.verified,
        of=release,
        preview=record is not None and record.verification is None,
        missed=[e for e in release.expectations if not e.holds],
        queries=queries.mean_relative_error if queries is not None else None,
    )
