"""The release specification: what a custodian declares, as frozen values.

Only what the text itself can say is checked here; `release.bind` holds it against the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)

from dbdeid.data.problem import problem
from dbdeid.errors import did_you_mean
from dbdeid.privacy import (
    MODELS,
    ClusterSize,
    EmAnonymity,
    KAnonymity,
    LDiversity,
    MaxRisk,
    Model,
    OfSensitive,
    TCloseness,
    population_of,
)
from dbdeid.privacy.common.counting import NullPolicy
from dbdeid.spec.column_spec import ColumnSpec, foreign, ungeneralized, unmasked, unordered
from dbdeid.spec.hierarchy_spec import Part, Text
from dbdeid.spec.method_spec import (
    Condensation,
    Counterfeit,
    External,
    FullDomain,
    LocalRecoding,
    Method,
    Microaggregation,
    Policy,
)
from dbdeid.spec.metric_spec import ABOUT_SENSITIVE, Metric, require_measured
from dbdeid.spec.model_spec import Analysis
from dbdeid.spec.output_spec import Output
from dbdeid.spec.preset_spec import METHODS, Preset

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


# The two forms of `source`; pydantic puts them into the places of its errors.
TEXT, QUERY = "a table or file", "a query"


class SourceQuery(Part):
    """A source that is a query of the owner's."""

    sql: Text
    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=63)]


class Evaluate(Part):
    """What is measured of a release."""

    metrics: Annotated[tuple[Metric, ...], Field(strict=False)] | None = None
    queries: Text | None = None
    models: Annotated[tuple[Analysis, ...], Field(strict=False)] = ()


def _known_model(value: Any) -> Any:
    if isinstance(value, Mapping):
        name = value.get("model")
        if not isinstance(name, str) or name not in MODELS:
            raise problem("unknown or missing privacy model", did_you_mean(str(name), MODELS))
    return value


def _tag(value: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,63}", value):  # no sign of the words that select by it
        raise problem("a tag has letters, digits, _, - and . only", "as in `tags: [weekly]`")
    return value


TagName = Annotated[Text, AfterValidator(_tag)]
DeclaredModel = Annotated[Model, Field(discriminator="model"), BeforeValidator(_known_model)]


