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
from dbdeid.release.public import Public, views
from dbdeid.release.workplace import catalog_name, dictionary_name
from dbdeid.verify import Content, Declared, Verification, stored_content, verify_file


def write(
    session: Session, stage: Stage, finals: Sequence[Path], declared: Declared, public: Public
) -> list[Finished]:
    """Write the files of one export aside and verify them after reopening.

    Args:
        session: where the tables are.
        stage: where unfinished files lie.
        finals: the file of the release and those beside it, as `workplace.companions`.
        declared: the shape and promises of the release.
        public: what is published.

    Raises:
        DataError: it cannot be written.
        VerificationError: the reopened file does not keep the promises.
    """
    path, released = finals[0], public.released
    unfinished = [stage.unfinished(final) for final in finals]
    if path.suffix == ".duckdb":
        tables = public.named(declared.release)
        write_database(session, unfinished[0], tables, views(declared))
    else:
        for file, table in zip(unfinished, (released, *public.beside), strict=True):
            _copy(session, table, file)
    expected = stored_content(session, released, declared, path, public.catalog)
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
    names: list[str | Path] = list(beside)
    if not names and declared.explained:
        names = [dictionary_name(declared.release)]
        if declared.padding is not None and declared.padding.catalog != "none":
            names.append(catalog_name(declared.release))
    return verify_file(
        written,
        declared,
        dictionary=names[0] if names else None,
        catalog=names[1] if len(names) > 1 else None,
        same_as=expected,
    )


def _require(found: Verification, path: Path) -> None:
    if not found.verified:
        raise VerificationError(
            f"{path.name} failed its verification after reopening and was not published: "
            + "; ".join(found.failures),
            hint="nothing was replaced; please report this as a defect of dbdeid",
        )
