"""The public view of a record: its own parts, with no place for private values."""

from __future__ import annotations

from typing import TypeAlias

from dbdeid.record.comparison import Shape, TableContent
from dbdeid.record.findings import Singled, SizeCount
from dbdeid.record.making import Publisher
from dbdeid.record.part import Number, Part, Value, Values
from dbdeid.record.release_record import Recoding, ReleaseRecord


class PublicColumn(Part):
    """A column as the release and its owner describe it."""

    name: str
    role: str = ""
    pseudonym: bool = False
    type: str | None = None
    released_type: str | None = None
    level: int | None = None
    height: int | None = None
    labels: tuple[str | None, ...] = ()
    reason: str | None = None
    accept: str | None = None
    values: str | None = None


class PublicPadding(Part):
    """Counterfeit records: the declaration, and the figures of catalog and release."""

    risk: Number | None
    k: int
    catalog: str
    sensitive: str | None = None
    strict: bool = False
    counterfeits: int | None = None
    size: int | None = None
    candidates: int | None = None
    groups: int | None = None
    told: Number | None = None
    degree: Number | None = None


class PublicSynthetic(Part):
    """What was declared of synthetic records, and whether they keep how many there are of each."""

    k: int
    counts: bool


class PublicPromise(Part):
    """A promise; what was found only where anyone can find it in the release."""

    declared: Value
    found: Value
    model: str
    holds: bool


class PublicCheck(Part):
    """A check of the written files; its detail may name objects inside them."""

    check: str
    holds: bool
    detail: str = ""


class PublicVerification(Part):
    """Which promises and checks hold."""

    verified: bool
    promises: tuple[PublicPromise, ...]
    hygiene: tuple[PublicCheck, ...]


class PublicAsItIs(Part):
    """A released column that no privacy model covers as a quasi-identifier."""

    column: str
    role: str
    alone: Singled | None


class PublicCertain(Part):
    """A sensitive column, and how many records of a class have one value."""

    column: str
    records: int
    people: None


class PublicRemains(Part):
    """Counts that anyone can make in the release, where no record says whose it is."""

    records: int
    quasi_identifiers: int
    columns: int
    bounds: int = 0
    pseudonyms: tuple[str, ...]
    covered: Singled | None
    people: None
    subject: None
    as_they_are: tuple[PublicAsItIs, ...]
    together: Singled | None
    everything: Singled
    certain: tuple[PublicCertain, ...]


class PublicContent(Part):
    """Digests of the published tables only, which reveal no more than those do."""

    made: str | None = None
    columns: tuple[Shape, ...] | None = None
    release: TableContent | None = None
    dictionary: TableContent | None = None
    catalog: TableContent | None = None


class PublicRisk(Part):
    """The risk of the release, which anyone can count."""

    records: int
    classes: int | None = None
    k: int | None = None
    highest_risk: Number | None = None
    average_risk: Number | None = None
    unique_records: int | None = None
    records_at_risk: int | None = None


class PublicRiskChange(Part):
    """The risk of the release alone."""

    after: PublicRisk


class PublicRecord(Part):
    """A release as far as the public may know of it.

    It has no part for what only the owner knows: the source and its records, how the release was
    searched for, what was measured against the source, the seconds, the specification.

    Attributes:
        by_subject: whether people count, not records; how many they are is not told.
    """

    release: str
    method: str
    recoding: Recoding = "global"
    version: str
    released_rows: int
    classes: int | None
    smallest_class: int | None
    verified: bool
    null_policy: str | None = None
    accept: str | None = None
    histogram: tuple[SizeCount, ...] = ()
    created: str
    by_subject: bool
    privacy: tuple[Values, ...]
    columns: tuple[PublicColumn, ...]
    metrics: dict[str, Number | None]
    loss: Number | None
    exports: tuple[str, ...]
    remains: PublicRemains | None = None
    method_parameters: Values | None = None
    synthetic: PublicSynthetic | None = None
    content: PublicContent | None = None
    padding: PublicPadding | None = None
    column_loss: dict[str, Number | None]
    verification: PublicVerification | None = None
    risk: PublicRiskChange | None = None
    publisher: Publisher | None = None


# What a page or a sentence is made from, for either audience.
Shown: TypeAlias = ReleaseRecord | PublicRecord
