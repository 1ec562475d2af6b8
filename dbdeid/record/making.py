"""The parts of a record on how its release was made."""

from __future__ import annotations

from dbdeid.record.part import Number, Part


class Column(Part):
    """One column of the source; identifiers are listed too, as not released.

    Attributes:
        name: of the column.
        role: what the specification says that it is.
        type: in the source.
        released_type: in the release; None where it is not released.
        level: of its hierarchy; None where it differs between classes, or there is none.
        height: the top level of its hierarchy; None unless it is a quasi-identifier.
        loss: mean information loss of its cells, 0 to 1.
        labels: the released labels that occur most, up to eight.
        pseudonym: whether it is released as a keyed hash.
        reason: the owner's words from the specification.
        accept: what the owner accepts of it.
        weight: of its loss.
        hierarchy: described in one line.
        declared_domain: whether its loss follows from what was declared, not from the data.
        values: `as_written` where each spelling of a sensitive value counts; untold where not.
    """

    name: str
    role: str = ""
    type: str | None = None
    released_type: str | None = None
    level: int | None = None
    height: int | None = None
    loss: Number | None = None
    labels: tuple[str | None, ...] = ()
    pseudonym: bool = False
    reason: str | None = None
    accept: str | None = None
    weight: Number = 1
    hierarchy: str | None = None
    declared_domain: bool | None = None
    values: str | None = None


class Publisher(Part):
    """Who answers for a release, in the owner's words; published.

    Attributes:
        name: who publishes it.
        licence: on what terms.
        contact: a mail address, or that of a page.
    """

    name: str | None = None
    licence: str | None = None
    contact: str | None = None


class Search(Part):
    """How the release was found; each method fills in what it has.

    Attributes:
        name: of the search; None where the transformation was given.
        lattice_size: how many transformations there are.
        within: of a ceiling, how many of them are within it.
        checked: how many candidates were looked at.
        proven_optimal: whether no other choice within the limits is better.
        lower_bound: in units of the objective.
        gap: how far the optimum may be below, as a share of the objective.
        time_limit: in seconds, as declared.
        out_of_time: whether it ended the search.
        interrupted: whether the owner ended the search.
        objective: what is lowered.
        expected: what the objective was expected to be.
        blocks: of local recoding, how many were made.
        placed_afterwards: records that were placed in them afterwards.
        groups: of means, how many.
        clusters: of synthetic records, how many.
        seconds_of: wall seconds of each part of the search.
        bits: of a policy, the length of its description.
        point: its number on the frontier.
        risk: its risk.
        loss: its loss.
    """

    name: str | None = None
    lattice_size: int | None = None
    within: int | None = None
    checked: int | None = None
    proven_optimal: bool | None = None
    lower_bound: Number | None = None
    gap: Number | None = None
    time_limit: Number | None = None
    out_of_time: bool = False
    interrupted: bool = False
    objective: str | None = None
    expected: Number | None = None
    blocks: int | None = None
    placed_afterwards: int | None = None
    groups: int | None = None
    clusters: int | None = None
    seconds_of: dict[str, Number] | None = None
    bits: int | None = None
    point: int | None = None
    risk: Number | None = None
    loss: Number | None = None


class Learned(Part):
    """What who learns from a release with counterfeit records finds.

    Attributes:
        records: those of the classes that may be padded.
        counterfeits: those of them that are.
        auc: the probability that a counterfeit record is more suspicious than a real one.
        among_most: the share of counterfeits among the most suspicious records.
        success: how often a person's record is found.
        surest: the same of the classes where that is likeliest.
        impossible: counterfeits whose values exclude each other, as the release or most of the data
            shows.
        below: classes that have fewer than k records without these.
        left: the risk in the smallest of them.
    """

    records: int
    counterfeits: int
    auc: Number
    among_most: Number
    success: Number
    surest: Number
    impossible: int = 0
    below: int = 0
    left: Number = 0.0


