"""The methods of a specification: how a release is made, with the parameters of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.engine.relation import MEASURED, Column
from dbdeid.errors import did_you_mean
from dbdeid.spec.hierarchy_spec import Part, Text

# The searches and measures that a spec may name; what each does stands with its method.
SEARCHES = ("optimal", "best_first", "flash", "ola", "lbs", "datafly", "igreedy")
RISKS = ("population", "uniques")
LOSSES = ("kl", "loss", "discernibility", "average_class_size", "nonuniform_entropy")

# Objectives that add up more of a class than a query of the `sql` engine counts.
SUMMED = ("nonuniform_entropy", "ambiguity", "kl_divergence")

# What the values of a release are, by which it is known what can be measured of it.
Family = Literal["generalized", "local", "padded", "synthetic", "masked", "external"]

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

    family: ClassVar[Family] = "generalized"

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

    family: ClassVar[Family] = "padded"

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


class LocalRecoding(Part):
    """Local recoding of blocks by entropy and mutual information (Yoo et al. 2012), and beyond.

    Defaults that depend on the algorithm are None: objective balanced for dealing and mondrian,
    block_entropy for paper and conditional_entropy, node_entropy for others; diversity_weight 1.
    """

    family: ClassVar[Family] = "local"

    name: Literal["local_recoding"]
    algorithm: Literal[
        "dealing", "paper", "conditional_entropy", "diversity_first", "closeness", "mondrian"
    ] = "dealing"
    diversity_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    objective: Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"] | None = None
    mondrian: Literal["strict", "relaxed"] | None = None
    tail: Literal["append", "eligible"] | None = None
    engine: Literal["numpy", "sql"] = "numpy"
    minimality: Literal["measured", "safe"] = "measured"

    @model_validator(mode="after")
    def _of_algorithm(self) -> LocalRecoding:
        algorithm = self.algorithm
        if self.diversity_weight is not None and algorithm in ("dealing", "mondrian"):
            raise problem(
                f"diversity_weight does not go with algorithm {algorithm}, which mixes sensitive "
                "values as far as the declared models ask",
                "declare l_diversity, or use algorithm: paper",
            )
        if self.diversity_weight and algorithm == "conditional_entropy":
            raise problem(
                "conditional_entropy looks at no sensitive value: it is paper with "
                "diversity_weight: 0",
                "use algorithm: paper",
            )
        if self.objective == "literal" and algorithm != "paper":
            raise problem("objective: literal is the paper's own", "use algorithm: paper")
        clustered = algorithm not in ("dealing", "mondrian")
        if self.objective in ("balanced", "loss") and clustered:
            raise problem(
                f"objective: {self.objective} does not go with algorithm {algorithm}, which counts "
                "in bits",
                "use objective: node_entropy or block_entropy",
            )
        if self.mondrian is not None and algorithm != "mondrian":
            raise problem("mondrian: … goes with algorithm: mondrian", "drop it")
        if self.tail is not None and algorithm != "dealing":
            raise problem("tail goes with algorithm: dealing", "drop it")
        if self.minimality == "safe" and (
            algorithm != "dealing" or self.tail is not None or self.engine == "sql"
        ):
            raise problem(
                "minimality: safe makes blocks in a way of its own: dealt by quasi-identifiers "
                "alone, in memory",
                "drop algorithm, tail and engine",
            )
        if self.engine == "sql" and algorithm != "dealing":
            raise problem("engine: sql goes with algorithm: dealing", "use engine: numpy")
        if self.engine == "sql" and self.tail == "eligible":
            raise problem(
                "tail: eligible judges each block by those before it, which engine: sql does not",
                "use engine: numpy, or tail: append",
            )
        return self

    @property
    def loss(self) -> Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"]:
        """The objective, declared or that of the algorithm."""
        if self.objective is not None:
            return self.objective
        if self.algorithm in ("paper", "conditional_entropy"):
            return "block_entropy"
        return "balanced" if self.algorithm in ("dealing", "mondrian") else "node_entropy"

    @property
    def weight(self) -> float:
        """How much diversity counts beside what is lost."""
        if self.algorithm in ("dealing", "mondrian", "conditional_entropy"):
            return 0.0
        return 1.0 if self.diversity_weight is None else self.diversity_weight


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


class Policy(Part):
    """A policy of intervals from the risk-utility frontier (Xia et al. 2013)."""

    family: ClassVar[Family] = "generalized"

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


class Relocation(Part):
    """Hybrid k-anonymity: outliers' quasi-identifiers are moved (Nergiz & Gök 2014)."""

    family: ClassVar[Family] = "generalized"

    name: Literal["relocation"]
    limit: Share = 0.05


class Condensation(Part):
    """Synthetic records drawn from clusters, for the recipient's models (Gal et al. 2014).

    Defaults that depend on other keys are None: `k` that of the declared cluster_size;
    `response_weight` .3, of variant improved .5; `calibrate` whether models are declared; `strata`
    and `response` the event and the duration of the first Cox model.
    """

    family: ClassVar[Family] = "synthetic"

    name: Literal["condensation"]
    variant: Literal["recipient", "improved", "original"] = "recipient"
    k: Annotated[int, Field(ge=2)] | None = None
    strata: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    small_strata: Literal["error", "merge"] = "error"
    response: Text | None = None
    response_weight: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    synthesis: Literal["pca"] = "pca"
    exact_moments: bool = False
    time: Literal["exact", "stratified"] = "stratified"
    time_scale: Literal["rank", "z"] = "rank"
    calibrate: bool | None = None

    @property
    def weight(self) -> float:
        """The weight of the response, declared or that of the variant."""
        if self.response_weight is not None:
            return self.response_weight
        return 0.5 if self.variant == "improved" else 0.3


class Microaggregation(Part):
    """Quasi-identifiers replaced by the means of small groups (MDAV, TFRP)."""

    family: ClassVar[Family] = "masked"

    name: Literal["microaggregation"]
    algorithm: Literal["mdav", "tfrp"] = "mdav"


def _plain_type(value: Any) -> Any:
    families = (*MEASURED, "boolean", "text")
    if not isinstance(value, str) or Column("", value.strip().upper()).family not in families:
        raise problem(
            "expects a type of numbers, dates, moments, truth values or text",
            "as in INTEGER, DECIMAL(8,2), DOUBLE, DATE, TIMESTAMP, BOOLEAN or VARCHAR",
        )
    return value.strip().upper()


class External(Part):
    """A release that was made elsewhere: it is verified, queried and evaluated as it is.

    Attributes:
        table: the released table, in the database or a file.
        dictionary: what its values stand for, in the database or a file.
        types: of columns of the original, where it is not at hand.
        truthful: whether every record is one of the original, perhaps generalized; not so where
            records are synthetic, masked or moved.
    """

    family: ClassVar[Family] = "external"

    name: Literal["external"]
    table: Text
    dictionary: Text | None = None
    types: dict[str, Annotated[str, BeforeValidator(_plain_type)]] = Field(default_factory=dict)
    truthful: bool = True


METHODS: dict[str, type[Part]] = {
    "full_domain": FullDomain,
    "counterfeit": Counterfeit,
    "local_recoding": LocalRecoding,
    "policy": Policy,
    "condensation": Condensation,
    "microaggregation": Microaggregation,
    "relocation": Relocation,
    "external": External,
}


def _known_method(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Method: TypeAlias = Annotated[
    FullDomain
    | Counterfeit
    | LocalRecoding
    | Policy
    | Condensation
    | Microaggregation
    | Relocation
    | External,
    Field(discriminator="name"),
    BeforeValidator(_known_method),
]
