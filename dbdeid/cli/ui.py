"""The command that opens a page to decide on, and the process in which the page has work done."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Options, guarded, show
from dbdeid.errors import Failure, MissingExtra


def ui(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|SPEC|PROJECT", help="A table, a spec, or a project.")
    ],
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Of a database its table.")
    ] = None,
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the link in a browser.")
    ] = True,
    options: Options,
) -> None:
    """Decide on a release in a browser.

    The page is for this machine and one browser only. Each click changes the spec, whose comments
    stay, and shows what it changed; the spec is then run, reviewed and kept in git as any other.
    For a table without a spec one is drafted beside it. Ctrl-C ends it.

    dbdeid ui visits.csv

    dbdeid ui visits.yml --no-browser
    """
    try:
        from dbdeid.ui.serving import opened, serving
    except ImportError as error:
        raise MissingExtra(str(error.name), extra="ui") from None

    place = opened(source, table)
    with serving(place, port=port, options=_limits(options)) as server:
        link = server.link
        show(
            options,
            {"url": link, "spec": str(place.specs[0] if len(place.specs) == 1 else place.folder)},
            _told(link),
        )
        sys.stdout.flush()
        if browser and not options.json:
            import webbrowser

            webbrowser.open(link)
        server.wait()
        show(options, None, "closed")


def _limits(options: Options) -> dict[str, object]:
    return {
        "database": options.database,
        "threads": options.threads,
        "memory_limit": options.memory_limit,
    }


def _told(link: str) -> str:
    return f"open {link}\n  it works once, in one browser on this machine; Ctrl-C closes the page"


def work() -> None:
    """Do one piece of work for a page; the task comes on standard input, as a line of JSON."""
    from dbdeid.ui.background.work import Task, perform

    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stdout = sys.stderr  # whatever else is printed is none of the answer

    def say(what: str, value: object) -> None:
        told.write(json.dumps({what: value}) + "\n")
        told.flush()

    task = Task.of(json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_page, daemon=True).start()
    try:
        done = guarded(lambda: perform(task, lambda line: say("progress", line)))
    except KeyboardInterrupt:
        os._exit(130)
    if isinstance(done, Failure):
        say("failed", done.message)
    else:
        say("done", done)
    told.close()
    os._exit(0)


def _end_with_the_page() -> None:
    """When the server is gone, nobody waits for the work."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)
