"""Questions of PostgreSQL's clients about tables, for a database that stands for its catalog.

Tables of `pg_catalog` are in the schema `pg` there, those of `information_schema` in `inf`;
functions of PostgreSQL that DuckDB lacks, or means otherwise, are macros of `pg`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.query.clients.statements import POSTGRES, name_of, read_tables, with_names
from dbdeid.query.forms.long_texts import refuse_long
from dbdeid.query.parse.expressions import refused

_SCHEMAS = {"pg_catalog": "pg", "information_schema": "inf"}
# Types of PostgreSQL that are none of DuckDB.
_TYPES = {
    **dict.fromkeys(("oid", "xid", "cid", "xid8"), "BIGINT"),
    **dict.fromkeys(('"char"', "char", "name", "bpchar", "unknown", "aclitem"), "TEXT"),
    **dict.fromkeys(("pg_node_tree", "cstring", "regproc", "regprocedure", "regoper"), "TEXT"),
    "cardinal_number": "INT",
    "int2": "SMALLINT",
    **dict.fromkeys(("sql_identifier", "character_data", "yes_or_no"), "TEXT"),
}
_OF_OBJECTS = ("regclass", "regtype", "regnamespace")
_NAMED_SCALARS = {
    **dict.fromkeys(("current_catalog", "current_database"), "current_database"),
    **dict.fromkeys(("current_user", "session_user", "current_role", "user"), "current_user"),
    "current_schema": "current_schema",
}


_CHANGING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Copy, exp.Drop, exp.Alter)
# What gives rows, but none of a file or of the engine.
_ROWS = ("unnest", "generate_series", "generate_subscripts", "range")
# Functions of values that have no class of their own in the parser.
_OF_VALUES = (
    *("acldefault", "all", "array_append", "array_cat", "array_length", "array_ndims"),
    *("array_position", "array_remove", "array_to_string", "btrim", "cardinality", "char_length"),
    *("current_setting", "every", "json_agg", "json_object", "length", "list_value", "lower"),
    *("ltrim", "mod", "now", "octet_length", "quote_literal", "row", "row_to_json", "rtrim"),
    *("string_to_array", "timeofday", "to_json", "upper"),
)
# Of what series are made, and what makes large numbers for their ends.
_SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)
_GROWING = (exp.Mul, exp.Pow, exp.BitwiseLeftShift, exp.Factorial, exp.Exp)
_LONGEST = 100_000
_RENAMED = {"json_build_object": "json_object"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What a client's own questions about itself are answered with.

    Attributes:
        constants: of `current_database`, `current_user`, `current_schema`, `version` and
            `pg_backend_pid`.
        setting: the value of a setting; None for one that is unknown.
        change: changes a setting.
        relations: the names of the tables in `pg` and `inf`.
        functions: the macros in `pg`.
    """

    constants: Mapping[str, str | int]
    setting: Callable[[str], str | None]
    change: Callable[[str, str], str]
    relations: Collection[str]
    functions: Collection[str]


def is_of_catalog(query: exp.Query, standing: Standing) -> bool:
    """Whether a query reads nothing but the catalog, or no table at all."""
    for table in read_tables(query):
        schema = table.db.lower()
        if schema in _SCHEMAS:
            continue
        if schema or table.name.lower() not in standing.relations:
            return False
        if not table.name.lower().startswith("pg_"):
            return False
    return True


def of_catalog(query: exp.Query, standing: Standing) -> str:
    """The text of a question about tables, for the database that stands for the catalog.

    Args:
        query: without parameters; it is changed.
        standing: what the client is told of itself.

    Raises:
        DataError: it asks for an unknown relation or setting.
    """
    with_names(query, taken=None)
    for table in list(read_tables(query)):
        _place(table, standing)
    refuse_long(query)
    _refuse_series(query)
    for node in query.walk():
        if isinstance(node, _CHANGING):
            raise refused(f"{node.key.upper()}, where releases are only asked")
        _refuse_function(node, standing)
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Func) and table.db.lower() in _SCHEMAS:
            table.set("db", None)
    for column in list(query.find_all(exp.Column)):
        if column.args.get("db"):
            column.set("db", None)
            column.set("catalog", None)
    for node in reversed(list(query.walk())):
        made = _as_duckdb(node, standing)
        if made is not node:
            node.replace(made)
    return query.sql(dialect="duckdb")


