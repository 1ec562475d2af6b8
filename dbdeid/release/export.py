"""Exports: fresh files made from verified tables only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from dbdeid.engine.publish import write_database
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import VerificationError
from dbdeid.release.journal import Finished, Stage, finished
from dbdeid.release.workplace import companions, dictionary_name
from dbdeid.verify import Content, Declared, Verification, stored_content, verify_file


def write(
    session: Session,
    stage: Stage,
    path: Path,
    declared: Declared,
    released: Relation,
    dictionary: Relation,
) -> list[Finished]:
    """Write one export aside and verify it after reopening.

    Raises:
        DataError: it cannot be written.
        VerificationError: the reopened file does not keep the promises.
    """
    finals = companions(path)
    unfinished = [stage.unfinished(final) for final in finals]
    if path.suffix == ".duckdb":
        tables = {declared.release: released, dictionary_name(declared.release): dictionary}
        write_database(session, unfinished[0], tables)
    else:
        for file, table in zip(unfinished, (released, dictionary), strict=True):
            _copy(session, table, file)
    expected = stored_content(session, released, declared, path)
    _require(reopened(unfinished, declared, expected), path)
    return [finished(*pair) for pair in zip(unfinished, finals, strict=True)]


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
