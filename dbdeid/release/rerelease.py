"""Re-release safety: a staged release held against what runs have published of the same source.

docs/rerelease.md has the definitions, and what is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from numpy.typing import NDArray

from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.errors import Unsatisfiable
from dbdeid.methods.outcome import Written
from dbdeid.privacy import LDiversity
from dbdeid.release.bind import Bound
from dbdeid.release.earlier import Earlier, each_earlier, kept_place, places_of
from dbdeid.release.joint import Compared, measured, same_classes, words
from dbdeid.release.prepare import Prepared
from dbdeid.release.shown import Known, known_by, published_rows, shown
from dbdeid.release.workplace import Workplace

NOT_KEPT = "it was made by an earlier version of dbdeid, which kept nothing to compare with"
OTHERS = "its records were told apart by columns that the source does not have now"
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
    """

    run: str
    shown: Relation | None
    rows: Relation | None
    kept: Mapping[str, Any]
    found: tuple[Compared, ...]


def compare(work: Workplace, prepared: Prepared, written: Written) -> Rerelease | None:
    """Compare a staged release with what runs have published of the same source.

    None where nothing is remembered after the run.

    Raises:
        Unsatisfiable: something was found, or could not be compared, and the spec is strict.
    """
    if work.passing:
        return None
    session, bound = work.session, prepared.bound
    known = known_by(bound, session)
    places = places_of(bound, work)
    now = _Now(work, prepared, written, known, places)
    found = tuple(now.compared())
    own = now.shown(known)
    run = now.as_before or uuid4().hex
    kept = {
        "run": run,
        "by": list(known.record) if own is not None else None,
        "person": known.person,
        "k": bound.spec.smallest_class,
        "places": sorted(kept_place(p, work.home) for p in places),
        "columns": [c.name for c in written.released.columns],
    }
    strict(bound, found)
    return Rerelease(run, None if now.as_before else own, now.rows, kept, found)


