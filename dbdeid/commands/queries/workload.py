"""A workload of random range queries for the releases of a spec, written as files of SQL.

Columns are drawn from those that any release of the spec can be asked for: columns released as
their own values, over the values that the source holds; and generalized columns whose `*` tells
what it stands for, over that, since their releases answer whatever the level.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from dbdeid.bind.bind import bind
from dbdeid.bind.read import Source, read
from dbdeid.commands.queries.workload_domains import askable
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import Table
from dbdeid.engine.reading import table_of
from dbdeid.engine.session import Settings
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.external.foreign_release import opened
from dbdeid.publish.queryable import names_of_source
from dbdeid.query.workload.ranges import RangeQuery, range_queries
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import is_external
from dbdeid.workspace.workplace import reading


@dataclass(frozen=True, slots=True)
class Drawing:
    """How queries are drawn.

    Attributes:
        queries: how many, at least 1.
        dimensions: how many columns each asks for, at least 1.
        selectivity: the share of uniformly spread records that each should count, in (0, 1].
        seed: of the draws.
    """

    queries: int = 100
    dimensions: int = 2
    selectivity: float = 0.05
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Written:
    """A workload that was written.

    Attributes:
        directory: where its files are.
        drawing: how it was drawn.
        columns: from which columns.
        left_out: why of each released column that it was not drawn from.
        reached: the least and greatest share of uniformly spread records that a query counts.
    """

    directory: Path
    drawing: Drawing
    columns: tuple[str, ...]
    left_out: Mapping[str, str]
    reached: tuple[float, float]

    def to_dict(self) -> JsonObject:
        """The workload as JSON shows it."""
        return {
            "directory": str(self.directory),
            **plain(self.drawing),
            "columns": list(self.columns),
            "left_out": dict(self.left_out),
            "reached": list(self.reached),
        }


def write(
    source: Source,
    directory: Path,
    drawing: Drawing,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Written:
    """Write one file a query, `q001.sql` and so on, readable for their owner only.

    Args:
        source: a spec.
        directory: a folder that is empty or not there yet.
        drawing: how the queries are drawn.
        database: in place of the spec's `database`.
        settings: limits of the engine.

    Raises:
        SpecError, HierarchyError: the spec does not fit its data.
        DataError: the folder holds something or cannot be written, the drawing makes no sense, or
            too few columns can be asked for.
    """
    _require_sense(drawing)
    _require_empty(directory)
    file = read(source, database=database)
    if is_external(file):
        with opened(file, database=database, settings=settings) as foreign:
            domains, left_out = askable(foreign.of_original, foreign.session)
    else:
        with reading(file, database=database, settings=settings) as session:
            domains, left_out = askable(bind(file, session), session)
    names = tuple(domain.column for domain in domains)
    if len(names) < drawing.dimensions:
        raise _too_few(names, left_out, drawing.dimensions)
    made = list(
        range_queries(
            _source(file),
            domains,
            count=drawing.queries,
            dimensions=drawing.dimensions,
            selectivity=drawing.selectivity,
            seed=drawing.seed,
        )
    )
    _write(directory, _files(made, drawing, len(names)))
    shares = [query.selectivity for query in made]
    return Written(directory, drawing, names, left_out, (min(shares), max(shares)))


def _require_sense(drawing: Drawing) -> None:
    if not 0 < drawing.selectivity <= 1:
        raise DataError(
            "--selectivity: expects a share above 0 and at most 1", hint="as in --selectivity 0.05"
        )


def _require_empty(directory: Path) -> None:
    if directory.is_dir():
        if any(directory.iterdir()):
            raise DataError(
                f"{directory} is not empty", hint="give a new folder, or empty this one first"
            )
    elif directory.exists() or directory.is_symlink():
        raise DataError(f"{directory} is no folder", hint="give a new folder")


def _too_few(names: Sequence[str], left_out: Mapping[str, str], dimensions: int) -> DataError:
    have = f"only {', '.join(names)} can be asked for" if names else "no column can be asked for"
    reasons = "".join(f"; {name}: {why}" for name, why in left_out.items())
    return DataError(
        f"--dimensions {dimensions}: {have} whatever is released{reasons}",
        hint="declare the domain of more columns (`domain:`, `lower` and `upper`, or a file with "
        "all leaves), or ask for fewer at once",
    )


def _source(file: SpecFile) -> Table:
    """The source as queries name it: a file without folder and ending."""
    name = names_of_source(file.spec)[-1]
    return table_of(name)


def _files(made: Sequence[RangeQuery], drawing: Drawing, columns: int) -> Iterator[tuple[str, str]]:
    """Name and text of each file. The comments name no column, whose name could end them."""
    digits = max(len(str(len(made))), 3)
    for number, one in enumerate(made, start=1):
        note = (
            f"-- Range query {number} of {len(made)} by dbdeid workload, seed {drawing.seed}:\n"
            f"-- {drawing.dimensions} of {columns} columns drawn; of records spread uniformly over "
            f"their domains\n-- it counts {one.selectivity:.6g}, where {drawing.selectivity:.6g} "
            "is asked for.\n"
        )
        yield f"q{number:0{digits}}.sql", f"{note}{sql(one.query)};\n"


def _write(directory: Path, files: Iterator[tuple[str, str]]) -> None:
    """All files, or none."""
    place = directory.resolve()
    unfinished = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        for name, text in files:
            (unfinished / name).write_text(text, encoding="utf-8")
        unfinished.rename(place)  # over an empty folder, too
    except OSError as error:
        raise DataError(
            f"{directory} cannot be written ({error.strerror})", hint="give another folder"
        ) from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
