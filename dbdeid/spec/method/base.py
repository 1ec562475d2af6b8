"""What every method of a specification is: its keys, what it can do, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Protocol

from pydantic import Field

from dbdeid.data.problem import problem
from dbdeid.engine.relation import Column
from dbdeid.privacy import ClusterSize, Model
from dbdeid.spec.column.column_spec import FROM_POPULATION, ColumnSpec
from dbdeid.spec.column.hierarchy_spec import Part
from dbdeid.spec.method.capabilities import Capabilities
from dbdeid.utility.common.metric import Family

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Shape(Protocol):
    """The form of a release, as far as methods look at it."""

    @property
    def bounds(self) -> bool:
        """Whether the bounds of values are released beside them."""


class Declared(Protocol):
    """The release that a method is declared for, as far as methods look at it."""

    @property
    def columns(self) -> dict[str, ColumnSpec]:
        """By name."""

    @property
    def privacy(self) -> tuple[Model, ...]:
        """The models it has to hold."""

    @property
    def subject(self) -> str | None:
        """The column that says whose record it is."""

    @property
    def linked(self) -> bool:
        """Whether a released pseudonym links the rows of a subject."""

    @property
    def smallest_class(self) -> int:
        """The class size below which a class fails some model."""

    @property
    def seed(self) -> int | None:
        """Of the draws."""

    @property
    def output(self) -> Shape:
        """Its form."""

    @property
    def model_fields_set(self) -> set[str]:
        """The keys that were given."""


class Seen(Protocol):
    """A column of the source, with its declaration."""

    @property
    def name(self) -> str:
        """As the source spells it."""

    @property
    def column(self) -> Column:
        """As the source has it."""

    @property
    def spec(self) -> ColumnSpec:
        """The column as the specification declares it."""


# What is wrong with a part of a specification: where, what, and a hint.
Wrong = tuple[tuple[str | int, ...], str, str]


class MethodPart(Part):
    """How a release is made: what all methods have; each overrides what it does otherwise."""

    family: ClassVar[Family]
    can: ClassVar[Capabilities]
    parts: ClassVar[Mapping[str, type[Part]]] = {}  # keys with keys of their own

    name: str

    @property
    def procedure(self) -> str:
        """The method, with the option that decides how long it takes, if one does."""
        return self.name

    @property
    def people(self) -> str | None:
        """The population in which the risk is weighed, beside those of the models."""
        return None

    @property
    def foreign_table(self) -> str | None:
        """The released table, where it was made elsewhere."""
        return None

    @property
    def given_levels(self) -> Mapping[str, int] | None:
        """The levels that are declared; None where they are searched for, or there are none."""
        return None

    def at_levels(self, levels: Mapping[str, int]) -> MethodPart:
        """The same with these levels, where the method searches for some; else as it is."""
        return self

    @property
    def allowed_suppression(self) -> float:
        """The greatest share of subjects that may be suppressed."""
        return 0.0

    @property
    def keeps_suppressed(self) -> bool:
        """Whether suppressed records are released with every quasi-identifier `*`."""
        return False

    @property
    def allowed_moves(self) -> float | None:
        """The greatest share of records that may move; None where none is ever moved."""
        return None

    @property
    def counts_in_database(self) -> bool:
        """Whether the classes of each transformation are counted by a query."""
        return False

    @property
    def catalogued(self) -> bool:
        """Whether a catalog of counterfeit records is published."""
        return False

    def check_roles(self, spec: Declared) -> None:
        """Refuse columns and models that belong to synthetic records.

        Raises:
            PydanticCustomError: some do.
        """
        if any(isinstance(model, ClusterSize) for model in spec.privacy):
            raise problem(
                "cluster_size is what synthetic records promise",
                "declare k_anonymity, or use method: condensation",
            )
        if any(c.role == "synthesize" for c in spec.columns.values()):
            raise problem(
                "role synthesize goes with method condensation, which draws all of a record",
                "give the column another role, or use method: condensation",
            )

    def check_linked(self) -> None:
        """Refuse settings of the method that a released pseudonym rules out."""

    def check(self, spec: Declared) -> None:
        """Refuse settings that the method cannot keep; each refusal says why and what to do.

        Raises:
            PydanticCustomError: something does not.
        """
        self.check_models(spec.privacy)
        self.check_bounds(spec)

    def check_models(self, models: Sequence[Model]) -> None:
        """Refuse models that the method does not hold.

        Raises:
            PydanticCustomError: it does not hold one.
        """
        for model in models:
            for unheld in self.can.unheld:
                if unheld.of(model):
                    raise problem(unheld.refused.why.format(model=model.model), unheld.refused.hint)

    def check_bounds(self, spec: Declared) -> None:
        """Refuse bounds of values that have none.

        Raises:
            PydanticCustomError: they are asked for.
        """
        if spec.output.bounds and self.can.boundless:
            raise problem(self.can.boundless, "leave `bounds` out")

    def column_mistakes(self, column: ColumnSpec) -> Iterator[tuple[str, str]]:
        """List settings of a quasi-identifier that the method cannot use, each with a hint.

        Most methods generalize along hierarchies.
        """
        if column.order is not None or column.domain == FROM_POPULATION:
            key = "domain: from_population" if column.order is None else "order"
            yield f"{key} goes with method policy", "give a hierarchy"
        elif column.hierarchy is None:
            yield (
                "a quasi-identifier needs a hierarchy",
                "a CSV path, suppress, or {intervals: [5, 10]}",
            )
        elif column.hierarchy.labels is not None:
            yield (
                "labels say how a release made elsewhere reads, and go with method external",
                "give a CSV path, suppress, or {intervals: [5, 10]}",
            )
        elif column.free:
            yield (
                f"hierarchy: free goes with method local_recoding: under {self.name} all records "
                "of a value read alike",
                "use method: local_recoding, or give a hierarchy, such as {intervals: [5, 10]}",
            )

    def source_mistakes(self, columns: Mapping[str, Seen]) -> Iterator[Wrong]:
        """List settings of the method that columns of the source rule out, by lower-case name."""
        yield from ()
