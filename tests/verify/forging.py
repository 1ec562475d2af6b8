"""Two tables whose rows have the same sum of hashes: what a digest must tell apart."""

from __future__ import annotations

Row = tuple[str, str]

# How often each of 22 rows is in the one table, or, where negative, in the other. That the sums of
# 64 bits are equal is one linear equation, of which lattice reduction (LLL) finds small solutions
# within a second: half of the MD5 of a row is what was kept once.
FORGED = [2, -2, -2, 3, -1, -2, -5, -2, 2, 0, 3, 1, 3, 3, 4, -1, 1, 2, -5, -1, -2, -1]
SUM_OF_HASHES = "SELECT count(*), sum(md5_number_lower(concat(md5(c0), md5(c1)))::HUGEINT) FROM t"


def forged() -> tuple[list[Row], list[Row]]:
    """As many rows, of the same sum of hashes."""
    true: list[Row] = []
    false: list[Row] = []
    for i, number in enumerate(FORGED):
        (true if number > 0 else false).extend([("20s", f"d{i}")] * abs(number))
    return true, false
