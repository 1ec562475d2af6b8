"""Hygiene of one written table: what it must not carry beside its values.

- `columns`: exactly the released columns; an identifier under any spelling is named, and what
  nothing declares is counted: its name may be a cell.
- `types`: as declared, and plain; an ENUM carries the list of its original values.
- `definition`: a constraint, default, generated column, index or collation is text of the owner;
  a collation also makes classes look larger than they are. A NaN has bits that nobody sees.
- `order`: rows sorted by all columns; any other order tells about the order of the source.
- `comments`: free text on the table or its columns.
- `bounds`: each `_lower`, `_upper` is that of its value in the dictionary, never of the data.
- `dictionary`: lists the released values and no others, with the bounds of the hierarchy; leaves
  and bounds of `*` only of declared domains, else they are what the data hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    any_of,
    case,
    cast,
    coalesce,
    column,
    count_rows,
    count_where,
    is_null,
    lag,
    least_of,
    literal,
    not_,
    not_null,
    not_same_value,
    null,
    one_of,
    over,
    same_value,
    select,
    sum_of,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base import chosen_cells
from dbdeid.verify.base.classes import STAR, as_text, companions, quoted
from dbdeid.verify.base.declaration import Check, Declared
from dbdeid.verify.base.floats import hides_bits, is_nan

DICTIONARY = (
    Column("column", "VARCHAR"),
    Column("released_value", "VARCHAR"),
    Column("level", "INTEGER"),
    Column("lower", "VARCHAR"),
    Column("upper", "VARCHAR"),
    Column("leaves", "VARCHAR[]"),
)

# Beside them, false in every row, where records have values of others.
TRUTHFUL = Column("truthful", "BOOLEAN")
MARKED = (*DICTIONARY, TRUTHFUL)

# How a definition begins that DuckDB wrote: nothing but names stands before the columns.
_NAME = r'(?:\w+|"(?:[^"]|"")*")'
_NAMED = re.compile(rf"CREATE (?:TEMP )?TABLE (?:{_NAME}\.)*{_NAME}")

_ORDERED = 100  # columns of a table of others by which its order is judged, at most

# What companions of a release may hold beside plain values.
LISTS = ("VARCHAR[]", "BIGINT[]")

MOST_PLACES = 10  # of undeclared columns that a message lists

PLAIN = ("text", "integer", "decimal", "float", "date", "timestamp", "boolean")


def columns(table: Relation, declared: Sequence[Column], withheld: Sequence[str]) -> Check:
    """Whether the table has exactly the declared columns, in order, and none that is withheld."""
    wanted = [c.name for c in declared]
    held_back = {name.lower() for name in withheld}
    leaked = [n for n in table.names if n.lower() in held_back and n not in wanted]
    extra = [n for n in table.names if n not in wanted and n not in leaked]
    missing = [n for n in wanted if n not in table.names]
    wrong = [
        f"{what} {quoted(names)}"
        for what, names in (("withheld", leaked), ("missing", missing))
        if names
    ]
    wrong += undeclared(table, extra)
    if not wrong and list(table.names) != wanted:
        wrong.append(f"in the order {quoted(table.names)} instead of {quoted(wanted)}")
    return Check("columns", not wrong, "columns " + "; ".join(wrong) if wrong else "")


def undeclared(table: Relation, extra: Sequence[str]) -> list[str]:
    """Columns that nothing declares, by their places: the first line of a CSV file may be cells."""
    places = [str(i) for i, name in enumerate(table.names, 1) if name in extra]
    if not places:
        return []
    some = ", ".join(places[:MOST_PLACES]) + (", …" if len(places) > MOST_PLACES else "")
    plural = "s" * (len(places) != 1)
    return [f"{len(places)} undeclared (place{plural} {some} in the table)"]


def types(table: Relation, declared: Sequence[Column]) -> Check:
    """Whether every column has its declared type, and only plain types occur."""
    wrong = not_plain(table, [c.name for c in declared])
    for column_ in declared:
        written = table.find(column_.name)
        if written and written.type != column_.type and written.family in PLAIN:
            wrong.append(f"{written.name!r} is {written.type}, declared {column_.type}")
    return Check("types", not wrong, "; ".join(wrong))


def not_plain(table: Relation, names: Sequence[str] | None = None) -> list[str]:
    """Columns whose type could carry more than its values, each in words.

    Args:
        table: described.
        names: of columns that may be told, others go by their place; None: all may.
    """
    wrong = []
    for place, c in enumerate(table.columns, 1):
        if c.family not in PLAIN:
            # the full type is not shown: an ENUM's lists its values
            kind, _, inside = c.type.partition("(")
            kind += "[]" if inside.endswith("]") else ""
            told = names is None or c.name in names
            wrong.append(f"{c.name!r} is {kind}" if told else f"column {place} is {kind}")
    return wrong


def shape(table: Relation, declared: Declared) -> list[Check]:
    """Whether a release has the declared columns, of plain types."""
    return [columns(table, declared.columns, declared.withheld), types(table, declared.columns)]


def definition(session: Session, tables: Sequence[Relation]) -> Check:
    """Whether the tables are defined by names and types of columns alone, and no NaN by more."""
    found = list(_beyond_columns(session, tables))
    found += [text for table in tables for text in _hidden_bits(session, table)]
    if not session.compares_by_bytes():
        found.append("the connection compares text by a default collation")
    return Check("definition", not found, "; ".join(found))


def _hidden_bits(session: Session, table: Relation) -> Iterator[str]:
    """Columns with NaNs that hold more than that they are no number."""
    counts = {
        c.name: count_where(all_of(is_nan(column(c.name)), hides_bits(column(c.name), c.type)))
        for c in table.columns
        if c.type in ("FLOAT", "DOUBLE")
    }
    if not counts:
        return
    found = session.row(select(*counts.values()).from_(table.table))
    for name, count in zip(counts, found, strict=True):
        if count:
            yield (
                f"{name!r} has {count} NaN with bits of their own, which may say anything: replace "
                "them by NULL, or by CAST('nan' AS DOUBLE)"
            )


def _beyond_columns(session: Session, tables: Sequence[Relation]) -> Iterator[str]:
    # A catalog of columns lists those of all system views, too, so it is asked only in doubt.
    doubtful = [table for table in tables if not _plainly_defined(session, table)]
    places = [
        select(
            aliased(literal(number), "number"),
            aliased(literal(table.catalog), "database_name"),
            aliased(literal(table.schema), "schema_name"),
            aliased(literal(table.name), "table_name"),
        )
        for number, table in enumerate(doubtful)
    ]
    found = session.rows(step("verify/definition", {"rel": union_all(*places)})) if places else []
    for number, table in enumerate(doubtful):
        more = [(kind, part) for of, kind, part in found if of == number]
        yield from (f"{table.name!r} has {kind} on {part!r}" for kind, part in more)
        if not more and _of_plain_types(table):
            yield f"{table.name!r} has a column with a collation or a storage option"


def _of_plain_types(table: Relation) -> bool:
    return all(c.family in PLAIN or c.type in LISTS for c in table.columns)


def _plainly_defined(session: Session, table: Relation) -> bool:
    """Whether DuckDB writes the definition as it does from names and types alone, without index."""
    place = {"database": table.catalog, "schema": table.schema, "table": table.name}
    return (
        _of_plain_types(table)
        and not session.row(step("verify/indexed", values=place))[0]
        and _plainly_created(session, table)
    )


def _plainly_created(session: Session, table: Relation) -> bool:
    empty = select(*(aliased(_nothing(c), c.name) for c in table.columns))
    probe = Relation("verify_probe", schema="main", catalog="temp")
    session.fill(Step(probe.name, empty.limit(0)))
    try:
        bare = session.created(probe)
    finally:
        session.drop_temp(probe.name)
    columns = bare[bare.index("(") :]
    created = session.created(table)
    return created.endswith(columns) and bool(_NAMED.fullmatch(created.removesuffix(columns)))


def _nothing(column_: Column) -> Expr:
    return cast(null(), column_.type)


def order(session: Session, tables: Sequence[Relation]) -> Check:
    """Whether the rows stand sorted by all columns, ascending, NULLs last."""
    wrong = []
    for table in tables:
        query = step("verify/order", {"rel": table}, {"columns": table.names})
        if misplaced := session.row(query)[0]:
            are = "is" if misplaced == 1 else "are"
            wrong.append(f"{table.name!r}: {misplaced} of its rows {are} not in order")
    return Check("order", not wrong, "; ".join(wrong))


def likely_order(session: Session, table: Relation) -> Check:
    """The same of anyone's table, where no type is declared: text may have been numbers.

    A column of text is taken for text or for numbers, whichever leaves fewer rows out of order. Of
    a wide table its first columns are looked at.
    """
    cells = select(aliased(_row_before(literal(True)), "later"))
    first: list[tuple[Expr, Expr]] = [(is_null(column("later")), null())]  # that differs
    ways: list[Expr] = []
    for i, c in enumerate(table.columns[:_ORDERED]):
        cell, before = f"v{i}", f"p{i}"
        cells = cells.select(aliased(column(c.name), cell))
        cells = cells.select(aliased(_row_before(column(c.name)), before))
        kinds = (None, "HUGEINT", "DOUBLE") if c.family == "text" else (None,)
        here = column("first").eq(literal(i))
        ways.append(least_of(*(_misplaced(cell, before, k, here) for k in kinds)))
        differs = not_same_value(column(cell), column(before))
        first.append((differs, literal(i)))
    told = select("*", aliased(case(*first), "first"))
    rows = told.from_(cells.from_(table.table).subquery("cells")).subquery("told")
    misplaced = sum(session.row(select(*ways).from_(rows))) if ways else 0
    detail = f"{table.name!r}: {misplaced} of its rows are not in order" if misplaced else ""
    return Check("order", not misplaced, detail)


def _row_before(value: Expr) -> Expr:
    return over(lag(value))  # an empty window keeps the stored order


def _misplaced(value: str, before: str, kind: str | None, here: Expr) -> Expr:
    """How many rows are less than the one before them; NULL where a cell is not of the kind.

    Where `here` is false they differ in an earlier column, or first in a later one.
    """
    this: Expr = column(value)
    other: Expr = column(before)
    if kind is not None:
        this, other = (try_cast(cell, kind) for cell in (this, other))
    nulls_last = all_of(is_null(other), not_null(this))
    count = count_where(all_of(here, any_of(this < other, nulls_last)))
    if kind is None:
        return count
    odd = count_where(all_of(is_null(this), not_null(column(value))))
    return case((odd.eq(literal(0)), count), otherwise=null())


def comments(session: Session, database: str, tables: Sequence[Relation]) -> Check:
    """Whether nothing on the given tables of the database and their columns is commented."""
    own = {(t.schema, t.name) for t in tables if t.catalog == database}
    found = session.rows(step("verify/comments", values={"database": database}))
    return _uncommented([f for f in found if (f[1], f[2]) in own])


def no_comments(session: Session, database: str, others: Sequence[tuple[str, str, str]]) -> Check:
    """Whether nothing in the database is commented.

    Args:
        session: sees the database.
        database: its name.
        others: what else than its tables, columns and views was found to be: kind, schema, name.
    """
    place = {"database": database}
    found = session.rows(step("verify/comments", values=place))
    found += [(*other, None) for other in others]
    found += session.rows(step("verify/other_comments", values=place))
    return _uncommented(found)


def _uncommented(found: Sequence[tuple[Any, ...]]) -> Check:
    places = [f"{kind} {name!r}" + (f".{part!r}" if part else "") for kind, _, name, part in found]
    return Check("comments", not found, f"comment on {', '.join(places)}" if found else "")


def bounds(
    session: Session, table: Relation, classes: Relation, dictionary: Relation, declared: Declared
) -> Check:
    """Whether the bounds columns repeat the bounds of the dictionary, row by row."""
    wrong = []
    for i, name in enumerate(declared.quasi_identifiers):
        pairs = companions(table, declared, name)
        if pairs and (
            count := session.row(_unlike_bounds(table, classes, dictionary, i, name, pairs))[0]
        ):
            wrong.append(f"{quoted(pairs.values())} of {name!r} in {count} records")
    detail = f"not those of the dictionary: {'; '.join(wrong)}" if wrong else ""
    return Check("bounds", not wrong, detail)


def _unlike_bounds(
    table: Relation,
    classes: Relation,
    dictionary: Relation,
    i: int,
    name: str,
    pairs: dict[str, str],
) -> Select:
    value = as_text(column(f"value_{i}", "c"))
    same = all_of(
        column("column", "d").eq(literal(name)),
        same_value(value, column("released_value", "d")),
    )
    differs: list[Expr] = [is_null(column("column", "d"))]
    for side, companion in pairs.items():
        written = table.find(companion)
        kind = written.type if written else "VARCHAR"
        listed = try_cast(column(side, "d"), kind)
        differs.append(not_same_value(column(f"{side}_{i}", "c"), listed))
    total = coalesce(sum_of(column("records", "c")), literal(0))
    return (
        select(total)
        .from_(classes.aliased("c"))
        .join(dictionary.aliased("d"), on=same, join_type="left")
        .where(any_of(*differs))
    )


def dictionary(
    session: Session,
    values: Relation,
    listed: Relation,
    declared: Declared,
    hierarchies: Relation | None,
) -> Check:
    """Whether the dictionary has its shape, and lists the released values and no others."""
    shape = DICTIONARY if declared.relocated is None else MARKED
    wrong = [f"{c.detail}" for c in (columns(listed, shape, ()), _same_types(listed)) if c.detail]
    if not wrong:
        wrong += _unmarked(session, listed)
        wrong += _unlike_release(session, values, listed, declared)
        wrong += _told_by_data(session, listed, declared)
        wrong += _unlike_top(session, listed, declared)
        wrong += chosen_cells.unlike(session, listed, declared)
        if hierarchies is not None:
            wrong += _unlike_hierarchies(session, listed, declared, hierarchies)
    return Check("dictionary", not wrong, "; ".join(wrong))


def _same_types(listed: Relation) -> Check:
    wrong = [
        f"{c.name!r} is not {c.type}"
        for c in MARKED
        if (w := listed.find(c.name)) and w.type != c.type
    ]
    return Check("types", not wrong, "; ".join(wrong))


def _unmarked(session: Session, listed: Relation) -> Iterator[str]:
    if listed.find(TRUTHFUL.name) is not None:
        true = not_same_value(column(TRUTHFUL.name), literal(False))
        count = select(count_rows()).from_(listed.table).where(true)
        if wrong := session.row(count)[0]:
            yield f"{wrong} entries do not say that records have values of others"


def _unlike_release(
    session: Session, values: Relation, listed: Relation, declared: Declared
) -> Iterator[str]:
    tables = {"values": values, "dictionary": listed}
    rows = session.rows(step("verify/dictionary_values", tables))
    found = {name: counts for name, *counts in rows}
    known = declared.quasi_identifiers
    if count := sum(entries for name, (*_, entries) in found.items() if name not in known):
        yield f"{count} entries of no quasi-identifier"
    for name in known:
        missing, foreign, repeated, _ = found.get(name, (0, 0, 0, 0))
        if missing:
            yield f"misses {missing} released values of {name!r}"
        if foreign:
            yield f"lists {foreign} values of {name!r} that do not occur"
        if repeated:
            yield f"lists {repeated} values of {name!r} more than once"


def _told_by_data(session: Session, listed: Relation, declared: Declared) -> Iterator[str]:
    """What only a declared domain may reveal: its leaves, and how far `*` reaches, as limits do."""
    open_ends = all_of(is_null(column("lower")), is_null(column("upper")))
    star = column("released_value").eq(literal(STAR))
    telling = {
        # members of a set are read in its label, too
        "leaves": all_of(not_null(column("leaves")), not_(_chosen(declared))),
        "bounds of '*'": all_of(star, column("level") > 0, not_(open_ends)),
    }
    public = {"leaves": declared.domains, "bounds of '*'": declared.domains + declared.limited}
    for what, condition in telling.items():
        found = select(column("column")).distinct().from_(listed.table).where(condition)
        rows = session.rows(found.order_by(column("column")))
        own = [name for (name,) in rows if name in declared.quasi_identifiers]  # others are cells
        names = [name for name in own if name not in public[what]]
        if names:
            yield f"lists {what} of {quoted(names)}, whose domain is not declared"


def _chosen(declared: Declared, table: str = "") -> Expr:
    """Whether an entry is of an interval or a set of the records' own choice."""
    names = [literal(name) for name in declared.free]
    if not names:
        return literal(False)
    level = column("level", table).eq(literal(chosen_cells.LEVEL))
    return all_of(level, one_of(column("column", table), names))


