"""Messages of the PostgreSQL wire protocol 3.0, read and written.

Source: PostgreSQL documentation, "Frontend/Backend Protocol", sections on message formats.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# No message of a client is longer than this: more is no question, and would fill the memory.
LONGEST = 4 * 1024 * 1024
LONGEST_STARTUP = 10_000  # as PostgreSQL allows

VERSION_3 = 196608
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102


class Malformed(Exception):
    """A client does not speak the protocol; the message says where."""


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement to be prepared; a type of 0 is for the server to find."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Values for a prepared statement; formats are 0 for text and 1 for binary."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]

    def format_of(self, place: int) -> int:
        """The format of a value."""
        return _format(self.formats, place)

    def result(self, place: int) -> int:
        """The format in which a column is wanted."""
        return _format(self.results, place)


def _format(formats: Sequence[int], place: int) -> int:
    if len(formats) <= 1:
        return formats[0] if formats else 0
    return formats[place] if place < len(formats) else 0


@dataclass(frozen=True, slots=True)
class Named:
    """A statement (S) or a portal (P) that is to be described or closed."""

    kind: Literal["S", "P"]
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Rows of a portal; at most so many, all for 0."""

    portal: str
    most: int


class Reader:
    """The parts of one message, one after another.

    Raises:
        Malformed: the message is shorter or longer than its parts, or holds no UTF-8.
    """

    def __init__(self, body: bytes) -> None:
        self._body, self._place = body, 0

    def text(self) -> str:
        """Characters up to the next NUL."""
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise Malformed("a text is not ended")
        found = self._body[self._place : end]
        self._place = end + 1
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed("a text is no UTF-8") from None

    def raw(self, length: int) -> bytes:
        """So many bytes."""
        end = self._place + length
        if length < 0 or end > len(self._body):
            raise Malformed("a message ends too early")
        found = self._body[self._place : end]
        self._place = end
        return found

    def rest(self) -> bytes:
        """All that is left."""
        return self.raw(len(self._body) - self._place)

    def int16(self) -> int:
        """A signed number of two bytes."""
        return int(struct.unpack("!h", self.raw(2))[0])

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int(struct.unpack("!i", self.raw(4))[0])

    def int16s(self) -> tuple[int, ...]:
        """A count, and so many numbers of two bytes."""
        return tuple(self.int16() for _ in range(self._count()))

    def int32s(self) -> tuple[int, ...]:
        """A count, and so many numbers of four bytes."""
        return tuple(self.int32() for _ in range(self._count()))

    def values(self) -> tuple[bytes | None, ...]:
        """A count, and so many values, each of which may be NULL."""
        return tuple(self._value() for _ in range(self._count()))

    def _count(self) -> int:
        return int(struct.unpack("!H", self.raw(2))[0])

    def _value(self) -> bytes | None:
        length = self.int32()
        return None if length == -1 else self.raw(length)

    def end(self) -> None:
        """Make sure that nothing is left."""
        if self._place != len(self._body):
            raise Malformed("a message is longer than its parts")


def parse(body: bytes) -> Parse:
    """What a Parse message says."""
    reader = Reader(body)
    made = Parse(reader.text(), reader.text(), reader.int32s())
    reader.end()
    return made


def bind(body: bytes) -> Bind:
    """What a Bind message says."""
    reader = Reader(body)
    portal, statement, formats = reader.text(), reader.text(), reader.int16s()
    made = Bind(portal, statement, formats, reader.values(), reader.int16s())
    reader.end()
    if len(made.formats) not in (0, 1, len(made.values)):
        raise Malformed("formats do not fit the values")
    return made


def named(body: bytes) -> Named:
    """What a Describe or Close message says."""
    reader = Reader(body)
    kind, name = reader.raw(1), reader.text()
    reader.end()
    if kind not in (b"S", b"P"):
        raise Malformed("neither a statement nor a portal")
    return Named("S" if kind == b"S" else "P", name)


