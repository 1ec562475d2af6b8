"""What a release in dbt promises, as lines of its seed: the gate measures every build by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal

from dbdeid.bind.bound import Bound
from dbdeid.bind.histogram import Histogram
from dbdeid.commands.dbt_seed import Rule
from dbdeid.data.json import JsonObject
from dbdeid.privacy import LDiversity, TCloseness


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A released column: its name, its type as seeds call it, and whether it is cast to that.

    The types are called alike for every database: text, integer, decimal, float, boolean, date,
    timestamp, timestamptz; as_source is that which the source has when dbt builds.
    """

    name: str
    type: str
    cast: bool = False


@dataclass(frozen=True, slots=True)
class Diverse:
    """A promise of l-diversity: `kind` is distinct or entropy."""

    column: str
    l: float  # noqa: E741
    kind: str


@dataclass(frozen=True, slots=True)
class Close:
    """A promise of t-closeness."""

    column: str
    t: float
    ordered: bool


@dataclass(frozen=True, slots=True)
class Promises:
    """What the gate of a model measures.

    Attributes:
        k: the smallest class, in subjects where there are some, else in records.
        suppression_limit: the share of them that may lose a record.
        columns: that are released, in order.
        subject: the column whose values are counted; it need not be released.
        l_diversity, t_closeness: in the order of the spec.
        withheld: the columns that are not to be released.
    """

    k: int
    suppression_limit: float
    columns: tuple[PlannedColumn, ...]
    subject: str | None
    l_diversity: tuple[Diverse, ...]
    t_closeness: tuple[Close, ...]
    withheld: tuple[str, ...]

    def lines(self) -> Iterator[tuple[str, tuple[Rule, ...]]]:
        """Their lines in a seed."""
        limit = Rule("suppression_limit", _written(self.suppression_limit))
        yield "*", (Rule("k", str(self.k)), limit)
        if self.subject is not None:
            yield self.subject, (Rule("subject"),)
        for one in self.l_diversity:
            yield one.column, (Rule("l_diversity", _written(one.l), one.kind),)
        for other in self.t_closeness:
            distance = "ordered" if other.ordered else "equal"
            yield other.column, (Rule("t_closeness", _written(other.t), distance),)
        for name in self.withheld:
            yield name, (Rule("withheld"),)
        for column in self.columns:
            yield column.name, (Rule("column", column.type),)

    def to_dict(self) -> JsonObject:
        """As plain values."""
        return asdict(self) | {"columns": {c.name: c.type for c in self.columns}}


def promises_of(
    bound: Bound, generalized: tuple[str, ...], counted: Histogram | None = None
) -> Promises:
    """What a spec promises of a release that dbt makes.

    Args:
        bound: the bound spec, of which dbt can measure everything.
        generalized: the quasi-identifiers that become text.
        counted: the histogram that stands for the source, which tells no types.
    """
    diverse: list[Diverse] = []
    close: list[Close] = []
    for model in bound.spec.privacy:
        if isinstance(model, LDiversity):
            diverse += [Diverse(c, model.l, model.kind) for c in model.columns]
        elif isinstance(model, TCloseness):
            close += [Close(c, model.t, model.distance == "ordered") for c in model.columns]
    return Promises(
        k=bound.spec.smallest_class,
        suppression_limit=bound.spec.method.allowed_suppression,
        columns=tuple(
            _columns(bound, generalized) if counted is None else _as_source(counted, generalized)
        ),
        subject=bound.subject.name if bound.subject else None,
        l_diversity=tuple(diverse),
        t_closeness=tuple(close),
        withheld=bound.withheld if counted is None else counted.withheld,
    )


def _as_source(counted: Histogram, generalized: tuple[str, ...]) -> Iterator[PlannedColumn]:
    for name in counted.released:
        declared = counted.file.spec.columns.get(name)
        if name in generalized or (declared is not None and declared.type == "categorical"):
            yield PlannedColumn(name, "text", cast=name not in generalized)
        else:
            yield PlannedColumn(name, "as_source")


def _columns(bound: Bound, generalized: tuple[str, ...]) -> Iterator[PlannedColumn]:
    for c in bound.released:
        if c.name in generalized:
            yield PlannedColumn(c.name, "text")
        elif c.released_type == "VARCHAR":
            yield PlannedColumn(c.name, "text", cast=c.column.family != "text")
        else:
            # a moment keeps its zone: without it, it would depend on that of the session
            zoned = c.column.type == "TIMESTAMP WITH TIME ZONE"
            yield PlannedColumn(c.name, "timestamptz" if zoned else c.column.family)


def _written(number: float) -> str:
    """A number without an exponent, which a seed would not be read by.

    >>> _written(2.0), _written(0.00001)
    ('2', '0.00001')
    """
    return str(int(number)) if number == int(number) else f"{Decimal(repr(number)):f}"
