"""What the names of columns say, in seven languages: of persons, of given numbers, of measures.

The words are a table, `column_words.csv`, read when the first name is asked about. A name is taken
apart into its parts, without accents and capital letters, and each run of parts is looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Literal, get_args

from dbdeid.data.shelf import tables

_Direct = Literal[
    "mail",
    "url",
    "ip",
    "ssn",
    "phone",
    "biometric",
    "image",
    "record_number",
    "address",
    "person_name",
]
# Names alone are enough for these, in this order: an e-mail address is no address.
DIRECT: tuple[_Direct, ...] = get_args(_Direct)

# Of two of these the longer words count: `nome da rua` is a street, and no name.
_KINDS = frozenset(
    (
        *(*DIRECT, "house_number", "physician", "age", "year", "date", "zip", "postcode", "place"),
        *("country", "diagnosis", "free_text", "marital", "sex"),
    )
)
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


@cache
def words(name: str) -> str:
    """A name as its words in small letters without accents: `patientNbr` is `patient_nbr`."""
    return "_".join(part.lower() for part in _BOUNDARY.split(_folded(name)) if part)


def _folded(text: str) -> str:
    """A text without accents; ß is ss."""
    apart = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ẞ", "SS"))
    return "".join(c for c in apart if not unicodedata.combining(c))


# -- the table -------------------------------------------------------------------------------------

_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue"}
_NO_END: frozenset[int] = frozenset()
_PARTS_IN_ONE = 6  # parts of a name that are one word of the table, at most


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of the table: how each may be written, and what it is of.

    Attributes:
        known: of each word, glued, what it is of, and where its parts end.
        whole: the same of those that are the whole name.
        open: patterns of those with a star, on the parts of a name.
    """

    known: Mapping[str, Mapping[str, frozenset[int]]]
    whole: Mapping[str, Mapping[str, frozenset[int]]]
    open: Mapping[str, re.Pattern[str]]


@cache
def _table() -> _Words:
    known: dict[str, dict[str, frozenset[int]]] = {}
    whole: dict[str, dict[str, frozenset[int]]] = {}
    starred: dict[str, list[str]] = {}
    plain: dict[str, set[str]] = {}
    for row in tables.read("column_words.csv"):
        plain.setdefault(row["concept"], set()).update(row["words"].split("|"))
    plain.setdefault("person_number", set()).update(_numbers(plain["person"], plain["number"]))
    plain["event_number"] = {f"{e} {n}" for e in plain["event"] for n in plain["number"]}
    plain["event_number"] |= {f"{n} {e}" for e in plain["event"] for n in ("id", "numero")}
    for concept, some in plain.items():
        for word in some:
            for spelled in _spellings(word):
                if "*" in spelled:
                    starred.setdefault(concept, []).append(spelled)
                else:
                    parts = spelled.removeprefix("=").split()
                    of = whole if spelled.startswith("=") else known
                    allowed = of.setdefault("".join(parts), {})
                    allowed[concept] = allowed.get(concept, _NO_END) | _ends(parts)
    return _Words(known, whole, {c: _pattern(some) for c, some in starred.items()})


def _numbers(persons: set[str], numbers: set[str]) -> Iterator[str]:
    """Numbers of persons, in any order; `number of patients` would be a count."""
    for person in persons:
        for number in numbers:
            yield f"{person} {number}"
            yield f"{number} of {person}"
            if not person.endswith("s"):
                yield f"{number} {person}"


def _spellings(word: str) -> set[str]:
    """Umlauts are written as two letters, or without their dots."""
    if word.isascii():
        return {word}
    long = "".join(_UMLAUTS.get(c, c) for c in word)
    return {_folded(word).lower(), _folded(long).lower()}


def _ends(parts: list[str]) -> frozenset[int]:
    """After how many letters a part ends."""
    return frozenset(accumulate(map(len, parts)))


