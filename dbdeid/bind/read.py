"""A specification read whole: its text, its presets, and the comments of its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from dbdeid.engine.file_names import holds_table
from dbdeid.errors import SpecError
from dbdeid.spec import project_file
from dbdeid.spec.file import SpecFile, as_path, parse_spec, text_of
from dbdeid.spec.yaml_text import Path_, Plain, load

# A specification: its path, its text, or the mapping that the text would be.
Source: TypeAlias = str | Path | Mapping[str, object]


def read(
    source: Source,
    connection: Any = None,
    database: Path | None = None,
    *,
    trial: bool = False,
) -> SpecFile:
    """A spec from a path, from YAML or JSON text, or from a dict.

    Args:
        source: the spec.
        connection: where its source is, if its columns stand in comments.
        database: likewise, in place of its `database`.
        trial: whether its trial is meant.

    Raises:
        SpecError: it cannot be read, or it has mistakes.
        DataError: its columns stand in comments of a database that cannot be read.
    """
    lines: Mapping[Path_, int] = {}
    folder, path, project = Path.cwd(), None, None
    shared: Mapping[str, object] = {}
    if isinstance(source, Mapping):
        data, _ = Plain("spec").of(source)
        text = json.dumps(data, indent=2, default=str)
    elif not isinstance(source, str | Path):
        raise SpecError(
            f"a spec is a path, a text or a dict, not a {type(source).__name__}",
            hint="give a path, a text or a dict",
        )
    elif (path := as_path(source)) is None:
        text = str(source)
        data, lines = load(text, "spec")
    elif holds_table(path) and path.suffix.lower() not in (".duckdb", ".db"):
        raise SpecError(
            f"{path.name} is data, not a specification",
            hint=f"draft one: dbdeid init {path.name} -o release.yml",
        )
    else:
        text, folder = text_of(path), path.resolve().parent
        data, lines = load(text, str(path))
        project = project_file.around(path)
        if project is not None and isinstance(data, Mapping):
            shared = project.shared(data, folder)
            text, data = project_file.whole(text, data, shared), {**data, **shared}
    if isinstance(data, Mapping) and ("preset" in data or data.get("columns") == "from_comments"):
        from dbdeid.bind.presets_and_comments import complete

        text, data = complete(text, data, folder, project, connection, database)
    file = parse_spec(data, lines, folder, path, text, frozenset(shared))
    return replace(file, project=project, trial=trial)
