"""Types of DuckDB as clients of PostgreSQL know them, with their values as text and in binary.

Source: PostgreSQL 15, `pg_type.dat` and the send and receive functions of its types.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from dbdeid.engine.relation import digits_of
from dbdeid.errors import DataError
from dbdeid.query.clients.statements import Value

_EPOCH = date(2000, 1, 1)
_MIDNIGHT = datetime(2000, 1, 1)
_BASE = 10_000  # digits of a NUMERIC in binary

Written = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Type:
    """A type of PostgreSQL.

    Attributes:
        oid: of the type.
        name: as `pg_type` has it.
        size: of a value in bytes; -1 where they differ.
        text: a value as text.
        binary: a value in binary.
        array: the type of lists of it; 0 for none.
        of: the type of the members; None where it is no list.
    """

    oid: int
    name: str
    size: int
    text: Written
    binary: Written
    array: int = 0
    of: Type | None = None


# -- values as text ------------------------------------------------------------------------------


def _as_text(value: object) -> bytes:
    return str(value).encode("utf-8", "replace")


def _bool_text(value: bool) -> bytes:
    return b"t" if value else b"f"


def _float_text(value: float) -> bytes:
    if math.isnan(value):
        return b"NaN"
    if math.isinf(value):
        return b"Infinity" if value > 0 else b"-Infinity"
    return repr(float(value)).removesuffix(".0").encode()


def _number_text(value: object) -> bytes:
    return format(value, "f").encode() if isinstance(value, Decimal) else _as_text(value)


def _bytes_text(value: bytes) -> bytes:
    return b"\\x" + value.hex().encode()


def _moment_text(value: datetime | date | str) -> bytes:
    return (value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)).encode()


def _zoned_text(value: datetime | str) -> bytes:
    if not isinstance(value, datetime):
        return str(value).encode()
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ").encode() + b"+00"


def _interval_text(value: timedelta) -> bytes:
    days, rest = value.days, timedelta(seconds=value.seconds, microseconds=value.microseconds)
    hours = f"{int(rest.total_seconds()) // 3600:02}:" + str(rest).split(":", 1)[1]
    return (f"{days} days {hours}" if days else hours).encode()


def _json_text(value: object) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value, default=str)).encode()


# -- values in binary ----------------------------------------------------------------------------


def _packed(form: str) -> Written:
    return lambda value: struct.pack(form, value)


def _date_binary(value: date) -> bytes:
    return struct.pack("!i", (value - _EPOCH).days)


def _microseconds(value: timedelta) -> int:
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds


def _moment_binary(value: datetime) -> bytes:
    return struct.pack("!q", _microseconds(value - _MIDNIGHT))


def _zoned_binary(value: datetime) -> bytes:
    return _moment_binary(value.astimezone(UTC).replace(tzinfo=None))


def _time_binary(value: time) -> bytes:
    of_day = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
    return struct.pack("!q", _microseconds(of_day) + value.microsecond)


def _interval_binary(value: timedelta) -> bytes:
    within = timedelta(seconds=value.seconds, microseconds=value.microseconds)
    return struct.pack("!qii", _microseconds(within), value.days, 0)


def _number_binary(value: Decimal | int) -> bytes:
    """A NUMERIC: count of digits to the base of 10,000, weight of the first, sign, scale."""
    number = Decimal(value)
    if not number.is_finite():
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    sign, _, exponent = number.as_tuple()
    scale = max(-int(exponent), 0)
    whole, _, part = format(number, "f").removeprefix("-").partition(".")
    whole = whole.lstrip("0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    digits = [int(whole[i : i + 4]) for i in range(0, len(whole), 4)]
    weight = len(digits) - 1
    digits += [int(part[i : i + 4]) for i in range(0, len(part), 4)]
    while digits and digits[0] == 0:
        digits.pop(0)
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    head = struct.pack("!hhHh", len(digits), weight if digits else 0, 0x4000 * sign, scale)
    return head + struct.pack(f"!{len(digits)}h", *digits)


# -- types ---------------------------------------------------------------------------------------

BOOL = Type(16, "bool", 1, _bool_text, _packed("!?"), 1000)
BYTEA = Type(17, "bytea", -1, _bytes_text, bytes, 1001)
NAME = Type(19, "name", 64, _as_text, _as_text, 1003)
INT8 = Type(20, "int8", 8, _as_text, _packed("!q"), 1016)
INT2 = Type(21, "int2", 2, _as_text, _packed("!h"), 1005)
INT4 = Type(23, "int4", 4, _as_text, _packed("!i"), 1007)
TEXT = Type(25, "text", -1, _as_text, _as_text, 1009)
OID = Type(26, "oid", 4, _as_text, _packed("!I"), 1028)
JSON = Type(114, "json", -1, _json_text, _json_text, 199)
FLOAT4 = Type(700, "float4", 4, _float_text, _packed("!f"), 1021)
FLOAT8 = Type(701, "float8", 8, _float_text, _packed("!d"), 1022)
VARCHAR = Type(1043, "varchar", -1, _as_text, _as_text, 1015)
DATE = Type(1082, "date", 4, _moment_text, _date_binary, 1182)
TIME = Type(1083, "time", 8, _as_text, _time_binary, 1183)
TIMESTAMP = Type(1114, "timestamp", 8, _moment_text, _moment_binary, 1115)
TIMESTAMPTZ = Type(1184, "timestamptz", 8, _zoned_text, _zoned_binary, 1185)
INTERVAL = Type(1186, "interval", 16, _interval_text, _interval_binary, 1187)
NUMERIC = Type(1700, "numeric", -1, _number_text, _number_binary, 1231)
UUID_ = Type(2950, "uuid", 16, _as_text, lambda value: UUID(str(value)).bytes, 2951)

_SINGLE = (
    *(BOOL, BYTEA, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, VARCHAR),
    *(DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID_),
)


def _list_of(member: Type) -> Type:
    def as_text(values: list[Any]) -> bytes:
        return b"{" + b",".join(map(item, values)) + b"}"

    def item(value: object) -> bytes:
        if value is None:
            return b"NULL"
        if isinstance(value, list):
            return as_text(value)
        written = member.text(value)
        if written and written.upper() != b"NULL" and not re.search(rb'[{},"\\\s]', written):
            return written
        return b'"' + re.sub(rb'(["\\])', rb"\\\1", written) + b'"'

    def as_binary(values: list[Any]) -> bytes:
        nulls = any(value is None for value in values)
        head = struct.pack("!iiI", 1 if values else 0, nulls, member.oid)
        if not values:
            return head
        parts = [head, struct.pack("!ii", len(values), 1)]
        for value in values:
            written = None if value is None else member.binary(value)
            parts.append(struct.pack("!i", -1 if written is None else len(written)))
            parts.append(written or b"")
        return b"".join(parts)

    return Type(member.array, f"_{member.name}", -1, as_text, as_binary, of=member)


_ARRAYS = tuple(_list_of(member) for member in _SINGLE)
TYPES = {kind.oid: kind for kind in (*_SINGLE, *_ARRAYS)}

# How PostgreSQL shows its types to people, and the category of each.
SHOWN = {
    BOOL.oid: ("boolean", "B"),
    BYTEA.oid: ("bytea", "U"),
    NAME.oid: ("name", "S"),
    INT8.oid: ("bigint", "N"),
    INT2.oid: ("smallint", "N"),
    INT4.oid: ("integer", "N"),
    TEXT.oid: ("text", "S"),
    OID.oid: ("oid", "N"),
    JSON.oid: ("json", "U"),
    FLOAT4.oid: ("real", "N"),
    FLOAT8.oid: ("double precision", "N"),
    VARCHAR.oid: ("character varying", "S"),
    DATE.oid: ("date", "D"),
    TIME.oid: ("time without time zone", "D"),
    TIMESTAMP.oid: ("timestamp without time zone", "D"),
    TIMESTAMPTZ.oid: ("timestamp with time zone", "D"),
    INTERVAL.oid: ("interval", "T"),
    NUMERIC.oid: ("numeric", "N"),
    UUID_.oid: ("uuid", "U"),
}
SHOWN |= {kind.array: (f"{SHOWN[kind.oid][0]}[]", "A") for kind in _SINGLE}

# HUGEINT and UBIGINT have no equal among the whole numbers.
_OF_ENGINE = {
    "BOOLEAN": BOOL,
    "INT": INT4,
    "OID": OID,
    "REAL": FLOAT4,
    **dict.fromkeys(("TINYINT", "UTINYINT", "SMALLINT"), INT2),
    **dict.fromkeys(("USMALLINT", "INTEGER"), INT4),
    **dict.fromkeys(("UINTEGER", "BIGINT"), INT8),
    **dict.fromkeys(("HUGEINT", "UHUGEINT", "UBIGINT"), NUMERIC),
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "BLOB": BYTEA,
    "DATE": DATE,
    "TIME": TIME,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), TIMESTAMP),
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "INTERVAL": INTERVAL,
    "UUID": UUID_,
    "JSON": JSON,
}


def type_of(name: str) -> Type:
    """The type of PostgreSQL for one of DuckDB; text for those that have no equal."""
    if name.endswith("[]"):
        return TYPES.get(type_of(name[:-2]).array, TEXT)
    if name.startswith("DECIMAL"):
        return NUMERIC
    if name.startswith(("STRUCT", "MAP")):
        return JSON
    return _OF_ENGINE.get(name, TEXT)


def modifier_of(name: str) -> int:
    """How PostgreSQL writes the precision and scale of a type; -1 where it has none."""
    found = digits_of(name)
    return -1 if found is None else (found[0] << 16 | found[1]) + 4


# -- values of clients ---------------------------------------------------------------------------


def value_of(given: bytes, oid: int, *, binary: bool) -> Value | list[Value]:
    """A value that a client sent.

    Args:
        given: its bytes.
        oid: of its type; 0 for one that the client left open.
        binary: whether it is in binary.

    Raises:
        DataError: it is no value of its type, or the type is unknown.
    """
    kind = TYPES.get(oid or TEXT.oid)
    if kind is None:
        raise DataError(f"a parameter has a type that is not known here (oid {oid})")
    try:
        if kind.of is not None:
            return _members(given, kind.of, binary=binary)
        return _READ[kind.oid](given) if binary else _typed(given.decode(), kind)
    except (KeyError, ValueError, InvalidOperation, OverflowError, struct.error):
        raise DataError(f"a parameter is no value of type {kind.name}") from None


def _typed(given: str, kind: Type) -> Value:
    made = _WRITTEN.get(kind.oid)
    return given if made is None else made(given)


def _as_bool(given: str) -> bool:
    word = given.strip().lower()
    if word in ("t", "true", "1", "yes", "y", "on"):
        return True
    if word in ("f", "false", "0", "no", "n", "off"):
        return False
    raise ValueError


# JDBC sends a day with a zone.
_ZONE = re.compile(r"(?<=^\d{4}-\d\d-\d\d) ?[+-]\d\d(:?\d\d)?$")

_WRITTEN: dict[int, Callable[[str], Value]] = {
    BOOL.oid: _as_bool,
    **dict.fromkeys((INT2.oid, INT4.oid, INT8.oid, OID.oid), int),
    **dict.fromkeys((FLOAT4.oid, FLOAT8.oid), float),
    NUMERIC.oid: Decimal,
    DATE.oid: lambda given: datetime.fromisoformat(_ZONE.sub("", given)).date(),
    TIMESTAMP.oid: lambda given: datetime.fromisoformat(given).replace(tzinfo=None),
    TIMESTAMPTZ.oid: datetime.fromisoformat,
    UUID_.oid: UUID,
}


def _unpacked(form: str) -> Callable[[bytes], Value]:
    def read(given: bytes) -> Value:
        (found,) = struct.unpack(form, given)
        return found  # type: ignore[no-any-return]

    return read


def _number(given: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!hhHh", given[:8])
    if sign not in (0, 0x4000) or not 0 <= scale <= 16383:
        raise ValueError
    digits = struct.unpack(f"!{count}h", given[8:])
    whole = sum(digit * _BASE ** (count - 1 - place) for place, digit in enumerate(digits))
    exponent = (weight - count + 1) * 4  # of ten, by which all digits are multiplied
    whole = (
        whole * 10 ** (exponent + scale)
        if exponent + scale >= 0
        else whole // 10 ** -(exponent + scale)
    )
    return Decimal((1 if sign else 0, tuple(map(int, str(whole))), -scale))


def _moment(given: bytes) -> datetime:
    return _MIDNIGHT + timedelta(microseconds=struct.unpack("!q", given)[0])


def _day(given: bytes) -> date:
    return _EPOCH + timedelta(days=struct.unpack("!i", given)[0])


_READ: dict[int, Callable[[bytes], Value]] = {
    BOOL.oid: _unpacked("!?"),
    BYTEA.oid: bytes,
    INT2.oid: _unpacked("!h"),
    INT4.oid: _unpacked("!i"),
    INT8.oid: _unpacked("!q"),
    OID.oid: _unpacked("!I"),
    FLOAT4.oid: _unpacked("!f"),
    FLOAT8.oid: _unpacked("!d"),
    **dict.fromkeys((TEXT.oid, VARCHAR.oid, NAME.oid, JSON.oid), lambda given: given.decode()),
    DATE.oid: _day,
    TIMESTAMP.oid: _moment,
    TIMESTAMPTZ.oid: lambda given: _moment(given).replace(tzinfo=UTC),
    TIME.oid: lambda given: (_MIDNIGHT + (_moment(given) - _MIDNIGHT)).time(),
    NUMERIC.oid: _number,
    UUID_.oid: lambda given: UUID(bytes=given),
}


def _members(given: bytes, member: Type, *, binary: bool) -> list[Value]:
    if not binary:
        found = _listed(given.decode())
        return [None if item is None else _typed(item, member) for item in found]
    dimensions, _, _ = struct.unpack("!iiI", given[:12])
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError
    (count,), place, values = struct.unpack("!i", given[12:16]), 20, list[Value]()
    for _ in range(count):
        (length,) = struct.unpack("!i", given[place : place + 4])
        place += 4
        values.append(None if length < 0 else _READ[member.oid](given[place : place + length]))
        place += max(length, 0)
    return values


_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"\\]*))\s*(,|$)', re.DOTALL)


def _listed(given: str) -> list[str | None]:
    """The members of a list of one dimension, as PostgreSQL writes it: `{a,"b c",NULL}`."""
    inner = given.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError
    inner = inner[1:-1]
    if not inner.strip():
        return []
    found: list[str | None] = []
    place, more = 0, True
    while more:
        item = _ITEM.match(inner, place)
        if item is None:
            raise ValueError
        quoted, bare = item[1], (item[2] or "").strip()
        if quoted is not None:
            found.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        else:
            found.append(None if bare.upper() == "NULL" else bare)
        place, more = item.end(), item[3] == ","
    return found
