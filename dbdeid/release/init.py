"""Drafting a specification: a plain, commented start for a custodian to correct."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import Column, cast, column
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.release.bind import file_query
from dbdeid.release.sources import opened

NAME_OF_IDENTIFIER = re.compile(
    r"(^|_)(id|ids|uuid|guid|ssn|mrn|nhs|name|surname|firstname|lastname|email|mail|phone|fax|"
    r"address|street|nbr|number|account|license|url|ip)($|_)",
    re.IGNORECASE,
)
NEAR_UNIQUE = 0.9
MANY_VALUES = 20


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
    numeric = found.family in ("integer", "decimal", "float")
    ends: list[exp.Expr] = [exp.null(), exp.null()]
    if numeric:
        ends = [cast(exp.Min(this=value), "DOUBLE"), cast(exp.Max(this=value), "DOUBLE")]
    distinct = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
    query = exp.select(distinct, exp.Count(this=exp.Star()), *ends)
    return Profile(found, *session.row(query.from_(session.temp("deid_draft").table)))


def _role(profile: Profile) -> dict[str, Any]:
    """A guess that protects: what may identify is withheld, the rest is a quasi-identifier."""
    family, distinct = profile.column.family, profile.distinct
    unique = profile.records > MANY_VALUES and distinct > NEAR_UNIQUE * profile.records
    if NAME_OF_IDENTIFIER.search(profile.column.name) or (unique and family in ("text", "integer")):
        return {"role": "identifier"}
    if family in ("date", "timestamp"):
        return {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "quarter", "year"]}}
    finite = math.isfinite((profile.high or 0) - (profile.low or 0))
    if family in ("integer", "decimal", "float") and distinct > MANY_VALUES and finite:
        return {"role": "quasi_identifier", "hierarchy": {"intervals": _widths(profile)}}
    if family == "other":
        return {"role": "drop"}
    return {"role": "quasi_identifier", "hierarchy": "suppress"}


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
    release = ("_" if name[:1].isdigit() else "") + f"{name}_public"
    columns = CommentedMap()
    for profile in profiles:
        role = CommentedMap(_role(profile))
        role.fa.set_flow_style()
        columns[profile.column.name] = role
        kind = f"{profile.column.type.split('(')[0]}, {profile.distinct} distinct values"
        columns.yaml_add_eol_comment(kind, profile.column.name)
    spec = CommentedMap(release=release[:63])
    if table is not None:
        spec["database"] = source.name
    spec["target"] = f"{release[:55]}.duckdb"
    spec["source"] = table or source.name
    spec["columns"] = columns
    model = CommentedMap(model="k_anonymity", k=5)
    model.fa.set_flow_style()
    spec["privacy"] = [model]
    method = CommentedMap(name="full_domain", suppression_limit=0.05)
    method.fa.set_flow_style()
    spec["method"] = method
    spec["output"] = CommentedMap(export=[f"{release[:55]}.parquet"])
    _comment(spec)
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 200
    yaml.dump(spec, stream)
    return stream.getvalue()


def _comment(spec: Any) -> None:
    spec.yaml_set_start_comment(
        "A draft: read every line. Roles are guessed from names, types and distinct counts.\n"
        "  identifier        never released\n"
        "  drop              not released\n"
        "  quasi_identifier  may be known to an attacker; generalized along its hierarchy\n"
        "  sensitive         must not be learned of a person\n"
        "  insensitive       released as it is\n"
        "Then: dbdeid check THIS_FILE, dbdeid run THIS_FILE"
    )
    spec.yaml_set_comment_before_after_key(
        "columns", before="hierarchy: a CSV file, intervals, dates, prefix, groups, suppress"
    )
    spec.yaml_set_comment_before_after_key(
        "privacy", before="each record shares its quasi-identifiers with at least k - 1 others"
    )
    spec.yaml_set_comment_before_after_key(
        "method", before="suppression_limit: share of records that may be left out"
    )
