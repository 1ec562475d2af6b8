"""Checking: everything that can be said of a spec and its data before a release is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dbdeid.engine.session import Settings
from dbdeid.errors import Unsatisfiable
from dbdeid.methods import condensation, masked_rows
from dbdeid.methods.full_domain import lattice_of
from dbdeid.release import answers, external_work, policies, recipients
from dbdeid.release.advice import Consultation, consult, remembered
from dbdeid.release.bind import bind
from dbdeid.release.clock import Clock, Notify
from dbdeid.release.evaluate import queries_of
from dbdeid.release.external import is_external
from dbdeid.release.method_spec import Policy
from dbdeid.release.prepare import Prepared, prepare, risk_before
from dbdeid.release.specfile import read
from dbdeid.release.told import Checked
from dbdeid.release.workplace import check_owned, check_source, workplace


def check(
    source: str | Path | Mapping[str, Any],
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
    deep: bool = False,
) -> Checked:
    """Check a spec against its data without writing anything.

    Args:
        source: path of a spec, its text, or a dict.
        connection: an open DuckDB connection to read from.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        notify: called with each phase.
        deep: look closely at a large source, too, which takes longer.

    Returns:
        release, source_rows, source_subjects, lattice_size (of method policy None, and how many
        `bits` a policy has; None where nothing is generalized), risk of the source (None where all
        is synthesized), a description of each column, warnings; `uniqueness`, `cost` and `advice`
        as `advice.Consultation` has them (None where there is nothing to look at, or much), and
        `earlier` runs on the same source. Of a release made elsewhere see `external_work.check`.

    Raises:
        SpecError, HierarchyError, DataError: bad input, and what a run would refuse.
        Unsatisfiable: k is larger than the table.
    """
    file = read(source, connection, database)
    if is_external(file):
        told = external_work.check(file, connection, database=database, settings=settings)
        return Checked(told)
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
        earlier = remembered(work, bound)
        synthesis = prepared.parameters.synthesis
        recipients.originals(bound, session)  # so that a run will not refuse them
        if prepared.parameters.k > prepared.subjects:
            who = "subjects" if file.spec.subject else "records"
            raise Unsatisfiable(
                f"k = {prepared.parameters.k} is more than the {prepared.subjects} {who} there are",
                hint="choose a smaller k",
            )
        for reason in prepared.parameters.impossible:
            raise reason
        if synthesis is not None:
            warnings = answers.require(prepared, session)
            condensation.records_of(condensation.coded(session, synthesis), synthesis)
            return _told(prepared, {"lattice_size": None}, None, warnings, None, earlier)
        if prepared.parameters.masking is not None:
            warnings = answers.require(prepared, session)
            every = [np.arange(len(q.coding.leaf)) for q in prepared.quasi_identifiers]
            masked_rows.attributes_of(session, prepared.quasi_identifiers, every)
            risk = risk_before(prepared, session).to_dict()
            consulted = consult(prepared, session, deep=deep)
            return _told(prepared, {"lattice_size": None}, risk, warnings, consulted, earlier)
        lattice = lattice_of(prepared.quasi_identifiers)
        size: dict[str, Any] = {"lattice_size": lattice.size}
        if isinstance(file.spec.method, Policy):
            size = {"lattice_size": None, "bits": policies.bits(prepared, session)}
        warnings = (
            *answers.beforehand(prepared, lattice, session),
            *answers.require(prepared, session),
        )
        risk = risk_before(prepared, session).to_dict()
        consulted = consult(prepared, session, deep=deep)
        return _told(prepared, size, risk, warnings, consulted, earlier)


def _told(
    prepared: Prepared,
    size: Mapping[str, Any],
    risk: Mapping[str, Any] | None,
    warnings: Sequence[str],
    consulted: Consultation | None,
    earlier: Sequence[Mapping[str, Any]],
) -> Checked:
    return Checked(
        {
            "release": prepared.bound.spec.release,
            "source_rows": prepared.rows,
            "source_subjects": prepared.subjects,
            **size,
            "risk": risk,
            "columns": _columns(prepared),
            "warnings": list(warnings),
            "uniqueness": consulted and consulted.uniqueness,
            "cost": consulted and consulted.cost,
            "advice": list(consulted.advice) if consulted else [],
            "earlier": list(earlier),
        }
    )


def _columns(prepared: Prepared) -> list[dict[str, Any]]:
    codings = {q.name: q for q in prepared.quasi_identifiers}
    masked = prepared.parameters.masking is not None
    described = []
    for c in prepared.bound.columns:
        q = codings.get(c.name)
        described.append(
            {
                "name": c.name,
                "type": c.column.shown_type,
                "role": c.spec.role,
                "hierarchy": q.coding.hierarchy.kind if q and not masked else None,
                "levels": q.height + 1 if q and c.domain is None and not masked else None,
                "values": (len(c.domain.values) if c.domain else len(q.coding.leaf)) if q else None,
            }
        )
    return described
