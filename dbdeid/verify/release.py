"""Verification of a release: every promise and every check of hygiene, from the written table.

Every way in recomputes from what is written, and shares no code with the methods that wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, did_you_mean
from dbdeid.privacy import ROWS, ClusterSize, Counting, KAnonymity
from dbdeid.verify import harbor, policy_risk, subjects
from dbdeid.verify.base import file_kinds, hygiene, promises, sensitive
from dbdeid.verify.base.declaration import Check, Declared, Promise, Verification
from dbdeid.verify.base.populations import Populations, population_promises
from dbdeid.verify.base.unique_records import unique
from dbdeid.verify.files import container, partitions, storage_leftovers, text_tables
from dbdeid.verify.files import twin as twins
from dbdeid.verify.files.content import Content, compared
from dbdeid.verify.files.content_proof import ContentProof, unchanged
from dbdeid.verify.files.twin import Staged, Twin
from dbdeid.verify.hierarchies import companion_dictionary as beside
from dbdeid.verify.padding import padding, views
from dbdeid.verify.padding.padded_release import listable
from dbdeid.verify.records.clusters import clustered
from dbdeid.verify.records.crosswalk import traced
from dbdeid.verify.records.masked_numbers import masked
from dbdeid.verify.records.truthfulness import truthfulness


def verify_table(
    session: Session,
    table: Relation,
    declared: Declared,
    *,
    dictionary: Relation | None,
    source: Query | Relation | None = None,
    hierarchies: Relation | None = None,
    populations: Populations | None = None,
    catalog: Relation | None = None,
    flagged: Relation | None = None,
    crosswalk: Relation | None = None,
    clusters: Relation | None = None,
    then: ContentProof | None = None,
    same_as: Content | None = None,
) -> Verification:
    """Verify a staged or written table of an open session.

    Args:
        session: sees all the tables.
        table: the release.
        declared: its shape and promises.
        dictionary: its dictionary; without it levels and bounds are not checked.
        source: the source's records with the released columns at level 0 (pseudonyms already in
            their place); with `hierarchies`, truthfulness is a promise too.
        hierarchies: `deid.hierarchies` or its rows for this release.
        populations: those that models compare with, which are judged where the source is at hand.
        catalog: what is published of the counterfeits of a padded release.
        flagged: its counterfeits: `record`, all released columns as text, and `counterfeits`, how
            many such records are; needed with the source.
        crosswalk: which records a release without counterfeits was made of whose levels differ, or
            that means have masked, as `verify.records.crosswalk` reads it; needed with the source,
            or:
        clusters: which records synthetic ones were drawn from, as `verify.records.clusters` reads
            it; needed with the source.
        then: what was proven by a crosswalk that is not kept.
        same_as: the content that it and the tables beside it must have.

    Where subjects are counted, they are only with the source; else its models are measured in
    records, which is necessary and not enough, and `same_as` must be the content of a table that
    was verified with it.
    """
    written = _described(session, table)
    listed = _described(session, dictionary) if dictionary else None
    known = _described(session, hierarchies) if hierarchies else None
    counts = _described(session, catalog) if catalog else None
    made = _described(session, crosswalk) if crosswalk else None
    drawn = _described(session, clusters) if clusters else None
    kept, checks = _written(session, written, declared, listed, counts, known)
    whole = all(written.find(c.name) for c in declared.columns)
    truth = of_people = None
    if source is not None and declared.synthesized is not None and whole:
        kept += clustered(session, written, declared, drawn, source)
    elif source is not None and whole and declared.masked:
        if made is None and then is not None:
            truth = unchanged(session, written, declared, source, then)
        else:
            truth = masked(session, written, declared, made, source)
    elif source is not None and known is not None and whole:
        traceable = True
        if declared.padding is None and declared.local:
            if made is None and then is not None:
                truth = unchanged(session, written, declared, source, then)
            else:
                truth = traced(session, written, declared, made, source, known, listed)
            # the crosswalk tells whose records are in which class
            traceable = made is not None and truth.holds
        elif declared.padding is None:
            truth = truthfulness(session, written, declared, source, known)
        if declared.subject is not None and traceable:
            of_people = subjects.promises(
                session, written, declared, source, known, populations, crosswalk=made
            )
    if source is not None and known is not None and whole and declared.weighed is not None:
        kept.append(
            policy_risk.risk(
                session, written, declared, declared.weighed, source, known, populations
            )
        )
    if of_people is None:
        of_people = of_models(session, written, declared, source, known, populations)
    kept = [*of_people, *kept, *([truth] if truth else [])]
    of_owner = flagged is not None or (source is not None and known is not None)
    if declared.padding is not None and whole and of_owner:
        private = _described(session, flagged) if flagged else None
        kept += padding.of_owner(
            session,
            written,
            declared,
            dictionary=listed,
            catalog=counts,
            private=private,
            source=source,
            hierarchies=known,
        )
    tables = [t for t in (written, listed, counts) if t]
    databases = {t.catalog or session.catalog for t in tables}
    commented = [hygiene.comments(session, database, tables) for database in sorted(databases)]
    checks.append(next((c for c in commented if not c.holds), commented[0]))
    checks += _content(session, declared, (written, listed, counts), same_as)
    return Verification(tuple(kept), tuple(checks))


def verify_views(session: Session, table: Relation, declared: Declared, catalog: Relation) -> Check:
    """Whether the views beside a padded release in a database say what it and its catalog mean."""
    written, counts = _described(session, table), _described(session, catalog)
    absent = [name for name in views.names(written.name) if session.exists(name) != "view"]
    if absent:
        return Check("views", False, f"no view {', '.join(map(repr, absent))}")
    return views.rows(session, written, counts, declared)


def verify_file(
    path: Path,
    declared: Declared,
    *,
    dictionary: str | Path | None,
    catalog: str | Path | None = None,
    same_as: Content | None = None,
    twin: Twin | None = None,
    staged: Staged | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Verify a published file: reopened fresh, all that needs no source, and what files can hide.

    Args:
        path: a file of a release, of any kind that one is written to, or a folder of them.
        declared: the release's shape and promises.
        dictionary: name of the dictionary's table in a `.duckdb` file, or the dictionary's own
            file beside a file of another kind; None when there is none.
        catalog: the same of the catalog of a padded release.
        same_as: the content that it and what lies beside it must have, as `contents` gives it.
        twin: a database file that was found to have that content: what a file of another kind
            shares with it, cell by cell, is not computed again.
        staged: the tables whose content it is; the same of a database that was written of them,
            whose own session opens no other file.
        settings: limits of the engine.

    Raises:
        DataError: the file is missing or cannot be read as what its name says.
    """
    with file_kinds.opened(path, settings) as session:
        kind = file_kinds.PARQUET if path.is_dir() else file_kinds.kind(path)
        if kind == file_kinds.DATABASE:
            listed = str(dictionary) if dictionary else None
            counts = str(catalog) if catalog else None
            return _database(session, path, declared, listed, counts, same_as, staged)
        others = (Path(dictionary) if dictionary else None), (Path(catalog) if catalog else None)
        if kind == file_kinds.PARQUET:
            return _parquet(session, path, declared, *others, same_as, twin)
        tables, checks = text_tables.exported(session, path, declared, *others)
        found = _judged(session, declared, declared, tables, same_as, twin)
        return _with(found, *checks)


