"""Values as JSON has them: their type, and how the values of this package become such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias, overload

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]


class _Dataclass(Protocol):
    """An instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@overload
def plain(value: _Dataclass | Mapping[Any, object]) -> JsonObject: ...
@overload
def plain(value: object) -> Json: ...
def plain(value: object) -> Json:
    """A value as JSON has it, all that is in it included.

    A dataclass becomes an object of its fields, in their order, without those whose metadata says
    `"json": False`; a mapping an object, too; sequences and arrays become lists, what numpy counts
    in a number of Python, an enumeration its value. Everything else, a date, a `Decimal` or a
    path, becomes its text.
    """
    bare: object = value.value if isinstance(value, Enum) else value
    if callable(listed := getattr(bare, "tolist", None)):  # numpy, which is not loaded for it
        bare = listed()
    match bare:
        case None | bool() | int() | float() | str():
            return bare
        case Mapping():
            return {str(key): plain(item) for key, item in bare.items()}
        case Sequence() if not isinstance(bare, bytes | bytearray):
            return [plain(item) for item in bare]
        case _ if is_dataclass(bare) and not isinstance(bare, type):
            shown = (f.name for f in fields(bare) if f.metadata.get("json", True))
            return {name: plain(getattr(bare, name)) for name in shown}
        case _:
            return str(bare)
