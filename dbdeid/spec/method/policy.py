"""Method policy: neighbouring values are merged into intervals, chosen by risk and loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.errors import did_you_mean
from dbdeid.spec.column.column_spec import ColumnSpec, names_in
from dbdeid.spec.column.hierarchy_spec import Part, Text
from dbdeid.spec.method.base import Declared, MethodPart, Share
from dbdeid.spec.method.capabilities import Capabilities, Refused
from dbdeid.utility.common.metric import Family

# The measures that a spec may name; what each does stands with the method.
RISKS = ("population", "uniques")
LOSSES = ("kl", "loss", "discernibility", "average_class_size", "nonuniform_entropy")


class SafeHarbor(Part):
    """Which quasi-identifiers are the ages and the ZIP codes of the Safe Harbor rule."""

    age: Text | None = None
    zip: Text | None = None

    @model_validator(mode="after")
    def _some(self) -> SafeHarbor:
        if self.age is None and self.zip is None:
            raise problem("names neither ages nor ZIP codes", "as in {age: age, zip: zip}")
        return self


class Choice(Part):
    """Which policy of the frontier is released."""

    max_risk: Share | None = None
    max_loss: Share | None = None
    dominates: Literal["safe_harbor"] | None = None
    point: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Choice:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise problem(
                f"expects one way to choose, found {', '.join(given) or 'none'}",
                "one of {max_risk: 0.05}, {max_loss: 0.3}, {dominates: safe_harbor}, {point: 12}",
            )
        return self


def _measure(known: Sequence[str]) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or value not in known:
            raise problem("unknown measure", did_you_mean(str(value), known))
        return value

    return BeforeValidator(check)


class Policy(MethodPart):
    """A policy of intervals from the risk-utility frontier (Xia et al. 2013)."""

    family: ClassVar[Family] = "generalized"
    can: ClassVar[Capabilities] = Capabilities(
        mean_risk=True,
        ordered=True,
        frontier=True,
        rules=True,
        reuse=Refused(
            "it chooses intervals",
            "give the intervals as hierarchies of method full_domain, whose levels stay",
        ),
        searched=Refused(
            "chooses intervals, not levels", "dbdeid frontier shows what it can choose from"
        ),
    )
    parts: ClassVar[Mapping[str, type[Part]]] = {"safe_harbor": SafeHarbor, "choose": Choice}

    name: Literal["policy"]
    population: Text | None = None
    risk: Annotated[str, _measure(RISKS)] = "population"
    utility: Annotated[str, _measure(LOSSES)] = "kl"
    search: Literal["greedy", "sublattice", "random_chain", "nsga2", "bisect"] = "greedy"
    budget: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    safe_harbor: SafeHarbor | None = None
    threshold: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    start: Literal["ends", "chain"] | None = None
    choose: Choice | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        given = [key for key in ("threshold", "start") if getattr(self, key) is not None]
        if given and self.search != "sublattice":
            raise problem(f"{', '.join(given)} only go with search: sublattice", "drop them")
        if self.search == "bisect" and self.safe_harbor is None:
            raise problem(
                "search: bisect looks for policies with at most the risk of a reference",
                "declare safe_harbor: {age: age, zip: zip}, or use search: greedy",
            )
        if self.choose is not None and self.choose.dominates and self.safe_harbor is None:
            raise problem(
                "choose: {dominates: safe_harbor} needs to know what Safe Harbor is here",
                "declare safe_harbor: {age: age, zip: zip}",
            )
        if self.safe_harbor is not None and self.safe_harbor.zip and self.population is None:
            raise problem(
                "Safe Harbor pools ZIP areas of up to 20,000 people, whom no population tells",
                "declare `population`, or safe_harbor: {age: age} alone",
            )
        return self

    @property
    def people(self) -> str | None:
        """The population in which the risk of a policy is weighed."""
        return self.population

    def check(self, spec: Declared) -> None:
        """Refuse Safe Harbor on other columns, and points of a frontier that no seed fixes."""
        named = {name.lower() for name, c in spec.columns.items() if c.role == "quasi_identifier"}
        of_spec = {part for name in named for part in names_in(name)} | named
        given = self.safe_harbor
        for kind, column in (("age", given.age), ("zip", given.zip)) if given else ():
            if column is not None and column.lower() not in of_spec:
                raise problem(
                    f"safe_harbor names {column!r} for {kind}, which is no quasi-identifier",
                    f"name the quasi-identifier that is the {kind}",
                )
        chosen = self.choose is not None and self.choose.point is not None
        if chosen and self.search != "greedy" and spec.seed is None:
            raise problem(
                f"choose: {{point: …}} counts points of one frontier, and search: {self.search} "
                "finds another each time",
                "give a seed, or choose by max_risk or max_loss",
            )

    def column_mistakes(self, column: ColumnSpec) -> Iterator[tuple[str, str]]:
        """List settings of a quasi-identifier that do not apply, as neighbours are merged."""
        hierarchy = column.hierarchy
        if hierarchy is not None and hierarchy.kind not in ("path", "table", "groups"):
            yield (
                f"method policy takes no hierarchy of {hierarchy.kind}: it chooses the intervals",
                "declare `domain: [0, 120]`, `domain: from_population` or `order: [a, b, c]` "
                "instead",
            )
        given = [
            key for key in ("hierarchy", "domain", "order") if getattr(column, key) is not None
        ]
        if len(given) > 1:
            yield f"{' and '.join(given)} declare its values twice", "keep one of them"
        if column.min_level or column.max_level is not None:
            yield (
                "method policy has no levels: it chooses the intervals",
                "drop min_level, max_level",
            )
