"""A mistake in what was declared, in the form in which pydantic collects them."""

from __future__ import annotations

from pydantic_core import PydanticCustomError


def problem(message: str, hint: str = "") -> PydanticCustomError:
    """A mistake with a hint; pydantic adds the place."""
    return PydanticCustomError("dbdeid", "{message}", {"message": message, "hint": hint})
