"""Random specifications: small tables of odd types, with random roles, hierarchies and models.

A case is what its number says, whatever machine makes it. Each value of a column is a piece of SQL
and, beside it, what a plain reader finds in the exported file when it is released as it is; the two
are written by hand here, so that the judge (`recomputed`) asks neither dbdeid nor DuckDB about it.
"""

from __future__ import annotations

import math
import random
import string
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Value = tuple[str, Any]  # the SQL of a value, and what it is released as
EPOCH = datetime(1970, 1, 1)
NULL: Value = ("NULL", None)


@dataclass(frozen=True)
class Kind:
    """A type of columns: its name in SQL, what is measured of it, and values of it."""

    sql: str
    family: str  # whole, number, date, moment, text, truth, odd (released as text), nested
    values: Callable[[random.Random], list[Value]]


def _whole(sql: str, low: int, high: int) -> Kind:
    def values(draw: random.Random) -> list[Value]:
        start = draw.choice([low, high - 90, draw.randint(low, high - 90)])
        step = draw.choice([1, 1, 7])
        return [(f"'{n}'::{sql}", n) for n in range(start, min(start + 12 * step, high), step)]

    return Kind(sql, "whole", values)


def _wholes(sql: str, *starts: int) -> Kind:
    def values(draw: random.Random) -> list[Value]:
        start = draw.choice(starts)
        numbers = {start + draw.choice([0, 1, 2, 3, 5, 8, 40, -1, -2]) for _ in range(9)}
        return [(f"'{n}'::{sql}", n) for n in sorted(numbers)]

    return Kind(sql, "whole", values)


def _doubles(draw: random.Random) -> list[Value]:
    plain = [draw.randint(-40, 40) / 8 for _ in range(10)]
    odd = draw.choice(
        [
            [],
            [float("nan")],
            [float("nan"), -0.0, 0.0],
            [float("inf"), float("-inf")],
            [1e15 + n / 8 for n in range(6)],
            [2.0**53 + 2 * n for n in range(6)],
            [1e300, -1e300],
            [5e-324, 2.2e-308],
            [0.1 + 0.2, 0.3, 1 / 3],
        ]
    )
    found = odd if odd and draw.random() < 0.3 else plain + odd
    return [(f"'{x!r}'::DOUBLE", x) for x in found]


class Single(float):
    """A 32-bit number, which reads as it is written."""

    def __repr__(self) -> str:
        return f"{self:.1f}" if self == self else "nan"


def _floats(draw: random.Random) -> list[Value]:
    some = [draw.randint(-99, 99) / 10 for _ in range(9)]
    found = [Single(struct.unpack("f", struct.pack("f", x))[0]) for x in some]
    if draw.random() < 0.3:
        found += [Single("nan"), Single(-0.0)]
    return [(f"'{x!r}'::FLOAT", x) for x in found]


