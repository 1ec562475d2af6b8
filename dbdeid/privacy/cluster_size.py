"""Cluster size: every synthetic record is drawn from a cluster of at least k original records.

An indistinguishability level, not a guarantee: clusters depend on the data (Gal et al. 2014,
section 2). It cannot be seen in what is released; private tables of clusters prove it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from dbdeid.privacy.common.promise import Promise, Words


class ClusterSize(Promise):
    """Every cluster that records are drawn from holds at least `k` original records."""

    words: ClassVar[Words] = Words(
        "cluster size, no formal guarantee",
        "Every synthetic record is drawn from a cluster of at least k real ones. Clusters depend "
        "on the data, so that this is a level of indistinguishability and no formal guarantee.",
    )
    public: ClassVar[tuple[str, ...]] = ("k",)

    model: Literal["cluster_size"]
    k: int = Field(ge=2)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return f"each synthetic record is drawn from at least {declared.get('k')} real ones"

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
