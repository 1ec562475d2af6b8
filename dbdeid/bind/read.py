"""A specification read whole: its text, its presets, and the comments of its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from dbdeid.data.location.file_formats import ending_of
from dbdeid.engine.engines import warehouse_of
from dbdeid.engine.file_names import holds_table
from dbdeid.errors import SpecError
from dbdeid.spec import project_file
from dbdeid.spec.file import SpecFile, as_path, parse_spec, text_of
from dbdeid.spec.yaml_text import Path_, Plain, load

_SPECS = (".json",)  # of the formats of data, those that a spec may be written in
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
    rows = None
    if isinstance(source, Mapping):
        source, rows = _apart(source)
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
    elif ending_of(path) not in ("", *_SPECS) or (
        holds_table(path) and path.suffix.lower() not in (".duckdb", ".db")
    ):
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
        if (warehouse := warehouse_of(connection)) is not None:
            raise SpecError(
                f"a preset, or columns in comments, are not read from {warehouse.program}",
                source=str(path or "spec"),
                hint="write `columns` out, as `dbdeid init` does of a sample",
            )
        from dbdeid.bind.presets_and_comments import complete

        text, data = complete(text, data, folder, project, connection, database, rows)
    file = parse_spec(data, lines, folder, path, text, frozenset(shared))
    return replace(file, project=project, trial=trial, rows=rows)


def _apart(spec: Mapping[str, object]) -> tuple[Mapping[str, object], Any]:
    """A spec whose source Python gave, with a name for it, and its rows; None: it gave none.

    `source` is the rows themselves, or `{rows: …, name: visits}`. A reader that gives its rows only
    once is read here, for a run reads a source more than once.
    """
    rows, name = spec.get("source"), None
    if isinstance(rows, Mapping) and "rows" in rows:
        rows, name = rows["rows"], rows.get("name")
    if not hasattr(rows, "__arrow_c_stream__"):
        return spec, None
    import pyarrow as pa

    if isinstance(rows, pa.RecordBatchReader):
        rows = rows.read_all()
    return {**spec, "source": "rows" if name is None else name}, rows
