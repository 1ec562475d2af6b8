"""Check columns that are released unchanged: whether they name people or single them out.

A model promises something of the quasi-identifiers, and of the sensitive values in their classes.
What else leaves leads to a person by itself where it names one, where nearly everybody has a value
of their own, alone or in a pair of columns, or where it is a date. That is refused unless the owner
says why nobody can use it. Quasi-identifiers leave like that, too, where no declared model hides
anybody among others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.data.classes import CODED, SOURCE, values_relation
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    column,
    count_distinct,
    count_of,
    count_rows,
    each_once,
    select,
    try_cast,
)
from dbdeid.engine.relation import MEASURED, NUMBERS, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.errors import Mistake, SpecError
from dbdeid.methods.common.generalized import generalized, kept_rows, upload_labels
from dbdeid.methods.common.levels import levels_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.privacy import MaxRisk
from dbdeid.privacy.common.population import OfPopulation
from dbdeid.profiling.date_precision import finer_than_month
from dbdeid.profiling.detect import DetectedColumn, detect
from dbdeid.profiling.possible_identifiers import WORDS_ONLY, Look, identifiers, look
from dbdeid.profiling.shapes import seen_once

# A column with more distinct values than this share of its rows tells people apart, and so do
# columns that single out this share of the people. Of few rows the second alone is asked, for half
# as many values as rows may be those of nobody in particular.
NEAR_UNIQUE = 0.5
FEW_ROWS = 20
LEAST_APART = 2  # people who are told apart; one person is told apart from nobody
LEAST = "deid_least_generalized"
RAW = "deid_numbers_as_they_are"
MEMBERS = "deid_members_of_sets"
AS_THEY_ARE = ("insensitive", "sensitive")
LOOKS = "looks_like_identifier"


def questions(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    """What the owner has to answer of the columns that leave as they are."""
    named, dated = _looked_at(prepared, session)
    named = {**_members(prepared, session), **named}
    for c in prepared.bound.released:
        if c.name in named and _judged(prepared.bound, c):
            yield _refused(prepared.bound, c.name, named[c.name])
    leaving = [c for c in prepared.bound.columns if c.spec.role in AS_THEY_ARE]
    people = _people(prepared, session, CODED, leaving)
    alone: list[BoundColumn] = []
    for c in leaving:
        what = list(_telling(c, people, dated)) if _unexplained(c) else []
        if what:
            yield prepared.bound.file.mistake(
                f"{c.spec.role} column {c.name!r} is {' and '.join(what)}, and released as it is",
                "columns",
                c.name,
                hint="give the column a `reason: …` that others cannot use it to find a person, or "
                "make it an identifier or a quasi_identifier",
            )
        else:
            alone.append(c)
    yield from _in_pairs(prepared.bound, combinations(alone, 2), people)
    if all(m.vacuous(m.declared) for m in prepared.bound.models):
        yield from _foreseen(prepared, session)


def together(prepared: Prepared, session: Session) -> Iterator[str]:
    """Three and more columns that tell most people apart, though no two of them do.

    The columns of nearly any table do, all together: an owner is told, and not asked.
    """
    some = [c for c in prepared.bound.columns if c.spec.role in AS_THEY_ARE and _unexplained(c)]
    if len(some) < 3:
        return
    people = _people(prepared, session, CODED, [])
    if people.tells_most([c.name for c in some]):
        share = people.told_apart([c.name for c in some]) / people.number
        yield (
            f"{', '.join(c.name for c in some)}: released as they are without a reason, and "
            f"together they tell {share:.1%} of the {people.who} apart; who knows them of a person "
            "finds the record, whatever the models promise"
        )


def require_hidden(
    prepared: Prepared, session: Session, written: Relation, *, synthetic: bool = False
) -> None:
    """Look at the written table: where no model hides persons among others, its
    quasi-identifiers leave like any other column, and may not tell most people apart.

    Args:
        prepared: the prepared spec.
        session: where the table is.
        written: what is about to be published, with the number of the subject where people count.
        synthetic: whether the records are nobody's.

    Raises:
        SpecError: they do, and their owner has not said why nobody can use them.
    """
    if synthetic or _hides(prepared):
        return
    refused = list(_of_quasi_identifiers(prepared, session, written))
    if refused:
        raise SpecError(refused, source=prepared.bound.file.label)


def require_unnamed(bound: Bound, session: Session, released: Relation) -> None:
    """Look at the written table once more: no column of it may look like a direct identifier.

    What quasi-identifiers became is judged by what stands in it; their name is that of the source.
    Intervals of long numbers look like numbers of records, and are none: of numbers only those are
    judged that leave as they are, and by their name, too.

    Args:
        bound: the bound spec.
        session: where the table is.
        released: what is about to be published.

    Raises:
        SpecError: a column does, and the owner has not accepted that.
    """
    judged = {c.name for c in bound.released if _judged(bound, c)}
    measured = [c for c in bound.quasi_identifiers if c.column.family in MEASURED]
    # a set is a long text, and its members were looked at in the source
    sets = {c.name for c in bound.free}
    texts = [c for c in released.columns if c.name in judged - {c.name for c in measured} - sets]
    numbers = [c for c in measured if c.name in judged and c.column.family in NUMBERS]
    looks: dict[str, str] = {}
    if texts:
        table = replace(released, columns=tuple(texts))
        found, seen = _detected(session, table)
        looks |= identifiers(session, table, found, seen, by_name=False)
        # a coarser number of a person still groups the persons it was given to one after another
        shortened = {c.name for c in bound.quasi_identifiers if c.column.family == "text"}
        looks |= {f.name: f.reason for f in found if f.name in shortened and _numbers_persons(f)}
    if raw := _still_numbers(session, released, numbers):
        table = session.run(Step(RAW, select(*raw).from_(released.table)))
        found = detect(session, table)
        looks |= identifiers(session, table, found, look(session, table, found))
        session.drop_temp(RAW)
    refused = [_refused(bound, name, why) for name, why in looks.items()]
    if refused:
        raise SpecError(refused, source=bound.file.label)


def _numbers_persons(found: DetectedColumn) -> bool:
    """Whether a written column has the name of a number of persons or records, and more than its
    top."""
    return found.by_name and found.kind in ("record_number", "ssn") and found.distinct > 1


def _still_numbers(session: Session, released: Relation, some: Sequence[BoundColumn]) -> list[Expr]:
    """What is a number in the written table, of columns that held numbers, under their type."""
    values = []
    for c in some:
        kind = c.column.type
        values.append(try_cast(cast(column(c.name), "VARCHAR"), kind))
    if not values:
        return []
    counts = [count_of(value.copy()) for value in values]
    row = session.row(select(*counts).from_(released.table))
    return [
        aliased(value, c.name) for c, value, count in zip(some, values, row, strict=True) if count
    ]


def near_unique(c: BoundColumn, prepared: Prepared, session: Session) -> bool:
    """Whether most records have a value of their own in a column."""
    return _people(prepared, session, CODED, [c]).nearly_unique(c)


@dataclass(frozen=True, slots=True)
class _People:
    """Those whose records a table holds, and how far its columns tell them apart.

    Attributes:
        session: where the table is.
        table: with a row for each record.
        subject: the column of the number of whose it is; None: each is somebody else's.
        records: of the table.
        number: of the people.
        distinct: values of columns, each counted once.
    """

    session: Session
    table: Relation
    subject: str | None
    records: int
    number: int
    distinct: Mapping[str, int]

    @property
    def who(self) -> str:
        """The unit of counting: records or people."""
        return "records" if self.subject is None else "people"

    def nearly_unique(self, c: BoundColumn) -> bool:
        """Whether most records have a value of their own."""
        own = self.distinct[c.name]
        return self.records >= FEW_ROWS and own > NEAR_UNIQUE * self.records

    def told_apart(self, names: Sequence[str]) -> int:
        """People whose values of some columns nobody else shares."""
        if self.subject is None:
            query = step("verify/unique_records", {"rel": self.table}, {"cols": names})
        else:
            columns = {"cols": names, "subject": [self.subject]}
            query = step("review/singled_out", {"rel": self.table}, columns)
        return int(self.session.row(query)[0])

    def tells_most(self, names: Sequence[str]) -> bool:
        """Whether columns tell most of the people apart; of one person there is nobody to tell."""
        return _most(self.told_apart(names), self.number)


def _most(some: int, whole: int) -> bool:
    return some >= LEAST_APART and some > NEAR_UNIQUE * whole


def _people(
    prepared: Prepared, session: Session, table: Relation, some: Sequence[BoundColumn]
) -> _People:
    """The people of a staged table, and how many values some of its columns have."""
    distinct: dict[str, int] = {}
    if some:
        counts = [count_distinct(column(c.name)) for c in some]
        row = session.row(select(*counts).from_(table.table))
        distinct = dict(zip((c.name for c in some), row, strict=True))
    subject, rows, people = prepared.parameters.subject, prepared.rows, prepared.subjects
    if table is not CODED:  # some may be suppressed
        count = select(count_rows()).from_(table.table)
        if subject is not None:
            who = each_once(column(subject))
            count = count.select(count_of(who))
        found = session.row(count)
        rows, people = int(found[0]), int(found[-1])
    return _People(session, table, subject, rows, people, distinct)


def _judged(bound: Bound, c: BoundColumn) -> bool:
    """Whether nobody has said yet that a column names nobody, on the column or to the preset."""
    preset = bound.spec.preset
    accepted = LOOKS in c.spec.accept or (preset is not None and preset.accepts(c.name))
    return not c.spec.pseudonym and not accepted


def _looked_at(prepared: Prepared, session: Session) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Columns whose values would leave and look like direct identifiers, or reveal days; why.

    Those of a quasi-identifier whose hierarchy lists them leave in the dictionary, whatever the
    table shows. Towns look like families there, and single words say nothing.
    """
    roles = (*AS_THEY_ARE, "synthesize")
    bound = prepared.bound
    some = [
        c
        for c in bound.released
        if (c.spec.role in roles and not _answered(bound, c))
        or (_explained(c) and _judged(bound, c))
    ]
    if not some:
        return {}, {}
    staged = {c.column.name: c.released_type for c in bound.staged}
    place = SOURCE if bound.spec.method.can.values == "drawn" else CODED
    columns = tuple(replace(c.column, type=staged[c.name]) for c in some)
    table = replace(place, columns=columns)
    found, seen = _detected(session, table)
    named = identifiers(session, table, found, seen)
    explained = {c.name for c in some if _explained(c)}
    named = {n: why for n, why in named.items() if n not in explained or why not in WORDS_ONLY}
    return named, finer_than_month(session, table, found, seen)


