"""Which records are counterfeit, to who learns from the release how sensitive values are spread.

Values of counterfeit records are drawn from all classes that may be padded together, and so fit
their class less often than those of real people do. The catalog's weights take each record of a
value to be as suspicious as another; who learns P(value | quasi-identifiers) from the release does
not (Kifer 2009). By Bayes a record with the value s in a class x is counterfeit with odds

    C / (N - C) · Q(s) / P(s | x),

C of the N records that may be counterfeit being so, Q their values and P what was learned. Other
columns, which a counterfeit record copies with its value, multiply it by Q(o | s) / P(o | x, s).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.methods.attacks.learner import learned
from dbdeid.methods.attacks.membership import nearer
from dbdeid.methods.attacks.ruled_out import never_together, ruled_out, tables

# The share of records that are most suspicious, and of classes that the attacker is surest of.
MOST = 0.05
# Classes that these are at least.
FEWEST = 10
# Columns of more values are not learned.
VALUES = 100


@dataclass(frozen=True, slots=True)
class Suspected:
    """What the attack came to, on the classes that may be padded.

    Attributes:
        records: those of these classes.
        counterfeits: those of them that are.
        auc: the probability that a counterfeit record is more suspicious than a real one.
        among_most: the share of counterfeits among the MOST most suspicious records.
        success: how often who points, for each of the people of these classes, at the record of
            their class that is the least suspicious finds theirs.
        surest: the same of the people of the MOST classes where that is likeliest to succeed.
        impossible: counterfeits that have a pair of values which genuine classes, or all real
            records, rule out and no real record has.
        below: classes that hold fewer than k records without them.
        left: the prosecutor risk in the smallest of these; 0 without any.
    """

    records: int
    counterfeits: int
    auc: float
    among_most: float
    success: float
    surest: float
    impossible: int = 0
    below: int = 0
    left: float = 0.0


@dataclass(frozen=True, slots=True)
class Rows:
    """The distinct rows of a release.

    Attributes:
        classes: (n,) the class of each.
        known: (n, q) codes of its quasi-identifiers.
        told: (n, c) codes of what may be counterfeit: the sensitive value, then what is copied.
        records: (n,) how many records read so.
        counterfeits: (n,) how many of them are counterfeit.
        genuine: (n,) the probability that one is real by the catalog, 1 where it is certain.
    """

    classes: Ints
    known: Ints
    told: Ints
    records: Ints
    counterfeits: Ints
    genuine: Floats


def suspected(rows: Rows, k: int = 0, *, fitted: bool = False) -> Suspected | None:
    """Attack a release with counterfeit records; None where none may be one.

    Where two attackers are possible the figures are those of who finds more people.

    Args:
        rows: its rows.
        k: classes that hold fewer records, without what cannot be, are told of.
        fitted: see `suspicions`.
    """
    some = rows.genuine < 1
    within = np.isin(rows.classes, np.unique(rows.classes[some]))
    if not some.any():
        return None
    attacks = [_attack(rows, within, own) for own in suspicions(rows, within, fitted=fitted)]
    best = max(attacks, key=lambda found: max(found.success, found.surest))
    impossible = _impossible(rows, within)
    left = np.bincount(rows.classes, rows.records - impossible)
    short = np.unique(rows.classes[impossible > 0])
    short = short[left[short] < k]
    return replace(
        best,
        impossible=int(impossible.sum()),
        below=len(short),
        left=float((1 / np.maximum(left[short], 1)).max(initial=0.0)),
    )


def _attack(rows: Rows, within: Bools, suspicion: Floats) -> Suspected:
    """How often one attacker is right."""
    classes, records = rows.classes[within], rows.records[within]
    false = rows.counterfeits[within]
    success, surest = _pointed(classes, records, false, suspicion)
    order = np.argsort(-suspicion, kind="stable")
    named = np.cumsum(records[order])
    most = max(1, round(MOST * int(records.sum())))
    taken = np.diff(np.minimum(named, most), prepend=0)
    return Suspected(
        records=int(records.sum()),
        counterfeits=int(false.sum()),
        auc=nearer(np.repeat(-suspicion, false), np.repeat(-suspicion, records - false)),
        among_most=float((taken * (false / records)[order]).sum() / most),
        success=success,
        surest=surest,
    )


def _impossible(rows: Rows, within: Bools) -> Ints:
    """How many counterfeits of each row have a pair of values that cannot be.

    A pair that some real record has is proof of nothing, whatever the others rule out.
    """
    sizes = (rows.known.max(axis=0, initial=-1) + 1).tolist()
    clean, real = ~within, rows.records - rows.counterfeits
    found = np.zeros(len(within), np.bool_)
    for told in rows.told.T:
        values = int(told.max(initial=-1)) + 1
        seen = ruled_out(rows.known[clean], told[clean], rows.records[clean], sizes, values)
        none = never_together(rows.known, told, real, sizes, values)
        have = tables(rows.known, told, real, sizes, values)
        for own, a, b, counted in zip(rows.known.T, seen, none, have, strict=True):
            if counted.size:
                found |= ((a & (counted == 0)) | b)[own, told]
    return np.where(found & within, rows.counterfeits, 0)


def suspicions(rows: Rows, within: Bools, *, fitted: bool = False) -> list[Floats]:
    """The probability that a record of each of some rows is counterfeit, to each who learns.

    Args:
        rows: all of the release.
        within: (n,) those of classes that may be padded.
        fitted: whether counterfeit values were drawn by what goes with the quasi-identifiers and
            never beside what the other classes rule out. One attacker then knows that.

    Returns:
        First of who takes counterfeit values to be drawn from the whole pool, and then of who
        knows better.
    """
    weights = rows.records * rows.genuine
    genuine = float(weights[within].sum())
    odds = float(rows.records[within].sum() - genuine) / max(genuine, 1e-9)
    each = np.arange(int(within.sum()))
    ratios = [np.full(len(each), odds) for _ in range(2 if fitted else 1)]
    known = rows.known
    given = np.zeros(len(within), np.int64)  # the value that what is copied goes with
    for at in range(rows.told.shape[1]):
        own = rows.told[:, at]
        values = int(own.max(initial=0)) + 1
        if values > VALUES:
            continue
        chances = learned(known, own, weights, known[within], values)
        likely = np.maximum(chances[each, own[within]], 1e-9)
        shares = _shares(own, given, rows.records - weights if at == 0 else weights, within, values)
        drawn = shares[given[within], own[within]]
        ratios[0] *= drawn / likely
        if fitted:
            never = _never(rows, within, own, values)
            if at == 0:
                drawn = _fitted(chances, never, shares[0], rows.records[within])[each, own[within]]
            ratios[1] *= np.where(never[each, own[within]], 0.0, drawn) / likely
        if at == 0:
            given = own
            known = np.column_stack([known, own])
    return [np.where(rows.genuine[within] < 1, ratio / (1 + ratio), 0.0) for ratio in ratios]


def _shares(own: Ints, given: Ints, pooled: Floats, within: Bools, values: int) -> Floats:
    """(kinds, values) how often each value is drawn where the record has another value."""
    counted = np.zeros((int(given.max()) + 1, values))
    np.add.at(counted, (given[within], own[within]), pooled[within])
    of_all = np.bincount(own[within], pooled[within], minlength=values)
    of_all = of_all / max(of_all.sum(), 1e-9)
    found: Floats = (counted + of_all) / (counted.sum(axis=1, keepdims=True) + 1)
    return found


def _never(rows: Rows, within: Bools, own: Ints, values: int) -> Bools:
    """Which values of a column the classes that nobody padded rule out beside some rows."""
    sizes = (rows.known.max(axis=0, initial=-1) + 1).tolist()
    clean = ~within
    found = np.zeros((int(within.sum()), values), np.bool_)
    seen = ruled_out(rows.known[clean], own[clean], rows.records[clean], sizes, values)
    for label, table in zip(rows.known[within].T, seen, strict=True):
        found |= table[label]
    return found


def _fitted(chances: Floats, never: Bools, shares: Floats, records: Ints) -> Floats:
    """How counterfeit values are drawn in each row's class: as there, as often as in all."""
    expected = np.average(chances, axis=0, weights=records)
    drawn = np.where(never, 0.0, chances * shares / np.maximum(expected, 1e-9))
    totals: Floats = drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-9)
    return totals


def _pointed(classes: Ints, records: Ints, false: Ints, suspicion: Floats) -> tuple[float, float]:
    """How often the least suspicious record of a class is a given person's; where it is likeliest.

    A class of m real people is asked about m times, and the record is one of theirs: so many find
    it as are real.
    """
    order = np.lexsort((suspicion, classes))
    _, first, numbers = np.unique(classes[order], return_index=True, return_inverse=True)
    numbers = numbers.reshape(-1)
    best = order[first]
    real = np.bincount(numbers, (records - false)[order])
    expected = np.bincount(numbers, (records * (1 - suspicion))[order])
    hit = (records - false)[best] / records[best]
    likely = (1 - suspicion[best]) / np.maximum(expected, 1e-9)
    surest = np.argsort(-likely, kind="stable")[: max(FEWEST, round(MOST * len(best)))]

    def share(these: Ints) -> float:
        return float(hit[these].sum() / max(real[these].sum(), 1))

    return share(np.arange(len(best))), share(surest)
