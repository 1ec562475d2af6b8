"""HIPAA Safe Harbor as a preset: roles under the rule, and declarations that fall short of it.

Which columns do is guessed by `profiling.detect`; what is declared of them is held against
45 CFR 164.514(b)(2)(i), and what is not declared is supplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from dbdeid.data.json import JsonObject
from dbdeid.errors import Mistake
from dbdeid.profiling import column_names
from dbdeid.profiling.detect import SAFE_HARBOR, DetectedColumn, Kind
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.column.hierarchy_spec import HierarchySpec
from dbdeid.spec.preset_spec import Preset
from dbdeid.verify.harbor import OLDEST, ages

_YEARS = ("year", "decade")
_ANSWER = "preset.accept"

# What a column under the rule holds, in words.
_WHAT: Mapping[str, str] = {
    "person_name": "names",
    "address": "addresses",
    "place": "places smaller than a state",
    "zip": "ZIP codes",
    "postcode": "postal codes",
    "date": "dates",
    "timestamp": "dates",
    "birth": "dates of birth",
    "birth_year": "years of birth",
    "age": "ages",
    "phone": "phone numbers",
    "mail": "e-mail addresses",
    "ssn": "social security numbers",
    "record_number": "numbers of records",
    "url": "web addresses",
    "ip": "network addresses",
    "biometric": "biometric data",
    "image": "pictures",
    "unique": "values that are nearly unique",
    "free_text": "free text",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that falls under the rule.

    Attributes:
        found: what it is.
        birth: it tells when somebody was born.
        pooled: its ages are bands already, of which one has all from 90 on.
        first_year: of dates: the first that may be told, where dates reach further back; who was
            born before it is over 89 at the newest date of the source.
    """

    found: DetectedColumn
    birth: bool
    pooled: bool = False
    first_year: int | None = None

    @property
    def kind(self) -> Kind:
        """What it holds."""
        return self.found.kind

    @property
    def what(self) -> str:
        """What it holds, in one word: its kind, birth or birth_year."""
        if self.birth:
            return "birth_year" if self.kind == "year" else "birth"
        return self.kind

    @property
    def dated(self) -> bool:
        """Whether its type is one of dates."""
        return self.found.column.family in ("date", "timestamp")

    @property
    def why(self) -> str:
        """Why the rule is about it, without any of its values."""
        if self.first_year is None or self.birth:
            return self.found.reason
        return f"{self.found.reason}, and reaches back more than {OLDEST - 1} years"


def column_of(found: DetectedColumn) -> Column | None:
    """The column as the rule sees it; None where it falls under none of the eighteen.

    Free text is none of them, but may hold all of them.
    """
    # a date of a birth tells an age over 89 by its year alone
    birth = column_names.of_birth(found.name)
    if found.kind in SAFE_HARBOR or found.kind == "free_text" or (found.kind == "year" and birth):
        return Column(found, birth and found.kind in ("date", "timestamp", "year"))
    return None


# The first and the last year of a column of dates, where it has any.
Span = tuple[int | None, int | None]
NO_YEAR = 2200  # dates from then on stand for none


def first_years(columns: Sequence[Column], spans: Mapping[str, Span]) -> dict[str, int]:
    """The first year that columns of dates may show: who was born earlier is 90 at the newest date.

    Any column of dates may be of births. One that does not reach so far back, and is not by its
    name, has none. The newest date is one of an event, where there are any.

    Args:
        columns: that the rule is about.
        spans: of each that is dated, by its name.
    """
    births = {c.found.name for c in columns if c.birth}
    ends = {name: last for name, (_, last) in spans.items() if last is not None}
    newest = max(
        (y for n, y in ends.items() if n not in births), default=max(ends.values(), default=0)
    )
    first = newest - OLDEST + 1
    known = {c.found.name: spans.get(c.found.name, (None, None))[0] for c in columns}
    return {
        name: first
        for name, start in known.items()
        if newest and (name in births or (start is not None and start < first))
    }


def pooled(bands: Sequence[str]) -> bool:
    """Whether ages written as text are bands of which one has all from 90 on."""
    return bool(bands) and ages(bands) == 0


def default_role(column: Column) -> JsonObject:
    """Declare a column that the spec leaves out: generalized, dropped or an identifier."""
    hierarchy = _hierarchy(column)
    if column.pooled:
        return {"role": "quasi_identifier", "hierarchy": "suppress"}
    if hierarchy is not None:
        return {"role": "quasi_identifier", "hierarchy": hierarchy, "min_level": 1}
    if column.kind in ("free_text", "age", "zip", "place", "postcode", *_DATES):
        return {"role": "drop"}
    return {"role": "identifier"}