def _pattern(some: list[str]) -> re.Pattern[str]:
    """Words with a star, which stands for any letters, or for a part where it is alone."""
    parts = (
        "_".join("[a-z0-9_]+" if p == "*" else p.replace("*", "[a-z0-9]*") for p in word.split())
        for word in some
    )
    return re.compile(rf"(?:^|_)(?:{'|'.join(parts)})(?:_?[0-9]+)?(?:$|_)")


@cache
def concepts(name: str) -> frozenset[str]:
    """All that a name may be of, by the table: `sex`, `person_name`, `postcode?`."""
    table, said = _table(), words(name)
    found = {(0, said.count("_") + 1, c) for c in _looked_up(said.split("_"), table.whole)}
    parts = said.split("_")
    for first in range(len(parts)):
        for last in range(first + 1, min(len(parts), first + _PARTS_IN_ONE) + 1):
            found |= {(first, last, c) for c in _looked_up(parts[first:last], table.known)}
    told = {c for first, last, c in found if c not in _KINDS or not _longer(first, last, found)}
    return frozenset(told | {c for c, pattern in table.open.items() if pattern.search(said)})


def _longer(first: int, last: int, found: set[tuple[int, int, str]]) -> bool:
    """Whether other words hold these and more."""
    return any(
        a <= first and last <= b and b - a > last - first and kind in _KINDS for a, b, kind in found
    )


def _looked_up(
    parts: list[str], known: Mapping[str, Mapping[str, frozenset[int]]]
) -> Iterator[str]:
    """What parts are of, as they are, or without digits at their end."""
    glued = "".join(parts)
    for text in {glued, glued.rstrip("0123456789")}:
        ends = _ends(parts) - {len(glued)}
        inside = {end for end in ends if end < len(text)}
        yield from (c for c, allowed in known.get(text, {}).items() if inside <= allowed)


# -- what is asked ---------------------------------------------------------------------------------


def says(kind: str, name: str) -> bool:
    """Whether a name says that its column is of a kind, or of another concept of the table."""
    found = concepts(name)
    return kind in found and not (kind == "person_name" and "thing" in found)


def may_say(kind: str, name: str) -> bool:
    """Whether a name may say so, in a language where it is no other word: values must agree."""
    return says(kind, name) or says(f"{kind}?", name)


def says_nothing(name: str) -> bool:
    """Whether no word of a name is known, as of `c07`."""
    return not concepts(name) and not of_codes(name) and not of_count(name)


def of_person(name: str) -> bool:
    """Whether a name is that of a number of persons, as `patient_nbr` or `mrn`."""
    return of_person_number(name) or says("record_number", name) or says("ssn", name)


def of_birth(name: str) -> bool:
    """Whether a name is of births: of their days, months or years."""
    return says("birth", name)


def span_of_time(name: str) -> str | None:
    """What a name says that its numbers count: years, months, weeks or days; None: nothing."""
    found = concepts(name)
    return next((u for u in ("months", "weeks", "days", "years") if f"span_{u}" in found), None)


def of_part_of_date(name: str) -> bool:
    """Whether a name is one of months, days or quarters."""
    return says("part_of_date", name)


def of_place(name: str) -> bool:
    """Whether a name may be that of a place smaller than a state, as `residence`."""
    return says("residence", name) or says("place?", name)


def may_name_persons(name: str) -> bool:
    """Whether words in a column of this name may be persons, as in `last` or `surgeon`."""
    return says("maybe_person", name) or says("physician", name)


