"""What metrics are computed from: a written table beside its source, each part made on demand.

The search knows its own objective before anything is written; here all is found again, in the
database and from other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from dbdeid.bind.privacy_models import staged
from dbdeid.data.classes import (
    CODED,
    TUPLES,
    sensitive_relation,
    source_step,
    tuple_values_relation,
    values_relation,
)
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    cast,
    column,
    count_distinct,
    count_rows,
    literal,
    select,
    union_all,
)
from dbdeid.engine.relation import NUMBERS, Column, Relation, free_name
from dbdeid.engine.session import Session, Step
from dbdeid.evaluation import counterfeit_suspicion
from dbdeid.methods.attacks.counterfeit_suspicion import Suspected
from dbdeid.methods.common.outcome import Outcome, Written, domain_of
from dbdeid.methods.counterfeit.details import padded_of
from dbdeid.methods.microaggregation.details import masked_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.publish.tables import Public
from dbdeid.utility.class_sizes import ClassSizes, class_sizes
from dbdeid.utility.common.counted import Counted, Rows, counted, each, with_values
from dbdeid.utility.common.members import Crosswalk, Members, members_of_transformation
from dbdeid.utility.common.sizes import SizedClasses, Sizes, sized_classes
from dbdeid.utility.loss import Counts, column_loss, value_counts
from dbdeid.utility.mutual_information import MutualInformation, mutual_information
from dbdeid.verify.base.declaration import CLASS_ID


class Evidence(Protocol):
    """A written table beside its source, whoever made it."""

    @property
    def session(self) -> Session:
        """Where the tables are."""

    @property
    def released(self) -> Relation:
        """The written table."""

    @property
    def rows(self) -> int:
        """Records of the source."""

    @property
    def sensitive(self) -> Sequence[str]:
        """The sensitive columns."""

    @property
    def classes(self) -> Rows:
        """The quasi-identifiers of the written table, each class once where they were counted."""

    @property
    def answering(self) -> tuple[Relation, str | None]:
        """What a reader counts in: the table, and its column of weights if records have one."""

    @property
    def flagged(self) -> Relation | None:
        """The counterfeit records, private; None: there are none."""

    @property
    def class_sizes(self) -> ClassSizes | None:
        """The sizes of the classes; None where the method has counted them."""

    @property
    def sizes(self) -> Sizes | None:
        """How many values each label of the quasi-identifiers stands for; None where unknown."""

    @property
    def sized(self) -> SizedClasses | None:
        """The classes, by how many tuples each stands for; None where that is unknown."""

    @property
    def told(self) -> Mapping[str, MutualInformation]:
        """The mutual information of the classes with each sensitive column that can be compared."""

    def numbers(self) -> Relation | None:
        """The columns of the source that are released as numbers, staged; None without any."""


@dataclass(frozen=True)
class RunEvidence:
    """The release of a run.

    Attributes:
        prepared: the prepared spec.
        written: the release.
        session: where it is.
    """

    prepared: Prepared
    written: Written
    session: Session

    @property
    def released(self) -> Relation:
        """The written table."""
        return self.written.released

    @property
    def rows(self) -> int:
        """Records of the source."""
        return self.prepared.rows

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return [q.name for q in self.prepared.quasi_identifiers]

    @property
    def weights(self) -> dict[str, float]:
        """Of the quasi-identifiers."""
        return {q.name: q.weight for q in self.prepared.quasi_identifiers}

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns."""
        return [c.name for c in self.prepared.bound.columns if c.spec.role == "sensitive"]

    @cached_property
    def answering(self) -> tuple[Relation, str | None]:
        """What a reader counts in: the table, and its column of weights if records have one."""
        written, padded = self.written, padded_of(self.written.outcome)
        public = Public(written.released, written.dictionary, written.catalog)
        return public.answering(self.session, padded.sensitive if padded else None)

    @property
    def flagged(self) -> Relation | None:
        """The counterfeit records, private; None: there are none."""
        return self.written.flagged

    @property
    def counts_records(self) -> bool:
        """Whether classes count the records of the written table, and not people."""
        return self.prepared.parameters.subject is None and self.written.counted == self.released

    @cached_property
    def classes(self) -> Counted:
        """The classes of the written table, of which there are fewer than records."""
        return counted(self.session, "deid_measured_rows", self.released, self.names)

    @cached_property
    def _cells(self) -> dict[str, Counted]:
        return {}

    def cells(self, name: str) -> Counted:
        """The numbers of the classes, each value of a sensitive column apart."""
        if name not in self._cells:
            place = f"deid_measured_cells_{len(self._cells)}"
            self._cells[name] = with_values(
                self.session, place, self.released, self.classes, self.names, name
            )
        return self._cells[name]

    def before(self, c: Column) -> Rows | None:
        """A column of the source, as it was staged; None where it is no more, or has another type.

        Of a quasi-identifier each value once.
        """
        bound, names = self.prepared.bound, self.names
        if bound.spec.method.can.values != "generalized" or bound.counts is not None or not names:
            return None
        staged = {s.column.name: s.released_type for s in bound.staged}
        if staged.get(c.name) != c.type:
            return None
        return self._values[c.name] if c.name in names else CODED

    @cached_property
    def _values(self) -> dict[str, Counted]:
        found = {}
        for i, name in enumerate(self.names):
            codes = self.codes[name].subquery("codes")
            records = free_name("records", [name])
            cells = (
                aliased(column("value", "v"), name),
                aliased(column("records", "codes"), records),
            )
            same = column("code", "v").eq(column("value", "codes"))
            query = select(*cells).from_(codes).join(values_relation(i).aliased("v"), on=same)
            staged = self.session.run(Step(f"deid_measured_values_{i}", query))
            found[name] = Counted(staged, records)
        return found

    @cached_property
    def codes(self) -> dict[str, Select]:
        """Of each quasi-identifier how often each code is in the source: `value`, `records`."""
        parts = []
        for i, name in enumerate(self.names):
            key = column(name)
            counts = aliased(key, "value"), aliased(count_rows(), "records")
            query = select(aliased(literal(i), "number"), *counts).from_(CODED.table)
            parts.append(query.group_by(key.copy()))
        staged = self.session.run(Step("deid_measured_codes", union_all(*parts))).table
        own = select("value", "records").from_(staged)
        return {n: own.where(column("number").eq(i)) for i, n in enumerate(self.names)}

    def after(self, name: str) -> Rows | None:
        """A quasi-identifier of the release, each class once."""
        return self.classes if name in self.names else None

    @cached_property
    def counts(self) -> Mapping[str, Counts]:
        """How often each value of each quasi-identifier is released."""
        return value_counts(self.session, self.classes, self.names)

    @cached_property
    def losses(self) -> dict[str, float]:
        """Compute the loss of each quasi-identifier, over the records of the source."""
        counts = self.counts
        if self.flagged is not None:
            counts = value_counts(self.session, self.written.real, self.names)
        found = {}
        for name, values in zip(self.names, self.written.outcome.shown, strict=True):
            cell_loss = {label: shown.cell.loss for label, shown in values.items()}
            found[name] = column_loss(counts[name], cell_loss, self.rows)
        return found

    @property
    def loss(self) -> float:
        """Compute the weighted mean loss of all quasi-identifiers."""
        weights = self.weights
        return sum(weights[n] * self.losses[n] for n in weights) / sum(weights.values())

    @cached_property
    def class_sizes(self) -> ClassSizes | None:
        """The sizes of the classes where no record is removed; others the method has counted."""
        outcome, keys = self.written.outcome, list[Expr]()
        if padded_of(outcome) is not None:
            keys = [column(CLASS_ID)]
        elif self.written.crosswalk is None:
            return None
        elif masked_of(outcome) is not None:
            keys = [column(name) for name in self.names]
        else:
            keys = [cast(column(name), "VARCHAR") for name in self.names]
        return class_sizes(self.session, self.released, keys)

    @cached_property
    def _uploaded(self) -> tuple[dict[str, Select], dict[str, Select]]:
        return _upload(self.prepared, self.written.outcome, self.session)

    @property
    def labels(self) -> dict[str, Select]:
        """Of each quasi-identifier the `label` of each `code`, and the `place` of the label.

        Of one transformation of all.
        """
        return self._uploaded[0]

    @property
    def sizes(self) -> dict[str, Select]:
        """Of each quasi-identifier the `size` of each `label`."""
        return self._uploaded[1]

    @cached_property
    def sized(self) -> SizedClasses:
        """The classes, by how many tuples of the domain each stands for; staged, as there are
        fewer of them than records."""
        domain = prod(float(domain_of(q.coding)) for q in self.prepared.quasi_identifiers)
        found = sized_classes(self.classes, self.sizes, domain)
        staged = self.session.run(Step("deid_measured_classes", found.query))
        return replace(found, query=select("records", "size").from_(staged.table))

    @property
    def tuples(self) -> Select:
        """The `records` of each distinct tuple, whoever they belong to."""
        if self.prepared.parameters.subject is None:
            return select("records").from_(TUPLES.table)
        counted = aliased(count_rows(), "records")
        rows = CODED.aliased("coded")
        keys = [column(name, "coded") for name in self.names]
        return select(counted).from_(rows).group_by(*keys)

    @property
    def crosswalk(self) -> Crosswalk | None:
        """What each record is released as, where levels differ between classes, or are means."""
        if self.written.crosswalk is None:
            return None
        return Crosswalk(self.written.crosswalk, tuple(self.names), self.released.names)

    @property
    def members(self) -> Members:
        """The records of the source by their class."""
        crosswalk = self.crosswalk
        if crosswalk is not None:
            return crosswalk.members
        node, told = self.written.outcome.node, {}
        assert node is not None
        for q, level in zip(self.prepared.quasi_identifiers, node, strict=True):
            labels = q.coding.labels(level)
            if len({*labels}) == len(labels):
                told[q.name] = self.codes[q.name]
        return members_of_transformation(TUPLES, self.labels, told)

    @cached_property
    def meanings(self) -> dict[str, Select]:
        """Of each quasi-identifier the `code` and `value` of all that each `label` stands for."""
        return meanings(self.prepared, self.written.outcome, self.session)

    @cached_property
    def told(self) -> dict[str, MutualInformation]:
        """The mutual information of the classes with each sensitive column."""
        return {
            name: mutual_information(
                self.session,
                CODED,
                self.released,
                self.names,
                name,
                tuples=self._tuples_of(name),
                classes=self._classes_of(name),
            )
            for name in self.sensitive
        }

    def _classes_of(self, name: str) -> Select:
        cells = self.cells(name)
        return each(cells, [cells.number, name], ["qi_0", "value"])

    def _tuples_of(self, name: str) -> Select | None:
        """The tuples of the source with their sensitive values, where these were counted so."""
        targets = [*staged(self.prepared.bound)]
        if self.prepared.parameters.subject is not None or (name,) not in targets:
            return None
        number = targets.index((name,))
        codes = count_rows(), count_distinct(column("code"))
        values = select(*codes).from_(sensitive_relation(number).table)
        if len({*self.session.row(values)}) > 1:
            return None  # several spellings of one value were counted together
        table = tuple_values_relation(number).table
        return select(aliased(column("tuple"), "qi_0"), "value", "records").from_(table)

    def numbers(self) -> Relation | None:
        """The columns of the source that are released as numbers, staged; None without any."""
        bound = self.prepared.bound
        numbers = [
            staged
            for staged in bound.staged
            if Column(staged.column.name, staged.released_type).family in NUMBERS
        ]
        if not numbers:
            return None
        # where quasi-identifiers were coded, the staged source is gone
        query = source_step(bound.source, numbers, None).query
        return self.session.run(Step("deid_measured_source", query, stored=bound.counts is None))

    @cached_property
    def suspected(self) -> Suspected | None:
        """What who learns from the release finds of its counterfeit records."""
        return counterfeit_suspicion.attacked(self.prepared, self.written, self.session)


