"""Verification of a release in a warehouse: every promise, from the table that was written there.

What models, levels and the dictionary are about is counted there, from the table and from its
source, and judged here like any written table; what was counted stays so, and no row is made of it
for each record. Of whole records the warehouse finds by itself whether each is one of the source.
Nothing is shared with what planned or wrote the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdeid.data.classes import profiles_relation, subjects_here
from dbdeid.engine.expressions import (
    Query,
    Select,
    aliased,
    as_often,
    cast,
    coalesce,
    column,
    count_rows,
    greatest_of,
    list_of,
    literal,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step, Steps
from dbdeid.engine.warehouse import RECORDS, Warehouse
from dbdeid.verify import subjects
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Check, Declared, Promise, Verification
from dbdeid.verify.base.generalization import generalized, labels_of, renamed
from dbdeid.verify.base.populations import Populations
from dbdeid.verify.base.promises import of_classes
from dbdeid.verify.base.sensitive import attributes
from dbdeid.verify.records import crosswalk as crosswalks
from dbdeid.verify.records.crosswalk import RECORD, SOURCE, traced
from dbdeid.verify.records.truthfulness import truthfulness
from dbdeid.verify.release import of_models

_RECORDS = "deid_records_there"
_SUBJECTS = "verify_subjects_there"
_WRITTEN, _SOURCE, _LISTED, _RAW, _BECAME, _CROSSWALK = (
    "verify_written_there",
    "verify_source_there",
    "verify_listed_there",
    "verify_raw_there",
    "verify_became_there",
    "verify_crosswalk_there",
)


@dataclass(frozen=True, slots=True)
class Recoded:
    """Which record of the source became which of the release, where their levels differ: a claim.

    Attributes:
        rows: a view in the warehouse: the released columns, and what each quasi-identifier was.
        had: the columns with that, by quasi-identifier.
    """

    rows: Relation
    had: Mapping[str, str]

    @property
    def released(self) -> Select:
        """The released columns alone."""
        own = set(self.had.values())
        return select(*(c for c in self.rows.names if c not in own)).from_(self.rows.table)


@dataclass(frozen=True, slots=True)
class There:
    """A release in a warehouse, and what it was made of.

    Attributes:
        released: the written table.
        dictionary: its dictionary.
        source: the table that it was made of.
        recoded: which record became which; None where levels say it.
    """

    released: Relation
    dictionary: Relation
    source: Relation
    recoded: Recoded | None = None


def verify_there(
    warehouse: Warehouse,
    session: Session,
    there: There,
    declared: Declared,
    counted: Declared,
    hierarchies: Relation,
    expected: Relation,
    populations: Populations,
) -> Verification:
    """Verify a release in a warehouse.

    Args:
        warehouse: where it is.
        session: where counts are judged.
        there: the tables.
        declared: shape and promises of the release.
        counted: the same with those columns alone that models, levels and bounds are about.
        hierarchies: the hierarchies in long form, in the session.
        expected: the counted columns of the records that are expected, in the session.
        populations: those that models compare with, in the session, as they are there now.
    """
    table, listed = (warehouse.described(t) for t in (there.released, there.dictionary))
    checks = hygiene.shape(table, declared)
    if any(table.find(c.name) is None for c in declared.columns):
        return Verification((), tuple(checks))
    lent: Mapping[str, Relation] = {}
    if there.recoded is None:
        lent = _labels(warehouse, session, there.source, table, declared, hierarchies)
    source = None
    promises: list[Promise] = []
    try:
        here = _dictionary(warehouse, session, listed)
        names = [c.name for c in counted.columns]
        rows = _counted(warehouse, session, table, names, _WRITTEN)
        found, more = of_classes(session, rows, counted, here, hierarchies)
        people = {name: _summed(query) for name, query in populations.items()}
        if counted.subject is None:
            values = [c.name for c in attributes(table, counted.models)]
            asked = values or list(counted.quasi_identifiers[:1])  # it is there, if none is asked
            if there.recoded is not None:
                asked = [name for name in names if name not in counted.bounds]
            source = _counted(warehouse, session, there.source, asked, _SOURCE)
            models = of_models(session, rows, counted, source, hierarchies, people, stored=False)
        else:
            known = _of_subjects(warehouse, session, there.source, table, counted, lent)
            models = subjects.promises_of(
                session, rows, counted, known, RECORDS, hierarchies, people
            )
        promises += [*models, *found]
        unjudged = {m.model for m in counted.models} - {p.model for p in models}
        if unjudged:
            checks.append(Check("models", False, f"not judged: {', '.join(sorted(unjudged))}"))
        checks += [*more, _as_expected(session, rows, expected, names)]
        if there.recoded is not None:
            crosswalk = _crosswalk(warehouse, session, there.recoded, counted)
            assert source is not None
            truth = traced(session, rows, counted, crosswalk, source, hierarchies, here)
            promises.append(_of_whole_records(warehouse, truth, table, declared, there))
        else:
            promises.append(truthfulness(warehouse, table, declared, there.source, lent))
    finally:
        for name in (_WRITTEN, _SOURCE):
            session.drop_temp(_each(name))
        for name in (_WRITTEN, _SOURCE, _LISTED, _RAW, _SUBJECTS, _BECAME, _CROSSWALK):
            session.drop_temp(name)
        session.drop_temp(profiles_relation(_SUBJECTS).name)
    checks += [_order(warehouse, (table, listed)), _notes(warehouse, (table, listed))]
    return Verification(tuple(promises), tuple(checks))


def _of_subjects(
    warehouse: Warehouse,
    session: Session,
    source: Relation,
    table: Relation,
    declared: Declared,
    lent: Mapping[str, Relation],
) -> Relation:
    """What the records of each subject become, generalized once more where they are.

    There come as many rows as there are different sets of released records of a subject.
    """
    assert declared.subject is not None
    columns = [c for name in declared.quasi_identifiers if (c := table.find(name))]
    columns += attributes(table, declared.models)
    subject = aliased(column(declared.subject), "subject")
    raw = warehouse.run(Step(_SUBJECTS, renamed(source, columns).select(subject)))
    query = generalized(raw, columns, declared, lent).select(column("subject", "s"))
    found = warehouse.profiles(query, "subject")
    warehouse.drop_temp(_SUBJECTS)
    return subjects_here(session, found, "subject", _SUBJECTS)


def _counted(
    warehouse: Warehouse, session: Session, table: Relation, names: Sequence[str], place: str
) -> Relation:
    """A view of the records of a table in some of its columns, as the warehouse counts them."""
    cells = [column(name) for name in names]
    query = select(*cells, aliased(count_rows(), _RECORDS)).from_(table.table)
    found = warehouse.arrow(query.group_by(*(c.copy() for c in cells)))
    counts = session.stage(_temporary(place), found.to_reader(), {})
    rows = as_often(counts.table, [c.copy() for c in cells], column(_RECORDS))
    return session.run(Step(_each(place), rows, stored=False))


def _each(place: str) -> str:
    """The name of the view beside a table of counts."""
    return f"{place}_each"


def _summed(people: Query) -> Query:
    """A population with one row for each combination of its values."""
    keys = [name for name in people.named_selects if name != "people"]
    total = aliased(cast(sum_of(column("people")), "BIGINT"), "people")
    return select(*keys, total).from_(people.subquery("each")).group_by(*map(column, keys))


def _dictionary(warehouse: Warehouse, session: Session, listed: Relation) -> Relation:
    names = [c.name for c in listed.columns]
    rows = warehouse.arrow(select(*names).from_(listed.table))
    return session.stage(_temporary(_LISTED), rows.to_reader(), {})


def _temporary(name: str) -> Relation:
    return Relation(name, schema="main", catalog="temp")


def _as_expected(
    session: Session, rows: Relation, expected: Relation, names: Sequence[str]
) -> Check:
    """Whether the warehouse wrote, in the counted columns, just the records that are expected."""
    columns = [c for name in names if (c := rows.find(name))]
    more, less = _differences(session, renamed(rows, columns), renamed(expected, columns))
    detail = f"{more} records that are not expected, and {less} missing" if more or less else ""
    return Check("records", not detail, detail)


def _differences(steps: Steps, found: Select, expected: Select) -> tuple[int, int]:
    """How many rows are there more often than expected, and how many less often."""
    sides = []
    keys = found.named_selects
    for query, sign in ((found, 1), (expected, -1)):
        sides.append(select(*keys, aliased(literal(sign), "sign")).from_(query.subquery("side")))
    surplus = aliased(sum_of(column("sign")), "surplus")
    unlike = select(surplus).from_(union_all(*sides).subquery("both")).group_by(*keys)
    totals = (
        coalesce(sum_of(one), literal(0))
        for one in (
            greatest_of(literal(0), column("surplus")),
            greatest_of(literal(0), literal(0) - column("surplus")),
        )
    )
    more, less = steps.row(select(*totals).from_(unlike.subquery("unlike")))
    return int(more), int(less)


def _crosswalk(
    warehouse: Warehouse, session: Session, recoded: Recoded, counted: Declared
) -> Relation:
    """Which counted records became which by the claim, as `verify.records.crosswalk` has it."""
    was = [column(recoded.had[name]) for name in counted.quasi_identifiers]
    became = [column(c.name) for c in counted.columns]
    cells = [*was, *became]
    query = select(*cells, aliased(count_rows(), _RECORDS)).from_(recoded.rows.table)
    found = warehouse.arrow(query.group_by(*(c.copy() for c in cells)))
    pairs = session.stage(_temporary(_BECAME), found.to_reader(), {})
    texts = (
        aliased(list_of(*map(as_text, side)), name)
        for side, name in ((was, SOURCE), (became, RECORD))
    )
    records = aliased(cast(column(_RECORDS), "BIGINT"), crosswalks.RECORDS)
    return session.run(Step(_CROSSWALK, select(*texts, records).from_(pairs.table)))


def _of_whole_records(
    warehouse: Warehouse, truth: Promise, table: Relation, declared: Declared, there: There
) -> Promise:
    """What is proven of the counted columns, and that the claim has all columns of both tables."""
    assert there.recoded is not None
    recoded, found = there.recoded, truth.found
    if not isinstance(found, Mapping):
        return truth
    released = [Column(c.name, "") for c in declared.columns]
    invented, unreleased = _differences(
        warehouse, renamed(table, released), renamed(recoded.rows, released)
    )
    others = [c for c in released if c.name not in (*declared.quasi_identifiers, *declared.bounds)]
    was = [Column(name, "") for name in declared.quasi_identifiers]
    claimed = [Column(recoded.had[c.name], "") for c in was]
    missing, foreign = _differences(
        warehouse,
        renamed(there.source, [*was, *others]),
        renamed(recoded.rows, [*claimed, *others]),
    )
    whole = dict(found)
    whole["missing_records"] = max(found["missing_records"], missing, unreleased)
    whole["invented_records"] = max(found["invented_records"], invented, foreign)
    return replace(truth, found=whole, holds=truth.holds and whole == truth.declared)


def _labels(
    warehouse: Warehouse,
    session: Session,
    source: Relation,
    table: Relation,
    declared: Declared,
    hierarchies: Relation,
) -> Mapping[str, Relation]:
    """What each value of the source reads in the release, of columns that do not leave as they are,
    lent to the warehouse.

    The texts of values are made here, for engines write some of them differently.
    """
    found: dict[str, Relation] = {}
    for i, name in enumerate(declared.quasi_identifiers):
        written, value = table.find(name), source.find(name)
        level, top = declared.level(name), declared.tops[name]
        if written is None or value is None or level >= top > 0:
            continue
        if level == 0 and value.type == written.type:
            continue
        values = select(aliased(column(value.name), "value")).distinct().from_(source.table)
        raw = session.stage(_temporary(_RAW), warehouse.arrow(values).to_reader(), {})
        labels = labels_of(raw, "value", name, level, declared, hierarchies)
        here = session.run(Step(f"verify_labels_{i}", labels))
        found[written.name] = warehouse.lend(here.name, session.table(here))
    return found


def _order(warehouse: Warehouse, tables: Sequence[Relation]) -> Check:
    wrong = [
        f"{table.name!r}: {count} of its rows are not in order"
        for table in tables
        if (count := warehouse.unsorted(table))
    ]
    return Check("order", not wrong, "; ".join(wrong))


def _notes(warehouse: Warehouse, tables: Sequence[Relation]) -> Check:
    told = {table.name: ", ".join(warehouse.notes(table)) for table in tables}
    wrong = [f"{name!r}: {notes}" for name, notes in told.items() if notes]
    return Check("comments", not wrong, "; ".join(wrong))
