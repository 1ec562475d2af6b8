"""The words of the metrics: title, definition, range and direction."""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """How a metric reads: its title, definition, range, and which direction is better."""

    title: str
    definition: str
    range: str
    better: str


METRICS = {
    "loss": Metric(
        "Information loss",
        "Mean over all cells of the quasi-identifiers of the share of the hierarchy's values that "
        "the released label covers beyond its own: (leaves − 1) / (all leaves − 1). A removed "
        "record counts 1 in every cell. Iyengar 2002.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    "discernibility": Metric(
        "Discernibility",
        "Sum of the squared class sizes; each suppressed record adds the number of all source "
        "records. Bayardo & Agrawal 2005.",
        "number of records to its square",
        "lower",
    ),
    "average_class_size": Metric(
        "Average class size",
        "Records divided by classes; all suppressed records together count as one class. "
        "LeFevre et al. 2006, as ARX counts.",
        "1 to the number of records",
        "lower",
    ),
    "precision": Metric(
        "Precision",
        "Mean over the quasi-identifiers of level divided by height; suppression is not counted. "
        "One minus the precision of Sweeney 2002, as ARX reports it.",
        "0 (unchanged) to 1 (all at the top)",
        "lower",
    ),
    "height": Metric(
        "Height",
        "Sum of the generalization levels over the quasi-identifiers. Samarati 2001.",
        "0 to the sum of the heights of the hierarchies",
        "lower",
    ),
    "nonuniform_entropy": Metric(
        "Non-uniform entropy",
        "Of the bits that tell the values of the quasi-identifiers apart, the share that is gone "
        "for a reader who knows how often each value occurs. A removed record loses all of its "
        "bits. De Waal & Willenborg 1999; Gionis & Tassa 2009.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    "block_entropy": Metric(
        "Block entropy",
        "Sum over the quasi-identifiers of the entropy of the original values inside a class, on "
        "average over all records: how classes mix values. A removed record has the entropy of "
        "the whole column. Yoo, Shin & Lee 2012.",
        "0 bits (unchanged) to the sum of the columns' entropies",
        "lower",
    ),
    "node_entropy": Metric(
        "Node entropy",
        "Sum over the quasi-identifiers of the bits that a released value leaves open for a "
        "reader who knows how often each value occurs, on average over all records. A removed "
        "record leaves the whole column open.",
        "0 bits (unchanged) to the sum of the columns' entropies",
        "lower",
    ),
    "ambiguity": Metric(
        "Ambiguity",
        "How many combinations of original values a record may stand for, on average over all "
        "records. A removed record may be any of the domain. Goldberger & Tassa 2010.",
        "1 (unchanged) to the combinations of the domain",
        "lower",
    ),
    "kl_divergence": Metric(
        "KL divergence",
        "How far the table that a reader rebuilds, by spreading each class evenly over the "
        "combinations it may stand for, is from the original, in nats. The removed records are one "
        "class of all combinations. Kifer & Gehrke 2006.",
        "0 (unchanged) upward",
        "lower",
    ),
    "reconstruction_error": Metric(
        "Reconstruction error",
        "How far, on average over cells, a reader's guess is from the original value who spreads "
        "each cell evenly over the v values that it may stand for: 1 − 1/v, the squared distance, "
        "over the quasi-identifiers and the sensitive columns (v = 1). A removed record counts 1; "
        "a record that is real with probability p counts 1 − 2p/v + p²/v, a counterfeit one p²/v. "
        "After Lee, Kim & Chung 2017.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    "mutual_information": Metric(
        "Mutual information",
        "Bits that the quasi-identifiers of the release tell of the sensitive column, on average "
        "over all records: its use for explaining that column. The removed records are one class.",
        "0 to the entropy of the column",
        "higher for use, lower for privacy",
    ),
    "attacker_gain": Metric(
        "Attacker's gain",
        "Mutual information as a share of the entropy of the sensitive column: how much of what "
        "there is to know someone learns on average who knows the class of a person.",
        "0 (nothing) to 1 (everything)",
        "lower",
    ),
    "minimality": Metric(
        "Read from how it was made",
        "People whose sensitive value someone reads rightly who knows the method, the "
        "specification and everybody's quasi-identifiers, because classes that were not released "
        "must have failed the models; claimed: of how many people a value is claimed. Wong, Fu, "
        "Wang & Pei 2007.",
        "0 to the number of people",
        "lower",
    ),
    "downcoding": Metric(
        "Downcoded cells",
        "Share of the generalized cells that are rightly replaced by a value one level lower by "
        "someone who knows the method, the hierarchies and which values there are, because a label "
        "would be narrower if it could; which record of the class it is stays open. Attempted: the "
        "share that is tried. Cohen 2022.",
        "0 to 1",
        "lower",
    ),
    "inference": Metric(
        "Learned from the release",
        "How many more of the released people's sensitive values someone guesses who learns from "
        "the whole release which values go with which quasi-identifiers, than by the most frequent "
        "value of the class; the most of a column. Right, by class and by all: shares of right "
        "guesses with what was learned, by the class, by the most frequent value of all; surest: "
        "of the 1 % and 5 % of whom the guess is surest. Kifer 2009; Cormode 2011.",
        "-1 to 1, 0 where the release teaches no more than its classes",
        "lower",
    ),
    "information_loss": Metric(
        "Information loss",
        "How far numbers lie from the means that replace them: the squares, as a share of those "
        "around the mean of each column (SSE / SST), averaged over the columns. Domingo-Ferrer & "
        "Mateo-Sanz 2002.",
        "0 to 100 percent",
        "lower",
    ),
    "moments": Metric(
        "Moments",
        "How far mean and median of the numbers that are released are from those of the source, in "
        "standard deviations of the source, and their sum, as a share of the sum of magnitudes; "
        "the mean over columns and these three.",
        "0 (unchanged) upward",
        "lower",
    ),
    "conditional_privacy": Metric(
        "Conditional privacy",
        "Π(A|B) / Π(A) with Π = 2^entropy: how much of what was unknown of an original value is "
        "still unknown to someone who knows a synthetic value of the same cluster; the mean over "
        "the columns. The absolute one is Π(A|B), in the unit of its column. Agrawal & Aggarwal "
        "2001; Gal et al. 2014.",
        "above 0 (all is known) to 1 (nothing is learned)",
        "higher",
    ),
    "exact_hits": Metric(
        "Exact hits",
        "Share of the released rows that equal a row of the source; of few columns, many do by "
        "chance. Unique: those that equal one which no other row equals.",
        "0 to 1",
        "lower",
    ),
    "cluster_moments": Metric(
        "Moments of clusters",
        "How far the means, or the covariances, of the synthetic records of a cluster are from "
        "those of its original ones, as a root mean square over clusters and columns, in standard "
        "deviations of the source. Drawing alone brings about 1/√k of what a cluster spreads.",
        "0 (kept exactly) upward",
        "lower",
    ),
    "membership": Metric(
        "Membership attack",
        "Records are synthesized from random halves; the probability that one of a half looks "
        "liker a member than one of the other (AUC), to who knows the method and makes such "
        "releases too, or by distance where that tells more. Of outliers: the 5 % farthest from "
        "any other record. True positives: members told where 1 % of others are called so.",
        "0.5 (nobody can tell) to 1 (everybody can)",
        "lower",
    ),
    "counterfeit_suspicion": Metric(
        "Suspicion of counterfeits",
        "The probability that a counterfeit record is more suspicious than a real one of the "
        "classes that may be padded (AUC), to who learns from the release which values go with "
        "which quasi-identifiers (Kifer 2009). Among the 5 % most suspicious: how many are "
        "counterfeit. Success: how often the least suspicious record of a class is a given "
        "person's; surest: of the 5 % of classes where that is likeliest.",
        "0.5 (nobody can tell) to 1 (everybody can)",
        "lower",
    ),
    "people_at_risk": Metric(
        "People at risk",
        "How many people the membership attack is expected to name as members, four in five of "
        "those named rightly (half would be by guessing); of them outliers.",
        "0 to the records of the source",
        "lower",
    ),
    "distribution": Metric(
        "Distributions",
        "How far each column is distributed from the source, every generalized value spread evenly "
        "over what it stands for: of categories the total variation, of numbers and dates the "
        "earth mover's distance as a share of the range of the source; the mean over the released "
        "columns. What is missing is a value too; removed records are simply missing.",
        "0 (unchanged) to 1",
        "lower",
    ),
    "association": Metric(
        "Associations",
        "How far Cramér's V of each pair of columns is from that in the source, numbers in at most "
        "ten bins; of generalized values the expected table is taken. The mean over the pairs.",
        "0 (unchanged) to 1",
        "lower",
    ),
    "propensity": Metric(
        "Propensity",
        "How well a logistic model tells released records from those of the source, pMSE / c(1 − "
        "c); what a generalized value stands for is drawn. The ratio is pMSE by what the source "
        "drawn anew would have: 1 is chance. Woo et al. 2009; Snoke et al. 2018.",
        "0 (nothing tells them apart) to 1 (all are told)",
        "lower",
    ),
    "classification": Metric(
        "Classification",
        "Balanced accuracy that is lost, on records of the source, where a logistic model of a "
        "sensitive column is trained on the release instead of the source (train on synthetic, "
        "test on real; cross-validated). The mean over the columns; without sensitive ones, of "
        "all that are categories. In detail both accuracies, and those of the most frequent class.",
        "about 0 (as good) to 1 − 1 / classes",
        "lower",
    ),
    "class_entropy_change": Metric(
        "Class entropy change",
        "Bits by which the sensitive column is less certain given the class of the release than "
        "given the original quasi-identifiers: information for classifying that was lost. Fung, "
        "Wang & Yu 2007.",
        "0 (nothing lost) to the entropy of the column",
        "lower",
    ),
}
