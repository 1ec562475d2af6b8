"""Reconstruction error (RCE) of a written table (after Lee, Kim & Chung 2017), for discrete cells.

A reader spreads a record's cell evenly over the v values that its released value stands for (the
leaves below it), and believes with probability p that the record is real: 1 outside of counterfeit
releases. The error of the cell is the squared distance of this guess from the value itself, as far
as the cell's own v values matter: 1 - 2p/v + p²/v. A record's error is the mean over its columns.
Over all records of the source, with M columns,

    RCE = (1/N) [Σ_real (1/M) Σ_a (1 - 2p/v_a + p²/v_a) + Σ_counterfeit (1/M) Σ_a p²/v_a + removed]

A removed record counts 1. A counterfeit record counts as much as the reader believes in it: the
paper leaves that out, so that counterfeits would cost nothing. Its formula is one integral over all
columns together; with seven columns that is next to 1 whatever is released, and of a value released
as it is it does not exist, so columns are averaged here. Columns weigh the same.

Two values are told: `reconstruction_error` over the quasi-identifiers and the sensitive columns
(each of which is released as it is: v = 1), and `reconstruction_error.quasi_identifiers` over the
quasi-identifiers alone.

Two records with one quasi-identifier, released as a value that stands for 4, err by 1 - 1/4 each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dbdeid.engine.expressions import Expr, Query, aliased, cast, coalesce, column, list_of, literal
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows
from dbdeid.utility.common.metric import Metric, Words
from dbdeid.utility.common.sizes import Sizes, classes_of

METRIC = Metric(
    "reconstruction_error",
    Words(
        "Reconstruction error",
        "How far, on average over cells, a reader's guess is from the original value who spreads "
        "each cell evenly over the v values that it may stand for: 1 − 1/v, the squared distance, "
        "over the quasi-identifiers and the sensitive columns (v = 1). A removed record counts 1; "
        "a record that is real with probability p counts 1 − 2p/v + p²/v, a counterfeit one p²/v. "
        "After Lee, Kim & Chung 2017.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    families=("generalized", "local", "padded", "external"),
)


class ReconstructionError(NamedTuple):
    """The error with and without the sensitive columns, 0 where the release reveals everything."""

    whole: float
    quasi_identifiers: float


def reconstruction_error(
    session: Session,
    released: Rows,
    sizes: Sizes,
    names: Sequence[str],
    source_rows: int,
    *,
    sensitive: int,
    weight: str | None = None,
    flagged: Relation | None = None,
) -> ReconstructionError:
    """The reconstruction error of a written table.

    Args:
        session: where it is.
        released: the table; a weighted one where records may be counterfeit.
        sizes: of each quasi-identifier the `size` of each `label`, the leaves below it; a label
            without a size tells nothing.
        names: the released columns in the order of a flagged record, without the weight.
        source_rows: records of the source, suppressed ones included, counterfeit ones not.
        sensitive: how many columns are sensitive.
        weight: the column of `released` with the probability that a record is real; None: all are.
        flagged: the counterfeit records: `record`, the texts of the released columns, and
            `counterfeits`, how many such records are counterfeit; None: there are none.
    """
    sorts = _sorts(released, sizes, names, weight, flagged)
    told, plain = session.row(step("utility/reconstruction_error", {"sorts": sorts}))
    columns = len(sizes)
    whole = (float(told) + sensitive * float(plain)) / (columns + sensitive)
    return ReconstructionError(1 - whole / source_rows, 1 - float(told) / columns / source_rows)


def _sorts(
    released: Rows,
    sizes: Sizes,
    names: Sequence[str],
    weight: str | None,
    flagged: Relation | None,
) -> Query:
    certain = cast(literal(1), "DOUBLE")
    parts = [aliased(column(weight, "released") if weight else certain, "weight")]
    if flagged is not None:
        texts = (cast(column(name, "released"), "VARCHAR") for name in names)
        parts.append(aliased(list_of(*texts), "record"))
    query, found = classes_of(released, sizes, parts)
    counterfeits: Expr = literal(0)
    if flagged is not None:
        same = column("record", "class").eq(column("record", "flagged"))
        table = flagged.aliased("flagged")
        query = query.join(table, on=same, join_type="left")
        counterfeits = coalesce(column("counterfeits", "flagged"), counterfeits)
    told: Expr = literal(0.0)
    for size in found:
        told += coalesce(literal(1) / size, literal(0))
    return query.select(
        column("weight", "class"),
        aliased(counterfeits, "counterfeits"),
        aliased(told, "told"),
    )
