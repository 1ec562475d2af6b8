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

from dataclasses import dataclass

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.methods.attacks.learner import learned
from dbdeid.methods.attacks.membership import nearer

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
    """

    records: int
    counterfeits: int
    auc: float
    among_most: float
    success: float
    surest: float


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


def suspected(rows: Rows) -> Suspected | None:
    """Attack a release with counterfeit records; None where none may be one."""
    some = rows.genuine < 1
    within = np.isin(rows.classes, np.unique(rows.classes[some]))
    if not some.any():
        return None
    suspicion = suspicions(rows, within)
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


def suspicions(rows: Rows, within: Bools) -> Floats:
    """The probability that a record of each of some rows is counterfeit, to who learns."""
    weights = rows.records * rows.genuine
    odds = 1.0
    genuine = float(weights[within].sum())
    false = float(rows.records[within].sum() - genuine)
    odds *= false / max(genuine, 1e-9)
    ratio = np.full(int(within.sum()), odds)
    known = rows.known
    given = np.zeros(len(within), np.int64)  # the value that what is copied goes with
    for at in range(rows.told.shape[1]):
        own = rows.told[:, at]
        values = int(own.max(initial=0)) + 1
        if values > VALUES:
            continue
        chances = learned(known, own, weights, known[within], values)
        likely = chances[np.arange(len(ratio)), own[within]]
        kinds = int(given.max()) + 1
        pooled = rows.records - weights if at == 0 else weights
        counted = np.zeros((kinds, values))
        np.add.at(counted, (given[within], own[within]), pooled[within])
        of_all = np.bincount(own[within], pooled[within], minlength=values)
        of_all = of_all / max(of_all.sum(), 1e-9)
        shares = (counted + of_all) / (counted.sum(axis=1, keepdims=True) + 1)
        ratio *= shares[given[within], own[within]] / np.maximum(likely, 1e-9)
        if at == 0:
            given = own
            known = np.column_stack([known, own])
    found: Floats = ratio / (1 + ratio)
    return np.where(rows.genuine[within] < 1, found, 0.0)


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