def _hierarchy(column: Column) -> JsonObject | None:
    """The hierarchy that keeps the rule and the most of a column; None where it is withheld."""
    if column.found.years:
        return {"shelf": "age"}
    if column.dated and not column.birth:
        first = column.first_year
        # dates this old are of births, whatever the name is
        ends = {} if first is None else {"lower": date(first, 1, 1).isoformat()}
        return {"dates": list(_YEARS), **ends}
    if column.kind == "zip" and column.found.column.family in ("text", "enum"):
        return {"shelf": "zip"}
    return None


def missing_keys(column: Column, given: ColumnSpec) -> JsonObject:
    """Keys that a declaration leaves out and that the rule needs: a hierarchy, a lowest level."""
    if given.role != "quasi_identifier" or column.kind not in ("age", "zip", *_DATES):
        return {}
    if column.pooled:
        return {"hierarchy": "suppress"} if given.hierarchy is None else {}
    keys: JsonObject = {}
    hierarchy = given.hierarchy
    if hierarchy is None:
        proposed = _hierarchy(column)
        if proposed is None:
            return {}
        keys["hierarchy"] = proposed
        hierarchy = HierarchySpec.model_validate(proposed)
    level = lowest(column, hierarchy)
    if level and "min_level" not in given.model_fields_set:
        keys["min_level"] = level
    return keys


_DATES = ("date", "timestamp", "year")


def lowest(column: Column, hierarchy: HierarchySpec) -> int | None:
    """The lowest level of a hierarchy that keeps the rule; None where that cannot be seen."""
    if hierarchy.suppress:
        return 1
    if column.kind == "age":
        upper = hierarchy.upper if hierarchy.intervals is not None else None
        return 1 if isinstance(upper, Fraction) and upper <= OLDEST else None
    if column.kind == "zip":
        return 1 if hierarchy.shelf == "zip" else None
    if column.kind in _DATES and not _late_enough(column, hierarchy.lower):
        return None
    if column.kind == "year":
        return 1 if hierarchy.intervals is not None else None
    if column.kind in _DATES and hierarchy.dates is not None:
        ends = (end for end in (hierarchy.lower, hierarchy.upper) if isinstance(end, date))
        if any((end.month, end.day) != (1, 1) for end in ends):
            return None
        units = [i for i, unit in enumerate(hierarchy.dates, start=1) if unit in _YEARS]
        return units[0] if units else len(hierarchy.dates) + 1
    if column.kind == "unique":
        return 1 if hierarchy.intervals is not None else None
    return None


def _late_enough(column: Column, lower: Fraction | date | str | None) -> bool:
    """Whether all dates that may show an age over 89 lie before the lower limit of a hierarchy."""
    if lower is None or isinstance(lower, str):
        return not column.birth and column.first_year is None
    year = lower.year if isinstance(lower, date) else lower
    return column.first_year is None or year >= column.first_year


_HINTS: Mapping[str, str] = {
    "age": "`{role: quasi_identifier, hierarchy: {shelf: age}, min_level: 1}`",
    "zip": "`{role: quasi_identifier, hierarchy: {shelf: zip}, min_level: 1}`",
    "date": "`{role: quasi_identifier, hierarchy: {dates: [year]}, min_level: 1}`",
    "place": "drop it, or `{role: quasi_identifier, hierarchy: suppress, min_level: 1}`",
    "postcode": "drop it, or `{role: quasi_identifier, hierarchy: suppress, min_level: 1}`",
}


def less(column: Column, given: ColumnSpec) -> Iterator[Mistake]:
    """List where the declaration of a column falls short of the rule."""
    if not given.released or given.pseudonym or column.pooled:
        return
    name = column.found.name
    place = f"columns.{name}"
    reason = f"{_words(column.what)}: {column.why}"
    hint = _hint(column)
    if given.role != "quasi_identifier" or column.kind not in _GENERALIZED:
        what = f"safe_harbor withholds {name!r}, and it would be released as {given.role}"
        if column.kind in _GENERALIZED:
            what = f"safe_harbor generalizes {name!r}, and it would be released as {given.role}"
        yield Mistake(f"{what} ({reason})", place, hint=hint)
        return
    level = lowest(column, given.hierarchy) if given.hierarchy is not None else None
    if level is None:
        message = f"its hierarchy cannot be seen to keep safe_harbor ({reason})"
        yield Mistake(message, f"{place}.hierarchy", hint=hint)
    elif given.max_level is not None and given.max_level < level:
        message = f"safe_harbor needs level {level} and more of {name!r} ({reason})"
        yield Mistake(message, f"{place}.max_level", hint=f"leave it out, or say {level}")
    elif given.min_level < level:
        message = f"safe_harbor needs level {level} and more of {name!r} ({reason})"
        yield Mistake(message, f"{place}.min_level", hint=f"leave it out, or say {level}")


