"""What attackers find in a release: what they are after, and how it reads.

The attacks themselves stand with the methods that they are tried on, in `methods/attacks`; what is
told of each is one figure beside the losses. Wong, Fu, Wang & Pei 2007 (minimality), Cohen 2022
(downcoding), Kifer 2009 (inference, and the suspicion of counterfeits).
"""

from __future__ import annotations

from dbdeid.utility.common.metric import Metric, Words

MINIMALITY = Metric(
    "minimality",
    Words(
        "Read from how it was made",
        "People whose sensitive value someone reads rightly who knows the method, the "
        "specification and everybody's quasi-identifiers, because classes that were not released "
        "must have failed the models; claimed: of how many people a value is claimed. Wong, Fu, "
        "Wang & Pei 2007.",
        "0 to the number of people",
        "lower",
    ),
    families=("generalized", "local"),
    sensitive="one",
)
DOWNCODING = Metric(
    "downcoding",
    Words(
        "Downcoded cells",
        "Share of the generalized cells that are rightly replaced by a value one level lower by "
        "someone who knows the method, the hierarchies and which values there are, because a label "
        "would be narrower if it could; which record of the class it is stays open. Attempted: the "
        "share that is tried. Cohen 2022.",
        "0 to 1",
        "lower",
    ),
    families=("generalized", "local"),
)
INFERENCE = Metric(
    "inference",
    Words(
        "Learned from the release",
        "How many more of the released people's sensitive values someone guesses who learns from "
        "the whole release which values go with which quasi-identifiers, than by the most frequent "
        "value of the class; the most of a column. Right, by class and by all: shares of right "
        "guesses with what was learned, by the class, by the most frequent value of all; surest: "
        "of the 1 % and 5 % of whom the guess is surest. Kifer 2009; Cormode 2011.",
        "-1 to 1, 0 where the release teaches no more than its classes",
        "lower",
    ),
    families=("generalized", "local"),
    on_request=True,
    sensitive="one",
)
MEMBERSHIP = Metric(
    "membership",
    Words(
        "Membership attack",
        "Records are synthesized from random halves; the probability that one of a half looks "
        "liker a member than one of the other (AUC), to who knows the method and makes such "
        "releases too, or by distance where that tells more. Of outliers: the 5 % farthest from "
        "any other record. True positives: members told where 1 % of others are called so.",
        "0.5 (nobody can tell) to 1 (everybody can)",
        "lower",
    ),
    families=("synthetic",),
    parts=("distance", "true_positives", "outliers", "outliers.true_positives"),
)
PEOPLE_AT_RISK = Metric(
    "people_at_risk",
    Words(
        "People at risk",
        "How many people the membership attack is expected to name as members, four in five of "
        "those named rightly (half would be by guessing); of them outliers.",
        "0 to the records of the source",
        "lower",
    ),
    families=("synthetic",),
    parts=("outliers",),
)
COUNTERFEIT_SUSPICION = Metric(
    "counterfeit_suspicion",
    Words(
        "Suspicion of counterfeits",
        "The probability that a counterfeit record is more suspicious than a real one of the "
        "classes that may be padded (AUC), to who learns from the release which values go with "
        "which quasi-identifiers (Kifer 2009). Among the 5 % most suspicious: how many are "
        "counterfeit. Success: how often the least suspicious record of a class is a given "
        "person's; surest: of the 5 % of classes where that is likeliest.",
        "0.5 (nobody can tell) to 1 (everybody can)",
        "lower",
    ),
    families=("padded",),
)
