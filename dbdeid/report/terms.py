"""The words of the report: metrics with definition, range and direction, settings, glossary."""

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
        "Records are synthesized from a random half; the probability that one of that half is "
        "nearer to a synthetic record than one of the other half (AUC).",
        "0.5 (nobody can tell) to 1 (everybody can)",
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

METHODS = {
    "full_domain": "full-domain generalization",
    "counterfeit": "generalization under a ceiling, with counterfeit records",
    "local_recoding": "local recoding: each block of records generalized by itself",
    "condensation": "condensation: synthetic records drawn from clusters of real ones",
    "microaggregation": "microaggregation: quasi-identifiers replaced by the means of groups",
    "policy": "a policy that merges neighbouring values into intervals",
    "relocation": "generalization with moved records, a comparator",
    "external": "a method outside dbdeid",
}

ROLES = {
    "identifier": "identifier",
    "drop": "dropped",
    "quasi_identifier": "quasi-identifier",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
    "synthesize": "synthesized",
}

NULL_POLICIES = {
    "own_category": "A missing value is a value like any other: records that lack it form classes "
    "with each other, not with the rest.",
    "wildcard": "A missing value is taken to match every value when classes are formed.",
    "exclude": "Records with a missing quasi-identifier form no class and are suppressed.",
}

SUPPRESSED = {
    "drop": "Suppressed records are not in the release.",
    "keep": "Suppressed records are released with every quasi-identifier shown as *.",
}

CATALOGS = {
    "pool": "all classes that may have been filled up are told of together, so that who knows the "
    "method suspects each of their records with a sensitive value as much as any other.",
    "paper": "groups as Lee, Kim & Chung 2017 publish them. They hold against those who do not "
    "know the method only: who knows it can tell many counterfeit records for certain, and with "
    "them a person's record from the others.",
    "none": "not published: nobody can tell how many records are counterfeit, and counts from the "
    "release are too large by an unknown number.",
}

RECODINGS = {
    "full_domain": "every column has one level throughout.",
    "borrow": "levels differ class by class; small classes borrow records from large ones.",
}

LOCAL = (
    "local: each class has levels of its own, so that one original value can read differently in "
    "different records, and the records with one released value are not all that it could stand "
    "for. The dictionary says what each released value stands for; where one label names "
    "different values on different levels it is followed by @ and its level."
)

PROMISES = {
    "counterfeits": "number of counterfeit records",
    "h_ceiling": "greatest degree within the ceiling",
    "catalog": "the catalog is consistent",
    "lemma_1": "the records of any class may all be real",
    "candidates": "no record is certainly counterfeit",
    "prosecutor_risk": "prosecutor risk of who knows the method",
    "possible_counterfeits": "classes have room for what the catalog tells",
    "flagged_records": "the known counterfeit records are in the release",
    "catalog_of_flagged": "the catalog counts them",
    "lemma_1_of_flagged": "they could all be real",
    "padding": "only classes smaller than k were filled up",
    "relocation": "moved records",
    "means": "means of the records behind each class",
    "synthetic_records": "as many records as the source",
    "clusters": "the clusters hold the source and the release",
    "strata": "each combination of the strata keeps its records",
    "category_counts": "each cluster keeps its categories",
    "responses": "each cluster keeps its responses",
    "missing_values": "each cluster keeps how much is missing",
    "values": "only values that the source may have",
    "copies": "no more rows of the source than chance explains",
    "copies_in_trial": "rows of the half that was drawn from are about as rare as others",
    "safe_harbor": "HIPAA Safe Harbor, 45 CFR 164.514(b)(2), in columns that tell by name or value "
    "what they are; not inside texts, and no promise about rare records",
}

ACCEPTED = {
    "rows": "rows: an identifier repeats, and still rows are protected, not the people behind them",
    "homogeneity": "homogeneity: all records of a class may share one value, which then is known",
}

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

SEARCH_PARAMETERS = frozenset(
    {
        *("search", "engine", "objective", "time_limit", "transformation"),
        *("algorithm", "diversity_weight", "mondrian", "tail"),
    }
)