def _stored(declared: Declared) -> Declared:
    """The declared shape as a Parquet file can hold it."""
    columns = (Column(c.name, file_kinds.IN_PARQUET.get(c.type, c.type)) for c in declared.columns)
    return replace(declared, columns=tuple(columns))


def verify_bare(
    target: Path | tuple[Session, Relation],
    quasi_identifiers: tuple[str, ...],
    k: int,
    *,
    counting: Counting = ROWS,
    table: str | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Verify k-anonymity of any table or file, and the hygiene that needs no spec.

    The order of rows is reported, not judged: no one promised it.

    Args:
        target: a file of any kind that a release is written to, or a table of an open session.
        quasi_identifiers: their names.
        k: the smallest class that is accepted.
        counting: what a class counts, rows or subjects, and what a NULL equals.
        table: which table of a `.duckdb` file that holds several.
        settings: limits of the engine.

    Raises:
        DataError: the file cannot be read, or the table or a column is not in it.
    """
    if isinstance(target, tuple):
        return _bare(*target, quasi_identifiers, k, counting)
    kind = file_kinds.kind(target)
    with file_kinds.opened(target, settings) as session:
        if kind == file_kinds.DATABASE:
            return _bare_database(session, target, quasi_identifiers, k, counting, table)
        if kind == file_kinds.PARQUET:
            rows = file_kinds.parquet(session, target, target.name)
            found = _bare(session, rows, quasi_identifiers, k, counting)
            found = _with(found, container.parquet(session, [target], ours=False))
        else:
            rows, checks = text_tables.foreign(session, target)
            found = _bare(session, rows, quasi_identifiers, k, counting, named=False)
            found = _with(found, *checks)
        return _with(found, *beside.unambiguous(session, beside.dictionary(session, target)))


# -- parts ---------------------------------------------------------------------------------


def _described(session: Session, relation: Relation) -> Relation:
    schema, catalog = relation.schema or "main", relation.catalog or session.catalog
    bare = Relation(relation.name, (), schema, catalog)
    return replace(bare, columns=session.describe(bare.table))


def _written(
    session: Session,
    table: Relation,
    declared: Declared,
    dictionary: Relation | None,
    catalog: Relation | None,
    hierarchies: Relation | None = None,
) -> tuple[list[Promise], list[Check]]:
    """Promises besides its models, and checks, that every kind of written table has in common."""
    kept = harbor.safe_harbor_checks(session, table, declared)
    tables = [t for t in (table, dictionary, catalog) if t]
    checks = hygiene.shape(table, declared)
    checks += [hygiene.definition(session, tables), hygiene.order(session, tables)]
    if declared.synthesized is not None:
        kept.append(promises.records(session, table, declared))
    elif all(table.find(name) for name in declared.quasi_identifiers):
        found, more = promises.of_classes(session, table, declared, dictionary, hierarchies)
        kept, checks = kept + found, checks + more
    if declared.padding is not None:
        readable = dictionary if dictionary and hygiene.readable(dictionary) else None
        found, more = padding.padding_promises(
            session, table, declared, dictionary=readable, catalog=catalog, hierarchies=hierarchies
        )
        kept, checks = kept + found, checks + more
    return kept, checks


def of_models(
    session: Session,
    table: Relation,
    declared: Declared,
    source: Query | Relation | None = None,
    hierarchies: Relation | None = None,
    populations: Populations | None = None,
    *,
    stored: bool = True,
) -> list[Promise]:
    """The privacy models, measured in records; those over populations beside the source."""
    whole = source if declared.subject is None else None
    models = sensitive.measurable(declared, source=whole is not None)
    models = tuple(m for m in models if not isinstance(m, ClusterSize))  # see verify.clusters
    found = sensitive.in_records(
        session, table, declared, models, whole, hierarchies, stored=stored
    )
    compared = population_promises(session, table, declared, models, populations, hierarchies)
    names, counting = declared.quasi_identifiers, Counting(declared.null_policy)
    kept = promises.models(session, table, names, models, counting, found, compared)
    of = {} if declared.subject is None else {"of": "records"}
    return [replace(p, declared={**p.declared, **of}) for p in kept]


def _with(found: Verification, *checks: Check) -> Verification:
    """The verification with further checks; one of a name that is there replaces it."""
    names = {c.check for c in checks}
    kept = tuple(c for c in found.hygiene if c.check not in names)
    return replace(found, hygiene=kept + checks)


def _database(
    session: Session,
    path: Path,
    declared: Declared,
    dictionary: str | None,
    catalog: str | None,
    same_as: Content | None,
    staged: Staged | None,
) -> Verification:
    expected = [name for name in (declared.release, dictionary, catalog) if name]
    absent = [name for name in expected if session.exists(name) != "table"]
    if absent:
        detail = f"no table {', '.join(map(repr, absent))}"
        return Verification((), (Check("objects", False, detail),))
    described = {name: session.relation(name) for name in expected}
    table, counts = described[declared.release], described.get(catalog or "")
    listed = described.get(dictionary or "")
    found = _judged(session, declared, declared, (table, listed, counts), same_as, staged)
    allowed = views.names(table.name) if counts else ()
    of_file = list(_container(session, path, list(described.values()), allowed))
    of_file += [_views(session, table, counts, declared)] if counts else []
    return _with(found, *of_file)


def _views(session: Session, table: Relation, catalog: Relation, declared: Declared) -> Check:
    told = declared.padding  # without it nobody knows what the catalog is about
    of = [None, *table.names] if told is None else [told.sensitive]
    if other := views.definitions(session, table, catalog, of):
        return Check("views", False, f"not as shipped: {', '.join(map(repr, other))}")
    return Check("views", True) if told is None else views.rows(session, table, catalog, declared)


def judged(
    session: Session,
    declared: Declared,
    tables: tuple[Relation, Relation | None, Relation | None],
    same_as: Content | None,
) -> Verification:
    """All that released tables show without their source, under their declared types."""
    return _judged(session, declared, declared, tables, same_as)


def _judged(
    session: Session,
    stored: Declared,
    declared: Declared,
    tables: tuple[Relation, Relation | None, Relation | None],
    same_as: Content | None,
    twin: Twin | Staged | None = None,
) -> Verification:
    """All that a file shows without its source; `stored` has the columns as it holds them."""
    there = [t for t in tables if t]
    if twin is not None and same_as is not None and twins.alike(session, twin, there):
        checks = [*hygiene.shape(tables[0], stored), hygiene.definition(session, there)]
        return Verification(twin.found.promises, (*checks, *twins.checks(twin)))
    kept, checks = _written(session, tables[0], stored, *tables[1:])
    kept = [*of_models(session, tables[0], stored), *kept]
    checks += _content(session, declared, tables, same_as)
    return Verification(tuple(kept), tuple(checks))


def _content(
    session: Session,
    declared: Declared,
    tables: tuple[Relation, Relation | None, Relation | None],
    expected: Content | None,
) -> list[Check]:
    """Whether release, dictionary and catalog are those that were verified."""
    return [] if expected is None else compared(session, declared, *tables, expected)


def _container(
    session: Session, path: Path, tables: list[Relation], allowed: Sequence[str] = ()
) -> tuple[Check, ...]:
    """The checks of a database file; `allowed` are views that are checked by themselves."""
    found = container.listed(session)
    commented = [(one.kind, one.schema, one.name) for one in found if one.commented]
    return (
        hygiene.no_comments(session, session.catalog, commented),
        container.objects(session, found, tables, allowed),
        storage_leftovers.storage(session, path, tables),
        container.statistics(session, tables),
    )


def _parquet(
    session: Session,
    path: Path,
    declared: Declared,
    dictionary: Path | None,
    catalog: Path | None,
    same_as: Content | None,
    twin: Twin | None,
) -> Verification:
    stored = _stored(declared)
    files, of_folder = [path], list[Check]()
    if path.is_dir():
        table, files, of_folder = partitions.read(session, path, stored)
    else:
        table = file_kinds.parquet(session, path, path.name)
    listed = file_kinds.parquet(session, dictionary, "verify_dictionary") if dictionary else None
    counts = file_kinds.parquet(session, catalog, "verify_groups") if catalog else None
    found = _judged(session, stored, declared, (table, listed, counts), same_as, twin)
    paths = [p for p in (*files, dictionary, catalog) if p]
    return _with(found, container.parquet(session, paths, ours=True), *of_folder)


def _bare(
    session: Session,
    table: Relation,
    quasi_identifiers: tuple[str, ...],
    k: int,
    counting: Counting,
    *,
    named: bool = True,
) -> Verification:
    """The same of a table; `named`: its names may be shown, as those of a CSV file may not."""
    written = _described(session, table)
    for name in (*quasi_identifiers, counting.subject):
        if name is not None and written.find(name) is None:
            known = f"look at the {len(written.names)} names in its first line"
            hint = did_you_mean(name, written.names) if named else known
            raise DataError(f"no column {name!r} in {written.name!r}", hint=hint)
    model = KAnonymity(model="k_anonymity", k=k)
    wrong = hygiene.not_plain(written)
    checks = [Check("types", not wrong, "; ".join(wrong)), hygiene.definition(session, [written])]
    order = hygiene.likely_order(session, written)
    checks.append(Check("order", True, f"reported only: {order.detail}" if order.detail else ""))
    checks.append(hygiene.comments(session, written.catalog or session.catalog, [written]))
    found = promises.models(session, written, quasi_identifiers, (model,), counting)
    kept = [replace(p, declared=p.declared | counting.declared) for p in found]
    if counting.subject is not None and counting.null_policy != "wildcard":
        kept.append(promises.linked(session, written, quasi_identifiers, model, counting.subject))
    return Verification(tuple(kept), tuple(checks), unique(session, written, [counting.subject]))


def _bare_database(
    session: Session,
    path: Path,
    quasi_identifiers: tuple[str, ...],
    k: int,
    counting: Counting,
    table: str | None,
) -> Verification:
    names = session.stored_tables()
    described = {name: session.relation(name) for name in names}
    companions = {
        beside: name
        for name in names
        for beside, known in (
            (f"{name}_dictionary", hygiene.readable),
            (f"{name}_catalog", listable),
        )
        if beside in names and known(described[beside])
    }
    candidates = [table] if table else [name for name in names if name not in companions]
    if len(candidates) != 1 or candidates[0] not in names:
        raise DataError(
            f"{path}: which table? There are {len(names)}",
            hint=did_you_mean(table or "", names) or "give a file with one table in schema main",
        )
    chosen = candidates[0]
    tables = [described[n] for n in names if n == chosen or companions.get(n) == chosen]
    found = _bare(session, described[chosen], quasi_identifiers, k, counting)
    listed = next((t for t in tables if t.name == f"{chosen}_dictionary"), None)
    found = _with(found, *beside.unambiguous(session, listed))
    catalog = next((t for t in tables if t.name == f"{chosen}_catalog"), None)
    if catalog is None:
        return _with(found, *_container(session, path, tables))
    # what the catalog is about is not declared here: the views tell
    subjects_of = [None, *described[chosen].names]
    other = views.definitions(session, described[chosen], catalog, subjects_of)
    allowed = [name for name in views.names(chosen) if name not in other]
    return _with(found, *_container(session, path, tables, allowed))
