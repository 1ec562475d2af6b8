"""The recipient's models as numbers: of the original, and of a release of it.

A category enters as an indicator for each of its values but the most frequent one of the original;
which values there are and which is left out stays as it is in the original. A column that the
release generalizes enters by its expected value: every value that a label stands for is as likely,
in each column by itself, and a variable is averaged over them; an indicator so becomes the share of
its category. Records that lack a variable are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.engine.relation import Relation, column, identifier
from dbdeid.engine.session import Session, Step
from dbdeid.query.spread import source_type
from dbdeid.release.analyses import BoundAnalysis, Place, Variable, labelled, renamed
from dbdeid.release.bind import Bound
from dbdeid.release.meanings import Meanings, Untold, as_text, generalized, meanings
from dbdeid.release.public import Public
from dbdeid.utility.model_fit import Design, Floats, Records, Term, Unfitted

Ints = NDArray[np.int64]

# Categories of a covariate that a model takes.
MOST_LEVELS = 200
# Values of several generalized columns together that are averaged over.
MOST_COMBINED = 20_000_000


@dataclass(frozen=True, slots=True)
class Entered:
    """A variable on the records of a table.

    Attributes:
        values: (n,) numbers, NaN where they are missing; of a category the row of `shares`, or -1.
        shares: (m, levels) of a category how much of it each level has; None for numbers.
    """

    values: NDArray[Any]
    shares: Floats | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which records have it."""
        if self.shares is None:
            return np.asarray(np.isfinite(self.values))
        some = np.append(self.shares.sum(axis=1) > 0, False)
        return np.asarray(some[self.values])


@dataclass(frozen=True, slots=True)
class Frozen:
    """The categories of a covariate, the most frequent one of the original first."""

    levels: tuple[str, ...]

    def names(self, variable: Variable) -> tuple[str, ...]:
        """The coefficients of the others; values of a sensitive column are numbered."""
        shown = [self.shown(variable, i) for i in range(1, len(self.levels))]
        return tuple(f"{variable.text}: {level}" for level in shown)

    def shown(self, variable: Variable, number: int) -> str:
        """A level as it may be told."""
        return f"value {number + 1}" if variable.hidden else self.levels[number]


# Of each variable that is a category, by its place in the spec.
Levels = Mapping[Place, Frozen]


def of_source(
    session: Session, analysis: BoundAnalysis, source: exp.Query
) -> tuple[Design, Records, Levels]:
    """A model on the rows of the original, and the categories that are frozen there.

    Raises:
        Unfitted: a covariate has too many categories.
        EngineError: an expression cannot be computed on some record.
    """
    rows = session.arrays(picked(analysis.variables, source.subquery("source"), "source"))
    levels, found = frozen(analysis, rows)
    for variable in analysis.covariates:
        known = levels.get(variable.place)
        if known is not None and len(known.levels) == 1:
            raise Unfitted(f"{variable.text} has one value", hint="leave the covariate out")
    return *designed(analysis, found, levels, None), levels


def frozen(
    analysis: BoundAnalysis, rows: Mapping[str, NDArray[Any]]
) -> tuple[Levels, dict[Place, Entered]]:
    """The categories of the original, and the variables of its records.

    Args:
        analysis: the model.
        rows: of the original, as `picked`.

    Raises:
        Unfitted: a covariate has too many categories.
    """
    texts: dict[Place, list[str]] = {}
    found: dict[Place, Entered] = {}
    for i, variable in enumerate(analysis.variables):
        if variable.scale == "category":
            codes, known = _factorized(rows[f"v{i}"])
            _require_few(variable, len(known))
            texts[variable.place] = known
            found[variable.place] = Entered(codes, np.eye(len(known)))
        else:
            found[variable.place] = Entered(_numbers(rows[f"v{i}"]))
    own, _ = used(analysis, found)
    levels = {}
    for place, known in texts.items():
        counts = np.bincount(found[place].values[own], minlength=len(known))
        order = sorted((i for i in range(len(known)) if counts[i]), key=lambda i: -counts[i])
        levels[place] = Frozen(tuple(known[i] for i in order))
        found[place] = Entered(found[place].values, np.eye(len(known))[:, order])
    return levels, found


