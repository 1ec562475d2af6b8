"""Attacks on the server: whoever is not the one browser gets nothing, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import FORM, HERE, HOST, PORT, Answer, Browser, asked


@pytest.fixture(scope="module")
def desk(drafted: tuple[Path, object], tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A browser on a specification that no attack may change."""
    import shutil

    folder = tmp_path_factory.mktemp("doors")
    shutil.copytree(drafted[0], folder, dirs_exist_ok=True)
    browser = Browser(folder / "people.yml").open()
    browser.room._source = browser.room._source_of(browser.room.desk.sheet())
    browser.room.looking.last["look"] = drafted[1]  # type: ignore[assignment]
    return browser


def refused(desk: Browser, answer: Answer, before: bytes) -> None:
    """Nothing of the page or the data is in an answer, and the file is as it was."""
    assert answer.status >= 400
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    for secret in (b"people", b"patient", b"age", b"Basel", b"release"):
        assert secret not in answer.body.replace(b"this page is", b"").replace(b"a page", b"")
    assert desk.room.desk.path.read_bytes() == before


READ = ("/", "/0/columns", "/0/release", "/0/state", "/static/ui.js", "/0/report/internal")

# Headers of a request to read that is not from the browser of the link.
STRANGERS: dict[str, list[tuple[str, str]]] = {
    "no cookie": [("host", HOST)],
    "an empty cookie": [("host", HOST), ("cookie", f"dbdeid_ui_{PORT}=")],
    "a guessed cookie": [("host", HOST), ("cookie", f"dbdeid_ui_{PORT}=" + "A" * 43)],
    "the cookie of another port": [("host", HOST), ("cookie", "dbdeid_ui_1=COOKIE")],
    "two cookies": [("host", HOST), ("cookie", "KEY"), ("cookie", f"dbdeid_ui_{PORT}=x")],
    "a cookie that is none": [("host", HOST), ("cookie", "\x00;;=\xff")],
    "the name of an attacker": [("host", "evil.example"), ("cookie", "KEY")],
    "a name that leads to loopback": [("host", f"127.0.0.1.nip.io:{PORT}"), ("cookie", "KEY")],
    "a name that ends alike": [("host", f"evil127.0.0.1:{PORT}"), ("cookie", "KEY")],
    "a name with a user": [("host", f"evil@127.0.0.1:{PORT}"), ("cookie", "KEY")],
    "another port": [("host", "127.0.0.1:80"), ("cookie", "KEY")],
    "no port": [("host", "127.0.0.1"), ("cookie", "KEY")],
    "another address": [("host", f"0.0.0.0:{PORT}"), ("cookie", "KEY")],
    "an address in other digits": [("host", f"2130706433:{PORT}"), ("cookie", "KEY")],
    "the address of six": [("host", f"[::1]:{PORT}"), ("cookie", "KEY")],
    "no host": [("cookie", "KEY")],
    "two hosts": [("host", HOST), ("host", "evil.example"), ("cookie", "KEY")],
    "a host in front of another": [("host", f"{HOST}, evil.example"), ("cookie", "KEY")],
    "another site": [("host", HOST), ("cookie", "KEY"), ("sec-fetch-site", "cross-site")],
    "another port of this site": [
        ("host", HOST),
        ("cookie", "KEY"),
        ("sec-fetch-site", "same-site"),
    ],
    "another origin": [("host", HOST), ("cookie", "KEY"), ("origin", "http://evil.example")],
    "an origin of no name": [("host", HOST), ("cookie", "KEY"), ("origin", "null")],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", READ)
@pytest.mark.parametrize("who", STRANGERS)
def test_a_stranger_reads_nothing(desk: Browser, who: str, path: str) -> None:
    before = desk.room.desk.path.read_bytes()
    key = desk.cookie.partition("=")[2]
    headers = [
        (name, value.replace("KEY", desk.cookie).replace("COOKIE", key))
        for name, value in STRANGERS[who]
    ]
    refused(desk, asked(desk.guard, "GET", path, headers), before)


# Headers of a form that is not sent by the page.
FORGED: dict[str, list[tuple[str, str]]] = {
    "no origin": [("content-type", FORM)],
    "another origin": [("content-type", FORM), ("origin", "http://evil.example")],
    "an origin of no name": [("content-type", FORM), ("origin", "null")],
    "an origin with another port": [("content-type", FORM), ("origin", "http://127.0.0.1:1")],
    "an origin of another name": [("content-type", FORM), ("origin", f"http://localhost:{PORT}")],
    "an origin by another scheme": [("content-type", FORM), ("origin", f"https://{HOST}")],
    "two origins": [("content-type", FORM), ("origin", HERE), ("origin", "http://evil.example")],
    "a form as text": [("content-type", "text/plain"), ("origin", HERE)],
    "a form with files": [("content-type", "multipart/form-data; boundary=x"), ("origin", HERE)],
    "a form as JSON": [("content-type", "application/json"), ("origin", HERE)],
    "no kind of form": [("origin", HERE)],
    "two kinds": [("content-type", FORM), ("content-type", "text/plain"), ("origin", HERE)],
    "another site": [("content-type", FORM), ("origin", HERE), ("sec-fetch-site", "cross-site")],
    "another port": [("content-type", FORM), ("origin", HERE), ("sec-fetch-site", "same-site")],
    "a length without end": [("content-type", FORM), ("origin", HERE), ("content-length", "9" * 9)],
    "a length below none": [("content-type", FORM), ("origin", HERE), ("content-length", "-1")],
    "two lengths": [
        *(("content-type", FORM), ("origin", HERE)),
        *(("content-length", "1"), ("content-length", "2")),
    ],
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_form_changes_nothing(desk: Browser, how: str) -> None:
    before = desk.room.desk.path.read_bytes()
    headers = [("host", HOST), ("cookie", desk.cookie), *FORGED[how]]
    body = f"version={desk.version}&page=columns&column=6&role=drop".encode()
    refused(desk, asked(desk.guard, "POST", "/0/role", headers, body), before)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(desk: Browser, method: str) -> None:
    before = desk.room.desk.path.read_bytes()
    headers = [("host", HOST), ("cookie", desk.cookie), ("origin", HERE), ("content-type", FORM)]
    refused(desk, asked(desk.guard, method, "/0/role", headers, b"role=drop"), before)


def test_the_link_works_once(drafted: tuple[Path, object]) -> None:
    browser = Browser(drafted[0] / "people.yml")
    token = browser.guard.token
    assert token is not None
    assert len(token) >= 43
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase()):
        assert browser.get("/", query=f"token={wrong}").status == 403
    assert browser.get("/", query=f"token={token}&token={token}").status == 403
    assert browser.get("/0/columns", query=f"token={token}").status == 403
    assert browser.get("/", ("sec-fetch-site", "cross-site"), query=f"token={token}").status == 403
    opened = browser.get("/", query=f"token={token}")
    assert opened.status == 303
    assert opened.headers["location"] == "/"
    words = opened.headers["set-cookie"]
    assert token not in words
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {word.strip() for word in words.split(";")}
    assert browser.get("/", query=f"token={token}").status == 403


PATHS = [
    "/static/../app.py",
    "/static/..%2fapp.py",
    "/static//etc/passwd",
    "/static/ui.js/../../app.py",
    "/static/base.html.j2",
    "/0/report/../../people.csv",
    "/0/report/people",
    "/0/../people.csv",
    "/-1/columns",
    "/1/columns",
    "/99999999999999999999/columns",
    "/0/people.csv",
    "//evil.example/",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(desk: Browser, path: str) -> None:
    answer = desk.get(path)
    assert answer.status in (404, 405)
    assert len(answer.body) < 30


FOLDERS = [
    "../out",
    "/tmp/out",
    "a/b",
    "..",
    ".",
    "",
    ".hidden",
    "a\\b",
    "a\x00b",
    "x" * 101,
    "a\nb",
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_elsewhere_is_filled(desk: Browser, folder: str) -> None:
    assert desk.send("begin", what="hand_out", folder=folder, page="release").status == 422
    assert "hand_out" not in desk.room.jobs.last


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("role", {"column": "99", "role": "drop"}),
        ("role", {"column": "-1", "role": "drop"}),
        ("role", {"column": "٣", "role": "drop"}),
        ("role", {"column": "../people", "role": "drop"}),
        ("role", {"column": "6", "role": "root"}),
        ("role", {"role": "drop"}),
        ("reason", {"column": "6", "reason": " \n"}),
        ("reason", {"column": "6", "reason": "x" * 2001}),
        ("protect", {"column": "6", "l": "1e9"}),
        ("protect", {"column": "6", "l": "-2"}),
        ("promise", {"k": "0", "limit": "5"}),
        ("promise", {"k": "5", "limit": "nan"}),
        ("promise", {"k": "5", "limit": "101"}),
        ("begin", {"what": "draft"}),
        ("begin", {"what": "__class__"}),
        ("subject", {"subject": "7"}),
    ],
)
def test_what_no_form_of_the_page_says_is_refused(
    desk: Browser, action: str, fields: dict[str, str]
) -> None:
    before = desk.room.desk.path.read_bytes()
    assert desk.send(action, **fields).status == 422
    assert desk.room.desk.path.read_bytes() == before
    assert desk.room.jobs.running is None


def test_too_many_fields_and_what_is_no_text(desk: Browser) -> None:
    before = desk.room.desk.path.read_bytes()
    assert desk.post("/0/role", "&".join(["column=6"] * 6000) + "&role=drop").status == 400
    headers = [("host", HOST), ("cookie", desk.cookie), ("origin", HERE), ("content-type", FORM)]
    assert asked(desk.guard, "POST", "/0/role", headers, b"role=\xff\xfe").status == 400
    assert desk.room.desk.path.read_bytes() == before


def test_every_answer_is_kept_by_nobody_and_framed_by_nobody(desk: Browser) -> None:
    for path in READ[1:5]:
        found = desk.get(path).headers
        assert found["cache-control"] == "no-store"
        assert found["x-frame-options"] == "DENY"
        assert found["x-content-type-options"] == "nosniff"
        assert found["cross-origin-resource-policy"] == "same-origin"
        policy = found["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_two_tabs_that_edit_at_once(browser: Browser) -> None:
    version = browser.version
    first = browser.send("role", version=version, column="6", role="drop")
    assert first.status == 200
    second = browser.send("role", version=version, column="6", role="insensitive")
    assert second.status == 409
    assert "nothing was written" in second.text
    assert 'data-version="' + browser.version in second.text  # the newer one is shown
    assert "  flurb: {role: drop}" in browser.room.desk.path.read_text()


def test_work_is_not_begun_on_another_text_than_was_shown(browser: Browser) -> None:
    version = browser.version
    browser.role("flurb", "drop")
    assert browser.send("begin", version=version, what="run", page="release").status == 409
    assert "run" not in browser.room.jobs.last
