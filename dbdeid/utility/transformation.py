"""Precision and height: how far up its hierarchies one transformation of all records goes.

With the level l_a of each of M quasi-identifiers, and the height h_a of its hierarchy,

    precision = (1/M) Σ_a l_a / h_a · (1 - s) + s,  height = Σ_a l_a

where s is the share of suppressed records, whose cells are at the top. Sweeney 2002 takes precision
from 1, here it is a loss; height is that of Samarati 2001, and says nothing of suppression. The
search counts both on its lattice. Age on level 1 of 4 and sex on 1 of 1: precision 0.625, height 2;
where a fifth of the records is suppressed, precision is 0.7.
"""

from __future__ import annotations

from dbdeid.utility.common.metric import Metric, Words

PRECISION = Metric(
    "precision",
    Words(
        "Precision",
        "Mean over the cells of level divided by height; a suppressed cell counts as fully "
        "generalized. One minus the precision of Sweeney 2002, as in ARX with suppression.",
        "0 (unchanged) to 1 (all at the top)",
        "lower",
    ),
    families=("generalized",),
    not_of_local="adds up the levels of one transformation",
)
HEIGHT = Metric(
    "height",
    Words(
        "Height",
        "Sum of the generalization levels over the quasi-identifiers. Samarati 2001.",
        "0 to the sum of the heights of the hierarchies",
        "lower",
    ),
    families=("generalized",),
    not_of_local="adds up the levels of one transformation",
)
