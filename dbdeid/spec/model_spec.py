"""The recipient's analyses, as a specification declares them: Cox, linear and logistic models."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from dbdeid.spec.column.hierarchy_spec import Part, Text

Covariates = Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]


class Cox(Part):
    """Proportional hazards (Cox 1972): how covariates change the rate of an event.

    Attributes:
        duration: time until the event, or until it was last known not to have come.
        event: whether it came: a boolean, 0 or 1, or a condition.
        covariates: columns or expressions of columns.
        where: which records; all without it.
        ties: how equal times are taken.
    """

    kind: Literal["cox"]
    duration: Text
    event: Text
    covariates: Covariates
    where: Text | None = None
    ties: Literal["efron"] = "efron"


class Linear(Part):
    """Ordinary least squares of a number on covariates."""

    kind: Literal["linear"]
    response: Text
    covariates: Covariates
    where: Text | None = None


class Logistic(Part):
    """Logistic regression of a condition on covariates."""

    kind: Literal["logistic"]
    response: Text
    covariates: Covariates
    where: Text | None = None


Analysis: TypeAlias = Annotated[Cox | Linear | Logistic, Field(discriminator="kind")]

ANALYSES: dict[str, type[Cox] | type[Linear] | type[Logistic]] = {
    "cox": Cox,
    "linear": Linear,
    "logistic": Logistic,
}
