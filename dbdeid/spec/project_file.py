"""The file of a project, `dbdeid.yml`: what its releases share, and where its parts lie.

A spec takes part in a project when it lies in its folder of releases. Every command then reads it
with the project's defaults, so that no two of them speak of different specs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from dbdeid.data.location.address import is_server
from dbdeid.data.problem import problem
from dbdeid.engine import regular
from dbdeid.errors import Mistake, SpecError, did_you_mean
from dbdeid.spec.column.hierarchy_spec import Part, Text
from dbdeid.spec.method_spec import METHODS
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.spec.yaml_text import LARGEST, Path_, load

NAME = "dbdeid.yml"
# What stands for the name of each release in the project's `target`.
OF_RELEASE = "{release}"
# Keys that a release has of its own, or that stand beside `defaults`.
_OWN = ("release", "depends_on", "database", "target")


def _mapping(value: Any) -> Any:
    return {} if value is None else value  # a key with nothing under it


class Paths(Part):
    """Where the parts of a project lie, relative to its file."""

    releases: Text = "releases"
    hierarchies: Text = "hierarchies"
    queries: Text = "queries"
    results: Text = "results"
    private: Text = "private"
    docs: Text = "site"

    @field_validator("releases")
    @classmethod
    def _below(cls, value: str) -> str:
        path = os.path.normpath(value)
        if os.path.isabs(path) or path.startswith(("..", "~")):
            raise problem(
                "lies outside the project, where its specs would not find it",
                f"put {NAME} above the folder of releases",
            )
        return value


class ProjectSpec(Part):
    """The settings that all releases of a project share.

    Attributes:
        database: of releases that name none.
        target: of releases that name none: a file for each, as in public/{release}.duckdb.
        defaults: keys of a spec; a release that has the key itself does not take it.
        paths: where its parts lie.
    """

    database: Text | None = None
    target: Text | None = None
    defaults: Annotated[dict[str, object], BeforeValidator(_mapping)] = Field(default_factory=dict)
    paths: Annotated[Paths, BeforeValidator(_mapping)] = Paths()

    @model_validator(mode="after")
    def _private_apart(self) -> Self:
        if self.target is not None:
            folders = os.path.dirname(self.target), self.paths.private
            if len({os.path.normpath(folder) for folder in folders}) == 1:
                raise problem(
                    "private files would lie in the folder of the targets, which is given away",
                    "name another folder: `paths: {private: …}`",
                )
        return self

    @field_validator("target")
    @classmethod
    def _one_each(cls, value: str | None) -> str | None:
        if value is not None and OF_RELEASE not in Path(value).name:
            raise problem(
                "is one file for all releases, and each has its own",
                f"write {OF_RELEASE} for the name, as in public/{OF_RELEASE}.duckdb",
            )
        if value is not None and Path(value).suffix != ".duckdb":
            raise problem("target must end in .duckdb", f"as in public/{OF_RELEASE}.duckdb")
        return value


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project as its file declares it.

    Attributes:
        path: of the file.
        spec: what it declares.
    """

    path: Path
    spec: ProjectSpec

    @property
    def folder(self) -> Path:
        """The folder that everything in it is relative to."""
        return self.path.parent

    def place(self, part: str) -> Path:
        """Where a part lies: releases, hierarchies, queries, results, private or docs."""
        return self.folder / Path(getattr(self.spec.paths, part)).expanduser()

    def holds(self, spec: Path) -> bool:
        """Whether a file is in the folder of releases."""
        return spec.resolve().is_relative_to(self.place("releases").resolve())

    def shared(self, data: Mapping[str, object], folder: Path) -> dict[str, object]:
        """The keys that a spec takes from the project: those that it does not have itself.

        Args:
            data: the spec as it was read.
            folder: its folder, which the paths in it are relative to.
        """
        found = {key: value for key, value in self.spec.defaults.items() if key not in data}
        if isinstance(attached := found.get("attach"), Mapping):
            found["attach"] = {
                name: self._seen_from(folder, at)
                if isinstance(at, str) and not is_server(at)
                else at
                for name, at in attached.items()
            }
        if self.spec.database is not None and "database" not in data:
            found["database"] = self._seen_from(folder, self.spec.database)
        name = data.get("release")
        target = self.spec.target
        asked = target is not None and "target" not in data and _is_written({**found, **data})
        if target is not None and asked and isinstance(name, str):
            found["target"] = self._seen_from(folder, target.replace(OF_RELEASE, name))
        return found

    def _attached(self, folder: Path, address: object) -> object:
        """An address of the project as a spec in another folder writes it."""
        file = isinstance(address, str) and not is_server(address)
        return self._seen_from(folder, str(address)) if file else address

    def _seen_from(self, folder: Path, path: str) -> str:
        """A path of the project as a spec in another folder writes it."""
        given = Path(path)
        if given.is_absolute() or path.startswith("~"):
            return path
        return Path(os.path.relpath(self.folder.resolve() / given, folder)).as_posix()


