"""Searching without releasing: what a run would choose, and what other demands would cost.

The source is staged and coded once, however many searches follow; nothing is written into the
database.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.histogram import on_histogram, records
from dbdeid.bind.histogram import warnings as of_histogram
from dbdeid.bind.read import Source, read
from dbdeid.commands.results import Searched
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, SpecError
from dbdeid.lattice.exploration import Checked, Exploration, Found, Problem
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.objectives import loss_of
from dbdeid.methods.common.levels import Levels, levels_of
from dbdeid.methods.common.searching import Ground, Remembering, lattice_of
from dbdeid.methods.full_domain import searching
from dbdeid.methods.full_domain.searching import blank, described, is_blank, nothing
from dbdeid.methods.registry import ready
from dbdeid.prepare.problem import Parameters
from dbdeid.privacy import KAnonymity
from dbdeid.report.charts.search_charts import Point
from dbdeid.report.search_page import render
from dbdeid.review import findings
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import refuse
from dbdeid.spec.open_decisions import require_decided
from dbdeid.workspace.progress import Clock, Notify, Offer, Progress
from dbdeid.workspace.report_files import place_of, write_page
from dbdeid.workspace.workplace import check_source, workplace

DRAWN = 4000  # checked nodes that a page shows
STRIDE = 1.01  # from one point of the trail to the next, where nothing better was found


@dataclass(frozen=True, slots=True)
class Grid:
    """The demands that are tried in turn; an empty part stays as the spec declares it.

    Attributes:
        ks: of k-anonymity, each at least 1.
        limits: suppression limits, each a share from 0 to 1.
    """

    ks: tuple[int, ...] = ()
    limits: tuple[float, ...] = ()

    @classmethod
    def parse(cls, ks: str | None, limits: str | None) -> Grid:
        """From lists as `3,5,10` and `0,0.05`; None stands for the spec.

        Raises:
            DataError: a list is empty, repeats itself, or has something else in it.
        """
        return cls(
            tuple(_listed(ks, "--k", "3,5,10", _as_k)),
            tuple(_listed(limits, "--suppression", "0,0.02,0.05", _as_limit)),
        )

    @classmethod
    def of(cls, given: Grid | Mapping[str, Sequence[float]] | None) -> Grid:
        """A grid, or the same as `{"k": [3, 5, 10], "suppression": [0, 0.05]}`.

        Raises:
            DataError: it has other keys, or is no list of such numbers.
        """
        if isinstance(given, Grid):
            return given
        found = given or {}
        if not isinstance(found, Mapping) or not set(found) <= {"k", "suppression"}:
            raise DataError(
                "grid: expects k and suppression",
                hint='as in {"k": [3, 5, 10], "suppression": [0, 0.05]}',
            )
        texts = {key: ",".join(map(str, found[key])) for key in found}
        return cls.parse(texts.get("k"), texts.get("suppression"))

    def __bool__(self) -> bool:
        return bool(self.ks or self.limits)


def _listed(
    text: str | None, option: str, example: str, convert: Callable[[str], Any]
) -> Iterator[Any]:
    seen = set()
    for word in [] if text is None else text.split(","):
        wrong = "is listed twice"
        try:
            value = convert(word.strip())
        except ValueError as error:
            value, wrong = None, str(error)
        if value is None or value in seen:
            raise DataError(f"{option}: {word.strip()!r} {wrong}", hint=f"as in {option} {example}")
        seen.add(value)
        yield value


def _as_k(word: str) -> int:
    known = word.isascii() and word.isdecimal() and len(word) < 19
    if not known or not int(word):
        raise ValueError("is no k: it takes whole numbers from 1")
    return int(word)


def _as_limit(word: str) -> float:
    wrong = "is no share: it takes shares from 0 to 1; write 5% as 0.05"
    try:
        share = float(word)
    except ValueError:
        raise ValueError(wrong) from None
    if not 0 <= share <= 1:
        raise ValueError(wrong)
    return share


def search(
    source: Source,
    connection: Any = None,
    *,
    grid: Grid | Mapping[str, Sequence[float]] | None = None,
    page: Path | bool = False,
    database: str | Path | None = None,
    settings: Settings | None = None,
    histogram: str | Path | None = None,
    notify: Notify | None = None,
    offer: Offer | None = None,
) -> Searched:
    """Search as a run would, without releasing anything, and return what was found.

    Args:
        source: path of a spec, its text, or a dict.
        connection: an open DuckDB connection to read from.
        grid: demands to try in turn, as in `{"k": [3, 5], "suppression": [0, 0.05]}`; None
            searches once, as the spec declares.
        page: where to draw what was looked at; True: `<release>_search.html` beside the spec.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        histogram: in place of the source: a file or table with what the query of
            `dbdeid dbt histogram` gave.
        notify: called with each phase, and with the progress of the searches.
        offer: told the best found so far when a search is interrupted; no is its only answer.

    Returns:
        release, source_rows, source_subjects, by_subject (whether a subject is declared, so that
        classes count subjects), lattice_size, objective, columns, page, warnings, seconds; and of
        one search its outcome and the `neighbours` of what it found, of a grid a list of outcomes
        in `cells`. An outcome has k, suppression_limit, transformation (None where none was
        found), score, loss, suppressed_rows, suppressed_subjects, classes, smallest_class, and
        `search` as a run has it.

    Raises:
        SpecError, HierarchyError, DataError: bad input, and a method that is not searched so.
        Unsatisfiable: no transformation satisfies; in a grid, some demands may have none.
        NothingFound: the one search found none, or nothing but `*` in the time there was, and it
            is not proven that no other satisfies.
        Interrupted: by the user.
    """
    database = given_path(database)
    asked = Grid.of(grid)
    file, clock = read(source, connection, database), Clock(notify)
    refuse(file, "nothing is chosen of it", "verify, evaluate, query or report it")
    require_decided(file)
    _require_searchable(file, asked)
    counted = on_histogram(file, histogram) if histogram is not None else None
    file = counted.file if counted else file
    path = place_of(file, page, database, "search")
    with workplace(file, connection, database=database, settings=settings, writing=False) as work:
        with clock.phase("prepare"):
            bound = bind(file, work.session, records(counted, work.session) if counted else None)
            check_source(work, bound)
            prepared = ready(bound, work.session)
            parameters = levels_of(prepared.parameters)
            lattice = lattice_of(prepared.quasi_identifiers)
            ground = Ground.of(work.session, lattice, parameters)
            warnings = [
                *findings.many(prepared, lattice),
                *findings.foretold(prepared, work.session),
            ]
        cells, shown = _search(ground, parameters, asked, clock, offer)
        if not asked and shown.found.node is None:
            raise nothing(ground, shown.problem, shown.parameters, shown.found)
        if not asked and is_blank(shown.found, lattice):
            raise blank(ground, shown.parameters, shown.found)
        with clock.phase("look around"):
            neighbours = plain(_neighbours(shown.problem, shown.found.node))
            points = _points(shown.problem, shown.found) if path else []
    told = {
        "release": file.spec.release,
        "source_rows": prepared.rows,
        "source_subjects": prepared.subjects,
        "by_subject": file.spec.subject is not None,
        "lattice_size": lattice.size,
        "objective": parameters.options.objective,
        "columns": _columns(lattice),
        **({"cells": cells} if asked else {**cells[0], "neighbours": neighbours}),
        "warnings": [
            *warnings,
            *_warnings(file, parameters, asked),
            *(of_histogram(counted) if counted else ()),
        ],
    }
    if path is not None:
        with clock.phase("draw"):
            drawn = {**told, **plain(shown.outcome), "neighbours": neighbours, "cells": cells}
            write_page(path, render(drawn, points, shown.trail))
    return Searched(told | {"page": str(path) if path else None, "seconds": clock.seconds})


def _require_searchable(file: SpecFile, grid: Grid) -> None:
    """Refuse methods that do not choose a transformation by what it suppresses.

    Relocation does: what it would suppress it moves. What moving costs is another matter, which a
    grid would compare.
    """
    method = file.spec.method
    if (refused := method.can.searched) is not None:
        message, hint = f"method {method.name} {refused.why}", refused.hint
    elif grid and (refused := method.can.grid) is not None:
        message, hint = refused.why, refused.hint
    else:
        return
    mistake = file.mistake(message, "method", hint=hint)
    raise SpecError([mistake], source=file.label)


# -- searching ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shown:
    """The search that is shown in full.

    Attributes:
        parameters: of the search.
        problem: that it solved.
        found: by it.
        trail: of the search, checks made, the best score then, and the bound that was proven.
        outcome: what it found.
    """

    parameters: Parameters[Levels]
    problem: Problem
    found: Found
    trail: tuple[tuple[int, float, float], ...]
    outcome: Outcome


def _search(
    ground: Ground, declared: Parameters[Levels], grid: Grid, clock: Clock, offer: Offer | None
) -> tuple[list[JsonObject], _Shown]:
    """The outcome of each demand, by k and then by limit, and the one that is shown in full.

    That is what the spec declares, where the grid has it, else the first.
    """
    options = replace(declared.options, transformation=None)
    parameters = declared.under(options)
    ks, limits = sorted(grid.ks), sorted(grid.limits)
    ks, limits = ks or [parameters.k], limits or [options.suppression_limit]
    demands = [(k, limit) for k in ks for limit in limits]
    own = (parameters.k, options.suppression_limit)
    in_full = own if own in demands else demands[0]
    cells: list[JsonObject] = []
    shown = None
    for k in ks:
        of_k = _with_k(parameters, k) if grid.ks else parameters
        # What a check finds does not depend on the limit, so that the searches share them.
        checker = Remembering(ground.checker(of_k))
        for limit in limits:
            demand = of_k.under(replace(options, suppression_limit=limit))
            problem, trail = ground.problem(demand, checker), _Trail(clock)
            name = "search" if not grid else f"search {len(cells) + 1} of {len(demands)}"
            started = time.perf_counter()
            with clock.phase(name):
                found, _ = searching.search(ground, problem, demand, trail.add, offer)
            seconds = round(time.perf_counter() - started, 4)
            outcome = _outcome(ground, problem, demand, k, found)
            cells.append({**plain(outcome), **({"seconds": seconds} if grid else {})})
            if (k, limit) == in_full:
                shown = _Shown(demand, problem, found, tuple(trail.points), outcome)
    assert shown is not None
    return cells, shown


def _with_k(parameters: Parameters[Levels], k: int) -> Parameters[Levels]:
    """The parameters under another k; all models that are not k-anonymity stay."""
    others = tuple(m for m in parameters.models if not isinstance(m, KAnonymity))
    models = (KAnonymity(model="k_anonymity", k=k), *others)
    smallest = max(model.smallest_class for model in models)
    return replace(parameters, models=models, rule=replace(parameters.rule, k=smallest))


def _warnings(file: SpecFile, parameters: Parameters[Levels], grid: Grid) -> Iterator[str]:
    if file.spec.method.can.moves:
        yield f"method {file.spec.method.name} moves the records that are shown as suppressed"
    if parameters.options.transformation is not None:
        yield "the `transformation` of the spec is not looked at: this searches for one"
    if not grid.ks:
        return
    if not any(isinstance(m, KAnonymity) for m in parameters.models):
        yield "no k_anonymity is declared: each k was asked beside the declared models"
    others = [m.smallest_class for m in parameters.models if not isinstance(m, KAnonymity)]
    if max(others, default=1) > min(grid.ks):
        yield (f"another model asks for classes of {max(others)}: a smaller k changes nothing")


class _Trail:
    """How the best and the bound came closer, in few points of even a long search."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next = 0.0
        self.points: list[tuple[int, float, float]] = []

    def add(self, progress: Progress) -> None:
        """Note where a search is, and pass it on."""
        point = (progress.checked, progress.best, progress.lower_bound)
        better = not self.points or progress.best < self.points[-1][1]
        if better or progress.checked >= self._next or progress.open == 0:
            self._next = progress.checked * STRIDE
            self.points.append(point)
        self._clock.progress(progress)


