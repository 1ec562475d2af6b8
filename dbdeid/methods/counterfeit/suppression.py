"""What leaving records out would lose where some are added: which of the two is better.

Who asks for the least loss may not care how it is reached. Full-domain generalization under the
same models that suppresses up to 5 % of the records is searched for, and named if it loses less.
The loss is that of the real records: suppressed ones lose all, and those that are added do not
count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdeid.lattice.objectives import loss_of
from dbdeid.methods.common.levels import Levels
from dbdeid.methods.common.searching import Ground, Remembering
from dbdeid.methods.counterfeit.options import padding_of
from dbdeid.methods.full_domain.search.costs import best_of
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.prepare.problem import Parameters

LIMIT = 0.05  # of the records
SECONDS = 5.0  # that a run spends on it
SHOWN = 3  # digits: what does not differ in them is no reason


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The least loss that was found with some records suppressed.

    Attributes:
        loss: mean loss of a cell of the real records; of those that are suppressed it is 1.
        records: that are suppressed.
    """

    loss: float
    records: int


def suppressed(ground: Ground, parameters: Parameters[object], seconds: float) -> Suppressed | None:
    """The least loss with 5 % of the records suppressed; None where no release is found.

    Args:
        ground: the staged source.
        parameters: what must hold.
        seconds: for greedy steps, and again for the search.
    """
    levels = parameters.under(Levels(suppression_limit=LIMIT))
    problem = ground.problem(levels, Remembering(ground.checker(levels)))
    best = best_of(problem, SEARCHES["optimal"], seconds)
    if best is None or best.check is None:
        return None
    loss = loss_of(ground.lattice, problem.marginals, best.check)
    return Suppressed(loss, best.check.suppressed)


def instead(
    ground: Ground, parameters: Parameters[object], loss: float, own: str, seconds: float = SECONDS
) -> Iterator[str]:
    """That suppression loses less than counterfeit records, if so.

    Args:
        ground: the staged source.
        parameters: what must hold.
        loss: mean loss of a cell of the real records.
        own: what loses that much, in a clause that says how much.
        seconds: for greedy steps, and again for the search.
    """
    found = suppressed(ground, parameters, seconds)
    if found is None or round(found.loss, SHOWN) >= round(loss, SHOWN):
        return
    less = "" if padding_of(parameters).borrow else ", or try `recoding: borrow`"
    yield (
        "suppression loses less here: `method: {name: full_domain, suppression_limit: "
        f"{LIMIT}}}` loses {found.loss:.{SHOWN}f} of the detail with {found.records:,} records "
        f"left out, which count as lost, and {own}; use it if records may be left out{less}"
    )
