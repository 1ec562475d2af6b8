"""How classes are counted: rows or people, and what a NULL in a quasi-identifier matches.

Every number about classes - k, risk, histogram - is computed from one query, `classes`, so that a
promise and the risk beside it can never count differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    case,
    cast,
    column,
    count_distinct,
    count_rows,
    list_of,
    not_null,
    same_value,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step

NullPolicy = Literal["own_category", "wildcard", "exclude"]


@dataclass(frozen=True, slots=True)
class Counting:
    """How records and NULLs count.

    Attributes:
        null_policy: what a NULL in a quasi-identifier matches. `own_category`: other NULLs, as
            GROUP BY does. `wildcard`: everything, on both sides (sdcMicro). `exclude`: nothing;
            records with a NULL count for no one and have no class.
        subject: the column that tells whose record it is; distinct values of it are counted, and
            a NULL in it counts for nobody. None: every record is a subject of its own.
    """

    null_policy: NullPolicy = "own_category"
    subject: str | None = None

    @property
    def declared(self) -> dict[str, str]:
        """The counting as it is shown beside a number."""
        people = {} if self.subject is None else {"subject": self.subject}
        return {"null_policy": self.null_policy, **people}


ROWS = Counting()


def classes(
    table: Relation,
    quasi_identifiers: Sequence[str],
    counting: Counting = ROWS,
    records: str | None = None,
) -> Query:
    """A query of the classes of a table: one row per distinct combination of quasi-identifiers.

    It gives `qi_0`, `qi_1`, … (the quasi-identifiers in the order they are named here), `records`
    (rows of this combination) and `class_size`, the number that k is compared with:

    - own_category: the records of the combination;
    - wildcard: the records of all combinations that equal this one in every quasi-identifier where
      neither has a NULL, so that a record can count for several classes;
    - exclude: the records of the combination; NULL, which is no class, where it has a NULL.

    With a subject it is the number of distinct subjects that these records belong to.

    Where each row stands for several records, as many as the column `records` says, those are
    counted.

    Raises:
        ValueError: rows stand for several records, and not each combination by itself counts.
    """
    keys = _keys(quasi_identifiers)
    if records is not None and (counting.subject is not None or counting.null_policy == "wildcard"):
        raise ValueError("rows that stand for several records have no subjects, and no wildcards")
    if counting.null_policy == "wildcard":
        groups = _groups(table, quasi_identifiers, counting.subject).select(_cells(keys))
        if counting.subject is not None:
            return step("privacy/wildcard_subject_classes", {"groups": groups}, {"qi": keys})
        found = _wildcards(groups.select(aliased(count_rows(), "weight")), keys)
        return select(*keys, "records", "class_size").from_(found.subquery("found"))
    number = cast(sum_of(column("records")), "BIGINT") if records is not None else count_rows()
    size: Expr = number
    if counting.subject is not None:
        size = count_distinct(column("subject"))
    if counting.null_policy == "exclude":
        size = case((all_of(*(_known(key) for key in keys)), size))
    found = _renamed(table, quasi_identifiers, counting.subject)
    if records is not None:
        found = found.select(aliased(column(records), "records"))
    return (
        select(*keys, aliased(number, "records"), aliased(size, "class_size"))
        .from_(found.subquery("found"))
        .group_by(*keys)
    )


def weighted_classes(
    table: Relation, quasi_identifiers: Sequence[str], weight: str, counting: Counting = ROWS
) -> Query:
    """As `classes`, with `weight`: the sum of a column over the records that class_size counts.

    Combinations that are no class are left out.

    Raises:
        ValueError: the counting has a subject, whose records have no common weight.
    """
    if counting.subject is not None:
        raise ValueError("weights are of records, not of subjects")
    keys = _keys(quasi_identifiers)
    total = sum_of(cast(column("weight"), "DOUBLE"))
    records = aliased(count_rows(), "records")
    found = _renamed(table, quasi_identifiers, None).select(aliased(column(weight), "weight"))
    groups = (
        select(*keys, records, aliased(total, "weight"))
        .from_(found.subquery("found"))
        .group_by(*keys)
    )
    if counting.null_policy == "wildcard":
        return _wildcards(groups.select(_cells(keys)), keys)
    query = select("*", aliased(column("records"), "class_size"))
    query = query.from_(groups.subquery("groups"))
    if counting.null_policy == "exclude":
        query = query.where(*(_known(key) for key in keys))
    return query


def members(table: Relation, quasi_identifiers: Sequence[str], counting: Counting) -> Query:
    """A query of who is in which class: `subject`, `class_size`, one row for each such pair.

    A NULL subject is nobody and left out.

    Raises:
        ValueError: the counting has no subject.
    """
    if counting.subject is None:
        raise ValueError("without a subject there are records, no members")
    same = all_of(
        *(same_value(column(key, "one"), column(key, "class")) for key in _keys(quasi_identifiers))
    )
    return (
        select(column("subject", "one"), column("class_size", "class"))
        .from_(_groups(table, quasi_identifiers, counting.subject).subquery("one"))
        .join(classes(table, quasi_identifiers, counting).subquery("class"), on=same)
        .where(_known("subject"))
    )


# -- parts ---------------------------------------------------------------------------------


def _keys(quasi_identifiers: Sequence[str]) -> list[str]:
    return [f"qi_{i}" for i in range(len(quasi_identifiers))]


def _renamed(table: Relation, quasi_identifiers: Sequence[str], subject: str | None) -> Select:
    """The columns that count, under names of our own that no name of the table can meet."""
    named = zip(quasi_identifiers, _keys(quasi_identifiers), strict=True)
    query = select(*(aliased(column(name), key) for name, key in named))
    if subject is not None:
        query = query.select(aliased(column(subject), "subject"))
    return query.from_(table.table)


def _groups(table: Relation, quasi_identifiers: Sequence[str], subject: str | None) -> Select:
    """Distinct combinations, each for every subject if there is one, with their `records`."""
    keys = [*_keys(quasi_identifiers), *(["subject"] if subject is not None else [])]
    return (
        select(*keys, aliased(count_rows(), "records"))
        .from_(_renamed(table, quasi_identifiers, subject).subquery("found"))
        .group_by(*keys)
    )


def _wildcards(groups: Select, keys: Sequence[str]) -> Query:
    return step("privacy/wildcard_classes", {"groups": groups}, {"qi": keys})


def _cells(keys: Sequence[str]) -> Expr:
    """A combination as one list, so that its places can be compared by number."""
    texts = [cast(column(key), "VARCHAR") for key in keys]
    return aliased(list_of(*texts), "cells")


def _known(name: str) -> Expr:
    return not_null(column(name))
