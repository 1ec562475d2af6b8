"""The risk of any table or file, apart from any release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdeid.bind.any_table import opened
from dbdeid.data import hierarchy_file
from dbdeid.data.hierarchy import from_rows
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session, Settings
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError, did_you_mean
from dbdeid.privacy import ROWS, Counting
from dbdeid.privacy.risk import (
    disclosure,
    individual_risk,
    item_sets,
    risk,
    similarity,
    special_uniques,
    uniqueness,
)
from dbdeid.privacy.risk.risk import Risk, SizeCount, SmallClass

SETS = 20_000  # of quasi-identifiers that are looked at for special uniques
LEAST_FRACTION = 1e-9


@dataclass(frozen=True, slots=True)
class RiskQuestion:
    """The settings of a risk measurement.

    Attributes:
        quasi_identifiers: what the attacker knows.
        k: classes below it are at risk.
        counting: what a class counts, and what a NULL in a quasi-identifier equals.
        sensitive: columns that are not to be learned.
        sampling_fraction: share of a population that the table holds, for its uniqueness.
        weight: the column of survey weights, for individual risk.
        special_uniques: the largest set of quasi-identifiers to look for special uniques by.
        values: name the quasi-identifiers of the smallest classes.
        similar: the file of a hierarchy of the sensitive column, for a similarity attack.
        items: a column of lists, some of whose items the attacker knows.
        known: how many of them at most.
    """

    quasi_identifiers: tuple[str, ...]
    k: int = 5
    counting: Counting = ROWS
    sensitive: tuple[str, ...] = ()
    sampling_fraction: float | None = None
    weight: str | None = None
    special_uniques: int | None = None
    values: bool = False
    similar: Path | None = None
    items: str | None = None
    known: int = 2


@dataclass(frozen=True, slots=True)
class Assessment:
    """The risk of a table: what was asked for is there, the rest is None or empty."""

    risk: Risk
    histogram: tuple[SizeCount, ...]
    smallest: tuple[SmallClass, ...]
    disclosures: tuple[disclosure.Disclosure, ...]
    population: uniqueness.PopulationUniqueness | None
    individual: individual_risk.IndividualRisk | None
    special: special_uniques.SpecialUniques | None
    similar: similarity.Similarity | None = None
    items: item_sets.ItemRisk | None = None

    def to_dict(self) -> JsonObject:
        """The assessment as JSON shows it; of one sensitive column also at the top level."""
        found = self.risk.to_dict()
        found["histogram"] = plain(self.histogram)
        if self.smallest:
            found["smallest_classes"] = plain(self.smallest)
        if len(self.disclosures) == 1:
            found |= self.disclosures[0].to_dict()
        if self.disclosures:
            found["sensitive"] = {d.sensitive: d.to_dict() for d in self.disclosures}
        for name, part in (
            ("population_uniqueness", self.population),
            ("individual_risk", self.individual),
            ("special_uniques", self.special),
            ("similarity", self.similar),
            ("items", self.items),
        ):
            if part is not None:
                found[name] = part.to_dict()
        return found


def assess(
    source: str | Path, table: str | None, asked: RiskQuestion, settings: Settings | None = None
) -> Assessment:
    """The risk of a table of a database or server, or of files.

    Raises:
        DataError: the source, the table or a column is not there, or cannot be measured so.
    """
    _require_possible(asked)
    with opened(source, table, settings, sealed=True) as found:
        staged = found.staged("deid_risk")
        asked = _bound(asked, staged, named=not found.text)
        return _measured(found.session, staged, asked)


def _measured(session: Session, staged: Relation, asked: RiskQuestion) -> Assessment:
    qis, counting = asked.quasi_identifiers, asked.counting
    sizes = risk.histogram(session, staged, qis, counting)
    population = individual = special = None
    if asked.sampling_fraction is not None:
        population = uniqueness.estimate(sizes, asked.sampling_fraction)
    if asked.weight is not None:
        _require_weights(session, staged, asked.weight)
        individual = individual_risk.measure(session, staged, qis, asked.weight, counting)
    if asked.special_uniques is not None:
        fraction = asked.sampling_fraction or special_uniques.DIS_FRACTION
        special = special_uniques.measure(
            session, staged, qis, asked.special_uniques, fraction, counting
        )
    disclosures = tuple(
        disclosure.measure(session, staged, qis, name, counting, ordered=_is_number(staged, name))
        for name in asked.sensitive
    )
    whole = risk.measure(session, staged, qis, asked.k, counting)
    return Assessment(
        whole,
        sizes,
        risk.smallest(session, staged, qis, counting) if asked.values else (),
        disclosures,
        population,
        individual,
        special,
        _similar(session, staged, asked),
        None
        if asked.items is None
        else item_sets.measure(
            session, staged, qis, asked.items, asked.known, k=asked.k, smallest_class=whole.k or 0
        ),
    )


def _similar(
    session: Session, staged: Relation, asked: RiskQuestion
) -> similarity.Similarity | None:
    """What a similarity attack learns of the sensitive column; None where it was not asked for."""
    if asked.similar is None:
        return None
    (name,) = asked.sensitive
    rows = hierarchy_file.read(name, asked.similar)
    means = from_rows(name, asked.similar.name, rows, declared=False)
    qis = asked.quasi_identifiers
    return similarity.measure(session, staged, qis, name, means, asked.counting)


# -- what can be measured ------------------------------------------------------------------


def _require_possible(asked: RiskQuestion) -> None:
    """Refuse what has no meaning whatever the table is."""
    fraction, size = asked.sampling_fraction, asked.special_uniques
    if fraction is not None and not LEAST_FRACTION <= fraction <= 1:
        raise DataError(
            "--sampling-fraction is a share of the population, above 0 and at most 1",
            hint="0.05 for a sample of one in twenty",
        )
    single = {
        "--sampling-fraction": fraction is not None,
        "--special-uniques": size is not None,
        "--sensitive": bool(asked.sensitive),
        "--weight": asked.weight is not None,
    }
    for option in ("--sampling-fraction", "--special-uniques", "--sensitive"):
        if single[option] and asked.counting.null_policy == "wildcard":
            raise DataError(
                f"{option} needs classes that do not overlap, as those of wildcards do",
                hint="leave it out, or take --null-policy own_category or exclude",
            )
    if asked.items is not None and asked.counting != ROWS:
        raise DataError(
            "--items takes every record for a person, and NULL for a value of its own",
            hint="leave it out, or --subject and --null-policy",
        )
    if asked.similar is not None and len(asked.sensitive) != 1:
        raise DataError(
            "--similar is the hierarchy of one sensitive column", hint="name it: --sensitive COL"
        )
    for option in ("--sampling-fraction", "--special-uniques", "--weight"):
        if single[option] and asked.counting.subject is not None:
            raise DataError(
                f"{option} takes every record for a person of its own",
                hint="leave it out, or --subject",
            )
    if size is not None:
        count = len(asked.quasi_identifiers)
        sets = sum(math.comb(count, s) for s in range(1, min(size, count) + 1))
        if sets > SETS:
            raise DataError(
                f"--special-uniques {size}: {sets:,} sets of {count} quasi-identifiers "
                f"are more than {SETS:,}",
                hint="give a smaller size, or fewer --qi",
            )


def _bound(asked: RiskQuestion, table: Relation, *, named: bool) -> RiskQuestion:
    """The question with every column spelled as in the table."""
    counting, weight, items = asked.counting, asked.weight, asked.items
    qis = _found(table, asked.quasi_identifiers, named)
    sensitive = _found(table, asked.sensitive, named)
    if counting.subject is not None:
        counting = replace(counting, subject=_found(table, [counting.subject], named)[0])
    if weight is not None:
        weight = _found(table, [weight], named)[0]
        if not _is_number(table, weight):
            raise DataError(
                f"weight {weight!r} is no number", hint="--weight is a column of survey weights"
            )
    if items is not None:
        items = _found(table, [items], named)[0]
    roles = [("quasi-identifier", qis), ("sensitive column", sensitive)]
    roles.append(("weight", [weight] if weight is not None else []))
    roles.append(("items", [items] if items is not None else []))
    if sensitive and counting.subject is not None:
        roles.append(("subject", [counting.subject]))
    taken: dict[str, str] = {}
    for role, names in roles:
        for name in names:
            if name in taken:
                raise DataError(
                    f"column {name!r} is given as {taken[name]} and as {role}",
                    hint="every column has one part in this, and is named once",
                )
            taken[name] = role
    return replace(
        asked,
        quasi_identifiers=tuple(qis),
        sensitive=tuple(sensitive),
        weight=weight,
        counting=counting,
        items=items,
    )


def _found(table: Relation, names: Sequence[str], named: bool) -> list[str]:
    missing = [name for name in names if table.find(name) is None]
    if missing:
        known = f"look at the {len(table.names)} names in its first line"
        hint = did_you_mean(missing[0], table.names) if named else known
        raise DataError(f"no column {missing[0]!r}", hint=hint)
    return [c.name for name in names if (c := table.find(name)) is not None]


def _is_number(table: Relation, name: str) -> bool:
    found = table.find(name)
    return found is not None and found.family in NUMBERS


def _require_weights(session: Session, table: Relation, weight: str) -> None:
    query = step("commands/unusable_weights", {"rel": table}, {"weight": [weight]})
    records, missing, small = session.row(query)
    for count, what in ((missing, "missing or not finite"), (small, "below 1")):
        if count:
            raise DataError(
                f"weight {weight!r}: {count:,} of {records:,} values are {what}",
                hint="a weight is how many people of the population a record stands for, itself "
                "included",
            )