def execute(body: bytes) -> Execute:
    """What an Execute message says."""
    reader = Reader(body)
    made = Execute(reader.text(), reader.int32())
    reader.end()
    return made


def options(body: bytes) -> dict[str, str]:
    """The names and values of a startup message."""
    reader, found = Reader(body), {}
    while name := reader.text():
        found[name] = reader.text()
    return found


# -- of the server -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A column as clients see it.

    Attributes:
        name: of the column.
        oid: of its type.
        size: of a value in bytes; -1 where they differ.
        modifier: of the type; -1 for none.
        format: 0 for text, 1 for binary.
    """

    name: str
    oid: int
    size: int
    modifier: int = -1
    format: int = 0


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of a kind."""
    return kind + struct.pack("!i", len(body) + 4) + body


def text(value: str) -> bytes:
    """A text, ended by NUL, which it cannot hold itself."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


AUTHENTICATED = message(b"R", struct.pack("!i", 0))
PARSED, BOUND, CLOSED = message(b"1"), message(b"2"), message(b"3")
NO_DATA, SUSPENDED, EMPTY = message(b"n"), message(b"s"), message(b"I")


def older(options: Sequence[str]) -> bytes:
    """Version 3.0 is spoken, without options of the protocol that a newer one knows."""
    body = struct.pack("!ii", VERSION_3, len(options)) + b"".join(map(text, options))
    return message(b"v", body)


def sasl(mechanisms: Sequence[str]) -> bytes:
    """The ways in which a client may prove that it knows the password."""
    return message(b"R", struct.pack("!i", 10) + b"".join(map(text, mechanisms)) + b"\0")


def sasl_continue(said: str) -> bytes:
    """What the server says next in the exchange of proofs."""
    return message(b"R", struct.pack("!i", 11) + said.encode())


def sasl_final(said: str) -> bytes:
    """What the server says last in the exchange of proofs."""
    return message(b"R", struct.pack("!i", 12) + said.encode())


def parameter(name: str, value: str) -> bytes:
    """The message that reports a setting to a client (ParameterStatus)."""
    return message(b"S", text(name) + text(value))


def key(process: int, secret: int) -> bytes:
    """What a client has to know to cancel a question."""
    return message(b"K", struct.pack("!ii", process, secret))


def ready(status: Literal["I", "T", "E"]) -> bytes:
    """Ready for the next question: idle, in a transaction, or in one that failed."""
    return message(b"Z", status.encode())


def row_description(fields: Sequence[Field]) -> bytes:
    """The columns of rows that follow."""
    body = b"".join(
        text(f.name) + struct.pack("!ihihih", 0, 0, f.oid, f.size, f.modifier, f.format)
        for f in fields
    )
    return message(b"T", struct.pack("!H", len(fields)) + body)


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of the values that a statement takes."""
    return message(b"t", struct.pack(f"!H{len(types)}i", len(types), *types))


def data_row(values: Sequence[bytes | None]) -> bytes:
    """One row."""
    parts = [struct.pack("!H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts += (struct.pack("!i", len(value)), value)
    return message(b"D", b"".join(parts))


def copy_out(columns: int) -> bytes:
    """Lines of text follow, of so many columns."""
    return message(b"H", struct.pack(f"!bH{columns}h", 0, columns, *[0] * columns))


def copy_data(lines: str) -> bytes:
    """Lines of text."""
    return message(b"d", lines.encode("utf-8", "replace"))


COPIED = message(b"c")


def complete(tag: str) -> bytes:
    """A statement has been carried out."""
    return message(b"C", text(tag))


def error(fields: Mapping[str, str]) -> bytes:
    """What went wrong: severity (S and V), SQLSTATE (C), message (M), hint (H), position (P)."""
    return message(b"E", _told(fields))


def notice(said: str) -> bytes:
    """What a reader of the answer should know."""
    return message(b"N", _told({"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said}))


def _told(fields: Mapping[str, str]) -> bytes:
    return b"".join(kind.encode() + text(said) for kind, said in fields.items() if said) + b"\0"
