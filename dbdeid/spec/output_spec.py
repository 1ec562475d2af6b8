"""Where a release goes, as a specification declares it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from dbdeid.data.problem import problem
from dbdeid.engine.file_names import KINDS, is_export
from dbdeid.spec.column.hierarchy_spec import Part, Text


class Output(Part):
    """Where a release goes and in which form."""

    kind: Literal["table", "view"] = Field("table", alias="as")
    bounds: bool = False
    export: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @field_validator("export")
    @classmethod
    def _endings(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not is_export(path):
                raise problem(
                    f"export ends in none of {KINDS}", "as in public.csv, or public.csv.gz"
                )
        if len(set(value)) < len(value):
            raise problem("an export is listed twice")
        return value

    @model_validator(mode="after")
    def _internal_view(self) -> Output:
        if self.kind == "view" and (self.export or self.bounds):
            raise problem("a view is an internal preview: it has neither exports nor bounds")
        return self
