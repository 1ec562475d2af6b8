"""The parts of a record on safety: checks, risks and attacks."""

from __future__ import annotations

from dbdeid.record.part import Number, Part, Value


class Promise(Part):
    """One promise, and what was found in the written table.

    Attributes:
        model: the privacy model, or what else is promised.
        declared: what was.
        found: what was.
        holds: whether it is kept; None of a preview, which is not verified.
    """

    model: str
    declared: Value = None
    found: Value = None
    holds: bool | None


class Check(Part):
    """One check of the written files.

    Attributes:
        check: its name.
        holds: whether it does.
        detail: why not, and remarks.
    """

    check: str
    holds: bool
    detail: str = ""


class Unique(Part):
    """Released records that no other equals in any way.

    Attributes:
        records: how many.
        of: of how many.
        columns: how many columns were compared.
    """

    records: int
    of: int
    columns: int


class Verification(Part):
    """All that the verifier looked at.

    Attributes:
        verified: whether every promise and every check holds.
        promises: each of them.
        hygiene: each check.
        unique: what the promises leave open, where it was counted.
    """

    verified: bool
    promises: tuple[Promise, ...]
    hygiene: tuple[Check, ...]
    unique: Unique | None = None


class Risk(Part):
    """The risk of one table, to someone who knows a person's quasi-identifiers and presence.

    Attributes:
        null_policy: how missing values formed classes.
        records: rows of the table.
        subjects: people; without a subject each row is one.
        classes: equivalence classes.
        k: the smallest; None where there is none.
        highest_risk: chance of finding the most exposed subject, 0 to 1.
        average_risk: mean over the subjects.
        unique_records: records in classes of one subject.
        records_at_risk: records in classes below k.
    """

    null_policy: str | None = None
    records: int
    subjects: int | None = None
    classes: int | None = None
    k: int | None = None
    highest_risk: Number | None = None
    average_risk: Number | None = None
    unique_records: int | None = None
    records_at_risk: int | None = None


class RiskChange(Part):
    """The risk of the source and of the release.

    Attributes:
        before: that of the source; untold where it is not known.
        after: that of the release.
    """

    before: Risk | None = None
    after: Risk | None = None


class SizeCount(Part):
    """All classes of one size.

    Attributes:
        class_size: the size.
        classes: how many have it.
        records: those in them.
    """

    class_size: int
    classes: int
    records: int


class Singled(Part):
    """How many records or people are singled out.

    Attributes:
        records: that no other equals.
        people: who have such a record; None where records count.
    """

    records: int
    people: int | None


class AsItIs(Part):
    """A released column that no privacy model covers as a quasi-identifier.

    Attributes:
        column: its name.
        role: sensitive or insensitive.
        alone: who is singled out by it alone; None where it was not counted.
    """

    column: str
    role: str
    alone: Singled | None


class Certain(Part):
    """A sensitive column, and whose values anyone who knows the quasi-identifiers can infer.

    Attributes:
        column: its name.
        classes: in which one value is that of every member.
        records: in classes whose records all have one value.
        people: of whom it is certain; None where records count.
    """

    column: str
    classes: int | None = None
    records: int
    people: int | None


class Remains(Part):
    """What a release does not promise.

    Attributes:
        records: released records; of a release with counterfeits, these too.
        people: whose records they are; None where each record counts as a person.
        subject: the column that tells whose they are; None where each record counts as a person.
        quasi_identifiers: how many columns the models cover.
        covered: who is singled out by these columns alone; None without any, and where a missing
            value is like any other.
        columns: how many released columns `everything` compares: all but pseudonyms.
        bounds: how many of them are the ends of an interval that another one holds.
        as_they_are: the columns that leave as they are.
        together: who is singled out by all of them together; None without any.
        everything: who is singled out by all released columns.
        certain: of each sensitive column, whose value is certain.
        pseudonyms: columns that link the records of a person, and are not compared.
    """

    records: int
    people: int | None
    subject: str | None
    quasi_identifiers: int
    covered: Singled | None = None
    columns: int
    bounds: int = 0
    as_they_are: tuple[AsItIs, ...]
    together: Singled | None
    everything: Singled
    certain: tuple[Certain, ...]
    pseudonyms: tuple[str, ...]


class Reading(Part):
    """What the minimality attack reads of a sensitive attribute.

    Attributes:
        columns: that make it up.
        people: of the source.
        groups: of people of whom a value is claimed.
        claimed: people of whom a value is claimed.
        right: of these, who have it.
        sound: whether nothing can be read.
        why: why it was not measured; None where it was.
    """

    columns: tuple[str, ...]
    people: int
    groups: int = 0
    claimed: int = 0
    right: int = 0
    sound: bool = False
    why: str | None = None


class Downcoded(Part):
    """What the downcoding attack finds.

    Attributes:
        cells: generalized ones.
        attempted: those that are replaced by a child of their label.
        right: those of them that are right.
    """

    cells: int
    attempted: int
    right: int