def entered(
    analysis: BoundAnalysis, rows: Mapping[str, NDArray[Any]], levels: Levels
) -> dict[Place, Entered]:
    """The variables of records that have values as the original has them, as `picked`."""
    return {
        variable.place: _as_it_is(rows[f"v{i}"], levels.get(variable.place))
        for i, variable in enumerate(analysis.variables)
    }


def _as_it_is(values: NDArray[Any], known: Frozen | None) -> Entered:
    if known is None:
        return Entered(_numbers(values))
    places = {text: i for i, text in enumerate(known.levels)}
    codes = np.array([places.get(text, -1) for text in _texts(values)], np.int64)
    return Entered(codes, np.eye(len(places)))


def _require_few(variable: Variable, number: int) -> None:
    if number > MOST_LEVELS:
        raise Unfitted(
            f"{variable.text} has {number:,} values, and a covariate may have {MOST_LEVELS}",
            hint="join them in an expression, as in `left(zip, 1)`",
        )


def _factorized(texts: NDArray[Any]) -> tuple[Ints, list[str]]:
    """The place of each text among the sorted ones; -1 where there is none."""
    import pandas as pd

    codes, found = pd.factorize(_texts(texts), sort=True, use_na_sentinel=True)
    return codes.astype(np.int64), [str(text) for text in found]


def picked(variables: Sequence[Variable], table: exp.Expr, name: str) -> exp.Select:
    """The values v0, v1, … of variables on the rows of a table, which the query calls `name`."""
    values = [labelled(renamed(v.value, name, {}), f"v{i}") for i, v in enumerate(variables)]
    return exp.select(*values).from_(table)


def _numbers(values: NDArray[Any]) -> Floats:
    """Numbers as the engine gives them, NaN for NULL."""
    masked: Any = np.ma  # which older versions do not type
    numbers: Floats = masked.filled(masked.asarray(values, np.float64), np.nan)
    return numbers


def _texts(values: NDArray[Any]) -> NDArray[np.object_]:
    """Texts as the engine gives them, None for NULL."""
    masked: Any = np.ma
    texts: NDArray[np.object_] = masked.filled(masked.asarray(values, np.object_), None)
    return texts


