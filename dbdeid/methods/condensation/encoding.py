"""Records of one stratum as a matrix: dummies for categories, indicators for missing numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dbdeid.data.records import Attribute, Floats, Ints, Records


@dataclass(frozen=True, slots=True)
class Block:
    """The columns of the matrix that stand for one attribute.

    What is constant in a stratum has no column: it neither parts records nor is drawn.

    Attributes:
        columns: of a number none or one; of two categories one, of more one for each.
        missing: the column that tells where a number is missing; None: nowhere, or everywhere.
        codes: the categories of the stratum, one for each column, or the two of the only column;
            None: it is a number.
    """

    columns: tuple[int, ...]
    missing: int | None
    codes: Floats | None


@dataclass(frozen=True, slots=True)
class Encoded:
    """The records of a stratum.

    Attributes:
        points: (n, m) columns with mean 0 and deviation 1.
        mean, deviation: (m,) of the columns before.
        blocks: one for each attribute.
    """

    points: Floats
    mean: Floats
    deviation: Floats
    blocks: tuple[Block, ...]


def encode(records: Records, rows: Ints) -> Encoded:
    """The matrix of the records of one stratum, unweighted.

    Args:
        records: all of them.
        rows: (n,) which of them are in the stratum.
    """
    columns: list[Floats] = []
    blocks = []
    for attribute in records.attributes:
        made, missing, codes = _columns(attribute, attribute.values[rows])
        first = len(columns) + len(made)
        places = tuple(range(len(columns), first))
        columns += [*made, *missing]
        blocks.append(Block(places, first if missing else None, codes))
    matrix = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))
    mean, deviation = matrix.mean(axis=0), matrix.std(axis=0)
    matrix -= mean
    # The deviation of tiny numbers may be 0 though they vary.
    matrix /= np.where(deviation > 0, deviation, 1.0)
    return Encoded(matrix, mean, np.where(deviation > 0, deviation, 1.0), tuple(blocks))


def _columns(
    attribute: Attribute, values: Floats
) -> tuple[list[Floats], list[Floats], Floats | None]:
    """The columns of an attribute, that of what is missing, and the categories."""
    if attribute.levels is not None:
        codes = np.unique(values)
        shown = codes[1:] if len(codes) <= 2 else codes
        return [(values == code).astype(np.float64) for code in shown], [], codes
    missing = np.isnan(values)
    known = values[~missing]
    if not len(known):
        return [], [], None
    varies = known.min() < known.max()
    filled = np.where(missing, np.median(known), values)
    return (
        [filled] if varies else [],
        [missing.astype(np.float64)] if missing.any() else [],
        None,
    )


def weigh(
    encoded: Encoded,
    records: Records,
    response_weight: float,
    scale: Literal["rank", "z"],
    response: int | None,
) -> Floats:
    """The matrix whose distances clusters are made of (Gal et al. 2014, section 3).

    The response weighs w, and the m − q columns of the others (1 − w)/(m − q) each: columns are
    multiplied by the square roots. Without a response all columns weigh the same.

    Args:
        encoded: a stratum.
        records: all records, for the weights that are declared for single attributes.
        response_weight: w, in (0, 1).
        scale: rank: the numbers of the response are replaced by their average ranks, because in
            skewed times the few longest would rule.
        response: the place of the response; None: all attributes are treated alike.
    """
    weights = np.ones(len(encoded.mean))
    points = encoded.points.copy()
    if response is not None:
        block = encoded.blocks[response]
        own = [*block.columns, *([] if block.missing is None else [block.missing])]
        others = len(weights) - len(own)
        if own and others:
            weights[:] = (1.0 - response_weight) / others
            weights[own] = response_weight / len(own)
        if scale == "rank" and block.codes is None and block.columns:
            points[:, own[0]] = _ranks(points[:, own[0]])
    factors = np.sqrt(weights)
    for attribute, block in zip(records.attributes, encoded.blocks, strict=True):
        factors[list(block.columns)] *= attribute.weight
        if block.missing is not None:
            factors[block.missing] *= attribute.weight
    points *= factors
    return points


def _ranks(values: Floats) -> Floats:
    """Average ranks, with mean 0 and deviation 1."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return np.asarray((ranks - ranks.mean()) / ranks.std(), dtype=np.float64)
