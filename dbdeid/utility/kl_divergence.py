"""Divergence of the source from a written table (Kullback-Leibler; Kifer & Gehrke 2006).

Σ p ln(p/q) in nats over the tuples t of the source, p(t) their share. q is how a reader spreads the
release: each class evenly over the tuples of the domain that it stands for, sizes as in
`ambiguity`, and the suppressed records, as one class, over the whole domain. With class sizes n,
sizes w and N records that is (1/N) [Σ n_t ln n_t + Σ n_E ln(w_E / n_E)]. ARX adds the term of a
tuple once for each of its records, in bits.

Four records a, a, b, c in the classes {a, b} and {c}, of sizes 2 and 1: (2 ln 2 + 3 ln(2/3) +
ln(1/1)) / 4 = 0.0425 nats.
"""

from __future__ import annotations

from dbdeid.engine.expressions import Query
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.metric import Metric, Words
from dbdeid.utility.common.sizes import SizedClasses

METRIC = Metric(
    "kl_divergence",
    Words(
        "KL divergence",
        "How far the table that a reader rebuilds, by spreading each class evenly over the "
        "combinations it may stand for, is from the original, in nats. The removed records are one "
        "class of all combinations. Kifer & Gehrke 2006.",
        "0 (unchanged) upward",
        "lower",
    ),
    families=("generalized",),
    not_of_local="spreads classes that do not overlap",
)


def kl_divergence(
    session: Session, tuples: Query, classes: SizedClasses, source_rows: int
) -> float:
    """The divergence in nats, 0 where the release preserves the distribution.

    Args:
        session: where the tables are.
        tuples: `records` of each distinct tuple of the source.
        classes: the classes of the written table.
        source_rows: records of the source, suppressed ones included.
    """
    tables = {"tuples": tuples, "classes": classes.query}
    values = {"rows": source_rows, "domain": classes.domain}
    return max(float(session.row(step("utility/kl_divergence", tables, values=values))[0]), 0.0)
