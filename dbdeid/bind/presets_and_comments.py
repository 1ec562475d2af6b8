"""What a specification leaves to others: roles in comments of the source, the rules of a preset."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dbdeid.bind import safe_harbor
from dbdeid.bind.comments import FROM_COMMENTS, with_columns, with_roles
from dbdeid.bind.source import open_source
from dbdeid.data.source_files import reading_source
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import aliased, cast, column, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.errors import Mistake, SpecError, did_you_mean
from dbdeid.profiling.detect import DetectedColumn, detect, unique_by
from dbdeid.profiling.possible_identifiers import direct, doubts, look
from dbdeid.spec.column.column_spec import ColumnSpec, names_in
from dbdeid.spec.file import SpecFile
from dbdeid.spec.preset_spec import DEFAULTS, Preset
from dbdeid.spec.project_file import ProjectFile
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.spec.yaml_text import load

LOOKED_AT = "deid_looked_at"


def complete(
    text: str,
    data: Mapping[str, object],
    folder: Path,
    project: ProjectFile | None,
    connection: Any,
    database: Path | None,
    rows: Any = None,
) -> tuple[str, dict[str, object]]:
    """Complete a specification from the presets and comments of its source.

    Args:
        text: of the specification.
        data: the same as plain values.
        folder: that its relative paths start from.
        project: that it takes part in.
        connection: an open connection to read from.
        database: in place of its `database`.
        rows: the source itself where Python gave it.

    Returns:
        The text and the values of the whole specification.

    Raises:
        SpecError: the comments are wrong, or it declares less than its preset asks.
        DataError: the source cannot be read.
    """
    whole = dict(data)
    if whole.get("columns") == FROM_COMMENTS:
        whole = with_roles(whole, folder, connection, database)
        text = with_columns(text, whole)
    if "preset" not in whole:
        return text, whole
    read = _readable(whole)
    if read is None:  # what is wrong is told when all of it is read
        return text, whole
    preset, spec = read
    file = SpecFile(spec, folder, None, text, {}, project, rows=rows)
    with _opened(file, connection, database) as session, reading_source():
        looked = _looked_at(file, session, whole.get("subject"))
    whole = _by_rule(whole, preset, looked)
    return _written(text, whole), whole


def _readable(data: Mapping[str, object]) -> tuple[Preset, ReleaseSpec] | None:
    """The preset, and a specification of the same source; None where they are not well-formed."""
    kept = {key: data[key] for key in ("release", "database", "attach", "source") if key in data}
    stand_in = {"stand_in": {"role": "quasi_identifier", "hierarchy": "suppress"}}
    try:
        preset = Preset.model_validate(data["preset"])
        return preset, ReleaseSpec.model_validate({**DEFAULTS, **kept, "columns": stand_in})
    except ValidationError:
        return None


def _opened(file: SpecFile, connection: Any, database: Path | None) -> Session:
    named = file.spec.database
    path = database or (file.folder / Path(named).expanduser() if named is not None else None)
    if connection is None:
        return ENGINE.open(path, read_only=True)
    return ENGINE.over(connection, path, read_only=True)


@dataclass(frozen=True, slots=True)
class _Looked:
    """The columns that the rule is about, and those that may be, each with the reason."""

    columns: tuple[safe_harbor.Column, ...]
    doubts: Mapping[str, str]


def _looked_at(file: SpecFile, session: Session, subject: object) -> _Looked:
    """What is seen of the columns of the source."""
    rows = session.run(Step(LOOKED_AT, open_source(file, session).query))
    try:
        found = detect(session, rows)
        own = next((c for c in found if c.name.lower() == str(subject).lower()), None)
        if own is not None:
            found = tuple(unique_by(c, own) for c in found)
        seen = look(session, rows, found)
        found = direct(session, rows, found, seen)
        columns = [one for f in found if (one := safe_harbor.column_of(f)) is not None]
        sure = {one.found.name for one in columns}
        spans = {one.found.name: _years(session, rows, one) for one in columns if one.dated}
        years = safe_harbor.first_years(columns, spans)
        return _Looked(
            tuple(
                replace(
                    one,
                    pooled=_banded(one) and safe_harbor.pooled(_values(session, one.found)),
                    first_year=years.get(one.found.name),
                )
                for one in columns
            ),
            doubts([f for f in found if f.name not in sure], seen),
        )
    finally:
        session.drop_temp(LOOKED_AT)


def _years(session: Session, rows: Relation, one: safe_harbor.Column) -> safe_harbor.Span:
    query = step(
        "bind/date_years", {"rel": rows}, {"col": [one.found.name]}, {"end": safe_harbor.NO_YEAR}
    )
    first, last = session.row(query)
    return first, last


def _banded(one: safe_harbor.Column) -> bool:
    """Whether its ages are text, which may be bands."""
    return one.kind == "age" and one.found.column.family not in NUMBERS


def _values(session: Session, found: DetectedColumn) -> list[str]:
    text = aliased(cast(column(found.name), "VARCHAR"), "text")
    rows = session.rows(select(text).distinct().from_(session.temp(LOOKED_AT).table))
    return [row[0] for row in rows if row[0] is not None]


def _by_rule(data: Mapping[str, object], preset: Preset, looked: _Looked) -> dict[str, object]:
    """The specification with what its preset supplies.

    Raises:
        SpecError: it declares less than the preset asks; all of it at once.
    """
    given = data.get("columns", {})
    if not isinstance(given, Mapping):
        return dict(data)
    found = looked.columns
    names = {one.found.name.lower(): one.found.name for one in found}
    columns = dict(_one_each(given, names))
    declared = {key.lower(): key for key in columns}
    mistakes: list[Mistake] = []
    for one in found:
        name = one.found.name
        if preset.accepts(name):
            continue
        key = declared.get(name.lower())
        if key is None:
            columns[name] = safe_harbor.default_role(one)
            continue
        try:
            spec = ColumnSpec.model_validate(columns[key])
        except ValidationError:
            continue  # told when all of it is read
        if more := safe_harbor.missing_keys(one, spec):
            columns[key] = {"role": spec.role} | _as_mapping(columns[key]) | more
            spec = ColumnSpec.model_validate(columns[key])
        mistakes += safe_harbor.less(one, spec)
    mistakes += _accepts_nothing(preset, names | {name.lower(): name for name in looked.doubts})
    if mistakes:
        raise SpecError(mistakes)
    told = {one.found.name: one.what for one in found}
    years = {one.found.name: one.first_year for one in found}
    used = {
        "name": preset.name,
        "accept": dict(preset.accept),
        "found": told,
        "doubts": dict(looked.doubts),
        "first_years": {name: year for name, year in years.items() if year is not None},
    }
    if "privacy" not in data and "subject" not in data:  # no k would count rows or people
        data = {"accept": "rows", **data}
    return {**DEFAULTS, **data, "columns": columns, "preset": used}


def _accepts_nothing(preset: Preset, names: Mapping[str, str]) -> Iterator[Mistake]:
    for name in preset.accept:
        if name.lower() not in names:
            hint = did_you_mean(name, names.values()) or "leave it out"
            message = f"safe_harbor objects to no column {name!r}"
            yield Mistake(message, f"preset.accept.{name}", hint=hint)


def _as_mapping(given: object) -> dict[str, object]:
    return dict(given) if isinstance(given, Mapping) else {}


def _one_each(
    given: Mapping[str, object], names: Mapping[str, str]
) -> Iterator[tuple[str, object]]:
    """The declared columns, with a key of its own for each that the rule is about."""
    for key, spec in given.items():
        parts = names_in(str(key))
        if str(key).lower() in names or not any(part.lower() in names for part in parts):
            yield str(key), spec
        else:
            yield from ((part, spec) for part in parts)


def _written(text: str, data: Mapping[str, object]) -> str:
    """The text with what was supplied; JSON where it cannot be written into it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if text.lstrip().startswith("{"):
        return json.dumps(data, indent=2, default=str)
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1000
    try:
        tree = yaml.load(text)
        if not isinstance(tree.get("columns"), Mapping):
            tree["columns"] = {}
        columns = tree["columns"]
        declared = _as_mapping(data["columns"])
        for key in [key for key in columns if key not in declared]:
            del columns[key]
        before = load(text, "spec")[0].get("columns", {})
        for key, spec in declared.items():
            if key not in columns or before[key] != spec:
                columns[key] = spec
        for key in (key for key in data if key == "preset" or key not in tree):
            tree[key] = data[key]
        stream = io.StringIO()
        yaml.dump(tree, stream)
        if load(stream.getvalue(), "spec")[0] == data:
            return stream.getvalue()
    except (YAMLError, SpecError, AttributeError, KeyError, TypeError, ValueError):
        pass
    return json.dumps(data, indent=2, default=str)