class Padding(Part):
    """How counterfeit records were added; risks are shares, 0 to 1.

    Attributes:
        k: what was declared.
        size: what smaller classes were filled up to.
        counterfeits: records added.
        limit: the most that may be.
        h: the ceiling of the degree of generalization, declared or found.
        degree: the greatest degree of a record.
        catalog: pool, paper or none.
        groups: of the catalog.
        candidates: classes that may have been filled up, for all that the release shows.
        risk: of a person to be found by whoever knows the method.
        sensitive: the column whose values the catalog counts.
        strict: whether the risk may not exceed 1/k at all.
        learned: what who learns from the release finds.
        told: the risk that is told: the greater of the two.
    """

    k: int
    size: int | None = None
    counterfeits: int | None = None
    limit: int | None = None
    h: Number | None = None
    degree: Number | None = None
    catalog: str
    groups: int | None = None
    candidates: int | None = None
    risk: Number | None = None
    sensitive: str | None = None
    strict: bool = False
    learned: Learned | None = None
    told: Number | None = None


class Tried(Part):
    """An attack on synthetic records, which looks for the nearest of them.

    Attributes:
        members: records of the half that was synthesized from.
        others: those of the other half.
        auc: how well the distance tells the two apart, .5 being chance.
        unique_members: of the first half, those that no other record equals.
        unique_others: of the other half.
        hit_members: of the unique members, those that equal a synthetic record.
        hit_others: of the unique others, those that do.
    """

    members: int
    others: int
    auc: Number
    unique_members: int
    unique_others: int
    hit_members: int
    hit_others: int


class Shadow(Part):
    """The success of the random-halves attack on some people.

    Attributes:
        people: whose membership was tried.
        auc: the probability that a member looks liker one than another person, .5 being chance.
        true_positives: the share of members that are named where few others are.
        at_risk: the share of members that are named where most of those named are members.
    """

    people: int
    auc: Number
    true_positives: Number
    at_risk: Number


class Shadows(Part):
    """The success of an attacker who knows the method and releases random halves.

    Attributes:
        shadows: such releases.
        records: those that the halves were drawn from.
        everyone: of people as they come.
        outliers: of outliers, told from outliers.
        people_at_risk: members whom the attack is expected to name.
        outlying: outliers of the whole table.
        outliers_at_risk: those of them whom the attack is expected to name.
    """

    shadows: int
    records: int
    everyone: Shadow
    outliers: Shadow
    people_at_risk: int
    outlying: int
    outliers_at_risk: int


class Synthetic(Part):
    """How synthetic records were drawn.

    Attributes:
        k: the least size of a cluster that was asked for.
        clusters: how many there are.
        smallest: records of the smallest cluster.
        largest: records of the largest cluster.
        strata: columns whose combinations were kept apart.
        merged: whether combinations of too few records were joined.
        response: the column that the recipient explains.
        exact: whether each cluster keeps its responses.
        counts: whether each cluster keeps how many records have which category.
        nulls: whether each cluster keeps in how many records a number is missing.
        categories: columns whose values are names.
        calibrated: how many statistics of the recipient's models were brought near.
        gap: how far they are from those of the source, in units of the noise of sampling.
        worse: how far the coefficients of these models were off, in standard errors, without
            calibration and with it, where that was left out as it made it worse.
        trial: an attack on records of a random half; None where there are too few.
        shadows: the attack of who knows the method; None where there are too few.
    """

    k: int
    clusters: int
    smallest: int
    largest: int
    strata: tuple[str, ...] = ()
    merged: bool = False
    response: str | None = None
    exact: bool = False
    counts: bool
    nulls: bool = False
    categories: tuple[str, ...] = ()
    calibrated: int = 0
    gap: Number = 0
    worse: tuple[Number, Number] | None = None
    trial: Tried | None = None
    shadows: Shadows | None = None


class Masked(Part):
    """The groups whose means the quasi-identifiers are.

    Attributes:
        k: the least size of a group.
        algorithm: that made them.
        groups: how many there are.
        smallest: records of the smallest.
        largest: records of the largest.
    """

    k: int
    algorithm: str
    groups: int
    smallest: int
    largest: int


class PolicyRisk(Part):
    """The risk of the policy that was chosen.

    Attributes:
        measure: population or uniques.
        population: that it looks at; None: the source itself.
        risk: as a share of that of the source.
    """

    measure: str
    population: str | None = None
    risk: Number
