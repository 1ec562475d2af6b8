"""Evaluating a release: the workload of a spec, run on the source and on the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbdeid.bind.bound import Bound
from dbdeid.engine import regular
from dbdeid.engine.expressions import Expr, column, count_rows, select, sum_of
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.publish.queryable import answerable
from dbdeid.publish.tables import Public
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import query_files
from dbdeid.utility.query_error import Workload
from dbdeid.verify import Declared

if TYPE_CHECKING:
    from dbdeid.query.parse.answerable import Answerable


def queries_of(file: SpecFile) -> tuple[tuple[str, str], ...]:
    """Name and text of each query of the workload, by file name.

    Raises:
        DataError: the pattern of `evaluate.queries` matches no file, or one is not text.
    """
    return tuple((path.stem, _text(path)) for path in query_files(file))


def _text(path: Path) -> str:
    try:
        return regular.text(path)
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"query {path.name} cannot be read as UTF-8 text", hint="save it as UTF-8"
        ) from None


def evaluate_workload(
    bound: Bound, session: Session, public: Public, declared: Declared
) -> Workload | None:
    """The query errors of a release, or None when the spec has no workload."""
    queries = queries_of(bound.file)
    if not queries:
        return None
    from dbdeid.query.workload.workload import evaluate

    target = answerable(bound, session, public, declared)
    suppressed = max(declared.source_rows - _real(session, target), 0)
    return evaluate(session, queries, target, bound.source, suppressed)


def _real(session: Session, target: Answerable) -> int:
    """How many records of a release are real; all, where the release does not say which are not."""
    number: Expr = count_rows()
    if target.weight is not None:
        number = sum_of(column(target.weight))
    return round(session.row(select(number).from_(target.release.table))[0] or 0)
