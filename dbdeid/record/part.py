"""What the parts of a record have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict

from dbdeid.data.json import Json, JsonObject

# A number is written as it was measured: a count stays a count.
Number: TypeAlias = int | float
# Values that each method or model has of its own: they are taken as they are.
if TYPE_CHECKING:
    Values: TypeAlias = JsonObject
    Value: TypeAlias = Json
else:  # a type that names itself is not read when the parts are
    Values, Value = dict, Any


class Part(BaseModel):
    """Values of a release that belong together; none of them changes.

    A part remembers which of its values it was given: what a method does not have, or what an
    earlier version of dbdeid did not know, stays untold when the part is written as JSON.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True, defer_build=True)

    @classmethod
    def told_by(cls, found: object) -> Self:
        """Make the part from an object or mapping with attributes of the same names.

        Raises:
            TypeError: a mapping has a key that the part has no place for, and would be lost.
        """
        if isinstance(found, Mapping) and (lost := {*found} - {*cls.model_fields}):
            raise TypeError(f"{cls.__name__} has no place for {', '.join(sorted(map(str, lost)))}")
        return cls.model_validate(found)

    def to_dict(self) -> JsonObject:
        """The values that it was given, as JSON has them."""
        found: JsonObject = self.model_dump(mode="json", exclude_unset=True)
        return found
