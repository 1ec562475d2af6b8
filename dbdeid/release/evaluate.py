"""Evaluating a release: the workload of a spec, run on the source and on the release."""

from __future__ import annotations

from pathlib import Path

from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.release.bind import FILES, Bound
from dbdeid.release.public import Public
from dbdeid.release.specfile import SpecFile
from dbdeid.utility.query_error import Workload
from dbdeid.verify import Declared


def queries_of(file: SpecFile) -> tuple[tuple[str, str], ...]:
    """Name and text of each query of the workload, by file name.

    Raises:
        DataError: the pattern of `evaluate.queries` matches no file, or one is not text.
    """
    pattern = file.spec.evaluate.queries
    if pattern is None:
        return ()
    try:
        paths = sorted(path for path in file.folder.glob(pattern) if path.is_file())
    except (OSError, ValueError, NotImplementedError, IndexError):
        paths = []
    if not paths:
        raise DataError(
            f"evaluate.queries: {pattern} matches no file",
            hint="a pattern like queries/*.sql, relative to the spec",
        )
    return tuple((path.stem, _text(path)) for path in paths)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"query {path.name} cannot be read as UTF-8 text", hint="save it as UTF-8"
        ) from None


def source_names(source: str) -> tuple[str, ...]:
    """How queries may name the source: as the spec spells it; a file also without its folder.

    >>> source_names("../visits.csv.gz")
    ('../visits.csv.gz', 'visits.csv.gz', 'visits')
    """
    ending = max((end for end in FILES if source.lower().endswith(end)), key=len, default="")
    if not ending:
        return (source,)
    file = Path(source).name
    return tuple(dict.fromkeys((source, file, file[: -len(ending)] or file)))


def evaluate_workload(
    bound: Bound, session: Session, public: Public, declared: Declared
) -> Workload | None:
    """The query errors of a release, or None when the spec has no workload."""
    queries = queries_of(bound.file)
    if not queries:
        return None
    from dbdeid.query.question import Answerable
    from dbdeid.query.workload import evaluate

    padding = declared.padding
    released, weight = public.answering(session, padding.sensitive if padding else None)
    generalized = bound.quasi_identifiers if public.dictionary is not None else ()
    target = Answerable(
        source_names=source_names(bound.spec.source_name),
        columns=tuple(c.column for c in bound.released),
        quasi_identifiers=tuple(c.name for c in generalized),
        release=released,
        dictionary=public.dictionary or public.released,  # which nobody reads then
        weight=weight,
    )
    return evaluate(session, queries, target, bound.source)