# -- telling ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one search found; None where it found nothing.

    Attributes:
        k: that was asked for.
        suppression_limit: likewise.
        transformation: the level of each quasi-identifier.
        score: of the objective.
        loss: mean loss of a cell, suppressed cells counting 1.
        suppressed_rows: records that would be left out.
        suppressed_subjects: people who would lose a record.
        classes: that would be released.
        smallest_class: the size of the smallest of them.
        search: how it ended.
    """

    k: int
    suppression_limit: float
    transformation: Mapping[str, int] | None
    score: float | None
    loss: float | None
    suppressed_rows: int | None
    suppressed_subjects: int | None
    classes: int | None
    smallest_class: int | None
    search: JsonObject


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What one level less or more in one quasi-identifier would do.

    Attributes:
        column: whose level differs.
        level: that it has here.
        feasible: the declared models hold.
        accepted: and no more is suppressed than may be.
        score: of the objective.
        loss: mean loss of a cell, suppressed cells counting 1.
        suppressed_rows: records that would be left out.
        suppressed_subjects: people who would lose a record.
    """

    column: str
    level: int
    feasible: bool
    accepted: bool
    score: float
    loss: float
    suppressed_rows: int
    suppressed_subjects: int


def _outcome(
    ground: Ground, problem: Problem, parameters: Parameters[Levels], k: int, found: Found
) -> Outcome:
    """What one search found."""
    limit = parameters.options.suppression_limit
    how = described(found, parameters)
    node, check = found.node, found.check
    if node is None or check is None:
        return Outcome(k, limit, *(None,) * 7, how)
    return Outcome(
        k,
        limit,
        ground.named(node),
        found.score,
        loss_of(problem.lattice, problem.marginals, check),
        check.suppressed,
        check.suppressed_subjects,
        check.classes,
        check.smallest,
        how,
    )


