"""The dictionary of a release, built again from the hierarchies as they were declared.

The private book keeps what each value reads on each level, and the dictionary tells recipients
what released values stand for. Whoever can write one can write both: so both are held against the
specification and its files, and neither against the other.

- `hierarchies`: the book has the rows that the declared hierarchies give, and no others;
- `dictionary_rebuilt`: each entry has the bounds and the leaves that its hierarchy gives to that
  value at that level.

What a check says counts what differs, and never shows a cell: it may be anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dbdeid.engine.expressions import column, literal, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base.chosen_cells import LEVEL, read
from dbdeid.verify.base.classes import STAR
from dbdeid.verify.base.declaration import Check, Declared
from dbdeid.verify.hierarchies.levels import Ladder, Misfit, Rule, Rung, ladder

_KEPT = ("level", "value", "label", "lower", "upper")
_LISTED = ("column", "level", "released_value", "lower", "upper", "leaves")
_Entry = tuple[str | None, str | None, tuple[str, ...] | None]


def rebuilt(
    session: Session,
    declared: Declared,
    rules: Sequence[Rule],
    hierarchies: Relation,
    dictionary: Relation,
) -> tuple[Check, Check]:
    """Hold the book's hierarchies and the dictionary against what was declared.

    Args:
        session: sees the tables.
        declared: the shape of the release.
        rules: the declared hierarchies of its quasi-identifiers, and of sensitive columns.
        hierarchies: the rows of this release in `deid.hierarchies`.
        dictionary: what is published beside the release.
    """
    unlike, wrong = [], []
    listed = _entries(session, dictionary)
    for rule in rules:
        kept = _kept(session, hierarchies, rule.name)
        values = sorted({value for level, value, *_ in kept if level == 0 and value is not None})
        with_null = any(value is None for _, value, *_ in kept)
        try:
            own = ladder(session, rule, values, _merged(kept))
        except Misfit:
            unlike.append(f"{rule.name!r}: values that do not fit its hierarchy{_why(rule)}")
            continue
        found = _differences(kept, own, with_null)
        if found:
            unlike.append(f"{rule.name!r}: {_told(found)}{_why(rule)}")
        if not rule.listed:
            continue
        expected = _expected(own, with_null, mixing=declared.local)
        if rule.kind == "free":
            expected |= _chosen(listed.get(rule.name, ()), declared.free.get(rule.name, ""))
        other = _unlike(listed.get(rule.name, ()), expected)
        if other:
            wrong.append(f"{rule.name!r}: {_told(other)}{_why(rule)}")
    known = {rule.name for rule in rules if rule.listed}
    if foreign := sum(len(rows) for name, rows in listed.items() if name not in known):
        wrong.append(f"{foreign} entries of no quasi-identifier")
    return (
        Check("hierarchies", not unlike, _all("not as declared", unlike)),
        Check("dictionary_rebuilt", not wrong, _all("not as declared", wrong)),
    )


def _merged(
    kept: Sequence[tuple[int, str | None, str | None, str | None, str | None]],
) -> dict[str, str | None] | None:
    """What the book says that values read on the first of three levels."""
    if max((level for level, *_ in kept), default=0) < 2:
        return None
    return {value: label for level, value, label, *_ in kept if level == 1 and value is not None}


def _all(what: str, found: Sequence[str]) -> str:
    return f"{what}: {'; '.join(found)}" if found else ""


def _told(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in found.items() if number)


def _why(rule: Rule) -> str:
    return f" ({rule.place} has changed since the run: run it again)" if rule.changed else ""


def _kept(
    session: Session, hierarchies: Relation, name: str
) -> list[tuple[int, str | None, str | None, str | None, str | None]]:
    query = select(*map(column, _KEPT)).from_(hierarchies.table)
    return session.rows(query.where(column("hierarchy").eq(literal(name))))


def _entries(
    session: Session, dictionary: Relation
) -> dict[str, list[tuple[int, str | None, _Entry]]]:
    found: dict[str, list[tuple[int, str | None, _Entry]]] = {}
    query = select(*map(column, _LISTED)).from_(dictionary.table)
    for name, level, value, lower, upper, leaves in session.rows(query):
        told = None if leaves is None else tuple(leaves)
        found.setdefault(name, []).append((level, value, (lower, upper, told)))
    return found


def _differences(
    kept: Sequence[tuple[int, str | None, str | None, str | None, str | None]],
    own: Ladder,
    with_null: bool,
) -> Counter[str]:
    """How many rows of the book are not those of a ladder, by kind."""
    found: Counter[str] = Counter()
    seen = set()
    for level, value, label, lower, upper in kept:
        wanted = _rung(own, level, value)
        if wanted is None or (level, value) in seen:
            found["values too many"] += 1
            continue
        seen.add((level, value))
        found["labels"] += label != wanted[0]
        found["lower bounds"] += lower != wanted[1]
        found["upper bounds"] += upper != wanted[2]
    rows = sum(len(level) + with_null for level in own.levels)
    found["values too few"] += rows - len(seen)
    return +found


def _rung(
    own: Ladder, level: int, value: str | None
) -> tuple[str | None, str | None, str | None] | None:
    if not 0 <= level < len(own.levels):
        return None
    if value is None:  # blank below the top
        return (STAR if level == len(own.levels) - 1 else None), None, None
    rung = own.levels[level].get(value)
    return None if rung is None else (rung.label, rung.lower, rung.upper)


def _expected(
    own: Ladder, with_null: bool, *, mixing: bool
) -> dict[tuple[int, str | None], _Entry]:
    """What the dictionary says of each value that can be released, by its level."""
    top = len(own.levels) - 1
    held = [dict(_held(level)) for level in own.levels]
    found: dict[tuple[int, str | None], _Entry] = {}
    for number, level in enumerate(own.levels):
        rungs: dict[str, Rung] = {rung.label: rung for rung in level.values()}
        for label, rung in rungs.items():
            leaves = held[number][label]
            shown = label
            if mixing and number and any(own_.get(label, leaves) != leaves for own_ in held):
                shown = f"{label}@{number}"  # it holds other values on another level
            told = leaves if own.leaves is not None else None
            found[number, shown] = (rung.lower, rung.upper, told)
        if with_null:
            found.setdefault((number, STAR if number == top else None), (None, None, None))
    return found


def _chosen(
    entries: Sequence[tuple[int, str | None, _Entry]], kind: str
) -> dict[tuple[int, str | None], _Entry]:
    """What the labels of intervals and sets say that the dictionary lists."""
    found: dict[tuple[int, str | None], _Entry] = {}
    for level, label, _ in entries:
        own = None if label is None or level != LEVEL else read(label, kind)
        if own is not None:
            found[level, label] = (own.lower, own.upper, own.leaves)
    return found


def _held(level: Mapping[str, Rung]) -> Iterator[tuple[str, tuple[str, ...]]]:
    held: dict[str, list[str]] = {}
    for value, rung in level.items():
        held.setdefault(rung.label, []).append(value)
    yield from ((label, tuple(sorted(values))) for label, values in held.items())


def _unlike(
    entries: Sequence[tuple[int, str | None, _Entry]],
    expected: Mapping[tuple[int, str | None], _Entry],
) -> Counter[str]:
    """How many entries of the dictionary are not those of a ladder, by kind."""
    found: Counter[str] = Counter()
    seen = set()
    for level, value, (lower, upper, leaves) in entries:
        wanted = expected.get((level, value))
        if wanted is None or value in seen:
            found["values that its hierarchy does not have at their level"] += wanted is None
            found["values listed twice"] += value in seen
            continue
        seen.add(value)
        found["lower bounds"] += lower != wanted[0]
        found["upper bounds"] += upper != wanted[1]
        found["leaves"] += leaves != wanted[2]
    return +found
