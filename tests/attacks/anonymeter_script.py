"""The attacks of anonymeter on CSV files; runs where anonymeter is installed, not dbdeid.

Called with the files of the originals, the hold-out and the release; prints for each attack how
often it succeeds on the originals and on the hold-out, with the half width of its interval.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

ATTACKS = 300
CONFIDENCE = 0.9999
SECRETS = ("DzClass", "Income")


def told(evaluator: Any) -> dict[str, list[float]]:
    found = evaluator.results(confidence_level=CONFIDENCE)
    rates = {"attack": found.attack_rate, "control": found.control_rate}
    return {name: [float(rate.value), float(rate.error)] for name, rate in rates.items()}


def main(original: str, held_out: str, released: str) -> None:
    warnings.filterwarnings("ignore")
    np.random.seed(7)
    sides = {"ori": original, "control": held_out, "syn": released}
    tables = {name: pd.read_csv(path) for name, path in sides.items()}
    columns = list(tables["ori"].columns)
    found = {}
    singling = SinglingOutEvaluator(**tables, n_attacks=ATTACKS, n_cols=5)
    found["singling_out"] = told(singling.evaluate(mode="multivariate"))
    parts = (columns[::2], columns[1::2])
    linking = LinkabilityEvaluator(**tables, n_attacks=ATTACKS, aux_cols=parts, n_neighbors=1)
    found["linkability"] = told(linking.evaluate(n_jobs=1))
    for secret in SECRETS:
        known = [c for c in columns if c != secret]
        inferring = InferenceEvaluator(
            **tables, n_attacks=ATTACKS, secret=secret, aux_cols=known, regression=False
        )
        found[f"inference of {secret}"] = told(inferring.evaluate(n_jobs=1))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
