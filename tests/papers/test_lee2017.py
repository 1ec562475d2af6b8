"""Lee, Kim & Chung (2017) on Adult: what the published method, its repair and borrowing reach.

30,162 records; age, sex, race, marital status, education, native country and work class are our
reading of the paper's seven quasi-identifiers, occupation is sensitive.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd
import pytest
import tiers
from attack import Attack, attack

import dbdeid
from dbdeid.papers.common.data import Data
from dbdeid.papers.lee2017 import what_of
from dbdeid.release.result import RunResult

QUASI_IDENTIFIERS = (
    *("sex", "age", "race", "marital_status", "education", "native_country", "workclass"),
)
QUERY = "SELECT {0}, count(*) FROM adult WHERE occupation = 'Sales' GROUP BY {0}"


@dataclass
class Made:
    """A release, what is asked of it in another file, and its export."""

    result: RunResult
    asked: Path
    file: Path

    @cached_property
    def counts(self) -> list[dict[str, Any]]:
        """The counts of sales, by each quasi-identifier."""
        found: list[dict[str, Any]] = dbdeid.evaluate(self.asked)["queries"]["queries"]
        return found

    @property
    def errors(self) -> dict[str, float]:
        """Of counts of sales, the mean over groups."""
        return {q["name"]: q["mean_group_error"] for q in self.counts}

    @property
    def sums(self) -> dict[str, float]:
        """Of counts of sales, over all groups."""
        return {q["name"]: q["relative_error"] for q in self.counts}

    @property
    def error(self) -> float:
        """The reconstruction error over the quasi-identifiers."""
        return self.result.metrics["reconstruction_error.quasi_identifiers"]

    @property
    def node(self) -> str:
        """The levels in the order in which the figures name them."""
        order = ("age", "sex", *QUASI_IDENTIFIERS[2:])
        return "".join(str(self.result.transformation[name]) for name in order)

    def attacked(self) -> Attack:
        """The attack of someone who knows that only small classes were padded."""
        assert self.result.padding is not None
        release = pd.read_parquet(self.file)
        catalog = pd.read_parquet(self.file.with_name("adult_catalog.parquet"))
        size = self.result.padding["size"]
        return attack(release, catalog, QUASI_IDENTIFIERS, "occupation", size)


Make = Callable[..., Made]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Each release of Adult once."""
    done: dict[str, Made] = {}
    folder = tmp_path_factory.mktemp("lee")
    (folder / "queries").mkdir()
    for name in QUASI_IDENTIFIERS:
        (folder / "queries" / f"{name}.sql").write_text(QUERY.format(name))

    def made(k: int, seed: int = 2**70, **method: Any) -> Made:
        key = repr((k, seed, sorted(method.items())))
        if key not in done:
            place = folder / str(len(done))
            place.mkdir()
            done[key] = run(folder, place, k, seed, method)
        return done[key]

    return made


def run(folder: Path, place: Path, k: int, seed: int, method: dict[str, Any]) -> Made:
    spec = what_of(Data(), "30,162 rows", folder) | {
        "release": "adult",
        "target": f"{place.name}/adult.duckdb",
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": method,
        "evaluate": {"metrics": ["reconstruction_error"]},
        "output": {"export": [f"{place.name}/adult.parquet"]},
        "seed": seed,
    }
    file = folder / f"{place.name}.json"
    file.write_text(json.dumps(spec))
    result = dbdeid.run(file)
    assert result.verified
    asked = folder / f"{place.name}.asked.json"
    asked.write_text(json.dumps(spec | {"evaluate": {"queries": "queries/*.sql", "metrics": []}}))
    return Made(result, asked, place / "adult.parquet")


