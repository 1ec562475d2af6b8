"""Method relocation: records of small classes get the quasi-identifiers of others."""

from __future__ import annotations

from typing import ClassVar, Literal

from dbdeid.spec.method.base import MethodPart, Share
from dbdeid.spec.method.capabilities import (
    Capabilities,
    Refused,
    Unheld,
    other_than_k_anonymity,
)
from dbdeid.utility.common.metric import Family


class Relocation(MethodPart):
    """Hybrid k-anonymity: outliers' quasi-identifiers are moved (Nergiz & Gök 2014)."""

    family: ClassVar[Family] = "generalized"
    can: ClassVar[Capabilities] = Capabilities(
        truthful=False,
        moves=True,
        unheld=(
            Unheld(
                other_than_k_anonymity,
                Refused(
                    "method relocation holds k_anonymity only: moving records changes who shares a "
                    "class",
                    "use method: full_domain for other models",
                ),
            ),
        ),
        searched=None,
        grid=Refused(
            "--k and --suppression compare what is suppressed, and relocation moves it",
            "leave them out, or use method: full_domain",
        ),
    )

    name: Literal["relocation"]
    limit: Share = 0.05

    @property
    def allowed_moves(self) -> float | None:
        """The greatest share of records that may move."""
        return self.limit
