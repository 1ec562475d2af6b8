"""What a report is made from: the record of one release, plain values as stored in the catalog.

Only the keys of `Release` are required; a page leaves out the sections that have no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

Audience = Literal["internal", "public"]


class Column(TypedDict, total=False):
    """One column of the source; identifiers are listed too, as not released.

    `level`, `height`, `loss` (0 to 1), `labels` (up to eight released labels) and `hierarchy`
    (described in one line) belong to quasi-identifiers; `reason` and `accept` are the owner's
    words from the spec. `values` is `as_written` where each spelling of a sensitive value counts.
    """

    name: str
    role: str
    type: str
    released_type: str | None
    level: int | None
    height: int | None
    loss: float | None
    labels: list[str | None]
    pseudonym: bool
    reason: str | None
    accept: str | None
    weight: float
    hierarchy: str | None
    declared_domain: bool | None
    values: str


class Search(TypedDict, total=False):
    """How the transformation was found; `lower_bound` in units of the objective.

    `name` and `gap`, a share of the objective, are None where the transformation was given.
    A policy of the frontier has `bits`, and no `lattice_size` that could be told.
    `blocks` were made where recoding is local, and records `placed_afterwards` in them; `groups`
    where quasi-identifiers are means.
    """

    name: str | None
    lattice_size: int | None
    checked: int
    proven_optimal: bool
    lower_bound: float | None
    gap: float | None
    time_limit: float | None
    interrupted: bool
    objective: str
    blocks: int
    placed_afterwards: int
    groups: int
    bits: int
    point: int
    risk: float
    loss: float


class Promise(TypedDict):
    """One declared promise and what was found in the written table."""

    model: str
    declared: Any
    found: Any
    holds: bool


class Check(TypedDict):
    """One check of hygiene."""

    check: str
    holds: bool
    detail: str


class Verification(TypedDict):
    """All that the verifier looked at."""

    verified: bool
    promises: list[Promise]
    hygiene: list[Check]


class Risk(TypedDict):
    """Prosecutor risk of one table; risks are shares, 0 to 1."""

    records: int
    classes: int
    k: int | None
    highest_risk: float | None
    average_risk: float | None
    unique_records: int
    records_at_risk: int


class RiskChange(TypedDict, total=False):
    """Risk of the source and of the release."""

    before: Risk
    after: Risk


class Bin(TypedDict):
    """All classes of one size, and the records in them."""

    class_size: int
    classes: int
    records: int


class AggregateOfQuery(TypedDict):
    """One aggregate of a query of the workload; what does not exist is None."""

    name: str
    kind: str
    relative_error: float | None
    within_bounds: float | None


class Query(TypedDict, total=False):
    """One query of the workload, on source and release; `refused` is the reason, if any."""

    name: str
    sql: str
    groups: int | None
    lost: int | None
    invented: int | None
    relative_error: float | None
    mean_group_error: float | None
    within_bounds: float | None
    aggregates: list[AggregateOfQuery]
    refused: str | None
    seconds_source: float | None
    seconds_release: float | None


class Workload(TypedDict):
    """The queries of a workload, their mean relative error and share within bounds."""

    mean_relative_error: float | None
    within_bounds: NotRequired[float | None]
    queries: list[Query]


class Share(TypedDict):
    """The shares of a value, or of a range of numbers, in the source and in the release."""

    label: str
    source: float
    released: float


class Distribution(TypedDict):
    """How a column is distributed before and after, as `utility.side_by_side`."""

    column: str
    rows: list[Share]


class Estimate(TypedDict):
    """A fitted coefficient: its standard error, p and 95 % interval."""

    estimate: float
    error: float
    p: float
    lower: float
    upper: float


class Coefficient(TypedDict):
    """A coefficient on the original and on the release; None where it cannot be fitted there."""

    name: str
    original: Estimate
    released: Estimate | None
    changed_significance: bool
    changed_direction: bool
    outside: bool
    near: bool


class Recipients(TypedDict):
    """The recipient's models, as `utility.model_fit.Comparison`."""

    models: list[dict[str, Any]]
    overall: dict[str, Any]


