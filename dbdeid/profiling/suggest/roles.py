"""Proposing a role for every column of which something is known, and asking about the others.

A column gets a role where its name says what it is and its values agree, or where its values alone
leave no doubt. What leads to a person directly is withheld. Nothing becomes sensitive or
insensitive, and so leaves as it is, because nothing is known of it: its owner is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from dbdeid.data.hierarchy import TOP
from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.expressions import cast, column, count_where, literal, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.profiling import column_names as names
from dbdeid.profiling.date_precision import date_differences
from dbdeid.profiling.detect import IDENTIFYING, DetectedColumn
from dbdeid.profiling.possible_identifiers import BIRTHS, INSIDE, direct, doubts, look
from dbdeid.profiling.suggest import agreement, hierarchies, role_costs, subject_columns
from dbdeid.profiling.suggest.agreement import Values
from dbdeid.profiling.suggest.role_costs import Distinctness, Uniqueness

Role = Literal["identifier", "drop", "quasi_identifier", "sensitive", "insensitive", "undecided"]

OFTEN = 10  # records a value must have for two columns not to agree by chance
DIVERSE = 0.8  # no value has more of the records: two in every class cost what can be borne
TELLS = 0.5  # share of the records whose value nobody else has: the column leads to persons
NUMBERED = 0.9  # of them, that a column has which numbers persons

OF_A_PERSON = "why can nobody outside know it of a person?"
OF_ONE_VALUE = (
    "why may all records that look alike share one value, which then is no secret? If they may "
    "not, take accept away and add l_diversity"
)
NONE_IS_KNOWN = (
    "a release needs a column that others may know, and none looks like one: is it this?"
)
OF_A_NUMBER = "why can nobody have so exact a number from elsewhere?"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a draft says of one column.

    Attributes:
        found: what the column is.
        role: that it is given; undecided: its owner is asked.
        why: as a clause, without any value of the column.
        hierarchy: of a quasi-identifier, as a spec writes it.
        min_level: that the release starts at.
        domain: of a quasi-identifier: values that its dictionary may list.
        diverse: of a sensitive column: its values are so various that a model costs little.
        questions: that only its owner can answer, in `reason`.
        telling: how far it tells persons apart; None of a column that is withheld for certain.
    """

    found: DetectedColumn
    role: Role
    why: str
    hierarchy: Json = None
    min_level: int = 0
    domain: tuple[str, ...] = ()
    diverse: bool = False
    questions: tuple[str, ...] = ()
    telling: Distinctness | None = None

    @property
    def entry(self) -> JsonObject:
        """The column as a spec writes it."""
        entry: JsonObject = {"role": self.role}
        if self.role == "quasi_identifier":
            family = self.found.column.family
            if family in NUMBERS and self.found.kind == "code":
                entry["type"] = "categorical"
            entry["hierarchy"] = self.hierarchy
            if self.min_level:
                entry["min_level"] = self.min_level
            if self.domain:
                entry["domain"] = list(self.domain)
        if OF_ONE_VALUE in self.questions:
            entry["accept"] = "homogeneity"
        if self.questions:
            entry["reason"] = ""
        return entry


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a draft says of a table.

    Attributes:
        columns: in the order of the table.
        subjects: columns that may tell whose record a record is; several: the owner is asked.
        uniqueness: how many records are unique; None without a quasi-identifier.
    """

    columns: tuple[Proposal, ...]
    subjects: tuple[DetectedColumn, ...] = ()
    uniqueness: Uniqueness | None = None

    @property
    def subject(self) -> DetectedColumn | None:
        """The column that says whose each record is; None: there is none, or several may."""
        return self.subjects[0] if len(self.subjects) == 1 else None

    @property
    def undecided(self) -> tuple[str, ...]:
        """The names of the columns whose role the owner must decide."""
        return tuple(p.found.name for p in self.columns if p.role == "undecided")

    @property
    def unexplained(self) -> tuple[str, ...]:
        """The names of the columns for which the owner must give a reason."""
        return tuple(p.found.name for p in self.columns if p.questions)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one column beside what it is."""

    values: Values
    telling: Distinctness
    doubt: str
    subject: bool
    difference: str


