"""All metrics, in the order in which they are reported."""

from __future__ import annotations

from dbdeid.utility import (
    ambiguity,
    attacks,
    block_entropy,
    class_sizes,
    information_loss,
    kl_divergence,
    loss,
    mutual_information,
    node_entropy,
    nonuniform_entropy,
    reconstruction_error,
    transformation,
)
from dbdeid.utility.common.metric import Metric
from dbdeid.utility.fidelity import (
    association,
    classification,
    cluster_moments,
    conditional_privacy,
    distribution,
    exact_hits,
    moments,
    propensity,
)

CATALOG: tuple[Metric, ...] = (
    loss.METRIC,
    class_sizes.DISCERNIBILITY,
    class_sizes.AVERAGE_CLASS_SIZE,
    transformation.PRECISION,
    transformation.HEIGHT,
    nonuniform_entropy.METRIC,
    ambiguity.METRIC,
    kl_divergence.METRIC,
    block_entropy.METRIC,
    node_entropy.METRIC,
    reconstruction_error.METRIC,
    mutual_information.MUTUAL_INFORMATION,
    mutual_information.ATTACKER_GAIN,
    mutual_information.CLASS_ENTROPY_CHANGE,
    attacks.MINIMALITY,
    attacks.DOWNCODING,
    attacks.INFERENCE,
    information_loss.METRIC,
    moments.METRIC,
    conditional_privacy.METRIC,
    exact_hits.METRIC,
    attacks.MEMBERSHIP,
    attacks.PEOPLE_AT_RISK,
    attacks.COUNTERFEIT_SUSPICION,
    cluster_moments.METRIC,
    distribution.METRIC,
    association.METRIC,
    propensity.METRIC,
    classification.METRIC,
)
