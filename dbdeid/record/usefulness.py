"""The parts of a record on usefulness: queries, models and distributions."""

from __future__ import annotations

from dbdeid.record.part import Number, Part


class AggregateError(Part):
    """The error of one aggregate of a query; what does not exist is None.

    Attributes:
        name: of its column.
        kind: count, sum, avg and the like.
        relative_error: over its groups.
        mean_group_error: mean over the groups.
        true_total: of the source.
        estimated_total: of the release.
        equal: share of the groups that are the same.
        within_bounds: share of the groups whose true value is within the bounds.
    """

    name: str
    kind: str
    relative_error: Number | None = None
    mean_group_error: Number | None = None
    true_total: Number | None = None
    estimated_total: Number | None = None
    equal: Number | None = None
    within_bounds: Number | None = None


class Query(Part):
    """One query of the workload, on source and release.

    Attributes:
        name: of the query.
        sql: its text.
        groups: of the true answer.
        lost: of them, those that the estimate does not have.
        invented: groups of the estimate that the true answer does not have.
        relative_error: mean over its aggregates.
        mean_group_error: mean over its aggregates.
        within_bounds: mean over its aggregates.
        true_total: of its only aggregate.
        estimated_total: of its only aggregate.
        aggregates: each of them.
        seconds_source: wall seconds of the true answer.
        seconds_release: wall seconds of the estimate.
        refused: why the release cannot answer it; None where it can.
    """

    name: str
    sql: str | None = None
    groups: int | None = None
    lost: int | None = None
    invented: int | None = None
    relative_error: Number | None = None
    mean_group_error: Number | None = None
    within_bounds: Number | None = None
    true_total: Number | None = None
    estimated_total: Number | None = None
    aggregates: tuple[AggregateError, ...] = ()
    seconds_source: Number | None = None
    seconds_release: Number | None = None
    refused: str | None = None


class Workload(Part):
    """The queries of a workload.

    Attributes:
        mean_relative_error: over those that have one; None when none has.
        within_bounds: mean share within bounds.
        answered: how many the release can answer.
        queries: each of them, as declared.
    """

    mean_relative_error: Number | None = None
    within_bounds: Number | None = None
    answered: int | None = None
    queries: tuple[Query, ...] = ()


class Share(Part):
    """The share of a value, or of a range of numbers.

    Attributes:
        label: the value or range.
        source: its share in the source.
        released: its share in the release.
    """

    label: str
    source: Number
    released: Number


class Distribution(Part):
    """How a column is distributed before and after.

    Attributes:
        column: its name.
        rows: its values.
    """

    column: str
    rows: tuple[Share, ...]


class Estimate(Part):
    """A fitted coefficient.

    Attributes:
        estimate: the coefficient.
        error: its standard error.
        p: two-sided.
        lower: of its 95 % interval.
        upper: of its 95 % interval.
    """

    estimate: Number
    error: Number
    p: Number
    lower: Number
    upper: Number


class Coefficient(Part):
    """A coefficient on the original and on the release.

    Attributes:
        name: of the coefficient.
        original: on the original.
        released: on the release; None where it cannot be fitted there.
        changed_significance: whether it crosses p = .05.
        changed_direction: whether a significant one turned its sign.
        outside: whether it left the original interval.
        near: whether the original is near the limit of significance.
    """

    name: str
    original: Estimate
    released: Estimate | None
    changed_significance: bool
    changed_direction: bool
    outside: bool
    near: bool


class Summary(Part):
    """What changed over some coefficients, the intercepts apart, as shares of them.

    Attributes:
        coefficients: how many there are.
        significant: how many of them were significant.
        unfitted: how many have no estimate on the release.
        near: how many are near the limit of significance.
        changed_significance: share that changed it.
        changed_near: share that changed it and is near.
        changed_direction: share of the significant ones; None without any.
        outside: share that left the original interval.
        outside_significant: the same of the significant ones; None without any.
        rmsz: over those that are fitted; None without any.
        error_ratio: mean ratio of the new standard errors to the original ones; None without any.
    """

    coefficients: int
    significant: int
    unfitted: int
    near: int
    changed_significance: Number
    changed_near: Number
    changed_direction: Number | None
    outside: Number
    outside_significant: Number | None
    rmsz: Number | None
    error_ratio: Number | None


class Term(Part):
    """A variable of a model as it entered on the release.

    Attributes:
        text: as declared.
        entered: `value`, or `expected`: the mean over what the released values stand for.
        told: of expected ones, whether the dictionary tells what they stand for.
        reference: of a category, the value that the others are compared with.
    """

    text: str
    entered: str
    told: bool = True
    reference: str | None = None


class Records(Part):
    """Records of a model.

    Attributes:
        used: how many it used.
        missing: how many it left out for a missing value.
    """

    used: Number
    missing: Number


class RecipientModel(Part):
    """A model that the recipient declared, on the original and on the release.

    Attributes:
        kind: of model.
        response: what is explained, as declared; of cox the duration.
        event: of cox.
        where: which records; None: all.
        terms: the variables as they entered on the release.
        source: records of the original.
        release: records of the release; None where it has no fit.
        coefficients: on both sides.
        reason: why the release has no fit; None: it has.
        summary: what changed.
    """

    kind: str
    response: str
    event: str | None
    where: str | None
    terms: tuple[Term, ...]
    source: Records
    release: Records | None
    coefficients: tuple[Coefficient, ...]
    reason: str | None = None
    summary: Summary


class Recipients(Part):
    """The models of the recipient.

    Attributes:
        models: as declared.
        overall: what changed over all of them.
    """

    models: tuple[RecipientModel, ...]
    overall: Summary | None = None


class Expectation(Part):
    """A threshold of the specification and what was found.

    Attributes:
        name: of what is measured.
        expected: the threshold as the specification writes it.
        found: the measured value; None where there is none, which holds nothing.
        holds: whether it is on the right side.
    """

    name: str
    expected: str
    found: Number | None
    holds: bool

    def __str__(self) -> str:
        found = "nothing" if self.found is None else f"{self.found:.6g}"
        return f"{self.name} is {found}, expected {self.expected.strip()}"
