"""A specification bound to its source: the columns it names, as the database has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dbdeid.data.classes import Staged
from dbdeid.data.ordered_domain import OrderedDomain
from dbdeid.engine.expressions import Expr, Query
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.privacy import Model
from dbdeid.sources.files import Opened
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.utility.model_fit import Kind

WITHHELD = ("identifier", "drop")


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column of the source and its role.

    Attributes:
        column: name and type as in the source.
        spec: what the spec says of it.
        released_type: the type it has when released as it is; None when it is withheld.
        domain: its values in their order, where method policy merges neighbours.
    """

    column: Column
    spec: ColumnSpec
    released_type: str | None
    domain: OrderedDomain | None = None

    @property
    def name(self) -> str:
        """The name as the source spells it."""
        return self.column.name


@dataclass(frozen=True, slots=True)
class Counts:
    """A source that was counted elsewhere.

    Attributes:
        table: each combination of values once.
        weight: its column that says how many records have the combination.
        population: counts a population there, by the name that the specification has for it, and
            gives a query of its rows; each time afresh.
    """

    table: Relation
    weight: str
    population: Callable[[str], Query]


@dataclass(frozen=True, slots=True)
class Bound:
    """A spec whose columns were found.

    Attributes:
        file: the spec and where it came from.
        source: a query for all rows of the source.
        columns: all columns of the source, in order.
        subject: the column that tells whose record it is; None: each record is one subject.
        models: the declared models, with their columns as the source spells them.
        analyses: the recipient's models.
        opened: the source as it was opened.
        counts: the rows of the source once each; None where they are to be read as they are.
    """

    file: SpecFile
    source: Query
    columns: tuple[BoundColumn, ...]
    subject: Column | None
    models: tuple[Model, ...]
    analyses: tuple[BoundAnalysis, ...] = ()
    opened: Opened | None = None
    counts: Counts | None = None

    @property
    def spec(self) -> ReleaseSpec:
        """The specification."""
        return self.file.spec

    @property
    def released(self) -> tuple[BoundColumn, ...]:
        """The columns that leave, in order."""
        return tuple(c for c in self.columns if c.spec.released)

    @property
    def quasi_identifiers(self) -> tuple[BoundColumn, ...]:
        """The quasi-identifiers, in order of the source."""
        return tuple(c for c in self.columns if c.spec.role == "quasi_identifier")

    @property
    def free(self) -> tuple[BoundColumn, ...]:
        """The quasi-identifiers whose intervals or sets of values the blocks of records choose."""
        return tuple(c for c in self.quasi_identifiers if c.spec.free)

    @property
    def staged(self) -> tuple[Staged, ...]:
        """The released columns as they are staged."""
        return tuple(Staged(c.column, c.released_type or "VARCHAR") for c in self.released)

    @property
    def pseudonyms(self) -> tuple[BoundColumn, ...]:
        """The identifiers that are released as pseudonyms."""
        return tuple(c for c in self.columns if c.spec.pseudonym)

    def names(self, *roles: str) -> tuple[str, ...]:
        """Names of the columns with one of these roles."""
        return tuple(c.name for c in self.columns if c.spec.role in roles)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Names of the columns that do not leave."""
        return tuple(c.name for c in self.columns if not c.spec.released)


def bounds_of(column: BoundColumn) -> bool:
    """Whether a column gets `_lower` and `_upper` companions under `output.bounds`."""
    return column.spec.type is None and column.column.family in MEASURED


Place = tuple[str | int, ...]


Scale = Literal["number", "boolean", "category"]


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a model.

    Attributes:
        text: as declared.
        place: where in the spec.
        value: its value on a record: a number (of dates and moments days since 1970), a condition
            as 1 and 0, or a category as text. Columns have no table and are spelled as in the
            source.
        columns: the columns that it is computed from.
        scale: what it is.
        hidden: whether its categories are values of a sensitive column, which are not named.
    """

    text: str
    place: Place
    value: Expr
    columns: tuple[str, ...]
    scale: Scale
    hidden: bool


@dataclass(frozen=True, slots=True)
class BoundAnalysis:
    """A model whose variables were found.

    Attributes:
        number: its place in `evaluate.models`.
        kind: of model.
        response: what is explained; of cox the duration.
        event: of cox.
        covariates: in order.
        where: which records; None: all.
    """

    number: int
    kind: Kind
    response: Variable
    event: Variable | None
    covariates: tuple[Variable, ...]
    where: Variable | None

    @property
    def place(self) -> str:
        """How messages call it."""
        return f"evaluate.models[{self.number}]"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All of them: the response, the event and the condition where there are, covariates."""
        known = (self.response, self.event, self.where)
        return (*(v for v in known if v is not None), *self.covariates)

    @property
    def measured(self) -> tuple[Variable, ...]:
        """The variables that are no condition on the records."""
        return tuple(v for v in self.variables if v is not self.where)

    @property
    def several(self) -> str | None:
        """A variable that depends on several columns, so that the model is not calibrated."""
        return next((v.text for v in self.measured if len(v.columns) > 1), None)
