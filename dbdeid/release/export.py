"""Exports: fresh files made from verified tables only, finished by a rename."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from dbdeid.engine.publish import write_database
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import VerificationError
from dbdeid.release.workplace import beside, companions, dictionary_name
from dbdeid.verify import Content, Declared, Verification, stored_content, verify_file


def write(
    session: Session, path: Path, declared: Declared, released: Relation, dictionary: Relation
) -> tuple[tuple[Path, Path], ...]:
    """Write one export under unfinished names and verify it after reopening.

    Returns:
        Pairs of unfinished and final path, to be renamed when everything is ready.

    Raises:
        VerificationError: the reopened file does not keep the promises; it is removed.
    """
    finals = companions(path)
    pairs = tuple((beside(final), final) for final in finals)
    try:
        if path.suffix == ".duckdb":
            tables = {declared.release: released, dictionary_name(declared.release): dictionary}
            write_database(session, pairs[0][0], tables)
        else:
            for (unfinished, _), table in zip(pairs, (released, dictionary), strict=True):
                _copy(session, table, unfinished)
        expected = stored_content(session, released, declared, path)
        files = [unfinished for unfinished, _ in pairs]
        _require(reopened(files, declared, expected), path)
    except BaseException:
        discard(pairs)
        raise
    return pairs


def finish(pairs: tuple[tuple[Path, Path], ...]) -> None:
    """Rename finished files into place."""
    for unfinished, final in pairs:
        unfinished.replace(final)


def discard(pairs: tuple[tuple[Path, Path], ...]) -> None:
    """Remove unfinished files."""
    for unfinished, _ in pairs:
        unfinished.unlink(missing_ok=True)
        unfinished.with_name(unfinished.name + ".wal").unlink(missing_ok=True)


def _copy(session: Session, table: Relation, path: Path) -> None:
    form = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER true"}
    rows = sql(exp.select("*").from_(table.table))
    place = sql(exp.Literal.string(str(path)))
    session.execute(f"COPY ({rows}) TO {place} ({form[path.suffix]})")


def reopened(files: Sequence[Path], declared: Declared, expected: Content | None) -> Verification:
    """Verify the files of one export, the release first, after reopening."""
    written, *beside = files
    dictionary = beside[0] if beside else dictionary_name(declared.release)
    return verify_file(written, declared, dictionary=dictionary, same_as=expected)


def _require(found: Verification, path: Path) -> None:
    if not found.verified:
        raise VerificationError(
            f"{path.name} failed its verification after reopening and was not published: "
            + "; ".join(found.failures),
            hint="nothing was replaced; please report this as a defect of dbdeid",
        )
