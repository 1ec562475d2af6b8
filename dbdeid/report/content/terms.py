"""The words of the report: settings, glossary."""

from __future__ import annotations

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
# Those that release every record, as the records are or in their place.
TAKES_NONE_OUT = ("local_recoding", "policy", "condensation", "microaggregation")

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
    "possible_values": "no counterfeit record has values that exclude each other",
    "impossible_combinations": "no counterfeit record has values that were declared impossible",
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
    "copies": "copies of rows of the source stay within the limit that a trial sets",
    "copies_in_trial": "rows of the half that was drawn from come back at most 1.5 times as often "
    "as others, and 2/k of them more, within four standard deviations",
    "safe_harbor": "HIPAA Safe Harbor, 45 CFR 164.514(b)(2), in columns that tell by name or value "
    "what they are; not inside texts, and no promise about rare records",
}

ACCEPTED = {
    "rows": "rows: an identifier repeats, and still rows are protected, not the people behind them",
    "homogeneity": "homogeneity: all records of a class may share one value, which then is known",
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
    (
        "highest_risk",
        "Highest risk",
        "of re-identifying a record of the smallest class, by its quasi-identifiers alone",
    ),
    ("average_risk", "Average risk", "of the same, over all records"),
    ("unique_records", "Unique records", "alone in their class, by the quasi-identifiers alone"),
    (
        "records_at_risk",
        "Records at risk",
        "in classes smaller than k, by the quasi-identifiers alone",
    ),
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
    (
        "Insensitive column",
        "Released unchanged, for the reason its owner gives. Nothing checks that reason.",
    ),
    (
        "Homogeneity",
        "All records of a class have one sensitive value: whoever knows the quasi-identifiers of a "
        "person in it learns the value, without finding the record.",
    ),
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
    ("Generalization", "Replacing a value by a broader one, such as 37 by [35, 40)."),
    ("[35, 40)", "An interval: from 35 up to 40, without 40 itself."),
    ("*", "Any value: nothing of the original is left."),
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
        "estimate comes with. Wide bounds hold the true value and say little. Where records were "
        "suppressed, counts may be higher by all of them, and other aggregates have no bounds.",
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
