"""Check the declared privacy models against their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdeid.errors import Mistake, did_you_mean
from dbdeid.privacy import Model, OfSensitive, SensitiveModel
from dbdeid.privacy.common.sensitive import Refusal, SensitiveColumn, Target
from dbdeid.spec.file import SpecFile

if TYPE_CHECKING:
    from dbdeid.bind.bound import Bound, BoundColumn


def named(models: tuple[Model, ...], columns: Mapping[str, BoundColumn]) -> tuple[Model, ...]:
    """The models with their columns as the source spells them.

    Args:
        models: as declared.
        columns: those of the source, by name in lower case.
    """
    return tuple(_named(m, columns) if isinstance(m, OfSensitive) else m for m in models)


def _named(model: SensitiveModel, columns: Mapping[str, BoundColumn]) -> SensitiveModel:
    known = tuple(columns[name.lower()].name for name in model.columns)
    spelled = known[0] if isinstance(model.column, str) else known
    return model.model_copy(update={"column": spelled})


def targets(models: tuple[Model, ...]) -> dict[Target, tuple[SensitiveModel, ...]]:
    """The sensitive attributes that are judged, and the models that judge each."""
    found: dict[Target, list[SensitiveModel]] = {}
    for model in models:
        if isinstance(model, OfSensitive):
            for target in model.targets:
                found.setdefault(target, []).append(model)
    return {target: tuple(judges) for target, judges in found.items()}


def staged(bound: Bound) -> dict[Target, tuple[SensitiveModel, ...]]:
    """The sensitive attributes that are counted: those judged, and those that a method looks at.

    Counterfeit records draw their values, and blocks mix them.
    """
    found = targets(bound.models)
    if bound.spec.method.can.mixes:
        for name in bound.names("sensitive"):
            found.setdefault((name,), ())
    return found


def mistakes(file: SpecFile, columns: Mapping[str, BoundColumn]) -> Iterator[Mistake]:
    """What the columns do not allow of the declared models."""
    for number, model in enumerate(file.spec.privacy):
        if not isinstance(model, OfSensitive):
            continue
        for name in model.columns:
            column = columns.get(name.lower())
            if column is None:
                hint = did_you_mean(name, [c.name for c in columns.values()])
                message = f"the source has no column {name!r}"
                yield file.mistake(message, "privacy", number, "column", hint=hint)
            elif column.spec.role != "sensitive":
                yield file.mistake(
                    f"{model.model} is about a sensitive column, and {column.name!r} is "
                    f"{column.spec.role}",
                    "privacy",
                    number,
                    "column",
                    hint="make its role sensitive",
                )
            else:
                for refusal in model.refused(_described(column)):
                    yield _mistake(file, number, refusal)
        for refusal in model.contradictions():
            yield _mistake(file, number, refusal)
        if model.by_record and file.spec.subject is not None:
            yield file.mistake(
                f"{model.model} takes every record for a person, and `subject` says that a person "
                "has several",
                "privacy",
                number,
                hint="make one row of each person in `source: {sql: …}`, with the values of all of "
                "their records: string_agg(DISTINCT code, ';')",
            )


def _described(column: BoundColumn) -> SensitiveColumn:
    """A column as models ask for it; categories are neither numbers nor in an order."""
    return SensitiveColumn(
        column.name,
        column.column.shown_type,
        "" if column.spec.type is not None else column.column.family,
        column.spec.hierarchy is not None,
        column.spec.values == "as_written",
    )


def _mistake(file: SpecFile, number: int, refusal: Refusal) -> Mistake:
    return file.mistake(refusal.message, "privacy", number, refusal.key, hint=refusal.hint)
