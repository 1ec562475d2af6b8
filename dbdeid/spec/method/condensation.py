"""Method condensation: synthetic records are drawn from clusters of real ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dbdeid.data.problem import problem
from dbdeid.engine.relation import MEASURED
from dbdeid.errors import did_you_mean
from dbdeid.privacy import ClusterSize
from dbdeid.spec.column.hierarchy_spec import Text
from dbdeid.spec.method.base import Declared, MethodPart, Seen, Wrong
from dbdeid.spec.method.capabilities import Capabilities
from dbdeid.utility.common.metric import Family


class Condensation(MethodPart):
    """Synthetic records drawn from clusters, for the recipient's models (Gal et al. 2014).

    Defaults that depend on other keys are None: `k` that of the declared cluster_size;
    `response_weight` .3, of variant improved .5; `calibrate` whether models are declared; `strata`
    and `response` the event and the duration of the first Cox model; `exact_moments` whether the
    variant is microhybrid.
    """

    family: ClassVar[Family] = "synthetic"
    can: ClassVar[Capabilities] = Capabilities(
        values="drawn", truthful=False, boundless="synthetic records have no bounds"
    )

    name: Literal["condensation"]
    variant: Literal["recipient", "improved", "original", "microhybrid"] = "recipient"
    k: Annotated[int, Field(ge=2)] | None = None
    strata: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    small_strata: Literal["error", "merge"] = "error"
    response: Text | None = None
    response_weight: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    synthesis: Literal["pca"] = "pca"
    exact_moments: bool | None = None
    time: Literal["exact", "stratified"] = "stratified"
    time_scale: Literal["rank", "z"] = "rank"
    calibrate: bool | None = None

    @property
    def weight(self) -> float:
        """The weight of the response, declared or that of the variant."""
        if self.response_weight is not None:
            return self.response_weight
        return 0.5 if self.variant == "improved" else 0.3

    @property
    def exact(self) -> bool:
        """Whether what is drawn has exactly the mean and covariance of its cluster."""
        if self.exact_moments is not None:
            return self.exact_moments
        return self.variant == "microhybrid"

    def check_roles(self, spec: Declared) -> None:
        """Refuse columns that are not synthesized, and models but the method's own."""
        odd = [model.model for model in spec.privacy if not isinstance(model, ClusterSize)]
        others = [n for n, c in spec.columns.items() if c.released and c.role != "synthesize"]
        if others:
            raise problem(
                f"column {others[0]!r} is {spec.columns[others[0]].role}, and method "
                "condensation releases nothing of a record as it is",
                "every column that leaves has role synthesize; make the others drop or identifier",
            )
        if odd or len(spec.privacy) > 1:
            raise problem(
                "method condensation promises one cluster_size"
                + (f", and not {odd[0]}: its records are nobody's" if odd else ""),
                "as in `privacy: [{model: cluster_size, k: 100}]`",
            )
        self.check_bounds(spec)
        if self.k is not None and self.k < spec.smallest_class:
            raise problem(
                f"clusters of {self.k} do not keep a declared cluster_size of "
                f"{spec.smallest_class}",
                "leave `k` of the method out",
            )

    def check(self, spec: Declared) -> None:
        """Nothing is left to refuse once the roles fit."""

    def source_mistakes(self, columns: Mapping[str, Seen]) -> Iterator[Wrong]:
        """List columns of the source that cannot be synthesized."""
        named: list[tuple[str, tuple[str | int, ...]]] = [
            (name, ("method", "strata", i)) for i, name in enumerate(self.strata or ())
        ]
        if self.response is not None:
            named.append((self.response, ("method", "response")))
        for name, place in named:
            found = columns.get(name.lower())
            if found is None:
                hint = did_you_mean(name, [c.name for c in columns.values()])
                yield place, f"the source has no column {name!r}", hint
            elif found.spec.role != "synthesize":
                yield (
                    place,
                    f"{found.name!r} is {found.spec.role}, and nothing can be drawn for it",
                    "make its role synthesize",
                )
        response = columns.get((self.response or "").lower())
        if response is not None and not is_number(response):
            yield (
                ("method", "response"),
                f"the response {response.name!r} ({response.column.shown_type}) is no number",
                "name a column of numbers or dates, or declare it in `strata`",
            )
        if self.response and self.response.lower() in {s.lower() for s in self.strata or ()}:
            yield (
                ("method", "response"),
                f"{self.response!r} is the response and one of the strata",
                "records of a stratum would all have the same one",
            )
        for c in columns.values():
            if c.spec.pool is not None and c.column.family not in ("text", "enum"):
                yield (
                    ("columns", c.name, "pool"),
                    f"{c.name!r} ({c.column.shown_type}) has no categories to pool",
                    "cast it to text in `source: {sql: …}` if its values are names",
                )


def is_number(column: Seen) -> bool:
    """Whether synthetic records have numbers, dates or times in this column."""
    return column.column.family in MEASURED and column.spec.type is None
