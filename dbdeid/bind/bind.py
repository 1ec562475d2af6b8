"""Validate a specification against its database: every column found, every role given."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from dbdeid.bind import analyses
from dbdeid.bind import privacy_models as models
from dbdeid.bind.bound import WITHHELD, Bound, BoundColumn, bounds_of
from dbdeid.bind.source import open_source, plain_values
from dbdeid.data.location.file_formats import is_remote, is_text_source
from dbdeid.data.source_files import NO_HEADER, reading_source, require_table, told_names
from dbdeid.engine.relation import NUMBERS, Column
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, Mistake, SpecError, did_you_mean
from dbdeid.sources.files import Opened
from dbdeid.spec.column.column_spec import ColumnSpec, names_in
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located
from dbdeid.spec.release_spec import SourceQuery

# Columns without a role that a message names.
MOST_LISTED = 40


def bind(file: SpecFile, session: Session, source: Opened | None = None) -> Bound:
    """Find the source and its columns.

    Args:
        file: the spec.
        session: where the source is.
        source: in place of the source that the spec names.

    Raises:
        SpecError: columns missing in the source or in the spec, types that cannot be released.
        DataError: the source cannot be read.
    """
    view = file.spec.output.kind == "view"
    with reading_source(_path(file)):
        if source is None:
            source = open_source(file, session, again=view)
        found = session.describe(source.query)
    if view and source.passing:
        raise DataError(
            "a view reads its source each time, and this one is read once, into a table of the run",
            hint="release it as a table, or make a table of it in the database first",
        )
    named = _may_be_told(file, found)
    mistakes = list(_repeated(file, found))
    given = _spread(file, found, mistakes, named)
    mistakes.extend(_without_role(file, [c for c in found if c.name not in given], named))
    columns = []
    for column in found:
        spec = given.get(column.name)
        if spec is None:
            continue
        bound = bound_column(column, spec)
        mistakes.extend(_type_mistakes(file, bound))
        columns.append(bound)
    mistakes.extend(_bounds_mistakes(file, columns))
    mistakes.extend(_partition_mistakes(file, columns))
    mistakes.extend(_subject_mistakes(file, columns, found, named))
    by_name = {c.name.lower(): c for c in columns}
    mistakes.extend(models.mistakes(file, by_name))
    mistakes.extend(
        file.mistake(message, *place, hint=hint)
        for place, message, hint in file.spec.method.source_mistakes(by_name)
    )
    recipients, wrong = analyses.bound(file, by_name, source.query, session)
    mistakes.extend(wrong)
    if mistakes:
        raise SpecError(mistakes, source=file.label)
    released = [c.column for c in columns if c.spec.released and not c.spec.pseudonym]
    subject = _named(file.spec.subject, columns)
    declared = models.named(file.spec.privacy, by_name)
    plain = plain_values(source.query, released, nan=file.spec.method.can.values != "drawn")
    return Bound(file, plain, tuple(columns), subject, declared, recipients, source)


def _named(name: str | None, columns: list[BoundColumn]) -> Column | None:
    """The column of this name in any spelling."""
    return next((c.column for c in columns if name and c.name.lower() == name.lower()), None)


def _subject_mistakes(
    file: SpecFile, columns: list[BoundColumn], found: tuple[Column, ...], named: bool
) -> Iterator[Mistake]:
    name = file.spec.subject
    if name is None:
        return
    if name.lower() not in {column.name.lower() for column in found}:
        hint = did_you_mean(name, [column.name for column in found] if named else ())
        yield file.mistake(f"the source has no column {name!r}", "subject", hint=hint)
    for c in columns:
        if c.name.lower() == name.lower() and c.spec.role not in WITHHELD:
            yield file.mistake(
                f"the subject {c.name!r} would be released as {c.spec.role}",
                "subject",
                hint="make it an identifier, or {role: identifier, pseudonym: true}",
            )


def _path(file: SpecFile) -> Path | None:
    """The file, folder or pattern that is the source; None where it is none of these."""
    source = file.spec.source
    on_file = file.source_kind == "file" and not is_remote(str(source))
    return located(file, str(source), "source") if on_file else None


def _may_be_told(file: SpecFile, found: Sequence[Column]) -> bool:
    """Whether the source's column names may be shown: those of a text file may be cells.

    Raises:
        DataError: a text file that is no table.
    """
    source, names = file.spec.source, [c.name for c in found]
    if isinstance(source, str):
        path = _path(file)
        if path is None or not is_text_source(path):
            return True
        require_table(path, names)
    if isinstance(source, SourceQuery) and not re.search("csv|tsv|txt", source.sql, re.IGNORECASE):
        return True
    known = [name for key in file.spec.columns for name in (key.strip(), *names_in(key))]
    return told_names(names, known)


def _without_role(file: SpecFile, columns: list[Column], named: bool) -> Iterator[Mistake]:
    """One mistake for all columns that the spec does not name, with a line to paste."""
    if not columns:
        return
    if not named:
        some = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        message = f"{some} of the source stand{'s' * (len(columns) == 1)} in no key of the spec"
        yield file.mistake(message, "columns", hint=NO_HEADER)
        return
    listed = ", ".join(f"{column.name!r} ({column.shown_type})" for column in columns[:MOST_LISTED])
    if len(columns) > MOST_LISTED:
        listed += f" and {len(columns) - MOST_LISTED} more"
    what = (
        f"column {listed} of the source has"
        if len(columns) == 1
        else (f"{len(columns)} columns of the source have")
    )
    # A key lists columns between commas, so a name that holds one stands alone.
    alone = [c.name for c in columns if "," in c.name or c.name != c.name.strip()]
    together = ", ".join(c.name for c in columns if c.name not in alone)
    keys = [json.dumps(key, ensure_ascii=False) for key in (together, *alone) if key]
    hint = (
        f"add {' and '.join(f'`{key}: drop`' for key in keys)} "
        "(or identifier, quasi_identifier, sensitive, insensitive)"
    )
    if len(columns) > MOST_LISTED:
        hint = "`dbdeid init` drafts a role for every column of a table or file; drop is one"
    yield file.mistake(
        f"{what} no role" + (f": {listed}" if len(columns) > 1 else ""), "columns", hint=hint
    )


def _repeated(file: SpecFile, found: tuple[Column, ...]) -> Iterator[Mistake]:
    names = Counter(column.name.lower() for column in found)
    for name in (name for name, count in names.items() if count > 1):
        yield file.mistake(
            f"the source has several columns {name!r}", "source", hint="give each its own name"
        )


def _spread(
    file: SpecFile, found: tuple[Column, ...], mistakes: list[Mistake], named: bool
) -> dict[str, ColumnSpec]:
    """The spec of each source column; a key may list several columns, separated by commas."""
    names = {column.name.lower(): column.name for column in found}
    given: dict[str, ColumnSpec] = {}
    for key, spec in file.spec.columns.items():
        parts = (key,) if key.lower() in names else names_in(key)
        for part in parts:
            name = names.get(part.lower())
            if name is None:
                hint = did_you_mean(part, names.values() if named else ())
                message = f"the source has no column {part!r}"
                mistakes.append(file.mistake(message, "columns", key, hint=hint))
            elif name in given:
                message = f"column {name!r} is given twice"
                mistakes.append(file.mistake(message, "columns", key, hint="keep one"))
            else:
                given[name] = spec
    return given


# Types that are released as they are; others become text, and nested ones are refused.
_AS_TEXT = ("UUID", "TIME", "TIME WITH TIME ZONE", "INTERVAL", "JSON")


def bound_column(column: Column, spec: ColumnSpec) -> BoundColumn:
    """Join a column of the source with its declaration."""
    return BoundColumn(column, spec, _released_type(column, spec))


def _released_type(column: Column, spec: ColumnSpec) -> str | None:
    if not spec.released:
        return None
    if spec.pseudonym:
        return "VARCHAR"
    if column.family == "enum" or column.type in _AS_TEXT or spec.type == "categorical":
        return "VARCHAR"
    if column.family == "timestamp":
        return "TIMESTAMP"
    return column.type


def _type_mistakes(file: SpecFile, bound: BoundColumn) -> Iterator[Mistake]:
    family, place = bound.column.family, ("columns", bound.name)
    if bound.released_type is None:
        return
    if family == "other" and bound.released_type != "VARCHAR":
        yield file.mistake(
            f"column {bound.name!r} has type {bound.column.shown_type}, which cannot be released",
            *place,
            hint=(
                "drop it, or write it as text in `source: {sql: …}`: "
                f"array_to_string(list_sort({bound.name}), ';')"
                if bound.column.type.endswith("[]")
                else "drop it, or cast it to text or numbers in `source: {sql: …}`"
            ),
        )
    kind = bound.spec.hierarchy.kind if bound.spec.hierarchy else None
    categorical = bound.spec.type == "categorical"
    if kind == "intervals" and (categorical or family not in NUMBERS):
        yield file.mistake(
            f"intervals need a numeric column, and {bound.name!r} is {bound.column.shown_type}",
            *place,
            "hierarchy",
            hint="cast it to a number in the source, or use prefix, groups or a CSV file",
        )
    if kind == "shelf" and bound.released_type != "VARCHAR":
        name = bound.spec.hierarchy.shelf if bound.spec.hierarchy else None
        yield file.mistake(
            f"shelf: {name} needs text, and {bound.name!r} is {bound.column.shown_type}",
            *place,
            "hierarchy",
            hint="write its codes as text in `source: {sql: …}`, with leading zeros: "
            "lpad(zip::VARCHAR, 5, '0')",
        )
    if kind == "free":
        yield from _free_mistakes(file, bound)
    if kind == "dates" and (categorical or family not in ("date", "timestamp")):
        yield file.mistake(
            f"dates need a DATE or TIMESTAMP column, and {bound.name!r} is "
            f"{bound.column.shown_type}",
            *place,
            "hierarchy",
            hint="cast it to DATE in the source",
        )


def _free_mistakes(file: SpecFile, bound: BoundColumn) -> Iterator[Mistake]:
    """Limits of another kind than the values, or of values that have no order."""
    spec, family = bound.spec.hierarchy, bound.column.family
    assert spec is not None
    place = ("columns", bound.name, "hierarchy")
    if bounds_of(bound) and bound.column.type == "FLOAT":
        yield file.mistake(
            f"intervals of {bound.name!r} are told in doubles, and it is FLOAT",
            *place,
            hint="cast it to DOUBLE or DECIMAL in `source: {sql: …}`",
        )
    limits = [limit for limit in (spec.lower, spec.upper) if limit is not None]
    if not limits:
        return
    if not bounds_of(bound):
        yield file.mistake(
            f"lower and upper go with numbers and dates, and {bound.name!r} is released as sets of "
            "values",
            *place,
            hint="leave them out, or list its values in `domain`",
        )
    elif (family in NUMBERS) != isinstance(limits[0], Fraction):
        kind = "numbers" if family in NUMBERS else "dates like 2019-12-31"
        yield file.mistake(
            f"lower and upper must be {kind}: {bound.name!r} is {bound.column.shown_type}",
            *place,
            hint="write them as values of the column",
        )
    elif bound.spec.domain is not None:
        yield file.mistake(
            f"domain and limits both say how far {bound.name!r} reaches", *place, hint="keep one"
        )


def _bounds_mistakes(file: SpecFile, columns: list[BoundColumn]) -> Iterator[Mistake]:
    if not file.spec.output.bounds:
        return
    names = {c.name.lower() for c in columns if c.released_type is not None}
    for column in columns:
        if column.spec.role == "quasi_identifier" and bounds_of(column):
            for end in ("_lower", "_upper"):
                if column.name.lower() + end in names:
                    yield file.mistake(
                        f"the companion {column.name + end!r} would meet a column of that name",
                        "output",
                        "bounds",
                        hint="rename the column in the source, or leave bounds out",
                    )


def _partition_mistakes(file: SpecFile, columns: list[BoundColumn]) -> Iterator[Mistake]:
    """List mistakes in `partition_by`: unknown columns, or none left for the files."""
    wanted = file.spec.output.partition_by
    released = {c.name.lower(): c.name for c in columns if c.released_type is not None}
    for name in wanted:
        if name.lower() not in released:
            hint = did_you_mean(name, list(released.values()))
            message = f"{name!r} is no released column"
            yield file.mistake(message, "output", "partition_by", hint=hint)
    if wanted and {name.lower() for name in wanted} >= released.keys():
        yield file.mistake(
            "the files would have no column: all of them are names of folders",
            "output",
            "partition_by",
            hint="partition by fewer columns",
        )
