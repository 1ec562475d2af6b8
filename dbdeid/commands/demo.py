"""The demo: a release of real microdata, from a sensitive table to a report, in one command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from dbdeid.commands.report import write_report
from dbdeid.commands.results import Evaluated
from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.data.json import JsonObject
from dbdeid.data.source_files import file_query
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import aliased, column, count_rows, creation, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError
from dbdeid.release.result import RunResult
from dbdeid.release.run import run as run_release
from dbdeid.workspace.atomic_files import staging
from dbdeid.workspace.progress import Notify

SPEC = "adult_public.yml"
PREVIEW = "adult_preview.yml"
PREVIEW_ROWS = 5
RISK_SHOWN = ("", "records", "classes", "k", "unique_records")


@dataclass(frozen=True, slots=True)
class Rows:
    """A few rows to look at."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo made.

    Attributes:
        directory: where everything lies.
        result: of the run.
        utility: metrics and query errors.
        report: the page.
        preview: largest groups of the live preview view.
        risks: deid.risk of the source and of the release, as an analyst asks it in SQL.
    """

    directory: Path
    result: RunResult
    utility: Evaluated
    report: Path
    preview: Rows
    risks: Rows

    def to_dict(self) -> JsonObject:
        """The demo as JSON shows it."""
        return {
            "directory": str(self.directory),
            "run": self.result.to_dict(),
            "evaluate": self.utility.to_dict(),
            "report": str(self.report),
        }


def run(directory: Path, *, settings: Settings | None = None, notify: Notify | None = None) -> Demo:
    """Write the sample and its spec, run it, evaluate it, report it, preview it.

    Files that are already there are kept, so a spec that was edited is run as it is.

    Raises:
        DataError: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write_files(directory)
    except OSError as error:
        raise DataError(
            f"{directory} cannot be written ({error.strerror})", hint="give another folder"
        ) from None
    database = directory / "adult.duckdb"
    if not database.exists():
        _write_database(database)
    spec = directory / SPEC
    result = run_release(spec, settings=settings, notify=notify)
    run_release(directory / PREVIEW, settings=settings, notify=notify)
    utility = evaluate(spec, settings=settings)
    report = write_report(spec, "internal", directory / "report.html", settings=settings)
    preview, risks = _look(database, result, settings)
    return Demo(directory, result, utility, report, preview, risks)


def _write_files(directory: Path) -> None:
    for source, relative in _samples(files("dbdeid.sample"), Path()):
        target = directory / relative
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            _write_whole(target, source.read_bytes())


def _write_whole(target: Path, content: bytes) -> None:
    """A file as a whole or not at all: what is there is kept by the next demo."""
    unfinished = target.with_name(f".{target.name}.new")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _samples(folder: Traversable, place: Path) -> Iterator[tuple[Traversable, Path]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and not item.name.startswith("_"):
            yield from _samples(item, place / item.name)
        elif item.name.endswith((".yml", ".csv", ".sql", ".md")):
            yield item, place / item.name


def _write_database(path: Path) -> None:
    """The owner's database: the sample as table `adult`, the macros installed."""
    with (
        as_file(files("dbdeid.sample").joinpath("adult.parquet")) as sample,
        staging(None) as stage,
    ):
        unfinished = stage.unfinished(path)
        with ENGINE.open(unfinished, read_only=False) as session:
            query = file_query(sample)
            assert query is not None
            table = Relation("adult", schema="main", catalog=session.catalog).table
            session.execute(creation(table, "TABLE", query))
            session.install_macros()
        unfinished.replace(path)


def _look(database: Path, result: RunResult, settings: Settings | None) -> tuple[Rows, Rows]:
    """Rows of the preview, and the risk of source and release by macro, in plain SQL."""
    names = list(result.transformation)
    with ENGINE.open(database, read_only=True, settings=settings) as session:
        preview = session.relation("adult_preview")
        names_shown = [*map(column, preview.names)]
        size = aliased(count_rows(), "records")
        largest = select(*names_shown, size).from_(preview.table).group_by(*names_shown)
        rows = session.rows(largest.order_by(size.this.desc(), *names_shown).limit(PREVIEW_ROWS))
        released = session.attach(Path(result.table), read_only=True)
        risks = [
            (name, *_risk(session, table, names))
            for name, table in (
                ("adult", "adult"),
                (result.release, f"{released}.{result.release}"),
            )
        ]
    return Rows((*preview.names, "records"), tuple(rows)), Rows(RISK_SHOWN, tuple(risks))


def _risk(session: Session, table: str, names: list[str]) -> tuple[Any, ...]:
    found = session.rows(
        "SELECT records, classes, k, unique_records FROM deid.risk(?, ?)", [table, names]
    )
    return found[0]
