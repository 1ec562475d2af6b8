"""What each privacy model is called, and what it promises, in plain words."""

from __future__ import annotations

MODELS = {
    "k_anonymity": (
        "k-anonymity",
        "Every class has at least k members: nobody stands out from fewer than k − 1 others.",
    ),
    "l_diversity": (
        "l-diversity",
        "The members of every class have at least l different values of the sensitive column; "
        "entropy and recursive l-diversity also ask that none of them is too frequent.",
    ),
    "t_closeness": (
        "t-closeness",
        "In every class the sensitive values are distributed much as in the whole original table: "
        "the distance of the two distributions, from 0 to 1, is at most t.",
    ),
    "alpha_k": (
        "(α, k)-anonymity",
        "Every class has at least k members, and at most the share alpha of them has the same "
        "sensitive value.",
    ),
    "basic_beta": (
        "Basic β-likeness",
        "In no class is a sensitive value more frequent than in the original table by more than "
        "beta times its frequency there.",
    ),
    "enhanced_beta": (
        "Enhanced β-likeness",
        "As basic β-likeness, with a stricter limit for values that are frequent anyway.",
    ),
    "delta_disclosure": (
        "δ-disclosure privacy",
        "Every class has every sensitive value about as often as the original table: the "
        "logarithm of the ratio, to base 2, is below delta.",
    ),
    "em_anonymity": (
        "(ε, m)-anonymity",
        "In every class, around each value of the sensitive column at most 1/m of the members have "
        "a value within plus or minus epsilon: nobody's number can be told to lie in so short an "
        "interval with more certainty than 1/m.",
    ),
    "k_map": (
        "k-map",
        "Every class fits at least k people of a population, whoever of them is in the table.",
    ),
    "delta_presence": (
        "δ-presence",
        "Of the people of a population who fit a class, a share between min and max is in it: "
        "whether a person is in the table at all stays uncertain.",
    ),
    "cluster_size": (
        "cluster size, no formal guarantee",
        "Every synthetic record is drawn from a cluster of at least k real ones. Clusters depend "
        "on the data, so that this is a level of indistinguishability and no formal guarantee.",
    ),
    "max_risk": (
        "Limited risk",
        "The chance of finding a person is at most the threshold: of one known to be in the table "
        "(prosecutor), of anyone of a population (journalist), or of a record on average "
        "(marketer).",
    ),
}
