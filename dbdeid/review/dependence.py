"""What released columns reveal of sensitive ones, and sensitive values that models leave open.

The declared models limit what a class tells. They look neither at other columns that leave, nor at
how frequent a value is in the whole table, nor at how near numbers lie to each other. What is found
is told to the owner, without any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.privacy_models import targets
from dbdeid.data.classes import CODED
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    ascending,
    cast,
    coalesce,
    column,
    dense_rank,
    literal,
    over,
    paren,
    row_number,
    select,
)
from dbdeid.engine.relation import NUMBERS
from dbdeid.engine.session import Session
from dbdeid.lattice.lattice import Node
from dbdeid.prepare import spellings
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy import AlphaK, EmAnonymity, LDiversity
from dbdeid.privacy.risk.dependence import Dependence, dependence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

VALUE = column("value")  # of the column that is read

LOOKED_AT = 50_000  # records, evenly spaced over a larger table
MUCH = 0.5  # of what there is to know of a sensitive column, above what chance tells
CERTAIN = 0.1  # of the people, above chance
SKEWED = 0.9  # of the people with a value: from there on l-diversity says little
NARROW = 0.05  # of the middle nine tenths of a column, from end to end: values mean the same
NEAR = 0.05  # of the records in such classes: worth a word

NAMED = 4  # columns that are told of


@dataclass(frozen=True, slots=True)
class Looked:
    """The records that are looked at.

    Attributes:
        prepared: the prepared spec.
        session: where the source is coded.
        step: each so many-th record is looked at.
    """

    prepared: Prepared
    session: Session
    step: int

    @staticmethod
    def at(prepared: Prepared, session: Session) -> Looked:
        """The records of a source that is staged and coded."""
        return Looked(prepared, session, -(-prepared.rows // LOOKED_AT))

    @property
    def records(self) -> int:
        """How many there are."""
        return -(-self.prepared.rows // self.step)

    def people(self) -> Ints | None:
        """Whose record each is; None where each is of a person of their own."""
        name = self.prepared.parameters.subject
        return None if name is None else self._array(name, VALUE)

    def codes(self, name: str) -> Ints:
        """A number for each value of a column, NULL as one."""
        order = [ascending(VALUE)]
        return self._array(name, over(dense_rank(), order=order))

    def meanings(self, name: str) -> tuple[Ints, Ints]:
        """The same of a sensitive column, by what its values mean; and the codes that are none."""
        texts = self._query(name, cast(VALUE, "VARCHAR"))
        known: dict[str | None, str | None] = {}
        codes: dict[str | None, int] = {}
        found = np.zeros(self.records, np.int64)
        for i, (text,) in enumerate(self.session.rows(texts)):
            if text not in known:
                known[text] = spellings.meant(self.prepared.bound, name, text)
            found[i] = codes.setdefault(known[text], len(codes))
        none = spellings.nullable(self.prepared.bound, name) and None in codes
        return found, np.array([codes[None]] if none else [], np.int64)

    def numbers(self, name: str) -> Floats:
        """A sensitive column as numbers; NaN where there is none."""
        value = coalesce(cast(VALUE, "DOUBLE"), cast(literal("nan"), "DOUBLE"))
        found = self.session.arrays(self._query(name, value))["found"]
        return np.asarray(found, np.float64)

    def groups(self, node: Node) -> Ints:
        """The class of each record under a transformation."""
        none = np.zeros(self.records, np.int64)

        def finer(before: Ints, at: tuple[QuasiIdentifier, int]) -> Ints:
            q, level = at
            own = q.coding.groups(level)[self._array(q.name, VALUE)].astype(np.int64)
            key = before * (int(own.max(initial=0)) + 1) + own
            return np.asarray(np.unique(key, return_inverse=True)[1], np.int64)

        found = reduce(finer, zip(self.prepared.quasi_identifiers, node, strict=True), none)
        return np.asarray(found, np.int64)

    def _array(self, name: str, value: Expr) -> Ints:
        return np.asarray(self.session.arrays(self._query(name, value))["found"], np.int64)

    def _query(self, name: str, value: Expr) -> Select:
        """Something of the `value` of a column, for each record that is looked at, in order."""
        number = aliased(over(row_number()), "place")
        records = select(aliased(column(name), "value"), number).from_(CODED.table)
        chosen = paren(column("place") - 1) % literal(self.step)
        some = select("*").from_(records.subquery("records")).where(chosen.eq(0))
        query = select(aliased(value, "found")).from_(some.subquery("some"))
        return query.order_by("place")


def given_away(prepared: Prepared, session: Session) -> Iterator[str]:
    """The columns that leave as they are and (nearly) determine a sensitive one, worst first."""
    yield from _determining(prepared, session, ("insensitive", "sensitive"))


def beforehand(prepared: Prepared, session: Session) -> Iterator[str]:
    """What a check says beyond that: of quasi-identifiers as they are, and of frequent values."""
    yield from _determining(prepared, session, ("quasi_identifier",))
    yield from _skewed(prepared, session)


def _determining(prepared: Prepared, session: Session, roles: Sequence[str]) -> Iterator[str]:
    released = [c for c in prepared.bound.released if not c.spec.pseudonym]
    sensitive = [c.name for c in released if c.spec.role == "sensitive"]
    others = [c.name for c in released if c.spec.role in roles]
    if not sensitive or not any(name not in sensitive or len(sensitive) > 1 for name in others):
        return
    looked = Looked.at(prepared, session)
    people = looked.people()
    number = looked.records if people is None else len(np.unique(people))
    codes = {name: looked.codes(name) for name in others}
    found: list[tuple[str, str, Dependence]] = []
    for target in sensitive:
        values, _ = looked.meanings(target)
        for name in others:
            told = None if name == target else dependence(codes[name], values, people)
            if told is not None and _much(told, number):
                found.append((name, target, told))
    found.sort(key=lambda one: one[2].by_chance - one[2].told)
    for name, target, told in found[:NAMED]:
        yield _determines(
            name,
            target,
            told,
            number,
            who="records" if people is None else "people",
            rows=prepared.rows if looked.step > 1 else None,
            generalized="quasi_identifier" in roles,
        )
    if len(found) > NAMED:
        yield _others_determine([(name, target) for name, target, _ in found[NAMED:]])


def _much(told: Dependence, people: int) -> bool:
    return _nearly_all(told) or told.certain - told.certain_by_chance >= CERTAIN * people


def _nearly_all(told: Dependence) -> bool:
    return told.told - told.by_chance >= MUCH


def _skewed(prepared: Prepared, session: Session) -> Iterator[str]:
    """Sensitive columns of which nearly all have the same value."""
    looked = Looked.at(prepared, session)
    for c in prepared.bound.columns:
        if c.spec.role != "sensitive":
            continue
        values, none = looked.meanings(c.name)
        counts = np.bincount(values[~np.isin(values, none)])
        counts = counts[counts > 0]
        if len(counts) > 1 and counts.max() >= SKEWED * counts.sum():
            share = counts / counts.sum()
            diverse = float(np.exp(-(share * np.log(share)).sum()))
            yield _of_skew(c.name, float(share.max()), diverse)


def near(prepared: Prepared, session: Session, node: Node | None) -> Iterator[str]:
    """Numbers of which different ones mean the same, in classes that are diverse by number.

    Args:
        prepared: the prepared spec.
        session: where the source is coded.
        node: the transformation whose classes are looked at; None: the values as they are.
    """
    looked = Looked.at(prepared, session)
    judged = targets(prepared.bound.models)
    groups: Ints | None = None
    for c in prepared.bound.columns:
        models = judged.get((c.name,), ())
        diverse = [m for m in models if isinstance(m, LDiversity | AlphaK)]
        if not diverse or any(isinstance(m, EmAnonymity) for m in models):
            continue
        if c.column.family not in NUMBERS or c.spec.type is not None:
            continue
        if groups is None:
            lowest = tuple(q.min_level for q in prepared.quasi_identifiers)
            groups = looked.groups(lowest if node is None else node)
        least = max([2, *(int(m.l) for m in diverse if isinstance(m, LDiversity))])
        found = _narrow(groups, looked.numbers(c.name), least)
        if found is not None and found[0] >= NEAR * max(found[1], 1):
            inside, of_all, epsilon = found
            yield _of_nearness(c.name, inside, of_all, epsilon, least, found=node is not None)


def _narrow(groups: Ints, numbers: Floats, least: int) -> tuple[int, int, float] | None:
    """Records in diverse classes whose values lie close, those in all diverse ones, and how close.

    None where the column has no width.
    """
    finite = np.isfinite(numbers)
    groups, numbers = groups[finite], numbers[finite]
    if not len(numbers):
        return None
    low, high = np.quantile(numbers, [0.05, 0.95])
    width = NARROW * float(high - low)
    if width <= 0:
        return None
    classes, own = np.unique(groups, return_inverse=True)
    values, value = np.unique(numbers, return_inverse=True)
    pairs = np.unique(own * len(values) + value)
    different = np.bincount(pairs // len(values), minlength=len(classes))
    ends = np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
    np.minimum.at(ends[0], own, numbers)
    np.maximum.at(ends[1], own, numbers)
    sizes = np.bincount(own, minlength=len(classes))
    diverse = different >= least
    close = diverse & (ends[1] - ends[0] <= width)
    return int(sizes[close].sum()), int(sizes[diverse].sum()), width


# -- in words ---------------------------------------------------------------------------------


def _determines(
    name: str,
    target: str,
    told: Dependence,
    people: int,
    *,
    who: str,
    rows: int | None,
    generalized: bool,
) -> str:
    """That a column (nearly) determines a sensitive one, and what to do.

    Args:
        name: the column.
        target: the sensitive column.
        told: what it tells.
        people: of whom that was measured.
        who: what they are: people or records.
        rows: records of the table, where some were looked at; None: all were.
        generalized: the column is a quasi-identifier, and measured as the source has it.
    """
    sample = "" if rows is None else f", measured on a sample of {rows:,} records"
    measured = (
        f"it tells {told.told:.0%} of what there is to know of {target} (with the values "
        f"permuted: {told.by_chance:.0%}), and makes it certain for {told.certain:,} of "
        f"{people:,} {who} (permuted: {told.certain_by_chance:,.0f}{sample})"
    )
    nearly = _nearly_all(told)
    determines = (
        f"nearly determines {target}" if nearly else f"makes {target} certain for some {who}"
    )
    if generalized:
        return (
            f"{name} {determines} as the source has it: {measured}; only a model of {target} "
            "limits what its generalized values tell: do not accept homogeneity"
        )
    away = f"gives {target} away{'' if nearly else f' for some {who}'}"
    return (
        f"{name} leaves as it is and {away}: {measured}; no model looks at that: drop {name}, "
        "coarsen it in the source, or make it a quasi_identifier"
    )


def _others_determine(pairs: Sequence[tuple[str, str]]) -> str:
    """The sentence on further columns that do so, beyond those described one by one."""
    listed = ", ".join(f"{name} ({target})" for name, target in pairs)
    return f"so do, of the sensitive columns in brackets: {listed}"


def _of_skew(name: str, share: float, diverse: float) -> str:
    """That nearly all have the same value of a sensitive column, and what means something then.

    Args:
        name: the column.
        share: of those with a value who have the most frequent one.
        diverse: the exponential of the column's entropy.
    """
    rest = 1 - share
    return (
        f"{name}: {share:.1%} of those with a value have the same one, so that l different values "
        f"in a class say little: two of them may be 99 to 1. As a whole the column is "
        f"{diverse:.2f}-diverse by entropy, and its alpha is {share:.3f}: no release keeps a "
        "higher entropy l, or a lower alpha, in all classes unless records are left out. To "
        "protect the rare values, use `alpha_k` with `values: [the rare ones]`, or t_closeness "
        f"with t below {rest:.3f}: from there on a class may have the frequent value only"
    )


def _of_nearness(
    name: str, inside: int, of_all: int, epsilon: float, least: int, *, found: bool
) -> str:
    """That different numbers of a class mean the same, and which model looks at that.

    Args:
        name: the column.
        inside: records of diverse classes whose values lie within epsilon of each other.
        of_all: records of all diverse classes.
        epsilon: how near values of these classes lie to each other.
        least: how many different values make a class diverse.
        found: the classes are those of a transformation that a search found.
    """
    where = "the best transformation found" if found else "the source's quasi-identifiers"
    return (
        f"{name}: of {of_all:,} records in classes of {least} or more values ({where}), "
        f"{inside:,} are in one whose values all lie within {epsilon:.2g} of each other, 5% of "
        "the column's width: different values that mean the same. l-diversity does not see it; add "
        f"`{{model: em_anonymity, column: {name}, epsilon: {epsilon:.2g}, m: {least}}}`"
    )
