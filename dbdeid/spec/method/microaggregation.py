"""Method microaggregation: quasi-identifiers are replaced by the means of small groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.method.base import MethodPart
from dbdeid.spec.method.capabilities import (
    Capabilities,
    Refused,
    Unheld,
    other_than_k_anonymity,
)
from dbdeid.utility.common.metric import Family


class Microaggregation(MethodPart):
    """Quasi-identifiers replaced by the means of small groups (MDAV, TFRP, MST)."""

    family: ClassVar[Family] = "masked"
    can: ClassVar[Capabilities] = Capabilities(
        values="means",
        truthful=False,
        boundless="means have no bounds",
        unheld=(
            Unheld(
                other_than_k_anonymity,
                Refused(
                    "method microaggregation holds k_anonymity only: its groups look at nothing "
                    "else",
                    "use method: full_domain or local_recoding for other models",
                ),
            ),
        ),
    )

    name: Literal["microaggregation"]
    algorithm: Literal["mdav", "tfrp", "mst"] = "mdav"

    def column_mistakes(self, column: ColumnSpec) -> Iterator[tuple[str, str]]:
        """List settings of a quasi-identifier that do not apply, as its values become means."""
        for key in ("hierarchy", "domain", "order"):
            if getattr(column, key) is not None:
                yield (
                    f"{key} goes with methods that generalize, and microaggregation releases means",
                    "drop it, or use method: full_domain",
                )
        if column.min_level or column.max_level is not None:
            yield "method microaggregation has no levels", "drop min_level, max_level"
