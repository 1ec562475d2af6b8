"""Where cases are run, and their count at the end of the output."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bad_input.place import make_template

_done: Counter[str] = Counter()
_slowest = (0.0, "")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("bad_input") / "template")


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Any:
    """Counts a case that went through, under its room, and remembers the slowest refusal."""

    def count(room: str, name: str, code: int = 0, seconds: float = 0.0) -> None:
        global _slowest
        _done[room] += 1
        if code == 2:
            _slowest = max(_slowest, (seconds, name))

    return count


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _done:
        rooms = ", ".join(f"{room} {count}" for room, count in sorted(_done.items()))
        terminalreporter.write_line(f"bad input: {sum(_done.values())} cases hold ({rooms})")
        terminalreporter.write_line("slowest refusal in process: {:.2f} s, {}".format(*_slowest))