def _is_written(data: Mapping[str, object]) -> bool:
    """Whether a run writes a table: not of a preview, nor where the release was made elsewhere."""
    method, output = data.get("method"), data.get("output")
    name = method.get("name") if isinstance(method, Mapping) else method
    view = isinstance(output, Mapping) and output.get("as") == "view"
    elsewhere = name in METHODS and METHODS[name].can.values == "foreign"
    return not elsewhere and not view


def find(start: Path) -> Path | None:
    """The file of the project around a folder: in it, or in the nearest folder above it."""
    folder = Path(os.path.abspath(start))  # a link counts where it lies
    return next((p for f in (folder, *folder.parents) if (p := f / NAME).is_file()), None)


def around(spec: Path) -> ProjectFile | None:
    """The project that a spec takes part in.

    Raises:
        SpecError: the file of a project above it cannot be read, so that nobody knows.
    """
    path = find(spec.parent)
    if path is None or path.resolve() == spec.resolve():
        return None
    project = read_project(path)
    return project if project.holds(spec) else None


def read_project(path: Path) -> ProjectFile:
    """A project from its file.

    Raises:
        SpecError: it cannot be read, or has mistakes; all of them are told.
    """
    try:
        text = regular.text(path, LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SpecError(
            f"cannot be read ({why})", source=str(path), hint="a project is a YAML file"
        ) from None
    data, lines = load(text, str(path))
    data = {} if data is None else data
    if not isinstance(data, Mapping):
        raise SpecError("a project is a mapping of keys", source=str(path), hint=_EXAMPLE)
    mistakes = list(_mistakes(data, lines))
    if mistakes:
        raise SpecError(mistakes, source=str(path))
    return ProjectFile(path, ProjectSpec.model_validate(data))


_EXAMPLE = "as in `database: hospital.duckdb`"
_KEYS: dict[tuple[str, ...], type[Part]] = {(): ProjectSpec, ("paths",): Paths}


def _mistakes(data: Mapping[str, object], lines: Mapping[Path_, int]) -> Iterator[Mistake]:
    try:
        ProjectSpec.model_validate(data)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            place = tuple(found["loc"])
            context = found.get("ctx") or {}
            if found["type"] == "extra_forbidden":
                yield _unknown(place, lines)
            elif found["type"] == "dbdeid":
                yield _mistake(context["message"], place, lines, context["hint"])
            else:
                mapping = found["type"] in ("dict_type", "model_type")
                message = "expects a mapping" if mapping else "expects text that is not empty"
                hint = "as in {key: value}" if mapping else "put it in quotes"
                yield _mistake(message, place, lines, hint)
    defaults = data.get("defaults")
    for key in defaults if isinstance(defaults, Mapping) else ():
        place = ("defaults", str(key))
        if key in _OWN:
            beside = key in ProjectSpec.model_fields
            hint = f"write it beside `defaults`, not under it: `{key}: …`"
            hint = hint if beside else "write it in the spec of the release"
            yield _mistake(f"{key!r} is no default of all releases", place, lines, hint)
        elif key not in ReleaseSpec.model_fields:
            known = [name for name in ReleaseSpec.model_fields if name not in _OWN]
            hint = did_you_mean(str(key), known)
            yield _mistake(f"unknown key {str(key)!r} of a spec", place, lines, hint)


def _unknown(place: tuple[str | int, ...], lines: Mapping[Path_, int]) -> Mistake:
    key = str(place[-1])
    if place == ("release",):
        hint = f"{NAME} is the file of a project: give a spec another name"
        return _mistake("this is a spec, and no project", place, lines, hint)
    known = _KEYS[tuple(str(part) for part in place[:-1])].model_fields
    if len(place) == 1 and key in ReleaseSpec.model_fields:
        hint = f"what all releases share stands under `defaults`, as in `defaults: {{{key}: …}}`"
    else:
        hint = did_you_mean(key, known)
    return _mistake(f"unknown key {key!r}", place, lines, hint)


def _mistake(
    message: str, place: tuple[str | int, ...], lines: Mapping[Path_, int], hint: str
) -> Mistake:
    return Mistake(message, ".".join(map(str, place)), lines.get(place), hint)


def whole(text: str, data: Mapping[str, object], shared: Mapping[str, object]) -> str:
    """Return the text of a spec with its project's defaults written in.

    Args:
        text: of the spec, with its comments.
        data: what it says.
        shared: what it takes.
    """
    if not shared:
        return text
    together = {**data, **shared}
    lines = [f"{key}: {_json(value)}" for key, value in shared.items()]
    joined = "\n".join([text.rstrip("\n"), "", f"# from {NAME}", *lines, ""])
    try:
        found, _ = load(joined, "spec")
    except SpecError:  # braces around all of it, or a mark at its end
        found = None
    return joined if _json(found) == _json(together) else _json(together, indent=2)


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, default=str)