class Singled(TypedDict):
    """Who is told apart; `people` is None where records count."""

    records: int
    people: int | None


class AsItIs(TypedDict):
    """A column that leaves as it is; `alone` is None where it was not counted."""

    column: str
    role: str
    alone: Singled | None


class Certain(TypedDict):
    """Whose value of a sensitive column is certain; `classes` is not for the public."""

    column: str
    classes: NotRequired[int]
    records: int
    people: int | None


class Remains(TypedDict):
    """What is not promised, as `release.remains.Remains`."""

    records: int
    people: int | None
    subject: str | None
    quasi_identifiers: int
    covered: NotRequired[Singled | None]
    columns: int
    bounds: NotRequired[int]
    as_they_are: list[AsItIs]
    together: Singled | None
    everything: Singled
    certain: list[Certain]
    pseudonyms: list[str]


class Reading(TypedDict):
    """What the minimality attack reads, as `methods.minimality.Reading`."""

    columns: list[str]
    people: int
    groups: int
    claimed: int
    right: int
    sound: bool
    why: str | None


class Downcoded(TypedDict):
    """What the downcoding attack finds, as `methods.downcoding.Downcoded`."""

    cells: int
    attempted: int
    right: int


class ContentOfTable(TypedDict):
    """How many rows a published table has, and the SHA-256 of its content."""

    rows: int
    sha256: str


class Content(TypedDict, total=False):
    """What a recipient can hold the tables against; `made` says how it is computed.

    `files` has the SHA-256 of the bytes of each file that was handed out with the manifest.
    """

    made: str
    release: ContentOfTable
    dictionary: ContentOfTable
    catalog: ContentOfTable
    files: Mapping[str, str]


class Padding(TypedDict, total=False):
    """How counterfeit records were added, as `Padded` of the method; `risk` is a share, 0 to 1.

    `size` is what smaller classes were filled up to, `candidates` how many classes may have been,
    `limit` the most records that may be added, `degree` the greatest of a record.
    `learned` is what who learns from the release finds, as `numeric.suspicion.Suspected`;
    `told` is the risk that is told: the greater one.
    """

    k: int
    size: int
    counterfeits: int
    limit: int
    h: float
    degree: float
    catalog: str
    groups: int
    candidates: int
    risk: float
    learned: Mapping[str, Any] | None
    told: float
    sensitive: str | None
    strict: bool


class Release(TypedDict):
    """The keys that every record has.

    `created` is an ISO 8601 time; `source_subjects` is None where one row is one subject. Of a
    release made elsewhere whose original is not at hand `source_rows` and `suppressed_rows` are.
    """

    release: str
    method: str
    version: str
    created: str
    source: str
    source_rows: int | None
    source_subjects: int | None
    released_rows: int
    suppressed_rows: int | None
    classes: int
    smallest_class: int | None
    verified: bool
    warnings: list[str]


class Record(Release, total=False):
    """One release with everything that is known about it.

    `trial` is there, and true, where it was made to look at: no public page is made of it.
    `objections` say why it is not to be relied on any more, though it was verified when it was
    made.
    """

    trial: bool
    objections: list[str]
    columns: list[Column]
    privacy: list[dict[str, Any]]
    null_policy: str
    accept: str | None
    method_parameters: dict[str, Any]
    transformation: dict[str, int]
    loss: float | None
    metrics: dict[str, float | None]
    column_loss: dict[str, float]
    search: Search | None
    verification: Verification | None
    remains: Remains | None
    readings: list[Reading]
    downcoded: Downcoded | None
    suppressed_subjects: int
    counterfeit_rows: int
    relocated_rows: int
    recoding: Literal["global", "local", "means", "none", "unknown"]
    padding: Padding | None
    masked: dict[str, Any] | None
    risk: RiskChange | None
    histogram: list[Bin]
    queries: Workload | None
    models: Recipients | None
    distributions: list[Distribution]
    seconds: dict[str, float]
    exports: list[str]
    content: Content
    useless: list[str]
    spec_text: str


LABELS_SHOWN = 8
