"""Warnings of synthetic records: those to answer before any is drawn, and notes for readers."""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.bind.bound import BoundColumn
from dbdeid.data.classes import SOURCE
from dbdeid.engine.expressions import aliased, cast, column, count_distinct, count_of, select
from dbdeid.engine.relation import MEASURED
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.errors import Mistake
from dbdeid.methods.attacks.membership import Attempt
from dbdeid.methods.attacks.shadow_releases import PRECISION, Shadowed
from dbdeid.methods.common.numbers import as_number
from dbdeid.methods.common.outcome import Outcome
from dbdeid.methods.condensation.details import synthetic_of
from dbdeid.methods.condensation.options import COUNTED_FROM, synthesis_of
from dbdeid.prepare.prepare import Prepared

# A table of fewer rows says nothing of which values are those of single people.
FEW_ROWS = 20
# What must stand wherever cluster_size is shown.
NO_GUARANTEE = "no formal guarantee"
# Categories and extreme numbers of fewer records than this are those of single people.
FEW_RECORDS = 11
# Statistics farther than this from the source's, in the noise of sampling, are not kept.
MISSED = 0.25
# A membership attack that does better than this tells of people, not of the population.
MUCH_TOLD = 0.55


def unanswered(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    """Columns whose values would leave as they are though they are those of single people."""
    synthesis = synthesis_of(prepared.parameters)
    for c in prepared.bound.released:
        if c.spec.reason:
            continue
        if _named(c):
            least = max(FEW_RECORDS, synthesis.recipe.k if c.name in synthesis.strata else 0)
            rare, keep = _categories(c, FEW_RECORDS, session, least)
            if rare and prepared.rows >= FEW_ROWS:
                pooled = f"`pool: {keep}` keeps the most frequent, and calls the rest other"
                hint = pooled if _can_pool(c, keep) else "drop the column"
                yield prepared.bound.file.mistake(
                    f"column {c.name!r} has {rare:,} categories of fewer than {FEW_RECORDS} "
                    "records, which would be released as they are: they tell of single people",
                    "columns",
                    c.name,
                    hint=f"{hint}; or give it a `reason: …` that they may be known",
                )
        elif c.column.family != "integer" or c.name == synthesis.response:
            continue
        elif prepared.rows >= FEW_ROWS and (few := _of_few(c, session)):
            yield prepared.bound.file.mistake(
                f"column {c.name!r} has at most two whole numbers, which are released as they are, "
                f"and one of them in {few:,} records alone: it tells of single people",
                "columns",
                c.name,
                hint="drop the column, or give it a `reason: …` that the number may be known",
            )
        elif _unique(c, session):
            yield prepared.bound.file.mistake(
                f"column {c.name!r} has another whole number in each record, as numbers have that "
                "people are given: synthetic ones would be those of others",
                "columns",
                c.name,
                hint="drop the column, or give it a `reason: …` that it is a measurement",
            )


def _unique(c: BoundColumn, session: Session) -> bool:
    """Whether no two of a number of records have the same value."""
    value = column(c.name)
    distinct = count_distinct(value)
    query = select(distinct, count_of(value.copy())).from_(SOURCE.table)
    found, known = session.row(query)
    return bool(found == known >= FEW_ROWS)


def _of_few(c: BoundColumn, session: Session) -> int:
    """How many records have the rarer of at most two whole numbers, if they are fewer than there
    should be of a category; 0 and 1 are mere flags."""
    value = column(c.name)
    query = select(value, count_of(value.copy())).from_(SOURCE.table).group_by(value.copy())
    found = {number: int(count) for number, count in session.rows(query.limit(4)) if count}
    if len(found) > 2 or set(found) <= {0, 1}:
        return 0
    rarest = min(found.values(), default=FEW_RECORDS)
    return rarest if rarest < FEW_RECORDS else 0


def _named(c: BoundColumn) -> bool:
    """Whether the values of a column are names, which are drawn as they are."""
    return c.released_type == "VARCHAR"


def _can_pool(c: BoundColumn, keep: int) -> bool:
    return keep > 0 and c.column.family in ("text", "enum")


def _categories(c: BoundColumn, few: int, session: Session, least: int) -> tuple[int, int]:
    """How many categories are released that fewer records have, and how many could be kept.

    Of those that could, none is so rare, nor are the others together: they are of at least `least`
    records.
    """
    values = {"few": few, "least": least, "most": c.spec.pool}
    rare, keep = session.row(
        step("review/rare_categories", {"rel": SOURCE}, {"col": [c.name]}, values)
    )
    return int(rare), int(keep)


def notes(prepared: Prepared, session: Session) -> Iterator[str]:
    """What a reader should know of records that are drawn from clusters."""
    synthesis = synthesis_of(prepared.parameters)
    k = synthesis.recipe.k
    yield (
        f"cluster_size: {NO_GUARANTEE}: each record is drawn from a cluster of at least {k} "
        "records, and which these are depends on the data"
    )
    if synthesis.recipe.variant == "recipient" and not synthesis.recipe.counts:
        yield (
            f"clusters of fewer than {COUNTED_FROM} records would reveal who is in them if they "
            "kept their categories by count and the spread of their numbers; rare categories may "
            "be lost instead"
        )
    yield from _uncalibrated(prepared)
    for c in prepared.bound.released:
        if _named(c):
            rare, keep = _categories(c, k, session, k)
            if rare:
                pooled = f"; `pool: {keep}` would keep those of more" if _can_pool(c, keep) else ""
                yield (
                    f"{c.name}: {rare} of its categories are those of fewer than {k} records, and "
                    f"are released as they are{pooled}"
                )
        elif c.column.family in MEASURED:
            lonely = _lonely(c, session)
            if lonely:
                yield (
                    f"{c.name}: {lonely} of its values lie far from all others, and what is drawn "
                    "near them tells of their owners: cut them off in `source: {sql: …}`, as in "
                    f"`least({c.name}, …)`"
                )


def _lonely(c: BoundColumn, session: Session) -> int:
    value = as_number(c.column, column(c.name))
    cells = select(aliased(cast(value, "DOUBLE"), "value")).from_(SOURCE.table)
    found = session.row(step("review/lonely_values", {"cells": cells}, {}, {"few": FEW_RECORDS}))[0]
    return int(found)


def _uncalibrated(prepared: Prepared) -> Iterator[str]:
    """Which of the declared models synthetic records are not calibrated for, though they are."""
    if synthesis_of(prepared.parameters).analyses is None:
        return
    for analysis in prepared.bound.analyses:
        if (text := analysis.several) is not None:
            yield (
                f"{analysis.place} ({analysis.kind}) is not calibrated: {text} depends on several "
                "columns"
            )


def _membership(k: int, trial: Attempt, found: Shadowed) -> Iterator[str]:
    """The warning that the strongest of the attacks can tell who was in the data."""
    auc = max(trial.auc, found.everyone.auc)
    named = found.people_at_risk
    if auc <= MUCH_TOLD and not named:
        return
    few = f"{named:,} people can be named, {found.outliers_at_risk:,} of them outliers"
    who = f": {few}, at least {PRECISION:.0%} rightly" if named else ""
    yield (
        f"an attacker can tell too well who was in the data (AUC {auc:.3f}, of outliers "
        f"{found.outliers.auc:.3f}){who}. Use a k above {k}, fewer columns, or pool rare categories"
    )


def tried(outcome: Outcome) -> Iterator[str]:
    """Warnings after the run: missed statistics, and what attacks on a trial revealed."""
    made = synthetic_of(outcome)
    if made is None:
        return
    if made.calibrated and made.gap > MISSED:
        yield (
            f"the statistics of the declared models are still {made.gap:.2g} standard errors of "
            "sampling from those of the source: clusters are too small, or columns determine each "
            "other; look at how the models came out"
        )
    if made.worse is not None:
        without, with_ = made.worse
        yield (
            f"calibration was left out: the declared models are closer to the source's without it "
            f"(rmsz {without:.2g}, and {with_:.2g} with it); columns determine each other, as a "
            "year and a time until the same end do"
        )
    if made.trial is not None and made.shadows is not None:
        yield from _membership(made.k, made.trial, made.shadows)
    if made.trial is None:
        yield (
            "too few records to try, on a random half of them, whether synthetic records tell who "
            "was in it: that copies of records stay within a limit is not promised"
        )
