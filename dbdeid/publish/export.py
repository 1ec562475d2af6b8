"""Exports: fresh files made from verified tables only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    cast,
    column,
    count_where,
    every_column,
    function,
    is_null,
    not_,
    not_null,
    select,
    try_cast,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, VerificationError
from dbdeid.publish.tables import Public, views
from dbdeid.spec.names import catalog_name, dictionary_name
from dbdeid.verify import Content, Declared, Twin, Verification, verify_file
from dbdeid.verify.base import file_kinds, json_files
from dbdeid.verify.base.file_kinds import DATABASE, IN_PARQUET, JSON, PARQUET, WIDE
from dbdeid.workspace.atomic_files import Finished, Stage, finished


def write(
    session: Session,
    stage: Stage,
    finals: Sequence[Path],
    declared: Declared,
    public: Public,
    expected: Content | None,
    twin: Twin | None = None,
) -> tuple[list[Finished], Twin | None]:
    """Write the files of one export aside and verify them after reopening.

    Args:
        session: where the tables are.
        stage: where unfinished files lie.
        finals: the file of the release and those beside it, as
            `workspace.release_files.companions` gives them.
        declared: the shape and promises of the release.
        public: what is published.
        expected: the content of what was verified.
        twin: a database file of the release that was verified so.

    Returns:
        The files, and the twin of others that are written after it.

    Raises:
        DataError: it cannot be written.
        VerificationError: the reopened file does not keep the promises.
    """
    path, released = finals[0], public.released
    unfinished = [stage.unfinished(final) for final in finals]
    if path.suffix == ".duckdb":
        tables = public.named(declared.release)
        session.publish(unfinished[0], tables, views(declared))
    else:
        for file, table in zip(unfinished, (released, *public.beside), strict=True):
            _copy(session, table, file)
    found, twin = reopened(unfinished, declared, expected, twin)
    _require(found, path)
    return [finished(*pair) for pair in zip(unfinished, finals, strict=True)], twin


def _copy(session: Session, table: Relation, path: Path) -> None:
    picked: list[Expr] = [every_column()]
    kind = file_kinds.kind_named(path)
    if kind == PARQUET:
        picked = _in_parquet(session, table, path)
    elif kind == JSON:
        picked = _in_json(session, table, path)
    session.export(select(*picked).from_(table.table), path)


def _in_parquet(session: Session, table: Relation, path: Path) -> list[Expr]:
    """The columns, integers that Parquet has no type for as decimals, never as rounded numbers.

    Raises:
        DataError: one of them does not fit.
    """
    columns = session.describe(table.table)
    wide = [c for c in columns if c.type in WIDE]
    beyond = [
        count_where(
            all_of(
                not_null(column(c.name)),
                is_null(try_cast(column(c.name), _decimal())),
            )
        )
        for c in wide
    ]
    counts = session.row(select(*beyond).from_(table.table)) if beyond else ()
    too_long = [c.name for c, count in zip(wide, counts, strict=True) if count]
    if too_long:
        raise DataError(
            f"{path.name}: a Parquet file holds integers of 38 digits, and those in "
            f"{', '.join(map(repr, too_long))} have more",
            hint="export to .duckdb or .csv, or release them as text with `type: categorical`",
        )
    return [
        aliased(cast(column(c.name), _decimal()), c.name) if c.type in WIDE else column(c.name)
        for c in columns
    ]


def _in_json(session: Session, table: Relation, path: Path) -> list[Expr]:
    """The columns, numbers of more digits than a reader of JSON may keep as texts.

    Raises:
        DataError: JSON has no number for some.
    """
    columns = session.describe(table.table)
    floats = [c for c in columns if c.type in ("FLOAT", "DOUBLE")]
    others = [count_where(not_(function("isfinite", column(c.name)))) for c in floats]
    counts = session.row(select(*others).from_(table.table)) if others else ()
    wrong = [c.name for c, count in zip(floats, counts, strict=True) if count]
    if wrong:
        raise DataError(
            f"{path.name}: JSON has no number for NaN and infinity, which are in "
            f"{', '.join(map(repr, wrong))}",
            hint="export to .duckdb, .parquet or .csv, or make them NULL in the source",
        )
    return [
        column(c.name)
        if json_files.as_number(c.type)
        else aliased(cast(column(c.name), "VARCHAR"), c.name)
        for c in columns
    ]


def _decimal() -> str:
    return IN_PARQUET["HUGEINT"]


def reopened(
    files: Sequence[Path], declared: Declared, expected: Content | None, twin: Twin | None = None
) -> tuple[Verification, Twin | None]:
    """Verify the files of one export, the release first, after reopening.

    Returns:
        What was found, and the file with which those of other exports can be compared: the given
        twin, or this one where it is the first database.
    """
    written, *beside = files
    names: list[str | Path] = list(beside)
    if not names and declared.explained:
        names = [dictionary_name(declared.release)]
        if declared.padding is not None and declared.padding.catalog != "none":
            names.append(catalog_name(declared.release))
    found = verify_file(
        written,
        declared,
        dictionary=names[0] if names else None,
        catalog=names[1] if len(names) > 1 else None,
        same_as=expected,
        twin=twin,
    )
    if twin is None and not beside and written.suffix == DATABASE:
        twin = Twin(written, (declared.release, *map(str, names)), found)
    return found, twin


def _require(found: Verification, path: Path) -> None:
    if not found.verified:
        raise VerificationError(
            f"{path.name} failed its verification after reopening and was not published: "
            + "; ".join(found.failures),
            hint="nothing was replaced; please report this as a defect of dbdeid",
        )
