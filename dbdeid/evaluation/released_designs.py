"""The design matrices of a recipient's models, of a source and of its release."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.analyses.design_matrices import (
    MOST_COMBINED,
    Entered,
    Levels,
    as_it_is,
    designed,
    numbers_of,
)
from dbdeid.analyses.value_meanings import Meanings, Untold, as_text, generalized, meanings
from dbdeid.bind.analyses import labelled, renamed
from dbdeid.bind.bound import Bound, BoundAnalysis, Variable
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    average_of,
    case,
    cast,
    column,
    count_rows,
    function,
    identifier,
    literal,
    not_null,
    over,
    row_number,
    same_value,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.publish.tables import Public
from dbdeid.query.parse.meaning import source_type
from dbdeid.utility.model_fit import Design, Records, Term, Unfitted


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
        name, picked = "released", select()
        tables: dict[int, Relation] = {}
        joined = picked.from_(self._table.aliased(name))
        for i, variable in enumerate(analysis.variables):
            if self._spread(variable):
                tables[i] = self._combinations(variable, i)
                same = [
                    same_value(self._read(c), column(f"c{j}", f"t{i}"))
                    for j, c in enumerate(variable.columns)
                ]
                aliased = tables[i].aliased(f"t{i}")
                joined = joined.join(aliased, on=all_of(*same), join_type="LEFT")
                value: Expr = column("combination", f"t{i}")
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
        weights = None if self._weight is None else numbers_of(rows["weight"])
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

    def _read(self, name: str) -> Expr:
        """A column of the release: in the type of the source, or as the dictionary writes it."""
        value = column(name, "released")
        if name in self._generalized:
            return as_text(value)
        source = self._columns[name]
        same = self._types[name.lower()] == source.type
        return value if same else cast(value, source_type(source))

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
        table = self._table.aliased("released")
        distinct = select(*own).from_(table).distinct()
        place = over(row_number(), order=[literal(1)])
        names = [column(f"c{j}") for j in range(len(own))]
        query = select(aliased(place - literal(1), "combination"), *names)
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
            return as_it_is(values, known)
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

    def _joined(self, variable: Variable, table: Relation, query: Select) -> Select:
        """The combinations of a variable with all that they may stand for."""
        query = query.from_(table.aliased("t"))
        for j, name in enumerate(variable.columns):
            if name in self._generalized:
                means = self._means(name).aliased(f"m{j}")
                same = same_value(column(f"c{j}", "t"), column("value", f"m{j}"))
                query = query.join(means, on=same)
        return query

    def _averaged(self, variable: Variable, table: Relation) -> Select:
        """Of each combination the mean, or the levels that it may have with their shares."""
        stands = {
            name: column("leaf", f"m{j}") if name in self._generalized else column(f"c{j}", "t")
            for j, name in enumerate(variable.columns)
        }
        value = renamed(variable.value, "t", stands)
        row = column("combination", "t")
        if variable.scale != "category":
            # of each single leaf as a number that is there: what is missing is not averaged
            finite = case((function("isfinite", value), value))
            mean = select(row, average_of(finite))
            return self._joined(variable, table, mean).group_by(row.copy())
        rows = self._joined(variable, table, select(row, aliased(value, "level")))
        known = not_null(column("level"))
        count = count_rows()
        whole = over(sum_of(count.copy()), by=[column("combination")])
        share = cast(count, "DOUBLE") / whole
        return (
            select(column("combination"), column("level"), share)
            .from_(rows.subquery(identifier("leaves")))
            .where(known)
            .group_by(column("combination"), column("level"))
        )

    def _require_small(self, variable: Variable, table: Relation) -> None:
        if len(self._spread(variable)) < 2:
            return
        whole = select(count_rows())
        bounded = self._joined(variable, table, select(aliased(literal(1), "one")))
        rows = bounded.limit(MOST_COMBINED + 1).subquery(identifier("leaves"))
        if self._session.row(whole.from_(rows))[0] > MOST_COMBINED:
            raise Unfitted(
                f"{variable.text} combines more than {MOST_COMBINED:,} values of its columns",
                hint="name one generalized column in a variable",
            )
