"""The utility of a release made elsewhere, measured on its table and the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dbdeid.engine.expressions import (
    Query,
    aliased,
    coalesce,
    column,
    count_rows,
    literal,
    select,
    sum_of,
)
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import queries_of
from dbdeid.evaluation.fidelity import fidelity
from dbdeid.external.foreign_release import Foreign, opened
from dbdeid.external.possible_values import labels, sizes
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import risk
from dbdeid.publish.tables import Public
from dbdeid.query.workload.workload import evaluate as evaluate_queries
from dbdeid.spec.file import SpecFile
from dbdeid.spec.metric_spec import OF_EXTERNAL, OF_SENSITIVE, kept_metrics
from dbdeid.utility.ambiguity import ambiguity
from dbdeid.utility.fidelity import moments
from dbdeid.utility.mutual_information import told
from dbdeid.utility.reconstruction_error import reconstruction_error
from dbdeid.utility.sizes import sized_classes
from dbdeid.verify.base.declaration import Declared


def evaluate(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Utility of a release made elsewhere, as `existing.evaluate`; its recoding is not known.

    Raises:
        DataError: the original is not at hand, or the spec does not fit.
    """
    with opened(file, connection, database=database, settings=settings) as found:
        if not found.at_hand:
            raise DataError(
                f"the source {file.spec.source_name!r} is not at hand, and evaluating compares "
                "with it",
                hint="name the original in `source`, or ask and verify the release without it",
            )
        worth = evaluated(found)
        return {
            "recoding": "unknown",
            "metrics": worth.metrics,
            "not_measured": _unmeasured(found, worth.metrics),
            "queries": worth.queries,
            "models": worth.models,
            "models_overall": worth.models_overall,
        }


def _unmeasured(found: Foreign, measured: Mapping[str, float]) -> list[str]:
    """What the spec asks for by name, and the tables do not tell."""
    asked = found.bound.spec.evaluate.metrics or ()
    return sorted({*asked} - {name.partition(".")[0] for name in measured})


def declared(found: Foreign) -> Declared:
    """What the spec promises, with columns as the released table spells them."""
    bound, spelled = found.bound, found.spelled
    columns = (found.table.find(c.name) for c in bound.released)
    return Declared(
        release=bound.spec.release,
        columns=tuple(c for c in columns if c is not None),
        quasi_identifiers=tuple(spelled[c.name] for c in bound.quasi_identifiers),
        bounds=(),
        withheld=bound.withheld,
        models=bound.models,
        transformation={},
        tops={},
        source_rows=0 if found.original is None else count(found.session, found.original),
        suppression_limit=1.0,
        keeps_suppressed=False,
        null_policy=bound.spec.null_policy,
        subject=spelled[bound.subject.name] if bound.subject else None,
        pseudonyms=tuple(spelled[c.name] for c in bound.pseudonyms),
        as_written=tuple(
            spelled.get(c.name, c.name) for c in bound.columns if c.spec.values == "as_written"
        ),
    )


def count(session: Session, table: Query | Relation) -> int:
    """The records of a table or query."""
    rows = table.table if isinstance(table, Relation) else table.subquery("counted")
    return int(session.row(select(count_rows()).from_(rows))[0])


