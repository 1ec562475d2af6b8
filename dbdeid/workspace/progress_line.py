"""What work says of itself while it goes on: one line, on a terminal or in a notebook."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbdeid.report.content.proof import at_least, percent

if TYPE_CHECKING:
    from dbdeid.workspace.progress import Notify, Placed, Progress, Weighed

BETWEEN = 0.1  # seconds from one look at a search to the next


# The phases of a run, which has all of them in this order.
PHASES = ("prepare", "search", "write", "verify", "evaluate", "compare", "publish")


class Line:
    """A line on a terminal with the time since the work began, which runs on while it stands."""

    def __init__(self, show: Callable[[Any], None]) -> None:
        self._show, self._began, self._text = show, time.monotonic(), ""

    def tell(self, text: str) -> None:
        """Put a line in place of the last."""
        self._text = text
        self._show(self)

    def __rich__(self) -> str:
        """What stands on the terminal now."""
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        from rich.markup import escape

        return f"{escape(self._text)}, {minutes}:{seconds:02}"


def telling(show: Callable[[str], None], phases: Sequence[str] = ()) -> Notify:
    """A listener that shows each phase, and now and then how far a search has come.

    Args:
        show: puts a line in place of the last.
        phases: all that there will be in their order, which are then counted.
    """
    told = 0.0

    def notify(phase: str, found: Progress | Placed | Weighed | None) -> None:
        nonlocal told
        now = time.monotonic()
        if found is None or now - told > BETWEEN:
            told = now
            step = f"{phases.index(phase) + 1}/{len(phases)} " if phase in phases else ""
            show(step + following(phase, found))

    return notify


@contextmanager
def progress() -> Iterator[Notify]:
    """A line that follows the work, in a notebook or on standard error; it goes when that ends.

        with dbdeid.progress() as notify:
            result = dbdeid.run("visits.yml", notify=notify)

    Where there is neither a notebook nor a terminal, nothing is shown.
    """
    if _in_notebook():
        from IPython.display import display

        handle: Any = display({"text/plain": "starting"}, raw=True, display_id=True)

        def show(line: str) -> None:
            handle.update({"text/plain": line}, raw=True)

        try:
            yield telling(show)
        finally:
            show("")
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("starting") as status:
            yield telling(Line(status.update).tell)
    else:
        yield telling(lambda line: None)


def _in_notebook() -> bool:
    """Whether a kernel runs this; IPython is never loaded for asking."""
    loaded = sys.modules.get("IPython")
    shell = loaded.get_ipython() if loaded is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def following(phase: str, found: Progress | Placed | Weighed | None) -> str:
    """Show progress in one line, with the best result so far and its proven distance."""
    from dbdeid.workspace.progress import Placed, Weighed

    if found is None:
        return phase
    if isinstance(found, Placed):
        return f"{phase}: {found.records:,} of {found.total:,} records have a class"
    if isinstance(found, Weighed):
        return f"{phase}: {found.evaluated:,} of {found.budget:,} policies evaluated"
    line = f"{phase}: {found.checked:,} checked{_after(found.seconds)}, {found.open:,} open"
    if math.isinf(found.best):
        return f"{line}, nothing found yet"
    line += f", best so far {found.best:.5g}"
    gap = (found.best - found.lower_bound) / abs(found.best) if found.best else 0.0
    return f"{line}, proven at least {at_least(found.lower_bound)} (gap {percent(gap)})"


def _after(seconds: float) -> str:
    """How long something has taken; nothing before a second."""
    if seconds < 1:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f" in {minutes} min {rest} s" if minutes else f" in {rest} s"
