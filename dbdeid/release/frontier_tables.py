"""The tables of a frontier: its policies, and the records that each would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dbdeid.engine.expressions import (
    Query,
    aliased,
    cast,
    column,
    function,
    literal,
    null_if,
    select,
)
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.methods.policy.cells import Explored
from dbdeid.spec.names import EVALUATIONS, FRONTIER
from dbdeid.workspace.atomic_files import staging
from dbdeid.workspace.workplace import Workplace


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


def tables(session: Session, found: Explored, told: Mapping[str, Any]) -> dict[str, Query]:
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
    packed = null_if(column("policy"), cast(literal(""), "BLOB"))
    # whole bytes were packed, of which the last may have bits that are none of the policy's
    digits = function(
        "substring", cast(cast(packed, "BIT"), "VARCHAR"), literal(1), literal(found.space.length)
    )
    evaluations = select("evaluation", "risk", "loss", aliased(cast(digits, "BIT"), "policy"))
    return {
        FRONTIER: select("*").from_(session.temp("deid_frontier").table),
        EVALUATIONS: evaluations.from_(session.temp("deid_evaluations").table),
    }


def _words(policy: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name}: {', '.join(shown)}" for name, shown in policy.items())


def keep_tables(work: Workplace, release: str, found: Explored, told: Mapping[str, Any]) -> None:
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
