"""Expressions that mean the same in every engine, and a table of values that are hard for them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

COLUMNS = {
    "id": "INTEGER",
    "i": "INTEGER",
    "d": "DOUBLE",
    "p": "DECIMAL(7,3)",
    "t": "VARCHAR",
    "day": "DATE",
    "seen": "TIMESTAMP",
    "ok": "BOOLEAN",
}
_DECIMALS = ("2.675", "-0.005", "0", "12.5", "1.005", None, "9999.999", "-3.5")
_DAYS = [
    "2024-02-29",
    "2023-01-01",
    "2021-01-03",
    "2000-12-31",
    "1970-01-01",
    "2024-12-30",
    "1999-05-09",
]
_TIMES = ["2024-02-29T23:59:07", "1969-12-31T00:00:00", "2024-03-10T02:30:00.500000"]
_MORE_TIMES = ["2024-11-03T01:30:00", "2000-01-01T00:00:00", "1999-05-09T17:05:00"]
_COLUMNS: list[tuple[Any, ...]] = [
    tuple(range(1, 9)),
    (7, -7, 0, 12, 3, None, 1, 2),
    (2.5, -2.5, 2.675, 1e15, 0.49999999999999994, None, -0.5, 1234.5678),
    tuple(None if p is None else Decimal(p) for p in _DECIMALS),
    ("Sales", "sales", "", "a\\b%_'c", "Äpfel ß", None, " tech ", "Tech-Ops-2"),
    (*map(date.fromisoformat, _DAYS), None),
    (*map(datetime.fromisoformat, _TIMES), None, *map(datetime.fromisoformat, _MORE_TIMES), None),
    (True, False, None, True, False, None, True, False),
]
ROWS = list(zip(*_COLUMNS, strict=True))

NUMBERS = (
    *("i + 1", "-i", "i * 2 - 3", "i / 2", "i // 2", "i % 3", "(i - 2) % 5", "p / 3", "p * 2.5"),
    *("round(d)", "round(d, 1)", "round(d, 2)", "round(d, -2)", "round(p, 1)", "round(p)"),
    *("round(i * CAST(0.15 AS DOUBLE), 1)", "round(i * CAST(-1.005 AS DOUBLE), 2)", "round(d, 11)"),
    *("round(i)", "floor(d)", "ceil(d)", "floor(p)", "ceil(p)", "floor(i / 5) * 5", "trunc(d)"),
    *(
        "abs(d)",
        "abs(i)",
        "sign(d)",
        "sqrt(abs(d))",
        "cbrt(d)",
        "d ** 2",
        "pow(i, 2)",
        "exp(d / 1e14)",
    ),
    *("exp(-abs(i) * 1000)", "ln(abs(d))", "log(abs(d))", "log10(abs(d))", "d // 2", "isnan(d)"),
    *("CAST(d / 1e6 AS INTEGER)", "CAST(p AS INTEGER)", "CAST(i AS DOUBLE)", "CAST(p AS DOUBLE)"),
    *(
        "CAST(d AS DECIMAL(18,2))",
        "CAST(ok AS INTEGER)",
        "CAST(ok AS DOUBLE)",
        "CAST(i AS BOOLEAN)",
    ),
    *("CAST(i AS VARCHAR)", "CAST(p AS VARCHAR)", "CAST(ok AS VARCHAR)", "CAST(i AS HUGEINT)"),
    *("CAST(abs(i) AS UTINYINT)", "CAST(abs(i) AS UBIGINT)", "CAST(i AS TINYINT)"),
    *("greatest(i, 2)", "least(d, i, 0)", "coalesce(i, -1)", "nullif(i, 0)", "i BETWEEN 0 AND 5"),
    *(
        "i IN (1, 2, 3)",
        "i IS NULL",
        "i IS DISTINCT FROM 7",
        "i IS NOT DISTINCT FROM NULL",
        "ok IS TRUE",
    ),
    *("CASE WHEN i > 2 THEN 'many' WHEN i IS NULL THEN 'none' ELSE 'few' END", "if(ok, i, -i)"),
    *("NOT ok", "i > 2 AND ok", "i > 2 OR ok", "ok = (i > 2)", "d < i", "p >= 1.005", "p < d"),
)
TEXTS = (
    *("lower(t)", "length(t)", "trim(t)", "ltrim(t)", "rtrim(t)", "t || '!'", "t || i"),
    *("concat(t, '-', i)", "substr(t, 2, 3)", "substring(t, 3)", "left(t, 2)", "right(t, 2)"),
    *("replace(t, 'e', 'E')", "strpos(t, 'e')", "split_part(t, '-', 2)", "contains(t, 'e')"),
    *("starts_with(t, 'T')", "ends_with(t, 's')", "prefix(t, '')", "suffix(t, '')", "t LIKE '%e%'"),
    *("t LIKE '_ales'", "t NOT LIKE 'S%'", "t LIKE '%!%!_%' ESCAPE '!'", "t ILIKE 's%'"),
    *("upper(left(t, 3))", "t < 'a'", "t >= 'Sales'", "t BETWEEN 'A' AND 'b'", "'a' < t"),
    *("greatest(t, 'a')", "least(t, 'a')", "t IN ('sales', '')", "t = 'it''s'", "t <> 'a\\b%_''c'"),
    *("t IS NULL", "coalesce(t, 'none')", "nullif(t, '')", "t > 'Z' OR t < ''"),
)
DATES = (
    *("year(day)", "quarter(day)", "month(day)", "day(day)", "week(day)", "weekofyear(day)"),
    *("dayofweek(day)", "isodow(day)", "dayofyear(day)", "dayofmonth(day)", "weekday(day)"),
    *("extract(year FROM day)", "date_part('month', day)", "extract(dow FROM day)"),
    *("hour(seen)", "minute(seen)", "second(seen)", "extract(hour FROM seen)", "year(seen)"),
    *("dayname(day)", "monthname(day)", "last_day(day)", "make_date(year(day), 1, 1)"),
    *("date_trunc('month', day)", "date_trunc('week', day)", "date_trunc('quarter', seen)"),
    *(
        "date_trunc('day', seen)",
        "strftime(day, '%Y-%m')",
        "date_diff('day', day, DATE '2024-03-01')",
    ),
    *("day - DATE '2024-01-01'", "day + 1", "day - 1", "day + INTERVAL 1 MONTH"),
    *("day - INTERVAL 1 YEAR", "seen + INTERVAL 90 MINUTE", "day < DATE '2023-06-01'"),
    *("seen >= TIMESTAMP '2000-01-01 00:00:00'", "CAST(seen AS DATE)", "CAST(day AS TIMESTAMP)"),
    *("CAST(day AS VARCHAR)", "day BETWEEN '2020-01-01' AND '2024-02-29'", "day < seen"),
    *("CAST('2024-02-29' AS DATE) = day", "year(day) * 12 + month(day)", "day IS NULL"),
)
