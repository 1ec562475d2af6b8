"""Proposing a role for every column: what a custodian would be expected to correct, not to write.

What others may know of a person is a quasi-identifier, and so is what nothing is known of, as long
as there are few. What must not be learned is sensitive. What is measured or counted inside the
house is released as it is, unless its numbers are so fine that they would single records out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from sqlglot import exp

from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import NUMBERS, Relation, cast, column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.release import column_names as names
from dbdeid.release import ladders
from dbdeid.release.detect import IDENTIFYING, Found, subject_of
from dbdeid.release.lookalikes import BIRTHS, INSIDE, doubts

Role = Literal["identifier", "drop", "quasi_identifier", "sensitive", "insensitive"]

# Quasi-identifiers from which on columns that nothing is known of are no longer made one: every
# further one takes from the detail of all.
ENOUGH = 6
# A number with more distinct values than this share of its records singles records out.
FINE = 0.5
# Columns with the same few values are items of one list, as the drugs a patient takes.
ITEMS = 5
OFTEN = 10  # records a value must have for two columns not to agree by chance
DIVERSE = 0.8  # no value has more of the records: two in every class cost what can be borne


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a draft says of one column.

    Attributes:
        found: what the column is.
        role: that it is given.
        why: as a clause, without any value of the column.
        hierarchy: of a quasi-identifier, as a spec writes it.
        min_level: that the release starts at.
        diverse: of a sensitive column: its values are so various that a model costs little.
        by_name: its name says that it is a quasi-identifier.
    """

    found: Found
    role: Role
    why: str
    hierarchy: Any = None
    min_level: int = 0
    diverse: bool = False
    by_name: bool = False

    @property
    def entry(self) -> dict[str, Any]:
        """The column as a spec writes it."""
        entry: dict[str, Any] = {"role": self.role}
        if self.role == "quasi_identifier":
            family = self.found.column.family
            if family in NUMBERS and self.found.kind == "code":
                entry["type"] = "categorical"
            entry["hierarchy"] = self.hierarchy
            if self.min_level:
                entry["min_level"] = self.min_level
        elif self.role == "sensitive":
            if not self.diverse:
                entry["accept"] = "homogeneity"
            if _too_fine(self.found):
                entry["reason"] = "not looked at yet: taken for too exact to be known outside"
        elif self.role == "insensitive" and self.found.column.family in NUMBERS:
            entry["reason"] = "not looked at yet: taken for what outsiders do not know"
        return entry


def propose(session: Session, table: Relation, found: Sequence[Found]) -> tuple[Proposal, ...]:
    """A role for every column of a table, and hierarchies for its quasi-identifiers."""
    subject = subject_of(found)
    items = _items(session, table, found)
    doubtful = doubts(session, table, found)
    first = [_doubted(_first(f, subject, f.name in items), doubtful.get(f.name, "")) for f in found]
    proposals = list(_enough(list(_families(first))))
    if not any(p.role == "quasi_identifier" for p in proposals):
        proposals = [_rather_known(p) for p in proposals]
    proposals = list(_once(session, table, proposals))
    done = [_laddered(session, table, p) for p in proposals]
    return tuple(_diversified(session, table, done))


def _doubted(p: Proposal, doubt: str) -> Proposal:
    """The same, but years as of births are known, and texts that tell of persons are left out."""
    if doubt == BIRTHS and p.role == "insensitive":
        return replace(p, role="quasi_identifier", why=doubt, by_name=True)
    plain = p.found.kind in ("text", "code") and p.role not in ("identifier", "drop")
    if not plain or doubt not in INSIDE.values():
        return p
    return replace(p, role="drop", why=f"it seems to hold {doubt}")


