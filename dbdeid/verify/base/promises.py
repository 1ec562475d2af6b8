"""The promises of a release, each measured on the written table.

- every declared privacy model, over the released quasi-identifiers;
- `suppression_limit`: no more records are suppressed than was declared;
- `transformation`: every released value stands in the dictionary at the declared level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor

from dbdeid.engine.expressions import count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.privacy import ROWS, ClusterSize, Counting, KAnonymity, MaxRisk, Model, OfSensitive
from dbdeid.privacy.common.counting import classes as counted_classes
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.classes import count_classes, quoted, released_values
from dbdeid.verify.base.declaration import Check, Declared, Promise
from dbdeid.verify.base.places import as_released
from dbdeid.verify.base.sensitive import Found


def models(
    session: Session,
    table: Relation,
    quasi_identifiers: tuple[str, ...],
    declared: Sequence[Model],
    counting: Counting = ROWS,
    sensitive: Found | None = None,
    compared: Mapping[Model, Promise] | None = None,
) -> Iterator[Promise]:
    """Each privacy model measured on the table; a missing column breaks all of them.

    Args:
        session: sees the table.
        table: the written table, described.
        quasi_identifiers: what makes its classes.
        declared: the models.
        counting: what a class counts.
        sensitive: the promises over sensitive attributes, from `verify.base.sensitive`.
        compared: the promises over populations, from `verify.base.populations`.
    """
    counted = [name for name in (*quasi_identifiers, counting.subject) if name is not None]
    missing = [name for name in counted if table.find(name) is None]
    for model in declared:
        if isinstance(model, ClusterSize):
            continue  # nothing in the table tells of it: see `verify.records.clusters`
        if isinstance(model, OfSensitive):
            yield from (sensitive or {})[model]
        elif missing:
            found = f"not measurable without {quoted(missing)}"
            yield Promise(model.model, model.declared, found, False)
        elif isinstance(model, KAnonymity):
            smallest = session.row(model.measure(table, quasi_identifiers, counting))[0]
            yield Promise(model.model, model.declared, smallest, model.holds(smallest))
        elif compared and model in compared:
            yield compared[model]
        else:
            assert isinstance(model, MaxRisk)
            query = model.measure(counted_classes(table, quasi_identifiers, counting))
            risk = session.row(query)[0]
            yield Promise(model.model, model.declared, model.shown(risk), model.holds(risk))


def linked(
    session: Session,
    table: Relation,
    quasi_identifiers: tuple[str, ...],
    model: KAnonymity,
    subject: str,
) -> Promise:
    """Whether the whole set of classes of each subject is that of k: its records are linked."""
    columns = {"qi": quasi_identifiers, "subject": [subject]}
    shared = session.row(step("verify/linked_classes", {"rel": table}, columns))[0]
    wanted = {"k": model.smallest_class, "of": "subjects with the same set of classes"}
    return Promise("linked_classes", wanted, shared, model.holds(shared))


def records(session: Session, table: Relation, declared: Declared) -> Promise:
    """Whether there are as many synthetic records as the source has."""
    query = select(count_rows()).from_(table.table)
    found = int(session.row(query)[0])
    return Promise("synthetic_records", declared.source_rows, found, found == declared.source_rows)


def of_classes(
    session: Session,
    table: Relation,
    declared: Declared,
    dictionary: Relation | None,
    hierarchies: Relation | None = None,
) -> tuple[list[Promise], list[Check]]:
    """What the classes of a written table show: suppression, levels, dictionary and bounds."""
    kept, checks = list[Promise](), list[Check]()
    classes = count_classes(session, table, declared)
    if declared.padding is None:
        kept.append(suppression(session, classes, declared))
    if dictionary is not None:
        values = released_values(session, classes, declared)
        with as_released(session, declared, hierarchies) as shown:
            checks.append(hygiene.dictionary(session, values, dictionary, declared, shown))
        if hygiene.readable(dictionary):
            at_levels = levels if declared.local else transformation
            kept.append(at_levels(session, values, dictionary, declared))
            checks.append(hygiene.bounds(session, table, classes, dictionary, declared))
        session.drop_temp(values.name)
    session.drop_temp(classes.name)
    return kept, checks


def suppression(session: Session, classes: Relation, declared: Declared) -> Promise:
    """How many records of the source were suppressed: left out, or kept with every `*`.

    Where subjects are counted, only that no record is missing where all are kept: see
    `verify.subjects` for the limit.
    """
    counts = step("verify/suppression", {"classes": classes})
    released, kept = (int(count) for count in session.row(counts))
    absent = declared.source_rows - released
    suppressed = absent + kept
    share = suppressed / declared.source_rows if declared.source_rows else 0.0
    limit = allowed(declared.suppression_limit, declared.source_rows)
    complete = absent == 0 if declared.keeps_suppressed else absent >= 0
    if declared.subject is not None:
        wanted = "all" if declared.keeps_suppressed else f"at most {declared.source_rows:,}"
        return Promise("released_records", wanted, released, complete)
    return Promise(
        "suppression_limit",
        {"share": declared.suppression_limit, "records": limit},
        {"share": share, "records": suppressed},
        complete and suppressed <= limit,
    )


def allowed(limit: float, number: int) -> int:
    """The largest number of records or subjects within a limit: floor(limit · N), in decimals.

    A billionth of one is granted, so that a limit of 1/3 allows 1 of 3.
    """
    return floor(Fraction(repr(limit)) * number + Fraction(1, 10**9))


def transformation(
    session: Session, values: Relation, dictionary: Relation, declared: Declared
) -> Promise:
    """Whether each quasi-identifier is released at its declared level, by the dictionary."""
    rows = session.rows(step("verify/levels", {"values": values, "dictionary": dictionary}))
    found: dict[str, int | str] = {}
    for name in declared.quasi_identifiers:
        level = declared.level(name)
        levels = [(lowest, highest, number) for q, lowest, highest, number in rows if q == name]
        occurring = sum(number for *_, number in levels)
        misplaced = sum(number for *at, number in levels if at != [level, level])
        are = "is" if misplaced == 1 else "are"
        text = f"{misplaced} of {occurring} values {are} not listed at level {level}"
        found[name] = text if misplaced else level
    declared_levels = {name: declared.level(name) for name in declared.quasi_identifiers}
    return Promise("transformation", declared_levels, found, found == declared_levels)


def levels(session: Session, values: Relation, dictionary: Relation, declared: Declared) -> Promise:
    """Whether each released value stands in the dictionary once, at a level that is allowed."""
    rows = session.rows(step("verify/levels", {"values": values, "dictionary": dictionary}))
    wanted = {
        name: list(declared.limits.get(name, (0, declared.tops[name])))
        for name in declared.quasi_identifiers
    }
    found: dict[str, Sequence[int] | str] = {}
    for name, (least, most) in wanted.items():
        of_name = [(low, high, number) for q, low, high, number in rows if q == name]
        odd = sum(
            number
            for low, high, number in of_name
            if low is None or low != high or low < least or high > most
        )
        if odd:
            found[name] = f"{odd} of {sum(n for *_, n in of_name)} values stand at no allowed level"
        else:
            known = [low for low, *_ in of_name]
            found[name] = [min(known, default=0), max(known, default=0)]
    holds = not any(isinstance(at, str) for at in found.values())
    return Promise("transformation", wanted, found, holds)
