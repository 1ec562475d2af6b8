"""Two registries of cancer with the variables of Gal et al. 2014, simulated: nothing here is real.

The paper's registries are private. Covariates depend on each other weakly, survival on all of them
through a Weibull hazard without interactions; patients are followed for 18 to 90 months.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["colon", "lung"]
STAGES = ("Localized", "Regional", "Distant", "Unknown")


@dataclass(frozen=True, slots=True)
class Registry:
    """What differs between the two.

    Attributes:
        records, seed: of the table that stands for the paper's.
        age: its mean and deviation.
        male: the share of men.
        tobacco: the log-odds of tobacco use of a woman of 66 outside Appalachia.
        stages: the shares of `STAGES`, before covariates.
        hazards: the log hazard ratios of `STAGES`.
        by_age: the log hazard ratio of a year of age.
        shape, scale: of the Weibull survival, in months.
    """

    records: int
    seed: int
    age: tuple[float, float]
    male: float
    tobacco: float
    stages: tuple[float, ...]
    hazards: tuple[float, ...]
    by_age: float
    shape: float
    scale: float


REGISTRIES: dict[Kind, Registry] = {
    "colon": Registry(
        9552, 20040101, (66.5, 13), 0.50, -0.2, (0.38, 0.36, 0.20, 0.06), (0, 0.75, 2.1, 0.95),
        0.035, 0.75, 360.0,
    ),
    "lung": Registry(
        17_421, 20040102, (67, 11), 0.57, 1.6, (0.17, 0.24, 0.53, 0.06), (0, 0.65, 1.35, 0.9),
        0.022, 0.85, 62.0,
    ),
}  # fmt: skip


def registry(kind: Kind, records: int | None = None, seed: int | None = None) -> pd.DataFrame:
    """The records of a registry: the same for the same seed.

    Args:
        kind: of cancer.
        records: how many; None: as many as the table of this kind has.
        seed: of the draws; None: that of the table.
    """
    import pandas as pd

    own = REGISTRIES[kind]
    n = own.records if records is None else records
    rng = np.random.default_rng(own.seed if seed is None else seed)
    age = np.clip(np.round(rng.normal(*own.age, n)), 18, 100).astype(int)
    male = rng.random(n) < own.male
    race = rng.choice(["White", "Black", "Other"], n, p=[0.925, 0.065, 0.01])
    appalachia = (rng.random(n) < 0.30) & (race != "Black") | (rng.random(n) < 0.05)
    odds = own.tobacco + 0.45 * appalachia + 0.35 * male - 0.012 * (age - 66)
    tobacco = rng.random(n) < 1 / (1 + np.exp(-odds))
    payor = _payors(rng, age, appalachia)
    stage = _stages(rng, own, age, payor, appalachia, tobacco)
    hazard = (
        np.take(own.hazards, stage) + own.by_age * (age - 66) + 0.10 * male
        + 0.12 * (race == "Black") + 0.05 * appalachia + 0.08 * tobacco
        + 0.12 * (payor == "Federal") + 0.22 * (payor == "Uninsured")
    )  # fmt: skip
    time = own.scale * (-np.log(rng.random(n)) / np.exp(hazard)) ** (1 / own.shape)
    followed = rng.uniform(18, 90, n)
    lost = np.where(rng.random(n) < 0.04, rng.uniform(1, 90, n), np.inf)
    followed = np.minimum(followed, lost)
    return pd.DataFrame(
        {
            "VitalStat": np.where(time <= followed, 0, 1),
            "SurvInterval": np.floor(np.minimum(time, followed)).astype(int),
            "DiagAge": age,
            "Gender": np.where(male, "M", "F"),
            "Race": race,
            "Stage": np.array(STAGES)[stage],
            "Appalachia": np.where(appalachia, "yes", "no"),
            "TobaccoUse": np.where(tobacco, "yes", "no"),
            "PrimaryPayor": payor,
        }
    )


def _payors(
    rng: np.random.Generator, age: NDArray[np.int64], appalachia: NDArray[np.bool_]
) -> NDArray[np.str_]:
    """Federal mostly by age, uninsured more among the young and in Appalachia."""
    drawn = rng.random(len(age))
    federal = 0.2 + 0.75 / (1 + np.exp(-(0.28 * (age - 64) + 0.2 * appalachia)))
    none = np.where(age < 65, 0.09 + 0.06 * appalachia, 0.006)
    insured = np.where(drawn < none + federal * (1 - none), "Federal", "Private")
    return np.where(drawn < none, "Uninsured", insured)


def _stages(
    rng: np.random.Generator,
    own: Registry,
    age: NDArray[np.int64],
    payor: NDArray[np.str_],
    appalachia: NDArray[np.bool_],
    tobacco: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The stage depends weakly on who pays, on Appalachia and on tobacco."""
    weights = np.log(own.stages)[None] + np.zeros((len(age), 4))
    weights[:, 2] += 0.35 * (payor == "Uninsured") + 0.12 * appalachia + 0.10 * tobacco
    weights[:, 3] += 0.03 * (age - 66)
    shares = np.exp(weights)
    shares /= shares.sum(1, keepdims=True)
    found: NDArray[np.int64] = (rng.random(len(age))[:, None] > shares.cumsum(1)).sum(1)
    return found.clip(0, 3)
