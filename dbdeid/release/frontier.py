"""The frontier of policies: computed, kept as private tables, drawn as a page, and told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sqlglot import exp

from dbdeid.engine.process import uninterrupted
from dbdeid.engine.relation import cast, column
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, SpecError, Unsatisfiable
from dbdeid.methods.policies import Explored
from dbdeid.release import answers, policies
from dbdeid.release.bind import bind
from dbdeid.release.clock import Clock, Notify
from dbdeid.release.decisions import require_decided
from dbdeid.release.external import refuse
from dbdeid.release.journal import staging
from dbdeid.release.method_spec import Policy
from dbdeid.release.page import place_of, write_page
from dbdeid.release.prepare import prepare
from dbdeid.release.specfile import SpecFile, read
from dbdeid.release.told import Frontier
from dbdeid.release.workplace import EVALUATIONS, FRONTIER, Workplace, check_source, workplace


def frontier(
    source: str | Path | Mapping[str, Any],
    connection: Any = None,
    *,
    page: Path | bool = False,
    database: Path | None = None,
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
            prepared = prepare(bound, work.session)
            warnings = list(answers.foretold(prepared, work.session))
        with clock.phase("search"):
            found = policies.frontier_of(prepared, work.session, clock.progress)
        method = policies.method_of(prepared)
        with clock.phase("look around"):
            chosen = None
            try:
                chosen = policies.choose(prepared, work.session, found) if method.choose else None
            except Unsatisfiable as reason:  # told with what there is to choose from instead
                warnings.append(f"nothing is chosen: {reason.message}; {reason.hint}")
            warnings += chosen.warnings if chosen else ()
            told = policies.told(prepared, found, chosen)
            told["neighbours"] = policies.neighbours(work.session, found, chosen)
            told["warnings"] = warnings
        if not work.passing:
            with clock.phase("keep"):
                _keep(work, file.spec.release, found, told)
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
    if not isinstance(method, Policy):
        mistake = file.mistake(
            f"method {method.name} has no frontier of policies", "method", hint="use method: policy"
        )
        raise SpecError([mistake], source=file.label)


# -- private tables -----------------------------------------------------------------------------


def require_free(work: Workplace, release: str) -> None:
    """Refuse to replace tables that are not the frontier of this release.

    Raises:
        DataError: a table or view of that name exists and is not in the book.
    """
    if work.book is None or work.passing:
        return
    session, catalog = work.session, work.book.catalog
    owned = set(map(str.lower, work.book.frontier_of(release)))
    for what in (FRONTIER, EVALUATIONS):
        name = f"{release}_{what}"
        kind = session.exists(name, "main", catalog)
        if kind and name.lower() not in owned:
            raise DataError(
                f"the {kind} {name!r} exists and was not written by dbdeid for this release",
                hint="choose another release name, or drop it first",
            )


def tables(session: Session, found: Explored, told: Mapping[str, Any]) -> dict[str, exp.Query]:
    """The rows of the private tables, by what follows the release's name.

    `frontier`: point, risk, kl, loss and the policy in words. `evaluations`: every policy that was
    evaluated, in order, with its bits.
    """
    points = told["points"]
    session.upload(
        "deid_frontier",
        {
            "point": np.array([p["point"] for p in points], np.int32),
            **{key: np.array([p[key] for p in points]) for key in ("risk", "kl", "loss")},
            "policy": [_words(p["policy"]) for p in points],
        },
    )
    from dbdeid.engine import arrow

    log = found.log
    session.upload(
        "deid_evaluations",
        {
            "evaluation": np.arange(1, len(log.risks) + 1, dtype=np.int32),
            "risk": np.array(log.risks),
            "loss": np.array(log.losses),
            "policy": arrow.blobs(found.evaluated),
        },
    )
    # no BIT has no bits: where there is nothing to merge, it is NULL
    packed = exp.Nullif(this=column("policy"), expression=cast(exp.Literal.string(""), "BLOB"))
    # whole bytes were packed, of which the last may have bits that are none of the policy's
    digits = exp.Substring(
        this=cast(cast(packed, "BIT"), "VARCHAR"),
        start=exp.convert(1),
        length=exp.convert(found.space.length),
    )
    evaluations = exp.select(
        "evaluation", "risk", "loss", exp.alias_(cast(digits, "BIT"), "policy")
    )
    return {
        FRONTIER: exp.select("*").from_(session.temp("deid_frontier").table),
        EVALUATIONS: evaluations.from_(session.temp("deid_evaluations").table),
    }


def _words(policy: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name}: {', '.join(shown)}" for name, shown in policy.items())


def _keep(work: Workplace, release: str, found: Explored, told: Mapping[str, Any]) -> None:
    """The tables in the book's database, all or none."""
    rows = tables(work.session, found, told)
    with staging(work.home) as stage:
        book = work.keep_book(stage)
        with work.session.transaction():
            require_free(work, release)
            book.create()
            book.keep_frontier(release, rows)
        with uninterrupted():
            stage.booked = work.home is not None and work.book is None
            work.place_book(book, stage)
            stage.booked = False
