"""The methods of a specification: how a release is made, with the parameters of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.errors import did_you_mean
from dbdeid.release.hierarchy_spec import Part, not_yet
from dbdeid.search.searches import SEARCHES

METHODS_NOT_YET = ("local_recoding", "policy", "condensation", "microaggregation", "external")
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

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _known_search(value: Any) -> Any:
    if not isinstance(value, str) or value not in SEARCHES:
        raise problem("unknown search", did_you_mean(str(value), SEARCHES))
    return value


class FullDomain(Part):
    """Full-domain generalization with record suppression (Prasser et al. 2016)."""

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


def _ceiling(value: Any) -> Any:
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise problem("expects a number above 0 and up to 1, or auto", "as in `h: 0.3`")
    return float(value)


class Counterfeit(Part):
    """Counterfeit records under an h-ceiling, with a catalog of them (Lee et al. 2017).

    `h` is None for `auto`: the smallest with a transformation within the budget.
    """

    name: Literal["counterfeit"]
    h: Annotated[float | None, BeforeValidator(_ceiling)] = None
    max_counterfeits: Share = 0.10
    objective: Literal["reconstruction_error", "counterfeits", "loss"] = "reconstruction_error"
    catalog: Literal["pool", "paper", "none"] = "pool"
    recoding: Literal["full_domain", "borrow"] = "full_domain"
    strict: bool = False

    @model_validator(mode="after")
    def _promised(self) -> Counterfeit:
        if self.strict and self.catalog == "paper":
            raise problem(
                "strict bounds the prosecutor risk, which the paper's catalog does not",
                "use catalog: pool",
            )
        if self.recoding == "borrow" and self.catalog == "paper":
            raise problem("the paper's catalog groups classes of one transformation", "use pool")
        return self


class Relocation(Part):
    """Hybrid k-anonymity: outliers' quasi-identifiers are moved (Nergiz & Gök 2014)."""

    name: Literal["relocation"]
    limit: Share = 0.05


METHODS: dict[str, type[FullDomain | Counterfeit | Relocation]] = {
    "full_domain": FullDomain,
    "counterfeit": Counterfeit,
    "relocation": Relocation,
}


def _known_method(value: Any) -> Any:
    if isinstance(value, str):
        value = {"name": value}
    if isinstance(value, Mapping) and value.get("name") in METHODS_NOT_YET:
        raise not_yet(f"method {value['name']!r}")
    return value


Method: TypeAlias = Annotated[
    FullDomain | Counterfeit | Relocation,
    Field(discriminator="name"),
    BeforeValidator(_known_method),
]