def _first(found: Found, subject: Found | None, item: bool) -> Proposal:
    """The role by what the column is and what its name says."""
    name, kind = found.name, found.kind
    if kind in IDENTIFYING:
        mine = subject is not None and name == subject.name
        return Proposal(found, "identifier", found.reason + (" (the subject)" if mine else ""))
    if kind == "other":
        return Proposal(found, "drop", found.reason)
    if kind == "free_text":
        return Proposal(found, "drop", f"{found.reason}, and a text may name anyone")
    if found.known == 0:
        return Proposal(found, "drop", "it has no values")
    if kind in _KNOWN_KINDS:
        return Proposal(found, "quasi_identifier", found.reason, by_name=True)
    if kind in ("icd9", "icd10"):
        why = "a diagnosis must not be learned; if others may know it: quasi_identifier with "
        why += f"hierarchy: {{shelf: {kind}}}"
        return Proposal(found, "sensitive", f"{found.reason}; {why}")
    if found.distinct == 1:
        return Proposal(found, "insensitive", "it says the same of every record")
    if names.of_secret(name) and not names.counts(name):
        why = "its name says that it must not be learned"
        if _too_fine(found):
            why += "; who has so fine a number from elsewhere finds the record: round it in "
            why += "`source: {sql: …}`"
        return Proposal(found, "sensitive", why)
    if _too_fine(found):
        why = "so many numbers single records out for who has them from elsewhere"
        return Proposal(found, "drop", f"{why}; to release it, round it in `source: {{sql: …}}`")
    if names.of_visits(name):
        why = "how often, over a time, only who treats or pays knows; if others may know it of a "
        return Proposal(found, "insensitive", f"{why}person: quasi_identifier")
    if names.of_count(name) and found.column.family in NUMBERS and not _seen(name):
        return Proposal(found, "insensitive", "a count or measure that outsiders do not know")
    if _seen(name):
        what = "a person" if names.of_person_known(name) else "a visit"
        return Proposal(found, "quasi_identifier", f"others may know it of {what}", by_name=True)
    if item:
        why = "one of several columns with the same few values, which outsiders hardly know"
        return Proposal(found, "insensitive", why)
    if kind == "number" and found.column.family in NUMBERS:
        return Proposal(found, "insensitive", "taken for a measurement that outsiders do not know")
    return Proposal(found, "quasi_identifier", "nothing is known of it, so others might know it")


_KNOWN_KINDS = ("date", "timestamp", "year", "zip", "postcode", "place", "age", "country")


def _seen(name: str) -> bool:
    return names.of_person_known(name) or names.of_visit_known(name)


def _too_fine(found: Found) -> bool:
    number = found.kind == "number"
    return number and found.known > ladders.FEW_RECORDS and found.distinct > FINE * found.known


def _items(session: Session, table: Relation, found: Sequence[Found]) -> frozenset[str]:
    """Columns whose few values are those of many others, or some of them."""
    few = [f for f in found if f.kind in ("text", "code") and 0 < f.distinct <= ladders.FEW_VALUES]
    values = {f.name: frozenset(v for v, _ in ladders.values_of(session, table, f)) for f in few}
    alike = {
        name: [n for n, others in values.items() if others <= mine and len(others) > 1]
        for name, mine in values.items()
    }
    return frozenset(n for some in alike.values() if len(some) >= ITEMS for n in some)


