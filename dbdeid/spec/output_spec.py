"""Where a release goes, as a specification declares it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from dbdeid.data.problem import problem
from dbdeid.engine.file_names import KINDS, is_export, is_folder
from dbdeid.engine.reading import table_parts
from dbdeid.spec.column.hierarchy_spec import Part, Text


def _is_folder(path: str) -> bool:
    """Whether an export is a folder of files: `public/`."""
    return path.endswith("/") and is_folder(Path(path)) and Path(path).name not in ("", "..")


def _is_table(name: str) -> bool:
    """Whether an export may be a table of an attached database: `warehouse.public.visits`."""
    return "/" not in name and len(parts := table_parts(name)) in (2, 3) and all(parts)


class Output(Part):
    """Where a release goes and in which form."""

    kind: Literal["table", "view"] = Field("table", alias="as")
    bounds: bool = False
    export: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    partition_by: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @field_validator("export")
    @classmethod
    def _endings(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            file = _is_folder(path) if path.endswith("/") else is_export(path)
            if not (file or _is_table(path)):
                raise problem(
                    f"export ends in none of {KINDS}", "as in public.csv, or public.csv.gz"
                )
        if len(set(value)) < len(value):
            raise problem("an export is listed twice")
        return value

    @model_validator(mode="after")
    def _partitions(self) -> Output:
        folder = next(filter(_is_folder, self.export), None)
        if folder is not None and not self.partition_by:
            raise problem(
                f"{folder} is a folder of files, and no column tells which row is in which",
                "add `partition_by: [COLUMN]` to `output`, or name a file, as in public.parquet",
            )
        if folder is None and self.partition_by:
            raise problem(
                "`partition_by` is for a folder of Parquet files, and none is exported",
                "name one in `export`, with a slash at its end: public/",
            )
        if len({name.lower() for name in self.partition_by}) < len(self.partition_by):
            raise problem("a column is listed twice in `partition_by`")
        return self

    @model_validator(mode="after")
    def _internal_view(self) -> Output:
        if self.kind == "view" and (self.export or self.bounds):
            raise problem("a view is an internal preview: it has neither exports nor bounds")
        return self
