"""Tables in JSON opened for the verifier: one object to a line, alone or in a list.

A number in JSON is whatever its reader takes it for, mostly a double. So a release writes numbers
of more digits as texts, and refuses those that JSON has no number for. Whoever reads a file takes
one of two equal keys, or skips one that it does not know: every line is held, byte by byte, against
the only way to write its row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    case,
    cast,
    coalesce,
    column,
    concatenated,
    count_rows,
    count_where,
    function,
    list_of,
    literal,
    not_null,
    not_same_value,
    null,
    plus,
    row_by_row,
    same_value,
    select,
    struct_of,
    sum_of,
    try_cast,
)
from dbdeid.engine.file_names import parsed
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.verify.base import file_kinds
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Check

_FLOATS = ("FLOAT", "DOUBLE")
_ANY = "JSON"  # whatever stands there, as it stands there
_NEVER = "\x01"  # which no JSON holds unless it is written as \u0001


def exported(
    session: Session, path: Path, declared: Sequence[Column], name: str
) -> tuple[Relation, list[Check]]:
    """The rows of a file that a release was written to, under their declared types.

    Args:
        session: any session that keeps the order of rows.
        path: the file.
        declared: the columns that it is to have.
        name: of the temporary table.

    Returns:
        The rows, and whether each line is written as its row is, and nothing else is in the file.
        Where one is not, cells are texts, so that no two of them fall into one class.

    Raises:
        DataError: it cannot be read.
    """
    names, twice = _names(path)
    if names is None:  # without rows there are no names
        names = [c.name for c in declared]
    types = {c.name: c.type for c in declared}
    kinds = {n: types.get(n, "VARCHAR") for n in names}
    lines, outside = _framed(session, path, name)
    fields = {n: k if k.endswith("[]") else "VARCHAR" for n, k in kinds.items()}
    text = session.run(Step(f"{name}_text", _read(_of(lines), fields)))
    cells = [aliased(try_cast(column(n), kinds[n]), n) for n in names]
    rows = session.run(Step(name, select(*cells).from_(text.table)))
    unlike = _unlike(session, rows, lines, kinds, listed=_is_list(path))
    other_keys = _other_keys(session, _of(lines), names) if unlike else 0
    session.drop_temp(lines.name)
    wrong = [f"{other_keys} objects have other keys"] if other_keys else []
    wrong += ["a key stands twice in the first object"] if twice else []
    wrong += [f"{outside} bytes outside its objects"] if outside else []
    checks = [Check("keys", not wrong, "; ".join(wrong))]
    if unlike:
        told = f"{unlike} objects are not written as their rows are"
        return text, [*checks, Check("types", False, told)]
    told = "JSON has few types; every object is written as its row of the declared types is"
    return rows, [*checks, Check("types", True, told)]


def foreign(session: Session, path: Path, name: str) -> tuple[Relation, Check]:
    """The rows of anyone's file of one object to a line, each cell as the JSON that it is.

    Raises:
        DataError: it cannot be read, or holds no object.
    """
    names, twice = _names(path)
    if names is None:
        raise _unnamed(path)
    objects = _objects(path)
    cells = _read(objects, dict.fromkeys(names, _ANY)).subquery("cells")
    texts = [aliased(cast(column(n), "VARCHAR"), n) for n in names]
    found = file_kinds.load(session, path, name, select(*texts).from_(cells))
    other = _other_keys(session, objects, names)
    wrong = [f"{other} objects have other keys than the first"] if other else []
    wrong += ["a key stands twice in the first object"] if twice else []
    return found, Check("keys", not wrong, "; ".join(wrong))


def text_rows(path: Path) -> Select:
    """A query for the rows of a file, its cells as texts.

    Raises:
        DataError: it cannot be read, or holds no object.
    """
    names, _ = _names(path)
    if names is None:
        raise _unnamed(path)
    return _read(_objects(path), dict.fromkeys(names, "VARCHAR"))


def as_number(kind: str) -> bool:
    """Whether values of a type are numbers in JSON that any reader finds again as they were."""
    if kind in file_kinds.WIDE:
        return False
    if not kind.startswith("DECIMAL("):
        return True
    return int(kind.removeprefix("DECIMAL(").split(",")[0]) <= _SAFE


_LONGEST = 2**24  # characters of a line
_SAFE = 15  # decimal digits that a double holds, whichever they are


# -- lines -------------------------------------------------------------------------------------


def _lines(path: Path) -> Select:
    """The lines of a file, the empty ones as NULL."""
    options: dict[str, Expr] = {
        "auto_detect": literal(False),
        "columns": struct_of({"line": literal("VARCHAR")}),
        "delim": literal(_NEVER),
        "quote": literal(""),
        "escape": literal(""),
        "header": literal(False),
    }
    return file_kinds.rows_of("read_csv", path, options | file_kinds.unpacked(path))


def _framed(session: Session, path: Path, name: str) -> tuple[Relation, int]:
    """The lines of a file that should be objects, and how many bytes are not of them."""
    every = file_kinds.load(session, path, f"{name}_lines", _lines(path))
    sizes = sum_of(plus(function("strlen", coalesce(column("line"), literal(""))), literal(1)))
    count, size = session.row(select(count_rows(), sizes).from_(every.table))
    outside = abs(file_kinds.size(path) - int(size or 0))
    if not _is_list(path):
        return every, outside
    first, last = 0, count - 1
    marks = select("line").from_(every.table).order_by("rowid")
    ends = [session.rows(marks.copy().limit(1).offset(max(n, 0))) for n in (first, last)]
    for mark, end in zip("[]", ends, strict=True):
        outside += 0 if end == [(mark,)] else 1
    inner = select("line").from_(every.table).order_by("rowid").offset(1).limit(max(count - 2, 0))
    if count == 3 and session.rows(inner) == [("\t",)]:  # how no rows are written
        inner = inner.limit(0)
    kept = session.run(Step(f"{name}_objects", inner))
    session.drop_temp(every.name)
    return kept, outside


def _is_list(path: Path) -> bool:
    found = parsed(path.name)
    return found is not None and found.form == "json"


def _objects(path: Path) -> Select:
    """The objects of a file; NULL for a line that is neither one nor a mark of a list."""
    marks = [literal(mark) for mark in ("[", "]", "")]
    bare = function("trim", column("line"), literal("\t "))
    other = all_of(*(not_same_value(bare.copy(), mark) for mark in marks), not_null(bare.copy()))
    lines = _lines(path).subquery("lines")
    return select(aliased(_bare(column("line")), "line")).from_(lines).where(other)


def _of(lines: Relation) -> Select:
    return select(aliased(_bare(column("line")), "line")).from_(lines.table)


def _bare(line: Expr) -> Expr:
    """A line without what a list has around an object; NULL where it is no JSON."""
    bare = function("trim", line, literal("\t,"))
    return case((function("json_valid", bare), bare.copy()))


def _names(path: Path) -> tuple[list[str] | None, bool]:
    """The keys of the first object, and whether one stands twice; None where there is none."""
    with file_kinds.opened_text(path) as text:
        line = text.readline(_LONGEST)
        if line.strip() == "[":
            line = text.readline(_LONGEST)
    bare = line.strip().rstrip(",")
    if not bare or bare == "]":
        return None, False
    try:
        found = json.loads(bare, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(key, str) for key in found):
        raise DataError(
            f"{path}: cannot be read as JSON (its first line is no object)",
            hint="write one object to a line, alone or in a list",
        )
    names = list(dict.fromkeys(found))
    return names, len(names) < len(found)


def _unnamed(path: Path) -> DataError:
    return DataError(
        f"{path}: it holds no object, and nothing else tells its columns",
        hint="give a file with rows, or of another kind",
    )


# -- objects -----------------------------------------------------------------------------------


def _read(objects: Select, fields: Mapping[str, str]) -> Select:
    """The rows of objects: a cell for each key, in the order of the fields."""
    shape = {n: [k.removesuffix("[]")] if k.endswith("[]") else k for n, k in fields.items()}
    structure = literal(json.dumps(shape, ensure_ascii=False))
    cells = function("from_json", column("line"), structure)
    return select(function("unnest", cells)).from_(objects.subquery("objects"))


def _unlike(
    session: Session, rows: Relation, lines: Relation, kinds: Mapping[str, str], *, listed: bool
) -> int:
    """How many objects are not written as their row is."""
    cells = [
        concatenated(literal(f"{json.dumps(n, ensure_ascii=False)}:"), _written(n, k))
        for n, k in kinds.items()
    ]
    between: list[Expr] = []
    for cell in cells:
        between += [literal(","), cell]
    whole = [literal("{"), *between[1:], literal("}")]
    if listed:
        (count,) = session.row(select(count_rows()).from_(rows.table))
        last = same_value(column("rowid", "rows"), literal(count - 1))
        whole = [literal("\t"), *whole, case((last, literal("")), otherwise=literal(","))]
    bad = not_same_value(column("line", "lines"), reduce(concatenated, whole))
    pairs = row_by_row(select(count_where(bad)).from_(rows.aliased("rows")), lines.aliased("lines"))
    return int(session.row(pairs)[0])


def _written(name: str, kind: str) -> Expr:
    """A cell as the only JSON that a release has for it; NULL where there is none."""
    cell: Expr = column(name, "rows")
    if not as_number(kind):
        cell = as_text(cell)
    text = coalesce(cast(function("to_json", cell), "VARCHAR"), literal("null"))
    if kind in _FLOATS:
        finite = coalesce(function("isfinite", column(name, "rows")), literal(True))
        return case((finite, text), otherwise=null())
    return text


def _other_keys(session: Session, objects: Select, names: Sequence[str]) -> int:
    keys = function("json_keys", column("line"))
    wanted = list_of(*map(literal, names))
    other = count_where(not_same_value(keys, wanted))
    (count,) = session.row(select(other).from_(objects.subquery("objects")))
    return int(count)