# How many visits somebody had.
_COUNTING = (
    "(num|nr|no|number|n|count|anz|anzahl|nb|nombre|numero|cant|cantidad|aantal|qtd|quantidade)"
)
_VISITS = re.compile(
    rf"^{_COUNTING}_(of_|de_|di_|van_)?((in|out)_?patient|emergency|visits?|stays?|admissions?|"
    r"besuche|aufenthalte|aufnahmen|visites|sejours|hospitalisations|visitas|ingresos|ricoveri|"
    r"visite|opnames?|bezoeken|consultas|internamentos)($|_)"
)
_CODES = re.compile(
    r"(^|_)(ids?|codes?|types?|class|status|flag|category|group|grade|stage|schluessel|schlussel|"
    r"kode|art|gruppe|klasse|stadium|codigo|codice|tipo|classe|categorie|soort|groep)$"
)
_COUNTED = re.compile(rf"^{_COUNTING}_")
_COUNTS = re.compile(
    rf"(^{_COUNTING}_)|(^|_)(counts?|totals?|sum|days?|hours?|years?|months?|"
    r"minutes?|amount|amt|score|duration|time|length|size|qty|quantity|visits|anzahl|summe|tage|"
    r"stunden|jahre|monate|dauer|duree|jours|heures|mois|dias|horas|meses|duracion|giorni|ore|"
    r"mesi|durata|dagen|uren|maanden|duur|aantal|duracao)($|_)"
)


def of_visits(name: str) -> bool:
    """Whether a name counts visits, as `number_inpatient`."""
    return _VISITS.search(words(name)) is not None


def of_weight(name: str) -> bool:
    """Whether a name is of the weights of a survey, as `fnlwgt`, or of other weights."""
    return says("survey_weight", name)


def of_money(name: str) -> bool:
    """Whether a name is of amounts of money or totals, as `totsales`, which number nobody."""
    return says("money", name)


def stem(name: str) -> str | None:
    """What a name has in common with others of its family, as `pay_amt` of `pay_amt3`."""
    found = re.fullmatch(r"(.*?[a-z])_?[0-9]{1,2}", words(name))
    return found[1] if found else None


def of_things(name: str) -> bool:
    """Whether a name is of what words are kinds of, as `drug_name`, `race` or `specialty`."""
    return says("thing", name) or of_person_known(name) or of_secret(name) or of_codes(name)


def of_person_number(name: str) -> bool:
    """Whether a name numbers persons, as `patient_nbr`."""
    return says("person_number", name)


def tells_persons(name: str) -> bool:
    """Whether a name is of numbers that no two persons share, as `mrn` or `ssn`."""
    return of_person_number(name) or says("ssn", name)


def of_case_number(name: str) -> bool:
    """Whether a name numbers cases, which may be persons or their stays, as `Fallnummer`."""
    return says("case_number", name)


def of_event_number(name: str) -> bool:
    """Whether a name numbers what happens to persons, as `encounter_id`."""
    return says("event_number", name)


def of_event(name: str) -> bool:
    """Whether a name is about what happens to persons, not about them."""
    return of_event_number(name) or says("event", name)


def of_records(name: str) -> bool:
    """Whether a name numbers records or kinds of things: the count of values shows which."""
    return says("number", name) or says("given", name)


def of_records_alone(name: str) -> bool:
    """Whether a name is nothing but a number of records, as `id`."""
    whole = words(name).replace("_", "")
    return "number_alone" in _table().known.get(whole, {})


def counts(name: str) -> bool:
    """Whether a name begins as those of counts do, as `number_diagnoses`."""
    return _COUNTED.search(words(name)) is not None


def of_codes(name: str) -> bool:
    """Whether a name ends as those of codes do, as `payer_code`."""
    return _CODES.search(words(name)) is not None


def of_count(name: str) -> bool:
    """Whether a name is that of a count or measure, as `num_procedures`."""
    return _COUNTS.search(words(name)) is not None


_SEEN = frozenset(
    (
        *("sex", "race", "marital", "religion", "tongue", "education", "occupation", "household"),
        *("region", "seen", "birth"),
    )
)


def of_person_known(name: str) -> bool:
    """Whether a name is of what others see or know of a person, as `sex` or `education`."""
    return not _SEEN.isdisjoint(concepts(name))


def of_visit_known(name: str) -> bool:
    """Whether a name is of what others may know of a visit, as `admission_type`."""
    return says("visit", name)


def of_secret(name: str) -> bool:
    """Whether a name is of what must not be learned: diseases, outcomes, money, results."""
    return says("secret", name)
