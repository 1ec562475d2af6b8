"""Drafting a specification: a plain, commented start for a custodian to correct."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import NUMBERS, Column, cast, column
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.release.bind import file_query
from dbdeid.release.sources import opened

# Of a person whatever its values: in a table of visits they repeat.
NAME_OF_IDENTIFIER = re.compile(
    r"(^|_)(uuid|guid|ssn|mrn|nhs|name|surname|firstname|lastname|email|mail|phone|fax|address|"
    r"street|(patient|person|subject|member|customer|client|encounter|visit|user|employee)_?"
    r"(id|ids|nbr|number|no))($|_)",
    re.IGNORECASE,
)
# These number persons or kinds of things; the count of values tells which.
NAME_OF_NUMBER = re.compile(r"(^|_)(id|ids|nbr|number|account|license|url|ip)($|_)", re.IGNORECASE)
NAME_OF_CODE = re.compile(r"_(id|ids|code)$", re.IGNORECASE)
NAME_OF_SENSITIVE = re.compile(
    r"(^|_)(diagnosis|diag|income|salary|hiv|disease|outcome)($|_|\d)|(^|_)results?$",
    re.IGNORECASE,
)
ACCEPTING = "accept: all records that look alike may share one value, which then is no secret"
NO_QUASI_IDENTIFIER = (
    "TO DO: give at least one column the role quasi_identifier and a hierarchy, as in\n"
    "  age: {role: quasi_identifier, hierarchy: suppress}\n"
    "No column looked like one; without one there is nothing to generalize.\n"
)
NEAR_UNIQUE = 0.9
MANY_VALUES = 20
MANY_NUMBERS = 1000


@dataclass(frozen=True, slots=True)
class Profile:
    """What a draft looks at in one column."""

    column: Column
    distinct: int
    records: int
    low: float | None
    high: float | None


def draft(source: Path, table: str | None, settings: Settings | None = None) -> str:
    """The text of a draft for a table, with a guessed role for every column.

    Raises:
        DataError: the source cannot be read.
    """
    with opened(source, table, settings) as (session, query):
        staged = session.run(Step("deid_draft", query))
        profiles = [_profile(session, c) for c in staged.columns]
        named = table or (None if file_query(source) is not None else _only(session))
    return _text(source, named, profiles)


def _only(session: Session) -> str:
    return next(name for name in session.tables() if not name.startswith("deid."))


def _profile(session: Session, found: Column) -> Profile:
    value = column(found.name)
    numeric = found.family in NUMBERS
    ends: list[exp.Expr] = [exp.null(), exp.null()]
    if numeric:
        ends = [cast(exp.Min(this=value), "DOUBLE"), cast(exp.Max(this=value), "DOUBLE")]
    distinct = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
    query = exp.select(distinct, exp.Count(this=exp.Star()), *ends)
    return Profile(found, *session.row(query.from_(session.temp("deid_draft").table)))


def _role(profile: Profile) -> dict[str, Any]:
    """A guess that protects: what may identify is withheld, the rest is a quasi-identifier."""
    family, distinct = profile.column.family, profile.distinct
    if _identifies(profile):
        return {"role": "identifier"}
    if NAME_OF_SENSITIVE.search(profile.column.name) and family != "other":
        return {"role": "sensitive", "accept": "homogeneity"}
    if family in ("date", "timestamp"):
        return {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "quarter", "year"]}}
    if family == "integer" and (
        distinct <= MANY_VALUES or NAME_OF_CODE.search(profile.column.name)
    ):
        return {"role": "quasi_identifier", "type": "categorical", "hierarchy": "suppress"}
    finite = math.isfinite((profile.high or 0) - (profile.low or 0))
    if family in NUMBERS and distinct > MANY_VALUES and finite:
        return {"role": "quasi_identifier", "hierarchy": {"intervals": _widths(profile)}}
    if family == "other":
        return {"role": "drop"}
    return {"role": "quasi_identifier", "hierarchy": "suppress"}


def _identifies(profile: Profile) -> bool:
    name, distinct, records = profile.column.name, profile.distinct, profile.records
    if NAME_OF_IDENTIFIER.search(name):
        return True
    if NAME_OF_NUMBER.search(name) and (2 * distinct > records or distinct > MANY_NUMBERS):
        return True
    unique = records > MANY_VALUES and distinct > NEAR_UNIQUE * records
    return unique and profile.column.family in ("text", "integer")


def _widths(profile: Profile) -> list[int | float]:
    """Three widths that double, the largest a round part of the range; never its ends."""
    span = max((profile.high or 0) - (profile.low or 0), 1e-9)
    width: float = 1
    while span / width > 25:
        width *= 10 if span / width > 250 else 5
    while span / width < 2.5:
        width /= 10
    steps = [width, 2 * width, 4 * width]
    return [int(w) if float(w).is_integer() else float(f"{w:.6g}") for w in steps]


def _text(source: Path, table: str | None, profiles: list[Profile]) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    name = re.sub(r"\W+", "_", table or source.name.split(".")[0], flags=re.ASCII)
    release = ("_" if name[:1].isdigit() else "") + f"{name}_release"
    columns = CommentedMap()
    roles: set[str] = set()
    repeated: list[str] = []
    for profile in profiles:
        role = CommentedMap(_role(profile))
        roles.add(role["role"])
        if role["role"] == "identifier" and profile.distinct < profile.records:
            repeated.append(profile.column.name)
        role.fa.set_flow_style()
        columns[profile.column.name] = role
        kind = f"{profile.column.type.split('(')[0]}, {profile.distinct} distinct values"
        if "accept" in role:
            kind += f"; {ACCEPTING}"
        columns.yaml_add_eol_comment(kind, profile.column.name)
    spec = CommentedMap(release=release[:63])
    if table is not None:
        spec["database"] = str(source)
    spec["target"] = f"{release[:55]}.duckdb"
    spec["source"] = table or str(source)
    spec["columns"] = columns
    model = CommentedMap(model="k_anonymity", k=5)
    model.fa.set_flow_style()
    spec["privacy"] = [model]
    method = CommentedMap(name="full_domain", suppression_limit=0.05)
    method.fa.set_flow_style()
    spec["method"] = method
    spec["output"] = CommentedMap(export=[f"{release[:55]}.parquet"])
    _comment(spec, repeated, "" if "quasi_identifier" in roles else NO_QUASI_IDENTIFIER)
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 200
    yaml.dump(spec, stream)
    return stream.getvalue()


def _comment(spec: Any, repeated: Sequence[str], to_do: str) -> None:
    spec.yaml_set_start_comment(
        f"{to_do}"
        "A draft: read every line. Roles are guessed from names, types and distinct counts.\n"
        "  identifier        never released\n"
        "  drop              not released\n"
        "  quasi_identifier  may be known to an attacker; generalized along its hierarchy\n"
        "  sensitive         must not be learned of a person\n"
        "  insensitive       released as it is\n"
        "Then: dbdeid check THIS_FILE, dbdeid run THIS_FILE"
    )
    hint = "hierarchy: a CSV file, intervals, dates, prefix, groups, suppress"
    for name in repeated:
        hint = f"subject: {name}    it repeats: say so if it tells whose record it is\n{hint}"
    spec.yaml_set_comment_before_after_key("columns", before=hint)
    spec.yaml_set_comment_before_after_key(
        "privacy",
        before="each record shares its quasi-identifiers with at least k - 1 others; in place of\n"
        "accept: homogeneity, {model: l_diversity, column: NAME, l: 2} keeps a class from sharing\n"
        "one value of a sensitive column",
    )
    spec.yaml_set_comment_before_after_key(
        "method", before="suppression_limit: share of records that may be left out"
    )