def risk_of(found: Foreign, table: Relation, *, subject: bool = True) -> risk.Risk:
    """The risk of a table with the columns of the release; records count without `subject`."""
    bound = found.bound
    own = found.spelled[bound.subject.name] if bound.subject and subject else None
    names = [found.spelled[c.name] for c in bound.quasi_identifiers]
    counting = Counting(bound.spec.null_policy, own)
    return risk.measure(found.session, table, names, bound.spec.smallest_class, counting)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a release made elsewhere is worth, beside its original.

    Attributes:
        metrics: by name.
        queries: of the workload; None without one.
        models: of the recipient.
        models_overall: what changed over all of them.
        distributions: each column before and after.
    """

    metrics: dict[str, float]
    queries: dict[str, Any] | None
    models: list[dict[str, Any]]
    models_overall: dict[str, Any] | None
    distributions: tuple[dict[str, Any], ...]


def evaluated(found: Foreign) -> Evaluated:
    """The utility of an opened release whose original is at hand."""
    bound, session = found.bound, found.session
    queries = queries_of(bound.file)
    workload = None
    if queries:
        missing = max(count(session, bound.source) - count(session, found.table), 0)
        workload = evaluate_queries(session, queries, found.answerable(), bound.source, missing)
    hidden = labels(session, bound.source, found.columns)
    public, promised = Public(found.table, found.dictionary), declared(found)
    compared = recipients.compared(
        bound, session, recipients.originals(bound, session), public, hidden, promised
    )
    models = compared.to_dict() if compared else {"models": [], "overall": None}
    asked = kept_metrics(bound.spec.evaluate.metrics)
    like = fidelity(found.of_original, session, public, hidden, promised, asked)
    return Evaluated(
        metrics=_metrics(found, asked, like.metrics),
        queries=workload.to_dict() if workload else None,
        models=models["models"],
        models_overall=models["overall"],
        distributions=tuple(drawn.to_dict() for drawn in like.distributions),
    )


def _metrics(
    found: Foreign, asked: Collection[str], compared: Mapping[str, float]
) -> dict[str, float]:
    """The metrics that are asked for, of those that a release made elsewhere has."""
    measured = {**compared, **_of_classes(found), **_of_values(found, asked)}
    if not set(OF_SENSITIVE).isdisjoint(asked):
        measured |= _of_sensitive(found)
    if "moments" in asked:
        measured |= _moments(found)
    kind = {name: name.partition(".")[0] for name in measured}
    return {n: measured[n] for m in OF_EXTERNAL if m in asked for n in kind if kind[n] == m}


def _of_classes(found: Foreign) -> dict[str, float]:
    session, rows = found.session, count(found.session, found.bound.source)
    keys = [column(found.spelled[c.name]) for c in found.bound.quasi_identifiers]
    number = aliased(count_rows(), "records")
    classes = select(number).from_(found.table.table).group_by(*keys).subquery("classes")
    square = column("records") * column("records")
    total = coalesce(sum_of(square), literal(0))
    query = select(count_rows(), total).from_(classes)
    different, squares = session.row(query)
    missing = max(rows - count(session, found.table), 0)
    measured = {"discernibility": float(squares + missing * rows)}
    if different or missing:
        measured["average_class_size"] = rows / (different + bool(missing))
    return measured


def _of_values(found: Foreign, asked: Collection[str]) -> dict[str, float]:
    """What depends on how many values each released one stands for, where all of that is known."""
    wanted = {"ambiguity", "reconstruction_error"} & set(asked)
    known = all(
        not (c.unknown or c.ambiguous) and c.column.name not in found.added for c in found.columns
    )
    if not wanted or not known:
        return {}
    session, rows = found.session, count(found.session, found.bound.source)
    tables, domains = _sizes(found)
    measured = {}
    if "ambiguity" in wanted:
        classes = sized_classes(found.table, tables, prod(map(float, domains)))
        measured["ambiguity"] = ambiguity(session, classes, rows)
    if "reconstruction_error" in wanted:
        number = len(found.bound.names("sensitive"))
        names = [*tables]
        error = reconstruction_error(session, found.table, tables, names, rows, sensitive=number)
        measured["reconstruction_error"] = error.whole
        measured["reconstruction_error.quasi_identifiers"] = error.quasi_identifiers
    return measured


def _sizes(found: Foreign) -> tuple[dict[str, Relation], list[int]]:

    tables, domains = {}, []
    for i, c in enumerate(found.columns):
        of_column, domain = sizes(found.session, found.bound.source, c)
        table = {"label": [*of_column], "size": np.array([*of_column.values()], np.float64)}
        name = found.spelled[c.column.name]
        tables[name] = found.session.upload(f"deid_external_sizes_{i}", table)
        domains.append(domain)
    return tables, domains


def _of_sensitive(found: Foreign) -> dict[str, float]:
    """What classes tell of the sensitive columns that the original has too."""
    names = [c.name for c in found.bound.quasi_identifiers if c.name in found.compared]
    own = [n for n in found.bound.names("sensitive") if n in found.compared]
    if not own or len(names) < len(found.bound.quasi_identifiers):
        return {}
    source = staged(found, [*names, *own])
    measured: dict[str, float] = {}
    for name in own:
        bits = told(found.session, source, found.table, names, name)
        values = (bits.release, bits.gain, bits.lost)
        measured |= {f"{m}.{name}": v for m, v in zip(OF_SENSITIVE, values, strict=True)}
    found.session.drop_temp(source.name)
    return measured


def _moments(found: Foreign) -> dict[str, float]:
    numbers = [
        c.name
        for c in found.bound.released
        if c.name in found.compared and c.column.family in NUMBERS
    ]
    if not numbers:
        return {}
    source = staged(found, numbers)
    names = moments.numeric(source, found.table)
    errors = moments.moments(found.session, source, found.table, names)
    found.session.drop_temp(source.name)
    return moments.flat(errors)


def staged(found: Foreign, names: Sequence[str]) -> Relation:
    """Columns of the original in a temporary table."""
    query = select(*map(column, names)).from_(found.bound.source.subquery("source"))
    return found.session.run(Step("deid_external_source", query))
