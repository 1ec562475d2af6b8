"""Adult records in the cells of a state, with the people of the state, by their values.

With the tables of a Tennessee, records have ZIP codes of it: of the synthetic Tennessee all people
are modelled evenly; of the modelled one they are as the census and its surveys have them. Ages are
0 to 120, in order like ZIP codes, sexes and races. From the package alone there is Adult by age,
race, sex and native country, each record being one of a population that is the sample itself.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.baselines.sublattice import promise, random_sublattice
from dbdeid.methods.policy.search.frontier import Frontier
from dbdeid.methods.policy.search.measures import Domain
from dbdeid.methods.policy.search.policies import Bits, Cells, Gauge
from dbdeid.methods.policy.search.safe_harbor import age_starts, zip_starts
from dbdeid.papers.common.data import Data

if TYPE_CHECKING:
    import pandas as pd

AGES = 121
COLUMNS = ("age", "race", "sex", "zip")
STATES = ("synthetic", "modelled")
SAMPLE = "adult"  # the state that is no state


def states(data: Data) -> list[str]:
    """The states whose tables are there; the sample where there is none."""
    found = [which for which in STATES if all(map(data.has, _files(which)))]
    return found or [SAMPLE]


def cells(data: Data, which: str) -> Cells:
    """The cells of the `synthetic` or the `modelled` Tennessee, or of `adult`."""
    return _read(data, which)[0]


@cache
def safe_harbor(data: Data, which: str) -> Bits:
    """Safe Harbor in this state; it leaves countries as they are."""
    found, places = _read(data, which)
    starts = [np.arange(domain.size) for domain in found.domains]
    starts[0] = age_starts(range(AGES))
    if which != SAMPLE:
        people = np.bincount(found.codes[-1], found.people, len(places))
        starts[-1], _ = zip_starts(places, np.rint(people).astype(np.int64))
    return found.space.of_starts(starts)


def labels(data: Data, which: str) -> dict[str, list[str]]:
    """The values of each column in their order."""
    frame = _frame(data, which)
    found = {name: sorted(map(str, frame[name].unique())) for name in frame.columns[1:4]}
    return {"age": [str(age) for age in range(AGES)], **found}


def _files(which: str) -> tuple[str, str]:
    folder = "population"
    return f"{folder}/tn_{which}_population.parquet", f"{folder}/adult_tn_{which}.parquet"


@cache
def _frame(data: Data, which: str) -> pd.DataFrame:
    """Of each cell with people its values, the records `n` and the people `g` in it."""
    import pandas as pd

    if which == SAMPLE:
        found = data.adult(complete=False)[["age", "race", "sex", "native_country"]]
        found = found.assign(n=1, g=1)
    else:
        people, records = (pd.read_parquet(data.file(file)) for file in _files(which))
        found = pd.concat(
            [
                people.assign(n=0, g=people["people"])[[*COLUMNS, "n", "g"]],
                records.assign(n=1, g=0)[[*COLUMNS, "n", "g"]],
            ]
        )
    keys = list(found.columns[:4])
    return found.groupby(keys, sort=True, as_index=False)[["n", "g"]].sum()


@cache
def _read(data: Data, which: str) -> tuple[Cells, list[str]]:
    """The cells, and the values of the last column in their order."""
    frame = _frame(data, which)
    domains, codes = [], []
    for column in frame.columns[:4]:
        values, own = np.unique(frame[column].to_numpy(), return_inverse=True)
        if column == "age":
            values, own = np.arange(AGES), frame[column].to_numpy()
        domains.append(Domain(column, len(values)))
        codes.append(own.astype(np.int64))
    records, people = (frame[name].to_numpy(np.int64) for name in ("n", "g"))
    return Cells(tuple(domains), tuple(codes), records, people), [str(code) for code in values]


def under(gauge: Gauge, bottom: Bits) -> Gauge:
    """The same gauge, for the policies more general than one, from the cells of that one."""
    own, space = gauge.cells, gauge.space
    number = np.zeros(len(own.records), np.int64)
    for starts, group, codes, size in zip(
        space.starts(bottom), space.groups(bottom), own.codes, space.sizes, strict=True
    ):
        number = number * size + starts[group][codes]
    people, records = (
        np.bincount(number, counts, prod(space.sizes)).astype(np.int64)
        for counts in (own.people, own.records)
    )
    there = np.flatnonzero(people)
    found = copy(gauge)
    found.cells = Cells(
        own.domains, np.unravel_index(there, space.sizes), records[there], people[there]
    )
    return found


def share_of_new(
    gauge: Gauge, frontier: Frontier, sublattices: int, rng: np.random.Generator, each: int = 3
) -> tuple[list[float], list[float]]:
    """What random sublattices promise, and how many of their policies keep it.

    Args:
        gauge: of risk and loss.
        frontier: that is to be improved.
        sublattices: how many are drawn.
        rng: that draws them.
        each: policies that are drawn of each, of any density.

    Returns:
        of each sublattice, what it promises, and the share of its policies that are not dominated.
    """
    space = gauge.space
    promised, kept = [], []
    for _ in range(sublattices):
        drawn = random_sublattice(space, Pruned(space.length), rng)
        assert drawn is not None
        weigh = under(gauge, drawn.bottom)
        promised.append(promise(frontier, weigh(drawn.top), weigh(drawn.bottom)))
        free = np.flatnonzero(drawn.top != drawn.bottom)
        new = 0
        for _ in range(each):
            bits = drawn.top.copy()
            bits[rng.permutation(free)[: rng.integers(len(free) + 1)]] = True
            new += not frontier.dominated(*weigh(bits))
        kept.append(new / each)
    return promised, kept
