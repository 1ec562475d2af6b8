"""Checking: everything that can be said of a spec and its data before a release is made."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import Source, read
from dbdeid.commands.results import Checked
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import Mistake, Unsatisfiable
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import queries_of
from dbdeid.external import verify
from dbdeid.methods.common.searching import lattice_of
from dbdeid.methods.registry import method_of, ready
from dbdeid.prepare.prepare import Prepared, risk_before
from dbdeid.prepare.subjects import repeating
from dbdeid.privacy.risk.risk import Risk
from dbdeid.rerelease.rerelease import require_memory
from dbdeid.review import findings
from dbdeid.review.advice import Consultation, EarlierRun, consult, earlier_runs
from dbdeid.review.forecast import Forecast, forecast
from dbdeid.review.undecided_columns import OpenDecisions, undecided
from dbdeid.spec.names import is_external
from dbdeid.spec.open_decisions import open_mistakes
from dbdeid.workspace.progress import Clock, Notify, Offer
from dbdeid.workspace.workplace import check_owned, check_source, workplace


def check(
    source: Source,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    notify: Notify | None = None,
    offer: Offer | None = None,
    deep: bool = False,
) -> Checked:
    """Check a spec against its data without writing anything.

    Args:
        source: path of a spec, its text, or a dict.
        connection: an open DuckDB connection to read from.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        notify: called with each phase, and with the progress of the search that weighs columns.
        offer: told the best found so far when that search is interrupted; no is its only answer.
        deep: look closely at a large source, too, which takes longer.

    Returns:
        `undecided`, the columns that nobody has decided on: name, type, values, what was found,
        the role that a draft would propose, and shares of the records: `unique` on the
        quasi-identifiers at their `min_level` with it (`unique_now` without), `most`, that have
        its most frequent value, and `alone`, that it singles out by itself. `questions`, what else
        a run would refuse, and whether rows repeat, until it is answered; while anything is open,
        undecided columns are taken for withheld, and all else that is to be answered is listed
        with them. Then release,
        source_rows, source_subjects, lattice_size (of method policy None, and how many
        `bits` a policy has; None where nothing is generalized), risk of the source (None where all
        is synthesized), a description of each column, warnings; `uniqueness`, `cost`, `methods`
        (why there are none in `methods_left_out`), `advice`, and of each sentence of it the
        `changes` that it names, as `advice.Consultation` has them (None where there is nothing to
        look at, or much), and `earlier` runs on the same source. Of a release made elsewhere see
        `dbdeid.external.verify.check`.

    Raises:
        SpecError, HierarchyError, DataError: bad input, and, where all columns are decided on,
            what a run would refuse.
        Unsatisfiable: k is larger than the table.
        Interrupted: by the user, while columns were weighed.
    """
    database = given_path(database)
    file = read(source, connection, database)
    if is_external(file):
        told = verify.check(file, connection, database=database, settings=settings)
        return Checked(told)
    queries_of(file)
    clock = Clock(notify)
    with (
        workplace(file, connection, database=database, settings=settings, writing=False) as work,
        clock.phase("prepare"),
    ):
        session = work.session
        require_memory(work, file)
        check_owned(work, file.spec)
        started = time.perf_counter()
        bound = bind(file, session)
        check_source(work, bound)
        open_ones = _Open.of(bound, session)
        if not bound.quasi_identifiers and not bound.names("synthesize"):
            return open_ones.alone(bound)
        prepared = ready(bound, session)
        foreseen = forecast(prepared, time.perf_counter() - started)
        earlier = earlier_runs(work, bound)
        recipients.originals(bound, session)  # so that a run will not refuse them
        if prepared.parameters.k > prepared.subjects:
            who = "subjects" if file.spec.subject else "records"
            raise Unsatisfiable(
                f"k = {prepared.parameters.k} is more than the {prepared.subjects} {who} there are",
                hint="choose a smaller k",
            )
        for reason in prepared.parameters.impossible:
            raise reason
        values = file.spec.method.can.values
        method = method_of(prepared.bound)
        size = method.size(prepared, session)
        warnings: tuple[str, ...] = ()
        if values == "generalized":
            lattice = lattice_of(prepared.quasi_identifiers)
            warnings = tuple(findings.beforehand(prepared, lattice, session))
        warnings += open_ones.answered(prepared, session)
        method.try_values(prepared, session)
        if values == "drawn":
            return _told(prepared, size, None, warnings, None, earlier, open_ones, foreseen)
        risk = risk_before(prepared, session)
        consulted = consult(prepared, session, clock, offer, deep=deep)
        return _told(prepared, size, risk, warnings, consulted, earlier, open_ones, foreseen)


@dataclass(slots=True)
class _Open:
    """What the owner has not answered yet, and whether anything of it is known from the text."""

    deciding: OpenDecisions
    questions: list[str]

    @staticmethod
    def of(bound: Bound, session: Session) -> _Open:
        """What the text of a specification leaves open."""
        deciding = undecided(bound, session)
        some = [m for m in open_mistakes(bound.file) if m.place != "columns"]
        whose = _whose(bound, session, deciding)
        if whose is not None:
            some = [whose, *(m for m in some if m.place != "subject")]
        return _Open(deciding, [str(m) for m in some])

    def answered(self, prepared: Prepared, session: Session) -> tuple[str, ...]:
        """Return the warnings of a spec without open questions; else extend its questions."""
        if not self.deciding.columns and not self.questions:
            return findings.foreseen(prepared, session)
        self.questions += [str(m) for m in findings.unanswered(prepared, session)]
        return ()

    def alone(self, bound: Bound) -> Checked:
        """All that can be said before any column is a quasi-identifier."""
        columns = [
            {"name": c.name, "type": c.column.shown_type, "role": c.spec.role}
            | dict.fromkeys(("hierarchy", "levels", "values"))
            for c in bound.columns
        ]
        nothing = dict.fromkeys(("lattice_size", "risk", "uniqueness", "cost", "forecast"))
        kept = {"release": bound.spec.release, "columns": columns, **nothing}
        rows = dict.fromkeys(("source_rows", "source_subjects"))
        none: JsonObject = {key: [] for key in ("warnings", "advice", "changes", "earlier")}
        return Checked(self.to_dict() | kept | rows | none)

    def to_dict(self) -> JsonObject:
        """As commands print it under --json."""
        return {
            "undecided": [one.to_dict() for one in self.deciding.columns],
            "unique_now": self.deciding.unique,
            "questions": list(self.questions),
        }


def _whose(bound: Bound, session: Session, deciding: OpenDecisions) -> Mistake | None:
    """The question whether a person has several records, with what repeats; None: nothing does."""
    found = [(r.name, f"{r.values:,} values in {r.records:,} records") for r in deciding.repeating]
    if bound.spec.asks_subject:
        found += repeating(bound, session)
    if not found:
        return None
    some = "; ".join(f"{name} repeats ({how_often})" for name, how_often in found)
    one = found[0][0]
    return bound.file.mistake(
        f"can a person have more than one row? {some}",
        "subject",
        hint=f"if {one} tells whose row it is, say `subject: {one}` at the top level, beside "
        "`columns`, and make it an identifier: until then k counts rows; if nobody has two rows, "
        "no subject is needed",
    )


def _told(
    prepared: Prepared,
    size: Mapping[str, int | None],
    risk: Risk | None,
    warnings: Sequence[str],
    consulted: Consultation | None,
    earlier: Sequence[EarlierRun],
    open_ones: _Open,
    foreseen: Forecast | None,
) -> Checked:
    advised = consulted.advised if consulted else ()
    return Checked(
        {
            **open_ones.to_dict(),
            "release": prepared.bound.spec.release,
            "source_rows": prepared.rows,
            "source_subjects": prepared.subjects,
            **size,
            "risk": plain(risk),
            "columns": _columns(prepared),
            "warnings": [*warnings, *(foreseen.words if foreseen else ())],
            "uniqueness": plain(consulted.uniqueness) if consulted else None,
            "cost": plain(consulted.cost) if consulted else None,
            "methods": plain(consulted.methods.methods) if consulted else [],
            "methods_left_out": consulted and consulted.methods.left_out,
            "advice": [one.text for one in advised],
            "changes": [plain(one.changes) for one in advised],
            "earlier": plain(earlier),
            "forecast": plain(foreseen),
        }
    )


def _columns(prepared: Prepared) -> list[JsonObject]:
    codings = {q.name: q for q in prepared.quasi_identifiers}
    leveled = prepared.bound.spec.method.can.values == "generalized"
    described: list[JsonObject] = []
    for c in prepared.bound.columns:
        q = codings.get(c.name)
        described.append(
            {
                "name": c.name,
                "type": c.column.shown_type,
                "role": c.spec.role,
                "hierarchy": q.coding.hierarchy.kind if q and leveled else None,
                "levels": q.height + 1 if q and c.domain is None and leveled else None,
                "values": (len(c.domain.values) if c.domain else len(q.coding.leaf)) if q else None,
            }
        )
    return described
