"""Checking and verifying a release made elsewhere.

Nothing is written, and no earlier run is needed: all is looked up in the tables as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdeid.data.hierarchy import as_rows
from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import aliased, cast, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Settings
from dbdeid.errors import SpecError
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import queries_of
from dbdeid.external.foreign_release import Foreign, opened
from dbdeid.external.metrics import count, declared, risk_of
from dbdeid.external.possible_values import places
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.prepare.prepare import uploaded
from dbdeid.prepare.subjects import repeating
from dbdeid.privacy import TCloseness
from dbdeid.review.exposure import require_unnamed
from dbdeid.spec.file import SpecFile
from dbdeid.verify import Check, Verification
from dbdeid.verify.external import Beside, Original, Unexplained, meanings, verify_external

NOT_AT_HAND = (
    "the original is not at hand: how many records were suppressed, and whether the released ones "
    "are of it, was not looked at"
)
UNTRUTHFUL = "declared untruthful: its records are not compared with those of the original"


def check(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> JsonObject:
    """Check a spec of a release made elsewhere against its tables.

    Returns:
        release, method, source_rows (None where the original is not at hand), released_rows, risk
        of the release, a description of each column, warnings.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit.
    """
    queries_of(file)
    with opened(file, connection, database=database, settings=settings) as found:
        require_unnamed(found.bound, found.session, found.table)
        if found.at_hand:
            recipients.originals(found.bound, found.session)  # so that evaluate will not refuse
        rows = count(found.session, found.original) if found.original is not None else None
        return {
            "release": file.spec.release,
            "method": file.spec.method.name,
            "source_rows": rows,
            "released_rows": count(found.session, found.table),
            "risk": risk_of(found, found.table).to_dict(),
            "columns": _columns(found),
            "warnings": list(warnings(found)),
        }


def verify(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Recompute all that a spec of a release made elsewhere promises, from its table as it is.

    Raises:
        SpecError, HierarchyError, DataError: the spec does not fit.
    """
    with opened(file, connection, database=database, settings=settings) as found:
        return verified(found)


# -- verification -----------------------------------------------------------------------------


def verified(found: Foreign) -> Verification:
    """What `verify` gives of an opened release."""
    original = None
    if found.original is not None:
        fits = None
        if found.truthful:
            compared = [c for c in found.columns if c.column.name in found.compared]
            fits = places(found.session, found.original, compared, found.spelled)
        original = Original(found.original, fits, found.compared)
    notes = [
        *([] if found.at_hand else [NOT_AT_HAND]),
        *([] if found.truthful else [UNTRUTHFUL]),
        *_not_compared(found),
    ]
    beside = Beside(
        original=original,
        hierarchies=_hierarchies(found) if found.at_hand else None,
        unexplained=_unexplained(found),
        path=found.path,
        note="; ".join(notes),
    )
    made = verify_external(found.session, found.table, declared(found), beside)
    return replace(made, hygiene=(*made.hygiene, *_named(found)))


def _named(found: Foreign) -> Iterator[Check]:
    """What fails where a column looks like a direct identifier, and nobody has said why not."""
    try:
        require_unnamed(found.bound, found.session, found.table)
    except SpecError as error:
        told = "; ".join(f"{mistake.message}: {mistake.hint}" for mistake in error.mistakes)
        yield Check("identifiers", False, told)


def _not_compared(found: Foreign) -> Iterator[str]:
    if found.added:
        yield f"not of the original, and not compared: {', '.join(map(repr, found.added))}"


def _unexplained(found: Foreign) -> dict[str, Unexplained]:
    return {
        c.column.name: Unexplained(len(c.unknown), len(c.ambiguous), c.number)
        for c in found.columns
    }


def _hierarchies(found: Foreign) -> Relation | None:
    """Those of sensitive columns that a distance follows."""
    wanted = {
        name
        for model in found.bound.models
        if isinstance(model, TCloseness) and model.distance == "hierarchical"
        for name in model.columns
    }
    rows = {}
    for c in found.bound.columns:
        if c.name in wanted and c.spec.hierarchy is not None:
            value = column(c.name)
            distinct = select(aliased(cast(value, "VARCHAR"), "text")).distinct()
            texts = distinct.from_(found.bound.source.subquery("source"))
            query = select("text").from_(texts.subquery("found")).order_by("text")
            values = [row[0] for row in found.session.rows(query)]
            coding = coding_of(found.bound, found.session, c, values)
            rows[found.spelled[c.name]] = as_rows(
                coding.hierarchy, with_null=coding.null is not None
            )
    return uploaded(found.session, rows, found.bound.spec.release) if rows else None


# -- what is told -----------------------------------------------------------------------------


def _columns(found: Foreign) -> list[JsonObject]:
    explained = {c.column.name: c for c in found.columns}
    described: list[JsonObject] = []
    for c in found.bound.columns:
        written, values = found.table.find(c.name), explained.get(c.name)
        described.append(
            {
                "name": c.name,
                "type": c.column.shown_type,
                "role": c.spec.role,
                "released_type": written.type if written and c.spec.released else None,
                "explained_by": values.told_by if values else None,
                "values": values.number if values else None,
                "without_meaning": len(values.unknown) + len(values.ambiguous) if values else None,
                "not_listed": values.untold if values else None,
            }
        )
    return described


def warnings(found: Foreign) -> Iterator[str]:
    """What a reader should know before the release is relied on."""
    if not found.at_hand:
        yield (
            f"the source {found.file.spec.source_name!r} is not at hand: whether the records are "
            "of it cannot be verified, and nothing can be evaluated"
        )
    lost = meanings(_unexplained(found))
    if not lost.holds:
        yield f"{lost.detail}: verify fails, and queries of these columns are refused"
    for c in found.columns:
        if c.untold:
            yield (
                f"{c.untold} of {c.number} values of {c.column.name!r} stand for values that are "
                "not listed: queries that need them are refused"
            )
    yield from _not_compared(found)
    if found.at_hand:
        for name, how_often in repeating(found.bound, found.session):
            yield (
                f"identifier {name!r} repeats in the original ({how_often}): one person may have "
                "several rows, and k counts rows; `accept: rows` says that this is known"
            )
