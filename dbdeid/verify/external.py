"""Verification of a release made elsewhere: what its table, and its original, can show.

- every declared privacy model over the released quasi-identifiers; one that compares with the
  original fails where that is not at hand;
- with a subject, `linked_classes`, as for any release with a pseudonym;
- where the original is at hand, `released_records`: no more records than it has; and, of a release
  that is said to be truthful, `truthfulness`: all released records can be records of the original
  at once, each one of its own whose values are among those that the released ones stand for.

Hygiene is that of any table: `columns`, `types`, `definition`, `comments`, of Parquet files
`metadata`. The order of rows is reported, not judged. `meanings` names columns with values that
nothing explains, and `source` what could not be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdeid.engine.expressions import Query, count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.privacy import Counting, KAnonymity, Model, OfSensitive
from dbdeid.verify.base import hygiene, promises, sensitive
from dbdeid.verify.base.classes import quoted
from dbdeid.verify.base.declaration import Check, Declared, Promise, Verification
from dbdeid.verify.base.unique_records import unique
from dbdeid.verify.files import container
from dbdeid.verify.records import matching


@dataclass(frozen=True, slots=True)
class Original:
    """The original of a release, where it is at hand.

    Attributes:
        records: as released at level 0.
        places: name, level, value, shown: which released values each value of a quasi-identifier
            may read as; None where nothing can be said of records.
        compared: the released columns that it has too.
    """

    records: Query | Relation
    places: Relation | None
    compared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unexplained:
    """How many released values of a column have no meaning, of how many."""

    unknown: int
    ambiguous: int
    number: int


@dataclass(frozen=True, slots=True)
class Beside:
    """Facts about an external release besides its table and declaration.

    Attributes:
        original: None where it is not at hand.
        hierarchies: of sensitive columns, as `deid.hierarchies`.
        unexplained: by column.
        path: of a Parquet file that holds the table.
        note: what is not looked at, and why.
    """

    original: Original | None = None
    hierarchies: Relation | None = None
    unexplained: Mapping[str, Unexplained] = field(default_factory=dict)
    path: Path | None = None
    note: str = ""


def verify_external(
    session: Session, table: Relation, declared: Declared, beside: Beside
) -> Verification:
    """Verify a table that others have made.

    Args:
        session: sees all tables.
        table: described, or staged from a file in its order.
        declared: its shape and models; `subject` is the column of a pseudonym in the table.
        beside: what else is known.
    """
    kept = list(_models(session, table, declared, beside))
    original = beside.original
    if original is not None:
        kept.append(_records(session, table, declared))
        if original.places is not None:
            kept.append(_truthfulness(session, table, declared, original, original.places))
    wrong = hygiene.not_plain(table, [c.name for c in declared.columns])
    order = hygiene.likely_order(session, table)
    checks = [
        _columns(table, declared),
        Check("types", not wrong, "; ".join(wrong)),
        hygiene.definition(session, [table]),
        Check("order", True, f"reported only: {order.detail}" if order.detail else ""),
        hygiene.comments(session, table.catalog or session.catalog, [table]),
        meanings(beside.unexplained),
    ]
    if beside.path is not None:
        checks.append(container.parquet(session, [beside.path], ours=False))
    if beside.note:
        checks.append(Check("source", True, beside.note))
    return Verification(tuple(kept), tuple(checks), unique(session, table, declared.pseudonyms))


def meanings(unexplained: Mapping[str, Unexplained]) -> Check:
    """Whether every released value of a quasi-identifier has one meaning."""
    wrong = []
    for name, found in unexplained.items():
        if found.unknown:
            have = "has" if found.unknown == 1 else "have"
            wrong.append(f"{found.unknown} of {found.number} values of {name!r} {have} no meaning")
        if found.ambiguous:
            have = "has" if found.ambiguous == 1 else "have"
            wrong.append(f"{found.ambiguous} of {found.number} values of {name!r} {have} several")
    return Check("meanings", not wrong, "; ".join(wrong))


def _columns(table: Relation, declared: Declared) -> Check:
    """Whether the table has the declared columns, in whatever order, and none that is withheld."""
    wanted = {c.name.lower() for c in declared.columns}
    held_back = {name.lower() for name in declared.withheld}
    leaked = [n for n in table.names if n.lower() in held_back - wanted]
    extra = [n for n in table.names if n.lower() not in wanted | held_back]
    missing = [c.name for c in declared.columns if table.find(c.name) is None]
    wrong = [
        f"{what} {quoted(names)}"
        for what, names in (("withheld", leaked), ("missing", missing))
        if names
    ]
    wrong += hygiene.undeclared(table, extra)
    return Check("columns", not wrong, "columns " + "; ".join(wrong) if wrong else "")


def _models(
    session: Session, table: Relation, declared: Declared, beside: Beside
) -> Iterator[Promise]:
    source = beside.original.records if beside.original else None
    judged: list[Model] = list(declared.models)
    if source is None:
        judged = [m for m in judged if not (isinstance(m, OfSensitive) and m.relative)]
    found = dict(sensitive.in_records(session, table, declared, judged, source, beside.hierarchies))
    why = "not measurable without the original"
    for model in declared.models:
        if isinstance(model, OfSensitive) and model not in found:
            declared_of = map(model.declared_of, model.targets)
            found[model] = [Promise(model.model, of, why, False) for of in declared_of]
    counting = Counting(declared.null_policy, declared.subject)
    names = declared.quasi_identifiers
    told = {} if counting.subject is None else {"subject": counting.subject}
    for promise in promises.models(session, table, names, declared.models, counting, found):
        yield replace(promise, declared={**promise.declared, **told})
    if counting.subject is not None and counting.null_policy != "wildcard":
        for model in declared.models:
            if isinstance(model, KAnonymity):
                yield promises.linked(session, table, names, model, counting.subject)


def _records(session: Session, table: Relation, declared: Declared) -> Promise:
    """No more records than the original has; the missing are reported, without a limit."""
    count = select(count_rows()).from_(table.table)
    released, whole = int(session.row(count)[0]), declared.source_rows
    missing = max(whole - released, 0)
    share = missing / whole if whole else 0.0
    found = {"records": released, "suppressed": missing, "share": share}
    return Promise("released_records", {"records": f"at most {whole:,}"}, found, released <= whole)


def _truthfulness(
    session: Session, table: Relation, declared: Declared, original: Original, places: Relation
) -> Promise:
    """Whether the released records can all be records of the original, each one of its own."""
    compared: Sequence[str] = [name.lower() for name in original.compared]
    own = replace(
        declared,
        columns=tuple(c for c in declared.columns if c.name.lower() in compared),
        quasi_identifiers=tuple(q for q in declared.quasi_identifiers if q.lower() in compared),
    )
    found = matching.counted(session, table, own, original.records, places)
    invented = found.released - found.pairs
    shown = {"invented_records": invented, "compared_columns": len(own.columns)}
    wanted = {"invented_records": 0, "compared_columns": len(own.columns)}
    return Promise("truthfulness", wanted, shown, invented == 0)
