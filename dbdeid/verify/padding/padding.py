"""All that a release with counterfeit records is held to, beside its privacy models and hygiene."""

from __future__ import annotations

from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.verify.base import places
from dbdeid.verify.base.declaration import Check, Declared, Promise
from dbdeid.verify.base.places import known_places
from dbdeid.verify.padding import combinations, counterfeits, flags, padded_release

Source = Query | Relation


def padding_promises(
    session: Session,
    table: Relation,
    declared: Declared,
    *,
    dictionary: Relation | None,
    catalog: Relation | None,
    hierarchies: Relation | None = None,
) -> tuple[list[Promise], list[Check]]:
    """The promises of padding, checked on the table, its catalog and the hierarchies.

    Without the hierarchies, as in a published file, degrees are not recomputed, and which class
    lies inside which other is told by the dictionary's leaves: then the content must be that of a
    table that was verified with them.

    Args:
        session: sees all tables.
        table: the written table, described.
        declared: its shape and promises.
        dictionary: its dictionary, described.
        catalog: its catalog, described.
        hierarchies: `deid.hierarchies` or its rows for this release, described.
    """
    if reason := padded_release.unreadable(table, declared, catalog):
        return list(counterfeits.unmeasured(declared, reason)), []
    with (
        known_places(session, declared, hierarchies) as known,
        padded_release.padded_counts(
            session, table, declared, catalog, _leaves(declared, known, dictionary)
        ) as counted,
    ):
        kept = [counterfeits.added(session, table, declared, counted.groups)]
        if known is not None:
            kept.append(counterfeits.h_ceiling(session, counted, declared, known))
        if counted.groups is not None:
            kept += counterfeits.of_catalog(session, counted, declared)
        return kept, [counterfeits.class_ids(session, counted)]


def _leaves(
    declared: Declared, known: Relation | None, dictionary: Relation | None
) -> Query | None:
    if known is not None:
        return places.leaves_of_places(declared, known)
    if dictionary is None:
        return None
    query = step("verify/listed_leaves", {"dictionary": dictionary})
    return query


def of_owner(
    session: Session,
    table: Relation,
    declared: Declared,
    *,
    dictionary: Relation | None,
    catalog: Relation | None,
    private: Relation | None,
    source: Source | None,
    hierarchies: Relation | None,
) -> list[Promise]:
    """The promises that need the known counterfeits (`private`), and the source."""
    reason = padded_release.unreadable(table, declared, catalog)
    if private is None or private.columns != flags.FLAGGED:
        reason = reason or "not measurable without the list of counterfeits"
    if reason:
        return [Promise("truthfulness", {"invented_records": 0}, reason, False)]
    assert private is not None
    with (
        known_places(session, declared, hierarchies) as known,
        padded_release.padded_counts(session, table, declared, catalog) as counted,
    ):
        kept = list(flags.promises(session, table, declared, counted, private, dictionary))
        if declared.padding is not None and declared.padding.impossible:
            leaves = _leaves(declared, known, dictionary)
            told = combinations.promise(session, table, declared, private, leaves, source)
            kept.append(told)
        if source is None or hierarchies is None or known is None:
            return kept
        truthful = flags.truthful(session, table, declared, private, source, hierarchies, known)
        return [truthful, *kept]
