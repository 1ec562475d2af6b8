"""Spellings of sensitive values in the source: which of them are one value.

A column counts its values by their meaning (`dbdeid.data.spelling`) unless its spec says
`values: as_written`. Only texts have spellings; numbers, dates and booleans are what they are. NULL
is no value in any column that is not counted as written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from dbdeid.bind.bound import Bound
from dbdeid.bind.privacy_models import staged, targets
from dbdeid.data.classes import SOURCE
from dbdeid.data.spelling import meaning
from dbdeid.engine.expressions import Expr, Query, aliased, cast, column, select
from dbdeid.engine.relation import MEASURED, Relation
from dbdeid.engine.session import Session
from dbdeid.errors import SpecError
from dbdeid.privacy import AlphaK, OfSensitive
from dbdeid.privacy.common.sensitive import Target

M = TypeVar("M", bound=OfSensitive)


def nullable(bound: Bound, name: str) -> bool:
    """Whether NULL is no value in a column."""
    return next(c for c in bound.columns if c.name == name).spec.values == "normalized"


def _spelled(bound: Bound, name: str) -> bool:
    """Whether the values of a column may have several spellings."""
    (found,) = (c for c in bound.columns if c.name == name)
    return nullable(bound, name) and found.column.family not in (*MEASURED, "boolean")


def meant(bound: Bound, name: str, text: str | None) -> str | None:
    """What a value of a column means, as text; None for no value, or for NULL as it is written."""
    if text is None or not _spelled(bound, name):
        return text
    return meaning(text)


def as_meant(bound: Bound, model: M, target: Target) -> M:
    """The model with the values that it lists as they are counted in one of its attributes."""
    if not isinstance(model, AlphaK) or model.values is None or len(target) > 1:
        return model
    listed = dict.fromkeys(meant(bound, target[0], value) for value in model.values)
    return model.model_copy(update={"values": tuple(listed)})


def spellings_of(bound: Bound, session: Session) -> Mapping[str, Relation]:
    """What the values mean in the staged sensitive columns that spell some in several ways.

    Args:
        bound: the bound spec.
        session: where the source is staged as `deid_source`.

    Returns:
        a table of spelling and meaning for each such column.

    Raises:
        SpecError: counterfeit records would be drawn by a spelling, and a model counts values.
    """
    tables: dict[str, Relation] = {}
    for number, name in enumerate(dict.fromkeys(n for target in staged(bound) for n in target)):
        if not _spelled(bound, name):
            continue
        written, means = _read(session, SOURCE, name)
        if len({*means} - {None}) == len(written):
            continue
        if bound.spec.method.can.counterfeits:  # which draws and lists what is written
            _require_uncounted(bound, name, len(written) - len({*means} - {None}))
            continue
        columns = {"spelling": written, "meaning": means}
        tables[name] = session.upload(f"deid_spellings_{number}", columns)
    return tables


def by_meaning(bound: Bound, session: Session, rows: Relation, columns: Mapping[str, str]) -> Query:
    """A query of rows in which sensitive columns have the meaning of each value, as text.

    Temporary tables of spellings stand behind it until it is called again.

    Args:
        bound: the bound spec.
        session: where the rows are.
        rows: a described table.
        columns: which of its columns are which of the spec.
    """
    tables: dict[str, Expr] = {}
    query = select().from_(rows.aliased("rows"))
    for number, (own, name) in enumerate(columns.items()):
        if not _spelled(bound, name):
            continue
        written, means = _read(session, rows, own)
        values = {"spelling": written, "meaning": means}
        table, alias = session.upload(f"deid_meant_{number}", values), f"m{number}"
        same = column("spelling", alias).eq(cast(column(own, "rows"), "VARCHAR"))
        query = query.join(table.aliased(alias), on=same, join_type="left")
        tables[own] = column("meaning", alias)
    return query.select(*(aliased(tables.get(n, column(n, "rows")), n) for n in rows.names))


def _read(session: Session, rows: Relation, name: str) -> tuple[list[str], Sequence[str | None]]:
    """The spellings that a column has, and what each of them means."""
    spelling = aliased(cast(column(name), "VARCHAR"), "spelling")
    query = select(spelling).distinct().from_(rows.table)
    written = [value for (value,) in session.rows(query) if value is not None]
    return written, [meaning(value) for value in written]


def _require_uncounted(bound: Bound, name: str, number: int) -> None:
    """Refuse a model that counts a column whose counterfeit values are drawn by their spelling."""
    if not any(name in target for target in targets(bound.models)):
        return
    mistake = bound.file.mistake(
        f"{number} values of {name!r} differ from another in their spelling only, or are blank: "
        "counterfeit records are drawn by spelling, and the declared model counts values",
        "columns",
        name,
        hint="make them alike in `source: {sql: …}`, or declare `values: as_written` where each "
        "spelling is a value of its own",
    )
    raise SpecError([mistake], source=bound.file.label)
