"""The releases of a project: all its specs, what each rests on, and the order they run in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from dbdeid.bind.read import read
from dbdeid.errors import DataError, SpecError, did_you_mean
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import is_external
from dbdeid.spec.project_file import ProjectFile
from dbdeid.workspace import lineage

ENDINGS = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a project.

    Attributes:
        file: its spec, with the project's defaults.
        label: the spec's path as seen from the project.
        upstream: names of the releases that it rests on.
    """

    file: SpecFile
    label: str
    upstream: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the release."""
        return self.file.spec.release

    @property
    def path(self) -> Path:
        """The file of the spec."""
        assert self.file.path is not None
        return self.file.path

    @property
    def tags(self) -> tuple[str, ...]:
        """The words that select it."""
        return self.file.spec.tags

    @property
    def made_here(self) -> bool:
        """Whether it can be run; a release made elsewhere is only tested."""
        return not is_external(self.file)

    @property
    def verifiable(self) -> bool:
        """Whether it promises anything; a preview does not."""
        return self.file.spec.output.kind == "table"


def load(project: ProjectFile, database: Path | None = None) -> tuple[Release, ...]:
    """All releases of a project, each after those that it rests on, else by name.

    Args:
        project: the project.
        database: in place of the `database` of every spec.

    Raises:
        SpecError: specs have mistakes; all of them are told.
        DataError: there is none, two have one name or write one file, a dependency is unknown, or
            they rest on each other in a circle.
    """
    files = _read_all(project, database)
    _require_names_apart(project, files)
    _require_places_apart(project, files, database)
    known = {file.spec.release.lower(): file for file in files}
    upstream = {name: _upstream(project, file, known, database) for name, file in known.items()}
    return tuple(
        Release(
            known[name],
            label_of(project, known[name]),
            tuple(known[other].spec.release for other in sorted(upstream[name])),
        )
        for name in _ordered(upstream, known)
    )


def label_of(project: ProjectFile, file: SpecFile) -> str:
    """The path of a spec as seen from its project."""
    assert file.path is not None
    return Path(os.path.relpath(file.path.resolve(), project.folder.resolve())).as_posix()


def _read_all(project: ProjectFile, database: Path | None) -> list[SpecFile]:
    folder = project.place("releases")
    if not folder.is_dir():
        raise DataError(
            f"{project.path}: its folder of releases {project.spec.paths.releases!r} is not there",
            hint="make it and put specs there, or name another: `paths: {releases: …}`",
        )
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in ENDINGS
        and path.is_file()
        and path.resolve() != project.path.resolve()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise DataError(
            f"{project.path}: there is no spec in {project.spec.paths.releases!r}",
            hint="a spec is a YAML file; `dbdeid init` drafts one",
        )
    files, wrong = [], []
    for path in paths:
        try:
            files.append(read(path, database=database))
        except SpecError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        told = "\n".join(str(error) for error in wrong)
        raise DataError(f"{len(wrong)} specs of the project have mistakes\n{told}")
    return files


def _require_names_apart(project: ProjectFile, files: Sequence[SpecFile]) -> None:
    seen: dict[str, SpecFile] = {}
    for file in files:
        other = seen.setdefault(file.spec.release.lower(), file)
        if other is not file:
            raise DataError(
                f"{label_of(project, other)} and {label_of(project, file)} have one name: release "
                f"{file.spec.release!r}",
                hint="give each release a name of its own",
            )


def _require_places_apart(
    project: ProjectFile, files: Sequence[SpecFile], database: Path | None
) -> None:
    seen: dict[lineage.Thing, SpecFile] = {}
    for file in files:
        for thing, key in lineage.written(file, database).items():
            other = seen.setdefault(thing, file)
            if other is not file:
                what = f"the table {thing[1]!r}" if thing[1] else f"the file {Path(thing[0]).name}"
                raise DataError(
                    f"{label_of(project, other)} and {label_of(project, file)} both write {what} "
                    f"({key})",
                    hint="give each release files and tables of its own",
                )


def _upstream(
    project: ProjectFile,
    file: SpecFile,
    known: Mapping[str, SpecFile],
    database: Path | None,
) -> frozenset[str]:
    """The names, in lower case, of the releases that one rests on: named, or read by it."""
    found = set()
    for name in file.spec.depends_on:
        if name.lower() not in known:
            raise DataError(
                f"{label_of(project, file)}: depends_on names no release of the project: {name!r}",
                hint=did_you_mean(name, [other.spec.release for other in known.values()]),
            )
        found.add(name.lower())
    reads = lineage.read(file, database)
    for name, other in known.items():
        if other is not file and not reads.isdisjoint(lineage.written(other, database)):
            found.add(name)
    return frozenset(found)


def _ordered(
    upstream: Mapping[str, frozenset[str]], known: Mapping[str, SpecFile]
) -> Iterator[str]:
    sorter = TopologicalSorter(upstream)
    try:
        sorter.prepare()
    except CycleError as error:
        # from what is needed to what needs it; told the other way around
        circle = " → ".join(known[name].spec.release for name in reversed(error.args[1]))
        raise DataError(
            f"releases rest on each other in a circle: {circle}",
            hint="take one out of `depends_on`, or let its source be another table",
        ) from None
    while sorter.is_active():
        for name in sorted(sorter.get_ready()):
            yield name
            sorter.done(name)
