"""How text stands on a terminal: wrapped at its width under its own label, and coloured.

What is piped or written to a file stays as it is, a line for each thing that is said.
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from typing import TextIO

# What a line begins with, and how it is shown: the words that say whether something is right.
_TONES = (
    (re.compile(r"(error|interrupted)\b"), "31;1"),
    (re.compile(r"(not for publication|promises NOT verified|useless)\b"), "31;1"),
    (re.compile(r" +(FAIL|UNTRUTHFUL)\b"), "31;1"),
    (re.compile(r"failed +"), "31;1"),
    (re.compile(r" +(warning)\b"), "33;1"),
    (re.compile(r" *(note)\b"), "33"),
    (re.compile(r" +Hint:"), "36"),
    (re.compile(r"promises verified\b"), "32;1"),
    (re.compile(r" +promises +verified\b"), "32;1"),
    (re.compile(r"success +"), "32;1"),
)
# A label, or the first cells of a row, with the blanks behind: the rest stands under itself.
_LABEL = re.compile(r" *(?:\S+(?: \S+)* {2,})?")
_NARROW = 20


def shown(text: str, stream: TextIO) -> str:
    """Text as a stream shows it: laid out where that is a terminal, else as it is."""
    if not stream.isatty():
        return text
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return laid_out(text, shutil.get_terminal_size().columns, colour=colour)


def laid_out(text: str, width: int, *, colour: bool = False) -> str:
    """Lines of at most so many letters, with the words that judge in their colours.

    Args:
        text: of several lines.
        width: of the terminal.
        colour: whether to colour.
    """
    lines = [part for line in text.split("\n") for part in _wrapped(line, width)]
    return "\n".join(map(_coloured, lines) if colour else lines)


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    label = _LABEL.match(line)
    indent = label.end() if label else 0
    blanks = len(line) - len(line.lstrip(" "))
    if width - indent < _NARROW:  # no room beside the label
        indent = min(blanks + 2, max(width - _NARROW, 0))
    head, rest = line[:blanks], line[blanks:]
    return textwrap.wrap(
        rest,
        max(width, _NARROW),
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        drop_whitespace=True,
    )


def _coloured(line: str) -> str:
    for pattern, tone in _TONES:
        if found := pattern.match(line):
            return f"\x1b[{tone}m{found[0]}\x1b[0m{line[found.end() :]}"
    return line
