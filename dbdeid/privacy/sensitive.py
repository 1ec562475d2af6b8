"""What models over a sensitive attribute have in common: which attributes they are about."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dbdeid.data.problem import problem

Target = tuple[str, ...]
"""Columns whose values together are one sensitive attribute."""


class OfSensitive(BaseModel):
    """A model over one or several sensitive columns.

    Attributes:
        column: a sensitive column, or several: then each is judged on its own.
        joint: several columns are one attribute, whose values are the combinations of theirs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    column: str | Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    joint: bool = False

    @model_validator(mode="after")
    def _columns_once(self) -> OfSensitive:
        if len({c.lower() for c in self.columns}) < len(self.columns):
            raise problem("a column is named twice", "name each once, as in column: [a, b]")
        if self.joint and len(self.columns) == 1:
            raise problem("joint: true takes several columns", "as in column: [diagnosis, drug]")
        return self

    @property
    def columns(self) -> Target:
        """The columns, as they are spelled."""
        return (self.column,) if isinstance(self.column, str) else self.column

    @property
    def targets(self) -> tuple[Target, ...]:
        """The attributes that are judged, each on its own."""
        return (self.columns,) if self.joint else tuple((c,) for c in self.columns)

    @property
    def smallest_class(self) -> int:
        """The number of subjects below which a class fails."""
        return 1

    @property
    def diversifies(self) -> bool:
        """Whether it keeps the values of a class from being all the same."""
        return True

    @property
    def declared(self) -> dict[str, Any]:
        """The promised parameters, as they are shown."""
        shown = self.model_dump(exclude_defaults=True)
        return {key: value for key, value in shown.items() if key != "model"}
