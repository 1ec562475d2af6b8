"""What may be computed from one record means the same once it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.sqltext import sql, statements
from dbdeid.errors import DataError
from dbdeid.query.parse.expressions import SCALARS, Named, Range, Scope, named

TYPES = {
    "a": "INTEGER",
    "b": "INTEGER",
    "x": "DOUBLE",
    "d": "DATE",
    "e": "DATE",
    "ts": "TIMESTAMP",
    "s": "VARCHAR",
    "r": "VARCHAR",
    "f": "BOOLEAN",
    "dec": "DECIMAL(9, 2)",
}
SCOPE = Scope((Range.of(["t"], [Named(name, column(name)) for name in TYPES]),))
_FILL = """
CREATE TABLE t AS
SELECT
    i::INTEGER AS a,
    (i * 7 % 5 - 2)::INTEGER AS b,
    (i - 3) * 1.25::DOUBLE AS x,
    DATE '2020-02-27' + i::INTEGER AS d,
    DATE '2019-12-30' + (i * 37)::INTEGER AS e,
    TIMESTAMP '2020-01-31 13:45:59.5' + INTERVAL (i * 7) HOUR AS ts,
    CASE WHEN i % 3 = 0 THEN NULL ELSE 'Ab%_' || i END AS s,
    'b_' || (i % 4) AS r,
    i % 2 = 0 AS f,
    (i * 1.5)::DECIMAL(9, 2) AS dec
