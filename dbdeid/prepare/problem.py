"""How a full-domain generalization is searched, and what is accepted of what is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dbdeid.data.records import Bools, Floats, Recipe
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.check import Check
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.rule import Rule
from dbdeid.prepare.population_rule import Population
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import DeltaPresence, MaxRisk, Model, OfSensitive, population_of


@dataclass(frozen=True, slots=True)
class Padding:
    """How counterfeit records are added.

    Attributes:
        h: the ceiling of the degree of generalization of every record, above 0 and up to 1; None:
            the smallest with a transformation within the budget.
        budget: most counterfeit records, as a share of the source's.
        objective: reconstruction_error, counterfeits or loss.
        catalog: pool, paper or none.
        borrow: recode class by class, with records borrowed from large classes.
        strict: the prosecutor risk may not exceed 1/k at all.
        sensitive: the column whose values counterfeit records draw; None: there is none.
        others: the other released columns, which are copied from a record with the drawn value.
        key: the secret that all draws depend on.
    """

    h: float | None
    budget: float
    objective: Literal["reconstruction_error", "counterfeits", "loss"]
    catalog: str
    borrow: bool
    strict: bool
    sensitive: str | None
    others: tuple[str, ...]
    key: str = field(repr=False)

    def limit(self, records: int) -> int:
        """Most counterfeit records: floor(budget · N), exact for decimal shares."""
        return floor_share(self.budget, records)


Algorithm = Literal[
    "dealing", "paper", "conditional_entropy", "diversity_first", "closeness", "mondrian"
]


@dataclass(frozen=True, slots=True)
class Recoding:
    """How blocks of records are made, each to be recoded on its own.

    Attributes:
        algorithm: dealing, paper, conditional_entropy, diversity_first, closeness or mondrian.
        objective: balanced, loss, node_entropy, block_entropy or literal.
        diversity_weight: of the sensitive values' entropy in a block, beside what is lost.
        relaxed: whether Mondrian may cut between equal values.
        tail: append or eligible: what becomes of records that dealing leaves.
        engine: numpy or sql.
        safe: whether no block may depend on who has which sensitive value.
        others: the released columns that are no quasi-identifiers.
        key: the secret that all draws depend on.
    """

    algorithm: Algorithm
    objective: Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"]
    diversity_weight: float
    relaxed: bool
    tail: Literal["append", "eligible"]
    engine: str
    safe: bool
    others: tuple[str, ...]
    key: str = field(repr=False)

    @property
    def grows(self) -> bool:
        """Whether blocks are made one by one, each of the records nearest to it."""
        return self.algorithm not in ("dealing", "mondrian")


@dataclass(frozen=True, slots=True)
class Synthesis:
    """How synthetic records are made.

    Attributes:
        columns: all released columns as staged, in order.
        recipe: of the clusters and of what is drawn from them.
        strata: columns whose combinations of values are condensed apart, and kept.
        merge: whether combinations of fewer than k records are joined, not refused.
        response: the column that the recipient explains; None: there is none.
        weights: of columns while clustering, where they are not 1.
        pools: columns of whose categories only so many of the most frequent are kept.
        categorical: columns whose numbers are names.
        key: the secret that all draws depend on.
        analyses: the recipient's models as numbers of the records of two tables, those of the
            source and the synthetic ones, which a column numbers; None: none is to be kept.
    """

    columns: tuple[Column, ...]
    recipe: Recipe
    strata: tuple[str, ...]
    merge: bool
    response: str | None
    weights: Mapping[str, float]
    pools: Mapping[str, int]
    categorical: tuple[str, ...]
    key: str = field(repr=False)
    analyses: Callable[[Session, Relation, Relation, str], Sequence[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Masking:
    """How groups of records are made, whose means replace their values.

    Attributes:
        algorithm: mdav or tfrp.
        others: the released columns that are no quasi-identifiers.
        key: the secret that all draws depend on: which of several records with the same
            quasi-identifiers are in which group.
    """

    algorithm: Literal["mdav", "tfrp"]
    others: tuple[str, ...]
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Parameters:
    """How to search and what to do with the suppressed records.

    Attributes:
        rule: what a class needs to stay.
        models: the declared models that the rule is made of, and those of the table as a whole.
        subject: the column of the staged tables with the number of each record's subject; None:
            each record is one.
        suppression_limit: allowed share of suppressed subjects.
        moves: whether these are moved, not suppressed.
        objective: what to minimize.
        engine: numpy or sql.
        search: which of `SEARCHES`.
        time_limit: seconds of the search; None: as long as it takes.
        transformation: a known node instead of a search.
        padding: how counterfeit records are added; None: none are.
        recoding: how blocks are made; None: all records take one transformation.
        synthesis: how synthetic records are made; None: there are none.
        masking: how means replace values; None: they do not.
    """

    rule: Rule
    models: tuple[Model, ...]
    subject: str | None
    suppression_limit: float = 0.0
    moves: bool = False
    objective: str = "loss"
    engine: str = "numpy"
    search: str = "optimal"
    time_limit: float | None = None
    transformation: Node | None = None
    padding: Padding | None = None
    recoding: Recoding | None = None
    synthesis: Synthesis | None = None
    masking: Masking | None = None

    @property
    def drawing(self) -> Padding | Recoding | Synthesis | Masking | None:
        """What draws, under a secret key."""
        return self.padding or self.recoding or self.synthesis or self.masking

    def drawn_by(self, key: str) -> Parameters:
        """The same with another key of all draws."""
        padding = self.padding and replace(self.padding, key=key)
        recoding = self.recoding and replace(self.recoding, key=key)
        synthesis = self.synthesis and replace(self.synthesis, key=key)
        masking = self.masking and replace(self.masking, key=key)
        return replace(
            self, padding=padding, recoding=recoding, synthesis=synthesis, masking=masking
        )

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
        make a share of it smaller.
        """
        shares = any(isinstance(m, DeltaPresence) and m.min > 0 for m in self.models)
        return self.subject is None and not shares

    def limit(self, people: int) -> int:
        """How many subjects may be suppressed: floor(limit · N), exact for decimal shares."""
        return floor_share(self.suppression_limit, people)


def floor_share(share: float, number: int) -> int:
    """floor(share · number), exact for decimal shares."""
    return math.floor(round(share * number, 9))


def acceptable(check: Check, parameters: Parameters, records: int) -> bool:
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


@dataclass(frozen=True, slots=True)
class Measured:
    """A number of each record that depends on one column, before any swap.

    Attributes:
        column: its name.
        source: (n,) of the records of the source.
        synthetic: (n,) of the synthetic records.
    """

    column: str
    source: Floats
    synthetic: Floats


@dataclass(frozen=True, slots=True)
class Analysed:
    """One of the recipient's models on the records, as calibration takes it.

    Attributes:
        kind: cox, linear or logistic.
        response: what is explained; of a Cox model the duration.
        event: of a Cox model whether the event came.
        covariates: what explains it.
        rows: which records of the source and which synthetic ones it is about.
        frozen: columns that decide which records it is about.
    """

    kind: Literal["cox", "linear", "logistic"]
    response: Measured
    event: Measured | None
    covariates: tuple[Measured, ...]
    rows: tuple[Bools, Bools]
    frozen: tuple[str, ...]