def used(
    analysis: BoundAnalysis, found: Mapping[Place, Entered]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which records a model uses, and which it leaves out for a missing value."""
    length = len(found[analysis.response.place].values)
    asked = np.ones(length, np.bool_)
    if analysis.where is not None:
        asked = np.nan_to_num(found[analysis.where.place].values) > 0
    others = [v for v in analysis.variables if v is not analysis.where]
    whole = reduce(np.logical_and, [found[v.place].known for v in others])
    return asked & whole, asked & ~whole


def designed(
    analysis: BoundAnalysis,
    found: Mapping[Place, Entered],
    levels: Levels,
    weights: Floats | None,
) -> tuple[Design, Records]:
    """The model on the records that have all its variables.

    Args:
        analysis: the model.
        found: its variables by their place.
        levels: of those that are categories.
        weights: (n,) how probably each record counts; None: all do.
    """
    within, missing = used(analysis, found)
    own = np.ones(len(within)) if weights is None else weights
    if analysis.where is not None:
        own = own * np.nan_to_num(found[analysis.where.place].values)
    columns, names = [np.zeros((int(within.sum()), 0))], []
    for variable in analysis.covariates:
        value = found[variable.place]
        if value.shares is None:
            columns.append(value.values[within, None])
            names.append(variable.text)
        else:
            columns.append(value.shares[value.values[within]][:, 1:])
            names.extend(levels[variable.place].names(variable))
    event = analysis.event
    design = Design(
        analysis.kind,
        tuple(names),
        np.hstack(columns),
        found[analysis.response.place].values[within],
        None if event is None else found[event.place].values[within],
        None if (own[within] == 1).all() else own[within],
    )
    return design, Records(float(own[within].sum()), float(own[missing].sum()))


# -- the release ------------------------------------------------------------------------------


class Released:
    """A release as the variables of models read it.

    Args:
        bound: the spec.
        session: where its tables are.
        public: what is published of it.
        hierarchies: private, what labels stand for; None where values stand for themselves.
        sensitive: the column whose values a catalog of counterfeit records counts.
    """

    def __init__(
        self,
        bound: Bound,
        session: Session,
        public: Public,
        hierarchies: Relation | None,
        sensitive: str | None,
    ) -> None:
        self._session, self._public, self._hierarchies = session, public, hierarchies
        self._table, self._weight = public.answering(session, sensitive)
        self._types = {c.name.lower(): c.type for c in session.describe(self._table.table)}
        self._columns = {c.name: c.column for c in bound.released}
        self._generalized = generalized(session, public.dictionary)
        self._meanings: dict[str, Meanings] = {}

    def design(self, analysis: BoundAnalysis, levels: Levels) -> tuple[Design, Records]:
        """A model on the records of the release.

        Raises:
            Untold: a column has no usable values.
            Unfitted: too many combinations of values would have to be averaged over.
            EngineError: an expression cannot be computed on some record.
        """
        name, picked = "released", exp.select()
        tables: dict[int, Relation] = {}
        joined = picked.from_(exp.alias_(self._table.table, name, table=True))
        for i, variable in enumerate(analysis.variables):
            if self._spread(variable):
                tables[i] = self._combinations(variable, i)
                same = [
                    exp.NullSafeEQ(this=self._read(c), expression=column(f"c{j}", f"t{i}"))
                    for j, c in enumerate(variable.columns)
                ]
                aliased = exp.alias_(tables[i].table, f"t{i}", table=True)
                joined = joined.join(aliased, on=exp.and_(*same), join_type="LEFT")
                value: exp.Expr = column("combination", f"t{i}")
            else:
                exact = {c: self._read(c) for c in variable.columns}
                value = renamed(variable.value, name, exact)
            joined = joined.select(labelled(value, f"v{i}"))
        if self._weight is not None:
            joined = joined.select(labelled(column(self._weight, name), "weight"))
        rows = self._session.arrays(joined)
        found = {
            variable.place: self._entered(variable, i, rows[f"v{i}"], levels, tables.get(i))
            for i, variable in enumerate(analysis.variables)
        }
        for table in tables.values():
            self._session.drop_temp(table.name)
        weights = None if self._weight is None else _numbers(rows["weight"])
        return designed(analysis, found, levels, weights)

    def terms(self, analysis: BoundAnalysis, levels: Levels) -> tuple[Term, ...]:
        """How each variable enters."""
        found = {}
        for variable in analysis.variables:
            own = self._spread(variable)
            told = all(self._meanings[c].told for c in own if c in self._meanings)
            known = levels.get(variable.place)
            found[variable.text] = Term(
                variable.text,
                "expected" if own else "value",
                told,
                known.shown(variable, 0) if known else None,
            )
        return tuple(found.values())

    def _spread(self, variable: Variable) -> list[str]:
        """The columns of a variable that are generalized."""
        return [name for name in variable.columns if name in self._generalized]

    def _read(self, name: str) -> exp.Expr:
        """A column of the release: in the type of the source, or as the dictionary writes it."""
        value = column(name, "released")
        if name in self._generalized:
            return as_text(value)
        source = self._columns[name]
        same = self._types[name.lower()] == source.type
        return value if same else exp.cast(value, source_type(source))

    def _means(self, name: str) -> Relation:
        if name not in self._meanings:
            dictionary, hierarchies = self._public.dictionary, self._hierarchies
            if dictionary is None or hierarchies is None:
                raise Untold(f"{name} is released without a dictionary")
            staged = f"deid_meanings_{len(self._meanings)}"
            self._meanings[name] = meanings(
                self._session, self._columns[name], dictionary, hierarchies, staged
            )
        return self._meanings[name].table

    def _combinations(self, variable: Variable, number: int) -> Relation:
        """The released values of a variable's columns together, numbered: combination, c0, …."""
        for name in self._spread(variable):
            self._means(name)
        own = [labelled(self._read(c), f"c{j}") for j, c in enumerate(variable.columns)]
        table = exp.alias_(self._table.table, "released", table=True)
        distinct = exp.select(*own).from_(table).distinct()
        place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.convert(1)]))
        names = [column(f"c{j}") for j in range(len(own))]
        query = exp.select(
            exp.alias_(exp.Sub(this=place, expression=exp.convert(1)), "combination"), *names
        )
        step = Step(f"deid_combinations_{number}", query.from_(distinct.subquery(identifier("d"))))
        return self._session.run(step)

    def _entered(
        self,
        variable: Variable,
        number: int,
        values: NDArray[Any],
        levels: Levels,
        table: Relation | None,
    ) -> Entered:
        known = levels.get(variable.place)
        places = {text: i for i, text in enumerate(known.levels)} if known else {}
        if table is None:
            return _as_it_is(values, known)
        index = np.asarray(values, np.int64)
        size = int(index.max(initial=-1)) + 1
        self._require_small(variable, table)
        averaged = self._averaged(variable, table)
        if known is None:
            means = np.full(size, np.nan)
            for row, mean in self._session.rows(averaged):
                means[row] = np.nan if mean is None else mean
            return Entered(means[index])
        shares = np.zeros((size, len(places)))
        for row, text, share in self._session.rows(averaged):
            if text in places:
                shares[row, places[text]] = share
        return Entered(index, shares)

    def _joined(self, variable: Variable, table: Relation, query: exp.Select) -> exp.Select:
        """The combinations of a variable with all that they may stand for."""
        query = query.from_(exp.alias_(table.table, "t", table=True))
        for j, name in enumerate(variable.columns):
            if name in self._generalized:
                means = exp.alias_(self._means(name).table, f"m{j}", table=True)
                same = exp.NullSafeEQ(
                    this=column(f"c{j}", "t"), expression=column("value", f"m{j}")
                )
                query = query.join(means, on=same)
        return query

    def _averaged(self, variable: Variable, table: Relation) -> exp.Select:
        """Of each combination the mean, or the levels that it may have with their shares."""
        stands = {
            name: column("leaf", f"m{j}") if name in self._generalized else column(f"c{j}", "t")
            for j, name in enumerate(variable.columns)
        }
        value = renamed(variable.value, "t", stands)
        row = column("combination", "t")
        if variable.scale != "category":
            # of each single leaf as a number that is there: what is missing is not averaged
            finite = exp.Case(
                ifs=[exp.If(this=exp.Anonymous(this="isfinite", expressions=[value]), true=value)]
            )
            mean = exp.select(row, exp.Avg(this=finite))
            return self._joined(variable, table, mean).group_by(row.copy())
        rows = self._joined(variable, table, exp.select(row, exp.alias_(value, "level")))
        known = exp.not_(column("level").is_(exp.null()))
        count = exp.Count(this=exp.Star())
        whole = exp.Window(this=exp.Sum(this=count.copy()), partition_by=[column("combination")])
        share = exp.Div(this=exp.cast(count, "DOUBLE"), expression=whole, typed=False)
        return (
            exp.select(column("combination"), column("level"), share)
            .from_(rows.subquery(identifier("leaves")))
            .where(known)
            .group_by(column("combination"), column("level"))
        )

    def _require_small(self, variable: Variable, table: Relation) -> None:
        if len(self._spread(variable)) < 2:
            return
        whole = exp.select(exp.Count(this=exp.Star()))
        bounded = self._joined(variable, table, exp.select(exp.alias_(exp.convert(1), "one")))
        rows = bounded.limit(MOST_COMBINED + 1).subquery(identifier("leaves"))
        if self._session.row(whole.from_(rows))[0] > MOST_COMBINED:
            raise Unfitted(
                f"{variable.text} combines more than {MOST_COMBINED:,} values of its columns",
                hint="name one generalized column in a variable",
            )
