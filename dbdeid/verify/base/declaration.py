"""What a release promises: the plain values that the verifier holds a written table against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.relation import Column
from dbdeid.privacy import Model
from dbdeid.privacy.common.counting import NullPolicy

CLASS_ID = "class_id"


@dataclass(frozen=True, slots=True)
class Padding:
    """What a release with counterfeit records promises besides its models.

    Attributes:
        k: the least size of a class, counterfeit records included.
        size: the size that smaller classes are padded to.
        h: the greatest degree of generalization of a record.
        limit: most counterfeit records.
        catalog: pool, paper or none.
        sensitive: the column whose values the catalog counts; None: records alone.
        strict: the prosecutor risk may not exceed 1/k at all.
        weights: of each quasi-identifier in the degree of generalization.
        impossible: combinations of values, by column, that no counterfeit record has.
    """

    k: int
    size: int
    h: float
    limit: int
    catalog: Literal["pool", "paper", "none"]
    sensitive: str | None
    strict: bool
    weights: dict[str, float]
    impossible: tuple[Mapping[str, tuple[str, ...]], ...] = ()

    @property
    def risk(self) -> float:
        """The largest prosecutor risk that is allowed."""
        return (1.0 if self.strict else 1.10) / self.k


@dataclass(frozen=True, slots=True)
class Declared:
    """The declared shape and promises of one release.

    Attributes:
        release: name of the released table.
        columns: released columns with their types, in order.
        quasi_identifiers: their names, a part of `columns`.
        bounds: companion columns (`age_lower`, `age_upper`) that follow the hierarchy.
        withheld: identifier and dropped columns of the source, which must not appear.
        models: the privacy models; all must hold.
        transformation: level of each quasi-identifier; empty where levels differ.
        tops: top level of each quasi-identifier, where every value is `*`.
        source_rows: records of the source.
        suppression_limit: allowed share of suppressed records, or subjects where they count.
        keeps_suppressed: suppressed records are released with every quasi-identifier `*`.
        domains: quasi-identifiers whose domain is public by declaration; only their leaves, and
            the bounds of their `*`, may stand in the dictionary.
        limited: quasi-identifiers whose limits are declared: they may be the bounds of their `*`.
        null_policy: what a NULL in a quasi-identifier matches.
        subject: the column of the source whose distinct values count; None: every record does.
        pseudonyms: released columns that link the records of a subject.
        local: levels differ between classes.
        limits: lowest and highest level of quasi-identifiers where levels differ; those that are
            not named may stand at any.
        padding: of a release with counterfeit records.
        relocated: allowed share of records whose quasi-identifiers are not theirs; None: none is.
        weighed: of a release under a policy of the frontier, the risk it was chosen for.
        synthesized: of a release of synthetic records.
        explained: a dictionary says what released values stand for; else they are what they are.
        harbor: of a release under HIPAA Safe Harbor, what its columns hold.
        free: quasi-identifiers that show intervals, or sets of values, of the records' own choice:
            the type of the values of those with intervals; empty for sets.
        as_written: sensitive columns whose values count as they are written; those of the others
            count by what they mean.
    """

    release: str
    columns: tuple[Column, ...]
    quasi_identifiers: tuple[str, ...]
    bounds: tuple[str, ...]
    withheld: tuple[str, ...]
    models: tuple[Model, ...]
    transformation: dict[str, int]
    tops: dict[str, int]
    source_rows: int
    suppression_limit: float
    keeps_suppressed: bool
    domains: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    null_policy: NullPolicy = "own_category"
    subject: str | None = None
    pseudonyms: tuple[str, ...] = ()
    local: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    padding: Padding | None = None
    relocated: float | None = None
    weighed: PolicyRisk | None = None
    explained: bool = True
    synthesized: Synthesized | None = None
    harbor: Harbor | None = None
    as_written: tuple[str, ...] = ()
    free: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_top(self) -> bool:
        """Whether the transformation itself makes every quasi-identifier `*`."""
        return all(self.level(name) >= self.tops[name] for name in self.quasi_identifiers)

    @property
    def stars_suppressed(self) -> bool:
        """Whether a record with every quasi-identifier `*` is one that was suppressed but kept."""
        return self.keeps_suppressed and not self.all_top

    @property
    def masked(self) -> bool:
        """Whether the quasi-identifiers are means, which stand for nothing but themselves."""
        return bool(self.quasi_identifiers) and not self.explained

    def counts_as_written(self, name: str) -> bool:
        """Whether each spelling of a value in a sensitive column is a value of its own."""
        return name.lower() in (written.lower() for written in self.as_written)

    def level(self, name: str) -> int:
        """The declared level of a quasi-identifier."""
        return self.transformation[name]


@dataclass(frozen=True, slots=True)
class Harbor:
    """What HIPAA Safe Harbor asks of the released columns.

    Attributes:
        columns: what those that fall under it hold: age, date, zip, or withheld, which is `*`.
        accepted: columns that its owner releases as declared all the same.
        first_years: of columns of dates that may be of births, the first year that may be told.
    """

    columns: Mapping[str, str]
    accepted: tuple[str, ...]
    first_years: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyRisk:
    """The risk of a chosen policy.

    Attributes:
        measure: population or uniques.
        population: that it looks at; None: the source itself.
        risk: as a share of that of the source.
    """

    measure: str
    population: str | None
    risk: float


@dataclass(frozen=True, slots=True)
class Chance:
    """How often records that nothing was drawn from equal a synthetic one, found on a hold-out.

    Attributes:
        others: records of the half that nothing was drawn from which no other record equals.
        hit_others: those of them that equal a record drawn from the other half.
        members: records of that half which no other record equals.
        hit_members: those of them that do.
    """

    others: int
    hit_others: int
    members: int
    hit_members: int


@dataclass(frozen=True, slots=True)
class Synthesized:
    """What a release of synthetic records promises besides the size of its clusters.

    Attributes:
        k: least records of the source in a cluster.
        strata: columns whose combinations of values were condensed apart; each cluster has one.
        merged: whether small combinations were joined: a cluster may then have several.
        response: the column that the recipient explains.
        exact: each cluster keeps the multiset of its responses.
        counts: each cluster keeps how many records have which category.
        nulls: each cluster keeps in how many records a number or date is missing.
        categories: columns whose values are names.
        pooled: columns of whose categories only so many of the most frequent are released, the
            others as `other`.
        chance: what equals a synthetic record by chance; None where there were too few records to
            find out: then nothing is promised of rows of the source that are reproduced.
    """

    k: int
    strata: tuple[str, ...]
    merged: bool
    response: str | None
    exact: bool
    counts: bool
    nulls: bool
    categories: tuple[str, ...]
    pooled: Mapping[str, int] = field(default_factory=dict)
    chance: Chance | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """One declared promise, what was found in the written table, and whether it holds."""

    model: str
    declared: Any
    found: Any
    holds: bool


@dataclass(frozen=True, slots=True)
class Check:
    """One check of hygiene; `detail` names what is wrong, never a value."""

    check: str
    holds: bool
    detail: str = ""


def _without_values(declared: Any) -> Any:
    """What was declared, without the values of a sensitive column that a model may list."""
    if not isinstance(declared, dict):
        return declared
    return {key: value for key, value in declared.items() if key != "values"}


@dataclass(frozen=True, slots=True)
class Unique:
    """Released records that no other equals in any way: what no promise is about.

    Attributes:
        records: how many.
        of: of how many.
        columns: how many columns were compared, NULL being a value of its own.
    """

    records: int
    of: int
    columns: int


@dataclass(frozen=True, slots=True)
class Verification:
    """All that the verifier looked at; `unique` is what its promises leave open, where counted."""

    promises: tuple[Promise, ...]
    hygiene: tuple[Check, ...]
    unique: Unique | None = None

    @property
    def verified(self) -> bool:
        """Whether every promise and every check holds."""
        return all(p.holds for p in self.promises) and all(c.holds for c in self.hygiene)

    @property
    def failures(self) -> tuple[str, ...]:
        """One line for each promise or check that does not hold."""
        promises = [
            f"{p.model}: declared {_without_values(p.declared)}, found {p.found}"
            for p in self.promises
            if not p.holds
        ]
        return tuple(promises + [f"{c.check}: {c.detail}" for c in self.hygiene if not c.holds])

    def to_dict(self) -> JsonObject:
        """The verification as JSON shows it."""
        return {
            "verified": self.verified,
            "promises": plain(self.promises),
            "hygiene": plain(self.hygiene),
            **({"unique": plain(self.unique)} if self.unique else {}),
        }
