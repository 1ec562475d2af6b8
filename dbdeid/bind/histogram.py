"""A histogram in place of the source: how many records have each combination of values.

It tells all that a search looks at, and nothing else of the records. What is made of it is a query
that gives each combination as often as it was counted, so that all that follows is as on a table.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path

from dbdeid.bind.source import open_table
from dbdeid.data.location.file_formats import is_text
from dbdeid.data.source_files import EVERY_LINE, file_query, reading_source
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    all_of,
    any_of,
    as_often,
    cast,
    column,
    count_rows,
    count_where,
    is_null,
    literal,
    not_,
    select,
    struct_of,
    table_function,
)
from dbdeid.engine.relation import NUMBERS, Column
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, SpecError
from dbdeid.privacy import OfSensitive, TCloseness
from dbdeid.query.dialects.histogram import COUNTED
from dbdeid.sources.files import Opened, kept
from dbdeid.spec.column.column_spec import ColumnSpec, given_reason, names_in
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import Evaluate

KEPT = "deid_histogram"
ASKED = "`dbdeid dbt histogram SPEC --dialect …` prints the query whose result it is"


@dataclass(frozen=True, slots=True)
class Histogram:
    """A specification bound to a histogram.

    Attributes:
        file: the spec, with the columns of the histogram alone.
        place: the file or table of the histogram.
        released: the columns that the spec releases, in its order.
        withheld: those that it does not.
    """

    file: SpecFile
    place: str
    released: tuple[str, ...]
    withheld: tuple[str, ...]

    @property
    def unseen(self) -> tuple[str, ...]:
        """The columns that leave as they are and are not in the histogram."""
        return tuple(name for name in self.released if name not in self.file.spec.columns)


def counted_columns(file: SpecFile) -> dict[str, ColumnSpec]:
    """What a search looks at: quasi-identifiers, and the columns of models over sensitive values.

    Raises:
        SpecError: classes of the release count people, not records, or a method draws values.
    """
    spec = file.spec
    if spec.subject is not None:
        message = "a histogram counts records, and does not tell whose they are"
        hint = "make one row of each subject in the source, or search where the table is"
        raise SpecError([file.mistake(message, "subject", hint=hint)], source=file.label)
    if not spec.method.can.rules and spec.method.can.searched is not None:
        message = f"method {spec.method.name} needs the records, not their counts"
        hint = "use full_domain or policy, or run it where the table is"
        raise SpecError([file.mistake(message, "method", hint=hint)], source=file.label)
    modelled = {
        name.lower() for m in spec.privacy if isinstance(m, OfSensitive) for name in m.columns
    }
    return {
        name: column
        for name, column in _each(file).items()
        if column.role == "quasi_identifier" or name.lower() in modelled
    }


def _each(file: SpecFile) -> dict[str, ColumnSpec]:
    """The columns one by one."""
    return {name: column for key, column in file.spec.columns.items() for name in names_in(key)}


def on_histogram(file: SpecFile, place: str | Path) -> Histogram:
    """The spec on a histogram of its source.

    Args:
        file: the spec.
        place: a file, or a folder of files with a slash at its end, from where the command is
            given; or a table of the spec's database.

    Raises:
        SpecError: as `counted_columns`.
    """
    columns, name = counted_columns(file), str(place)
    released = {n: c.released for n, c in _each(file).items()}
    changed: dict[str, object] = {"columns": columns, "evaluate": Evaluate(), "expect": {}}
    if file.spec.kind_of(name) == "file":
        folder = "/" if name.endswith("/") else ""  # all files in it, as Spark writes them
        name = str(Path(name).expanduser().absolute()) + folder
        changed |= {"source": name, "database": None, "target": None}
    spec = file.spec.model_copy(update=changed)
    return Histogram(
        replace(file, spec=spec),
        name,
        tuple(n for n, leaves in released.items() if leaves),
        tuple(n for n, leaves in released.items() if not leaves),
    )


def records(histogram: Histogram, session: Session) -> Opened:
    """The rows that a histogram counts.

    Raises:
        DataError: it is no histogram of these columns.
    """
    file, place = histogram.file, histogram.place
    with reading_source():
        rows = kept(session, _rows(histogram, session), KEPT).query
        found = session.describe(rows)
    spelled = {c.name.lower(): c for c in found}
    wanted = [*file.spec.columns, COUNTED]
    missing = [name for name in wanted if name.lower() not in spelled]
    more = set(spelled) - {name.lower() for name in wanted}
    if missing or more or len(spelled) < len(found):
        told = f"it has no column {missing[0]!r}" if missing else "it has columns besides"
        names = ", ".join(wanted)
        raise DataError(
            f"{Path(place).name} is no histogram of this spec: {told}",
            hint=f"its columns are {names}; {ASKED}",
        )
    counts = spelled[COUNTED]
    with reading_source():
        _require_counts(place, rows, counts, [c for c in found if c is not counts], session)
    cells = [aliased(column(spelled[name.lower()].name), name) for name in file.spec.columns]
    return Opened(as_often(rows.subquery("counted"), cells, column(counts.name)))


def _rows(histogram: Histogram, session: Session) -> Query:
    """The histogram as it is read; of a text file only what has to be a number or a day is one.

    Else values that are written otherwise, as 01 and 1, could become one.
    """
    file, place = histogram.file, histogram.place
    path = Path(place)
    if file.spec.kind_of(place) != "file" or not path.is_file() or not is_text(path):
        return open_table(file, session, place, "histogram").query
    query = file_query(path)
    assert query is not None
    spec = file.spec
    ordered = {
        name.lower()
        for m in spec.privacy
        if isinstance(m, TCloseness) and m.distance == "ordered"
        for name in m.columns
    }
    sniffed = {c.name.lower(): c for c in session.describe(query)}
    texts: dict[str, Expr] = {}
    for name, declared in spec.columns.items():
        kind = declared.hierarchy.kind if declared.hierarchy else None
        measured = kind in ("intervals", "dates") or name.lower() in ordered
        if not measured and name.lower() in sniffed:
            texts[sniffed[name.lower()].name] = literal("VARCHAR")
    options = {"sample_size": literal(-1), **EVERY_LINE}
    if texts:
        options["types"] = struct_of(texts)
    return select("*").from_(table_function("read_csv", literal(place), **options))


def _require_counts(
    place: str, rows: Query, counts: Column, others: list[Column], session: Session
) -> None:
    """Each combination once, counted in whole numbers above 0.

    Raises:
        DataError: it is not so.
    """
    name, count = Path(place).name, column(counts.name)
    (number,) = session.row(select(count_rows()).from_(rows.subquery("counted")))
    if number == 0:
        raise DataError(f"{name} has no rows", hint=ASKED)
    if counts.family not in NUMBERS:
        raise DataError(f"{name}: {COUNTED} is no number", hint=ASKED)
    whole = all_of(count.copy() >= literal(1), cast(count, "BIGINT").eq(count))
    wrong = any_of(is_null(count), not_(whole))
    (faulty,) = session.row(select(count_where(wrong)).from_(rows.subquery("counted")))
    if faulty:
        raise DataError(f"{name}: {COUNTED} is no count in {faulty} of {number} rows", hint=ASKED)
    once = select(*(column(c.name) for c in others)).distinct().from_(rows.subquery("counted"))
    (different,) = session.row(select(count_rows()).from_(once.subquery("once")))
    if different < number:
        raise DataError(
            f"{name}: {number - different} of {number} rows count a combination that another row "
            "counts, too",
            hint="in a text file an empty text and NULL are the same: save it as Parquet",
        )


def require_explained(file: SpecFile, histogram: Histogram) -> None:
    """Refuse to plan columns that leave as they are, and that nobody has looked at or spoken for.

    Of a table they would be refused where they look like direct identifiers.

    Args:
        file: the spec as it is written.
        histogram: of its source.

    Raises:
        SpecError: which of them have no reason.
    """
    columns = _each(file)
    mistakes = [
        file.mistake(
            f"column {name!r} leaves as it is, and is not in the histogram: nobody looks at it",
            *("columns", name),
            hint="say in `reason: …` why nobody outside can use it against a person, or drop it",
        )
        for name in histogram.unseen
        if not given_reason(columns[name].reason)
    ]
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def warnings(histogram: Histogram) -> list[str]:
    """What whoever plans with a histogram should know."""
    told = []
    if histogram.unseen:
        names = ", ".join(histogram.unseen)
        told.append(f"not in the histogram, and so not looked at before they leave: {names}")
    path = Path(histogram.place)
    if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = "700" if path.is_dir() else "600"
        told.append(
            f"{path.name} holds combinations of values of the source and others may read it: "
            f"chmod {mode} {path.name}, and remove it when the plan is made"
        )
    return told
