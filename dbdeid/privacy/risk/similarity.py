"""The similarity attack: values of a class that differ, and mean the same (Li et al. 2007).

Who knows that a person is in a class of gastritis, gastric ulcer and stomach cancer learns a
disease of the stomach, though the class has three values. l-diversity counts values and does not
see it; Yoo, Shin & Lee 2012 name it, too. Which values mean the same is said by a hierarchy of the
sensitive column, level by level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.data.hierarchy import Hierarchy
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import (
    aliased,
    all_of,
    cast,
    column,
    count_rows,
    is_null,
    not_null,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation, free_name
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.privacy.common.counting import ROWS, Counting
from dbdeid.privacy.risk import disclosure


@dataclass(frozen=True, slots=True)
class LevelSimilarity:
    """What is learned of the labels of a level.

    Attributes:
        level: of the hierarchy, from 1, below the top.
        labels: how many the level has.
        similar: classes that have several values and one label, and the records in them.
        homogeneous: the same with those of one value: whoever is in them is known to be of a label.
        confidence: the greatest share of a class that has one label; None without a class.
    """

    level: int
    labels: int
    similar: disclosure.Block
    homogeneous: disclosure.Block
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Similarity:
    """What a similarity attack learns of a sensitive column, by level of its hierarchy."""

    sensitive: str
    levels: tuple[LevelSimilarity, ...]

    def to_dict(self) -> JsonObject:
        """The similarity as JSON shows it."""
        return plain(self)


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    hierarchy: Hierarchy,
    counting: Counting = ROWS,
) -> Similarity:
    """Measure what classes reveal of the meanings of a sensitive column.

    NULL is a value and a label of its own.

    Args:
        session: where the table is; the steps leave temporary tables in it.
        table: the records.
        quasi_identifiers: what the attacker knows.
        sensitive: the column that is not to be learned.
        hierarchy: of it; its leaves are the values as text.
        counting: what a class counts; not with wildcards, whose classes overlap.

    Raises:
        DataError: values of the column are not in the hierarchy, or no level lies between its
            leaves and its top.
    """
    if hierarchy.height < 2:
        raise DataError(
            f"{hierarchy.kind} has no level between the values and the top",
            hint="a line names a value and what it means: gastritis;stomach;*",
        )
    label = free_name("deid_label", table.names)
    found = disclosure.measure(session, table, quasi_identifiers, sensitive, counting)
    levels = []
    for level in range(1, hierarchy.height):
        labelled = _labelled(session, table, sensitive, hierarchy, level, label)
        told = disclosure.measure(session, labelled, quasi_identifiers, label, counting)
        one, all_ = found.homogeneous, told.homogeneous
        similar = disclosure.Block(all_.classes - one.classes, all_.records - one.records)
        labels = len(hierarchy.levels[level].labels)
        levels.append(LevelSimilarity(level, labels, similar, all_, told.alpha))
    return Similarity(sensitive, tuple(levels))


def _labelled(
    session: Session, table: Relation, sensitive: str, hierarchy: Hierarchy, level: int, label: str
) -> Relation:
    """The table with the label of each sensitive value.

    Raises:
        DataError: a value has none.
    """
    own = hierarchy.levels[level]
    means = session.upload(
        "deid_similar_labels",
        {
            "leaf": list(hierarchy.leaves),
            "label": [own.labels[group] for group in own.groups.tolist()],
        },
    )
    value = cast(column(sensitive, "records"), "VARCHAR")
    query = (
        select(
            *(column(name, "records") for name in table.names),
            aliased(column("label", "means"), label),
        )
        .from_(table.aliased("records"))
        .join(
            means.aliased("means"), on=same_value(value, column("leaf", "means")), join_type="left"
        )
    )
    labelled = session.run(Step("deid_similar", query))
    lost = all_of(is_null(column(label)), not_null(column(sensitive)))
    (unlisted,) = session.row(select(count_rows()).from_(labelled.table).where(lost))
    if unlisted:
        raise DataError(
            f"{unlisted:,} records have a value of {sensitive} that {hierarchy.kind} does not list",
            hint="give every value a line",
        )
    return labelled
