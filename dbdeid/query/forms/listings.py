"""Questions whose answers are listed together: UNION ALL, ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import bare, refused
from dbdeid.query.parse.layers import with_terms
from dbdeid.query.parse.question import Order, Output, Question, key_name
from dbdeid.query.parse.reading import read
from dbdeid.query.parse.statement import number_of_rows, only, query, within

MOST = 64  # questions


@dataclass(frozen=True)
class Sorted:
    """One column by which a listing is sorted."""

    name: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Listing:
    """Questions with the same columns.

    Attributes:
        questions: at least one; their outputs are called as those of the first.
        order: how all their rows are sorted.
        limit, offset: which of them are wanted.
    """

    questions: tuple[Question, ...]
    order: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def stable_order(self) -> tuple[Sorted, ...]:
        """How the rows are sorted, equals by the keys: which come first is no chance."""
        if not self.order and self.limit is None and self.offset is None:
            return ()
        named = {by.name for by in self.order}
        keys = (output.name for output in self.questions[0].outputs if output.shown is None)
        return (*self.order, *(Sorted(name, False, False) for name in keys if name not in named))

    def chosen(self, question: Question) -> Question:
        """One of the questions with the order and limit of all."""
        shown = {output.name: output for output in question.outputs}
        order = tuple(
            Order(_term(shown[by.name]), by.descending, by.nulls_first) for by in self.order
        )
        return replace(question, order=order, limit=self.limit, offset=self.offset)


def _term(output: Output) -> exp.Expr:
    """What an output shows, over placeholders; NULL of a key that is not grouped by."""
    if output.shown is not None:
        return output.shown
    if output.key is not None:
        return column(key_name(output.key))
    return output.label or exp.null()


def listing(query: exp.Query, target: Answerable) -> Listing | None:
    """What a query lists; None where it is one question.

    Raises:
        DataError: a part of it is not of the supported form, or the parts do not fit together.
    """
    if isinstance(query, exp.Union):
        found = [read(select, target) for select in _branches(query)]
    elif isinstance(query, exp.Select) and _sets(query) is not None:
        found = list(_of_sets(query.copy(), target))
    else:
        return None
    _refuse_many(len(found))
    questions = tuple(_alike(found))
    limit, offset = (number_of_rows(query, clause) for clause in ("limit", "offset"))
    order = tuple(_order(query, questions[0].outputs))
    return Listing(questions, order, limit, offset)


def _refuse_many(questions: int) -> None:
    if questions > MOST:
        raise refused(f"{questions} queries in one", "ask several shorter queries")


def _alike(questions: Sequence[Question]) -> Iterator[Question]:
    """The questions with the names of the first one's columns."""
    first, *_ = questions
    shown = [output.shown is not None for output in first.outputs]
    for question in questions:
        if [output.shown is not None for output in question.outputs] != shown:
            raise refused("UNION of keys with aggregates, or of other numbers of columns")
        pairs = zip(question.outputs, first.outputs, strict=True)
        yield replace(question, outputs=tuple(replace(o, name=f.name) for o, f in pairs))


def _order(query: exp.Query, outputs: Sequence[Output]) -> Iterator[Sorted]:
    order = query.args.get("order")
    names = {output.name.lower(): output.name for output in outputs}
    for term in order.expressions if order is not None else ():
        node = bare(term.this)
        if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(outputs):
            name = outputs[int(node.name) - 1].name
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
            name = names[node.name.lower()]
        else:
            raise refused("ORDER BY of what is no column that is shown", "give its place or name")
        yield Sorted(name, bool(term.args.get("desc")), bool(term.args.get("nulls_first")))


# -- UNION ---------------------------------------------------------------------------------------


def _branches(union: exp.Union) -> list[exp.Select]:
    """The SELECTs, each with the common table expressions of all."""
    known = {"this", "expression", "distinct", "order", "limit", "offset", "with_"}
    given = union.args.get("with_")
    terms = given.expressions if given is not None else ()
    found: list[exp.Select] = []
    pending: list[exp.Expr] = [union]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Union):
            only(node, known if node is union else {"this", "expression", "distinct"}, " of UNION")
            if node.args.get("distinct"):
                raise refused("UNION, which leaves equal rows out", "write UNION ALL")
            pending += [within(node.expression), within(node.this)]
        elif isinstance(node, exp.Select):
            found.append(with_terms(node, terms))
        else:
            raise refused(f"{node.key.upper()} in UNION")
    return found


