"""What the rules of several dialects share: types of nodes, and forms that both engines know.

A rule takes a node whose parts are written already, and gives what is written in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp, parse_one

Rule = Callable[[exp.Expr], exp.Expr]

FLOATS = (exp.DType.DOUBLE, exp.DType.FLOAT)
DECIMALS = (exp.DType.DECIMAL,)
INTEGERS = tuple(exp.DataType.INTEGER_TYPES)
TEXTS = tuple(exp.DataType.TEXT_TYPES)
MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
DAYS = (exp.DType.DATE,)
BOOLEAN = (exp.DType.BOOLEAN,)

_MOST_PLACES = 11  # 5^11 has 26 bits: times half of a DOUBLE's bits, it is exact

# How much too far p, the product of x and m, is rounded if only its error made it a half. The error
# is known exactly, by the upper bits of x and the lower ones (Dekker 1971, A floating-point
# technique for extending the available precision). From 2^52 on p has no fraction, and an engine
# whose floor() makes a BIGINT would end in error.
_UPPER = "(:x * CAST(134217729 AS DOUBLE) - (:x * CAST(134217729 AS DOUBLE) - :x))"
_TOO_FAR = f"""(CASE
    WHEN abs(:p) >= CAST(4503599627370496 AS DOUBLE) THEN 0
    WHEN :p - floor(:p) <> 0.5 THEN 0
    WHEN :p * (({_UPPER} * :m - :p) + (:x - {_UPPER}) * :m) < 0 THEN sign(:p)
    ELSE 0
END)"""


class Unknown(Exception):
    """No equal is known in the other dialect; the message continues the name of the node."""


def of_type(node: object, *kinds: exp.DType) -> bool:
    """Whether a node is known to be of one of the types."""
    kind = node.type if isinstance(node, exp.Expr) else None
    return kind is not None and kind.this in kinds


def constant(node: exp.Expr | None, least: int) -> int:
    """A whole number as it is written, no less than that.

    Raises:
        Unknown: it is something else.
    """
    if isinstance(node, exp.Literal) and node.is_int and int(node.name) >= least:
        return int(node.name)
    raise Unknown(f"with something else than a number from {least} on")


def only(node: exp.Expr, *names: str) -> exp.Expr:
    """The node, once it is known to have no other arguments.

    Raises:
        Unknown: it has.
    """
    if any(value for name, value in node.args.items() if name not in names):
        raise Unknown("with these arguments")
    return node


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of the other dialect."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def same(node: exp.Expr) -> exp.Expr:
    """The rule of what is written as it is."""
    return node


def only_of(*names: str) -> Rule:
    """The rule of what is written as it is where it has no other arguments."""
    return lambda node: only(node, *names)


def retyped(types: Mapping[exp.DType, exp.DType], digits: Mapping[exp.DType, int]) -> Rule:
    """The rule of types: what each is called, and the whole numbers that are DECIMAL there."""

    def rule(node: exp.Expr) -> exp.Expr:
        if node.this in digits:
            node.set("expressions", [exp.DataTypeParam(this=exp.Literal.number(digits[node.this]))])
            node.set("this", exp.DType.DECIMAL)
        elif node.this in types:
            node.set("this", types[node.this])
        else:
            raise Unknown
        return node

    return rule


# -- numbers --------------------------------------------------------------------------------------


def double(node: exp.Expr) -> exp.Expr:
    """The node as DOUBLE, cast unless it is known to be one."""
    return node if of_type(node, *FLOATS) else exp.cast(node, "DOUBLE")


def in_double(name: str) -> Rule:
    """The rule of a function that is computed in DOUBLE."""
    return lambda node: function(name, *(double(part) for part in node.iter_expressions()))


def divided(node: exp.Expr) -> exp.Expr:
    """A quotient, which in DuckDB is never whole."""
    return exp.Div(this=double(node.this), expression=node.expression, typed=True, safe=False)


def is_whole(node: exp.Expr) -> bool:
    """Whether a division is one of integers."""
    return of_type(node.this, *INTEGERS) and of_type(node.expression, *INTEGERS)


def rounded(whole: Rule) -> Rule:
    """The rule of ROUND, given how a DOUBLE is rounded to a whole number, half away from zero.

    DuckDB rounds a DOUBLE to decimal places by its exact value: 2.675 is a little less than its
    digits say, and becomes 2.67, though 2.675 * 100 is 267.5.
    """

    def rule(node: exp.Expr) -> exp.Expr:
        only(node, "this", "decimals")
        if not of_type(node.this, *FLOATS):
            if of_type(node.this, *INTEGERS, *DECIMALS):
                return node
            raise Unknown("of what is no number")
        digits = node.args.get("decimals")
        if digits is None:
            return whole(node.this)
        left = isinstance(digits, exp.Neg)
        places = constant(digits.this if left else digits, 0)
        factor = exp.cast(exp.Literal.number(10**places), "DOUBLE")
        if left:
            shifted = whole(exp.Div(this=exp.paren(node.this), expression=factor))
            return exp.paren(exp.Mul(this=shifted, expression=factor.copy()), copy=False)
        if places > _MOST_PLACES:
            raise Unknown(f"to more than {_MOST_PLACES} decimal places")
        value = exp.paren(node.this)
        product = exp.paren(exp.Mul(this=value, expression=factor))
        too_far = exp.replace_placeholders(parse_one(_TOO_FAR), x=value, m=factor, p=product)
        exact = exp.paren(exp.Sub(this=whole(product.this), expression=too_far))
        return exp.paren(exp.Div(this=exact, expression=factor.copy()), copy=False)

    return rule


def of_ten(node: exp.Expr) -> exp.Expr:
    """What a logarithm to the base of 10 is taken of.

    Raises:
        Unknown: it is to another base.
    """
    if node.expression is None:
        return double(node.this)
    if constant(node.this, 0) != 10:
        raise Unknown("to another base than 10")
    return double(node.expression)


def not_a_number(node: exp.Expr) -> exp.Expr:
    """ISNAN; other engines take NaN to equal itself."""
    return exp.EQ(this=double(node.this), expression=exp.cast(exp.Literal.string("NaN"), "DOUBLE"))


# -- text -----------------------------------------------------------------------------------------


def text(node: exp.Expr) -> exp.Expr:
    """A node as text.

    Raises:
        Unknown: it is a number with a floating point or a time, which engines write differently.
    """
    if of_type(node, *TEXTS) or isinstance(node, exp.Null):
        return node
    if of_type(node, *INTEGERS, *DECIMALS, *DAYS, *BOOLEAN):
        return exp.cast(node, "TEXT")
    raise Unknown("of a number with a floating point, or of a time, as text")


def joined(node: exp.Expr) -> exp.Expr:
    """The rule of || and CONCAT, whose operands are made text."""
    if isinstance(node, exp.DPipe):
        return exp.DPipe(this=text(node.this), expression=text(node.expression))
    node.set("expressions", [text(part) for part in node.expressions])
    return node


def means_itself(like: exp.Expr) -> bool:
    """Whether a pattern of LIKE means the same where a backslash escapes."""
    if isinstance(like.parent, exp.Escape):
        return True
    return isinstance(like.expression, exp.Literal) and "\\" not in like.expression.name


def piece(node: exp.Expr) -> exp.Expr:
    """The rule of SUBSTRING, from a constant place on."""
    constant(node.args.get("start"), 1)
    if node.args.get("length") is not None:
        constant(node.args["length"], 0)
    return only(node, "this", "start", "length")


def side(node: exp.Expr) -> exp.Expr:
    """The rule of LEFT and RIGHT, of a constant length."""
    constant(node.expression, 0)
    return node


def split(node: exp.Expr) -> exp.Expr:
    """The rule of SPLIT_PART, by a constant, at a constant place."""
    constant(node.args.get("part_index"), 1)
    by = node.args["delimiter"]
    if not isinstance(by, exp.Literal) or not by.name:
        raise Unknown("by something else than a constant")
    return node


# -- dates ----------------------------------------------------------------------------------------

# What tells a part of a date, and its name in EXTRACT.
PARTS: dict[type[exp.Expr], str] = {
    **{exp.Year: "YEAR", exp.Quarter: "QUARTER", exp.Month: "MONTH", exp.Day: "DAY"},
    **{exp.Week: "WEEK", exp.WeekOfYear: "WEEK", exp.DayOfMonth: "DAY", exp.DayOfYear: "DOY"},
    **{exp.DayOfWeek: "DOW", exp.DayOfWeekIso: "ISODOW"},
    **{exp.Hour: "HOUR", exp.Minute: "MINUTE", exp.Second: "SECOND"},
}
_ALSO = {
    **{"DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW", "WEEKDAY": "DOW", "DAYOFYEAR": "DOY"},
    **{"WEEKOFYEAR": "WEEK"},
}


def part(node: exp.Expr) -> tuple[str, exp.Expr]:
    """The part of a date that a node extracts, and the date.

    Raises:
        Unknown: another one than years to seconds.
    """
    if type(node) in PARTS:
        return PARTS[type(node)], node.this
    if isinstance(node, exp.Extract):
        name, of = node.this.name, node.expression
    elif len(node.expressions) == 1:  # weekday(…)
        name, of = node.name, node.expressions[0]
    else:  # date_part('…', …)
        name, of = node.expressions[0].name, node.expressions[1]
    name = _ALSO.get(name.upper(), name.upper())
    if name not in PARTS.values():
        raise Unknown(f"of {name}")
    return name, of


def unit(node: exp.Expr, *known: str) -> str:
    """The unit of a function of dates.

    Raises:
        Unknown: it is not among those that are known.
    """
    name = str(node.args["unit"].name).upper()
    if name not in known:
        raise Unknown(f"in {name}")
    return name


def date_of_parts(node: exp.Expr) -> exp.Expr:
    """The rule of MAKE_DATE."""
    names = ("year", "month", "day")
    only(node, *names)
    return function("MAKE_DATE", *(exp.cast(node.args[name], "INT") for name in names))


def date_format(node: exp.Expr, writes: Mapping[str, str]) -> exp.Expr:
    """The format of a date, given how each of its parts is written.

    Raises:
        Unknown: it holds more than such parts and punctuation.
    """
    written = node.args.get("format")
    left = written.name if isinstance(written, exp.Literal) else "?"
    found = ""
    while left:
        if left[:2] in writes:
            found, left = found + writes[left[:2]], left[2:]
        elif left[0] in "-/:. ":
            found, left = found + left[0], left[1:]
        else:
            raise Unknown("with this format")
    return exp.Literal.string(found)


# What is written in one way for all other engines.
SHARED: Mapping[type[exp.Expr], Rule] = {
    exp.Div: divided,
    exp.IsNan: not_a_number,
    exp.Sqrt: in_double("SQRT"),
    exp.Cbrt: in_double("CBRT"),
    exp.Pow: in_double("POWER"),
    exp.IgnoreNulls: lambda node: node.this,
    exp.DPipe: joined,
    exp.Concat: joined,
    exp.Substring: piece,
    exp.Left: side,
    exp.Right: side,
    exp.SplitPart: split,
    exp.Trim: only_of("this", "position"),
    exp.DateFromParts: date_of_parts,
}
