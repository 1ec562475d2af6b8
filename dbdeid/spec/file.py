"""Reading a specification from YAML 1.2, JSON or a dict; all mistakes at once, with places."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dbdeid.engine import regular
from dbdeid.errors import Mistake, SpecError, did_you_mean
from dbdeid.privacy import MODELS
from dbdeid.spec import expect_spec, project_file
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.column.hierarchy_spec import HierarchySpec
from dbdeid.spec.method_spec import METHODS
from dbdeid.spec.model_spec import ANALYSES
from dbdeid.spec.output_spec import Output
from dbdeid.spec.preset_spec import Preset
from dbdeid.spec.publisher_spec import Publisher
from dbdeid.spec.release_spec import (
    QUERY,
    TEXT,
    Evaluate,
    ReleaseSpec,
    SourceKind,
    SourceQuery,
)
from dbdeid.spec.yaml_text import LARGEST, Path_, load


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec, where it came from, and its text.

    Attributes:
        spec: the parsed specification.
        folder: the folder that its relative paths start from.
        path: the file, when it came from one.
        text: the text as read, with what it takes from its project; for a dict its JSON.
        lines: line of each key path, for messages.
        project: the project that it takes part in.
        shared: the keys that it takes from there.
        trial: whether its trial is meant, which has places of its own, and not what it publishes.
        rows: the source itself where Python gave it: what has `__arrow_c_stream__`.
    """

    spec: ReleaseSpec
    folder: Path
    path: Path | None
    text: str
    lines: Mapping[Path_, int]
    project: project_file.ProjectFile | None = None
    shared: frozenset[str] = frozenset()
    trial: bool = False
    rows: Any = field(default=None, compare=False, repr=False)

    @property
    def source_kind(self) -> SourceKind:
        """Where the source is."""
        return "rows" if self.rows is not None else self.spec.source_kind

    @property
    def label(self) -> str:
        """How messages call this spec."""
        return self.path.name if self.path else "spec"

    def mistake(self, message: str, *place: str | int, hint: str = "") -> Mistake:
        """A mistake found later, for example in the database, with its line."""
        return _mistake(message, tuple(place), self.lines, hint, self.shared)

    def folders(self, part: str) -> tuple[Path, ...]:
        """Where an input is looked for: beside the spec, in its project, in a folder there.

        Args:
            part: of the project that it belongs to: hierarchies or queries.
        """
        if self.project is None:
            return (self.folder,)
        return self.folder, self.project.folder, self.project.place(part)


def read_text(text: str) -> SpecFile:
    """A spec from YAML or JSON text; its relative paths start from the working directory.

    Raises:
        SpecError: it has mistakes.
    """
    data, lines = load(text, "spec")
    return parse_spec(data, lines, Path.cwd(), None, text)


def text_of(path: Path) -> str:
    """The text of a spec.

    Raises:
        SpecError: the file cannot be read.
    """
    try:
        return regular.text(path, LARGEST + 1)
    except (OSError, ValueError) as error:
        raise SpecError(
            f"cannot be read ({_why(error)})", source=str(path), hint="give a YAML file"
        ) from None


def as_path(source: str | Path) -> Path | None:
    """Return the path that a source names; None where the text itself is the spec."""
    if isinstance(source, Path):
        return source
    looks_like_text = "\n" in source or ": " in source or source.lstrip().startswith("{")
    return None if looks_like_text else Path(source)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return getattr(error, "strerror", None) or "no path of a file"


def parse_spec(
    data: Any,
    lines: Mapping[Path_, int],
    folder: Path,
    path: Path | None,
    text: str,
    shared: frozenset[str] = frozenset(),
) -> SpecFile:
    """A spec from its parsed data, with the lines where its keys stand.

    Raises:
        SpecError: it has mistakes.
    """
    name = str(path) if path else "spec"
    if not isinstance(data, Mapping):
        raise SpecError(
            "a spec is a mapping of keys", source=name, hint="start with `release: my_release`"
        )
    try:
        spec = ReleaseSpec.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=True)
        raise SpecError(_mistakes(found, lines, shared), source=name) from None
    file = SpecFile(spec, folder, path, text, lines, shared=shared)
    mistakes = [
        file.mistake(message, "columns", column, hint=hint)
        for column, message, hint in spec.quasi_identifier_mistakes()
    ]
    mistakes += [
        file.mistake(message, "expect", metric, hint=hint)
        for metric, message, hint in expect_spec.mistakes(spec)
    ]
    if mistakes:
        raise SpecError(mistakes, source=name)
    return file