class ReleaseSpec(Part):
    """One release as its owner declares it; see the reference of the specification."""

    release: Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=63)]
    preset: Preset | None = None
    database: Text | None = None
    target: Text | None = None
    source: Annotated[
        Annotated[Text, Tag(TEXT)] | Annotated[SourceQuery, Tag(QUERY)],
        Discriminator(lambda value: QUERY if isinstance(value, Mapping | SourceQuery) else TEXT),
    ]
    subject: Text | None = None
    null_policy: NullPolicy = "own_category"
    columns: dict[str, ColumnSpec] = Field(min_length=1)
    privacy: Annotated[tuple[DeclaredModel, ...], Field(strict=False, min_length=1)]
    method: Method
    evaluate: Evaluate = Evaluate()
    output: Output = Field(default_factory=lambda: Output.model_validate({}))
    seed: Annotated[int, Field(ge=0)] | None = None
    accept: Literal["rows"] | None = None
    expect: dict[str, Text] = Field(default_factory=dict)
    rerelease: Literal["warn", "strict"] = "warn"
    tags: Annotated[tuple[TagName, ...], Field(strict=False)] = ()
    depends_on: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @model_validator(mode="before")
    @classmethod
    def _no_subject(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("subject", "") is None:
            return {key: one for key, one in value.items() if key != "subject"}
        return value

    @field_validator("subject", mode="before")
    @classmethod
    def _open_subject(cls, value: Any) -> Any:
        return None if value == "" else value  # `asks_subject` still sees that it was given

    @property
    def asks_subject(self) -> bool:
        """Whether the place of the subject is there and empty: a question to the owner."""
        return self.subject is None and "subject" in self.model_fields_set

    @field_validator("columns")
    @classmethod
    def _some_to_hide(cls, value: dict[str, ColumnSpec]) -> dict[str, ColumnSpec]:
        settled = ("quasi_identifier", "synthesize", "undecided")  # what is open may become one
        if not any(c.role in settled for c in value.values()):
            raise problem(
                "no column has role quasi_identifier",
                "give one the role quasi_identifier, or synthesize under method condensation",
            )
        return value

    @field_validator("target")
    @classmethod
    def _database_file(cls, value: str | None) -> str | None:
        if value is not None and Path(value).suffix != ".duckdb":
            raise problem("target must end in .duckdb", "as in public.duckdb")
        return value

    @field_validator("release")
    @classmethod
    def _not_internal(cls, value: str) -> str:
        if re.fullmatch(r"deid", value, re.IGNORECASE):
            raise problem("'deid' is the name of dbdeid's own schema", "choose another name")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> ReleaseSpec:
        self._check_family()
        asked = self.evaluate.metrics or ()
        require_measured(asked, self.method, view=self.output.kind == "view")
        if self.output.kind == "view" and self.target is not None:
            raise problem("a view is an internal preview and lives in `database`", "drop `target`")
        if self.subject is not None and self.accept == "rows":
            raise problem("accept: rows says that k may count rows, and subject that it does not")
        if self.null_policy == "wildcard":
            self._check_wildcard()
        if self.linked:
            self._check_linked()
        if any(model.model != "k_anonymity" for model in self.privacy):
            self._check_models()
        self._check_method()
        of_sensitive = [name for name in asked if name in ABOUT_SENSITIVE]
        if of_sensitive and not any(c.role == "sensitive" for c in self.columns.values()):
            raise problem(
                f"metric {of_sensitive[0]!r} needs a sensitive column", "declare one, or drop it"
            )
        return self

    def _check_family(self) -> None:
        """Synthetic records have a role and a promise of their own."""
        synthetic = isinstance(self.method, Condensation)
        role = "synthesize" if synthetic else "quasi_identifier"
        if not any(c.role in (role, "undecided") for c in self.columns.values()):
            raise problem(f"no column has role {role}")
        odd = [m.model for m in self.privacy if isinstance(m, ClusterSize) != synthetic]
        if synthetic:
            self._check_synthesis(odd)
        elif odd:
            raise problem(
                "cluster_size is what synthetic records promise",
                "declare k_anonymity, or use method: condensation",
            )
        elif any(c.role == "synthesize" for c in self.columns.values()):
            raise problem(
                "role synthesize goes with method condensation, which draws all of a record",
                "give the column another role, or use method: condensation",
            )

    def _check_synthesis(self, odd: Sequence[str]) -> None:
        others = [n for n, c in self.columns.items() if c.released and c.role != "synthesize"]
        if others:
            raise problem(
                f"column {others[0]!r} is {self.columns[others[0]].role}, and method "
                "condensation releases nothing of a record as it is",
                "every column that leaves has role synthesize; make the others drop or identifier",
            )
        if odd or len(self.privacy) > 1:
            raise problem(
                "method condensation promises one cluster_size"
                + (f", and not {odd[0]}: its records are nobody's" if odd else ""),
                "as in `privacy: [{model: cluster_size, k: 100}]`",
            )
        if self.output.bounds:
            raise problem("synthetic records have no bounds", "leave `bounds` out")
        assert isinstance(self.method, Condensation)
        if self.method.k is not None and self.method.k < self.smallest_class:
            raise problem(
                f"clusters of {self.method.k} do not keep a declared cluster_size of "
                f"{self.smallest_class}",
                "leave `k` of the method out",
            )

    def _check_wildcard(self) -> None:
        hint = "own_category is stricter: what holds under it holds under wildcard too"
        if self.subject is not None:
            raise problem("null_policy: wildcard does not count subjects", hint)
        if isinstance(self.method, FullDomain) and self.method.engine == "sql":
            raise problem("null_policy: wildcard needs engine: numpy", hint)
        if self.output.kind == "view":
            raise problem("null_policy: wildcard does not go with a view", hint)

    def _check_linked(self) -> None:
        if self.subject is None:
            raise problem(
                "a released pseudonym links the rows of a person, and needs `subject`",
                "name the column that tells whose row it is: subject: patient_nbr",
            )
        if self.output.kind == "view":
            raise problem("a released pseudonym does not go with a view", "release it as a table")
        method = self.method
        counting = ("discernibility", "average_class_size")
        if isinstance(method, FullDomain) and method.objective in counting:
            raise problem(
                f"objective {method.objective!r} counts classes, which a released pseudonym "
                "keeps in part",
                "use objective: loss, precision or height",
            )

    def _check_models(self) -> None:
        if self.output.kind == "view":
            raise problem("a view previews k_anonymity only", "release it as a table")
        if any(population_of(model) for model in self.privacy):
            self._check_populations()
        valued = any(isinstance(model, OfSensitive) for model in self.privacy)
        if valued and self.null_policy == "wildcard":
            hint = "own_category is stricter: what holds under it holds under wildcard too"
            raise problem("null_policy: wildcard counts no sensitive values", hint)

    def _check_populations(self) -> None:
        if self.null_policy == "wildcard":
            hint = "own_category is stricter: what holds under it holds under wildcard too"
            raise problem("null_policy: wildcard is not compared with a population", hint)
        if isinstance(self.method, FullDomain) and self.method.engine == "sql":
            raise problem("engine: sql compares with no population", "use engine: numpy")
        marketers = [m for m in self.privacy if isinstance(m, MaxRisk) and m.of_table]
        if any(m.population for m in marketers) and not isinstance(self.method, Policy):
            raise problem(
                "the mean chance of a marketer in a population is judged by method policy only",
                "use attacker: journalist, who limits the chance in each class",
            )
        if self.linked:
            raise problem(
                "a released pseudonym tells a whole set of classes, which no population does",
                "leave the pseudonym out, or the model of the population",
            )

    def _check_method(self) -> None:
        """What a method cannot do: each refusal says why, and what to do instead."""
        if self.preset is not None and self.method.name not in METHODS:
            raise problem(
                f"preset {self.preset.name} goes with methods that keep to the levels of a "
                f"hierarchy, and {self.method.name} does not",
                f"use one of {', '.join(METHODS)}",
            )
        if isinstance(self.method, FullDomain):
            return
        if isinstance(self.method, External):
            self._check_external()
            return
        name, local = self.method.name, isinstance(self.method, LocalRecoding)
        if self.subject is not None and not local:
            raise problem(
                f"method {name} counts records, and cannot count subjects",
                "use method: full_domain, or make one row of each subject",
            )
        if self.null_policy != "own_category":
            raise problem(f"method {name} takes null_policy: own_category only", "leave it out")
        if self.output.kind == "view":
            raise problem(f"method {name} does not go with a view", "release it as a table")
        if isinstance(self.method, LocalRecoding):
            self._check_recoding(self.method)
        elif isinstance(self.method, Counterfeit):
            self._check_counterfeits()
        elif isinstance(self.method, Policy):
            self._check_policy(self.method)
        elif isinstance(self.method, Microaggregation):
            self._check_microaggregation()
        elif isinstance(self.method, Condensation):
            pass
        elif any(model.model != "k_anonymity" for model in self.privacy):
            raise problem(
                "method relocation holds k_anonymity only: moving records changes who shares a "
                "class",
                "use method: full_domain for other models",
            )

    def _check_external(self) -> None:
        given = [key for key in ("target", "output", "seed") if key in self.model_fields_set]
        if given:
            raise problem(
                f"method external releases nothing, and {', '.join(given)} say how",
                "drop them; the released table is `table` of the method",
            )
        if self.subject is not None:
            self._check_foreign_subject(self.subject)
        for model in self.privacy:
            if population_of(model):
                raise problem(
                    f"method external does not judge {model.model} over a population: which of its "
                    "people fit a released class is known where dbdeid generalized it",
                    "leave the model out",
                )

    def _check_foreign_subject(self, subject: str) -> None:
        told = any(c.pseudonym and n.lower() == subject.lower() for n, c in self.columns.items())
        if not told:
            raise problem(
                f"the released table tells whose record it is by a pseudonym, and {subject!r} is "
                "none",
                f"declare `{subject}: {{role: identifier, pseudonym: true}}` where the table has "
                "it; else leave `subject` out: classes then count records",
            )
        for model in self.privacy:
            if isinstance(model, OfSensitive):
                raise problem(
                    f"method external does not judge {model.model} where subjects count",
                    "leave `subject` and the pseudonym out, or the model",
                )

    def _check_recoding(self, method: LocalRecoding) -> None:
        if self.linked:
            raise problem(
                "method local_recoding does not go with a released pseudonym, which tells a whole "
                "set of classes: no k subjects share one where each block is recoded on its own",
                "leave the pseudonym out, or use method: full_domain",
            )
        for model in self.privacy:
            if population_of(model):
                raise problem(
                    f"method local_recoding does not hold {model.model} over a population: who "
                    "fits a class is counted for one transformation of all records",
                    "use method: full_domain, or models of the release itself",
                )
        if method.engine == "sql" and self.subject is not None:
            raise problem(
                "engine: sql deals records one by one, and those of a subject stay together",
                "use engine: numpy",
            )
        if method.minimality == "safe" and self.subject is not None:
            raise problem(
                "minimality: safe deals records one by one, and those of a subject stay together",
                "make one row of each subject, or leave minimality out",
            )
        needed = {"diversity_first": LDiversity, "closeness": TCloseness}.get(method.algorithm)
        if needed is not None and not any(isinstance(m, needed) for m in self.privacy):
            name = "l_diversity" if needed is LDiversity else "t_closeness"
            raise problem(
                f"algorithm {method.algorithm} makes blocks by {name}, and none is declared",
                f"declare `{{model: {name}, …}}` in `privacy`, or use algorithm: dealing",
            )

    def _check_counterfeits(self) -> None:
        if len([c for c in self.columns.values() if c.role == "sensitive"]) > 1:
            raise problem(
                "method counterfeit takes one sensitive column: its catalog tells how many records "
                "of a value are counterfeit, and values of two columns would tell more",
                "make the others quasi_identifier or drop them",
            )
        for model in self.privacy:
            if not isinstance(model, KAnonymity | OfSensitive):
                raise problem(
                    f"method counterfeit does not hold {model.model}: nobody in a population is "
                    "like a counterfeit record",
                    "declare k_anonymity and models of the sensitive column",
                )
            if isinstance(model, EmAnonymity):
                raise problem(
                    "method counterfeit does not hold em_anonymity: it draws each value by itself, "
                    "and looks at no distances",
                    "use method: full_domain or local_recoding, or declare alpha_k",
                )
        names = ("class_id", "weight")
        taken = [n for n, c in self.columns.items() if c.released and n.lower() in names]
        if taken:
            raise problem(
                f"column {taken[0]!r} has the name of a column that method counterfeit adds",
                "rename it in `source: {sql: …}`",
            )

    def _check_policy(self, method: Policy) -> None:
        named = {name.lower() for name, c in self.columns.items() if c.role == "quasi_identifier"}
        of_spec = {part.strip() for name in named for part in name.split(",")} | named
        given = method.safe_harbor
        for kind, column in (("age", given.age), ("zip", given.zip)) if given else ():
            if column is not None and column.lower() not in of_spec:
                raise problem(
                    f"safe_harbor names {column!r} for {kind}, which is no quasi-identifier",
                    f"name the quasi-identifier that is the {kind}",
                )
        chosen = method.choose is not None and method.choose.point is not None
        if chosen and method.search != "greedy" and self.seed is None:
            raise problem(
                f"choose: {{point: …}} counts points of one frontier, and search: {method.search} "
                "finds another each time",
                "give a seed, or choose by max_risk or max_loss",
            )

    def _check_microaggregation(self) -> None:
        if any(model.model != "k_anonymity" for model in self.privacy):
            raise problem(
                "method microaggregation holds k_anonymity only: its groups look at nothing else",
                "use method: full_domain or local_recoding for other models",
            )
        if self.output.bounds:
            raise problem("means have no bounds", "leave `bounds` out")

    def quasi_identifier_mistakes(self) -> Iterator[tuple[str, str, str]]:
        """What the method cannot take of the columns: the key, what is wrong, and a hint."""
        for name, c in self.columns.items():
            if c.role == "quasi_identifier":
                if isinstance(self.method, Policy):
                    wrong = unordered(c)
                elif isinstance(self.method, External):
                    wrong = foreign(c)
                else:
                    masked = isinstance(self.method, Microaggregation)
                    wrong = unmasked(c) if masked else ungeneralized(c)
                yield from ((name, *told) for told in wrong)

    @property
    def linked(self) -> bool:
        """Whether a released pseudonym links the rows of a subject."""
        return any(c.pseudonym for c in self.columns.values())

    @property
    def source_name(self) -> str:
        """The name by which analysts' queries call the source."""
        return self.source if isinstance(self.source, str) else self.source.name

    @property
    def smallest_class(self) -> int:
        """The class size below which a class fails some declared model."""
        return max(model.smallest_class for model in self.privacy)


# Views beside a release with a catalog.
VIEWS = ("weighted", "truthful")


def catalogued(spec: ReleaseSpec) -> bool:
    """Whether a catalog of counterfeit records is published."""
    return isinstance(spec.method, Counterfeit) and spec.method.catalog != "none"


def published(spec: ReleaseSpec) -> tuple[str, ...]:
    """The tables beside a release, by what follows its name."""
    if isinstance(spec.method, Condensation | Microaggregation | External):
        return ()  # a value stands for itself, or nothing is written
    return ("dictionary", "catalog") if catalogued(spec) else ("dictionary",)


def beside(spec: ReleaseSpec) -> tuple[str, ...]:
    """All that is public beside a release in a database, tables first, by what follows its name."""
    return published(spec) + (VIEWS if catalogued(spec) else ())
