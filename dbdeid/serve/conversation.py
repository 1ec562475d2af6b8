"""The conversation with one client, message by message: PostgreSQL's protocol 3.0."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from dbdeid.errors import DataError
from dbdeid.query.clients.copying import Copied
from dbdeid.query.clients.statements import Sent, Value, split
from dbdeid.serve import messages
from dbdeid.serve.answered import Answered, Column, Refused, Statement
from dbdeid.serve.answering import Client
from dbdeid.serve.messages import Bind, Field, Malformed
from dbdeid.serve.types import Written, value_of

# So much of an answer is written at once.
_CHUNK = 64 * 1024
# A client may have so many statements and portals at a time, of so many bytes together.
_MOST_HELD = 2_000
_LARGEST_HELD = 4 * messages.LONGEST


@dataclass(slots=True)
class _Prepared:
    """A statement that may be carried out many times; None for an empty one.

    `described`: the names of its columns, as far as the client was told of them.
    """

    statement: Statement | None
    types: tuple[int, ...]
    size: int
    described: list[str] | None = None


@dataclass(slots=True)
class _Portal:
    """A statement with values, and how much of its answer has been sent."""

    prepared: _Prepared
    bind: Bind
    values: tuple[Value | list[Value], ...]
    size: int
    answered: Answered | None = None
    sent: int = 0


_Held = TypeVar("_Held", _Prepared, _Portal)


class Conversation:
    """The conversation with an authenticated client.

    Args:
        client: whom.
        reader: of what it says.
        writer: of what it is told.
    """

    def __init__(self, client: Client, reader: BinaryIO, writer: BinaryIO) -> None:
        self._client, self._reader, self._writer = client, reader, writer
        self._prepared: dict[str, _Prepared] = {}
        self._portals: dict[str, _Portal] = {}
        self._skipping = False

    def run(self) -> None:
        """Answer until the client leaves.

        Raises:
            Malformed: it does not keep to the protocol.
        """
        # not of the object, which would then outlive the conversation with all that it holds
        carried: Mapping[bytes, Callable[[bytes], None]] = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
        }
        while True:
            kind, body = read_message(self._reader)
            if kind in (b"X", b""):
                return
            if kind == b"Q":
                self._simple(body)
            elif kind == b"S":
                self._skipping = False
                self._ready()
            elif kind == b"H":
                self._writer.flush()
            elif kind in carried:
                if not self._skipping:
                    self._try(carried[kind], body)
            elif kind not in (b"d", b"c", b"f"):  # of a COPY that was refused
                raise Malformed(f"a message of an unknown kind {kind!r}")

    # -- simple questions ------------------------------------------------------------------------

    def _simple(self, body: bytes) -> None:
        """Carry out all statements of a text, up to the first that fails."""
        self._portals.pop("", None)
        try:
            reader = messages.Reader(body)
            text = reader.text()
            reader.end()
            sent = _split(text)
            if not sent:
                self._tell(messages.EMPTY)
            for one in sent:
                answered = self._client.carry_out(self._client.statement(one), ())
                self._forget(one)
                self._notices(answered)
                if answered.copied is not None:
                    self._copy(answered, answered.copied)
                elif answered.columns is not None:
                    fields = [_field(column, 0) for column in answered.columns]
                    self._tell(messages.row_description(fields))
                    self._rows(answered.columns, answered.rows, lambda _: 0)
                self._complete(answered, len(answered.rows))
        except Refused as refused:
            self._refuse(refused)
        self._ready()

    # -- prepared statements ---------------------------------------------------------------------

    def _try(self, say: Callable[[bytes], None], body: bytes) -> None:
        """After what fails, the client is not listened to until it asks for a new beginning."""
        try:
            say(body)
        except Refused as refused:
            self._skipping = True
            self._refuse(refused)

    def _parse(self, body: bytes) -> None:
        said = messages.parse(body)
        if said.name and said.name in self._prepared:
            raise Refused("42P05", f'prepared statement "{said.name}" already exists')
        sent = _split(said.text)
        if len(sent) > 1:
            raise Refused("42601", "cannot insert multiple commands into a prepared statement")
        statement = self._client.statement(sent[0]) if sent else None
        types = said.types
        if statement is not None and statement.query is not None:
            types = self._client.types_of(statement.query, said.types)
        self._hold(self._prepared, said.name, _Prepared(statement, types, len(body)))
        self._tell(messages.PARSED)

    def _bind(self, body: bytes) -> None:
        said = messages.bind(body)
        prepared = self._known(said.statement)
        if len(said.values) != len(prepared.types):
            raise Refused(
                "08P01",
                f"{len(said.values)} values are given, {len(prepared.types)} are needed",
            )
        try:
            values = tuple(
                None if value is None else value_of(value, oid, binary=said.format_of(place) == 1)
                for place, (value, oid) in enumerate(zip(said.values, prepared.types, strict=True))
            )
        except DataError as error:
            raise Refused("22P02", error.message, error.hint) from None
        self._hold(self._portals, said.portal, _Portal(prepared, said, values, len(body)))
        self._tell(messages.BOUND)

    def _describe(self, body: bytes) -> None:
        said = messages.named(body)
        if said.kind == "S":
            prepared = self._known(said.name)
            self._tell(messages.parameter_description(prepared.types))
            columns = None
            if prepared.statement is not None:
                columns = self._client.describe(prepared.statement, prepared.types)
            prepared.described = [column.name for column in columns or ()]
            self._columns(columns, lambda _: 0)
            return
        if said.name and said.name not in self._portals:
            self._columns(self._client.cursor(said.name).columns, lambda _: 0)
            return
        portal = self._portal(said.name)
        answered = None
        if portal.prepared.statement is not None and portal.prepared.statement.gives_rows:
            answered = self._answered(portal)
        self._columns(answered.columns if answered else None, portal.bind.result)

    def _execute(self, body: bytes) -> None:
        said = messages.execute(body)
        portal = self._portal(said.portal)
        if portal.prepared.statement is None:
            self._tell(messages.EMPTY)
            return
        answered = self._answered(portal)
        if portal.sent == 0:
            self._notices(answered)
        if answered.copied is not None:
            self._copy(answered, answered.copied)
            self._complete(answered, len(answered.rows))
            return
        if answered.columns is None:
            self._complete(answered, 0)
            return
        end = portal.sent + said.most if said.most > 0 else len(answered.rows)
        rows = answered.rows[portal.sent : end]
        self._rows(answered.columns, rows, portal.bind.result)
        portal.sent += len(rows)
        if 0 < said.most == len(rows):
            self._tell(messages.SUSPENDED)
        else:
            self._complete(answered, len(rows))

    def _close(self, body: bytes) -> None:
        said = messages.named(body)
        (self._prepared if said.kind == "S" else self._portals).pop(said.name, None)
        self._tell(messages.CLOSED)

    def _hold(self, among: dict[str, _Held], name: str, one: _Held) -> None:
        """Keep a statement or portal until the client closes it.

        Raises:
            Refused: the client has too many.
        """
        among.pop(name, None)
        held: list[_Prepared | _Portal] = [*self._prepared.values(), *self._portals.values()]
        if len(held) >= _MOST_HELD or sum(h.size for h in held) + one.size > _LARGEST_HELD:
            raise Refused(
                "53200", "too many statements are held for one client", "close some, or COMMIT"
            )
        among[name] = one

    def _forget(self, sent: Sent) -> None:
        """Forget what DEALLOCATE or DISCARD names."""
        if sent.word(0) not in ("DEALLOCATE", "DISCARD"):
            return
        if sent.word(len(sent.words) - 1) == "ALL":
            self._prepared.clear()
        else:
            self._prepared.pop(sent.words[-1], None)

    def _known(self, name: str) -> _Prepared:
        if name not in self._prepared:
            raise Refused("26000", f'prepared statement "{name}" does not exist')
        return self._prepared[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise Refused("34000", f'portal "{name}" does not exist')
        return self._portals[name]

    def _answered(self, portal: _Portal) -> Answered:
        if portal.answered is None:
            assert portal.prepared.statement is not None
            statement = portal.prepared.statement
            answered = self._client.carry_out(statement, portal.values)
            told = portal.prepared.described
            if told is not None and told != [column.name for column in answered.columns or ()]:
                raise Refused(
                    "0A000",
                    "cached plan must not change result type",
                    "a setting such as dbdeid.bounds was changed: prepare the statement again",
                )
            portal.answered = answered
            self._forget(statement.sent)
        return portal.answered

    # -- what is told ----------------------------------------------------------------------------

    def _tell(self, said: bytes) -> None:
        self._writer.write(said)

    def _ready(self) -> None:
        if self._client.status == "I":
            self._portals.clear()
        self._tell(messages.ready(self._client.status))
        self._writer.flush()

    def _columns(self, columns: Sequence[Column] | None, form: Callable[[int], int]) -> None:
        if columns is None:
            self._tell(messages.NO_DATA)
            return
        fields = [_field(column, form(place)) for place, column in enumerate(columns)]
        self._tell(messages.row_description(fields))

    def _rows(
        self,
        columns: Sequence[Column],
        rows: Sequence[tuple[object, ...]],
        form: Callable[[int], int],
    ) -> None:
        write: list[Written] = [
            column.type.binary if form(place) == 1 else column.type.text
            for place, column in enumerate(columns)
        ]
        held, size = list[bytes](), 0
        try:
            for row in rows:
                values = [
                    None if value is None else one(value)
                    for one, value in zip(write, row, strict=True)
                ]
                held.append(messages.data_row(values))
                size += len(held[-1])
                if size > _CHUNK:
                    self._tell(b"".join(held))
                    held, size = [], 0
        except (AttributeError, OverflowError, TypeError, ValueError, struct.error):
            self._tell(b"".join(held))
            raise Refused(
                "22003",
                "a value of the answer has no binary form in PostgreSQL",
                "ask for it as text, or cast it: …::VARCHAR",
            ) from None
        self._tell(b"".join(held))

    def _copy(self, answered: Answered, how: Copied) -> None:
        columns = answered.columns or ()
        self._tell(messages.copy_out(len(columns)))
        if how.header:
            self._tell(messages.copy_data(how.line([column.name for column in columns])))
        write = [column.type.text for column in columns]
        for row in answered.rows:
            values = [
                None if value is None else one(value).decode()
                for one, value in zip(write, row, strict=True)
            ]
            self._tell(messages.copy_data(how.line(values)))
        self._tell(messages.COPIED)

    def _notices(self, answered: Answered) -> None:
        for notice in answered.notices:
            self._tell(messages.notice(notice))

    def _complete(self, answered: Answered, rows: int) -> None:
        for name, value in answered.settings:
            self._tell(messages.parameter(name, value))
        counted = answered.columns is not None and answered.tag in ("SELECT", "FETCH", "COPY")
        self._tell(messages.complete(f"{answered.tag} {rows}" if counted else answered.tag))

    def _refuse(self, refused: Refused) -> None:
        self._client.fail()
        self._tell(refusal(refused))


def refusal(refused: Refused, severity: str = "ERROR") -> bytes:
    """The error message that gives a client the reason of a refusal."""
    fields = {"S": severity, "V": severity, "C": refused.code, "M": refused.message}
    place = {"P": str(refused.position)} if refused.position else {}
    return messages.error({**fields, "H": refused.hint, **place})


def read_message(reader: BinaryIO, longest: int = messages.LONGEST) -> tuple[bytes, bytes]:
    """Read the kind and body of the next message; both empty at the end of the stream.

    Raises:
        Malformed: it is cut off, or longer than any that a client needs.
    """
    head = reader.read(5)
    if len(head) < 5:
        return b"", b""
    kind, length = head[:1], int(struct.unpack("!i", head[1:])[0]) - 4
    if not 0 <= length <= longest:
        raise Malformed("a message is too long")
    body = reader.read(length)
    if len(body) < length:
        return b"", b""
    return kind, body


def _split(text: str) -> tuple[Sent, ...]:
    try:
        return split(text)
    except DataError as error:
        raise Refused("42601", error.message, error.hint) from None


def _field(column: Column, form: int) -> Field:
    return Field(column.name, column.type.oid, column.type.size, column.modifier, form)