# Shown where counterfeit records are, not among the other settings.
PADDING_PARAMETERS = frozenset({"h", "max_counterfeits", "catalog", "recoding", "strict"})

PARAMETERS = {
    "limit": "Most that may be moved",
    "table": "Released table",
    "types": "Types of the original",
}

RISK = (
    ("highest_risk", "Highest risk", "of re-identifying a record of the smallest class"),
    ("average_risk", "Average risk", "of re-identifying a record, over all records"),
    ("unique_records", "Unique records", "alone in their class"),
    ("records_at_risk", "Records at risk", "in classes smaller than k"),
    ("records", "Records", ""),
    ("classes", "Classes", "distinct combinations of quasi-identifiers"),
    ("k", "k", "size of the smallest class"),
)

GLOSSARY = (
    ("Identifier", "A column that names a person by itself. It is never released."),
    (
        "Quasi-identifier",
        "A column that can point to a person together with others, such as age and postal code.",
    ),
    ("Sensitive column", "What a person would not want to be learned, such as a diagnosis."),
    ("Insensitive column", "Released as it is, for the reason its owner gives."),
    (
        "Subject",
        "Whose privacy is protected, such as a patient who may have several records.",
    ),
    (
        "Pseudonym",
        "A keyed hash in place of an identifier. It links the records of one subject, and leads to "
        "nobody without the owner's key.",
    ),
    ("Class", "All records with the same values in every quasi-identifier."),
    (
        "Prosecutor risk",
        "The chance of picking the right record of a person known to be in the table: "
        "one divided by the size of the class.",
    ),
    ("Generalization", "Replacing a value by a broader one, such as 37 by 35–39."),
    (
        "Level",
        "How far a column is generalized: 0 is the original value, the highest level is *.",
    ),
    ("Suppression", "Taking a record out because its class is too small."),
    (
        "Information loss",
        "How much of the detail of the quasi-identifiers is gone, from 0 to 1.",
    ),
)

PADDING_GLOSSARY = (
    (
        "Counterfeit record",
        "A record of nobody, added to a class of fewer than k: the quasi-identifiers of the "
        "class, and other values that were drawn.",
    ),
    (
        "Catalog",
        "A table that says of a group of classes and a sensitive value how many records are "
        "counterfeit, not which.",
    ),
    (
        "Degree",
        "How far a record is generalized: the mean information loss of its quasi-identifiers.",
    ),
    ("Ceiling", "The degree h that no record may exceed."),
    ("Weight", "The probability that a released record is real."),
)

SEARCH_GLOSSARY = (
    ("Transformation", "One choice of a level for every quasi-identifier."),
    ("Lattice", "All transformations, ordered from detailed to general."),
)

QUERY_GLOSSARY = (
    (
        "Relative error",
        "The sum over all groups of |estimate − truth|, divided by the sum of the truths. Of "
        "several aggregates, the mean of theirs.",
    ),
    (
        "Within bounds",
        "The share of the groups of both answers whose true value is within the bounds that the "
        "estimate comes with. Where records were suppressed, counts may be higher by all of them, "
        "and other aggregates have no bounds.",
    ),
    ("Lost group", "A group of the true answer that the estimate does not have."),
    ("Invented group", "A group of the estimate that the true answer does not have."),
)

FRONTIER_RISKS = {
    "population": (
        "Risk",
        "the chance that a record's person is found among the people of its cell, summed over the "
        "records, as a share of what it is without any generalization",
    ),
    "uniques": (
        "Risk",
        "records whose person is the only one in their cell, as a share of those without any "
        "generalization",
    ),
}

FRONTIER_LOSSES = {
    "kl": ("KL divergence", "of the records from what the release says of them"),
    "loss": ("Information loss", "the share of the domain that a released interval covers"),
    "discernibility": ("Discernibility", "the sum of the squared class sizes"),
    "average_class_size": ("Average class size", "records per class"),
    "nonuniform_entropy": (
        "Non-uniform entropy",
        "the bits that it takes to guess the value behind each interval",
    ),
}