def strict(bound: Bound, found: Sequence[Compared]) -> None:
    """Refuse, where the spec says so, what earlier releases would undo.

    Raises:
        Unsatisfiable: nothing is replaced.
    """
    if bound.spec.rerelease == "strict" and not all(one.safe for one in found):
        raise Unsatisfiable(
            "with an earlier release of its source this one would tell more than each alone, and "
            "`rerelease: strict` refuses that: " + "; ".join(words(found)),
            hint="nothing was replaced; `dbdeid run --reuse` keeps the levels of the last run, "
            "coarser levels or a larger k help, and docs/rerelease.md says how to withdraw a run "
            "that was never given away",
        )


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
        self._of: Known | None = None
        self._found: Relation | None = None
        self._sensitive = _sensitive(prepared.bound)
        self.rows = published_rows(written, work.session)
        self.as_before: str | None = None  # the run of our own book that showed just the same

    def shown(self, known: Known) -> Relation | None:
        """What the release shows; made anew only where records are told apart otherwise."""
        if self._of != known:
            names = list(self._sensitive)
            self._found = shown(self._prepared, self._written, self._work.session, known, names)
            self._of = known
        return self._found

    def compared(self) -> list[Compared]:
        """Each earlier run beside this one, newest first."""
        unread: list[str] = []
        runs = each_earlier(self._work, self._prepared.bound, self._places, unread)
        seen: set[str] = set()  # what runs have kept together is compared once
        found = []
        for one in runs:
            number = (one.kept or {}).get("run")
            if number is None or number not in seen:
                found.append((one.entry.created, self._compared(one)))
                seen |= {number} if number else set()
        found.sort(key=lambda pair: pair[0], reverse=True)
        unknown = (
            Compared(name, "", None, 0, compared=False, reason="it could not be read")
            for name in unread
        )
        return [*(one for _, one in found if one is not None), *unknown]

    def _compared(self, one: Earlier) -> Compared | None:
        entry, kept = one.entry, one.kept
        called = Compared(entry.release, f"{entry.created:%Y-%m-%d %H:%M}", None, 0)
        if kept is None:
            return replace(called, compared=False, reason=NOT_KEPT)
        bound = self._prepared.bound
        k = min(int(kept["k"]), bound.spec.smallest_class)
        called = replace(called, run=kept["run"], k=k)
        if kept["by"] is None:
            reason = UNTOLD.format(method=entry.record["method"])
            return replace(called, compared=False, reason=reason)
        before = one.book.published_by(kept["run"])
        if before is None:
            return None  # withdrawn: never given away
        known = Known(tuple(kept["by"]), self._known.person)
        names = {c.name.lower() for c in bound.columns}
        if not names.issuperset(map(str.lower, known.record)):
            return replace(called, compared=False, reason=OTHERS)
        own = self.shown(known)
        if own is None:
            reason = UNTOLD.format(method=bound.spec.method.name)
            return replace(called, compared=False, reason=reason)
        before_rows = one.book.published_by(kept["run"], "published_rows")
        return self._beside(called, one, before, own, before_rows)

    def _beside(
        self,
        called: Compared,
        one: Earlier,
        before: Relation,
        own: Relation,
        before_rows: Relation | None,
    ) -> Compared:
        session = self._work.session
        joint = session.arrays(step("joint_classes", {"earlier": before, "shown": own}))
        found = measured(joint["before"], joint["now"], joint["people"], called.k)
        if one.book is self._work.book and self.rows is None and self._as(one, joint):
            self.as_before = called.run
        values = dict(self._left(before, own))
        exposed, counterfeits = 0, 0
        if self.rows is not None and before_rows is not None and self._alike(one):
            query = step("exposed_counterfeits", {"rows": self.rows, "earlier": before_rows})
            exposed, counterfeits = session.row(query)
        both_drawn = bool(self._written.outcome.synthetic and one.entry.record.get("synthetic"))
        return replace(
            called,
            values=values or None,
            exposed=exposed,
            counterfeits=counterfeits,
            moments=both_drawn,
            **found,
        )

    def _as(self, one: Earlier, joint: Mapping[str, NDArray[Any]]) -> bool:
        """Whether a run showed the same people together, and told them apart alike."""
        kept = one.kept
        assert kept is not None
        then = Known(tuple(kept["by"]), kept["person"])
        return (then, kept["k"]) == (
            self._known,
            self._prepared.bound.spec.smallest_class,
        ) and same_classes(joint["before"], joint["now"])

    def _left(self, before: Relation, own: Relation) -> Iterator[tuple[str, int]]:
        """Sensitive columns of which joint classes have too few values, with the people there."""
        if self._written.outcome.synthetic is not None:
            return
        for i, (name, least) in enumerate(self._sensitive.items()):
            query = step(
                "joint_values",
                {"earlier": before, "shown": own},
                {"value": [f"value{i}"]},
                {"l": least},
            )
            _, people = self._work.session.row(query)
            if people:
                yield name, int(people)

    def _alike(self, one: Earlier) -> bool:
        """Whether rows of the two can be equal: same columns, same levels."""
        assert one.kept is not None
        names = [c.name for c in self._written.released.columns]
        node = self._written.outcome.node or ()
        levels = dict(zip((q.name for q in self._prepared.quasi_identifiers), node, strict=False))
        return bool(one.kept["columns"] == names and one.entry.transformation == levels)


def _sensitive(bound: Bound) -> dict[str, int]:
    """Distinct values that a class should have of each sensitive column; not of accepted ones."""
    least = {
        c.name: 2
        for c in bound.columns
        if c.spec.role == "sensitive" and c.spec.accept != "homogeneity"
    }
    for model in bound.models:
        if isinstance(model, LDiversity) and model.kind == "distinct":
            for target in model.targets:
                if len(target) == 1 and target[0] in least:
                    least[target[0]] = max(least[target[0]], int(model.l))
    return least
