"""The server itself: on loopback only, with work in processes that end when they are told to."""

from __future__ import annotations

import contextlib
import http.cookiejar
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest
from pages import OPTIONS, Threads

from dbdeid.errors import DataError
from dbdeid.ui.background.jobs import Jobs, Processes
from dbdeid.ui.background.work import Task
from dbdeid.ui.rooms import opened
from dbdeid.ui.serving import Server, serving


@pytest.fixture
def server(drafted: tuple[Path, object], tmp_path: Path) -> Iterator[Server]:
    spec = tmp_path / "people.yml"
    spec.write_bytes((drafted[0] / "people.yml").read_bytes())
    (tmp_path / "people.csv").write_bytes((drafted[0] / "people.csv").read_bytes())
    with serving(opened(spec), options=OPTIONS, worker=Threads()) as made:
        yield made
        made.rooms[0].looking.close()


def browser() -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(http.cookiejar.CookieJar()))


def test_it_listens_on_loopback_and_answers_one_browser(server: Server) -> None:
    port = int(server.link.partition("127.0.0.1:")[2].partition("/")[0])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1", "::1"}:
        with contextlib.closing(
            socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        ) as s:
            s.settimeout(1)
            assert s.connect_ex((address, port)) != 0, address
    mine, other = browser(), browser()
    with mine.open(server.link) as shown:
        assert shown.geturl().endswith("/0/columns")
        assert "server" not in shown.headers
        shown.read()
    with pytest.raises(HTTPError) as refused:
        other.open(server.link)
    assert refused.value.code == 403
    refused.value.close()
    base = server.link.partition("/?")[0]
    fields = {"version": server.rooms[0].desk.sheet().version, "column": 6, "role": "drop"}
    asked = Request(f"{base}/0/role", urlencode(fields).encode(), {"origin": base})
    with mine.open(asked) as shown:
        assert shown.status == 200
        shown.read()
    assert "flurb: {role: drop}" in server.rooms[0].desk.path.read_text()


def test_a_port_that_is_taken_is_told(server: Server, people: Path) -> None:
    port = int(server.link.partition("127.0.0.1:")[2].partition("/")[0])
    with (
        pytest.raises(DataError, match=f"port {port} cannot be had"),
        serving(opened(people), port=port, options=OPTIONS),
    ):
        pass


def test_only_one_piece_of_work_at_a_time(tmp_path: Path) -> None:
    class Never:
        def begin(self, job: object) -> object:
            return lambda: None

    jobs = Jobs(Never())  # type: ignore[arg-type]
    jobs.begin(Task("check", tmp_path / "a.yml", {}), "")
    with pytest.raises(DataError, match="check still runs"):
        jobs.begin(Task("run", tmp_path / "a.yml", {}), "")


@pytest.mark.full
def test_work_in_a_process_is_done_cancelled_and_killed(people: Path) -> None:
    jobs, spec = Jobs(Processes()), people.with_suffix(".yml")
    draft = jobs.begin(Task("draft", spec, {"source": people.name}), "")
    assert draft.wait(120)
    assert draft.state == "done", draft.error
    text = spec.read_text().replace("undecided", "drop")
    spec.write_text(text)
    before = {path.name for path in people.parent.iterdir()}
    run = jobs.begin(Task("run", spec, {}), "")
    time.sleep(1)
    jobs.cancel()
    assert run.wait(60)
    assert run.state == "cancelled"
    assert {path.name for path in people.parent.iterdir()} == before
    spec.write_text("release: [")
    failed = jobs.begin(Task("check", spec, {}), "")
    assert failed.wait(120)
    assert failed.state == "failed"
    assert "not valid YAML" in failed.error


@pytest.mark.full
def test_the_command_prints_a_link_and_ends_with_what_it_began(people: Path) -> None:
    command = [sys.executable, "-m", "dbdeid", "ui", str(people), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    link = process.stdout.readline().split()[1]
    with browser().open(link) as shown:  # which begins a draft
        shown.read()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.stdout.close()
    left = subprocess.run(["pgrep", "-s", str(process.pid)], capture_output=True, text=True)
    assert left.stdout.split() in ([], [str(os.getpid())])