_GENERALIZED = ("age", "zip", "place", "postcode", "unique", *_DATES)


def _hint(column: Column) -> str:
    accept = f"or say why not in `{_ANSWER}: {{{column.found.name}: …}}`"
    if column.kind == "age" and not column.found.years:
        return (
            f"turn it into years in the source, as numbers with all from {OLDEST} on as one, or "
            f"drop it, {accept}"
        )
    if column.kind in _DATES and (column.birth or column.first_year is not None):
        unit = "intervals: [1]" if column.kind == "year" else "dates: [year]"
        year = column.first_year or 1935
        first = str(year) if column.kind == "year" else f"{year}-01-01"
        return (
            f"drop it, or give its hierarchy a `lower` before which all are {OLDEST} or older, as "
            f"in `{{{unit}, lower: {first}}}`, {accept}"
        )
    if column.kind in ("date", "timestamp"):
        cast = "" if column.dated else "cast it to DATE in the source, and "
        return f"{cast}{_HINTS['date']}, {accept}"
    if column.kind == "zip" and column.found.column.family not in ("text", "enum"):
        whole = f"lpad({column.found.name}::VARCHAR, 5, '0')"
        return f"write it whole in the source, as {whole}, and {_HINTS['zip']}, {accept}"
    return f"{_HINTS.get(column.kind, 'make it an identifier, or drop it')}, {accept}"


# -- what is told, and what is verified ------------------------------------------------------------

# How the verifier judges the released values of what a column holds.
JUDGED: Mapping[str, str] = {
    "age": "age",
    "date": "date",
    "timestamp": "date",
    "birth": "date",
    "zip": "zip",
    "place": "withheld",
    "postcode": "withheld",
}


def _words(what: str) -> str:
    """What a column holds, with the letter of its paragraph in the rule."""
    letter = "C" if what in ("birth", "birth_year") else SAFE_HARBOR.get(what)  # type: ignore[call-overload]
    return f"{letter}, {_WHAT[what]}" if letter else _WHAT[what]


def notes(preset: Preset, columns: Sequence[tuple[str, ColumnSpec]]) -> Iterator[str]:
    """What a reader should know of a release under the preset, with what it cannot see.

    Args:
        preset: as the specification was read.
        columns: of the source, by name.
    """
    found = {name.lower(): what for name, what in preset.found.items()}
    known = [(n, c, found[n.lower()]) for n, c in columns if n.lower() in found]
    judged = [(n, c, what) for n, c, what in known if not preset.accepts(n)]
    for word, leaves in (("withheld", False), ("generalized", True)):
        parts = [
            f"{name} ({_words(what)})"
            for name, c, what in judged
            if (c.released and not c.pseudonym) == leaves
        ]
        if parts:
            yield f"safe_harbor: {word}: {', '.join(parts)}"
    for name, reason in preset.accept.items():
        yield f"safe_harbor: {name} is released as declared: {reason}"
    for name, c in columns:
        if c.pseudonym:
            yield (
                f"safe_harbor: {name} leaves as a code made with a secret key; the rule allows a "
                "code only where nobody can lead it back who receives it (164.514(c)): keep the key"
            )
    reaching = {name.lower() for name in preset.first_years}
    for name, c, what in judged:
        old = what.startswith("birth") or name.lower() in reaching
        if old and c.hierarchy is not None and c.hierarchy.lower is not None:
            yield (
                f"safe_harbor: {name}: nobody born in {c.hierarchy.lower} or later may be over "
                f"{OLDEST - 1} when the release is used"
            )
    doubts = {name.lower(): reason for name, reason in preset.doubts.items()}
    doubted = [
        f"{name} ({doubts[name.lower()]})"
        for name, c in columns
        if name.lower() in doubts and c.released and not c.pseudonym and not preset.accepts(name)
    ]
    if doubted:
        yield f"safe_harbor: look at these before you publish: {', '.join(doubted)}"
    yield (
        "safe_harbor cannot see names and numbers inside texts and codes, columns whose name and "
        "values look like something else, records that are rare by what is left, and what a "
        "recipient knows already (164.514(b)(2)(ii)); it asks for no k"
    )
