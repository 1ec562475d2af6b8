"""Queries as text, judged in worlds that a release may come from; the last column is judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from expansion import write_out
from judging import opened, write_worlds
from open_ends import NEAR
from question_pieces import Aggregate
from random_questions import Questioner
from random_releases import RandomRelease, random_release

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import Desk
from dbdeid.query.parse.answerable import Answerable

WORLDS = 6

Drawn = Callable[[RandomRelease, Random], Iterator[str]]


def drawers(release: RandomRelease, random: Random) -> Iterator[tuple[Questioner, dict[str, str]]]:
    """What draws the pieces of one query after another, and how columns are called in it."""
    drawer = Questioner(release, random)
    names = {a.name: a.name for a in release.attributes}
    while True:
        drawer.extra, drawer.computed = {}, ()
        yield drawer, names


def judged_all(
    topic: str, seeds: list[int], drawn: Drawn, queries: int, macros: Iterable[str] = ()
) -> Counter[str]:
    """What worlds say of queries that are drawn for random releases.

    `macros`: what functions of other engines mean in these worlds.
    """
    seen: Counter[str] = Counter()
    with opened() as session:
        for macro in macros:
            session.execute(f"CREATE MACRO {macro}")
        for seed in seeds:
            random = Random(f"{topic} {seed}")
            release = random_release(random)
            if not release.truthful:
                continue
            target = release.write(session)
            write_out(session, release)
            write_worlds(session, release, WORLDS, random)
            texts = drawn(release, random)
            desk = Desk(session, target.dictionary)  # as of a release that is opened once
            for place, text in enumerate(next(texts) for _ in range(queries)):
                seen += judged(session, desk, text, target, shown=not place)
            desk.clear()
    return seen


def number(drawer: Questioner) -> Aggregate:
    """An aggregate that is a number."""
    while True:
        found = drawer.aggregate()
        if found.argument is None or found.kind not in ("min", "max"):
            return found
        if found.argument.family == "number":
            return found


def exact(session: Session, text: str, rows: tuple[tuple[Any, ...], ...]) -> Counter[str]:
    """Rows of a query that is run as it is written are those of each world."""

    def seen(found: Iterable[tuple[Any, ...]]) -> list[str]:
        cells = ([f"{c:.9g}" if isinstance(c, float) else c for c in row] for row in found)
        return sorted(map(str, cells))

    for world in range(WORLDS + 1):
        session.execute(f"SET VARIABLE world = {world}")
        if "LIMIT" not in text:  # which takes any of them
            assert seen(session.rows(text)) == seen(rows), (world, text)
    return Counter(exact=1)


def judged(
    session: Session, desk: Desk, text: str, target: Answerable, *, shown: bool
) -> Counter[str]:
    """Count what worlds say of an answer; it must lie between its bounds in each.

    `shown`: look at the SQL for any session, too, which is not what is run.
    """
    seen: Counter[str] = Counter()
    try:
        plan = desk.plan(text, target)
        rows = desk.rows(plan).rows
    except DataError:
        return Counter(refused=1)
    except EngineError as error:  # a cast of what only an estimate or a bound can be
        if error.kind in ("ConversionException", "OutOfRangeException"):
            return Counter(refused=1)
        raise
    if shown:
        assert len(session.rows(plan.sql)) == len(rows)
    if not plan.columns[-1].endswith("_upper"):
        return exact(session, text, rows)
    answered = {row[:-3]: row[-3:] for row in rows}
    for value, lower, upper in answered.values():
        known = [float(end) for end in (lower, upper) if end is not None]
        seen["bounded" if len(known) == 2 else "unbounded"] += 1
        if value is not None and len(known) == 2:
            slack = NEAR * max(1, *(abs(n) for n in known if math.isfinite(n)), 1)
            assert known[0] <= known[1] + slack, (text, value, lower, upper)
    for world in range(WORLDS + 1):
        session.execute(f"SET VARIABLE world = {world}")
        for *key, found_there in session.rows(text):
            _, lower, upper = answered.get(tuple(key), (None, None, None))
            if found_there is None or lower is None or upper is None:
                continue
            true, lower, upper = (float(n) for n in (found_there, lower, upper))
            if not math.isfinite(true):  # where nothing is divided by nothing
                continue
            slack = NEAR * max(1.0, abs(true))
            assert lower - slack <= true <= upper + slack, (world, text, key, true, lower, upper)
            seen["worlds"] += 1
    return seen
