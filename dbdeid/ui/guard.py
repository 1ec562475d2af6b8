"""What stands before every page: only the browser of whoever started the server gets any further.

The server listens on loopback. Other web pages in the same browser, and other users of the machine,
can reach that, so each request must come to a name of loopback (no rebinding of DNS), from no other
site, and with the cookie that the link on the terminal gave once.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST = 1_000_000  # bytes of a form
FORM = b"application/x-www-form-urlencoded"
# Of a page of ours: nothing inline, nothing of other servers, nothing around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Of a report, which has its styles in itself, no script, and asks nobody anything.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox allow-popups"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Guard:
    """Middleware that lets through what comes from the one browser, and says nothing to others.

    Args:
        app: behind it.
        port: that the server listens on.

    Attributes:
        token: of the link, good for one visit.
    """

    def __init__(self, app: App, port: int) -> None:
        self.app = app
        self.token: str | None = secrets.token_urlsafe(32)
        self._secret = secrets.token_urlsafe(32)
        self._cookie = f"dbdeid_ui_{port}"  # cookies know no ports
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        why = self._refused(scope)
        if why is not None:
            return await _plain(send, *why)
        if (link := self._link(scope)) is not None:
            return await self._open(send, link)
        if not self._known(scope):
            told = "this page is for the browser that its link was opened in: see the terminal"
            return await _plain(send, 403, told)
        await self.app(scope, _bounded(receive), _guarded(send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is none of ours, whoever it is from."""
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server has another name"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "this method is not known"
        if any(site not in (b"same-origin", b"none") for site in _all(scope, b"sec-fetch-site")):
            return 403, "requests of other sites are refused"
        origins = _all(scope, b"origin")
        if any(origin.lower() != b"http://" + hosts[0].lower() for origin in origins):
            return 403, "requests of other sites are refused"
        if scope["method"] != "POST":
            return None
        if len(origins) != 1:
            return 403, "a form says where it was sent from"
        kinds = _all(scope, b"content-type")
        if len(kinds) != 1 or kinds[0].split(b";")[0].strip().lower() != FORM:
            return 415, "only forms are taken, and no files"
        lengths = _all(scope, b"content-length")
        if len(lengths) > 1 or any(not n.isdigit() or int(n) > LARGEST for n in lengths):
            return 413, "this form is too large"
        return None

    def _link(self, scope: Scope) -> str | None:
        """The token of a request that comes by the link of the terminal."""
        if scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
        return given[0] if given and len(given) == 1 else None

    async def _open(self, send: Send, given: str) -> None:
        """The link, which is good for one visit, becomes a cookie that no script can read."""
        if self.token is None or not hmac.compare_digest(given.encode(), self.token.encode()):
            told = "this link was used before, or is none: the terminal shows how to get one"
            return await _plain(send, 403, told)
        self.token = None
        cookie = f"{self._cookie}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        headers += HEADERS.items()
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _known(self, scope: Scope) -> bool:
        found = []
        for header in _all(scope, b"cookie"):
            try:
                cookies = SimpleCookie(header.decode("latin-1"))
            except CookieError:
                return False
            found += [one.value for name, one in cookies.items() if name == self._cookie]
        return len(found) == 1 and hmac.compare_digest(found[0].encode(), self._secret.encode())


def _all(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def _bounded(receive: Receive) -> Receive:
    """The body of a request as far as a form goes: who sends more is gone."""
    left = LARGEST

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return bounded


def _guarded(send: Send) -> Send:
    """Answers that no browser keeps, and in which nothing runs that is not ours."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower(): value for key, value in message.get("headers", ())}
            report = own.get(b"content-security-policy") == REPORT_POLICY.encode()
            kept = [(k, v) for k, v in own.items() if k not in HEADERS]
            headers = HEADERS | (
                {b"content-security-policy": REPORT_POLICY.encode()} if report else {}
            )
            message = {**message, "headers": [*kept, *headers.items()]}
        await send(message)

    return guarded


async def _plain(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *HEADERS.items(),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