def _members(prepared: Prepared, session: Session) -> Mapping[str, str]:
    """Columns whose values leave as members of sets, and look like direct identifiers; why."""
    query, columns = select().from_(CODED.aliased("coded")), []
    for i, c in enumerate(prepared.bound.quasi_identifiers):
        if c.spec.free and c.column.family == "text" and _judged(prepared.bound, c):
            values = values_relation(i).aliased(f"v{i}")
            same = column("code", f"v{i}").eq(column(c.name, "coded"))
            query = query.join(values, on=same)
            query = query.select(aliased(column("value", f"v{i}"), c.name))
            columns.append(replace(c.column, type="VARCHAR"))
    if not columns:
        return {}
    table = replace(session.run(Step(MEMBERS, query)), columns=tuple(columns))
    found, seen = _detected(session, table)
    named = identifiers(session, table, found, seen)
    session.drop_temp(MEMBERS)
    return named


def _detected(session: Session, table: Relation) -> tuple[tuple[DetectedColumn, ...], Look]:
    """What columns hold, and what their values look like, from values that are staged once."""
    with seen_once(session, table) as values:
        found = detect(session, table, values)
        return found, look(session, table, found, values)


def _explained(c: BoundColumn) -> bool:
    """Whether the dictionary lists the values of a quasi-identifier, each under what it became."""
    listed = c.spec.hierarchy is not None and c.spec.hierarchy.kind in ("path", "table", "groups")
    return c.spec.role == "quasi_identifier" and c.column.family == "text" and listed