def _mistake(
    message: str,
    place: Path_,
    lines: Mapping[Path_, int],
    hint: str,
    shared: frozenset[str] = frozenset(),
) -> Mistake:
    """A mistake at its place in the spec, or in the file of the project that it comes from."""
    if place[:1] and place[0] in shared:
        above = () if place[0] in project_file.ProjectSpec.model_fields else ("defaults",)
        return Mistake(message, f"{project_file.NAME}: {_dotted((*above, *place))}", None, hint)
    return Mistake(message, _dotted(place), _line(lines, place), hint)


def _mistakes(
    errors: list[ErrorDetails], lines: Mapping[Path_, int], shared: frozenset[str]
) -> Iterator[Mistake]:
    seen = set()
    places = {_place(error) for error in errors}
    meant = set(_meant(errors))
    for error in errors:
        place = _place(error)
        if error["type"] == "too_short" and any(_inside(p, place) for p in places):
            continue  # it is short only because its members are wrong
        if error["type"] == "missing" and place in meant:
            continue  # it is missing only because its name is misspelt
        message, hint = _words(error, place)
        hint = hint or _example(place)
        if (place, message) not in seen:
            seen.add((place, message))
            yield _mistake(message, place, lines, hint, shared)


def _inside(place: Path_, whole: Path_) -> bool:
    return len(place) > len(whole) and place[: len(whole)] == whole


def _meant(errors: list[ErrorDetails]) -> Iterator[Path_]:
    """The places that unknown keys were probably meant for."""
    for error in errors:
        if error["type"] == "extra_forbidden":
            place = _place(error)
            for name in difflib.get_close_matches(str(place[-1]), _known(error["loc"]), n=1):
                yield (*place[:-1], name)


def _place(error: ErrorDetails) -> Path_:
    # pydantic names the form of a source, the kind of a model and the key of a mapping; none of
    # them is a key of the spec.
    place = tuple(error["loc"])
    if place[:1] == ("source",) and place[1:2] in ((TEXT,), (QUERY,)):
        place = place[:1] + place[2:]
    if place[:1] == ("privacy",) and place[2:3] and place[2] in MODELS:
        place = place[:2] + place[3:]
    if place[:1] == ("method",) and place[1:2] and place[1] in METHODS:
        place = place[:1] + place[2:]
    if place[:2] == _ANALYSES and place[3:4] and place[3] in ANALYSES:
        place = place[:3] + place[4:]
    if error["type"] in _UNTOLD:  # which of several methods or models it is
        place = (*place, "kind" if place[:2] == _ANALYSES else "name")
    return place[:-1] if place[-1:] == ("[key]",) else place


def _words(error: ErrorDetails, place: Path_) -> tuple[str, str]:
    kind, message = error["type"], error["msg"]
    context = error.get("ctx") or {}
    if kind == "dbdeid":
        return str(context["message"]), str(context["hint"])
    if kind == "extra_forbidden":
        return _unknown_key(error["loc"])
    if kind == "missing":
        return f"the key {str(place[-1])!r} is missing", ""
    if kind == "union_tag_not_found":
        return f"the key {str(place[-1])!r} is missing", ""
    if kind == "union_tag_invalid" and place[:2] == _ANALYSES:
        return "unknown kind of model", did_you_mean(str(context["tag"]), ANALYSES)
    if kind == "union_tag_invalid":
        return "unknown method", did_you_mean(str(context["tag"]), METHODS)
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        close = difflib.get_close_matches(str(error["input"]), known, n=1)
        return f"expects {context['expected']}", f"did you mean {close[0]!r}?" if close else ""
    if place == ("source",) and kind in _KINDS:
        return "expects a table, a file, or {sql: SELECT …, name: …}", ""
    if kind == "string_type" and isinstance(error["input"], Mapping | list | tuple):
        return "expects text", ""  # the key has an example
    if kind in _KINDS:
        words, hint = _KINDS[kind]
        return words, _number_hint(error["input"]) if kind in ("int_type", "float_type") else hint
    if kind == "string_too_long":
        return f"has more than {context['max_length']} characters", ""
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        return f"must be {words} {context[limit]:g}", ""
    return message[0].lower() + message[1:], ""


