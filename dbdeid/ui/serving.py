"""The server of the page: on loopback, for one browser, until the terminal closes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from dbdeid.errors import DataError
from dbdeid.ui.app import application
from dbdeid.ui.background.jobs import Processes, Worker
from dbdeid.ui.guard import Guard
from dbdeid.ui.rooms import Place, Room, opened

__all__ = ["Server", "opened", "serving"]

HOST = "127.0.0.1"


@dataclass(slots=True)
class Server:
    """A server that answers.

    Attributes:
        link: what its owner opens, once.
        rooms: of its specifications.
    """

    link: str
    rooms: tuple[Room, ...]
    _thread: threading.Thread

    def wait(self) -> None:
        """Answer until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            return


def rooms_of(place: Place, worker: Worker, options: Mapping[str, Any]) -> tuple[Room, ...]:
    """A room for each specification of a place."""
    return tuple(Room.of(place, spec, worker, options) for spec in place.specs)


@contextmanager
def serving(
    place: Place,
    *,
    port: int = 0,
    options: Mapping[str, Any],
    worker: Worker | None = None,
) -> Iterator[Server]:
    """A server on loopback, which answers until the block ends.

    Args:
        place: what it is opened on.
        port: 0 for any that is free.
        options: database, threads and memory of all work.
        worker: who does the work; None: a process for each piece.

    Raises:
        DataError: the port is taken.
    """
    listening = _listening(port)
    found = listening.getsockname()[1]
    rooms = rooms_of(place, worker or Processes(), options)
    guard = Guard(application(rooms), found)
    config = uvicorn.Config(
        guard,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        ws="none",
        http="h11",
        limit_concurrency=100,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield Server(f"http://{HOST}:{found}/?token={guard.token}", rooms, thread)
    finally:
        server.should_exit = True
        for room in rooms:
            room.jobs.close()
            room.looking.close()
        thread.join(5)
        listening.close()


def _listening(port: int) -> socket.socket:
    """A socket that only this machine reaches.

    Raises:
        DataError: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind((HOST, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise DataError(
            f"port {port} cannot be had ({error.strerror})", hint="choose another, or leave it out"
        ) from None
    return listening
