"""A quasi-identifier of a prepared release: its codes and the hierarchy they are generalized by."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.data.coding import Coding
from dbdeid.engine.relation import Column


@dataclass(frozen=True, slots=True)
class QuasiIdentifier:
    """A quasi-identifier ready for search: its column as staged, its coding, its limits."""

    column: Column
    coding: Coding
    weight: float
    min_level: int
    max_level: int | None
    bounds: bool

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def height(self) -> int:
        """The top level of the hierarchy."""
        return self.coding.hierarchy.height