PADDED = {"name": "counterfeit", "h": 0.3}
FEWEST = {**PADDED, "objective": "counterfeits"}
BORROWED = {"name": "counterfeit", "recoding": "borrow"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("h", "k", "node", "counterfeits", "loss", "error"),
    [
        (0.3, 5, "4000211", 895, 0.275, 0.494),
        (0.3, 3, "4000211", 360, 0.275, 0.491),
        (0.3, 10, "4000211", 2478, 0.275, 0.500),
        (0.25, 5, "2001211", 1593, 0.207, 0.578),
        (0.35, 5, "3001311", 442, 0.312, 0.592),
    ],
)
def test_fewest_counterfeits_under_a_ceiling(
    make: Make, h: float, k: int, node: str, counterfeits: int, loss: float, error: float
) -> None:
    made = make(k, **{**FEWEST, "h": h})
    assert made.node == node
    assert made.result.counterfeit_rows == counterfeits
    assert made.result.loss == pytest.approx(loss, abs=5e-4)
    assert made.error == pytest.approx(error, abs=2e-3)


@pytest.mark.full
@pytest.mark.parametrize("k", [5, 10])
def test_a_ceiling_keeps_what_k_anonymity_without_suppression_loses(make: Make, k: int) -> None:
    plain = make(k, name="full_domain")
    assert {3: "4010222", 5: "4001322", 10: "4001322"}[k] == plain.node
    fewest, sharpest = make(k, **FEWEST), make(k, **PADDED)
    assert max(fewest.result.loss, sharpest.result.loss) <= 0.30
    assert max(fewest.result.loss, sharpest.result.loss) <= 0.5 * plain.result.loss
    assert fewest.error <= 0.88 * plain.error
    if k < 10:
        assert sharpest.error <= 0.60 * plain.error
    assert sharpest.result.counterfeit_rows <= 0.10 * 30_162


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [5, 3, 10])
def test_who_knows_the_method_identifies_nobody_in_a_pool(make: Make, k: int) -> None:
    for method in tiers.some((FEWEST, PADDED), 2):
        found = make(k, **method).attacked()
        assert found.certain == 0
        assert found.lemma_violations == 0
        assert found.risk <= 1.10 / k


@pytest.mark.full
def test_who_knows_the_method_identifies_counterfeits_of_the_paper(make: Make) -> None:
    made = make(5, **FEWEST, catalog="paper")
    assert made.node == "4000211"
    found = made.attacked()
    assert found.lemma_violations == 0
    assert found.certain >= 0.05 * made.result.counterfeit_rows
    assert found.risk == pytest.approx(1.0)
    assert any("who knows it" in warning for warning in made.result.warnings)


@pytest.mark.full
def test_weights_answer_better_than_records(make: Make) -> None:
    """Over draws: a group of one person decides a mean over groups by what is drawn for it."""
    seeds = [2**70 + n for n in range(3)]
    pools = [make(5, seed=seed, **FEWEST) for seed in seeds]
    raw = [make(5, seed=seed, **FEWEST, catalog="none") for seed in seeds]
    for name in ("sex", "race", "marital_status"):
        assert mean(m.errors[name] for m in pools) <= mean(m.errors[name] for m in raw)
        assert all(p.sums[name] <= r.sums[name] for p, r in zip(pools, raw, strict=True))
    plain = make(5, name="full_domain")
    assert all(m.errors["workclass"] <= 0.8 * plain.errors["workclass"] for m in pools)


@pytest.mark.full
@pytest.mark.parametrize(("h", "k", "most"), [(0.3, 5, 45), (0.25, 5, 210)])
def test_borrowing_needs_almost_no_counterfeits(make: Make, h: float, k: int, most: int) -> None:
    made = make(k, **BORROWED, h=h)
    assert made.result.counterfeit_rows <= most
    assert made.result.loss <= 0.18
    assert made.error <= 0.22
    assert made.result.padding is not None
    assert made.result.padding["degree"] <= h + 1e-9
    assert made.attacked().certain == 0
    assert made.attacked().risk <= 1.10 / k


@pytest.mark.full
def test_strict_bounds_the_risk_by_one_in_k(make: Make) -> None:
    made = make(5, **FEWEST, strict=True)
    assert made.result.padding is not None
    assert made.result.padding["size"] > 5
    assert made.attacked().risk <= 1 / 5 + 1e-12
