"""What one client of a server is answered, statement by statement."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from typing import Literal, TypeVar

from dbdeid.engine.failure import EngineError
from dbdeid.errors import DataError
from dbdeid.query.clients.catalog import Standing, is_of_catalog, of_catalog
from dbdeid.query.clients.copying import copied
from dbdeid.query.clients.questions import (
    Name,
    column_beside,
    is_count,
    question,
    tables_of,
    type_beside,
)
from dbdeid.query.clients.statements import (
    Query,
    Sent,
    Unreadable,
    Value,
    filled,
    parameters,
    read,
)
from dbdeid.serve import types
from dbdeid.serve.answered import Answered, Column, Refused, Statement
from dbdeid.serve.catalog import Catalog
from dbdeid.serve.served import DATABASE, Place, Served
from dbdeid.serve.settings import (
    BOUNDS,
    SPREAD,
    TIMEOUT,
    VERSION,
    ClientSettings,
    assigned,
    seconds,
)
from dbdeid.serve.types import Type
from dbdeid.version import __version__

Status = Literal["I", "T", "E"]
_Found = TypeVar("_Found")
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(")
_BEGIN, _COMMIT = ("BEGIN", "START"), ("COMMIT", "END")
_ROLLBACK = ("ROLLBACK", "ABORT")
_IGNORED = ("SAVEPOINT", "RELEASE", "DISCARD", "DEALLOCATE", "LISTEN", "UNLISTEN")
_REFUSED = (
    *("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "DROP", "ALTER"),
    *("GRANT", "REVOKE", "COMMENT", "VACUUM", "ANALYZE", "REINDEX", "CLUSTER", "LOCK", "CALL"),
    *("DO", "PREPARE", "EXECUTE", "REFRESH", "IMPORT", "EXPORT", "ATTACH", "DETACH", "PRAGMA"),
    *("INSTALL", "LOAD", "NOTIFY", "CHECKPOINT", "SECURITY", "REASSIGN"),
)
# What stands for a parameter when only the columns of an answer are asked for.
_SAMPLES: dict[int, Value] = {
    types.BOOL.oid: True,
    types.DATE.oid: date(2000, 1, 1),
    types.TIME.oid: time(0),
    **dict.fromkeys((types.TIMESTAMP.oid, types.TIMESTAMPTZ.oid), datetime(2000, 1, 1)),
}
_BACK = {"BACKWARD", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"}
# A question about tables takes no longer once it is asked, in seconds: others wait for their turn.
_OF_TABLES = 10.0
# A client may have so many cursors open, each of which holds its answer.
_MOST_CURSORS = 100
# So often it is looked whether a client that waits is still there, in seconds.
_GLANCE = 0.5


@dataclass(slots=True)
class _Cursor:
    """An answer that is fetched in parts; `place` is the next row."""

    answered: Answered
    lasting: bool
    place: int = 0


@dataclass(slots=True)
class Client:
    """One client.

    Attributes:
        served: what it may ask.
        catalog: what it is told of that.
        settings: its own.
        role: how it calls itself.
        process: the number of its connection.
        patience: how long a question to a release takes once it is its turn, in seconds; 0: as long
            as it needs.
        status: idle, in a transaction, or in one that failed.
        gone: whether it has hung up.
    """

    served: Served
    catalog: Catalog
    settings: ClientSettings
    role: str
    process: int
    patience: float = 0
    status: Status = "I"
    gone: Callable[[], bool] = lambda: False
    _cursors: dict[str, _Cursor] = field(default_factory=dict)
    _local: dict[str, str] = field(default_factory=dict)
    _too_late: bool = False
    _stopped: bool = False
    _interrupt: Callable[[], None] | None = None
    _asked: threading.Lock = field(default_factory=threading.Lock)

    def cancel(self) -> None:
        """Stop the statement of this client that is not answered yet; other threads call it."""
        with self._asked:
            self._stopped = True
            if self._interrupt is not None:
                self._interrupt()

    # -- statements ------------------------------------------------------------------------------

    def statement(self, sent: Sent) -> Statement:
        """A statement, read.

        Raises:
            Refused: it is none.
        """
        if sent.word(0) not in _QUERIES:
            return Statement(sent, None)
        try:
            return Statement(sent, read(sent))
        except Unreadable as error:
            raise Refused("42601", error.message, error.hint, error.position) from None
        except DataError as error:
            raise Refused("42601", error.message, error.hint) from None

    def carry_out(self, statement: Statement, values: Sequence[Value | list[Value]]) -> Answered:
        """What a statement gives, with values for its parameters.

        Raises:
            Refused: it cannot be carried out; the message says why.
        """
        word = statement.sent.word(0)
        if self.status == "E" and word not in (*_COMMIT, *_ROLLBACK):
            raise Refused(
                "25P02", "current transaction is aborted, commands ignored until end of block"
            )
        try:
            if statement.query is not None:
                return self._answer(statement.query, values)
            return self._command(statement.sent, values)
        except DataError as error:
            unknown = "not released" in error.message
            raise Refused("42703" if unknown else "0A000", error.message, error.hint) from None
        except EngineError as error:
            raise Refused("42000", error.message, error.hint) from None
        except RecursionError:
            raise Refused("54001", "the query is nested too deeply") from None
        except KeyboardInterrupt:
            why = "statement timeout" if self._too_late else "user request"
            raise Refused("57014", f"canceling statement due to {why}") from None

    def fail(self) -> None:
        """Take note that a statement failed."""
        if self.status == "T":
            self.status = "E"

    # -- parameters ------------------------------------------------------------------------------

    def types_of(self, query: Query, given: Sequence[int]) -> tuple[int, ...]:
        """The types of the parameters of a query, where the client has left them open, too."""
        found = parameters(query)
        count = max([*found, len(given)], default=0)
        columns: Mapping[str, str] = {}
        for name in tables_of(query):
            if (known := self.served.find(name)) is not None:
                columns = {**columns, **{c.lower(): k for c, k in known[0].columns.items()}}
        columns = columns or self.catalog.columns
        made = []
        for number in range(1, count + 1):
            oid = given[number - 1] if number <= len(given) else 0
            node = found.get(number)
            if not oid and node is not None:
                written = type_beside(node)
                beside = column_beside(node)
                if written is None and beside is not None:
                    column, of_list = beside
                    written = columns.get(column.lower())
                    written = f"{written}[]" if written and of_list else written
                oid = types.type_of(written).oid if written else types.TEXT.oid
                oid = types.INT8.oid if is_count(node) else oid
            made.append(oid or types.TEXT.oid)
        return tuple(made)

    def describe(self, statement: Statement, oids: Sequence[int]) -> tuple[Column, ...] | None:
        """The columns that a statement gives, whatever the values of its parameters.

        Raises:
            Refused: it cannot be carried out.
        """
        if not statement.gives_rows:
            return None
        if statement.sent.word(0) == "FETCH":
            return self.cursor(statement.sent.words[-1]).columns
        texts = ("", "0", "2000-01-01", "server_version")
        for text in texts:
            samples = [_sample(types.TYPES.get(oid, types.TEXT), text) for oid in oids]
            try:
                return self.carry_out(statement, samples).columns
            except Refused:  # a text that is cast has to be one of the type
                if text == texts[-1] or types.TEXT.oid not in oids:
                    raise
        raise AssertionError

    # -- queries ---------------------------------------------------------------------------------

    def _answer(self, query: Query, values: Sequence[Value | list[Value]]) -> Answered:
        made = filled(query, values)
        if is_of_catalog(made, self._standing):
            asked, catalog = of_catalog(made, self._standing), self.catalog
            found = self._asked_of(catalog.turn, catalog.interrupt, lambda: catalog.answer(asked))
            named = zip(found.columns, found.types, strict=True)
            held = tuple(_of_catalog(name, kind) for name, kind in named)
            return Answered("SELECT", held, found.rows)
        place, called = self._place(made)
        text = question(made, called, place.columns)
        spread = self.settings.is_on(SPREAD)
        release = place.release
        result = self._asked_of(
            place.turn, release.interrupt, lambda: release.query(text, spread_suppressed=spread)
        )
        # clients that look at places only find what they asked for where they asked for it
        shown = [at for at in range(len(result.columns)) if at not in result.bounds]
        if self.settings.is_on(BOUNDS):
            shown += sorted(result.bounds)
        rows = result.rows
        if result.bounds:
            rows = tuple(tuple(row[at] for at in shown) for row in rows)
        columns = tuple(
            Column(
                result.columns[at],
                types.type_of(result.types[at]),
                types.modifier_of(result.types[at]),
            )
            for at in shown
        )
        return Answered("SELECT", columns, rows, result.notes)

    def _place(self, query: Query) -> tuple[Place, dict[Name, str]]:
        """Where a query is answered from, and what that calls the tables that it names."""
        names = tables_of(query)
        found = {name: known for name in names if (known := self.served.find(name)) is not None}
        if not found:
            unknown = ".".join(min(names)) if names else "?"
            listed = ", ".join(table.name for table in self.served.tables)
            raise Refused("42P01", f'relation "{unknown}" does not exist', f"FROM one of: {listed}")
        first, *others = (place for place, _ in found.values())
        if any(other.release is not first.release or other.name != first.name for other in others):
            raise Refused(
                "0A000", "a query reads one release", "ask each release in a query of its own"
            )
        return first, {name: called for name, (_, called) in found.items()}

    def _asked_of(
        self, turn: threading.Lock, interrupt: Callable[[], None], ask: Callable[[], _Found]
    ) -> _Found:
        """An answer, when it is this client's turn; it can be cancelled until it is there."""
        self._stopped = self._too_late = False
        within = self._timeout
        timer = threading.Timer(within, self._stop) if within else None
        patience = _OF_TABLES if turn is self.catalog.turn else self.patience
        patient = threading.Timer(patience, self._stop) if patience else None
        answered = threading.Event()
        watch = threading.Thread(target=self._watch, args=(answered,), daemon=True)
        watch.start()
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            with turn:
                with self._asked:
                    if self._stopped:
                        raise KeyboardInterrupt
                    self._interrupt = interrupt
                try:
                    if patient is not None:  # which does not wait while others are answered
                        patient.daemon = True
                        patient.start()
                    return ask()
                finally:
                    if patient is not None:
                        patient.cancel()
                    with self._asked:
                        self._interrupt = None
        finally:
            answered.set()
            if timer is not None:
                timer.cancel()

    def _watch(self, answered: threading.Event) -> None:
        """Stop the statement where nobody waits for the answer any more."""
        while not answered.wait(_GLANCE):
            if self.gone():
                self.cancel()
                return

    @property
    def _timeout(self) -> float:
        """For how many seconds a statement may run; 0 for as long as it takes."""
        return min(seconds(self.settings.get(TIMEOUT) or "") or 0, 86_400)

    def _stop(self) -> None:
        self._too_late = True
        self.cancel()

    @property
    def _standing(self) -> Standing:
        constants: dict[str, str | int] = {
            "current_database": DATABASE,
            "current_user": self.role,
            "current_schema": "public",
            "version": f"PostgreSQL {VERSION} (dbdeid {__version__})",
            "pg_backend_pid": self.process,
        }

        def change(name: str, value: str) -> str:
            self.settings.set(name, value)
            return self.settings.get(name) or ""

        held = self.catalog.relations, self.catalog.functions
        return Standing(constants, self.settings.get, change, *held)

    # -- other statements ------------------------------------------------------------------------

    def _command(self, sent: Sent, values: Sequence[Value | list[Value]]) -> Answered:
        word = sent.word(0)
        if word in _BEGIN:
            self.status = "T"
            return Answered("BEGIN" if word == "BEGIN" else "START TRANSACTION")
        if word in _COMMIT or (word in _ROLLBACK and "TO" not in map(str.upper, sent.words)):
            failed, self.status = self.status == "E", "I"
            self._cursors = {n: c for n, c in self._cursors.items() if c.lasting}
            tag = "COMMIT" if word in _COMMIT and not failed else "ROLLBACK"
            return Answered(tag, settings=self._without_local())
        if word in _ROLLBACK:
            self.status = "T"
            return Answered("ROLLBACK")
        if word == "SET":
            return self._set(sent)
        if word == "RESET":
            name = None if sent.word(1) == "ALL" else "".join(sent.words[1:])
            return Answered("RESET", settings=tuple(self.settings.reset(name)))
        if word == "SHOW":
            return self._show(sent)
        if word == "EXPLAIN":
            return self._explain(sent)
        if word == "DECLARE":
            return self._declare(sent, values)
        if word in ("FETCH", "MOVE"):
            return self._fetch(sent)
        if word == "CLOSE":
            self._close(sent)
            return Answered("CLOSE CURSOR")
        if word == "COPY":
            how = copied(sent)
            return replace(self._answer(how.query, values), tag="COPY", copied=how)
        if word in _IGNORED:
            return Answered(" ".join(map(str.upper, sent.words[:2])) if word == "DISCARD" else word)
        if word not in _REFUSED:
            raise Refused("42601", f'syntax error at or near "{sent.words[0]}"', "ask a SELECT")
        raise Refused(
            "25006",
            f"{word} is not carried out: releases are only asked",
            "ask a SELECT",
        )

    def _set(self, sent: Sent) -> Answered:
        made = assigned(sent.words[1:])
        if made is None:
            return Answered("SET")
        name, value = made
        local, before = sent.word(1) == "LOCAL", self.settings.get(name)
        if local and self.status == "I":
            return Answered("SET", notices=("SET LOCAL can only be used in transaction blocks",))
        if value.upper() == "DEFAULT":
            changed = tuple(self.settings.reset(name))
        else:
            told = self.settings.set(name, value)
            changed = (told,) if told is not None else ()
        if local and before is not None:
            self._local.setdefault(name.lower(), before)
        elif not local:
            self._local.pop(name.lower(), None)
        return Answered("SET", settings=changed)

    def _without_local(self) -> tuple[tuple[str, str], ...]:
        """Give settings that were those of a transaction the values that they had before."""
        told = [self.settings.set(name, value) for name, value in self._local.items()]
        self._local.clear()
        return tuple(one for one in told if one is not None)

    def _show(self, sent: Sent) -> Answered:
        if sent.word(1) == "ALL":
            columns = Column("name", types.TEXT), Column("setting", types.TEXT)
            return Answered("SHOW", columns, sorted(self.settings.all.items()))
        upper = [w.upper() for w in sent.words[1:]]
        name = "".join(sent.words[1:])
        if upper == ["TRANSACTION", "ISOLATION", "LEVEL"]:
            name = "transaction_isolation"
        elif upper == ["TIME", "ZONE"]:
            name = "TimeZone"
        value = self.settings.get(name)
        if value is None:
            raise Refused("42704", f'unrecognized configuration parameter "{name}"')
        return Answered("SHOW", (Column(name, types.TEXT),), [(value,)])

    def _explain(self, sent: Sent) -> Answered:
        """What is run on the release in place of a question."""
        text = sent.text[len("EXPLAIN") :].lstrip()
        for option in ("ANALYZE", "VERBOSE"):
            text = text[len(option) :].lstrip() if text.upper().startswith(option) else text
        if text.startswith("("):
            text = text[text.find(")") + 1 :].lstrip()
        made = filled(read(Sent(text, ())), ())
        place, called = self._place(made)
        script = place.release.rewritten(
            question(made, called, place.columns),
            spread_suppressed=self.settings.is_on(SPREAD),
        )
        rows = [(line,) for line in script.splitlines()]
        return Answered("EXPLAIN", (Column("QUERY PLAN", types.TEXT),), rows)

    # -- cursors ---------------------------------------------------------------------------------

    def _declare(self, sent: Sent, values: Sequence[Value | list[Value]]) -> Answered:
        upper = [word.upper() for word in sent.words]
        if "FOR" not in upper or "CURSOR" not in upper:
            raise Refused("42601", "DECLARE without CURSOR … FOR")
        if len(self._cursors) >= _MOST_CURSORS:
            raise Refused("53200", "too many cursors are open", "close some, or COMMIT")
        found = re.search(r"\bFOR\s", sent.text, re.IGNORECASE)
        inner = sent.text[found.end() :] if found else ""
        answered = self._answer(read(Sent(inner, ())), values)
        self._cursors[sent.words[1]] = _Cursor(
            answered, lasting="HOLD" in upper and "WITH" in upper
        )
        return Answered("DECLARE CURSOR", notices=answered.notices)

    def cursor(self, name: str) -> Answered:
        """The answer that a cursor is of.

        Raises:
            Refused: there is no such cursor.
        """
        if name not in self._cursors:
            raise Refused("34000", f'cursor "{name}" does not exist')
        return self._cursors[name].answered

    def _fetch(self, sent: Sent) -> Answered:
        """The next rows of a cursor; MOVE only counts them."""
        *before, name = sent.words
        answered = self.cursor(name)
        held = self._cursors[name]
        if _BACK & {word.upper() for word in before} or "-" in before:
            raise Refused("55000", "cursor can only scan forward")
        counts = [w for w in before if w.isdecimal() and w.isascii()]
        every = any(word.upper() == "ALL" for word in before)
        most = len(answered.rows) if every else int(counts[0]) if counts else 1
        rows = answered.rows[held.place : held.place + most]
        held.place += len(rows)
        if sent.word(0) == "MOVE":
            return Answered(f"MOVE {len(rows)}")
        return replace(answered, tag="FETCH", rows=rows, notices=())

    def _close(self, sent: Sent) -> None:
        if sent.word(1) == "ALL":
            self._cursors.clear()
        elif self._cursors.pop(sent.words[-1], None) is None:
            raise Refused("34000", f'cursor "{sent.words[-1]}" does not exist')


def _sample(kind: Type, text: str) -> Value | list[Value]:
    """A value of a type, of which only the columns of the answer matter."""
    if kind.of is not None:
        member = _sample(kind.of, text)
        return [] if isinstance(member, list) else [member]
    return _SAMPLES.get(kind.oid, 1 if types.SHOWN[kind.oid][1] == "N" else text)


def _of_catalog(name: str, written: str) -> Column:
    """Numbers of objects are of a type of their own."""
    if written.startswith("UINTEGER"):
        found = types.OID if written == "UINTEGER" else types.TYPES[types.OID.array]
        return Column(name, found)
    return Column(name, types.type_of(written), types.modifier_of(written))
