"""Checking: everything that can be said of a spec and its data before a release is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdeid.engine.session import Settings
from dbdeid.errors import Unsatisfiable
from dbdeid.methods.full_domain import lattice_of
from dbdeid.release import answers
from dbdeid.release.bind import bind
from dbdeid.release.clock import Clock, Notify
from dbdeid.release.evaluate import queries_of
from dbdeid.release.prepare import Prepared, prepare, risk_before
from dbdeid.release.specfile import read
from dbdeid.release.workplace import check_owned, check_source, workplace


def check(
    source: str | Path | Mapping[str, Any],
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
) -> dict[str, Any]:
    """Check a spec against its data without writing anything.

    Returns:
        release, source_rows, source_subjects, lattice_size, risk of the source, a description of
        each column, warnings.

    Raises:
        SpecError, HierarchyError, DataError: bad input, and what a run would refuse.
        Unsatisfiable: k is larger than the table.
    """
    file = read(source)
    queries_of(file)
    with (
        workplace(file, connection, database=database, settings=settings, writing=False) as work,
        Clock(notify).phase("prepare"),
    ):
        session = work.session
        check_owned(work, file.spec)
        bound = bind(file, session)
        check_source(work, bound)
        prepared = prepare(bound, session)
        if prepared.parameters.k > prepared.subjects:
            who = "subjects" if file.spec.subject else "records"
            raise Unsatisfiable(
                f"k = {prepared.parameters.k} is more than the {prepared.subjects} {who} there are",
                hint="choose a smaller k",
            )
        for reason in prepared.parameters.impossible:
            raise reason
        lattice = lattice_of(prepared.quasi_identifiers)
        warnings = (
            *answers.beforehand(prepared, lattice, session),
            *answers.require(prepared, session),
        )
        found = risk_before(prepared, session)
        return {
            "release": file.spec.release,
            "source_rows": prepared.rows,
            "source_subjects": prepared.subjects,
            "lattice_size": lattice.size,
            "risk": found.to_dict(),
            "columns": _columns(prepared),
            "warnings": list(warnings),
        }


def _columns(prepared: Prepared) -> list[dict[str, Any]]:
    codings = {q.name: q for q in prepared.quasi_identifiers}
    described = []
    for c in prepared.bound.columns:
        q = codings.get(c.name)
        described.append(
            {
                "name": c.name,
                "type": c.column.shown_type,
                "role": c.spec.role,
                "hierarchy": q.coding.hierarchy.kind if q else None,
                "levels": q.height + 1 if q else None,
                "values": len(q.coding.leaf) if q else None,
            }
        )
    return described
