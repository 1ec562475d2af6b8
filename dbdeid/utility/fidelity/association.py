"""Association: how far the dependence between columns of a release is from that of its source.

For each pair of columns Cramér's V (Cramér 1946), without correction for bias, of the table of
their levels (see `levels`), a missing value being one,

    V = √(φ² / (min(r, c) − 1)),  φ² = Σ p_ij² / (p_i p_j) − 1

where r and c count the levels that occur; V is 0 where one of them is 1. Of a release the table is
the expected one: every record is spread over the levels of its labels, each column by itself. Told
is |V of the release − V of the source|, from 0, nothing changed, to 1, and its mean over pairs.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from dbdeid.utility.fidelity.levels import CodedSides, Floats, indicators


def association(found: CodedSides) -> dict[tuple[str, str], float]:
    """The change of each pair of columns, in [0, 1], by their names; nothing of one column."""
    from scipy.sparse import block_diag, csr_matrix, diags

    of_source = indicators(found.source, found.sizes)
    labels = indicators(found.labels, tuple(map(len, found.spreads)))
    spread = csr_matrix(block_diag(found.spreads))
    before = (of_source.T @ of_source).toarray()
    after = (spread.T @ (labels.T @ (diags(found.weights) @ labels)) @ spread).toarray()
    ends = np.cumsum((0, *found.sizes))
    places = [slice(start, end) for start, end in pairwise(ends)]
    names = [c.name for c in found.columns]
    return {
        (names[i], names[j]): abs(
            cramers_v(after[places[i], places[j]]) - cramers_v(before[places[i], places[j]])
        )
        for i, j in combinations(range(len(names)), 2)
    }


def cramers_v(table: Floats) -> float:
    """Cramér's V of a table of counts, which need not be whole; 0 of one level."""
    kept = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    fewer = min(kept.shape)
    if fewer < 2:
        return 0.0
    shares = kept / kept.sum()
    chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(np.sqrt(max(((shares - chance) ** 2 / chance).sum(), 0.0) / (fewer - 1)))
