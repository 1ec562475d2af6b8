"""What must hold in a release, whatever its method, and what is accepted of what is found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.check import Check
from dbdeid.lattice.rule import Rule
from dbdeid.prepare.population_rule import Population
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import DeltaPresence, EmAnonymity, MaxRisk, Model, OfSensitive, population_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Options of a method that draws.

    Attributes:
        key: the secret that all draws depend on.
    """

    key: str = field(repr=False)


Options = TypeVar("Options", covariant=True)
Others = TypeVar("Others")


@dataclass(frozen=True, slots=True)
class Parameters(Generic[Options]):
    """What must hold in a release, and how its method makes it.

    Attributes:
        rule: what a class needs to stay.
        models: the declared models that the rule is made of, and those of the table as a whole.
        subject: the column of the staged tables with the number of each record's subject; None:
            each record is one.
        options: the method's own; None before the method has read them.
        weight: the column of the staged tables that says how many records a row stands for; None:
            each is one.
    """

    rule: Rule
    models: tuple[Model, ...]
    subject: str | None
    options: Options
    weight: str | None = None

    def under(self, options: Others) -> Parameters[Others]:
        """The same with other options."""
        return Parameters(self.rule, self.models, self.subject, options, self.weight)

    @property
    def drawing(self) -> Drawing | None:
        """What draws, under a secret key."""
        return self.options if isinstance(self.options, Drawing) else None

    @property
    def k(self) -> int:
        """How many subjects a class needs."""
        return self.rule.k

    @property
    def keep(self) -> bool:
        """Whether suppressed records are released with every quasi-identifier `*`."""
        return self.rule.rest

    @property
    def sensitive(self) -> tuple[Sensitive, ...]:
        """The sensitive attributes of the rule."""
        return tuple(c for c in self.rule.conditions if isinstance(c, Sensitive))

    @property
    def populations(self) -> tuple[Population, ...]:
        """The populations of the rule."""
        return tuple(p for p in self.rule.populations if isinstance(p, Population))

    @property
    def impossible(self) -> tuple[Unsatisfiable, ...]:
        """Why no release whatever can hold the models."""
        return tuple(reason for judge in self.judges for reason in judge.impossible())

    @property
    def judges(self) -> tuple[Sensitive | Population, ...]:
        """All that a class is held against besides its size."""
        return (*(s for s in self.sensitive if s.models), *self.populations)

    @property
    def valued(self) -> bool:
        """Whether a class stays for more than its size."""
        return any(isinstance(m, OfSensitive) or population_of(m) for m in self.models)

    @property
    def convex(self) -> bool:
        """Whether a class of parts that all hold holds too.

        Subjects with records in several parts count once in the whole, which then is no mixture.
        Nor is it one in a population, where people may fit the whole and none of the parts: those
        make a share of it smaller. Nor under (ε, m)-anonymity, where a value of one part may be
        near two of another that are not near each other.
        """
        return self.subject is None and not any(
            isinstance(m, EmAnonymity) or (isinstance(m, DeltaPresence) and m.min > 0)
            for m in self.models
        )


def floor_share(share: float, number: int) -> int:
    """floor(share · number), exact for decimal shares."""
    return math.floor(round(share * number, 9))


def acceptable(check: Check, parameters: Parameters[object], records: int) -> bool:
    """Whether anything is released, and the table as a whole holds the models.

    Suppressed records that stay must form a class that does. A mean chance in a population is not
    looked at: only method policy takes that model, and it adds it up itself.
    """
    rest = parameters.keep and check.suppressed > 0
    if check.classes == 0 or not check.covers or (rest and not check.rest_holds):
        return False
    kept = records - check.suppressed
    chance = check.chance
    if rest:
        kept, chance = records, chance + check.suppressed / check.suppressed_subjects
    of_table = (
        m
        for m in parameters.models
        if isinstance(m, MaxRisk) and m.of_table and m.population is None
    )
    return all(model.holds(chance / kept) for model in of_table)
