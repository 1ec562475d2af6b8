"""The declared privacy models, held against the columns they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdeid.engine.relation import MEASURED, NUMBERS
from dbdeid.errors import Mistake, did_you_mean
from dbdeid.privacy import AlphaK, EmAnonymity, Model, OfSensitive, SensitiveModel, TCloseness
from dbdeid.privacy.common.sensitive import Target
from dbdeid.spec.file import SpecFile

if TYPE_CHECKING:
    from dbdeid.bind.bound import Bound, BoundColumn

ORDERED = (*MEASURED, "boolean")


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
            elif isinstance(model, TCloseness):
                yield from _distance(file, number, model.distance, column)
            elif isinstance(model, EmAnonymity):
                yield from _numbers(file, number, column)
        if isinstance(model, AlphaK) and model.values is not None and model.joint:
            yield file.mistake(
                "values are of one column, not of several together",
                "privacy",
                number,
                "values",
                hint="leave values out, or joint",
            )


def _distance(file: SpecFile, number: int, distance: str, column: BoundColumn) -> Iterator[Mistake]:
    place = ("privacy", number, "distance")
    ordered = column.spec.type is None and column.column.family in ORDERED
    if distance == "ordered" and not ordered:
        yield file.mistake(
            f"the values of {column.name!r} ({column.column.shown_type}) have no order",
            *place,
            hint="use distance: equal, or hierarchical with a hierarchy; or cast the column to "
            "numbers in the source",
        )
    if distance == "hierarchical" and column.spec.hierarchy is None:
        yield file.mistake(
            f"{column.name!r} has no hierarchy",
            *place,
            hint=f"as in `{column.name}: {{role: sensitive, hierarchy: icd.csv}}`",
        )


def _numbers(file: SpecFile, number: int, column: BoundColumn) -> Iterator[Mistake]:
    if column.spec.type is not None or column.column.family not in NUMBERS:
        yield file.mistake(
            f"em_anonymity is about numbers, and the values of {column.name!r} are "
            f"{column.column.shown_type}",
            "privacy",
            number,
            "column",
            hint="use l_diversity or t_closeness; or cast the column to numbers in the source",
        )