def _decimals(digits: int, scale: int) -> Kind:
    sql = f"DECIMAL({digits},{scale})"

    def values(draw: random.Random) -> list[Value]:
        most = 10**digits - 1
        start = draw.choice([0, draw.randint(-most // 2, most // 2), most - 40, -most])
        step = draw.choice([1, 3])
        steps = (n for n in range(start, start + 10 * step, step) if n <= most)
        found = [Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale)) for n in steps]
        return [(f"'{x:f}'::{sql}", x) for x in found]

    return Kind(sql, "number", values)


def _days(draw: random.Random) -> list[Value]:
    start = draw.choice([date(2019, 12, 20), date(1, 1, 1), date(1900, 2, 27), date(9990, 1, 1)])
    found = [start + timedelta(days=draw.randint(0, draw.choice([9, 400]))) for _ in range(9)]
    return [(f"DATE '{d}'", d) for d in found]


def _moments(sql: str, unit: int = 1) -> Kind:
    def values(draw: random.Random) -> list[Value]:
        start = datetime(draw.choice([1969, 2020, 2024]), 3, 30, 22)
        steps = [
            timedelta(hours=draw.randint(0, 90), microseconds=draw.choice([0, 123456]))
            for _ in range(9)
        ]
        found = []
        for step in steps:
            moment = start + step
            moment -= timedelta(microseconds=moment.microsecond % unit)
            zone = "+00" if "TZ" in sql else ""
            found.append((f"'{moment}{zone}'::{sql}", moment))
        if "TZ" in sql:  # the same moments, written in other zones
            found += [(f"'{m + timedelta(hours=2)}+02'::{sql}", m) for _, m in found[:3]]
        return found

    return Kind(sql, "moment", values)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


WORDS = (
    *("", " ", "a", "A", " a", "a ", "é", "é", "ß", "SS", "日本", "😀", "*", "NULL", "null"),
    *("nan", "0", "00", "-0.0", "a,b", 'say "x"', "it's", "a;b", "[1, 2)", "a@1", "x\ty", "x\ny"),
    *("​", "a​", "ﬁ", "Straße", "true", "2020-01-01", "\\", "\r\n", "None", "{}"),
)


def _words(draw: random.Random) -> list[Value]:
    odd = draw.random() < 0.6
    some = draw.sample(WORDS, draw.randint(2, 9)) if odd else ["asthma", "flu", "none", "cold"]
    return [(_quoted(w), w) for w in some]


def _codes(draw: random.Random) -> list[Value]:
    stem = "".join(draw.choices(string.digits, k=2))
    found = {stem + "".join(draw.choices("0123", k=3)) for _ in range(12)}
    return [(_quoted(c), c) for c in sorted(found)]


def _of(sql: str, family: str, *pairs: Value) -> Kind:
    return Kind(sql, family, lambda draw: draw.sample(list(pairs), draw.randint(2, len(pairs))))


def _enum(draw: random.Random) -> list[Value]:
    some = draw.sample([w for w in WORDS if w], 5)
    found = list({unicodedata.normalize("NFC", w): w for w in some}.values())  # as DuckDB stores
    names = ", ".join(map(_quoted, found))
    return [(f"{_quoted(w)}::ENUM({names})", w) for w in found]


def _uuids(draw: random.Random) -> list[Value]:
    found = [f"{draw.getrandbits(32):08x}-0000-4000-8000-{n:012x}" for n in range(5)]
    return [(f"'{u.upper()}'::UUID", u) for u in found]


KINDS = {
    "tiny": _whole("TINYINT", -128, 127),
    "small": _whole("SMALLINT", -32768, 32767),
    "whole": _whole("INTEGER", -(2**31), 2**31 - 1),
    "plain": Kind("INTEGER", "whole", lambda draw: [(str(n), n) for n in range(20, 60, 3)]),
    "unsigned": _whole("UINTEGER", 0, 2**32 - 1),
    "big": _wholes("BIGINT", 2**53, -(2**53), 2**60, 2**63 - 60, 10**15, -(2**63) + 2),
    "ubig": _wholes("UBIGINT", 2**64 - 60, 2**53, 5),
    "huge": _wholes("HUGEINT", 2**60, 2**100, 10**38 - 60, -(10**38) + 60, 2**127 - 60),
    "uhuge": _wholes("UHUGEINT", 2**128 - 60, 2**60, 10**38),
    "double": Kind("DOUBLE", "number", _doubles),
    "float": Kind("FLOAT", "number", _floats),
    "decimal": _decimals(5, 2),
    "money": _decimals(18, 3),
    "long": _decimals(38, 0),
    "fine": _decimals(38, 10),
    "date": Kind("DATE", "date", _days),
    "moment": _moments("TIMESTAMP"),
    "second": _moments("TIMESTAMP_S", 1_000_000),
    "milli": _moments("TIMESTAMP_MS", 1000),
    "nano": _moments("TIMESTAMP_NS"),
    "zoned": _moments("TIMESTAMPTZ"),
    "word": Kind("VARCHAR", "text", _words),
    "code": Kind("VARCHAR", "text", _codes),
    "truth": _of("BOOLEAN", "truth", ("true", True), ("false", False)),
    "enum": Kind("ENUM", "odd", _enum),
    "uuid": Kind("UUID", "odd", _uuids),
    "time": _of(
        "TIME",
        "odd",
        ("TIME '12:30:00'", "12:30:00"),
        ("TIME '00:00:00'", "00:00:00"),
        ("TIME '23:59:59.5'", "23:59:59.5"),
    ),
    "timetz": _of(
        "TIMETZ",
        "odd",
        ("'12:30:00+00'::TIMETZ", "12:30:00+00"),
        ("'12:30:00+05:30'::TIMETZ", "12:30:00+05:30"),
        ("'12:30:00-08'::TIMETZ", "12:30:00-08"),
    ),
    "span": _of(
        "INTERVAL",
        "odd",
        ("INTERVAL '1 day'", "1 day"),
        ("INTERVAL '3 months'", "3 months"),
        ("INTERVAL '36 hours'", "36:00:00"),
    ),
    "blob": _of(
        "BLOB", "nested", (r"'\x00\xFF'::BLOB", r"\x00\xFF"), ("'ab'::BLOB", "ab"), ("''::BLOB", "")
    ),
    "bit": _of("BIT", "nested", ("'0101'::BIT", "0101"), ("'1'::BIT", "1"), ("'01'::BIT", "01")),
    "list": _of(
        "INTEGER[]",
        "nested",
        ("[1, 2]", "[1, 2]"),
        ("[]::INTEGER[]", "[]"),
        ("[NULL, 1]", "[NULL, 1]"),
    ),
    "struct": _of(
        'STRUCT("a" INTEGER)', "nested", ("{'a': 1}", "{'a': 1}"), ("{'a': NULL}", "{'a': NULL}")
    ),
    "map": _of(
        "MAP(VARCHAR, INTEGER)", "nested", ("MAP {'a': 1}", "{a=1}"), ("MAP {'b': 2}", "{b=2}")
    ),
}
WHOLE, NUMBER = ("whole",), ("whole", "number")
NAMES = ("a b", "select", "Straße", 'q"q', "x.y", "group", "ORDER", "a-b", "count", "t")


@dataclass
class Column:
    """A column of a case: `values` of its records, and what the specification says of it."""

    name: str
    kind: str
    values: list[Value]
    spec: dict[str, Any]
    labels: dict[str, list[str]] = field(default_factory=dict)  # of listed hierarchies, by text

    @property
    def family(self) -> str:
        return KINDS[self.kind].family

    @property
    def role(self) -> str:
        return str(self.spec["role"])


@dataclass
class Case:
    """A specification with its table, and what is needed to judge a release of it."""

    number: int
    method: str
    spec: dict[str, Any]
    columns: list[Column]
    files: dict[str, str]
    sql: list[str]
    inside: bool = False  # on a connection of the caller's, not in a database file
    foreign: list[list[str | None]] | None = None  # a release that was made elsewhere
    honest: bool = True  # whether that one is what it says

    @property
    def rows(self) -> int:
        return len(self.columns[0].values)

    def of(self, *roles: str) -> list[Column]:
        return [c for c in self.columns if c.role in roles]


METHODS = {
    "full_domain": 24,
    "local_recoding": 20,
    "counterfeit": 18,
    "microaggregation": 12,
    "condensation": 7,
    "policy": 8,
    "relocation": 4,
    "external": 7,
}


def case(number: int) -> Case:
    """The case of a number."""
    draw = random.Random(number)
    method = draw.choices(list(METHODS), list(METHODS.values()))[0]
    return _MAKERS.get(method, _generalizing)(number, method, draw)


def text_of(value: Any) -> str:
    """A value as the engine writes it, for hierarchies that list values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return str(value).rstrip("0").rstrip(".") if value.microsecond else str(value)
    if isinstance(value, float):
        return repr(value) if value else "0.0"
    return str(value)


# -- columns --------------------------------------------------------------------------------------


def _drawn(draw: random.Random, kind: str, rows: int, *, most: int, null: float) -> list[Value]:
    """Values of a kind for so many records, of at most so many different ones."""
    pool = KINDS[kind].values(draw)
    pool = draw.sample(pool, min(len(pool), most))
    weights = [1 / (i + 1) if draw.random() < 0.5 else 1 for i in range(len(pool))]
    found = draw.choices(pool, weights, k=rows)
    return [NULL if draw.random() < null else v for v in found]


def _name(draw: random.Random, stem: str) -> str:
    return f"{stem} {draw.choice(NAMES)}" if draw.random() < 0.15 else stem


def _kind(draw: random.Random, *families: str) -> str:
    return draw.choice([name for name, kind in KINDS.items() if kind.family in families])


GENERAL = ("whole", "number", "date", "moment", "text", "truth", "odd")


def _quasi(draw: random.Random, i: int, rows: int, files: dict[str, str]) -> Column:
    """A quasi-identifier with a hierarchy that fits its values, most of the time."""
    kind = "plain" if draw.random() < 0.2 else _kind(draw, *GENERAL, *("nested",) * (i == 0))
    column = Column(
        _name(draw, f"q{i}"),
        kind,
        _drawn(draw, kind, rows, most=draw.choice([3, 6, 12]), null=draw.choice([0, 0, 0.08])),
        {"role": "quasi_identifier", "reason": "made up"},
    )
    if column.family == "nested" and draw.random() < 0.8:
        column.spec["type"] = "categorical"
    column.spec["hierarchy"] = _hierarchy(draw, column, f"h{i}.csv", files)
    if draw.random() < 0.1:
        column.spec["weight"] = draw.choice([0.5, 2, 1e-9, 1e9])
    return column


def _hierarchy(draw: random.Random, column: Column, file: str, files: dict[str, str]) -> Any:
    forms = ["suppress"]
    if column.family in NUMBER and "type" not in column.spec:
        forms += ["intervals"] * 3
    if column.family in ("date", "moment"):
        forms += ["dates"] * 3
    if column.kind == "code":
        forms += ["prefix"] * 3
    listed = column.kind not in ("double", "float") and column.family not in ("date", "moment")
    if listed and column.family != "nested":
        forms += ["file", "groups"]
    form = draw.choice(forms)
    present = sorted({text_of(v) for _, v in column.values if v is not None})
    if form == "intervals":
        widths: list[Any] = draw.choice([[5], [10, 20], [1, 2, 4], [0.5, 5], [3, 9, 27]])
        found: dict[str, Any] = {"intervals": widths}
        known = [v for _, v in column.values if v is not None and v == v and abs(v) != float("inf")]
        if draw.random() < 0.4 and known and max(map(abs, known)) < 10**6:
            low = int(min(known)) // 10 * 10
            found |= {"lower": low, "upper": low + draw.choice([20, 60, 1000])}
        if draw.random() < 0.15:
            found["origin"] = draw.choice([1, 0.5])
        return found
    if form == "dates":
        units = ["month", "quarter", "year", "decade"]
        if draw.random() < 0.2:
            return {"dates": ["week"]}
        return {"dates": [u for u in units if draw.random() < 0.6] or ["year"]}
    if form == "prefix":
        return {"prefix": draw.choice([[4, 2], [3], [2, 1]])}
    if form in ("file", "groups") and present:
        groups = [f"group {n}" for n in range(draw.randint(1, 3))]
        inside = {text: draw.choice(groups) for text in present}
        if draw.random() < 0.1 and "*" not in present:
            inside[present[0]] = present[0]  # a label that is a value, too
        column.labels = {text: [text, label] for text, label in inside.items()}
        if form == "groups":
            groups = sorted(set(inside.values()))
            return {"groups": [{g: [t for t in present if inside[t] == g] for g in groups}]}
        quote = lambda s: '"' + s.replace('"', '""') + '"'  # noqa: E731
        files[file] = "".join(f"{quote(t)};{quote(inside[t])}\n" for t in present)
        return file
    return "suppress"


def _leaving(draw: random.Random, rows: int, method: str) -> list[Column]:
    """Columns that leave as they are."""
    found = []
    families = GENERAL if draw.random() < 0.97 else (*GENERAL, "nested")
    if draw.random() < 0.75:
        kind = "word" if draw.random() < 0.4 else _kind(draw, *families)
        values = _drawn(draw, kind, rows, most=draw.choice([2, 4, 6]), null=draw.choice([0, 0.1]))
        spec = {
            "role": "sensitive",
            "accept": ["homogeneity", "looks_like_identifier"],
            "reason": "made up",
        }
        found.append(Column(_name(draw, "s"), kind, values, spec))
    for i in range(draw.choice([0, 0, 1, 1, 2])):
        kind = _kind(draw, *families)
        most = 2 if method == "counterfeit" else draw.choice([2, 6, 12])
        values = _drawn(draw, kind, rows, most=most, null=draw.choice([0, 0.1]))
        spec = {"role": "insensitive", "reason": "made up", "accept": "looks_like_identifier"}
        found.append(Column(_name(draw, f"i{i}"), kind, values, spec))
    return found


def _sensitive_model(draw: random.Random, k: int, column: Column) -> dict[str, Any]:
    values = len({text_of(v) for _, v in column.values})
    measured = column.family in (*NUMBER, "date", "truth")
    found: list[dict[str, Any]] = [
        {"model": "l_diversity", "l": 2},
        {"model": "l_diversity", "l": max(1, min(values, 3))},
        {"model": "l_diversity", "kind": "entropy", "l": draw.choice([1.3, 1.6, 2])},
        {"model": "l_diversity", "kind": "recursive", "l": 2, "c": draw.choice([1.5, 3])},
        {"model": "t_closeness", "t": draw.choice([0.3, 0.5, 0.7])},
        {"model": "alpha_k", "k": k, "alpha": draw.choice([0.6, 0.8, 0.9])},
        {"model": "basic_beta", "beta": draw.choice([1, 2, 4])},
        {"model": "enhanced_beta", "beta": draw.choice([1, 2, 4])},
        {"model": "delta_disclosure", "delta": draw.choice([1.5, 3])},
    ]
    if measured:
        found += [{"model": "t_closeness", "distance": "ordered", "t": draw.choice([0.2, 0.4])}] * 2
    if column.family in NUMBER:
        numbers = [float(v) for _, v in column.values if v is not None and math.isfinite(v)]
        spread = max(numbers, default=0) - min(numbers, default=0)
        epsilon = min(draw.choice([0, 0.1, 0.3]) * spread, 1e18)
        found += [{"model": "em_anonymity", "epsilon": epsilon, "m": 2}] * 2
    return draw.choice(found) | {"column": column.name}


def _table(columns: list[Column], name: str = "visits") -> list[str]:
    """The statements that make the table of a case."""
    names = ", ".join('"' + c.name.replace('"', '""') + '"' for c in columns)
    rows = ",\n".join(
        "(" + ", ".join(v[0] for v in row) + ")"
        for row in zip(*(c.values for c in columns), strict=True)
    )
    typed = []
    for c in columns:
        kind = KINDS[c.kind].sql
        if kind == "ENUM":
            kind = next((v[0].split("::", 1)[1] for v in c.values if v[1] is not None), "VARCHAR")
        own = '"' + c.name.replace('"', '""') + '"'
        typed.append(f"CAST({own} AS {kind}) AS {own}")
    return [f"CREATE TABLE {name} AS SELECT {', '.join(typed)} FROM (VALUES {rows}) AS v({names})"]


def _output(draw: random.Random, spec: dict[str, Any], *, bounds: bool = True) -> bool:
    """Where the release goes; whether it is made on a connection of the caller's."""
    export = [f"out.{draw.choice(['parquet', 'csv', 'duckdb'])}"]
    if draw.random() < 0.1:
        export = ["out.parquet", "out.csv", "out.duckdb"]
    spec["output"] = {"export": export}
    if bounds and draw.random() < 0.2:
        spec["output"]["bounds"] = True
    inside = draw.random() < 0.3
    if not inside:
        spec["database"] = "owner.duckdb"
        if draw.random() < 0.5:
            spec["target"] = "target.duckdb"
    return inside


def _columns_of(columns: list[Column]) -> dict[str, Any]:
    return {c.name: c.spec for c in columns}


# -- the methods ----------------------------------------------------------------------------------


def _generalizing(number: int, method: str, draw: random.Random) -> Case:
    """Full domain, local recoding, counterfeits, and the comparator that moves records."""
    rows, files = draw.choice([25, 60, 60, 120]), {}  # type: tuple[int, dict[str, str]]
    columns = [_quasi(draw, i, rows, files) for i in range(draw.randint(1, 3))]
    columns += _leaving(draw, rows, method)
    k = draw.choice([2, 3, 3, 5])
    privacy: list[dict[str, Any]] = [{"model": "k_anonymity", "k": k}]
    sensitive = [c for c in columns if c.role == "sensitive"]
    if sensitive and method != "relocation" and draw.random() < 0.45:
        privacy.append(_sensitive_model(draw, k, sensitive[0]))
    spec: dict[str, Any] = {
        "release": "public",
        "source": "visits",
        "columns": {},
        "privacy": privacy,
        "seed": number,
        "method": {"name": method} | _PARAMETERS[method](draw),
    }
    if method in ("full_domain", "local_recoding") and draw.random() < 0.15:
        people = [(f"'p{n}'", f"p{n}") for n in range(rows // 2)]
        values = draw.choices(people, k=rows)
        columns.append(Column("person", "word", values, {"role": "identifier"}))
        spec["subject"] = "person"
        spec["method"].pop("engine", None)
    elif method == "full_domain" and draw.random() < 0.2:
        spec["null_policy"] = draw.choice(["wildcard", "exclude"])
        if spec["null_policy"] == "wildcard":
            spec["method"].pop("engine", None)
            spec["privacy"] = privacy[:1]
    if draw.random() < 0.3:
        names = [(f"'n{n}'", f"n{n}") for n in range(rows)]
        columns.append(Column("dropped", "word", names, {"role": "drop"}))
    inside = _output(draw, spec)
    spec["columns"] = _columns_of(columns)
    return Case(number, method, spec, columns, files, _table(columns), inside)


def _full_domain(draw: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"suppression_limit": draw.choice([0, 0.1, 0.3])}
    if draw.random() < 0.3:
        found["objective"] = draw.choice(
            ["discernibility", "height", "precision", "average_class_size", "nonuniform_entropy"]
        )
    if draw.random() < 0.15:
        found["engine"] = "sql"
    if draw.random() < 0.2:
        found["suppressed"] = "keep"
    if draw.random() < 0.15:
        found["search"] = draw.choice(["best_first", "flash", "ola", "lbs", "datafly", "igreedy"])
    return found


def _local_recoding(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.6:
        return {"tail": "eligible"} if draw.random() < 0.2 else {}
    return {"algorithm": draw.choice(["mondrian", "mondrian", "paper", "conditional_entropy"])}


def _counterfeit(draw: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {
        "h": draw.choice([0.2, 0.4, 0.7, 1, "auto"]),
        "max_counterfeits": draw.choice([0.1, 0.5, 1]),
        "catalog": draw.choice(["pool", "pool", "paper", "paper", "none"]),
    }
    if found["catalog"] == "pool" and draw.random() < 0.3:
        found |= {"recoding": "borrow", "h": draw.choice([0.4, 0.7, 1])}
    elif draw.random() < 0.3:
        found["objective"] = draw.choice(["counterfeits", "loss"])
    return found


_PARAMETERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "full_domain": _full_domain,
    "local_recoding": _local_recoding,
    "counterfeit": _counterfeit,
    "relocation": lambda draw: {"limit": draw.choice([0.1, 0.3])},
}


def _microaggregation(number: int, method: str, draw: random.Random) -> Case:
    rows = draw.choice([25, 60, 120])
    columns = []
    for i in range(draw.randint(1, 3)):
        kind = "plain" if draw.random() < 0.2 else _kind(draw, *GENERAL)
        values = _drawn(draw, kind, rows, most=12, null=draw.choice([0, 0, 0.1]))
        spec: dict[str, Any] = {"role": "quasi_identifier", "reason": "made up"}
        if draw.random() < 0.15:
            spec["type"] = "categorical"
        columns.append(Column(_name(draw, f"q{i}"), kind, values, spec))
    columns += _leaving(draw, rows, method)
    spec = {
        "release": "public",
        "source": "visits",
        "privacy": [{"model": "k_anonymity", "k": draw.choice([2, 3, 5])}],
        "method": {"name": method, "algorithm": draw.choice(["mdav", "tfrp", "mst"])},
        "seed": number,
    }
    inside = _output(draw, spec, bounds=False)
    spec["columns"] = _columns_of(columns)
    return Case(number, method, spec, columns, {}, _table(columns), inside)


def _condensation(number: int, method: str, draw: random.Random) -> Case:
    rows, columns = draw.choice([60, 120]), []
    for i in range(draw.randint(1, 4)):
        kind = "plain" if draw.random() < 0.3 else _kind(draw, *GENERAL)
        values = _drawn(draw, kind, rows, most=draw.choice([2, 4, 12]), null=draw.choice([0, 0.1]))
        spec: dict[str, Any] = {"role": "synthesize", "reason": "made up"}
        if kind in ("big", "ubig", "huge", "uhuge", "long", "double") and draw.random() < 0.7:
            spec["type"] = "categorical"
        columns.append(Column(_name(draw, f"c{i}"), kind, values, spec))
    spec = {
        "release": "public",
        "source": "visits",
        "privacy": [{"model": "cluster_size", "k": draw.choice([5, 10, 20])}],
        "method": {
            "name": method,
            "variant": draw.choice(["recipient", "recipient", "improved", "original"]),
        },
        "seed": number,
    }
    inside = _output(draw, spec, bounds=False)
    spec["columns"] = _columns_of(columns)
    return Case(number, method, spec, columns, {}, _table(columns), inside)


def _policy(number: int, method: str, draw: random.Random) -> Case:
    rows, columns = draw.choice([25, 60]), []
    for i in range(draw.randint(1, 2)):
        kind = draw.choice(["plain", "tiny", "date", "word", "code", "big", "decimal", "huge"])
        values = _drawn(
            draw, kind, rows, most=draw.choice([4, 8]), null=draw.choice([0, 0, 0, 0.1])
        )
        spec: dict[str, Any] = {"role": "quasi_identifier", "reason": "made up"}
        column = Column(_name(draw, f"q{i}"), kind, values, spec)
        known = sorted({v for _, v in values if v is not None})
        if kind == "word":
            spec["order"] = known
            draw.shuffle(spec["order"])
        elif kind in ("code", "decimal"):
            spec["domain"] = [float(v) if kind == "decimal" else v for v in known]
        elif known:
            ends = [known[0], known[-1]]
            spec["domain"] = [str(e) if kind == "date" else e for e in ends]
        columns.append(column)
    columns += _leaving(draw, rows, method)
    privacy: list[dict[str, Any]] = [{"model": "k_anonymity", "k": draw.choice([1, 2, 3])}]
    spec = {
        "release": "public",
        "source": "visits",
        "privacy": privacy,
        "method": {
            "name": method,
            "choose": draw.choice([{"max_loss": 1}, {"max_risk": 1}, {"max_risk": 0.6}]),
            "search": draw.choice(["greedy", "greedy", "sublattice", "random_chain"]),
        },
        "seed": number,
    }
    inside = _output(draw, spec, bounds=False)
    spec["columns"] = _columns_of(columns)
    return Case(number, method, spec, columns, {}, _table(columns), inside)


def _external(number: int, method: str, draw: random.Random) -> Case:
    """A release that is made here, honestly or not: the verifier must tell which."""
    rows, files = draw.choice([25, 60]), {}  # type: tuple[int, dict[str, str]]
    columns = []
    for i in range(draw.randint(1, 2)):
        kind = draw.choice(["code", "word", "truth", "plain", "big", "uhuge", "money"])
        values = _drawn(draw, kind, rows, most=draw.choice([3, 8]), null=draw.choice([0, 0.08]))
        column = Column(f"q{i}", kind, values, {"role": "quasi_identifier"})
        column.spec["hierarchy"] = _hierarchy(draw, column, f"h{i}.csv", files)
        columns.append(column)
    columns += _leaving(draw, rows, method)
    shown: list[list[str | None]] = []
    for c in columns:
        level = draw.randint(0, 2) if c.role == "quasi_identifier" else 0
        shown.append([generalized(c, v, level) for _, v in c.values])
    released = [list(row) for row in zip(*shown, strict=True)]
    honest = draw.random() < 0.7
    if not honest:
        row = draw.randrange(rows)
        at = draw.randrange(len(columns))
        released[row][at] = "not there" if released[row][at] != "not there" else None
    spec = {
        "release": "public",
        "source": "visits",
        "database": "owner.duckdb",
        "columns": _columns_of(columns),
        "privacy": [{"model": "k_anonymity", "k": draw.choice([1, 2, 3])}],
        "method": {"name": "external", "table": "given"},
    }
    given = []
    for c, cells in zip(columns, zip(*released, strict=True), strict=True):
        texts = [("NULL" if v is None else _quoted(v), v) for v in cells]
        as_it_is = c.role != "quasi_identifier" and c.family != "odd" and "not there" not in cells
        given.append(Column(c.name, c.kind if as_it_is else "word", texts, c.spec))
    sql = [*_table(columns), *_table(given, "given")]
    return Case(number, method, spec, columns, files, sql, False, released, honest)


def generalized(column: Column, value: Any, level: int) -> str | None:
    """What a value reads at a level of a hierarchy, written here anew."""
    form = column.spec.get("hierarchy")
    if value is None and level < 2:
        return None
    if level == 0:
        return text_of(value)
    if level == 2 or form == "suppress":
        return "*"
    if column.labels:
        return column.labels[text_of(value)][1]
    assert isinstance(form, dict)
    if "prefix" in form:
        keep = form["prefix"][0]
        return str(value)[:keep] + "*" * (len(str(value)) - keep)
    return "*"


_MAKERS: dict[str, Callable[[int, str, random.Random], Case]] = {
    "microaggregation": _microaggregation,
    "condensation": _condensation,
    "policy": _policy,
    "external": _external,
}