def _upload(
    prepared: Prepared, outcome: Outcome, session: Session
) -> tuple[dict[str, Select], dict[str, Select]]:
    """For each quasi-identifier the label of each of its codes, and the size of each label.

    Codes have one label each only where a transformation is of all records.
    """
    codes: dict[str, list[Any]] = {"number": [], "code": [], "label": [], "place": []}
    sized: dict[str, list[Any]] = {"number": [], "label": [], "size": []}
    for i, (q, shown) in enumerate(zip(prepared.quasi_identifiers, outcome.shown, strict=True)):
        if outcome.node is not None:
            labels = q.coding.labels(outcome.node[i])
            codes["number"] += [i] * len(labels)
            codes["code"] += range(len(labels))
            codes["label"] += labels
            places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
            codes["place"] += [places[label] for label in labels]
        sized["number"] += [i] * len(shown)
        sized["label"] += shown
        sized["size"] += [value.size for value in shown.values()]
    kinds = {"number": np.int32, "code": np.int32, "place": np.int32, "size": np.float64}
    found = []
    for name, table in (("deid_measured_labels", codes), ("deid_measured_sizes", sized)):
        typed = {c: np.array(v, kinds[c]) if c in kinds else v for c, v in table.items()}
        uploaded = session.upload(name, typed)
        own = select(*(c for c in table if c != "number")).from_(uploaded.table)
        names = [q.name for q in prepared.quasi_identifiers]
        found.append({n: own.where(column("number").eq(i)) for i, n in enumerate(names)})
    return found[0], found[1]


def meanings(prepared: Prepared, outcome: Outcome, session: Session) -> dict[str, Select]:
    """For each quasi-identifier the `code` and `value` of all that its labels stand for."""
    means: dict[str, list[Any]] = {"number": [], "label": [], "code": [], "value": []}
    for i, (q, shown) in enumerate(zip(prepared.quasi_identifiers, outcome.shown, strict=True)):
        values = q.coding.labels(0)
        for level in sorted({value.level for value in shown.values()}):
            for code, label in enumerate(q.coding.labels(level)):
                found = shown.get(label)
                if found is None or found.level != level:
                    label = f"{label}@{level}"  # as it reads where levels mix
                if label in shown:
                    means["number"].append(i)
                    means["label"].append(label)
                    means["code"].append(code)
                    means["value"].append(values[code])
    kinds = {"number": np.int64, "code": np.int64}
    typed = {c: np.array(v, kinds[c]) if c in kinds else v for c, v in means.items()}
    uploaded = session.upload("deid_measured_means", typed)
    own = select("label", "code", "value").from_(uploaded.table)
    names = [q.name for q in prepared.quasi_identifiers]
    return {n: own.where(column("number").eq(i)) for i, n in enumerate(names)}
