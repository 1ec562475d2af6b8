"""Adult records that live in Tennessee, with the people of the state, by their values.

Of the synthetic Tennessee all people are modelled evenly; of the modelled one they are as the
census and its surveys have them. Ages are 0 to 120, in order like ZIP codes, sexes and races.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from dbdeid.methods.policy.search.measures import Domain
from dbdeid.methods.policy.search.policies import Bits, Cells
from dbdeid.methods.policy.search.safe_harbor import age_starts, zip_starts

AGES = 121
COLUMNS = ("age", "race", "sex", "zip")


def cells(shared: Path, which: str) -> Cells:
    """The cells of the `synthetic` or the `modelled` Tennessee."""
    return _read(shared, which)[0]


@cache
def safe_harbor(shared: Path, which: str) -> Bits:
    """Safe Harbor in this Tennessee."""
    found, zips = _read(shared, which)
    starts = [np.arange(domain.size) for domain in found.domains]
    people = np.bincount(found.codes[-1], found.people, len(zips))
    starts[0] = age_starts(range(AGES))
    starts[-1], _ = zip_starts(zips, np.rint(people).astype(np.int64))
    return found.space.of_starts(starts)


@cache
def _read(shared: Path, which: str) -> tuple[Cells, list[str]]:
    """The cells, and the ZIP codes in their order."""
    folder = shared / "data" / "population"
    with duckdb.connect() as con:
        con.read_parquet(f"{folder}/tn_{which}_population.parquet").create_view("people")
        con.read_parquet(f"{folder}/adult_tn_{which}.parquet").create_view("records")
        found = con.sql("""
            SELECT age, race, sex, zip, sum(n)::BIGINT AS n, sum(g)::BIGINT AS g
            FROM (
              SELECT age, race, sex, zip, 0 AS n, people AS g FROM people
              UNION ALL
              SELECT age, race, sex, zip, 1, 0 FROM records
            )
            GROUP BY ALL
            ORDER BY ALL
        """).fetchnumpy()
    domains, codes = [], []
    for column in COLUMNS:
        values, own = np.unique(np.asarray(found[column]), return_inverse=True)
        if column == "age":
            values, own = np.arange(AGES), np.asarray(found[column])
        domains.append(Domain(column, len(values)))
        codes.append(own.astype(np.int64))
    records, people = (np.asarray(found[name], np.int64) for name in ("n", "g"))
    return Cells(tuple(domains), tuple(codes), records, people), [str(code) for code in values]
