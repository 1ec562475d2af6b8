"""How many members of the population are unique, estimated from a sample's class histogram.

Dankar, El Emam, Neisa & Roffey 2012, "Estimating the re-identification risk of clinical data sets",
BMC Medical Informatics and Decision Making 12:66, compare the estimators and choose among them by
the sampling fraction; ARX 3.9 does so too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dbdeid.data.json import JsonObject, plain
from dbdeid.privacy.risk import pitman, slide_binomial
from dbdeid.privacy.risk.risk import SizeCount

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Model = Literal["pitman", "zayatz", "snb"]

SMALL = 0.1  # the fraction up to which Pitman's model is preferred


@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """Shares of the population that are unique, by several models.

    Attributes:
        sampling_fraction: share of the population that the sample holds.
        population: its members.
        sample_uniqueness: share of the sample that is unique in it.
        pitman, zayatz, snb: estimates; None where a model does not fit the sample.
        dankar: the estimate that ARX chooses by the rule of Dankar et al.: up to a fraction of 0.1
            Pitman's or else Zayatz's, above it the smaller of Zayatz's and SNB's. It takes no
            SNB where its own solver finds none (`slide_binomial`).
        model: the model it is of; None where nobody is unique.
        dankar_solved: the same rule, with SNB wherever its equations have a solution.
        model_solved: the model that this is of.
    """

    sampling_fraction: float
    population: int
    sample_uniqueness: float
    pitman: float | None
    zayatz: float
    snb: float | None
    dankar: float
    model: Model | None
    dankar_solved: float
    model_solved: Model | None

    def to_dict(self) -> JsonObject:
        """The estimates as JSON shows them."""
        return plain(self)


def estimate(histogram: Sequence[SizeCount], fraction: float) -> PopulationUniqueness:
    """The uniqueness of a population by the class histogram of a sample of it.

    The models are of people with one record each, in classes that do not overlap.
    """
    import numpy as np

    sizes = np.array([size.class_size for size in histogram], dtype=np.int64)
    classes = np.array([size.classes for size in histogram], dtype=np.int64)
    return population_uniqueness(sizes, classes, fraction)


def sample_uniqueness(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> float:
    """Share of the records that are alone in their class; 0 for an empty table."""
    records = int(sizes @ classes)
    return int(classes[sizes == 1].sum()) / records if records else 0.0


def population_uniqueness(
    sizes: NDArray[np.int64], classes: NDArray[np.int64], fraction: float
) -> PopulationUniqueness:
    """The uniqueness of a population of which the given classes are a sample.

    Args:
        sizes: class sizes of the sample, ascending and distinct.
        classes: how many classes have each size.
        fraction: share of the population that was sampled, in (0, 1].
    """
    records = int(sizes @ classes)
    population = int(records / fraction + 0.5)
    seen = sample_uniqueness(sizes, classes)
    if not seen:
        return PopulationUniqueness(fraction, population, 0.0, 0.0, 0.0, 0.0, 0.0, None, 0.0, None)
    exact = records / population

    def share(uniques: float | None) -> float | None:
        return uniques / population if uniques and 0 < uniques <= population else None

    certain = zayatz(sizes, classes, population)
    by_pitman = share(pitman.population_uniques(sizes, classes, population))
    snb = share(slide_binomial.population_uniques(sizes, classes, exact))
    theirs = None
    if exact > SMALL:
        found = slide_binomial.population_uniques_of_arx(sizes, classes, exact)
        theirs = found / population if found else None
    chosen = dankar(exact, by_pitman, certain, theirs)
    solved = dankar(exact, by_pitman, certain, snb)
    return PopulationUniqueness(
        fraction, population, seen, by_pitman, certain, snb, *chosen, *solved
    )


def dankar(
    fraction: float, pitman: float | None, zayatz: float, snb: float | None
) -> tuple[float, Model]:
    """The estimate to trust at a sampling fraction, and the model it is of."""
    if fraction <= SMALL:
        return (zayatz, "zayatz") if pitman is None else (pitman, "pitman")
    return (zayatz, "zayatz") if snb is None or zayatz < snb else (snb, "snb")


def zayatz(sizes: NDArray[np.int64], classes: NDArray[np.int64], population: int) -> float:
    """Share of the population that is unique if its classes are as those of the sample.

    Zayatz 1991, "Estimation of the number of unique population elements using a sample", Bureau of
    the Census: by Bayes' rule, the chance that a sample unique is a population unique is the
    chance that a class of one gives one to the sample, among all classes that may give just one.
    """
    import numpy as np

    records = int(sizes @ classes)
    alone = float(classes[sizes == 1].sum())
    if not alone:
        return 0.0
    # the chance that of a class of 1, 2, … members just one is drawn: hypergeometric
    others = np.arange(int(sizes[-1]) - 1, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.maximum(population - records - others, 0) / (population - 1 - others)
    missed = np.nan_to_num(missed)
    chance = sizes * (records / population) * np.concatenate(([1.0], np.cumprod(missed)))[sizes - 1]
    certain = alone * (records / population) / float(classes @ chance)
    return float(alone * certain / records)
