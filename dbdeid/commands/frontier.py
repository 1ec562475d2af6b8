"""The frontier of policies: computed, kept as private tables, drawn as a page, and described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.read import Source, read
from dbdeid.commands.results import Frontier
from dbdeid.data.json import plain
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Settings
from dbdeid.errors import SpecError, Unsatisfiable
from dbdeid.methods.policy import choose, frontier_figures
from dbdeid.methods.registry import ready
from dbdeid.release.frontier_tables import keep_tables, require_free
from dbdeid.review import findings
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import refuse
from dbdeid.spec.open_decisions import require_decided
from dbdeid.workspace.progress import Clock, Notify
from dbdeid.workspace.report_files import place_of, write_page
from dbdeid.workspace.workplace import check_source, workplace


def frontier(
    source: Source,
    connection: Any = None,
    *,
    page: Path | bool = False,
    database: str | Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
) -> Frontier:
    """The risk-utility frontier of a spec with method policy (Xia et al. 2013).

    Keeps it in the private tables `<release>_frontier` and `<release>_evaluations`, where there is
    a database that stays; nothing is released.

    Args:
        source: path of a spec, its text, or a dict.
        connection: an open DuckDB connection to work on.
        page: where to draw it; True: `<release>_frontier.html` beside the spec.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        notify: called with each phase, and with the progress of the search.

    Returns:
        release, source_rows, population, people, risk, utility, search, budget, evaluated, spent,
        area, columns, points (each with risk, loss, kl in nats, classes, smallest_class and the
        policy as the labels of its intervals), equal, reference, not_representable,
        dominating_safe_harbor, distance, chosen, choose, neighbours, page, warnings, seconds.

    Raises:
        SpecError, HierarchyError, DataError: bad input; nothing was changed.
        Unsatisfiable: there is no risk to lower.
        MissingExtra: the search needs a library that is not installed.
    """
    database = given_path(database)
    file, clock = read(source, connection, database), Clock(notify)
    refuse(file, "has no frontier of policies", "verify, evaluate, query or report it")
    require_decided(file)
    _require_policy(file)
    path = place_of(file, page, database, "frontier")
    with workplace(file, connection, database=database, settings=settings, writing=True) as work:
        require_free(work, file.spec.release)
        with clock.phase("prepare"):
            bound = bind(file, work.session)
            check_source(work, bound)
            prepared = ready(bound, work.session)
            warnings = list(findings.foretold(prepared, work.session))
        with clock.phase("search"):
            found = choose.frontier_of(prepared, work.session, clock.progress)
        method = choose.method_of(prepared)
        with clock.phase("look around"):
            chosen = None
            try:
                chosen = choose.choose(prepared, work.session, found) if method.choose else None
            except Unsatisfiable as reason:  # told with what there is to choose from instead
                warnings.append(f"nothing is chosen: {reason.message}; {reason.hint}")
            warnings += chosen.warnings if chosen else ()
            figures = frontier_figures.figures_of(prepared, found, chosen)
            told = plain(figures)
            told["neighbours"] = frontier_figures.neighbours(work.session, found, chosen)
            told["warnings"] = warnings
        if not work.passing:
            with clock.phase("keep"):
                keep_tables(work, file.spec.release, found, figures.points)
    told["seconds"] = dict(clock.seconds)
    told["page"] = str(path) if path else None
    if path is not None:
        from dbdeid.report.frontier_page import render

        with clock.phase("draw"):
            write_page(path, render(told))
        told["seconds"] = dict(clock.seconds)
    return Frontier(told)


def _require_policy(file: SpecFile) -> None:
    method = file.spec.method
    if not method.can.frontier:
        mistake = file.mistake(
            f"method {method.name} has no frontier of policies", "method", hint="use method: policy"
        )
        raise SpecError([mistake], source=file.label)


# -- private tables -----------------------------------------------------------------------------
