"""What each privacy model says of itself, for those who read a record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbdeid.privacy import Model


def model_called(name: object) -> type[Model] | None:
    """A model by its name in specifications and records; None of any other promise."""
    from dbdeid.privacy import MODELS  # which load numpy

    return MODELS.get(str(name))