def _unlike_top(session: Session, listed: Relation, declared: Declared) -> Iterator[str]:
    """Entries at the top that are not `*`, the only value there."""
    star = literal(STAR)
    odd = not_same_value(column("released_value"), star)
    for name in declared.quasi_identifiers:
        if top := declared.tops[name]:
            of_top = all_of(column("column").eq(literal(name)), column("level") >= literal(top))
            query = select(count_rows()).from_(listed.table)
            if count := session.row(query.where(all_of(of_top, odd)))[0]:
                yield f"lists {count} values of {name!r} at the top that are not '*'"


def _unlike_hierarchies(
    session: Session, listed: Relation, declared: Declared, hierarchies: Relation
) -> Iterator[str]:
    """Entries below the top that the hierarchy does not have with these bounds at this level."""
    same: list[Expr] = [
        same_value(column(ours, "d"), column(theirs, "h"))
        for ours, theirs in (
            ("column", "hierarchy"),
            ("level", "level"),
            ("released_value", "label"),
            ("lower", "lower"),
            ("upper", "upper"),
        )
    ]
    if hierarchies.find("release"):
        same.append(column("release", "h").eq(literal(declared.release)))
    below = any_of(
        *(
            all_of(
                column("column", "d").eq(literal(name)),
                column("level", "d") < declared.tops[name],
            )
            for name in declared.quasi_identifiers
        )
    )
    unlike = (
        select(column("column", "d"), count_rows())
        .from_(listed.aliased("d"))
        .join(hierarchies.aliased("h"), on=all_of(*same), join_type="anti")
        .where(all_of(below, not_(_chosen(declared, "d"))))
        .group_by(column("column", "d"))
        .order_by(column("column", "d"))
    )
    for name, count in session.rows(unlike):
        yield f"{count} entries of {name!r} are not in the hierarchy with this level and bounds"


def readable(listed: Relation) -> bool:
    """Whether a table has the shape of a dictionary, so that levels and bounds can be looked up."""
    return listed.columns in (DICTIONARY, MARKED)