def _answered(bound: Bound, c: BoundColumn) -> bool:
    """Whether its owner has said that it names nobody, and why it may leave."""
    return not _judged(bound, c) and c.spec.reason is not None


def _refused(bound: Bound, name: str, why: str) -> Mistake:
    return bound.file.mistake(
        f"column {name!r} looks like a direct identifier ({why}), and would be released",
        "columns",
        name,
        hint=f"make it an identifier, or drop it; if it names nobody, say `accept: {LOOKS}` and "
        "give a `reason: …`",
    )


def _unexplained(c: BoundColumn) -> bool:
    """Whether its owner has not said why nobody can use it; an empty reason is refused before."""
    return c.spec.reason is None


def _telling(c: BoundColumn, people: _People, dated: Mapping[str, str]) -> Iterator[str]:
    """Why a column needs a reason, in words that follow `is`."""
    if c.name in dated:
        yield f"of dates finer than a month ({dated[c.name]})"
    elif c.spec.role == "insensitive" and c.column.family in MEASURED:
        yield "numeric"
    if people.nearly_unique(c):
        yield "nearly unique"
    elif people.tells_most([c.name]):
        yield "another one for nearly every person"


def _listed(names: Sequence[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} and {last}" if most else last


def _in_pairs(
    bound: Bound, pairs: Iterable[tuple[BoundColumn, BoundColumn]], people: _People
) -> Iterator[Mistake]:
    """Pairs of columns that tell people apart together, though neither does alone.

    A reason says that a column is of no use by itself. It leaves all the same, and the one that
    tells people apart with it is asked about.
    """
    for one, other in pairs:
        asked = [c for c in (one, other) if _unexplained(c)]
        most = people.distinct[one.name] * people.distinct[other.name]  # that there can be
        if not asked or most < NEAR_UNIQUE * people.number:
            continue
        if not people.tells_most([one.name, other.name]):
            continue
        known = [c for c in (one, other) if not _unexplained(c)]
        if any(people.nearly_unique(c) or people.tells_most([c.name]) for c in known):
            continue  # it tells them apart without the other
        give = f"give {asked[0].name!r} a `reason: …`" if known else "give each a `reason: …`"
        yield bound.file.mistake(
            f"{one.name!r} and {other.name!r} together are another pair for nearly every "
            "person, and released as they are",
            "columns",
            asked[0].name,
            hint=f"{give} that others cannot know it of a person, or make it a quasi_identifier",
        )


# -- quasi-identifiers that no model covers -------------------------------------------------------


def _hides(prepared: Prepared) -> bool:
    """Whether a declared promise is about who is found by the quasi-identifiers.

    A class of one is meant where a population, a mean or a rule of the law is what counts. Where a
    missing value equals any other, a few of them make every class large and hide nobody.
    """
    weighed, bound = prepared.weighed, prepared.bound
    if bound.spec.null_policy == "wildcard":
        return False
    if bound.spec.preset is not None or (weighed is not None and weighed.risk < 1):
        return True
    return any(
        not m.vacuous(m.declared)
        and (m.smallest_class > 1 or isinstance(m, OfPopulation | MaxRisk))
        for m in bound.models
    )


def _foreseen(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    """The same before the search, where all models promise nothing: the least is generalized."""
    parameters, qis = prepared.parameters, prepared.quasi_identifiers
    can = prepared.bound.spec.method.can
    generalized_only = can.values == "generalized" and not can.counterfeits
    # what is chosen of a frontier is chosen by a risk that is not known yet
    if not qis or can.frontier or _hides(prepared) or not generalized_only:
        return
    given = levels_of(parameters).options.transformation
    node = given or tuple(q.min_level for q in qis)
    upload_labels(session, qis, node)
    rows = kept_rows(qis, parameters)
    query = generalized(qis, prepared.released, node, rows)
    if parameters.subject is not None:
        query = query.select(column(parameters.subject, "coded"))
    least = session.run(Step(LEAST, query))
    yield from _of_quasi_identifiers(prepared, session, least)
    session.drop_temp(LEAST)


def _of_quasi_identifiers(
    prepared: Prepared, session: Session, table: Relation
) -> Iterator[Mistake]:
    """Quasi-identifiers that nothing hides, together and each with one of the other columns."""
    bound = prepared.bound
    keys = [c for c in bound.quasi_identifiers if _unexplained(c)]
    if not keys:
        return
    others = [c for c in bound.columns if c.spec.role in AS_THEY_ARE]
    people = _people(prepared, session, table, [*bound.quasi_identifiers, *others])
    names = [c.name for c in keys]
    if (apart := people.told_apart(names)) and _most(apart, people.number):
        yield bound.file.mistake(
            f"no model hides a person among others: {apart:,} of {people.number:,} {people.who} "
            f"({apart / people.number:.1%}) are the only ones with their {_listed(names)}",
            "privacy",
            hint="declare one that does, as `{model: k_anonymity, k: 5}`; or give each "
            "quasi-identifier that others cannot know of a person a `reason: …` which says why",
        )
    else:
        yield from _in_pairs(bound, product(keys, others), people)
