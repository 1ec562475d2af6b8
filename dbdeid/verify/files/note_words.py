"""The words that writers of Parquet files use in their notes: any other could be a message.

A version or the name of a type that had only to look like one could be a name or a diagnosis. So
writers, types and time zones are listed, and only numbers are free, and short.

Spellings: `created_by` as each writer's source has it; types as `str` of a dtype of pandas and of
a type of Arrow gives them; types of Spark as its `DataType.json`; time zones of the IANA.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from zoneinfo import available_timezones

_NUMBER = r"v?\d{1,4}(\.\d{1,4}){0,3}"
_STAGE = r"([.-]?(a|b|rc|dev|post|alpha|beta|SNAPSHOT|preview)\.?\d{0,4})?"
_VERSION = re.compile(rf"{_NUMBER}{_STAGE}(\+\d{{1,4}}\.g[0-9a-f]{{7,10}}(\.dirty)?)?")
_VENDOR = re.compile(rf"{_NUMBER}{_STAGE}(-(amzn|databricks|cdh|cdp|hdp|emr)-?[\d.]{{0,12}})?")
# Each with the build that it names: a commit, or a number.
_WRITERS = {
    "parquet-cpp-arrow": None,
    "parquet-cpp": r"[0-9a-f]{40}",
    "parquet-mr": r"[0-9a-f]{40}|n/a|\$\{buildNumber\}",
    "parquet-mr-trino": r"n/a",
    "ClickHouse": r"[0-9a-f]{40}",
    "parquet-rs": r"[0-9a-f]{40}",
    "DuckDB": r"[0-9a-f]{10}",
    "fastparquet-python": r"\d{1,4}",
    "impala": r"[0-9a-f]{40}",
    "parquet-go": None,
    "datafusion": None,
    "nanoparquet": None,
    "Velox": None,
    "Polars": None,
    "Arrow2 - Native Rust implementation of Arrow": None,
}
_WRITER = re.compile(r"(?P<name>.+?)( version (?P<version>\S+))?( \(build (?P<build>[^ ()]+)\))?")

_UNIT = r"(s|ms|us|ns)"
_SIZES = ("8", "16", "32", "64")
_WHOLE = tuple(f"{kind}{size}" for kind in ("int", "uint", "Int", "UInt") for size in _SIZES)
_PANDAS = frozenset(
    (
        *_WHOLE,
        *("float16", "float32", "float64", "Float32", "Float64", "bool", "boolean"),
        *("object", "string", "string[python]", "string[pyarrow]", "string[pyarrow_numpy]", "str"),
        *("category", "categorical", "unicode", "bytes", "date", "time", "datetime", "datetimetz"),
        *("timedelta", "timedelta64", "decimal", "empty", "mixed", "mixed-integer", "integer"),
        *("floating", "map", "struct", "period", "interval"),
    )
)
_FREQUENCY = r"([DBMh]|min|Q|Y|A|W|Q-[A-Z]{3}|Y-[A-Z]{3}|A-[A-Z]{3}|W-[A-Z]{3}|s|ms|us|ns)"
_CLOSED = "(left|right|both|neither)"
_SPANS = re.compile(
    rf"(datetime|timedelta)64\[{_UNIT}\]|period\[{_FREQUENCY}\]"
    rf"|interval\[(u?int|float|datetime|timedelta)64(\[{_UNIT}\])?, {_CLOSED}\]"
)
_ARROW = frozenset(
    (
        *(name for name in _WHOLE if name.islower()),
        *("null", "bool", "halffloat", "float", "double", "string", "large_string", "string_view"),
        *("binary", "large_binary", "binary_view", "date32[day]", "date64[ms]"),
        *("time32[s]", "time32[ms]", "time64[us]", "time64[ns]"),
    )
)
_SIZED = re.compile(
    rf"duration\[{_UNIT}\]|decimal(32|64|128|256)?\(\d{{1,2}}, -?\d{{1,2}}\)"
    r"|fixed_size_binary\[\d{1,5}\]"
)
_LIST = re.compile(r"(?:(?:large_)?list(?:_view)?|fixed_size_list)<(.+)>(?:\[\d{1,6}\])?")
_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=(u?int\d\d?), ordered=[01]>")
_SPARK = re.compile(
    r"string|binary|boolean|byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|void"
    r"|null|variant|decimal\(\d{1,2},\d{1,2}\)|(var)?char\(\d{1,9}\)"
)
_EXTENSIONS = {
    "pandas.period": re.compile(rf'{{"freq": "{_FREQUENCY}"}}'),
    "pandas.interval": re.compile(
        rf'{{"subtype": "[a-z]{{3,9}}\d\d?(\[{_UNIT}\])?", "closed": "{_CLOSED}"}}'
    ),
    "arrow.json": re.compile(""),
    "arrow.uuid": re.compile(""),
}
_INSIDE = frozenset({"item", "element", "key", "value", "key_value", "entries", "list", "array"})


def is_writer(text: str) -> bool:
    """Whether it is how a known writer calls itself."""
    found = _WRITER.fullmatch(text)
    if found is None or found["name"] not in _WRITERS:
        return False
    build, version = _WRITERS[found["name"]], found["version"]
    fits = version is None or is_version(version) or bool(_VENDOR.fullmatch(version))
    named = found["build"] is None or (
        build is not None and re.fullmatch(build, found["build"]) is not None
    )
    return fits and named


def is_version(text: str) -> bool:
    """Whether it is a version as writers number them."""
    return _VERSION.fullmatch(text) is not None


def is_spark_version(text: str) -> bool:
    """Whether it is a version of Spark, or that of a vendor."""
    return is_version(text) or _VENDOR.fullmatch(text) is not None


def is_zone(text: str) -> bool:
    """Whether it is a time zone: of the IANA, or an offset."""
    return text in _zones() or re.fullmatch(r"[+-]\d\d:\d\d", text) is not None


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones()) | {"UTC"}


def is_pandas_type(text: str, names: Collection[str]) -> bool:
    """Whether it is a type of pandas; names are those that fields inside of it may have."""
    if text in _PANDAS or _SPANS.fullmatch(text):
        return True
    if found := re.fullmatch(rf"datetime64\[{_UNIT}, (.+)\]", text):
        return is_zone(found[2])
    if found := re.fullmatch(r"list\[(.+)\]", text):
        return is_pandas_type(found[1], names)
    inside = text.removesuffix("[pyarrow]")
    return inside != text and is_arrow_type(inside, names)


def is_arrow_type(text: str, names: Collection[str]) -> bool:
    """Whether it is a type of Arrow; names are those that fields inside of it may have."""
    text = text.removesuffix(" not null")
    if text in _ARROW or _SIZED.fullmatch(text):
        return True
    if found := re.fullmatch(rf"timestamp\[{_UNIT}(?:, tz=(.+))?\]", text):
        return found[2] is None or is_zone(found[2])
    if found := _LIST.fullmatch(text):
        return _is_field(found[1], names)
    if found := _DICTIONARY.fullmatch(text):
        return is_arrow_type(found[1], names)
    if found := re.fullmatch(r"struct<(.*)>", text):
        return all(_is_field(part, names) for part in _parts(found[1]))
    if found := re.fullmatch(r"map<(.+)>", text):
        return all(is_arrow_type(part, names) for part in _parts(found[1]))
    return False


def is_spark_type(text: str) -> bool:
    """Whether it is a type of Spark that holds no others."""
    return _SPARK.fullmatch(text) is not None


def is_extension(name: str, about: str) -> bool:
    """Whether it is a known type that is stored as another one, with its parameters."""
    return name in _EXTENSIONS and _EXTENSIONS[name].fullmatch(about) is not None


def _is_field(text: str, names: Collection[str]) -> bool:
    name, _, kind = text.partition(": ")
    return (name in names or name in _INSIDE) and is_arrow_type(kind, names)


def _parts(text: str) -> Iterator[str]:
    """What commas separate, outside of brackets."""
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character in "<[(") - (character in ">])")
        if not depth and text.startswith(", ", place):
            yield text[start:place]
            start = place + 2
    if text:
        yield text[start:]
