"""The proof made with a release, to be compared with source and release later.

A release that is locally recoded, or whose quasi-identifiers are means, is proven to be made of its
source by a list of which record became which. That list holds the source, so it is not kept. What
is kept are digests: while neither side has changed, what was proven holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import Query, Select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.files.content import EARLIER, Content, digested
from dbdeid.verify.records.crosswalk import released_rows, source_rows


@dataclass(frozen=True, slots=True)
class ContentProof:
    """The two sides of a proof, by content.

    Attributes:
        source: the quasi-identifiers, other released columns and subjects of all its records.
        release: all columns of all its records.
    """

    source: Content
    release: Content

    def to_dict(self) -> JsonObject:
        """As the book keeps it; the source's digest is for its owner alone."""
        return {"source": self.source.one(), "release": self.release.one()}

    @classmethod
    def of_dict(cls, kept: Mapping[str, object]) -> ContentProof:
        """From what was kept; not comparable where an earlier version kept it."""
        return cls(*(Content.of_one(kept.get(name)) for name in ("source", "release")))

    @property
    def comparable(self) -> bool:
        """Whether both were kept in a form to which no other rows can be found."""
        return self.source.comparable and self.release.comparable


def content_proof(
    session: Session, table: Relation, declared: Declared, source: Query | Relation
) -> ContentProof:
    """The content of both sides now.

    Args:
        session: sees both tables.
        table: the release.
        declared: its shape.
        source: the records as released at level 0, with their subject where one is declared.
    """
    return ContentProof(
        _digest(session, source_rows(session, declared, source)),
        _digest(session, released_rows(table, declared)),
    )


def unchanged(
    session: Session,
    table: Relation,
    declared: Declared,
    source: Query | Relation,
    then: ContentProof,
) -> Promise:
    """Whether source and release are what they were when one was proven to be the other."""
    now = content_proof(session, table, declared, source)
    sides = (("source", now.source, then.source), ("release", now.release, then.release))
    changed = [name for name, found, kept in sides if found != kept]
    wanted = {"source_rows": declared.source_rows, "changed_since_proven": "nothing"}
    found = {
        "source_rows": now.source.rows,
        "changed_since_proven": " and ".join(changed) or "nothing" if then.comparable else EARLIER,
    }
    name = "means" if declared.masked else "truthfulness"
    return Promise(name, wanted, found, found == wanted)


def _digest(session: Session, rows: Select) -> Content:
    return digested(session, rows, session.describe(rows))