_ANALYSES = ("evaluate", "models")
_UNTOLD = ("union_tag_not_found", "union_tag_invalid")
_KINDS = {
    "too_short": ("needs at least one entry", ""),
    "string_too_short": ("is empty", ""),
    "string_type": ("expects text", "put it in quotes"),
    "string_unicode": ("is not Unicode text", ""),
    "string_pattern_mismatch": (
        "must start with a letter or _ and hold only letters, digits and _",
        "",
    ),
    "bool_type": ("expects true or false", ""),
    "int_type": ("expects a whole number", ""),
    "int_from_float": ("expects a whole number", ""),
    "float_type": ("expects a number", ""),
    "finite_number": ("expects a finite number", ""),
    "tuple_type": ("expects a list", "as in [a, b]"),
    "dict_type": ("expects a mapping", "as in {key: value}"),
    "model_type": ("expects a mapping", "as in {key: value}"),
    "model_attributes_type": ("expects a mapping", ""),  # the key has an example
}
_LIMITS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


# How each key is written; `hierarchy` and `columns` stand for what lies below them.
_EXAMPLES = {
    "release": "visits_public",
    "preset": "safe_harbor",
    "database": "hospital.duckdb",
    "attach": "{clinic: postgresql://reader@db.example.org/clinic}",
    "target": "visits_public.duckdb",
    "source": "visits, visits.parquet or {sql: SELECT …, name: visits}",
    "sql": "SELECT age, sex FROM visits",
    "name": "visits",
    "columns": "{age: {role: quasi_identifier, hierarchy: {intervals: [5, 10]}}}",
    "role": "quasi_identifier",
    "hierarchy": "age.csv, suppress or {intervals: [5, 10, 20]}",
    "intervals": "[5, 10, 20]",
    "dates": "[month, year]",
    "prefix": "[3, 1]",
    "groups": '[{urgent: ["1", "2"], planned: ["3"]}]',
    "shelf": "icd9",
    "origin": "0",
    "lower": "10",
    "upper": "60",
    "weight": "2.0",
    "min_level": "1",
    "max_level": "2",
    "domain": '["00501", "10001"]` or, of method policy, `domain: [0, 120]',
    "order": "[mild, moderate, severe]",
    "reason": "public salary band",
    "privacy": "[{model: k_anonymity, k: 5}]",
    "model": "k_anonymity",
    "k": "5",
    "column": "diagnosis",
    "joint": "true",
    "l": "3",
    "kind": "distinct",
    "c": "2",
    "t": "0.2",
    "distance": "equal",
    "alpha": "0.5",
    "values": '["HIV", "hepatitis"]',
    "beta": "2",
    "delta": "1.5",
    "epsilon": "500",
    "m": "3",
    "separator": '";"',
    "population": "census.parquet",
    "min": "0.01",
    "max": "0.2",
    "attacker": "prosecutor",
    "threshold": "0.09",
    "method": "{name: full_domain, suppression_limit: 0.05}",
    "suppression_limit": "0.05",
    "transformation": "{age: 2, sex: 0}",
    "evaluate": "{queries: queries/*.sql}",
    "queries": "queries/*.sql",
    "metrics": "[loss, discernibility]",
    "models": "[{kind: linear, response: months, covariates: [age, sex]}]",
    "duration": "months",
    "event": "died",
    "response": "months > 24",
    "covariates": "[age, sex]",
    "where": "died = 1",
    "output": "{export: [visits_public.csv]}",
    "export": "[visits_public.parquet, visits_public.csv]",
    "partition_by": "[sex]",
    "bounds": "true",
    "seed": "7",
    "null_policy": "own_category",
    "accept": "rows",
    "tags": "[weekly, hospital]",
    "depends_on": "[visits_clean]",
    "expect": '{loss: "< 0.3", suppressed: "<= 0.05"}',
    "rerelease": "strict",
    "publisher": "{licence: CC BY 4.0, contact: data@hospital.example}",
    "licence": "CC BY 4.0",
    "contact": "data@hospital.example",
    "search": "optimal",
    "time_limit": "60",
    "engine": "numpy",
    "objective": "loss` or, of local_recoding, `objective: node_entropy",
    "algorithm": "dealing",
    "diversity_weight": "0.5",
    "mondrian": "relaxed",
    "tail": "append",
    "suppressed": "drop",
    "h": "0.3",
    "max_counterfeits": "0.1",
    "catalog": "pool",
    "recoding": "borrow",
    "strict": "true",
    "limit": "0.05",
    "table": "adult_anon",
    "dictionary": "adult_dictionary",
    "types": "{age: INTEGER, admitted: DATE}",
    "truthful": "false",
    "labels": "intervals",
    "free": "true",
    "risk": "population",
    "utility": "kl",
    "budget": "10000",
    "variant": "recipient",
    "response_weight": "0.3",
    "synthesis": "pca",
    "exact_moments": "true",
    "time": "stratified",
    "time_scale": "rank",
    "calibrate": "true",
    "small_strata": "merge",
    "pool": "50",
    "safe_harbor": "{age: age, zip: zip}",
    "age": "age",
    "zip": "zip",
    "start": "ends",
    "choose": "{max_risk: 0.05}",
    "max_risk": "0.05",
    "max_loss": "0.3",
    "dominates": "safe_harbor",
    "point": "12",
}


