"""Compare the answers to random queries with those of brute force and of possible worlds.

`judge` takes a release and a query and says all that is wrong with the answer; `Tally` counts what
was seen.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import duckdb
from combined import COMBINED, meets, results
from expansion import (
    SLACK,
    Figure,
    figures,
    in_intervals,
    meaning_of,
    members,
    number,
    open_ended,
    rows_of,
    size,
    untold,
    write_out,
)
from open_ends import NEAR, UNKNOWN, Key, agree, both
from question_pieces import Item, Query, Term
from random_questions import Questioner
from random_releases import RandomRelease, random_release, write_table

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MOST_ROWS = 4000  # more rows than these are not written out: the query is drawn again


@dataclass
class Tally:
    """What was seen: queries, groups, bounds and worlds, refusals by reason, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A release, written and ready to be asked."""

    release: RandomRelease
    target: Answerable
    worlds: int


@contextmanager
def opened() -> Iterator[Session]:
    """A session in memory, single-threaded."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        with Session.over(connection, None, read_only=False) as session:
            yield session


def run(session: Session, seed: int, queries: int, worlds: int, tally: Tally) -> None:
    """Draw a release and queries of it, and judge the answers."""
    random = Random(seed)
    release = random_release(random)
    case = Case(release, release.write(session), worlds)
    write_out(session, release)
    write_worlds(session, release, worlds, random)
    for place in range(queries):
        drawer = Questioner(release, random)
        query = drawer.query()
        while size(release, query) > MOST_ROWS:
            query = drawer.query()
        for fault in judge(session, case, query, tally):
            tally.wrong.append(f"seed {seed}, query {place}: {fault}\n{query.text(release)}")


def judge(session: Session, case: Case, query: Query, tally: Tally) -> list[str]:
    """All that is wrong with the answer to a query."""
    release = case.release
    text = query.text(release)
    tally.counts["queries"] += 1
    try:
        found = answer(session, text, case.target)
    except DataError as refusal:
        tally.counts["refused"] += 1
        tally.refusals[_reason(str(refusal), release)] += 1
        return []
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    if untold(release, query):
        return ["answered though the dictionary does not tell a value that is used"]
    if query.style == "distinct":  # judged by worlds alone
        worlds = _Judged(session, case, query, {}, found.rows, tally)
        return [*worlds.names(found.columns), *worlds.faults_in_worlds()]
    chances = release.chances or (1.0,) * len(release.released)
    truth = figures(query, rows_of(session, release, query), chances)
    if open_ended(release, query):
        tally.counts["queries of open ends"] += 1
        other = figures(query, rows_of(session, release, query, guess=1), chances)
        if not agree(truth, other):
            return [f"answered though nobody knows where values end, {found.rows}"]
        truth = {key: both(truth[key], other[key]) for key in truth}
    judged = _Judged(session, case, query, truth, found.rows, tally)
    return [*judged.names(found.columns), *judged.faults(), *judged.faults_in_worlds()]


def _reason(message: str, release: RandomRelease) -> str:
    for attribute in release.attributes:
        message = message.replace(f"uses {attribute.name};", "uses …;")
    message = message.splitlines()[0]
    return message.removeprefix("the query cannot be answered from the release: ")


# -- worlds --------------------------------------------------------------------------------------


def write_worlds(session: Session, release: RandomRelease, count: int, random: Random) -> None:
    """Tables that the source might have been, seen as `people`; world 0 is the source itself."""
    rows: list[tuple[Any, ...]] = [(0, *row) for row in release.source]
    chances = release.chances or (1.0,) * len(release.released)
    if not release.truthful:
        count = 0
    for world in range(1, count + 1):
        for record, chance in zip(release.released, chances, strict=True):
            if random.random() < {0: 0, 1: 1}.get(chance, 0.5):
                cells = zip(release.attributes, record, strict=True)
                row = (random.choice(members(a, meaning_of(a, cell))) for a, cell in cells)
                rows.append((world, *row))
    columns = {a.name: a.type for a in release.attributes}
    write_table(session, "worlds", {"world": "INTEGER", **columns}, rows)
    listed = ", ".join(f'"{name}"' for name in columns)
    session.execute(
        f"CREATE OR REPLACE VIEW people AS SELECT {listed} FROM worlds "
        "WHERE world = getvariable('world')"
    )


# -- one answer ----------------------------------------------------------------------------------

Shown = tuple[Any, Any, Any]  # an aggregate as it is answered: value, lower, upper


