"""What a search minimizes: scores of a checked node, and bounds on the scores of others.

A bound is *sound* when no node it is claimed for scores less. Every objective says what is known
of a node before any check, what the check of u says of all nodes below u, and of all above u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.check import Check, Checker, Lost
from dbdeid.lattice.class_sums import (
    Tally,
    bits_lost,
    bits_of_suppression,
    divergence,
    domain_tuples,
    marginal_divergence,
    mean_log_sizes,
)
from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Marginals, Tuples

Floats: TypeAlias = NDArray[np.float64]
Data: TypeAlias = Tuples | Marginals

DIGITS = 12  # of a divergence
ROUNDED = 2e-12  # more than rounding to them changes it


@dataclass(frozen=True)
class Objective:
    """One thing to minimize.

    Args:
        name: as in the spec.
        terms: per attribute, by level - min_level, what a level adds to the sum below.
        known: (that sum, records) to a lower bound on the score of a node before any check.
        score: (sum, check, records) to the score of a checked node.
        estimate: (known, share of records suppressed) to a guess of the score, where that is
            close; it only guides the search.
        below: (known bounds of nodes below a checked one, its suppressed records, their loss,
            records) to lower bounds on their scores; None where a check says nothing of them.
        above: (check, records) to one lower bound on the scores of all nodes above.
        affordable: (score, records) to the records that a node of less score may suppress.
        tally: the sums it needs of a check; None where every check has what it needs.
        charged: (what is suppressed, records) to what `below` takes for its loss.
    """

    name: str
    terms: Callable[[Lattice, Marginals], list[Floats]]
    known: Callable[[Floats, int], Floats]
    score: Callable[[float, Check, int], float]
    estimate: Callable[[Floats, Floats], Floats] | None = None
    below: Callable[[Floats, Floats | int, Floats | float, int], Floats] | None = None
    above: Callable[[Check, int], float] | None = None
    affordable: Callable[[float, int], float] | None = None
    tally: Callable[[Lattice, Tuples], Tally] | None = None
    charged: Callable[[Lost, int], float] = lambda lost, records: lost.loss


def under(rule: Rule, objective: Objective) -> Objective:
    """An objective with the bounds that are sound under a rule.

    What counts of classes say of the nodes above rests on classes that are only kept once they met
    others. Where a class may be kept in part, no count of classes bounds a score.

    Raises:
        ValueError: the objective counts classes, and the rule may keep a part of one.
    """
    if rule.linked and objective in COUNTING_CLASSES:
        raise ValueError(f"{objective.name} is not bounded where rows of a subject are linked")
    rests = objective in COUNTING_CLASSES and not rule.merges
    return replace(objective, above=None) if rests else objective


def metrics(lattice: Lattice, data: Data, check: Check) -> dict[str, float]:
    """The score of a checked node under every objective that needs no tally, by name.

    `loss` is in [0, 1], `discernibility` in records squared, `average_class_size` in records,
    `precision` the mean of level/height over the cells (0 unchanged, 1 all at the top, where the
    suppressed ones are), `height` the total level, which ignores suppression.
    """
    marginals = marginals_of(lattice, data)
    return {
        name: score_of(o, lattice, marginals, check)
        for name, o in OBJECTIVES.items()
        if o.tally is None
    }


def score(lattice: Lattice, data: Data, checker: Checker, node: Node) -> dict[str, float]:
    """Check one known node and give its score under every objective, as `metrics`."""
    return metrics(lattice, data, checker.check(node))


def loss_of(lattice: Lattice, data: Data, check: Check) -> float:
    """Information loss of a checked node: mean over all cells, suppressed cells count 1.

    Loss(v) = G(v) + P(v): G is the generalization loss of all records, known from the marginals;
    P is what suppression adds, the suppressed records less what G charged for them
    (Iyengar 2002; Prasser et al. 2016).
    """
    return score_of(LOSS, lattice, data, check)


def marginals_of(lattice: Lattice, data: Data) -> Marginals:
    """The marginal counts of tuples; marginals stay as they are."""
    return data.marginals(lattice) if isinstance(data, Tuples) else data


def sum_of_terms(lattice: Lattice, terms: list[Floats], node: Node) -> float:
    """The sum of a node's terms, added from the last attribute to the first."""
    levels = [*zip(terms, node, lattice.bottom, strict=True)]
    return sum(float(term[level - low]) for term, level, low in reversed(levels))


