"""Exports: fresh files made from verified tables only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdeid.engine.file_names import is_folder
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import VerificationError
from dbdeid.publish import copying, partitions
from dbdeid.publish.tables import Public, views
from dbdeid.spec.names import catalog_name, dictionary_name
from dbdeid.verify import Content, Declared, Staged, Twin, Verification, verify_file
from dbdeid.verify.base import file_kinds
from dbdeid.verify.base.file_kinds import DATABASE, PARQUET, WIDE
from dbdeid.workspace.atomic_files import Finished, Stage, finished


def write(
    session: Session,
    stage: Stage,
    finals: Sequence[Path],
    declared: Declared,
    public: Public,
    expected: Content | None,
    twin: Twin | None = None,
    by: Sequence[str] = (),
    verified: Verification | None = None,
    at_hand: Path | None = None,
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
        by: the columns whose values tell in which file of a folder a row is.
        verified: what was found of the tables beside their source, and of which `expected` is the
            content: a database that holds the same cells is not judged anew.
        at_hand: what `at_hand` gave for all exports.

    Returns:
        The files, and the twin of others that are written after it.

    Raises:
        DataError: it cannot be written.
        VerificationError: the reopened file does not keep the promises.
    """
    path, released = finals[0], public.released
    unfinished = [stage.unfinished(final) for final in finals]
    staged: Staged | None = None
    if path.suffix == ".duckdb":
        tables = public.named(declared.release)
        files = {declared.release: at_hand} if at_hand is not None else {}
        session.publish(unfinished[0], tables, views(declared), files)
        if verified is not None:
            staged = Staged(session, unfinished[0], tables, verified)
    else:
        if is_folder(path):
            partitions.write(session, released, by, unfinished[0], path.name)
        elif unfinished[0] != at_hand:
            copying.copy(session, released, unfinished[0])
        for file, table in zip(unfinished[1:], public.beside, strict=True):
            copying.copy(session, table, file)
    found, twin = reopened(unfinished, declared, expected, twin, staged)
    _require(found, path)
    return [finished(*pair) for pair in zip(unfinished, finals, strict=True)], twin


def at_hand(
    session: Session, stage: Stage, finals: Sequence[Path], released: Relation
) -> Path | None:
    """Write the release as a Parquet file where both it and a database are to be exported.

    The rows of the database are then read from there, and not written once more to be passed on.

    Args:
        session: where the table is.
        stage: where unfinished files lie.
        finals: the files of all exports.
        released: the table.
    """
    plain = [p for p in finals if not is_folder(p) and file_kinds.kind_named(p) == PARQUET]
    wide = any(c.type in WIDE for c in released.columns)  # of which a Parquet file has decimals
    if not plain or wide or not any(p.suffix == DATABASE for p in finals):
        return None
    unfinished = stage.unfinished(plain[0])
    copying.copy(session, released, unfinished)
    return unfinished


def reopened(
    files: Sequence[Path],
    declared: Declared,
    expected: Content | None,
    twin: Twin | None = None,
    staged: Staged | None = None,
) -> tuple[Verification, Twin | None]:
    """Verify the files of one export, the release first, after reopening.

    A database is compared with the staged tables where they are given, other files with a twin.

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
        staged=staged,
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