def _columns(lattice: Lattice) -> list[JsonObject]:
    return [
        {
            "name": a.name,
            "min_level": a.min_level,
            "max_level": a.most_general,
            "height": a.height,
            "weight": a.weight,
        }
        for a in lattice.attributes
    ]


def _neighbours(problem: Problem, node: Node | None) -> list[Neighbour]:
    """What one level less or more in each quasi-identifier would do."""
    if node is None:
        return []
    looked, found = Exploration(problem), []
    for i, attribute in enumerate(problem.lattice.attributes):
        for level in (node[i] - 1, node[i] + 1):
            other = (*node[:i], level, *node[i + 1 :])
            if other not in problem.lattice:
                continue
            checked = looked.check(other)
            found.append(
                Neighbour(
                    attribute.name,
                    level,
                    checked.feasible,
                    checked.accepted,
                    checked.score,
                    loss_of(problem.lattice, problem.marginals, checked.check),
                    checked.check.suppressed,
                    checked.check.suppressed_subjects,
                )
            )
    return found


def _points(problem: Problem, found: Found) -> list[Point]:
    """Checked transformations to plot: of many only every n-th, and all that stand out."""
    node, names = found.node, [a.name for a in problem.lattice.attributes]
    stride = max(1, math.ceil(len(found.explored) / DRAWN))
    best = math.inf
    points: list[Point] = []
    for number, checked in enumerate(found.explored):
        better = checked.accepted and checked.score < best
        best = checked.score if better else best
        near = node is not None and _apart(checked.node, node) <= 1
        if number % stride == 0 or better or near:
            points.append(_point(checked, node, names, problem.records))
    if node is not None:  # the neighbours that the search had no need to check
        drawn = {checked.node for checked in found.explored if _apart(checked.node, node) <= 1}
        looked = Exploration(problem)
        around = (*problem.lattice.predecessors(node), *problem.lattice.successors(node))
        others = (looked.check(other) for other in around if other not in drawn)
        points += [_point(checked, node, names, problem.records) for checked in others]
    return points


def _apart(one: Node, other: Node) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def _point(checked: Checked, node: Node | None, names: Sequence[str], records: int) -> Point:
    mark = None if node is None else {0: "chosen", 1: "neighbour"}.get(_apart(checked.node, node))
    return {
        "transformation": dict(zip(names, checked.node, strict=True)),
        "height": sum(checked.node),
        "score": checked.score,
        "suppressed": checked.check.suppressed / records,
        "feasible": checked.feasible,
        "accepted": checked.accepted,
        "mark": mark,
    }
