"""A browser for tests: a client of the application in this process, and what its pages hold."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

pytest.importorskip("uvicorn", reason="pip install 'dbdeid[ui]'")
pytest.importorskip("starlette", reason="pip install 'dbdeid[ui]'")

from dbdeid.errors import DbdeidError
from dbdeid.ui.app import application
from dbdeid.ui.background.jobs import Job
from dbdeid.ui.background.work import perform
from dbdeid.ui.guard import Guard
from dbdeid.ui.rooms import Room, opened
from dbdeid.ui.serving import rooms_of

PORT = 43210
HOST = f"127.0.0.1:{PORT}"
HERE = f"http://{HOST}"
FORM = "application/x-www-form-urlencoded"
OPTIONS: Mapping[str, Any] = {"database": None, "threads": 1, "memory_limit": None}


class Threads:
    """Does the work in a thread: to start a process takes longer than the work of most tests."""

    def begin(self, job: Job) -> Callable[[], None]:
        asked = threading.Event()

        def show(line: str) -> None:
            job.line = line
            if asked.is_set():
                raise InterruptedError

        def work() -> None:
            try:
                job.end("done", result=perform(job.task, show))
            except InterruptedError:
                job.end("cancelled", error="cancelled; nothing was changed")
            except DbdeidError as error:
                job.end("failed", error=str(error))

        threading.Thread(target=work, daemon=True).start()
        return asked.set


@dataclass(frozen=True)
class Answer:
    """What a server answered: headers by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def asked(
    app: Any,
    method: str,
    path: str,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    query: str = "",
) -> Answer:
    """Ask an application one thing, as a server of ASGI does: also what no browser would ask."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT),
    }
    said: list[Mapping[str, Any]] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Mapping[str, Any]:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        said.append(message)

    asyncio.run(app(scope, receive, send))
    given = {name.decode(): value.decode("latin-1") for name, value in said[0]["headers"]}
    return Answer(said[0]["status"], given, b"".join(one.get("body", b"") for one in said[1:]))


class Browser:
    """One browser that opened the link.

    Attributes:
        room: of the first specification.
    """

    def __init__(self, source: Path) -> None:
        self.rooms = rooms_of(opened(source), Threads(), OPTIONS)
        self.guard = Guard(application(self.rooms), PORT)
        self.cookie = ""

    def get(self, path: str, *headers: tuple[str, str], query: str = "") -> Answer:
        given = [("host", HOST), ("cookie", self.cookie), *headers]
        return asked(self.guard, "GET", path, given, query=query)

    def post(self, path: str, body: str, *headers: tuple[str, str]) -> Answer:
        given = [("host", HOST), ("cookie", self.cookie), ("origin", HERE), ("content-type", FORM)]
        return asked(self.guard, "POST", path, [*given, *headers], body.encode())

    @property
    def room(self) -> Room:
        return self.rooms[0]

    def open(self) -> Browser:
        answer = self.get("/", query=f"token={self.guard.token}")
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def page(self, name: str = "columns") -> str:
        answer = self.get(f"/0/{name}")
        assert answer.status == 200, answer.text
        return answer.text

    @property
    def version(self) -> str:
        return self.room.desk.sheet().version

    def send(self, action: str, *pairs: tuple[str, str], **fields: str) -> Answer:
        """Send a form as the script of the page does."""
        given = {"version": self.version, "page": "columns", **fields}
        body = "&".join(f"{quote_plus(k)}={quote_plus(v)}" for k, v in [*given.items(), *pairs])
        return self.post(f"/0/{action}", body, ("dbdeid-part", "page"))

    def done(self, action: str, *pairs: tuple[str, str], **fields: str) -> str:
        answer = self.send(action, *pairs, **fields)
        assert answer.status == 200, re.findall(r'class="notice[^>]*>([^<]*)', answer.text)
        return answer.text

    def number(self, name: str) -> str:
        from dbdeid.ui.views.columns_page import names_of

        return str(names_of(self.room.desk.sheet(), self.room.looked).index(name))

    def role(self, name: str, role: str) -> str:
        return self.done("role", column=self.number(name), role=role)

    def looked(self) -> Browser:
        """Wait until the columns are drafted and looked at."""
        for _ in range(2):
            self.room.ensure()
            if (job := self.room.looking.running) is not None:
                assert job.wait(60)
                assert job.state == "done", job.error
        assert self.room.looked is not None
        return self

    def begun(self, what: str, **fields: str) -> Job:
        """Have work done, and wait for it."""
        self.done("begin", what=what, **{"page": "release", **fields})
        job = self.room.jobs.last["run" if what == "trial" else what]
        assert job.wait(120)
        return job
