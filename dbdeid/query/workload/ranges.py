"""Random range queries: how many records lie in a box, over columns drawn at random.

As in the workloads of papers (LeFevre, DeWitt & Ramakrishnan 2006; Xiao & Tao 2006) a query draws d
columns and counts the records in a part of the domain of each: of numbers, dates and codes a range
of neighbours, of categories a random set. Of records spread uniformly over the domains, a share
Π pᵢ is expected inside, with pᵢ the part of a domain that is asked for. Each pᵢ is near s^(1/d), so
that the product is near the selectivity s. Few values cannot make any part, so domains of few
values are settled first, and those of more make up for what they are off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from random import Random

from sqlglot import exp

from dbdeid.engine.expressions import column

Value = bool | int | Decimal | date | datetime | str
# The ends of ranges are told to so many digits of the extent of their domain.
_DIGITS = 5
_EXACT = Context(prec=700)  # whatever a DOUBLE can be


@dataclass(frozen=True, slots=True)
class ListedDomain:
    """A domain of single values.

    Attributes:
        column: the name.
        values: at least two, each once; ascending where they are ordered.
        ordered: whether neighbours are near each other.
    """

    column: str
    values: Sequence[Value]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Span:
    """A domain of all numbers from one to a greater one."""

    column: str
    lower: Decimal
    upper: Decimal


@dataclass(frozen=True, slots=True)
class Period:
    """A domain of all moments from one to a later one."""

    column: str
    lower: datetime
    upper: datetime


Domain = ListedDomain | Span | Period


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """A query, and the share of uniformly spread records that it counts."""

    query: exp.Select
    selectivity: float


def range_queries(
    source: exp.Table,
    domains: Sequence[Domain],
    *,
    count: int,
    dimensions: int,
    selectivity: float,
    seed: int,
) -> Iterator[RangeQuery]:
    """Random queries, the same for the same arguments.

    Args:
        source: what they read.
        domains: of the columns to draw from, at least `dimensions`.
        count: how many queries.
        dimensions: how many columns each asks for, at least 1.
        selectivity: in (0, 1].
        seed: of the draws.
    """
    draw = _Draw(Random(seed))
    for _ in range(count):
        chosen = draw.some(len(domains), dimensions)
        yield _query(source, [domains[i] for i in chosen], selectivity, draw)


def _query(
    source: exp.Table, domains: Sequence[Domain], selectivity: float, draw: _Draw
) -> RangeQuery:
    """One query on these columns; their conditions stand in the order of the columns."""
    few_first = sorted(range(len(domains)), key=lambda i: _size(domains[i]))
    conditions: dict[int, exp.Expr] = {}
    left = selectivity
    reached = 1.0
    for place, i in enumerate(few_first):
        wanted = min(left ** (1 / (len(domains) - place)), 1.0)
        conditions[i], part = _condition(domains[i], wanted, draw)
        left, reached = min(left / part, 1.0), reached * part
    query = exp.select(exp.Count(this=exp.Star())).from_(source.copy())
    for i in range(len(domains)):
        query = query.where(conditions[i], copy=False)
    return RangeQuery(query, reached)


def _size(domain: Domain) -> float:
    return len(domain.values) if isinstance(domain, ListedDomain) else float("inf")


def _condition(domain: Domain, wanted: float, draw: _Draw) -> tuple[exp.Expr, float]:
    """A condition that a part of a domain near the one wanted satisfies, and that part."""
    name = column(domain.column)
    if not isinstance(domain, ListedDomain):
        start = draw.share() * (1 - wanted)
        low, high = (_at(domain, share) for share in (start, start + wanted))
        return exp.Between(this=name, low=low, high=high), wanted
    size = len(domain.values)
    width = min(max(round(size * wanted), 1), size)
    if domain.ordered:
        first = draw.below(size - width + 1)
        low, high = (exp.convert(domain.values[i]) for i in (first, first + width - 1))
        return exp.Between(this=name, low=low, high=high), width / size
    values = [exp.convert(domain.values[i]) for i in draw.some(size, width)]
    return exp.In(this=name, expressions=values), width / size


def _at(domain: Span | Period, share: float) -> exp.Expr:
    """The value at a share of the way through a domain, as a constant."""
    if isinstance(domain, Period):
        moment = domain.lower + (domain.upper - domain.lower) * share
        return exp.convert(moment.replace(microsecond=0))
    extent = domain.upper - domain.lower
    number = domain.lower + extent * Decimal(share)
    unit = Decimal(1).scaleb(extent.adjusted() - _DIGITS)
    written = f"{number.quantize(unit, context=_EXACT):f}"
    negative = written.startswith("-")
    found = exp.Literal.number(written.removeprefix("-"))
    return exp.Neg(this=found) if negative else found


@dataclass(frozen=True, slots=True)
class Between:
    """The ends of a range, as they are written."""

    low: str
    high: str


def conditions(query: exp.Select) -> Iterator[tuple[str, Between | Sequence[str]]]:
    """The condition of a drawn query on each column: a range of its values, or some of them."""
    for node in query.find_all(exp.Between, exp.In):
        if isinstance(node, exp.Between):
            yield node.this.name, Between(node.args["low"].name, node.args["high"].name)
        else:
            yield node.this.name, [value.name for value in node.expressions]


@dataclass(frozen=True, slots=True)
class _Draw:
    """Draws that a seed fixes: of Python's generator only `random` is promised to stay."""

    generator: Random

    def share(self) -> float:
        """A number in [0, 1)."""
        return self.generator.random()

    def below(self, number: int) -> int:
        """A whole number from 0 to before another one."""
        return int(self.generator.random() * number)

    def some(self, number: int, count: int) -> list[int]:
        """So many of the whole numbers below another one, each once, ascending."""
        order = sorted(range(number), key=lambda _: self.generator.random())
        return sorted(order[:count])
