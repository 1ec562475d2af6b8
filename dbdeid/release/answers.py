"""Warnings that must be answered: what a custodian has to say before a release is made."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from dbdeid.data.classes import CODED
from dbdeid.engine.relation import column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.errors import Mistake, SpecError
from dbdeid.release.bind import BoundColumn
from dbdeid.release.prepare import Prepared

# A released column with more distinct values than this share of its rows tells people apart.
NEAR_UNIQUE = 0.5
NUMERIC = ("integer", "decimal", "float", "date", "timestamp")


def require(prepared: Prepared, session: Session) -> tuple[str, ...]:
    """Check that every warning is answered, and give those that a reader should see.

    Raises:
        SpecError: a warning has no answer in the spec; all of them at once.
    """
    unanswered = [
        *_homogeneity(prepared),
        *_reasons(prepared, session),
        *_repeating_identifiers(prepared, session),
    ]
    if unanswered:
        raise SpecError(unanswered, source=prepared.bound.file.label)
    return tuple(_shown(prepared, session))


def _homogeneity(prepared: Prepared) -> Iterator[Mistake]:
    for c in prepared.bound.columns:
        if c.spec.role == "sensitive" and c.spec.accept != "homogeneity":
            yield prepared.bound.file.mistake(
                f"sensitive column {c.name!r} has no diversity or closeness model: a class whose "
                "records all share one value would disclose it",
                "columns",
                c.name,
                hint="say `accept: homogeneity` on the column if that is intended",
            )


def _reasons(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    for c in prepared.bound.columns:
        if c.spec.role != "insensitive" or c.spec.reason:
            continue
        what = "numeric" if c.column.family in NUMERIC else _near_unique(c, prepared, session)
        if what:
            yield prepared.bound.file.mistake(
                f"insensitive column {c.name!r} is {what} and released as it is",
                "columns",
                c.name,
                hint=f"say why: `{c.name}: {{role: insensitive, reason: …}}`, or make it a "
                "quasi_identifier",
            )


def _near_unique(c: BoundColumn, prepared: Prepared, session: Session) -> str | None:
    distinct = exp.Count(this=exp.Distinct(expressions=[column(c.name)]))
    found = session.row(exp.select(distinct).from_(CODED.table))[0]
    return "nearly unique" if found > max(NEAR_UNIQUE * prepared.rows, 1) else None


def _repeating_identifiers(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    if prepared.bound.spec.accept == "rows":
        return
    for name in prepared.bound.names("identifier"):
        value = column(name, "source")
        counted = exp.select(
            exp.Count(this=value), exp.Count(this=exp.Distinct(expressions=[value.copy()]))
        ).from_(prepared.bound.source.subquery("source"))
        known, distinct = session.row(counted)
        if distinct < known:
            yield prepared.bound.file.mistake(
                f"identifier {name!r} repeats ({known - distinct} of {known} values): one person "
                "may have several rows, and k would count rows",
                "columns",
                name,
                hint="say `accept: rows` at the top level if one row is one person; counting "
                "people by `subject` is not yet available",
            )


def _shown(prepared: Prepared, session: Session) -> Iterator[str]:
    for c in prepared.bound.columns:
        if c.spec.accept:
            yield f"{c.name}: homogeneity accepted; a class may share one value"
        if c.spec.reason:
            yield f"{c.name}: released as it is: {c.spec.reason}"
    if prepared.bound.spec.accept == "rows":
        yield "rows accepted: an identifier may repeat, and k counts rows, not people"
    others = [c.name for c in prepared.bound.released if c.spec.role != "quasi_identifier"]
    if others:
        names = [c.name for c in prepared.bound.released]
        unique = session.row(step("unique_records", {"rel": CODED}, {"cols": names}))[0]
        share = unique / prepared.rows
        yield (
            f"{unique} of {prepared.rows} source records ({share:.1%}) are unique over all "
            f"released columns before generalization; k-anonymity covers the quasi-identifiers "
            f"only, not {', '.join(others)}"
        )
