"""The pages and what their forms do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dbdeid.data.figures import count, share
from dbdeid.errors import DataError, DbdeidError
from dbdeid.report import page as report_page
from dbdeid.ui import (
    ask_page,
    columns_page,
    decisions,
    hierarchy_edits,
    levels_page,
    release_page,
    tradeoff_page,
)
from dbdeid.ui.desk import Sheet, Stale
from dbdeid.ui.guard import REPORT_POLICY
from dbdeid.ui.jobs import Job
from dbdeid.ui.rooms import Room

HERE = Path(__file__).parent
MOST_FIELDS = 5_000
PAGES = {
    "columns": "Columns",
    "levels": "Levels",
    "tradeoff": "Trade-off",
    "release": "Release",
    "ask": "Ask",
}
LONGEST_QUERY = 20_000  # characters
# What a button may begin, and what it takes.
BEGUN = (*("check", "search", "run", "trial", "report", "verify", "releases", "hand_out", "query"),)
_STATIC = {
    "ui.css": (HERE / "pages" / "ui.css", "text/css"),
    "ui.js": (HERE / "pages" / "ui.js", "text/javascript"),
    "style.css": (Path(report_page.__file__).parent / "style.css", "text/css"),
}

Form = list[tuple[str, str]]
Deed = Callable[[Room, Sheet, "Fields"], None]


class Fields:
    """What a form says."""

    def __init__(self, pairs: Form) -> None:
        self._pairs = pairs

    def one(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        return next((value for key, value in self._pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        """All its values."""
        return [value for key, value in self._pairs if key == name]


def application(rooms: Sequence[Room]) -> Starlette:
    """The pages of some specifications."""
    return Starlette(routes=Pages(rooms).routes())


class Pages:
    """The pages of some specifications.

    Args:
        rooms: theirs, in the order of their numbers.
    """

    def __init__(self, rooms: Sequence[Room]) -> None:
        self.rooms = rooms
        self.environment = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters |= {"count": count, "share": share}

    def routes(self) -> list[Route]:
        """All addresses: none holds anything of the data."""
        found = [
            Route("/", self.start, methods=["GET"]),
            Route("/favicon.ico", self.nothing, methods=["GET"]),
            Route("/static/{name}", self.static, methods=["GET"]),
            Route("/{room:int}/state", self.state, methods=["GET"]),
            Route("/{room:int}/report/{audience}", self.report, methods=["GET"]),
        ]
        for name in PAGES:
            show = functools.partial(self.page, name=name)
            found.append(Route(f"/{{room:int}}/{name}", show, methods=["GET"]))
        for name, deed in DEEDS.items():
            act = functools.partial(self.act, deed=deed)
            found.append(Route(f"/{{room:int}}/{name}", act, methods=["POST"]))
        return found

    # -- answers -------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """The first page: of one specification its columns, of a project its list."""
        if len(self.rooms) == 1:
            return RedirectResponse("/0/columns", 303)
        paths = [(r.desk.path, r.place.folder) for r in self.rooms]
        shown = (p.relative_to(f) if p.is_relative_to(f) else p.name for p, f in paths)
        listed = list(enumerate(shown))
        return HTMLResponse(self._rendered("start.html.j2", listed=listed))

    async def nothing(self, request: Request) -> Response:
        """No picture: browsers ask for one."""
        return Response(status_code=204)

    async def static(self, request: Request) -> Response:
        """A style or the script."""
        found = _STATIC.get(request.path_params["name"])
        if found is None:
            return Response(status_code=404)
        return Response(found[0].read_bytes(), media_type=f"{found[1]}; charset=utf-8")

    async def state(self, request: Request) -> Response:
        """What the script asks again and again: which text there is, and what runs."""
        room = self._room(request)
        if room is None:
            return Response(status_code=404)
        return JSONResponse(await run_in_threadpool(_state, room))

    async def page(self, request: Request, name: str) -> Response:
        """A page as it is now."""
        room = self._room(request)
        if room is None:
            return Response(status_code=404)
        return await run_in_threadpool(self._page, room, name)

    async def act(self, request: Request, deed: Deed) -> Response:
        """Do what a form says, and show its page again."""
        room = self._room(request)
        if room is None:
            return Response(status_code=404)
        try:
            pairs = parse_qsl(
                (await request.body()).decode("utf-8"),
                keep_blank_values=True,
                max_num_fields=MOST_FIELDS,
            )
        except ValueError:
            return Response(status_code=400)
        fields = Fields(pairs)
        status = await run_in_threadpool(_done, room, deed, fields)
        name = fields.one("page")
        name = name if name in PAGES else "columns"
        if request.headers.get("dbdeid-part") != "page":
            return RedirectResponse(f"/{self.rooms.index(room)}/{name}", 303)
        shown = await run_in_threadpool(self._page, room, name)
        shown.status_code = status
        return shown

    async def report(self, request: Request) -> Response:
        """A report that this page had written."""
        room, audience = self._room(request), request.path_params["audience"]
        if room is None or audience not in ("internal", "public"):
            return Response(status_code=404)
        path = _report_of(room, audience)
        if path is None or not path.is_file():
            return Response(status_code=404)
        headers = {"content-security-policy": REPORT_POLICY}
        return HTMLResponse(path.read_text(encoding="utf-8"), headers=headers)

    # -- parts ---------------------------------------------------------------------------------

    def _room(self, request: Request) -> Room | None:
        number = request.path_params["room"]
        return self.rooms[number] if number < len(self.rooms) else None

    def _page(self, room: Room, name: str) -> HTMLResponse:
        """A page, or why there is none: the file may be gone, or be no text."""
        try:
            return self._shown(room, name)
        except DbdeidError as error:
            job = {"what": "", "line": "", "state": "failed", "error": str(error)}
            return HTMLResponse(self._rendered("wait.html.j2", **self._common(room, name), job=job))

    def _common(self, room: Room, name: str) -> dict[str, Any]:
        return {
            "room": self.rooms.index(room),
            "page": name,
            "pages": PAGES,
            "several": len(self.rooms) > 1,
            "spec": room.desk.path.name,
            "notices": _notices(room),
        }

    def _shown(self, room: Room, name: str) -> HTMLResponse:
        room.ensure()
        if not room.desk.path.exists():
            waiting = self._common(room, name) | {"job": _told(room.drafting)}
            return HTMLResponse(self._rendered("wait.html.j2", **waiting))
        sheet = room.desk.sheet()
        common = self._common(room, name)
        view: Mapping[str, Any]
        if name == "columns":
            view = columns_page.view(sheet, room.looked)
        elif name == "levels":
            settings = room.task("look").settings
            view = levels_page.view(sheet, room.looked, room.ladders, room.chosen, settings)
        elif name == "tradeoff":
            settings = room.task("look").settings
            view = tradeoff_page.view(sheet, room.looked, room.jobs, room.ladders, settings)
        elif name == "ask":
            view = ask_page.view(sheet, room.jobs)
        else:
            view = release_page.view(sheet, room.jobs)
        common |= {
            "sheet": sheet,
            "version": sheet.version,
            "diff": room.desk.diff(),
            "undoable": room.desk.undoable,
            "running": _told(room.jobs.running),
            "looking": _told(room.looking.running),
            "look_failed": _failure(room.looking.last.get("look")),
        }
        return HTMLResponse(self._rendered(f"{name}.html.j2", **common, **view))

    def _rendered(self, template: str, **given: Any) -> str:
        return self.environment.get_template(template).render(**given)


def _notices(room: Room) -> list[tuple[str, str]]:
    found = list(room.notices)
    room.notices.clear()
    return found


def _told(job: Job | None) -> Mapping[str, Any] | None:
    if job is None:
        return None
    return {"what": job.what, "line": job.line, "state": job.state, "error": job.error}


def _failure(job: Job | None) -> str:
    return job.error if job is not None and job.state == "failed" else ""


def _state(room: Room) -> Mapping[str, Any]:
    version = ""
    with suppress(DbdeidError):  # a page says what is wrong with the file
        room.ensure()
        version = room.desk.sheet().version if room.desk.path.exists() else ""
    running = room.jobs.running or room.looking.running
    ended = sum(
        job.state != "running" for jobs in (room.jobs, room.looking) for job in jobs.last.values()
    )
    return {
        "version": version,
        "running": running.what if running else None,
        "line": running.line if running else "",
        "ended": ended,
    }


def _report_of(room: Room, audience: str) -> Path | None:
    job = room.jobs.last.get("report")
    if job is None or job.result is None or job.result["audience"] != audience:
        return None
    path = Path(job.result["page"]).resolve()
    return path if path.is_relative_to(room.place.folder) else None


def _done(room: Room, deed: Deed, fields: Fields) -> int:
    """Do what a form says; what went wrong is said on the page."""
    try:
        deed(room, room.desk.sheet(), fields)
    except Stale as error:
        room.notices.append(("bad", str(error)))
        return 409
    except DbdeidError as error:
        room.notices.append(("bad", str(error)))
        return 422
    return 200


# -- what forms do -------------------------------------------------------------------------------


def _chosen(room: Room, sheet: Sheet, fields: Fields) -> list[str]:
    names = columns_page.names_of(sheet, room.looked)
    found = [room.number(text, names) for text in fields.all("column")]
    if not found:
        raise DataError("no column is chosen", hint="tick those that are meant")
    return found


def _role(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, role = _chosen(room, sheet, fields), fields.one("role")
    proposed = columns_page.proposals(room.looked, role)
    room.desk.edit(
        fields.one("version"), lambda data: decisions.give_role(data, names, role, proposed)
    )


def _adopt(room: Room, sheet: Sheet, fields: Fields) -> None:
    names = _chosen(room, sheet, fields)
    agreed = columns_page.agreed(room.looked, names)

    def make(data: decisions.Data) -> None:
        for role, some in agreed.items():
            proposed = columns_page.proposals(room.looked, role)
            decisions.give_role(data, some, role, proposed)

    if not any(agreed.values()):
        raise DataError("nothing is proposed for these columns", hint="give them a role yourself")
    room.desk.edit(fields.one("version"), make)


def _reason(room: Room, sheet: Sheet, fields: Fields) -> None:
    names = _chosen(room, sheet, fields)
    room.desk.edit(
        fields.one("version"), lambda data: decisions.give_reason(data, names, fields.one("reason"))
    )


def _protect(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, least = _chosen(room, sheet, fields), _whole(fields.one("l", "2"), 2, 1000)
    room.desk.edit(
        fields.one("version"),
        lambda data: decisions.protect(data, names, least),
    )


def _accept(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, reason = _chosen(room, sheet, fields), fields.one("reason")
    room.desk.edit(
        fields.one("version"),
        lambda data: decisions.accept_homogeneity(data, names, reason),
    )


def _subject(room: Room, sheet: Sheet, fields: Fields) -> None:
    given = fields.one("subject")
    names = columns_page.names_of(sheet, room.looked)
    name = room.number(given, names) if given not in ("", "rows") else ""
    make = (
        decisions.count_rows
        if given == "rows"
        else functools.partial(decisions.name_subject, name=name)
    )
    room.desk.edit(fields.one("version"), make)


def _promise(room: Room, sheet: Sheet, fields: Fields) -> None:
    k = _whole(fields.one("k"), 1, 1_000_000)
    percent = _number(fields.one("limit"), 0.0, 100.0)
    limit = round(percent / 100, 6)
    room.desk.edit(fields.one("version"), lambda data: decisions.promise(data, k, limit))


def _method(room: Room, sheet: Sheet, fields: Fields) -> None:
    name = fields.one("method")
    room.desk.edit(fields.one("version"), lambda data: decisions.choose_method(data, name))


def _level(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    level, which = _whole(fields.one("level"), 0, 1000), fields.one("which")
    room.desk.edit(
        fields.one("version"), lambda data: hierarchy_edits.allow(data, name, level, which)
    )


def _hierarchy(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    kind = fields.one("kind")
    text = fields.one({"shelf": "shelf", "file": "file"}.get(kind, "text"))
    files = hierarchy_edits.files_beside(sheet.file) if sheet.file is not None else []
    made = hierarchy_edits.told(kind, text, fields.one("lower"), fields.one("upper"), files)
    room.desk.edit(fields.one("version"), lambda data: hierarchy_edits.replace(data, name, made))


def _merge(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    values = [str(v) for v, _ in (room.looked or {}).get("values", {}).get(name, ())]
    level = _whole(fields.one("level"), 0, 1000)
    into, labels = fields.one("into"), fields.all("label")
    room.desk.edit(
        fields.one("version"),
        lambda data: hierarchy_edits.merge(data, name, level, labels, into, values),
    )


def _undo(room: Room, sheet: Sheet, fields: Fields) -> None:
    room.desk.undo(fields.one("version"))


def _begin(room: Room, sheet: Sheet, fields: Fields) -> None:
    what = fields.one("what")
    if what not in BEGUN:
        raise DataError("there is no such work", hint=", ".join(BEGUN))
    if fields.one("version") != sheet.version:
        raise Stale(
            "the file has changed since this page was shown, and nothing was begun",
            hint="this is how it is now: look at it, and begin again",
        )
    given: dict[str, Any] = {}
    if what == "report":
        given["audience"] = "public" if fields.one("audience") == "public" else "internal"
    if what == "hand_out":
        given["folder"] = str(room.inside(fields.one("folder")))
    if what == "search":
        given |= {"ks": fields.one("ks").strip(), "limits": _shares(fields.one("limits"))}
    if what == "query":
        given |= {"sql": fields.one("sql")[:LONGEST_QUERY], "trial": fields.one("trial") == "yes"}
    if what == "trial":
        what, given["trial"] = "run", True
    room.jobs.begin(room.task(what, **given), sheet.version)


def _cancel(room: Room, sheet: Sheet, fields: Fields) -> None:
    room.jobs.cancel()


def _shares(text: str) -> str:
    """Shares from percentages, as `0, 2, 5`."""
    words = [word for word in text.replace(";", ",").split(",") if word.strip()]
    return ",".join(f"{_number(word.strip().rstrip('%'), 0.0, 100.0) / 100:g}" for word in words)


def _whole(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise DataError("this is no number that fits here", hint=f"{least} to {most:,}")
    return int(text)


def _number(text: str, least: float, most: float) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not least <= found <= most:
        raise DataError("this is no number that fits here", hint=f"{least:g} to {most:g}")
    return found


DEEDS: Mapping[str, Deed] = {
    "role": _role,
    "adopt": _adopt,
    "reason": _reason,
    "protect": _protect,
    "accept": _accept,
    "subject": _subject,
    "promise": _promise,
    "method": _method,
    "level": _level,
    "hierarchy": _hierarchy,
    "merge": _merge,
    "undo": _undo,
    "begin": _begin,
    "cancel": _cancel,
}
