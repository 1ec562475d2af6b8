"""What a release in a warehouse cannot be yet: each refusal says why, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.data.location.file_formats import ending_of
from dbdeid.errors import Mistake, SpecError
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import SourceQuery

_TABLE = "the release is a table of the current schema there, under its own name"
_HERE = "leave it out, or release where the records can be read"


def require_possible(file: SpecFile, program: str) -> None:
    """Refuse a spec that asks for something the warehouse cannot do.

    Raises:
        SpecError: with all of it at once.
    """
    if mistakes := [*_of_places(file, program), *_of_content(file, program)]:
        raise SpecError(mistakes, source=file.label)


def _of_places(file: SpecFile, program: str) -> Iterator[Mistake]:
    """Places that a warehouse does not reach, or that would be left to nobody's care."""
    spec = file.spec
    if isinstance(spec.source, SourceQuery):
        message = f"the source is a query of the own engine, and not of {program}"
        yield file.mistake(message, "source", hint="make a view of it there, and name that")
    elif file.source_kind not in ("table", "file"):
        message = f"the source is neither a table of {program} nor files"
        hint = f"make a view of it there, and name that: source: {spec.release}_source"
        yield file.mistake(message, "source", hint=hint)
    elif (ending := ending_of(spec.source)) not in ("", ".parquet"):
        message = f"files in {ending} do not say which types their columns have"
        hint = f"write them as Parquet, or make a view in {program} that says it, and name that"
        yield file.mistake(message, "source", hint=hint)
    for key, given in (
        ("database", spec.database),
        ("target", spec.target),
        ("attach", spec.attach),
    ):
        if given:
            message = f"{key} is no place in {program}"
            yield file.mistake(message, key, hint=f"leave it out: {_TABLE}")
    if spec.output.kind == "view":
        message = f"no preview is made in {program}"
        yield file.mistake(message, "output", hint="release it as a table")
    if spec.output.export:
        message = f"what is in {program} is not exported"
        yield file.mistake(message, "output", "export", hint=f"leave it out: {_TABLE}")
    if spec.rerelease == "strict":
        message = f"nothing remembers what was released in {program}: there is nothing to compare"
        yield file.mistake(message, "rerelease", hint=_HERE)
    if file.trial:
        message = f"a trial is made in a file, and {program} has none"
        yield file.mistake(message, "release", hint="give the release another name, and drop it")


def _of_content(file: SpecFile, program: str) -> Iterator[Mistake]:
    """What would need the records here, or is not counted there."""
    spec, can = file.spec, file.spec.method.can
    if not (can.rules or can.deals) or can.frontier or can.moves:
        message = f"method {spec.method.name} is not made in {program}"
        hint = (
            "use full_domain or local_recoding, which need counts alone, or release where the "
            "records can be read"
        )
        yield file.mistake(message, "method", hint=hint)
    if spec.subject is not None and not can.rules:
        message = f"whose records are in which block is not told to {program}"
        hint = "use full_domain, or make one row of each subject in a view"
        yield file.mistake(message, "subject", hint=hint)
    if spec.preset is not None:
        message = f"preset {spec.preset.name} looks at every value, which {program} is not asked"
        yield file.mistake(message, "preset", hint=_HERE)
    for key, given in (("queries", spec.evaluate.queries), ("models", spec.evaluate.models)):
        if given:
            message = "a workload needs the records, not their counts"
            yield file.mistake(message, "evaluate", key, hint=_HERE)
    for name, column in spec.columns.items():
        if column.pseudonym:
            message = f"no pseudonyms are made in {program}"
            yield file.mistake(message, "columns", name, "pseudonym", hint="drop the column")
        if column.hierarchy is not None and column.hierarchy.table is not None:
            message = f"a hierarchy is not read from {program}"
            hint = "write it as a CSV file, and name that"
            yield file.mistake(message, "columns", name, "hierarchy", hint=hint)
