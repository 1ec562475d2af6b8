"""Which releases are meant: the words of `--select` and `--exclude`, as dbt writes them.

Words apart are a union, words joined by commas an intersection. `+` before a word adds what its
releases rest on, after it what rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from dbdeid.errors import DataError, did_you_mean
from dbdeid.project.releases import ENDINGS, Release

METHODS = ("path", "result", "state", "tag")
RESULTS = ("failed", "success")
NOT_DONE = ("failed", "interrupted", "skipped")
_WORD = re.compile(r"(\+?)(.*?)(\+?)", re.DOTALL)


@dataclass(frozen=True)
class Selector:
    """The releases of a project, to be selected from.

    Attributes:
        releases: all, in their order.
        folder: of the project.
        modified: tells whether a release has changed since its last run.
        results: gives the status of each release in the last run, by name.
    """

    releases: Sequence[Release]
    folder: Path
    modified: Callable[[Release], bool]
    results: Callable[[], Mapping[str, str]]

    def select(self, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> list[Release]:
        """The releases that are meant, in their order; all where nothing is selected.

        Args:
            select: words, each perhaps several between blanks.
            exclude: the same, of those that are not meant.

        Raises:
            DataError: a word means nothing in this project.
        """
        chosen = [word for words in select for word in words.split()]
        left_out = [word for words in exclude for word in words.split()]
        given = list(select)
        if given and not chosen:
            raise DataError("--select: says nothing", hint="as in --select 'tag:weekly+'")
        names = self._union(chosen) if chosen else {r.name for r in self.releases}
        names -= self._union(left_out)
        return [release for release in self.releases if release.name in names]

    def _union(self, words: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for word in words:
            found |= set.intersection(*(self._meant(part, word) for part in word.split(",")))
        return found

    def _meant(self, part: str, word: str) -> set[str]:
        split = _WORD.fullmatch(part)
        assert split is not None
        above, core, below = split.groups()
        if not core:
            raise DataError(f"{word!r} selects nothing", hint="as in tag:weekly+ or +visits_public")
        found = self._named(core)
        both = [self._up] if above else []
        both += [self._down] if below else []
        return found.union(*(_reached(found, edges) for edges in both))

    def _named(self, core: str) -> set[str]:
        method, colon, value = core.partition(":")
        if colon and method in METHODS:
            return {r.name for r in self._by_method(method, value)}
        if "/" in core or core.lower().endswith(ENDINGS):
            return {r.name for r in self._by_path(core)}
        if colon:
            raise DataError(
                f"unknown selection {core!r}",
                hint=did_you_mean(method, METHODS) + " Or the name of a release.",
            )
        pattern = core.lower()
        found = {r.name for r in self.releases if fnmatchcase(r.name.lower(), pattern)}
        if not found:
            raise DataError(
                f"the project has no release {core!r}",
                hint=did_you_mean(core, [r.name for r in self.releases]),
            )
        return found

    def _by_method(self, method: str, value: str) -> Sequence[Release]:
        if method == "path":
            return self._by_path(value)
        if method == "tag":
            found = [r for r in self.releases if value in r.tags]
            if not found:
                tags = {tag for r in self.releases for tag in r.tags}
                hint = did_you_mean(value, tags) or "a spec has tags as in `tags: [weekly]`"
                raise DataError(f"no release has the tag {value!r}", hint=hint)
            return found
        if method == "state":
            if value != "modified":
                raise DataError(f"unknown state {value!r}", hint="state:modified")
            return [r for r in self.releases if r.made_here and self.modified(r)]
        if value not in RESULTS:
            raise DataError(f"unknown result {value!r}", hint=did_you_mean(value, RESULTS))
        wanted = NOT_DONE if value == "failed" else ("success",)
        last = self.results()
        return [r for r in self.releases if last.get(r.name) in wanted]

    def _by_path(self, value: str) -> Sequence[Release]:
        """Releases whose spec is a file, or in a folder, as seen from here or from the project."""
        meant = [(start / value).resolve() for start in (Path.cwd(), self.folder)]
        found = [
            r for r in self.releases if any(r.path.resolve().is_relative_to(path) for path in meant)
        ]
        if not found:
            raise DataError(
                f"no release of the project lies at {value!r}",
                hint=did_you_mean(value, [r.label for r in self.releases]),
            )
        return found

    @cached_property
    def _up(self) -> Mapping[str, Sequence[str]]:
        return {r.name: r.upstream for r in self.releases}

    @cached_property
    def _down(self) -> Mapping[str, Sequence[str]]:
        return {
            r.name: [other.name for other in self.releases if r.name in other.upstream]
            for r in self.releases
        }


def _reached(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Everything that can be reached along edges."""
    found, todo = set(start), list(start)
    while todo:
        for name in edges[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return found
