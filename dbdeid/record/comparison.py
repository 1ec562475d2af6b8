"""The parts of a record that its release and later ones are compared with."""

from __future__ import annotations

from dbdeid.record.part import Part


class Shape(Part):
    """A released column.

    Attributes:
        name: of the column.
        type: its type.
    """

    name: str
    type: str


class TableContent(Part):
    """The content of a table.

    Attributes:
        rows: how many it has.
        sha256: digest of all of them, however they are ordered.
    """

    rows: int = 0
    sha256: str


class Content(Part):
    """Digests that a recipient can compare the tables with.

    Attributes:
        made: how the digests are computed.
        release: of the release; untold where an earlier version kept another kind of sum.
        dictionary: of the dictionary beside it.
        catalog: of the catalog beside it.
        columns: of the release, with their types.
    """

    made: str | None = None
    release: TableContent | None = None
    dictionary: TableContent | None = None
    catalog: TableContent | None = None
    columns: tuple[Shape, ...] | None = None


class Proven(Part):
    """Digests of source and release, where no mapping of records is kept.

    Attributes:
        source: of the records of the source.
        release: of the released records.
    """

    source: TableContent | None = None
    release: TableContent | None = None


class Groups(Part):
    """Joint classes that isolate.

    Attributes:
        groups: how many.
        people: in them.
    """

    groups: int
    people: int


class Beside(Part):
    """What a release reveals together with an earlier one.

    Attributes:
        release: name of the earlier release.
        created: its time, UTC, to the minute.
        run: its number.
        k: people that a joint class should have.
        source: of a release of another table or file, its name.
        records: that the two sources have in common, where they are two.
        compared: whether they could be compared.
        reason: why not.
        shared: people that both show.
        smallest: people of the smallest joint class; None where none is shown.
        both: joint classes of fewer than k that both show.
        appeared: the same of people whom only this release shows.
        vanished: the same of people whom only the earlier one shows.
        counted: what subtracting the sizes of classes alone tells.
        values: people left with fewer sensitive values than was declared, by column.
        exposed: counterfeit records that the earlier release does not have.
        counterfeits: of so many.
        exposed_before: counterfeit records of the earlier release that this one does not have.
        counterfeits_before: of so many.
        redrawn: whether records that are nobody's were drawn otherwise.
        moments: whether both are synthetic.
    """

    release: str
    created: str
    run: str | None
    k: int
    source: str = ""
    records: int = 0
    compared: bool = True
    reason: str = ""
    shared: int = 0
    smallest: int | None = None
    both: Groups | None = None
    appeared: Groups | None = None
    vanished: Groups | None = None
    counted: Groups | None = None
    values: dict[str, int] | None = None
    exposed: int = 0
    counterfeits: int = 0
    exposed_before: int | None = None
    counterfeits_before: int = 0
    redrawn: bool = False
    moments: bool = False


class Withdraw(Part):
    """An earlier release that reveals too much beside the others.

    Attributes:
        release: its name.
        created: its time, UTC, to the minute.
        runs: numbers of the runs that showed just this.
    """

    release: str
    created: str
    runs: tuple[str, ...]


class Together(Part):
    """What a release and all earlier ones of its source reveal together.

    Attributes:
        releases: earlier ones that are laid on each other and on this one.
        k: people that a joint class should have.
        people: those who are left with too few alike.
        smallest: people of the smallest joint class; None where none is shown.
        already: those whom the earlier releases leave as few without this one.
        values: people left with fewer sensitive values than was declared, by column.
        ways: in which the releases tell records apart.
        withdraw: the fewest earlier releases without which nothing would be found.
        exact: whether it is known that no fewer would do.
    """

    releases: int
    k: int
    people: int = 0
    smallest: int | None = None
    already: int = 0
    values: dict[str, int] | None = None
    ways: int = 1
    withdraw: tuple[Withdraw, ...] = ()
    exact: bool = True


class Rerelease(Part):
    """What later releases are compared with, and what was found beside earlier ones.

    Attributes:
        run: number under which it is kept.
        by: columns that tell records apart; None where the method does not tell what they became.
        person: the column that tells whose records they are; None where each is one person.
        k: people that a class should have.
        places: of the source, as the book calls them.
        columns: of the release.
        sample: digests of cells of some records, where serial numbers alone tell them apart.
        identifiers: some digests of each identifier by itself.
        found: beside each earlier release, newest first.
        together: with all of them; None where none could be compared.
        words: the same in sentences.
    """

    run: str
    by: tuple[str, ...] | None
    person: str | None
    k: int
    places: tuple[str, ...]
    columns: tuple[str, ...]
    sample: dict[str, list[int]] | None = None
    identifiers: tuple[tuple[str, ...], ...] = ()
    found: tuple[Beside, ...] = ()
    together: Together | None = None
    words: tuple[str, ...] = ()
