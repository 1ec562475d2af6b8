"""Questions that a release cannot answer, and what to ask instead."""

from __future__ import annotations

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.parse.question import Join, Question
from dbdeid.query.rewrite.dictionary import Dictionary
from dbdeid.query.rewrite.records import Records
from dbdeid.query.rewrite.rewrite import parts
from dbdeid.query.rewrite.spread import Spread

# Beyond this many single values an answer is not listed, it would fill the memory.
MOST_LEAVES = 20_000_000
# Beyond this many places where constants cut intervals, cells take seconds to tell apart.
MOST_CUTS = 4_000


def refuse_unanswerable(
    session: Session, question: Question, target: Answerable, told: Dictionary | None = None
) -> None:
    """Refuse a question that needs values which the dictionary does not explain.

    Args:
        session: where the release is.
        question: what is asked.
        target: the release.
        told: what its dictionary is known to tell; None: it is asked anew.

    Raises:
        DataError: which column, why, and what could help.
    """
    for join in question.every_join:
        _refuse_repeated(session, join)
    if target.dictionary is None:
        return
    told = told or Dictionary(session, target.dictionary)
    open_ends: dict[Spread, bool] = {}
    for records in parts(question, target):
        for used in records.spreads:
            if used not in open_ends:
                open_ends[used] = _refuse_untold(used, told)
                _refuse_unreadable(used, told)
                _refuse_too_many(used, told)
        if any(open_ends[used] for used in records.spreads):
            _refuse_undecided(session, records)


def _refuse_repeated(session: Session, join: Join) -> None:
    theirs = [column(their) for _, their in join.on]
    present = [name.copy().is_(exp.null()).not_() for name in theirs]
    distinct = exp.select(*theirs).from_(join.table.table).where(*present).distinct()
    count = exp.select(exp.Count(this=exp.Star()))
    ((rows,),) = session.rows(count.copy().from_(join.table.table).where(*present))
    ((different,),) = session.rows(count.from_(distinct.subquery("distinct")))
    if rows != different:
        names = ", ".join(their for _, their in join.on)
        raise DataError(
            f"the query cannot be answered from the release: JOIN {join.table.name}: {names} is "
            "not unique in it, so that records would count several times",
            hint="join a table with one row for each value",
        )


def _refuse_untold(used: Spread, told: Dictionary) -> bool:
    """Refuse values that the dictionary does not explain; whether some have an open end."""
    name = used.column.name
    found = told.obstacles(used.column)
    if found.ambiguous:
        raise _refused(used, "a released value has two meanings in the dictionary", "")
    if found.unknown or ((found.half_open or found.bounded) and used.scale is None):
        hint = (
            f"ask without {name}; its owner can say which values there may be and release again: "
            "list them under `domain:` beside the hierarchy of the column, give one of intervals "
            "or dates `lower` and `upper`, or name a file with all of them"
        )
        why = "the release does not tell which values some released values stand for"
        raise _refused(used, why, hint)
    in_cells = used.cuts is not None and (used.cuts.unit, used.cuts.step) != (None, None)
    if found.half_open and (used.listed or in_cells):
        hint = f"compare {name} with constants (<, BETWEEN, IN), or ask without {name}"
        raise _refused(
            used, "some released values have an open end, and the query needs their values", hint
        )
    if (found.half_open or found.bounded) and not used.measured:
        hint = f"compare {name} with constants (<, BETWEEN, IN), or ask without {name}"
        raise _refused(used, "it is released as intervals, and the query needs its values", hint)
    return bool(found.half_open)


def _refuse_undecided(session: Session, records: Records) -> None:
    """Refuse what depends on how values spread towards an open end."""
    tables = CommonTables(frozenset())
    for used, share in records.shares(tables):
        undecided = (
            exp.select(exp.Count(this=exp.Star()))
            .from_(share.table)
            .where(column("passes"))
            .where(column("share").is_(exp.null()))
        )
        ((count,),) = session.rows(tables.before(undecided))
        if count:
            why = "a released value has an open end, and the query depends on where it ends"
            hint = (
                f"compare {used.column.name} with the bounds that are released, or ask without it"
            )
            raise _refused(used, why, hint)


def _refuse_unreadable(used: Spread, told: Dictionary) -> None:
    if used.column.family in ("text", "enum"):
        return
    if count := told.unreadable(used):
        why = f"{count} leaves of its hierarchy are not of its type {used.column.shown_type}"
        raise _refused(used, why, "remove them from the hierarchy and release again")


def _refuse_too_many(used: Spread, told: Dictionary) -> None:
    if used.cuts is not None and len(used.cuts.starts) > MOST_CUTS:
        hint = f"compare {used.column.name} with at most {MOST_CUTS // 2:,} constants, or BETWEEN"
        raise _refused(used, "it is compared with too many constants", hint)
    unit = used.cuts.unit if used.cuts is not None else None
    step = used.cuts.step if used.cuts is not None else None
    if not used.listed and unit is None and step is None:
        return
    if (count := told.between_bounds(used.column, unit, step)) > MOST_LEAVES:
        hint = f"compare {used.column.name} with constants instead of using its single values"
        raise _refused(used, f"its released values stand for {count} single values", hint)


def _refused(used: Spread, why: str, hint: str) -> DataError:
    where = f"the query cannot be answered from the release: it uses {used.column.name}"
    return DataError(f"{where}; {why}", hint=hint)
