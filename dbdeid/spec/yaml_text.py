"""The text of a specification as plain values, with the line of every key.

The reader must not be made to work for minutes: what is nested too deeply or unfolds into too much
is refused.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dbdeid.data.json import Json, JsonObject
from dbdeid.errors import Mistake, SpecError

Path_ = tuple[str | int, ...]

# A spec is written by hand: what is larger is a mistake or an attack.
LARGEST, MOST_NODES, DEEPEST = 250_000, 100_000, 20
# The YAML reader takes seconds for thousands of brackets, and minutes for thousands of merges.
_TOO_DEEP, MOST_MERGES = re.compile(r"(?:[\[{]\s*){100}"), 500

_SHALLOW = "a spec needs no deep nesting and few anchors"


def load(text: str, name: str) -> tuple[Any, Mapping[Path_, int]]:
    """The plain values of YAML or JSON text, and the line of each key path.

    Args:
        text: what was read.
        name: how messages call it.

    Raises:
        SpecError: it is neither, or too much.
    """
    if len(text) > LARGEST:
        raise SpecError(
            f"longer than {LARGEST:,} characters",
            source=name,
            hint="keep long lists of values in hierarchy files",
        )
    if _TOO_DEEP.search(text) or text.count("<<") > MOST_MERGES:
        raise SpecError("nested too deeply, or unfolds into too much", source=name, hint=_SHALLOW)
    if other := re.search(r"^%YAML +(?!1\.2\b)(\S*)", text, re.MULTILINE):
        line = text.count("\n", 0, other.start()) + 1
        hint = "leave the line that begins with %YAML out"
        raise SpecError([Mistake("a spec is YAML 1.2", line=line, hint=hint)], source=name)
    try:
        data, lines = Plain(name).of(_yaml(text, name))
    except SpecError:
        found = _json(text)
        if found is None:
            raise
        return Plain(name).of(found)[0], {}
    # Only JSON reads its own escapes right; YAML knows the lines.
    return _json(text) or data, lines


def _json(text: str) -> Any:
    """The value of JSON text without repeated keys, else None."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Json]]) -> JsonObject:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _yaml(text: str, name: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    yaml = YAML(typ="rt", pure=True)
    yaml.version = (1, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of reused anchors, which mean what they say
            return yaml.load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        key = _duplicate(error)
        mistake = Mistake(f"the key {key} is repeated", line=line, hint="keep one of them")
        raise SpecError([mistake], source=name) from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        mistake = Mistake(f"not valid YAML: {error.problem}", line=line, hint=_help(error, text))
        raise SpecError([mistake], source=name) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"not valid YAML: the character U+{error.character:04X} is not allowed"
        mistake = Mistake(what, line=line, hint="a spec is plain text, saved as UTF-8")
        raise SpecError([mistake], source=name) from None
    except (YAMLError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        # ruamel lets the errors of Python through, for example of a tag that does not fit
        hint = "leave tags, deep nesting and numbers of thousands of digits out"
        raise SpecError([Mistake("not valid YAML", hint=hint)], source=name) from None


def _help(error: Any, text: str) -> str:
    """What the words of the YAML reader mean for someone who has never met them."""
    lines, problem = text.splitlines(), str(error.problem)
    mark = error.problem_mark
    if mark and mark.line < len(lines) and re.match(r" *\t", lines[mark.line]):
        return "tabs are not allowed: indent with blanks"
    found = (hint for sign, hint in _YAML_HINTS if re.search(sign, problem))
    hint = next(found, "look at this line and the one before it")
    opened = error.context_mark
    if hint.endswith("closed") and opened and mark and opened.line < mark.line:
        hint += f"; look at line {opened.line + 1}"
    return hint


_INDENTATION = (
    "check the indentation: keys of one level start in one column; quote text that holds `: `"
)
_YAML_HINTS = (
    (r"another document", "one spec a file: take everything from the second `---` on away"),
    (r"undefined alias", "an anchor (&name) comes before its alias; put text with * in quotes"),
    (r"unexpected end of stream", "a quote is not closed"),
    (r"expected ',' or '[}\]]'", "a comma is missing, or a brace or bracket is not closed"),
    (r"but found '[}\]]'", "a closing brace or bracket too many"),
    (r"but found '<scalar>'", "put the text in double quotes"),
    (r"node content, but found ','", "a comma too many"),
    (r"but found '<stream end>'", "a brace or bracket is not closed"),
    (r"expected ':'", "a key is followed by a colon and a blank, as in `k: 5`"),
    (r"escape", "a backslash has a meaning in double quotes: use single quotes"),
    (r"'\\t'", "tabs are not allowed: indent with blanks"),
    (r"cannot start any token", "put the text in quotes"),
    (r"not allowed here|<block", _INDENTATION),
)


def _duplicate(error: Any) -> str:
    words = str(error.problem).split('"')
    return repr(words[1]) if len(words) > 1 else "above"


class Plain:
    """A tree as plain Python values; notes the line of every key where the tree knows it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Path_, int] = {}
        self.left = MOST_NODES

    def of(self, tree: Any) -> tuple[Any, Mapping[Path_, int]]:
        """The plain tree and its lines.

        Raises:
            SpecError: it is nested too deeply or unfolds into too much.
        """
        return self._plain(tree, ()), self.lines

    def _plain(self, node: Any, place: Path_) -> Any:
        self.left -= 1
        if self.left < 0 or len(place) > DEEPEST:
            raise SpecError(
                "nested too deeply, or unfolds into too much", source=self.name, hint=_SHALLOW
            )
        if isinstance(node, Mapping):
            plain = {}
            for key, value in node.items():
                name = _key(key)
                self._note((*place, str(name)), node, "key", key)
                plain[name] = self._plain(value, (*place, str(name)))
            return plain
        if isinstance(node, list | tuple):
            for i in range(len(node)):
                self._note((*place, i), node, "item", i)
            return [self._plain(value, (*place, i)) for i, value in enumerate(node)]
        if isinstance(node, bool) or node is None:
            return node
        if isinstance(node, int) and len(str(int(node))) < (getattr(node, "_width", 0) or 0):
            return str(int(node)).zfill(node._width)  # type: ignore[attr-defined]  # a code: 00501
        kind = next((kind for kind in (int, float, str) if isinstance(node, kind)), None)
        return kind(node) if kind else node

    def _note(self, place: Path_, node: Any, what: str, key: Any) -> None:
        # Merged and tagged nodes know no line; the place above them does.
        with suppress(AttributeError, LookupError, TypeError):
            self.lines[place] = getattr(node.lc, what)(key)[0] + 1


def _key(key: Any) -> str:
    if key is None:
        return "null"
    return str(key).lower() if isinstance(key, bool) else str(key)
