"""What was proven of a release when it was made, to be held against source and release later.

A release that is locally recoded, or whose quasi-identifiers are means, is proven to be made of its
source by a list of which record became which. That list holds the source, so it is not kept. What
is kept are digests: while neither side has changed, what was proven holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import Relation, column
from dbdeid.engine.session import Session
from dbdeid.verify.content import Content
from dbdeid.verify.crosswalk import released_rows, source_rows
from dbdeid.verify.declared import Declared, Promise


@dataclass(frozen=True, slots=True)
class Proven:
    """The two sides of a proof, by content.

    Attributes:
        source: the quasi-identifiers, other released columns and subjects of all its records.
        release: all columns of all its records.
    """

    source: Content
    release: Content

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it; digests are longer than its numbers."""
        return {
            name: {"rows": side["rows"], "digest": str(side["digest"])}
            for name, side in asdict(self).items()
        }

    @classmethod
    def of_dict(cls, kept: Mapping[str, Any]) -> Proven:
        """From what was kept."""
        return cls(
            *(Content(kept[n]["rows"], int(kept[n]["digest"])) for n in ("source", "release"))
        )


def proven(
    session: Session, table: Relation, declared: Declared, source: exp.Query | Relation
) -> Proven:
    """The content of both sides now.

    Args:
        session: sees both tables.
        table: the release.
        declared: its shape.
        source: the records as released at level 0, with their subject where one is declared.
    """
    return Proven(
        _digest(session, source_rows(session, declared, source)),
        _digest(session, released_rows(table, declared)),
    )


def unchanged(
    session: Session,
    table: Relation,
    declared: Declared,
    source: exp.Query | Relation,
    then: Proven,
) -> Promise:
    """Whether source and release are what they were when one was proven to be the other."""
    now = proven(session, table, declared, source)
    sides = (("source", now.source, then.source), ("release", now.release, then.release))
    changed = [name for name, found, kept in sides if found != kept]
    wanted = {"source_rows": declared.source_rows, "changed_since_proven": "nothing"}
    found = {
        "source_rows": now.source.rows,
        "changed_since_proven": " and ".join(changed) or "nothing",
    }
    name = "means" if declared.masked else "truthfulness"
    return Promise(name, wanted, found, found == wanted)


def _digest(session: Session, rows: exp.Select) -> Content:
    """Rows and the sum of half of the MD5 of each: alike in every version of the engine."""
    names = [selected.alias_or_name for selected in rows.selects]
    whole = exp.Anonymous(this="md5_number_lower", expressions=[_text(names)])
    total = exp.Sum(this=exp.cast(whole, "HUGEINT"))
    query = exp.select(
        exp.Count(this=exp.Star()), exp.Coalesce(this=total, expressions=[exp.convert(0)])
    )
    number, digest = session.row(query.from_(rows.subquery("rows")))
    return Content(int(number), int(digest))


def _text(names: Sequence[str]) -> exp.Expr:
    """One text for the cells of a row, of which no other row has the same."""
    none = exp.Literal.string("-")
    cells: list[exp.Expr] = [
        exp.Coalesce(
            this=exp.Anonymous(this="md5", expressions=[exp.cast(column(name), "VARCHAR")]),
            expressions=[none.copy()],
        )
        for name in names
    ]
    return exp.Anonymous(this="concat", expressions=cells)
