"""What may stand beside the quasi-identifiers of staged classes, for all that a release shows.

Read from the staged records: which values the classes that nobody can have padded rule out, and
what is declared impossible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import sensitive_relation
from dbdeid.engine.expressions import (
    aliased,
    any_value_of,
    ascending,
    cast,
    coalesce,
    column,
    dense_rank,
    literal,
    over,
    select,
)
from dbdeid.engine.session import Session
from dbdeid.methods.attacks.ruled_out import ENOUGH, by_chance, never_together, ruled_out, tables
from dbdeid.methods.common.outcome import Values
from dbdeid.methods.counterfeit.padded_rows import CLASS_ID, DONORS, MEMBERS, Names
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Values of columns that are declared not to stand in one record.
Combination = Mapping[str, tuple[str, ...]]
# Donors that are tried for a record whose other columns are copied.
TRIES = 32


# Of each quasi-identifier: what cannot be beside it, and what is scarce there.
_Tables = tuple[tuple[Bools, ...], tuple[Bools, ...]]


@dataclass(frozen=True, slots=True)
class Records:
    """The staged records, each in its class and with its other columns as codes.

    Attributes:
        class_: (n,) from 0.
        code: (n,) of the sensitive value.
        others: (n, c) of the other columns.
        number: (n,) among the records of its value that may be copied, -1 of those that may not.
    """

    class_: Ints
    code: Ints
    others: Ints
    number: Ints


@dataclass(frozen=True, slots=True)
class Declared:
    """A combination that is declared impossible.

    Attributes:
        classes: (classes,) whether all records of a class have its quasi-identifiers.
        codes: (codes,) whether a sensitive value belongs to it.
        others: of each other column that it names, its place and (values,) which belong to it.
    """

    classes: Bools
    codes: Bools
    others: tuple[tuple[int, Bools], ...]

    def has(self, class_: Ints, code: Ints, others: Ints) -> Bools:
        """Whether records are of it."""
        found = self.classes[class_] & self.codes[code]
        for at, values in self.others:
            found &= values[others[:, at]]
        return found


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of values beside quasi-identifiers.

    A pair is scarce where the classes that nobody can have padded rule it out, and yet a real
    record of another class has it: who knows the rule knows that one of those who have it is real.

    Attributes:
        labels: (classes, q) codes of the quasi-identifiers of all classes.
        impossible: (classes, codes) sensitive values that no counterfeit record of a class has.
        scarce: of each quasi-identifier (labels, codes) the scarce pairs.
        certain: (classes, codes) values whose records are real whatever was made, as declared.
        records: all, where there are other columns.
        others: of each other column, and each quasi-identifier, which values no counterfeit record
            has together.
        scarce_others: of the same, the scarce pairs.
        declared: the combinations that other columns belong to.
    """

    labels: Ints
    impossible: Bools
    scarce: tuple[Bools, ...]
    certain: Bools
    records: Records | None
    others: tuple[tuple[Bools, ...], ...]
    scarce_others: tuple[tuple[Bools, ...], ...]
    declared: tuple[Declared, ...]

    def scarce_in(self, classes: Ints) -> Bools:
        """(classes, codes) which values have a scarce pair in some classes."""
        return _of_classes(self.labels[classes], self.scarce, self.impossible.shape[1])

    def impossible_in(self, class_: Ints, code: Ints, others: Ints) -> Bools:
        """Whether records of classes are impossible there, by any of their columns."""
        found = self.impossible[class_, code]
        for told, of_column in zip(others.T, self.others, strict=True):
            for own, table in zip(self.labels.T, of_column, strict=True):
                found |= table[own[class_], told]
        for combination in self.declared:
            found |= combination.has(class_, code, others)
        return found

    def donors(
        self, class_: Ints, code: Ints, generator: np.random.Generator
    ) -> tuple[Ints, Ints] | None:
        """Whose other columns the record of each place copies.

        Returns:
            The number of each donor among the records of its value, and (places, columns) what is
            copied; None where none was found that can be.
        """
        records = self.records
        if records is None:
            return np.zeros(len(code), np.int64), np.zeros((len(code), 0), np.int64)
        order = np.lexsort((records.number, records.code))
        order = order[records.number[order] >= 0]
        known, others = records.code[order], records.others[order]
        first = np.searchsorted(known, code)
        many = np.searchsorted(known, code, side="right") - first
        found, left = np.zeros(len(code), np.int64), np.arange(len(code))
        for _ in range(TRIES):
            found[left] = (generator.random(len(left)) * many[left]).astype(np.int64)
            copied = others[first[left] + found[left]]
            left = left[self.impossible_in(class_[left], code[left], copied)]
            if not len(left):
                return found, others[first + found]
        return None

    def risk(self, suspected: Bools, drawn: tuple[Ints, Ints], copied: Ints) -> float:
        """The greatest prosecutor risk of a class where other columns tell that a record is real.

        Args:
            suspected: (classes,) which could be padded.
            drawn: class and sensitive value of each counterfeit record.
            copied: (places, columns) its other columns.
        """
        records = self.records
        assert records is not None
        own = suspected[records.class_]
        class_, code = records.class_[own], records.code[own]
        others = records.others[own]
        share = self._shares(class_, others, drawn[0], copied)
        for combination in self.declared:
            share[: len(class_)][combination.has(class_, code, others)] = 1.0
        if not (share >= 0).any():
            return 0.0
        codes = self.impossible.shape[1]
        real, false = np.bincount(code, minlength=codes), np.bincount(drawn[1], minlength=codes)
        alike = (real / np.maximum(real + false, 1))[np.concatenate([code, drawn[1]])]
        places = np.concatenate([class_, drawn[0]])
        weights = np.where(share >= 0, share, alike)
        most = np.zeros(len(suspected))
        np.maximum.at(most, places, weights)
        total = np.bincount(places, weights, len(suspected))
        told = np.unique(places[share >= 0])
        return float((most[told] / total[told]).max())

    def _shares(self, class_: Ints, others: Ints, padded: Ints, copied: Ints) -> Floats:
        """Of real and then of counterfeit records, how many with their scarce pair are real."""
        found = np.full(len(class_) + len(padded), -1.0)
        for told, false, of_column in zip(others.T, copied.T, self.scarce_others, strict=True):
            for own, table in zip(self.labels.T, of_column, strict=True):
                label = np.concatenate([own[class_], own[padded]])
                value = np.concatenate([told, false])
                at = np.flatnonzero(table[label, value])
                _, pair = np.unique(label[at] * table.shape[1] + value[at], return_inverse=True)
                genuine = np.bincount(pair, at < len(class_)) / np.maximum(np.bincount(pair), 1)
                found[at] = np.maximum(found[at], genuine[pair])
        return found


