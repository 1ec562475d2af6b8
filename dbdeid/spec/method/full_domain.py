"""Method full_domain: every column has one level throughout; small classes are suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.errors import did_you_mean
from dbdeid.privacy.common.counting import NullPolicy
from dbdeid.spec.method.base import MethodPart, Share
from dbdeid.spec.method.capabilities import Capabilities
from dbdeid.utility.common.metric import Family

# The searches that a spec may name; what each does stands with the method.
SEARCHES = ("optimal", "best_first", "flash", "ola", "lbs", "datafly", "igreedy")
# Objectives that add up more of a class than a query of the `sql` engine counts.
SUMMED = ("nonuniform_entropy", "ambiguity", "kl_divergence")

Objective = Literal[
    "loss",
    "discernibility",
    "average_class_size",
    "precision",
    "height",
    "nonuniform_entropy",
    "ambiguity",
    "kl_divergence",
]


def _known_search(value: Any) -> Any:
    if not isinstance(value, str) or value not in SEARCHES:
        raise problem("unknown search", did_you_mean(str(value), SEARCHES))
    return value


class FullDomain(MethodPart):
    """Full-domain generalization with record suppression (Prasser et al. 2016)."""

    family: ClassVar[Family] = "generalized"
    can: ClassVar[Capabilities] = Capabilities(
        subjects=True,
        null_policies=get_args(NullPolicy),
        views=True,
        leveled=True,
        costs=True,
        compared=True,
        rules=True,
        reuse=None,
        searched=None,
    )

    name: Literal["full_domain"]
    suppression_limit: Share = 0.0
    search: Annotated[str, BeforeValidator(_known_search)] = "optimal"
    time_limit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    engine: Literal["numpy", "sql"] = "numpy"
    objective: Objective = "loss"
    transformation: dict[str, Annotated[int, Field(ge=0)]] | None = None
    suppressed: Literal["drop", "keep"] = "drop"

    @model_validator(mode="after")
    def _summed(self) -> FullDomain:
        if self.engine == "sql" and self.objective in SUMMED:
            raise problem(
                f"objective {self.objective!r} adds up more of a class than engine: sql counts",
                "use engine: numpy",
            )
        return self

    @property
    def given_levels(self) -> Mapping[str, int] | None:
        """The levels that are declared."""
        return self.transformation

    def at_levels(self, levels: Mapping[str, int]) -> FullDomain:
        """The same with these levels, which need no search."""
        return self.model_copy(update={"transformation": dict(levels)})

    @property
    def allowed_suppression(self) -> float:
        """The greatest share of subjects that may be suppressed."""
        return self.suppression_limit

    @property
    def keeps_suppressed(self) -> bool:
        """Whether suppressed records are released with every quasi-identifier `*`."""
        return self.suppressed == "keep"

    @property
    def counts_in_database(self) -> bool:
        """Whether the classes of each transformation are counted by a query."""
        return self.engine == "sql"

    def check_linked(self) -> None:
        """Refuse objectives that add up classes, where a released pseudonym links them."""
        if self.objective in ("discernibility", "average_class_size"):
            raise problem(
                f"objective {self.objective!r} counts classes, which a released pseudonym "
                "keeps in part",
                "use objective: loss, precision or height",
            )
