"""Addresses of databases that a specification attaches, and the secrets that they must not hold.

An address is a path or a URL. A password comes from the environment: the variable itself stands in
the address, as `${CLINIC_PASSWORD}`, so that no secret is in a text that is kept, or shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from dbdeid.errors import DataError

Kind = Literal["postgres", "mysql", "motherduck", "ducklake", "file"]

_KINDS: Mapping[str, Kind] = {
    **{"postgresql": "postgres", "postgres": "postgres"},
    **{"mysql": "mysql", "mariadb": "mysql"},
    **{"md": "motherduck", "motherduck": "motherduck", "ducklake": "ducklake"},
}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRETS = re.compile(r"pass(word|wd)?|sslpassword|.*token|.*secret|.*key", re.IGNORECASE)
_HOSTS = re.compile(r"[^\s:,@]+(:\d+)?(,[^\s:,@]+(:\d+)?)+")
_PAIR = re.compile(r"(?:^|[\s;?&:])(\w+)\s*=\s*('[^']*'|[^\s;&]+)")


def kind_of(address: str) -> Kind:
    """Return the kind of an address: a file, unless it begins with the name of a server.

    >>> kind_of("postgresql://reader@db.example.org/clinic")
    'postgres'
    """
    return _KINDS.get(address.partition(":")[0].lower(), "file")


def is_server(address: str) -> bool:
    """Whether an address is of a database that is no file."""
    return kind_of(address) != "file"


def holds_secret(address: str) -> bool:
    """Whether a password or token is written in an address, and no variable in its place.

    >>> holds_secret("postgresql://reader:hush@db/clinic")
    True
    >>> holds_secret("postgresql://reader:${CLINIC_PASSWORD}@db/clinic")
    False
    """
    if kind_of(address) == "file":
        return False
    try:
        parts = urlsplit(address)
        given = [parts.password or "", *(v for k, v in parse_qsl(parts.query) if _secret(k))]
    except ValueError:
        given = []
    given += [value for key, value in _PAIR.findall(address) if _secret(key)]
    return any(_VARIABLE.sub("", value).strip("'\"") for value in given)


def _secret(key: str) -> bool:
    return _SECRETS.fullmatch(key) is not None


def without_secret(address: str) -> str:
    """An address reduced to the place of a database: without user, password and other options.

    Options may stand for parts of the place, too: they are told where those parts are.

    >>> without_secret("postgresql://reader@/clinic?host=/run/db&port=5433&sslmode=require")
    'postgresql://%2Frun%2Fdb:5433/clinic'
    """
    if kind_of(address) == "file":
        return address
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query))
        host, port = _server(parts)
    except ValueError:
        return address.partition(":")[0]
    if "@" in parts.path:  # of a password with a slash in it
        return parts.scheme
    if kind_of(address) != "postgres":
        given = {"host": given["socket"]} if "socket" in given else {}
    if named := given.get("host") or given.get("hostaddr"):
        host = quote(named, safe=",")
    port = given.get("port") or port
    path = f"/{quote(given['dbname'], safe='')}" if "dbname" in given else parts.path
    more = f"?service={quote(given['service'], safe='')}" if "service" in given else ""
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}{more}"


def _server(parts: SplitResult) -> tuple[str, str]:
    """The host and the port of a URL, or all of several hosts.

    Raises:
        ValueError: what stands there is neither.
    """
    hosts = parts.netloc.rpartition("@")[2]
    if _HOSTS.fullmatch(hosts):
        return hosts, ""
    return parts.hostname or "", str(parts.port or "")


@dataclass(frozen=True, slots=True)
class Resolved:
    """An address with the values of its variables, to be given to a driver only.

    Attributes:
        text: the whole address.
        secrets: what was put into it.
    """

    text: str
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return "Resolved(…)"

    def hidden(self, message: str) -> str:
        """A message of a driver without the address and what was put into it."""
        for secret in sorted({self.text, *self.secrets}, key=len, reverse=True):
            message = message.replace(secret, "…") if len(secret) > 1 else message
        return message


def resolved(address: str, environment: Mapping[str, str], what: str) -> Resolved:
    """An address with the variables of the environment in place of their names.

    Args:
        address: as it is written.
        environment: the variables.
        what: whose address it is, for a message.

    Raises:
        DataError: there is no such variable.
    """
    url = "://" in address
    secrets: list[str] = []

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in environment:
            raise DataError(
                f"{what}: the environment has no variable {name}",
                hint=f"set it before: export {name}=…",
            )
        plain = environment[name]
        written = quote(plain, safe="") if url else plain
        secrets.extend({plain, written} - {""})
        return written

    return Resolved(_VARIABLE.sub(value, address), tuple(secrets))
