"""(k, k^m)-anonymity: who knows m of a person's items, beside the quasi-identifiers.

A record may hold a set of items: codes of diagnoses, goods that were bought. Whoever knows the
quasi-identifiers of a person and any m of the items looks for records of one class that hold these
m. A table is (k, k^m)-anonymous where every class has k records, and every combination of at most m
items that a record of a class holds is held by k records of that class (Poulis et al. 2013; without
quasi-identifiers it is k^m-anonymity, Terrovitis et al. 2008).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import comb

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError

COMBINATIONS = 5_000_000  # that are looked at, each as often as a record holds it

Held = Mapping[tuple[int, int], tuple[int, ...]]  # items of each record, by class and record


@dataclass(frozen=True, slots=True)
class ItemRisk:
    """What knowing some items adds to knowing the quasi-identifiers.

    Attributes:
        items: the column.
        known: m, how many items the attacker knows at most.
        smallest: fewest records of a class that share a combination; None: nobody has an item.
        combinations: different ones of at most m items, of each class.
        rare: those that fewer than k records of their class share.
        records_at_risk: records that hold a rare one.
        holds: whether the table is (k, k^m)-anonymous.
    """

    items: str
    known: int
    smallest: int | None
    combinations: int
    rare: int
    records_at_risk: int
    holds: bool

    def to_dict(self) -> JsonObject:
        """The risk as JSON shows it."""
        return plain(self)


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    items: str,
    known: int,
    *,
    k: int,
    smallest_class: int,
) -> ItemRisk:
    """Measure what a table reveals to who knows some items of a person.

    A NULL in a quasi-identifier is a value; NULL is no item.

    Args:
        session: where the table is.
        table: one row a person.
        quasi_identifiers: what the attacker knows.
        items: the column of lists.
        known: m, from 1.
        k: that is asked for.
        smallest_class: of the table.

    Raises:
        DataError: the column is no list, or there are too many combinations.
    """
    found = table.find(items)
    assert found is not None
    if not found.type.endswith("[]"):
        raise DataError(
            f"items {items!r} is no list, but {found.type}",
            hint="in SQL string_split(codes, ';') makes a list of a text",
        )
    query = step(
        "privacy/risk/items_held",
        {"rel": table},
        {"qi": list(quasi_identifiers), "items": [items]},
    )
    held = {
        place: tuple(item for *_, item in rows)
        for place, rows in groupby(session.rows(query), key=lambda row: (row[0], row[1]))
    }
    return summary(items, held, known, k=k, smallest_class=smallest_class)


def summary(items: str, held: Held, known: int, *, k: int, smallest_class: int) -> ItemRisk:
    """The risk of the items that records hold; arguments as `measure` has them.

    Raises:
        DataError: there are too many combinations.
    """
    number = sum(comb(len(own), size) for own in held.values() for size in range(1, known + 1))
    if number > COMBINATIONS:
        raise DataError(
            f"--known {known}: {number:,} combinations of items are more than {COMBINATIONS:,}",
            hint="give a smaller --known",
        )
    shared = Counter(
        (place[0], combination)
        for place, own in held.items()
        for combination in _combinations(own, known)
    )
    rare = {at for at, records in shared.items() if records < k}
    at_risk = sum(
        any((place[0], combination) in rare for combination in _combinations(own, known))
        for place, own in held.items()
    )
    return ItemRisk(
        items,
        known,
        min(shared.values(), default=None),
        len(shared),
        len(rare),
        at_risk,
        smallest_class >= k and not rare,
    )


def _combinations(own: tuple[int, ...], known: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, known + 1):
        yield from combinations(own, size)