def score_of(objective: Objective, lattice: Lattice, data: Data, check: Check) -> float:
    """The score of a checked node; the check has the objective's tally."""
    marginals = marginals_of(lattice, data)
    terms = objective.terms(lattice, marginals)
    return objective.score(sum_of_terms(lattice, terms, check.node), check, marginals.records)


def _levels(attribute: Attribute) -> range:
    return range(attribute.min_level, attribute.most_general + 1)


def _generalization_loss(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """G: per attribute and level, the mean loss of the attribute's cells times its share."""
    return [
        np.array(
            [
                share * float((counts * attribute.loss[level]).sum()) / max(marginals.records, 1)
                for level in _levels(attribute)
            ]
        )
        for attribute, share, counts in zip(
            lattice.attributes, lattice.shares, marginals.counts, strict=True
        )
    ]


def _loss_below(
    known: Floats, suppressed: Floats | int, loss: Floats | float, records: int
) -> Floats:
    """P is antitone: below u more records are suppressed, and G charges less for each."""
    return known + (suppressed - loss) / max(records, 1)


def distinct_values(lattice: Lattice, marginals: Marginals) -> list[list[int]]:
    """Per attribute, by level - min_level, how many of its groups have records."""
    return [
        [len(np.unique(attribute.groups[level][counts > 0])) for level in _levels(attribute)]
        for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
    ]


def _log_groups(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """Logarithms of the numbers of groups that occur; their sum bounds that of all classes."""
    return [np.log(np.maximum(found, 1)) for found in distinct_values(lattice, marginals)]


def _average_of_most_classes(log_groups: Floats, records: int) -> Floats:
    """N/classes for the most classes there can be, with a margin for the logarithms."""
    return np.asarray(records / np.clip(np.exp(log_groups) * (1 + 1e-9), 1, max(records, 1)))


def _discernibility_below(
    known: Floats, suppressed: Floats | int, loss: Floats | float, records: int
) -> Floats:
    """Below u at least as many records are suppressed, at N each; a kept one costs at least 1."""
    return np.maximum(known, records * 1.0 * suppressed + records - suppressed)


def _average_class_size_above(check: Check, records: int) -> float:
    """Above u a kept class holds a class kept at u, or at least two of the t that were not.

    With one of the t left over for the suppressed records there are at most
    classes(u) + (t + 1) div 2 classes, the suppressed counted as one.
    """
    left = check.all_classes - check.classes
    return records / max(check.classes + (left + 1) // 2, 1)


def _ambiguity_below(
    known: Floats, suppressed: Floats | int, tuples: Floats | float, records: int
) -> Floats:
    """Below u the records that u suppresses stand for the whole domain, all others for a tuple."""
    return np.maximum(known, (tuples + records - suppressed) / max(records, 1))


def _relative_levels(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    width = len(lattice.attributes)
    return [np.array(_levels(a)) / max(a.height, 1) / width for a in lattice.attributes]


LOSS = Objective(
    "loss",
    terms=_generalization_loss,
    known=lambda total, records: total,
    score=lambda total, check, records: (
        total + (check.suppressed - check.suppressed_loss) / max(records, 1)
    ),
    estimate=lambda known, share: known + share * (1 - known),
    below=_loss_below,
)

# Σ|E|² over kept classes + N per suppressed record (Bayardo & Agrawal 2005). It is at least
# Σ|E|² over all classes, which is at least N²/classes and only grows when classes are merged.
DISCERNIBILITY = Objective(
    "discernibility",
    terms=_log_groups,
    known=lambda total, records: records * _average_of_most_classes(total, records),
    score=lambda total, check, records: float(check.squares_kept + records * check.suppressed),
    below=_discernibility_below,
    above=lambda check, records: float(check.squares_all),
    affordable=lambda score, records: (score - records) / max(records - 1, 1),
)

# N/classes, all suppressed records counted as one more class, as ARX counts.
AVERAGE_CLASS_SIZE = Objective(
    "average_class_size",
    terms=_log_groups,
    known=_average_of_most_classes,
    score=lambda total, check, records: records / max(check.classes + (check.suppressed > 0), 1),
    above=_average_class_size_above,
)

# Mean of level/height over all cells, a suppressed one at the top: 1 - Prec (Sweeney 2002), as ARX
# has it where records are suppressed. Below u more of them are suppressed, and each adds more.
PRECISION = Objective(
    "precision",
    terms=_relative_levels,
    known=lambda total, records: total,
    score=lambda total, check, records: (
        total + check.suppressed / max(records, 1) * max(1 - total, 0.0)
    ),
    estimate=lambda known, share: known + share * (1 - known),
    below=lambda known, suppressed, loss, records: (
        known + suppressed / max(records, 1) * np.maximum(1 - known, 0)
    ),
)

HEIGHT = Objective(
    "height",
    terms=lambda lattice, marginals: [np.array(_levels(a)) * 1.0 for a in lattice.attributes],
    known=lambda total, records: total,
    score=lambda total, check, records: total,
    estimate=lambda known, share: known,
)

# Σ over records and attributes of log2(records of the group / records of the value), the bits of
# a cell that its group does not tell, as a share of what `*` everywhere loses (De Waal &
# Willenborg 1999; Gionis & Tassa 2009). A suppressed cell is `*`; ARX counts the groups among the
# suppressed records instead. P is antitone as that of loss: a smaller group is further from `*`.
NONUNIFORM_ENTROPY = Objective(
    "nonuniform_entropy",
    terms=bits_lost,
    known=lambda total, records: total,
    score=lambda total, check, records: total + check.tally[0],
    estimate=lambda known, share: known + share * (1 - known),
    below=_loss_below,
    tally=bits_of_suppression,
    charged=lambda lost, records: lost.records - lost.tally[0] * records,
)

# Mean over records of the tuples of the domain that a record stands for (Goldberger & Tassa 2010;
# ARX reports the sum). It is at least the exponential of the mean logarithm (Jensen); no record
# stands for less than further down, nor for less than one.
AMBIGUITY = Objective(
    "ambiguity",
    terms=mean_log_sizes,
    known=lambda total, records: np.asarray(np.exp(total)),
    score=lambda total, check, records: check.tally[0] / records if records else 1.0,
    below=_ambiguity_below,
    above=lambda check, records: check.tally[1] / records if records else 1.0,
    tally=domain_tuples,
    charged=lambda lost, records: lost.tally[2],
)

# Σ p ln(p/q) in nats over the tuples of the source (Kifer & Gehrke 2006): q spreads a class evenly
# over its tuples of the domain, and the suppressed records over all of it. A class or the
# suppressed records as one are unions of classes further down, and by the log-sum inequality no
# union comes closer to the source; the pool may only be closer than a smaller pool. What is known
# before a check are the divergences of the attributes alone: by H(X|class) ≤ Σ H(X_a|group_a) a
# node has at least their sum. Scores are rounded, so that ties at 0 are ties.
KL_DIVERGENCE = Objective(
    "kl_divergence",
    terms=marginal_divergence,
    known=lambda total, records: np.maximum(total - ROUNDED, 0),
    score=lambda total, check, records: max(round(check.tally[0], DIGITS), 0.0),
    above=lambda check, records: max(check.tally[1] - ROUNDED, 0.0),
    tally=divergence,
)

COUNTING_CLASSES = (DISCERNIBILITY, AVERAGE_CLASS_SIZE)

OBJECTIVES = {
    objective.name: objective
    for objective in (
        *(LOSS, DISCERNIBILITY, AVERAGE_CLASS_SIZE, PRECISION, HEIGHT),
        *(NONUNIFORM_ENTROPY, AMBIGUITY, KL_DIVERGENCE),
    )
}
