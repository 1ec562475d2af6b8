"""Check the recipient's models against the columns of the source.

A variable of a model is a column, or an SQL expression of columns that are released: one that is
computed from the values of one record, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dbdeid.bind.bound import BoundAnalysis, Place, Scale, Variable
from dbdeid.engine.expressions import Expr, Query, aliased, cast, column, function, literal, select
from dbdeid.engine.failure import EngineError
from dbdeid.engine.reading import NotSql, columns_in, is_column, is_qualified, with_columns
from dbdeid.engine.relation import NUMBERS, Column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import statements
from dbdeid.errors import Mistake, did_you_mean
from dbdeid.query.parse.expressions import is_scalar, named
from dbdeid.spec.file import SpecFile
from dbdeid.spec.model_spec import Analysis, Cox

if TYPE_CHECKING:
    from dbdeid.bind.bound import BoundColumn


_SCALES: dict[str, Scale] = {
    **dict.fromkeys((*NUMBERS, "date", "timestamp"), "number"),
    "boolean": "boolean",
    **dict.fromkeys(("text", "enum"), "category"),
}
_SECONDS_A_DAY = 86_400


def bound(
    file: SpecFile, columns: Mapping[str, BoundColumn], source: Query, session: Session
) -> tuple[tuple[BoundAnalysis, ...], list[Mistake]]:
    """Bind the declared models to their variables, and list their mistakes.

    Args:
        file: the spec.
        columns: those of the source, by name in lower case.
        source: its rows.
        session: where it can be described.
    """
    binder = _Binder(file, columns, source, session)
    found = [binder.model(i, model) for i, model in enumerate(file.spec.evaluate.models)]
    return tuple(model for model in found if model is not None), binder.mistakes


class _Binder:
    """Looks at one variable after the other, and gathers what is wrong."""

    def __init__(
        self,
        file: SpecFile,
        columns: Mapping[str, BoundColumn],
        source: Query,
        session: Session,
    ) -> None:
        self.mistakes: list[Mistake] = []
        self._file, self._columns = file, columns
        self._source, self._session = source, session

    def model(self, number: int, given: Analysis) -> BoundAnalysis | None:
        """A model; None where a variable is wrong."""
        before, at = len(self.mistakes), ("evaluate", "models", number)
        event = None
        if isinstance(given, Cox):
            response = self._variable(given.duration, (*at, "duration"), ("number",))
            event = self._variable(given.event, (*at, "event"), ("boolean", "number"))
        else:
            response = self._variable(given.response, (*at, "response"), ("number", "boolean"))
        covariates = [
            self._variable(text, (*at, "covariates", i), ("number", "boolean", "category"))
            for i, text in enumerate(given.covariates)
        ]
        where = None
        if given.where is not None:
            where = self._variable(given.where, (*at, "where"), ("boolean",))
        if len(self.mistakes) > before:
            return None
        assert response is not None
        known = tuple(c for c in covariates if c is not None)
        return BoundAnalysis(number, given.kind, response, event, known, where)

    def _variable(self, text: str, place: Place, scales: Sequence[Scale]) -> Variable | None:
        try:
            return self._read(text, place, scales)
        except _Wrong as wrong:
            for message, hint in wrong.told:
                self.mistakes.append(self._file.mistake(message, *place, hint=hint))
            return None

    def _read(self, text: str, place: Place, scales: Sequence[Scale]) -> Variable:
        tree = self._parsed(text)
        names = list(dict.fromkeys(columns_in(tree)))
        if not names:
            raise _Wrong(("names no column", "a model is about columns of the source"))
        if unusable := [told for name in names for told in self._unusable(name)]:
            raise _Wrong(*unusable)
        known = {name: self._columns[name.lower()] for name in names}
        tree = with_columns(tree, lambda name: column(known[name].name))
        kind = self._type(tree)
        scale = _SCALES.get(kind.family)
        if is_column(tree) and known[names[0]].spec.type == "categorical":
            scale = "category"  # numbers that are codes
        if scale is None or scale not in scales:
            hint = "cast it, or write a condition, as in `status = 'dead'`"
            shown = kind.shown_type if scale == _SCALES.get(kind.family) else "of type categorical"
            raise _Wrong((f"is {shown}, and {_wanted(scales)}", hint))
        return Variable(
            text,
            place,
            _as_scale(tree, scale, kind),
            tuple(dict.fromkeys(c.name for c in known.values())),
            scale,
            scale == "category" and any(c.spec.role == "sensitive" for c in known.values()),
        )

    def _parsed(self, text: str) -> Expr:
        """The text as a tree; a name of a column is one, whatever signs it has."""
        if text.strip().lower() in self._columns:
            return column(text.strip())
        hint = "a column, or one expression of columns, as in `months > 24`"
        try:
            trees = statements(text)
        except NotSql:
            raise _Wrong(("is no SQL expression", hint)) from None
        tree = trees[0] if len(trees) == 1 else None
        if tree is None:
            raise _Wrong(("is not one SQL expression", hint))
        for part in tree.walk():
            if not is_scalar(part):
                raise _Wrong((f"{named(part)} is not taken: a model reads one record", hint))
            if is_qualified(part):
                raise _Wrong(("names columns with a table, or all of them", hint))
        return tree

    def _unusable(self, name: str) -> Iterator[tuple[str, str]]:
        """Why a column is not at hand."""
        found = self._columns.get(name.lower())
        if found is None:
            released = [c.name for c in self._columns.values() if c.spec.released]
            yield f"the source has no column {name!r}", did_you_mean(name, released)
        elif not found.spec.released:
            hint = "release the column, or declare the model without it"
            yield f"the release has no column {name!r}, whose role is {found.spec.role}", hint
        elif found.spec.pseudonym:
            yield (
                f"{name!r} is released as a pseudonym, which tells nothing of its value",
                "declare the model without it",
            )

    def _type(self, tree: Expr) -> Column:
        query = select(labelled(tree.copy(), "value"))
        try:
            (found,) = self._session.describe(query.from_(self._source.subquery("source")))
        except EngineError as error:
            hint = "look at the types of its columns"
            raise _Wrong((f"cannot be computed ({error.message})", hint)) from None
        return found


class _Wrong(Exception):
    """What is wrong with a variable: messages, each with a hint."""

    def __init__(self, *told: tuple[str, str]) -> None:
        super().__init__(*told)
        self.told = told


def _wanted(scales: Sequence[Scale]) -> str:
    if len(scales) == 1:
        return {"number": "a duration is a number", "boolean": "`where` is a condition"}[scales[0]]
    if "category" in scales:
        return "a covariate is a number, a condition, a date or text"
    return "a number or a condition is expected"


def _as_scale(tree: Expr, scale: Scale, kind: Column) -> Expr:
    if scale == "category":
        return cast(tree, "VARCHAR")
    if kind.family in ("date", "timestamp"):
        seconds = function("epoch", cast(tree, "TIMESTAMP"))
        return seconds / literal(_SECONDS_A_DAY)
    return cast(tree, "DOUBLE")


def renamed(value: Expr, table: str, known: Mapping[str, Expr]) -> Expr:
    """The value of a variable on the rows of a table.

    Args:
        value: of a variable.
        table: whose columns it reads.
        known: what stands for some of them instead.
    """
    return with_columns(value, lambda name: known.get(name, column(name, table)).copy())


def labelled(value: Expr, name: str) -> Expr:
    """A value with a name."""
    return aliased(value, name)