def _example(place: Path_) -> str:
    """A line to follow, for the innermost key of a place that has one."""
    keys = [str(p) for p in place]
    if keys[:1] == ["columns"]:
        if keys[2:] == ["accept"]:
            return "as in `accept: homogeneity`"
        keys = ["columns", *keys[2:]]  # the name of a column is no key of ours
    if keys[:2] == ["method", "transformation"]:
        keys = keys[:2]  # and so is one here
    if keys == ["method", "name"]:
        keys = keys[:1]  # other parts have a name too
    if keys[:2] == [*_ANALYSES] and keys[-1] == "kind":
        keys = keys[:2]  # other parts have a kind too
    key = next((k for k in reversed(keys) if k in _EXAMPLES), None)
    return f"as in `{key}: {_EXAMPLES[key]}`" if key else ""


def _number_hint(given: Any) -> str:
    """How text that looks like a number is written as one."""
    found = (
        re.fullmatch(r"\s*(\d+)(?:([.,])(\d+))?\s*(%?)\s*", given) if type(given) is str else None
    )
    if found is None or len(found[0]) > 20:
        return ""
    whole, sign, part, percent = found.groups()
    if percent:
        return f"write {float(f'{whole}.{part or 0}') / 100:g}"
    return f"write {whole}.{part}" if sign else f"write {whole}, without quotes"


def _unknown_key(place: Path_) -> tuple[str, str]:
    key = str(place[-1])
    known = _known(place)
    if key.isdecimal():
        hint = "a comma separates keys: write a number with a point, as in 0.05"
        return f"unknown key {key!r}", hint
    close = difflib.get_close_matches(key, known, n=1)
    start = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown key {key!r}", f"{start}Known: {', '.join(known)}."


def _known(place: Path_) -> list[str]:
    """The keys that the part around a key has."""
    return [field.alias or name for name, field in _owner(place).model_fields.items()]


def _owner(place: Path_) -> type[BaseModel]:
    """The part of a spec that a key is in."""
    match [str(p) for p in place[:-1]]:
        case ["method", name, part] if name in METHODS and part in METHODS[name].parts:
            return METHODS[name].parts[part]
        case ["columns", _]:
            return ColumnSpec
        case ["columns", _, "hierarchy"]:
            return HierarchySpec
        case ["privacy", _, model] if model in MODELS:
            return MODELS[model]
        case ["evaluate", "models", _, kind] if kind in ANALYSES:
            return ANALYSES[kind]
        case ["method", name] if name in METHODS:
            return METHODS[name]
        case [name, *_] if name in _PARTS:
            return _PARTS[name]
    return ReleaseSpec


_PARTS: dict[str, type[BaseModel]] = {
    "source": SourceQuery,
    "evaluate": Evaluate,
    "output": Output,
    "preset": Preset,
    "publisher": Publisher,
}


def _dotted(place: Path_) -> str:
    return ".".join(f"[{p}]" if isinstance(p, int) else str(p) for p in place).replace(".[", "[")


def _line(lines: Mapping[Path_, int], place: Path_) -> int | None:
    for end in range(len(place), 0, -1):
        if place[:end] in lines:
            return lines[place[:end]]
    return None
