"""Whether the values of a column agree with what its name says, and what they say themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from dbdeid.data.shelf import tables
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.profiling import column_names as names
from dbdeid.profiling.detect import SURE, DetectedColumn
from dbdeid.profiling.suggest import column_groups, hierarchies

OFTEN = 5  # records to a value: fewer are not repeated over many people
CODE = 3  # characters of a code: longer texts may be words, and words names
LEAST_DIGITS = 5  # of numbers of one length, as of telephones, accounts or records


@dataclass(frozen=True, slots=True)
class Values:
    """What the values of a column say.

    Attributes:
        agree: they are few, are repeated, and are codes, bands or words that lists know; numbers
            are looked at elsewhere.
        list: the list that knows most of them, as `marital_status`; None: none does.
        of_persons: of what others may know of a person, whatever the column is called.
        countries: the shelf knows them as countries.
    """

    agree: bool = False
    list: str | None = None
    of_persons: bool = False
    countries: bool = False


NOTHING = Values()


def values_of(session: Session, table: Relation, found: DetectedColumn) -> Values:
    """What the values of a column of texts say; nothing where there are many, or rare ones."""
    family = found.column.family
    if family not in ("text", "enum") or found.kind in ("free_text", "other"):
        return NOTHING
    if not 0 < found.distinct <= hierarchies.MANY_VALUES:
        return NOTHING
    counted = dict(hierarchies.values_of(session, table, found))
    countries = found.kind == "country" and hierarchies.known(list(counted), "countries")
    if found.distinct > hierarchies.MOST_LISTED or found.known < OFTEN * found.distinct:
        return Values(countries=countries)
    listed = column_groups.list_of(found.name, counted)
    codes = all(len(value.strip()) <= CODE for value in counted)
    agree = codes or listed is not None or column_groups.known_share(found.name, counted) >= SURE
    return Values(agree, listed, listed in column_groups.OF_PERSONS, countries)


def numbers(found: DetectedColumn) -> bool:
    """Whether a column numbers persons or records, by its name or the shape of its values."""
    name = found.name
    if found.column.family in ("text", "enum"):
        return True  # of so many texts each is as good as a number
    if names.of_person(name) or names.of_event_number(name) or names.of_records(name):
        return True
    if not found.whole or found.low is None or found.high is None:
        return False
    if names.of_count(name) or names.of_secret(name) or names.of_weight(name) or of_measure(name):
        return False
    if found.low < 0:
        return False
    in_order = found.high - found.low < 1.05 * found.distinct
    length = len(f"{found.low:.0f}")
    return in_order or (length >= LEAST_DIGITS and length == len(f"{found.high:.0f}"))


def of_counts(name: str) -> bool:
    """Whether a name counts things; `num_portal` and `n_civ` number a house.

    >>> of_counts("num_procedures"), of_counts("num_portal")
    (True, False)
    """
    said = names.words(name)
    return names.counts(name) and (said.endswith("s") or said.startswith(("anzahl", "aantal")))


def of_measure(name: str) -> bool:
    """Whether a name is of a laboratory value, a vital sign or a score.

    >>> of_measure("serum_creatinine"), of_measure("street")
    (True, False)
    """
    parts = [part.rstrip("0123456789") or part for part in names.words(name).split("_")]
    said = {
        *parts,
        names.words(name),
        *(f"{a}_{b}" for a, b in pairwise(parts)),
    }
    return bool(said & _measures())


@cache
def _measures() -> frozenset[str]:
    return frozenset(row["word"] for row in tables.read("measures.csv"))


def of_disease(name: str, listed: str) -> bool:
    """Whether a name and a list are both of how a disease is, or ended."""
    said = {*names.words(name).split("_")}
    return bool(said & _OF_DISEASES.get(listed, frozenset()))


_OF_DISEASES: Mapping[str, frozenset[str]] = {
    "stage": frozenset(("stage", "stadium", "stade", "estadio", "stadio", "estagio", "ajcc")),
    "tumor_grade": frozenset(("grade", "grading", "grado", "grad", "graad", "grau")),
    "tumor_size": frozenset(("tumor", "tumour", "t", "ct", "pt", "size")),
    "vital_status": frozenset(
        (
            *("status", "vital", "vitalstatus", "vitalstat", "alive", "dead", "outcome", "stato"),
            *("statut", "estado", "vitale", "overlijden"),
        )
    ),
}
