"""Further attacks: odd requests on the wire, files that are none, and words in every new form."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from pages import FORM, HERE, HOST, OPTIONS, PORT, Browser, Threads, asked
from ruamel.yaml import YAML

from dbdeid.ui.rooms import opened
from dbdeid.ui.serving import serving

pytestmark = pytest.mark.full  # a few of each kind are in `test_doors.py`
SECRETS = (b"patient_id", b"Basel", b"people.yml", b"root:")

Wire = tuple[int, str]  # the port of a server, and the cookie of its browser


@pytest.fixture(scope="module")
def wire(drafted: tuple[Path, object], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server that listens, and the cookie of the one browser that it knows."""
    folder = tmp_path_factory.mktemp("wire")
    shutil.copytree(drafted[0], folder, dirs_exist_ok=True)
    with serving(opened(folder / "people.yml"), options=OPTIONS, worker=Threads()) as server:
        room = server.rooms[0]
        room._source = room._source_of(room.desk.sheet())
        room.looking.last["look"] = drafted[1]  # type: ignore[assignment]
        handler = HTTPCookieProcessor()
        with build_opener(handler).open(server.link) as shown:
            shown.read()
        (cookie,) = handler.cookiejar
        yield (
            int(server.link.partition("127.0.0.1:")[2].partition("/")[0]),
            (f"{cookie.name}={cookie.value}"),
        )


