"""Whose rows are which, as counts: how many subjects have just the same rows.

Subjects are told apart by their rows alone, and those whose rows are alike are counted together. So
neither a name nor a number of a subject leaves, and of subjects with one row each there come no
more counts than of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as f

from dbdeid.engine import arrow
from dbdeid.engine.warehouse import FIRST, LAST, RECORDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def profiles(rows: DataFrame, subject: str) -> pa.Table:
    """The rows of subjects, as `Warehouse.profiles` gives them.

    Args:
        rows: with the subject of each.
        subject: its column.
    """
    names = [name for name in rows.columns if name != subject]
    cells = [f"c{i}" for i in range(len(names))]  # as any name can be said
    places = dict(zip(names, cells, strict=True)) | {subject: "s"}
    each = rows.toDF(*(places[name] for name in rows.columns))
    counted = each.groupBy("s", *cells).agg(f.count(f.lit(1)).alias("n"))
    # in an order, so that the same rows are the same list
    own = f.sort_array(f.collect_list(f.struct(*cells, "n"))).alias("own")
    found = counted.groupBy("s").agg(own).groupBy("own").agg(f.count(f.lit(1)).alias("people"))
    return _flat(found.toArrow(), names)


def _flat(found: pa.Table, names: list[str]) -> pa.Table:
    """One row for each kind of row of a profile, with the numbers of its subjects."""
    found = found.combine_chunks()
    own = found["own"].combine_chunks() if found.num_rows else _none(found)
    last = np.cumsum(found["people"].to_numpy(), dtype=np.int64)
    first = last - found["people"].to_numpy()
    lengths = np.diff(own.offsets.to_numpy())
    parts = own.flatten().flatten()
    columns = dict(zip(names, parts, strict=False))
    columns[RECORDS] = parts[-1]
    columns[FIRST] = arrow.array(np.repeat(first, lengths))
    columns[LAST] = arrow.array(np.repeat(last, lengths))
    return pa.table(columns)


def _none(found: pa.Table) -> pa.Array:
    return pa.array([], found.schema.field("own").type)