def _refuse_series(query: exp.Expr) -> None:
    """Refuse long series: the engine's limit of memory does not hold for lists of one function."""
    series = [
        f for f in query.find_all(exp.Func) if isinstance(f, _SERIES) or name_of(f) == "range"
    ]
    if not series:
        return
    computed = any(not isinstance(a, exp.Literal) for f in series for a in f.iter_expressions())
    numbers = [n for n in query.find_all(exp.Literal) if n.name.strip().isdecimal()]
    long = any(len(n.name.strip()) > len(str(_LONGEST)) or int(n.name) > _LONGEST for n in numbers)
    if long or (computed and query.find(*_GROWING) is not None):
        raise refused(
            "a series of more numbers than the catalog needs",
            f"write ends up to {_LONGEST:,}, and no products beside computed ones",
        )


def _refuse_function(node: exp.Expr, standing: Standing) -> None:
    """Refuse what is no function of PostgreSQL's catalog and none of values."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        schema = node.this if isinstance(node.this, exp.Identifier | exp.Column) else None
        if schema is None or schema.name.lower() not in _SCHEMAS or schema.find(exp.Dot):
            raise refused("a function that is called in this way")
    if isinstance(node, exp.ReadCSV | exp.ReadParquet):
        raise refused(f"the function {node.sql_name()}")
    if isinstance(node, exp.Table | exp.Lateral) and isinstance(node.this, exp.Func):
        if name_of(node.this) not in (*_ROWS, *standing.functions):
            raise refused(f"the table function {name_of(node.this)}")
    elif isinstance(node, exp.Anonymous) and name_of(node) not in (
        *(*_ROWS, *_OF_VALUES, *_RENAMED, "set_config"),
        *(*standing.functions, *standing.constants),
    ):
        raise refused(f"the function {name_of(node)}")


def _place(table: exp.Table, standing: Standing) -> None:
    name, schema = table.name.lower(), table.db.lower() or "pg_catalog"
    if name not in standing.relations:
        raise refused(f'there is no relation "{schema}.{name}" here')
    if not table.alias:
        table.set("alias", exp.TableAlias(this=identifier(name)))
    table.set("this", identifier(name))
    table.set("db", identifier(_SCHEMAS[schema]))
    table.set("catalog", None)


def _as_duckdb(node: exp.Expr, standing: Standing) -> exp.Expr:
    if isinstance(node, exp.Collate):
        return _part(node)
    if isinstance(node, exp.Operator):
        return _operator(node)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Any | exp.All):
        return _quantified(node)
    if isinstance(node, exp.Dot):
        return _unqualified(node, standing)
    if isinstance(node, exp.Column) and not node.table and _is_role(node.this):
        return exp.convert(standing.constants["current_user"])
    if isinstance(node, exp.Func) and not isinstance(node.parent, exp.Dot):
        return _function(node, standing)
    return node


def _is_role(name: exp.Expr) -> bool:
    """Whether a name is a word of SQL for the client, which the parser takes for a column."""
    words = ("current_user", "session_user", "current_role")
    return isinstance(name, exp.Identifier) and not name.quoted and name.name.lower() in words


_OPERATORS: dict[str, Callable[[exp.Expr, exp.Expr], exp.Expr]] = {
    "~": lambda a, b: exp.RegexpLike(this=a, expression=b),
    "~*": lambda a, b: exp.RegexpILike(this=a, expression=b),
    "!~": lambda a, b: exp.not_(exp.RegexpLike(this=a, expression=b)),
    "!~*": lambda a, b: exp.not_(exp.RegexpILike(this=a, expression=b)),
    "~~": lambda a, b: exp.Like(this=a, expression=b),
    "~~*": lambda a, b: exp.ILike(this=a, expression=b),
    "!~~": lambda a, b: exp.not_(exp.Like(this=a, expression=b)),
    "=": lambda a, b: exp.EQ(this=a, expression=b),
    "<>": lambda a, b: exp.NEQ(this=a, expression=b),
    "||": lambda a, b: exp.DPipe(this=a, expression=b),
}


def _operator(node: exp.Operator) -> exp.Expr:
    sign = str(node.args.get("operator") or "").rsplit(".", 1)[-1].strip()
    made = _OPERATORS.get(sign)
    if made is None:
        raise refused(f"the operator {sign} of the catalog")
    return made(node.this, node.expression)


def _cast(node: exp.Cast) -> exp.Expr:
    kind = node.to
    name = _plain(kind)
    members = name.removesuffix("[]")
    if name in _OF_OBJECTS:
        inner = _part(node)
        if isinstance(inner, exp.Literal) and inner.is_string:
            return inner if inner.name.isdigit() else _macro(f"to_{name}", inner)
        if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal):
            return _macro(f"to_{name}", inner.this)
        if isinstance(inner, exp.Dot) and inner.expression.name == f"to_{name}":
            return inner
        if not isinstance(inner, exp.Column):
            return _macro(f"to_{name}", inner)
        outer = node.parent
        if isinstance(outer, exp.Cast) and _plain(outer.to) in ("oid", "bigint", "int8"):
            return inner
        return _macro(f"{name}_shown", inner)
    if members in _TYPES or "." in kind.sql(POSTGRES):
        written = _TYPES.get(members, members) + ("[]" if members != name else "")
        node.set("to", exp.DataType.build(written, dialect=POSTGRES, udt=True))
    if name.endswith("[]") and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _listed(node.this)
    if name in ("int2vector", "oidvector"):
        return _part(node)
    return node


def _part(node: exp.Expr) -> exp.Expr:
    inner = node.this
    assert isinstance(inner, exp.Expr)
    return inner


def _plain(kind: exp.DataType) -> str:
    """The name of a type, without what qualifies it."""
    return kind.sql(POSTGRES).lower().split(".")[-1].strip()


def _quantified(node: exp.Any | exp.All) -> exp.Expr:
    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Literal) and inner.is_string:
        node.set("this", _listed(inner))
    return node


def _listed(text: exp.Literal) -> exp.Array:
    inner = text.name.strip().removeprefix("{").removesuffix("}")
    parts = [part.strip().strip('"') for part in inner.split(",")] if inner.strip() else []
    return exp.Array(expressions=[exp.Literal.string(part) for part in parts])


def _unqualified(node: exp.Dot, standing: Standing) -> exp.Expr:
    """`pg_catalog.f(…)` as `f(…)`."""
    if node.this.name.lower() in _SCHEMAS and isinstance(node.expression, exp.Func):
        return _function(node.expression, standing)
    return node


def _function(node: exp.Func, standing: Standing) -> exp.Expr:
    if isinstance(node, exp.Connector | exp.Case | exp.Cast):
        return node
    if isinstance(node, exp.CurrentDate) and node.this is None:  # which the engine has by a library
        return exp.cast(exp.Literal.string(date.today().isoformat()), "DATE")
    name = name_of(node)
    arguments = _arguments(node)
    if name in ("current_setting", "set_config"):
        return _setting(name, arguments, standing)
    constant = _NAMED_SCALARS.get(name, name)
    if constant in standing.constants and not arguments:
        return exp.convert(standing.constants[constant])
    if name in _RENAMED:
        return exp.Anonymous(this=_RENAMED[name], expressions=arguments)
    if name in standing.functions:
        return _macro(name, *arguments)
    return node


def _arguments(node: exp.Func) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return list(node.iter_expressions())


def _setting(name: str, arguments: list[exp.Expr], standing: Standing) -> exp.Expr:
    texts = [a.name for a in arguments if isinstance(a, exp.Literal | exp.Boolean | exp.Cast)]
    if name == "set_config" and len(texts) >= 2:
        return exp.Literal.string(standing.change(texts[0], texts[1]))
    if not texts:
        return _macro("setting", *arguments[:1])
    found = standing.setting(texts[0])
    if found is None and len(arguments) < 2:
        raise refused(f'unrecognized configuration parameter "{texts[0]}"')
    return exp.null() if found is None else exp.Literal.string(found)


def _macro(name: str, *arguments: exp.Expr) -> exp.Expr:
    called = exp.Anonymous(this=name, expressions=[a.copy() for a in arguments])
    return exp.Dot(this=identifier("pg"), expression=called)


def macros(script: str) -> frozenset[str]:
    """The names of the macros that a script creates in `pg`."""
    words = script.split()
    return frozenset(
        word.removeprefix("pg.").split("(")[0]
        for before, word in pairwise(words)
        if before == "MACRO" and word.startswith("pg.")
    )