def propose(session: Session, table: Relation, found: Sequence[DetectedColumn]) -> Proposals:
    """A role for every column of a table of which something is known, and what the others cost."""
    seen = look(session, table, found)
    found = direct(session, table, found, seen)
    subjects = subject_columns.candidates(session, table, found)
    subject = subjects[0] if len(subjects) == 1 else None
    doubtful = doubts(found, seen)
    looked_at = [f for f in found if f.kind != "other"]
    told = role_costs.distinctness(session, table, looked_at, subject)
    spans = {
        name: f"the time from {one} to {other}, which tells both"
        for name, (one, other) in date_differences(session, table, found).items()
    }
    first = []
    for f in found:
        tells = told.get(f.name, Distinctness(0.0, 1.0))
        values = agreement.values_of(session, table, f)
        mine = any(f.name == one.name for one in subjects)
        known = _Known(values, tells, doubtful.get(f.name, ""), mine, spans.get(f.name, ""))
        first.append(replace(_asked(_first(f, known), known), telling=tells))
    proposals = list(_once(session, table, first))
    laddered = [_laddered(session, table, p) for p in proposals]
    done = tuple(_diversified(laddered))
    chosen = [p.found for p in done if p.role == "quasi_identifier"]
    open_ones = [p.found for p in done if p.role == "undecided"]
    unique = role_costs.uniqueness(session, table, chosen, open_ones, subject)
    return Proposals(done, subjects, unique)


def _asked(p: Proposal, known: _Known) -> Proposal:
    """The same, but undecided where it would leave as it is and leads to persons, or may."""
    if p.role not in ("sensitive", "insensitive"):
        return p
    if known.telling.alone > TELLS:
        return replace(p, role="undecided", why=f"{p.why}; {_tells(known)}", questions=())
    if known.doubt and not names.counts(p.found.name):
        return replace(p, role="undecided", why=f"{p.why}; {known.doubt}", questions=())
    return p


def _tells(known: _Known) -> str:
    return f"{per_cent(known.telling.alone)} of the records have a value nobody else has"


def _first(found: DetectedColumn, known: _Known) -> Proposal:
    """The role by what the column is, what its name says, and whether its values agree."""
    for rule in (_withheld, _by_kind, _by_list, _by_name):
        proposal = rule(found, known)
        if proposal is not None:
            return proposal
    return _open(found, known)


def _withheld(found: DetectedColumn, known: _Known) -> Proposal | None:
    """What leads to a person directly, and what nothing can be made of."""
    kind = found.kind
    if kind in IDENTIFYING and (kind != "unique" or agreement.numbers(found)):
        mine = " (it may tell whose record it is)" if known.subject else ""
        return Proposal(found, "identifier", found.reason + mine)
    if kind == "unique":
        return Proposal(found, "undecided", f"{found.reason}, and it may be a measurement")
    if kind == "other":
        return Proposal(found, "drop", found.reason)
    if kind == "free_text":
        return Proposal(found, "drop", f"{found.reason}, and a text may name anyone")
    if found.known == 0:
        return Proposal(found, "drop", "it has no values")
    plain = kind in ("text", "code")
    if plain and known.doubt in INSIDE.values():
        return Proposal(found, "drop", f"it seems to hold {known.doubt}")
    numbering = kind in ("text", "code", "number") and agreement.numbers(found)
    if numbering and known.telling.alone > NUMBERED:
        return Proposal(found, "identifier", _tells(known))
    return None


def _by_kind(found: DetectedColumn, known: _Known) -> Proposal | None:
    """What others know by what it is: dates, ages, places; and diagnoses, which they must not."""
    kind = found.kind
    if kind in _KNOWN_KINDS and _agrees_with_kind(found, known):
        return Proposal(found, "quasi_identifier", found.reason)
    if known.difference:
        return Proposal(found, "quasi_identifier", known.difference)
    if known.doubt == BIRTHS:
        return Proposal(found, "quasi_identifier", BIRTHS)
    if kind in ("icd9", "icd10"):
        why = "a diagnosis must not be learned; if others may know it: quasi_identifier with "
        why += f"hierarchy: {{shelf: {kind}}}"
        return Proposal(found, "sensitive", f"{found.reason}; {why}")
    if found.distinct == 1 and found.known == found.records:
        ask = (OF_A_PERSON,) if found.column.family in NUMBERS else ()
        if ask or known.values.agree:
            why = "it says the same of every record"
            return Proposal(found, "insensitive", why, questions=ask)
    return None