def knowledge(
    session: Session,
    names: Names,
    genuine: Bools,
    held: tuple[Ints, Ints, Ints],
    shown: Sequence[Values],
    combinations: Sequence[Combination],
) -> Knowledge:
    """Count what the staged classes show, of the tables `deid_members` and `deid_donors`.

    Args:
        session: where they are.
        names: of the released columns.
        genuine: (classes,) which nobody can have padded.
        held: class, sensitive value and records, of all classes.
        shown: of each quasi-identifier, what its released values stand for.
        combinations: what is declared impossible, by column.
    """
    keys = names.starting("k")
    labels, texts = _labels(session, keys)
    class_, code, records = held
    codes = int(code.max(initial=-1)) + 1
    sizes = [int(own.max(initial=-1)) + 1 for own in labels.T]

    def told(class_: Ints, values: Ints, records: Ints, size: int) -> _Tables:
        clean = genuine[class_]
        known = labels[class_[clean]], values[clean], records[clean], sizes, size
        cannot, scarce = [], []
        every = tables(labels[class_], values, records, sizes, size)
        some, seen = tables(*known), ruled_out(*known)
        none = never_together(labels[class_], values, records, sizes, size)
        for all_, of_clean, a, b in zip(every, some, seen, none, strict=True):
            unseen = all_ == 0 if all_.size else np.zeros_like(a)
            cannot.append(b | (a & unseen))
            alone = (all_ == 1) & (of_clean == 0) & (by_chance(all_) >= ENOUGH)
            scarce.append((a & ~unseen) | (alone if all_.size else unseen))
        return tuple(cannot), tuple(scarce)

    cannot, scarce = told(class_, code, records, codes)
    impossible = _of_classes(labels, cannot, codes)
    staged, values = _records(session, names.starting("o"))
    others = []
    if staged is not None:
        ones = np.ones(len(staged.class_), np.int64)
        others = [
            told(staged.class_, column, ones, len(values[at]))
            for at, column in enumerate(staged.others.T)
        ]
    certain = np.zeros_like(impossible)
    declared = []
    for combination in combinations:
        found = _declared(session, names, combination, labels, texts, shown, values, codes)
        if found.others:
            declared.append(found)
        else:
            impossible |= found.classes[:, None] & found.codes[None, :]
            certain |= found.classes[:, None] & found.codes[None, :]
    of_others, scarce_others = zip(*others, strict=True) if others else ((), ())
    return Knowledge(
        *(labels, impossible, scarce, certain, staged),
        *(of_others, scarce_others, tuple(declared)),
    )


