"""Questions that are kept for the workload: files of SQL beside the specification."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdeid.errors import DataError
from dbdeid.ui.sheet.decisions import Data

FOLDER = "queries"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_PATTERN = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]*)/\*\.sql")


def keep(folder: Path, data: Mapping[str, Any], name: str, sql: str) -> str:
    """Write a question into a new file of the workload, and give the pattern that finds it.

    Args:
        folder: of the specification, beside which the file is.
        data: of the specification.
        name: of the question, without an ending.
        sql: its text.

    Raises:
        DataError: there is no such name, or the workload is elsewhere, or the file cannot be
            written.
    """
    if not sql.strip():
        raise DataError("there is no question to keep", hint="write SQL first")
    if not _NAME.fullmatch(name):
        raise DataError(
            "this is no name of a question", hint="letters, digits, - and _, as in by_age"
        )
    evaluate = data.get("evaluate")
    pattern = evaluate.get("queries") if isinstance(evaluate, Mapping) else None
    pattern = f"{FOLDER}/*.sql" if pattern is None else pattern
    match = _PATTERN.fullmatch(pattern) if isinstance(pattern, str) else None
    if match is None:
        raise DataError(
            "the questions of this spec are not in a folder beside it",
            hint="put the file where `evaluate.queries` says",
        )
    place = folder / match[1]
    path = place / f"{name}.sql"
    try:
        place.mkdir(exist_ok=True)
        if place.is_symlink():
            raise DataError(f"{match[1]} is a link to elsewhere", hint="make it a folder")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise DataError(f"{path.name} is there already", hint="choose another name") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be written ({error.strerror})") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(sql.rstrip() + "\n")
    return pattern


def name_files(data: Data, pattern: str) -> None:
    """Have a run ask the questions that a pattern finds."""
    evaluate = data.get("evaluate")
    if evaluate is not None and not isinstance(evaluate, Mapping):
        raise DataError("`evaluate` is no mapping", hint="edit it in the file")
    data["evaluate"] = {**(evaluate or {}), "queries": pattern}
