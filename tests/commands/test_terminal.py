"""Text on a terminal: any width, colours that can be turned off, and the same bytes in a pipe."""

from __future__ import annotations

import io
import os

import pytest

from dbdeid.cli.terminal import laid_out, shown
from dbdeid.cli.text import layout
from dbdeid.cli.text.release.evaluation import HEADLINES, evaluated, headline
from dbdeid.workspace.progress_line import PHASES, Line, telling

RUN = (
    "adult: 9 of 10 records released, 1 suppressed (10.0%)\n"
    "  not promised  hours leave as they are: hours alone singles out 5 of 31,134 records\n"
    "  note          hours is published unchanged. Your reason: nobody knows another's hours\n"
    "  promises      verified, with 14.4% unique"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [20, 40, 60, 79, 120, 300])
def test_lines_are_wrapped_under_their_own_label(width: int) -> None:
    lines = laid_out(RUN, width).split("\n")
    longest = max(map(len, RUN.split()))
    assert all(len(line) <= max(width, longest + 16) for line in lines)
    assert " ".join(laid_out(RUN, width).split()) == " ".join(RUN.split())  # no word is lost
    if width == 60:
        note = next(i for i, line in enumerate(lines) if line.startswith("  note"))
        assert lines[note + 1].startswith(" " * 16 + "nobody knows")


def test_only_a_terminal_gets_colours_and_only_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    assert shown(RUN, io.StringIO()) == RUN
    told = shown(RUN, Terminal())
    assert "\x1b[33m  note\x1b[0m" in told
    assert "\x1b[32;1m  promises      verified\x1b[0m, with 14.4% unique" in told
    assert shown("error: no such file", Terminal()).startswith("\x1b[31;1merror\x1b[0m:")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with pytest.MonkeyPatch.context() as own:
            own.setenv(name, value)
            assert "\x1b" not in shown(RUN, Terminal())
    assert "\x1b" not in laid_out(RUN, 200)


def test_a_table_is_folded_where_it_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("age", "a long sentence about what the column holds and why"), ("sex", "short")]
    plain = layout.grid(("column", "meaning"), rows)
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((36, 24)))
    folded = layout.grid(("column", "meaning"), rows)
    assert max(map(len, folded.split("\n"))) <= 36
    assert " ".join(folded.split()) == " ".join(plain.split())
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((200, 24)))
    assert layout.grid(("column", "meaning"), rows) == plain


def test_a_run_counts_its_phases_and_the_time_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    telling(said.append, PHASES)("verify", None)
    telling(said.append)("verify", None)
    assert said == ["4/7 verify", "verify"]
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    drawn: list[Line] = []
    line = Line(drawn.append)
    line.tell("7/7 publish [x]")
    now += 101
    assert drawn[0].__rich__() == r"7/7 publish \[x], 1:41"


def test_the_first_metrics_are_told_with_their_direction() -> None:
    metrics = {
        **{"loss": 0.25, "discernibility": 9.0, "precision": 0.5, "height": 3.0, "ambiguity": 2.0},
        **{"distribution": 0.1, "distribution.age": 0.1, "propensity": 0.2, "association": 0.3},
        **{"mutual_information.illness": 1.5},
    }
    assert headline(metrics) == [
        *("loss", "distribution", "association", "propensity", "discernibility"),
    ]
    assert len(headline(metrics)) == HEADLINES
    found = {"metrics": metrics, "recoding": "global", "queries": None, "models": None}
    text = evaluated(found)
    assert "loss            0.25   lower" in text
    assert "5 more figures: --all, or --json" in text
    assert "mutual_information.illness" not in text
    assert all(name in evaluated(found, every=True) for name in metrics)
