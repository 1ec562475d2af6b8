"""Rows of the source are reproduced within a limit, which chance and a trial set.

Synthetic records may equal a row of the source: of few columns there are only so many rows. What
chance is was found in a trial: records were drawn from a random half, the members, and equalled so
many of the members and so many of the others, of whom they knew nothing (see
`verify.base.declaration.Chance`). Only rows that no other equals are looked at.

Two things are held, the spread of both counts granted:

- members are hit at most BEYOND times as often as others, and SHARE/k of them more. A cluster has
  the values of its records, so that these come back more often than others do, the more the fewer
  they are. Where k is small that is many, and the limit is no better than k;
- the release reproduces no more rows of its source than the trial leads to expect: with m the share
  of the members that was hit, twice as many draws hit 1 - (1 - m)² at most.

Counts of rare hits are Poisson, whose square roots have a known spread; SIGMAS of it are granted.
"""

from __future__ import annotations

from math import floor, sqrt

from dbdeid.verify.base.declaration import Chance, Promise

# How much more often than others members are hit of large clusters too.
BEYOND = 1.5
# How many of k members may be hit besides.
SHARE = 2
# Standard deviations: a false alarm in 30,000 releases.
SIGMAS = 4.0


def limit(hits: int, of: int, times: float, rows: int) -> int:
    """The most hits among some rows that are within the limit.

    Args:
        hits: by chance.
        of: rows that these were found among.
        times: how many times as likely as there a row is hit.
        rows: how many there are.

    >>> limit(0, 540, 2, 1080), limit(30, 4500, 2, 9000)
    (32, 239)
    """
    ratio = times * rows / max(of, 1)
    # 2 (sqrt(y + 3/8) - sqrt(ratio (x + 3/8))) / sqrt(1 + ratio) is standard normal (Huffman 1984)
    root = sqrt(ratio * (hits + 0.375)) + SIGMAS / 2 * sqrt(1 + ratio)
    return min(rows, floor(root**2 - 0.375))


def of_release(unique: int, reproduced: int, chance: Chance) -> Promise:
    """Whether the release reproduces no more unique rows of its source than the limit of the trial.

    Args:
        unique: rows of the source that no other equals.
        reproduced: those of them that a released row equals.
        chance: of the same columns.
    """
    share = chance.hit_members / max(chance.members, 1)
    most = limit(chance.hit_members, chance.members, 2 - share, unique)
    wanted = {"unique_rows": unique, "reproduced_at_most": most}
    found = {"unique_rows": unique, "reproduced": reproduced}
    return Promise("copies", wanted, found, reproduced <= most)


def of_trial(k: int, chance: Chance) -> Promise:
    """Whether records that were drawn from are hit about as often as others.

    Args:
        k: least records of a cluster.
        chance: what was found.
    """
    by_chance = limit(chance.hit_others, chance.others, BEYOND, chance.members)
    most = min(chance.members, by_chance + SHARE * chance.members // k)
    wanted = {"unique_members": chance.members, "hit_at_most": most}
    found = {"unique_members": chance.members, "hit": chance.hit_members}
    return Promise("copies_in_trial", wanted, found, chance.hit_members <= most)
