"""Privacy models: one file a model, with a predicate for searching and a step for verifying."""

from __future__ import annotations

from typing import TypeAlias

from dbdeid.privacy.alpha_k import AlphaK
from dbdeid.privacy.beta_likeness import BasicBeta, EnhancedBeta
from dbdeid.privacy.cluster_size import ClusterSize
from dbdeid.privacy.common.counting import ROWS, Counting, NullPolicy
from dbdeid.privacy.common.population import OfPopulation
from dbdeid.privacy.common.sensitive import OfSensitive
from dbdeid.privacy.delta_disclosure import DeltaDisclosure
from dbdeid.privacy.delta_presence import DeltaPresence
from dbdeid.privacy.em_anonymity import EmAnonymity
from dbdeid.privacy.k_anonymity import KAnonymity
from dbdeid.privacy.k_map import KMap
from dbdeid.privacy.km_anonymity import KmAnonymity
from dbdeid.privacy.l_diversity import LDiversity
from dbdeid.privacy.max_risk import MaxRisk
from dbdeid.privacy.t_closeness import TCloseness

__all__ = [
    "MODELS",
    "ROWS",
    "AlphaK",
    "BasicBeta",
    "ClusterSize",
    "Counting",
    "DeltaDisclosure",
    "DeltaPresence",
    "EmAnonymity",
    "EnhancedBeta",
    "KAnonymity",
    "KMap",
    "KmAnonymity",
    "LDiversity",
    "MaxRisk",
    "Model",
    "NullPolicy",
    "OfSensitive",
    "PopulationModel",
    "SensitiveModel",
    "TCloseness",
    "population_of",
]

SensitiveModel: TypeAlias = (
    LDiversity
    | TCloseness
    | AlphaK
    | BasicBeta
    | EnhancedBeta
    | DeltaDisclosure
    | EmAnonymity
    | KmAnonymity
)
PopulationModel: TypeAlias = DeltaPresence | KMap | MaxRisk  # the latter on demand
Model: TypeAlias = KAnonymity | SensitiveModel | PopulationModel | ClusterSize

MODELS: dict[str, type[Model]] = {
    "k_anonymity": KAnonymity,
    "l_diversity": LDiversity,
    "t_closeness": TCloseness,
    "alpha_k": AlphaK,
    "basic_beta": BasicBeta,
    "enhanced_beta": EnhancedBeta,
    "delta_disclosure": DeltaDisclosure,
    "em_anonymity": EmAnonymity,
    "km_anonymity": KmAnonymity,
    "delta_presence": DeltaPresence,
    "k_map": KMap,
    "max_risk": MaxRisk,
    "cluster_size": ClusterSize,
}


def population_of(model: Model) -> str | None:
    """What a model compares a release with, as the spec names it; None where it is nothing."""
    return model.population if isinstance(model, OfPopulation | MaxRisk) else None
