"""Cluster size: every synthetic record is drawn from a cluster of at least k original records.

An indistinguishability level, not a guarantee: clusters depend on the data (Gal et al. 2014,
section 2). It cannot be seen in what is released; private tables of clusters prove it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ClusterSize(BaseModel):
    """Every cluster that records are drawn from holds at least `k` original records."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Literal["cluster_size"]
    k: int = Field(ge=2)

    @property
    def smallest_class(self) -> int:
        """The size below which a cluster fails."""
        return self.k

    @property
    def declared(self) -> dict[str, int]:
        """The promised parameters, as they are shown."""
        return {"k": self.k}

    def holds(self, found: int | None) -> bool:
        """Whether the smallest cluster keeps the promise."""
        return found is not None and found >= self.k
