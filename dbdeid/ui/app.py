"""The pages and what their forms do."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
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
from dbdeid.errors import DbdeidError
from dbdeid.report import page as report_page
from dbdeid.ui.background.jobs import Job
from dbdeid.ui.deeds import DEEDS, Deed, Fields, done
from dbdeid.ui.guard import REPORT_POLICY
from dbdeid.ui.rooms import Room
from dbdeid.ui.views import ask_page, columns_page, levels_page, release_page, tradeoff_page

HERE = Path(__file__).parent
MOST_FIELDS = 5_000
PAGES = {
    "columns": "Columns",
    "levels": "Levels",
    "tradeoff": "Trade-off",
    "release": "Release",
    "ask": "Ask",
}
_STATIC = {
    "ui.css": (HERE / "pages" / "ui.css", "text/css"),
    "ui.js": (HERE / "pages" / "ui.js", "text/javascript"),
    "style.css": (Path(report_page.__file__).parent / "style.css", "text/css"),
}


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
        status = await run_in_threadpool(done, room, deed, fields)
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