_KNOWN_KINDS = ("date", "timestamp", "year", "zip", "postcode", "place", "age", "country")


def _agrees_with_kind(found: DetectedColumn, known: _Known) -> bool:
    """Whether values may be what a name says: texts of ages are bands, of countries on a list."""
    if found.column.family not in ("text", "enum"):
        return True
    if found.kind == "age":
        return known.values.agree
    # nationalities have many forms; as a quasi-identifier nothing of a rare text leaves
    repeated = found.distinct <= hierarchies.MANY_VALUES and found.distinct * OFTEN <= found.known
    return found.kind != "country" or repeated or known.values.agree or known.values.countries


def _by_list(found: DetectedColumn, known: _Known) -> Proposal | None:
    """What its values say by themselves, as those of marital status do."""
    values = known.values
    if values.list is None or not values.agree:
        return None
    what = values.list.replace("_", " ")
    if values.of_persons and not names.of_secret(found.name):
        return Proposal(found, "quasi_identifier", f"values of {what}, which others may know")
    if agreement.of_disease(found.name, values.list):
        why = f"its name and its values are of {what}, which must not be learned"
        return Proposal(found, "sensitive", why)
    if values.list in ("day_of_week", "month"):
        return Proposal(found, "quasi_identifier", f"values of {what}, which others may know")
    return None


def _by_name(found: DetectedColumn, known: _Known) -> Proposal | None:
    """What its name says, where its values agree."""
    name, number = found.name, found.column.family in NUMBERS
    if not (number or found.column.family == "boolean" or known.values.agree):
        return None
    if names.of_weight(name):
        return None  # of a survey, unless it is what somebody weighs
    if names.of_visits(name) and number:
        why = "how often, over a time, only who treats or pays knows; if others may know it of a "
        return Proposal(
            found, "insensitive", f"{why}person: quasi_identifier", questions=(OF_A_PERSON,)
        )
    if names.of_secret(name) and not names.counts(name):
        ask = (OF_A_NUMBER,) if _fine(found) else ()
        return Proposal(
            found, "sensitive", "its name says that it must not be learned", questions=ask
        )
    if agreement.of_measure(name) and number:
        return Proposal(
            found, "insensitive", "its name is of a measurement", questions=(OF_A_PERSON,)
        )
    if names.of_person_known(name) or names.of_visit_known(name):
        what = "a person" if names.of_person_known(name) else "a visit"
        return Proposal(found, "quasi_identifier", f"others may know it of {what}")
    if agreement.of_counts(name) and number:
        return Proposal(found, "insensitive", "its name is of a count", questions=(OF_A_PERSON,))
    return None


def _fine(found: DetectedColumn) -> bool:
    """Whether a number has so many values that it singles records out."""
    number = found.kind == "number"
    return number and found.known > hierarchies.FEW_RECORDS and found.distinct > TELLS * found.known


def _open(found: DetectedColumn, known: _Known) -> Proposal:
    """A column that is not decided on, and why."""
    said = [known.doubt] if known.doubt else []
    if known.telling.alone > TELLS:
        said.append(_tells(known))
    named = (
        names.of_person_known(found.name)
        or names.of_visit_known(found.name)
        or names.of_secret(found.name)
    )
    if named and not said:
        said.append("its name is known, and its texts are on no list")
    return Proposal(found, "undecided", "; ".join(said) or "nothing is known of it")


def _once(session: Session, table: Relation, some: Sequence[Proposal]) -> Iterator[Proposal]:
    """A column that says the same as another quasi-identifier in other words is left out."""
    compared = [
        p.found
        for p in some
        if p.role == "quasi_identifier"
        and p.found.kind in ("code", "text", "number")  # not what is known by its kind
        and 2 < p.found.distinct <= min(hierarchies.MANY_VALUES, p.found.known / OFTEN)
    ]
    twins: dict[str, str] = {}
    for one, other in combinations(compared, 2):
        if subject_columns.same(session, table, one, other):
            text = other if other.column.family == "text" and one.column.family != "text" else one
            gone = one if text is other else other
            twins.setdefault(gone.name, text.name)
    for p in some:
        twin = twins.get(p.found.name)
        yield replace(p, role="drop", why=f"it says the same as {twin}") if twin else p


