"""The utility of a release made elsewhere, measured on its table and the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dbdeid.engine.expressions import Query, column, count_rows, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.evaluation import recipients
from dbdeid.evaluation.evaluate import queries_of
from dbdeid.evaluation.fidelity import fidelity
from dbdeid.evaluation.metrics import OF_TABLES
from dbdeid.external.foreign_release import Foreign, opened
from dbdeid.external.possible_values import labels, sizes
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import risk
from dbdeid.publish.tables import Public
from dbdeid.query.workload.workload import evaluate as evaluate_queries
from dbdeid.spec.file import SpecFile
from dbdeid.spec.metric_spec import kept_metrics, metrics_of
from dbdeid.utility.class_sizes import ClassSizes, class_sizes
from dbdeid.utility.common.sizes import SizedClasses, sized_classes
from dbdeid.utility.fidelity.side_by_side import SideBySide
from dbdeid.utility.model_fit import Comparison
from dbdeid.utility.mutual_information import MutualInformation, mutual_information
from dbdeid.utility.query_error import Workload
from dbdeid.verify.base.declaration import Declared


def evaluate(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> tuple[Evaluated, list[str]]:
    """The utility of a release made elsewhere, and the requested metrics that it does not allow.

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
        return worth, _unmeasured(found, worth.metrics)


def _unmeasured(found: Foreign, measured: Mapping[str, float]) -> list[str]:
    """The metrics that the spec names and that could not be measured on the tables."""
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
        models: of the recipient; None where none are declared.
        distributions: each column before and after.
    """

    metrics: dict[str, float]
    queries: Workload | None
    models: Comparison | None
    distributions: tuple[SideBySide, ...]


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
    asked = kept_metrics(bound.spec.evaluate.metrics)
    like = fidelity(found.of_original, session, public, hidden, promised, asked)
    return Evaluated(
        metrics=_metrics(found, asked, like.metrics),
        queries=workload,
        models=compared,
        distributions=like.distributions,
    )


@dataclass(frozen=True)
class ForeignEvidence:
    """A release made elsewhere, beside its original.

    Attributes:
        found: the release.
    """

    found: Foreign

    @property
    def session(self) -> Session:
        """Where the tables are."""
        return self.found.session

    @property
    def released(self) -> Relation:
        """The released table."""
        return self.found.table

    @cached_property
    def rows(self) -> int:
        """Records of the original."""
        return count(self.session, self.found.bound.source)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.found.bound.names("sensitive")

    @property
    def classes(self) -> Relation:
        """The released table, whose classes were not counted."""
        return self.released

    @property
    def answering(self) -> tuple[Relation, str | None]:
        """The table, whose records have no weights."""
        return self.released, None

    @property
    def flagged(self) -> Relation | None:
        """Nothing: nobody knows of counterfeit records."""
        return None

    @cached_property
    def class_sizes(self) -> ClassSizes:
        """The sizes of the classes."""
        spelled = self.found.spelled
        keys = [column(spelled[c.name]) for c in self.found.bound.quasi_identifiers]
        return class_sizes(self.session, self.released, keys, self.rows)

    @cached_property
    def _explained(self) -> tuple[dict[str, Relation], float] | None:
        """The size of each label by column, and of the domain; None where not all are known."""
        found, tables, domain = self.found, {}, 1.0
        for c in found.columns:
            if c.unknown or c.ambiguous or c.column.name in found.added:
                return None
        for i, c in enumerate(found.columns):
            of_column, values = sizes(found.session, found.bound.source, c)
            table = {"label": [*of_column], "size": np.array([*of_column.values()], np.float64)}
            name = found.spelled[c.column.name]
            tables[name] = found.session.upload(f"deid_external_sizes_{i}", table)
            domain *= float(values)
        return tables, domain

    @property
    def sizes(self) -> dict[str, Relation] | None:
        """How many values each label stands for; None where that is not known of all."""
        return self._explained[0] if self._explained else None

    @property
    def sized(self) -> SizedClasses | None:
        """The classes, by how many tuples each stands for; None where that is not known."""
        return sized_classes(self.released, *self._explained) if self._explained else None

    @cached_property
    def told(self) -> dict[str, MutualInformation]:
        """The mutual information of classes with each sensitive column that the original has."""
        found = self.found
        names = [c.name for c in found.bound.quasi_identifiers if c.name in found.compared]
        own = [name for name in self.sensitive if name in found.compared]
        if not own or len(names) < len(found.bound.quasi_identifiers):
            return {}
        source = staged(found, [*names, *own])
        bits = {
            name: mutual_information(self.session, source, self.released, names, name)
            for name in own
        }
        self.session.drop_temp(source.name)
        return bits

    def numbers(self) -> Relation | None:
        """The columns of numbers that the original has too, staged; None without any."""
        found = self.found
        numbers = [
            c.name
            for c in found.bound.released
            if c.name in found.compared and c.column.family in NUMBERS
        ]
        return staged(found, numbers) if numbers else None


def _metrics(
    found: Foreign, asked: Collection[str], compared: Mapping[str, float]
) -> dict[str, float]:
    """The requested metrics, of those that a release made elsewhere has."""
    of, measured = ForeignEvidence(found), dict[str, float]()
    kind = {name: name.partition(".")[0] for name in compared}
    for name in metrics_of("external"):
        if name in asked and name in OF_TABLES:
            measured |= OF_TABLES[name](of)
        measured |= {own: compared[own] for own in kind if kind[own] == name}
    return measured


def staged(found: Foreign, names: Sequence[str]) -> Relation:
    """Columns of the original in a temporary table."""
    query = select(*map(column, names)).from_(found.bound.source.subquery("source"))
    return found.session.run(Step("deid_external_source", query))
