"""The release specification: what a custodian declares, as frozen values.

Only what the text itself can say is checked here; `bind.bind` holds it against the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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

from dbdeid.data.location import address
from dbdeid.data.location.file_formats import is_remote, names_file
from dbdeid.data.problem import problem
from dbdeid.engine.file_names import KINDS
from dbdeid.engine.file_names import names_file as exports_file
from dbdeid.errors import did_you_mean
from dbdeid.privacy import (
    MODELS,
    MaxRisk,
    Model,
    OfSensitive,
    population_of,
)
from dbdeid.privacy.common.counting import NullPolicy
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.column.hierarchy_spec import Part, Text
from dbdeid.spec.method_spec import METHODS, Method
from dbdeid.spec.metric_spec import ABOUT_SENSITIVE, Metric, require_measured
from dbdeid.spec.model_spec import Analysis
from dbdeid.spec.output_spec import Output
from dbdeid.spec.preset_spec import Preset
from dbdeid.spec.publisher_spec import Publisher

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


# The two forms of `source`; pydantic puts them into the places of its errors.
TEXT, QUERY = "a table or file", "a query"


class SourceQuery(Part):
    """A source that is a query instead of a table."""

    sql: Text
    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=63)]


class Evaluate(Part):
    """The measurements of a release."""

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


def _address(value: str) -> str:
    if address.holds_secret(value):
        raise problem(
            "a password stands in the address, and this text is kept",
            "write the name of a variable of the environment in its place: ${DB_PASSWORD}",
        )
    return value


Address = Annotated[Text, AfterValidator(_address)]
Alias = Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=63)]
# Where a source is: a table of the database, files, a table of an attached database, a query, or
# rows that Python gave.
SourceKind = Literal["table", "file", "attached", "query", "rows"]
TagName = Annotated[Text, AfterValidator(_tag)]
DeclaredModel = Annotated[Model, Field(discriminator="model"), BeforeValidator(_known_model)]


class ReleaseSpec(Part):
    """One release as its owner declares it; see the reference of the specification."""

    release: Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=63)]
    preset: Preset | None = None
    database: Text | None = None
    attach: dict[Alias, Address] = Field(default_factory=dict)
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
    publisher: Publisher | None = None
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

    @field_validator("attach")
    @classmethod
    def _names_of_its_own(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name.lower() in ("main", "temp", "system", "memory", "deid"):
                raise problem(f"{name!r} is taken by the engine", "attach it under another name")
        if len({name.lower() for name in value}) < len(value):
            raise problem("two names differ only in the case of letters", "give each its own")
        return value

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
        self._check_roles()
        asked = self.evaluate.metrics or ()
        require_measured(asked, self.method, view=self.output.kind == "view")
        if self.output.kind == "view" and self.target is not None:
            raise problem("a view is an internal preview and lives in `database`", "drop `target`")
        if self.subject is not None and self.accept == "rows":
            raise problem("accept: rows says that k may count rows, and subject that it does not")
        self._check_exports()
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

    def _check_roles(self) -> None:
        role = self.method.can.role
        if not any(c.role in (role, "undecided") for c in self.columns.values()):
            raise problem(
                f"no column has role {role}, which method {self.method.name} works on",
                "give it to the columns that are to change, or choose another method",
            )
        self.method.check_roles(self)

    def _check_exports(self) -> None:
        """Whether each export is either a file or a table of an attached database."""
        for name in self.output.export:
            file, alias = exports_file(name), self.attached_as(name)
            if file and alias is not None:
                table = '."'.join([alias, name.partition(".")[2]]) + '"'
                raise problem(
                    f"export {name} may be a file, or a table of {alias}",
                    f"write ./{name} for the file, or {table} for the table",
                )
            if not file and alias is None:
                raise problem(
                    f"export {name} ends in none of {KINDS}, and names no database of `attach`",
                    "as in public.csv, or warehouse.public.visits with `attach: {warehouse: …}`",
                )

    def _check_wildcard(self) -> None:
        hint = "own_category is stricter: what holds under it holds under wildcard too"
        if self.subject is not None:
            raise problem("null_policy: wildcard does not count subjects", hint)
        if self.method.counts_in_database:
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
        self.method.check_linked()

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
        if self.method.counts_in_database:
            raise problem("engine: sql compares with no population", "use engine: numpy")
        marketers = [m for m in self.privacy if isinstance(m, MaxRisk) and m.of_table]
        if any(m.population for m in marketers) and not self.method.can.mean_risk:
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
        name, can = self.method.name, self.method.can
        if self.preset is not None and not can.leveled:
            raise problem(
                f"preset {self.preset.name} goes with methods that keep to the levels of a "
                f"hierarchy, and {name} does not",
                f"use one of {', '.join(name for name, m in METHODS.items() if m.can.leveled)}",
            )
        if self.subject is not None and not can.subjects:
            raise problem(
                f"method {name} counts records, and cannot count subjects",
                "use method: full_domain, or make one row of each subject",
            )
        if self.null_policy not in can.null_policies:
            raise problem(
                f"method {name} takes null_policy: {' or '.join(can.null_policies)} only",
                "leave it out",
            )
        if self.output.kind == "view" and not can.views:
            raise problem(f"method {name} does not go with a view", "release it as a table")
        self.method.check(self)

    def quasi_identifier_mistakes(self) -> Iterator[tuple[str, str, str]]:
        """List settings of columns that the method cannot use: key, mistake and hint."""
        for name, c in self.columns.items():
            if c.role == "quasi_identifier":
                yield from ((name, *wrong) for wrong in self.method.column_mistakes(c))

    @property
    def linked(self) -> bool:
        """Whether a released pseudonym links the rows of a subject."""
        return any(c.pseudonym for c in self.columns.values())

    @property
    def source_kind(self) -> SourceKind:
        """Where the source is, as far as the text says."""
        return "query" if isinstance(self.source, SourceQuery) else self.kind_of(self.source)

    def kind_of(self, name: str) -> Literal["table", "file", "attached"]:
        """Where a table is that the specification names."""
        if self.attached_as(name) is not None:
            return "attached"
        return "file" if names_file(name) or is_remote(name) else "table"

    def attached_as(self, name: str) -> str | None:
        """The attached database that a table is named in, as `clinic` in `clinic.public.visits`."""
        first = name.partition(".")[0].strip('"').lower()
        return next((a for a in self.attach if "." in name and a.lower() == first), None)

    @property
    def exported_files(self) -> tuple[str, ...]:
        """The files and folders that the release is exported to."""
        return tuple(filter(exports_file, self.output.export))

    @property
    def exported_tables(self) -> tuple[str, ...]:
        """The tables of attached databases that the release is exported to."""
        return tuple(name for name in self.output.export if not exports_file(name))

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


def published(spec: ReleaseSpec) -> tuple[str, ...]:
    """The tables beside a release, by what follows its name."""
    if spec.method.can.values != "generalized":
        return ()  # a value stands for itself, or nothing is written
    return ("dictionary", "catalog") if spec.method.catalogued else ("dictionary",)


def beside(spec: ReleaseSpec) -> tuple[str, ...]:
    """All that is public beside a release in a database, tables first, by what follows its name."""
    return published(spec) + (VIEWS if spec.method.catalogued else ())
