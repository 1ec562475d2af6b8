"""Other tables that hold records of the same source: copies, files of it, parts, newer versions.

A source is known by its place first. One of another place is known by the digests of its records,
which books keep: identifiers where there are some, else all that a record holds. They do not depend
on the names of columns. Three things could make strangers look alike, and are told apart:

- a few people who are in two tables: less than `SHARE` of the smaller one is not looked at;
- rows of tables without identifiers, which are equal by chance: `SHARE_OF_ROWS` is asked of them;
- serial numbers, which every table begins at 1: of a sample of the records with equal numbers some
  other column has to agree beyond chance, by Cohen's kappa of `AGREEMENT` at least.

What cannot be decided counts as the same source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.engine.expressions import (
    aliased,
    cast,
    column,
    count_distinct,
    count_of,
    count_rows,
    literal,
    max_of,
    min_of,
    not_null,
    one_of,
    select,
    try_cast,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.rerelease.equivalence_classes import Known, digest_of, key_of, original

SHARE, SHARE_OF_ROWS = 0.05, 0.5  # records in common, of the smaller of the two
AGREEMENT = 0.5  # Cohen (1960), "A coefficient of agreement for nominal scales", eq. 1
SAMPLED, SAMPLED_COLUMNS, FEWEST = 256, 16, 8
DENSE = 4  # numbers with gaps are serial while at most one in so many is in use
DIGITS = 2**32

Sample = Mapping[str, Sequence[int]]  # digests of cells, by the digest of their record


def in_common(session: Session, own: Relation, before: Relation) -> tuple[int, int]:
    """How many records two releases both show, and how many the smaller one shows."""
    alike = column("record", "own").eq(column("record", "before"))
    both = (
        select(count_rows())
        .from_(own.aliased("own"))
        .join(before.aliased("before"), on=alike, join_type="semi")
    )
    sizes = [int(session.row(select(count_rows()).from_(of.table))[0]) for of in (own, before)]
    return int(session.row(both)[0]), min(sizes)


def is_serial(bound: Bound, session: Session, known: Known) -> bool:
    """Whether records are told apart by whole numbers that leave few out, as 1, 2, 3, … do."""
    if len(known.record) != 1:
        return False
    text = cast(column(known.record[0], "source"), "VARCHAR")
    number = try_cast(text, "HUGEINT")
    found = select(
        count_of(text.copy()),
        count_of(number),
        count_distinct(number.copy()),
        min_of(number.copy()),
        max_of(number.copy()),
    ).from_(original(bound, session).subquery("source"))
    values, numbers, different, low, high = session.row(found)
    return bool(values == numbers and (not different or high - low < DENSE * different))


def sketches(
    bound: Bound, session: Session, serial: Callable[[Known], bool]
) -> Iterator[list[str]]:
    """The smallest digests of each identifier, which a copy has too: none of serial numbers.

    Bottom-k sketches (Cohen and Kaplan 2007, "Summarizing data using bottom-k sketches").

    Args:
        bound: the bound spec.
        session: where the source is.
        serial: what `is_serial` finds of an identifier.
    """
    names = dict.fromkeys(
        [*([bound.subject.name] if bound.subject else []), *bound.names("identifier")]
    )
    for name in names:
        if serial(Known((name,), None)):
            continue
        digest = aliased(digest_of([name], "source"), "one")
        rows = select(digest).distinct().from_(original(bound, session).subquery("source"))
        known = not_null(column(name, "source"))
        found = session.rows(rows.where(known).order_by("one").limit(SAMPLED))
        yield [str(one) for (one,) in found]


def hold_the_same(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two sketches are of columns of which one holds some of the other's values.

    Below the largest digest of the shorter reach both know all of theirs.
    """
    reach = [max(map(int, one)) if len(one) == SAMPLED else inf for one in (first, second)]
    own, other = ({int(d) for d in one if int(d) <= min(reach)} for one in (first, second))
    smaller = min(len(own), len(other))
    return bool(smaller) and len(own & other) >= SHARE * smaller


def sample(bound: Bound, session: Session, known: Known, own: Relation) -> dict[str, list[int]]:
    """Digests of the cells of some records, the same ones in each table that has them.

    Those whose digests are the smallest are taken: a copy takes the same. Empty where nothing else
    than what tells records apart is in the source.
    """
    told = {name.lower() for name in known.record}
    ranks = {"quasi_identifier": 0, "synthesize": 0, "sensitive": 1}
    others = [c for c in bound.columns if c.name.lower() not in told]
    others = sorted(others, key=lambda c: ranks.get(c.spec.role or "", 2))[:SAMPLED_COLUMNS]
    if not others:
        return {}
    smallest = select("record", "key").from_(own.table).order_by("record").limit(SAMPLED)
    chosen = session.run(Step("deid_sampled", smallest))
    listed = {str(row[0]) for row in session.rows(select("record").from_(chosen.table))}
    record = digest_of(known.record, "source")
    cells = [
        aliased(digest_of([c.name], "source") % literal(DIGITS), f"cell{i}")
        for i, c in enumerate(others)
    ]
    rows = select(aliased(record, "record"), *cells)
    rows = rows.from_(original(bound, session).subquery("source"))
    # found by their keys, so that the digest of each record of the source is not made again
    rows = rows.where(one_of(key_of(known, "source"), select("key").from_(chosen.table)))
    return {
        str(row[0]): [int(cell) for cell in row[1:]]
        for row in session.rows(rows)
        if str(row[0]) in listed
    }


def agree(now: Sample, before: Sample) -> bool:
    """Whether some column of two samples agrees, on records of the same number, beyond chance.

    True also where too few records are in both, or no column has more than one value: that they are
    strangers is then not known.
    """
    both = [one for one in now if one in before]
    if len(both) < FEWEST:
        return True
    undecided = True
    for mine in zip(*(now[one] for one in both), strict=True):
        for theirs in zip(*(before[one] for one in both), strict=True):
            kappa = _kappa(mine, theirs)
            if kappa is not None:
                undecided = False
                if kappa >= AGREEMENT:
                    return True
    return undecided


def _kappa(first: Sequence[Any], second: Sequence[Any]) -> float | None:
    """Agreement beyond chance of two columns; None where chance alone makes them agree."""
    number = len(first)
    ones, others = Counter(first), Counter(second)
    chance = sum(ones[value] * others[value] for value in ones) / number**2
    if chance >= 1:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / number
    return float((observed - chance) / (1 - chance))