def _families(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Columns of one family, as `pay_0` to `pay_6`, have the role that most of them have."""
    families: dict[str, list[Proposal]] = {}
    for p in proposals:
        if p.role in _OF_FAMILIES and (stem := names.stem(p.found.name)) is not None:
            families.setdefault(stem, []).append(p)
    chosen = {}
    for stem, some in families.items():
        roles = [p.role for p in some]
        role = max(_OF_FAMILIES, key=roles.count)  # the first of those that are as frequent
        chosen[stem] = next(p for p in some if p.role == role)
    for p in proposals:
        like = chosen.get(names.stem(p.found.name) or "")
        if like is None or p.role not in _OF_FAMILIES or p.role == like.role:
            yield p
        else:
            yield replace(p, role=like.role, why=f"as {like.found.name}", by_name=like.by_name)


# What the columns of a family may be, the most careful first.
_OF_FAMILIES: tuple[Role, ...] = ("quasi_identifier", "sensitive", "drop", "insensitive")


def _enough(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Columns that nothing is known of are quasi-identifiers only while there are few of these."""
    count = sum(p.by_name for p in proposals)
    for p in proposals:
        if p.role != "quasi_identifier" or p.by_name:
            yield p
        elif count < ENOUGH:
            count += 1
            yield p
        else:
            why = (
                "nothing is known of it, and there are enough quasi-identifiers; if others may "
                "know it of a person: quasi_identifier"
            )
            yield replace(p, role="sensitive", why=why)


def _rather_known(proposal: Proposal) -> Proposal:
    """Where no column looks like one that others know, all but secrets are taken for known."""
    if proposal.role != "insensitive" or proposal.found.distinct < 2:  # secrets stay secrets
        return proposal
    why = "no column looks like one that others know, so this one might be"
    return replace(proposal, role="quasi_identifier", why=why)


def _once(session: Session, table: Relation, some: Sequence[Proposal]) -> Iterator[Proposal]:
    """A column that says the same as another quasi-identifier in other words is left out."""
    compared = [
        p.found
        for p in some
        if p.role == "quasi_identifier"
        and p.found.kind in ("code", "text", "number")  # not what is known by its kind
        and 2 < p.found.distinct <= min(ladders.MANY_VALUES, p.found.known / OFTEN)
    ]
    twins: dict[str, str] = {}
    for one, other in combinations(compared, 2):
        if one.distinct == other.distinct and _same(session, table, one, other):
            text = other if other.column.family == "text" and one.column.family != "text" else one
            gone = one if text is other else other
            twins.setdefault(gone.name, text.name)
    for p in some:
        twin = twins.get(p.found.name)
        yield replace(p, role="drop", why=f"it says the same as {twin}") if twin else p


def _same(session: Session, table: Relation, one: Found, other: Found) -> bool:
    pairs = exp.select(column(one.name), column(other.name)).distinct().from_(table.table)
    counted = exp.select(exp.Count(this=exp.Star())).from_(pairs.subquery("pairs"))
    return int(session.row(counted)[0]) == one.distinct


def _laddered(session: Session, table: Relation, p: Proposal) -> Proposal:
    if p.role != "quasi_identifier":
        return p
    if _has_top(session, table, p.found):
        why = f"a value reads {TOP!r}, as suppressed ones do; to release it, recode that in "
        return replace(p, role="drop", why=why + "`source: {sql: …}`")
    ladder = ladders.of(session, table, p.found)
    why = f"{p.why}; {ladder.why}" if ladder.why else p.why
    return replace(p, hierarchy=ladder.hierarchy, min_level=ladder.min_level, why=why)


def _has_top(session: Session, table: Relation, found: Found) -> bool:
    if found.column.family not in ("text", "enum"):
        return False
    same = exp.EQ(this=cast(column(found.name), "VARCHAR"), expression=exp.convert(TOP))
    return bool(session.row(exp.select(exp.CountIf(this=same)).from_(table.table))[0])


def _diversified(session: Session, table: Relation, some: Sequence[Proposal]) -> Iterator[Proposal]:
    """Sensitive columns whose values are various get a model; of a family all or none."""
    various = {p.found.name: _various(session, table, p.found) for p in some if p.role == _SECRET}
    same = {names.stem(name) for name, is_so in various.items() if not is_so} - {None}
    for p in some:
        diverse = various.get(p.found.name, False) and names.stem(p.found.name) not in same
        yield replace(p, diverse=True) if diverse else p


_SECRET: Role = "sensitive"


def _various(session: Session, table: Relation, found: Found) -> bool:
    query = step("greatest_share", {"rel": table}, {"col": [found.name]})
    return found.distinct > 1 and float(session.row(query)[0]) < DIVERSE