def _laddered(session: Session, table: Relation, p: Proposal) -> Proposal:
    if p.role != "quasi_identifier":
        return p
    if _has_top(session, table, p.found):
        why = f"a value reads {TOP!r}, as suppressed ones do; to release it, recode that in "
        return replace(p, role="drop", why=why + "`source: {sql: …}`")
    ladder = hierarchies.of(session, table, p.found)
    why = f"{p.why}; {ladder.why}" if ladder.why else p.why
    return replace(
        p,
        hierarchy=ladder.hierarchy,
        min_level=ladder.min_level,
        domain=ladder.domain,
        why=why,
    )


def _has_top(session: Session, table: Relation, found: DetectedColumn) -> bool:
    if found.column.family not in ("text", "enum"):
        return False
    same = cast(column(found.name), "VARCHAR").eq(literal(TOP))
    return bool(session.row(select(count_where(same)).from_(table.table))[0])


def _diversified(some: Sequence[Proposal]) -> Iterator[Proposal]:
    """Sensitive columns whose values are various get a model; of a family all or none."""
    various = {p.found.name: _various(p) for p in some if p.role == "sensitive"}
    same = {names.stem(name) for name, is_so in various.items() if not is_so} - {None}
    for p in some:
        if p.role != "sensitive":
            yield p
        elif various[p.found.name] and names.stem(p.found.name) not in same:
            yield replace(p, diverse=True)
        else:
            yield replace(p, questions=(OF_ONE_VALUE, *p.questions))


def _various(p: Proposal) -> bool:
    known = p.found.distinct - p.found.placeholders  # a model counts no text that says nothing
    return known > 1 and p.telling is not None and p.telling.most < DIVERSE


def asking(proposals: Proposals) -> Proposals:
    """The same with a question at least: a release needs a column that others may know.

    Where no column is a quasi-identifier or undecided, the likeliest are asked about: those that
    would leave as they are; else those that are left out; else what identifies the fewest.
    """
    roles = {p.role for p in proposals.columns}
    if roles & {"quasi_identifier", "undecided"}:
        return proposals
    likeliest = (("insensitive",), ("sensitive",), ("drop",), ("identifier",))
    for some in likeliest:
        asked = [p for p in proposals.columns if p.role in some and p.found.kind != "other"]
        asked = [p for p in asked if p.found.distinct] or asked
        if asked:
            break
    else:
        return proposals
    if some in (("drop",), ("identifier",)):
        asked = [min(asked, key=lambda p: p.found.distinct)]
    names_ = {p.found.name for p in asked}
    return replace(
        proposals,
        columns=tuple(_to_ask(p) if p.found.name in names_ else p for p in proposals.columns),
    )


def _to_ask(p: Proposal) -> Proposal:
    why = f"{p.why}; {NONE_IS_KNOWN}"
    return replace(p, role="undecided", why=why, diverse=False, questions=())


def costs_of(p: Proposal, unique: Uniqueness | None) -> str:
    """What each role of an undecided column would cost, in one sentence."""
    told = p.telling or Distinctness(0.0, 1.0)
    known = "others may know it"
    if unique is not None:
        joined = per_cent(unique.joined[p.found.name])
        known = f"{joined} of the records are unique ({per_cent(unique.now)} without it)"
    cost = "can be borne" if told.most < DIVERSE else "costs much"
    return (
        f"as quasi_identifier {known}; as sensitive l = 2 {cost} (most frequent value: "
        f"{per_cent(told.most)}); as insensitive it singles out {per_cent(told.alone)} of the "
        "records alone; as drop its detail is lost"
    )


def per_cent(share: float) -> str:
    """A share as per cent; what is not nothing is not shown as nothing, nor all that is not."""
    if 0 < share < 0.001:
        return "<0.1%"
    return ">99.9%" if 0.999 < share < 1 else f"{share:.1%}".replace(".0%", "%")
