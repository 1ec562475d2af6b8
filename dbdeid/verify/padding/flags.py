"""The promises of a padded release that only its owner can hold it to, who knows the counterfeits.

Without those the release is the source, generalized, record by record: nothing is missing and
nothing else was invented. They are what the catalog counts, they pad the small classes and no
other, and Lemma 1 of Lee, Kim & Chung 2017 holds for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    cast,
    column,
    count_rows,
    function,
    list_of,
    literal,
    null,
    same_value,
    select,
    sum_of,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import CLASS_ID, Declared, Promise
from dbdeid.verify.base.generalization import names_of, renamed
from dbdeid.verify.padding.padded_release import PaddedCounts
from dbdeid.verify.records.matching import matched
from dbdeid.verify.records.truthfulness import truthfulness

FLAGGED = (Column("record", "VARCHAR[]"), Column("counterfeits", "BIGINT"))

# Real records that would have two values by chance, from which on it is missed that none has.
ENOUGH = 6

REAL, FLAGS = "verify_real", "verify_flags"


def promises(
    session: Session,
    table: Relation,
    declared: Declared,
    counted: PaddedCounts,
    flagged: Relation,
    dictionary: Relation | None,
) -> Iterator[Promise]:
    """What the counterfeits promise beside the written table and its catalog.

    Args:
        session: sees all tables.
        table: the written table, described, with all its columns.
        declared: its shape and promises.
        counted: its classes and catalog.
        flagged: its counterfeits: `record`, all released columns as text, and `counterfeits`.
        dictionary: tells at which levels a class stands, where these differ.
    """
    wanted = {"malformed": 0, "not_released": 0, "too_many": 0}
    if flagged.columns != FLAGGED:
        yield Promise("flagged_records", wanted, "not measurable: another shape", False)
        return
    tables: dict[str, Relation | Query] = {"records": _records(table), "flagged": flagged}
    malformed, missing, total, released = session.row(step("verify/flagged", tables))
    too_many = total - (released - declared.source_rows)
    found = {"malformed": malformed, "not_released": missing, "too_many": too_many}
    yield Promise("flagged_records", wanted, found, found == wanted)
    yield _possible(session, declared, tables)
    yield from _of_classes(session, declared, counted, flagged, dictionary)


def _possible(session: Session, declared: Declared, tables: dict[str, Relation | Query]) -> Promise:
    """Whether each counterfeit has pairs of values that are among the real records.

    Only those with a quasi-identifier, and where at least ENOUGH real records would have both by
    chance. The values of the paper's catalog are drawn without asking; there they are counted.
    """
    padding = declared.padding
    assert padding is not None
    names = [c.name for c in declared.columns]
    known = [names.index(name) + 1 for name in declared.quasi_identifiers]
    told = [
        place
        for place, name in enumerate(names, 1)
        if name not in (CLASS_ID, *declared.quasi_identifiers, *declared.bounds)
    ]
    wanted = {"impossible": 0}
    if not (known and told):
        return Promise("possible_values", wanted, wanted, True)
    pairs = union_all(
        *(
            select(aliased(literal(a), "known"), aliased(literal(b), "told"))
            for a in known
            for b in told
        )
    )
    query = step("verify/impossible", {**tables, "pairs": pairs}, values={"enough": ENOUGH})
    found = {"impossible": int(session.row(query)[0])}
    promised = padding.catalog != "paper"
    shown = wanted if promised else {"promised": False}
    return Promise("possible_values", shown, found, found == wanted or not promised)


def _records(table: Relation) -> Select:
    """The written table as c0, c1, … and `record`, all its cells as text."""
    texts = [as_text(column(c.name)) for c in table.columns]
    record = aliased(list_of(*texts), "record")
    return renamed(table, table.columns).select(record)


def _of_classes(
    session: Session,
    declared: Declared,
    counted: PaddedCounts,
    flagged: Relation,
    dictionary: Relation | None,
) -> Iterator[Promise]:
    padding = declared.padding
    assert padding is not None
    flags = session.run(Step(FLAGS, _flags(flagged, declared)))
    try:
        groups = counted.groups
        tables: dict[str, Relation | Query] = {
            "counts": counted.counts,
            "flags": flags,
            "listed": groups.listed if groups else _NO_ROWS,
            "members": groups.members if groups else _NO_ROWS,
        }
        sizes = {"k": padding.k, "size": padding.size}
        query = step("verify/flags", tables, values=sizes)
        miscounted, unlisted, lemma_1, unpadded = session.row(query)
        untouched = _untouched(session, declared, counted, flags, dictionary)
    finally:
        session.drop_temp(FLAGS)
    if counted.groups is not None:
        counts = {
            "miscounted": miscounted,
            "classes_outside_groups": unlisted,
            "levels_never_padded": untouched,
        }
        wanted = dict.fromkeys(counts, 0)
        yield Promise("catalog_of_flagged", wanted, counts, counts == wanted)
        told = {"violations": lemma_1}
        yield Promise("lemma_1_of_flagged", {"violations": 0}, told, not lemma_1)
    wanted_sizes = {"k": padding.k, "padded_to": padding.size, "classes_unlike": 0}
    yield Promise("padding", wanted_sizes, {"classes_unlike": unpadded}, not unpadded)


def _untouched(
    session: Session,
    declared: Declared,
    counted: PaddedCounts,
    flags: Relation,
    dictionary: Relation | None,
) -> int:
    """Levels at which classes of the catalog stand and none was padded: those are known clean."""
    assert declared.padding is not None
    if not declared.local or dictionary is None or counted.groups is None:
        return 0
    query = select(column("class", "c")).from_(counted.classes.aliased("c"))
    levels: list[Expr] = []
    for i, name in enumerate(declared.quasi_identifiers):
        alias = f"d{i}"
        entry = select(column("released_value"), column("level")).from_(dictionary.table)
        entry = entry.where(column("column").eq(literal(name)))
        same = same_value(as_text(column(f"k{i}", "c")), column("released_value", alias))
        query = query.join(entry.subquery(alias), on=same, join_type="left")
        levels.append(column("level", alias))
    signatures = query.select(aliased(list_of(*levels), "signature"))
    tables: dict[str, Relation | Query] = {
        "signatures": signatures,
        "members": counted.groups.members,
        "flags": flags,
    }
    return int(session.row(step("verify/signatures", tables))[0])


# What a release without a catalog tells.
_NO_ROWS = select(
    *(aliased(cast(null(), "BIGINT"), name) for name in ("grp", "class", "counterfeits")),
    aliased(cast(null(), "VARCHAR"), "value"),
).limit(0)


def _flags(flagged: Relation, declared: Declared) -> Select:
    """The counterfeits by class and sensitive value."""
    assert declared.padding is not None
    names = [c.name for c in declared.columns]
    sensitive = declared.padding.sensitive
    value = cast(null(), "VARCHAR") if sensitive is None else _cell(names.index(sensitive))
    number = try_cast(_cell(names.index(CLASS_ID)), "BIGINT")
    rows = select(aliased(number, "class"), aliased(value, "value"))
    rows = rows.select(column("counterfeits")).from_(flagged.table)
    total = aliased(sum_of(column("counterfeits")), "counterfeits")
    keys = [column("class"), column("value")]
    return select(*keys, total).from_(rows.subquery("rows")).group_by(*(key.copy() for key in keys))


def _cell(place: int) -> Expr:
    return function("list_extract", column("record"), literal(place + 1))


def truthful(
    session: Session,
    table: Relation,
    declared: Declared,
    flagged: Relation,
    source: Query | Relation,
    hierarchies: Relation,
    places: Relation,
) -> Promise:
    """Whether the release without its counterfeits is the generalized source, both ways.

    Args:
        session: sees all tables.
        table: the written table, described, with all its columns.
        declared: its shape.
        flagged: its counterfeits, of the shape `FLAGGED`.
        source: the records as released at level 0.
        hierarchies: `deid.hierarchies`, or its rows for this release.
        places: what each value reads on each level.
    """
    assert declared.padding is not None
    real = session.run(Step(REAL, _real(table, flagged)))
    try:
        if declared.local:
            return matched(session, real, declared, source, places)
        found = truthfulness(session, real, declared, source, hierarchies)
        rows = select(count_rows()).from_(real.table)
        missing = int(found.found["source_rows"]) - int(session.row(rows)[0])
        wanted = found.declared | {"missing_records": 0}
        told = found.found | {"missing_records": missing}
        return Promise(found.model, wanted, told, found.holds and not missing)
    finally:
        session.drop_temp(REAL)


def _real(table: Relation, flagged: Relation) -> Select:
    """The released columns without `class_id`, of the records that are not counterfeit."""
    kept = [(c.name, n) for c, n in zip(table.columns, names_of(table.columns), strict=True)]
    kept = [(name, n) for name, n in kept if name != CLASS_ID]
    tables: dict[str, Relation | Query] = {"records": _records(table), "flagged": flagged}
    rows = step("verify/real", tables, {"column": [n for _, n in kept]})
    return select(*(aliased(column(n), name) for name, n in kept)).from_(rows.subquery("real"))
