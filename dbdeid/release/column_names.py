"""What the names of columns say: words of persons, of numbers that are given, and of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal, get_args

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
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


@cache
def words(name: str) -> str:
    """A name as its words in small letters: `patientNbr` and `Patient-Nbr` are `patient_nbr`."""
    return "_".join(part.lower() for part in _BOUNDARY.split(name) if part)


def _of(parts: Iterable[str]) -> re.Pattern[str]:
    """Any of these, as whole words of a name; digits may follow."""
    return re.compile(rf"(^|_)({'|'.join(parts)})(_?\d+)?($|_)")


_PERSON = (
    "(patient|pat|person|subject|subj|member|customer|client|user|employee|participant|"
    "respondent|insured|resident|student|citizen|individual|beneficiary|enrollee|proband)s?"
)
_EVENT = (
    "(encounter|visit|stay|claim|order|invoice|episode|specimen|sample|admission|hadm|case|"
    "transaction|event|booking|ticket|accession)s?"
)
_NUMBER = "(ids?|nbr|number|no|num|nr|uid|pid|key|identifier)"

_WORDS = {
    "mail": ("e_?mails?", "mails?", "e_?mail_?address"),
    "url": ("urls?", "website", "homepage", "web_?page"),
    "ip": ("ip", "ip_?addr(ess)?", "mac_?addr(ess)?"),
    "ssn": ("ssn", "social_security(_(number|no|nbr))?", "nino", "national_id", "tax_?id", "itin"),
    "phone": ("tele?phones?", "phones?", "tel", "mobile", "cell_?phone", "fax", "pager"),
    "address": ("address", "addr", "streets?", "house_?(number|no)", "po_?box", "apartment"),
    "biometric": ("biometrics?", "finger_?prints?", "iris_scan", "voice_?prints?", "retina_scan"),
    "image": ("photos?", "photograph", "portrait", "face_image", "picture"),
    "record_number": (
        *("mrn", "nhs", "uuid", "guid", "npi", "hicn", "medicare_?(id|no|number)", "imei", "vin"),
        *("passport", "iban", "licen[cs]e_?plate", "number_?plate", "serial_?(number|no|nr)"),
        *("user_?name", "login", "medical_?record(_?(number|no|nbr))?", "health_?card"),
    ),
    "person_name": (
        *("names?", "sur_?name", "(first|last|middle|maiden|full|given|family|nick)_?name"),
        *("fname", "lname", "initials", "pcp", "referred_by"),
        "(treating|attending|referring|admitting)_?(physician|doctor|provider)",
    ),
    "age": (
        *("ages?", "age_?(years?|yrs?|months?|mos?|weeks?|days?)", "how_old", "years_old"),
        *("age_?(grp|groups?|bands?|class|cat|category|range|bracket|bin)",),
        *("(years|yrs|months|mos|weeks|days)_(lived|of_(age|life))",),
        "(pt|pat|patient)_?(yrs?|years?)",
    ),
    "year": (
        *("years?", "yr", "yob", "birth_?year", "vintage", "jahr", "jahrgang", "geb(urts)?_?jahr"),
        *("annee(_de)?_naissance", "ano_(de_)?nac[a-z]+", "anno_(di_)?nascita", "geboortejaar"),
    ),
    "date": ("dates?", "day", "dob", "dod", "birth_?(date|day)", "on", "at", "admitted", "died"),
    "zip": ("zip", "zip_?codes?", "zip[359]", "zcta", "post_?codes?", "postal(_code)?", "plz"),
    "place": (
        *("city", "town", "village", "county", "municipality", "district", "precinct", "commune"),
        *("parish", "neighbou?rhood", "suburb", "fips", "census_tract", "tract", "geocodes?"),
        *("lat", "latitude", "lon", "lng", "longitude", "gps", "coordinates", "home_?town"),
    ),
    "country": ("country", "countries", "nation", "nationality", "citizenship", "native_country"),
    "diagnosis": ("diag", "diagnos[ei]s", "dx", "icd", "icd_?(9|10)(_?cm)?", "disease_codes?"),
}
_SAYS = {kind: _of(parts) for kind, parts in _WORDS.items()}

# Names alone are enough for these, in this order: an e-mail address is no address.
DIRECT: tuple[_Direct, ...] = get_args(_Direct)

# Things have names too, which tell nothing of a person.
_THINGS = _of(
    (
        *("drug", "medication", "test", "lab", "item", "product", "procedure", "variable", "unit"),
        *("country", "state", "species", "brand", "category", "class", "group", "event", "column"),
        *("department", "specialty", "measure", "course", "file", "table", "type"),
    )
)
# What may be a life under a name that does not say so, and what it is counted in.
_SPANS = {
    "months": _of(["months?", "mos?", "mths?"]),
    "weeks": _of(["weeks?", "wks?"]),
    "days": _of(["days?"]),
    "years": _of(["years?", "yrs?", "y", "old", "life(time|span)?", "lived", "alive", "elapsed"]),
}
# Parts of a date without its year, which tell the day together.
_PARTS_OF_DATES = _of(
    (
        *("months?", "mon(th)?_(of|in)_[a-z_]+", "day", "day_of_[a-z_]+", "dow", "doy", "dom"),
        *("week", "week_?(no|nr|num|number|of_[a-z_]+)", "weekday", "quarter", "qtr", "season"),
    )
)
_PLACES = _of(
    (
        *("residence", "resid(es)?", "residing", "lives?_in", "location", "loc", "area", "home"),
        *("birth_?place", "place(_of_[a-z]+)?", "borough", "community", "locality", "from"),
    )
)
_MAYBE_PERSONS = _of(
    (
        *("first", "last", "fore", "given", "middle", "maiden", "family", "mother", "father"),
        *("spouse", "partner", "guardian", "kin", "next_of_kin", "contact", "emergency", "gp"),
        *("doctor", "physician", "surgeon", "nurse", "provider", "clinician", "lead", "author"),
        *("reviewer", "signed(_by)?", "entered_by", "[a-z]+_by", "staff", "operator", "who"),
    )
)
# How many visits somebody had, and what each stands for in a survey.
_VISITS = re.compile(
    r"^(num|nr|no|number|n|count)_(of_)?((in|out)_?patient|emergency|visits?|stays?|admissions?)($|_)"
)
_WEIGHT = _of(["fnl_?wg?h?ts?", "wts?", "[a-z]+_(wt|weight)", "(survey|sampling|p)weights?"])
_PERSON_NUMBER = _of(
    [f"{_PERSON}_?{_NUMBER}", f"{_NUMBER}_of_{_PERSON}", f"{_NUMBER}_{_PERSON}", "study_?id"]
)
_EVENT_NUMBER = _of([f"{_EVENT}_?{_NUMBER}"])
_RECORDS = _of(
    [_NUMBER, "account", "acct", "licen[cs]e", "certificate", "device", "policy", "barcode"]
)
_CODES = re.compile(r"(^|_)(ids?|codes?|types?|class|status|flag|category|group|grade|stage)$")
_COUNTED = re.compile(r"^(num|nr|no|number|n|count)_")
_COUNTS = re.compile(
    r"(^(num|nr|no|number|n|count)_)|(^|_)(counts?|totals?|sum|days?|hours?|years?|months?|"
    r"minutes?|amount|amt|score|duration|time|length|size|qty|quantity|visits)($|_)"
)

_SEEN = _of(
    (
        *("sex", "gender", "races?", "ethnic(ity)?", "marital", "marriage", "religion", "faith"),
        *("language", "education", "edu", "degree", "school(ing)?", "occupation", "job", "trade"),
        *("profession", "employer", "employment", "workclass", "industry", "relationship"),
        *("family", "household", "children", "kids", "state", "region", "province", "residence"),
        *("urban", "rural", "birth", "born", "height", "weight", "bmi", "veteran", "disability"),
        *("hours_per_week", "blood_(group|type)", "hair", "eyes?"),
    )
)
_VISIT = _of(
    (
        *("admission", "admitted", "discharged?", "disposition", "hospital", "clinic", "facility"),
        *("site", "ward", "department", "specialty", "provider", "physician", "doctor", "payer"),
        *(
            "insurance",
            "insurer",
            "s?los",
            "hday",
            "length_of_stay",
            "stay",
            "days",
            "time_in_[a-z]+",
        ),
    )
)
_SECRET = _of(
    (
        *(
            "diag",
            "diagnos[ei]s",
            "dx",
            "icd",
            "hiv",
            "disease",
            "dz[a-z]*",
            "dnr[a-z]*",
            "ca",
            "outcome",
            "[a-z0-9]*results?",
            "values?",
        ),
        *("income", "salary", "wages?", "earnings", "pay", "payments?", "bill", "amount", "amt"),
        *(
            "charges?",
            "costs?",
            "[a-z]*cst",
            "debt",
            "loan",
            "credit",
            "balance",
            "bal",
            "default",
            "gain",
        ),
        *(
            "loss",
            "price",
            "premium",
            "[a-z]*dead",
            "death",
            "died",
            "d_time",
            "mortality",
            "survival",
        ),
        *("readmitted", "readmission", "relapse", "recurrence", "cancer", "tumou?r", "mental"),
        *("dementia", "diabetes", "depression", "pregnan(t|cy)", "abortion", "addiction"),
        *(
            "survival",
            "values?",
            "suicide",
            "psych[a-z]*",
            "therapy",
            "treatment",
            "crime",
            "offen[cs]e",
            "score",
        ),
    )
)


def says(kind: str, name: str) -> bool:
    """Whether a name says that its column is of a kind: one of those above, or `diagnosis`."""
    found = _SAYS[kind].search(words(name)) is not None
    return found and not (kind == "person_name" and _THINGS.search(words(name)))


def of_person(name: str) -> bool:
    """Whether a name is that of a number of persons, as `patient_nbr` or `mrn`."""
    return of_person_number(name) or says("record_number", name) or says("ssn", name)


def span_of_time(name: str) -> str | None:
    """What a name says that its numbers count: years, months, weeks or days; None: nothing."""
    said = words(name)
    return next((unit for unit, pattern in _SPANS.items() if pattern.search(said)), None)


def of_part_of_date(name: str) -> bool:
    """Whether a name is one of months, days or quarters."""
    return _PARTS_OF_DATES.search(words(name)) is not None


def of_place(name: str) -> bool:
    """Whether a name may be that of a place smaller than a state, as `residence`."""
    return _PLACES.search(words(name)) is not None


def may_name_persons(name: str) -> bool:
    """Whether words in a column of this name may be persons, as in `last` or `surgeon`."""
    return _MAYBE_PERSONS.search(words(name)) is not None


def of_visits(name: str) -> bool:
    """Whether a name counts visits, as `number_inpatient`."""
    return _VISITS.search(words(name)) is not None


def of_weight(name: str) -> bool:
    """Whether a name is of the weights of a survey, as `fnlwgt`, or of other weights."""
    return _WEIGHT.search(words(name)) is not None


def stem(name: str) -> str | None:
    """What a name has in common with others of its family, as `pay_amt` of `pay_amt3`."""
    found = re.fullmatch(r"(.*?[a-z])_?[0-9]{1,2}", words(name))
    return found[1] if found else None


def of_things(name: str) -> bool:
    """Whether a name is of what words are kinds of, as `drug_name`, `race` or `specialty`."""
    said = words(name)
    kinds = _THINGS.search(said) or _SEEN.search(said) or _SECRET.search(said)
    return kinds is not None or of_codes(name)


def of_person_number(name: str) -> bool:
    """Whether a name numbers persons, as `patient_nbr`."""
    return _PERSON_NUMBER.search(words(name)) is not None


def of_event_number(name: str) -> bool:
    """Whether a name numbers what happens to persons, as `encounter_id`."""
    return _EVENT_NUMBER.search(words(name)) is not None


def of_event(name: str) -> bool:
    """Whether a name is about what happens to persons, not about them."""
    return of_event_number(name) or re.search(rf"(^|_){_EVENT}($|_)", words(name)) is not None


def of_records(name: str) -> bool:
    """Whether a name numbers records or kinds of things: the count of values tells which."""
    return _RECORDS.search(words(name)) is not None


def of_records_alone(name: str) -> bool:
    """Whether a name is nothing but a number of records, as `id`."""
    return re.fullmatch(_NUMBER, words(name)) is not None


def counts(name: str) -> bool:
    """Whether a name begins as those of counts do, as `number_diagnoses`."""
    return _COUNTED.search(words(name)) is not None


def of_codes(name: str) -> bool:
    """Whether a name ends as those of codes do, as `payer_code`."""
    return _CODES.search(words(name)) is not None


def of_count(name: str) -> bool:
    """Whether a name is that of a count or measure, as `num_procedures`."""
    return _COUNTS.search(words(name)) is not None


def of_person_known(name: str) -> bool:
    """Whether a name is of what others see or know of a person, as `sex` or `education`."""
    return _SEEN.search(words(name)) is not None


def of_visit_known(name: str) -> bool:
    """Whether a name is of what others may know of a visit, as `admission_type`."""
    return _VISIT.search(words(name)) is not None


def of_secret(name: str) -> bool:
    """Whether a name is of what must not be learned: diseases, outcomes, money, results."""
    return _SECRET.search(words(name)) is not None
