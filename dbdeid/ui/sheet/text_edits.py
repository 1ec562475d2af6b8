"""Changing the text of a specification and nothing else of it: comments, quotes and order stay.

The text is parsed for the places of its values, and only what differs from the wanted data is
written anew. What was written is read again: it must mean exactly what was wanted, and hold every
comment that was there before.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from dbdeid.errors import SpecError
from dbdeid.spec.yaml_text import load

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
_COMMENT = re.compile(r"#[^\n]*")
_ALIAS = re.compile(r"\s*:?\s*(\*[^\s,\]\}]+)")
BY_HAND = "edit the file by hand: this page shows it as soon as it is saved"


@dataclass(slots=True)
class _Splice:
    """A part of the text, and what takes its place; `order` tells insertions at one place apart."""

    start: int
    end: int
    text: str


def rewritten(text: str, data: Mapping[str, Any], name: str = "spec") -> str:
    """Rewrite the text of a specification, and change only the lines that must change.

    Args:
        text: of the specification, in YAML or JSON.
        data: what it is to say.
        name: how messages call it.

    Raises:
        SpecError: the text has mistakes, or cannot be changed without losing something.
    """
    before = plain(text, name)
    if _same(before, data):
        return text
    made = _Rewriting(text).made(before, data)
    try:
        after = plain(made, name)
    except SpecError:
        after = None
    if not _same(after, data) or comments(text) - comments(made):
        raise SpecError(
            "it cannot be changed here without changing more", source=name, hint=BY_HAND
        )
    return made


@lru_cache(maxsize=4)
def plain(text: str, name: str) -> Any:
    """The plain values of a text: not to be changed, for they are remembered.

    Raises:
        SpecError: it has mistakes.
    """
    return load(text, name)[0]


def _same(one: Any, other: Any) -> bool:
    """Equal with equal types: 1, 1.0 and true are three things. The order of keys means nothing."""
    texts = (json.dumps(value, sort_keys=True, default=str) for value in (one, other))
    return bool(one == other) and next(texts) == next(texts)


def comments(text: str) -> Counter[str]:
    """The comments of a text, each as often as it is there."""
    tree = _compose(text)
    return Counter(text[a:b].rstrip() for a, b in _comment_spans(text, tree)) if tree else Counter()


@lru_cache(maxsize=4)
def _compose(text: str) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.version = (1, 2)
    return yaml.compose(text)


def _scalars(node: Any, seen: set[int]) -> Iterator[tuple[int, int]]:
    """The spans of all scalars, each once, however many aliases it has."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node.value, list):
        for one in node.value:
            for part in one if isinstance(one, tuple) else (one,):
                yield from _scalars(part, seen)
    else:
        yield node.start_mark.index, node.end_mark.index


def _comment_spans(text: str, tree: Any) -> list[tuple[int, int]]:
    spans = sorted(_scalars(tree, set()))
    found, at, place = [], 0, 0
    while (match := _COMMENT.search(text, place)) is not None:
        start = match.start()
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        if at < len(spans) and spans[at][0] <= start < spans[at][1]:
            place = _scalar_end(text, spans[at])
            if place <= start:
                place = start + 1
        elif start and text[start - 1] not in " \t\n\r,[]{}":
            place = start + 1
        else:
            found.append((start, match.end()))
            place = match.end()
    return found


def _scalar_end(text: str, span: tuple[int, int]) -> int:
    """Where a scalar ends; of a block scalar the parser counts comments behind it in, too."""
    start, end = span
    if text[start : start + 1] not in "|>":
        return end
    header = text.find("\n", start)
    lines = text[header + 1 : end].splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    place = header + 1
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            break
        place += len(line)
    return place