def _of_classes(labels: Ints, tables: tuple[Bools, ...], codes: int) -> Bools:
    """Which values belong to any of the pairs with the quasi-identifiers of classes."""
    found = np.zeros((len(labels), codes), np.bool_)
    for own, table in zip(labels.T, tables, strict=True):
        found |= table[own]
    return found


def _labels(session: Session, keys: list[str]) -> tuple[Ints, list[list[str | None]]]:
    """The quasi-identifiers of each class as codes, and of each the text of its codes."""
    shown = [aliased(cast(any_value_of(column(key)), "VARCHAR"), key) for key in keys]
    query = select(column(CLASS_ID), *shown).from_(MEMBERS.table).group_by(CLASS_ID)
    rows = session.rows(query.order_by(CLASS_ID))
    labels = np.zeros((len(rows), len(keys)), np.int64)
    texts: list[list[str | None]] = []
    for at in range(len(keys)):
        codes: dict[str | None, int] = {}
        labels[:, at] = [codes.setdefault(row[at + 1], len(codes)) for row in rows]
        texts.append(list(codes))
    return labels, texts


def _records(session: Session, others: list[str]) -> tuple[Records | None, list[list[str | None]]]:
    """The staged records where they have other columns, and the text of each code of these."""
    if not others:
        return None, []
    ranks = [
        aliased(over(dense_rank(), order=[ascending(column(name), nulls_first=True)]), name)
        for name in others
    ]
    number = aliased(coalesce(column("number"), literal(-1)), "number")
    query = select(CLASS_ID, "code", number, *ranks).from_(DONORS.table)
    found = {n: np.asarray(a, np.int64) for n, a in session.arrays(query).items()}
    codes = np.column_stack([found[name] - 1 for name in others])
    texts = []
    for name in others:
        known = select(aliased(column(name), "value")).distinct().from_(DONORS.table)
        shown = select(cast(column("value"), "VARCHAR")).from_(known.subquery("known"))
        shown = shown.order_by(ascending(column("value"), nulls_first=True))
        texts.append([row[0] for row in session.rows(shown)])
    return Records(found[CLASS_ID] - 1, found["code"], codes, found["number"]), texts


def _declared(
    session: Session,
    names: Names,
    combination: Combination,
    labels: Ints,
    texts: Sequence[Sequence[str | None]],
    shown: Sequence[Values],
    values: Sequence[Sequence[str | None]],
    codes: int,
) -> Declared:
    """Which classes and values belong to a combination that is declared impossible."""
    classes = np.ones(len(labels), np.bool_)
    for at, q in enumerate(names.quasi_identifiers):
        if q.name in combination:
            wanted = set(combination[q.name])
            inside = [
                text in wanted or _stands_for(q, shown[at], text) <= wanted for text in texts[at]
            ]
            classes &= np.array(inside, np.bool_)[labels[:, at]]
    of_code = np.ones(codes, np.bool_)
    if names.sensitive is not None and names.sensitive in combination:
        of_code[:] = False
        query = select("code", cast(column("value0"), "VARCHAR")).from_(sensitive_relation(0).table)
        for code, value in session.rows(query):
            if code < codes:
                of_code[code] = value in combination[names.sensitive]
    others = tuple(
        (at, np.array([value in combination[name] for value in values[at]], np.bool_))
        for at, name in enumerate(names.others)
        if name in combination
    )
    return Declared(classes, of_code, others)


def _stands_for(q: QuasiIdentifier, shown: Values, label: str | None) -> set[str | None]:
    """The values of the source that a released one stands for; itself, where that is not known."""
    if label not in shown:
        return {label}
    told = shown[label]
    labels = (cell.label for cell in q.coding.cells(told.level))
    leaves = zip(q.coding.labels(0), labels, strict=True)
    return {leaf for leaf, own in leaves if own == told.cell.label} or {label}
