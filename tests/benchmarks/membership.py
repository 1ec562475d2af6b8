"""Who was in the data of synthetic records: the attack with shadows against the one by distance.

    python tests/benchmarks/membership.py [--seeds N]

Condensation as the product does it, on tables of patients, for several k: AUC by distance, AUC of
likelihood ratios, of outliers, members named at 1 % false positives, people at risk, seconds.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from shown import show

from dbdeid.data.records import Attribute, Recipe, Records
from dbdeid.methods.attacks.membership import trial
from dbdeid.methods.attacks.shadow_releases import shadowed
from dbdeid.methods.condensation.clusters import condense
from dbdeid.papers.common.data import Data
from dbdeid.papers.recipient_tables import TABLES, table

SHARED = Path(__file__).resolve().parents[3] / "shared"
SIZES = (50, 100, 200, 500)


def rotterdam() -> Records:
    """Patients of breast cancer: every column but their number, the event apart."""
    rows = pd.read_parquet(SHARED / "data/survival/r_survival_rotterdam.parquet")
    rows = rows.drop(columns="pid")
    strata, response = rows.pop("death").to_numpy(np.int64), rows.columns.get_loc("dtime")
    assert isinstance(response, int)
    attributes = []
    for name, column in rows.items():
        if column.nunique() <= 3:
            codes = pd.factorize(column, sort=True)[0].astype(float)
            attributes.append(Attribute(str(name), codes, levels=int(codes.max()) + 1))
        else:
            attributes.append(Attribute(str(name), column.to_numpy(float), grid=1.0))
    return Records(tuple(attributes), strata, response)


def attacked(name: str, records: Records, k: int, seeds: int) -> dict[str, Any]:
    made = partial(made_by, Recipe("recipient", k, 0.3))
    distances, found, seconds = [], [], 0.0
    for seed in range(seeds):
        by_distance = trial(records, made, np.random.default_rng([seed, 0]), k=k)
        started = perf_counter()
        by_shadows = shadowed(records, made, np.random.default_rng([seed, 1]), k=k)
        seconds += perf_counter() - started
        if by_distance is None or by_shadows is None:
            return {}
        distances.append(by_distance.auc)
        found.append(by_shadows)

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    return {
        "table": name,
        "k": k,
        "distance": f"{mean(distances):.3f}",
        "shadows": f"{mean([f.everyone.auc for f in found]):.3f}",
        "outliers": f"{mean([f.outliers.auc for f in found]):.3f}",
        "named at 1 %": f"{mean([f.everyone.true_positives for f in found]):.1%}",
        "outliers named": f"{mean([f.outliers.true_positives for f in found]):.1%}",
        "people at risk": f"{mean([f.people_at_risk for f in found]):.0f} of {records.number:,}",
        "outliers at risk": f"{mean([f.outliers_at_risk for f in found]):.0f} of "
        f"{found[0].outlying:,}",
        "seconds": f"{seconds / seeds:.1f}",
    }


def made_by(recipe: Recipe, records: Records, rng: np.random.Generator) -> Any:
    return condense(records, recipe, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    tables = {name: table(Data(SHARED / "data"), name).records(strata=True) for name in TABLES}
    tables["Rotterdam"] = rotterdam()
    rows = [attacked(n, records, k, seeds) for n, records in tables.items() for k in SIZES]
    show(f"membership, means of {seeds} seeds", [row for row in rows if row])


if __name__ == "__main__":
    main()
