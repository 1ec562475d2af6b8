"""What a client may set and see of its own connection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdeid.errors import DataError
from dbdeid.version import __version__

BOUNDS, SPREAD = "dbdeid.bounds", "dbdeid.spread_suppressed"
TIMEOUT = "statement_timeout"

VERSION = "15.0"
# Of these a client is told when it connects, and when they change.
_TOLD = {
    "server_version": f"{VERSION} (dbdeid {__version__})",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "application_name": "",
    "is_superuser": "off",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
}
_OTHERS = {
    BOUNDS: "on",
    SPREAD: "off",
    "server_version_num": "150000",
    "search_path": '"$user", public',
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "extra_float_digits": "1",
    TIMEOUT: "0",
    "lc_collate": "C",
    "lc_ctype": "C",
    "escape_string_warning": "on",
    "bytea_output": "hex",
    "jit": "off",
    "default_table_access_method": "heap",
    "default_tablespace": "",
}
_FIXED = {
    *("server_version", "server_version_num", "server_encoding", "integer_datetimes"),
    *("is_superuser", "in_hot_standby", "max_identifier_length", "max_index_keys"),
    *("lc_collate", "lc_ctype", "default_transaction_read_only", "transaction_read_only"),
}
_SWITCHES = {BOUNDS, SPREAD}
_UTF8 = {"utf8", "utf-8", "unicode", "sql_ascii"}
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(us|ms|s|min|h|d|)")
_UNITS = {"": 1e-3, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}
_ON = {"on", "true", "yes", "1", "t", "y"}
_OFF = {"off", "false", "no", "0", "f", "n"}


def initial(*, bounds: bool) -> dict[str, str]:
    """The settings of a new connection."""
    return _TOLD | _OTHERS | {BOUNDS: "on" if bounds else "off"}


@dataclass(slots=True)
class ClientSettings:
    """The settings of one connection.

    Attributes:
        bounds: whether answers have columns of bounds when it begins.
    """

    bounds: bool = True
    _values: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._values = initial(bounds=self.bounds)

    @property
    def told(self) -> Iterator[tuple[str, str]]:
        """The settings that are reported to a client."""
        return ((name, self._values[name]) for name in _TOLD)

    @property
    def all(self) -> Mapping[str, str]:
        """All that are known."""
        return self._values

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self._values[name] == "on"

    def get(self, name: str) -> str | None:
        """A setting; None where there is none of the name."""
        known = self._named(name)
        return self._values.get(known)

    def set(self, name: str, value: str) -> tuple[str, str] | None:
        """Change a setting; return what to report to the client, if anything.

        Raises:
            DataError: it cannot be changed, or not to that.
        """
        known = self._named(name)
        if known in _SWITCHES:
            value = _switched(known, value)
        elif known.startswith("dbdeid."):
            raise DataError(
                f"there is no setting {name}", hint=f"the switches are {BOUNDS} and {SPREAD}"
            )
        elif known == "client_encoding":
            if value.strip("'\"").lower() not in _UTF8:
                raise DataError(f"the encoding {value} is not known here", hint="UTF8 is")
            value = "UTF8"
        elif known == "TimeZone":
            value = "UTC"  # moments are told with their zone, whatever the client's is
        elif known == "DateStyle" and not value.upper().startswith("ISO"):
            raise DataError(f"the style {value} is not known here", hint="ISO is")
        elif known == TIMEOUT and seconds(value) is None:
            raise DataError(
                f"{TIMEOUT} is no time: {value}", hint="write milliseconds, or '5s', '2min', '1h'"
            )
        elif known in _FIXED and value.lower() != self._values[known].lower():
            raise DataError(f"{known} cannot be changed", hint="a release is only read")
        self._values[known] = value
        return (known, value) if known in _TOLD else None

    def reset(self, name: str | None) -> Iterator[tuple[str, str]]:
        """Reset a setting, or all, to the initial value; yield what to report to the client."""
        first = initial(bounds=self.bounds)
        for known in [self._named(name)] if name is not None else list(self._values):
            if known not in first:
                self._values.pop(known, None)
            elif self._values[known] != first[known]:
                self._values[known] = first[known]
                if known in _TOLD:
                    yield known, first[known]

    def _named(self, name: str) -> str:
        lower = name.lower()
        return next((known for known in self._values if known.lower() == lower), lower)


def seconds(written: str) -> float | None:
    """The seconds of a time, in milliseconds or with its unit; None where it is none."""
    found = _TIME.fullmatch(written.strip("' "))
    return float(found[1]) * _UNITS[found[2]] if found else None


def _switched(name: str, value: str) -> str:
    word = value.strip("'\"").lower()
    if word not in _ON | _OFF:
        raise DataError(f"{name} is on or off, not {value}")
    return "on" if word in _ON else "off"


def assigned(words: Sequence[str]) -> tuple[str, str] | None:
    """The name and value of `SET …`; None for what changes nothing here, as of transactions.

    Args:
        words: of the statement, without `SET`.

    Raises:
        DataError: it is no setting.
    """
    rest = list(words)
    upper = [word.upper() for word in rest]
    if upper[:1] in (["SESSION"], ["LOCAL"]) and len(rest) > 1:
        rest, upper = rest[1:], upper[1:]
    if upper[:1] in (["TRANSACTION"], ["CHARACTERISTICS"], ["ROLE"], ["AUTHORIZATION"]):
        return None
    if upper[:1] == ["CONSTRAINTS"]:
        return None
    if upper[:2] == ["TIME", "ZONE"]:
        return "TimeZone", " ".join(rest[2:])
    if upper[:1] == ["NAMES"]:
        return "client_encoding", " ".join(rest[1:]) or "UTF8"
    for place, word in enumerate(upper):
        if word in ("TO", "=") and place:
            value = "".join(w if w == "," else f" {w}" for w in rest[place + 1 :]).strip()
            return "".join(rest[:place]), value
    raise DataError("SET without a value", hint="SET name TO value")