def written(value: Any, *, as_json: bool = False) -> str:
    """A value as it is written on one line."""
    if isinstance(value, Mapping):
        pairs = (
            f"{written(str(k), as_json=as_json)}: {written(v, as_json=as_json)}"
            for k, v in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(written(v, as_json=as_json) for v in value) + "]"
    if isinstance(value, str):
        if not as_json and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return json.dumps(value) if as_json else _quoted(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return json.dumps(value)


def _quoted(text: str) -> str:
    """A text in double quotes; YAML knows no halves of characters, with which JSON escapes."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    return '"' + "".join(s if s.isprintable() else f"\\U{ord(s):08X}" for s in escaped) + '"'


@dataclass(slots=True)
class _Rewriting:
    """The changes that turn a text into another."""

    text: str
    tree: Any = None
    as_json: bool = False
    found: list[_Splice] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)

    def made(self, old: Any, new: Any) -> str:
        """The new text."""
        self.tree = _compose(self.text)
        self.spans = _comment_spans(self.text, self.tree)
        self.as_json = self.text.lstrip().startswith("{") and '"' in self.text
        start = self._line_start(self.tree.start_mark.index)
        self._change(self.tree, old, new, start, self.tree.start_mark.index)
        made = self.text
        numbered = sorted(enumerate(self.found), key=lambda one: (one[1].start, one[1].end, one[0]))
        for _, one in reversed(numbered):
            made = made[: one.start] + one.text + made[one.end :]
        return made

    # -- nodes ---------------------------------------------------------------------------------

    def _change(self, node: Any, old: Any, new: Any, above: int, after: int) -> None:
        """Change a value.

        Args:
            node: of the value.
            old: what it says.
            new: what it is to say.
            above: where comments go that have no place any more: the start of a line.
            after: where its key ends, behind which an alias of it stands.
        """
        if _same(old, new):
            return
        if node.start_mark.index < after:  # it stands somewhere else, and an alias stands here
            match = _ALIAS.match(self.text, after)
            if match is not None:
                self._splice(match.start(1), match.end(1), self._written(new), above)
            return
        block = not node.flow_style if isinstance(node.value, list) else False
        if isinstance(old, dict) and isinstance(new, Mapping) and isinstance(node.value, list):
            pairs = self._pairs(node, old)
            if pairs is not None and (block or list(old) == list(new)):
                return self._mapping(node, pairs, old, new, above, after, block=block)
            if pairs is not None:
                return self._replace(node, self._flow_mapping(pairs, old, new), above, after)
        if isinstance(old, list) and isinstance(new, list | tuple) and isinstance(node.value, list):
            return self._sequence(node, old, list(new), above, after, block=block)
        text = self._written(new)
        start = node.start_mark.index
        if start == self._end(node) and self.text[start - 1 : start] == ":":
            text = f" {text}"  # a key that had no value
        self._replace(node, text, above, after)

    def _pairs(self, node: Any, old: Mapping[str, Any]) -> dict[str, tuple[Any, Any]] | None:
        """The nodes of a mapping's own keys, without those that are merged into it; None where a
        key is no text."""
        if node.value and not isinstance(node.value[0], tuple):
            return None
        pairs: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            if not isinstance(key.value, str):
                return None
            name = next((n for n in _names(key.value) if n in old), None)
            if name in pairs or (name is None and key.value != "<<"):
                return None
            if name is not None and key.value != "<<":
                pairs[name] = (key, value)
        return pairs

    def _mapping(
        self,
        node: Any,
        pairs: Mapping[str, tuple[Any, Any]],
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        above: int,
        after: int,
        *,
        block: bool,
    ) -> None:
        gone = [name for name in pairs if name not in new]
        if block and gone and len(gone) == len(pairs):
            return self._replace(node, self._written(new), above, after)
        for name, (key, value) in pairs.items():
            line = self._line_start(key.start_mark.index) if block else above
            if name in new:
                self._change(value, old[name], new[name], line, key.end_mark.index)
            else:
                self._remove_entry(node, name, pairs, line)
        fresh = [name for name in new if name not in old]
        indent = " " * next(iter(pairs.values()))[0].start_mark.column if pairs else ""
        names = list(new)
        for name in fresh:
            before = [n for n in names[: names.index(name)] if n in pairs and n in new]
            last = pairs[before[-1]] if before else pairs[[n for n in pairs if n in new][-1]]
            at = self._line_end(self._end_of_pair(*last))
            text = f"\n{indent}{self._written(name)}: {self._written(new[name])}"
            self.found.append(_Splice(at, at, text))

    def _remove_entry(
        self, node: Any, name: str, pairs: Mapping[str, tuple[Any, Any]], above: int
    ) -> None:
        key, value = pairs[name]
        start, line = key.start_mark.index, self._line_start(key.start_mark.index)
        if self.text[line:start].strip():  # behind the dash of a list: the next key moves up
            nexts = [k.start_mark.index for k, _ in node.value if k.start_mark.index > start]
            self._splice(start, min(nexts), "", above)
        else:
            end = self._line_end(self._end_of_pair(key, value))
            self._splice(line, min(end + 1, len(self.text)), "", above)

    def _flow_mapping(
        self, pairs: Mapping[str, tuple[Any, Any]], old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> str:
        """A mapping between braces, written again; what does not change in it is copied."""
        parts = []
        for name, value in new.items():
            if name not in pairs:
                if name not in old:
                    parts.append(f"{self._written(name)}: {self._written(value)}")
                continue
            key, node = pairs[name]
            kept = self.text[key.start_mark.index : key.end_mark.index]
            inside = node.start_mark.index >= key.end_mark.index
            if _same(old[name], value) and inside:
                shown = self._copied(node)
            elif _same(old[name], value):
                match = _ALIAS.match(self.text, key.end_mark.index)
                shown = match.group(1) if match else self._written(value)
            else:
                shown = self._written(value)
            parts.append(f"{kept}: {shown}")
        return "{" + ", ".join(parts) + "}"

    def _copied(self, node: Any) -> str:
        """The text of a value, on one line."""
        kept = self.text[node.start_mark.index : node.end_mark.index]
        return kept if "\n" not in kept else self._written(_plain_of(kept))

    def _sequence(
        self, node: Any, old: list[Any], new: list[Any], above: int, after: int, *, block: bool
    ) -> None:
        items = node.value
        if len(items) == len(old) == len(new):
            place = node.start_mark.index
            for item, was, wanted in zip(items, old, new, strict=True):
                line = self._line_start(item.start_mark.index) if block else above
                self._change(item, was, wanted, line, place)
            return
        if not block or not new or len(items) != len(old):
            return self._replace(node, self._written(new), above, after)
        texts = [
            [json.dumps(one, sort_keys=True, default=str) for one in some] for some in (old, new)
        ]
        indent = " " * node.start_mark.column
        for what, a, b, c, d in _steps(*texts):
            if what == "equal":
                continue
            changed = min(b - a, d - c) if what == "replace" else 0
            for i in range(changed):
                item = items[a + i]
                line = self._line_start(item.start_mark.index)
                self._change(item, old[a + i], new[c + i], line, node.start_mark.index)
            for item in items[a + changed : b]:
                self._remove_item(item)
            lines = "".join(f"\n{indent}- {self._written(one)}" for one in new[c + changed : d])
            if lines:
                at = self._line_end(self._end(items[max(a + changed - 1, 0)]))
                if a + changed == 0:  # before the first
                    at = self._line_start(items[0].start_mark.index)
                    lines = lines[1:] + "\n"
                self.found.append(_Splice(at, at, lines))

    def _remove_item(self, item: Any) -> None:
        dash = self.text.rfind("-", 0, item.start_mark.index)
        line = self._line_start(dash)
        end = self._line_end(self._end(item))
        self._splice(line, min(end + 1, len(self.text)), "", line)

    # -- text ----------------------------------------------------------------------------------

    def _written(self, value: Any) -> str:
        return written(value, as_json=self.as_json)

    def _replace(self, node: Any, text: str, above: int, after: int) -> None:
        start = node.start_mark.index
        between = self.text[after:start]
        if "\n" in between and between.lstrip().startswith(":"):  # a block below its key
            start, text = after + between.index(":") + 1, f" {text}"
        self._splice(start, self._end(node), text, above)

    def _splice(self, start: int, end: int, text: str, above: int) -> None:
        """Put a text in place of another, whose comments go to lines of their own above."""
        lost = [self.text[a:b].rstrip() for a, b in self.spans if start <= a < end]
        if lost:
            indent = re.match(r"[ \t]*", self.text[above:])
            blanks = indent.group() if indent else ""
            lines = "".join(f"{blanks}{comment}\n" for comment in lost)
            if above == start:
                text = lines + text
            else:
                self.found.append(_Splice(above, above, lines))
        self.found.append(_Splice(start, end, text))

    def _end(self, node: Any) -> int:
        """Where a value ends; a parser counts what follows a block up to the next key to it."""
        if not isinstance(node.value, list):
            span = node.start_mark.index, node.end_mark.index
            end = _scalar_end(self.text, span)
            kept = self.text[span[0] : end]
            return span[0] + len(kept.rstrip()) if kept[:1] in ("|", ">") else end
        if node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return self._end_of_pair(*last) if isinstance(last, tuple) else self._last(last, node)

    def _last(self, item: Any, node: Any) -> int:
        if item.start_mark.index >= node.start_mark.index:
            return self._end(item)
        return int(node.end_mark.index)

    def _end_of_pair(self, key: Any, value: Any) -> int:
        if value.start_mark.index >= key.end_mark.index:
            return self._end(value)
        match = _ALIAS.match(self.text, key.end_mark.index)
        return match.end(1) if match else int(key.end_mark.index)

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found


def _steps(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    return list(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())


def _plain_of(text: str) -> Any:
    return load(text, "value")[0]


def _names(key: str) -> Iterator[str]:
    """How the reader may name a key: as it is written, or as the number or truth that it is."""
    yield key
    yield key.lower()
    with suppress(ValueError):
        yield str(int(key))


def in_order(data: Mapping[str, Any], names: Sequence[str], key: str, value: Any) -> dict[str, Any]:
    """The same data with a key more, which stands behind those of `names` that are there."""
    made: dict[str, Any] = {}
    before = [name for name in names if name in data]
    for name, one in data.items():
        made[name] = one
        if before and name == before[-1]:
            made[key] = value
    made.setdefault(key, value)
    return made