def said(port: int, sent: bytes, more: bytes = b"") -> bytes:
    """All that a server answers to bytes on a socket."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 5)) as s:
        s.settimeout(1)  # that nothing more comes: a connection may be kept
        got = b""
        with contextlib.suppress(OSError):
            s.sendall(sent)
            if more:
                s.sendall(more)
            while part := s.recv(65_536):
                got += part
        return got


GET, KEY = "GET /0/columns HTTP/1.1", "Cookie: {cookie}"
SOCKETS = (
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: " + "A" * 22 + "==",
)


def lines(*words: str) -> str:
    """A request of some lines."""
    return "".join(f"{word}\r\n" for word in (*words, ""))


HOSTED = "Host: {host}"
# Requests on the wire, none of which may get anything of the data.
ODD: dict[str, str] = {
    "no host of HTTP/1.0": lines("GET /0/columns HTTP/1.0", KEY),
    "an address in the line": lines("GET http://evil/0/columns HTTP/1.1", "Host: evil", KEY),
    "a host that is forwarded": lines(
        GET, "Host: evil", "X-Forwarded-Host: {host}", "Forwarded: host={host}", KEY
    ),
    "a host with a point": lines(GET, "Host: 127.0.0.1.:{port}", KEY),
    "a host with a path": lines(GET, "Host: {host}/x", KEY),
    "a folded host": lines(GET, "Host: evil", " {host}", KEY),
    "a host with a space": lines(GET, "Host : {host}", KEY),
    "a NUL in the path": lines("GET /0/columns\0 HTTP/1.1", HOSTED),
    "another protocol": lines("PRI * HTTP/2.0", "", "SM"),
    "a socket of the web": lines("GET /0/state HTTP/1.1", HOSTED, "Connection: Upgrade", *SOCKETS),
    "an upgrade to HTTP/2": lines(
        *("GET /0/state HTTP/1.1", HOSTED, "Connection: Upgrade, HTTP2-Settings"),
        *("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    ),
    "a length and chunks": lines(
        *("POST /0/role HTTP/1.1", HOSTED, KEY, "Origin: http://{host}", f"Content-Type: {FORM}"),
        *("Content-Length: 4", "Transfer-Encoding: chunked", "", "0", "", GET, HOSTED),
    ),
    "a second request behind the first": lines(
        "GET /static/x HTTP/1.1", HOSTED, KEY, "", GET, HOSTED
    ),
    "a method that is overridden": lines(
        "GET /0/role?_method=POST HTTP/1.1", HOSTED, KEY, "X-HTTP-Method-Override: POST"
    ),
    "a header without an end": f"{GET}\r\n{HOSTED}\r\nX: " + "a" * 200_000,
    "very many headers": lines(GET, HOSTED, *["X: y"] * 20_000),
    "lines that end alone": f"{GET}\nHost: evil\n{KEY}\n\n",
    "a cookie in capitals": lines(GET, HOSTED, "Cookie: {capitals}"),
    "a cookie and a longer one": lines(GET, HOSTED, KEY + "x"),
    "a cookie under another name": lines(GET, HOSTED, "Cookie: x{cookie}"),
    "nothing": "\r\n\r\n",
    "bytes of another protocol": "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
}


def test_an_even_request_is_answered(wire: Wire) -> None:
    port, cookie = wire
    got = said(port, lines(GET, f"Host: 127.0.0.1:{port}", f"Cookie: {cookie}").encode())
    assert b"HTTP/1.1 200" in got
    assert all(secret in got for secret in SECRETS[:3])


@pytest.mark.parametrize("how", ODD)
def test_no_odd_request_gets_anything(wire: Wire, how: str) -> None:
    port, cookie = wire
    known = {"{host}": f"127.0.0.1:{port}", "{port}": str(port), "{cookie}": cookie}
    text = ODD[how].replace("{capitals}", cookie.upper())
    for name, value in known.items():
        text = text.replace(name, value)
    got = said(port, text.encode("latin-1"))
    assert not any(secret in got for secret in SECRETS), got[:300]
    assert not re.search(rb"HTTP/1.1 (101|200)", got), got[:300]


def test_a_form_without_end_and_many_connections_stop_nobody_else(wire: Wire) -> None:
    port, cookie = wire
    head = (
        f"POST /0/role HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n"
        f"Origin: http://127.0.0.1:{port}\r\nContent-Type: {FORM}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    got = said(port, head.encode(), chunk * 40)
    assert b"200 OK" not in got
    waiting = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(90)]
    try:
        for one in waiting:
            one.sendall(b"GET /0/columns HTTP/1.1\r\nHost: ")  # and then nothing
        asked_for = f"GET /0/state HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
        assert b"200 OK" in said(port, asked_for.encode())
    finally:
        for one in waiting:
            one.close()


ROOMS = (
    "/٠/columns",
    "/+0/columns",
    "/0x0/columns",
    "/0/columns/",
    "/0/columns;x",
    "/0/columns\x00",
)


@pytest.mark.parametrize(
    "path", [*ROOMS, "/0%2fcolumns", "/0/../0/columns", "/./0/columns", "//0/columns"]
)
def test_no_other_spelling_of_an_address_gets_around_the_cookie(
    browser: Browser, path: str
) -> None:
    for headers in ([("host", HOST)], [("host", HOST), ("cookie", f"dbdeid_ui_{PORT}=x")]):
        assert asked(browser.guard, "GET", path, headers).status == 403
    assert browser.get(path).status in (200, 303, 307, 404)


@pytest.mark.parametrize(
    "origin",
    [f"{HERE}/", f"{HERE}.evil.example", f"http://x@{HOST}", f"{HERE}, http://evil", "", "file://"],
)
def test_no_origin_that_looks_alike_sends_a_form(browser: Browser, origin: str) -> None:
    before = browser.room.desk.path.read_bytes()
    headers = [
        ("host", HOST),
        ("cookie", browser.cookie),
        ("content-type", FORM),
        ("origin", origin),
    ]
    body = f"version={browser.version}&page=columns&column=6&role=drop".encode()
    assert asked(browser.guard, "POST", "/0/role", headers, body).status == 403
    assert browser.room.desk.path.read_bytes() == before


@pytest.mark.parametrize(
    "page", ["columns\r\nSet-Cookie: a=b", "//evil.example", "../../x", "\x00"]
)
def test_the_page_of_a_form_leads_nowhere_else(browser: Browser, page: str) -> None:
    from urllib.parse import quote

    body = f"version={browser.version}&page={quote(page)}&column=6&role=drop"
    answer = browser.post("/0/role", body)
    assert (answer.status, answer.headers["location"]) == (303, "/0/columns")
    assert "set-cookie" not in answer.headers


NO_NAMES = ("../x", "/tmp/x", "a/b", "", ".x", "a\x00b", "a b", "-", "x" * 61, "con.sql", "ü")


@pytest.mark.parametrize("name", NO_NAMES)
def test_no_question_is_kept_elsewhere(browser: Browser, name: str) -> None:
    before = sorted(path.name for path in browser.room.desk.folder.rglob("*"))
    assert browser.send("keep", name=name, sql="SELECT 1", page="ask").status == 422
    assert sorted(path.name for path in browser.room.desk.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "pattern", ["/tmp/*.sql", "../*.sql", "a/../../*.sql", "**/*.sql", "~/*.sql", 5]
)
def test_a_workload_elsewhere_is_not_written_to(browser: Browser, pattern: object) -> None:
    path = browser.room.desk.path
    path.write_text(f"{path.read_text()}evaluate: {{queries: {pattern!r}}}\n")
    assert browser.send("keep", name="x", sql="SELECT 1", page="ask").status == 422


def test_links_lead_no_question_out_of_the_folder(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, outside = browser.room.desk.folder, tmp_path_factory.mktemp("outside")
    (folder / "queries").symlink_to(outside)
    assert browser.send("keep", name="x", sql="SELECT 1", page="ask").status == 422
    assert not [*outside.iterdir()]
    (folder / "queries").unlink()
    (folder / "queries").mkdir()
    (folder / "queries" / "x.sql").symlink_to(outside / "x.sql")
    assert browser.send("keep", name="x", sql="SELECT 1", page="ask").status == 422
    assert not [*outside.iterdir()]


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        *(("method", {"method": m}) for m in ("external", "__class__", "", "full_domain\0")),
        *(("choose", {"point": text}) for text in ("0", "-1", "1e3", "٣", "9" * 30, "")),
        *(("choose", {"by": "risk", "risk": r}) for r in ("nan", "-1", "1.1", "inf", "1e999")),
        *(
            ("hierarchy", {"kind": "file", "file": f})
            for f in ("/etc/passwd", "../x.csv", "people.csv")
        ),
        *(("hierarchy", {"kind": "shelf", "shelf": s}) for s in ("../age", "", "__init__")),
        *(("level", {"level": text, "which": "only"}) for text in ("-1", "1e9", "9999")),
        ("merge", {"level": "0", "label": "Bern", "into": "x" * 201}),
        ("merge", {"level": "0", "label": "nowhere", "into": "x"}),
        ("merge", {"level": "99", "label": "Bern", "into": "x"}),
        ("begin", {"what": "search", "ks": ",".join(map(str, range(1, 500))), "limits": "0"}),
        ("begin", {"what": "search", "ks": "3", "limits": "nan"}),
        ("begin", {"what": "frontier\x00"}),
    ],
)  # fmt: skip
def test_no_form_says_what_a_page_does_not_offer(
    browser: Browser, action: str, fields: dict[str, str]
) -> None:
    if action == "choose":
        browser.done("method", method="policy", page="tradeoff")
    before = browser.room.desk.path.read_bytes()
    answer = browser.send(action, column="4", **fields)
    assert answer.status == 422, answer.status
    assert browser.room.desk.path.read_bytes() == before
    assert browser.room.jobs.running is None


WORDS = (
    '"}\nprivacy: []\n#',
    "a: b # c",
    "*x",
    "&x",
    "!!python/object:os.system",
    "${jndi:x}",
    "- - -",
    "null",
    "\u2028x",
    "'",
    "%TAG",
    "<<",
)


@pytest.mark.parametrize("word", WORDS)
def test_no_word_becomes_a_key_of_the_file(browser: Browser, word: str) -> None:
    browser.done("merge", ("label", "Bern"), ("label", "Thun"), column="4", level="0", into=word)
    browser.done("role", column="6", role="insensitive")
    browser.done("reason", column="6", reason=f"because {word}")
    data = YAML(typ="safe").load(browser.room.desk.path)
    (groups,) = data["columns"]["city"]["hierarchy"]["groups"]
    assert sorted(map(str, groups)) == sorted(["Basel", "Chur", " ".join(word.split())])
    assert data["privacy"] == [{"model": "k_anonymity", "k": 5}]
    assert set(data) == {"release", "target", "source", "columns", "privacy", "method", "output"}


def test_a_spec_that_becomes_a_pipe_a_folder_or_a_link_stops_nothing(browser: Browser) -> None:
    path = browser.room.desk.path
    kept = path.read_text()
    path.unlink()
    os.mkfifo(path)
    assert "There is nothing to show" in browser.page()  # and it does not wait for a writer
    assert browser.get("/0/state").status == 200
    path.unlink()
    path.mkdir()
    assert "There is nothing to show" in browser.page()
    path.rmdir()
    path.write_text(kept)
    assert "2 to decide" in browser.page()


QUERIES = (
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM 'people.csv'",
    "SELECT count(*) FROM read_csv('people.csv')",
    "COPY people TO '/tmp/dbdeid_stolen.csv'",
    "ATTACH '/tmp/dbdeid_stolen.db'",
    "INSTALL httpfs",
    "PRAGMA database_list",
    "SELECT count(*) FROM people; DROP TABLE people",
    "SELECT getenv('HOME')",
    "SELECT count(*) FROM people, glob('/etc/*')",
    "SELECT name, count(*) FROM people GROUP BY name",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
)


def test_no_question_reads_or_writes_anything_else(browser: Browser) -> None:
    for name in ("diagnosis", "flurb"):
        browser.role(name, "drop")
    assert browser.begun("run").state == "done"
    for sql in QUERIES:
        job = browser.begun("query", page="ask", sql=sql)
        assert job.state == "failed", sql
        assert not any(s.decode() in job.error for s in SECRETS if s != b"people.yml"), sql
    assert not [*Path("/tmp").glob("dbdeid_stolen*")]
