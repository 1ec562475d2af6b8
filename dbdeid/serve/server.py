"""A server on this machine that answers PostgreSQL's clients from releases."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import socketserver
import struct
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.serve import messages
from dbdeid.serve.answered import Refused
from dbdeid.serve.answering import Client
from dbdeid.serve.catalog import Catalog
from dbdeid.serve.conversation import Conversation, read_message, refusal
from dbdeid.serve.messages import Malformed
from dbdeid.serve.scram import MECHANISM, Exchange, Verifier, WrongPassword
from dbdeid.serve.served import ALSO, DATABASE, Served, served
from dbdeid.serve.settings import BOUNDS, ClientSettings

logger = logging.getLogger("dbdeid")

# Names of this machine that no other one reaches.
HOST = "127.0.0.1"
ROLE = "analyst"
MOST_CLIENTS = 100
MOST_CONNECTIONS = 250
# Who has not proved by then who it is, in seconds, is let go.
PATIENCE = 30


@contextmanager
def serving(
    sources: Sequence[Path],
    *,
    port: int,
    password: str,
    bounds: bool = True,
    timeout: float = 0,
    settings: Settings | None = None,
) -> Iterator[Server]:
    """A server that listens, and answers once `serve_forever` is called.

    Args:
        sources: specs, exported files, or folders of exported databases.
        port: 0 for any that is free.
        password: which clients have to know.
        bounds: whether answers have columns of bounds, unless a client decides otherwise.
        timeout: how long a question may take, in seconds; 0: as long as it needs.
        settings: limits of the engine.

    Raises:
        DataError: a source is no release, may not be published, or the port is taken.
    """
    with (
        served(sources, settings) as found,
        Catalog(found.tables, DATABASE, ROLE) as catalog,
        Server(found, catalog, password, port=port, bounds=bounds, timeout=timeout) as server,
    ):
        try:
            yield server
        finally:
            server.stop()


class Server(socketserver.ThreadingTCPServer):
    """A server of releases.

    Args:
        served: what is answered.
        catalog: what clients are told of that.
        password: which they have to know.
        port: 0 for any that is free.
        bounds: whether answers have columns of bounds, unless a client decides otherwise.
        timeout: how long a question to a release may take, in seconds; 0: as long as it needs.

    Raises:
        DataError: the port is taken.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        served: Served,
        catalog: Catalog,
        password: str,
        *,
        port: int,
        bounds: bool,
        timeout: float,
    ) -> None:
        self.served, self.catalog, self.bounds = served, catalog, bounds
        self.patience = timeout
        self.verifier = Verifier.of(password)
        self._clients: dict[tuple[int, int], Client] = {}
        self._lock = threading.Lock()
        self._last = self._connections = 0
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise DataError(
                f"port {port} cannot be listened on ({why})", hint="--port 0 takes a free one"
            ) from None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server_address[1])

    def url(self, password: str | None) -> str:
        """How clients connect; without a password where that is known to them."""
        secret = f":{password}" if password else ""
        return f"postgresql://{ROLE}{secret}@{HOST}:{self.port}/{DATABASE}"

    @contextmanager
    def client(self, role: str, *, bounds: bool) -> Iterator[tuple[Client, int]]:
        """A client, and the secret by which it can cancel its statement.

        Raises:
            Refused: there are too many.
        """
        secret = secrets.randbits(31)
        with self._lock:
            if len(self._clients) >= MOST_CLIENTS:
                raise Refused("53300", "sorry, too many clients already")
            self._last += 1
            settings = ClientSettings(bounds=bounds)
            made = Client(self.served, self.catalog, settings, role, self._last, self.patience)
            self._clients[made.process, secret] = made
        try:
            yield made, secret
        finally:
            with self._lock:
                del self._clients[made.process, secret]

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether there is room for another connection, its client known or not yet."""
        with self._lock:
            return self._connections < MOST_CONNECTIONS

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Hold a connection, and count it meanwhile."""
        with self._lock:
            self._connections += 1
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._connections -= 1

    def cancel(self, process: int, secret: int) -> None:
        """Stop the statement of a client, if the client is known."""
        with self._lock:
            client = self._clients.get((process, secret))
        if client is not None:
            client.cancel()

    def stop(self) -> None:
        """Stop all statements, and hang up."""
        with self._lock:
            clients = list(self._clients.values())
        for client in clients:
            client.cancel()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log where a defect is, without what it says: that may quote a cell."""
        kind, _, trace = sys.exc_info()
        if kind is None or issubclass(kind, ConnectionError | TimeoutError):
            return
        where = [f"{f.filename}:{f.lineno} in {f.name}" for f in traceback.extract_tb(trace)]
        logger.error("a connection was ended by a defect: %s at %s", kind.__name__, where[-3:])


class _Handler(socketserver.StreamRequestHandler):
    """One connection."""

    wbufsize = -1
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Begin a conversation, and hold it."""
        late = threading.Timer(PATIENCE, self._hang_up)
        late.daemon = True
        late.start()
        server = cast("Server", self.server)
        reader, writer = cast("BinaryIO", self.rfile), cast("BinaryIO", self.wfile)
        try:
            options = self._startup(reader, writer)
            if options is None:
                return
            self._prove(reader, writer, server)
            role = options.get("user", ROLE)
            with server.client(role, bounds=server.bounds) as (client, secret):
                client.gone = self._gone
                self._welcome(writer, client, secret, options)
                late.cancel()
                Conversation(client, reader, writer).run()
        except Refused as refused:
            writer.write(refusal(refused, "FATAL"))
        except OSError:
            return
        except Malformed as error:
            writer.write(refusal(Refused("08P01", str(error)), "FATAL"))
        finally:
            late.cancel()
        with contextlib.suppress(OSError, ValueError):
            writer.flush()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.request.shutdown(socket.SHUT_RDWR)

    def _gone(self) -> bool:
        """Whether the client has hung up, or said that it leaves, while it is to be answered."""
        try:
            said: bytes = self.request.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return said in (b"", b"X")

    def _startup(self, reader: BinaryIO, writer: BinaryIO) -> dict[str, str] | None:
        """The options of a new conversation; None where none is wanted."""
        while True:
            head = reader.read(8)
            if len(head) < 8:
                return None
            length, code = struct.unpack("!ii", head)
            if not 8 <= length <= messages.LONGEST_STARTUP:
                raise Malformed("the first message is no startup")
            body = reader.read(length - 8)
            if code in (messages.SSL_REQUEST, messages.GSS_REQUEST):
                writer.write(b"N")  # nothing leaves this machine
                writer.flush()
            elif code == messages.CANCEL_REQUEST:
                asked = messages.Reader(body)
                cast("Server", self.server).cancel(asked.int32(), asked.int32())
                return None
            elif code >> 16 == messages.VERSION_3 >> 16:
                options = messages.options(body)
                if code != messages.VERSION_3 or any(o.startswith("_pq_.") for o in options):
                    writer.write(messages.older([o for o in options if o.startswith("_pq_.")]))
                return options
            else:
                raise Malformed("only protocol 3 is spoken")

    def _prove(self, reader: BinaryIO, writer: BinaryIO, server: Server) -> None:
        """Let the client prove that it knows the password, by SCRAM-SHA-256 (RFC 7677).

        Raises:
            Refused: it does not.
        """
        exchange = Exchange(server.verifier)
        writer.write(messages.sasl([MECHANISM]))
        try:
            said = messages.Reader(self._password(reader, writer))
            if said.text() != MECHANISM:
                raise WrongPassword
            first = said.raw(said.int32()).decode()
            writer.write(messages.sasl_continue(exchange.challenge(first)))
            final = self._password(reader, writer).decode()
            writer.write(messages.sasl_final(exchange.proof(final)))
        except (WrongPassword, UnicodeDecodeError):
            raise Refused("28P01", "password authentication failed") from None

    def _password(self, reader: BinaryIO, writer: BinaryIO) -> bytes:
        writer.flush()
        kind, body = read_message(reader, messages.LONGEST_STARTUP)
        if kind != b"p":
            raise Refused("28000", "a password is needed")
        return body

    def _welcome(
        self, writer: BinaryIO, client: Client, secret: int, options: dict[str, str]
    ) -> None:
        """Read the options of the client, and confirm that it can send queries.

        Raises:
            Refused: there is no such database, or a setting cannot be.
        """
        database = options.get("database", DATABASE)
        if database not in (DATABASE, ALSO):
            raise Refused(
                "3D000", f'database "{database}" does not exist', f"it is called {DATABASE}"
            )
        try:
            for name, value in _settings(options):
                client.settings.set(name, value)
        except DataError as error:
            raise Refused("22023", error.message, error.hint) from None
        client.settings.bounds = client.settings.is_on(BOUNDS)
        writer.write(messages.AUTHENTICATED)
        for name, value in client.settings.told:
            writer.write(messages.parameter(name, value))
        writer.write(messages.parameter("session_authorization", client.role))
        writer.write(messages.key(client.process, secret))
        writer.write(messages.ready("I"))
        writer.flush()


def _settings(options: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The settings among the options: by their names, and as `-c name=value` or `--name=value`."""
    for name, value in options.items():
        if name not in ("user", "database", "options", "replication") and name[:5] != "_pq_.":
            yield name, value
    words = iter(options.get("options", "").replace("\\ ", "\0").split())
    for word in words:
        given = next(words, "") if word == "-c" else word.removeprefix("-c").removeprefix("--")
        name, _, value = given.replace("\0", " ").partition("=")
        if name and value:
            yield name.replace("-", "_"), value
