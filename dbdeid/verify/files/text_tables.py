"""Releases in CSV, JSON, packed or not, or workbooks: their tables, and what the files hide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base import file_kinds, json_files, workbooks
from dbdeid.verify.base.declaration import Check, Declared
from dbdeid.verify.files.content import listing
from dbdeid.verify.files.packing import packing
from dbdeid.verify.padding.padded_release import CATALOG


def exported(
    session: Session,
    path: Path,
    declared: Declared,
    dictionary: Path | None,
    catalog: Path | None,
) -> tuple[tuple[Relation, Relation | None, Relation | None], list[Check]]:
    """The tables of a release from its files.

    Args:
        session: any session that keeps the order of rows.
        path: the file of the release.
        declared: the shape of the release.
        dictionary: the file of its dictionary, if there is one.
        catalog: the file of its catalog, if there is one.

    Returns:
        Release, dictionary and catalog, and what was found of the files.

    Raises:
        DataError: one cannot be read.
    """
    table, checks = read(session, path, declared.columns, path.name)
    found: list[Relation | None] = []
    for other, shape, name in (
        (dictionary, listing(declared), "verify_dictionary"),
        (catalog, CATALOG, "verify_groups"),
    ):
        listed = None
        if other is not None:
            listed, more = read(session, other, shape, name)
            # types of a dictionary that are wrong fail the checks of its shape
            checks = _together(checks, [c for c in more if c.check != "types"])
        found.append(listed)
    files = [file for file in (path, dictionary, catalog) if file is not None]
    return (table, found[0], found[1]), [*checks, *packing(files, ours=True)]


def foreign(session: Session, path: Path) -> tuple[Relation, list[Check]]:
    """The rows of anyone's file, as text, and what was found of the file.

    Raises:
        DataError: it cannot be read.
    """
    if file_kinds.kind(path) == file_kinds.JSON:
        rows, keys = json_files.foreign(session, path, path.name)
        return rows, [keys, *packing([path], ours=False)]
    if file_kinds.kind(path) == file_kinds.WORKBOOK:
        rows, container = workbooks.foreign(session, path, path.name)
        return rows, [container]
    rows = file_kinds.foreign_csv(session, path, path.name)
    return rows, packing([path], ours=False)


def plain(session: Session, path: Path, name: str) -> tuple[Relation, tuple[Column, ...]]:
    """The rows of anyone's file, as plain text, and the types that its cells seem to have.

    Raises:
        DataError: it cannot be read.
    """
    if file_kinds.kind(path) == file_kinds.JSON:
        rows = file_kinds.load(session, path, name, json_files.text_rows(path))
        return rows, rows.columns
    if file_kinds.kind(path) == file_kinds.WORKBOOK:
        rows, _ = workbooks.foreign(session, path, name)
        return rows, rows.columns
    rows = file_kinds.foreign_csv(session, path, name)
    return rows, session.describe(file_kinds.sniffed_csv(path))


def read(
    session: Session, path: Path, columns: Sequence[Column], name: str
) -> tuple[Relation, list[Check]]:
    """The rows of one file that was exported, under its declared types where all are of them.

    Raises:
        DataError: it cannot be read.
    """
    if file_kinds.kind(path) == file_kinds.JSON:
        return json_files.exported(session, path, columns, name)
    if file_kinds.kind(path) == file_kinds.WORKBOOK:
        return workbooks.exported(session, path, columns, name)
    text = file_kinds.exported_csv(session, path, f"{name}_text")
    table, types = file_kinds.typed(session, text, columns, name)
    return table, [types]


def _together(checks: Sequence[Check], more: Sequence[Check]) -> list[Check]:
    """The checks, each failed by that of the same name that fails."""
    failed = {c.check: c for c in more if not c.holds}
    return [failed.get(c.check, c) if c.holds else c for c in checks]
