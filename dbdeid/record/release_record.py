"""The record of one release: all that is known of it, from its run to its page."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from dbdeid.record.comparison import Content, Proven, Rerelease
from dbdeid.record.findings import (
    Downcoded,
    Reading,
    Remains,
    RiskChange,
    SizeCount,
    Verification,
)
from dbdeid.record.making import (
    Column,
    Masked,
    Padding,
    PolicyRisk,
    Publisher,
    Search,
    Synthetic,
)
from dbdeid.record.part import Number, Part, Values
from dbdeid.record.usefulness import Distribution, Expectation, Recipients, Workload

Recoding: TypeAlias = Literal["global", "local", "means", "none", "unknown"]
# The most labels of a column that are kept.
LABELS_SHOWN = 8


class ReleaseRecord(Part):
    """One release with everything that is known of it; private.

    Of a release made elsewhere whose original is not at hand `source_rows` and `suppressed_rows`
    are None. A page leaves out the sections that have no values.

    Attributes:
        release: its name.
        method: how it was made.
        version: of dbdeid.
        created: ISO 8601 time of the run.
        source: what it was made of.
        source_rows: records of the source.
        source_subjects: people of the source; None where one row is one subject.
        counterfeit_rows: records that were added.
        relocated_rows: records whose quasi-identifiers are not theirs.
        recoding: whether levels are the same in all classes.
        padding: of a release with counterfeit records.
        weighed: of a policy, its risk.
        synthetic: of synthetic records.
        masked: of quasi-identifiers that are means.
        readings: what the minimality attack reads of each sensitive attribute.
        downcoded: what the downcoding attack finds.
        draws: the key of what was drawn.
        companions: the tables that lie beside the release.
        suppressed_rows: records that were taken out.
        suppressed_subjects: people who lost a record.
        verified: whether every promise was found kept.
        useless: sentences on what nobody can use.
        warnings: what a reader should know.
        privacy: each declared model: its name as `model`, and its parameters.
        null_policy: how missing values formed classes.
        accept: what the owner accepts of the table.
        method_parameters: as the specification has them.
        search: how the release was found.
        verification: all that the verifier looked at; None of a preview.
        queries: the workload; None without any.
        distributions: columns before and after.
        seconds: wall time of each phase.
        exports: paths of the exported files.
        fingerprints: of what it was made of, by name.
        spec_text: the specification.
        released_rows: records of the release.
        classes: equivalence classes, or the clusters that records were drawn from.
        smallest_class: people in the smallest.
        columns: one for each column of the source.
        transformation: level of each quasi-identifier; empty where they differ between classes.
        loss: mean information loss of a cell, 0 to 1; None where no value is generalized.
        metrics: utility metrics by name.
        column_loss: loss of each quasi-identifier.
        risk: before and after.
        histogram: classes by their size.
        remains: what is not promised.
        models: the recipient's models; None where none are declared.
        trial: whether it was made to look at: no public page is made of it.
        engine: version of the engine, on which fingerprints depend.
        content: digests of what was written.
        expectations: thresholds of the specification and what was found.
        rerelease: beside earlier releases of its source.
        proven: digests of what proves a local recoding, which is not kept itself.
        frontier: that the policy was chosen from, as `dbdeid frontier` tells it.
        publisher: who answers for it, and its licence.
        objections: why it is not to be relied on any more, though it was verified when it was made.
    """

    release: str
    method: str
    version: str
    created: str
    source: str
    source_rows: int | None = None
    source_subjects: int | None
    counterfeit_rows: int | None = None
    relocated_rows: int | None = None
    recoding: Recoding = "global"
    padding: Padding | None = None
    weighed: PolicyRisk | None = None
    synthetic: Synthetic | None = None
    masked: Masked | None = None
    readings: tuple[Reading, ...] = ()
    downcoded: Downcoded | None = None
    draws: str | None = None
    companions: tuple[str, ...] = ("dictionary",)
    suppressed_rows: int | None = None
    suppressed_subjects: int | None = None
    verified: bool
    useless: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    privacy: tuple[Values, ...] | None = None
    null_policy: str | None = None
    accept: str | None = None
    method_parameters: Values | None = None
    search: Search | None = None
    verification: Verification | None = None
    queries: Workload | None = None
    distributions: tuple[Distribution, ...] = ()
    seconds: dict[str, Number] = Field(default_factory=dict)
    exports: tuple[str, ...] = ()
    fingerprints: dict[str, str] | None = None
    spec_text: str | None = None
    released_rows: int
    classes: int | None
    smallest_class: int | None
    columns: tuple[Column, ...] = ()
    transformation: dict[str, int] = Field(default_factory=dict)
    loss: Number | None = None
    metrics: dict[str, Number | None] = Field(default_factory=dict)
    column_loss: dict[str, Number | None] = Field(default_factory=dict)
    risk: RiskChange | None = None
    histogram: tuple[SizeCount, ...] = ()
    remains: Remains | None = None
    models: Recipients | None = None
    trial: bool = False
    engine: str | None = None
    content: Content | None = None
    expectations: tuple[Expectation, ...] = ()
    rerelease: Rerelease | None = None
    proven: Proven | None = None
    frontier: Values | None = None
    publisher: Publisher | None = None
    objections: tuple[str, ...] = ()

    @property
    def by_subject(self) -> bool:
        """Whether people count, not records."""
        return self.source_subjects is not None

    @property
    def measured(self) -> dict[str, float]:
        """The metrics that have a value."""
        return {name: value for name, value in self.metrics.items() if value is not None}

    def objected(self, *objections: str) -> ReleaseRecord:
        """The same with what speaks against it by now."""
        return self.model_copy(update={"objections": objections})