# -- grouping sets ---------------------------------------------------------------------------------


def _sets(select: exp.Select) -> list[tuple[exp.Expr, ...]] | None:
    """The terms of each set that a SELECT groups by; None where there is one."""
    group = select.args.get("group")
    if group is None or group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is None:
        return None
    given = [*group.expressions]
    for kind in ("rollup", "cube", "grouping_sets"):
        given += group.args.get(kind) or ()
    parts = [list(_of_term(term)) for term in given]
    _refuse_many(prod(map(len, parts)))
    return [tuple(term for one in chosen for term in one) for chosen in product(*parts)]


def _of_term(term: exp.Expr) -> Iterator[tuple[exp.Expr, ...]]:
    """The sets that ROLLUP, CUBE, GROUPING SETS or one of their terms stands for."""
    terms = list(term.expressions)
    if isinstance(term, exp.Rollup):
        yield from (tuple(_terms(terms[:size])) for size in range(len(terms), -1, -1))
    elif isinstance(term, exp.Cube):
        _refuse_many(2 ** len(terms))
        for size in range(len(terms), -1, -1):
            yield from (tuple(_terms(chosen)) for chosen in combinations(terms, size))
    elif isinstance(term, exp.GroupingSets):
        for one in terms:
            yield from _of_term(one)
    else:
        yield tuple(_terms([term]))


def _terms(terms: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for term in terms:
        yield from term.expressions if isinstance(term, exp.Tuple) else (bare(term),)


def _of_sets(select: exp.Select, target: Answerable) -> Iterator[Question]:
    """A question for each set: the keys that it lacks are NULL."""
    sets = _sets(select) or []
    every: list[exp.Expr] = []
    for term in (term for one in sets for term in one):
        if term not in every:
            every.append(term)
    for clause in ("order", "limit", "offset"):
        select.set(clause, None)
    if not every:
        select.set("group", None)
        yield read(select, target)
        return
    select.set("group", exp.Group(expressions=[term.copy() for term in every]))
    left_out = dict(_groupings(select, every))
    whole = read(select, target)
    if any(one.among is not None or one.over is not None for one in whole.aggregates):
        raise refused("a window or a subquery beside ROLLUP, CUBE or GROUPING SETS")
    if len(whole.keys) != len(every):
        raise refused("ROLLUP, CUBE or GROUPING SETS of two columns that are the same")
    for one in sets:
        wanted = {every.index(term) for term in one}
        found = _narrowed(whole, sorted(wanted))
        outputs = list(found.outputs)
        for at, terms in left_out.items():
            number = sum(1 << i for i, term in enumerate(reversed(terms)) if term not in wanted)
            label = cast(exp.Literal.number(number), "BIGINT")
            outputs[at] = Output(outputs[at].name, label=label)
        yield replace(found, outputs=tuple(outputs))


def _groupings(select: exp.Select, every: Sequence[exp.Expr]) -> Iterator[tuple[int, list[int]]]:
    """The places of GROUPING in a SELECT list, where a constant is put, and of what it is."""
    for at, item in enumerate(select.expressions):
        node = bare(item.unalias())
        if not isinstance(node, (exp.Grouping, exp.GroupingId)):
            continue
        terms = [bare(term) for term in node.expressions]
        if any(term not in every for term in terms):
            raise refused("GROUPING of what is not in GROUP BY", "name its keys as it has them")
        name = item.alias or node.sql("duckdb")
        item.replace(exp.alias_(exp.Literal.number(0), identifier(name)))
        yield at, [every.index(term) for term in terms]


def _narrowed(question: Question, places: Sequence[int]) -> Question:
    """A question by some of its keys; the others are NULL."""
    now = {key_name(old): key_name(new) for new, old in enumerate(places)}

    def held(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not node.name.startswith("key_"):
            return node
        return column(now[node.name]) if node.name in now else exp.null()

    outputs = []
    for output in question.outputs:
        if output.key is None:
            outputs.append(output)
        else:
            kept = places.index(output.key) if output.key in places else None
            outputs.append(Output(output.name, key=kept))
    having = question.having
    return replace(
        question,
        keys=tuple(question.keys[place] for place in places),
        outputs=tuple(outputs),
        having=None if having is None else exp.paren(having.copy()).transform(held),
    )


def listing_of(text: str, target: Answerable) -> Listing | None:
    """The listing that a text is; None of another one, and of what is too deep to be read."""
    try:
        return listing(query(text), target)
    except RecursionError:
        return None
