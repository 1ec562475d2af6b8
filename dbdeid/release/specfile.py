"""Reading a specification from YAML 1.2, JSON or a dict; all mistakes at once, with places."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dbdeid.errors import Mistake, SpecError
from dbdeid.release.spec import (
    ColumnSpec,
    Evaluate,
    FullDomain,
    HierarchySpec,
    Output,
    ReleaseSpec,
    SourceQuery,
)

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec, where it came from, and its text.

    Attributes:
        spec: the parsed specification.
        folder: the folder that its relative paths start from.
        path: the file, when it came from one.
        text: the text as read; for a dict its JSON.
        lines: line of each key path, for messages.
    """

    spec: ReleaseSpec
    folder: Path
    path: Path | None
    text: str
    lines: Mapping[Path_, int]

    @property
    def label(self) -> str:
        """How messages call this spec."""
        return self.path.name if self.path else "spec"

    def mistake(self, message: str, *place: str | int, hint: str = "") -> Mistake:
        """A mistake found later, for example in the database, with its line."""
        return Mistake(message, _dotted(place), _line(self.lines, place), hint)


def read(source: str | Path | Mapping[str, Any]) -> SpecFile:
    """A spec from a path, from YAML or JSON text, or from a dict.

    Raises:
        SpecError: it cannot be read, or it has mistakes.
    """
    if isinstance(source, Mapping):
        import json

        text = json.dumps(source, indent=2, default=str)
        return _parse(dict(source), {}, Path.cwd(), None, text)
    path = _as_path(source)
    if path is None:
        text = str(source)
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(
                f"cannot be read ({_why(error)})", source=str(path), hint="give a YAML file"
            ) from None
    data, lines = _load(text, str(path or "spec"))
    folder = path.resolve().parent if path else Path.cwd()
    return _parse(data, lines, folder, path, text)


def _as_path(source: str | Path) -> Path | None:
    if isinstance(source, Path):
        return source
    looks_like_text = "\n" in source or ": " in source or source.lstrip().startswith("{")
    return None if looks_like_text else Path(source)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return getattr(error, "strerror", None) or type(error).__name__


def _load(text: str, name: str) -> tuple[Any, dict[Path_, int]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.version = (1, 2)
    try:
        tree = yaml.load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        key = _duplicate(error)
        mistake = Mistake(f"the key {key} is repeated", line=line, hint="keep one of them")
        raise SpecError([mistake], source=name) from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise SpecError(
            [Mistake(f"not valid YAML: {error.problem}", line=line)], source=name
        ) from None
    except (YAMLError, ValueError, RecursionError) as error:
        message = f"not valid YAML ({type(error).__name__})"
        raise SpecError([Mistake(message)], source=name) from None
    lines: dict[Path_, int] = {}
    return _plain(tree, (), lines), lines


def _duplicate(error: Any) -> str:
    words = str(error.problem).split('"')
    return repr(words[1]) if len(words) > 1 else "above"


def _plain(node: Any, place: Path_, lines: dict[Path_, int]) -> Any:
    """The tree as plain Python values, noting the line of every key."""
    if isinstance(node, Mapping):
        plain = {}
        for key, value in node.items():
            lines[(*place, str(key))] = node.lc.key(key)[0] + 1  # type: ignore[attr-defined]
            plain[_key(key)] = _plain(value, (*place, str(key)), lines)
        return plain
    if isinstance(node, list):
        for i in range(len(node)):
            lines[(*place, i)] = node.lc.item(i)[0] + 1  # type: ignore[attr-defined]
        return [_plain(value, (*place, i), lines) for i, value in enumerate(node)]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _key(key: Any) -> Any:
    return str(key) if isinstance(key, str | int | float) else key


def _parse(
    data: Any, lines: Mapping[Path_, int], folder: Path, path: Path | None, text: str
) -> SpecFile:
    name = str(path) if path else "spec"
    if not isinstance(data, Mapping):
        raise SpecError(
            "a spec is a mapping of keys", source=name, hint="start with `release: my_release`"
        )
    try:
        spec = ReleaseSpec.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise SpecError(_mistakes(found, lines), source=name) from None
    return SpecFile(spec, folder, path, text, lines)


def _mistakes(errors: list[ErrorDetails], lines: Mapping[Path_, int]) -> Iterator[Mistake]:
    seen = set()
    places = {_place(error) for error in errors}
    for error in errors:
        place = _place(error)
        if error["type"] == "too_short" and any(p[:-1] == place for p in places):
            continue  # it is short only because its members are wrong
        message, hint = _words(error, place)
        if (place, message) not in seen:
            seen.add((place, message))
            yield Mistake(message, _dotted(place), _line(lines, place), hint)


def _place(error: ErrorDetails) -> Path_:
    # pydantic names the branch of a union and dict keys; neither is a key of the spec.
    return tuple(p for p in error["loc"] if p not in _BRANCHES)


_BRANCHES = {"str", "constrained-str", "SourceQuery", "[key]", "function-before", "KAnonymity"}
_KEYS: dict[str, type[BaseModel]] = {
    "columns": ColumnSpec,
    "hierarchy": HierarchySpec,
    "method": FullDomain,
    "source": SourceQuery,
    "evaluate": Evaluate,
    "output": Output,
}


def _words(error: ErrorDetails, place: Path_) -> tuple[str, str]:
    kind, message = error["type"], error["msg"]
    context = error.get("ctx") or {}
    if kind == "dbdeid":
        return str(context["message"]), str(context["hint"])
    if kind == "extra_forbidden":
        known = _known_keys(place)
        close = difflib.get_close_matches(str(place[-1]), known, n=1)
        start = f"did you mean {close[0]!r}? " if close else ""
        return f"unknown key {str(place[-1])!r}", f"{start}Known: {', '.join(known)}."
    if kind == "missing":
        return f"the key {str(place[-1])!r} is missing", ""
    if kind == "too_short":
        return "needs at least one entry", ""
    if kind == "literal_error":
        return f"expects {context['expected']}", ""
    if kind == "string_pattern_mismatch":
        return "must start with a letter or _ and hold only letters, digits and _", ""
    return message[0].lower() + message[1:], ""


def _known_keys(place: Path_) -> list[str]:
    names = [str(p) for p in place[:-1]]
    owner: type[BaseModel] = ReleaseSpec
    for name in reversed(names):
        if name in _KEYS:
            owner = _KEYS[name]
            break
        if name == "privacy":
            return ["model", "k"]
    return [field.alias or key for key, field in owner.model_fields.items()]


def _dotted(place: Path_) -> str:
    return ".".join(f"[{p}]" if isinstance(p, int) else str(p) for p in place).replace(".[", "[")


def _line(lines: Mapping[Path_, int], place: Path_) -> int | None:
    for end in range(len(place), 0, -1):
        if place[:end] in lines:
            return lines[place[:end]]
    return None