@dataclass
class _Judged:
    session: Session
    case: Case
    query: Query
    truth: dict[Key, list[Figure]]
    rows: Sequence[tuple[Any, ...]]
    tally: Tally

    def __post_init__(self) -> None:
        self.in_intervals = in_intervals(self.case.release, self.query)
        self.slack = SLACK if self.in_intervals else 0.0
        self.shown: dict[tuple[str, float], float] = {}

    def names(self, columns: Sequence[str]) -> Iterator[str]:
        """Check the names of the answer's columns."""
        wanted: list[str | None] = []
        for item in self.query.items:
            wanted.append(item.alias)
            if not item.is_key and len(columns) > len(self.query.items):  # else all are exact
                wanted += [item.alias and f"{item.alias}{end}" for end in ("_lower", "_upper")]
        pairs = list(itertools.zip_longest(wanted, columns))
        if len(columns) != len(wanted) or any(w not in (None, c) for w, c in pairs):
            yield f"columns {columns}"

    # -- against brute force -----------------------------------------------------------------

    def faults(self) -> list[str]:
        """What is wrong with groups, values, bounds, order and number of rows."""
        listed = {key: self._having(figures) for key, figures in self.truth.items()}
        left = {key for key, holds in listed.items() if holds is not False}
        faults: list[str] = []
        placed: list[Key] = []
        for row in self.rows:
            keys, aggregates = self._split(row)
            fitting = [k for k in left if all(same(k[i], v) for i, v in keys.items())]
            if not fitting:
                return [f"a group that is not expected: {row}"]
            tried = {key: self._compared(key, aggregates) for key in fitting}
            key = min(fitting, key=lambda k: len(tried[k]))
            faults += [f"{fault} in {row}" for fault in tried[key]]
            left.discard(key)
            placed.append(key)
            self.tally.counts["groups"] += 1
        missing = [k for k in left if listed[k]]
        if self.query.limit is None and missing:
            faults.append(f"groups are missing: {missing}, of {self.rows}")
        unsure = any(holds is None for holds in listed.values())
        wanted = sum(holds is True for holds in listed.values())
        if self.query.limit is not None and not unsure:
            wanted = min(self.query.limit, wanted)
            if len(self.rows) != wanted:
                faults.append(f"{len(self.rows)} rows instead of {wanted}")
        return faults or self._order(placed, missing)

    def _split(self, row: tuple[Any, ...]) -> tuple[dict[int, Any], list[tuple[Item, Shown]]]:
        cells = iter(row)
        exact = len(row) == len(self.query.items)
        keys: dict[int, Any] = {}
        aggregates: list[tuple[Item, Shown]] = []
        for item in self.query.items:
            if item.is_key:
                keys[item.place] = next(cells)
            elif exact:
                value = next(cells)
                end = value if self.case.target.truthful else None
                aggregates.append((item, (value, end, end)))
            else:
                aggregates.append((item, (next(cells), next(cells), next(cells))))
        return keys, aggregates

    def _compared(self, key: Key, aggregates: list[tuple[Item, Shown]]) -> list[str]:
        faults = []
        for item, (value, lower, upper) in aggregates:
            if item.shown in COMBINED:
                faults += self._combined(key, item, (value, lower, upper))
                continue
            figure = self.truth[key][item.place]
            name = self.query.aggregates[item.place].kind
            if not self._is_expected(item, figure, value):
                faults.append(f"{name} is {value}, not {figure.expected}")
            if not self.case.target.truthful:
                if (lower, upper) != (None, None):
                    faults.append(f"{name} of an untruthful release has bounds")
                continue
            faults += self._bounded(item, figure, lower, upper)
        return faults

    def _combined(self, key: Key, item: Item, shown: Shown) -> list[str]:
        """What is wrong with what is shown of two aggregates; its bounds are left to worlds."""
        if not self.case.target.truthful and shown[1:] != (None, None):
            return ["two aggregates of an untruthful release have bounds"]
        places = [place for place in (item.place, item.other) if place is not None]
        if any(self._bounds_only(p) or self.truth[key][p].medians for p in places):
            return []
        self.tally.counts["expected of several aggregates"] += 1
        expected = [self.truth[key][place].expected for place in places]
        value, lower, upper = map(number, shown)
        found = results(self.session, item.shown, expected, NEAR)
        fine = meets(value, (lower, upper), found, NEAR)
        return [] if fine else [f"{item.shown} is {shown}, not of {expected}"]

    def _is_expected(self, item: Item, figure: Figure, value: Any) -> bool:
        if value is None and self._bounds_only(item.place):
            self.tally.counts["least or greatest without expected value"] += 1
            return True
        if figure.medians is not None:
            return value is not None and figure.medians.has_median(value, NEAR)
        if value is None or figure.expected is None:
            return value is None and figure.expected is None
        self.tally.counts["expected values"] += 1
        return self._meets(item.shown, value, figure.expected, NEAR)

    def _bounds_only(self, place: int) -> bool:
        """MIN or MAX of a column that may be in intervals, for which only bounds are promised."""
        aggregate = self.query.aggregates[place]
        if aggregate.kind not in ("min", "max") or aggregate.argument is None:
            return False
        text = aggregate.argument.text
        for name, scalar in self.query.computed:
            text = text.replace("{" + name + "}", scalar.text)
        return any(
            text == "{" + a.name + "}" and a.continuous and a.meanings is not None
            for a in self.case.release.attributes
        )

    def _meets(self, shown: str, value: Any, wanted: float, near: float) -> bool:
        """Whether a shown value comes from one near to what is wanted."""
        off = near * max(1.0, abs(wanted))
        ends = [self._show(shown, wanted - off), self._show(shown, wanted + off)]
        reach = NEAR * max(1.0, *map(abs, ends))
        return min(ends) - reach <= float(value) <= max(ends) + reach

    def _show(self, shown: str, value: float) -> float:
        value = float(value)
        if shown == "{v}":
            return value
        if (shown, value) not in self.shown:
            text = shown.replace("{v}", f"CAST({value!r} AS DOUBLE)")
            self.shown[shown, value] = float(self.session.row(f"SELECT {text}")[0])
        return self.shown[shown, value]

    def _bounded(self, item: Item, figure: Figure, lower: Any, upper: Any) -> list[str]:
        """Bounds must be attained, but those of COUNT(DISTINCT), which must only hold."""
        kind = self.query.aggregates[item.place].kind
        if UNKNOWN in (figure.lower, figure.upper):
            self.tally.counts["bounds beyond an open end"] += 1
            return self._unbounded(item, figure, lower, upper)
        truth = (figure.lower, figure.upper)
        if truth == (None, None) or lower is None or upper is None:
            fine = truth == (None, None) and lower is None and upper is None
            return [] if fine else [f"{kind} bounds {lower}, {upper}, not {truth}"]
        if number(figure.lower) is None:  # text
            self.tally.counts["bounds attained"] += 2
            fine = (lower, upper) == truth
            return [] if fine else [f"{kind} bounds {lower}, {upper}, not {truth}"]
        low, high = number(figure.lower), number(figure.upper)
        lower, upper = number(lower), number(upper)
        assert low is not None
        assert high is not None
        if self._falls(item.shown):
            lower, upper = upper, lower
        if kind == "distinct":
            assert figure.most is not None
            first, last = (self._show(item.shown, v) for v in (low, high))
            most = self._show(item.shown, figure.most)
            self.tally.counts["distinct bounds"] += 1
            self.tally.counts["distinct bounds attained"] += lower == first and upper == last
            fine = _between(lower, first) and _between(last, upper) and _between(upper, most)
            if self._falls(item.shown):
                fine = lower >= first and last >= upper >= most
            return [] if fine else [f"distinct bounds {lower}, {upper} around {truth}"]
        self.tally.counts["bounds attained"] += 2
        fine = self._meets(item.shown, lower, low, max(self.slack, NEAR))
        fine &= self._meets(item.shown, upper, high, max(self.slack, NEAR))
        return [] if fine else [f"{kind} bounds {lower}, {upper}, not {truth}"]

    def _unbounded(self, item: Item, figure: Figure, lower: Any, upper: Any) -> list[str]:
        """Where an open end makes a bound, none may be told."""
        if self._falls(item.shown):
            lower, upper = upper, lower
        told = [
            value
            for truth, value in ((figure.lower, lower), (figure.upper, upper))
            if truth == UNKNOWN and value is not None and abs(number(value) or 0.0) != math.inf
        ]
        return [f"bounds {told} of an open end"] if told else []

    def _falls(self, shown: str) -> bool:
        return self._show(shown, 1000.0) < self._show(shown, 0.0)

    # -- HAVING, ORDER BY, LIMIT ---------------------------------------------------------------

    def _having(self, found: list[Figure]) -> bool | None:
        """Whether a group is listed; None where a constant is too near to tell."""
        if not self.query.having:
            return True
        key = next(k for k, f in self.truth.items() if f is found)
        each = [self._holds(term, key, found) for term in self.query.having]
        if "unsure" in each:
            return None
        if self.query.any_of:
            return True in each
        return all(holds is True for holds in each)

    def _holds(self, term: Term, key: Key, found: list[Figure]) -> bool | str | None:
        if not term.is_key and self._bounds_only(term.place):
            return "unsure"
        value = key[term.place] if term.is_key else self._value(term.place, found)
        if term.constant is None:
            return (value is None) == (term.sign == "IS NULL")
        if value is None:
            return None
        value = term.times * float(value)
        if not term.is_key and abs(value - term.constant) < 1e-7:
            return "unsure"
        return SIGNS[term.sign](value, term.constant)

    @staticmethod
    def _value(place: int, found: list[Figure]) -> Any:
        figure = found[place]
        if figure.medians is not None:
            return figure.medians  # there is one
        return figure.expected

    def _order(self, placed: list[Key], missing: list[Key]) -> list[str]:
        """Rows must come in order, and none that is left out may come before one that is not."""
        if not self.query.order or self.query.hides_keys:
            return []
        by = [order.place for order in self.query.order if not order.is_key]
        if any(self._bounds_only(p) or f[p].medians for p in by for f in self.truth.values()):
            return []  # nothing is expected, or several medians are right
        for first, second in itertools.pairwise(placed):
            if self._compare(first, second) > 0:
                return [f"{second} comes after {first}"]
        if placed and any(self._compare(placed[-1], key) > 0 for key in missing):
            return [f"a group is left out that comes before {placed[-1]}"]
        return []

    def _compare(self, first: Key, second: Key) -> int:
        for order in self.query.order:
            one, two = (
                key[order.place] if order.is_key else self.truth[key][order.place].expected
                for key in (first, second)
            )
            if one is None or two is None:
                if (one is None) != (two is None):
                    nulls_first = order.nulls == " NULLS FIRST"
                    return -1 if (one is None) == nulls_first else 1
                continue
            if not order.is_key and abs(one - two) < 1e-7 * max(1.0, abs(one)):
                return 0  # who comes first is not told
            if one != two:
                return -1 if (one < two) != order.descending else 1
        return 0

    # -- against worlds --------------------------------------------------------------------------

    def faults_in_worlds(self) -> list[str]:
        """Every world's answer to the analyst's own words must lie within the bounds."""
        release, query = self.case.release, self.query
        if not self.case.target.truthful or query.hides_keys:
            return []
        text = query.unlimited.text(release)
        answered = {}
        for row in self.rows:
            keys, aggregates = self._split(row)
            answered[tuple(keys[i] for i in range(len(query.keys)))] = aggregates
        faults = []
        for world in range(self.case.worlds + 1):
            self.session.execute(f"SET VARIABLE world = {world}")
            for row in self._rows_of_world(text):
                faults += self._within(world, row, answered)
        return faults[:3]

    def _rows_of_world(self, text: str) -> Sequence[tuple[Any, ...]]:
        """What the query gives there; nothing where a number is beyond its type."""
        try:
            return self.session.rows(text)
        except EngineError as error:
            if error.kind != "OutOfRangeException":
                raise
            self.tally.counts["worlds beyond a type"] += 1
            return ()

    def _within(
        self, world: int, row: tuple[Any, ...], answered: dict[Key, list[tuple[Item, Shown]]]
    ) -> Iterator[str]:
        cells = iter(row)
        values = {}
        keys: dict[int, Any] = {}
        for item in self.query.items:
            if item.is_key:
                keys[item.place] = next(cells)
            else:
                values[item] = next(cells)
        for item, (_, lower, upper) in answered.get(
            tuple(keys[i] for i in range(len(self.query.keys))), ()
        ):
            value = values[item]
            rough = item.shown in COMBINED or self.query.style == "distinct"
            if value is None or (rough and None in (lower, upper)):
                continue
            self.tally.counts["worlds within bounds"] += 1
            if not (_between(lower, value) and _between(value, upper)):
                where = "the source" if world == 0 else "a world"
                yield f"{where} has {value}, not in {lower}, {upper}: {row}"


def _between(low: Any, high: Any) -> bool:
    if low is None or high is None:
        return False
    one, two = number(low), number(high)
    if one is None or two is None:
        return bool(low <= high)
    return one <= two + NEAR * max(1.0, abs(two))


def same(one: Any, two: Any) -> bool:
    """Whether two keys are equal; NULL is a key of its own, and 1 is not true."""
    if isinstance(one, bool) != isinstance(two, bool):
        return False
    return bool(one == two) if one is not None and two is not None else one is two


SIGNS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
