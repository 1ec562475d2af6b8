"""Answer a query from a release, or say why it cannot be answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import column, identifier
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step
from dbdeid.errors import DataError
from dbdeid.query.question import Answerable, Question, parse
from dbdeid.query.rewrite import estimate, spreads
from dbdeid.query.spread import Spread

# Beyond this many single values an answer is not listed, it would fill the memory.
MOST_LEAVES = 20_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The expected answer of the source, and the SQL on the release that gave it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    sql: str

    def to_dict(self) -> dict[str, Any]:
        """The answer as `query --json` shows it."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"columns": list(self.columns), "rows": rows, "sql": self.sql}


def answer(session: Session, text: str, target: Answerable) -> Answer:
    """Answer an analyst query that was written for the source.

    Raises:
        DataError: the query is not of the supported form, or the dictionary does not tell what
            a value that it needs stands for.
    """
    question = parse(text, target)
    refuse_unanswerable(session, question, target)
    query = estimate(question, target)
    rows = session.rows(query)
    columns = tuple(output.name for output in question.outputs)
    return Answer(columns, tuple(rows), sql(query, pretty=True))


def refuse_unanswerable(session: Session, question: Question, target: Answerable) -> None:
    """Refuse a question that needs values which the dictionary does not tell.

    Raises:
        DataError: which column, why, and what could help.
    """
    for used in spreads(question, target):
        _refuse_unknown(session, used, target)
        _refuse_unreadable(session, used, target)
        if used.listed:
            _refuse_too_many(session, used, target)


def _refuse_unknown(session: Session, used: Spread, target: Answerable) -> None:
    name = used.column.name
    query = step("query_obstacles", {"dictionary": target.dictionary}, {}, {"column": name})
    unknown, bounded, ambiguous = session.row(query)
    if ambiguous:
        raise _refused(used, "a released value has two meanings in the dictionary", "")
    if unknown or (bounded and used.scale is None):
        hint = (
            f"declare the domain of {name} in its hierarchy (`domain:`, `lower` and `upper`, or a "
            f"file with all leaves) and release again, or ask without {name}"
        )
        why = "some released values have neither listed leaves nor two bounds"
        raise _refused(used, why, hint)
    if bounded and not used.measured:
        hint = f"compare {name} with constants (<, BETWEEN, IN), or ask without {name}"
        raise _refused(used, "it is released as intervals, and the query needs its values", hint)


def _refuse_unreadable(session: Session, used: Spread, target: Answerable) -> None:
    if used.column.family in ("text", "enum"):
        return
    leaf = exp.select(exp.alias_(exp.Explode(this=column("leaves")), identifier("leaf")))
    listed = leaf.from_(target.dictionary.table).where(_rows_of(used))
    unreadable = exp.TryCast(this=column("leaf"), to=used.leaf_type).is_(exp.null())
    query = (
        exp.select(exp.Count(this=exp.Star()))
        .from_(listed.subquery(identifier("listed")))
        .where(column("leaf").is_(exp.null()).not_())
        .where(unreadable)
    )
    ((count,),) = session.rows(query)
    if count:
        why = f"{count} leaves of its hierarchy are not of its type {used.column.shown_type}"
        raise _refused(used, why, "remove them from the hierarchy and release again")


def _refuse_too_many(session: Session, used: Spread, target: Answerable) -> None:
    kind = "DATE" if used.column.family == "date" else "HUGEINT"
    length = exp.cast(column("upper"), kind) - exp.cast(column("lower"), kind)
    query = (
        exp.select(exp.func("COALESCE", exp.Sum(this=length), exp.Literal.number(0)))
        .from_(target.dictionary.table)
        .where(_rows_of(used))
        .where(column("level") > 0)
        .where(exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0))
    )
    ((count,),) = session.rows(query)
    if count > MOST_LEAVES:
        hint = f"compare {used.column.name} with constants instead of using its single values"
        raise _refused(used, f"its released values stand for {count} single values", hint)


def _rows_of(used: Spread) -> exp.Expr:
    return column("column").eq(exp.Literal.string(used.column.name))


def _refused(used: Spread, why: str, hint: str) -> DataError:
    where = f"the query cannot be answered from the release: it uses {used.column.name}"
    return DataError(f"{where}; {why}", hint=hint)