FROM range(1, 12) AS numbers(i);
INSERT INTO t (a) VALUES (NULL);
"""
# Arithmetic and precedence; conditions; text; numbers; dates; types and constants.
EXPRESSIONS = """
a + b * a - 2
a // (b + 10)
a / (b * 2 - 1)
a % (b + 9)
mod(a + 1, b + 9)
mod(-a, 3)
-a ^ 2
-a ** 2
a ** 2 ** 3
a ^ b * 2
2 ^ a // 3
pow(a, 2)
power(x, 2)
a // 2 * 3
a * 3 // 2
a - b - a
a - (b - a)
-(a + b) * 2
- -a
-a % 3
+a
-7 // 2
-7 % 3
1 / 2
dec * 2
dec / 3
dec // 2
dec % 2
a >= b or a <= 3
(a = 1) = f
not a = 1
not f = true
not a is null
not not f
a is not null = f
a > b and f or b > a and not f
a > b and (f or b > a) and not f
a between 1 and 3 and f
a not between 1 and 3
a between b and 3 or f
a in (1, 2, null)
a not in (1, 2, null)
a in [1, 2]
s in ('Ab%_1', 'x')
f is true
f is not true
f is false
f is null
s notnull
s isnull
a is distinct from b
a is not distinct from b
f and null
f or null
a != b
a <> b
a == b
case when f then 1 end
case a when 1 then 'x' when 2 then 'y' else 'z' end
if(f, 1, 2)
coalesce(s, r, 'z')
ifnull(s, r)
nullif(a, 1)
coalesce(a, b, 0) % 3
greatest(a, b)
greatest(a, null)
least(a, b, 3)
a::varchar || b
-a::double
(a::varchar) || b::varchar
a || b like '1%'
s || r
concat(s, '-', r)
s like 'Ab!%!_1' escape '!'
s not like 'Ab%'
s ilike 'aB%'
s glob 'A*1'
s similar to 'A.*1'
s like 'A%' and not f
regexp_matches(s, '^A.*1$')
regexp_matches(s, '^a', 'i')
s ~ 'A.*1'
s !~ 'A.*1'
regexp_full_match(s, 'A.*')
regexp_extract(s, '[0-9]+')
regexp_replace(s, 'b', 'c')
starts_with(s, 'A')
s ^@ 'A'
prefix(s, 'A')
ends_with(s, '1')
suffix(s, '1')
contains(s, 'b')
replace(s, 'b', 'c')
split_part(s, '_', 2)
strpos(s, 'b')
position('b' in s)
lower(s)
upper(s)
lcase(s)
length(s)
len(s)
strlen(s)
trim(s)
trim(both 'A' from s)
trim(s, 'A1')
ltrim(s, 'A')
rtrim(s, '1')
substring(s, 2, 2)
substring(s from 2 for 2)
substr(s, 2)
substr(s, -2)
left(s, 2)
left(s, -1)
right(s, 2)
left(s, 2) || 'x'
abs(b)
sign(x)
floor(x)
ceil(x)
ceiling(x)
round(x)
round(x, 1)
round(a, -1)
round(dec, 1)
trunc(x)
ln(a)
log(a)
log(2, a)
log10(a)
exp(b)
sqrt(a)
cbrt(a)
isnan(x)
year(d)
quarter(d)
month(d)
week(d)
weekofyear(d)
day(d)
dayofmonth(d)
hour(ts)
minute(ts)
second(ts)
dayofweek(d)
weekday(d)
isodow(d)
dayofyear(d)
dayname(d)
monthname(d)
last_day(d)
yearweek(d)
century(d)
decade(d)
extract(year from d)
extract(dow from d)
extract(isodow from d)
extract(doy from d)
extract(epoch from ts)
extract(decade from d)
extract('year' from d)
date_part('year', d)
datepart('month', d)
date_trunc('month', d)
date_trunc('week', ts)
datetrunc('quarter', d)
date_diff('day', d, e)
datediff('month', d, e)
date_diff('week', d, e)
datediff('hour', ts, d::timestamp)
date_diff('day', e, d) / 365.25
date_sub('month', d, e)
datesub('day', d, e)
age(d, e)
d - e
d + 1
d - 7
d + interval 1 month
d - interval '2 days'
d + interval (a) day
date_add(d, interval 1 day)
year(date_add(d, interval 400 day) - interval 1 month)
make_date(2020, 1, a)
strftime(d, '%Y-%m')
strftime(ts, '%H:%M %j %U')
strftime(d, '%Y')::int
epoch(ts)
d > '2020-03-01'
d = date '2020-03-01'
ts < timestamp '2020-02-01 00:00:00'
d between '2020-01-01' and '2020-03-04'
d < ts
greatest(d, e)
a::double
x::int
x::float
a::tinyint
a::hugeint
a::boolean
a::decimal(5, 1)
d::timestamp
ts::date
ts::timestamp_s
cast(ts as time)
cast(a as varchar)
cast(a as ubigint)
try_cast(s as int)
'5'::int + a
1_000 + a
.5 + a
5. + a
1e3 * a
1E-2 * a
'it''s' || s
'a\\tb' || s
true
null
""".strip().splitlines()


@pytest.fixture(scope="module")
def raw() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(_FILL)
        yield connection


def tree(text: str) -> exp.Expr:
    (select,) = statements(f"SELECT ({text}) FROM t")
    assert select is not None
    return select.expressions[0]


def outcome(raw: duckdb.DuckDBPyConnection, text: str) -> Any:
    found = raw.execute(f"SELECT ({text}) FROM t")
    return [str(d[1]) for d in found.description], [repr(row) for row in found.fetchall()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_that_is_read_means_the_same(
    text: str, raw: duckdb.DuckDBPyConnection
) -> None:
    read = sql(SCOPE.scalar(tree(text), "WHERE"))
    assert outcome(raw, read) == outcome(raw, text)


def test_every_function_that_is_taken_was_tried() -> None:
    """None is allowed on trust: sqlglot may print a function otherwise than it reads it."""
    tried = {type(node) for text in EXPRESSIONS for node in tree(text).walk()}
    untried = {kind.__name__ for kind in SCALARS} - {kind.__name__ for kind in tried}
    assert untried == set()


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("((T.A))", '"a"'),
        ("(a) + (1)", '"a" + 1'),
        ("a + (b * 2)", '"a" + ("b" * 2)'),
        ('"A" between (1) and ((2))', '"a" BETWEEN 1 AND 2'),
    ],
)
def test_names_and_needless_parentheses_have_one_form(text: str, meaning: str) -> None:
    assert sql(SCOPE.scalar(tree(text), "WHERE")) == meaning


def test_a_name_stands_for_an_expression() -> None:
    total = column("a") + column("b")
    view = Scope((Range.of(["v"], [Named("y", total), Named("z", column("a"))]),))
    assert sql(view.scalar(tree("y * 2 - v.z"), "WHERE")) == '("a" + "b") * 2 - "a"'
    assert sql(view.scalar(tree("Y"), "WHERE")) == '"a" + "b"'


REFUSED = [
    ("q", "WHERE names q, which is not released"),
    ("u.a", "WHERE names u.a: unknown table"),
    ("t.q", "WHERE names t.q, which is not released"),
    ("t.*", "* in WHERE"),
    ("hash(a)", "the function hash in WHERE"),
    ("random()", "the function RANDOM in WHERE"),
    ("age(d)", "the function age in WHERE"),
    ("sum(a)", "the aggregate SUM in WHERE"),
    ("any_value(a)", "the aggregate ANY_VALUE in WHERE"),
    ("sum(a) over ()", "a window in WHERE"),
    ("(select 1)", "a subquery in WHERE"),
    ("a in (select 1)", "a subquery in WHERE"),
    ("a = any (select 1)", "in WHERE"),
    ("'x' in s", "IN with something else than a list in WHERE"),
    ("(a, b) = (1, 2)", "a row (…, …) in WHERE"),
    ("[a]", "a list in WHERE"),
    ("s[1]", "a list or a part of one in WHERE"),
    ("a::my_type", "a type other than numbers, text, BOOLEAN, dates and times in WHERE"),
    ("a::int[]", "a type other than numbers"),
    ("s::json", "a type other than numbers"),
    ("a & 1", "arithmetic of single bits in WHERE"),
    ("d AT TIME ZONE 'UTC'", "AT TIME ZONE in WHERE"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_an_expression_is_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(DataError) as refusal:
        SCOPE.scalar(tree(text), "WHERE")
    assert reason in refusal.value.message


def test_a_misspelt_name_has_a_hint() -> None:
    scope = Scope((Range.of(["t"], [Named("age", column("age")), Named("sex", column("sex"))]),))
    with pytest.raises(DataError) as refusal:
        scope.scalar(tree("agee"), "WHERE")
    assert refusal.value.hint == "did you mean 'age'? Known: age, sex."


def test_a_name_of_two_tables_is_refused_unless_they_share_it() -> None:
    first = Range.of(["t"], [Named("a", column("a"))])
    second = Range.of(["u"], [Named("a", column("a", "joined_1")), Named("b", column("b", "u"))])
    with pytest.raises(DataError, match="names a, which several tables have"):
        Scope((first, second)).scalar(tree("a"), "WHERE")
    shared = Scope((first, second), frozenset({"a"}))
    assert sql(shared.scalar(tree("a"), "WHERE")) == '"a"'
    assert sql(shared.scalar(tree("u.a"), "WHERE")) == '"joined_1"."a"'
    assert [c.name for c in shared.all_columns("", "WITH c")] == ["a", "b"]
    assert [c.name for c in shared.all_columns("U", "WITH c")] == ["a", "b"]


def test_what_is_refused_is_called_by_its_sql_name() -> None:
    assert named(tree("a / b").this) == "/"
    assert named(tree("a > b").this) == "a comparison"
    assert named(exp.Case()) == "the function CASE"
