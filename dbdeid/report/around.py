"""What stands around a release on its page: files, earlier runs, and the pages beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdeid.record.release_record import ReleaseRecord

# Of a long history the last runs are told.
MOST_EARLIER = 12


@dataclass(frozen=True, slots=True)
class Links:
    """The pages beside that of a release in a site.

    Attributes:
        index: of all releases.
        upstream: what it is made of: names, and the pages of those that have one.
        downstream: what is made of it.
    """

    index: str
    upstream: Sequence[tuple[str, str | None]] = ()
    downstream: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """What a page needs beside the record.

    Attributes:
        files: SHA-256 of each file of the release by name; empty where there is none.
        earlier: records of published runs of the same release, newest first; private.
        links: in a site.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    earlier: Sequence[ReleaseRecord] = ()
    links: Links | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run in the table of all runs of a release: figures, and the share of 1 that bars show."""

    created: str
    records: int
    smallest_class: int | None
    loss: float | None
    error: float | None
    now: bool


def trend(record: ReleaseRecord, earlier: Iterable[ReleaseRecord]) -> list[Run]:
    """The runs of a release, newest first; nothing where this is the only one."""
    runs = [
        Run(
            created=one.created,
            records=one.released_rows,
            smallest_class=one.smallest_class,
            loss=one.loss,
            error=one.queries.mean_relative_error if one.queries else None,
            now=one is record,
        )
        for one in (record, *earlier)
    ]
    return runs if len(runs) > 1 else []
