"""Re-release safety: compare a staged release with earlier ones of the same source.

docs/rerelease.md has the definitions, and what is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any
from uuid import uuid4

from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.data.json import plain
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.errors import SpecError, Unsatisfiable
from dbdeid.methods.common.outcome import Written
from dbdeid.prepare.prepare import Prepared
from dbdeid.record import comparison as kept_parts
from dbdeid.rerelease import composition, same_source
from dbdeid.rerelease.composition import Laid, Together, Withdraw
from dbdeid.rerelease.equivalence_classes import (
    Known,
    known_by,
    named_here,
    published_rows,
    same_column,
    shown,
)
from dbdeid.rerelease.exposed_counterfeits import Exposed
from dbdeid.rerelease.exposed_counterfeits import exposed as exposed_beside
from dbdeid.rerelease.joint_classes import (
    Compared,
    least_values,
    measured,
    same_classes,
    words,
)
from dbdeid.rerelease.overlay import Overlay
from dbdeid.spec.file import SpecFile
from dbdeid.workspace.earlier_releases import Earlier, each_earlier, kept_place, places_of
from dbdeid.workspace.workplace import Workplace

NOT_KEPT = "it was made by an earlier version of dbdeid, which kept nothing to compare with"
OTHERS = "its records were told apart by columns that the source does not have now"
PARTLY = "it holds records of this source, told apart by identifiers that this one has not"
UNTOLD = "which record became which is not told by method {method} as it was used"


@dataclass(frozen=True, slots=True)
class Rerelease:
    """A release beside the earlier ones of its source.

    Attributes:
        run: number under which it is kept; that of an earlier run which showed just the same.
        shown: what is kept to be compared with; None where the method does not tell, or where it
            is kept already.
        rows: the same of rows, of a release with counterfeit records.
        kept: what the record of the run keeps to be compared with.
        found: what was found, newest release first.
        together: what all of them tell; None where none could be compared.
    """

    run: str
    shown: Relation | None
    rows: Relation | None
    kept: kept_parts.Rerelease
    found: tuple[Compared, ...]
    together: Together | None

    @property
    def words(self) -> tuple[str, ...]:
        """The notes on it."""
        return (*words(self.found), *composition.words(self.together))

    @property
    def record(self) -> kept_parts.Rerelease:
        """Record the findings, and the classes that later releases are compared with."""
        both = self.together
        return self.kept.model_copy(
            update={
                "found": tuple(map(kept_parts.Beside.told_by, self.found)),
                "together": kept_parts.Together.told_by(both) if both else None,
                "words": self.words,
            }
        )


def compare(work: Workplace, prepared: Prepared, written: Written) -> Rerelease | None:
    """Compare a staged release with what runs have published of the same source.

    None where nothing is remembered after the run, which strict specs refuse before. Nothing is
    kept of a trial to compare later runs with: nobody else has it.

    Raises:
        Unsatisfiable: something was found, or could not be compared, and the spec is strict.
    """
    if work.passing:
        return None
    session, bound = work.session, prepared.bound
    known = known_by(bound, session)
    places = places_of(bound, work)
    now = _Now(work, prepared, written, known, places)
    listed, both = now.compared()
    found = tuple(listed)
    own = now.shown(known)
    run = now.as_before or uuid4().hex
    kept = kept_parts.Rerelease(
        run=run,
        by=known.record if own is not None else None,
        person=known.person,
        k=bound.spec.smallest_class,
        places=tuple(sorted(kept_place(p, work.home) for p in places)),
        columns=written.released.names,
        sample=now.sample(known) if own is not None else None,
        identifiers=tuple(map(tuple, now.identifiers)),
    )
    strict(bound, found, both)
    if bound.file.trial:
        return Rerelease(run, None, None, kept, found, both)
    return Rerelease(run, None if now.as_before else own, now.rows, kept, found, both)


def forgotten(work: Workplace) -> tuple[str, ...]:
    """The note on a release that leaves as files alone: no later one is compared with it."""
    if not (work.passing and (work.places.exports or work.places.tables)):
        return ()
    return (
        "nothing remembers this release: it was compared with none before it, and no later one "
        "will be with it. A `target` in the spec brings a private file that remembers",
    )


def require_memory(work: Workplace, file: SpecFile) -> None:
    """Refuse `rerelease: strict` where no book would remember what was released before.

    Raises:
        SpecError: the release leaves as files alone, and is forgotten when they are written.
    """
    exported = bool(work.places.exports or work.places.tables)
    if file.spec.rerelease == "strict" and work.home is None and (work.passing or exported):
        mistake = file.mistake(
            "`rerelease: strict` has nothing to compare with: without a database that stays, "
            "nothing remembers what was released",
            "rerelease",
            hint="give the spec a `target`, as in `target: visits_public.duckdb`: its private file "
            "remembers",
        )
        raise SpecError([mistake], source=file.label)


def strict(bound: Bound, found: Sequence[Compared], both: Together | None) -> None:
    """Refuse, where the spec says so, what earlier releases would undo.

    Raises:
        Unsatisfiable: nothing is replaced.
    """
    safe = all(one.safe for one in found) and (both is None or both.safe)
    if bound.spec.rerelease == "strict" and not safe:
        raise Unsatisfiable(
            "with an earlier release of its source this one would reveal more than each alone, and "
            "`rerelease: strict` refuses that: "
            + "; ".join((*words(found), *composition.words(both))),
            hint="nothing was replaced; `dbdeid run --reuse` keeps the levels of the last run, "
            "coarser levels or a larger k help, and `dbdeid releases withdraw` is for a run that "
            "was never given away",
        )


@dataclass(frozen=True, slots=True)
class _Beside:
    """An earlier release that is held against the staged one.

    Attributes:
        one: its newest run.
        runs: numbers of all runs that showed just this.
        called: its name and time, and what needs no other release to be found.
        way: how its records were told apart; None where it could not be compared.
        own: whether our own book remembers it.
    """

    one: Earlier
    runs: list[str]
    called: Compared
    way: Known | None
    own: bool


class _Now:
    """The staged release, as each earlier one tells records apart."""

    def __init__(
        self,
        work: Workplace,
        prepared: Prepared,
        written: Written,
        known: Known,
        places: frozenset[str],
    ) -> None:
        self._work, self._prepared, self._written = work, prepared, written
        self._known, self._places = known, places
        self._k = prepared.bound.spec.smallest_class
        self._synthetic = prepared.bound.spec.method.can.values == "drawn"
        self._of: Known | None = None
        self._found: Relation | None = None
        self._sensitive = least_values(prepared.bound)
        self._overlays: dict[Known, Overlay] = {}
        self._samples: dict[Known, dict[str, list[int]] | None] = {}
        self._is_serial = cache(partial(same_source.is_serial, prepared.bound, work.session))
        self.rows = published_rows(written, work.session)
        self.as_before: str | None = None  # the run of our own book that showed just the same

    def shown(self, known: Known) -> Relation | None:
        """What the release shows; made anew only where records are told apart otherwise."""
        if self._of != known:
            names = list(self._sensitive)
            self._found = shown(self._prepared, self._written, self._work.session, known, names)
            self._of = known
        return self._found

    def compared(self) -> tuple[list[Compared], Together | None]:
        """Each earlier run beside this one, newest first, and all of them together."""
        unread: list[str] = []
        besides: list[_Beside] = []
        seen: dict[str, _Beside] = {}  # what runs have kept together is compared once
        for one in each_earlier(self._work, self._prepared.bound, self._places, unread):
            number = one.kept.run if one.kept is not None else None
            if number in seen:
                seen[number].runs.append(one.entry.run)
            elif (beside := self._beside(one, len(besides))) is not None:
                besides.append(beside)
                seen |= {number: beside} if number else {}
        laid = {way: overlay.laid() for way, overlay in self._overlays.items()}
        together = self._together(laid)
        found = [
            self._measured(beside, which, laid, together) for which, beside in enumerate(besides)
        ]
        if together is not None and not (together.safe and all(one.safe for one in found)):
            together = self._withdrawing(together, besides, found, list(laid.values()))
        order = sorted(range(len(found)), key=lambda i: besides[i].one.entry.created, reverse=True)
        unknown = (
            Compared(name, "", None, 0, compared=False, reason="it could not be read")
            for name in unread
        )
        return [*(found[i] for i in order), *unknown], together

    def _beside(self, one: Earlier, which: int) -> _Beside | None:
        """An earlier run, laid over the others; None where it was never given away."""
        entry, kept = one.entry, one.kept
        called = Compared(entry.release, f"{entry.created:%Y-%m-%d %H:%M}", None, 0)
        mine = one.book is self._work.book

        def unknown(called: Compared, reason: str) -> _Beside:
            told = replace(called, compared=False, reason=reason)
            return _Beside(one, [entry.run], told, None, mine)

        if kept is None:
            return unknown(called, NOT_KEPT)
        called = replace(called, run=kept.run, k=min(kept.k, self._k))
        if kept.by is None:
            return unknown(called, UNTOLD.format(method=one.record.method))
        before = one.book.published_by(kept.run)
        if before is None:
            return None
        if one.elsewhere:
            return self._recognised(one, which, called, before)
        bound = self._prepared.bound
        names = named_here(kept.by, bound)
        if names is None:
            return unknown(called, OTHERS)
        known = Known(names, self._known.person)
        own = self.shown(known)
        if own is None:
            return unknown(called, UNTOLD.format(method=bound.spec.method.name))
        overlay = self._overlay(known, own)
        people = same_column(kept.person, known.person)
        overlay.add(before, kept.k, which, people=people)
        return _Beside(one, [entry.run], self._drawn(called, one), known, mine)

    def _recognised(
        self, one: Earlier, which: int, called: Compared, before: Relation
    ) -> _Beside | None:
        """A run of another table or file; None where that does not hold records of this one."""
        kept, bound = one.kept, self._prepared.bound
        assert kept is not None
        assert kept.by is not None
        names = named_here(kept.by, bound)
        if names is None and len(kept.by) != len(self._known.record):
            return self._partly(one, called)
        # columns of other names may hold the same
        known = self._known if names is None else Known(names, self._known.person)
        own = self.shown(known)
        if own is None:
            return None
        shared, smaller = same_source.in_common(self._work.session, own, before)
        least = same_source.SHARE
        if len(known.record) == len(bound.columns):
            least = same_source.SHARE_OF_ROWS
        if not shared or shared < least * smaller:
            return None
        theirs = kept.sample
        mine = self.sample(known) if theirs else None
        if theirs and mine and not same_source.agree(mine, theirs):
            return None
        people = (kept.person is None) == (known.person is None)
        self._overlay(known, own).add(before, kept.k, which, people=people)
        called = replace(called, source=one.record.source or "another table", records=shared)
        return _Beside(one, [one.entry.run], self._drawn(called, one), known, False)

    def _partly(self, one: Earlier, called: Compared) -> _Beside | None:
        """A run of a table that has one of several identifiers in common with this source.

        Its records are told apart by all of them, so that the two cannot be laid on each other.
        """
        theirs = one.kept.identifiers if one.kept is not None else ()
        if not any(same_source.hold_the_same(a, b) for a in self.identifiers for b in theirs):
            return None
        source = one.record.source or "another table"
        told = replace(called, source=source, compared=False, reason=PARTLY)
        return _Beside(one, [one.entry.run], told, None, False)

    @cached_property
    def identifiers(self) -> list[list[str]]:
        """Some digests of each identifier by itself, those apart that only number the records."""
        return [*same_source.sketches(self._prepared.bound, self._work.session, self._is_serial)]

    def sample(self, known: Known) -> dict[str, list[int]] | None:
        """Return digests of a few records' cells, where only serial numbers identify records."""
        bound, session = self._prepared.bound, self._work.session
        own = self.shown(known)
        if known not in self._samples:
            serial = own is not None and self._is_serial(known)
            self._samples[known] = (
                same_source.sample(bound, session, known, own) if serial and own else None
            )
        return self._samples[known]

    def _overlay(self, known: Known, own: Relation) -> Overlay:
        if known not in self._overlays:
            name = f"deid_overlay_{len(self._overlays)}"
            several = known.person is not None
            session = self._work.session
            self._overlays[known] = Overlay(session, name, own, self._k, several=several)
        return self._overlays[known]

    def _drawn(self, called: Compared, one: Earlier) -> Compared:
        """The comparison with what draws of other records, or new draws of the same, reveal."""
        assert one.kept is not None
        exposed, counterfeits = 0, 0
        rows = None
        now, then = bool(self._written.outcome.details.added), bool(one.record.counterfeit_rows)
        synthetic = bool(self._synthetic and one.record.synthetic)
        redrawn = synthetic and not self._drawn_alike(one)
        if self.rows is not None:
            rows = one.book.published_by(one.kept.run, "published_rows")
        both = self._exposed(one, rows) if rows is not None and (now or then) else None
        if both is not None:
            exposed, counterfeits = both.now, both.counterfeits
        if self.rows is not None and now == then and self._alike(one):
            if rows is not None and both is None:
                query = step("rerelease/exposed_counterfeits", {"rows": self.rows, "earlier": rows})
                exposed, counterfeits = self._work.session.row(query)
        elif now or then:
            redrawn = True
        return replace(
            called,
            exposed=exposed,
            counterfeits=counterfeits,
            exposed_before=both.before if both else None,
            counterfeits_before=one.record.counterfeit_rows or 0,
            redrawn=redrawn,
            moments=synthetic,
        )

    def _exposed(self, one: Earlier, rows: Relation) -> Exposed | None:
        """How many counterfeit records the two expose together; None: levels do not show it."""
        assert one.kept is not None
        names = [q.name for q in self._prepared.quasi_identifiers]
        levels = one.entry.transformation
        if one.kept.columns != self._written.released.names:
            return None
        if {*levels} != {*names}:
            return None
        return exposed_beside(
            self._prepared,
            self._written,
            self._work.session,
            rows,
            tuple(levels[name] for name in names),
            one.record.counterfeit_rows or 0,
        )

    def _measured(
        self,
        beside: _Beside,
        which: int,
        laid: Mapping[Known, Laid],
        together: Together | None,
    ) -> Compared:
        if beside.way is None:
            return beside.called
        of = laid[beside.way]
        before, now, people = of.pair(1 + of.which.index(which))
        if beside.own and self.rows is None and self._as(beside.one, before, now):
            self.as_before = beside.called.run
        values = None
        if together is not None and together.values:  # else none is left by two of them either
            values = dict(self._left(beside.way, [which])) or None
        found = measured(before, now, people, beside.called)
        return replace(found, values=values)

    def _together(self, laid: Mapping[Known, Laid]) -> Together | None:
        """What all of them reveal together, without what would have to be withdrawn."""
        if not laid:
            return None
        values: dict[str, int] = {}
        for way, one in laid.items():
            for name, people in self._left(way, one.which):
                values[name] = max(people, values.get(name, 0))
        return replace(composition.measured(list(laid.values())), values=values or None)

    def _withdrawing(
        self,
        found: Together,
        besides: Sequence[_Beside],
        compared: Sequence[Compared],
        laid: Sequence[Laid],
    ) -> Together:
        """The same with the earlier releases that would have to be withdrawn."""
        forced = frozenset(i for i, one in enumerate(compared) if not one.safe)

        def left(kept: frozenset[int]) -> int:
            if not found.values:
                return 0
            ways = self._overlays.items()
            chosen = ((way, sorted(kept & set(one.which))) for way, one in ways)
            return sum(n for way, those in chosen if those for _, n in self._left(way, those))

        gone, exact = composition.fewest(laid, forced, len(besides), left)
        names = sorted(((compared[i], besides[i].runs) for i in gone), key=lambda p: p[0].created)
        withdraw = [Withdraw(one.release, one.created, tuple(runs)) for one, runs in names]
        return replace(found, withdraw=tuple(withdraw), exact=exact)

    def _as(self, one: Earlier, before: NDArray[Any], now: NDArray[Any]) -> bool:
        """Whether a run showed the same people together, and told them apart alike."""
        kept = one.kept
        assert kept is not None
        assert kept.by is not None
        then = Known(kept.by, kept.person)
        return (then, kept.k) == (self._known, self._k) and same_classes(before, now)

    def _left(self, way: Known, which: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Sensitive columns of which joint classes have too few values, with the people there."""
        own = self.shown(way)
        if self._synthetic or own is None:
            return
        earlier = self._overlays[way].earlier(which)
        for i, (name, least) in enumerate(self._sensitive.items()):
            query = step(
                "rerelease/joint_values",
                {"earlier": earlier, "shown": own},
                {"value": [f"value{i}"]},
                {"l": least},
            )
            _, people = self._work.session.row(query)
            if people:
                yield name, int(people)

    def _alike(self, one: Earlier) -> bool:
        """Whether rows of the two can be equal: same columns, same levels."""
        assert one.kept is not None
        names = self._written.released.names
        node = self._written.outcome.node or ()
        levels = dict(zip((q.name for q in self._prepared.quasi_identifiers), node, strict=False))
        return bool(one.kept.columns == names and one.entry.transformation == levels)

    def _drawn_alike(self, one: Earlier) -> bool:
        """Whether the same records would be drawn from the same source."""
        bound, record = self._prepared.bound, one.record
        drawing = self._prepared.parameters.drawing
        models = tuple(plain({"model": m.model, **m.declared}) for m in bound.models)
        return (
            record.draws == (drawing.key if drawing else None)
            and record.method_parameters == plain(bound.spec.method.model_dump(exclude={"name"}))
            and record.privacy == models
        )
